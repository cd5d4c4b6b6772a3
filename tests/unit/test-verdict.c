/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The truth table of verdict.c, whole: every combination of what the inputs can mean. */

#include "verdict.h"

#include "private/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* What a kernel leaves behind in the stories that the counters are there to tell apart. */
static const struct {
        const char *story;
        VerdictInput input;
        const char *cause, *result;
} stories[] = {
        { "ends well", { .counters_known = true, .exit = VERDICT_EXIT_EXITED }, "none", "ok" },
        { "fails",
          { .counters_known = true, .exit = VERDICT_EXIT_EXITED, .exit_status = 3 },
          "none",
          "error" },
        { "chooses 137 itself: no OOM",
          { .counters_known = true, .exit = VERDICT_EXIT_EXITED, .exit_status = 137 },
          "none",
          "error" },
        { "is killed by a person: no OOM",
          { .counters_known = true, .exit = VERDICT_EXIT_SIGNALED, .exit_status = 9 },
          "none",
          "signal" },
        { "started in place, status not known",
          { .counters_known = true, .exit = VERDICT_EXIT_UNKNOWN },
          "none",
          "unknown" },
        { "its own limit",
          { .counters_known = true,
            .oom = 1,
            .oom_kill = 1,
            .exit = VERDICT_EXIT_SIGNALED,
            .exit_status = 9 },
          "own_limit",
          "oom" },
        { "a child was killed, the runner exits 0",
          { .counters_known = true, .oom = 1, .oom_kill = 1, .exit = VERDICT_EXIT_EXITED },
          "own_limit",
          "oom" },
        { "group kill counts the victim twice",
          { .counters_known = true, .oom = 1, .oom_kill = 5, .exit = VERDICT_EXIT_UNKNOWN },
          "own_limit",
          "oom" },
        { "the limit is above",
          { .counters_known = true,
            .oom_kill = 1,
            .ancestor_known = true,
            .ancestor_oom_rise = 1,
            .exit = VERDICT_EXIT_SIGNALED,
            .exit_status = 9 },
          "ancestor_limit",
          "oom" },
        { "the host is out of memory",
          { .counters_known = true,
            .oom_kill = 1,
            .ancestor_known = true,
            .exit = VERDICT_EXIT_SIGNALED,
            .exit_status = 9 },
          "host",
          "oom" },
        { "nobody looked at the ancestors",
          { .counters_known = true,
            .oom_kill = 1,
            .exit = VERDICT_EXIT_SIGNALED,
            .exit_status = 9 },
          "unknown",
          "oom" },
        { "a neighbour met the ancestor's limit, nothing happened here",
          { .counters_known = true,
            .ancestor_known = true,
            .ancestor_oom_rise = 7,
            .exit = VERDICT_EXIT_EXITED },
          "none",
          "ok" },
        { "hundreds of tries, nobody to kill",
          { .counters_known = true, .oom = 475, .exit = VERDICT_EXIT_SIGNALED, .exit_status = 9 },
          "none",
          "signal" },
        { "systemd-oomd",
          { .counters_known = true,
            .oomd_killed = true,
            .exit = VERDICT_EXIT_SIGNALED,
            .exit_status = 9 },
          "userspace",
          "oom" },
        { "systemd-oomd came after the kernel",
          { .counters_known = true,
            .oom = 1,
            .oom_kill = 1,
            .oomd_killed = true,
            .exit = VERDICT_EXIT_SIGNALED,
            .exit_status = 9 },
          "own_limit",
          "oom" },
        { "the files could not be read",
          { .oomd_killed = true, .exit = VERDICT_EXIT_SIGNALED, .exit_status = 9 },
          NULL,
          "signal" },
};

static void assert_text_equal(const char *story, const char *text, const char *expected)
{
        if ((!text && !expected) || (text && expected && strcmp(text, expected) == 0))
                return;
        fail_msg("%s: %s instead of %s", story, text ? text : "NULL", expected ? expected : "NULL");
}

/* F14, F15, F16 */
static void test_stories_are_told_apart(void **state)
{
        for (size_t i = 0; i < N_ELEMENTS(stories); ++i) {
                const char *cause = "untouched", *result = "untouched";

                verdict_decide(&stories[i].input, &cause, &result);
                assert_text_equal(stories[i].story, cause, stories[i].cause);
                assert_text_equal(stories[i].story, result, stories[i].result);
        }
}

/*
 * oom_cause for counters known, by [oomd][oom_kill > 0][oom > 0][ancestors: unknown, still, risen].
 * Written down by hand, not computed: it is the contract.
 */
static const char *const causes[2][2][2][3] = {
        { { { "none", "none", "none" }, { "none", "none", "none" } },
          { { "unknown", "host", "ancestor_limit" }, { "own_limit", "own_limit", "own_limit" } } },
        { { { "userspace", "userspace", "userspace" }, { "userspace", "userspace", "userspace" } },
          { { "unknown", "host", "ancestor_limit" }, { "own_limit", "own_limit", "own_limit" } } },
};

static const struct {
        VerdictExit exit;
        int status;
        const char *result; /* where there is no OOM */
} exits[] = {
        { VERDICT_EXIT_UNKNOWN, 0, "unknown" }, { VERDICT_EXIT_UNKNOWN, 1, "unknown" },
        { VERDICT_EXIT_EXITED, 0, "ok" },       { VERDICT_EXIT_EXITED, 1, "error" },
        { VERDICT_EXIT_EXITED, 137, "error" },  { VERDICT_EXIT_EXITED, 255, "error" },
        { VERDICT_EXIT_SIGNALED, 9, "signal" }, { VERDICT_EXIT_SIGNALED, 15, "signal" },
};

static void check_row(unsigned row, uint64_t count)
{
        unsigned oomd = row & 1, killed = row >> 1 & 1, oom = row >> 2 & 1, known = row >> 3 & 1;
        unsigned ancestors = row >> 4 & 3;

        for (size_t i = 0; i < N_ELEMENTS(exits); ++i) {
                const char *cause = "untouched", *result = "untouched", *expected;
                VerdictInput input = { .counters_known = known,
                                       .oom = oom ? count : 0,
                                       .oom_kill = killed ? count : 0,
                                       .ancestor_known = ancestors > 0,
                                       .ancestor_oom_rise = ancestors == 2 ? count : 0,
                                       .oomd_killed = oomd,
                                       .exit = exits[i].exit,
                                       .exit_status = exits[i].status };

                expected = known ? causes[oomd][killed][oom][ancestors] : NULL;
                verdict_decide(&input, &cause, &result);
                assert_text_equal("cause", cause, expected);
                assert_text_equal("result", result,
                                  expected && strcmp(expected, "none") != 0 ? "oom"
                                                                            : exits[i].result);
        }
}

static void test_every_combination_has_its_verdict(void **state)
{
        for (unsigned row = 0; row < 3 << 4; ++row) {
                check_row(row, 1);
                check_row(row, UINT64_MAX);
        }
}

/* Of ancestors that were not read nothing counts, whatever stands in the number. */
static void test_unknown_ancestors_are_not_read(void **state)
{
        VerdictInput input = { .counters_known = true, .oom_kill = 1, .ancestor_oom_rise = 5 };
        const char *cause, *result;

        verdict_decide(&input, &cause, &result);
        assert_string_equal(cause, "unknown");
        assert_string_equal(result, "oom");
}

static void test_exit_names_come_back(void **state)
{
        static const VerdictExit all[] = { VERDICT_EXIT_UNKNOWN, VERDICT_EXIT_EXITED,
                                           VERDICT_EXIT_SIGNALED };
        static const char *const wrong[] = { "", "Exited", "exited ", "exit", "signalled" };
        VerdictExit exit;

        for (size_t i = 0; i < N_ELEMENTS(all); ++i) {
                assert_true(verdict_exit_from_name(verdict_exit_name(all[i]), &exit));
                assert_int_equal(exit, all[i]);
        }
        for (size_t i = 0; i < N_ELEMENTS(wrong); ++i)
                assert_false(verdict_exit_from_name(wrong[i], &exit));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_stories_are_told_apart),
                cmocka_unit_test(test_every_combination_has_its_verdict),
                cmocka_unit_test(test_unknown_ancestors_are_not_read),
                cmocka_unit_test(test_exit_names_come_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
