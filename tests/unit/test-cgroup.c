/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One cgroup directory: reading, and what is made of errors, on a fake tree in a temporary folder.
 * A fake tree cannot move, kill or tear down anything; those are tested on a real kernel.
 */

#include "cgroup.h"

#include "tree-fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static int open_root(const Tree *t)
{
        int fd = open(t->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}

/* A directory that looks alive. */
static int make_cgroup(Tree *t, const char *name)
{
        int root = open_root(t), fd = -1;
        uint64_t id;

        assert_int_equal(cgroup_create(root, name, &id), 0);
        assert_int_equal(cgroup_open(root, name, &fd), 0);
        (void)cleanup_close(root);
        return fd;
}

static void put(int dir_fd, const char *name, const char *text)
{
        int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        (void)cleanup_close(fd);
}

static void test_create_is_exclusive_and_gives_the_id(void **state)
{
        Tree *t = *state;
        int root = open_root(t);
        uint64_t id = 0;
        struct stat st;

        assert_int_equal(cgroup_create(root, "x-1", &id), 0);
        assert_int_equal(fstatat(root, "x-1", &st, 0), 0);
        assert_true(id == st.st_ino);
        assert_int_equal(cgroup_create(root, "x-1", &id), CGROUP_E_EXISTS);
        assert_int_equal(cgroup_create(root, "no/x-1", &id), CGROUP_E_GONE);
        (void)cleanup_close(root);
}

static void test_open_tells_gone(void **state)
{
        Tree *t = *state;
        int root = open_root(t), fd = 4711;

        assert_int_equal(cgroup_open(root, "x-1", &fd), CGROUP_E_GONE);
        assert_int_equal(fd, 4711);
        assert_int_equal(symlinkat("/", root, "x-2"), 0); /* not followed */
        assert_true(cgroup_open(root, "x-2", &fd) < 0);
        put(root, "x-3", "");
        assert_int_equal(cgroup_open(root, "x-3", &fd), -ENOTDIR);
        assert_int_equal(fd, 4711);
        (void)cleanup_close(root);
}

static void test_read_gives_the_whole_text(void **state)
{
        enum { SIZE = 300000 };
        _cleanup_free_ char *large = malloc(SIZE + 1), *text = NULL;
        int fd = make_cgroup(*state, "x-1");
        char small[16];

        put(fd, "memory.peak", "4096\n");
        assert_int_equal(cgroup_read(fd, "memory.peak", &text), 0);
        assert_string_equal(text, "4096\n");
        assert_int_equal(cgroup_read_into(fd, "memory.peak", small, sizeof(small)), 0);
        assert_string_equal(small, "4096\n");
        put(fd, "cgroup.procs", "");
        assert_int_equal(cgroup_read_into(fd, "cgroup.procs", small, sizeof(small)), 0);
        assert_string_equal(small, "");
        memset(large, 'x', SIZE);
        large[SIZE] = '\0';
        for (size_t n = 4094; n < 4099; ++n) { /* around the first buffer */
                _cleanup_free_ char *again = NULL;

                put(fd, "f", large + SIZE - n);
                assert_int_equal(cgroup_read(fd, "f", &again), 0);
                assert_int_equal(strlen(again), n);
        }
        cleanup_freep(&text);
        put(fd, "f", large);
        assert_int_equal(cgroup_read(fd, "f", &text), 0);
        assert_string_equal(text, large);
        (void)cleanup_close(fd);
}

static void test_read_into_refuses_what_does_not_fit(void **state)
{
        int fd = make_cgroup(*state, "x-1");
        char buffer[8] = "before";

        put(fd, "f", "1234567"); /* 7 and a NUL */
        assert_int_equal(cgroup_read_into(fd, "f", buffer, sizeof(buffer)), 0);
        assert_string_equal(buffer, "1234567");
        put(fd, "f", "12345678");
        assert_int_equal(cgroup_read_into(fd, "f", buffer, sizeof(buffer)), -EFBIG);
        put(fd, "f", "123456789012345678901234567890");
        assert_int_equal(cgroup_read_into(fd, "f", buffer, sizeof(buffer)), -EFBIG);
        (void)cleanup_close(fd);
}

/* The same ENOENT: cgroup.procs tells whether the directory lives. */
static void test_absent_is_not_gone(void **state)
{
        Tree *t = *state;
        int root = open_root(t), fd = make_cgroup(t, "x-1"), e = 0;
        char *text = NULL, buffer[16];

        put(fd, "cgroup.procs", "");
        assert_int_equal(cgroup_read(fd, "memory.peak", &text), CGROUP_E_ABSENT);
        assert_int_equal(cgroup_read_into(fd, "memory.peak", buffer, sizeof(buffer)),
                         CGROUP_E_ABSENT);
        assert_int_equal(cgroup_set(fd, "memory.swap.max", "0", &e), CGROUP_E_ABSENT);
        assert_int_equal(unlinkat(fd, "cgroup.procs", 0), 0);
        assert_int_equal(unlinkat(root, "x-1", AT_REMOVEDIR), 0);
        assert_int_equal(cgroup_read(fd, "memory.peak", &text), CGROUP_E_GONE);
        assert_int_equal(cgroup_read_into(fd, "memory.peak", buffer, sizeof(buffer)),
                         CGROUP_E_GONE);
        assert_int_equal(cgroup_set(fd, "memory.swap.max", "0", &e), CGROUP_E_GONE);
        assert_null(text);
        assert_int_equal(e, 0);
        (void)cleanup_close(fd);
        (void)cleanup_close(root);
}

static void test_set_writes_and_tells_why_not(void **state)
{
        int fd = make_cgroup(*state, "x-1"), e = 0;
        char buffer[16];

        put(fd, "memory.max", "");
        assert_int_equal(cgroup_set(fd, "memory.max", "4096", &e), 0);
        assert_int_equal(cgroup_read_into(fd, "memory.max", buffer, sizeof(buffer)), 0);
        assert_string_equal(buffer, "4096");
        assert_int_equal(mkdirat(fd, "memory.high", 0700), 0);
        assert_int_equal(cgroup_set(fd, "memory.high", "1", &e), CGROUP_E_REFUSED);
        assert_int_equal(e, EISDIR);
        assert_int_equal(symlinkat("memory.max", fd, "link"), 0);
        assert_int_equal(cgroup_set(fd, "link", "1", &e), CGROUP_E_REFUSED);
        assert_int_equal(e, ELOOP);
        (void)cleanup_close(fd);
}

static void test_populated_is_read_or_a_fault(void **state)
{
        static const struct {
                const char *text;
                int r;
                bool populated;
        } cases[] = {
                { "populated 1\nfrozen 0\n", 0, true },
                { "populated 0\nfrozen 0\n", 0, false },
                { "frozen 1\npopulated 1\nof_tomorrow 5\n", 0, true },
                { "populated 2\n", -EBADMSG, false },
                { "populated\n", -EBADMSG, false },
                { "populated -1\n", -EBADMSG, false },
                { "frozen 0\n", -EBADMSG, false },
                { "", -EBADMSG, false },
        };
        Tree *t = *state;
        int root = open_root(t), fd = make_cgroup(t, "x-1");

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                bool populated = !cases[i].populated;

                put(fd, "cgroup.events", cases[i].text);
                assert_int_equal(cgroup_read_populated(root, "x-1", &populated), cases[i].r);
                if (cases[i].r == 0)
                        assert_int_equal(populated, cases[i].populated);
        }
        (void)cleanup_close(fd);
        (void)cleanup_close(root);
}

/* Every cgroup has the file: without it the directory is not there, even if the parent lives. */
static void test_populated_without_a_directory_is_gone(void **state)
{
        Tree *t = *state;
        int root = open_root(t);
        bool populated;

        assert_int_equal(cgroup_read_populated(root, "x-1", &populated), CGROUP_E_GONE);
        put(root, "cgroup.procs", "");
        assert_int_equal(cgroup_read_populated(root, "x-1", &populated), CGROUP_E_GONE);
        (void)cleanup_close(root);
}

static void test_attach_tells_gone_and_refused(void **state)
{
        Tree *t = *state;
        int root = open_root(t), fd = make_cgroup(t, "x-1"), e = 0;
        char buffer[16];

        assert_int_equal(cgroup_attach(root, "x-2", getpid(), &e), CGROUP_E_GONE);
        put(fd, "cgroup.procs", "");
        assert_int_equal(cgroup_attach(root, "x-1", 4711, &e), 0);
        assert_int_equal(cgroup_read_into(fd, "cgroup.procs", buffer, sizeof(buffer)), 0);
        assert_string_equal(buffer, "4711");
        assert_int_equal(unlinkat(fd, "cgroup.procs", 0), 0);
        assert_int_equal(mkdirat(fd, "cgroup.procs", 0700), 0);
        assert_int_equal(cgroup_attach(root, "x-1", 4711, &e), CGROUP_E_REFUSED);
        assert_int_equal(e, EISDIR);
        (void)cleanup_close(fd);
        (void)cleanup_close(root);
}

static pid_t start_sleeper(void)
{
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                        (void)pause();
        }
        return pid;
}

static void expect_signal(pid_t pid, int signo)
{
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signo);
}

static void put_pid(int dir_fd, const char *path, const char *before, pid_t pid)
{
        char text[64];

        (void)snprintf(text, sizeof(text), "%s%d\n", before, (int)pid);
        put(dir_fd, path, text);
}

/* Also those of nested cgroups, whatever their names; what is no pid of ours is passed over. */
static void test_signal_reaches_all_that_are_listed(void **state)
{
        Tree *t = *state;
        int root = open_root(t), fd = make_cgroup(t, "x-1"), n = 4711;
        pid_t a = start_sleeper(), b = start_sleeper(), c = start_sleeper();

        assert_int_equal(mkdirat(fd, "in", 0700), 0);
        assert_int_equal(mkdirat(fd, "in/deep", 0700), 0);
        assert_int_equal(mkdirat(fd, ".hidden", 0700), 0);
        put(fd, "in/cgroup.procs", "");
        put_pid(fd, "cgroup.procs", "0\n-1\n99999999999\nx\n1 2\n", a);
        put_pid(fd, "in/deep/cgroup.procs", "", b);
        put_pid(fd, ".hidden/cgroup.procs", "", c);
        assert_int_equal(cgroup_kill(root, "x-1", SIGUSR1, &n), 0);
        assert_int_equal(n, 3);
        expect_signal(a, SIGUSR1);
        expect_signal(b, SIGUSR1);
        expect_signal(c, SIGUSR1);
        assert_int_equal(cgroup_kill(root, "x-1", SIGUSR1, &n), 0); /* they are gone */
        assert_int_equal(n, 0);
        assert_int_equal(cgroup_kill(root, "x-2", SIGUSR1, &n), CGROUP_E_GONE);
        (void)cleanup_close(fd);
        (void)cleanup_close(root);
}

static void test_kill_prefers_the_kernels_file(void **state)
{
        Tree *t = *state;
        int root = open_root(t), fd = make_cgroup(t, "x-1"), n = 0;
        char buffer[16];

        put(fd, "cgroup.kill", "");
        put_pid(fd, "cgroup.procs", "", getpid()); /* not to be touched */
        assert_int_equal(cgroup_kill(root, "x-1", SIGKILL, &n), 0);
        assert_int_equal(n, -1);
        assert_int_equal(cgroup_kill(root, "x-1", SIGKILL, NULL), 0);
        assert_int_equal(cgroup_read_into(fd, "cgroup.kill", buffer, sizeof(buffer)), 0);
        assert_string_equal(buffer, "1");
        assert_int_equal(cgroup_kill(root, "x-2", SIGKILL, &n), CGROUP_E_GONE);
        (void)cleanup_close(fd);
        (void)cleanup_close(root);
}

static void test_remove_takes_nested_ones_along(void **state)
{
        Tree *t = *state;
        int root = open_root(t), fd = make_cgroup(t, "x-1");

        assert_int_equal(mkdirat(fd, "a", 0700), 0);
        assert_int_equal(mkdirat(fd, "a/b", 0700), 0);
        assert_int_equal(mkdirat(fd, "a/.c", 0700), 0);
        assert_int_equal(mkdirat(fd, "..d", 0700), 0);
        (void)cleanup_close(fd);
        assert_int_equal(cgroup_remove(root, "x-1"), 0);
        assert_int_equal(cgroup_remove(root, "x-1"), CGROUP_E_GONE);
        (void)cleanup_close(root);
}

static void test_remove_stops_at_a_depth(void **state)
{
        Tree *t = *state;
        int root = open_root(t), fd = make_cgroup(t, "x-1");

        for (unsigned i = 0; i < 70; ++i) {
                int next;

                assert_int_equal(mkdirat(fd, "n", 0700), 0);
                next = openat(fd, "n", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                (void)cleanup_close(fd);
                fd = next;
        }
        (void)cleanup_close(fd);
        assert_int_equal(cgroup_remove(root, "x-1"), -ELOOP);
        (void)cleanup_close(root);
}

static void test_xattr_comes_back(void **state)
{
        _cleanup_free_ char *value = NULL, *empty = NULL;
        int fd = make_cgroup(*state, "x-1");
        char raw[8];

        assert_int_equal(cgroup_get_xattr(fd, "cgtask", &value), CGROUP_E_ABSENT);
        if (cgroup_set_xattr(fd, "cgtask", "{}") == -EOPNOTSUPP) /* tmpfs before 6.6 */
                skip();
        assert_int_equal(cgroup_set_xattr(fd, "cgtask", "{\"a\":1}"), 0);
        assert_int_equal(fgetxattr(fd, "user.cgtask", raw, sizeof(raw)), 7);
        assert_int_equal(cgroup_get_xattr(fd, "cgtask", &value), 0);
        assert_string_equal(value, "{\"a\":1}");
        assert_int_equal(cgroup_set_xattr(fd, "cgtask", ""), 0);
        assert_int_equal(cgroup_get_xattr(fd, "cgtask", &empty), 0);
        assert_string_equal(empty, "");
        (void)cleanup_close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                tree_test(test_create_is_exclusive_and_gives_the_id),
                tree_test(test_open_tells_gone),
                tree_test(test_read_gives_the_whole_text),
                tree_test(test_read_into_refuses_what_does_not_fit),
                tree_test(test_absent_is_not_gone),
                tree_test(test_set_writes_and_tells_why_not),
                tree_test(test_populated_is_read_or_a_fault),
                tree_test(test_populated_without_a_directory_is_gone),
                tree_test(test_attach_tells_gone_and_refused),
                tree_test(test_signal_reaches_all_that_are_listed),
                tree_test(test_kill_prefers_the_kernels_file),
                tree_test(test_remove_takes_nested_ones_along),
                tree_test(test_remove_stops_at_a_depth),
                tree_test(test_xattr_comes_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
