/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The grammar of messages: what is a call, what is not, and what comes out of its parameters. */

#include "varlink.h"

#include "private/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int parse(const char *text, VarlinkCall *call)
{
        return varlink_parse_call(text, strlen(text), call);
}

static void test_plain_call_is_parsed(void **state)
{
        VarlinkCall call;

        assert_int_equal(
                parse("{\"method\":\"a.b.C\",\"parameters\":{\"x\":1},\"more\":true}", &call), 0);
        assert_string_equal(call.method, "a.b.C");
        assert_int_equal(json_object_size(call.parameters), 1);
        assert_true(call.more);
        assert_false(call.oneway);
        assert_false(call.upgrade);
        varlink_call_deinit(&call);
        assert_null(call.message);
        assert_null(call.method);
}

static void test_well_formed_calls_are_accepted(void **state)
{
        static const char *const cases[] = {
                "{\"method\":\"\"}", /* no such method, but a call */
                "{\"method\":\"M\"}",
                "{\"method\":\"M\",\"parameters\":null}",
                "{\"method\":\"M\",\"parameters\":{}}",
                " { \"method\" : \"M\" } ",
                "{\"method\":\"M\",\"oneway\":false,\"more\":false,\"upgrade\":false}",
                "{\"method\":\"M\",\"upgrade\":true}",
                "{\"method\":\"M\",\"oneway\":true,\"more\":false}",
                "{\"method\":\"\xc3\xa9\"}",
        };

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                VarlinkCall call;

                if (parse(cases[i], &call) != 0)
                        fail_msg("refused: %s", cases[i]);
                varlink_call_deinit(&call);
        }
}

static void test_hostile_messages_are_no_calls(void **state)
{
        static const char *const cases[] = {
                "",
                " ",
                "x",
                "null",
                "[]",
                "[{\"method\":\"M\"}]",
                "\"M\"",
                "1",
                "{}",
                "{\"method\":null}",
                "{\"method\":1}",
                "{\"method\":[\"M\"]}",
                "{\"parameters\":{}}",
                "{\"method\":\"M\",}",
                "{\"method\":\"M\"}}",
                "{\"method\":\"M\"} {\"method\":\"M\"}",
                "{\"method\":\"M\"",
                "{'method':'M'}",
                "{\"method\":\"M\",\"method\":\"N\"}",
                "{\"method\":\"M\",\"parameters\":{\"a\":1,\"a\":2}}",
                "{\"method\":\"M\",\"parameters\":[]}",
                "{\"method\":\"M\",\"parameters\":\"x\"}",
                "{\"method\":\"M\",\"parameters\":1}",
                "{\"method\":\"M\",\"parameters\":false}",
                "{\"method\":\"M\",\"oneway\":1}",
                "{\"method\":\"M\",\"more\":\"true\"}",
                "{\"method\":\"M\",\"more\":null}",
                "{\"method\":\"M\",\"upgrade\":{}}",
                "{\"method\":\"M\",\"oneway\":true,\"more\":true}",
                "{\"method\":\"M\",\"oneway\":true,\"upgrade\":true}",
                "{\"method\":\"M\",\"more\":true,\"upgrade\":true}",
                "{\"method\":\"M\",\"flags\":0}",
                "{\"method\":\"M\",\"Method\":\"M\"}",
                "{\"method\":\"M\",\"parameters\":{\"a\":NaN}}",
                "{\"method\":\"M\",\"parameters\":{\"a\":9223372036854775808}}",
                "{\"method\":\"M\",\"parameters\":{\"a\":\"\\u0000\"}}",
                "{\"method\":\"M\\u0000N\"}",
                "{\"method\":\"\xff\"}",
                "{\"method\":\"\xc3\"}",
                "{\"method\":\"\xed\xa0\x80\"}", /* a surrogate */
                "{\"method\":\"M\",\"parameters\":{\"a\":\"\x01\"}}",
                "\xef\xbb\xbf{\"method\":\"M\"}",
        };

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                VarlinkCall call = { .method = "untouched" };

                if (parse(cases[i], &call) != VARLINK_E_MALFORMED)
                        fail_msg("taken for a call: %s", cases[i]);
                assert_string_equal(call.method, "untouched");
        }
}

/* The length counts, not a NUL: the text of a frame need not end with one. */
static void test_length_bounds_the_message(void **state)
{
        static const char text[] = "{\"method\":\"M\"}garbage";
        VarlinkCall call;

        assert_int_equal(varlink_parse_call(text, strlen(text) - 7, &call), 0);
        varlink_call_deinit(&call);
        assert_int_equal(varlink_parse_call(text, strlen(text), &call), VARLINK_E_MALFORMED);
        assert_int_equal(varlink_parse_call("{\"method\":\"M\"}\0", 15, &call),
                         VARLINK_E_MALFORMED);
}

static void test_deep_nesting_is_refused(void **state)
{
        enum { DEPTH = 100000 };
        static const char begin[] = "{\"method\":\"M\",\"parameters\":{\"a\":";
        char *text = malloc(sizeof(begin) + DEPTH);
        VarlinkCall call;

        assert_non_null(text);
        strcpy(text, begin);
        memset(text + sizeof(begin) - 1, '[', DEPTH);
        assert_int_equal(varlink_parse_call(text, sizeof(begin) - 1 + DEPTH, &call),
                         VARLINK_E_MALFORMED);
        free(text);
}

static void assert_reply(const char *error, json_t *parameters, bool continues, const char *wanted)
{
        char *text;
        json_t *got, *want = json_loads(wanted, 0, NULL);

        assert_int_equal(varlink_format_reply(error, parameters, continues, &text), 0);
        got = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        if (!want || !json_equal(got, want))
                fail_msg("got %s, wanted %s", text, wanted);
        json_decref(got);
        json_decref(want);
        json_decref(parameters);
        free(text);
}

static void test_replies_have_the_form_of_varlink(void **state)
{
        assert_reply(NULL, NULL, false, "{\"parameters\":{}}");
        assert_reply(NULL, json_pack("{s:i}", "a", 1), false, "{\"parameters\":{\"a\":1}}");
        assert_reply(NULL, json_pack("{s:s}", "a", "\n\""), true,
                     "{\"parameters\":{\"a\":\"\\n\\\"\"},\"continues\":true}");
        assert_reply("a.B", NULL, false, "{\"error\":\"a.B\",\"parameters\":{}}");
        assert_reply("a.B", json_pack("{s:b}", "a", 1), false,
                     "{\"error\":\"a.B\",\"parameters\":{\"a\":true}}");
}

static json_t *parameters_of(const char *text)
{
        json_t *o = json_loads(text, 0, NULL);

        assert_non_null(o);
        return o;
}

static void test_parameters_are_strict(void **state)
{
        json_t *p = parameters_of("{\"n\":null,\"t\":\"x\",\"b\":true,\"i\":7,\"r\":7.0,\"neg\":-1,"
                                  "\"big\":9223372036854775807}");
        const char *text = "before";
        int64_t number = 42;
        bool flag = true;

        assert_int_equal(varlink_get_text(p, "absent", &text), 0);
        assert_int_equal(varlink_get_text(p, "n", &text), 0);
        assert_string_equal(text, "before");
        assert_int_equal(varlink_get_text(p, "i", &text), VARLINK_E_INVALID);
        assert_int_equal(varlink_get_text(p, "b", &text), VARLINK_E_INVALID);
        assert_string_equal(text, "before");
        assert_int_equal(varlink_get_text(p, "t", &text), 0);
        assert_string_equal(text, "x");

        assert_int_equal(varlink_get_bool(p, "n", &flag), 0);
        assert_int_equal(varlink_get_bool(p, "i", &flag), VARLINK_E_INVALID);
        assert_int_equal(varlink_get_bool(p, "t", &flag), VARLINK_E_INVALID);
        assert_true(flag);
        flag = false;
        assert_int_equal(varlink_get_bool(p, "b", &flag), 0);
        assert_true(flag);

        assert_int_equal(varlink_get_integer(p, "n", 0, 9, &number), 0);
        assert_int_equal(varlink_get_integer(p, "absent", 0, 9, &number), 0);
        assert_int_equal(varlink_get_integer(p, "r", 0, 9, &number), VARLINK_E_INVALID);
        assert_int_equal(varlink_get_integer(p, "t", 0, 9, &number), VARLINK_E_INVALID);
        assert_int_equal(varlink_get_integer(p, "b", 0, 9, &number), VARLINK_E_INVALID);
        assert_int_equal(varlink_get_integer(p, "i", 0, 6, &number), VARLINK_E_INVALID);
        assert_int_equal(varlink_get_integer(p, "i", 8, 9, &number), VARLINK_E_INVALID);
        assert_int_equal(varlink_get_integer(p, "neg", 0, 9, &number), VARLINK_E_INVALID);
        assert_int_equal(number, 42);
        assert_int_equal(varlink_get_integer(p, "i", 7, 7, &number), 0);
        assert_int_equal(number, 7);
        assert_int_equal(varlink_get_integer(p, "big", 0, INT64_MAX, &number), 0);
        assert_true(number == INT64_MAX);
        json_decref(p);
}

static void test_no_parameters_are_no_parameters(void **state)
{
        const char *text = NULL;

        assert_int_equal(varlink_get_text(NULL, "a", &text), 0);
        assert_null(text);
        assert_null(varlink_find_unknown(NULL, NULL, 0));
}

static void test_unknown_parameter_is_found(void **state)
{
        static const char *const known[] = { "a", "b", NULL, NULL };
        json_t *p = parameters_of("{\"a\":1,\"b\":null}");

        assert_null(varlink_find_unknown(p, known, N_ELEMENTS(known)));
        assert_null(varlink_find_unknown(p, known, 2));
        assert_string_equal(varlink_find_unknown(p, known, 1), "b");
        assert_non_null(varlink_find_unknown(p, known, 0));
        json_decref(p);
        p = parameters_of("{\"A\":1}");
        assert_string_equal(varlink_find_unknown(p, known, N_ELEMENTS(known)), "A");
        json_decref(p);
        p = parameters_of("{\"\":1}");
        assert_string_equal(varlink_find_unknown(p, known, N_ELEMENTS(known)), "");
        json_decref(p);
}

static void test_printable_text_has_no_controls(void **state)
{
        static const struct {
                const char *text;
                bool printable;
        } cases[] = {
                { "", true },
                { "dag/task 1", true },
                { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa2", true },
                { "\xc2\xa0", true }, /* U+00A0 */
                { "\xc3\x80\xc2\xbf",
                  true }, /* bytes in the range of C1, but of other characters */
                { "\xe2\x82\x80", true },
                { "a\n", false },
                { "\t", false },
                { "\x1b[2J", false },
                { "\x7f", false },
                { "\xc2\x80", false },
                { "a\xc2\x9b", false }, /* CSI */
                { "\xc2\x9f", false },
        };

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i)
                if (varlink_text_is_printable(cases[i].text) != cases[i].printable)
                        fail_msg("case %zu", i);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plain_call_is_parsed),
                cmocka_unit_test(test_well_formed_calls_are_accepted),
                cmocka_unit_test(test_hostile_messages_are_no_calls),
                cmocka_unit_test(test_length_bounds_the_message),
                cmocka_unit_test(test_deep_nesting_is_refused),
                cmocka_unit_test(test_replies_have_the_form_of_varlink),
                cmocka_unit_test(test_parameters_are_strict),
                cmocka_unit_test(test_no_parameters_are_no_parameters),
                cmocka_unit_test(test_unknown_parameter_is_found),
                cmocka_unit_test(test_printable_text_has_no_controls),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
