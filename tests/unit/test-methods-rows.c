/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The methods (api*.c) that read rows, Drain, and who may do what.
 */

#include "methods-fixture.h"

/* -- rows -- */

typedef struct RowJob {
        WorkerJob job;
        bool done;
} RowJob;

static void on_row_done(WorkerJob *job, int result)
{
        assert_int_equal(result, 0);
        ((RowJob *)job)->done = true;
}

/* n rows, by turns of root and of USER. */
static void store_rows(Setup *s, unsigned n)
{
        RowJob *jobs = calloc(n, sizeof(*jobs));

        for (unsigned i = 0; i < n; ++i) {
                jobs[i].job.kind = WORKER_JOB_ROW;
                jobs[i].job.done = on_row_done;
                fixture_record(&jobs[i].job.record, i, "finished");
                jobs[i].job.record.uid = i % 2 ? USER : 0;
                worker_submit(s->worker, &jobs[i].job);
        }
        for (unsigned i = 0; i < n; ++i) {
                while (!jobs[i].done)
                        loop_turn(s->loop, EVLOOP_ONCE);
                execution_record_deinit(&jobs[i].job.record);
        }
        free(jobs);
}

static const char *row_id(unsigned i)
{
        static char id[64];
        ExecutionRecord record;

        fixture_record(&record, i, "finished");
        (void)snprintf(id, sizeof(id), "%s", record.id);
        execution_record_deinit(&record);
        return id;
}

static void test_recorded_execution_is_got(void **state)
{
        Setup *s = *state;
        char parameters[128];
        json_t *answer, *o;

        store_rows(s, 2);
        (void)snprintf(parameters, sizeof(parameters), "{\"id\":\"%s\"}", row_id(1));
        call(s, EXECUTIONS("Get"), parameters);
        call(s, SERVICE("GetInfo"), "{}"); /* keeps its place behind the slower one */
        answer = client_wait(s->client, s->loop);
        o = json_object_get(json_object_get(answer, "parameters"), "execution");
        assert_string_equal(json_string_value(json_object_get(o, "id")), row_id(1));
        assert_string_equal(json_string_value(json_object_get(o, "state")), "finished");
        assert_null(json_object_get(o, "cgroupPath"));
        assert_null(json_object_get(o, "memoryCurrent"));
        json_decref(answer);
        answer = client_wait(s->client, s->loop);
        assert_non_null(json_object_get(json_object_get(answer, "parameters"), "product"));
        json_decref(answer);
        call(s, EXECUTIONS("Get"), "{\"id\":\"" ID "\"}");
        assert_string_equal(expect_error(s, WIRE_ERROR_NO_SUCH_EXECUTION, "id"), ID);
        call(s, EXECUTIONS("Get"), "{\"id\":\"' OR 1 --\"}");
        assert_string_equal(expect_error(s, WIRE_ERROR_NO_SUCH_EXECUTION, "id"), "' OR 1 --");
}

/* Reads a listing to its end; returns the number of executions in it. */
static size_t read_list(Setup *s, const char *parameters)
{
        char text[512];
        size_t n = 0;

        (void)snprintf(text, sizeof(text),
                       "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":%s}",
                       parameters);
        client_send(s->client, text);
        for (;;) {
                json_t *answer = client_wait(s->client, s->loop);
                bool more = json_is_true(json_object_get(answer, "continues"));
                json_t *o = json_object_get(json_object_get(answer, "parameters"), "execution");

                assert_null(json_object_get(answer, "error"));
                assert_int_equal(more, o != NULL);
                json_decref(answer);
                if (!more)
                        return n;
                ++n;
        }
}

static void test_recorded_executions_are_listed(void **state)
{
        Setup *s = *state;

        assert_int_equal(read_list(s, "{}"), 0);
        assert_int_equal(read_list(s, "{\"state\":\"finished\"}"), 0);
        store_rows(s, 100);
        assert_int_equal(read_list(s, "{\"state\":\"finished\"}"), 100);
        assert_int_equal(read_list(s, "{\"state\":\"finished\",\"uid\":54321}"), 50);
        assert_int_equal(read_list(s, "{\"state\":\"finished\",\"task\":\"nobody's\"}"), 0);
        assert_int_equal(read_list(s, "{\"state\":\"lost\"}"), 0);
        assert_int_equal(read_list(s, "{\"state\":\"running\"}"), 0);
}

static void test_bad_lists_are_refused(void **state)
{
        static const struct {
                const char *parameters, *refused;
        } cases[] = {
                { "{\"state\":\"dead\"}", "state" }, { "{\"state\":1}", "state" },
                { "{\"task\":1}", "task" },          { "{\"uid\":-1}", "uid" },
                { "{\"uid\":4294967296}", "uid" },   { "{\"uid\":\"root\"}", "uid" },
        };
        Setup *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                char text[256];

                (void)snprintf(
                        text, sizeof(text),
                        "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":%s}",
                        cases[i].parameters);
                client_send(s->client, text);
                expect_invalid(s, cases[i].refused);
        }
}

/* With room for little output the listing stops and goes, and ends all the same. */
static void test_long_list_goes_at_the_clients_pace(void **state)
{
        Setup *s = *state;
        int size = 4096;

        s->config.max_pending_output_bytes = 8192;
        (void)setsockopt(s->client->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
        store_rows(s, 400);
        assert_int_equal(read_list(s, "{\"state\":\"finished\"}"), 400);
}

/* One answer alone is more than may be pending: the client goes, the daemon does not. */
static void test_list_that_overflows_drops_the_client(void **state)
{
        Setup *s = *state;

        s->config.max_pending_output_bytes = 100;
        store_rows(s, 50);
        client_send(s->client,
                    "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":"
                                                        "{\"state\":\"finished\"}}");
        while (!s->client->ended) {
                loop_turn(s->loop, EVLOOP_ONCE);
                client_receive(s->client);
        }
        assert_int_equal(listener_count(s->listener), 0);
}

static void test_client_may_leave_while_the_store_is_asked(void **state)
{
        Setup *s = *state;

        store_rows(s, 10);
        for (unsigned i = 0; i < 20; ++i) {
                client_send(s->client,
                            "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":"
                                                                "{\"state\":\"finished\"}}");
                if (i % 2)
                        loop_turn(s->loop, EVLOOP_ONCE);
                s->client = client_free(s->client);
                s->client = client_connect(s);
        }
        call(s, SERVICE("GetInfo"), "{}");
        json_decref(client_wait(s->client, s->loop));
        /* and one that is still being asked for when everything ends */
        client_send(s->client,
                    "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":"
                                                        "{\"state\":\"finished\"}}");
        loop_turn(s->loop, EVLOOP_NONBLOCK);
}

/* -- Drain -- */

static void test_drain_ends_creation(void **state)
{
        Setup *s = *state;

        call(s, EXECUTIONS("Drain"), "{\"graceUsec\":9223372036854775807}");
        client_expect(s->client, s->loop, "{\"parameters\":{\"drained\":0,\"killed\":0}}");
        call(s, EXECUTIONS("Create"), "{\"task\":\"t\"}");
        assert_non_null(strstr(expect_error(s, WIRE_ERROR_NOT_READY, "reason"), "draining"));
        call(s, EXECUTIONS("Drain"), "{}");
        call(s, EXECUTIONS("Drain"), "{}");
        client_expect(s->client, s->loop, "{\"parameters\":{\"drained\":0,\"killed\":0}}");
        client_expect(s->client, s->loop, "{\"parameters\":{\"drained\":0,\"killed\":0}}");
}

/* -- rights -- */

/* Asks as another user in a child; its answer must contain `wanted`. */
static void ask_as(Setup *s, gid_t group, const char *text, const char *wanted)
{
        int status = -1;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                char answer[4096];
                size_t n = 0;
                int fd;

                (void)alarm(CLIENT_DEADLINE_SEC);
                if (setgroups(1, &group) < 0 || setresgid(USER, USER, USER) < 0 ||
                    setresuid(USER, USER, USER) < 0)
                        _exit(99);
                fd = connect_to(s->socket);
                if (fd < 0 || send(fd, text, strlen(text) + 1, MSG_NOSIGNAL) < 0)
                        _exit(98);
                while (n < sizeof(answer) && recv(fd, answer + n, 1, 0) == 1)
                        if (answer[n++] == '\0')
                                _exit(strstr(answer, wanted) ? 0 : 1);
                _exit(97);
        }
        while (waitpid(pid, &status, WNOHANG) == 0)
                loop_turn(s->loop, EVLOOP_NONBLOCK);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) != 0)
                fail_msg("%s: %d instead of %s", text, WEXITSTATUS(status), wanted);
}

static void test_rights_are_enforced(void **state)
{
        static const struct {
                gid_t group;
                const char *text, *wanted;
        } cases[] = {
                { GROUP_READ, "{\"method\":\"" EXECUTIONS("Create") "\"}",
                  WIRE_ERROR_PERMISSION_DENIED },
                { GROUP_LAUNCH, "{\"method\":\"" EXECUTIONS("Drain") "\"}",
                  WIRE_ERROR_PERMISSION_DENIED },
                { GROUP_READ, "{\"method\":\"" EXECUTIONS("Drain") "\"}",
                  WIRE_ERROR_PERMISSION_DENIED },
                { GROUP_LAUNCH,
                  "{\"method\":\"" EXECUTIONS("Create") "\",\"parameters\":{\"limits\":"
                                                        "{\"memoryMax\":1048577}}}",
                  "{\"error\":\"" WIRE_ERROR_LIMIT_REFUSED
                  "\",\"parameters\":{\"field\":\"memoryMax\",\"maximum\":1048576}}" },
                { GROUP_LAUNCH,
                  "{\"method\":\"" EXECUTIONS(
                          "List") "\",\"more\":true,\"parameters\":{\"uid\":0}}",
                  WIRE_ERROR_PERMISSION_DENIED },
                { GROUP_LAUNCH,
                  "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":"
                                                      "{\"uid\":54321}}",
                  "{\"parameters\":{}}" },
                { GROUP_READ,
                  "{\"method\":\"" EXECUTIONS(
                          "List") "\",\"more\":true,\"parameters\":{\"uid\":0}}",
                  "{\"parameters\":{}}" },
                { GROUP_LAUNCH, "{\"method\":\"" EXECUTIONS("GetStatus") "\"}", "waiting" },
        };
        Setup *s = *state;

        if (geteuid() != 0)
                skip();
        s->config.memory_max_ceiling = 1048576;
        for (size_t i = 0; i < N_ELEMENTS(cases); ++i)
                ask_as(s, cases[i].group, cases[i].text, cases[i].wanted);
}

/* Members of cgtask see their own rows; somebody else's is not there for them. */
static void test_rows_of_others_are_hidden(void **state)
{
        Setup *s = *state;
        char mine[256], theirs[256];

        if (geteuid() != 0)
                skip();
        store_rows(s, 2);
        (void)snprintf(theirs, sizeof(theirs),
                       "{\"method\":\"" EXECUTIONS("Get") "\",\"parameters\":{\"id\":\"%s\"}}",
                       row_id(0));
        (void)snprintf(mine, sizeof(mine),
                       "{\"method\":\"" EXECUTIONS("Get") "\",\"parameters\":{\"id\":\"%s\"}}",
                       row_id(1));
        ask_as(s, GROUP_LAUNCH, mine, "\"state\":\"finished\"");
        ask_as(s, GROUP_LAUNCH, theirs, WIRE_ERROR_NO_SUCH_EXECUTION);
        ask_as(s, GROUP_READ, theirs, "\"state\":\"finished\"");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                method_test(test_recorded_execution_is_got),
                method_test(test_recorded_executions_are_listed),
                method_test(test_bad_lists_are_refused),
                method_test(test_long_list_goes_at_the_clients_pace),
                method_test(test_list_that_overflows_drops_the_client),
                method_test(test_client_may_leave_while_the_store_is_asked),
                method_test(test_drain_ends_creation),
                method_test(test_rights_are_enforced),
                method_test(test_rows_of_others_are_hidden),
        };

        /* they are root's methods for the most part; and no stranger to the socket can be tested */
        if (geteuid() != 0) {
                print_message("1..0 # SKIP needs root\n");
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
