/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the tests of the database share: a folder of their own, rows, and a second connection. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "private/cleanup.h"
#include "private/execution-record.h"

#include <ftw.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <sys/stat.h>

#define FIXTURE_BOOT "11111111111111111111111111111111"

typedef struct Fixture {
        char folder[64];
        char path[96];
} Fixture;

static inline int fixture_set_up(void **state)
{
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        (void)snprintf(f->folder, sizeof(f->folder), "/tmp/cgtask-test-XXXXXX");
        assert_non_null(mkdtemp(f->folder));
        (void)snprintf(f->path, sizeof(f->path), "%s/cgtask.db", f->folder);
        *state = f;
        return 0;
}

static inline int fixture_remove(const char *path, const struct stat *st, int type,
                                 struct FTW *place)
{
        return remove(path);
}

static inline int fixture_tear_down(void **state)
{
        Fixture *f = *state;

        assert_int_equal(nftw(f->folder, fixture_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
        free(f);
        return 0;
}

#define fixture_test(fn) cmocka_unit_test_setup_teardown(fn, fixture_set_up, fixture_tear_down)

/* PATH<suffix>, in one of four buffers that take turns. */
static inline const char *fixture_name(const Fixture *f, const char *suffix)
{
        static char names[4][256];
        static unsigned turn;
        char *name = names[turn++ % 4];

        (void)snprintf(name, sizeof(names[0]), "%s%s", f->path, suffix);
        return name;
}

static inline off_t fixture_size(const char *path)
{
        struct stat st;

        return stat(path, &st) < 0 ? -1 : st.st_size;
}

static inline void fixture_write(const char *path, const char *mode, const void *data, size_t n,
                                 long offset)
{
        _cleanup_fclose_ FILE *file = fopen(path, mode);

        assert_non_null(file);
        assert_int_equal(fseek(file, offset, SEEK_SET), 0);
        assert_int_equal(fwrite(data, 1, n, file), n);
}

/* The n-th id. */
static inline void fixture_id(unsigned n, char id[33])
{
        (void)snprintf(id, 33, "0190000000007000%016x", n);
}

/* A row as the daemon writes one: id n, task "t", this boot. The caller deinits. */
static inline void fixture_record(ExecutionRecord *r, unsigned n, const char *state)
{
        char id[33];

        execution_record_init(r);
        fixture_id(n, id);
        r->id = strdup(id);
        r->task = strdup("t");
        r->boot_id = strdup(FIXTURE_BOOT);
        r->state = strdup(state);
        r->uid = 1000;
        r->created_usec = n;
}

static inline sqlite3 *fixture_open(const char *path, int flags)
{
        sqlite3 *db;

        assert_int_equal(sqlite3_open_v2(path, &db, flags, NULL), SQLITE_OK);
        return db;
}

static inline void fixture_execute(sqlite3 *db, const char *sql)
{
        char *message = NULL;

        if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
                fail_msg("%s: %s", sql, message);
}

/* All values of the first row, joined with '|', NULL as nothing; the caller frees. */
static inline char *fixture_query(sqlite3 *db, const char *sql)
{
        sqlite3_stmt *statement;
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);

        assert_non_null(out);
        if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
                fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        if (sqlite3_step(statement) == SQLITE_ROW)
                for (int i = 0; i < sqlite3_column_count(statement); ++i) {
                        const unsigned char *value = sqlite3_column_text(statement, i);

                        (void)fprintf(out, "%s%s", i ? "|" : "", value ? (const char *)value : "");
                }
        assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
        assert_int_equal(fclose(out), 0);
        return text;
}

static inline void fixture_expect(sqlite3 *db, const char *sql, const char *expected)
{
        _cleanup_free_ char *found = fixture_query(db, sql);

        assert_string_equal(found, expected);
}

/* The same through a connection of its own, as a reader of the group has one. */
static inline void fixture_expect_in(const char *path, const char *sql, const char *expected)
{
        sqlite3 *db = fixture_open(path, SQLITE_OPEN_READONLY);

        fixture_expect(db, sql, expected);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}
