/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Quotas by uid.
 *
 * Entries exist only while a uid holds something or has just created something, so the table stays
 * as small as the number of users at work.
 */

#include "user.h"

#include "private/clock.h"
#include "private/error.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

struct UserTable {
        void *users; /* tree of User by uid */
};

static int user_compare(const void *a, const void *b)
{
        const User *x = a, *y = b;

        return x->uid < y->uid ? -1 : x->uid > y->uid;
}

int user_table_new(UserTable **ret_table)
{
        UserTable *table = calloc(1, sizeof(*table));

        if (!table)
                return error_origin(-ENOMEM);
        *ret_table = table;
        return 0;
}

UserTable *user_table_free(UserTable *table)
{
        if (table)
                tdestroy(table->users, free);
        free(table);
        return NULL;
}

int user_get(UserTable *table, uid_t uid, User **ret_user)
{
        User key = { .uid = uid }, **found, *user;

        found = tfind(&key, &table->users, user_compare);
        if (found) {
                *ret_user = *found;
                return 0;
        }
        user = calloc(1, sizeof(*user));
        if (!user)
                return error_origin(-ENOMEM);
        user->uid = uid;
        if (!tsearch(user, &table->users, user_compare)) {
                free(user);
                return error_origin(-ENOMEM);
        }
        *ret_user = user;
        return 0;
}

void user_forget(UserTable *table, User *user)
{
        if (user->n_connections || user->n_executions)
                return;
        if (user->second == clock_monotonic_usec() / USEC_PER_SEC)
                return; /* its allowance must not be renewed by coming back */
        (void)tdelete(user, &table->users, user_compare);
        free(user);
}

bool user_take_token(User *user, uint64_t per_second)
{
        uint64_t second = clock_monotonic_usec() / USEC_PER_SEC;

        if (user->second != second) {
                user->second = second;
                user->tokens_used = 0;
        }
        if (user->uid != 0 && user->tokens_used >= per_second)
                return false;
        ++user->tokens_used;
        return true;
}
