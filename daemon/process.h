/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Facts about one process, from /proc and by pidfd. A pid alone is never an identity. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
        _PROCESS_E_SUCCESS,
        PROCESS_E_GONE,    /* no such process, or a zombie where a live one is asked for */
        PROCESS_E_NOT_YET, /* it has not ended, or nobody has reaped it */
        PROCESS_E_UNKNOWN, /* this kernel does not tell */
};

typedef struct ProcessStatus {
        uid_t uids[4];     /* real, effective, saved, file system */
        unsigned n_nspids; /* numbers on the NSpid line: more than one = in another pid namespace */
} ProcessStatus;

/* A pidfd (close-on-exec) for pid. 0, PROCESS_E_GONE, <0. */
int process_open(pid_t pid, int *ret_pidfd);
/* True once all threads of the process have ended, reaped or not. */
bool process_has_ended(int pidfd);

/* /proc/PID/status. 0, PROCESS_E_GONE, <0. */
int process_read_status(pid_t pid, ProcessStatus *ret_status);
bool process_parse_status(const char *text, ProcessStatus *ret_status); /* pure, for the above */

/* Start time in clock ticks since boot (field 22 of /proc/PID/stat). 0, PROCESS_E_GONE, <0. */
int process_read_start(pid_t pid, uint64_t *ret_ticks);
bool process_parse_start(const char *text, uint64_t *ret_ticks);

/* The cgroup v2 path of the process, "/" first. 0, PROCESS_E_GONE, <0. */
int process_read_cgroup(pid_t pid, char *buffer, size_t n);
/* True if the process is in the cgroup `path` (as /proc has it: "/" is our root) or below it. */
bool process_is_in_cgroup(pid_t pid, const char *path);

/*
 * How a process ended, by its pidfd: kernel 6.15 and later, after it was reaped (K40).
 * 0, PROCESS_E_NOT_YET, PROCESS_E_UNKNOWN.
 */
int process_get_wait_status(int pidfd, int *ret_wait_status);
