/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keys, values, defaults and the dump of config.c. Files and lines are test-config-file.c's. */

#include "config.h"

#include "private/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define UNTOUCHED UINT64_C(0x5a5a5a5a)

#define SEC UINT64_C(1000000)
#define MINUTE (60 * SEC)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* What config_load() complained about, one line each: "4: text". */
typedef struct Complaints {
        char text[4096];
        unsigned n;
} Complaints;

static void complain(void *userdata, const char *file, unsigned line, const char *text)
{
        Complaints *complaints = userdata;
        size_t used = strlen(complaints->text);

        assert_non_null(file);
        (void)snprintf(complaints->text + used, sizeof(complaints->text) - used, "%u: %s\n", line,
                       text);
        ++complaints->n;
}

/* Loads one file with this text. */
static int load(const char *text, Complaints *complaints, Config *ret_config)
{
        char path[] = "/tmp/test-config-XXXXXX";
        _cleanup_close_ int fd = mkstemp(path);
        int r;

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        *complaints = (Complaints){ 0 };
        r = config_load("", path, complain, complaints, ret_config);
        assert_int_equal(unlink(path), 0);
        return r;
}

static char *dump(const Config *config)
{
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        config_dump(config, f);
        assert_int_equal(fclose(f), 0);
        return text;
}

static void test_spans_are_parsed(void **state)
{
        static const struct {
                const char *text;
                uint64_t usec;
        } good[] = {
                { "0", 0 },
                { "10", 10 * SEC },
                { "10s", 10 * SEC },
                { "1usec", 1 },
                { "100ms", 100000 },
                { "5min", 5 * MINUTE },
                { "5 min", 5 * MINUTE },
                { "2h", 2 * HOUR },
                { "90d", 90 * DAY },
                { "1w", 7 * DAY },
                { "1h 30min", 90 * MINUTE },
                { "1h30min", 90 * MINUTE },
                { "1h\t30 min  1s", 90 * MINUTE + SEC },
                { "1s 1s", 2 * SEC },
                { "infinity", CONFIG_INFINITY },
                { "18446744073709", UINT64_C(18446744073709000000) },
                { "18446744073709551614usec", UINT64_MAX - 1 },
        };

        for (size_t i = 0; i < N_ELEMENTS(good); ++i) {
                uint64_t usec = UNTOUCHED;

                if (!config_parse_span(good[i].text, &usec) || usec != good[i].usec)
                        fail_msg("\"%s\" gave %" PRIu64, good[i].text, usec);
        }
}

static void test_spans_refuse_everything_else(void **state)
{
        static const char *const bad[] = {
                "",
                " ",
                "s",
                "10 ",
                " 10",
                "10S",
                "10 sec",
                "10m",
                "1.5h",
                "-1",
                "+1",
                "1e3",
                "0x10",
                "10s ",
                "10s,5s",
                "1h 30",
                "30 1h",
                "infinity ",
                "Infinity",
                "inf",
                "1hinfinity",
                "10us",
                "10\n",
                "10ss",
                "s10",
                "18446744073710",
                "18446744073709551615usec",
                "18446744073709551616usec",
                "30500569w",
                "9999999999999999999999s",
                "18446744073709551614usec 2usec",
                "10\xc2\xb5s",
        };

        for (size_t i = 0; i < N_ELEMENTS(bad); ++i) {
                uint64_t usec = UNTOUCHED;

                if (config_parse_span(bad[i], &usec))
                        fail_msg("accepted: \"%s\"", bad[i]);
                assert_true(usec == UNTOUCHED);
        }
}

static void test_sizes_are_parsed(void **state)
{
        static const struct {
                const char *text;
                uint64_t bytes;
        } good[] = {
                { "0", 0 },
                { "255", 255 },
                { "64K", 65536 },
                { "1M", 1048576 },
                { "2G", UINT64_C(2147483648) },
                { "3T", UINT64_C(3298534883328) },
                { "infinity", CONFIG_INFINITY },
                { "18446744073709551614", UINT64_MAX - 1 },
                { "16777215T", UINT64_C(16777215) << 40 },
        };

        for (size_t i = 0; i < N_ELEMENTS(good); ++i) {
                uint64_t bytes = UNTOUCHED;

                if (!config_parse_size(good[i].text, &bytes) || bytes != good[i].bytes)
                        fail_msg("\"%s\" gave %" PRIu64, good[i].text, bytes);
        }
}

static void test_sizes_refuse_everything_else(void **state)
{
        static const char *const bad[] = {
                "",
                " ",
                "K",
                "1.5G",
                "1k",
                "1KB",
                "1KiB",
                "1 K",
                "1K ",
                " 1",
                "-1",
                "+1",
                "0x10",
                "1e3",
                "1P",
                "1KK",
                "max",
                "1M1K",
                "\n",
                "1\n",
                "1K2",
                "18446744073709551615",
                "18446744073709551616",
                "16777216T",
        };

        for (size_t i = 0; i < N_ELEMENTS(bad); ++i) {
                uint64_t bytes = UNTOUCHED;

                if (config_parse_size(bad[i], &bytes))
                        fail_msg("accepted: \"%s\"", bad[i]);
                assert_true(bytes == UNTOUCHED);
        }
}

static void test_stragglers_are_parsed(void **state)
{
        uint64_t usec = UNTOUCHED;

        assert_true(config_parse_stragglers("wait", &usec));
        assert_true(usec == CONFIG_INFINITY);
        assert_true(config_parse_stragglers("kill", &usec));
        assert_true(usec == 0);
        assert_true(config_parse_stragglers("10s", &usec));
        assert_true(usec == 10 * SEC);
        assert_false(config_parse_stragglers("Wait", &usec));
        assert_false(config_parse_stragglers("", &usec));
        assert_false(config_parse_stragglers("kill 10s", &usec));
        assert_true(usec == 10 * SEC);
}

static void test_defaults_are_those_of_the_design(void **state)
{
        static const char expected[] = "[Daemon]\n"
                                       "DatabasePath=/var/lib/cgtask/cgtask.db\n"
                                       "ExecutionsRoot=auto\n"
                                       "CheckpointSec=30s\n"
                                       "RecheckSec=10s\n"
                                       "Stragglers=wait\n"
                                       "StoreArguments=no\n"
                                       "AllowContainers=no\n"
                                       "\n"
                                       "[Limits]\n"
                                       "MaxConnections=4096\n"
                                       "MaxConnectionsPerUser=1024\n"
                                       "MaxExecutions=20000\n"
                                       "MaxExecutionsPerUser=5000\n"
                                       "MaxCreatesPerSecondPerUser=500\n"
                                       "MaxMessageBytes=64K\n"
                                       "MaxPendingOutputBytes=1M\n"
                                       "MaxTaskBytes=255\n"
                                       "MaxLabels=32\n"
                                       "MaxLabelBytes=1K\n"
                                       "MemoryMaxCeiling=infinity\n"
                                       "\n"
                                       "[Retention]\n"
                                       "KeepFor=90d\n"
                                       "MaxDatabaseBytes=2G\n"
                                       "\n"
                                       "[Sampling]\n"
                                       "IntervalSec=1s\n"
                                       "MaxIntervalSec=10s\n";
        _cleanup_(config_deinit) Config config = { 0 };
        _cleanup_free_ char *text = NULL;

        assert_int_equal(config_init(&config), 0);
        assert_true(config.checkpoint_usec == 30 * SEC);
        assert_true(config.keep_for_usec == 90 * DAY);
        assert_true(config.max_label_bytes == 1024);
        assert_true(config.memory_max_ceiling == CONFIG_INFINITY);
        text = dump(&config);
        assert_string_equal(text, expected);
}

static void test_every_key_is_set_and_dumped(void **state)
{
        static const char text[] = "[Daemon]\n"
                                   "DatabasePath=/srv/rows of cgtask.db\n"
                                   "ExecutionsRoot=/sys/fs/cgroup/tasks\n"
                                   "CheckpointSec=90s\n"
                                   "RecheckSec=1500ms\n"
                                   "Stragglers=1h 30min\n"
                                   "StoreArguments=yes\n"
                                   "AllowContainers=yes\n"
                                   "\n"
                                   "[Limits]\n"
                                   "MaxConnections=1\n"
                                   "MaxConnectionsPerUser=2\n"
                                   "MaxExecutions=3\n"
                                   "MaxExecutionsPerUser=4\n"
                                   "MaxCreatesPerSecondPerUser=5\n"
                                   "MaxMessageBytes=4097\n"
                                   "MaxPendingOutputBytes=1G\n"
                                   "MaxTaskBytes=7\n"
                                   "MaxLabels=0\n"
                                   "MaxLabelBytes=16\n"
                                   "MemoryMaxCeiling=2T\n"
                                   "\n"
                                   "[Retention]\n"
                                   "KeepFor=infinity\n"
                                   "MaxDatabaseBytes=1M\n"
                                   "\n"
                                   "[Sampling]\n"
                                   "IntervalSec=100ms\n"
                                   "MaxIntervalSec=1h\n";
        _cleanup_(config_deinit) Config config = { 0 };
        _cleanup_free_ char *dumped = NULL;
        Complaints complaints;

        assert_int_equal(load(text, &complaints, &config), 0);
        assert_int_equal(complaints.n, 0);
        dumped = dump(&config);
        assert_string_equal(dumped, text);
}

static void test_flags_know_their_words(void **state)
{
        static const char *const words[] = { "yes", "true", "1", "on", "no", "false", "0", "off" };

        for (size_t i = 0; i < N_ELEMENTS(words); ++i) {
                _cleanup_(config_deinit) Config config = { 0 };
                Complaints complaints;
                char text[64];

                (void)snprintf(text, sizeof(text), "[Daemon]\nStoreArguments = %s\n", words[i]);
                assert_int_equal(load(text, &complaints, &config), 0);
                assert_true(config.store_arguments == (i < 4));
        }
}

/* Everything that is wrong is told at once, with its line, its value and what is accepted. */
static void test_wrong_values_are_all_reported(void **state)
{
        Config config = { .max_labels = UNTOUCHED };
        Complaints complaints;

        assert_int_equal(load("[Daemon]\n"
                              "CheckpointSec=5 bananas\n"
                              "StoreArguments=maybe\n"
                              "Stragglers=never\n"
                              "DatabasePath=cgtask.db\n"
                              "ExecutionsRoot=/sys/../etc\n"
                              "[Limits]\n"
                              "MaxConnections=0\n"
                              "MaxMessageBytes=1.5M\n"
                              "MaxLabels=257\n"
                              "MaxTaskBytes=infinity\n"
                              "[Retention]\n"
                              "KeepFor=90\n",
                              &complaints, &config),
                         -EINVAL);
        assert_string_equal(
                complaints.text,
                "2: CheckpointSec=5 bananas: expected a time span such as 30s, 5min or 1h 30min, "
                "from 100ms to 1d\n"
                "3: StoreArguments=maybe: expected yes or no\n"
                "4: Stragglers=never: expected wait, kill, or a time span such as 10s or 5min\n"
                "5: DatabasePath=cgtask.db: expected an absolute path without . and ..\n"
                "6: ExecutionsRoot=/sys/../etc: expected auto, or an absolute path without . and "
                "..\n"
                "8: MaxConnections=0: expected a whole number, from 1 to 1000000\n"
                "9: MaxMessageBytes=1.5M: expected a whole number of bytes with an optional K, M, "
                "G "
                "or T, from 4K to 16M\n"
                "10: MaxLabels=257: expected a whole number, from 0 to 256\n"
                "11: MaxTaskBytes=infinity: expected a whole number of bytes with an optional K, "
                "M, "
                "G or T, from 1 to 1K\n"
                "13: KeepFor=90: expected a time span such as 30s, 5min or 1h 30min, from 1h to "
                "infinity\n");
        assert_true(config.max_labels == UNTOUCHED);
}

static void test_unknown_keys_are_ignored_with_a_complaint(void **state)
{
        _cleanup_(config_deinit) Config config = { 0 };
        Complaints complaints;

        assert_int_equal(load("MaxLabels=1\n"
                              "[Nonsense]\n"
                              "MaxLabels=2\n"
                              "[Daemon]\n"
                              "MaxLabels=3\n"
                              "[limits]\n"
                              "MaxLabels=4\n"
                              "[Limits]\n"
                              "maxlabels=5\n"
                              "MaxLabels=6\n",
                              &complaints, &config),
                         0);
        assert_string_equal(complaints.text,
                            "1: MaxLabels=: no such key before the first section, ignored\n"
                            "3: MaxLabels=: no such section as [Nonsense], ignored\n"
                            "5: MaxLabels=: no such key in section [Daemon], ignored\n"
                            "7: MaxLabels=: no such section as [limits], ignored\n"
                            "9: maxlabels=: no such key in section [Limits], ignored\n");
        assert_true(config.max_labels == 6);
}

static void test_last_value_wins_and_an_empty_one_resets(void **state)
{
        _cleanup_(config_deinit) Config config = { 0 };
        Complaints complaints;

        assert_int_equal(load("[Daemon]\nStragglers=kill\nStragglers=5s\n"
                              "DatabasePath=/srv/a.db\nDatabasePath=\n"
                              "[Limits]\nMaxLabels=1\nMaxLabels=2\nMaxTaskBytes=9\nMaxTaskBytes=\n",
                              &complaints, &config),
                         0);
        assert_int_equal(complaints.n, 0);
        assert_string_equal(config.stragglers, "5s");
        assert_string_equal(config.database_path, "/var/lib/cgtask/cgtask.db");
        assert_true(config.max_labels == 2);
        assert_true(config.max_task_bytes == 255);
}

static void test_paths_have_one_spelling(void **state)
{
        static const char *const bad[] = {
                "/",
                "//a",
                "/a/",
                "/a//b",
                "/./a",
                "/a/.",
                "/a/..",
                "/../a",
                "a/b",
                "~/a",
                "\"/a\"",
                "./a",
                ("/a\x01"
                 "b"),
                "/a\x7f",
                "/a\tb",
        };
        static const char *const good[] = { "/a", "/a/b", "/a/.b", "/a/..b/c.", "/...", "/a b" };
        Complaints complaints;
        char text[64];

        for (size_t i = 0; i < N_ELEMENTS(bad); ++i) {
                Config config;

                (void)snprintf(text, sizeof(text), "[Daemon]\nDatabasePath=%s\n", bad[i]);
                if (load(text, &complaints, &config) != -EINVAL)
                        fail_msg("accepted: %s", bad[i]);
        }
        for (size_t i = 0; i < N_ELEMENTS(good); ++i) {
                _cleanup_(config_deinit) Config config = { 0 };

                (void)snprintf(text, sizeof(text), "[Daemon]\nDatabasePath=%s\n", good[i]);
                assert_int_equal(load(text, &complaints, &config), 0);
                assert_string_equal(config.database_path, good[i]);
        }
}

static void test_longest_interval_is_not_below_the_usual_one(void **state)
{
        _cleanup_(config_deinit) Config config = { 0 };
        Complaints complaints;

        assert_int_equal(load("[Sampling]\nIntervalSec=1min\n", &complaints, &config), 0);
        assert_true(config.sampling_interval_usec == MINUTE);
        assert_true(config.sampling_max_interval_usec == MINUTE);
}

static void test_deinit_accepts_zeroes(void **state)
{
        Config config = { 0 };

        config_deinit(&config);
        assert_int_equal(config_init(&config), 0);
        config_deinit(&config);
        config_deinit(&config);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_spans_are_parsed),
                cmocka_unit_test(test_spans_refuse_everything_else),
                cmocka_unit_test(test_sizes_are_parsed),
                cmocka_unit_test(test_sizes_refuse_everything_else),
                cmocka_unit_test(test_stragglers_are_parsed),
                cmocka_unit_test(test_defaults_are_those_of_the_design),
                cmocka_unit_test(test_every_key_is_set_and_dumped),
                cmocka_unit_test(test_flags_know_their_words),
                cmocka_unit_test(test_wrong_values_are_all_reported),
                cmocka_unit_test(test_unknown_keys_are_ignored_with_a_complaint),
                cmocka_unit_test(test_last_value_wins_and_an_empty_one_resets),
                cmocka_unit_test(test_paths_have_one_spelling),
                cmocka_unit_test(test_longest_interval_is_not_below_the_usual_one),
                cmocka_unit_test(test_deinit_accepts_zeroes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
