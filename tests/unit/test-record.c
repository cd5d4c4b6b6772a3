/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records as data: both names of every column, ids as people type them, filters, order. */

#include "record.h"

#include "private/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define ID "0198c2f1aabb7ccd8eef001122334455"

/* Every column has a value of its own, and comes back from the wire under its other name. */
static void test_every_column_goes_both_ways(void **state)
{
        _cleanup_(record_deinitp) ExecutionRecord record;
        json_auto_t *wire = json_object(), *row = NULL;
        const RecordColumn *c;
        json_t *value;
        size_t i;

        for (i = 0; i < RECORD_N_COLUMNS; i++) {
                c = &record_columns[i];
                value = c->kind == RECORD_KIND_TEXT   ? json_string(c->name)
                        : c->kind == RECORD_KIND_JSON ? json_pack("{s:i}", c->name, (int)i)
                        : c->kind == RECORD_KIND_FLAG ? json_true()
                                                      : json_integer((json_int_t)i);
                assert_int_equal(json_object_set_new(wire, c->member, value), 0);
        }
        assert_int_equal(record_from_json(wire, &record), 0);
        assert_string_equal(record.task, "task");
        assert_string_equal(record.labels, "{\"labels\":2}");
        assert_int_equal(record.memory_peak_is_lower_bound, 1);
        assert_int_equal(record_to_json(&record, &row), 0);
        assert_int_equal(json_object_size(row), RECORD_N_COLUMNS);
        for (i = 0; i < RECORD_N_COLUMNS; i++)
                assert_true(json_equal(json_object_get(wire, record_columns[i].member),
                                       json_object_get(row, record_columns[i].name)));
}

/* A44: what is not known is null, never 0. */
static void test_absent_members_are_null(void **state)
{
        _cleanup_(record_deinitp) ExecutionRecord record;
        json_auto_t *wire = json_object(), *row = NULL;
        const char *key;
        json_t *value;

        assert_int_equal(record_from_json(wire, &record), 0);
        assert_int_equal(record.memory_peak_bytes, RECORD_NULL);
        assert_int_equal(record_to_json(&record, &row), 0);
        json_object_foreach(row, key, value)
                assert_true(json_is_null(value));
}

static void test_members_of_another_type_are_null(void **state)
{
        _cleanup_(record_deinitp) ExecutionRecord record;
        json_auto_t *wire =
                json_pack("{s:i, s:s, s:s, s:i, s:f, s:[i]}", "task", 5, "memoryPeakBytes", "12",
                          "labels", "x", "profiled", 1, "uid", 1.5, "memoryStat", 1);

        assert_non_null(wire);
        assert_int_equal(record_from_json(wire, &record), 0);
        assert_null(record.task);
        assert_null(record.labels);
        assert_null(record.memory_stat);
        assert_int_equal(record.memory_peak_bytes, RECORD_NULL);
        assert_int_equal(record.profiled, RECORD_NULL);
        assert_int_equal(record.uid, RECORD_NULL);
}

static void test_texts_that_are_not_json_come_as_texts(void **state)
{
        _cleanup_(record_deinitp) ExecutionRecord record;
        json_auto_t *row = NULL;

        execution_record_init(&record);
        record.labels = strdup("{broken");
        record.command = strdup("bad\xff");
        assert_int_equal(record_to_json(&record, &row), 0);
        assert_string_equal(json_string_value(json_object_get(row, "labels")), "{broken");
        assert_string_equal(json_string_value(json_object_get(row, "command")), "bad\xef\xbf\xbd");
}

static void test_ids_are_read_as_people_type_them(void **state)
{
        static const struct {
                const char *text;
                const char *part;
        } good[] = {
                { ID, ID },
                { "0198C2F1AABB7CCD8EEF001122334455", ID },
                { "0198c2f1-aabb-7ccd-8eef-001122334455", ID },
                { "x-" ID, ID },
                { "/sys/fs/cgroup/cgtask.slice/cgtask-executions.service/x-" ID, ID },
                { "0198c2f1", "0198c2f1" },
                { "22334455", "22334455" },
        };
        static const char *const bad[] = {
                "",    "0198c2f",      "0198c2fg",   ID "0",
                "x-",  "0198c2f1 ",    "0198c2f1\n", "--------",
                "../", "x-x-0198c2f1", "' OR 1=1",   "0198c2f1aabb%cdef",
        };
        char part[WIRE_ID_LENGTH + 1] = "untouched";
        size_t i;

        for (i = 0; i < N_ELEMENTS(bad); i++)
                assert_false(record_parse_id(bad[i], part));
        assert_string_equal(part, "untouched");
        for (i = 0; i < N_ELEMENTS(good); i++) {
                assert_true(record_parse_id(good[i].text, part));
                assert_string_equal(part, good[i].part);
        }
}

static void test_filters_are_about_one_thing_each(void **state)
{
        _cleanup_(record_deinitp) ExecutionRecord r;
        RecordFilter all = RECORD_FILTER_INIT, f;

        execution_record_init(&r);
        assert_true(record_matches(&r, &all));
        r.id = strdup(ID);
        r.task = strdup("etl/load");
        r.state = strdup("finished");
        r.uid = 1000;
        r.created_usec = 50;
        r.ended_usec = 100;

        f = all, f.task = "etl/*";
        assert_true(record_matches(&r, &f));
        f.task = "*"; /* a slash is nothing special in a task key */
        assert_true(record_matches(&r, &f));
        f.task = "etl";
        assert_false(record_matches(&r, &f));
        f = all, f.state = "running";
        assert_false(record_matches(&r, &f));
        f = all, f.uid = 1000;
        assert_true(record_matches(&r, &f));
        f.uid = 0;
        assert_false(record_matches(&r, &f));
        f = all, f.since_usec = 100;
        assert_true(record_matches(&r, &f));
        f.since_usec = 101;
        assert_false(record_matches(&r, &f));
        f = all, f.id_part = "0198c2f1";
        assert_true(record_matches(&r, &f));
        f.id_part = "22334455";
        assert_true(record_matches(&r, &f));
        f.id_part = "aabb7ccd";
        assert_false(record_matches(&r, &f));
}

static void test_running_ones_are_always_recent(void **state)
{
        _cleanup_(record_deinitp) ExecutionRecord r;
        RecordFilter f = RECORD_FILTER_INIT;

        execution_record_init(&r);
        r.state = strdup("running");
        r.created_usec = 1;
        f.since_usec = 1000000;
        assert_true(record_matches(&r, &f));
        r.state[0] = 'R'; /* anything else without an end: by its beginning */
        assert_false(record_matches(&r, &f));
}

static void test_lists_are_newest_first_and_cut(void **state)
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        ExecutionRecord r;
        unsigned i;

        for (i = 0; i < 100; i++) {
                execution_record_init(&r);
                assert_true(asprintf(&r.id, "%032x", i * 7 % 100) > 0);
                assert_int_equal(record_list_add(&list, &r), 0);
                assert_null(r.id);
        }
        record_list_finish(&list, -1);
        assert_int_equal(list.n_records, 100);
        record_list_finish(&list, 3);
        assert_int_equal(list.n_records, 3);
        assert_string_equal(list.records[0].id, "00000000000000000000000000000063");
        assert_string_equal(list.records[2].id, "00000000000000000000000000000061");
        record_list_finish(&list, 0);
        assert_int_equal(list.n_records, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_column_goes_both_ways),
                cmocka_unit_test(test_absent_members_are_null),
                cmocka_unit_test(test_members_of_another_type_are_null),
                cmocka_unit_test(test_texts_that_are_not_json_come_as_texts),
                cmocka_unit_test(test_ids_are_read_as_people_type_them),
                cmocka_unit_test(test_filters_are_about_one_thing_each),
                cmocka_unit_test(test_running_ones_are_always_recent),
                cmocka_unit_test(test_lists_are_newest_first_and_cut),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
