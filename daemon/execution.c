/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The life of one execution.
 *
 *     CREATED --attach--> RUNNING --runner's end known, populated 0--> DRAINED
 *        |                                                                |
 *        '------ whoever made it left, nothing ever ran ------------------+
 *                                                                         v
 *                           REMOVED <--rmdir-- STORED <--commit-- MEASURED
 *
 * execution_advance() is the only function that moves an execution on, one case per state; all
 * others record a fact (a process was attached, a file says populated 0, a client said Finish, a row
 * was committed) and call it. So facts may come in any order and more than once.
 *
 * Two facts end RUNNING: the runner's end is known, by Finish or by its pidfd, and the cgroup has no
 * process left. `populated 0` is the only proof of the latter; it is waited for, never inferred.
 *
 * The cgroup is the write-ahead log: it is removed only after the row has been committed. Whatever
 * happens to this process before that, the next one adopts the directory (execution-begin.c) and
 * does the rest. The xattr holds what the kernel does not know, and is rewritten when that changes.
 *
 * A fault on the way (no memory, an unreadable file) is logged and tried again a second later; it
 * costs this execution time, and no other one anything.
 */

#include "execution.h"

#include "cgroup.h"
#include "execution-private.h"
#include "log.h"
#include "measure.h"
#include "memstat.h"
#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"
#include "process.h"
#include "row.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

/* How long a drained execution waits for a Finish that somebody alive still owes. */
#define EXECUTION_FINISH_GRACE_USEC (30 * USEC_PER_SEC)
#define EXECUTION_RETRY_USEC USEC_PER_SEC
/* oom rises and oom_kill does not: so often in a row, at least so far apart */
#define EXECUTION_LIVELOCK_RISES 2
#define EXECUTION_LIVELOCK_USEC USEC_PER_SEC
/* rmdir is refused for 6 to 74 ms after a kill (K27): first retry, doubled up to the last. */
#define EXECUTION_RMDIR_FIRST_USEC (5 * USEC_PER_MSEC)
#define EXECUTION_RMDIR_LAST_USEC (10 * USEC_PER_SEC)

typedef struct ExecutionJob {
        WorkerJob job;
        Execution *execution;
        int root_fd; /* removal: the job's own */
} ExecutionJob;

static int execution_advance(Execution *e);

const char *execution_state_name(ExecutionState state)
{
        static const char *const names[_EXECUTION_STATE_N] = {
                [EXECUTION_CREATED] = "created", [EXECUTION_RUNNING] = "running",
                [EXECUTION_DRAINED] = "drained", [EXECUTION_MEASURED] = "measured",
                [EXECUTION_STORED] = "stored",   [EXECUTION_REMOVED] = "removed",
        };

        return names[state];
}

LogFields execution_log_fields(const Execution *e)
{
        LogFields fields = LOG_FIELDS_NULL;

        fields.execution_id = e->id;
        fields.task = e->metadata.task;
        fields.uid = e->metadata.uid;
        if (e->state >= EXECUTION_MEASURED) {
                fields.result = e->record.result;
                fields.memory_peak = e->record.memory_peak_bytes; /* NULL is negative */
        }
        return fields;
}

static void execution_tell_waiters(Execution *e, bool store_failed)
{
        ExecutionWaiter *w, *next;

        for (w = LIST_FIRST(&e->waiters); w; w = next) {
                next = LIST_NEXT(w, link); /* fn may cancel its own waiter, no other one */
                w->fn(w, e, store_failed);
        }
}

/* The only writer of state. */
void execution_set_state(Execution *e, ExecutionState state)
{
        ExecutionState old = e->state;
        LogFields fields = execution_log_fields(e);

        e->state = state;
        log_write(LOG_DEBUG, &fields, "Execution %s: %s -> %s", e->id, execution_state_name(old),
                  execution_state_name(state));
        e->context->changed(e->context->userdata, e, old);
        execution_tell_waiters(e, /* store_failed= */ false);
}

void execution_wait(Execution *e, ExecutionWaiter *waiter)
{
        LIST_INSERT_HEAD(&e->waiters, waiter, link);
        waiter->linked = true;
}

void execution_wait_cancel(ExecutionWaiter *waiter)
{
        if (waiter->linked)
                LIST_REMOVE(waiter, link);
        waiter->linked = false;
}

/* Logs a fault of this execution and tries again later. */
static int execution_postpone(Execution *e, int r)
{
        LogFields fields = execution_log_fields(e);
        char trace[512];

        if (r >= 0)
                return 0;
        error_trace_print(trace, sizeof(trace));
        log_write(LOG_ERR, &fields, "Execution %s is %s and could not go on: %s; trying again [%s]",
                  e->id, execution_state_name(e->state), strerror(-r), trace);
        return error_fold(execution_pause(e, EXECUTION_PAUSE_RETRY, EXECUTION_RETRY_USEC));
}

/* -- timers ----------------------------------------------------------------------------------- */

static int execution_on_timer(void *userdata)
{
        Execution *e = userdata;
        ExecutionPause pause = e->pause;
        int n;

        e->pause = EXECUTION_PAUSE_NONE;
        switch (pause) {
        case EXECUTION_PAUSE_ABANDON:
                return execution_creator_gone(e);
        case EXECUTION_PAUSE_STRAGGLERS:
                if (e->populated)
                        (void)execution_kill(e, SIGKILL, &n);
                return execution_look(e, EXECUTION_LOOK_ALL);
        case EXECUTION_PAUSE_FINISH:
                e->finish_expected = false;
                return execution_look(e, EXECUTION_LOOK_ALL);
        case EXECUTION_PAUSE_REAP:
                return execution_proceed(e);
        case EXECUTION_PAUSE_RETRY:
                return execution_is_live(e) ? execution_look(e, EXECUTION_LOOK_ALL)
                                            : execution_proceed(e);
        case EXECUTION_PAUSE_NONE:
                break;
        }
        return 0;
}

int execution_pause(Execution *e, ExecutionPause pause, uint64_t usec)
{
        int r;

        if (e->pause == pause)
                return 0;
        if (!e->timer) {
                r = loop_add_timer(e->context->loop, "execution", LOOP_PRIORITY_KERNEL,
                                   execution_on_timer, e, &e->timer);
                if (r < 0)
                        return error_fold(r);
        }
        r = loop_source_arm(e->timer, usec);
        if (r < 0)
                return error_fold(r);
        e->pause = pause;
        return 0;
}

static void execution_unpause(Execution *e)
{
        loop_source_disarm(e->timer);
        e->pause = EXECUTION_PAUSE_NONE;
}

/* -- the xattr and the running row ------------------------------------------------------------ */

int execution_save_metadata(Execution *e, int dir_fd)
{
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int own_fd = -1;
        int r;

        r = metadata_encode(&e->metadata, &text);
        if (r < 0)
                return error_fold(r);
        if (dir_fd < 0) {
                r = cgroup_open(hierarchy_root_fd(e->context->hierarchy), e->name, &own_fd);
                if (r)
                        return r < 0 ? error_fold(r) : 0; /* gone: the measuring will say so */
                dir_fd = own_fd;
        }
        return error_fold(cgroup_set_xattr(dir_fd, METADATA_XATTR, text));
}

static RowFacts execution_facts(const Execution *e)
{
        return (RowFacts){
                .id = e->id,
                .cgroup_id = e->cgroup_id,
                .metadata = &e->metadata,
                .host = e->context->host,
                .ended_usec = e->ended_usec,
                .ended_monotonic_usec = e->ended_monotonic_usec,
        };
}

static int execution_new_job(Execution *e, WorkerJobKind kind, void (*done)(WorkerJob *, int),
                             ExecutionJob **ret_job)
{
        ExecutionJob *job = calloc(1, sizeof(*job));

        if (!job)
                return error_origin(-ENOMEM);
        job->execution = e;
        job->root_fd = -1;
        job->job.kind = kind;
        job->job.done = done;
        execution_record_init(&job->job.record);
        ++e->n_jobs;
        *ret_job = job;
        return 0;
}

static Execution *execution_end_job(WorkerJob *worker_job)
{
        ExecutionJob *job = (ExecutionJob *)worker_job;
        Execution *e = job->execution;

        --e->n_jobs;
        (void)cleanup_close(job->root_fd);
        execution_record_deinit(&worker_job->record);
        free(job);
        return e;
}

/* The next one, or the final row, makes up for a failed one. */
static void execution_running_row_done(WorkerJob *job, int result)
{
        (void)execution_end_job(job);
}

/* Queues the row as it stands now: with the peak so far, or (measured false) without any figures. */
int execution_checkpoint(Execution *e, bool measured)
{
        RowFacts facts = execution_facts(e);
        ExecutionJob *job;
        int64_t current;
        int r;

        r = execution_new_job(e, WORKER_JOB_ROW, execution_running_row_done, &job);
        if (r < 0)
                return error_fold(r);
        r = measured ? execution_snapshot(e, &job->job.record, &current)
                     : row_describe(&facts, &job->job.record);
        if (r < 0) {
                (void)execution_end_job(&job->job);
                return error_fold(r);
        }
        e->checkpointed_usec = clock_monotonic_usec();
        worker_submit(e->context->worker, &job->job);
        return 0;
}

int execution_snapshot(Execution *e, ExecutionRecord *ret_record, int64_t *ret_current)
{
        _cleanup_close_ int fd = -1;
        RowFacts facts = execution_facts(e);
        int64_t peak = RECORD_NULL, current = RECORD_NULL;
        int r;

        execution_record_init(ret_record);
        r = row_describe(&facts, ret_record);
        if (r < 0)
                return error_fold(r);
        r = cgroup_open(hierarchy_root_fd(e->context->hierarchy), e->name, &fd);
        if (r == 0)
                r = measure_live(fd, &peak, &current);
        if (r < 0)
                return error_fold(r);
        ret_record->memory_peak_bytes = peak;
        if (peak != RECORD_NULL)
                ret_record->memory_peak_is_lower_bound = 1;
        *ret_current = current;
        return 0;
}

/* -- DRAINED -> MEASURED ---------------------------------------------------------------------- */

static void execution_unwatch(Execution *e)
{
        watch_remove(e->context->watch, e->events_wd);
        watch_remove(e->context->watch, e->memory_wd);
        e->events_wd = e->memory_wd = -1;
}

static void execution_drop_sources(Execution *e)
{
        e->runner_source = loop_source_free(e->runner_source);
        e->runner_fd = cleanup_close(e->runner_fd);
        e->supervisor_source = loop_source_free(e->supervisor_source);
        e->supervisor_fd = cleanup_close(e->supervisor_fd);
}

static int execution_judge(Execution *e, int dir_fd)
{
        const Host *host = e->context->host;
        RowFacts facts = execution_facts(e);
        VerdictInput verdict = { .exit = e->metadata.exit, .exit_status = e->metadata.exit_status };
        uint64_t ooms;
        int r;

        r = measure_final(dir_fd, host->ncpu, host->page_size, &e->record, &verdict);
        if (r)
                return error_fold(r);
        if (e->metadata.has_ancestor_ooms &&
            hierarchy_read_ancestor_ooms(e->context->hierarchy, &ooms)) {
                verdict.ancestor_known = true;
                verdict.ancestor_oom_rise =
                        ooms > e->metadata.ancestor_ooms ? ooms - e->metadata.ancestor_ooms : 0;
        }
        return error_fold(row_conclude(&facts, &verdict, &e->record));
}

static void execution_log_end(const Execution *e)
{
        LogFields fields = execution_log_fields(e);
        bool oom = e->record.result && strcmp(e->record.result, "oom") == 0;

        fields.message_id = oom ? LOG_MESSAGE_EXECUTION_OOM : LOG_MESSAGE_EXECUTION_FINISHED;
        log_write(oom ? LOG_NOTICE : LOG_DEBUG, &fields, "Execution %s of %s ended: %s%s%s", e->id,
                  e->metadata.task ? e->metadata.task : "(no task)", e->record.result,
                  oom ? ", " : "", oom ? e->record.oom_cause : "");
}

static int execution_measure(Execution *e)
{
        _cleanup_close_ int fd = -1;
        RowFacts facts = execution_facts(e);
        int r;

        execution_record_deinit(&e->record);
        r = row_describe(&facts, &e->record);
        if (r < 0)
                return error_fold(r);
        r = cgroup_open(hierarchy_root_fd(e->context->hierarchy), e->name, &fd);
        if (r == 0)
                r = execution_judge(e, fd);
        if (r > 0)
                r = row_conclude_lost(&facts, "its cgroup vanished before it could be read",
                                      &e->record);
        if (r < 0)
                return error_fold(r);
        execution_unwatch(e);
        execution_drop_sources(e);
        execution_set_state(e, EXECUTION_MEASURED);
        execution_log_end(e);
        return error_fold(execution_advance(e));
}

/* -- MEASURED -> STORED ----------------------------------------------------------------------- */

static int execution_copy_record(const ExecutionRecord *from, ExecutionRecord *to)
{
        int r = 0;

        *to = *from;
#define EXECUTION_COPY_TEXT(column) to->column = NULL;
#define EXECUTION_COPY_JSON(column) to->column = NULL;
#define EXECUTION_COPY_INTEGER(column)
#define EXECUTION_COPY_FLAG(column)
#define EXECUTION_COPY(kind, column, member) EXECUTION_COPY_##kind(column)
        EXECUTION_COLUMNS(EXECUTION_COPY)
#undef EXECUTION_COPY_TEXT
#undef EXECUTION_COPY_JSON
#define EXECUTION_COPY_TEXT(column) r = r < 0 ? r : row_set_text(&to->column, from->column);
#define EXECUTION_COPY_JSON(column) EXECUTION_COPY_TEXT(column)
        EXECUTION_COLUMNS(EXECUTION_COPY)
        return error_fold(r);
}

static void execution_row_done(WorkerJob *job, int result)
{
        Execution *e = execution_end_job(job);

        e->storing = false;
        if (result == 0) {
                execution_set_state(e, EXECUTION_STORED);
                (void)execution_postpone(e, execution_advance(e));
                return;
        }
        /* the directory waits, with everything in it; so does whoever comes after us */
        e->context->changed(e->context->userdata, e, e->state);
        execution_tell_waiters(e, /* store_failed= */ true);
        (void)execution_pause(e, EXECUTION_PAUSE_RETRY, EXECUTION_RETRY_USEC);
}

static int execution_store(Execution *e)
{
        ExecutionJob *job;
        int r;

        if (e->storing)
                return 0;
        r = execution_new_job(e, WORKER_JOB_ROW, execution_row_done, &job);
        if (r < 0)
                return error_fold(r);
        r = execution_copy_record(&e->record, &job->job.record);
        if (r < 0) {
                (void)execution_end_job(&job->job);
                return error_fold(r);
        }
        job->job.urgent = true;
        e->storing = true;
        worker_submit(e->context->worker, &job->job);
        return 0;
}

/* -- STORED -> REMOVED ------------------------------------------------------------------------ */

static int execution_remove_on_worker(WorkerJob *worker_job, Store *store)
{
        ExecutionJob *job = (ExecutionJob *)worker_job;

        return cgroup_remove(job->root_fd, job->execution->name);
}

static void execution_remove_done(WorkerJob *job, int result)
{
        Execution *e = execution_end_job(job);
        uint64_t usec = EXECUTION_RMDIR_FIRST_USEC;

        e->removing = false;
        if (result == 0 || result == CGROUP_E_GONE) {
                execution_set_state(e, EXECUTION_REMOVED);
                return;
        }
        for (unsigned i = 0; i < e->n_tries && usec < EXECUTION_RMDIR_LAST_USEC; ++i)
                usec *= 2;
        ++e->n_tries;
        (void)execution_pause(e, EXECUTION_PAUSE_RETRY, usec);
}

static int execution_remove(Execution *e)
{
        ExecutionJob *job;
        int root_fd, r;

        if (e->removing)
                return 0;
        root_fd = hierarchy_root_fd(e->context->hierarchy);
        if (root_fd < 0) { /* the whole subtree went */
                execution_set_state(e, EXECUTION_REMOVED);
                return 0;
        }
        r = execution_new_job(e, WORKER_JOB_CALL, execution_remove_done, &job);
        if (r < 0)
                return error_fold(r);
        job->root_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
        if (job->root_fd < 0) {
                r = error_origin(-errno);
                (void)execution_end_job(&job->job);
                return r;
        }
        job->job.fn = execution_remove_on_worker;
        e->removing = true;
        worker_submit(e->context->worker, &job->job);
        return 0;
}

/* -- CREATED, RUNNING -> DRAINED -------------------------------------------------------------- */

static int execution_meet_stragglers(Execution *e)
{
        uint64_t policy = e->metadata.stragglers_usec;
        int n, r;

        if (policy == CONFIG_INFINITY)
                return 0;
        if (policy > 0)
                return error_fold(execution_pause(e, EXECUTION_PAUSE_STRAGGLERS, policy));
        r = execution_kill(e, SIGKILL, &n);
        return r < 0 ? error_fold(r) : 0;
}

bool execution_holds(const Execution *e, pid_t pid)
{
        const char *parent = hierarchy_cgroup_path(e->context->hierarchy);
        char path[4096];

        if (!parent)
                return false;
        (void)snprintf(path, sizeof(path), "%s/%s", parent, e->name);
        return process_is_in_cgroup(pid, path);
}

static int execution_note_escape(Execution *e)
{
        LogFields fields = execution_log_fields(e);
        int r;

        if (e->escaped)
                return 0;
        r = row_set_text(&e->metadata.partial_reason,
                         "escaped: the runner left its cgroup while it was running");
        if (r < 0)
                return error_fold(r);
        e->metadata.partial = e->escaped = true;
        log_write(LOG_WARNING, &fields, "Execution %s escaped: pid %d left its cgroup", e->id,
                  (int)e->metadata.runner_pid);
        return error_fold(execution_save_metadata(e, -1));
}

static int execution_drain(Execution *e)
{
        if (!e->ended_usec && !e->ended_unseen) {
                e->ended_usec = clock_realtime_usec();
                e->ended_monotonic_usec = clock_monotonic_usec();
        }
        if (execution_awaits_reap(e))
                return 0;
        execution_unpause(e);
        execution_set_state(e, EXECUTION_DRAINED);
        return error_fold(execution_advance(e));
}

static int execution_try_drain(Execution *e)
{
        int r;

        if (e->populated)
                return e->runner_ended || e->finished ? error_fold(execution_meet_stragglers(e))
                                                      : 0;
        if (e->runner_fd >= 0 && !e->runner_ended && !process_has_ended(e->runner_fd)) {
                if (execution_holds(e, e->metadata.runner_pid))
                        return 0; /* on its last steps: its pidfd is about to fire */
                /* it may have ended, and been reaped, since the first look at its pidfd */
                r = process_has_ended(e->runner_fd) ? 0 : execution_note_escape(e);
                if (r < 0)
                        return error_fold(r);
        }
        if (e->finish_expected && !e->finished)
                return error_fold(
                        execution_pause(e, EXECUTION_PAUSE_FINISH, EXECUTION_FINISH_GRACE_USEC));
        return error_fold(execution_drain(e));
}

static int execution_advance(Execution *e)
{
        switch (e->state) {
        case EXECUTION_CREATED:
                /* born inside and already over, or never started: only its maker can tell */
                return e->finished || !e->finish_expected ? error_fold(execution_begin(e)) : 0;
        case EXECUTION_RUNNING:
                return error_fold(execution_try_drain(e));
        case EXECUTION_DRAINED:
                return error_fold(execution_measure(e));
        case EXECUTION_MEASURED:
                return error_fold(execution_store(e));
        case EXECUTION_STORED:
                return error_fold(execution_remove(e));
        case EXECUTION_REMOVED:
        case _EXECUTION_STATE_N:
                return 0;
        }
        return 0;
}

int execution_proceed(Execution *e)
{
        return execution_postpone(e, execution_advance(e));
}

/* -- facts from outside ----------------------------------------------------------------------- */

/*
 * `oom` rises and nobody is killed: all that could be is exempt (oom_score_adj -1000), and the task
 * gets ENOMEM or spins in the kernel (K14). A victim on its way out shows the same for a moment,
 * hence two rises in a row, each over a second.
 */
static void execution_watch_livelock(Execution *e, const MemstatEvents *events)
{
        uint64_t now = clock_monotonic_usec();
        LogFields fields = execution_log_fields(e);
        bool was = e->livelocked;

        if (events->oom_kill > e->oom_kills) {
                e->n_oom_rises = 0;
                e->livelocked = false;
        } else if (now - e->ooms_seen_usec < EXECUTION_LIVELOCK_USEC) {
                return;
        } else {
                e->n_oom_rises = events->oom > e->ooms ? e->n_oom_rises + 1 : 0;
                e->livelocked = e->n_oom_rises >= EXECUTION_LIVELOCK_RISES;
        }
        e->ooms = events->oom;
        e->ooms_seen_usec = now;
        if (!e->livelocked || was)
                return;
        fields.message_id = LOG_MESSAGE_DEGRADED;
        log_write(LOG_WARNING, &fields,
                  "Execution %s is out of memory %llu times by now and the kernel finds nobody in "
                  "it to kill (oom_score_adj -1000?): it may hang until it is killed",
                  e->id, (unsigned long long)events->oom);
}

static int execution_look_memory(Execution *e)
{
        char path[EXECUTION_NAME_MAX + 32], text[512];
        LogFields fields = execution_log_fields(e);
        MemstatEvents events;
        int r;

        (void)snprintf(path, sizeof(path), "%s/memory.events", e->name);
        r = cgroup_read_into(hierarchy_root_fd(e->context->hierarchy), path, text, sizeof(text));
        if (r)
                return r < 0 ? error_fold(r) : 0;
        if (memstat_parse_events(text, &events) != 0)
                return 0;
        execution_watch_livelock(e, &events);
        if (events.oom_kill <= e->oom_kills)
                return 0;
        log_write(LOG_INFO, &fields, "Execution %s: %llu OOM kills so far", e->id,
                  (unsigned long long)events.oom_kill);
        e->oom_kills = events.oom_kill;
        return 0;
}

static int execution_look_events(Execution *e)
{
        bool populated = false;
        int r;

        r = cgroup_read_populated(hierarchy_root_fd(e->context->hierarchy), e->name, &populated);
        if (r < 0)
                return error_fold(r);
        e->populated = r == 0 && populated; /* a directory that is gone holds nobody */
        if (r == CGROUP_E_GONE)
                e->finish_expected = false;
        return 0;
}

int execution_look(Execution *e, int what)
{
        int r = 0;

        if (!execution_is_live(e))
                return 0;
        if (what != EXECUTION_LOOK_EVENTS)
                r = execution_look_memory(e);
        if (r == 0 && what != EXECUTION_LOOK_MEMORY)
                r = execution_look_events(e);
        if (r == 0)
                r = execution_advance(e);
        return execution_postpone(e, r);
}

/* Others may have stayed inside, so no event tells that the runner has left (su, systemd-run). */
static int execution_check_escape(Execution *e)
{
        if (e->state != EXECUTION_RUNNING || e->runner_fd < 0 || e->runner_ended ||
            execution_holds(e, e->metadata.runner_pid) || process_has_ended(e->runner_fd))
                return 0;
        return error_fold(execution_note_escape(e));
}

int execution_recheck(Execution *e)
{
        uint64_t now = clock_monotonic_usec();
        int r;

        r = execution_check_escape(e);
        if (r < 0)
                return execution_postpone(e, r);

        if (execution_is_live(e) &&
            now - e->checkpointed_usec >= e->context->config->checkpoint_usec) {
                r = execution_checkpoint(e, /* measured= */ true);
                if (r < 0)
                        return execution_postpone(e, r);
        }
        return execution_look(e, EXECUTION_LOOK_ALL);
}

void execution_set_exit(Execution *e, int wait_status)
{
        if (WIFEXITED(wait_status)) {
                e->metadata.exit = VERDICT_EXIT_EXITED;
                e->metadata.exit_status = WEXITSTATUS(wait_status);
        } else if (WIFSIGNALED(wait_status)) {
                e->metadata.exit = VERDICT_EXIT_SIGNALED;
                e->metadata.exit_status = WTERMSIG(wait_status);
        }
}

int execution_finish(Execution *e, VerdictExit exit, int status, int64_t max_rss_bytes)
{
        int r;

        if (!execution_is_live(e) || e->finished)
                return 0;
        e->finished = true;
        e->metadata.exit = exit;
        e->metadata.exit_status = status;
        e->metadata.runner_max_rss_bytes = max_rss_bytes;
        r = execution_look_events(e);
        if (r == 0 && e->populated) /* it will go on for a while: a restart must not forget this */
                r = execution_save_metadata(e, -1);
        if (r < 0)
                return execution_postpone(e, r);
        return execution_proceed(e);
}

int execution_creator_gone(Execution *e)
{
        e->finish_expected = false;
        return execution_look(e, EXECUTION_LOOK_EVENTS);
}

int execution_kill(Execution *e, int signal, int *ret_n)
{
        int r;

        if (!execution_is_live(e))
                return EXECUTION_E_ENDED;
        r = cgroup_kill(hierarchy_root_fd(e->context->hierarchy), e->name, signal, ret_n);
        if (r < 0)
                return error_fold(r);
        return r ? EXECUTION_E_GONE : 0;
}

Execution *execution_free(Execution *e)
{
        if (!e)
                return NULL;
        assert(e->n_jobs == 0);
        assert(LIST_EMPTY(&e->waiters));
        execution_unwatch(e);
        execution_drop_sources(e);
        e->timer = loop_source_free(e->timer);
        execution_record_deinit(&e->record);
        metadata_deinit(&e->metadata);
        free(e);
        return NULL;
}
