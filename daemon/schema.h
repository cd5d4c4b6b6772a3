/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Tables, views and their migrations, in order. Forward only; a newer database is refused. */

#include <sqlite3.h>

#define SCHEMA_VERSION 1
#define SCHEMA_APPLICATION_ID 0x63677431 /* "cgt1" */

/*
 * Brings the database from its user_version to SCHEMA_VERSION, each step in a transaction together
 * with its user_version. Returns an SQLite result code; SQLITE_MISMATCH: newer than this program or
 * another program's file.
 */
int schema_migrate(sqlite3 *db);
