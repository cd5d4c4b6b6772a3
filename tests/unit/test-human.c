/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers for people, and back: round numbers, edges, and what must be refused. */

#include "human.h"

#include "private/cleanup.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define UNTOUCHED UINT64_C(0x5a5a5a5a)

static void test_bytes_are_powers_of_1024(void **state)
{
        static const struct {
                uint64_t bytes;
                const char *text;
        } cases[] = {
                { 0, "0B" },
                { 1, "1B" },
                { 1023, "1023B" },
                { 1024, "1.0K" },
                { 1536, "1.5K" },
                { 52428800, "50.0M" },
                { 1024 * 1024 - 1, "1.0M" },
                { UINT64_C(1073741824) * 1024 - 1, "1.0T" },
                { UINT64_C(1288490189), "1.2G" },
                { UINT64_C(1) << 40, "1.0T" },
                { UINT64_C(1) << 50, "1.0P" },
                { UINT64_C(1) << 60, "1.0E" },
                { UINT64_MAX, "16.0E" },
        };
        char text[HUMAN_MAX];
        size_t i;

        for (i = 0; i < N_ELEMENTS(cases); i++)
                assert_string_equal(human_bytes(cases[i].bytes, text), cases[i].text);
}

static void test_spans_show_their_largest_units(void **state)
{
        static const struct {
                uint64_t usec;
                unsigned n_units;
                const char *text;
        } cases[] = {
                { 0, 2, "0" },
                { 12, 2, "12us" },
                { 999999, 2, "999ms" },
                { 1000000, 2, "1s" },
                { 7250000, 2, "7.250s" },
                { 7250000, 1, "7s" },
                { 59 * HUMAN_SECOND, 2, "59s" },
                { 60 * HUMAN_SECOND, 2, "1min" },
                { 252 * HUMAN_SECOND, 2, "4min 12s" },
                { 252 * HUMAN_SECOND, 1, "4min" },
                { HUMAN_HOUR + 5 * HUMAN_MINUTE + 9 * HUMAN_SECOND, 2, "1h 5min" },
                { HUMAN_HOUR + 5 * HUMAN_MINUTE + 9 * HUMAN_SECOND, 3, "1h 5min 9s" },
                { 9 * HUMAN_DAY, 2, "1w 2d" },
                { UINT64_MAX, 2, "30500568w 6d" },
        };
        char text[HUMAN_MAX];
        size_t i;

        for (i = 0; i < N_ELEMENTS(cases); i++)
                assert_string_equal(human_span(cases[i].usec, cases[i].n_units, text),
                                    cases[i].text);
}

static void test_spans_are_read(void **state)
{
        static const struct {
                const char *text;
                uint64_t usec;
        } cases[] = {
                { "0", 0 },
                { "10", 10 * HUMAN_SECOND },
                { "10s", 10 * HUMAN_SECOND },
                { "10 s", 10 * HUMAN_SECOND },
                { "500ms", 500000 },
                { "1h 30min", 90 * HUMAN_MINUTE },
                { "1h30m", 90 * HUMAN_MINUTE },
                { "90d", 90 * HUMAN_DAY },
                { "1week", 7 * HUMAN_DAY },
                { " 3 hours ", 3 * HUMAN_HOUR },
        };
        uint64_t usec;
        size_t i;

        for (i = 0; i < N_ELEMENTS(cases); i++) {
                usec = UNTOUCHED;
                assert_true(human_parse_span(cases[i].text, &usec));
                assert_true(usec == cases[i].usec);
        }
}

static void test_spans_of_other_forms_are_refused(void **state)
{
        static const char *const cases[] = {
                "",
                " ",
                "s",
                "-1s",
                "+1s",
                "1.5h",
                "1x",
                "1S",
                "1 h x",
                "1h,2h",
                "0x10s",
                "18446744073709551616us",
                "18446744073709551615s",
                "30500569w",
                "1\n",
                "infinity",
        };
        uint64_t usec = UNTOUCHED;
        size_t i;

        for (i = 0; i < N_ELEMENTS(cases); i++)
                assert_false(human_parse_span(cases[i], &usec));
        assert_true(usec == UNTOUCHED);
}

static void test_numbers_are_strict(void **state)
{
        static const char *const bad[] = {
                "", " 1", "1 ", "-1", "+1", "0x1", "1.0", "1e3", "18446744073709551616", "1\n",
        };
        uint64_t value = UNTOUCHED;
        size_t i;

        for (i = 0; i < N_ELEMENTS(bad); i++)
                assert_false(human_parse_u64(bad[i], &value));
        assert_true(value == UNTOUCHED);
        assert_true(human_parse_u64("18446744073709551615", &value));
        assert_true(value == UINT64_MAX);
        assert_true(human_parse_u64("007", &value));
        assert_true(value == 7);
}

/* Thu 2026-01-15 09:30:00 UTC */
#define NOW (UINT64_C(1768469400) * HUMAN_SECOND)

static void test_times_are_read(void **state)
{
        static const struct {
                const char *text;
                uint64_t seconds;
        } cases[] = {
                { "now", 1768469400 },
                { "today", 1768435200 },
                { "yesterday", 1768348800 },
                { "2h", 1768469400 - 7200 },
                { "2h ago", 1768469400 - 7200 },
                { "-2h", 1768469400 - 7200 },
                { "1d 1h", 1768469400 - 90000 },
                { "2026-01-15", 1768435200 },
                { "2026-01-15 08:00", 1768464000 },
                { "2026-01-15T08:00:01", 1768464001 },
                { "08:00", 1768464000 },
                { "08:00:01", 1768464001 },
                { "@0", 0 },
                { "@1768464001", 1768464001 },
                { "100w", 1768469400 - 100 * 7 * 86400 },
                { "9000w", 0 }, /* longer ago than there is time */
        };
        uint64_t usec;
        size_t i;

        for (i = 0; i < N_ELEMENTS(cases); i++) {
                usec = UNTOUCHED;
                assert_true(human_parse_time(cases[i].text, NOW, &usec));
                assert_true(usec == cases[i].seconds * HUMAN_SECOND);
        }
}

static void test_times_of_other_forms_are_refused(void **state)
{
        static const char *const cases[] = {
                "",
                "2026",
                "20260115",
                "2026-13-01",
                "2026-01-15 25:00",
                "2026-01-15 08:00:00 x",
                "tomorrow",
                "@",
                "@-1",
                "@1.5",
                "@18446744073709551615",
                "--2h",
                "ago",
                " ago",
                "8:",
                "1969-12-31",
                "2h ago ago",
                "1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h 1h",
        };
        uint64_t usec = UNTOUCHED;
        size_t i;

        for (i = 0; i < N_ELEMENTS(cases); i++)
                assert_false(human_parse_time(cases[i], NOW, &usec));
        assert_true(usec == UNTOUCHED);
}

static void test_times_are_shown_with_their_zone(void **state)
{
        char text[HUMAN_MAX];

        assert_string_equal(human_time(NOW, text), "Thu 2026-01-15 09:30:00 UTC");
        assert_non_null(human_time(UINT64_MAX, text));
        assert_true(strlen(text) < HUMAN_MAX);
}

static void test_signals_have_names_and_numbers(void **state)
{
        static const struct {
                const char *text;
                int number;
        } good[] = {
                { "KILL", SIGKILL }, { "SIGKILL", SIGKILL },
                { "kill", SIGKILL }, { "sigterm", SIGTERM },
                { "9", 9 },          { "1", 1 },
                { "USR1", SIGUSR1 }, { "64", 64 },
        };
        static const char *const bad[] = {
                "",   "0",       "-9",      "65",       "KIL",         "SIG", "SIGSIGKILL",
                "9 ", "RTMIN+x", "RTMIN-1", "RTMIN+99", "SIGRTMIN+ 1", "all",
        };
        char text[HUMAN_MAX];
        int number;
        size_t i;

        for (i = 0; i < N_ELEMENTS(good); i++) {
                number = -1;
                assert_true(human_parse_signal(good[i].text, &number));
                assert_int_equal(number, good[i].number);
        }
        for (i = 0; i < N_ELEMENTS(bad); i++)
                assert_false(human_parse_signal(bad[i], &number));
        assert_true(human_parse_signal("SIGRTMIN+3", &number));
        assert_int_equal(number, SIGRTMIN + 3);
        assert_string_equal(human_signal(SIGKILL, text), "SIGKILL");
        assert_string_equal(human_signal(SIGRTMIN, text), "SIGRTMIN");
        assert_string_equal(human_signal(SIGRTMIN + 3, text), "SIGRTMIN+3");
        assert_string_equal(human_signal(0, text), "0");
        assert_string_equal(human_signal(-5, text), "-5");
        assert_string_equal(human_signal(1000, text), "1000");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bytes_are_powers_of_1024),
                cmocka_unit_test(test_spans_show_their_largest_units),
                cmocka_unit_test(test_spans_are_read),
                cmocka_unit_test(test_spans_of_other_forms_are_refused),
                cmocka_unit_test(test_numbers_are_strict),
                cmocka_unit_test(test_times_are_read),
                cmocka_unit_test(test_times_of_other_forms_are_refused),
                cmocka_unit_test(test_times_are_shown_with_their_zone),
                cmocka_unit_test(test_signals_have_names_and_numbers),
        };

        (void)setenv("TZ", "UTC", 1);
        tzset();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
