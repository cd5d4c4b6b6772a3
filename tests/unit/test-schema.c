/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables and views: their shape, what they refuse, their numbers, and how a file becomes ours. */

#include "schema.h"

#include "store-fixture.h"

static sqlite3 *make_database(void)
{
        sqlite3 *db = fixture_open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);

        assert_int_equal(schema_migrate(db), SQLITE_OK);
        return db;
}

static void close_database(sqlite3 *db)
{
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_view_has_the_columns_in_order(void **state)
{
#define LIST_NAME(kind, column, member) "," #column
        static const char expected[] = EXECUTION_COLUMNS(LIST_NAME);
        sqlite3 *db = make_database();

        fixture_expect(db,
                       "SELECT group_concat(name) FROM (SELECT name FROM "
                       "pragma_table_info('v1_execution') ORDER BY cid)",
                       expected + 1);
        fixture_expect(db,
                       "SELECT group_concat(name) FROM (SELECT name FROM "
                       "pragma_table_info('execution') ORDER BY cid DESC LIMIT 1)",
                       "stored_usec");
        close_database(db);
}

static void test_other_views_have_their_columns(void **state)
{
        sqlite3 *db = make_database();

        fixture_expect(db, "SELECT group_concat(name) FROM pragma_table_info('v1_task_sizing')",
                       "task,n,n_ok,n_oom,n_lower_bound,peak_p50_bytes,peak_p95_bytes,"
                       "peak_p99_bytes,peak_max_bytes,last_limit_bytes,first_ended_usec,"
                       "last_ended_usec");
        fixture_expect(db, "SELECT group_concat(name) FROM pragma_table_info('v1_oom_victim')",
                       "execution_id,at_usec,pid,comm,anon_rss_bytes,constraint");
        close_database(db);
}

static void test_migrate_stamps_and_is_repeatable(void **state)
{
        Fixture *f = *state;
        sqlite3 *db = fixture_open(f->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);

        for (int i = 0; i < 2; ++i) {
                assert_int_equal(schema_migrate(db), SQLITE_OK);
                fixture_expect(db, "PRAGMA application_id", "1667724337");
                fixture_expect(db, "PRAGMA user_version", "1");
                fixture_expect(db, "PRAGMA auto_vacuum", "2");
                fixture_expect(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'view'", "3");
        }
        fixture_expect(db,
                       "SELECT count(*) FROM pragma_table_list WHERE strict AND name IN "
                       "('execution', 'oom_victim')",
                       "2");
        close_database(db);
}

/* A file of a version that lacked a column gets it, and keeps its rows. */
static void test_migrate_adds_missing_columns(void **state)
{
        sqlite3 *db = make_database();

        fixture_execute(db, "INSERT INTO execution (id, state, stored_usec) "
                            "VALUES ('a', 'finished', 1);"
                            "DROP VIEW v1_execution; DROP VIEW v1_task_sizing;"
                            "ALTER TABLE execution DROP COLUMN kernel_release;"
                            "ALTER TABLE execution DROP COLUMN memory_stat;"
                            "PRAGMA user_version = 0;");
        assert_int_equal(schema_migrate(db), SQLITE_OK);
        fixture_expect(db, "SELECT id, kernel_release, memory_stat FROM v1_execution", "a||");
        fixture_expect(db, "PRAGMA user_version", "1");
        close_database(db);
}

static void test_migrate_refuses_what_is_not_ours(void **state)
{
        static const char *const makers[] = {
                "CREATE TABLE t (x)",
                "PRAGMA user_version = 7",
                "PRAGMA application_id = 7",
                "CREATE TABLE t (x); PRAGMA application_id = 7",
                "PRAGMA application_id = 1667724337; PRAGMA user_version = 2",
                "PRAGMA application_id = 1667724337; PRAGMA user_version = -1",
        };

        for (size_t i = 0; i < N_ELEMENTS(makers); ++i) {
                sqlite3 *db = fixture_open(":memory:", SQLITE_OPEN_READWRITE);

                fixture_execute(db, makers[i]);
                assert_int_equal(schema_migrate(db), SQLITE_MISMATCH);
                fixture_expect(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'v1%'", "0");
                close_database(db);
        }
}

static void test_migrate_failure_leaves_nothing(void **state)
{
        Fixture *f = *state;
        sqlite3 *db = fixture_open(f->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
        sqlite3 *other = fixture_open(f->path, SQLITE_OPEN_READWRITE);

        fixture_execute(other, "BEGIN IMMEDIATE");
        assert_int_equal(schema_migrate(db), SQLITE_BUSY);
        fixture_execute(other, "ROLLBACK");
        assert_int_equal(sqlite3_get_autocommit(db), 1);
        fixture_expect(db, "SELECT count(*) FROM sqlite_schema", "0");
        assert_int_equal(schema_migrate(db), SQLITE_OK);
        close_database(other);
        close_database(db);
}

/* Every value that design.md section 4 names is stored; others, and broken JSON, are not. */
static void test_checks_accept_what_the_daemon_writes(void **state)
{
        static const struct {
                const char *column;
                const char *accepted[8];
                const char *refused;
        } cases[] = {
                { "state", { "'running'", "'finished'", "'lost'" }, "'done'" },
                { "state", { "'running'" }, "NULL" },
                { "result",
                  { "'ok'", "'error'", "'signal'", "'oom'", "'unknown'", "'lost'", "NULL" },
                  "'OK'" },
                { "exit_kind", { "'exited'", "'signaled'", "'unknown'", "NULL" }, "'killed'" },
                { "oom_cause",
                  { "'none'", "'own_limit'", "'ancestor_limit'", "'host'", "'userspace'",
                    "'unknown'", "NULL" },
                  "''" },
                { "capture",
                  { "'captured'", "'partial'", "'unsupported'", "'lost'", "NULL" },
                  "'full'" },
                { "coverage", { "'full'", "'partial'", "NULL" }, "'none'" },
                { "runner_rss_source", { "'ru_maxrss'", "'vmhwm'", "'sampled'", "NULL" }, "'x'" },
                { "labels", { "'{}'", "'{\"a\":\"b\"}'", "NULL" }, "'{'" },
                { "memory_stat", { "'{\"anon\":1}'", "NULL" }, "'anon 1'" },
                { "profiled", { "0", "1", "NULL" }, "2" },
                { "memory_peak_is_lower_bound", { "0", "1", "NULL" }, "-1" },
                { "memory_peak_bytes", { "0", "9223372036854775807", "NULL" }, "'x'" },
        };
        sqlite3 *db = make_database();
        char sql[256];

        fixture_execute(db, "INSERT INTO execution (id, state, stored_usec) "
                            "VALUES ('a', 'running', 1)");
        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                for (size_t k = 0; k < 8 && cases[i].accepted[k]; ++k) {
                        (void)snprintf(sql, sizeof(sql), "UPDATE execution SET %s = %s",
                                       cases[i].column, cases[i].accepted[k]);
                        fixture_execute(db, sql);
                }
                (void)snprintf(sql, sizeof(sql), "UPDATE execution SET %s = %s", cases[i].column,
                               cases[i].refused);
                assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_CONSTRAINT);
        }
        close_database(db);
}

static void add_peaks(sqlite3 *db, const char *task, int n)
{
        char sql[768];

        /* Peaks n, n-1, ... 1 in the order of their ends, so that rank and age differ. */
        (void)snprintf(sql, sizeof(sql),
                       "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k "
                       "WHERE i < %d) "
                       "INSERT INTO execution (id, task, state, result, capture, coverage, "
                       "memory_peak_bytes, memory_peak_is_lower_bound, memory_max_bytes, "
                       "ended_usec, stored_usec) "
                       "SELECT '%s' || i, '%s', 'finished', "
                       "CASE i %% 10 WHEN 0 THEN 'oom' WHEN 1 THEN 'error' ELSE 'ok' END, "
                       "'captured', 'full', %d - i, i %% 10 = 0, 1000 + i, i, 1 FROM k",
                       n, task, task, n + 1);
        fixture_execute(db, sql);
}

static void test_sizing_percentiles_are_nearest_rank(void **state)
{
        static const struct {
                const char *task;
                int n;
                const char *expected; /* from task to last_ended_usec */
        } cases[] = {
                { "one", 1, "one|1|0|0|0|1|1|1|1|1001|1|1" },
                { "two", 2, "two|2|1|0|0|1|2|2|2|1002|1|2" },
                { "ten", 10, "ten|10|8|1|1|5|10|10|10|1010|1|10" },
                { "hundred", 100, "hundred|100|80|10|10|50|95|99|100|1100|1|100" },
                { "more", 101, "more|101|80|10|10|51|96|100|101|1101|1|101" },
                { "thousand", 1000, "thousand|1000|800|100|100|500|950|990|1000|2000|1|1000" },
        };
        sqlite3 *db = make_database();
        char sql[128];

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i)
                add_peaks(db, cases[i].task, cases[i].n);
        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                (void)snprintf(sql, sizeof(sql), "SELECT * FROM v1_task_sizing WHERE task = '%s'",
                               cases[i].task);
                fixture_expect(db, sql, cases[i].expected);
        }
        close_database(db);
}

static void test_sizing_takes_only_whole_captures(void **state)
{
        static const char *const changes[] = {
                "state = 'running'",
                "state = 'lost'",
                "capture = 'partial'",
                "capture = 'unsupported'",
                "capture = 'lost'",
                "capture = NULL",
                "coverage = 'partial'",
                "coverage = NULL",
                "profiled = 1",
                "task = NULL",
                "memory_peak_bytes = NULL",
        };
        char sql[128];

        for (size_t i = 0; i < N_ELEMENTS(changes); ++i) {
                sqlite3 *db = make_database();

                add_peaks(db, "t", 1);
                fixture_execute(db, "UPDATE execution SET profiled = 0");
                fixture_expect(db, "SELECT count(*) FROM v1_task_sizing", "1");
                (void)snprintf(sql, sizeof(sql), "UPDATE execution SET %s", changes[i]);
                fixture_execute(db, sql);
                fixture_expect(db, "SELECT count(*) FROM v1_task_sizing", "0");
                close_database(db);
        }
}

static void test_sizing_last_limit_is_of_the_latest(void **state)
{
        sqlite3 *db = make_database();

        add_peaks(db, "t", 3);
        fixture_execute(db, "UPDATE execution SET memory_max_bytes = NULL WHERE ended_usec = 3");
        fixture_expect(db, "SELECT last_limit_bytes IS NULL FROM v1_task_sizing", "1");
        fixture_execute(db, "UPDATE execution SET ended_usec = 0 WHERE ended_usec = 3");
        fixture_expect(db, "SELECT last_limit_bytes FROM v1_task_sizing", "1002");
        close_database(db);
}

/* Otherwise the figures of one task would cost a pass over all rows. */
static void test_sizing_of_one_task_uses_the_index(void **state)
{
        sqlite3 *db = make_database();
        sqlite3_stmt *statement;
        bool found = false;

        assert_int_equal(sqlite3_prepare_v2(db,
                                            "EXPLAIN QUERY PLAN SELECT * FROM v1_task_sizing "
                                            "WHERE task = 't'",
                                            -1, &statement, NULL),
                         SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW)
                found |= strstr((const char *)sqlite3_column_text(statement, 3),
                                "USING INDEX execution_task_ended (task=?)") != NULL;
        (void)sqlite3_finalize(statement);
        assert_true(found);
        close_database(db);
}

static void test_victim_is_kept_once(void **state)
{
        sqlite3 *db = make_database();

        for (int i = 0; i < 2; ++i)
                fixture_execute(db, "INSERT OR IGNORE INTO oom_victim VALUES "
                                    "('a', 5, 42, 'hog', 4096, 'CONSTRAINT_MEMCG')");
        fixture_expect(db, "SELECT count(*), * FROM v1_oom_victim",
                       "1|a|5|42|hog|4096|CONSTRAINT_MEMCG");
        close_database(db);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_view_has_the_columns_in_order),
                cmocka_unit_test(test_other_views_have_their_columns),
                fixture_test(test_migrate_stamps_and_is_repeatable),
                cmocka_unit_test(test_migrate_adds_missing_columns),
                cmocka_unit_test(test_migrate_refuses_what_is_not_ours),
                fixture_test(test_migrate_failure_leaves_nothing),
                cmocka_unit_test(test_checks_accept_what_the_daemon_writes),
                cmocka_unit_test(test_sizing_percentiles_are_nearest_rank),
                cmocka_unit_test(test_sizing_takes_only_whole_captures),
                cmocka_unit_test(test_sizing_last_limit_is_of_the_latest),
                cmocka_unit_test(test_sizing_of_one_task_uses_the_index),
                cmocka_unit_test(test_victim_is_kept_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
