/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of the database: made, recognised, set aside. */

#include "dbfile.h"

#include "store-fixture.h"

#include <errno.h>
#include <fcntl.h>

static void test_make_gives_0640_and_leaves_what_is_there(void **state)
{
        Fixture *f = *state;
        mode_t before = umask(0777);
        DbfileId id, again;
        struct stat st;

        assert_int_equal(dbfile_make(f->path, &id), 0);
        (void)umask(before);
        assert_int_equal(stat(f->path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        assert_int_equal(chmod(f->path, 0600), 0);
        fixture_write(f->path, "w", "x", 1, 0);
        assert_int_equal(dbfile_make(f->path, &again), 0);
        assert_true(again.ino == id.ino && again.dev == id.dev);
        assert_int_equal(stat(f->path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(st.st_size, 1);
}

static void test_make_refuses_what_is_no_file(void **state)
{
        Fixture *f = *state;
        DbfileId id;

        assert_int_equal(dbfile_make(f->folder, &id), DBFILE_E_NOT_A_FILE);
        assert_int_equal(dbfile_make("/dev/null", &id), DBFILE_E_NOT_A_FILE);
        assert_int_equal(symlink("missing", f->path), 0);
        assert_int_equal(dbfile_make(f->path, &id), -ENOENT);
        assert_int_equal(dbfile_make(fixture_name(f, "/x"), &id), -ENOENT);
}

static void test_identity_is_of_the_file_and_not_of_the_name(void **state)
{
        Fixture *f = *state;
        DbfileId id;

        assert_false(dbfile_identify(f->path, &id));
        assert_int_equal(dbfile_size(f->path), -1);
        assert_int_equal(dbfile_make(f->path, &id), 0);
        assert_true(dbfile_is_at(f->path, &id));
        assert_int_equal(dbfile_size(f->path), 0);
        assert_int_equal(rename(f->path, fixture_name(f, ".old")), 0);
        assert_false(dbfile_is_at(f->path, &id));
        fixture_write(f->path, "w", "x", 1, 0);
        assert_false(dbfile_is_at(f->path, &id));
        assert_true(dbfile_is_at(fixture_name(f, ".old"), &id));
}

static void test_age_is_told_from_the_boot(void **state)
{
        static const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
        Fixture *f = *state;

        assert_false(dbfile_is_from_before_boot(f->path));
        fixture_write(f->path, "w", "x", 1, 0);
        assert_false(dbfile_is_from_before_boot(f->path));
        assert_int_equal(utimensat(AT_FDCWD, f->path, long_ago, 0), 0);
        assert_true(dbfile_is_from_before_boot(f->path));
}

/* A configuration that points at somebody's file must never lead to its renaming. */
static void test_former_database_is_recognised(void **state)
{
        static const struct {
                const char *head; /* of a header of 100 bytes; NULL: no bytes at all */
                uint32_t id;
                bool wal, expected;
        } cases[] = {
                { "SQLite format 3", 0x63677431, false, true },
                { "SQLite format 3", 0x63677431, true, true },
                { "SQLite format 3", 0x63677432, true, false },
                { "SQLite format 3", 0, true, false },
                { "", 0, false, true },
                { "root:x:0:0:root:/root:/bin/sh", 0, false, false },
                { "root:x:0:0:root:/root:/bin/sh", 0, true, true },
                { NULL, 0, false, false },
                { NULL, 0, true, true },
        };
        Fixture *f = *state;

        assert_false(dbfile_was_database(f->path, 0x63677431));
        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                char header[100] = { 0 };

                if (cases[i].head)
                        memcpy(header, cases[i].head, strlen(cases[i].head));
                for (int k = 0; k < 4; ++k)
                        header[68 + k] = (char)(cases[i].id >> (24 - 8 * k));
                fixture_write(f->path, "w", header, cases[i].head ? sizeof(header) : 0, 0);
                (void)unlink(fixture_name(f, "-wal"));
                if (cases[i].wal)
                        fixture_write(fixture_name(f, "-wal"), "w", "", 0, 0);
                assert_int_equal(dbfile_was_database(f->path, 0x63677431), cases[i].expected);
        }
}

static void test_set_aside_takes_all_files_and_overwrites_none(void **state)
{
        static const char *const suffixes[] = { "", "-wal", "-shm" };
        Fixture *f = *state;
        _cleanup_free_ char *first = NULL, *second = NULL;

        for (int i = 0; i < 2; ++i) {
                char **name = i == 0 ? &first : &second;

                for (size_t k = 0; k < N_ELEMENTS(suffixes); ++k)
                        fixture_write(fixture_name(f, suffixes[k]), "w", "x", 1, 0);
                assert_int_equal(dbfile_set_aside(f->path, name), 0);
                for (size_t k = 0; k < N_ELEMENTS(suffixes); ++k) {
                        char path[256];

                        (void)snprintf(path, sizeof(path), "%s%s", *name, suffixes[k]);
                        assert_int_equal(fixture_size(path), 1);
                        assert_int_equal(fixture_size(fixture_name(f, suffixes[k])), -1);
                }
        }
        assert_string_not_equal(first, second);
}

static void test_set_aside_wal_leaves_the_rest(void **state)
{
        Fixture *f = *state;

        fixture_write(f->path, "w", "x", 1, 0);
        fixture_write(fixture_name(f, "-wal"), "w", "x", 1, 0);
        assert_int_equal(dbfile_set_aside_wal(f->path), 0);
        assert_int_equal(fixture_size(f->path), 1);
        assert_int_equal(fixture_size(fixture_name(f, "-wal")), -1);
        assert_int_equal(dbfile_set_aside_wal(f->path), 0); /* nothing there: nothing to do */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                fixture_test(test_make_gives_0640_and_leaves_what_is_there),
                fixture_test(test_make_refuses_what_is_no_file),
                fixture_test(test_identity_is_of_the_file_and_not_of_the_name),
                fixture_test(test_age_is_told_from_the_boot),
                fixture_test(test_former_database_is_recognised),
                fixture_test(test_set_aside_takes_all_files_and_overwrites_none),
                fixture_test(test_set_aside_wal_leaves_the_rest),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
