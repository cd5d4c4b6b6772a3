/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * cgtaskctl drain: ends all executions of this host.
 *
 * It is what the keeper's unit runs when it stops, as a rule because the host goes down. A live
 * daemon is asked: it takes no new executions, waits, kills, and stores the rows. A dead one must
 * not be woken by it (connecting would start it through its socket, into a shutdown), so its lock
 * is looked at first. Without a daemon, or with one that does not manage, the cgroups are emptied
 * directly and left where they are: the next daemon finds the peaks in them.
 */

#include "ctl.h"
#include "drain.h"
#include "hostfs.h"
#include "human.h"

#include "cgtask.h"

#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* Above what killing and storing take; the unit's TimeoutStopSec= is longer than both together. */
#define DAEMON_TIMEOUT_USEC (20 * HUMAN_SECOND)
#define KILL_TIMEOUT_USEC (10 * HUMAN_SECOND)

static uint64_t now_usec(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * HUMAN_SECOND + (uint64_t)now.tv_nsec / 1000;
}

static int is_daemon_alive(const Ctl *ctl, bool *ret_alive)
{
        _cleanup_free_ char *path = NULL;

        if (asprintf(&path, "%s.lock", ctl->database ? ctl->database : WIRE_DATABASE_PATH) < 0) {
                path = NULL;
                return error_origin(-ENOMEM);
        }
        *ret_alive = drain_daemon_is_alive(path);
        return 0;
}

/* CTL_EXIT_OK, or CTL_EXIT_FAILED after a line that says why. */
static int ask_daemon(const Ctl *ctl)
{
        cgtask_client *client = NULL;
        int64_t drained, killed;
        uint64_t timeout;
        int r;

        r = cgtask_client_new(ctl->socket, &client);
        if (r < 0)
                return ctl_error("the daemon cannot be asked: %s", strerror(-r));
        if (__builtin_add_overflow(ctl->grace_usec, DAEMON_TIMEOUT_USEC, &timeout))
                timeout = 0; /* no deadline */
        cgtask_client_set_timeout(client, timeout);
        r = cgtask_drain(client, ctl->grace_usec, &drained, &killed);
        if (r < 0)
                (void)ctl_error("the daemon did not drain (%s): emptying the cgroups directly",
                                cgtask_client_error(client));
        (void)cgtask_client_free(client);
        if (r < 0)
                return CTL_EXIT_FAILED;
        printf("drained by the daemon: %lld ended, %lld killed\n", (long long)drained,
               (long long)killed);
        return CTL_EXIT_OK;
}

static int drain_directly(const char *folder, uint64_t grace_usec)
{
        DrainResult result;
        int r;

        r = drain_executions(folder, grace_usec, KILL_TIMEOUT_USEC, &result);
        if (r == -ENOENT) {
                printf("nothing to drain: there is no %s\n", folder);
                return CTL_EXIT_OK;
        }
        if (r < 0)
                return ctl_error("cannot read %s: %s", folder, strerror(-r));
        printf("drained without a daemon: %zu of %zu were over, %zu ended, %zu killed; "
               "their cgroups stay for the next daemon\n",
               result.n_over, result.n_executions, result.n_drained, result.n_killed);
        if (result.n_stuck > 0)
                return ctl_error("%zu executions still have processes after SIGKILL",
                                 result.n_stuck);
        return CTL_EXIT_OK;
}

int ctl_drain(const Ctl *ctl, int argc, char *argv[])
{
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };
        uint64_t begin = now_usec(), elapsed;
        bool alive = false;
        int r;

        if (geteuid() != 0)
                return ctl_error("only root may drain");
        r = is_daemon_alive(ctl, &alive);
        if (r < 0)
                return error_fold(r);
        if (alive && ask_daemon(ctl) == CTL_EXIT_OK)
                return CTL_EXIT_OK;

        r = hostfs_probe("", ctl->executions_root, &host);
        if (r < 0)
                return ctl_error("cannot find the cgroups: %s", strerror(-r));
        if (!host.executions_root) {
                printf("nothing to drain: no cgroup v2 hierarchy is mounted\n");
                return CTL_EXIT_OK;
        }
        elapsed = now_usec() - begin;
        return drain_directly(host.executions_root,
                              ctl->grace_usec > elapsed ? ctl->grace_usec - elapsed : 0);
}
