/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Ends executions without a daemon.
 *
 * This runs when the host goes down and nobody is there to ask, so it needs nothing but the files
 * of the cgroups, one descriptor at a time, and goes on after any failure with the next execution.
 *
 *   - Only names of our own form are touched: the keeper and systemd's .control stay.
 *   - `populated 0` is the only proof of emptiness; poll() tells when to look again, and a look
 *     every RECHECK_MSEC makes up for a lost event.
 *   - cgroup.kill gets all processes at once. Kernels before 5.14 have no such file: there every
 *     look kills whatever is in cgroup.procs, here and below, until nothing is left.
 *   - Executions are waited for one after the other, but against one common end: those at the back
 *     go on ending while those in front are waited for.
 */

#include "drain.h"

#include "private/cleanup.h"
#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#define RECHECK_MSEC 100
#define DEPTH_MAX 64 /* of cgroups that a task makes below its own */

typedef struct Alive {
        char **names;
        size_t n;
        size_t n_allocated;
} Alive;

static void alive_deinit(Alive *alive)
{
        size_t i;

        for (i = 0; i < alive->n; i++)
                free(alive->names[i]);
        free(alive->names);
}

static uint64_t now_usec(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int open_execution(int folder_fd, const char *name)
{
        return openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What cannot be read is gone, and what is gone has no processes. */
static bool is_populated(int events_fd)
{
        char text[256];
        ssize_t n;

        n = pread(events_fd, text, sizeof(text) - 1, 0);
        if (n <= 0)
                return false;
        text[n] = 0;
        return strncmp(text, "populated 1", 11) == 0 || strstr(text, "\npopulated 1");
}

static int open_events(int directory_fd)
{
        return openat(directory_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
}

/* Every process in one cgroup. Pids of other pid namespaces read as 0, and are nobody to kill. */
static void kill_processes(int directory_fd)
{
        _cleanup_fclose_ FILE *f = NULL;
        long pid;
        int fd;

        fd = openat(directory_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        f = fdopen(fd, "r");
        if (!f) {
                (void)close(fd);
                return;
        }
        while (fscanf(f, "%ld", &pid) == 1)
                if (pid > 1 && pid != getpid())
                        (void)kill((pid_t)pid, SIGKILL);
}

static void kill_tree(int directory_fd, unsigned depth)
{
        _cleanup_closedir_ DIR *d = NULL;
        const struct dirent *entry;
        int fd;

        kill_processes(directory_fd);
        fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        d = fd >= 0 ? fdopendir(fd) : NULL;
        if (!d) {
                (void)cleanup_close(fd);
                return;
        }
        while (depth < DEPTH_MAX && (entry = readdir(d))) {
                _cleanup_close_ int child_fd = -1;

                if (entry->d_type != DT_DIR || *entry->d_name == '.')
                        continue;
                child_fd = open_execution(dirfd(d), entry->d_name);
                if (child_fd >= 0)
                        kill_tree(child_fd, depth + 1);
        }
}

static void kill_execution(int directory_fd)
{
        _cleanup_close_ int fd = -1;

        fd = openat(directory_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "1", 1) != 1)
                kill_tree(directory_fd, 0);
}

/* True if nobody is in it before the end. kill_again: what came after the last look goes, too. */
static bool wait_empty(int directory_fd, uint64_t end_usec, bool kill_again)
{
        _cleanup_close_ int events_fd = -1;
        struct pollfd p;
        uint64_t now, left_msec;

        events_fd = open_events(directory_fd);
        if (events_fd < 0)
                return true;
        while (is_populated(events_fd)) {
                now = now_usec();
                if (now >= end_usec)
                        return false;
                if (kill_again && faccessat(directory_fd, "cgroup.kill", F_OK, 0) < 0)
                        kill_tree(directory_fd, 0);
                left_msec = (end_usec - now + 999) / 1000;
                p = (struct pollfd){ .fd = events_fd, .events = POLLPRI };
                (void)poll(&p, 1, left_msec < RECHECK_MSEC ? (int)left_msec : RECHECK_MSEC);
        }
        return true;
}

static int alive_add(Alive *alive, const char *name)
{
        char **names;
        size_t n;

        if (alive->n == alive->n_allocated) {
                n = alive->n_allocated > 0 ? alive->n_allocated * 2 : 64;
                names = reallocarray(alive->names, n, sizeof(*names));
                if (!names)
                        return error_origin(-ENOMEM);
                alive->names = names;
                alive->n_allocated = n;
        }
        alive->names[alive->n] = strdup(name);
        if (!alive->names[alive->n])
                return error_origin(-ENOMEM);
        alive->n++;
        return 0;
}

/* Names with somebody in them. */
static int scan(DIR *d, Alive *alive, DrainResult *result)
{
        const struct dirent *entry;
        int r = 0;

        while (r == 0 && (entry = readdir(d))) {
                _cleanup_close_ int directory_fd = -1;

                if (strncmp(entry->d_name, WIRE_CGROUP_PREFIX, strlen(WIRE_CGROUP_PREFIX)) != 0)
                        continue;
                directory_fd = open_execution(dirfd(d), entry->d_name);
                if (directory_fd < 0)
                        continue;
                result->n_executions++;
                if (wait_empty(directory_fd, 0, false))
                        result->n_over++;
                else
                        r = alive_add(alive, entry->d_name);
        }
        return error_fold(r);
}

/* Takes out of alive what is empty before the end; *n_ended counts them. */
static void wait_all(int folder_fd, Alive *alive, uint64_t end_usec, bool kill_again,
                     size_t *n_ended)
{
        size_t i, n = 0;

        for (i = 0; i < alive->n; i++) {
                _cleanup_close_ int directory_fd = -1;

                directory_fd = open_execution(folder_fd, alive->names[i]);
                if (directory_fd < 0 || wait_empty(directory_fd, end_usec, kill_again)) {
                        (*n_ended)++;
                        free(alive->names[i]);
                } else {
                        alive->names[n++] = alive->names[i];
                }
        }
        alive->n = n;
}

static void kill_all(int folder_fd, const Alive *alive)
{
        size_t i;

        for (i = 0; i < alive->n; i++) {
                _cleanup_close_ int directory_fd = -1;

                directory_fd = open_execution(folder_fd, alive->names[i]);
                if (directory_fd >= 0)
                        kill_execution(directory_fd);
        }
}

static uint64_t end_after(uint64_t usec)
{
        uint64_t end;

        return __builtin_add_overflow(now_usec(), usec, &end) ? UINT64_MAX : end;
}

int drain_executions(const char *folder, uint64_t grace_usec, uint64_t kill_usec,
                     DrainResult *ret_result)
{
        _cleanup_(alive_deinit) Alive alive = { NULL, 0, 0 };
        _cleanup_closedir_ DIR *d = NULL;
        DrainResult result = { 0 };
        int r;

        d = opendir(folder);
        if (!d)
                return error_origin(-errno);
        r = scan(d, &alive, &result);
        if (r < 0)
                return error_fold(r);
        if (grace_usec > 0)
                wait_all(dirfd(d), &alive, end_after(grace_usec), false, &result.n_drained);
        kill_all(dirfd(d), &alive);
        wait_all(dirfd(d), &alive, end_after(kill_usec), true, &result.n_killed);
        result.n_stuck = alive.n;
        *ret_result = result;
        return 0;
}

bool drain_daemon_is_alive(const char *lock_path)
{
        _cleanup_close_ int fd = -1;

        fd = open(lock_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
        if (fd < 0)
                return false;
        /* Closing gives the lock back. */
        return flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}
