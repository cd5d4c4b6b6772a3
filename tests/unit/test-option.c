/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments of options: what is taken, and that nothing else is. */

#include "option.h"

#include "private/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_size_takes_what_it_documents(void **state)
{
        static const struct {
                const char *text;
                uint64_t bytes;
        } good[] = {
                { "0", 0 },
                { "1", 1 },
                { "007", 7 },
                { "64K", UINT64_C(64) << 10 },
                { "512M", UINT64_C(512) << 20 },
                { "3G", UINT64_C(3) << 30 },
                { "2T", UINT64_C(2) << 40 },
                { "0T", 0 },
                { "9223372036854775807", INT64_MAX },
                { "8388607T", UINT64_C(8388607) << 40 },
                { "infinity", OPTION_INFINITY },
        };
        uint64_t bytes;

        for (size_t i = 0; i < N_ELEMENTS(good); i++) {
                bytes = 77;
                assert_true(option_parse_size(good[i].text, &bytes));
                assert_int_equal(bytes, good[i].bytes);
        }
}

static void test_size_refuses_everything_else(void **state)
{
        static const char *const bad[] = {
                "",
                "K",
                "-1",
                "+1",
                " 1",
                "1 ",
                "1.5G",
                "1,5G",
                "1e9",
                "0x10",
                "12X",
                "12k",
                "1KB",
                "1KiB",
                "1M\n",
                "1MM",
                "M1",
                "max",
                "Infinity",
                "infinity ",
                "9223372036854775808",
                "18446744073709551616",
                "8388608T",
                "99999999999999999999999999999999999999",
                "\xd9\xa1",
                "1\xc2\xa0M",
        };
        uint64_t bytes = 77;

        for (size_t i = 0; i < N_ELEMENTS(bad); i++)
                if (option_parse_size(bad[i], &bytes))
                        fail_msg("taken: '%s'", bad[i]);
        assert_int_equal(bytes, 77);
}

static void test_count_is_from_one_on(void **state)
{
        static const char *const bad[] = { "",    "0",  "-1",  "1K",
                                           "1.0", " 1", "max", "9223372036854775808" };
        uint64_t n = 77;

        for (size_t i = 0; i < N_ELEMENTS(bad); i++)
                assert_false(option_parse_count(bad[i], &n));
        assert_int_equal(n, 77);
        assert_true(option_parse_count("100", &n));
        assert_int_equal(n, 100);
        assert_true(option_parse_count("infinity", &n));
        assert_int_equal(n, OPTION_INFINITY);
}

static void test_bool_takes_words(void **state)
{
        static const char *const yes[] = { "yes", "true", "on", "1", "YES", "On" };
        static const char *const no[] = { "no", "false", "off", "0", "No" };
        static const char *const bad[] = { "", "y", "n", "2", "maybe", "yes ", " no", "10" };
        bool value;

        for (size_t i = 0; i < N_ELEMENTS(yes); i++) {
                value = false;
                assert_true(option_parse_bool(yes[i], &value));
                assert_true(value);
        }
        for (size_t i = 0; i < N_ELEMENTS(no); i++) {
                value = true;
                assert_true(option_parse_bool(no[i], &value));
                assert_false(value);
        }
        for (size_t i = 0; i < N_ELEMENTS(bad); i++)
                assert_false(option_parse_bool(bad[i], &value));
}

static void test_stragglers_is_a_policy_or_a_time(void **state)
{
        static const char *const good[][2] = {
                { "wait", "wait" },
                { "kill", "kill" },
                { "10", "10000000usec" },
                { "10s", "10000000usec" },
                { "5min", "300000000usec" },
                { "1h 30min", "5400000000usec" },
                { "500ms", "500000usec" },
                { "0", "0usec" },
                { "18446744073709551615us", "18446744073709551615usec" },
        };
        static const char *const bad[] = { "", "Wait", "kill ", "10x", "-1", "1.5s", "forever" };
        char policy[OPTION_STRAGGLERS_MAX] = "untouched";

        for (size_t i = 0; i < N_ELEMENTS(bad); i++)
                assert_false(option_parse_stragglers(bad[i], policy));
        assert_string_equal(policy, "untouched");
        for (size_t i = 0; i < N_ELEMENTS(good); i++) {
                assert_true(option_parse_stragglers(good[i][0], policy));
                assert_string_equal(policy, good[i][1]);
        }
}

static void test_id_is_32_hex_digits(void **state)
{
        assert_true(option_is_id("0197f0c0a1b2733c8d4e5f6071829304"));
        assert_false(option_is_id(""));
        assert_false(option_is_id("0197f0c0a1b2733c8d4e5f607182930"));
        assert_false(option_is_id("0197f0c0a1b2733c8d4e5f60718293045"));
        assert_false(option_is_id("0197F0C0A1B2733C8D4E5F6071829304"));
        assert_false(option_is_id("0197f0c0a1b2733c8d4e5f607182930g"));
        assert_false(option_is_id("../../../../../../../../../../.."));
}

static void test_label_has_a_key(void **state)
{
        size_t n = 77;

        assert_false(option_parse_label("", &n));
        assert_false(option_parse_label("k", &n));
        assert_false(option_parse_label("=v", &n));
        assert_false(option_parse_label("=", &n));
        assert_int_equal(n, 77);
        assert_true(option_parse_label("key=", &n));
        assert_int_equal(n, 3);
        assert_true(option_parse_label("k=v=w", &n));
        assert_int_equal(n, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_size_takes_what_it_documents),
                cmocka_unit_test(test_size_refuses_everything_else),
                cmocka_unit_test(test_count_is_from_one_on),
                cmocka_unit_test(test_bool_takes_words),
                cmocka_unit_test(test_stragglers_is_a_policy_or_a_time),
                cmocka_unit_test(test_id_is_32_hex_digits),
                cmocka_unit_test(test_label_has_a_key),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
