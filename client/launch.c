/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Starting a task as a child that is in its cgroup before its first instruction.
 *
 * root gives birth to it there: clone3() with CLONE_INTO_CGROUP, no move and no grace period to wait
 * for. The kernel takes the caller's own rights for that, so for everybody else, and wherever
 * clone3() is refused (old kernel, seccomp filter, namespaces), the child is forked here and asks the
 * daemon to be moved before it executes the command. With --require the latter is done for root as
 * well: only then is it known before the command runs whether it is accounted for.
 *
 * The child tells the parent of its failures through a pipe that its exec closes. Nothing is printed
 * here, and nothing of ours stays open in the task.
 */

#include "launch.h"

#include "cgtask.h"
#include "client.h"
#include "wire.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LAUNCH_DEFAULT_PATH "/bin:/usr/bin" /* as execvp(3) without PATH */

/* Of 8192 CPUs. */
static unsigned long launch_cpus[8192 / 8 / sizeof(unsigned long)];
static long launch_cpus_size;

static bool launch_oom_kill; /* allow it */

/* From the child to its parent; shorter than PIPE_BUF, so always whole. */
typedef struct LaunchReport {
        int exec_error; /* 0: the attach failed */
        char attach_error[LAUNCH_ERROR_MAX];
} LaunchReport;

_Static_assert(sizeof(LaunchReport) <= PIPE_BUF, "a report must be written at once");

/* One file: 0, or why execve(2) would refuse it. */
static int launch_try(const char *path)
{
        struct stat st;

        if (stat(path, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
                return -EACCES;
        return 0;
}

int launch_resolve(const char *command)
{
        const char *path = getenv("PATH") ?: LAUNCH_DEFAULT_PATH;
        char candidate[PATH_MAX];
        int r, result = -ENOENT;

        if (!*command || strchr(command, '/'))
                return launch_try(command);

        for (;;) {
                size_t n = strcspn(path, ":");
                int k = snprintf(candidate, sizeof(candidate), "%.*s%s%s", (int)n, path,
                                 n > 0 ? "/" : "", command);

                r = k < 0 || (size_t)k >= sizeof(candidate) ? -ENAMETOOLONG : launch_try(candidate);
                if (r == 0)
                        return 0;
                if (r == -EACCES)
                        result = -EACCES; /* something is there, if nothing better follows */
                if (!path[n])
                        return result;
                path += n + 1;
        }
}

void launch_keep_cpus(void)
{
        launch_cpus_size = syscall(SYS_sched_getaffinity, 0, sizeof(launch_cpus), launch_cpus);
}

/* Linux before 6.2 unbinds a process that comes into another cpuset; AllowedCPUs= is bound to, too. */
static void launch_restore_cpus(void)
{
        unsigned long now[N_ELEMENTS(launch_cpus)];
        long n = syscall(SYS_sched_getaffinity, 0, sizeof(now), now);

        if (n > 0 && n == launch_cpus_size && memcmp(now, launch_cpus, (size_t)n) != 0)
                (void)syscall(SYS_sched_setaffinity, 0, n, launch_cpus); /* as far as can be */
}

void launch_allow_oom_kill(void)
{
        launch_oom_kill = true;
}

/* Any other value than -1000 was chosen among those that can be killed, and stays. */
static void launch_reset_oom_score(void)
{
        _cleanup_close_ int fd = -1;
        char text[16];
        ssize_t n;

        fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
        if (fd < 0)
                return;
        n = read(fd, text, sizeof(text) - 1);
        if (n <= 0)
                return;
        text[n] = 0;
        if (strcmp(text, "-1000\n") == 0)
                (void)!write(fd, "0",
                             1); /* without it: as it was, and the daemon sees a livelock */
}

int launch_exec(char *const argv[])
{
        if (launch_oom_kill)
                launch_reset_oom_score();
        launch_restore_cpus();
        (void)execvp(argv[0], argv);
        return errno;
}

int launch_exit_status(int error)
{
        return error == ENOENT ? LAUNCH_EXIT_NOT_FOUND : LAUNCH_EXIT_NOT_EXECUTABLE;
}

uint64_t launch_remaining(uint64_t deadline_usec)
{
        uint64_t now = wire_now();

        if (deadline_usec == WIRE_NO_DEADLINE)
                return 0;
        return deadline_usec > now ? deadline_usec - now : 1;
}

static void launch_report(int fd, const LaunchReport *report)
{
        (void)!write(fd, report, sizeof(*report)); /* the parent may be gone */
}

/* In the child: asks to be moved. false: it was not. */
static bool launch_attach_self(const LaunchPlan *plan, int report_fd)
{
        _cleanup_client_ cgtask_client *client = NULL;
        LaunchReport report = { 0 };
        const char *error = "out of memory";

        if (cgtask_client_new(plan->socket_path, &client) == 0) {
                cgtask_client_set_timeout(client, launch_remaining(plan->deadline_usec));
                if (cgtask_attach(client, plan->id, 0) == 0)
                        return true;
                error = cgtask_client_error(client);
        }
        (void)snprintf(report.attach_error, sizeof(report.attach_error), "%s", error);
        launch_report(report_fd, &report);
        return false;
}

static _Noreturn void launch_child(const LaunchPlan *plan, const SuperviseSignals *signals,
                                   bool attach, int report_fd)
{
        LaunchReport report = { 0 };

        supervise_release(signals);
        if (attach && !launch_attach_self(plan, report_fd) && plan->require)
                _exit(LAUNCH_EXIT_FAILURE);

        report.exec_error = launch_exec(plan->argv);
        launch_report(report_fd, &report);
        _exit(launch_exit_status(report.exec_error));
}

/* fork(), but the child begins its life in the cgroup. < 0: it cannot be done, for any reason. */
static pid_t launch_clone_into(const char *cgroup_path)
{
        struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
        _cleanup_close_ int cgroup_fd = -1;

        cgroup_fd = open(cgroup_path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (cgroup_fd < 0)
                return -1;
        args.cgroup = (uint64_t)cgroup_fd;
        return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Until the child has executed the command or is gone. */
static void launch_read_reports(int fd, Launched *launched)
{
        LaunchReport report;
        ssize_t n;

        for (;;) {
                n = read(fd, &report, sizeof(report));
                if (n < 0 && errno == EINTR)
                        continue;
                if (n != (ssize_t)sizeof(report))
                        return;
                if (report.exec_error)
                        launched->exec_error = report.exec_error;
                else
                        memcpy(launched->attach_error, report.attach_error, LAUNCH_ERROR_MAX);
        }
}

int launch_start(const LaunchPlan *plan, const SuperviseSignals *signals, Launched *ret_launched)
{
        Launched launched = { .pid = -1 };
        _cleanup_close_ int read_fd = -1, write_fd = -1;
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return error_origin(-errno);
        read_fd = fds[0];
        write_fd = fds[1];

        if (plan->id && geteuid() == 0 && !plan->require) {
                launched.pid = launch_clone_into(plan->cgroup_path);
                launched.born_inside = launched.pid >= 0;
        }
        if (launched.pid < 0)
                launched.pid = fork();
        if (launched.pid < 0)
                return error_origin(-errno);
        if (launched.pid == 0)
                launch_child(plan, signals, plan->id && !launched.born_inside, write_fd);

        supervise_forward(launched.pid, signals);
        write_fd = cleanup_close(write_fd);
        launch_read_reports(read_fd, &launched);
        *ret_launched = launched;
        return 0;
}
