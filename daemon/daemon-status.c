/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GetStatus: what the daemon knows of itself, and what is wrong with it, each with its remedy. */

#include "daemon-private.h"

#include "private/cleanup.h"
#include "private/clock.h"

#include <stdio.h>

/* A message may have been cut in the middle of a character. */
static json_t *daemon_text(const char *text)
{
        json_t *o = json_string(text);

        return o ? o : json_string("(a text that is not UTF-8)");
}

static void daemon_add_health(json_t *health, const char *name, const char *text,
                              const char *remedy)
{
        (void)json_array_append_new(health, json_pack("{s:s, s:o, s:s}", "name", name, "text",
                                                      daemon_text(text), "remedy", remedy));
}

typedef struct Livelocks {
        size_t n;
        const char *first; /* id */
} Livelocks;

static int daemon_count_livelock(void *userdata, Execution *e)
{
        Livelocks *found = userdata;

        if (!execution_is_live(e) || !e->livelocked)
                return 0;
        if (found->n++ == 0)
                found->first = e->id;
        return 0;
}

static void daemon_add_livelocks(const Daemon *d, json_t *health)
{
        Livelocks found = { 0 };
        char text[160];

        (void)registry_for_each(d->registry, daemon_count_livelock, &found);
        if (found.n == 0)
                return;
        (void)snprintf(text, sizeof(text),
                       "%zu executions are out of memory and nobody in them can be killed; the "
                       "first is %s",
                       found.n, found.first);
        daemon_add_health(health, "livelock", text,
                          "end them with cgtaskctl kill, and start their tasks without "
                          "oom_score_adj -1000");
}

static json_t *daemon_health(const Daemon *d, const WorkerStatus *worker)
{
        json_t *health = json_array();

        if (!hierarchy_is_ready(d->hierarchy))
                daemon_add_health(health, "hierarchy", hierarchy_reason(d->hierarchy),
                                  "systemctl start " HIERARCHY_EXECUTIONS_UNIT);
        else if (!hierarchy_has_memory_peak(d->hierarchy))
                daemon_add_health(
                        health, "memory.peak", "this kernel has no memory.peak",
                        "run Linux 5.19 or later; executions are recorded as `unsupported`");
        if (d->keeper == DAEMON_KEEPER_REPLACEMENT)
                daemon_add_health(health, "keeper",
                                  "the keeper's unit failed, a replacement holds the executions",
                                  "nothing to do: the unit is restarted when no execution is left");
        if (worker->store_known && !worker->store_ok)
                daemon_add_health(health, "store", worker->store_error,
                                  "mend the database; the cgroups of ended executions wait for it");
        if (inquest_complaint(d->inquest))
                daemon_add_health(health, "victims", inquest_complaint(d->inquest),
                                  "nothing but names is missing: see that journald keeps the "
                                  "kernel's messages (ReadKMsg=, Storage=, SystemMaxUse=)");
        daemon_add_livelocks(d, health);
        if (!watch_is_working(d->watch))
                daemon_add_health(health, "inotify", "no more inotify watches could be had",
                                  "raise fs.inotify.max_user_watches; until then executions are "
                                  "looked at every RecheckSec=");
        if (listener_is_paused(d->listener))
                daemon_add_health(health, "descriptors", "no file descriptor was left for a client",
                                  "raise LimitNOFILE= of cgtaskd.service");
        return health;
}

static const char *daemon_keeper_name(DaemonKeeper keeper)
{
        switch (keeper) {
        case DAEMON_KEEPER_NONE:
                return "none";
        case DAEMON_KEEPER_UNIT:
                return "unit";
        case DAEMON_KEEPER_REPLACEMENT:
                return "replacement";
        }
        return NULL;
}

static json_t *daemon_count_states(const Daemon *d)
{
        json_t *o = json_object();

        for (unsigned i = 0; i < EXECUTION_REMOVED; ++i)
                (void)json_object_set_new(o, execution_state_name((ExecutionState)i),
                                          json_integer((json_int_t)registry_count_state(
                                                  d->registry, (ExecutionState)i)));
        return o;
}

json_t *daemon_status(void *userdata)
{
        const Daemon *d = userdata;
        WorkerStatus worker;

        worker_get_status(d->worker, &worker);
        return json_pack(
                "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:I, s:I, s:b, s:o, s:I, s:I, "
                "s:I, s:I, s:b, s:I, s:I, s:o}",
                "version", CGTASK_VERSION, "state",
                drain_is_active(d->drain)          ? "draining"
                : hierarchy_is_ready(d->hierarchy) ? "running"
                                                   : "waiting",
                "layout", hierarchy_layout_name(hierarchy_layout(d->hierarchy)), "executionsRoot",
                hierarchy_root_path(d->hierarchy), "keeper", daemon_keeper_name(d->keeper),
                "bootId", d->host.boot_id, "owner", d->host.owner, "kernel", d->host.kernel_release,
                "live", (json_int_t)registry_count_live(d->registry), "byState",
                daemon_count_states(d), "storedRows", (json_int_t)worker.n_committed_rows,
                "commits", (json_int_t)worker.n_commits, "storeOk", (int)worker.store_ok,
                "storeError", daemon_text(worker.store_error), "failedCommits",
                (json_int_t)worker.n_failed_commits, "queuedJobs", (json_int_t)worker.n_queued,
                "walBytes", (json_int_t)worker.wal_bytes, "watches",
                (json_int_t)watch_count(d->watch), "inotifyOk", (int)watch_is_working(d->watch),
                "connections", (json_int_t)listener_count(d->listener), "uptimeUsec",
                (json_int_t)(clock_monotonic_usec() - d->started_usec), "health",
                daemon_health(d, &worker));
}
