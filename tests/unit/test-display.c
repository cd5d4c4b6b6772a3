/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What reaches a terminal: nothing hidden, nothing that moves the cursor, right widths. */

#include "display.h"

#include "private/cleanup.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
        const char *raw;
        const char *shown;
} escapes[] = {
        { "", "" },
        { "dag/task-1 [x]", "dag/task-1 [x]" },
        { "a\\b", "a\\b" },
        { "caf\xc3\xa9", "caf\xc3\xa9" },
        { "\xe6\xbc\xa2", "\xe6\xbc\xa2" },
        { "two\nlines\tand tabs\r", "two\\nlines\\tand tabs\\x0d" },
        { "\033[31mred\033[0m", "\\x1b[31mred\\x1b[0m" },
        { "\033]0;title\a", "\\x1b]0;title\\x07" },
        { "\x7f", "\\x7f" },
        { "\xc2\x9b"
          "31m",
          "\\u{9b}31m" }, /* C1 CSI */
        { "\x9b"
          "31m",
          "\\x9b"
          "31m" },                    /* the same as a bare byte */
        { "\xc0\xaf", "\\xc0\\xaf" }, /* not the shortest form */
        { "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
        { "\xed\xa0\x80", "\\xed\\xa0\\x80" },          /* a surrogate */
        { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, /* above U+10FFFF */
        { "\xff", "\\xff" },
        { "cut\xe6\xbc", "cut\\xe6\\xbc" },
        { "\xc3", "\\xc3" },
        { "abc\xe2\x80\xaegpj", "abc\\u{202e}gpj" }, /* right-to-left override */
        { "a\xe2\x80\x8b"
          "b",
          "a\\u{200b}b" }, /* zero width space */
        { "\xef\xbb\xbf", "\\u{feff}" },
        { "\xf3\xa0\x81\x81", "\\u{e0041}" }, /* a tag */
        { "\xef\xbf\xbf", "\\u{ffff}" },
};

static void test_escape_leaves_only_what_is_visible(void **state)
{
        size_t i;

        for (i = 0; i < N_ELEMENTS(escapes); i++) {
                _cleanup_free_ char *text = NULL;

                assert_int_equal(display_escape(escapes[i].raw, &text), 0);
                assert_string_equal(text, escapes[i].shown);
        }
}

static void test_escape_twice_changes_nothing(void **state)
{
        size_t i;

        for (i = 0; i < N_ELEMENTS(escapes); i++) {
                _cleanup_free_ char *text = NULL;

                assert_int_equal(display_escape(escapes[i].shown, &text), 0);
                assert_string_equal(text, escapes[i].shown);
        }
}

static void test_every_byte_is_escaped_or_printable(void **state)
{
        unsigned a, b;

        for (a = 1; a < 256; a++)
                for (b = 1; b < 256; b++) {
                        _cleanup_free_ char *text = NULL;
                        char raw[] = { (char)a, (char)b, 0 };
                        const char *p;

                        assert_int_equal(display_escape(raw, &text), 0);
                        for (p = text; *p; p++)
                                assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
                }
}

static void test_width_counts_columns(void **state)
{
        assert_int_equal(display_width(""), 0);
        assert_int_equal(display_width("abc"), 3);
        assert_int_equal(display_width("caf\xc3\xa9"), 4);
        assert_int_equal(display_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);
        assert_int_equal(display_width("e\xcc\x81"), 1); /* a combining accent */
}

static void test_cut_ends_in_an_ellipsis(void **state)
{
        static const struct {
                const char *text;
                size_t n_columns;
                const char *cut;
        } cases[] = {
                { "abcdef", 6, "abcdef" },
                { "abcdef", 5, "abcd\xe2\x80\xa6" },
                { "abcdef", 1, "\xe2\x80\xa6" },
                { "abcdef", 0, "" },
                { "", 0, "" },
                { "\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97" },
                { "\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2\xe2\x80\xa6" },
                { "\xe6\xbc\xa2\xe5\xad\x97", 2, "\xe2\x80\xa6" }, /* half a character never */
        };
        size_t i;

        for (i = 0; i < N_ELEMENTS(cases); i++) {
                _cleanup_free_ char *cut = NULL;

                assert_int_equal(display_cut(cases[i].text, cases[i].n_columns, &cut), 0);
                assert_string_equal(cut, cases[i].cut);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_escape_leaves_only_what_is_visible),
                cmocka_unit_test(test_escape_twice_changes_nothing),
                cmocka_unit_test(test_every_byte_is_escaped_or_printable),
                cmocka_unit_test(test_width_counts_columns),
                cmocka_unit_test(test_cut_ends_in_an_ellipsis),
        };

        (void)setlocale(LC_CTYPE, "C.UTF-8");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
