/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One cgroup v2 directory.
 *
 * Everything goes through file descriptors, so a directory that vanished and came back under the
 * same name is never mistaken for the old one. No descriptor made here outlives its caller's use
 * or reaches another process: a cgroup.procs opened by root moves anything, for whoever holds it.
 *
 * What the kernel does, as executed on 5.10 to 7.2: files stay readable after the last process has
 * gone and until rmdir, then give ENODEV; rmdir right after a kill gives EBUSY for some
 * milliseconds; a write of a zombie's pid succeeds and moves nothing.
 */

#include "cgroup.h"

#include "memstat.h"
#include "private/cleanup.h"
#include "private/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CGROUP_FILE_MAX (64 * 1024 * 1024)
#define CGROUP_DEPTH_MAX 64   /* of cgroups that a workload nested below its own */
#define CGROUP_KILL_ROUNDS 64 /* without cgroup.kill: rounds over cgroup.procs against forks */

/* EBADF: the parent is not open, because the whole subtree has vanished. */
static bool cgroup_says_gone(int e)
{
        return e == ENOENT || e == ENODEV || e == EBADF;
}

int cgroup_create(int parent_fd, const char *name, uint64_t *ret_id)
{
        struct stat st;

        if (mkdirat(parent_fd, name, 0755) < 0) {
                switch (errno) {
                case EEXIST:
                        return CGROUP_E_EXISTS;
                case ENOENT:
                case ENODEV:
                case EBADF:
                        return CGROUP_E_GONE;
                case EAGAIN:
                case ENOSPC: /* cgroup ids are used up by dying ones */
                case ENOMEM:
                        return CGROUP_E_FULL;
                default:
                        return error_origin(-errno);
                }
        }
        if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? CGROUP_E_GONE : error_origin(-errno);
        *ret_id = st.st_ino;
        return 0;
}

int cgroup_open(int parent_fd, const char *name, int *ret_fd)
{
        int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

        if (fd < 0)
                return cgroup_says_gone(errno) ? CGROUP_E_GONE : error_origin(-errno);
        *ret_fd = fd;
        return 0;
}

/* One write(2): cgroup files take a value whole or not at all. Returns 0 or the errno. */
static int cgroup_write(int dir_fd, const char *path, const char *value)
{
        _cleanup_close_ int fd = -1;

        fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return errno;
        if (write(fd, value, strlen(value)) < 0)
                return errno;
        return 0;
}

int cgroup_set(int dir_fd, const char *file, const char *value, int *ret_errno)
{
        int e = cgroup_write(dir_fd, file, value);

        switch (e) {
        case 0:
                return 0;
        case ENODEV:
        case EBADF:
                return CGROUP_E_GONE;
        case ENOENT:
                return faccessat(dir_fd, "cgroup.procs", F_OK, 0) == 0 ? CGROUP_E_ABSENT
                                                                       : CGROUP_E_GONE;
        default:
                *ret_errno = e;
                return CGROUP_E_REFUSED;
        }
}

static int cgroup_open_file(int dir_fd, const char *file, int *ret_fd)
{
        int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

        if (fd < 0) {
                if (errno == ENODEV || errno == EBADF)
                        return CGROUP_E_GONE;
                if (errno != ENOENT && errno != EOPNOTSUPP)
                        return error_origin(-errno);
                return faccessat(dir_fd, "cgroup.procs", F_OK, 0) == 0 ? CGROUP_E_ABSENT
                                                                       : CGROUP_E_GONE;
        }
        *ret_fd = fd;
        return 0;
}

/* Reads until the end or until the buffer is full. *ret_n < n says that the end was reached. */
static int cgroup_read_fd(int fd, char *buffer, size_t n, size_t *ret_n)
{
        size_t used = 0;

        while (used < n) {
                ssize_t k = read(fd, buffer + used, n - used);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0 && errno == ENODEV)
                        return CGROUP_E_GONE;
                if (k < 0 && errno == EOPNOTSUPP)
                        return CGROUP_E_ABSENT;
                if (k < 0)
                        return error_origin(-errno);
                if (k == 0)
                        break;
                used += (size_t)k;
        }
        *ret_n = used;
        return 0;
}

int cgroup_read_into(int dir_fd, const char *file, char *buffer, size_t n)
{
        _cleanup_close_ int fd = -1;
        size_t used = 0;
        int r;

        r = cgroup_open_file(dir_fd, file, &fd);
        if (r)
                return error_fold(r);
        r = cgroup_read_fd(fd, buffer, n, &used);
        if (r)
                return error_fold(r);
        if (used == n)
                return error_origin(-EFBIG);
        buffer[used] = '\0';
        return 0;
}

int cgroup_read(int dir_fd, const char *file, char **ret_text)
{
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *text = NULL;
        size_t size = 4096, used = 0;
        int r;

        r = cgroup_open_file(dir_fd, file, &fd);
        if (r)
                return error_fold(r);
        for (;;) {
                char *larger = realloc(text, size);
                size_t k = 0;

                if (!larger)
                        return error_origin(-ENOMEM);
                text = larger;
                r = cgroup_read_fd(fd, text + used, size - used, &k);
                if (r)
                        return error_fold(r);
                used += k;
                if (used < size)
                        break;
                if (size >= CGROUP_FILE_MAX)
                        return error_origin(-EFBIG);
                size *= 2;
        }
        text[used] = '\0';
        *ret_text = TAKE_PTR(text);
        return 0;
}

int cgroup_read_populated(int parent_fd, const char *name, bool *ret_populated)
{
        char path[NAME_MAX + 32], text[256];
        int r;

        (void)snprintf(path, sizeof(path), "%s/cgroup.events", name);
        r = cgroup_read_into(parent_fd, path, text, sizeof(text));
        if (r ==
            CGROUP_E_ABSENT) /* every cgroup has this file: the directory itself is not there */
                return CGROUP_E_GONE;
        if (r)
                return error_fold(r);
        return memstat_parse_populated(text, ret_populated) == 0 ? 0 : error_origin(-EBADMSG);
}

int cgroup_attach(int parent_fd, const char *name, pid_t pid, int *ret_errno)
{
        char path[NAME_MAX + 32], value[16];
        int e;

        (void)snprintf(path, sizeof(path), "%s/cgroup.procs", name);
        (void)snprintf(value, sizeof(value), "%d", (int)pid);
        e = cgroup_write(parent_fd, path, value);
        switch (e) {
        case 0:
                return 0;
        case ENOENT:
        case ENODEV:
        case EBADF:
                return CGROUP_E_GONE;
        case ESRCH:
                return CGROUP_E_NO_PROCESS;
        default:
                *ret_errno = e;
                return CGROUP_E_REFUSED;
        }
}

/* Workloads name nested cgroups as they like, with a dot in front too. */
static bool cgroup_is_child(const struct dirent *entry)
{
        return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
               strcmp(entry->d_name, "..") != 0;
}

typedef int (*CgroupVisitFn)(int parent_fd, const char *name, void *userdata);

/* Calls visit for every cgroup below dir_fd, children before their parents. Takes over dir_fd. */
static int cgroup_walk(int dir_fd, unsigned depth, CgroupVisitFn visit, void *userdata)
{
        _cleanup_closedir_ DIR *dir = NULL;
        struct dirent *entry;
        int r;

        if (depth > CGROUP_DEPTH_MAX) {
                (void)cleanup_close(dir_fd);
                return error_origin(-ELOOP);
        }
        dir = fdopendir(dir_fd);
        if (!dir) {
                r = error_origin(-errno);
                (void)cleanup_close(dir_fd);
                return r;
        }
        while ((entry = readdir(dir))) {
                int child = -1;

                if (!cgroup_is_child(entry))
                        continue;
                if (cgroup_open(dirfd(dir), entry->d_name, &child) != 0)
                        continue; /* gone meanwhile */
                r = cgroup_walk(child, depth + 1, visit, userdata);
                if (r == 0)
                        r = visit(dirfd(dir), entry->d_name, userdata);
                if (r)
                        return error_fold(r);
        }
        return 0;
}

struct cgroup_signal {
        int signal;
        int n;
};

/* Sends the signal to each process that this cgroup lists itself. */
static int cgroup_visit_signal(int parent_fd, const char *name, void *userdata)
{
        _cleanup_free_ char *text = NULL;
        struct cgroup_signal *s = userdata;
        char path[NAME_MAX + 32];
        char *rest, *line;
        int r;

        (void)snprintf(path, sizeof(path), "%s/cgroup.procs", name);
        r = cgroup_read(parent_fd, path, &text);
        if (r)
                return r < 0 ? error_fold(r) : 0; /* gone meanwhile */
        for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                uint64_t pid;

                /* 0 stands for a process outside of our pid namespace */
                if (memstat_parse_u64(line, &pid) != 0 || pid == 0 || pid > INT_MAX)
                        continue;
                if (kill((pid_t)pid, s->signal) == 0)
                        ++s->n;
                else if (errno != ESRCH && errno != EPERM) /* EPERM: a security module said no */
                        return error_origin(-errno);
        }
        return 0;
}

static int cgroup_signal_tree(int parent_fd, const char *name, int signal, int *ret_n)
{
        struct cgroup_signal s = { .signal = signal };
        int fd = -1, r;

        r = cgroup_open(parent_fd, name, &fd);
        if (r)
                return error_fold(r);
        r = cgroup_walk(fd, 0, cgroup_visit_signal, &s);
        if (r == 0)
                r = cgroup_visit_signal(parent_fd, name, &s);
        if (r)
                return error_fold(r);
        *ret_n = s.n;
        return 0;
}

int cgroup_kill(int parent_fd, const char *name, int signal, int *ret_n)
{
        char path[NAME_MAX + 32];
        int e, n = -1, r = 0;

        if (signal == SIGKILL) {
                (void)snprintf(path, sizeof(path), "%s/cgroup.kill", name);
                e = cgroup_write(parent_fd, path, "1");
                if (e == 0) {
                        if (ret_n)
                                *ret_n = -1;
                        return 0;
                }
                /* older than 5.14: repeat until a round finds nobody, so that forks are caught */
                for (unsigned i = 0; i < CGROUP_KILL_ROUNDS && n != 0 && r == 0; ++i)
                        r = cgroup_signal_tree(parent_fd, name, SIGKILL, &n);
        } else {
                r = cgroup_signal_tree(parent_fd, name, signal, &n);
        }
        if (r)
                return error_fold(r);
        if (ret_n)
                *ret_n = n;
        return 0;
}

static int cgroup_visit_remove(int parent_fd, const char *name, void *userdata)
{
        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
                return 0;
        return errno == EBUSY ? CGROUP_E_BUSY : error_origin(-errno);
}

int cgroup_remove(int parent_fd, const char *name)
{
        int fd = -1, r;

        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0)
                return 0;
        if (cgroup_says_gone(errno))
                return CGROUP_E_GONE;
        if (errno != EBUSY && errno != ENOTEMPTY)
                return error_origin(-errno);
        /* the workload may have nested cgroups of its own */
        r = cgroup_open(parent_fd, name, &fd);
        if (r)
                return error_fold(r);
        r = cgroup_walk(fd, 0, cgroup_visit_remove, NULL);
        if (r)
                return error_fold(r);
        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0)
                return 0;
        if (errno == ENOENT)
                return CGROUP_E_GONE;
        return errno == EBUSY ? CGROUP_E_BUSY : error_origin(-errno);
}

int cgroup_set_xattr(int dir_fd, const char *name, const char *value)
{
        char full[64];

        (void)snprintf(full, sizeof(full), "user.%s", name);
        if (fsetxattr(dir_fd, full, value, strlen(value), 0) < 0)
                return error_origin(-errno);
        return 0;
}

int cgroup_get_xattr(int dir_fd, const char *name, char **ret_value)
{
        _cleanup_free_ char *value = NULL;
        char full[64];
        ssize_t n;

        (void)snprintf(full, sizeof(full), "user.%s", name);
        n = fgetxattr(dir_fd, full, NULL, 0);
        if (n < 0)
                return errno == ENODATA || errno == EOPNOTSUPP ? CGROUP_E_ABSENT
                                                               : error_origin(-errno);
        value = malloc((size_t)n + 2);
        if (!value)
                return error_origin(-ENOMEM);
        n = fgetxattr(dir_fd, full, value, (size_t)n + 1); /* size 0 would ask for the size again */
        if (n < 0) /* it grew meanwhile: nobody but us writes it */
                return error_origin(-errno);
        value[n] = '\0';
        *ret_value = TAKE_PTR(value);
        return 0;
}
