/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One cgroup directory below a parent that is open: make, limit, fill, read, kill, remove.
 * Names are relative to parent_fd and are one path component of our own making.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
        _CGROUP_E_SUCCESS,
        CGROUP_E_GONE,   /* the directory is not there (any more) */
        CGROUP_E_ABSENT, /* the directory is there, but this kernel or mount has no such file */
        CGROUP_E_EXISTS, /* create: the name is taken; it is never reused */
        CGROUP_E_FULL, /* create: cgroup.max.descendants or max.depth reached, or no memory for it */
        CGROUP_E_BUSY,       /* remove: still populated, or not yet torn down by the kernel */
        CGROUP_E_NO_PROCESS, /* attach: the process is gone */
        CGROUP_E_REFUSED,    /* attach or set: the kernel says no; errno says why */
};

/*
 * Makes the directory, mode 0755, exclusively. *ret_id is its inode number, the kernel's cgroup id.
 * 0, CGROUP_E_EXISTS, _GONE (the parent is gone), _FULL, <0.
 */
int cgroup_create(int parent_fd, const char *name, uint64_t *ret_id);
/* Opens the directory for reading, close-on-exec. 0, CGROUP_E_GONE, <0. */
int cgroup_open(int parent_fd, const char *name, int *ret_fd);

/* Writes one file of an open directory. 0, CGROUP_E_GONE, _ABSENT, _REFUSED with *ret_errno, <0. */
int cgroup_set(int dir_fd, const char *file, const char *value, int *ret_errno);

/*
 * Reads one file whole into a NUL-terminated text, the caller's to free(). At most 64 MiB, which
 * holds the pids of as many processes as a kernel can have.
 * 0, CGROUP_E_GONE, CGROUP_E_ABSENT (no such file, or EOPNOTSUPP as PSI files say), <0.
 */
int cgroup_read(int dir_fd, const char *file, char **ret_text);
/* The same into a buffer of n bytes; a file that does not fit is -EFBIG. */
int cgroup_read_into(int dir_fd, const char *file, char *buffer, size_t n);

/* populated of cgroup.events, the only proof of emptiness. 0, CGROUP_E_GONE, <0. */
int cgroup_read_populated(int parent_fd, const char *name, bool *ret_populated);

/*
 * Moves a process, all threads, in. 0 says that the kernel accepted the write, no more: a zombie is
 * accepted and not moved, so the caller verifies. CGROUP_E_GONE, _NO_PROCESS, _REFUSED, <0.
 */
int cgroup_attach(int parent_fd, const char *name, pid_t pid, int *ret_errno);

/*
 * SIGKILL to all at once by cgroup.kill; before 5.14 by signalling what cgroup.procs lists until
 * nothing new appears. Other signals: once to each process listed, in nested cgroups too.
 * *ret_n, if wanted: processes signalled, -1 if the kernel did it. 0, CGROUP_E_GONE, <0.
 */
int cgroup_kill(int parent_fd, const char *name, int signal, int *ret_n);

/* Removes nested cgroups, deepest first, then the directory. 0, CGROUP_E_GONE, CGROUP_E_BUSY, <0. */
int cgroup_remove(int parent_fd, const char *name);

/* Extended attribute user.<name> of an open directory; *ret_value NUL-terminated, to free(). */
int cgroup_set_xattr(int dir_fd, const char *name, const char *value);
int cgroup_get_xattr(int dir_fd, const char *name, char **ret_value); /* 0, CGROUP_E_ABSENT, <0 */
