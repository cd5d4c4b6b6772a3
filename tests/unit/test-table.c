/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables: alignment, narrow terminals, hostile cells, JSON. */

#include "table.h"

#include "private/cleanup.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const TableColumn columns[] = {
        { "ID", "id", false, false },
        { "TASK", "task", false, true },
        { "PEAK", "peak_bytes", true, false },
        { "END", "end", false, false },
};

static const TableStyle plain = { .legend = true };

typedef struct Fixture {
        Table *table;
        char *text;
} Fixture;

static int set_up(void **state)
{
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        assert_int_equal(table_new(columns, N_ELEMENTS(columns), &f->table), 0);
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        Fixture *f = *state;

        assert_null(table_free(f->table));
        free(f->text);
        free(f);
        return 0;
}

static void add(Table *table, const char *id, const char *task, int64_t peak, const char *shown)
{
        assert_int_equal(table_add_row(table), 0);
        assert_int_equal(table_set_text(table, 0, id), 0);
        assert_int_equal(table_set_text(table, 1, task), 0);
        if (shown)
                assert_int_equal(table_set_integer(table, 2, peak, shown), 0);
}

static const char *print(Fixture *f, const TableStyle *style)
{
        FILE *stream;
        size_t n;

        free(f->text);
        f->text = NULL;
        stream = open_memstream(&f->text, &n);
        assert_non_null(stream);
        assert_int_equal(table_print(f->table, stream, style), 0);
        assert_int_equal(fclose(stream), 0);
        return f->text;
}

static void test_columns_are_aligned(void **state)
{
        Fixture *f = *state;

        add(f->table, "a", "load", 1024, "1.0K");
        add(f->table, "bbb", "x", 52428800, "50.0M");
        add(f->table, "c", NULL, 0, NULL);
        assert_int_equal(table_n_rows(f->table), 3);
        assert_string_equal(print(f, &plain), "ID  TASK  PEAK END\n"
                                              "a   load  1.0K -\n"
                                              "bbb x    50.0M -\n"
                                              "c   -        - -\n");
}

static void test_without_legend_there_are_only_rows(void **state)
{
        Fixture *f = *state;
        TableStyle style = { .legend = false };

        assert_string_equal(print(f, &style), "");
        add(f->table, "a", "b", 1, "1B");
        assert_string_equal(print(f, &style), "a b 1B -\n");
}

static void test_wide_characters_take_two_columns(void **state)
{
        Fixture *f = *state;

        add(f->table, "1", "\xe6\xbc\xa2\xe5\xad\x97x", 1, "1B");
        add(f->table, "2", "caf\xc3\xa9", 1, "1B");
        assert_string_equal(print(f, &plain), "ID TASK  PEAK END\n"
                                              "1  \xe6\xbc\xa2\xe5\xad\x97x   1B -\n"
                                              "2  caf\xc3\xa9    1B -\n");
}

static void test_narrow_terminals_cut_only_what_may_shrink(void **state)
{
        Fixture *f = *state;
        TableStyle style = { .legend = true, .n_columns = 26 };

        add(f->table, "0123456789", "a-very-long-name", 1, "1B");
        assert_string_equal(print(f, &style), "ID         TASK     PEAK END\n"
                                              "0123456789 a-very-\xe2\x80\xa6   1B -\n");
        style.n_columns = 32;
        assert_string_equal(print(f, &style), "ID         TASK         PEAK END\n"
                                              "0123456789 a-very-long\xe2\x80\xa6   1B -\n");
        style.n_columns = 0; /* a pipe */
        assert_string_equal(print(f, &style), "ID         TASK             PEAK END\n"
                                              "0123456789 a-very-long-name   1B -\n");
}

static void test_hostile_cells_stay_in_their_line(void **state)
{
        Fixture *f = *state;
        TableStyle style = { .legend = false };

        add(f->table, "a\nb", "\033[2J\xe2\x80\xae\xff", 1, "1B\r");
        assert_string_equal(print(f, &style), "a\\nb \\x1b[2J\\u{202e}\\xff 1B\\x0d -\n");
}

static void test_colours_do_not_disturb_widths(void **state)
{
        Fixture *f = *state;
        TableStyle style = { .legend = false, .colour = true };

        add(f->table, "a", "ok", 1, "1B");
        add(f->table, "b", "oom", 1, "1B");
        table_set_colour(f->table, 1, TABLE_COLOUR_RED);
        assert_string_equal(print(f, &style), "a ok  1B -\n"
                                              "b \033[31moom\033[0m 1B -\n");
        style.colour = false;
        assert_string_equal(print(f, &style), "a ok  1B -\n"
                                              "b oom 1B -\n");
}

static void test_json_has_keys_values_and_nulls(void **state)
{
        Fixture *f = *state;
        TableStyle style = { .json = TABLE_JSON_SHORT, .legend = true, .n_columns = 5 };

        assert_string_equal(print(f, &style), "[]\n");
        add(f->table, "a", "t\033\"", 52428800, "50.0M");
        add(f->table, "b\xff", NULL, 0, NULL);
        assert_string_equal(
                print(f, &style),
                "[{\"id\":\"a\",\"task\":\"t\\u001B\\\"\",\"peak_bytes\":52428800,\"end\":null},"
                "{\"id\":\"b\xef\xbf\xbd\",\"task\":null,\"peak_bytes\":null,\"end\":null}]\n");
}

static void test_pretty_json_is_indented(void **state)
{
        Fixture *f = *state;
        TableStyle style = { .json = TABLE_JSON_PRETTY };

        add(f->table, "a", NULL, 0, NULL);
        assert_string_equal(print(f, &style), "[\n    {\n        \"id\": \"a\",\n"
                                              "        \"task\": null,\n"
                                              "        \"peak_bytes\": null,\n"
                                              "        \"end\": null\n    }\n]\n");
}

static void test_many_rows_are_kept(void **state)
{
        Fixture *f = *state;
        TableStyle style = { .legend = false };
        const char *p;
        int i;

        for (i = 0; i < 1000; i++)
                add(f->table, "x", "y", i, "z");
        p = print(f, &style);
        for (i = 0; (p = strchr(p, '\n')); i++)
                p++;
        assert_int_equal(i, 1000);
}

static void test_a_cell_may_be_set_again(void **state)
{
        Fixture *f = *state;
        TableStyle style = { .legend = false };

        add(f->table, "x", "y", 1, "1B");
        assert_int_equal(table_set_text(f->table, 0, "other"), 0);
        assert_string_equal(print(f, &style), "other y 1B -\n");
}

#define table_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                table_test(test_columns_are_aligned),
                table_test(test_without_legend_there_are_only_rows),
                table_test(test_wide_characters_take_two_columns),
                table_test(test_narrow_terminals_cut_only_what_may_shrink),
                table_test(test_hostile_cells_stay_in_their_line),
                table_test(test_colours_do_not_disturb_widths),
                table_test(test_json_has_keys_values_and_nulls),
                table_test(test_pretty_json_is_indented),
                table_test(test_many_rows_are_kept),
                table_test(test_a_cell_may_be_set_again),
        };

        (void)setlocale(LC_CTYPE, "C.UTF-8");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
