/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looking after the executions' parent.
 *
 * Layout SYSTEMD: cgtask-executions.service is started after us; until its keeper sits in keeper/
 * the hierarchy is not ready and Creates wait. If the keeper dies, systemd removes what is empty in
 * the subtree, keeper/ itself for one, and all of it once nobody is left; so a replacement is put
 * into keeper/ at once. While it sits there the unit stays failed, and systemd refuses to start it.
 * When no execution is left, the replacement is ended, the subtree goes, and the unit is started anew.
 *
 * When the parent becomes ready for the first time, what an earlier daemon left in it is adopted,
 * and rows still `running` that have no cgroup any more are closed as lost.
 */

#include "daemon-private.h"

#include "cgroup.h"
#include "keeper.h"
#include "log.h"
#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define DAEMON_POLL_USEC (50 * USEC_PER_MSEC) /* while the keeper can be expected */
#define DAEMON_PATIENCE_USEC (10 * USEC_PER_SEC)
#define DAEMON_POLL_SLOW_USEC USEC_PER_SEC
#define DAEMON_UNIT_GRACE_USEC (3 * USEC_PER_SEC) /* the unit may be on its way: then ask */
#define DAEMON_UNIT_AGAIN_USEC (5 * USEC_PER_SEC)

/* -- rows without a cgroup -------------------------------------------------------------------- */

typedef struct DaemonClosing {
        WorkerJob job;
        char boot_id[33];
        char **ids; /* of the executions that live, sorted */
        size_t n_ids, size;
        int64_t n_other_boots, n_vanished;
} DaemonClosing;

static int daemon_compare_ids(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static int daemon_is_live(void *userdata, const char *id)
{
        const DaemonClosing *closing = userdata;

        return closing->n_ids > 0 && bsearch(&id, closing->ids, closing->n_ids, sizeof(char *),
                                             daemon_compare_ids) != NULL;
}

static int daemon_close_rows(WorkerJob *job, Store *store)
{
        DaemonClosing *closing = (DaemonClosing *)job;
        int r;

        r = store_close_other_boots(
                store, closing->boot_id,
                "the host went down while it was running: the peak is that of the "
                "last checkpoint",
                &closing->n_other_boots);
        if (r)
                return error_fold(r);
        return error_fold(store_close_vanished(
                store, closing->boot_id, daemon_is_live, closing,
                "its cgroup vanished while cgtaskd was not running: the peak is that of the last "
                "checkpoint",
                &closing->n_vanished));
}

static void daemon_closing_free(DaemonClosing *closing)
{
        for (size_t i = 0; i < closing->n_ids; ++i)
                free(closing->ids[i]);
        free(closing->ids);
        free(closing);
}

static void daemon_close_rows_done(WorkerJob *job, int result)
{
        DaemonClosing *closing = (DaemonClosing *)job;

        if (result == 0 && closing->n_other_boots + closing->n_vanished > 0)
                log_notice(
                        "%lld executions of an earlier boot and %lld whose cgroup had vanished are "
                        "recorded as lost",
                        (long long)closing->n_other_boots, (long long)closing->n_vanished);
        else if (result)
                log_warning(
                        "Rows of lost executions could not be closed now; the next start does it");
        daemon_closing_free(closing);
}

static int daemon_collect_id(void *userdata, Execution *e)
{
        DaemonClosing *closing = userdata;

        if (closing->n_ids == closing->size) {
                size_t size = closing->size ? 2 * closing->size : 64;
                char **larger = reallocarray(closing->ids, size, sizeof(char *));

                if (!larger)
                        return error_origin(-ENOMEM);
                closing->ids = larger;
                closing->size = size;
        }
        closing->ids[closing->n_ids] = strdup(e->id);
        if (!closing->ids[closing->n_ids])
                return error_origin(-ENOMEM);
        ++closing->n_ids;
        return 0;
}

static int daemon_submit_closing(Daemon *d)
{
        DaemonClosing *closing = calloc(1, sizeof(*closing));
        int r;

        if (!closing)
                return error_origin(-ENOMEM);
        closing->job.kind = WORKER_JOB_CALL;
        closing->job.fn = daemon_close_rows;
        closing->job.done = daemon_close_rows_done;
        execution_record_init(&closing->job.record);
        memcpy(closing->boot_id, d->host.boot_id, sizeof(closing->boot_id));
        r = registry_for_each(d->registry, daemon_collect_id, closing);
        if (r < 0) {
                daemon_closing_free(closing);
                return error_fold(r);
        }
        if (closing->n_ids > 0)
                qsort(closing->ids, closing->n_ids, sizeof(char *), daemon_compare_ids);
        worker_submit(d->worker, &closing->job);
        return 0;
}

/* -- the unit --------------------------------------------------------------------------------- */

typedef struct DaemonStart {
        WorkerJob job;
        Daemon *daemon;
} DaemonStart;

static int daemon_start_unit(WorkerJob *job, Store *store)
{
        return keeper_start_unit();
}

static void daemon_start_unit_done(WorkerJob *job, int result)
{
        DaemonStart *start = (DaemonStart *)job;

        start->daemon->starting_unit = false;
        if (result < 0)
                log_error("Cannot start " HIERARCHY_EXECUTIONS_UNIT
                          ": %s (try: systemctl start " HIERARCHY_EXECUTIONS_UNIT ")",
                          strerror(-result));
        free(start);
}

static int daemon_ask_for_unit(Daemon *d)
{
        uint64_t now = clock_monotonic_usec();
        DaemonStart *start;

        if (d->starting_unit || now - d->unit_asked_usec < DAEMON_UNIT_AGAIN_USEC)
                return 0;
        start = calloc(1, sizeof(*start));
        if (!start)
                return error_origin(-ENOMEM);
        start->job.kind = WORKER_JOB_CALL;
        start->job.fn = daemon_start_unit;
        start->job.done = daemon_start_unit_done;
        execution_record_init(&start->job.record);
        start->daemon = d;
        d->starting_unit = true;
        d->unit_asked_usec = now;
        worker_submit(d->worker, &start->job);
        return 0;
}

static bool daemon_is_populated(int root_fd, const char *name)
{
        bool populated = false;

        return cgroup_read_populated(root_fd, name, &populated) == 0 && populated;
}

/* True if the unit's own process is about to move to keeper/, or has just done so. */
static bool daemon_unit_is_starting(int root_fd)
{
        char text[256];

        if (cgroup_read_into(root_fd, "cgroup.procs", text, sizeof(text)) == 0 && *text)
                return true;
        return daemon_is_populated(root_fd, HIERARCHY_KEEPER);
}

/* True if a keeper was there: its directory is, or executions live without one. */
static bool daemon_is_orphaned(int root_fd)
{
        return faccessat(root_fd, HIERARCHY_KEEPER, F_OK, 0) == 0 ||
               daemon_is_populated(root_fd, ".");
}

/* Holds the parent before systemd sees it empty. 0, KEEPER_E_GONE, <0. */
static int daemon_hold(Daemon *d, int root_fd)
{
        pid_t pid;
        int r;

        r = keeper_spawn_replacement(root_fd, hierarchy_root_path(d->hierarchy), &pid);
        if (r == 0)
                log_warning(
                        "The keeper of the executions' cgroup died: pid %d replaces it, the unit "
                        "is restarted when no execution is left",
                        (int)pid);
        return error_fold(r);
}

/* Not ready in layout SYSTEMD: is the keeper dead, or has it not been born yet? */
static int daemon_revive(Daemon *d)
{
        _cleanup_close_ int fd = -1;
        bool worth_holding = registry_count(d->registry) > 0 || !d->adopted;
        int r;

        fd = open(hierarchy_root_path(d->hierarchy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || !worth_holding || !daemon_is_orphaned(fd))
                return clock_monotonic_usec() - d->not_ready_since_usec > DAEMON_UNIT_GRACE_USEC
                               ? error_fold(daemon_ask_for_unit(d))
                               : 0;
        if (daemon_unit_is_starting(fd))
                return 0;
        r = daemon_hold(d, fd); /* gone: the next look finds that */
        return r < 0 ? error_fold(r) : 0;
}

/* No execution is left and a replacement holds the parent: let go, so that the unit can start. */
static int daemon_end_replacement(Daemon *d)
{
        bool is_replacement;
        pid_t pid = keeper_find(hierarchy_root_fd(d->hierarchy), &is_replacement);

        if (pid > 0 && is_replacement && kill(pid, SIGKILL) < 0 && errno != ESRCH)
                return error_origin(-errno);
        d->keeper = DAEMON_KEEPER_NONE;
        watch_remove(d->watch, d->keeper_wd);
        d->keeper_wd = -1;
        hierarchy_invalidate(d->hierarchy);
        d->not_ready_since_usec = clock_monotonic_usec() - DAEMON_UNIT_GRACE_USEC;
        return error_fold(loop_source_arm(d->hierarchy_timer, DAEMON_POLL_USEC));
}

/* -- ready ------------------------------------------------------------------------------------ */

static int daemon_adopt(Daemon *d)
{
        size_t n;
        int r;

        r = registry_adopt(d->registry, &n);
        if (r < 0)
                return error_fold(r);
        if (n > 0)
                log_notice("Found %zu executions of an earlier cgtaskd", n);
        d->adopted = true;
        return error_fold(daemon_submit_closing(d));
}

static int daemon_watch_keeper(Daemon *d)
{
        char path[PATH_MAX];
        bool is_replacement = false;
        int r;

        if (hierarchy_layout(d->hierarchy) != HIERARCHY_LAYOUT_SYSTEMD)
                return 0;
        if (keeper_find(hierarchy_root_fd(d->hierarchy), &is_replacement) > 0)
                d->keeper = is_replacement ? DAEMON_KEEPER_REPLACEMENT : DAEMON_KEEPER_UNIT;
        watch_remove(d->watch, d->keeper_wd);
        d->keeper_wd = -1;
        (void)snprintf(path, sizeof(path), "%s/" HIERARCHY_KEEPER "/cgroup.events",
                       hierarchy_root_path(d->hierarchy));
        r = watch_add(d->watch, path, d, 0, &d->keeper_wd);
        return r < 0 ? error_fold(r) : 0;
}

static int daemon_on_ready(Daemon *d)
{
        LogFields fields = LOG_FIELDS_NULL;
        int r;

        if (!hierarchy_has_memory_peak(d->hierarchy) && !d->adopted) {
                fields.message_id = LOG_MESSAGE_DEGRADED;
                log_write(
                        LOG_WARNING, &fields,
                        "This kernel (%s) has no memory.peak: executions are recorded with capture "
                        "`unsupported` (memory.peak came with Linux 5.19)",
                        d->host.kernel_release);
        }
        d->not_ready_since_usec = 0;
        r = daemon_watch_keeper(d);
        if (r == 0 && !d->adopted)
                r = daemon_adopt(d);
        if (r < 0)
                return error_fold(r);
        log_info("Accounting in %s (layout %s)", hierarchy_root_path(d->hierarchy),
                 hierarchy_layout_name(hierarchy_layout(d->hierarchy)));
        if (d->keeper == DAEMON_KEEPER_REPLACEMENT && registry_count(d->registry) == 0)
                return error_fold(daemon_end_replacement(d));
        return error_fold(api_on_ready(d->api));
}

/* The parent was ready: is its keeper still there? */
static int daemon_check_keeper(Daemon *d)
{
        int root_fd = hierarchy_root_fd(d->hierarchy);
        int r = KEEPER_E_GONE;

        if (hierarchy_layout(d->hierarchy) != HIERARCHY_LAYOUT_SYSTEMD)
                return 0;
        if (daemon_is_populated(root_fd, HIERARCHY_KEEPER)) {
                if (d->keeper == DAEMON_KEEPER_REPLACEMENT && registry_count(d->registry) == 0)
                        return error_fold(daemon_end_replacement(d));
                return 0;
        }
        if (registry_count(d->registry) > 0)
                r = daemon_hold(d, root_fd);
        if (r == 0)
                r = daemon_watch_keeper(d);
        if (r != KEEPER_E_GONE)
                return error_fold(r);
        /* nothing is left to hold */
        d->keeper = DAEMON_KEEPER_NONE;
        d->not_ready_since_usec = clock_monotonic_usec();
        hierarchy_invalidate(d->hierarchy);
        return error_fold(loop_source_arm(d->hierarchy_timer, DAEMON_POLL_USEC));
}

int daemon_hierarchy_look(Daemon *d)
{
        uint64_t waited;
        int r;

        if (hierarchy_is_ready(d->hierarchy))
                return error_fold(daemon_check_keeper(d));
        r = hierarchy_make_ready(d->hierarchy, d->config.max_executions);
        if (r < 0)
                return error_fold(r);
        if (r == 0)
                return error_fold(daemon_on_ready(d));
        if (hierarchy_layout(d->hierarchy) != HIERARCHY_LAYOUT_SYSTEMD) {
                log_error("Cannot account for executions here: %s", hierarchy_reason(d->hierarchy));
                return error_origin(-DAEMON_ETOLD);
        }
        r = daemon_revive(d);
        if (r < 0)
                return error_fold(r);
        waited = clock_monotonic_usec() - d->not_ready_since_usec;
        return error_fold(loop_source_arm(d->hierarchy_timer, waited < DAEMON_PATIENCE_USEC
                                                                      ? DAEMON_POLL_USEC
                                                                      : DAEMON_POLL_SLOW_USEC));
}

static int daemon_on_hierarchy_timer(void *userdata)
{
        return error_fold(daemon_hierarchy_look(userdata));
}

int daemon_hierarchy_need(void *userdata)
{
        Daemon *d = userdata;

        if (!d->not_ready_since_usec)
                d->not_ready_since_usec = clock_monotonic_usec();
        return error_fold(loop_source_arm(d->hierarchy_timer, 0));
}

int daemon_hierarchy_start(Daemon *d)
{
        d->not_ready_since_usec = clock_monotonic_usec();
        return error_fold(loop_add_timer(d->loop, "hierarchy", LOOP_PRIORITY_KERNEL,
                                         daemon_on_hierarchy_timer, d, &d->hierarchy_timer));
}

void daemon_hierarchy_stop(Daemon *d)
{
        watch_remove(d->watch, d->keeper_wd);
        d->keeper_wd = -1;
        d->hierarchy_timer = loop_source_free(d->hierarchy_timer);
}
