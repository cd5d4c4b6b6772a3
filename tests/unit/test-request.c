/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What Create is asked for, as JSON. */

#include "request.h"

#include "private/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static cgtask_request *make(void)
{
        cgtask_request *request;

        assert_int_equal(cgtask_request_new(&request), 0);
        return request;
}

static void assert_json(const cgtask_request *request, const char *wanted)
{
        json_t *parameters, *object = json_loads(wanted, 0, NULL);
        char *text;

        assert_non_null(object);
        assert_int_equal(request_to_json(request, &parameters), 0);
        text = json_dumps(parameters, JSON_COMPACT);
        if (!json_equal(parameters, object))
                fail_msg("got %s, wanted %s", text, wanted);
        free(text);
        json_decref(object);
        json_decref(parameters);
}

static void test_an_empty_request_is_an_empty_object(void **state)
{
        cgtask_request *request = make();

        assert_json(request, "{}");
        assert_null(cgtask_request_free(request));
        assert_null(cgtask_request_free(NULL));
}

static void test_everything_has_its_place(void **state)
{
        char *argv[] = { (char *)"etl", (char *)"--fast", NULL };
        cgtask_request *request = make();

        assert_int_equal(cgtask_request_set_task(request, "daily/\xc3\xa4"), 0);
        assert_int_equal(cgtask_request_set_label(request, "k", "old"), 0);
        assert_int_equal(cgtask_request_set_label(request, "k", "v"), 0);
        assert_int_equal(cgtask_request_set_label(request, "empty", ""), 0);
        assert_int_equal(cgtask_request_set_command(request, argv), 0);
        assert_int_equal(cgtask_request_set_attempt_of(request, "0a"), 0);
        assert_int_equal(cgtask_request_set_stragglers(request, "10s"), 0);
        cgtask_request_set_attach(request, true);
        cgtask_request_set_memory_max(request, 1);
        cgtask_request_set_memory_high(request, INT64_MAX);
        cgtask_request_set_swap_max(request, 0);
        cgtask_request_set_pids_max(request, UINT64_MAX);
        cgtask_request_set_oom_group(request, false);
        assert_json(request, "{\"task\":\"daily/\xc3\xa4\",\"labels\":{\"k\":\"v\",\"empty\":\"\"},"
                             "\"command\":[\"etl\",\"--fast\"],\"attemptOf\":\"0a\","
                             "\"stragglers\":\"10s\",\"attach\":true,\"limits\":{\"memoryMax\":1,"
                             "\"memoryHigh\":9223372036854775807,\"swapMax\":0,"
                             "\"pidsMax\":9223372036854775807,\"oomGroup\":false}}");

        assert_int_equal(cgtask_request_set_task(request, NULL), 0);
        assert_int_equal(cgtask_request_set_stragglers(request, NULL), 0);
        cgtask_request_set_attach(request, false);
        assert_json(request, "{\"labels\":{\"k\":\"v\",\"empty\":\"\"},"
                             "\"command\":[\"etl\",\"--fast\"],\"attemptOf\":\"0a\","
                             "\"limits\":{\"memoryMax\":1,"
                             "\"memoryHigh\":9223372036854775807,\"swapMax\":0,"
                             "\"pidsMax\":9223372036854775807,\"oomGroup\":false}}");
        cgtask_request_free(request);
}

static void test_names_that_are_not_utf8_are_refused(void **state)
{
        static const char *const bad[] = {
                "\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "ok\x80"
        };
        cgtask_request *request = make();

        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                assert_int_equal(cgtask_request_set_task(request, bad[i]), -EINVAL);
                assert_int_equal(cgtask_request_set_label(request, bad[i], "v"), -EINVAL);
                assert_int_equal(cgtask_request_set_label(request, "k", bad[i]), -EINVAL);
                assert_int_equal(cgtask_request_set_attempt_of(request, bad[i]), -EINVAL);
        }
        assert_int_equal(cgtask_request_set_label(request, "", "v"), -EINVAL);
        assert_int_equal(cgtask_request_set_label(request, NULL, "v"), -EINVAL);
        cgtask_request_free(request);
}

static json_t *command_of(char *const argv[])
{
        cgtask_request *request = make();
        json_t *parameters, *command;
        char *text;

        assert_int_equal(cgtask_request_set_command(request, argv), 0);
        assert_int_equal(request_to_json(request, &parameters), 0);
        command = json_incref(json_object_get(parameters, "command"));
        text = json_dumps(command, JSON_COMPACT);
        assert_true(strlen(text) < REQUEST_COMMAND_MAX + 16);
        free(text);
        json_decref(parameters);
        cgtask_request_free(request);
        return command;
}

static void test_any_bytes_may_stand_in_a_command(void **state)
{
        char *argv[] = { (char *)"caf\xe9\x01\"", (char *)"\xc3", NULL };
        json_t *command = command_of(argv);

        assert_int_equal(json_array_size(command), 2);
        assert_string_equal(json_string_value(json_array_get(command, 0)), "caf\xef\xbf\xbd\x01\"");
        assert_string_equal(json_string_value(json_array_get(command, 1)), "\xef\xbf\xbd");
        json_decref(command);
}

static void test_a_long_command_is_cut_and_marked(void **state)
{
        static const char fills[] = { 'x', '\x01', '"', '\xff' };
        char *argument = malloc(100001);

        assert_non_null(argument);
        for (size_t i = 0; i < N_ELEMENTS(fills); i++) {
                char *argv[] = { (char *)"first", argument, (char *)"last", NULL };
                json_t *command;

                memset(argument, fills[i], 100000);
                argument[100000] = 0;
                command = command_of(argv);
                assert_int_equal(json_array_size(command), 3);
                assert_string_equal(json_string_value(json_array_get(command, 0)), "first");
                assert_string_equal(json_string_value(json_array_get(command, 2)), "...");
                json_decref(command);
        }
        free(argument);
}

static void test_many_empty_arguments_are_cut_too(void **state)
{
        char *argv[20001];
        json_t *command;

        for (size_t i = 0; i < 20000; i++)
                argv[i] = (char *)"";
        argv[20000] = NULL;
        command = command_of(argv);
        assert_true(json_array_size(command) < 5000);
        json_decref(command);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_an_empty_request_is_an_empty_object),
                cmocka_unit_test(test_everything_has_its_place),
                cmocka_unit_test(test_names_that_are_not_utf8_are_refused),
                cmocka_unit_test(test_any_bytes_may_stand_in_a_command),
                cmocka_unit_test(test_a_long_command_is_cut_and_marked),
                cmocka_unit_test(test_many_empty_arguments_are_cut_too),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
