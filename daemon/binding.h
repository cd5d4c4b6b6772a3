/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Between an ExecutionRecord and a statement whose columns are those of EXECUTION_COLUMNS. */

#include "private/execution-record.h"

#include <sqlite3.h>

/* Binds all columns from parameter 1 on, then stored_usec. The record must outlive the binding. */
void binding_bind(sqlite3_stmt *statement, const ExecutionRecord *record, int64_t stored_usec);

/*
 * The row that the statement stands on. Its texts belong to the statement until its next step: the
 * record is not to be deinitialised. SQLITE_ROW or SQLITE_NOMEM.
 */
int binding_borrow(sqlite3_stmt *statement, ExecutionRecord *ret_record);

/* A copy that owns its texts. 0, -ENOMEM. */
int binding_copy(const ExecutionRecord *record, ExecutionRecord *ret_copy);
