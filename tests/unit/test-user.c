/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Quotas by uid: entries come and go, allowances do not come back early. */

#include "user.h"

#include "private/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static User *get(UserTable *table, uid_t uid)
{
        User *user = NULL;

        assert_int_equal(user_get(table, uid, &user), 0);
        assert_non_null(user);
        assert_int_equal(user->uid, uid);
        return user;
}

static UserTable *table_new(void)
{
        UserTable *table;

        assert_int_equal(user_table_new(&table), 0);
        return table;
}

static void test_one_entry_per_uid(void **state)
{
        UserTable *table = table_new();
        User *root = get(table, 0), *last = get(table, (uid_t)-1), *one = get(table, 1000);

        assert_ptr_equal(get(table, 1000), one);
        assert_ptr_equal(get(table, 0), root);
        assert_ptr_equal(get(table, (uid_t)-1), last);
        assert_ptr_not_equal(root, one);
        assert_int_equal(one->n_connections + one->n_executions, 0);
        assert_null(user_table_free(table));
        assert_null(user_table_free(NULL));
}

static void test_entry_stays_while_it_holds_something(void **state)
{
        UserTable *table = table_new();
        User *user = get(table, 1000);

        user->n_connections = 2;
        user_forget(table, user);
        assert_int_equal(get(table, 1000)->n_connections, 2);
        user->n_connections = 0;
        user->n_executions = 1;
        user_forget(table, user);
        assert_int_equal(get(table, 1000)->n_executions, 1);
        user->n_executions = 0;
        user_forget(table, user); /* gone */
        assert_int_equal(get(table, 1000)->n_connections, 0);
        table = user_table_free(table);
}

/* Takes n tokens within one second; tries again if the clock went over to the next one. */
static unsigned take(User *user, unsigned n, uint64_t per_second)
{
        for (;;) {
                uint64_t second = clock_monotonic_usec() / USEC_PER_SEC;
                unsigned taken = 0;

                user->second = 0; /* as if it were new */
                for (unsigned i = 0; i < n; ++i)
                        taken += user_take_token(user, per_second);
                if (clock_monotonic_usec() / USEC_PER_SEC == second)
                        return taken;
        }
}

static void test_tokens_run_out(void **state)
{
        UserTable *table = table_new();
        User *user = get(table, 1000);

        assert_int_equal(take(user, 10, 4), 4);
        assert_int_equal(take(user, 3, 4), 3);
        assert_int_equal(take(user, 1, 0), 0);
        table = user_table_free(table);
}

static void test_tokens_come_back_with_the_next_second(void **state)
{
        UserTable *table = table_new();
        User *user = get(table, 1000);

        assert_int_equal(take(user, 2, 1), 1);
        --user->second;
        assert_true(user_take_token(user, 1));
        assert_int_equal(user->tokens_used, 1);
        table = user_table_free(table);
}

static void test_root_is_counted_but_not_refused(void **state)
{
        UserTable *table = table_new();
        User *root = get(table, 0);

        assert_int_equal(take(root, 10, 1), 10);
        assert_int_equal(root->tokens_used, 10);
        table = user_table_free(table);
}

/* Leaving and coming back within the second must not renew it. */
static void test_allowance_survives_forgetting(void **state)
{
        UserTable *table = table_new();
        User *user = get(table, 1000);

        user->second = clock_monotonic_usec() / USEC_PER_SEC + 1; /* so that no clock interferes */
        user->tokens_used = 5;
        while (clock_monotonic_usec() / USEC_PER_SEC < user->second)
                ;
        user_forget(table, user);
        assert_int_equal(get(table, 1000)->tokens_used, 5);
        table = user_table_free(table);
}

static void test_many_users(void **state)
{
        enum { N = 10000 };
        UserTable *table = table_new();

        for (uid_t uid = 0; uid < N; ++uid)
                get(table, uid * 7)->n_connections = uid + 1;
        for (uid_t uid = 0; uid < N; ++uid) {
                User *user = get(table, uid * 7);

                assert_int_equal(user->n_connections, uid + 1);
                user->n_connections = 0;
                user_forget(table, user);
        }
        for (uid_t uid = 0; uid < N; ++uid)
                assert_int_equal(get(table, uid * 7)->n_connections, 0);
        table = user_table_free(table);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_entry_per_uid),
                cmocka_unit_test(test_entry_stays_while_it_holds_something),
                cmocka_unit_test(test_tokens_run_out),
                cmocka_unit_test(test_tokens_come_back_with_the_next_second),
                cmocka_unit_test(test_root_is_counted_but_not_refused),
                cmocka_unit_test(test_allowance_survives_forgetting),
                cmocka_unit_test(test_many_users),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
