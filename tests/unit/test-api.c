/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Every function of cgtask.h, called through the shared library as another program would: linked
 * against libcgtask.so alone, so a name that libcgtask.sym forgets fails the build.
 */

#include "cgtask.h"
#include "scripted-server.h"

#include "private/wire.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include <cmocka.h>

#define ID "0197f0c0a1b2733c8d4e5f6071829304"
#define METHOD(name) WIRE_INTERFACE "." name

typedef struct Fixture {
        Server server;
        cgtask_client *client;
} Fixture;

static void begin(Fixture *f, const char *const replies[])
{
        server_start(&f->server, replies);
        assert_int_equal(cgtask_client_new(f->server.path, &f->client), 0);
        cgtask_client_set_timeout(f->client, 10 * 1000000);
        assert_string_equal(cgtask_client_error(f->client), "");
        assert_null(cgtask_client_error_name(f->client));
}

static void end(Fixture *f)
{
        assert_null(cgtask_client_free(f->client));
        server_stop(&f->server);
}

static void assert_parameters(Fixture *f, size_t i, const char *method, const char *wanted)
{
        json_t *got, *object = wanted ? json_loads(wanted, 0, NULL) : NULL;

        server_join(&f->server);
        assert_true(i < f->server.n_calls);
        got = server_parameters(&f->server, i, method);
        if (wanted && !json_equal(got, object))
                fail_msg("got %s, wanted %s", f->server.calls[i], wanted);
        assert_true(wanted || !got);
        json_decref(got);
        json_decref(object);
}

static void test_create_asks_and_answers(void **state)
{
        const char *const replies[] = {
                "{\"parameters\":{\"id\":\"" ID "\",\"cgroupPath\":\"/c\"}}",
                "{\"parameters\":{\"id\":\"" ID "\",\"cgroupPath\":\"/c\"}}", NULL
        };
        char *argv[] = { (char *)"etl", NULL };
        cgtask_request *request;
        char *id, *path;
        Fixture f;

        begin(&f, replies);
        assert_int_equal(cgtask_client_connect(f.client), 0);
        assert_int_equal(cgtask_request_new(&request), 0);
        assert_int_equal(cgtask_request_set_task(request, "t"), 0);
        assert_int_equal(cgtask_request_set_label(request, "k", "v"), 0);
        assert_int_equal(cgtask_request_set_command(request, argv), 0);
        assert_int_equal(cgtask_request_set_attempt_of(request, ID), 0);
        assert_int_equal(cgtask_request_set_stragglers(request, "kill"), 0);
        cgtask_request_set_attach(request, true);
        cgtask_request_set_memory_max(request, 1);
        cgtask_request_set_memory_high(request, 2);
        cgtask_request_set_swap_max(request, 3);
        cgtask_request_set_pids_max(request, 4);
        cgtask_request_set_oom_group(request, true);
        assert_int_equal(cgtask_create(f.client, request, &id, &path), 0);
        assert_int_equal(cgtask_create(f.client, request, NULL, NULL), 0);
        assert_string_equal(id, ID);
        assert_string_equal(path, "/c");
        assert_parameters(&f, 1, METHOD("Create"),
                          "{\"task\":\"t\",\"labels\":{\"k\":\"v\"},\"command\":[\"etl\"],"
                          "\"attemptOf\":\"" ID "\",\"stragglers\":\"kill\",\"attach\":true,"
                          "\"limits\":{\"memoryMax\":1,\"memoryHigh\":2,\"swapMax\":3,"
                          "\"pidsMax\":4,\"oomGroup\":true}}");
        free(id);
        free(path);
        assert_null(cgtask_request_free(request));
        end(&f);
}

static void test_calls_on_one_execution(void **state)
{
        const char *const replies[] = {
                "{}", "{\"parameters\":null}", "{\"parameters\":{}}", "{}", "{}", NULL
        };
        Fixture f;

        begin(&f, replies);
        assert_int_equal(cgtask_attach(f.client, ID, 0), 0);
        assert_int_equal(cgtask_attach(f.client, ID, 77), 0);
        assert_int_equal(cgtask_release(f.client, ID), 0);
        assert_int_equal(cgtask_kill(f.client, ID, 0), 0);
        assert_int_equal(cgtask_kill(f.client, ID, 15), 0);
        assert_parameters(&f, 0, METHOD("Attach"), "{\"id\":\"" ID "\"}");
        assert_parameters(&f, 1, METHOD("Attach"), "{\"id\":\"" ID "\",\"pid\":77}");
        assert_parameters(&f, 2, METHOD("Release"), "{\"id\":\"" ID "\"}");
        assert_parameters(&f, 3, METHOD("Kill"), "{\"id\":\"" ID "\"}");
        assert_parameters(&f, 4, METHOD("Kill"), "{\"id\":\"" ID "\",\"signal\":15}");
        assert_int_equal(cgtask_kill(f.client, "\xff", 15), -EINVAL);
        end(&f);
}

static void test_finish_tells_how_it_ended(void **state)
{
        const char *const replies[] = { "{\"parameters\":{\"execution\":{\"state\":\"finished\"}}}",
                                        "{\"parameters\":{\"execution\":{}}}",
                                        "{\"parameters\":{\"execution\":{}}}", NULL };
        cgtask_execution *execution;
        const char *text;
        Fixture f;

        begin(&f, replies);
        assert_int_equal(cgtask_finish(f.client, ID, W_EXITCODE(3, 0), 4096, true, &execution), 0);
        assert_int_equal(cgtask_finish(f.client, ID, W_EXITCODE(0, 9), -1, false, NULL), 0);
        assert_int_equal(cgtask_finish(f.client, ID, -1, -1, false, NULL), 0);
        assert_int_equal(cgtask_execution_get_text(execution, "state", &text), 0);
        assert_string_equal(text, "finished");
        assert_parameters(&f, 0, METHOD("Finish"),
                          "{\"id\":\"" ID "\",\"exitKind\":\"exited\",\"exitStatus\":3,"
                          "\"runnerMaxRss\":4096,\"waitDrained\":true}");
        assert_parameters(&f, 1, METHOD("Finish"),
                          "{\"id\":\"" ID "\",\"exitKind\":\"signaled\",\"exitStatus\":9}");
        assert_parameters(&f, 2, METHOD("Finish"), "{\"id\":\"" ID "\",\"exitKind\":\"unknown\"}");
        assert_null(cgtask_execution_free(execution));
        assert_null(cgtask_execution_free(NULL));
        end(&f);
}

static void test_get_reads_members_by_type(void **state)
{
        const char *const replies[] = { "{\"parameters\":{\"execution\":{\"id\":\"" ID
                                        "\",\"n\":-5,\"b\":true,"
                                        "\"c\":false,\"none\":null,\"labels\":{\"k\":\"v\"}}}}",
                                        "{\"parameters\":{\"execution\":[]}}", NULL };
        cgtask_execution *execution;
        const char *text = "untouched";
        int64_t value = 77;
        char *json;
        Fixture f;

        begin(&f, replies);
        assert_int_equal(cgtask_get(f.client, ID, &execution), 0);
        assert_int_equal(cgtask_execution_get_text(execution, "none", &text), -ENODATA);
        assert_int_equal(cgtask_execution_get_text(execution, "absent", &text), -ENODATA);
        assert_int_equal(cgtask_execution_get_text(execution, "n", &text), -EINVAL);
        assert_string_equal(text, "untouched");
        assert_int_equal(cgtask_execution_get_integer(execution, "none", &value), -ENODATA);
        assert_int_equal(cgtask_execution_get_integer(execution, "id", &value), -EINVAL);
        assert_int_equal(cgtask_execution_get_integer(execution, "labels", &value), -EINVAL);
        assert_int_equal(value, 77);
        assert_int_equal(cgtask_execution_get_integer(execution, "n", &value), 0);
        assert_int_equal(value, -5);
        assert_int_equal(cgtask_execution_get_integer(execution, "b", &value), 0);
        assert_int_equal(value, 1);
        assert_int_equal(cgtask_execution_get_integer(execution, "c", &value), 0);
        assert_int_equal(value, 0);
        assert_int_equal(cgtask_execution_to_json(execution, &json), 0);
        assert_non_null(strstr(json, "\"labels\":{\"k\":\"v\"}"));
        free(json);
        cgtask_execution_free(execution);

        assert_int_equal(cgtask_get(f.client, ID, &execution), -EPROTO);
        assert_null(cgtask_client_error_name(f.client));
        end(&f);
}

static int count(const cgtask_execution *execution, void *userdata)
{
        int *n = userdata;
        const char *text;

        assert_int_equal(cgtask_execution_get_text(execution, "id", &text), 0);
        return ++*n == 3 ? 42 : 0;
}

static void test_list_calls_back_until_the_end(void **state)
{
        const char *const replies[] = {
                "{\"parameters\":{\"execution\":{\"id\":\"a\"}},\"continues\":true}\n"
                "{\"parameters\":{\"execution\":{\"id\":\"b\"}},\"continues\":true}\n{}",
                "{\"parameters\":{\"execution\":{\"id\":\"a\"}}}", "{}",
                "{\"parameters\":{\"execution\":{\"id\":\"a\"}},\"continues\":true}\n"
                "{\"parameters\":{\"execution\":{\"id\":\"b\"}},\"continues\":true}\n"
                "{\"parameters\":{\"execution\":{\"id\":\"c\"}},\"continues\":true}\n"
                "{\"parameters\":{\"execution\":{\"id\":\"d\"}},\"continues\":true}\n{}",
                NULL
        };
        json_t *call;
        Fixture f;
        int n = 0;

        begin(&f, replies);
        assert_int_equal(cgtask_list(f.client, NULL, NULL, -1, count, &n), 0);
        assert_int_equal(n, 2);
        n = 0;
        assert_int_equal(cgtask_list(f.client, "t", "finished", 0, count, &n), 0);
        assert_int_equal(n, 1);
        n = 0;
        assert_int_equal(cgtask_list(f.client, NULL, NULL, -1, count, &n), 0);
        assert_int_equal(n, 0);
        assert_int_equal(cgtask_list(f.client, NULL, NULL, -1, count, &n), 42);
        assert_int_equal(n, 3);
        assert_parameters(&f, 0, METHOD("List"), "{}");
        assert_parameters(&f, 1, METHOD("List"),
                          "{\"task\":\"t\",\"state\":\"finished\",\"uid\":0}");
        call = json_loads(f.server.calls[0], 0, NULL);
        assert_true(json_is_true(json_object_get(call, "more")));
        json_decref(call);
        end(&f);
}

static void test_status_and_drain(void **state)
{
        const char *const replies[] = { "{\"parameters\":{\"status\":{\"live\":3}}}",
                                        "{\"parameters\":{\"drained\":5,\"killed\":2}}",
                                        "{\"parameters\":{\"drained\":5,\"killed\":2}}",
                                        "{\"parameters\":{\"drained\":5}}", NULL };
        int64_t drained, killed;
        char *json;
        Fixture f;

        begin(&f, replies);
        assert_int_equal(cgtask_get_status(f.client, &json), 0);
        assert_string_equal(json, "{\"live\":3}");
        free(json);
        assert_int_equal(cgtask_drain(f.client, 1000000, &drained, &killed), 0);
        assert_int_equal(drained, 5);
        assert_int_equal(killed, 2);
        assert_int_equal(cgtask_drain(f.client, UINT64_MAX, NULL, NULL), 0);
        assert_int_equal(cgtask_drain(f.client, 0, &drained, NULL), -EPROTO);
        assert_parameters(&f, 0, METHOD("GetStatus"), NULL);
        assert_parameters(&f, 1, METHOD("Drain"), "{\"graceUsec\":1000000}");
        end(&f);
}

static void test_an_answered_error_has_a_name_and_keeps_the_connection(void **state)
{
        const char *const replies[] = {
                "{\"error\":\"io.cgtask.Executions.NotYours\",\"parameters\":{\"id\":\"" ID "\"}}",
                "{}", NULL
        };
        Fixture f;

        begin(&f, replies);
        assert_int_equal(cgtask_release(f.client, ID), -EREMOTEIO);
        assert_string_equal(cgtask_client_error_name(f.client), WIRE_ERROR_NOT_YOURS);
        assert_string_equal(cgtask_client_error(f.client),
                            "execution " ID " belongs to another user");
        assert_int_equal(cgtask_release(f.client, ID), 0);
        assert_null(cgtask_client_error_name(f.client));
        end(&f);
}

static void test_without_a_daemon(void **state)
{
        cgtask_client *client;
        char path[200];

        memset(path, 'x', sizeof(path));
        path[sizeof(path) - 1] = 0;
        assert_int_equal(cgtask_client_new(path, &client), -ENAMETOOLONG);
        assert_null(cgtask_client_free(NULL));

        assert_int_equal(setenv(WIRE_SOCKET_ENV, "/nonexistent/s", 1), 0);
        assert_int_equal(cgtask_client_new(NULL, &client), 0);
        assert_int_equal(cgtask_client_connect(client), -ENOENT);
        assert_non_null(strstr(cgtask_client_error(client), "/nonexistent/s"));
        assert_int_equal(cgtask_release(client, ID), -ENOENT);
        assert_null(cgtask_client_error_name(client));
        cgtask_client_free(client);
}

static void test_a_lost_connection_is_made_again_by_the_next_call(void **state)
{
        const char *const replies[] = { "{}", NULL };
        Server second;
        Fixture f;

        begin(&f, replies);
        assert_int_equal(cgtask_release(f.client, ID), 0);
        server_join(&f.server);
        /* it was never read, so it is asked once more, of nobody */
        assert_int_equal(cgtask_release(f.client, ID), -ECONNREFUSED);

        server_start(&second, replies);
        assert_int_equal(rename(second.path, f.server.path), 0);
        assert_int_equal(cgtask_release(f.client, ID), 0);
        assert_int_equal(rename(f.server.path, second.path), 0);
        server_stop(&second);
        end(&f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_create_asks_and_answers),
                cmocka_unit_test(test_calls_on_one_execution),
                cmocka_unit_test(test_finish_tells_how_it_ended),
                cmocka_unit_test(test_get_reads_members_by_type),
                cmocka_unit_test(test_list_calls_back_until_the_end),
                cmocka_unit_test(test_status_and_drain),
                cmocka_unit_test(test_an_answered_error_has_a_name_and_keeps_the_connection),
                cmocka_unit_test(test_without_a_daemon),
                cmocka_unit_test(test_a_lost_connection_is_made_again_by_the_next_call),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
