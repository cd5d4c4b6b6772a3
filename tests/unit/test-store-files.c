/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file: what a full, locked, broken, replaced, damaged or foreign one leads to. Failures of the
 * disk are made by lending SQLite another pwrite().
 */

#include "store.h"

#include "store-steps.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

static void test_unopened_store_is_unavailable(void **state)
{
        Fixture *f = *state;
        StoreFilter all = { .uid = -1, .limit = -1 };
        ExecutionRecord record;
        Listing l = { 0 };
        Store *store;
        int64_t n;

        assert_int_equal(store_new(f->path, &store), 0);
        assert_string_equal(store_error(store), "");
        execution_record_init(&record);
        assert_int_equal(store_begin(store), STORE_E_UNAVAILABLE);
        expect_error(store, "is not open");
        assert_int_equal(store_put(store, &record), STORE_E_UNAVAILABLE);
        assert_int_equal(store_commit(store), STORE_E_UNAVAILABLE);
        store_rollback(store);
        assert_int_equal(store_get(store, "x", &record), STORE_E_UNAVAILABLE);
        assert_int_equal(store_list(store, &all, note_row, &l), STORE_E_UNAVAILABLE);
        assert_int_equal(store_close_other_boots(store, "b", "r", &n), STORE_E_UNAVAILABLE);
        assert_int_equal(store_close_vanished(store, "b", is_even, &n, "r", &n),
                         STORE_E_UNAVAILABLE);
        assert_int_equal(store_checkpoint(store), STORE_E_UNAVAILABLE);
        assert_int_equal(store_optimize(store), STORE_E_UNAVAILABLE);
        assert_int_equal(store_wal_bytes(store), -1);
        assert_int_equal(access(f->path, F_OK), -1);
        store = store_free(store);
        assert_null(store_free(NULL));
}

/* The group may read, nobody else may do anything, whatever the umask. */
static void test_files_are_0640(void **state)
{
        static const mode_t masks[] = { 0, 027, 077 };
        static const char *const suffixes[] = { "", "-wal", "-shm" };
        Fixture *f = *state;
        char path[128];

        for (size_t i = 0; i < N_ELEMENTS(masks); ++i) {
                mode_t before = umask(masks[i]);
                Store *store;

                (void)snprintf(path, sizeof(path), "%s/%zu.db", f->folder, i);
                store = open_store(path);
                assert_int_equal(put(store, 1, "running"), 0);
                (void)umask(before);
                for (size_t k = 0; k < N_ELEMENTS(suffixes); ++k) {
                        char name[160];
                        struct stat st;

                        (void)snprintf(name, sizeof(name), "%s%s", path, suffixes[k]);
                        assert_int_equal(stat(name, &st), 0);
                        assert_int_equal(st.st_mode & 07777, 0640);
                }
                store = store_free(store);
        }
}

/* Readers who may not write in the folder need the -wal to be there, and it must be empty. */
static void test_orderly_close_leaves_an_empty_wal(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);

        assert_int_equal(put(store, 1, "running"), 0);
        assert_true(store_wal_bytes(store) > 0);
        fixture_expect_in(f->path, "SELECT state FROM v1_execution", "running");
        store = store_free(store);
        assert_int_equal(fixture_size(fixture_name(f, "-wal")), 0);
        fixture_expect_in(f->path, "SELECT state FROM v1_execution", "running");
        fixture_expect_in(f->path, "PRAGMA journal_mode", "wal");
        fixture_expect_in(f->path, "PRAGMA auto_vacuum", "2");
}

static void test_locked_file_is_unavailable_until_free(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        sqlite3 *other = fixture_open(f->path, SQLITE_OPEN_READWRITE);

        fixture_execute(other, "BEGIN IMMEDIATE");
        assert_int_equal(put(store, 1, "running"), STORE_E_UNAVAILABLE);
        expect_error(store, "is locked by another program");
        expect_error(store, f->path);
        fixture_execute(other, "ROLLBACK");
        /* The connection is still good: no store_open() in between. */
        assert_int_equal(put(store, 1, "running"), 0);
        assert_int_equal(sqlite3_close(other), SQLITE_OK);
        store = store_free(store);
}

static void test_reader_blocks_the_checkpoint_only(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        sqlite3 *reader = fixture_open(f->path, SQLITE_OPEN_READONLY);

        assert_int_equal(put(store, 1, "running"), 0);
        fixture_execute(reader, "BEGIN; SELECT * FROM v1_execution");
        assert_int_equal(put(store, 2, "running"), 0);
        assert_int_equal(store_checkpoint(store), STORE_E_UNAVAILABLE);
        assert_string_equal(store_error(store), "");
        fixture_expect(reader, "SELECT count(*) FROM v1_execution", "1");
        fixture_execute(reader, "COMMIT");
        assert_int_equal(store_checkpoint(store), 0);
        assert_int_equal(store_wal_bytes(store), 0);
        assert_int_equal(store_optimize(store), 0);
        assert_int_equal(put(store, 3, "running"), 0);
        assert_int_equal(sqlite3_close(reader), SQLITE_OK);
        store = store_free(store);
}

static int disk_errno;

static ssize_t broken_pwrite(int fd, const void *data, size_t n, off_t offset)
{
        if (disk_errno) {
                errno = disk_errno;
                return -1;
        }
        return pwrite(fd, data, n, offset);
}

static void lend_pwrite(sqlite3_syscall_ptr fn)
{
        sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

        (void)vfs->xSetSystemCall(vfs, "pwrite", fn);
        (void)vfs->xSetSystemCall(vfs, "pwrite64", fn);
}

static void test_broken_disk_is_unavailable_until_repaired(void **state)
{
        static const struct {
                int code;
                const char *text;
        } cases[] = {
                { ENOSPC, "is full: free space on the file system of /tmp/cgtask-test-" },
                { EDQUOT, "is full: free space on" },
                { EIO, "cannot be read or written (Input/output error): check the disk" },
                { EROFS, "cannot be read or written (Read-only file system)" },
        };
        Fixture *f = *state;
        Store *store = open_store(f->path);

        lend_pwrite((sqlite3_syscall_ptr)broken_pwrite);
        for (unsigned i = 0; i < N_ELEMENTS(cases); ++i) {
                char id[33];
                ExecutionRecord record;

                disk_errno = cases[i].code;
                for (int k = 0; k < 2; ++k) {
                        assert_int_equal(put(store, i, "running"), STORE_E_UNAVAILABLE);
                        expect_error(store, cases[i].text);
                        (void)store_open(store, NULL);
                }
                disk_errno = 0;
                assert_int_equal(store_open(store, NULL), 0);
                fixture_id(i, id);
                assert_int_equal(store_get(store, id, &record), STORE_E_NOT_FOUND);
                assert_int_equal(put(store, i, "running"), 0);
                expect_state(store, i, "running");
        }
        lend_pwrite(NULL);
        store = store_free(store);
}

static void test_new_database_on_a_full_disk(void **state)
{
        Fixture *f = *state;
        Store *store;

        assert_int_equal(store_new(f->path, &store), 0);
        lend_pwrite((sqlite3_syscall_ptr)broken_pwrite);
        disk_errno = ENOSPC;
        assert_int_equal(store_open(store, NULL), STORE_E_UNAVAILABLE);
        expect_error(store, "is full");
        disk_errno = 0;
        assert_int_equal(store_open(store, NULL), 0);
        lend_pwrite(NULL);
        assert_int_equal(put(store, 1, "running"), 0);
        store = store_free(store);
        fixture_expect_in(f->path, "PRAGMA auto_vacuum", "2");
}

static void test_path_that_cannot_be_a_file(void **state)
{
        Fixture *f = *state;
        char path[160];
        Store *store;

        assert_int_equal(mkdir(f->path, 0700), 0);
        assert_int_equal(store_new(f->path, &store), 0);
        assert_int_equal(store_open(store, NULL), STORE_E_UNAVAILABLE);
        expect_error(store, "is not a file");
        assert_int_equal(rmdir(f->path), 0);
        assert_int_equal(store_open(store, NULL), 0);
        assert_int_equal(put(store, 1, "running"), 0);
        store = store_free(store);

        (void)snprintf(path, sizeof(path), "%s/missing/x.db", f->folder);
        assert_int_equal(store_new(path, &store), 0);
        assert_int_equal(store_open(store, NULL), STORE_E_UNAVAILABLE);
        expect_error(store, "cannot be opened (No such file or directory)");
        store = store_free(store);
}

/* The other database takes the place of ours while it is open, its WAL still beside it. */
static void test_replaced_file_is_noticed(void **state)
{
        Fixture *f = *state;
        Store *store, *other;
        ExecutionRecord record;
        char path[160];

        (void)snprintf(path, sizeof(path), "%s/other.db", f->folder);
        other = open_store(path);
        assert_int_equal(put(other, 9, "finished"), 0);
        other = store_free(other);

        store = open_store(f->path);
        assert_int_equal(put(store, 1, "finished"), 0);
        fixture_record(&record, 2, "finished");
        assert_int_equal(store_begin(store), 0);
        assert_int_equal(store_put(store, &record), 0);
        assert_int_equal(rename(f->path, fixture_name(f, ".old")), 0);
        assert_int_equal(rename(path, f->path), 0);
        assert_int_equal(store_commit(store), STORE_E_UNAVAILABLE);
        expect_error(store, "was removed or replaced");
        assert_int_equal(store_begin(store), STORE_E_UNAVAILABLE);

        assert_int_equal(store_open(store, NULL), 0);
        expect_state(store, 9, "finished");
        assert_int_equal(store_get(store, record.id, &record), STORE_E_NOT_FOUND);
        assert_int_equal(put(store, 2, "finished"), 0);
        execution_record_deinit(&record);
        store = store_free(store);
        fixture_expect_in(f->path, "SELECT count(*) FROM v1_execution", "2");
        fixture_expect_in(f->path, "PRAGMA integrity_check", "ok");
        /* What was committed went with the old file, not into the new one. */
        {
                sqlite3 *old = fixture_open(fixture_name(f, ".old"), SQLITE_OPEN_READWRITE);

                fixture_expect(old, "SELECT count(*) FROM v1_execution", "2");
                assert_int_equal(sqlite3_close(old), SQLITE_OK);
        }
}

/* The same with a reader that keeps the old WAL from being emptied: it must not be replayed. */
static void test_replaced_file_does_not_meet_the_old_wal(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        sqlite3 *reader, *other;
        char path[160];

        (void)snprintf(path, sizeof(path), "%s/other.db", f->folder);
        other = fixture_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
        assert_int_equal(schema_migrate(other), SQLITE_OK);
        assert_int_equal(sqlite3_close(other), SQLITE_OK);
        assert_int_equal(put(store, 1, "finished"), 0);
        reader = fixture_open(f->path, SQLITE_OPEN_READONLY);
        fixture_execute(reader, "BEGIN; SELECT * FROM v1_execution");
        assert_int_equal(put(store, 2, "finished"), 0);

        assert_int_equal(rename(path, f->path), 0);
        assert_int_equal(put(store, 3, "finished"), STORE_E_UNAVAILABLE);
        assert_int_equal(store_open(store, NULL), 0);
        assert_int_equal(put(store, 3, "finished"), 0);
        assert_int_equal(sqlite3_close(reader), SQLITE_OK);
        store = store_free(store);
        fixture_expect_in(f->path, "SELECT count(*) FROM v1_execution", "1");
        fixture_expect_in(f->path, "PRAGMA integrity_check", "ok");
}

static void test_removed_file_is_made_anew(void **state)
{
        static const char *const victims[] = { "", "-wal" };
        Fixture *f = *state;
        Store *store = open_store(f->path);

        for (unsigned i = 0; i < N_ELEMENTS(victims); ++i) {
                assert_int_equal(put(store, 1 + 2 * i, "finished"), 0);
                assert_int_equal(unlink(fixture_name(f, victims[i])), 0);
                assert_int_equal(put(store, 2 + 2 * i, "finished"), STORE_E_UNAVAILABLE);
                expect_error(store, "was removed or replaced");
                assert_int_equal(store_open(store, NULL), 0);
                assert_int_equal(put(store, 2 + 2 * i, "finished"), 0);
        }
        /* The first row went with the first file; nothing else is missing. */
        fixture_expect_in(f->path, "SELECT count(*), min(id) FROM v1_execution",
                          "3|01900000000070000000000000000002");
        store = store_free(store);
}

static void make_database(const Fixture *f)
{
        Store *store = open_store(f->path);

        for (unsigned i = 0; i < 200; ++i)
                assert_int_equal(put(store, i, "finished"), 0);
        store = store_free(store);
}

static void expect_moved_aside(const Fixture *f)
{
        _cleanup_free_ char *moved = NULL;
        char *again;
        Store *store;

        assert_int_equal(store_new(f->path, &store), 0);
        assert_int_equal(store_open(store, &moved), 0);
        assert_non_null(moved);
        assert_memory_equal(moved, fixture_name(f, ".corrupt-"), strlen(f->path) + 9);
        assert_int_equal(access(moved, F_OK), 0);
        assert_int_equal(put(store, 1, "running"), 0);
        again = moved;
        assert_int_equal(store_open(store, &again), 0);
        assert_null(again); /* told once */
        store = store_free(store);
        fixture_expect_in(f->path, "SELECT count(*) FROM v1_execution", "1");
}

static void test_damaged_database_is_moved_aside(void **state)
{
        Fixture *f = *state;
        char garbage[4096];

        make_database(f);
        memset(garbage, 'g', sizeof(garbage));
        /* Overwritten header: the WAL beside it says that it was ours. */
        fixture_write(f->path, "r+", garbage, sizeof(garbage), 0);
        expect_moved_aside(f);
        /* Zeroed header. */
        memset(garbage, 0, sizeof(garbage));
        fixture_write(f->path, "r+", garbage, sizeof(garbage), 0);
        assert_int_equal(unlink(fixture_name(f, "-wal")), 0);
        expect_moved_aside(f);
        /* Header as it should be, schema destroyed. */
        fixture_write(f->path, "r+", garbage, sizeof(garbage) - 100, 100);
        expect_moved_aside(f);
        /* Cut off. */
        assert_int_equal(truncate(f->path, 100), 0);
        expect_moved_aside(f);
}

/* Damage that nobody would meet for long is looked for after the machine went down. */
static void test_damage_is_looked_for_after_a_power_cut(void **state)
{
        static const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
        Fixture *f = *state;
        _cleanup_free_ char *root = NULL;
        char garbage[4096];
        sqlite3 *db;

        make_database(f);
        db = fixture_open(f->path, SQLITE_OPEN_READONLY);
        root = fixture_query(db, "SELECT rootpage FROM sqlite_schema WHERE name = 'execution'");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        memset(garbage, 'g', sizeof(garbage));
        fixture_write(f->path, "r+", garbage, sizeof(garbage), 4096 * (atol(root) - 1));
        /* Nothing in the WAL: closed in an orderly way. In the WAL since this boot: a crash. */
        for (int i = 0; i < 2; ++i) {
                Store *store = open_store(f->path);

                store = store_free(store);
                fixture_write(fixture_name(f, "-wal"), "w", garbage, sizeof(garbage), 0);
        }
        assert_int_equal(utimensat(AT_FDCWD, fixture_name(f, "-wal"), long_ago, 0), 0);
        expect_moved_aside(f);
}

static void test_foreign_files_stay_as_they_are(void **state)
{
        static const char *const makers[] = {
                "CREATE TABLE theirs (x)",
                "PRAGMA application_id = 7",
                "PRAGMA journal_mode = WAL; CREATE TABLE theirs (x)",
        };
        static const char text[] = "root:x:0:0:root:/root:/bin/sh\n";
        Fixture *f = *state;
        Store *store;

        for (size_t i = 0; i <= N_ELEMENTS(makers); ++i) {
                off_t size;

                if (i < N_ELEMENTS(makers)) {
                        sqlite3 *db =
                                fixture_open(f->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);

                        fixture_execute(db, makers[i]);
                        assert_int_equal(sqlite3_close(db), SQLITE_OK);
                } else {
                        fixture_write(f->path, "w", text, sizeof(text) - 1, 0);
                        (void)unlink(fixture_name(f, "-wal"));
                }
                size = fixture_size(f->path);
                assert_int_equal(store_new(f->path, &store), 0);
                for (int k = 0; k < 2; ++k) {
                        assert_int_equal(store_open(store, NULL), STORE_E_UNAVAILABLE);
                        expect_error(store, "is not a database of cgtask: set another");
                }
                assert_int_equal(store_begin(store), STORE_E_UNAVAILABLE);
                store = store_free(store);
                assert_int_equal(fixture_size(f->path), size);
                assert_int_equal(unlink(f->path), 0);
        }
}

static void test_newer_database_is_refused(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        sqlite3 *db;

        assert_int_equal(put(store, 1, "finished"), 0);
        store = store_free(store);
        db = fixture_open(f->path, SQLITE_OPEN_READWRITE);
        fixture_execute(db, "PRAGMA user_version = 2");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(store_new(f->path, &store), 0);
        assert_int_equal(store_open(store, NULL), STORE_E_NEWER);
        expect_error(store, "was written by a newer cgtask");
        store = store_free(store);
        db = fixture_open(f->path, SQLITE_OPEN_READWRITE);
        fixture_expect(db, "SELECT count(*) FROM v1_execution", "1");
        fixture_execute(db, "PRAGMA user_version = 1");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_destroyed_schema_is_unavailable(void **state)
{
        Fixture *f = *state;
        Store *store = open_store(f->path);
        sqlite3 *db = fixture_open(f->path, SQLITE_OPEN_READWRITE);

        fixture_execute(db, "DROP TABLE execution");
        assert_int_equal(put(store, 1, "running"), STORE_E_UNAVAILABLE);
        expect_error(store, "does not have the tables of cgtask");
        assert_int_equal(store_open(store, NULL), STORE_E_UNAVAILABLE);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        store = store_free(store);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                fixture_test(test_unopened_store_is_unavailable),
                fixture_test(test_files_are_0640),
                fixture_test(test_orderly_close_leaves_an_empty_wal),
                fixture_test(test_locked_file_is_unavailable_until_free),
                fixture_test(test_reader_blocks_the_checkpoint_only),
                fixture_test(test_broken_disk_is_unavailable_until_repaired),
                fixture_test(test_new_database_on_a_full_disk),
                fixture_test(test_path_that_cannot_be_a_file),
                fixture_test(test_replaced_file_is_noticed),
                fixture_test(test_replaced_file_does_not_meet_the_old_wal),
                fixture_test(test_removed_file_is_made_anew),
                fixture_test(test_damaged_database_is_moved_aside),
                fixture_test(test_damage_is_looked_for_after_a_power_cut),
                fixture_test(test_foreign_files_stay_as_they_are),
                fixture_test(test_newer_database_is_refused),
                fixture_test(test_destroyed_schema_is_unavailable),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
