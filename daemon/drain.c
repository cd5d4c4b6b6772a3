/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Draining.
 *
 * It ends when no execution is left, that is, when every row is durable. If rows cannot be committed
 * it ends all the same, some time after the last process has gone: the directories stay for the next
 * daemon, and a shutdown must not hang on a full disk.
 */

#include "drain.h"

#include "private/clock.h"
#include "private/error.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#define DRAIN_STORE_USEC (20 * USEC_PER_SEC) /* for the rows, after the kill */

struct Drain {
        Registry *registry;
        LoopSource *timer;
        bool active, killed_all;
        int64_t n_at_start, n_killed;
        LIST_HEAD(, DrainWaiter) waiters;
};

static void drain_finish(Drain *drain)
{
        DrainWaiter *w;

        while ((w = LIST_FIRST(&drain->waiters))) {
                drain_wait_cancel(w);
                w->fn(w, drain->n_at_start - drain->n_killed, drain->n_killed);
        }
}

int drain_check(Drain *drain)
{
        if (drain->active && registry_count(drain->registry) == 0) {
                loop_source_disarm(drain->timer);
                drain_finish(drain);
        }
        return 0;
}

static int drain_kill(void *userdata, Execution *e)
{
        Drain *drain = userdata;
        int n, r;

        if (!execution_is_live(e))
                return 0;
        r = execution_kill(e, SIGKILL, &n);
        if (r == 0)
                ++drain->n_killed;
        return r < 0 ? error_fold(r) : 0;
}

static int drain_on_timer(void *userdata)
{
        Drain *drain = userdata;
        int r;

        if (drain->killed_all) {
                drain_finish(drain);
                return 0;
        }
        drain->killed_all = true;
        r = registry_for_each(drain->registry, drain_kill, drain);
        if (r < 0)
                return error_fold(r);
        return error_fold(loop_source_arm(drain->timer, DRAIN_STORE_USEC));
}

int drain_start(Drain *drain, uint64_t grace_usec, DrainWaiter *waiter)
{
        if (LIST_EMPTY(&drain->waiters)) { /* else it joins one that is under way */
                drain->n_at_start = (int64_t)registry_count_live(drain->registry);
                drain->n_killed = 0;
        }
        LIST_INSERT_HEAD(&drain->waiters, waiter, link);
        waiter->linked = true;
        drain->active = true;
        drain->killed_all = false;
        if (registry_count(drain->registry) == 0)
                return error_fold(drain_check(drain));
        return error_fold(loop_source_arm(drain->timer, grace_usec));
}

void drain_wait_cancel(DrainWaiter *waiter)
{
        if (waiter->linked)
                LIST_REMOVE(waiter, link);
        waiter->linked = false;
}

bool drain_is_active(const Drain *drain)
{
        return drain->active;
}

int drain_new(Loop *loop, Registry *registry, Drain **ret_drain)
{
        Drain *drain = calloc(1, sizeof(*drain));
        int r;

        if (!drain)
                return error_origin(-ENOMEM);
        drain->registry = registry;
        LIST_INIT(&drain->waiters);
        r = loop_add_timer(loop, "drain", LOOP_PRIORITY_KERNEL, drain_on_timer, drain,
                           &drain->timer);
        if (r < 0) {
                free(drain);
                return error_fold(r);
        }
        *ret_drain = drain;
        return 0;
}

Drain *drain_free(Drain *drain)
{
        if (!drain)
                return NULL;
        drain->timer = loop_source_free(drain->timer);
        free(drain);
        return NULL;
}
