/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Checks of what the kernel has.
 *
 * The file is asked for, not the version: distributions take single features into older kernels.
 * memory.* files are in every cgroup but the root, and only where the memory controller is enabled
 * in the parent, so a cgroup that has memory.current is looked for first; without one nothing can
 * be said but what the version suggests.
 */

#include "check.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define TEXT_MAX 4096
#define WATCHES_PER_EXECUTION 2
#define MAX_EXECUTIONS 20000 /* MaxExecutions= if not configured */

/* The path of the caller's own cgroup in the v2 hierarchy; false if it is in none. */
static bool own_cgroup(const HostFs *host, char *path, size_t n)
{
        char text[TEXT_MAX];
        char *line;

        if (hostfs_read(host, text, sizeof(text), "/proc/self/cgroup") < 0)
                return false;
        line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
        if (!line)
                return false;
        line += *line == '\n' ? 4 : 3;
        line[strcspn(line, "\n")] = 0;
        return (size_t)snprintf(path, n, "%s", line) < n;
}

/* A cgroup, as a path below root, that has this file; false if none of the usual ones does. */
static bool find_cgroup_with(const HostFs *host, const char *file, char *path, size_t n)
{
        static const char *const usual[] = { "/system.slice", "/init.scope", "/user.slice" };
        char own[TEXT_MAX];
        size_t i;

        if (!host->mount)
                return false;
        if (hostfs_access(host, "%s/%s", host->executions_root, file) == 0)
                return (size_t)snprintf(path, n, "%s", host->executions_root) < n;
        for (i = 0; i < N_ELEMENTS(usual); i++)
                if (hostfs_access(host, "%s%s/%s", host->mount, usual[i], file) == 0)
                        return (size_t)snprintf(path, n, "%s%s", host->mount, usual[i]) < n;
        return own_cgroup(host, own, sizeof(own)) &&
               hostfs_access(host, "%s%s/%s", host->mount, own, file) == 0 &&
               (size_t)snprintf(path, n, "%s%s", host->mount, own) < n;
}

static const char *kernel_release(const HostFs *host, char *text, size_t n)
{
        if (hostfs_read(host, text, n, "/proc/sys/kernel/osrelease") < 0)
                return "of unknown version";
        text[strcspn(text, "\n")] = 0;
        return text;
}

static int check_peak(const HostFs *host, CheckList *list, const char *cgroup, const char *release)
{
        if (hostfs_access(host, "%s/memory.peak", cgroup) == 0)
                return error_fold(check_add(list, CHECK_OK, "memory.peak", NULL,
                                            "kernel %s keeps peaks", release));
        return error_fold(check_add(list, CHECK_FAIL, "memory.peak",
                                    "use kernel 5.19 or newer; until then rows say capture = "
                                    "unsupported",
                                    "kernel %s has no memory.peak", release));
}

static int check_swap_peak(const HostFs *host, CheckList *list, const char *cgroup,
                           const char *release)
{
        static const char name[] = "memory.swap.peak";

        if (hostfs_access(host, "%s/memory.swap.peak", cgroup) == 0)
                return error_fold(check_add(list, CHECK_OK, name, NULL,
                                            "kernel %s keeps peaks of swap", release));
        if (hostfs_access(host, "%s/memory.swap.current", cgroup) < 0)
                return error_fold(check_add(list, CHECK_WARN, name,
                                            "no swapaccount=0 on the kernel's command line",
                                            "swap is not accounted for: its column stays NULL"));
        return error_fold(check_add(list, CHECK_WARN, name, "use kernel 6.5 or newer",
                                    "kernel %s has none: its column stays NULL", release));
}

int check_memory_files(const HostFs *host, CheckList *list)
{
        char cgroup[TEXT_MAX], text[TEXT_MAX];
        const char *release = kernel_release(host, text, sizeof(text));
        int r;

        if (!find_cgroup_with(host, "memory.current", cgroup, sizeof(cgroup)))
                return error_fold(check_add(list, CHECK_SKIP, "memory.peak",
                                            "it needs kernel 5.19 or newer, and 6.5 for swap",
                                            "no cgroup with the memory controller to look at; "
                                            "kernel %s",
                                            release));
        r = check_peak(host, list, cgroup, release);
        if (r == 0)
                r = check_swap_peak(host, list, cgroup, release);
        return error_fold(r);
}

int check_core_files(const HostFs *host, CheckList *list)
{
        static const char name[] = "cgroup.kill";
        char cgroup[TEXT_MAX];

        if (!find_cgroup_with(host, "cgroup.events", cgroup, sizeof(cgroup)))
                return error_fold(check_add(list, CHECK_SKIP, name, NULL, "no cgroup to look at"));
        if (hostfs_access(host, "%s/cgroup.kill", cgroup) == 0)
                return error_fold(
                        check_add(list, CHECK_OK, name, NULL, "executions can be ended at once"));
        return error_fold(check_add(list, CHECK_WARN, name, "use kernel 5.14 or newer",
                                    "there is none: executions are ended process by process"));
}

static int check_pidfd(CheckList *list)
{
        _cleanup_close_ int fd = -1;

        fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
        if (fd >= 0)
                return error_fold(check_add(list, CHECK_OK, "pidfd", NULL,
                                            "processes are told apart without pids"));
        return error_fold(check_add(list, CHECK_FAIL, "pidfd",
                                    "use kernel 5.3 or newer; a container's seccomp filter may "
                                    "also forbid it",
                                    "pidfd_open: %s", strerror(errno)));
}

static int check_peer_pidfd(CheckList *list)
{
        static const char name[] = "SO_PEERPIDFD";
        int fds[2], fd = -1, r;
        socklen_t n = sizeof(fd);

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
                return error_fold(
                        check_add(list, CHECK_SKIP, name, NULL, "no socket: %s", strerror(errno)));
        r = getsockopt(fds[0], SOL_SOCKET, SO_PEERPIDFD, &fd, &n) < 0 ? errno : 0;
        (void)cleanup_close(fds[0]);
        (void)cleanup_close(fds[1]);
        (void)cleanup_close(fd);
        if (r == 0)
                return error_fold(check_add(list, CHECK_OK, name, NULL,
                                            "callers are identified by the kernel"));
        return error_fold(check_add(list, CHECK_OK, name, NULL,
                                    "not there before kernel 6.5 (%s): callers are identified by "
                                    "pid, and looked at twice",
                                    strerror(r)));
}

/* These ask the running kernel: below another root they would speak of the wrong one. */
int check_calls(const HostFs *host, CheckList *list)
{
        int r;

        if (*host->root)
                return error_fold(check_add(list, CHECK_SKIP, "system calls", NULL,
                                            "not tried below %s", host->root));
        r = check_pidfd(list);
        if (r == 0)
                r = check_peer_pidfd(list);
        return error_fold(r);
}

int check_pressure(const HostFs *host, CheckList *list)
{
        static const char name[] = "pressure (PSI)";
        char text[TEXT_MAX];
        int r;

        r = hostfs_read(host, text, sizeof(text), "/proc/pressure/memory");
        if (r == 0)
                return error_fold(check_add(list, CHECK_OK, name, NULL, "measured"));
        if (r == -EACCES || r == -EPERM)
                return error_fold(check_add(list, CHECK_SKIP, name, NULL,
                                            "/proc/pressure/memory: %s", strerror(-r)));
        return error_fold(check_add(list, CHECK_WARN, name,
                                    "psi=1 on the kernel's command line; until then the columns "
                                    "psi_* stay NULL",
                                    "not measured: /proc/pressure/memory: %s", strerror(-r)));
}

/* A number in a file of /proc/sys; -errno or -EINVAL. */
static int read_number(const HostFs *host, const char *path, uint64_t *ret_value)
{
        char text[64], *end;
        int r;

        r = hostfs_read(host, text, sizeof(text), "%s", path);
        if (r < 0)
                return r;
        errno = 0;
        *ret_value = strtoull(text, &end, 10);
        return errno != 0 || end == text ? -EINVAL : 0;
}

int check_inotify(const HostFs *host, CheckList *list)
{
        static const char name[] = "inotify";
        static const char remedy[] =
                "raise fs.inotify.max_user_watches (two for each execution) and "
                "fs.inotify.max_user_instances (one for the daemon) in /etc/sysctl.d";
        uint64_t watches, instances;
        int r;

        r = read_number(host, "/proc/sys/fs/inotify/max_user_watches", &watches);
        if (r == 0)
                r = read_number(host, "/proc/sys/fs/inotify/max_user_instances", &instances);
        if (r < 0)
                return error_fold(check_add(list, CHECK_SKIP, name, NULL,
                                            "cannot read its limits: %s", strerror(-r)));
        if (watches < MAX_EXECUTIONS * WATCHES_PER_EXECUTION)
                return error_fold(check_add(
                        list, CHECK_WARN, name, remedy,
                        "%" PRIu64 " watches are enough for %" PRIu64
                        " executions at once (up to %d may live); above that the daemon polls",
                        watches, watches / WATCHES_PER_EXECUTION, MAX_EXECUTIONS));
        if (instances < 16)
                return error_fold(check_add(list, CHECK_WARN, name, remedy,
                                            "only %" PRIu64 " instances for all of root's programs",
                                            instances));
        return error_fold(check_add(list, CHECK_OK, name, NULL,
                                    "%" PRIu64 " watches, %" PRIu64 " instances", watches,
                                    instances));
}
