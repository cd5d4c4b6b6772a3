/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The other thread: order, grouping, failures given back, recovery. A call that waits for the test
 * (a gate) keeps the thread busy, so that what stands behind it is known to the job.
 */

#include "worker.h"

#include "store-fixture.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#define DEADLINE_SEC 60

typedef struct Job {
        WorkerJob job; /* first: a WorkerJob * of ours is a Job * */
        Worker *worker;
        unsigned n_done;
        int result;
        sem_t gate;
        unsigned *sequence; /* counts done() calls of all jobs */
        unsigned place;
        int64_t seen;     /* what a call found */
        struct Job *next; /* submitted by done() */
} Job;

static void note_done(WorkerJob *job, int result)
{
        Job *j = (Job *)job;

        ++j->n_done;
        j->result = result;
        if (j->sequence)
                j->place = ++*j->sequence;
        if (j->next)
                worker_submit(j->worker, &j->next->job);
}

static void row_init(Job *j, unsigned n, const char *state, bool urgent)
{
        memset(j, 0, sizeof(*j));
        j->job.kind = WORKER_JOB_ROW;
        j->job.urgent = urgent;
        j->job.done = note_done;
        fixture_record(&j->job.record, n, state);
}

static void call_init(Job *j, int (*fn)(WorkerJob *job, Store *store))
{
        memset(j, 0, sizeof(*j));
        j->job.kind = WORKER_JOB_CALL;
        j->job.fn = fn;
        j->job.done = note_done;
        assert_int_equal(sem_init(&j->gate, 0, 0), 0);
}

static int wait_at_gate(WorkerJob *job, Store *store)
{
        while (sem_wait(&((Job *)job)->gate) < 0)
                ;
        return 17;
}

static int count_one(void *userdata, const ExecutionRecord *record)
{
        ++*(int64_t *)userdata;
        return 0;
}

static int count_rows(WorkerJob *job, Store *store)
{
        StoreFilter all = { .uid = -1, .limit = -1 };

        return store_list(store, &all, count_one, &((Job *)job)->seen);
}

static Worker *start(const char *path)
{
        Worker *worker;
        Store *store;

        assert_int_equal(store_new(path, &store), 0);
        assert_int_equal(worker_new(store, &worker), 0);
        return worker;
}

static void submit(Worker *worker, Job *j)
{
        j->worker = worker;
        worker_submit(worker, &j->job);
}

/* Dispatches until the job is done, as the loop does. */
static void wait_for(Worker *worker, const Job *j)
{
        time_t end = time(NULL) + DEADLINE_SEC;

        while (j->n_done == 0) {
                struct pollfd p = { .fd = worker_get_fd(worker), .events = POLLIN };

                assert_true(time(NULL) < end);
                (void)poll(&p, 1, 1000);
                assert_int_equal(worker_dispatch(worker), 0);
        }
        assert_int_equal(j->n_done, 1);
}

static int submit_and_wait(Worker *worker, Job *j)
{
        submit(worker, j);
        wait_for(worker, j);
        return j->result;
}

static int store_row(Worker *worker, unsigned n, const char *state)
{
        Job j;

        row_init(&j, n, state, true);
        (void)submit_and_wait(worker, &j);
        execution_record_deinit(&j.job.record);
        return j.result;
}

static void expect_status(Worker *worker, bool ok, const char *part)
{
        WorkerStatus status;

        worker_get_status(worker, &status);
        assert_int_equal(status.store_ok, ok);
        assert_non_null(strstr(status.store_error, part));
        assert_int_equal(status.n_queued, 0);
}

static void test_urgent_row_is_committed(void **state)
{
        Fixture *f = *state;
        Worker *worker = start(f->path);

        assert_int_equal(store_row(worker, 1, "finished"), 0);
        fixture_expect_in(f->path, "SELECT state FROM v1_execution", "finished");
        expect_status(worker, true, "");
        worker = worker_free(worker);
        assert_null(worker_free(NULL));
}

/* It has no company, and nobody pushes it. */
static void test_lazy_row_is_committed_too(void **state)
{
        Fixture *f = *state;
        Worker *worker = start(f->path);
        Job j;

        row_init(&j, 1, "running", false);
        assert_int_equal(submit_and_wait(worker, &j), 0);
        fixture_expect_in(f->path, "SELECT state FROM v1_execution", "running");
        execution_record_deinit(&j.job.record);
        worker = worker_free(worker);
}

static void test_rows_are_committed_in_groups(void **state)
{
        enum { N_ROWS = 1000 };
        Fixture *f = *state;
        Worker *worker = start(f->path);
        Job *rows = calloc(N_ROWS, sizeof(*rows)), gate;
        WorkerStatus status;

        call_init(&gate, wait_at_gate);
        submit(worker, &gate);
        for (unsigned i = 0; i < N_ROWS; ++i) {
                row_init(&rows[i], i, "finished", true);
                submit(worker, &rows[i]);
        }
        worker_get_status(worker, &status);
        assert_int_equal(status.n_queued, N_ROWS + 1);
        (void)sem_post(&gate.gate);
        wait_for(worker, &rows[N_ROWS - 1]);
        for (unsigned i = 0; i < N_ROWS; ++i) {
                assert_int_equal(rows[i].n_done, 1);
                assert_int_equal(rows[i].result, 0);
                execution_record_deinit(&rows[i].job.record);
        }
        worker_get_status(worker, &status);
        assert_int_equal(status.n_committed_rows, N_ROWS);
        assert_true(status.n_commits <= N_ROWS / 64);
        assert_int_equal(status.n_failed_commits, 0);
        assert_true(status.wal_bytes > 0);
        fixture_expect_in(f->path, "SELECT count(*) FROM v1_execution", "1000");
        worker = worker_free(worker);
        free(rows);
}

static void test_order_is_kept(void **state)
{
        Fixture *f = *state;
        Worker *worker = start(f->path);
        unsigned sequence = 0;
        Job jobs[9], gate;

        call_init(&gate, wait_at_gate);
        submit(worker, &gate);
        /* Rows and counts in turn; lazy rows, which only a call behind them sends off. */
        for (unsigned i = 0; i < N_ELEMENTS(jobs); ++i) {
                if (i % 3 == 2)
                        call_init(&jobs[i], count_rows);
                else
                        row_init(&jobs[i], i, "running", false);
                jobs[i].sequence = &sequence;
                submit(worker, &jobs[i]);
        }
        (void)sem_post(&gate.gate);
        wait_for(worker, &jobs[N_ELEMENTS(jobs) - 1]);
        assert_int_equal(gate.result, 17);
        for (unsigned i = 0; i < N_ELEMENTS(jobs); ++i) {
                assert_int_equal(jobs[i].place, i + 1);
                assert_int_equal(jobs[i].result, 0);
                if (i % 3 == 2)
                        assert_int_equal(jobs[i].seen, (i + 1) / 3 * 2);
                else
                        execution_record_deinit(&jobs[i].job.record);
        }
        worker = worker_free(worker);
}

static void test_overtaken_row_is_not_written(void **state)
{
        static const struct {
                unsigned id;
                const char *state;
        } cases[] = {
                { 1, "running" }, { 2, "running" },  { 1, "running" }, { 1, "finished" },
                { 3, "lost" },    { 3, "finished" }, { 3, "running" },
        };
        Fixture *f = *state;
        Worker *worker = start(f->path);
        Job rows[N_ELEMENTS(cases)], gate;
        WorkerStatus status;

        call_init(&gate, wait_at_gate);
        submit(worker, &gate);
        for (unsigned i = 0; i < N_ELEMENTS(cases); ++i) {
                row_init(&rows[i], cases[i].id, cases[i].state, false);
                submit(worker, &rows[i]);
        }
        (void)sem_post(&gate.gate);
        wait_for(worker, &rows[N_ELEMENTS(cases) - 1]);
        for (unsigned i = 0; i < N_ELEMENTS(cases); ++i) {
                assert_int_equal(rows[i].n_done, 1);
                assert_int_equal(rows[i].result, 0);
                execution_record_deinit(&rows[i].job.record);
        }
        worker_get_status(worker, &status);
        assert_int_equal(status.n_committed_rows, 5); /* two of id 1 were overtaken */
        fixture_expect_in(f->path,
                          "SELECT group_concat(state) FROM (SELECT state FROM v1_execution "
                          "ORDER BY id)",
                          "finished,running,finished");
        worker = worker_free(worker);
}

/* A row that can never be stored must not keep the others of its group from the disk. */
static void test_bad_row_harms_only_itself(void **state)
{
        Fixture *f = *state;
        Worker *worker = start(f->path);
        Job rows[6], gate;

        call_init(&gate, wait_at_gate);
        submit(worker, &gate);
        for (unsigned i = 0; i < N_ELEMENTS(rows); ++i) {
                row_init(&rows[i], i == 1 ? 2 : i, "running", true);
                if (i == 2 || i == 4)
                        rows[i].job.record.labels = strdup("{");
                submit(worker, &rows[i]);
        }
        (void)sem_post(&gate.gate);
        wait_for(worker, &rows[N_ELEMENTS(rows) - 1]);
        for (unsigned i = 0; i < N_ELEMENTS(rows); ++i) {
                assert_int_equal(rows[i].result, i == 2 || i == 4 ? -EINVAL : 0);
                execution_record_deinit(&rows[i].job.record);
        }
        /* Row 1 was overtaken by row 2 of the same id until that one turned out to be bad. */
        fixture_expect_in(f->path, "SELECT count(*) FROM v1_execution", "4");
        expect_status(worker, true, "");
        worker = worker_free(worker);
}

static void test_unopenable_store_gives_rows_back(void **state)
{
        Fixture *f = *state;
        Worker *worker;
        WorkerStatus status;
        Job count;

        assert_int_equal(mkdir(f->path, 0700), 0);
        worker = start(f->path);
        for (unsigned i = 0; i < 3; ++i)
                assert_int_equal(store_row(worker, 1, "finished"), STORE_E_UNAVAILABLE);
        expect_status(worker, false, "is not a file");
        call_init(&count, count_rows);
        assert_int_equal(submit_and_wait(worker, &count), STORE_E_UNAVAILABLE);
        assert_int_equal(rmdir(f->path), 0);
        assert_int_equal(store_row(worker, 1, "finished"), 0);
        expect_status(worker, true, "");
        worker_get_status(worker, &status);
        assert_int_equal(status.n_failed_commits, 3);
        assert_int_equal(status.n_commits, 1);
        call_init(&count, count_rows);
        assert_int_equal(submit_and_wait(worker, &count), 0);
        assert_int_equal(count.seen, 1);
        worker = worker_free(worker);
}

static void test_locked_store_gives_rows_back(void **state)
{
        Fixture *f = *state;
        Worker *worker = start(f->path);
        sqlite3 *other;

        assert_int_equal(store_row(worker, 1, "running"), 0);
        other = fixture_open(f->path, SQLITE_OPEN_READWRITE);
        fixture_execute(other, "BEGIN IMMEDIATE");
        assert_int_equal(store_row(worker, 1, "finished"), STORE_E_UNAVAILABLE);
        expect_status(worker, false, "is locked");
        fixture_execute(other, "ROLLBACK");
        assert_int_equal(store_row(worker, 1, "finished"), 0);
        expect_status(worker, true, "");
        assert_int_equal(sqlite3_close(other), SQLITE_OK);
        worker = worker_free(worker);
}

static void test_replaced_store_is_opened_anew(void **state)
{
        Fixture *f = *state;
        Worker *worker = start(f->path);

        assert_int_equal(store_row(worker, 1, "finished"), 0);
        assert_int_equal(rename(f->path, fixture_name(f, ".old")), 0);
        assert_int_equal(store_row(worker, 2, "finished"), STORE_E_UNAVAILABLE);
        expect_status(worker, false, "was removed or replaced");
        assert_int_equal(store_row(worker, 2, "finished"), 0);
        fixture_expect_in(f->path, "SELECT count(*), max(id) FROM v1_execution",
                          "1|01900000000070000000000000000002");
        worker = worker_free(worker);
}

static void test_damaged_store_is_moved_aside_and_told(void **state)
{
        Fixture *f = *state;
        Worker *worker;
        WorkerStatus status;
        char garbage[4096];

        memset(garbage, 'g', sizeof(garbage));
        fixture_write(f->path, "w", garbage, sizeof(garbage), 0);
        fixture_write(fixture_name(f, "-wal"), "w", garbage, 0, 0);
        worker = start(f->path);
        assert_int_equal(store_row(worker, 1, "finished"), 0);
        worker_get_status(worker, &status);
        assert_true(status.store_ok);
        assert_non_null(strstr(status.corrupt_moved, "/cgtask.db.corrupt-"));
        assert_int_equal(access(status.corrupt_moved, F_OK), 0);
        worker = worker_free(worker);
}

static int leave_open(WorkerJob *job, Store *store)
{
        return store_begin(store);
}

static void test_call_cannot_leave_a_transaction(void **state)
{
        Fixture *f = *state;
        Worker *worker = start(f->path);
        Job call;

        call_init(&call, leave_open);
        assert_int_equal(submit_and_wait(worker, &call), 0);
        assert_int_equal(store_row(worker, 1, "finished"), 0);
        worker = worker_free(worker);
}

/* Also what done() adds while the worker is being freed: a removal follows its row. */
static void test_free_finishes_what_is_queued(void **state)
{
        Fixture *f = *state;
        Worker *worker = start(f->path);
        Job rows[100], gate, last;

        call_init(&gate, wait_at_gate);
        submit(worker, &gate);
        for (unsigned i = 0; i < N_ELEMENTS(rows); ++i) {
                row_init(&rows[i], i, "finished", false);
                submit(worker, &rows[i]);
        }
        call_init(&last, count_rows);
        last.worker = worker;
        rows[99].next = &last;
        (void)sem_post(&gate.gate);
        worker = worker_free(worker);
        assert_int_equal(gate.n_done, 1);
        for (unsigned i = 0; i < N_ELEMENTS(rows); ++i) {
                assert_int_equal(rows[i].n_done, 1);
                assert_int_equal(rows[i].result, 0);
                execution_record_deinit(&rows[i].job.record);
        }
        assert_int_equal(last.n_done, 1);
        assert_int_equal(last.seen, 100);
        assert_int_equal(fixture_size(fixture_name(f, "-wal")), 0); /* closed in an orderly way */
}

static void test_free_gives_back_what_cannot_be_stored(void **state)
{
        Fixture *f = *state;
        Worker *worker;
        Job row;

        assert_int_equal(mkdir(f->path, 0700), 0);
        worker = start(f->path);
        row_init(&row, 1, "finished", false);
        submit(worker, &row);
        worker = worker_free(worker);
        assert_int_equal(row.n_done, 1);
        assert_int_equal(row.result, STORE_E_UNAVAILABLE);
        execution_record_deinit(&row.job.record);
}

static int note_thread(WorkerJob *job, Store *store)
{
        sigset_t blocked;
        int n = 0;

        (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
        for (int s = 1; s < 32; ++s)
                n += sigismember(&blocked, s) == 1;
        ((Job *)job)->seen = n;
        return 0;
}

static void test_thread_takes_no_signals(void **state)
{
        Fixture *f = *state;
        Worker *worker = start(f->path);
        sigset_t mine;
        Job call;

        call_init(&call, note_thread);
        assert_int_equal(submit_and_wait(worker, &call), 0);
        assert_int_equal(call.seen, 31 - 2); /* KILL and STOP cannot be blocked */
        (void)pthread_sigmask(SIG_SETMASK, NULL, &mine);
        assert_int_equal(sigismember(&mine, SIGTERM), 0);
        worker = worker_free(worker);
}

/* Five pages a row: more than 1 MiB, less than what makes SQLite empty the WAL by itself. */
static void fill_wal(Worker *worker)
{
        Job row;

        for (unsigned i = 0; i < 60; ++i) {
                row_init(&row, i, "finished", true);
                row.job.record.command = calloc(1, 20000);
                memset(row.job.record.command, 'c', 19999);
                assert_int_equal(submit_and_wait(worker, &row), 0);
                execution_record_deinit(&row.job.record);
        }
}

static int note_wal(WorkerJob *job, Store *store)
{
        ((Job *)job)->seen = store_wal_bytes(store);
        return 0;
}

static void test_large_wal_is_emptied_when_idle(void **state)
{
        Fixture *f = *state;
        Worker *worker = start(f->path);
        time_t end = time(NULL) + DEADLINE_SEC;
        Job call;

        fill_wal(worker);
        call_init(&call, note_wal);
        assert_int_equal(submit_and_wait(worker, &call), 0);
        assert_true(call.seen > 1024 * 1024);
        while (call.seen > 0) {
                struct pollfd nothing = { .fd = -1 };

                assert_true(time(NULL) < end);
                (void)poll(&nothing, 1, 50);
                call_init(&call, note_wal);
                assert_int_equal(submit_and_wait(worker, &call), 0);
        }
        worker = worker_free(worker);
}

typedef struct Crowd {
        pthread_t thread;
        Worker *worker;
        unsigned first;
        Job jobs[200];
} Crowd;

static void *submit_all(void *userdata)
{
        Crowd *c = userdata;

        for (unsigned i = 0; i < N_ELEMENTS(c->jobs); ++i) {
                row_init(&c->jobs[i], c->first + i, "finished", i % 3 == 0);
                submit(c->worker, &c->jobs[i]);
        }
        return NULL;
}

/* Nothing in the daemon submits from several threads, but the queue must not care. */
static void test_many_submitters_and_a_dispatcher(void **state)
{
        enum { N_CROWDS = 4 };
        Fixture *f = *state;
        Worker *worker = start(f->path);
        Crowd *crowds = calloc(N_CROWDS, sizeof(*crowds));
        WorkerStatus status;

        for (unsigned i = 0; i < N_CROWDS; ++i) {
                crowds[i].worker = worker;
                crowds[i].first = i * 1000;
                assert_int_equal(pthread_create(&crowds[i].thread, NULL, submit_all, &crowds[i]),
                                 0);
        }
        for (int i = 0; i < 100; ++i) {
                assert_int_equal(worker_dispatch(worker), 0);
                worker_get_status(worker, &status);
        }
        for (unsigned i = 0; i < N_CROWDS; ++i)
                assert_int_equal(pthread_join(crowds[i].thread, NULL), 0);
        worker = worker_free(worker);
        for (unsigned i = 0; i < N_CROWDS; ++i)
                for (unsigned k = 0; k < N_ELEMENTS(crowds[i].jobs); ++k) {
                        assert_int_equal(crowds[i].jobs[k].n_done, 1);
                        assert_int_equal(crowds[i].jobs[k].result, 0);
                        execution_record_deinit(&crowds[i].jobs[k].job.record);
                }
        fixture_expect_in(f->path, "SELECT count(*) FROM v1_execution", "800");
        free(crowds);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                fixture_test(test_urgent_row_is_committed),
                fixture_test(test_lazy_row_is_committed_too),
                fixture_test(test_rows_are_committed_in_groups),
                fixture_test(test_order_is_kept),
                fixture_test(test_overtaken_row_is_not_written),
                fixture_test(test_bad_row_harms_only_itself),
                fixture_test(test_unopenable_store_gives_rows_back),
                fixture_test(test_locked_store_gives_rows_back),
                fixture_test(test_replaced_store_is_opened_anew),
                fixture_test(test_damaged_store_is_moved_aside_and_told),
                fixture_test(test_call_cannot_leave_a_transaction),
                fixture_test(test_free_finishes_what_is_queued),
                fixture_test(test_free_gives_back_what_cannot_be_stored),
                fixture_test(test_thread_takes_no_signals),
                fixture_test(test_large_wal_is_emptied_when_idle),
                fixture_test(test_many_submitters_and_a_dispatcher),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
