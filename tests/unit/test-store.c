/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows: what comes back, and what does not go back. */

#include "store.h"

#include "store-steps.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

/* Every column a value of its own, allowed by the CHECKs. */
static void fill_record(ExecutionRecord *r)
{
        int64_t n = 1000;
        char text[64];

        execution_record_init(r);
#define FILL_TEXT(column)                                                                      \
        (void)snprintf(text, sizeof(text), "%s'; DROP TABLE execution; -- \xc3\xbc", #column); \
        r->column = strdup(text);
#define FILL_JSON(column)                                                     \
        (void)snprintf(text, sizeof(text), "{\"%s\":\"\xc3\xbc\"}", #column); \
        r->column = strdup(text);
#define FILL_INTEGER(column) r->column = INT64_MAX - n++;
#define FILL_FLAG(column) r->column = n++ % 2;
#define FILL(kind, column, member) FILL_##kind(column)
        EXECUTION_COLUMNS(FILL)
#define FILL_AGAIN(column, value) \
        free(r->column);          \
        r->column = strdup(value);
        FILL_AGAIN(state, "running")
        FILL_AGAIN(result, "oom")
        FILL_AGAIN(exit_kind, "signaled")
        FILL_AGAIN(oom_cause, "own_limit")
        FILL_AGAIN(capture, "captured")
        FILL_AGAIN(coverage, "full")
        FILL_AGAIN(runner_rss_source, "vmhwm")
}

static void expect_equal(const ExecutionRecord *a, const ExecutionRecord *b)
{
#define EQUAL_TEXT(column)                        \
        assert_int_equal(!a->column, !b->column); \
        if (a->column)                            \
                assert_string_equal(a->column, b->column);
#define EQUAL_JSON(column) EQUAL_TEXT(column)
#define EQUAL_INTEGER(column) assert_int_equal(a->column, b->column);
#define EQUAL_FLAG(column) EQUAL_INTEGER(column)
#define EQUAL(kind, column, member) EQUAL_##kind(column)
        EXECUTION_COLUMNS(EQUAL)
}

/* A33: every column comes back as it went in, and an upsert replaces all of them. */
static void test_every_column_round_trips(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        ExecutionRecord full, empty, found;

        fill_record(&full);
        execution_record_init(&empty);
        empty.id = strdup(full.id);
        empty.state = strdup("running");
        empty.schema_version = 7;
        for (int i = 0; i < 2; ++i) {
                const ExecutionRecord *record = i == 0 ? &full : &empty;

                assert_int_equal(store_begin(store), 0);
                assert_int_equal(store_put(store, record), 0);
                assert_int_equal(store_commit(store), 0);
                assert_int_equal(store_get(store, full.id, &found), 0);
                expect_equal(&found, record);
                execution_record_deinit(&found);
        }
        execution_record_deinit(&empty);
        execution_record_deinit(&full);
        store = store_free(store);
}

/* A46: the version of the row's meaning is stored with it. */
static void test_schema_version_is_filled_in(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        ExecutionRecord found;

        assert_int_equal(put(store, 1, "running"), 0);
        get(store, 1, &found);
        assert_int_equal(found.schema_version, SCHEMA_VERSION);
        execution_record_deinit(&found);
        store = store_free(store);
}

static void test_states_go_one_way(void **state)
{
        static const struct {
                const char *first, *then, *left;
        } cases[] = {
                { "running", "running", "running" },
                { "running", "lost", "lost" },
                { "running", "finished", "finished" },
                { "lost", "running", "lost" },
                { "lost", "lost", "lost" },
                { "lost", "finished", "finished" },
                { "finished", "running", "finished" },
                { "finished", "lost", "finished" },
                { "finished", "finished", "finished" },
        };
        Fixture *f = *state;
        Store *store = open_store(f->path);

        for (unsigned i = 0; i < N_ELEMENTS(cases); ++i) {
                assert_int_equal(put(store, i, cases[i].first), 0);
                assert_int_equal(put(store, i, cases[i].then), 0);
                expect_state(store, i, cases[i].left);
        }
        store = store_free(store);
}

static void test_finished_row_stays_as_it_is(void **state)
{
        ExecutionRecord record;
        Fixture *f = *state;
        Store *store = open_store(f->path);

        fixture_record(&record, 1, "finished");
        record.ended_usec = 4711;
        assert_int_equal(store_begin(store), 0);
        assert_int_equal(store_put(store, &record), 0);
        /* measured again after a restart, by a daemon that does not know when it ended */
        record.ended_usec = RECORD_NULL;
        assert_int_equal(store_put(store, &record), 0);
        assert_int_equal(store_commit(store), 0);
        execution_record_deinit(&record);
        get(store, 1, &record);
        assert_int_equal(record.ended_usec, 4711);
        execution_record_deinit(&record);
        store_free(store);
}

static void test_committed_rows_survive_a_reopen(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);

        assert_int_equal(put(store, 1, "finished"), 0);
        store = store_free(store);
        store = open_store(f->path);
        expect_state(store, 1, "finished");
        store = store_free(store);
}

/* R1: the end of the process right after the commit. The WAL is left with frames in it. */
static void test_committed_rows_survive_a_crash(void **state)
{
        Fixture *f = *state;
        Store *store;
        int status;
        pid_t pid;

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                _exit(store_new(f->path, &store) != 0 || store_open(store, NULL) != 0 ||
                      put(store, 1, "finished") != 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_true(fixture_size(fixture_name(f, "-wal")) > 0);
        fixture_expect_in(f->path, "SELECT state FROM v1_execution", "finished");
        store = open_store(f->path);
        expect_state(store, 1, "finished");
        store = store_free(store);
}

static void test_rolled_back_rows_do_not_count(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        ExecutionRecord record;

        fixture_record(&record, 1, "running");
        store_rollback(store);
        assert_int_equal(store_begin(store), 0);
        assert_int_equal(store_put(store, &record), 0);
        store_rollback(store);
        assert_int_equal(store_get(store, record.id, &record), STORE_E_NOT_FOUND);
        assert_int_equal(store_put(store, &record), -EINVAL); /* outside a transaction */
        execution_record_deinit(&record);
        store = store_free(store);
}

static void test_refused_row_ends_the_transaction(void **state)
{
        static const char *const labels[] = { "{", "", "\xff", "{\"a\":}" };
        Fixture *f = *state;
        Store *store = open_store(f->path);
        ExecutionRecord good, bad;

        fixture_record(&good, 1, "running");
        for (size_t i = 0; i < N_ELEMENTS(labels); ++i) {
                fixture_record(&bad, 2, "running");
                bad.labels = strdup(labels[i]);
                assert_int_equal(store_begin(store), 0);
                assert_int_equal(store_put(store, &good), 0);
                assert_int_equal(store_put(store, &bad), -EINVAL);
                expect_error(store, "refuses a row");
                fixture_expect_in(f->path, "SELECT count(*) FROM execution", "0");
                execution_record_deinit(&bad);
        }
        execution_record_init(&bad);
        assert_int_equal(store_begin(store), 0);
        assert_int_equal(store_put(store, &bad), -EINVAL);
        assert_int_equal(put(store, 3, "running"), 0);
        execution_record_deinit(&good);
        store = store_free(store);
}

static void test_close_other_boots_makes_lost_rows(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        ExecutionRecord record;
        int64_t n = -1;

        assert_int_equal(put(store, 1, "running"), 0);
        assert_int_equal(put(store, 2, "finished"), 0);
        for (unsigned i = 3; i < 5; ++i) {
                fixture_record(&record, i, "running");
                free(record.boot_id);
                record.boot_id = i == 3 ? strdup("22222222222222222222222222222222") : NULL;
                record.memory_peak_bytes = i == 3 ? 4096 : RECORD_NULL;
                record.oom_cause = strdup("own_limit");
                assert_int_equal(store_begin(store), 0);
                assert_int_equal(store_put(store, &record), 0);
                assert_int_equal(store_commit(store), 0);
                execution_record_deinit(&record);
        }
        assert_int_equal(store_close_other_boots(store, FIXTURE_BOOT, "the host went down", &n), 0);
        assert_int_equal(n, 2);
        expect_state(store, 1, "running");
        expect_state(store, 2, "finished");
        fixture_expect_in(f->path,
                          "SELECT count(*), state, result, exit_kind, oom_cause, capture, "
                          "capture_reason, ended_usec FROM v1_execution "
                          "WHERE boot_id IS NOT '" FIXTURE_BOOT "'",
                          "2|lost|lost|unknown||lost|the host went down|");
        fixture_expect_in(f->path,
                          "SELECT group_concat(ifnull(memory_peak_bytes, '-') || ' ' || "
                          "ifnull(memory_peak_is_lower_bound, '-')) FROM v1_execution "
                          "WHERE state = 'lost'",
                          "4096 1,- -");
        assert_int_equal(store_close_other_boots(store, FIXTURE_BOOT, "again", &n), 0);
        assert_int_equal(n, 0);
        store = store_free(store);
}

static void test_close_vanished_asks_for_each(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        int64_t n = -1;
        int n_asked = 0;

        for (unsigned i = 0; i < 8; ++i)
                assert_int_equal(put(store, i, i == 7 ? "finished" : "running"), 0);
        assert_int_equal(store_close_vanished(store, FIXTURE_BOOT, is_even, &n_asked,
                                              "its cgroup is gone", &n),
                         0);
        assert_int_equal(n, 3);
        assert_int_equal(n_asked, 7);
        for (unsigned i = 0; i < 7; ++i)
                expect_state(store, i, i % 2 == 0 ? "running" : "lost");
        expect_state(store, 7, "finished");
        assert_int_equal(store_close_vanished(store, "33333333333333333333333333333333", is_even,
                                              &n_asked, "", &n),
                         0);
        assert_int_equal(n, 0);
        assert_int_equal(n_asked, 7);
        store = store_free(store);
}

static void test_list_filters_newest_first(void **state)
{
        static const struct {
                StoreFilter filter;
                const char *ids;
        } cases[] = {
                { { NULL, NULL, -1, -1 }, "87654321" },  { { NULL, NULL, -1, 3 }, "876" },
                { { NULL, NULL, -1, 0 }, "" },           { { "t", NULL, -1, -1 }, "7531" },
                { { "other", NULL, -1, -1 }, "8642" },   { { "%", NULL, -1, -1 }, "" },
                { { NULL, "running", -1, -1 }, "8765" }, { { NULL, NULL, 0, -1 }, "321" },
                { { "t", "finished", 0, -1 }, "31" },    { { "t", "finished", 0, 1 }, "3" },
        };
        Fixture *f = *state;
        Store *store = open_store(f->path);

        assert_int_equal(store_begin(store), 0);
        for (unsigned i = 1; i <= 8; ++i) {
                ExecutionRecord record;

                fixture_record(&record, i, i < 5 ? "finished" : "running");
                free(record.task);
                record.task = strdup(i % 2 ? "t" : "other");
                record.uid = i <= 3 ? 0 : 1000;
                assert_int_equal(store_put(store, &record), 0);
                execution_record_deinit(&record);
        }
        assert_int_equal(store_commit(store), 0);
        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                Listing l = { 0 };

                assert_int_equal(store_list(store, &cases[i].filter, note_row, &l), 0);
                assert_string_equal(l.ids, cases[i].ids);
        }
        store = store_free(store);
}

static void test_list_stops_when_told(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        StoreFilter all = { .uid = -1, .limit = -1 };
        Listing stop = { .stop_at = 2, .result = 1 }, fault = { .stop_at = 1, .result = -EPIPE };

        for (unsigned i = 1; i <= 3; ++i)
                assert_int_equal(put(store, i, "running"), 0);
        assert_int_equal(store_list(store, &all, note_row, &stop), STORE_E_STOPPED);
        assert_string_equal(stop.ids, "32");
        assert_int_equal(store_list(store, &all, note_row, &fault), -EPIPE);
        /* No reading transaction is left behind. */
        assert_int_equal(store_checkpoint(store), 0);
        store = store_free(store);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                fixture_test(test_every_column_round_trips),
                fixture_test(test_schema_version_is_filled_in),
                fixture_test(test_states_go_one_way),
                fixture_test(test_finished_row_stays_as_it_is),
                fixture_test(test_committed_rows_survive_a_reopen),
                fixture_test(test_committed_rows_survive_a_crash),
                fixture_test(test_rolled_back_rows_do_not_count),
                fixture_test(test_refused_row_ends_the_transaction),
                fixture_test(test_close_other_boots_makes_lost_rows),
                fixture_test(test_close_vanished_asks_for_each),
                fixture_test(test_list_filters_newest_first),
                fixture_test(test_list_stops_when_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
