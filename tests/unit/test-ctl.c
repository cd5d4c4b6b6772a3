/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the verbs print, from a database made here. */

#include "ctl.h"
#include "record.h"

#include "tree-fixture.h"
#include "view-fixture.h"

#include <fcntl.h>
#include <locale.h>
#include <sqlite3.h>
#include <time.h>

#define ID "0198c2f1aabb7ccd8eef001122334401"

static const char make_table[] = "CREATE TABLE v1_execution (dummy" EXECUTION_COLUMNS(
        VIEW_DEFINITION) ");" VIEW_STAMP
                         "INSERT INTO v1_execution (id, task, labels, uid, state, result, "
                         "exit_kind, exit_status,"
                         " oom_cause, oom_kills, capture, coverage, memory_peak_bytes, "
                         "memory_peak_is_lower_bound,"
                         " memory_max_bytes, memory_stat, created_usec, started_usec, ended_usec, "
                         "duration_usec)"
                         " VALUES ('" ID
                         "', 'etl' || char(10, 27) || 'x', '{\"k\":\"v\"}', 0, 'finished', 'oom',"
                         " 'signaled', 9, 'own_limit', 1, 'captured', 'full', 52428800, 1, "
                         "52428800,"
                         " '{\"anon\":1048576,\"file\":5,\"other\":7}', 1768469400000000, "
                         "1768469400000000,"
                         " 1768469461500000, 61500000)";

typedef int (*Verb)(const Ctl *ctl, int argc, char *argv[]);

/* What the verb writes to stdout, in one static buffer. */
static const char *run(Tree *t, Verb verb, const Ctl *ctl, char *argument, int expected)
{
        char *argv[] = { argument, NULL };
        int saved, fd, r;

        (void)fflush(stdout);
        saved = dup(STDOUT_FILENO);
        fd = open(tree_path(t, "/out"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(saved >= 0 && fd >= 0);
        assert_true(dup2(fd, STDOUT_FILENO) >= 0);
        r = verb(ctl, argument ? 1 : 0, argv);
        (void)fflush(stdout);
        assert_true(dup2(saved, STDOUT_FILENO) >= 0);
        (void)close(saved);
        (void)close(fd);
        assert_int_equal(r, expected);
        return tree_read(t, "/out");
}

static Ctl prepare(Tree *t, char *database, size_t n)
{
        sqlite3 *db;

        assert_int_equal(sqlite3_open(tree_path(t, "/db"), &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, make_table, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        (void)snprintf(database, n, "%s/db", t->root);
        return (Ctl){ .database = database, .uid = -1, .since_usec = -1, .n_lines = -1 };
}

static void test_list_has_one_line_for_an_execution(void **state)
{
        char database[96];
        Ctl ctl = prepare(*state, database, sizeof(database));
        const char *text;

        text = run(*state, ctl_list, &ctl, NULL, CTL_EXIT_OK);
        assert_non_null(strstr(text, ID " etl\\n\\x1bx finished oom 50.0M+ 50.0M own_limit SIGKILL "
                                        "1min 1s "));
        assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
        ctl.bytes = true;
        ctl.style.legend = true;
        text = run(*state, ctl_list, &ctl, NULL, CTL_EXIT_OK);
        assert_non_null(strstr(text, " 52428800 52428800 "));
        assert_non_null(strstr(text, "\n1 execution listed. + means"));
        ctl.task = "else*";
        text = run(*state, ctl_list, &ctl, NULL, CTL_EXIT_OK);
        assert_non_null(strstr(text, "0 executions listed.\n"));
}

static void test_list_as_json_has_all_columns(void **state)
{
        char database[96];
        Ctl ctl = prepare(*state, database, sizeof(database));
        json_auto_t *rows = NULL;

        ctl.style.json = TABLE_JSON_SHORT;
        rows = json_loads(run(*state, ctl_list, &ctl, NULL, CTL_EXIT_OK), 0, NULL);
        assert_int_equal(json_array_size(rows), 1);
        assert_int_equal(json_object_size(json_array_get(rows, 0)), RECORD_N_COLUMNS);
}

static void test_show_has_a_line_for_every_column(void **state)
{
        char database[96], id[] = "22334401";
        Ctl ctl = prepare(*state, database, sizeof(database));
        const char *text, *p;
        size_t n = 0, colon = 0;

        text = run(*state, ctl_show, &ctl, id, CTL_EXIT_OK);
        for (p = text; *p; p = strchr(p, '\n') + 1, n++) {
                if (colon == 0)
                        colon = strcspn(p, ":");
                assert_int_equal(strcspn(p, ":"), colon); /* names are aligned at their ends */
                assert_null(memchr(p, '_', colon));
        }
        assert_int_equal(n, RECORD_N_COLUMNS);
        assert_null(strchr(text, '\033'));
        assert_non_null(strstr(text, " Memory peak: 50.0M, 52428800 bytes (lower bound: memory ran "
                                     "out, more was wanted)\n"));
        assert_non_null(strstr(text, " Exit status: 9 (SIGKILL)\n"));
        assert_non_null(strstr(text, "anon=1.0M, file=5B (approximate)\n"));
        assert_non_null(strstr(text, " Ended: Thu 2026-01-15 09:31:01 UTC\n"));
        assert_non_null(strstr(text, " Swap peak: -\n"));
        assert_non_null(strstr(text, " Throttle limit: none\n"));
}

/* What makes a peak other than it looks, one case each. */
static void test_show_remarks_what_a_peak_means(void **state)
{
        static const struct {
                const char *sql;
                const char *remark;
        } cases[] = {
                { "UPDATE v1_execution SET oom_kills = 0", "touched the limit" },
                { "UPDATE v1_execution SET capture = 'lost'", "the end was not seen" },
                { "UPDATE v1_execution SET memory_peak_is_lower_bound = 0,"
                  " memory_stat = '{\"file\":40000000,\"shmem\":1000}'",
                  "76% of it was page cache" },
                { "UPDATE v1_execution SET coverage = 'partial'", "is missing" },
                { "UPDATE v1_execution SET memory_peak_bytes = NULL,"
                  " capture_reason = 'no memory.peak before 5.19'",
                  "Memory peak: - (no memory.peak before 5.19)" },
        };
        char database[96], id[] = ID;
        Ctl ctl = prepare(*state, database, sizeof(database));
        sqlite3 *db;
        size_t i;

        assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
        for (i = 0; i < N_ELEMENTS(cases); i++) {
                assert_int_equal(sqlite3_exec(db, cases[i].sql, NULL, NULL, NULL), SQLITE_OK);
                if (!strstr(run(*state, ctl_show, &ctl, id, CTL_EXIT_OK), cases[i].remark))
                        fail_msg("no '%s'", cases[i].remark);
        }
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_show_as_json_is_the_row(void **state)
{
        char database[96], id[] = ID;
        Ctl ctl = prepare(*state, database, sizeof(database));
        json_auto_t *row = NULL;

        ctl.style.json = TABLE_JSON_PRETTY;
        row = json_loads(run(*state, ctl_show, &ctl, id, CTL_EXIT_OK), 0, NULL);
        assert_int_equal(json_object_size(row), RECORD_N_COLUMNS);
        assert_string_equal(json_string_value(json_object_get(row, "task")), "etl\n\033x");
        assert_true(json_is_true(json_object_get(row, "memory_peak_is_lower_bound")));
        assert_int_equal(json_object_size(json_object_get(row, "memory_stat")), 3);
        assert_true(json_is_null(json_object_get(row, "memory_swap_peak_bytes")));
}

static void test_failures_are_exit_statuses(void **state)
{
        char database[96], unknown[] = "ffffffff", id[] = ID;
        Ctl ctl = prepare(*state, database, sizeof(database));
        char socket[128];

        (void)run(*state, ctl_show, &ctl, unknown, CTL_EXIT_FAILED);
        (void)snprintf(socket, sizeof(socket), "%s/none", ((Tree *)*state)->root);
        ctl.socket = socket;
        (void)run(*state, ctl_status, &ctl, NULL, CTL_EXIT_NOT_RUNNING);
        (void)run(*state, ctl_kill, &ctl, id, CTL_EXIT_FAILED);
        ctl.root = ((Tree *)*state)->root;
        (void)run(*state, ctl_doctor, &ctl, NULL, CTL_EXIT_FAILED);
}

static void test_doctor_on_a_made_up_host_fails_where_it_should(void **state)
{
        char database[96];
        Ctl ctl = prepare(*state, database, sizeof(database));
        const char *text;

        ctl.root = ((Tree *)*state)->root;
        tree_write(*state, "/proc/self/mountinfo",
                   "1 2 0:1 / /sys/fs/cgroup rw - cgroup2 none rw,nsdelegate\n");
        text = run(*state, ctl_doctor, &ctl, NULL, CTL_EXIT_FAILED);
        assert_non_null(strstr(text, "ok   cgroup v2 "));
        assert_non_null(strstr(text, "readable, 1 executions\n"));
        assert_non_null(strstr(text, "FAIL cgtask-read "));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                tree_test(test_list_has_one_line_for_an_execution),
                tree_test(test_list_as_json_has_all_columns),
                tree_test(test_show_has_a_line_for_every_column),
                tree_test(test_show_remarks_what_a_peak_means),
                tree_test(test_show_as_json_is_the_row),
                tree_test(test_failures_are_exit_statuses),
                tree_test(test_doctor_on_a_made_up_host_fails_where_it_should),
        };

        (void)setlocale(LC_CTYPE, "C.UTF-8");
        (void)setenv("TZ", "UTC", 1);
        tzset();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
