/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From facts to a row: what is known stands in its column, what is not is NULL. */

#include "row.h"

#include "private/cleanup.h"
#include "schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ID "0197f0c0a1b2733c8d4e5f6071829304"
#define BOOT "11111111111111111111111111111111"

typedef struct Fixture {
        Metadata metadata;
        Host host;
        RowFacts facts;
        VerdictInput verdict;
        ExecutionRecord record;
} Fixture;

static int set_up(void **state)
{
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        f->metadata = METADATA_NULL;
        f->host =
                (Host){ .boot_id = BOOT, .kernel_release = "6.12.1", .ncpu = 4, .page_size = 4096 };
        f->facts = (RowFacts){
                .id = ID, .cgroup_id = 4711, .metadata = &f->metadata, .host = &f->host
        };
        f->verdict = (VerdictInput){ .counters_known = true };
        execution_record_init(&f->record);
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        Fixture *f = *state;

        execution_record_deinit(&f->record);
        metadata_deinit(&f->metadata);
        free(f);
        return 0;
}

#define row_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static void describe(Fixture *f)
{
        assert_int_equal(row_describe(&f->facts, &f->record), 0);
}

/* What measure_final() would have said. */
static void capture(Fixture *f, int64_t peak)
{
        f->record.memory_peak_bytes = peak;
        f->record.memory_peak_is_lower_bound = 0;
        assert_int_equal(row_set_text(&f->record.capture, "captured"), 0);
}

static void conclude(Fixture *f)
{
        assert_int_equal(row_conclude(&f->facts, &f->verdict, &f->record), 0);
}

static void test_description_of_little_is_mostly_null(void **state)
{
        Fixture *f = *state;
        const ExecutionRecord *r = &f->record;

        f->metadata.uid = f->metadata.gid = (uid_t)-1; /* found without metadata */
        describe(f);
        assert_string_equal(r->id, ID);
        assert_string_equal(r->state, "running");
        assert_string_equal(r->boot_id, BOOT);
        assert_string_equal(r->kernel_release, "6.12.1");
        assert_string_equal(r->coverage, "full");
        assert_null(r->task);
        assert_null(r->labels);
        assert_null(r->owner); /* this host has no machine id */
        assert_null(r->result);
        assert_null(r->capture);
        assert_true(r->uid == RECORD_NULL && r->gid == RECORD_NULL);
        assert_true(r->created_usec == RECORD_NULL && r->started_usec == RECORD_NULL);
        assert_true(r->ended_usec == RECORD_NULL && r->duration_usec == RECORD_NULL);
        assert_true(r->memory_peak_bytes == RECORD_NULL);
        assert_true(r->anon_peak_sampled_bytes == RECORD_NULL); /* A9: no sample is not 0 */
        assert_int_equal(r->n_samples, 0);
        assert_int_equal(r->ncpu, 4);
        assert_int_equal(r->schema_version, SCHEMA_VERSION);
        assert_int_equal(r->cgroup_id, 4711);
}

static void test_description_is_complete_and_own(void **state)
{
        Fixture *f = *state;
        Metadata *m = &f->metadata;

        assert_int_equal(row_set_text(&m->task, "t"), 0);
        assert_int_equal(row_set_text(&m->labels, "{\"a\":\"b\"}"), 0);
        assert_int_equal(row_set_text(&m->attempt_of, ID), 0);
        assert_int_equal(row_set_text(&m->command, "sh"), 0);
        m->uid = 0;
        m->gid = 5;
        m->created_usec = 10;
        m->started_usec = 11;
        strcpy(f->host.owner, "o");
        describe(f);
        metadata_deinit(m); /* the record has copies */
        assert_string_equal(f->record.task, "t");
        assert_string_equal(f->record.labels, "{\"a\":\"b\"}");
        assert_string_equal(f->record.attempt_of, ID);
        assert_string_equal(f->record.command, "sh");
        assert_string_equal(f->record.owner, "o");
        assert_int_equal(f->record.uid, 0);
        assert_int_equal(f->record.gid, 5);
        assert_int_equal(f->record.created_usec, 10);
        assert_int_equal(f->record.started_usec, 11);
}

/* A checkpoint describes the same record anew. */
static void test_description_can_be_repeated(void **state)
{
        Fixture *f = *state;

        assert_int_equal(row_set_text(&f->metadata.task, "t"), 0);
        describe(f);
        describe(f);
        assert_string_equal(f->record.task, "t");
}

static void test_success_is_concluded(void **state)
{
        Fixture *f = *state;

        f->metadata.exit = VERDICT_EXIT_EXITED;
        f->metadata.runner_max_rss_bytes = 12345;
        f->metadata.started_usec = 100;
        f->metadata.started_monotonic_usec = 1000;
        f->facts.ended_usec = 50; /* the wall clock was set back */
        f->facts.ended_monotonic_usec = 1250;
        f->verdict.exit = VERDICT_EXIT_EXITED;
        describe(f);
        capture(f, 4096);
        conclude(f);
        assert_string_equal(f->record.state, "finished");
        assert_string_equal(f->record.result, "ok");
        assert_string_equal(f->record.oom_cause, "none");
        assert_string_equal(f->record.exit_kind, "exited");
        assert_int_equal(f->record.exit_status, 0);
        assert_int_equal(f->record.runner_rss_peak_bytes, 12345);
        assert_string_equal(f->record.runner_rss_source, "ru_maxrss");
        assert_int_equal(f->record.ended_usec, 50);
        assert_int_equal(f->record.duration_usec, 250);
        assert_string_equal(f->record.capture, "captured");
        assert_null(f->record.capture_reason);
        assert_int_equal(f->record.memory_peak_is_lower_bound, 0);
}

/* A7: without Finish there is no status, and nothing stands in for it. */
static void test_unknown_exit_leaves_null(void **state)
{
        Fixture *f = *state;

        f->metadata.exit_status = 137; /* a leftover, not a status */
        describe(f);
        capture(f, 4096);
        conclude(f);
        assert_string_equal(f->record.result, "unknown");
        assert_string_equal(f->record.exit_kind, "unknown");
        assert_true(f->record.exit_status == RECORD_NULL);
        assert_true(f->record.runner_rss_peak_bytes == RECORD_NULL);
        assert_null(f->record.runner_rss_source);
}

static void test_duration_is_never_negative(void **state)
{
        Fixture *f = *state;

        f->metadata.started_usec = 100;
        f->metadata.started_monotonic_usec = 1000;
        f->facts.ended_usec = 200;
        f->facts.ended_monotonic_usec = 999;
        describe(f);
        conclude(f);
        assert_true(f->record.duration_usec == RECORD_NULL);
        assert_int_equal(f->record.ended_usec, 200);
}

static void test_never_started_has_no_duration(void **state)
{
        Fixture *f = *state;

        f->facts.ended_usec = 200;
        f->facts.ended_monotonic_usec = 2000;
        describe(f);
        conclude(f);
        assert_true(f->record.duration_usec == RECORD_NULL);
        assert_null(f->record.capture_reason);
}

static void test_unseen_end_has_a_reason(void **state)
{
        Fixture *f = *state;

        f->metadata.started_usec = 100;
        f->metadata.started_monotonic_usec = 1000;
        describe(f);
        capture(f, 4096);
        conclude(f);
        assert_true(f->record.ended_usec == RECORD_NULL);
        assert_true(f->record.duration_usec == RECORD_NULL);
        assert_non_null(strstr(f->record.capture_reason, "not running"));
        assert_string_equal(f->record.capture, "captured"); /* the peak is as good as ever */
}

static void test_partial_coverage_makes_a_lower_bound(void **state)
{
        Fixture *f = *state;

        f->metadata.partial = true;
        assert_int_equal(row_set_text(&f->metadata.partial_reason, "attached while running"), 0);
        describe(f);
        assert_string_equal(f->record.coverage, "partial");
        capture(f, 4096);
        conclude(f);
        assert_string_equal(f->record.capture, "partial");
        assert_string_equal(f->record.capture_reason, "attached while running");
        assert_int_equal(f->record.memory_peak_is_lower_bound, 1);
}

/* A44: no peak stays `unsupported`; that it was partial, too, is added to the reason. */
static void test_partial_coverage_keeps_unsupported(void **state)
{
        Fixture *f = *state;

        f->metadata.partial = true;
        assert_int_equal(row_set_text(&f->metadata.partial_reason, "escaped"), 0);
        describe(f);
        assert_int_equal(row_set_text(&f->record.capture, "unsupported"), 0);
        assert_int_equal(row_set_text(&f->record.capture_reason, "no memory.peak"), 0);
        conclude(f);
        assert_string_equal(f->record.capture, "unsupported");
        assert_string_equal(f->record.capture_reason, "no memory.peak; escaped");
        assert_true(f->record.memory_peak_is_lower_bound == RECORD_NULL);
        assert_true(f->record.memory_peak_bytes == RECORD_NULL);
}

static void test_oom_is_concluded_from_counters(void **state)
{
        Fixture *f = *state;

        f->verdict.oom = f->verdict.oom_kill = 1;
        f->verdict.ancestor_known = true;
        f->verdict.exit = f->metadata.exit =
                VERDICT_EXIT_EXITED; /* with 0: a child was the victim */
        describe(f);
        capture(f, 4096);
        conclude(f);
        assert_string_equal(f->record.result, "oom");
        assert_string_equal(f->record.oom_cause, "own_limit");
}

static void test_lost_one_says_why(void **state)
{
        Fixture *f = *state;

        f->metadata.exit = VERDICT_EXIT_SIGNALED;
        f->metadata.exit_status = 9;
        describe(f);
        assert_int_equal(row_conclude_lost(&f->facts, "it vanished", &f->record), 0);
        assert_string_equal(f->record.state, "lost");
        assert_string_equal(f->record.result, "lost");
        assert_string_equal(f->record.capture, "lost");
        assert_string_equal(f->record.capture_reason, "it vanished");
        assert_int_equal(f->record.exit_status, 9);
        assert_true(f->record.memory_peak_bytes == RECORD_NULL);
        assert_true(f->record.memory_peak_is_lower_bound == RECORD_NULL);
}

/* The peak was read, and then the directory went. */
static void test_lost_one_keeps_its_peak_as_a_bound(void **state)
{
        Fixture *f = *state;

        describe(f);
        f->record.memory_peak_bytes = 4096;
        assert_int_equal(row_conclude_lost(&f->facts, "it vanished", &f->record), 0);
        assert_int_equal(f->record.memory_peak_bytes, 4096);
        assert_int_equal(f->record.memory_peak_is_lower_bound, 1);
}

static void test_text_is_replaced(void **state)
{
        char *text = NULL;

        assert_int_equal(row_set_text(&text, "a"), 0);
        assert_int_equal(row_set_text(&text, text), 0); /* even by itself */
        assert_string_equal(text, "a");
        assert_int_equal(row_set_text(&text, NULL), 0);
        assert_null(text);
        assert_int_equal(row_set_text(&text, NULL), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                row_test(test_description_of_little_is_mostly_null),
                row_test(test_description_is_complete_and_own),
                row_test(test_description_can_be_repeated),
                row_test(test_success_is_concluded),
                row_test(test_unknown_exit_leaves_null),
                row_test(test_duration_is_never_negative),
                row_test(test_never_started_has_no_duration),
                row_test(test_unseen_end_has_a_reason),
                row_test(test_partial_coverage_makes_a_lower_bound),
                row_test(test_partial_coverage_keeps_unsupported),
                row_test(test_oom_is_concluded_from_counters),
                row_test(test_lost_one_says_why),
                row_test(test_lost_one_keeps_its_peak_as_a_bound),
                row_test(test_text_is_replaced),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
