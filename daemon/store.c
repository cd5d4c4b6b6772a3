/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The rows of all executions, in one SQLite file.
 *
 * The store owns the connection, its prepared statements, and the file while it is open. It is
 * bound to no thread, but never used by two at once.
 *
 * Durability. WAL with synchronous=FULL: when store_commit() has returned 0, the rows are on the
 * disk, in the file that bears the store's name. That last part is looked at after the COMMIT: rows
 * that went into a file which somebody has removed or replaced do not count, and the next
 * store_open() opens what is there now. Rows may be put any number of times, so whoever is told
 * that a row does not count simply puts it again.
 *
 * Failures. SQLite's result codes become ours in one place, store_fail(), which also finds the words
 * for people. Some failures leave the connection useful (locked, full: the next try may succeed),
 * others make it `broken`, and the next store_open() begins with a fresh one. A failed transaction
 * is always rolled back here, because SQLite leaves it open after some errors and not after others.
 *
 * Damage. SQLite reports it while it works; beyond that, quick_check (5 s per GB) runs when a file is
 * opened that was in use when the machine went down. That is cheap to know: an orderly close leaves
 * the WAL empty, so it has frames in it that are older than this boot. (The WAL is kept at all so
 * that readers of the group, who cannot make one, work while no daemon does.) A damaged file is
 * renamed, never deleted, and only if it is ours: it has our application id, or it has lost its
 * SQLite header altogether (zeroed, or overwritten with its WAL still beside it). Any other file at
 * that path was put there by somebody, and stays.
 *
 * States of a row go one way: running -> lost -> finished. A put that would go back is ignored.
 */

#include "store.h"

#include "binding.h"
#include "dbfile.h"
#include "private/cleanup.h"
#include "private/error.h"
#include "schema.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#define STORE_WAL_LIMIT "1048576" /* bytes that the WAL keeps after a full checkpoint */
#define STORE_ERROR_MAX 512

enum {
        STATEMENT_BEGIN,
        STATEMENT_COMMIT,
        STATEMENT_ROLLBACK,
        STATEMENT_PUT,
        STATEMENT_GET,
        STATEMENT_CLOSE_OTHER_BOOTS,
        STATEMENT_NEXT_RUNNING,
        STATEMENT_CLOSE_ONE,
        STATEMENT_FORGET_VICTIMS,
        STATEMENT_PUT_VICTIM,
        _STATEMENT_N,
};

struct Store {
        char *path;
        char *wal_path;
        sqlite3 *db; /* NULL: not open */
        sqlite3_stmt *statements[_STATEMENT_N];
        DbfileId file, wal;  /* what the connection has open */
        bool broken;         /* the connection must not be used again */
        bool moved;          /* the file at path is another one now */
        bool damaged;        /* SQLite found damage in the file */
        int system_errno;    /* of the latest failure, for its text */
        char *corrupt_moved; /* new name of a damaged file, until store_open() tells */
        char error[STORE_ERROR_MAX];
};

/* SQL is laid out by hand. */
/* clang-format off */
#define SQL_NAME(kind, column, member) #column ", "
#define SQL_PLACE(kind, column, member) "?, "
#define SQL_REPLACE(kind, column, member) #column " = excluded." #column ", "

/* What binding.c binds and reads: the columns in the order of EXECUTION_COLUMNS, from 1 and 0 on. */
#define SQL_SELECT "SELECT " EXECUTION_COLUMNS(SQL_NAME) "stored_usec FROM execution "

/* The counters of a lost execution were never read at its end, so no cause can be told. */
#define SQL_CLOSE                                                                                  \
        "UPDATE execution SET state = 'lost', result = 'lost', "                                   \
        "exit_kind = coalesce(exit_kind, 'unknown'), oom_cause = NULL, "                           \
        "capture = 'lost', capture_reason = ?1, "                                                  \
        "memory_peak_is_lower_bound = CASE WHEN memory_peak_bytes IS NOT NULL THEN 1 END, "        \
        "stored_usec = ?2 WHERE state = 'running' "

static const char *const store_sql[_STATEMENT_N] = {
        [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
        [STATEMENT_COMMIT] = "COMMIT",
        [STATEMENT_ROLLBACK] = "ROLLBACK",
        [STATEMENT_PUT] =
                "INSERT INTO execution (" EXECUTION_COLUMNS(SQL_NAME) "stored_usec) "
                "VALUES (" EXECUTION_COLUMNS(SQL_PLACE) "?) "
                "ON CONFLICT (id) DO UPDATE SET "
                EXECUTION_COLUMNS(SQL_REPLACE) "stored_usec = excluded.stored_usec "
                "WHERE execution.state = 'running' "
                "OR (execution.state = 'lost' AND excluded.state <> 'running')",
        [STATEMENT_GET] = SQL_SELECT "WHERE id = ?1",
        [STATEMENT_CLOSE_OTHER_BOOTS] = SQL_CLOSE "AND boot_id IS NOT ?3",
        [STATEMENT_NEXT_RUNNING] =
                "SELECT id FROM execution WHERE state = 'running' AND boot_id = ?1 AND id > ?2 "
                "ORDER BY id LIMIT 1",
        [STATEMENT_CLOSE_ONE] = SQL_CLOSE "AND id = ?3",
        [STATEMENT_FORGET_VICTIMS] = "DELETE FROM oom_victim WHERE execution_id = ?1",
        [STATEMENT_PUT_VICTIM] = "INSERT OR IGNORE INTO oom_victim VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
};
/* clang-format on */

static int64_t store_now_usec(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_REALTIME, &t);
        return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* What can go wrong, what that is for us, and what people are told: "PATH <problem>: <remedy>". */
typedef struct StoreTrouble {
        int code; /* SQLite's primary result code */
        int outcome;
        bool breaks; /* the connection */
        const char *problem;
        const char *remedy; /* the folder's path follows */
} StoreTrouble;

#define STORE_LOCKED                                                \
        STORE_E_UNAVAILABLE, false, "is locked by another program", \
                "end the one that writes to the files in"
#define STORE_ACCESS "check owner, mode and mount options of"
#define STORE_FOREIGN "set another DatabasePath= or move it away from"
#define STORE_FAULT "this is a fault of cgtaskd and not of"

static const StoreTrouble store_troubles[] = {
        { SQLITE_FULL, STORE_E_UNAVAILABLE, false, "is full", "free space on the file system of" },
        { SQLITE_BUSY, STORE_LOCKED },
        { SQLITE_LOCKED, STORE_LOCKED },
        { SQLITE_PROTOCOL, STORE_LOCKED },
        { SQLITE_READONLY, STORE_E_UNAVAILABLE, true, "cannot be written", STORE_ACCESS },
        { SQLITE_CANTOPEN, STORE_E_UNAVAILABLE, true, "cannot be opened", STORE_ACCESS },
        { SQLITE_PERM, STORE_E_UNAVAILABLE, true, "cannot be opened", STORE_ACCESS },
        { SQLITE_IOERR, STORE_E_UNAVAILABLE, true, "cannot be read or written",
          "check the disk and the file system of" },
        { SQLITE_CORRUPT, STORE_E_UNAVAILABLE, true, "is damaged",
          "restore a copy or move it away from" },
        { SQLITE_NOTADB, STORE_E_UNAVAILABLE, true, "is not a database of cgtask", STORE_FOREIGN },
        { SQLITE_ERROR, STORE_E_UNAVAILABLE, true, "does not have the tables of cgtask",
          "restore a copy or move it away from" },
        { SQLITE_NOMEM, STORE_E_UNAVAILABLE, false, "needs more memory",
          "free memory on the host of" },
        { SQLITE_CONSTRAINT, -EINVAL, false, "refuses a row", STORE_FAULT },
        { SQLITE_TOOBIG, -E2BIG, false, "refuses a row", STORE_FAULT },
};

static const StoreTrouble store_trouble_unknown = { 0, STORE_E_UNAVAILABLE, true, "failed",
                                                    STORE_FAULT };

static const StoreTrouble *store_find_trouble(int rc)
{
        for (size_t i = 0; i < N_ELEMENTS(store_troubles); ++i)
                if (store_troubles[i].code == (rc & 0xff))
                        return &store_troubles[i];
        return &store_trouble_unknown;
}

static void store_complain(Store *store, const char *problem, const char *detail,
                           const char *remedy)
{
        const char *slash = strrchr(store->path, '/');
        const char *folder = slash ? store->path : ".";
        int n_folder = slash > store->path ? (int)(slash - store->path) : 1;

        (void)snprintf(store->error, sizeof(store->error), "%s %s%s%s%s: %s %.*s", store->path,
                       problem, detail ? " (" : "", detail ? detail : "", detail ? ")" : "", remedy,
                       n_folder, folder);
}

/* The one place where SQLite's results become ours. rc is neither OK nor DONE nor ROW. */
static int store_fail(Store *store, int rc)
{
        int code = store->system_errno;
        const StoreTrouble *trouble;
        const char *detail = NULL;
        char buffer[128];

        if (rc == SQLITE_IOERR_NOMEM)
                rc = SQLITE_NOMEM;
        if ((rc & 0xff) == SQLITE_IOERR && (code == ENOSPC || code == EDQUOT))
                rc = SQLITE_FULL;
        trouble = store_find_trouble(rc);
        if ((rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN)
                detail = code ? strerror_r(code, buffer, sizeof(buffer)) : sqlite3_errstr(rc);
        else if (trouble->outcome < 0 || trouble->code == SQLITE_ERROR || trouble->code == 0)
                detail = store->db && sqlite3_extended_errcode(store->db) == rc
                                 ? sqlite3_errmsg(store->db)
                                 : sqlite3_errstr(rc);
        store_complain(store, trouble->problem, detail, trouble->remedy);
        store->broken |= trouble->breaks;
        store->damaged |= trouble->code == SQLITE_CORRUPT || trouble->code == SQLITE_NOTADB;
        store->system_errno = 0;
        return trouble->outcome < 0 ? error_origin(trouble->outcome) : trouble->outcome;
}

/* What dbfile gave. */
static int store_fail_file(Store *store, int r)
{
        const StoreTrouble *trouble;
        char buffer[128];

        if (r == -ENOMEM)
                return error_fold(r);
        if (r == DBFILE_E_NOT_A_FILE) {
                store_complain(store, "is not a file", NULL, STORE_FOREIGN);
                return STORE_E_UNAVAILABLE;
        }
        trouble = store_find_trouble(r == -ENOSPC || r == -EDQUOT ? SQLITE_FULL : SQLITE_CANTOPEN);
        store_complain(store, trouble->problem, strerror_r(-r, buffer, sizeof(buffer)),
                       trouble->remedy);
        return STORE_E_UNAVAILABLE;
}

/* Are the names still those of the files that the connection has open? */
static int store_check_place(Store *store)
{
        if (dbfile_is_at(store->path, &store->file) && dbfile_is_at(store->wal_path, &store->wal))
                return 0;
        store->broken = true;
        store->moved = true;
        store_complain(store, "was removed or replaced while in use", NULL,
                       "the next write takes what is then in");
        return STORE_E_UNAVAILABLE;
}

/* SQLite keeps no errno when it is a COMMIT that fails, but nothing has overwritten it then. */
static void store_note_errno(Store *store)
{
        int code = errno;

        store->system_errno = sqlite3_system_errno(store->db);
        if (store->system_errno == 0)
                store->system_errno = code;
}

static int store_run(Store *store, int which)
{
        int rc;

        errno = 0;
        rc = sqlite3_step(store->statements[which]);
        store_note_errno(store);
        (void)sqlite3_reset(store->statements[which]);
        (void)sqlite3_clear_bindings(store->statements[which]);
        return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* Runs sql; SQLITE_OK if the first value it gives is the expected text, else `otherwise`. */
static int store_expect(Store *store, const char *sql, const char *expected, int otherwise)
{
        sqlite3_stmt *statement = NULL;
        const char *value;
        int rc;

        rc = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
        if (rc == SQLITE_OK)
                rc = sqlite3_step(statement);
        if (rc == SQLITE_ROW) {
                value = (const char *)sqlite3_column_text(statement, 0);
                rc = value && strcmp(value, expected) == 0 ? SQLITE_OK : otherwise;
        } else if (rc == SQLITE_DONE) {
                rc = otherwise;
        }
        (void)sqlite3_finalize(statement);
        return rc;
}

int store_new(const char *path, Store **ret_store)
{
        _cleanup_(store_freep) Store *store = NULL;

        store = calloc(1, sizeof(*store));
        if (!store)
                return error_origin(-ENOMEM);
        store->path = strdup(path);
        if (!store->path)
                return error_origin(-ENOMEM);
        if (asprintf(&store->wal_path, "%s-wal", path) < 0) {
                store->wal_path = NULL;
                return error_origin(-ENOMEM);
        }
        *ret_store = TAKE_PTR(store);
        return 0;
}

static void store_disconnect(Store *store)
{
        if (!store->db)
                return;
        for (int i = 0; i < _STATEMENT_N; ++i) {
                (void)sqlite3_finalize(store->statements[i]);
                store->statements[i] = NULL;
        }
        /* SQLite itself does not empty the WAL of a file that has moved, and must not of a bad one. */
        if (store->moved)
                (void)sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                                NULL);
        if (store->damaged)
                (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        (void)sqlite3_close(store->db);
        store->db = NULL;
        /*
         * What the WAL held was to go with the file. If it could not be emptied and still stands in
         * the old place, it must not meet the file that is there now: SQLite would replay it.
         */
        if (store->moved && dbfile_is_at(store->wal_path, &store->wal) &&
            dbfile_size(store->wal_path) > 0)
                (void)dbfile_set_aside_wal(store->path);
}

Store *store_free(Store *store)
{
        if (!store)
                return NULL;
        if (store->db && !store->broken)
                (void)store_optimize(store);
        store_disconnect(store);
        free(store->corrupt_moved);
        free(store->wal_path);
        free(store->path);
        free(store);
        return NULL;
}

static int store_quick_check(Store *store)
{
        int rc;

        /* CHECKs are of the schema, not of the file: a row that fails one is no damage. */
        rc = sqlite3_exec(store->db, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
        if (rc == SQLITE_OK)
                rc = store_expect(store, "PRAGMA quick_check(1)", "ok", SQLITE_CORRUPT);
        if (rc == SQLITE_OK)
                rc = sqlite3_exec(store->db, "PRAGMA ignore_check_constraints = OFF", NULL, NULL,
                                  NULL);
        return rc;
}

static int store_prepare_all(Store *store)
{
        for (int i = 0; i < _STATEMENT_N; ++i) {
                int rc;

                rc = sqlite3_prepare_v3(store->db, store_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                        &store->statements[i], NULL);
                if (rc != SQLITE_OK)
                        return rc;
        }
        return SQLITE_OK;
}

/* An SQLite result. The schema comes before WAL: auto_vacuum has to be set in an empty file. */
static int store_set_up(Store *store, bool check)
{
        static const char settings[] = "PRAGMA synchronous = FULL;"
                                       "PRAGMA journal_size_limit = " STORE_WAL_LIMIT ";"
                                       "PRAGMA temp_store = MEMORY;";
        int on = 1, rc;

        rc = sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        if (rc == SQLITE_OK)
                rc = sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
        if (rc == SQLITE_OK)
                rc = sqlite3_file_control(store->db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
        if (rc == SQLITE_OK)
                rc = sqlite3_exec(store->db, settings, NULL, NULL, NULL);
        if (rc == SQLITE_OK && check)
                rc = store_quick_check(store);
        if (rc == SQLITE_OK)
                rc = schema_migrate(store->db);
        if (rc == SQLITE_OK)
                rc = store_expect(store, "PRAGMA journal_mode = WAL", "wal", SQLITE_CANTOPEN);
        if (rc == SQLITE_OK)
                rc = store_prepare_all(store);
        /* The first reading makes the WAL, for readers and for us to know which one it is. */
        if (rc == SQLITE_OK)
                rc = sqlite3_exec(store->db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
        if (rc == SQLITE_OK && !dbfile_identify(store->wal_path, &store->wal))
                rc = SQLITE_CANTOPEN;
        return rc;
}

/* Why the schema was not accepted. Such a file is whole: it must not count as damaged. */
static int store_refuse(Store *store)
{
        char sql[64];

        (void)snprintf(sql, sizeof(sql), "SELECT application_id = %d FROM pragma_application_id",
                       SCHEMA_APPLICATION_ID);
        if (store_expect(store, sql, "1", SQLITE_MISMATCH) != SQLITE_OK) {
                store_complain(store, "is not a database of cgtask", NULL, STORE_FOREIGN);
                return STORE_E_UNAVAILABLE;
        }
        store_complain(store, "was written by a newer cgtask", NULL,
                       "install that version or move the file away from");
        return STORE_E_NEWER;
}

static int store_connect(Store *store)
{
        static const int flags =
                SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
        DbfileId file;
        bool check;
        int r, rc;

        store->moved = false;
        r = dbfile_make(store->path, &file);
        if (r != 0)
                return store_fail_file(store, r);
        check = store->damaged ||
                (dbfile_size(store->wal_path) > 0 && dbfile_is_from_before_boot(store->wal_path));
        errno = 0;
        rc = sqlite3_open_v2(store->path, &store->db, flags, NULL);
        if (rc == SQLITE_OK)
                rc = store_set_up(store, check);
        store_note_errno(store);
        if (rc == SQLITE_OK) {
                store->file = file;
                store->broken = store->damaged = false;
                return 0;
        }
        r = rc == SQLITE_MISMATCH ? store_refuse(store) : store_fail(store, rc);
        store_disconnect(store);
        return r;
}

/* The damaged file makes way for a new one, if it is ours. */
static int store_replace(Store *store)
{
        char *name;
        int r;

        if (!dbfile_was_database(store->path, SCHEMA_APPLICATION_ID))
                return STORE_E_UNAVAILABLE;
        r = dbfile_set_aside(store->path, &name);
        if (r != 0)
                return store_fail_file(store, r);
        store->damaged = false;
        free(store->corrupt_moved);
        store->corrupt_moved = name;
        return store_connect(store);
}

int store_open(Store *store, char **ret_corrupt_moved)
{
        int r = 0;

        if (!store->db || store->broken) {
                store_disconnect(store);
                r = store_connect(store);
                if (r == STORE_E_UNAVAILABLE && store->damaged)
                        r = store_replace(store);
        }
        if (r != 0)
                return error_fold(r);
        if (ret_corrupt_moved)
                *ret_corrupt_moved = TAKE_PTR(store->corrupt_moved);
        return 0;
}

static int store_require(Store *store)
{
        if (store->db)
                return 0;
        /* The reason why it could not be opened is worth more than that it is not open. */
        if (!store->error[0])
                store_complain(store, "is not open", NULL, "wait for cgtaskd to open the one in");
        return STORE_E_UNAVAILABLE;
}

/* Runs one statement of an open transaction; any failure ends the transaction. */
static int store_step(Store *store, int which)
{
        int r, rc;

        rc = store_run(store, which);
        if (rc == SQLITE_OK)
                return 0;
        r = store_fail(store, rc);
        store_rollback(store);
        return r;
}

int store_begin(Store *store)
{
        int r;

        r = store_require(store);
        if (r == 0)
                r = store_check_place(store);
        if (r == 0)
                r = store_step(store, STATEMENT_BEGIN);
        return error_fold(r);
}

int store_put(Store *store, const ExecutionRecord *record)
{
        ExecutionRecord row;
        int r;

        r = store_require(store);
        if (r != 0)
                return r;
        if (sqlite3_get_autocommit(store->db))
                return error_origin(-EINVAL);
        row = *record;
        if (row.schema_version == RECORD_NULL)
                row.schema_version = SCHEMA_VERSION;
        binding_bind(store->statements[STATEMENT_PUT], &row, store_now_usec());
        return error_fold(store_step(store, STATEMENT_PUT));
}

int store_commit(Store *store)
{
        int r;

        r = store_require(store);
        if (r != 0)
                return r;
        r = store_step(store, STATEMENT_COMMIT);
        if (r == 0)
                r = store_check_place(store);
        return error_fold(r);
}

void store_rollback(Store *store)
{
        if (store->db && !sqlite3_get_autocommit(store->db))
                (void)store_run(store, STATEMENT_ROLLBACK);
}

static int store_close_rows(Store *store, int which, const char *key, const char *reason,
                            int64_t *n)
{
        sqlite3_stmt *statement = store->statements[which];
        int r;

        (void)sqlite3_bind_text(statement, 1, reason, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(statement, 2, store_now_usec());
        (void)sqlite3_bind_text(statement, 3, key, -1, SQLITE_STATIC);
        r = store_step(store, which);
        if (r == 0)
                *n += sqlite3_changes(store->db);
        return r;
}

int store_close_other_boots(Store *store, const char *boot_id, const char *reason, int64_t *ret_n)
{
        int64_t n = 0;
        int r;

        r = store_begin(store);
        if (r == 0)
                r = store_close_rows(store, STATEMENT_CLOSE_OTHER_BOOTS, boot_id, reason, &n);
        if (r == 0)
                r = store_commit(store);
        if (r == 0)
                *ret_n = n;
        return error_fold(r);
}

/* Finds the first running row of this boot after *id and makes it the new *id; "" at the end. */
static int store_next_running(Store *store, const char *boot_id, char **id)
{
        sqlite3_stmt *statement = store->statements[STATEMENT_NEXT_RUNNING];
        char *next;
        int r, rc;

        (void)sqlite3_bind_text(statement, 1, boot_id, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(statement, 2, *id, -1, SQLITE_STATIC);
        rc = sqlite3_step(statement);
        next = strdup(rc == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : "");
        (void)sqlite3_reset(statement);
        (void)sqlite3_clear_bindings(statement);
        free(*id);
        *id = next;
        if (next && (rc == SQLITE_ROW || rc == SQLITE_DONE))
                return 0;
        r = store_fail(store, next ? rc : SQLITE_NOMEM);
        store_rollback(store);
        return r;
}

int store_close_vanished(Store *store, const char *boot_id,
                         int (*is_live)(void *userdata, const char *id), void *userdata,
                         const char *reason, int64_t *ret_n)
{
        _cleanup_free_ char *id = NULL;
        int64_t n = 0;
        int r;

        id = strdup("");
        if (!id)
                return error_origin(-ENOMEM);
        r = store_begin(store);
        while (r == 0) {
                r = store_next_running(store, boot_id, &id);
                if (r != 0 || !id[0])
                        break;
                if (!is_live(userdata, id))
                        r = store_close_rows(store, STATEMENT_CLOSE_ONE, id, reason, &n);
        }
        if (r == 0)
                r = store_commit(store);
        if (r == 0)
                *ret_n = n;
        return error_fold(r);
}

static int store_put_victim(Store *store, const char *execution_id, const Victim *victim)
{
        sqlite3_stmt *statement = store->statements[STATEMENT_PUT_VICTIM];

        (void)sqlite3_bind_text(statement, 1, execution_id, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(statement, 2, victim->at_usec);
        (void)sqlite3_bind_int64(statement, 3, victim->pid);
        (void)sqlite3_bind_text(statement, 4, victim->comm, -1, SQLITE_STATIC);
        if (victim->anon_rss_bytes != RECORD_NULL) /* else NULL, as after the last run */
                (void)sqlite3_bind_int64(statement, 5, victim->anon_rss_bytes);
        if (*victim->constraint)
                (void)sqlite3_bind_text(statement, 6, victim->constraint, -1, SQLITE_STATIC);
        return store_step(store, STATEMENT_PUT_VICTIM);
}

int store_put_victims(Store *store, const char *execution_id, const Victim *victims, size_t n)
{
        int r;

        r = store_begin(store);
        if (r == 0) {
                (void)sqlite3_bind_text(store->statements[STATEMENT_FORGET_VICTIMS], 1,
                                        execution_id, -1, SQLITE_STATIC);
                r = store_step(store, STATEMENT_FORGET_VICTIMS);
        }
        for (size_t i = 0; r == 0 && i < n; ++i)
                r = store_put_victim(store, execution_id, &victims[i]);
        if (r == 0)
                r = store_commit(store);
        return error_fold(r);
}

int store_get(Store *store, const char *id, ExecutionRecord *ret_record)
{
        sqlite3_stmt *statement;
        ExecutionRecord row;
        int r, rc;

        r = store_require(store);
        if (r != 0)
                return r;
        statement = store->statements[STATEMENT_GET];
        (void)sqlite3_bind_text(statement, 1, id, -1, SQLITE_STATIC);
        rc = sqlite3_step(statement);
        if (rc == SQLITE_ROW)
                rc = binding_borrow(statement, &row);
        if (rc == SQLITE_ROW)
                r = binding_copy(&row, ret_record);
        else
                r = rc == SQLITE_DONE ? STORE_E_NOT_FOUND : store_fail(store, rc);
        (void)sqlite3_reset(statement);
        (void)sqlite3_clear_bindings(statement);
        return r;
}

/* Ids are UUIDv7: their order is that of creation. */
static int store_prepare_list(Store *store, const StoreFilter *filter, sqlite3_stmt **ret_statement)
{
        char *sql;
        int rc = SQLITE_NOMEM;

        sql = sqlite3_mprintf(SQL_SELECT "WHERE 1%s%s%s ORDER BY id DESC LIMIT ?4",
                              filter->task ? " AND task = ?1" : "",
                              filter->state ? " AND state = ?2" : "",
                              filter->uid >= 0 ? " AND uid = ?3" : "");
        if (sql)
                rc = sqlite3_prepare_v2(store->db, sql, -1, ret_statement, NULL);
        sqlite3_free(sql);
        if (rc != SQLITE_OK)
                return rc;
        (void)sqlite3_bind_text(*ret_statement, 1, filter->task, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(*ret_statement, 2, filter->state, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(*ret_statement, 3, filter->uid);
        (void)sqlite3_bind_int64(*ret_statement, 4, filter->limit);
        return SQLITE_OK;
}

int store_list(Store *store, const StoreFilter *filter,
               int (*fn)(void *userdata, const ExecutionRecord *record), void *userdata)
{
        sqlite3_stmt *statement = NULL;
        ExecutionRecord row;
        int r, rc;

        r = store_require(store);
        if (r != 0)
                return r;
        rc = store_prepare_list(store, filter, &statement);
        while (rc == SQLITE_OK) {
                rc = sqlite3_step(statement);
                if (rc == SQLITE_ROW)
                        rc = binding_borrow(statement, &row);
                if (rc != SQLITE_ROW)
                        break;
                r = fn(userdata, &row);
                rc = r == 0 ? SQLITE_OK : SQLITE_DONE;
        }
        if (rc != SQLITE_DONE)
                r = store_fail(store, rc);
        else if (r > 0)
                r = STORE_E_STOPPED;
        (void)sqlite3_finalize(statement);
        return error_fold(r);
}

int store_checkpoint(Store *store)
{
        int r, rc;

        r = store_require(store);
        if (r != 0)
                return r;
        rc = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        /* A reader is in the way: nothing is wrong, and store_error() keeps what was. */
        if (rc == SQLITE_BUSY)
                return STORE_E_UNAVAILABLE;
        return rc == SQLITE_OK ? 0 : store_fail(store, rc);
}

int store_optimize(Store *store)
{
        int r, rc;

        r = store_require(store);
        if (r != 0)
                return r;
        rc = sqlite3_exec(store->db, "PRAGMA analysis_limit = 400; PRAGMA optimize;", NULL, NULL,
                          NULL);
        if (rc == SQLITE_BUSY)
                return STORE_E_UNAVAILABLE;
        return rc == SQLITE_OK ? 0 : store_fail(store, rc);
}

const char *store_error(const Store *store)
{
        return store->error;
}

int64_t store_wal_bytes(const Store *store)
{
        return dbfile_size(store->wal_path);
}
