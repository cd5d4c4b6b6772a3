/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inotify instance, on ordinary files. What kernfs does otherwise (no event for rmdir before 7.1)
 * is tested on a real kernel. The overflow of the queue is made by really overflowing it.
 */

#include "watch.h"

#include "private/cleanup.h"
#include "tree-fixture.h"

#include <event2/event.h>
#include <fcntl.h>

#define DEADLINE_SEC 60

typedef struct Seen {
        void *subject;
        int cookie;
} Seen;

typedef struct Fixture {
        Tree *tree;
        Loop *loop;
        Watch *watch;
        int result;
        size_t n_seen, n_overflows;
        Seen seen[16];
        int remove_wd; /* by the handler; -1: none */
} Fixture;

static int subjects[3];

static int on_event(void *userdata, void *subject, int cookie)
{
        Fixture *f = userdata;

        if (f->n_seen < N_ELEMENTS(f->seen))
                f->seen[f->n_seen] = (Seen){ subject, cookie };
        ++f->n_seen;
        f->n_overflows += subject == NULL;
        watch_remove(f->watch, f->remove_wd);
        f->remove_wd = -1;
        return f->result;
}

static int set_up(void **state)
{
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        f->remove_wd = -1;
        assert_int_equal(tree_set_up((void **)&f->tree), 0);
        assert_int_equal(loop_new(&f->loop), 0);
        assert_int_equal(watch_new(f->loop, on_event, f, &f->watch), 0);
        (void)alarm(DEADLINE_SEC);
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        Fixture *f = *state;
        void *tree = f->tree;

        (void)alarm(0);
        assert_null(watch_free(f->watch));
        assert_null(loop_free(f->loop));
        assert_int_equal(tree_tear_down(&tree), 0);
        free(f);
        return 0;
}

#define watch_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static const char *path_of(Fixture *f, const char *name)
{
        static char paths[4][256];
        static unsigned turn;
        char *path = paths[turn++ % 4];

        (void)snprintf(path, sizeof(paths[0]), "%s/%s", f->tree->root, name);
        return path;
}

static void touch(Fixture *f, const char *name, const char *text)
{
        int fd = open(path_of(f, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        (void)cleanup_close(fd);
}

static int add(Fixture *f, const char *name, void *subject, int cookie)
{
        int wd = -1;

        touch(f, name, "");
        assert_int_equal(watch_add(f->watch, path_of(f, name), subject, cookie, &wd), 0);
        assert_true(wd >= 0);
        return wd;
}

/* Serves what is queued, without waiting. */
static void serve(Fixture *f)
{
        assert_true(event_base_loop(loop_get_base(f->loop), EVLOOP_NONBLOCK) >= 0);
}

static void expect(Fixture *f, size_t i, void *subject, int cookie)
{
        assert_true(i < f->n_seen);
        assert_ptr_equal(f->seen[i].subject, subject);
        assert_int_equal(f->seen[i].cookie, cookie);
}

static void test_modification_is_told(void **state)
{
        Fixture *f = *state;
        int a = add(f, "a", &subjects[0], 1), b = add(f, "b", &subjects[1], 2);

        assert_true(watch_is_working(f->watch));
        assert_int_equal(watch_count(f->watch), 2);
        serve(f);
        assert_int_equal(f->n_seen, 0);
        touch(f, "b", "x");
        touch(f, "a", "x");
        serve(f);
        assert_int_equal(f->n_seen, 2);
        expect(f, 0, &subjects[1], 2);
        expect(f, 1, &subjects[0], 1);
        watch_remove(f->watch, a);
        watch_remove(f->watch, b);
        assert_int_equal(watch_count(f->watch), 0);
}

static void test_removed_watch_is_silent(void **state)
{
        Fixture *f = *state;
        int wd = add(f, "a", &subjects[0], 1);

        touch(f, "a", "x"); /* queued already */
        watch_remove(f->watch, wd);
        touch(f, "a", "y");
        serve(f);
        assert_int_equal(f->n_seen, 0);
        watch_remove(f->watch, wd); /* once more */
        watch_remove(f->watch, -1);
        watch_remove(f->watch, 4711);
        assert_int_equal(watch_count(f->watch), 0);
}

/* From 7.1 on the kernel drops the watch of a removed cgroup by itself: a last look, then silence. */
static void test_watch_that_the_kernel_dropped_is_told_once(void **state)
{
        Fixture *f = *state;
        int wd = add(f, "a", &subjects[0], 1);

        assert_int_equal(unlink(path_of(f, "a")), 0);
        serve(f);
        assert_int_equal(f->n_seen, 1);
        expect(f, 0, &subjects[0], 1);
        assert_int_equal(watch_count(f->watch), 0);
        watch_remove(f->watch, wd); /* its holder does not know */
        serve(f);
        assert_int_equal(f->n_seen, 1);
}

/* Two events in one buffer; the first one's handler takes the second one's watch away. */
static void test_handler_may_remove_another_watch(void **state)
{
        Fixture *f = *state;
        int a = add(f, "a", &subjects[0], 1);

        f->remove_wd = add(f, "b", &subjects[1], 2);
        touch(f, "a", "x");
        touch(f, "b", "x");
        serve(f);
        assert_int_equal(f->n_seen, 1);
        expect(f, 0, &subjects[0], 1);
        watch_remove(f->watch, a);
}

static void test_handler_may_remove_its_own_watch(void **state)
{
        Fixture *f = *state;

        f->remove_wd = add(f, "a", &subjects[0], 1);
        touch(f, "a", "x");
        touch(f, "a", "y");
        serve(f);
        assert_int_equal(f->n_seen, 1);
        assert_int_equal(watch_count(f->watch), 0);
}

/* Dropped by the kernel, and removed by the handler that is told so. */
static void test_handler_may_remove_a_dropped_watch(void **state)
{
        Fixture *f = *state;

        f->remove_wd = add(f, "a", &subjects[0], 1);
        assert_int_equal(unlink(path_of(f, "a")), 0);
        serve(f);
        assert_int_equal(f->n_seen, 1);
        assert_int_equal(watch_count(f->watch), 0);
}

static void test_missing_file_is_gone(void **state)
{
        Fixture *f = *state;
        int wd = 4711;

        assert_int_equal(watch_add(f->watch, path_of(f, "nobody"), &subjects[0], 1, &wd),
                         WATCH_E_GONE);
        assert_int_equal(watch_add(f->watch, path_of(f, "no/body"), &subjects[0], 1, &wd),
                         WATCH_E_GONE);
        assert_int_equal(wd, 4711);
        assert_int_equal(watch_count(f->watch), 0);
        assert_true(watch_is_working(f->watch));
}

/* The kernel would answer with the descriptor of the first: two subjects cannot share it. */
static void test_same_file_twice_is_a_fault(void **state)
{
        Fixture *f = *state;
        int again = 4711, wd = add(f, "a", &subjects[0], 1);

        assert_int_equal(watch_add(f->watch, path_of(f, "a"), &subjects[1], 2, &again), -EEXIST);
        assert_int_equal(again, 4711);
        assert_int_equal(watch_count(f->watch), 1);
        touch(f, "a", "x");
        serve(f);
        assert_int_equal(f->n_seen, 1);
        expect(f, 0, &subjects[0], 1);
        watch_remove(f->watch, wd);
}

static void on_fault(void *userdata, const char *source, int r)
{
        Fixture *f = userdata;

        assert_string_equal(source, "inotify");
        f->result = r == -EBADF ? 1 : 0;
}

static void test_fault_of_the_handler_is_reported(void **state)
{
        Fixture *f = *state;
        int wd = add(f, "a", &subjects[0], 1);

        loop_on_fault(f->loop, on_fault, f);
        f->result = -EBADF;
        touch(f, "a", "x");
        serve(f);
        assert_int_equal(f->result, 1);
        watch_remove(f->watch, wd);
}

static void test_many_watches(void **state)
{
        enum { N = 200 };
        Fixture *f = *state;
        int wds[N];

        for (int i = 0; i < N; ++i) {
                char name[16];

                (void)snprintf(name, sizeof(name), "f%d", i);
                wds[i] = add(f, name, &subjects[0], i);
        }
        assert_int_equal(watch_count(f->watch), N);
        touch(f, "f150", "x");
        serve(f);
        assert_int_equal(f->n_seen, 1);
        expect(f, 0, &subjects[0], 150);
        for (int i = N - 1; i >= 0; i -= 2)
                watch_remove(f->watch, wds[i]);
        for (int i = 0; i < N; i += 2)
                watch_remove(f->watch, wds[i]);
        assert_int_equal(watch_count(f->watch), 0);
}

static size_t queue_length(void)
{
        _cleanup_fclose_ FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
        size_t n = 0;

        return file && fscanf(file, "%zu", &n) == 1 ? n : 0;
}

/* Style rule 20: with lost events nothing is known, so everything has to be looked at. */
static void test_overflow_asks_to_look_at_everything(void **state)
{
        Fixture *f = *state;
        size_t before, n = queue_length();
        int wds[2], fds[2];

        if (n == 0 || n > 1000000)
                skip();
        wds[0] = add(f, "a", &subjects[0], 1);
        wds[1] = add(f, "b", &subjects[1], 2);
        fds[0] = open(path_of(f, "a"), O_WRONLY | O_CLOEXEC);
        fds[1] = open(path_of(f, "b"), O_WRONLY | O_CLOEXEC);
        for (size_t i = 0; i < n + 10; ++i) /* alternately: equal neighbours are merged */
                assert_int_equal(write(fds[i % 2], "x", 1), 1);
        do {
                before = f->n_seen;
                serve(f);
        } while (f->n_seen > before);
        assert_int_equal(f->n_overflows, 1);
        assert_int_equal(f->n_seen, n + 1);
        (void)cleanup_close(fds[0]);
        (void)cleanup_close(fds[1]);
        watch_remove(f->watch, wds[0]);
        watch_remove(f->watch, wds[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                watch_test(test_modification_is_told),
                watch_test(test_removed_watch_is_silent),
                watch_test(test_watch_that_the_kernel_dropped_is_told_once),
                watch_test(test_handler_may_remove_another_watch),
                watch_test(test_handler_may_remove_its_own_watch),
                watch_test(test_handler_may_remove_a_dropped_watch),
                watch_test(test_missing_file_is_gone),
                watch_test(test_same_file_twice_is_a_fault),
                watch_test(test_fault_of_the_handler_is_reported),
                watch_test(test_many_watches),
                watch_test(test_overflow_asks_to_look_at_everything),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
