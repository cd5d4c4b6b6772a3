/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What each uid holds of the daemon's resources. root (uid 0) is counted but never refused. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct UserTable UserTable;

typedef struct User {
        uid_t uid;
        uint64_t n_connections;
        uint64_t n_executions; /* live or not yet removed */
        uint64_t tokens_used;  /* creations in the current second */
        uint64_t second;       /* monotonic */
} User;

int user_table_new(UserTable **ret_table);
UserTable *user_table_free(UserTable *table);

/*
 * The entry of uid, made if there is none; it lives as long as the table or until user_forget().
 * -ENOMEM.
 */
int user_get(UserTable *table, uid_t uid, User **ret_user);
/* Drops the entry if it holds nothing any more. */
void user_forget(UserTable *table, User *user);

/* Counts one creation now; false if this second's allowance is used up. */
bool user_take_token(User *user, uint64_t per_second);
