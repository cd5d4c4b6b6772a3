/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A record on the wire: every column under its name, NULL left out, nothing invented. */

#include "execution-json.h"

#include "private/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static size_t count_columns(void)
{
        size_t n = 0;

#define COUNT(kind, column, member) ++n;
        EXECUTION_COLUMNS(COUNT)
        return n;
}

static void test_null_record_is_an_empty_object(void **state)
{
        ExecutionRecord r;
        json_t *o;

        execution_record_init(&r);
        o = execution_json_encode(&r, NULL, RECORD_NULL, RECORD_NULL);
        assert_true(json_is_object(o));
        assert_int_equal(json_object_size(o), 0);
        json_decref(o);
}

static void test_every_column_has_its_member(void **state)
{
        ExecutionRecord r;
        json_t *o;
        int64_t n = 0;

        execution_record_init(&r);
#define FILL_TEXT(column) r.column = strdup(#column);
#define FILL_JSON(column) r.column = strdup("{\"" #column "\":1}");
#define FILL_INTEGER(column) r.column = ++n;
#define FILL_FLAG(column) r.column = 1;
#define FILL(kind, column, member) FILL_##kind(column)
        EXECUTION_COLUMNS(FILL)
        o = execution_json_encode(&r, "/c", 1, 2);
        assert_int_equal(json_object_size(o), count_columns() + 3);
#define EXPECT_TEXT(column, member) \
        assert_string_equal(json_string_value(json_object_get(o, member)), #column);
#define EXPECT_JSON(column, member)                                                                \
        assert_int_equal(json_integer_value(json_object_get(json_object_get(o, member), #column)), \
                         1);
#define EXPECT_INTEGER(column, member) \
        assert_int_equal(json_integer_value(json_object_get(o, member)), r.column);
#define EXPECT_FLAG(column, member) assert_true(json_is_true(json_object_get(o, member)));
#define EXPECT(kind, column, member) EXPECT_##kind(column, member)
        EXECUTION_COLUMNS(EXPECT)
        assert_string_equal(json_string_value(json_object_get(o, "cgroupPath")), "/c");
        assert_int_equal(json_integer_value(json_object_get(o, "memoryPeak")), 1);
        assert_int_equal(json_integer_value(json_object_get(o, "memoryCurrent")), 2);
        json_decref(o);
        execution_record_deinit(&r);
}

/* A44: 0 is a number, NULL is none; they never stand for each other. */
static void test_zero_is_not_null(void **state)
{
        ExecutionRecord r;
        json_t *o;

        execution_record_init(&r);
        r.memory_swap_peak_bytes = 0;
        r.memory_peak_is_lower_bound = 0;
        r.exit_status = INT64_MAX;
        o = execution_json_encode(&r, NULL, 0, RECORD_NULL);
        assert_int_equal(json_object_size(o), 4);
        assert_true(json_is_integer(json_object_get(o, "memorySwapPeakBytes")));
        assert_true(json_is_false(json_object_get(o, "memoryPeakIsLowerBound")));
        assert_true(json_integer_value(json_object_get(o, "exitStatus")) == INT64_MAX);
        assert_true(json_is_integer(json_object_get(o, "memoryPeak")));
        assert_null(json_object_get(o, "memoryPeakBytes"));
        json_decref(o);
}

/* What a damaged database could hold. */
static void test_broken_json_column_is_left_out(void **state)
{
        ExecutionRecord r;
        json_t *o;

        execution_record_init(&r);
        r.labels = strdup("{\"a\":");
        r.task = strdup("t");
        o = execution_json_encode(&r, NULL, RECORD_NULL, RECORD_NULL);
        assert_int_equal(json_object_size(o), 1);
        json_decref(o);
        execution_record_deinit(&r);
}

/* Nor must one text that is not UTF-8 take the whole answer with it. */
static void test_text_that_is_not_utf8_is_left_out(void **state)
{
        ExecutionRecord r;
        json_t *o;

        execution_record_init(&r);
        r.command = strdup("\xff");
        r.task = strdup("t");
        o = execution_json_encode(&r, "/\xff", RECORD_NULL, RECORD_NULL);
        assert_int_equal(json_object_size(o), 1);
        assert_string_equal(json_string_value(json_object_get(o, "task")), "t");
        json_decref(o);
        execution_record_deinit(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_null_record_is_an_empty_object),
                cmocka_unit_test(test_every_column_has_its_member),
                cmocka_unit_test(test_zero_is_not_null),
                cmocka_unit_test(test_broken_json_column_is_left_out),
                cmocka_unit_test(test_text_that_is_not_utf8_is_left_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
