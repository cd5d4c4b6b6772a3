/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The xattr: what goes in comes back, and what was not written by us is told apart. */

#include "metadata.h"

#include "private/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_text(const char *got, const char *wanted)
{
        if (wanted)
                assert_string_equal(got, wanted);
        else
                assert_null(got);
}

static void assert_same(const Metadata *a, const Metadata *b)
{
        assert_text(a->task, b->task);
        assert_text(a->labels, b->labels);
        assert_text(a->attempt_of, b->attempt_of);
        assert_text(a->command, b->command);
        assert_text(a->origin, b->origin);
        assert_text(a->partial_reason, b->partial_reason);
        assert_int_equal(a->uid, b->uid);
        assert_int_equal(a->gid, b->gid);
        assert_true(a->stragglers_usec == b->stragglers_usec);
        assert_true(a->created_usec == b->created_usec);
        assert_true(a->created_monotonic_usec == b->created_monotonic_usec);
        assert_true(a->started_usec == b->started_usec);
        assert_true(a->started_monotonic_usec == b->started_monotonic_usec);
        assert_int_equal(a->runner_pid, b->runner_pid);
        assert_int_equal(a->supervisor_pid, b->supervisor_pid);
        assert_true(a->runner_start == b->runner_start);
        assert_true(a->supervisor_start == b->supervisor_start);
        assert_int_equal(a->partial, b->partial);
        assert_int_equal(a->has_ancestor_ooms, b->has_ancestor_ooms);
        assert_true(a->ancestor_ooms == b->ancestor_ooms);
        assert_int_equal(a->exit, b->exit);
        assert_int_equal(a->exit_status, b->exit_status);
        assert_true(a->runner_max_rss_bytes == b->runner_max_rss_bytes);
}

/* Encodes, decodes, compares; m stays the caller's. */
static void assert_round_trip(const Metadata *m)
{
        _cleanup_free_ char *text = NULL, *again = NULL;
        Metadata back;

        assert_int_equal(metadata_encode(m, &text), 0);
        assert_null(strchr(text, '\n'));
        assert_int_equal(metadata_decode(text, &back), 0);
        assert_same(&back, m);
        assert_int_equal(metadata_encode(&back, &again), 0);
        assert_string_equal(again, text);
        metadata_deinit(&back);
}

static void test_null_survives(void **state)
{
        _cleanup_free_ char *text = NULL;
        Metadata m = METADATA_NULL;

        assert_round_trip(&m);
        assert_int_equal(metadata_encode(&m, &text), 0);
        assert_string_equal(text, "{}");
}

static void test_every_member_survives(void **state)
{
        Metadata m = {
                .task = (char *)"dag/task \xc3\xa9 \"q\"",
                .labels = (char *)"{\"run\":\"a\\\"b\\\\\"}",
                .attempt_of = (char *)"0197f0c0a1b2733c8d4e5f6071829304",
                .command = (char *)"/bin/sh -c ?",
                .uid = 1000,
                .gid = (gid_t)-2,
                .stragglers_usec = 10000000,
                .created_usec = 1764500000000000,
                .created_monotonic_usec = 1,
                .started_usec = 1764500000000001,
                .started_monotonic_usec = INT64_MAX,
                .runner_pid = 4194304,
                .supervisor_pid = 1,
                .runner_start = 123456789,
                .supervisor_start = 2,
                .origin = (char *)"/user.slice/a b",
                .partial = true,
                .partial_reason = (char *)"escaped",
                .has_ancestor_ooms = true,
                .ancestor_ooms = 3,
                .exit = VERDICT_EXIT_SIGNALED,
                .exit_status = 9,
                .runner_max_rss_bytes = 1 << 20,
        };

        assert_round_trip(&m);
}

/* 0 is a value for some members, and the default for others. */
static void test_edges_survive(void **state)
{
        Metadata m = METADATA_NULL;

        m.stragglers_usec = 0; /* kill */
        assert_round_trip(&m);
        m.stragglers_usec = UINT64_MAX; /* wait */
        m.runner_max_rss_bytes = 0;
        assert_round_trip(&m);
        m.exit = VERDICT_EXIT_EXITED;
        m.exit_status = 0;
        assert_round_trip(&m);
        m.uid = (uid_t)-1; /* not known */
        m.gid = (gid_t)-1;
        assert_round_trip(&m);
        m.task = (char *)"";
        assert_round_trip(&m);
}

/* The name of a cgroup may be any bytes: who comes from such a one must not stop the daemon. */
static void test_text_that_is_not_utf8_is_left_out(void **state)
{
        _cleanup_free_ char *text = NULL;
        Metadata m = METADATA_NULL, back;

        m.task = (char *)"t";
        m.origin = (char *)"/user.slice/\xff";
        assert_int_equal(metadata_encode(&m, &text), 0);
        assert_int_equal(metadata_decode(text, &back), 0);
        assert_null(back.origin);
        assert_string_equal(back.task, "t");
        metadata_deinit(&back);
}

/* An older daemon wrote less, a newer one more: either finds the other's cgroups. */
static void test_other_versions_are_understood(void **state)
{
        Metadata m;

        assert_int_equal(
                metadata_decode("{\"task\":\"t\",\"uid\":7,\"of_tomorrow\":[1],\"also\":null}", &m),
                0);
        assert_string_equal(m.task, "t");
        assert_int_equal(m.uid, 7);
        assert_true(m.stragglers_usec == UINT64_MAX);
        assert_true(m.runner_max_rss_bytes == -1);
        assert_int_equal(m.exit, VERDICT_EXIT_UNKNOWN);
        metadata_deinit(&m);
}

static void test_hostile_texts_are_invalid(void **state)
{
        static const char *const cases[] = {
                "",
                "x",
                "[]",
                "null",
                "{",
                "{}{}",
                "{\"task\":1}",
                "{\"task\":null}",
                "{\"task\":[\"t\"]}",
                "{\"task\":\"a\",\"task\":\"b\"}",
                "{\"task\":\"\\u0000\"}",
                "{\"uid\":\"7\"}",
                "{\"uid\":7.5}",
                "{\"uid\":-1}",
                "{\"uid\":4294967296}",
                "{\"gid\":-7}",
                "{\"runner_pid\":4294967297}", /* would be pid 1 */
                "{\"supervisor_pid\":-4294967295}",
                "{\"exit_status\":9999999999}",
                "{\"runner_start\":9223372036854775808}",
                "{\"created_usec\":{}}",
                "{\"exit\":\"vanished\"}",
                "{\"task\":\"t\",\"uid\":\"x\",\"origin\":\"o\"}", /* texts taken before it are freed */
        };

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                Metadata m = { .uid = 4711 };

                if (metadata_decode(cases[i], &m) != METADATA_E_INVALID)
                        fail_msg("accepted: %s", cases[i]);
                assert_int_equal(m.uid, 4711);
        }
}

static void test_deinit_leaves_null(void **state)
{
        Metadata m;

        assert_int_equal(metadata_decode("{\"task\":\"t\",\"labels\":\"{}\",\"uid\":7}", &m), 0);
        metadata_deinit(&m);
        assert_null(m.task);
        assert_null(m.labels);
        assert_true(m.runner_max_rss_bytes == -1);
        metadata_deinit(&m);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_null_survives),
                cmocka_unit_test(test_every_member_survives),
                cmocka_unit_test(test_edges_survive),
                cmocka_unit_test(test_text_that_is_not_utf8_is_left_out),
                cmocka_unit_test(test_other_versions_are_understood),
                cmocka_unit_test(test_hostile_texts_are_invalid),
                cmocka_unit_test(test_deinit_leaves_null),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
