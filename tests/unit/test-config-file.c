/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files count, in which order, and what their lines come out as. */

#include "config-file.h"

#include "private/cleanup.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* A folder that stands for "/", and all that the handler was told, as text. */
typedef struct Fixture {
        char root[64];
        char told[8192];
        int assign_result;
} Fixture;

static _printf_(2, 3) void tell(Fixture *fixture, const char *format, ...)
{
        size_t used = strlen(fixture->told);
        va_list args;

        va_start(args, format);
        assert_true(vsnprintf(fixture->told + used, sizeof(fixture->told) - used, format, args) <
                    (int)(sizeof(fixture->told) - used));
        va_end(args);
}

/* File names are told without the folder that stands for "/". */
static const char *below_root(const Fixture *fixture, const char *file)
{
        size_t n = strlen(fixture->root);

        assert_int_equal(strncmp(file, fixture->root, n), 0);
        return file + n;
}

static int assign(void *userdata, const char *file, unsigned line, const char *section,
                  const char *name, const char *value)
{
        Fixture *fixture = userdata;

        tell(fixture, "%s:%u [%s]%s=%s\n", below_root(fixture, file), line, section, name, value);
        return fixture->assign_result;
}

static void complain(void *userdata, const char *file, unsigned line, const char *text)
{
        Fixture *fixture = userdata;

        tell(fixture, "%s:%u! %s\n", below_root(fixture, file), line, text);
}

static int read_one(Fixture *fixture, const char *name)
{
        const ConfigFileHandler handler = { assign, complain, fixture };
        char path[256];

        fixture->told[0] = '\0';
        (void)snprintf(path, sizeof(path), "%s%s", fixture->root, name);
        return config_file_read(path, &handler);
}

static int read_all(Fixture *fixture)
{
        const ConfigFileHandler handler = { assign, complain, fixture };

        fixture->told[0] = '\0';
        return config_file_read_all(fixture->root, &handler);
}

static void make_path(const Fixture *fixture, const char *name, char path[256])
{
        (void)snprintf(path, 256, "%s%s", fixture->root, name);
        for (char *slash = path + strlen(fixture->root) + 1; (slash = strchr(slash, '/'));
             ++slash) {
                *slash = '\0';
                assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
                *slash = '/';
        }
}

static void put_bytes(const Fixture *fixture, const char *name, const char *bytes, size_t n)
{
        _cleanup_fclose_ FILE *f = NULL;
        char path[256];

        make_path(fixture, name, path);
        f = fopen(path, "we");
        assert_non_null(f);
        assert_int_equal(fwrite(bytes, 1, n, f), n);
}

static void put(const Fixture *fixture, const char *name, const char *text)
{
        put_bytes(fixture, name, text, strlen(text));
}

static void put_link(const Fixture *fixture, const char *name, const char *target)
{
        char path[256];

        make_path(fixture, name, path);
        assert_int_equal(symlink(target, path), 0);
}

static int setup(void **state)
{
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        (void)snprintf(fixture->root, sizeof(fixture->root), "/tmp/test-config-file-XXXXXX");
        assert_non_null(mkdtemp(fixture->root));
        *state = fixture;
        return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        return remove(path);
}

static int teardown(void **state)
{
        Fixture *fixture = *state;

        assert_int_equal(nftw(fixture->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
        free(fixture);
        return 0;
}

static void test_lines_keep_their_numbers(void **state)
{
        Fixture *fixture = *state;

        put(fixture, "/f",
            "# a comment\n"
            "\n"
            "early=1\n"
            "[A]\n"
            "  ; another\n"
            "x=1\n"
            " y = two words \n"
            "\tz=3 ; behind a value\n"
            "[B] # behind a section\n"
            "empty=\r\n"
            "q=a=b;c#d\n"
            "\n"
            "last=without newline");
        assert_int_equal(read_one(fixture, "/f"), 0);
        assert_string_equal(fixture->told, "/f:3 []early=1\n"
                                           "/f:6 [A]x=1\n"
                                           "/f:7 [A]y=two words\n"
                                           "/f:8 [A]z=3\n"
                                           "/f:10 [B]empty=\n"
                                           "/f:11 [B]q=a=b;c#d\n"
                                           "/f:13 [B]last=without newline\n");
}

/* To libinih an indented line would be more text for the value above it. */
static void test_indented_line_is_a_line_of_its_own(void **state)
{
        Fixture *fixture = *state;

        put(fixture, "/f", "[A]\nx=1\n   y=2\n   more text\n");
        assert_int_equal(read_one(fixture, "/f"), -EINVAL);
        assert_string_equal(fixture->told, "/f:2 [A]x=1\n"
                                           "/f:3 [A]y=2\n"
                                           "/f:4! not of the form Key=value\n");
}

static void test_byte_order_mark_is_skipped(void **state)
{
        Fixture *fixture = *state;

        put(fixture, "/f", "\xef\xbb\xbf[A]\nx=1\n");
        assert_int_equal(read_one(fixture, "/f"), 0);
        assert_string_equal(fixture->told, "/f:2 [A]x=1\n");
}

static void test_all_bad_lines_are_reported(void **state)
{
        Fixture *fixture = *state;

        put(fixture, "/f",
            "[A]\n"
            "x\n"
            "good=1\n"
            "[A\n"
            "[]\n"
            "[A]x=1\n"
            "y ; =1\n"
            "better=2\n"
            "end");
        assert_int_equal(read_one(fixture, "/f"), -EINVAL);
        assert_string_equal(fixture->told, "/f:2! not of the form Key=value\n"
                                           "/f:3 [A]good=1\n"
                                           "/f:4! not of the form [Section]\n"
                                           "/f:5! not of the form [Section]\n"
                                           "/f:6! not of the form [Section]\n"
                                           "/f:7! not of the form Key=value\n"
                                           "/f:8 [A]better=2\n"
                                           "/f:9! not of the form Key=value\n");
}

static void test_nul_bytes_are_refused(void **state)
{
        static const char bytes[] = "[A]\nx=1\0y=2\nz=3\n\0\n";
        Fixture *fixture = *state;

        put_bytes(fixture, "/f", bytes, sizeof(bytes) - 1);
        assert_int_equal(read_one(fixture, "/f"), -EINVAL);
        assert_string_equal(fixture->told, "/f:2! NUL byte in the line\n"
                                           "/f:3 [A]z=3\n"
                                           "/f:4! NUL byte in the line\n");
}

/* A line is taken whole or not at all, whatever the library's limit is. */
static void test_long_lines_are_whole_or_refused(void **state)
{
        Fixture *fixture = *state;

        for (size_t n = 150; n < 260; ++n) {
                char text[512] = "[A]\nx=", value[300] = "", expected[400];
                int r;

                memset(value, 'v', n);
                (void)strcat(strcat(text, value), "\ny=2\n");
                put(fixture, "/f", text);
                r = read_one(fixture, "/f");
                assert_non_null(strstr(fixture->told, "/f:3 [A]y=2\n"));
                (void)snprintf(expected, sizeof(expected), "/f:2 [A]x=%s\n", value);
                if (r == 0)
                        assert_non_null(strstr(fixture->told, expected));
                else
                        assert_non_null(strstr(fixture->told, "/f:2! line of more than "));
                if (n == 150)
                        assert_int_equal(r, 0);
                assert_true(r == 0 || r == -EINVAL);
        }
}

static void test_comments_may_be_long(void **state)
{
        Fixture *fixture = *state;
        char text[3000];

        memset(text, '#', sizeof(text));
        memcpy(text + sizeof(text) - 6, "\nx=1\n", 6);
        put(fixture, "/f", text);
        assert_int_equal(read_one(fixture, "/f"), 0);
        assert_string_equal(fixture->told, "/f:2 []x=1\n");
}

static void test_fault_of_the_handler_does_not_end_the_file(void **state)
{
        Fixture *fixture = *state;

        fixture->assign_result = -ERANGE;
        put(fixture, "/f", "x=1\ny=2\nnonsense\n");
        assert_int_equal(read_one(fixture, "/f"), -ERANGE);
        assert_string_equal(fixture->told, "/f:1 []x=1\n/f:2 []y=2\n"
                                           "/f:3! not of the form Key=value\n");
}

static void test_unreadable_paths_are_faults(void **state)
{
        Fixture *fixture = *state;
        char path[256];

        assert_int_equal(read_one(fixture, "/missing"), -ENOENT);
        assert_string_equal(fixture->told,
                            "/missing:0! cannot be opened: No such file or directory\n");
        make_path(fixture, "/folder/", path);
        assert_int_equal(read_one(fixture, "/folder"), -EISDIR);
        assert_string_equal(fixture->told, "/folder:0! cannot be read: Is a directory\n");
}

static void test_nothing_is_needed(void **state)
{
        Fixture *fixture = *state;

        assert_int_equal(read_all(fixture), 0);
        assert_string_equal(fixture->told, "");
}

static void test_only_the_highest_main_file_is_read(void **state)
{
        Fixture *fixture = *state;

        put(fixture, "/usr/lib/cgtask/cgtaskd.conf", "x=usr\n");
        assert_int_equal(read_all(fixture), 0);
        assert_string_equal(fixture->told, "/usr/lib/cgtask/cgtaskd.conf:1 []x=usr\n");
        put(fixture, "/run/cgtask/cgtaskd.conf", "x=run\n");
        assert_int_equal(read_all(fixture), 0);
        assert_string_equal(fixture->told, "/run/cgtask/cgtaskd.conf:1 []x=run\n");
        put(fixture, "/etc/cgtask/cgtaskd.conf", "x=etc\n");
        assert_int_equal(read_all(fixture), 0);
        assert_string_equal(fixture->told, "/etc/cgtask/cgtaskd.conf:1 []x=etc\n");
}

static void test_empty_main_file_masks_lower_ones(void **state)
{
        Fixture *fixture = *state;

        put(fixture, "/usr/lib/cgtask/cgtaskd.conf", "x=usr\n");
        put_link(fixture, "/etc/cgtask/cgtaskd.conf", "/dev/null");
        assert_int_equal(read_all(fixture), 0);
        assert_string_equal(fixture->told, "");
}

static void test_dropins_come_after_by_name(void **state)
{
        Fixture *fixture = *state;

        put(fixture, "/etc/cgtask/cgtaskd.conf", "x=main\n");
        put(fixture, "/usr/lib/cgtask/cgtaskd.conf.d/10-a.conf", "x=usr10\n");
        put(fixture, "/etc/cgtask/cgtaskd.conf.d/20-b.conf", "x=etc20\n");
        put(fixture, "/run/cgtask/cgtaskd.conf.d/15-c.conf", "x=run15\n");
        put(fixture, "/usr/lib/cgtask/cgtaskd.conf.d/90-z.conf", "x=usr90\n");
        assert_int_equal(read_all(fixture), 0);
        assert_string_equal(fixture->told,
                            "/etc/cgtask/cgtaskd.conf:1 []x=main\n"
                            "/usr/lib/cgtask/cgtaskd.conf.d/10-a.conf:1 []x=usr10\n"
                            "/run/cgtask/cgtaskd.conf.d/15-c.conf:1 []x=run15\n"
                            "/etc/cgtask/cgtaskd.conf.d/20-b.conf:1 []x=etc20\n"
                            "/usr/lib/cgtask/cgtaskd.conf.d/90-z.conf:1 []x=usr90\n");
}

static void test_dropin_of_a_higher_folder_replaces_and_masks(void **state)
{
        Fixture *fixture = *state;

        put(fixture, "/usr/lib/cgtask/cgtaskd.conf.d/10-a.conf", "x=usr\n");
        put(fixture, "/run/cgtask/cgtaskd.conf.d/10-a.conf", "x=run\n");
        put(fixture, "/usr/lib/cgtask/cgtaskd.conf.d/20-b.conf", "x=usr\n");
        put_link(fixture, "/etc/cgtask/cgtaskd.conf.d/20-b.conf", "/dev/null");
        put(fixture, "/run/cgtask/cgtaskd.conf.d/30-c.conf", "x=run\n");
        put(fixture, "/etc/cgtask/cgtaskd.conf.d/30-c.conf", "");
        assert_int_equal(read_all(fixture), 0);
        assert_string_equal(fixture->told, "/run/cgtask/cgtaskd.conf.d/10-a.conf:1 []x=run\n");
}

static void test_other_names_are_no_dropins(void **state)
{
        Fixture *fixture = *state;

        put(fixture, "/etc/cgtask/cgtaskd.conf.d/a.conf~", "x=1\n");
        put(fixture, "/etc/cgtask/cgtaskd.conf.d/.a.conf", "x=1\n");
        put(fixture, "/etc/cgtask/cgtaskd.conf.d/.conf", "x=1\n");
        put(fixture, "/etc/cgtask/cgtaskd.conf.d/README", "x=1\n");
        put(fixture, "/etc/cgtask/cgtaskd.conf.d/a.conf.dpkg-new", "x=1\n");
        assert_int_equal(read_all(fixture), 0);
        assert_string_equal(fixture->told, "");
}

static void test_bad_dropin_does_not_hide_others(void **state)
{
        Fixture *fixture = *state;
        char path[256];

        put(fixture, "/etc/cgtask/cgtaskd.conf", "nonsense\n");
        put_link(fixture, "/etc/cgtask/cgtaskd.conf.d/10-a.conf", "nowhere");
        make_path(fixture, "/etc/cgtask/cgtaskd.conf.d/20-b.conf/", path);
        put(fixture, "/etc/cgtask/cgtaskd.conf.d/30-c.conf", "x=1\n");
        put(fixture, "/run/cgtask/cgtaskd.conf.d", "a file where a folder should be\n");
        assert_int_equal(read_all(fixture), -EINVAL);
        assert_string_equal(
                fixture->told,
                "/etc/cgtask/cgtaskd.conf:1! not of the form Key=value\n"
                "/run/cgtask/cgtaskd.conf.d:0! cannot be opened: Not a directory\n"
                "/etc/cgtask/cgtaskd.conf.d/10-a.conf:0! cannot be opened: No such file or "
                "directory\n"
                "/etc/cgtask/cgtaskd.conf.d/20-b.conf:0! cannot be read: Is a directory\n"
                "/etc/cgtask/cgtaskd.conf.d/30-c.conf:1 []x=1\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_lines_keep_their_numbers),
                TEST(test_indented_line_is_a_line_of_its_own),
                TEST(test_byte_order_mark_is_skipped),
                TEST(test_all_bad_lines_are_reported),
                TEST(test_nul_bytes_are_refused),
                TEST(test_long_lines_are_whole_or_refused),
                TEST(test_comments_may_be_long),
                TEST(test_fault_of_the_handler_does_not_end_the_file),
                TEST(test_unreadable_paths_are_faults),
                TEST(test_nothing_is_needed),
                TEST(test_only_the_highest_main_file_is_read),
                TEST(test_empty_main_file_masks_lower_ones),
                TEST(test_dropins_come_after_by_name),
                TEST(test_dropin_of_a_higher_folder_replaces_and_masks),
                TEST(test_other_names_are_no_dropins),
                TEST(test_bad_dropin_does_not_hide_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
