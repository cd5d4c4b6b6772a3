/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The methods (api*.c) that make and end executions: what they refuse, and why. What needs a cgroup is
 * tested in a guest.
 */

#include "methods-fixture.h"

/* -- org.varlink.service and dispatch -- */

static void test_service_describes_itself(void **state)
{
        Setup *s = *state;
        json_t *answer, *p;

        call(s, SERVICE("GetInfo"), "{}");
        answer = client_wait(s->client, s->loop);
        p = json_object_get(answer, "parameters");
        assert_string_equal(json_string_value(json_object_get(p, "product")), "cgtaskd");
        assert_int_equal(json_array_size(json_object_get(p, "interfaces")), 2);
        json_decref(answer);
        call(s, SERVICE("GetInterfaceDescription"), "{\"interface\":\"" WIRE_INTERFACE "\"}");
        answer = client_wait(s->client, s->loop);
        p = json_object_get(json_object_get(answer, "parameters"), "description");
        assert_non_null(strstr(json_string_value(p), "interface " WIRE_INTERFACE));
        assert_non_null(strstr(json_string_value(p), "method Create("));
        json_decref(answer);
        call(s, SERVICE("GetInterfaceDescription"), "{\"interface\":\"" WIRE_SERVICE "\"}");
        answer = client_wait(s->client, s->loop);
        p = json_object_get(json_object_get(answer, "parameters"), "description");
        assert_non_null(strstr(json_string_value(p), "interface " WIRE_SERVICE));
        json_decref(answer);
        call(s, SERVICE("GetInterfaceDescription"), "{\"interface\":\"a.b\"}");
        assert_string_equal(expect_error(s, WIRE_ERROR_INTERFACE_NOT_FOUND, "interface"), "a.b");
        call(s, SERVICE("GetInterfaceDescription"), "{}");
        expect_invalid(s, "interface");
        call(s, SERVICE("GetInterfaceDescription"), "{\"interface\":1}");
        expect_invalid(s, "interface");
}

static void test_unknown_methods_are_errors(void **state)
{
        static const struct {
                const char *method, *error, *parameter, *value;
        } cases[] = {
                { EXECUTIONS("Explode"), WIRE_ERROR_METHOD_NOT_FOUND, "method",
                  EXECUTIONS("Explode") },
                { EXECUTIONS("create"), WIRE_ERROR_METHOD_NOT_FOUND, "method",
                  EXECUTIONS("create") },
                { EXECUTIONS(""), WIRE_ERROR_METHOD_NOT_FOUND, "method", EXECUTIONS("") },
                { SERVICE("Get"), WIRE_ERROR_METHOD_NOT_FOUND, "method", SERVICE("Get") },
                { "io.cgtask.Create", WIRE_ERROR_INTERFACE_NOT_FOUND, "interface", "io.cgtask" },
                { EXECUTIONS("Create.x"), WIRE_ERROR_INTERFACE_NOT_FOUND, "interface",
                  EXECUTIONS("Create") },
                { "Create", WIRE_ERROR_INTERFACE_NOT_FOUND, "interface", "" },
                { "", WIRE_ERROR_INTERFACE_NOT_FOUND, "interface", "" },
                { ".", WIRE_ERROR_INTERFACE_NOT_FOUND, "interface", "" },
                { "\xc3\xa9.\xc3\xa9", WIRE_ERROR_INTERFACE_NOT_FOUND, "interface", "\xc3\xa9" },
        };
        Setup *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                call(s, cases[i].method, "{}");
                assert_string_equal(expect_error(s, cases[i].error, cases[i].parameter),
                                    cases[i].value);
        }
}

static void test_unknown_parameters_are_errors(void **state)
{
        static const char *const methods[] = {
                EXECUTIONS("Create"),    EXECUTIONS("Attach"), EXECUTIONS("Release"),
                EXECUTIONS("Finish"),    EXECUTIONS("Kill"),   EXECUTIONS("Get"),
                EXECUTIONS("GetStatus"), EXECUTIONS("Drain"),  SERVICE("GetInfo"),
        };
        Setup *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(methods); ++i) {
                call(s, methods[i], "{\"bogus\":null}");
                expect_invalid(s, "bogus");
        }
        client_send(s->client, "{\"method\":\"" EXECUTIONS(
                                       "List") "\",\"more\":true,\"parameters\":{\"Task\":\"t\"}}");
        expect_invalid(s, "Task");
}

static void test_flags_are_honoured(void **state)
{
        Setup *s = *state;

        client_send(s->client, "{\"method\":\"" EXECUTIONS("List") "\"}");
        (void)expect_error(s, WIRE_ERROR_EXPECTED_MORE, "");
        client_send(s->client, "{\"method\":\"" SERVICE("GetInfo") "\",\"upgrade\":true}");
        expect_invalid(s, "upgrade");
        client_send(s->client, "{\"method\":\"" SERVICE("GetInfo") "\",\"oneway\":true}");
        client_send(s->client, "{\"method\":\"" EXECUTIONS("Nobody") "\",\"oneway\":true}");
        client_send(s->client,
                    "{\"method\":\"" EXECUTIONS("Get") "\",\"oneway\":true,"
                                                       "\"parameters\":{\"id\":\"" ID "\"}}");
        client_send(s->client, "{\"method\":\"" EXECUTIONS("GetStatus") "\"}");
        client_expect(s->client, s->loop, "{\"parameters\":{\"status\":{\"state\":\"waiting\"}}}");
        client_expect_silence(s->client, s->loop);
}

/* -- Create -- */

static void test_bad_creates_are_refused(void **state)
{
        static const struct {
                const char *parameters, *refused;
        } cases[] = {
                { "{\"task\":1}", "task" },
                { "{\"task\":\"\"}", "task" },
                { "{\"task\":\"a\\nb\"}", "task" },
                { "{\"task\":\"\\u007f\"}", "task" },
                { "{\"task\":\"\\u009b31m\"}", "task" },
                { "{\"labels\":[]}", "labels" },
                { "{\"labels\":\"x\"}", "labels" },
                { "{\"labels\":{\"a\":1}}", "labels" },
                { "{\"labels\":{\"a\":null}}", "labels" },
                { "{\"labels\":{\"\":\"a\"}}", "labels" },
                { "{\"labels\":{\"a\":\"\\u0001\"}}", "labels" },
                { "{\"labels\":{\"\\t\":\"a\"}}", "labels" },
                { "{\"labels\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\",\"d\":\"4\"}}", "labels" },
                { "{\"labels\":{\"a\":\"123456789012345678901234567890\"}}", "labels" },
                { "{\"limits\":1}", "limits" },
                { "{\"limits\":{\"memoryMin\":4096}}", "limits" },
                { "{\"limits\":{\"memoryMax\":4095}}", "memoryMax" },
                { "{\"limits\":{\"memoryMax\":-1}}", "memoryMax" },
                { "{\"limits\":{\"memoryMax\":1e9}}", "memoryMax" },
                { "{\"limits\":{\"memoryMax\":\"1G\"}}", "memoryMax" },
                { "{\"limits\":{\"memoryHigh\":0}}", "memoryHigh" },
                { "{\"limits\":{\"swapMax\":-1}}", "swapMax" },
                { "{\"limits\":{\"pidsMax\":0}}", "pidsMax" },
                { "{\"limits\":{\"oomGroup\":1}}", "oomGroup" },
                { "{\"stragglers\":\"never\"}", "stragglers" },
                { "{\"stragglers\":5}", "stragglers" },
                { "{\"attemptOf\":\"x\"}", "attemptOf" },
                { "{\"attemptOf\":\"0197F0C0A1B2733C8D4E5F6071829304\"}", "attemptOf" },
                { "{\"attemptOf\":\"0197f0c0a1b2733c8d4e5f60718293040\"}", "attemptOf" },
                { "{\"attach\":1}", "attach" },
                { "{\"command\":\"sh\"}", "command" },
                { "{\"command\":[1]}", "command" },
                { "{\"command\":{}}", "command" },
        };
        Setup *s = *state;

        s->config.max_labels = 3;
        s->config.max_label_bytes = 20;
        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                call(s, EXECUTIONS("Create"), cases[i].parameters);
                expect_invalid(s, cases[i].refused);
        }
        assert_int_equal(s->n_needed, 0);
        assert_int_equal(registry_count(s->registry), 0);
}

static void test_long_task_names_its_limit(void **state)
{
        Setup *s = *state;

        s->config.max_task_bytes = 3;
        call(s, EXECUTIONS("Create"), "{\"task\":\"abcd\"}");
        assert_string_equal(expect_error(s, WIRE_ERROR_INVALID_PARAMETER, "reason"),
                            "longer than MaxTaskBytes=3");
        call(s, EXECUTIONS("Create"), "{\"task\":\"\\u00e9\\u00e9\"}"); /* bytes, not characters */
        expect_invalid(s, "task");
}

/* Each within its limits, and yet too much for one xattr: quotes take four bytes there. */
static void test_labels_that_the_kernel_cannot_hold_are_refused(void **state)
{
        Setup *s = *state;
        char *text = calloc(1, 70000), *p;

        p = stpcpy(text, "{\"method\":\"" EXECUTIONS("Create") "\",\"parameters\":{\"labels\":{");
        for (unsigned i = 0; i < 30; ++i) {
                p += sprintf(p, "%s\"k%u\":\"", i ? "," : "", i);
                for (unsigned k = 0; k < 1000; ++k)
                        p = stpcpy(p, "\\\"");
                p = stpcpy(p, "\"");
        }
        (void)stpcpy(p, "}}}");
        client_send(s->client, text);
        free(text);
        expect_invalid(s, "labels");
}

/* What is right waits for the keeper; a client that leaves is forgotten. */
static void test_create_waits_for_the_hierarchy(void **state)
{
        Setup *s = *state;

        call(s, EXECUTIONS("Create"),
             "{\"task\":\"t\",\"labels\":{\"a\":\"b\"},\"limits\":{\"memoryMax\":1048576,"
             "\"memoryHigh\":null,\"swapMax\":0,\"pidsMax\":10,\"oomGroup\":true},"
             "\"stragglers\":\"10s\",\"attemptOf\":\"" ID "\",\"attach\":true,"
             "\"command\":[\"/bin/sh\",\"-c\",\"x\\u0007\"]}");
        call(s, SERVICE("GetInfo"), "{}"); /* behind it, so it waits as well */
        client_expect_silence(s->client, s->loop);
        assert_int_equal(s->n_needed, 1);
        s->client = client_free(s->client);
        loop_rest(s->loop);
        assert_int_equal(listener_count(s->listener), 0);
        assert_int_equal(api_on_ready(s->api), 0);
}

static void test_waiting_creates_go_with_the_listener(void **state)
{
        Setup *s = *state;

        call(s, EXECUTIONS("Create"), "{\"task\":\"t\"}");
        client_expect_silence(s->client, s->loop);
        s->listener = listener_free(s->listener);
        client_expect_end(s->client, s->loop);
}

/* -- ids -- */

static void test_ids_are_checked(void **state)
{
        static const char *const methods[] = { EXECUTIONS("Attach"), EXECUTIONS("Release"),
                                               EXECUTIONS("Kill"), EXECUTIONS("Get") };
        Setup *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(methods); ++i) {
                call(s, methods[i], "{}");
                expect_invalid(s, "id");
                call(s, methods[i], "{\"id\":null}");
                expect_invalid(s, "id");
                call(s, methods[i], "{\"id\":7}");
                expect_invalid(s, "id");
        }
}

/* Without its hierarchy the daemon cannot know whether it is there: it does not say "no". */
static void test_actions_on_unknown_ids_are_not_ready(void **state)
{
        static const char *const methods[] = { EXECUTIONS("Attach"), EXECUTIONS("Release"),
                                               EXECUTIONS("Kill") };
        static const char *const ids[] = { ID, "x", "", "../../x" };
        Setup *s = *state;
        char parameters[128];

        for (size_t i = 0; i < N_ELEMENTS(methods); ++i)
                for (size_t k = 0; k < N_ELEMENTS(ids); ++k) {
                        (void)snprintf(parameters, sizeof(parameters), "{\"id\":\"%s\"}", ids[k]);
                        call(s, methods[i], parameters);
                        (void)expect_error(s, WIRE_ERROR_NOT_READY, "reason");
                }
        call(s, EXECUTIONS("Finish"), "{\"id\":\"" ID "\",\"exitKind\":\"unknown\"}");
        (void)expect_error(s, WIRE_ERROR_NOT_READY, "reason");
}

static void test_bad_finishes_are_refused(void **state)
{
        static const struct {
                const char *parameters, *refused;
        } cases[] = {
                { "{}", "exitKind" },
                { "{\"exitKind\":\"died\"}", "exitKind" },
                { "{\"exitKind\":0}", "exitKind" },
                { "{\"exitKind\":\"exited\"}", "exitStatus" },
                { "{\"exitKind\":\"exited\",\"exitStatus\":256}", "exitStatus" },
                { "{\"exitKind\":\"signaled\",\"exitStatus\":-1}", "exitStatus" },
                { "{\"exitKind\":\"exited\",\"exitStatus\":\"0\"}", "exitStatus" },
                { "{\"exitKind\":\"unknown\",\"runnerMaxRss\":-1}", "runnerMaxRss" },
                { "{\"exitKind\":\"unknown\",\"runnerMaxRss\":1.5}", "runnerMaxRss" },
                { "{\"exitKind\":\"unknown\",\"waitDrained\":\"yes\"}", "waitDrained" },
                { "{\"exitKind\":\"unknown\"}", "id" },
        };
        Setup *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                call(s, EXECUTIONS("Finish"), cases[i].parameters);
                expect_invalid(s, cases[i].refused);
        }
}

static void test_bad_numbers_are_refused(void **state)
{
        Setup *s = *state;

        call(s, EXECUTIONS("Kill"), "{\"id\":\"" ID "\",\"signal\":0}");
        expect_invalid(s, "signal");
        call(s, EXECUTIONS("Kill"), "{\"id\":\"" ID "\",\"signal\":65}");
        expect_invalid(s, "signal");
        call(s, EXECUTIONS("Attach"), "{\"id\":\"" ID "\",\"pid\":0}");
        expect_invalid(s, "pid");
        call(s, EXECUTIONS("Attach"), "{\"id\":\"" ID "\",\"pid\":4294967297}");
        expect_invalid(s, "pid");
        call(s, EXECUTIONS("Drain"), "{\"graceUsec\":-1}");
        expect_invalid(s, "graceUsec");
        assert_false(drain_is_active(s->drain));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                method_test(test_service_describes_itself),
                method_test(test_unknown_methods_are_errors),
                method_test(test_unknown_parameters_are_errors),
                method_test(test_flags_are_honoured),
                method_test(test_bad_creates_are_refused),
                method_test(test_long_task_names_its_limit),
                method_test(test_labels_that_the_kernel_cannot_hold_are_refused),
                method_test(test_create_waits_for_the_hierarchy),
                method_test(test_waiting_creates_go_with_the_listener),
                method_test(test_ids_are_checked),
                method_test(test_actions_on_unknown_ids_are_not_ready),
                method_test(test_bad_finishes_are_refused),
                method_test(test_bad_numbers_are_refused),
        };

        /* they are root's methods for the most part; and no stranger to the socket can be tested */
        if (geteuid() != 0) {
                print_message("1..0 # SKIP needs root\n");
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
