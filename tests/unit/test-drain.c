/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ending executions without a daemon, on folders that look like cgroups: which ones are touched, in
 * which way, and how the ends are counted. That the kernel does its part is for the guests.
 */

#include "drain.h"

#include "tree-fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#define ALIVE "populated 1\nfrozen 0\n"
#define OVER "populated 0\nfrozen 0\n"

#define SHORT_USEC 1000 /* files do not empty themselves: the wait for it is in vain */
#define LONG_USEC UINT64_C(30000000)

static DrainResult drain(Tree *t, uint64_t grace_usec, uint64_t kill_usec)
{
        DrainResult result;

        assert_int_equal(drain_executions(t->root, grace_usec, kill_usec, &result), 0);
        return result;
}

static void test_only_executions_are_touched(void **state)
{
        static const char *const others[] = { "/keeper", "/.control", "/y-1", "/X-1" };
        char path[64];
        size_t i;

        for (i = 0; i < N_ELEMENTS(others); i++) {
                (void)snprintf(path, sizeof(path), "%s/cgroup.events", others[i]);
                tree_write(*state, path, ALIVE);
                (void)snprintf(path, sizeof(path), "%s/cgroup.kill", others[i]);
                tree_write(*state, path, "");
        }
        tree_write(*state, "/x-file", "");
        assert_int_equal(drain(*state, 0, SHORT_USEC).n_executions, 0);
        for (i = 0; i < N_ELEMENTS(others); i++) {
                (void)snprintf(path, sizeof(path), "%s/cgroup.kill", others[i]);
                assert_string_equal(tree_read(*state, path), "");
        }
}

static void test_the_living_are_killed_and_their_folders_stay(void **state)
{
        DrainResult result;

        tree_write(*state, "/x-1/cgroup.events", ALIVE);
        tree_write(*state, "/x-1/cgroup.kill", "");
        tree_write(*state, "/x-2/cgroup.events", OVER);
        tree_write(*state, "/x-2/cgroup.kill", "");
        result = drain(*state, SHORT_USEC, SHORT_USEC);
        assert_int_equal(result.n_executions, 2);
        assert_int_equal(result.n_over, 1);
        assert_int_equal(result.n_drained, 0);
        assert_int_equal(result.n_killed, 0);
        assert_int_equal(result.n_stuck, 1);
        assert_string_equal(tree_read(*state, "/x-1/cgroup.kill"), "1");
        assert_string_equal(tree_read(*state, "/x-2/cgroup.kill"), "");
}

typedef struct Kernel {
        Tree tree;
        bool waits_for_kill;
} Kernel;

/* What a kernel does: x-1 becomes empty, at once or when it is killed. */
static void *play_kernel(void *userdata)
{
        Kernel *kernel = userdata;
        int fd;

        while (kernel->waits_for_kill &&
               strcmp(tree_read(&kernel->tree, "/x-1/cgroup.kill"), "1") != 0)
                (void)sched_yield();
        fd = open(tree_path(&kernel->tree, "/x-1/cgroup.events"), O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, "0", 1, strlen("populated ")), 1);
        assert_int_equal(close(fd), 0);
        return NULL;
}

static DrainResult drain_with_kernel(Tree *t, bool waits_for_kill, uint64_t grace_usec)
{
        Kernel kernel = { .tree = *t, .waits_for_kill = waits_for_kill };
        DrainResult result;
        pthread_t thread;

        tree_write(t, "/x-1/cgroup.events", ALIVE);
        tree_write(t, "/x-1/cgroup.kill", "");
        assert_int_equal(pthread_create(&thread, NULL, play_kernel, &kernel), 0);
        result = drain(t, grace_usec, LONG_USEC);
        assert_int_equal(pthread_join(thread, NULL), 0);
        return result;
}

static void test_what_was_killed_is_waited_for(void **state)
{
        DrainResult result = drain_with_kernel(*state, true, 0);

        assert_int_equal(result.n_killed, 1);
        assert_int_equal(result.n_stuck, 0);
}

static void test_what_ends_in_its_time_is_not_killed(void **state)
{
        DrainResult result = drain_with_kernel(*state, false, LONG_USEC);

        /* The other thread may have been the faster one. */
        assert_int_equal(result.n_drained + result.n_over, 1);
        assert_int_equal(result.n_killed, 0);
        assert_string_equal(tree_read(*state, "/x-1/cgroup.kill"), "");
}

static pid_t make_victim(void)
{
        pid_t pid = fork();

        assert_true(pid >= 0);
        while (pid == 0)
                (void)pause();
        return pid;
}

/* R10: without cgroup.kill every process is looked up, in nested cgroups, too. */
static void test_old_kernels_kill_one_by_one(void **state)
{
        pid_t outer = make_victim(), inner = make_victim();
        int status;
        char text[64];

        tree_write(*state, "/x-1/cgroup.events", ALIVE);
        (void)snprintf(text, sizeof(text), "%d\n0\n%d\n", (int)outer, (int)getpid());
        tree_write(*state, "/x-1/cgroup.procs", text);
        (void)snprintf(text, sizeof(text), "%d\n", (int)inner);
        tree_write(*state, "/x-1/nested/deeper/cgroup.procs", text);
        assert_int_equal(drain(*state, 0, SHORT_USEC).n_stuck, 1);
        assert_int_equal(waitpid(outer, &status, 0), outer);
        assert_int_equal(WTERMSIG(status), SIGKILL);
        assert_int_equal(waitpid(inner, &status, 0), inner);
        assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void test_links_are_not_followed(void **state)
{
        Tree *t = *state;
        char target[128];

        tree_write(t, "/else/cgroup.events", ALIVE);
        tree_write(t, "/else/cgroup.kill", "");
        (void)snprintf(target, sizeof(target), "%s/else", t->root);
        assert_int_equal(symlink(target, tree_path(t, "/x-1")), 0);
        assert_int_equal(drain(t, 0, SHORT_USEC).n_executions, 0);
        assert_string_equal(tree_read(t, "/else/cgroup.kill"), "");
}

static void test_odd_folders_stop_nothing(void **state)
{
        tree_write(*state, "/x-1", NULL); /* no files at all: going away */
        tree_write(*state, "/x-2/cgroup.events", "");
        tree_write(*state, "/x-3/cgroup.events", "nonsense\n");
        tree_write(*state, "/x-4/cgroup.events", "frozen 0\npopulated 1\n");
        tree_write(*state, "/x-4/cgroup.kill", "");
        assert_int_equal(drain(*state, 0, SHORT_USEC).n_over, 3);
        assert_string_equal(tree_read(*state, "/x-4/cgroup.kill"), "1");
}

static void test_a_missing_folder_is_an_answer(void **state)
{
        DrainResult result = { .n_stuck = 77 };

        assert_int_equal(drain_executions(tree_path(*state, "/none"), 0, 0, &result), -ENOENT);
        assert_int_equal(result.n_stuck, 77);
}

static void test_the_lock_tells_whether_a_daemon_lives(void **state)
{
        Tree *t = *state;
        int fd;

        assert_false(drain_daemon_is_alive(tree_path(t, "/db.lock")));
        tree_write(t, "/db.lock", "");
        assert_false(drain_daemon_is_alive(tree_path(t, "/db.lock")));
        fd = open(tree_path(t, "/db.lock"), O_RDONLY | O_CLOEXEC);
        /* Asking has left nothing behind that would keep a daemon from starting. */
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        assert_true(drain_daemon_is_alive(tree_path(t, "/db.lock")));
        assert_int_equal(close(fd), 0);
        assert_false(drain_daemon_is_alive(tree_path(t, "/db.lock")));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                tree_test(test_only_executions_are_touched),
                tree_test(test_the_living_are_killed_and_their_folders_stay),
                tree_test(test_what_was_killed_is_waited_for),
                tree_test(test_what_ends_in_its_time_is_not_killed),
                tree_test(test_old_kernels_kill_one_by_one),
                tree_test(test_links_are_not_followed),
                tree_test(test_odd_folders_stop_nothing),
                tree_test(test_a_missing_folder_is_an_answer),
                tree_test(test_the_lock_tells_whether_a_daemon_lives),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
