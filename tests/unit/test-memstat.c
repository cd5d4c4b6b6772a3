/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parsers of the kernel's files, on what kernels write and on what nobody should. */

#include "memstat.h"

#include "private/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define UNTOUCHED UINT64_C(0x5a5a5a5a)

static void test_u64_takes_what_the_kernel_writes(void **state)
{
        static const struct {
                const char *text;
                uint64_t value;
        } good[] = {
                { "0\n", 0 },
                { "0", 0 },
                { "1310720\n", 1310720 },
                { "18446744073709551615\n", UINT64_MAX },
        };

        for (size_t i = 0; i < N_ELEMENTS(good); ++i) {
                uint64_t value = UNTOUCHED;

                assert_int_equal(memstat_parse_u64(good[i].text, &value), 0);
                assert_true(value == good[i].value);
        }
}

static const char *const bad_numbers[] = {
        "",
        "\n",
        "0\n\n",
        "1 \n",
        " 1",
        "+1",
        "-1",
        "0x10",
        "1.5",
        "1e3",
        "1\n2",
        "1\n2\n",
        "1\r\n",
        "1,000",
        "\xd9\xa1",
        "12a",
        "a12",
        "\t1",
        "1\t",
        "nan",
        "MAX",
        "maxi",
        "max max",
        "18446744073709551616",
        "184467440737095516150",
        "99999999999999999999999999999999999999999999999999999999999999",
};

static void test_u64_refuses_everything_else(void **state)
{
        for (size_t i = 0; i < N_ELEMENTS(bad_numbers); ++i) {
                uint64_t value = UNTOUCHED;

                assert_int_equal(memstat_parse_u64(bad_numbers[i], &value), MEMSTAT_E_MALFORMED);
                assert_int_equal(memstat_parse_limit(bad_numbers[i], &value), MEMSTAT_E_MALFORMED);
                assert_true(value == UNTOUCHED);
        }
}

static void test_limit_knows_max(void **state)
{
        uint64_t value = UNTOUCHED;

        assert_int_equal(memstat_parse_u64("max\n", &value), MEMSTAT_E_MALFORMED);
        assert_true(value == UNTOUCHED);
        assert_int_equal(memstat_parse_limit("max\n", &value), 0);
        assert_true(value == MEMSTAT_MAX);
        assert_int_equal(memstat_parse_limit("max", &value), 0);
        assert_int_equal(memstat_parse_limit("16777216\n", &value), 0);
        assert_true(value == 16777216);
}

static const char cpu_stat[] = "usage_usec 30\nuser_usec 10\nsystem_usec 20\nnice_usec 0\n"
                               "nr_periods 0\nfuture_key some thing else\n";

static void test_key_is_found_by_its_whole_name(void **state)
{
        uint64_t value = UNTOUCHED;

        assert_int_equal(memstat_parse_key(cpu_stat, "user_usec", &value), 0);
        assert_true(value == 10);
        assert_int_equal(memstat_parse_key(cpu_stat, "nr_periods", &value), 0);
        assert_true(value == 0);
        assert_int_equal(memstat_parse_key("usage 7", "usage", &value), 0);
        assert_true(value == 7);
        value = UNTOUCHED;
        assert_int_equal(memstat_parse_key(cpu_stat, "usec", &value), MEMSTAT_E_MISSING);
        assert_int_equal(memstat_parse_key(cpu_stat, "user", &value), MEMSTAT_E_MISSING);
        assert_int_equal(memstat_parse_key(cpu_stat, "", &value), MEMSTAT_E_MISSING);
        assert_int_equal(memstat_parse_key("", "user_usec", &value), MEMSTAT_E_MISSING);
        assert_true(value == UNTOUCHED);
}

static void test_key_refuses_other_forms(void **state)
{
        static const char *const bad[] = {
                "a\n",          "a 1\n\n",
                "\na 1\n",      " a 1\n",
                "a  1\n",       "a 1 \n",
                "a 1\nb\n",     "a -1\n",
                "a max\n",      "a \n",
                "a 1\na 1\n",   "a\t1\n",
                "b 1\na 1 2\n", "a 18446744073709551616\n",
                "a 1\r\n",
        };

        for (size_t i = 0; i < N_ELEMENTS(bad); ++i) {
                uint64_t value = UNTOUCHED;

                if (memstat_parse_key(bad[i], "a", &value) != MEMSTAT_E_MALFORMED)
                        fail_msg("accepted: \"%s\"", bad[i]);
                assert_true(value == UNTOUCHED);
        }
}

static void test_events_of_every_kernel_are_read(void **state)
{
        /* 5.10; 6.1 and 6.12; 7.2 */
        static const char old[] = "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\n";
        static const char usual[] = "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n";
        static const char newest[] = "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n"
                                     "sock_throttled 7\n";
        static const char *const all[] = { old, usual, newest };

        for (size_t i = 0; i < N_ELEMENTS(all); ++i) {
                MemstatEvents events;

                memset(&events, 0xff, sizeof(events));
                assert_int_equal(memstat_parse_events(all[i], &events), 0);
                assert_true(events.high == 2);
                assert_true(events.max == 3);
                assert_true(events.oom == 4);
                assert_true(events.oom_kill == 5);
                assert_true(events.oom_group_kill == (i == 0 ? 0 : 6));
                assert_true(events.has_oom_group_kill == (i != 0));
        }
}

static void test_events_without_a_key_are_missing(void **state)
{
        MemstatEvents events = { .oom = UNTOUCHED };

        assert_int_equal(memstat_parse_events("", &events), MEMSTAT_E_MISSING);
        assert_int_equal(memstat_parse_events("low 1\nhigh 2\nmax 3\noom 4\n", &events),
                         MEMSTAT_E_MISSING);
        assert_int_equal(memstat_parse_events("high 2\nmax 3\noom x\noom_kill 5\n", &events),
                         MEMSTAT_E_MALFORMED);
        assert_int_equal(memstat_parse_events(
                                 "high 2\nmax 3\noom 4\noom_kill 5\noom_group_kill -1\n", &events),
                         MEMSTAT_E_MALFORMED);
        assert_true(events.oom == UNTOUCHED);
}

static void test_populated_is_zero_or_one(void **state)
{
        bool populated = true;

        assert_int_equal(memstat_parse_populated("populated 0\nfrozen 0\n", &populated), 0);
        assert_false(populated);
        assert_int_equal(memstat_parse_populated("populated 1\nfrozen 1\n", &populated), 0);
        assert_true(populated);
        assert_int_equal(memstat_parse_populated("frozen 0\n", &populated), MEMSTAT_E_MISSING);
        assert_int_equal(memstat_parse_populated("populated 2\n", &populated), MEMSTAT_E_MALFORMED);
        assert_int_equal(memstat_parse_populated("populated \n", &populated), MEMSTAT_E_MALFORMED);
        assert_true(populated);
}

static void test_pressure_totals_are_read(void **state)
{
        MemstatPressure pressure = { 0 };

        assert_int_equal(memstat_parse_pressure("some avg10=0.00 avg60=0.12 avg300=1.00 total=123\n"
                                                "full avg10=0.00 avg60=0.00 avg300=0.00 total=4\n",
                                                &pressure),
                         0);
        assert_true(pressure.some_usec == 123);
        assert_true(pressure.full_usec == 4);
        assert_int_equal(memstat_parse_pressure("full total=18446744073709551615 next=x\n"
                                                "third total=9\nsome total=0\n",
                                                &pressure),
                         0);
        assert_true(pressure.some_usec == 0);
        assert_true(pressure.full_usec == UINT64_MAX);
}

static void test_pressure_refuses_other_forms(void **state)
{
        static const struct {
                const char *text;
                int outcome;
        } bad[] = {
                { "", MEMSTAT_E_MISSING },
                { "some total=1\n", MEMSTAT_E_MISSING },
                { "full total=1\n", MEMSTAT_E_MISSING },
                { "some avg10=0.00\nfull total=1\n", MEMSTAT_E_MISSING },
                { "some\nfull total=1\n", MEMSTAT_E_MISSING },
                { "some total=\nfull total=1\n", MEMSTAT_E_MALFORMED },
                { "some total=1.5\nfull total=1\n", MEMSTAT_E_MALFORMED },
                { "some total=18446744073709551616\nfull total=1\n", MEMSTAT_E_MALFORMED },
                { "some total\nfull total=1\n", MEMSTAT_E_MALFORMED },
                { "some =1 total=1\nfull total=1\n", MEMSTAT_E_MALFORMED },
                { "some total=1\n\nfull total=1\n", MEMSTAT_E_MALFORMED },
        };

        for (size_t i = 0; i < N_ELEMENTS(bad); ++i) {
                MemstatPressure pressure = { .some_usec = UNTOUCHED };

                if (memstat_parse_pressure(bad[i].text, &pressure) != bad[i].outcome)
                        fail_msg("wrong outcome: \"%s\"", bad[i].text);
                assert_true(pressure.some_usec == UNTOUCHED);
        }
}

static void test_io_is_summed_over_devices(void **state)
{
        static const struct {
                const char *text;
                uint64_t read_bytes, write_bytes;
        } good[] = {
                { "", 0, 0 },
                { "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n", 1, 2 },
                { "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n"
                  "8:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 "
                  "dios=3021\n",
                  91889664, 613781504 },
                { "8:0 cost.vrate=100.00 cost.usage=5\n8:1 rbytes=7\n", 7, 0 },
                { "8:0 \n8:1 wbytes=5\n", 0, 5 },
                { "8:0\n", 0, 0 },
                { "252:0 ", 0, 0 },
                { "7:7 7:6 7:5 8:0 rbytes=28672 wbytes=1 rios=22\n", 28672, 1 },
                { "(unknown) rbytes=4 wbytes=0\n8:0 rbytes=2 wbytes=0\n", 6, 0 },
        };

        for (size_t i = 0; i < N_ELEMENTS(good); ++i) {
                MemstatIo io = { UNTOUCHED, UNTOUCHED };

                assert_int_equal(memstat_parse_io(good[i].text, &io), 0);
                assert_true(io.read_bytes == good[i].read_bytes);
                assert_true(io.write_bytes == good[i].write_bytes);
        }
}

static void test_io_refuses_other_forms(void **state)
{
        static const char *const bad[] = {
                "\n",
                "8:0 rbytes=1\n\n",
                "rbytes=1 wbytes=2\n",
                "8:0 rbytes=\n",
                "8:0 rbytes=-1\n",
                "8:0 rbytes=1.0\n",
                "8:0 =1\n",
                "8:0 rbytes=1=2\n",
                "8:0 wbytes=18446744073709551616\n",
                "8:0 rbytes=18446744073709551615\n8:1 rbytes=1\n",
        };

        for (size_t i = 0; i < N_ELEMENTS(bad); ++i) {
                MemstatIo io = { UNTOUCHED, UNTOUCHED };

                if (memstat_parse_io(bad[i], &io) != MEMSTAT_E_MALFORMED)
                        fail_msg("accepted: \"%s\"", bad[i]);
                assert_true(io.read_bytes == UNTOUCHED && io.write_bytes == UNTOUCHED);
        }
}

/* A33 */
static void test_json_keeps_keys_and_their_order(void **state)
{
        _cleanup_free_ char *json = NULL, *empty = NULL;

        assert_int_equal(memstat_to_json("anon 4096\nfile 0\nzeta 1\nalpha 9223372036854775807\n"
                                         "hugetlb.2MB:x 5\n",
                                         &json),
                         0);
        assert_string_equal(json, "{\"anon\":4096,\"file\":0,\"zeta\":1,"
                                  "\"alpha\":9223372036854775807,\"hugetlb.2MB:x\":5}");
        assert_int_equal(memstat_to_json("", &empty), 0);
        assert_string_equal(empty, "{}");
}

static void test_json_refuses_other_forms(void **state)
{
        static const char *const bad[] = {
                "anon\n",
                "anon 1\nanon 2\n",
                "anon x\n",
                "anon 1 2\n",
                "an\"on 1\nx y\n",
                "anon -1\n",
                "\n",
                " 1\n",
                "a\x01 1\n",
                "a\xff 1\n",
                "\xc3\xa4 1\n",
                "a\x7f 1\n",
                "anon 9223372036854775808\n",
                "anon 18446744073709551616\n",
        };
        char *json = NULL;

        for (size_t i = 0; i < N_ELEMENTS(bad); ++i) {
                if (memstat_to_json(bad[i], &json) != MEMSTAT_E_MALFORMED)
                        fail_msg("accepted: \"%s\"", bad[i]);
                assert_null(json);
        }
}

static void test_json_escapes_keys(void **state)
{
        _cleanup_free_ char *json = NULL;

        assert_int_equal(memstat_to_json("a\"b\\c 1\n", &json), 0);
        assert_string_equal(json, "{\"a\\\"b\\\\c\":1}");
}

/* A page of the kernel is no bound for its files. */
static void test_long_files_are_read_whole(void **state)
{
        enum { N_KEYS = 2000 };
        _cleanup_free_ char *text = NULL, *json = NULL;
        size_t size = 0;
        uint64_t value = 0;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        for (unsigned i = 0; i < N_KEYS; ++i)
                (void)fprintf(f, "key_%u %u\n", i, i);
        assert_int_equal(fclose(f), 0);
        assert_true(size > 4096 * 4);
        assert_int_equal(memstat_parse_key(text, "key_1999", &value), 0);
        assert_true(value == 1999);
        assert_int_equal(memstat_to_json(text, &json), 0);
        assert_non_null(strstr(json, "\"key_1999\":1999}"));
}

static void test_long_keys_are_refused(void **state)
{
        char text[200];
        char *json = NULL;

        memset(text, 'k', sizeof(text));
        memcpy(text + sizeof(text) - 4, " 1\n", 4);
        assert_int_equal(memstat_to_json(text, &json), MEMSTAT_E_MALFORMED);
        assert_null(json);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_u64_takes_what_the_kernel_writes),
                cmocka_unit_test(test_u64_refuses_everything_else),
                cmocka_unit_test(test_limit_knows_max),
                cmocka_unit_test(test_key_is_found_by_its_whole_name),
                cmocka_unit_test(test_key_refuses_other_forms),
                cmocka_unit_test(test_events_of_every_kernel_are_read),
                cmocka_unit_test(test_events_without_a_key_are_missing),
                cmocka_unit_test(test_populated_is_zero_or_one),
                cmocka_unit_test(test_pressure_totals_are_read),
                cmocka_unit_test(test_pressure_refuses_other_forms),
                cmocka_unit_test(test_io_is_summed_over_devices),
                cmocka_unit_test(test_io_refuses_other_forms),
                cmocka_unit_test(test_json_keeps_keys_and_their_order),
                cmocka_unit_test(test_json_refuses_other_forms),
                cmocka_unit_test(test_json_escapes_keys),
                cmocka_unit_test(test_long_files_are_read_whole),
                cmocka_unit_test(test_long_keys_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
