/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading the database: every column, filters, other people's files, and no trace left behind. */

#include "history.h"

#include "schema.h"
#include "tree-fixture.h"
#include "view-fixture.h"

#include <sqlite3.h>
#include <sys/wait.h>

/* A column more than is known, as a later version may have it. */
static const char make_view[] =
        "CREATE TABLE t (dummy" VIEW_COLUMNS ");"
        "CREATE VIEW v1_execution AS SELECT 1 AS unknown, * FROM t;" VIEW_STAMP;

static void run(sqlite3 *db, const char *sql)
{
        char *message = NULL;

        if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
                fail_msg("%s: %s", sql, message);
}

/* The writer; what it is given as sql is done at once. */
static sqlite3 *make_database(Tree *t, const char *sql)
{
        sqlite3 *db;

        assert_int_equal(sqlite3_open(tree_path(t, "/cgtask.db"), &db), SQLITE_OK);
        run(db, sql);
        return db;
}

static sqlite3 *make_rows(Tree *t)
{
        sqlite3 *db = make_database(t, make_view);

        run(db, "INSERT INTO t (id, task, state, uid, created_usec, ended_usec, memory_peak_bytes)"
                " VALUES"
                " ('00000000000000000000000000000001', 'etl/load', 'finished', 0, 10, 20, 100),"
                " ('00000000000000000000000000000002', 'etl/save', 'finished', 1000, 30, 40, 200),"
                " ('0000000000000000000000000000ab03', 'other', 'running', 1000, 50, NULL, 300),"
                " ('0000000100000000000000000000ab03', NULL, 'lost', 0, 60, NULL, NULL)");
        return db;
}

static History *open_history(Tree *t, int expected)
{
        History *history;

        assert_int_equal(history_new(tree_path(t, "/cgtask.db"), &history), 0);
        assert_int_equal(history_open(history), expected);
        assert_true(expected == 0 || strlen(history_error(history)) > 0);
        assert_null(strchr(history_error(history), '\n'));
        return history;
}

/* The last two digits of the ids that match, in their order. */
static void expect_ids(History *history, const RecordFilter *filter, const char *expected)
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        char text[64] = "";
        size_t i;

        assert_int_equal(history_list(history, filter, &list), 0);
        for (i = 0; i < list.n_records; i++)
                (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%.1s%s",
                               i > 0 ? " " : "", list.records[i].id + 7, list.records[i].id + 30);
        assert_string_equal(text, expected);
}

static void test_every_column_is_read(void **state)
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        _cleanup_(history_freep) History *history = NULL;
        RecordFilter filter = RECORD_FILTER_INIT;
        sqlite3 *db = make_database(*state, make_view);
        size_t i;

        run(db, "INSERT INTO t (dummy) VALUES (0)");
        for (i = 0; i < RECORD_N_COLUMNS; i++) {
                _cleanup_free_ char *sql = NULL;
                bool is_text = record_columns[i].kind == RECORD_KIND_TEXT ||
                               record_columns[i].kind == RECORD_KIND_JSON;

                assert_true(asprintf(&sql,
                                     is_text ? "UPDATE t SET %s = 'v%zu'" : "UPDATE t SET %s = %zu",
                                     record_columns[i].name, i) > 0);
                run(db, sql);
        }
        history = open_history(*state, 0);
        assert_int_equal(history_list(history, &filter, &list), 0);
        assert_int_equal(list.n_records, 1);
        for (i = 0; i < RECORD_N_COLUMNS; i++) {
                const char *text = record_get_text(&list.records[0], &record_columns[i]);
                char expected[16];

                (void)snprintf(expected, sizeof(expected), "v%zu", i);
                if (text)
                        assert_string_equal(text, expected);
                else
                        assert_int_equal(record_get_integer(&list.records[0], &record_columns[i]),
                                         i);
        }
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A44 */
static void test_nulls_and_wrong_types_stay_null(void **state)
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        _cleanup_(history_freep) History *history = NULL;
        RecordFilter filter = RECORD_FILTER_INIT;
        sqlite3 *db = make_database(*state, make_view);

        run(db, "INSERT INTO t (id, uid, memory_peak_bytes, memory_max_bytes, task)"
                " VALUES ('x', 1.5, 'much', x'00', x'6162')");
        history = open_history(*state, 0);
        assert_int_equal(history_list(history, &filter, &list), 0);
        assert_int_equal(list.records[0].uid, RECORD_NULL);
        assert_int_equal(list.records[0].memory_peak_bytes, RECORD_NULL);
        assert_int_equal(list.records[0].memory_max_bytes, RECORD_NULL);
        assert_int_equal(list.records[0].oom_kills, RECORD_NULL);
        assert_null(list.records[0].task);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_filters_choose_rows(void **state)
{
        static const struct {
                RecordFilter filter;
                const char *ids;
        } cases[] = {
                { { NULL, NULL, -1, -1, NULL, -1 }, "103 003 002 001" },
                { { NULL, NULL, -1, -1, NULL, 2 }, "103 003" },
                { { NULL, NULL, -1, -1, NULL, 0 }, "" },
                { { "etl/*", NULL, -1, -1, NULL, -1 }, "002 001" },
                { { "*/load", NULL, -1, -1, NULL, -1 }, "001" },
                { { "etl/load", NULL, -1, -1, NULL, -1 }, "001" },
                { { "[eo]t*", NULL, -1, -1, NULL, -1 }, "003 002 001" },
                { { "etl", NULL, -1, -1, NULL, -1 }, "" },
                { { "ETL/*", NULL, -1, -1, NULL, -1 }, "" },
                { { "*", NULL, -1, -1, NULL, -1 }, "003 002 001" },
                { { "x' OR 1 --", NULL, -1, -1, NULL, -1 }, "" },
                { { NULL, "running", -1, -1, NULL, -1 }, "003" },
                { { NULL, NULL, 1000, -1, NULL, -1 }, "003 002" },
                { { NULL, NULL, 0, -1, NULL, -1 }, "103 001" },
                { { NULL, NULL, -1, 40, NULL, -1 }, "103 003 002" },
                { { NULL, NULL, -1, 61, NULL, -1 }, "003" },
                { { "etl/*", "finished", 1000, 30, NULL, 10 }, "002" },
                { { NULL, NULL, -1, -1, "00000000", -1 }, "003 002 001" },
                { { NULL, NULL, -1, -1, "00000001", -1 }, "103 001" },
                { { NULL, NULL, -1, -1, "0000ab03", -1 }, "103 003" },
                { { NULL, NULL, -1, -1, "0000000000000000000000000000ab03", -1 }, "003" },
                { { NULL, NULL, -1, -1, "ffffffff", -1 }, "" },
        };
        _cleanup_(history_freep) History *history = NULL;
        sqlite3 *db = make_rows(*state);
        int64_t n;
        size_t i;

        history = open_history(*state, 0);
        for (i = 0; i < N_ELEMENTS(cases); i++)
                expect_ids(history, &cases[i].filter, cases[i].ids);
        assert_int_equal(history_count(history, &n), 0);
        assert_int_equal(n, 4);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The same filters must mean the same for rows and for what the daemon says. */
static void test_filters_agree_with_record_matches(void **state)
{
        static const RecordFilter filters[] = {
                { "etl/*", NULL, -1, -1, NULL, -1 }, { NULL, "lost", -1, -1, NULL, -1 },
                { NULL, NULL, 1000, -1, NULL, -1 },  { NULL, NULL, -1, 45, NULL, -1 },
                { NULL, NULL, -1, 20, NULL, -1 },    { NULL, NULL, -1, -1, "00000001", -1 },
        };
        _cleanup_(record_list_deinitp) RecordList all = RECORD_LIST_INIT;
        _cleanup_(history_freep) History *history = NULL;
        RecordFilter everything = RECORD_FILTER_INIT;
        sqlite3 *db = make_rows(*state);
        size_t i, j, n;

        history = open_history(*state, 0);
        assert_int_equal(history_list(history, &everything, &all), 0);
        for (i = 0; i < N_ELEMENTS(filters); i++) {
                _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;

                assert_int_equal(history_list(history, &filters[i], &list), 0);
                for (j = 0, n = 0; j < all.n_records; j++)
                        n += record_matches(&all.records[j], &filters[i]);
                assert_int_equal(list.n_records, n);
        }
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_the_daemons_own_schema_is_read(void **state)
{
        _cleanup_(history_freep) History *history = NULL;
        RecordFilter filter = RECORD_FILTER_INIT;
        sqlite3 *db = make_database(*state, "PRAGMA journal_mode = WAL");

        assert_int_equal(schema_migrate(db), SQLITE_OK);
        run(db, "INSERT INTO execution (id, state, stored_usec, labels)"
                " VALUES ('00000000000000000000000000000007', 'finished', 1, '{\"a\":\"b\"}')");
        history = open_history(*state, 0);
        expect_ids(history, &filter, "007");
        filter.task = "x*";
        expect_ids(history, &filter, "");
        assert_int_equal(HISTORY_SCHEMA_VERSION, SCHEMA_VERSION);
        assert_int_equal(HISTORY_APPLICATION_ID, SCHEMA_APPLICATION_ID);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_other_files_are_refused_by_name(void **state)
{
        static const char *const foreign[] = {
                "CREATE TABLE x (y)",
                "PRAGMA application_id = 5; PRAGMA user_version = 1; CREATE TABLE x (y)",
                "PRAGMA application_id = 0x63677431; CREATE TABLE x (y)",
        };
        History *history;
        sqlite3 *db;
        size_t i;

        history = open_history(*state, HISTORY_E_ABSENT);
        history_free(history);
        tree_write(*state, "/cgtask.db", "");
        history_free(open_history(*state, HISTORY_E_FOREIGN));
        tree_write(*state, "/cgtask.db",
                   "this is a text, and quite a long one at that; it is "
                   "longer than the header of a database, which has one "
                   "hundred bytes.");
        history_free(open_history(*state, HISTORY_E_FOREIGN));
        tree_unlink(*state, "/cgtask.db");
        tree_write(*state, "/cgtask.db", NULL);
        history_free(open_history(*state, HISTORY_E_FOREIGN));
        tree_unlink(*state, "/cgtask.db");
        for (i = 0; i < N_ELEMENTS(foreign); i++) {
                db = make_database(*state, foreign[i]);
                history_free(open_history(*state, HISTORY_E_FOREIGN));
                assert_int_equal(sqlite3_close(db), SQLITE_OK);
                tree_unlink(*state, "/cgtask.db");
        }
}

static void test_newer_databases_are_refused(void **state)
{
        sqlite3 *db = make_rows(*state);

        run(db, "PRAGMA user_version = 2");
        history_free(open_history(*state, HISTORY_E_NEWER));
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_damaged_databases_say_so(void **state)
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        _cleanup_(history_freep) History *history = NULL;
        RecordFilter filter = RECORD_FILTER_INIT;
        sqlite3 *db = make_database(*state, make_view);

        run(db, "DROP VIEW v1_execution");
        history = open_history(*state, 0);
        assert_int_equal(history_list(history, &filter, &list), HISTORY_E_UNREADABLE);
        assert_non_null(strstr(history_error(history), "v1_execution"));
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A writer in the middle of a transaction is no trouble in WAL mode; an exclusive one is named. */
static void test_locked_databases_say_so(void **state)
{
        sqlite3 *db = make_rows(*state);

        run(db, "BEGIN EXCLUSIVE");
        history_free(open_history(*state, HISTORY_E_UNREADABLE));
        run(db, "ROLLBACK");
        history_free(open_history(*state, 0));
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A reader that stays open must not keep the daemon from emptying its WAL. */
static void test_no_transaction_is_left_open(void **state)
{
        _cleanup_(history_freep) History *history = NULL;
        RecordFilter filter = RECORD_FILTER_INIT;
        sqlite3 *db = make_rows(*state);
        int n_log, n_done;

        run(db, "PRAGMA journal_mode = WAL");
        run(db, "INSERT INTO t (id) VALUES ('zz')");
        history = open_history(*state, 0);
        filter.limit = 1;
        {
                _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;

                assert_int_equal(history_list(history, &filter, &list), 0);
        }
        assert_int_equal(
                sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, &n_log, &n_done),
                SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void keep_wal(sqlite3 *db)
{
        int on = 1;

        run(db, "PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 0");
        assert_int_equal(sqlite3_file_control(db, NULL, SQLITE_FCNTL_PERSIST_WAL, &on), SQLITE_OK);
}

/* As after a clean stop of the daemon, read by root: -wal must outlive it for the group. */
static void test_files_of_the_wal_are_left_alone(void **state)
{
        RecordFilter filter = RECORD_FILTER_INIT;
        sqlite3 *db = make_rows(*state);
        History *history;

        keep_wal(db);
        run(db, "INSERT INTO t (id) VALUES ('00000000000000000000000000000009')");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(access(tree_path(*state, "/cgtask.db-wal"), F_OK), 0);
        history = open_history(*state, 0);
        expect_ids(history, &filter, "103 003 009 002 001");
        history_free(history);
        assert_int_equal(access(tree_path(*state, "/cgtask.db-wal"), F_OK), 0);
}

/* Runs fn in a child that is nobody; its assertions end it with another status. */
static void as_nobody(void **state, int (*fn)(Tree *t))
{
        int status;
        pid_t pid;

        if (geteuid() != 0)
                skip();
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                _exit(setgid(65534) < 0 || setuid(65534) < 0 ? 99 : fn(*state));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

static int list_as_reader(Tree *t)
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        RecordFilter filter = RECORD_FILTER_INIT;
        History *history;
        int r;

        if (history_new(tree_path(t, "/cgtask.db"), &history) != 0)
                return 1;
        r = history_open(history);
        if (r == 0)
                r = history_list(history, &filter, &list);
        (void)history_free(history);
        return r != 0 ? 10 + r : list.n_records == 4 ? 0 : 2;
}

/*
 * A WAL database without -wal and -shm, in a folder where the reader cannot make them: plain SQLite
 * refuses, immutable=1 is right as there is nothing in a WAL.
 */
static void test_a_database_without_wal_is_read_as_immutable(void **state)
{
        Tree *t = *state;
        sqlite3 *db = make_rows(t);

        run(db, "PRAGMA journal_mode = WAL");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(access(tree_path(t, "/cgtask.db-wal"), F_OK), -1);
        assert_int_equal(chmod(t->root, 0755), 0);
        assert_int_equal(chmod(tree_path(t, "/cgtask.db"), 0644), 0);
        as_nobody(state, list_as_reader);
        assert_int_equal(access(tree_path(t, "/cgtask.db-wal"), F_OK), -1);
}

static int expect_denied(Tree *t)
{
        History *history;
        int r;

        if (history_new(tree_path(t, "/cgtask.db"), &history) != 0)
                return 1;
        r = history_open(history);
        if (r == HISTORY_E_DENIED && strstr(history_error(history), "cgtask-read"))
                r = 0;
        (void)history_free(history);
        return r;
}

static void test_who_may_not_read_is_told_the_group(void **state)
{
        Tree *t = *state;
        sqlite3 *db = make_rows(t);

        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(chmod(t->root, 0755), 0);
        assert_int_equal(chmod(tree_path(t, "/cgtask.db"), 0640), 0);
        as_nobody(state, expect_denied);
        assert_int_equal(chmod(t->root, 0700), 0);
        as_nobody(state, expect_denied);
}

/* A view in somebody's file may call functions: none that does anything. */
static void test_hostile_views_have_no_power(void **state)
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        _cleanup_(history_freep) History *history = NULL;
        RecordFilter filter = RECORD_FILTER_INIT;
        sqlite3 *db = make_database(*state,
                                    "CREATE VIEW v1_execution AS SELECT cgtask_match('*', 'x') AS "
                                    "id;"
                                    "PRAGMA application_id = 0x63677431; PRAGMA user_version = 1;");

        history = open_history(*state, 0);
        assert_int_equal(history_list(history, &filter, &list), HISTORY_E_UNREADABLE);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                tree_test(test_every_column_is_read),
                tree_test(test_nulls_and_wrong_types_stay_null),
                tree_test(test_filters_choose_rows),
                tree_test(test_filters_agree_with_record_matches),
                tree_test(test_the_daemons_own_schema_is_read),
                tree_test(test_other_files_are_refused_by_name),
                tree_test(test_newer_databases_are_refused),
                tree_test(test_damaged_databases_say_so),
                tree_test(test_locked_databases_say_so),
                tree_test(test_no_transaction_is_left_open),
                tree_test(test_files_of_the_wal_are_left_alone),
                tree_test(test_a_database_without_wal_is_read_as_immutable),
                tree_test(test_who_may_not_read_is_told_the_group),
                tree_test(test_hostile_views_have_no_power),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
