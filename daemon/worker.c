/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The one other thread: commits, rmdir, reading of stored rows.
 *
 * Two queues under one lock: jobs that wait for the thread, and finished ones that wait for the
 * loop. A job belongs to exactly one side at any time, so its content needs no lock. The thread takes
 * either one call, or all rows up to the next call (at most WORKER_COMMIT_ROWS, so that no
 * transaction grows without bound behind a slow disk), and never holds the lock while it works.
 * Order is kept: rows that stand before a call are committed before it runs.
 *
 * Grouping is what makes durable rows cheap: a commit costs one flush of the disk, however many rows
 * it has. An urgent row does not wait, but while its flush runs others gather, so load makes groups
 * by itself. A row `running` that is followed by a later row of the same execution in its group is
 * not written at all; both are done by the same commit.
 *
 * Failures are given back, not retried here: whoever submitted the row still has it, and has a
 * timer. The store is opened again before the next rows, hence no busy loop. Only a row that can
 * never be stored is taken out of its group, so that it does not take the others with it.
 *
 * When no row has been committed for a second, a WAL that has grown is emptied; an open reader makes
 * that fail, then it is tried again later.
 */

#include "worker.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#define USEC_PER_SEC 1000000ULL

#define WORKER_COMMIT_ROWS 256        /* in one transaction; more gain nothing measurable */
#define WORKER_IDLE_USEC USEC_PER_SEC /* without a commit, before upkeep */
#define WORKER_BLOCKED_USEC (10 * USEC_PER_SEC) /* before upkeep after a reader was in the way */
#define WORKER_OPTIMIZE_USEC (3600 * USEC_PER_SEC)
#define WORKER_REOPEN_USEC USEC_PER_SEC /* between tries to open the store for calls */
#define WORKER_WAL_BYTES (1024 * 1024)  /* an idle WAL may stay this large */
#define WORKER_NEVER UINT64_MAX

typedef STAILQ_HEAD(WorkerQueue, WorkerJob) WorkerQueue;

struct Worker {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t wake; /* the thread waits for it */
        int event_fd;

        /* Under the lock. */
        WorkerQueue waiting, finished;
        size_t n_waiting;
        size_t n_pressing; /* waiting jobs that do not wait for company */
        bool stopping;
        WorkerStatus status;

        /* The thread's own. */
        Store *store;
        bool store_ok;
        uint64_t opened_usec; /* last try */
        uint64_t upkeep_usec; /* when to look after the WAL, WORKER_NEVER if nothing was written */
        uint64_t optimize_usec; /* when to refresh the planner's figures */
};

static uint64_t worker_now(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / 1000;
}

static bool worker_is_pressing(const WorkerJob *job)
{
        return job->kind == WORKER_JOB_CALL || job->urgent;
}

/* Publishes how the store is. text NULL: it is well. */
static void worker_note_store(Worker *w, const char *text)
{
        WorkerStatus *status = &w->status;

        w->store_ok = !text;
        (void)pthread_mutex_lock(&w->lock);
        status->store_known = true;
        status->store_ok = !text;
        (void)snprintf(status->store_error, sizeof(status->store_error), "%s", text ? text : "");
        status->wal_bytes = store_wal_bytes(w->store);
        (void)pthread_mutex_unlock(&w->lock);
}

static int worker_open(Worker *w)
{
        _cleanup_free_ char *moved = NULL;
        int r;

        w->opened_usec = worker_now();
        r = store_open(w->store, &moved);
        worker_note_store(w, r == 0 ? NULL : store_error(w->store));
        if (moved) {
                (void)pthread_mutex_lock(&w->lock);
                (void)snprintf(w->status.corrupt_moved, sizeof(w->status.corrupt_moved), "%s",
                               moved);
                (void)pthread_mutex_unlock(&w->lock);
        }
        return error_fold(r);
}

/* A later row of the group says the same and more. Only `running` is sure to be overwritten. */
static bool worker_is_redundant(const WorkerJob *job)
{
        if (!job->record.id || !job->record.state || strcmp(job->record.state, "running") != 0)
                return false;
        for (const WorkerJob *later = STAILQ_NEXT(job, link); later;
             later = STAILQ_NEXT(later, link))
                if (later->result == 0 && later->record.id &&
                    strcmp(later->record.id, job->record.id) == 0)
                        return true;
        return false;
}

/* One try. *ret_bad is the row that failed with a fault of its own, NULL if none did. */
static int worker_try_commit(Worker *w, WorkerQueue *rows, WorkerJob **ret_bad, uint64_t *ret_n)
{
        WorkerJob *job;
        uint64_t n = 0;
        int r;

        *ret_bad = NULL;
        r = store_begin(w->store);
        if (r != 0)
                return error_fold(r);
        STAILQ_FOREACH(job, rows, link) {
                if (job->result != 0 || worker_is_redundant(job))
                        continue;
                r = store_put(w->store, &job->record);
                if (r < 0)
                        *ret_bad = job;
                if (r != 0)
                        return error_fold(r);
                ++n;
        }
        r = store_commit(w->store);
        if (r != 0)
                return error_fold(r);
        *ret_n = n;
        return 0;
}

static void worker_count_commit(Worker *w, int r, uint64_t n_rows)
{
        (void)pthread_mutex_lock(&w->lock);
        if (r == 0) {
                w->status.n_committed_rows += n_rows;
                ++w->status.n_commits;
        } else {
                ++w->status.n_failed_commits;
        }
        (void)pthread_mutex_unlock(&w->lock);
}

static void worker_commit(Worker *w, WorkerQueue *rows)
{
        WorkerJob *job, *bad;
        uint64_t n = 0;
        int r;

        STAILQ_FOREACH(job, rows, link)
                job->result = 0;
        r = worker_open(w);
        if (r == 0) {
                /* Each round takes one bad row out, so it ends. */
                for (;;) {
                        r = worker_try_commit(w, rows, &bad, &n);
                        if (!bad)
                                break;
                        bad->result = r;
                }
                worker_note_store(w, r == 0 ? NULL : store_error(w->store));
                w->upkeep_usec = worker_now() + WORKER_IDLE_USEC;
        }
        if (r != 0)
                STAILQ_FOREACH(job, rows, link)
                        if (job->result == 0)
                                job->result = r;
        worker_count_commit(w, r, n);
}

/* A call may do without the store (rmdir), so a store that stays away must not slow all of them. */
static void worker_call(Worker *w, WorkerJob *job)
{
        if (w->store_ok || worker_now() >= w->opened_usec + WORKER_REOPEN_USEC)
                (void)worker_open(w);
        job->result = job->fn(job, w->store);
        /* Whatever it left open would hold up the next rows. */
        store_rollback(w->store);
        if (w->upkeep_usec == WORKER_NEVER)
                w->upkeep_usec = worker_now() + WORKER_IDLE_USEC;
}

static void worker_upkeep(Worker *w)
{
        uint64_t now = worker_now();
        bool blocked = false;

        if (store_wal_bytes(w->store) > WORKER_WAL_BYTES)
                blocked = store_checkpoint(w->store) != 0;
        if (now >= w->optimize_usec) {
                (void)store_optimize(w->store);
                w->optimize_usec = now + WORKER_OPTIMIZE_USEC;
        }
        w->upkeep_usec = blocked ? now + WORKER_BLOCKED_USEC : WORKER_NEVER;
        (void)pthread_mutex_lock(&w->lock);
        w->status.wal_bytes = store_wal_bytes(w->store);
        (void)pthread_mutex_unlock(&w->lock);
}

/* Under the lock: until when there is nothing to do. 0: something is to be done now. */
static uint64_t worker_idle_until(const Worker *w)
{
        uint64_t until = w->upkeep_usec;

        if (w->n_pressing > 0 || w->n_waiting >= WORKER_GROUP_ROWS || w->stopping)
                return 0;
        if (w->n_waiting > 0) {
                uint64_t group = STAILQ_FIRST(&w->waiting)->queued_usec + WORKER_GROUP_USEC;

                until = group < until ? group : until;
        }
        return until;
}

static void worker_wait(Worker *w, uint64_t until)
{
        struct timespec t = { .tv_sec = (time_t)(until / USEC_PER_SEC),
                              .tv_nsec = (long)(until % USEC_PER_SEC) * 1000 };

        if (until == WORKER_NEVER)
                (void)pthread_cond_wait(&w->wake, &w->lock);
        else
                (void)pthread_cond_timedwait(&w->wake, &w->lock, &t);
}

/* Under the lock: one call, or the rows before the next one. */
static void worker_take(Worker *w, WorkerQueue *batch)
{
        size_t n = 0;

        while (!STAILQ_EMPTY(&w->waiting) && n < WORKER_COMMIT_ROWS) {
                WorkerJob *job = STAILQ_FIRST(&w->waiting);

                if (job->kind == WORKER_JOB_CALL && n > 0)
                        return;
                STAILQ_REMOVE_HEAD(&w->waiting, link);
                STAILQ_INSERT_TAIL(batch, job, link);
                --w->n_waiting;
                w->n_pressing -= worker_is_pressing(job);
                ++n;
                if (job->kind == WORKER_JOB_CALL)
                        return;
        }
}

/* Waits for work. The batch is empty if only upkeep is due. false: stopped, and nothing is left. */
static bool worker_next(Worker *w, WorkerQueue *batch)
{
        bool more;

        STAILQ_INIT(batch);
        (void)pthread_mutex_lock(&w->lock);
        for (;;) {
                uint64_t until = worker_idle_until(w);

                if (until == 0 || worker_now() >= until)
                        break;
                worker_wait(w, until);
        }
        worker_take(w, batch);
        more = !w->stopping || !STAILQ_EMPTY(batch);
        (void)pthread_mutex_unlock(&w->lock);
        return more;
}

static void worker_finish(Worker *w, WorkerQueue *batch)
{
        static const uint64_t one = 1;

        (void)pthread_mutex_lock(&w->lock);
        STAILQ_CONCAT(&w->finished, batch);
        (void)pthread_mutex_unlock(&w->lock);
        /* Fails only if the counter is full, and then the loop is awake anyway. */
        if (write(w->event_fd, &one, sizeof(one)) < 0)
                assert(errno == EAGAIN);
}

static void *worker_run(void *userdata)
{
        Worker *w = userdata;
        WorkerQueue batch;

        (void)worker_open(w);
        while (worker_next(w, &batch)) {
                if (worker_now() >= w->upkeep_usec)
                        worker_upkeep(w);
                if (STAILQ_EMPTY(&batch))
                        continue;
                if (STAILQ_FIRST(&batch)->kind == WORKER_JOB_CALL)
                        worker_call(w, STAILQ_FIRST(&batch));
                else
                        worker_commit(w, &batch);
                worker_finish(w, &batch);
        }
        /* Closing may write and flush: better here than on the loop's thread. */
        w->store = store_free(w->store);
        return NULL;
}

/* Signals are the loop's. */
static int worker_start(Worker *w)
{
        sigset_t all, before;
        int r;

        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&w->thread, NULL, worker_run, w);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r != 0)
                return error_origin(-r);
        (void)pthread_setname_np(w->thread, "cgtaskd-store");
        return 0;
}

static int worker_init_lock(Worker *w)
{
        pthread_condattr_t attributes;
        int r;

        r = pthread_condattr_init(&attributes);
        if (r != 0)
                return error_origin(-r);
        /* Deadlines must not jump with the wall clock. */
        r = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        if (r == 0)
                r = pthread_cond_init(&w->wake, &attributes);
        (void)pthread_condattr_destroy(&attributes);
        if (r != 0)
                return error_origin(-r);
        r = pthread_mutex_init(&w->lock, NULL);
        if (r == 0)
                return 0;
        (void)pthread_cond_destroy(&w->wake);
        return error_origin(-r);
}

static void worker_deinit_lock(Worker *w)
{
        (void)pthread_mutex_destroy(&w->lock);
        (void)pthread_cond_destroy(&w->wake);
}

int worker_new(Store *store, Worker **ret_worker)
{
        _cleanup_free_ Worker *w = NULL;
        _cleanup_close_ int fd = -1;
        int r;

        w = calloc(1, sizeof(*w));
        if (!w)
                return error_origin(-ENOMEM);
        fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0)
                return error_origin(-errno);
        r = worker_init_lock(w);
        if (r < 0)
                return error_fold(r);
        STAILQ_INIT(&w->waiting);
        STAILQ_INIT(&w->finished);
        w->event_fd = fd;
        w->store = store;
        w->status.wal_bytes = -1;
        (void)snprintf(w->status.store_error, sizeof(w->status.store_error),
                       "the database is not open yet");
        w->upkeep_usec = WORKER_NEVER;
        w->optimize_usec = worker_now() + WORKER_OPTIMIZE_USEC;
        r = worker_start(w);
        if (r < 0) {
                worker_deinit_lock(w);
                return error_fold(r);
        }
        (void)TAKE_FD(fd);
        *ret_worker = TAKE_PTR(w);
        return 0;
}

static size_t worker_n_queued(Worker *w)
{
        size_t n;

        (void)pthread_mutex_lock(&w->lock);
        n = w->status.n_queued;
        (void)pthread_mutex_unlock(&w->lock);
        return n;
}

Worker *worker_free(Worker *w)
{
        if (!w)
                return NULL;
        while (worker_n_queued(w) > 0) {
                struct pollfd p = { .fd = w->event_fd, .events = POLLIN };

                (void)poll(&p, 1, -1);
                (void)worker_dispatch(w);
        }
        (void)pthread_mutex_lock(&w->lock);
        w->stopping = true;
        (void)pthread_cond_signal(&w->wake);
        (void)pthread_mutex_unlock(&w->lock);
        (void)pthread_join(w->thread, NULL);
        assert(STAILQ_EMPTY(&w->waiting) && STAILQ_EMPTY(&w->finished));
        worker_deinit_lock(w);
        (void)cleanup_close(w->event_fd);
        free(w);
        return NULL;
}

int worker_get_fd(const Worker *w)
{
        return w->event_fd;
}

int worker_dispatch(Worker *w)
{
        WorkerQueue finished = STAILQ_HEAD_INITIALIZER(finished);
        uint64_t n_events;

        /* Before the queue is taken: what is finished later makes the fd readable again. */
        if (read(w->event_fd, &n_events, sizeof(n_events)) < 0 && errno != EAGAIN)
                return error_origin(-errno);
        (void)pthread_mutex_lock(&w->lock);
        STAILQ_CONCAT(&finished, &w->finished);
        (void)pthread_mutex_unlock(&w->lock);
        while (!STAILQ_EMPTY(&finished)) {
                WorkerJob *job = STAILQ_FIRST(&finished);

                STAILQ_REMOVE_HEAD(&finished, link);
                (void)pthread_mutex_lock(&w->lock);
                --w->status.n_queued;
                (void)pthread_mutex_unlock(&w->lock);
                job->done(job, job->result);
        }
        return 0;
}

void worker_submit(Worker *w, WorkerJob *job)
{
        job->result = 0;
        job->queued_usec = worker_now();
        (void)pthread_mutex_lock(&w->lock);
        STAILQ_INSERT_TAIL(&w->waiting, job, link);
        ++w->n_waiting;
        ++w->status.n_queued;
        w->n_pressing += worker_is_pressing(job);
        (void)pthread_cond_signal(&w->wake);
        (void)pthread_mutex_unlock(&w->lock);
}

void worker_get_status(Worker *w, WorkerStatus *ret_status)
{
        (void)pthread_mutex_lock(&w->lock);
        *ret_status = w->status;
        (void)pthread_mutex_unlock(&w->lock);
}
