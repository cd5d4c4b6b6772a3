/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Tables, views, and the way from an older database to this one.
 *
 * The tables are private, the views are the contract of cgtask-db(5). The table `execution` has one
 * column per entry of EXECUTION_COLUMNS and `stored_usec`, the moment of the row's last write.
 *
 * One transaction takes a database from whatever version it has to SCHEMA_VERSION: the steps it has
 * not had, then the columns it lacks, then the views anew, then the version. A new column therefore
 * needs an entry in EXECUTION_COLUMNS and a higher SCHEMA_VERSION, but no step of its own; a step
 * is for what that does not cover, and must bear a database that is as new as the list of columns.
 * There is no way back: an older program refuses a newer database.
 *
 * The CHECKs name every value that design.md section 4 allows, and NULL: they catch a slip of the
 * daemon, they never judge a measurement.
 */

#include "schema.h"

#include "private/cleanup.h"
#include "private/execution-record.h"

#include <stdbool.h>

#define SQL_TYPE_TEXT(column) "TEXT"
/* The SQLite of bookworm, 3.40, says 0 for json_valid(NULL). */
#define SQL_TYPE_JSON(column) "TEXT CHECK (" #column " IS NULL OR json_valid(" #column "))"
#define SQL_TYPE_INTEGER(column) "INTEGER"
#define SQL_TYPE_FLAG(column) "INTEGER CHECK (" #column " IN (0, 1))"

#define SQL_NAME(kind, column, member) ", " #column
#define SQL_DEFINITION(kind, column, member) #column " " SQL_TYPE_##kind(column) ", "
#define SQL_TEXT(macro) SQL_TEXT_OF(macro)
#define SQL_TEXT_OF(text) #text

/* SQL is laid out by hand. */
/* clang-format off */
static const char schema_tables[] =
        "CREATE TABLE IF NOT EXISTS execution ("
        EXECUTION_COLUMNS(SQL_DEFINITION)
        "stored_usec INTEGER NOT NULL, "
        "PRIMARY KEY (id), "
        "CHECK (state IS NOT NULL AND state IN ('running', 'finished', 'lost')), "
        "CHECK (result IN ('ok', 'error', 'signal', 'oom', 'unknown', 'lost')), "
        "CHECK (exit_kind IN ('exited', 'signaled', 'unknown')), "
        "CHECK (oom_cause IN ('none', 'own_limit', 'ancestor_limit', 'host', 'userspace', "
                "'unknown')), "
        "CHECK (capture IN ('captured', 'partial', 'unsupported', 'lost')), "
        "CHECK (coverage IN ('full', 'partial')), "
        "CHECK (runner_rss_source IN ('ru_maxrss', 'vmhwm', 'sampled'))"
        ") STRICT;"
        "CREATE INDEX IF NOT EXISTS execution_task_ended ON execution (task, ended_usec);"
        "CREATE INDEX IF NOT EXISTS execution_state ON execution (state, id);"
        /* The key makes a second reading of the same kernel log harmless. */
        "CREATE TABLE IF NOT EXISTS oom_victim ("
        "execution_id TEXT, at_usec INTEGER, pid INTEGER, comm TEXT, anon_rss_bytes INTEGER, "
        "\"constraint\" TEXT, "
        "PRIMARY KEY (execution_id, at_usec, pid)"
        ") STRICT, WITHOUT ROWID;";

/* %s: the columns. */
static const char schema_view_execution[] =
        "DROP VIEW IF EXISTS v1_execution;"
        "CREATE VIEW v1_execution AS SELECT %s FROM execution;";

/*
 * Nearest rank without percentile(), which the SQLite of no supported release has: the p-th
 * percentile of n values is the one at rank ceil(p * n / 100) from below.
 *
 * Windows throughout and no GROUP BY: SQLite moves WHERE task = ... down through windows that are
 * partitioned by task, so that one task's figures come from the index and not from all rows, but it
 * moves nothing below a GROUP BY. "+state" keeps it from an index that finds nearly every row.
 */
#define SQL_COUNT(condition) "count(CASE WHEN " condition " THEN 1 END) OVER (PARTITION BY task)"
#define SQL_PERCENTILE(p)                                                                          \
        "max(CASE WHEN rank = (" #p " * n + 99) / 100 THEN peak END) OVER (PARTITION BY task) "    \
        "AS peak_p" #p "_bytes, "

static const char schema_views[] =
        "DROP VIEW IF EXISTS v1_task_sizing;"
        "CREATE VIEW v1_task_sizing AS WITH ranked AS ("
        "SELECT task, memory_peak_bytes AS peak, memory_max_bytes, ended_usec, "
        "count(*) OVER (PARTITION BY task) AS n, "
        SQL_COUNT("result = 'ok'") " AS n_ok, "
        SQL_COUNT("result = 'oom'") " AS n_oom, "
        SQL_COUNT("memory_peak_is_lower_bound = 1") " AS n_lower_bound, "
        "row_number() OVER (PARTITION BY task ORDER BY memory_peak_bytes) AS rank, "
        "row_number() OVER (PARTITION BY task ORDER BY ended_usec DESC, id DESC) AS age "
        "FROM execution "
        "WHERE task IS NOT NULL AND +state = 'finished' AND capture = 'captured' "
        "AND coverage = 'full' AND coalesce(profiled, 0) = 0 AND memory_peak_bytes IS NOT NULL"
        "), figures AS ("
        "SELECT task, n, n_ok, n_oom, n_lower_bound, "
        SQL_PERCENTILE(50)
        SQL_PERCENTILE(95)
        SQL_PERCENTILE(99)
        "max(peak) OVER (PARTITION BY task) AS peak_max_bytes, "
        "memory_max_bytes AS last_limit_bytes, "
        "min(ended_usec) OVER (PARTITION BY task) AS first_ended_usec, "
        "max(ended_usec) OVER (PARTITION BY task) AS last_ended_usec, age "
        "FROM ranked) "
        "SELECT task, n, n_ok, n_oom, n_lower_bound, peak_p50_bytes, peak_p95_bytes, "
        "peak_p99_bytes, peak_max_bytes, last_limit_bytes, first_ended_usec, last_ended_usec "
        "FROM figures WHERE age = 1;"
        "DROP VIEW IF EXISTS v1_oom_victim;"
        "CREATE VIEW v1_oom_victim AS SELECT execution_id, at_usec, pid, comm, anon_rss_bytes, "
        "\"constraint\" FROM oom_victim;";

static const char schema_stamp[] =
        "PRAGMA application_id = " SQL_TEXT(SCHEMA_APPLICATION_ID) ";"
        "PRAGMA user_version = " SQL_TEXT(SCHEMA_VERSION) ";";
/* clang-format on */

/* The step at [n] leads from version n to n + 1. */
static const char *const schema_steps[] = {
        schema_tables,
};

_Static_assert(N_ELEMENTS(schema_steps) == SCHEMA_VERSION, "one step per version");

static const struct {
        const char *name;
        const char *definition;
} schema_columns[] = {
#define SCHEMA_COLUMN(kind, column, member) { #column, #column " " SQL_TYPE_##kind(column) },
        EXECUTION_COLUMNS(SCHEMA_COLUMN)
};

static int schema_query(sqlite3 *db, const char *sql, const char *argument, int64_t *ret_value)
{
        sqlite3_stmt *statement = NULL;
        int rc;

        rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
        if (rc != SQLITE_OK)
                return rc;
        if (argument)
                (void)sqlite3_bind_text(statement, 1, argument, -1, SQLITE_STATIC);
        rc = sqlite3_step(statement);
        if (rc == SQLITE_ROW)
                *ret_value = sqlite3_column_int64(statement, 0);
        (void)sqlite3_finalize(statement);
        if (rc == SQLITE_ROW)
                return SQLITE_OK;
        return rc == SQLITE_OK || rc == SQLITE_DONE ? SQLITE_ERROR : rc;
}

static int schema_execute(sqlite3 *db, char *sql)
{
        int rc = SQLITE_NOMEM;

        if (sql)
                rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
        sqlite3_free(sql);
        return rc;
}

/* What a database written before a column existed lacks: its old rows get NULL there. */
static int schema_add_columns(sqlite3 *db)
{
        for (size_t i = 0; i < N_ELEMENTS(schema_columns); ++i) {
                int64_t n;
                int rc;

                rc = schema_query(db,
                                  "SELECT count(*) FROM pragma_table_info('execution') "
                                  "WHERE name = ?",
                                  schema_columns[i].name, &n);
                if (rc == SQLITE_OK && n == 0)
                        rc = schema_execute(db,
                                            sqlite3_mprintf("ALTER TABLE execution ADD COLUMN %s",
                                                            schema_columns[i].definition));
                if (rc != SQLITE_OK)
                        return rc;
        }
        return SQLITE_OK;
}

static int schema_make_views(sqlite3 *db)
{
        static const char names[] = EXECUTION_COLUMNS(SQL_NAME);
        int rc;

        rc = schema_execute(db, sqlite3_mprintf(schema_view_execution, names + strlen(", ")));
        if (rc == SQLITE_OK)
                rc = sqlite3_exec(db, schema_views, NULL, NULL, NULL);
        return rc;
}

/* Inside the transaction. */
static int schema_apply(sqlite3 *db)
{
        int64_t version = SCHEMA_VERSION;
        int rc;

        rc = schema_query(db, "PRAGMA user_version", NULL, &version);
        for (int64_t i = version; rc == SQLITE_OK && i < SCHEMA_VERSION; ++i)
                rc = sqlite3_exec(db, schema_steps[i], NULL, NULL, NULL);
        if (rc == SQLITE_OK)
                rc = schema_add_columns(db);
        if (rc == SQLITE_OK)
                rc = schema_make_views(db);
        if (rc == SQLITE_OK)
                rc = sqlite3_exec(db, schema_stamp, NULL, NULL, NULL);
        return rc;
}

/* Ours, of a version that this program knows? SQLITE_OK, SQLITE_MISMATCH, or what reading gave. */
static int schema_check(sqlite3 *db, int64_t *ret_version, bool *ret_empty)
{
        int64_t id, version, n_objects;
        bool empty;
        int rc;

        rc = schema_query(db, "PRAGMA application_id", NULL, &id);
        if (rc == SQLITE_OK)
                rc = schema_query(db, "PRAGMA user_version", NULL, &version);
        if (rc == SQLITE_OK)
                rc = schema_query(db, "SELECT count(*) FROM sqlite_schema", NULL, &n_objects);
        if (rc != SQLITE_OK)
                return rc;
        empty = id == 0 && version == 0 && n_objects == 0;
        if (!empty && (id != SCHEMA_APPLICATION_ID || version < 0 || version > SCHEMA_VERSION))
                return SQLITE_MISMATCH;
        *ret_version = version;
        *ret_empty = empty;
        return SQLITE_OK;
}

int schema_migrate(sqlite3 *db)
{
        int64_t version;
        bool empty;
        int rc;

        rc = schema_check(db, &version, &empty);
        if (rc != SQLITE_OK || version == SCHEMA_VERSION)
                return rc;
        /* Only counts before the first table; retention then gives pages back bit by bit. */
        if (empty)
                rc = sqlite3_exec(db, "PRAGMA auto_vacuum = INCREMENTAL", NULL, NULL, NULL);
        if (rc == SQLITE_OK)
                rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        if (rc == SQLITE_OK)
                rc = schema_apply(db);
        if (rc == SQLITE_OK)
                rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
        /* The outcome is rc; the database's own message is overwritten only if this fails too. */
        if (!sqlite3_get_autocommit(db))
                (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return rc;
}
