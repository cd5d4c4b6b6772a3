/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The columns of v1_execution for CREATE TABLE, without the daemon's schema. */

#include "private/execution-record.h"

#define VIEW_TEXT(column) #column " TEXT"
#define VIEW_JSON(column) #column " TEXT"
#define VIEW_INTEGER(column) #column " INTEGER"
#define VIEW_FLAG(column) #column " INTEGER"
#define VIEW_DEFINITION(kind, column, member) ", " VIEW_##kind(column)

/* Each of them has a comma before it. */
#define VIEW_COLUMNS EXECUTION_COLUMNS(VIEW_DEFINITION)
#define VIEW_STAMP "PRAGMA application_id = 0x63677431; PRAGMA user_version = 1;"
