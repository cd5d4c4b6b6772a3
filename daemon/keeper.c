/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The keeper and its replacement.
 *
 * It does as little as a process can: it sleeps. Everything that can fail is done before READY.
 * It never holds descriptors of the cgroup tree while it sleeps.
 */

#include "keeper.h"

#include "cgroup.h"
#include "hierarchy.h"
#include "memstat.h"
#include "private/cleanup.h"
#include "private/error.h"
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

#define KEEPER_REPLACEMENT_OPTION "--keeper-replacement="
#define KEEPER_TRIES 100

static int keeper_fail(const char *what, const char *path, int e)
{
        (void)fprintf(stderr, SD_ERR "cgtaskd --keeper: cannot %s %s: %s\n", what, path,
                      strerror(e));
        return EXIT_FAILURE;
}

static void keeper_sleep(void)
{
        sigset_t set;
        int signo;

        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGTERM);
        (void)sigaddset(&set, SIGINT);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        (void)sigwait(&set, &signo);
}

int keeper_run(void)
{
        static const char *const controllers[] = { "+memory", "+pids", "+cpu", "+io" };
        _cleanup_close_ int fd = -1;
        char own[PATH_MAX - 32], path[PATH_MAX];
        uint64_t id;
        int r, e = 0;

        if (process_read_cgroup(getpid(), own, sizeof(own)) != 0)
                return keeper_fail("read", "/proc/self/cgroup", ENODATA);
        (void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s", own);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return keeper_fail("open", path, errno);
        r = cgroup_create(fd, HIERARCHY_KEEPER, &id);
        if (r && r != CGROUP_E_EXISTS)
                return keeper_fail("make keeper/ in", path, r < 0 ? -r : EAGAIN);
        r = cgroup_attach(fd, HIERARCHY_KEEPER, getpid(), &e);
        if (r)
                return keeper_fail("move to keeper/ in", path, r < 0 ? -r : e);
        for (size_t i = 0; i < N_ELEMENTS(controllers); ++i) {
                r = cgroup_set(fd, "cgroup.subtree_control", controllers[i], &e);
                if (r && i == 0)
                        return keeper_fail("enable the memory controller in", path, r < 0 ? -r : e);
        }
        fd = cleanup_close(fd);
        (void)sd_notify(0, "READY=1\nSTATUS=Holding the cgroup of the executions");
        keeper_sleep();
        return EXIT_SUCCESS;
}

int keeper_run_replacement(void)
{
        keeper_sleep();
        return EXIT_SUCCESS;
}

/* systemd removes keeper/ while it is empty, also right after we have made it: then once more. */
static int keeper_put(int root_fd, pid_t pid)
{
        int r = 0, e = 0;

        for (unsigned i = 0; i < KEEPER_TRIES; ++i) {
                uint64_t id;

                r = cgroup_create(root_fd, HIERARCHY_KEEPER, &id);
                if (r < 0)
                        return error_fold(r);
                if (r && r != CGROUP_E_EXISTS)
                        break;
                r = cgroup_attach(root_fd, HIERARCHY_KEEPER, pid, &e);
                if (r != CGROUP_E_GONE)
                        break;
        }
        if (r < 0)
                return error_fold(r);
        return r == CGROUP_E_REFUSED ? error_origin(-e) : r ? KEEPER_E_GONE : 0;
}

int keeper_spawn_replacement(int root_fd, const char *root_path, pid_t *ret_pid)
{
        char option[PATH_MAX + 64];
        char *argv[] = { (char[]){ "cgtaskd" }, option, NULL };
        int e, r;

        (void)snprintf(option, sizeof(option), KEEPER_REPLACEMENT_OPTION "%s/" HIERARCHY_KEEPER,
                       root_path);
        e = posix_spawn(ret_pid, "/proc/self/exe", NULL, NULL, argv, environ);
        if (e)
                return error_origin(-e);
        r = keeper_put(root_fd, *ret_pid);
        if (r)
                (void)kill(*ret_pid, SIGKILL);
        return error_fold(r);
}

static bool keeper_is_replacement(pid_t pid)
{
        _cleanup_close_ int fd = -1;
        char path[64], text[1024];
        const char *second;
        ssize_t n;

        (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        if (n <= 0)
                return false;
        text[n] = '\0';
        second = text + strlen(text) + 1; /* arguments are separated by NUL */
        return second < text + n &&
               strncmp(second, KEEPER_REPLACEMENT_OPTION, strlen(KEEPER_REPLACEMENT_OPTION)) == 0;
}

pid_t keeper_find(int root_fd, bool *ret_is_replacement)
{
        char text[256];
        uint64_t pid;

        if (cgroup_read_into(root_fd, HIERARCHY_KEEPER "/cgroup.procs", text, sizeof(text)) != 0)
                return 0;
        text[strcspn(text, "\n")] = '\0';
        if (memstat_parse_u64(text, &pid) != 0 || pid == 0 || pid > INT_MAX)
                return 0;
        *ret_is_replacement = keeper_is_replacement((pid_t)pid);
        return (pid_t)pid;
}

int keeper_start_unit(void)
{
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system(&bus);
        if (r >= 0)
                r = sd_bus_call_method(bus, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                                       "org.freedesktop.systemd1.Manager", "StartUnit", &error,
                                       NULL, "ss", HIERARCHY_EXECUTIONS_UNIT, "replace");
        sd_bus_error_free(&error);
        sd_bus_flush_close_unref(bus);
        return r < 0 ? error_origin(r) : 0;
}
