/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between a record and a statement: one table of columns, one loop each way. */

#include "binding.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#define BINDING_IS_TEXT_TEXT true
#define BINDING_IS_TEXT_JSON true
#define BINDING_IS_TEXT_INTEGER false
#define BINDING_IS_TEXT_FLAG false

static const struct {
        bool is_text;
        size_t offset; /* in ExecutionRecord */
} binding_columns[] = {
#define BINDING_COLUMN(kind, column, member) \
        { BINDING_IS_TEXT_##kind, offsetof(ExecutionRecord, column) },
        EXECUTION_COLUMNS(BINDING_COLUMN)
};

#define BINDING_N_COLUMNS ((int)N_ELEMENTS(binding_columns))

static char **binding_text(ExecutionRecord *record, int i)
{
        return (char **)((char *)record + binding_columns[i].offset);
}

static int64_t *binding_integer(ExecutionRecord *record, int i)
{
        return (int64_t *)((char *)record + binding_columns[i].offset);
}

void binding_bind(sqlite3_stmt *statement, const ExecutionRecord *record, int64_t stored_usec)
{
        ExecutionRecord row = *record;

        /* No index can be wrong and nothing is copied, so no call fails. A NULL text binds NULL. */
        for (int i = 0; i < BINDING_N_COLUMNS; ++i)
                if (binding_columns[i].is_text)
                        (void)sqlite3_bind_text(statement, i + 1, *binding_text(&row, i), -1,
                                                SQLITE_STATIC);
                else if (*binding_integer(&row, i) == RECORD_NULL)
                        (void)sqlite3_bind_null(statement, i + 1);
                else
                        (void)sqlite3_bind_int64(statement, i + 1, *binding_integer(&row, i));
        (void)sqlite3_bind_int64(statement, BINDING_N_COLUMNS + 1, stored_usec);
}

int binding_borrow(sqlite3_stmt *statement, ExecutionRecord *ret_record)
{
        ExecutionRecord row;

        execution_record_init(&row);
        for (int i = 0; i < BINDING_N_COLUMNS; ++i) {
                if (sqlite3_column_type(statement, i) == SQLITE_NULL)
                        continue;
                if (!binding_columns[i].is_text) {
                        *binding_integer(&row, i) = sqlite3_column_int64(statement, i);
                        continue;
                }
                *binding_text(&row, i) = (char *)sqlite3_column_text(statement, i);
                if (!*binding_text(&row, i))
                        return SQLITE_NOMEM;
        }
        *ret_record = row;
        return SQLITE_ROW;
}

int binding_copy(const ExecutionRecord *record, ExecutionRecord *ret_copy)
{
        ExecutionRecord copy = *record;
        bool complete = true;

        for (int i = 0; i < BINDING_N_COLUMNS; ++i)
                if (binding_columns[i].is_text && *binding_text(&copy, i)) {
                        *binding_text(&copy, i) = strdup(*binding_text(&copy, i));
                        complete &= *binding_text(&copy, i) != NULL;
                }
        if (!complete) {
                execution_record_deinit(&copy);
                return error_origin(-ENOMEM);
        }
        *ret_copy = copy;
        return 0;
}
