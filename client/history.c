/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The recorded executions.
 *
 * The database belongs to the daemon; this reads it and must leave no trace:
 *   - opened read-only, and closing never checkpoints: SQLite would remove the -wal and -shm files,
 *     and the readers' group, which cannot make them again, would be locked out until the daemon's
 *     next start;
 *   - one statement at a time, fetched to its end or given up, then reset;
 *   - immutable=1, which makes SQLite ignore the WAL, only where there is nothing in a WAL: rows
 *     that are committed but not yet checkpointed would be missing otherwise.
 *
 * A file may be anybody's (--database=): schema code in it is not trusted, columns are found by
 * their names, and a value of an unexpected type counts as NULL.
 */

#include "history.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#define BUSY_TIMEOUT_MSEC 250

struct History {
        char *path;
        sqlite3 *db;
        char error[512];
};

static void statement_freep(sqlite3_stmt **statement)
{
        (void)sqlite3_finalize(*statement);
}

int history_new(const char *path, History **ret_history)
{
        History *history;

        history = calloc(1, sizeof(*history));
        if (!history)
                return error_origin(-ENOMEM);
        history->path = strdup(path);
        if (!history->path) {
                (void)history_free(history);
                return error_origin(-ENOMEM);
        }
        *ret_history = history;
        return 0;
}

History *history_free(History *history)
{
        if (!history)
                return NULL;
        (void)sqlite3_close(history->db);
        free(history->path);
        free(history);
        return NULL;
}

const char *history_error(const History *history)
{
        return history->error;
}

/* Gives outcome back, with its line filled in. */
_printf_(3, 4) static int refuse(History *history, int outcome, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        (void)vsnprintf(history->error, sizeof(history->error), format, ap);
        va_end(ap);
        return outcome;
}

/* SQLite's result code in our contract; history->db may be half open. */
static int fault(History *history, int code)
{
        const char *text;

        if ((code & 0xff) == SQLITE_NOMEM)
                return error_origin(-ENOMEM);
        text = history->db ? sqlite3_errmsg(history->db) : sqlite3_errstr(code);
        if ((code & 0xff) == SQLITE_NOTADB)
                return refuse(history, HISTORY_E_FOREIGN, "%s is not a database of cgtask: %s",
                              history->path, text);
        if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
                return refuse(history, HISTORY_E_UNREADABLE, "%s is locked (%s): try again",
                              history->path, text);
        return refuse(history, HISTORY_E_UNREADABLE, "cannot read %s: %s", history->path, text);
}

/* SQLite says "unable to open" for everything; the kernel knows why. */
static int check_file(History *history)
{
        struct stat st;
        int r;

        if (stat(history->path, &st) < 0)
                r = errno;
        else if (!S_ISREG(st.st_mode))
                return refuse(history, HISTORY_E_FOREIGN, "%s is not a file", history->path);
        else
                r = faccessat(AT_FDCWD, history->path, R_OK, AT_EACCESS) < 0 ? errno : 0;

        if (r == 0)
                return 0;
        if (r == ENOENT || r == ENOTDIR)
                return refuse(history, HISTORY_E_ABSENT,
                              "there is no database at %s: the daemon makes it when it starts",
                              history->path);
        if (r == EACCES || r == EPERM)
                return refuse(history, HISTORY_E_DENIED,
                              "%s may be read by root and members of the group cgtask-read only",
                              history->path);
        return refuse(history, HISTORY_E_UNREADABLE, "cannot read %s: %s", history->path,
                      strerror(r));
}

static bool wal_is_empty(const History *history)
{
        _cleanup_free_ char *path = NULL;
        struct stat st;

        if (asprintf(&path, "%s-wal", history->path) < 0) {
                path = NULL;
                return false;
        }
        return stat(path, &st) < 0 ? errno == ENOENT : st.st_size == 0;
}

/* file: URI of the path; what has a meaning in a URI is written as %XX. */
static char *immutable_uri(const char *path)
{
        static const char tail[] = "?immutable=1";
        char *uri, *p;

        uri = malloc(strlen("file:") + 3 * strlen(path) + sizeof(tail));
        if (!uri)
                return NULL;
        p = stpcpy(uri, "file:");
        for (; *path; path++) {
                if (strchr("%?#", *path))
                        p += sprintf(p, "%%%02x", (unsigned)(unsigned char)*path);
                else
                        *p++ = *path;
        }
        strcpy(p, tail);
        return uri;
}

/* The task pattern for SQL; the same function as for executions that come from the daemon. */
static void sql_task_matches(sqlite3_context *context, int n, sqlite3_value **values)
{
        const char *pattern = (const char *)sqlite3_value_text(values[0]);
        const char *task = (const char *)sqlite3_value_text(values[1]);

        sqlite3_result_int(context, pattern && record_task_matches(pattern, task));
}

/* Opens; file is a path or a URI. An SQLite result code. */
static int connect_database(History *history, const char *file, int flags)
{
        int r;

        (void)sqlite3_close(history->db);
        history->db = NULL;
        r = sqlite3_open_v2(file, &history->db, SQLITE_OPEN_READONLY | flags, NULL);
        if (r != SQLITE_OK)
                return r;
        (void)sqlite3_extended_result_codes(history->db, 1);
        (void)sqlite3_busy_timeout(history->db, BUSY_TIMEOUT_MSEC);
        (void)sqlite3_db_config(history->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        (void)sqlite3_db_config(history->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        (void)sqlite3_db_config(history->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        return sqlite3_create_function(history->db, "cgtask_match", 2,
                                       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                       sql_task_matches, NULL, NULL);
}

/* The first column of the only row. An SQLite result code. */
static int query_integer(History *history, const char *sql, int64_t *ret_value)
{
        _cleanup_(statement_freep) sqlite3_stmt *statement = NULL;
        int r;

        r = sqlite3_prepare_v2(history->db, sql, -1, &statement, NULL);
        if (r != SQLITE_OK)
                return r;
        r = sqlite3_step(statement);
        if (r != SQLITE_ROW)
                return r == SQLITE_DONE ? SQLITE_CORRUPT : r;
        *ret_value = sqlite3_column_int64(statement, 0);
        return SQLITE_OK;
}

/* The first real read of the file: WAL troubles show here. */
static int probe(History *history, int64_t *ret_application_id)
{
        int64_t n;
        int r;

        r = query_integer(history, "SELECT count(*) FROM sqlite_schema", &n);
        if (r != SQLITE_OK)
                return r;
        return query_integer(history, "PRAGMA application_id", ret_application_id);
}

static int check_schema(History *history, int64_t application_id)
{
        int64_t version;
        int r;

        if (application_id != HISTORY_APPLICATION_ID)
                return refuse(history, HISTORY_E_FOREIGN,
                              "%s is not a database of cgtask: its application_id is 0x%08x",
                              history->path, (unsigned)application_id);
        r = query_integer(history, "PRAGMA user_version", &version);
        if (r != SQLITE_OK)
                return fault(history, r);
        if (version > HISTORY_SCHEMA_VERSION)
                return refuse(history, HISTORY_E_NEWER,
                              "%s was written by a newer cgtask (version %lld, known up to %d): "
                              "use the cgtaskctl that came with the daemon",
                              history->path, (long long)version, HISTORY_SCHEMA_VERSION);
        if (version < 1)
                return refuse(
                        history, HISTORY_E_FOREIGN,
                        "%s has no tables of cgtask yet: the daemon makes them when it starts",
                        history->path);
        return 0;
}

int history_open(History *history)
{
        _cleanup_free_ char *uri = NULL;
        int64_t application_id;
        int r, outcome;

        outcome = check_file(history);
        if (outcome != 0)
                return outcome;
        r = connect_database(history, history->path, 0);
        if (r == SQLITE_OK)
                r = probe(history, &application_id);
        if (((r & 0xff) == SQLITE_READONLY || (r & 0xff) == SQLITE_CANTOPEN) &&
            wal_is_empty(history)) {
                uri = immutable_uri(history->path);
                if (!uri)
                        return error_origin(-ENOMEM);
                r = connect_database(history, uri, SQLITE_OPEN_URI);
                if (r == SQLITE_OK)
                        r = probe(history, &application_id);
        }
        if (r != SQLITE_OK)
                return error_fold(fault(history, r));
        return error_fold(check_schema(history, application_id));
}

/* Where each column of the record is in the result, -1 if an older view does not have it. */
static void map_columns(sqlite3_stmt *statement, int *positions)
{
        int i, n = sqlite3_column_count(statement);
        const char *name;
        size_t j;

        for (j = 0; j < RECORD_N_COLUMNS; j++) {
                positions[j] = -1;
                for (i = 0; i < n; i++) {
                        name = sqlite3_column_name(statement, i);
                        if (name && strcmp(name, record_columns[j].name) == 0)
                                positions[j] = i;
                }
        }
}

static int read_record(sqlite3_stmt *statement, const int *positions, ExecutionRecord *record)
{
        const RecordColumn *column;
        size_t i;
        int r, type;

        for (i = 0; i < RECORD_N_COLUMNS; i++) {
                if (positions[i] < 0)
                        continue;
                column = &record_columns[i];
                type = sqlite3_column_type(statement, positions[i]);
                if (column->kind == RECORD_KIND_TEXT || column->kind == RECORD_KIND_JSON) {
                        if (type != SQLITE_TEXT)
                                continue;
                        r = record_set_text(
                                record, column,
                                (const char *)sqlite3_column_text(statement, positions[i]));
                        if (r < 0)
                                return error_fold(r);
                } else if (type == SQLITE_INTEGER) {
                        record_set_integer(record, column,
                                           sqlite3_column_int64(statement, positions[i]));
                }
        }
        return 0;
}

/*
 * Conditions are left out rather than made true, so that each one that is there can use an index. A
 * task pattern comes as the range of its plain beginning, too; cgtask_match decides. Parts of ids
 * are looked up among the ids alone first, which is an index, and only then are rows fetched.
 */
static char *list_sql(const RecordFilter *filter)
{
        char *sql;
        int n;

        n = asprintf(
                &sql,
                "SELECT * FROM v1_execution WHERE true%s%s%s%s%s ORDER BY id DESC LIMIT :limit",
                filter->task ? " AND task >= :task_from AND task < :task_to"
                               " AND cgtask_match(:task, task)"
                             : "",
                filter->state ? " AND state = :state" : "",
                filter->uid >= 0 ? " AND uid = :uid" : "",
                filter->since_usec >= 0 ? " AND (state = 'running'"
                                          " OR coalesce(ended_usec, created_usec) >= :since)"
                                        : "",
                filter->id_part ? " AND id IN (SELECT id FROM v1_execution"
                                  " WHERE (id >= :part AND id < :part || 'g')"
                                  " OR substr(id, -length(:part)) = :part)"
                                : "");
        return n < 0 ? NULL : sql;
}

/* Binding to a parameter that was left out is refused by SQLite without harm. */
static void bind_text(sqlite3_stmt *statement, const char *name, const char *text)
{
        if (text)
                (void)sqlite3_bind_text(statement, sqlite3_bind_parameter_index(statement, name),
                                        text, -1, SQLITE_TRANSIENT);
}

static void bind_integer(sqlite3_stmt *statement, const char *name, int64_t value)
{
        if (value >= 0)
                (void)sqlite3_bind_int64(statement, sqlite3_bind_parameter_index(statement, name),
                                         value);
}

static int bind_filter(sqlite3_stmt *statement, const RecordFilter *filter)
{
        _cleanup_free_ char *from = NULL, *to = NULL;

        if (filter->task) {
                from = strndup(filter->task, strcspn(filter->task, "*?[\\"));
                /* No UTF-8 text has a byte 0xff, so this is above all that begin with from. */
                if (!from || asprintf(&to, "%s\xff", from) < 0) {
                        to = NULL;
                        return error_origin(-ENOMEM);
                }
        }
        bind_text(statement, ":task", filter->task);
        bind_text(statement, ":task_from", from);
        bind_text(statement, ":task_to", to);
        bind_text(statement, ":state", filter->state);
        bind_text(statement, ":part", filter->id_part);
        bind_integer(statement, ":uid", filter->uid);
        bind_integer(statement, ":since", filter->since_usec);
        /* A negative LIMIT is none, NULL would be an error. */
        (void)sqlite3_bind_int64(statement, sqlite3_bind_parameter_index(statement, ":limit"),
                                 filter->limit);
        return 0;
}

static int add_row(sqlite3_stmt *statement, const int *positions, RecordList *list)
{
        _cleanup_(record_deinitp) ExecutionRecord record;
        int r;

        execution_record_init(&record);
        r = read_record(statement, positions, &record);
        if (r < 0)
                return error_fold(r);
        return error_fold(record_list_add(list, &record));
}

int history_list(History *history, const RecordFilter *filter, RecordList *list)
{
        _cleanup_(statement_freep) sqlite3_stmt *statement = NULL;
        _cleanup_free_ char *sql = NULL;
        int positions[RECORD_N_COLUMNS];
        int r, code;

        sql = list_sql(filter);
        if (!sql)
                return error_origin(-ENOMEM);
        code = sqlite3_prepare_v2(history->db, sql, -1, &statement, NULL);
        if (code != SQLITE_OK)
                return error_fold(fault(history, code));
        r = bind_filter(statement, filter);
        if (r < 0)
                return error_fold(r);
        map_columns(statement, positions);
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
                r = add_row(statement, positions, list);
                if (r < 0)
                        return error_fold(r);
        }
        return code == SQLITE_DONE ? 0 : error_fold(fault(history, code));
}

static const char *column_text(sqlite3_stmt *statement, int column)
{
        const char *text = NULL;

        if (sqlite3_column_type(statement, column) == SQLITE_TEXT)
                text = (const char *)sqlite3_column_text(statement, column);
        return text ? text : "";
}

static int64_t column_integer(sqlite3_stmt *statement, int column)
{
        return sqlite3_column_type(statement, column) == SQLITE_INTEGER
                       ? sqlite3_column_int64(statement, column)
                       : RECORD_NULL;
}

int history_list_victims(History *history, const char *execution_id,
                         int (*fn)(void *userdata, const HistoryVictim *victim), void *userdata)
{
        _cleanup_(statement_freep) sqlite3_stmt *statement = NULL;
        int r, code;

        code = sqlite3_prepare_v2(history->db,
                                  "SELECT at_usec, pid, anon_rss_bytes, comm, \"constraint\" "
                                  "FROM v1_oom_victim WHERE execution_id = ?1 ORDER BY at_usec",
                                  -1, &statement, NULL);
        if (code != SQLITE_OK)
                return error_fold(fault(history, code));
        (void)sqlite3_bind_text(statement, 1, execution_id, -1, SQLITE_TRANSIENT);
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
                HistoryVictim victim = {
                        .at_usec = column_integer(statement, 0),
                        .pid = column_integer(statement, 1),
                        .anon_rss_bytes = column_integer(statement, 2),
                        .comm = column_text(statement, 3),
                        .constraint = column_text(statement, 4),
                };

                r = fn(userdata, &victim);
                if (r < 0)
                        return error_fold(r);
        }
        return code == SQLITE_DONE ? 0 : error_fold(fault(history, code));
}

int history_count(History *history, int64_t *ret_n)
{
        int r;

        r = query_integer(history, "SELECT count(*) FROM v1_execution", ret_n);
        return r == SQLITE_OK ? 0 : error_fold(fault(history, r));
}
