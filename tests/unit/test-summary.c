/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The line at the end of a run: nothing that is not known, nothing that is not so. */

#include "summary.h"

#include "client.h"

#include "private/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
        const char *execution;
        const char *line;
} cases[] = {
        { "{\"state\":\"finished\",\"result\":\"ok\",\"memoryPeakBytes\":314572800,"
          "\"memoryMaxBytes\":536870912,\"oomKills\":0}",
          "task t: peak 300.0M of 512.0M, ok, 0 OOM kills" },
        { "{\"state\":\"finished\",\"result\":\"oom\",\"oomCause\":\"own_limit\",\"oomKills\":1,"
          "\"memoryPeakBytes\":67108864,\"memoryMaxBytes\":67108864,"
          "\"memoryPeakIsLowerBound\":true,\"exitKind\":\"signaled\",\"exitStatus\":9}",
          "task t: peak at least 64.0M of 64.0M, oom (own_limit), 1 OOM kill" },
        { "{\"state\":\"finished\",\"result\":\"error\",\"exitKind\":\"exited\",\"exitStatus\":3,"
          "\"memoryPeakBytes\":1024,\"memoryPeakIsLowerBound\":false}",
          "task t: peak 1.0K, error (exit status 3)" },
        { "{\"state\":\"finished\",\"result\":\"signal\",\"exitStatus\":15,\"oomKills\":0}",
          "task t: peak not known, signal (SIGTERM), 0 OOM kills" },
        /* A44: unknown stays unknown. */
        { "{\"state\":\"finished\",\"result\":\"unknown\",\"memoryPeakBytes\":null,"
          "\"runnerRssPeakBytes\":4096}",
          "task t: peak not known, unknown" },
        { "{\"state\":\"running\",\"memoryPeak\":1048576,\"memoryPeakBytes\":null}",
          "task t: peak 1.0M, running (not final: processes of it are still there)" },
        { "{\"state\":\"lost\",\"result\":\"lost\"}", "task t: peak not known, lost" },
        { "{\"memoryPeakBytes\":\"7\",\"oomKills\":-1}", "task t: peak not known, unknown" },
        { "{\"result\":\"\\u001b[2J\"}", "task t: peak not known, \\x1b[2J" },
};

static void test_text_says_what_is_known(void **state)
{
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                json_t *object = json_loads(cases[i].execution, 0, NULL);
                cgtask_execution *execution;
                char *line;

                assert_non_null(object);
                assert_int_equal(client_execution_new(object, &execution), 0);
                assert_int_equal(summary_write(SUMMARY_TEXT, "t", execution, true, NULL, &line), 0);
                assert_string_equal(line, cases[i].line);
                free(line);
                cgtask_execution_free(execution);
                json_decref(object);
        }
}

static void test_json_is_the_execution_as_it_came(void **state)
{
        const char *text = "{\"id\":\"x\",\"new\":[1,{\"a\":null}]}";
        json_t *object = json_loads(text, 0, NULL);
        cgtask_execution *execution;
        char *line;

        assert_int_equal(client_execution_new(object, &execution), 0);
        assert_int_equal(summary_write(SUMMARY_JSON, "t", execution, true, NULL, &line), 0);
        assert_string_equal(line, text);
        free(line);
        cgtask_execution_free(execution);
        json_decref(object);
}

/* A7, A44 */
static void test_what_was_not_accounted_is_said(void **state)
{
        char *line;

        assert_int_equal(summary_write(SUMMARY_TEXT, "t\n", NULL, false, "no daemon", &line), 0);
        assert_string_equal(line, "task t\\n: not accounted: no daemon");
        free(line);
        assert_int_equal(summary_write(SUMMARY_JSON, "t", NULL, false, "no \"daemon\"", &line), 0);
        assert_string_equal(
                line, "{\"task\":\"t\",\"accounted\":false,\"reason\":\"no \\\"daemon\\\"\"}");
        free(line);
        assert_int_equal(summary_write(SUMMARY_TEXT, "t", NULL, true, "gone", &line), 0);
        assert_string_equal(line, "task t: no record received: gone");
        free(line);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text_says_what_is_known),
                cmocka_unit_test(test_json_is_the_execution_as_it_came),
                cmocka_unit_test(test_what_was_not_accounted_is_said),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
