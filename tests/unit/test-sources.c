/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Database and daemon together: who wins, what is missing without one of them, and which execution
 * a few digits mean. The daemon is a thread that answers List and Get from a list.
 */

#include "sources.h"

#include "tree-fixture.h"
#include "view-fixture.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ID(n) "0198c2f1aabb7ccd8eef00112233440" #n

static const char make_table[] = "CREATE TABLE v1_execution (dummy" EXECUTION_COLUMNS(
        VIEW_DEFINITION) ");" VIEW_STAMP
                         "INSERT INTO v1_execution (id, task, state, memory_peak_bytes) VALUES"
                         " ('" ID(1) "', 'a', 'finished', 100),"
                                     " ('" ID(2) "', 'b', 'running', 200),"
                                                 " ('" ID(3) "', 'c', 'finished', 300)";

/* What lives: 2 with a newer peak, 3 that has just finished, 4 that has no row yet. */
static const char live[] = "[{\"id\":\"" ID(
        4) "\",\"task\":\"d\",\"state\":\"running\","
           "\"memoryPeak\":444},"
           "{\"id\":\"" ID(2) "\",\"task\":\"b\",\"state\":\"running\","
                              "\"memoryPeak\":222,\"cgroupPath\":\"/x\",\"memoryCurrent\":5},"
                              "{\"id\":\"" ID(3) "\",\"task\":\"c\",\"state\":\"running\","
                                                 "\"memoryPeak\":333}]";

typedef struct Daemon {
        int listen_fd;
        pthread_t thread;
} Daemon;

static void reply(int fd, json_t *message)
{
        _cleanup_free_ char *text = json_dumps(message, JSON_COMPACT);

        assert_non_null(text);
        assert_int_equal(send(fd, text, strlen(text) + 1, MSG_NOSIGNAL), strlen(text) + 1);
        json_decref(message);
}

static void answer(int fd, const char *call)
{
        json_auto_t *request = json_loads(call, 0, NULL), *executions = json_loads(live, 0, NULL);
        const json_t *parameters = json_object_get(request, "parameters");
        const char *state = json_string_value(json_object_get(parameters, "state"));
        const char *id = json_string_value(json_object_get(parameters, "id"));
        json_t *execution;
        size_t i;

        if (state && strcmp(state, "running") != 0) {
                reply(fd, json_pack("{s:{}}", "parameters"));
                return;
        }
        json_array_foreach(executions, i, execution) {
                if (id && strcmp(json_string_value(json_object_get(execution, "id")), id) != 0)
                        continue;
                reply(fd, json_pack("{s:{s:O}, s:b}", "parameters", "execution", execution,
                                    "continues", !id && i + 1 < json_array_size(executions)));
                if (id)
                        return;
        }
        if (id)
                reply(fd, json_pack("{s:s, s:{s:s}}", "error", WIRE_ERROR_NO_SUCH_EXECUTION,
                                    "parameters", "id", id));
}

static void *play_daemon(void *userdata)
{
        Daemon *daemon = userdata;
        char call[4096];
        size_t n;
        int fd;

        fd = accept4(daemon->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        for (n = 0; fd >= 0 && n < sizeof(call) && read(fd, call + n, 1) == 1; n++)
                if (call[n] == 0) {
                        answer(fd, call);
                        n = SIZE_MAX;
                }
        (void)cleanup_close(fd);
        return NULL;
}

static void daemon_start(Tree *t, Daemon *daemon)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/sock", t->root);
        daemon->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(daemon->listen_fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(daemon->listen_fd, 1), 0);
        assert_int_equal(pthread_create(&daemon->thread, NULL, play_daemon, daemon), 0);
}

/* The client has closed: the thread ends. */
static void daemon_stop(Daemon *daemon)
{
        assert_int_equal(pthread_join(daemon->thread, NULL), 0);
        assert_int_equal(close(daemon->listen_fd), 0);
}

static void make_database(Tree *t)
{
        sqlite3 *db;

        assert_int_equal(sqlite3_open(tree_path(t, "/db"), &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, make_table, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

typedef struct Options {
        Ctl ctl;
        char database[96], socket[96];
} Options;

static const Ctl *options(Tree *t, Options *o, bool with_socket)
{
        (void)snprintf(o->database, sizeof(o->database), "%s/db", t->root);
        (void)snprintf(o->socket, sizeof(o->socket), "%s/sock", t->root);
        o->ctl = (Ctl){ .database = o->database, .socket = with_socket ? o->socket : NULL };
        return &o->ctl;
}

/* "digit state peak" of every row, newest first. */
static void expect_rows(const Sources *sources, const RecordFilter *filter, const char *expected)
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        char text[256] = "";
        size_t i;

        assert_int_equal(sources_list(sources, filter, &list), 0);
        for (i = 0; i < list.n_records; i++)
                (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s %d",
                               i > 0 ? ", " : "", list.records[i].id + WIRE_ID_LENGTH - 1,
                               list.records[i].state, (int)list.records[i].memory_peak_bytes);
        assert_string_equal(text, expected);
}

static void test_rows_and_live_ones_are_merged(void **state)
{
        RecordFilter all = RECORD_FILTER_INIT, filter;
        Sources sources = SOURCES_INIT;
        Daemon daemon;
        Options o;

        make_database(*state);
        daemon_start(*state, &daemon);
        assert_int_equal(sources_open(options(*state, &o, true), &sources), 0);
        expect_rows(&sources, &all, "4 running 444, 3 finished 300, 2 running 222, 1 finished 100");
        filter = all, filter.limit = 2;
        expect_rows(&sources, &filter, "4 running 444, 3 finished 300");
        filter = all, filter.state = "finished";
        expect_rows(&sources, &filter, "3 finished 300, 1 finished 100");
        filter = all, filter.task = "[bd]";
        expect_rows(&sources, &filter, "4 running 444, 2 running 222");
        sources_close(&sources);
        daemon_stop(&daemon);
}

/* A copy from elsewhere must not be mixed with what runs here. */
static void test_a_named_database_is_read_alone(void **state)
{
        _cleanup_(sources_closep) Sources sources = SOURCES_INIT;
        RecordFilter all = RECORD_FILTER_INIT;
        Options o;

        make_database(*state);
        assert_int_equal(sources_open(options(*state, &o, false), &sources), 0);
        assert_null(sources.client);
        expect_rows(&sources, &all, "3 finished 300, 2 running 200, 1 finished 100");
}

/* The note that running ones are as of their last checkpoint goes to stderr. */
static void test_without_a_daemon_there_are_rows(void **state)
{
        _cleanup_(sources_closep) Sources sources = SOURCES_INIT;
        RecordFilter all = RECORD_FILTER_INIT;
        Options o;

        make_database(*state);
        assert_int_equal(sources_open(options(*state, &o, true), &sources), 0);
        expect_rows(&sources, &all, "3 finished 300, 2 running 200, 1 finished 100");
}

static void test_a_named_database_must_be_there(void **state)
{
        Sources sources = SOURCES_INIT;
        Options o;

        assert_int_equal(sources_open(options(*state, &o, false), &sources), SOURCES_E_FAILED);
        assert_int_equal(sources_open_daemon(options(*state, &o, true), &sources),
                         SOURCES_E_FAILED);
        assert_null(sources.history);
        assert_null(sources.client);
}

static void expect_found(const Sources *sources, const char *text, bool running_only,
                         const char *id)
{
        ExecutionRecord record;
        int r;

        r = sources_find(sources, text, running_only, &record);
        assert_int_equal(r, id ? 0 : SOURCES_E_FAILED);
        if (!id)
                return;
        assert_string_equal(record.id, id);
        execution_record_deinit(&record);
}

static void test_digits_name_an_execution(void **state)
{
        Sources sources = SOURCES_INIT;
        Daemon daemon;
        Options o;

        make_database(*state);
        daemon_start(*state, &daemon);
        assert_int_equal(sources_open(options(*state, &o, true), &sources), 0);
        expect_found(&sources, ID(1), false, ID(1));
        expect_found(&sources, "22334403", false, ID(3));
        expect_found(&sources, "x-" ID(4), false, ID(4));
        expect_found(&sources, "0198c2f1", false, NULL); /* several */
        expect_found(&sources, "deadbeef", false, NULL);
        expect_found(&sources, "dead", false, NULL);
        expect_found(&sources, ID(9), false, NULL);
        expect_found(&sources, "22334401", true, NULL); /* not running */
        expect_found(&sources, "22334402", true, ID(2));
        sources_close(&sources);
        daemon_stop(&daemon);
}

/* What an ordinary user has: no database, and the daemon's word. */
static void test_the_daemon_alone_will_do(void **state)
{
        RecordFilter all = RECORD_FILTER_INIT;
        Sources sources = SOURCES_INIT;
        Daemon daemon;
        Options o;

        daemon_start(*state, &daemon);
        assert_int_equal(sources_open_daemon(options(*state, &o, true), &sources), 0);
        expect_rows(&sources, &all, "4 running 444, 3 running 333, 2 running 222");
        expect_found(&sources, ID(2), false, ID(2));
        expect_found(&sources, "22334404", false, ID(4));
        expect_found(&sources, ID(9), false, NULL);
        sources_close(&sources);
        daemon_stop(&daemon);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                tree_test(test_rows_and_live_ones_are_merged),
                tree_test(test_a_named_database_is_read_alone),
                tree_test(test_without_a_daemon_there_are_rows),
                tree_test(test_a_named_database_must_be_there),
                tree_test(test_digits_name_an_execution),
                tree_test(test_the_daemon_alone_will_do),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
