/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rights: a pure decision over numbers, and the words for those who are refused. */

#include "access.h"

#include "private/cleanup.h"

#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LAUNCH 900
#define READ 901
#define NONE ((gid_t)-1)

static const AccessGroups groups_both = { LAUNCH, READ };
static const AccessGroups groups_none = { NONE, NONE };

static void test_rights_follow_uid_and_groups(void **state)
{
        static const struct {
                const AccessGroups known;
                uid_t uid;
                gid_t groups[4];
                size_t n;
                AccessRights rights;
        } cases[] = {
                { { LAUNCH, READ }, 0, { 0 }, 1, { true, true, true } },
                { { LAUNCH, READ }, 0, { 0 }, 0, { true, true, true } },
                { { NONE, NONE }, 0, { 0 }, 1, { true, true, true } },
                { { LAUNCH, READ }, 1000, { 1000 }, 1, { false, false, false } },
                { { LAUNCH, READ },
                  1000,
                  { 0 },
                  1,
                  { false, false, false } }, /* group root is not root */
                { { LAUNCH, READ }, 1000, { 1000 }, 0, { false, false, false } },
                { { LAUNCH, READ }, 1000, { LAUNCH }, 1, { false, true, false } },
                { { LAUNCH, READ }, 1000, { 1000, 4, LAUNCH }, 3, { false, true, false } },
                { { LAUNCH, READ }, 1000, { 1000, READ }, 2, { false, false, true } },
                { { LAUNCH, READ }, 1000, { READ, LAUNCH, 1 }, 3, { false, true, true } },
                /* what lies behind the n-th is not theirs */
                { { LAUNCH, READ }, 1000, { 1000, LAUNCH }, 1, { false, false, false } },
                { { LAUNCH, NONE }, 1000, { READ }, 1, { false, false, false } },
                /* a group that this host lacks is nobody's, not even of gid -1 */
                { { NONE, NONE }, 1000, { NONE, NONE }, 2, { false, false, false } },
                { { NONE, READ }, 1000, { NONE }, 1, { false, false, false } },
        };

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                AccessRights r =
                        access_decide(&cases[i].known, cases[i].uid, cases[i].groups, cases[i].n);

                if (r.root != cases[i].rights.root || r.launch != cases[i].rights.launch ||
                    r.read != cases[i].rights.read)
                        fail_msg("case %zu: %d %d %d", i, r.root, r.launch, r.read);
        }
}

static void test_groups_are_those_of_the_host(void **state)
{
        const struct group *g = getgrnam(ACCESS_GROUP_LAUNCH);
        gid_t launch = g ? g->gr_gid : NONE;
        AccessGroups known;

        g = getgrnam(ACCESS_GROUP_READ);
        access_lookup_groups(&known);
        assert_int_equal(known.launch, launch);
        assert_int_equal(known.read, g ? g->gr_gid : NONE);
}

/* Cause and remedy in one line, with the number that the kernel gave. */
static void test_refusal_says_what_to_do(void **state)
{
        char text[256];

        access_explain_refusal(&groups_none, 54321, text, sizeof(text));
        assert_non_null(strstr(text, "54321"));
        assert_non_null(strstr(text, "no group cgtask"));
        assert_non_null(strstr(text, "systemd-sysusers"));
        assert_null(strchr(text, '\n'));

        access_explain_refusal(&groups_both, 54321, text, sizeof(text));
        assert_non_null(strstr(text, "54321"));
        assert_non_null(strstr(text, "neither group cgtask nor cgtask-read"));
        assert_non_null(strstr(text, "usermod -aG cgtask"));
        assert_non_null(strstr(text, "log in again"));
}

static void test_refusal_fits_any_buffer(void **state)
{
        char text[8] = "1234567";

        access_explain_refusal(&groups_both, (uid_t)-1, text, 4);
        assert_int_equal(strlen(text), 3);
        assert_string_equal(text + 4, "567");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rights_follow_uid_and_groups),
                cmocka_unit_test(test_groups_are_those_of_the_host),
                cmocka_unit_test(test_refusal_says_what_to_do),
                cmocka_unit_test(test_refusal_fits_any_buffer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
