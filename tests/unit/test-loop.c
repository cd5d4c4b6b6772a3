/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loop: what is called, in which order, and what is freed when. */

#include "loop.h"

#include "private/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DEADLINE_SEC 30

/* What a test and its handlers share; `trace` gets one letter per event. */
typedef struct Fixture {
        Loop *loop;
        LoopSource *fd_source, *timer, *other, *signal;
        int fds[2];
        int result; /* what the handler returns */
        char trace[64];
        const char *fault_source;
        int fault;
} Fixture;

static void note(Fixture *f, const char *letter)
{
        assert_true(strlen(f->trace) + 1 < sizeof(f->trace));
        strcat(f->trace, letter);
}

static int set_up(void **state)
{
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        assert_int_equal(loop_new(&f->loop), 0);
        assert_int_equal(pipe(f->fds), 0);
        (void)alarm(DEADLINE_SEC);
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        Fixture *f = *state;

        (void)alarm(0);
        f->fd_source = loop_source_free(f->fd_source);
        f->timer = loop_source_free(f->timer);
        f->other = loop_source_free(f->other);
        f->signal = loop_source_free(f->signal);
        assert_null(loop_free(f->loop));
        (void)cleanup_close(f->fds[0]);
        (void)cleanup_close(f->fds[1]);
        free(f);
        return 0;
}

#define loop_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static int on_exit_timer(void *userdata)
{
        Fixture *f = userdata;

        note(f, "x");
        loop_exit(f->loop, 17);
        return 0;
}

static int on_readable(void *userdata)
{
        Fixture *f = userdata;
        char c;

        assert_int_equal(read(f->fds[0], &c, 1), 1);
        note(f, (char[]){ c, '\0' });
        if (c == 'q')
                loop_exit(f->loop, 0);
        return f->result;
}

static void add_fd(Fixture *f)
{
        assert_int_equal(loop_add_fd(f->loop, "pipe", LOOP_PRIORITY_CLIENT, f->fds[0], on_readable,
                                     f, &f->fd_source),
                         0);
}

static void add_timer(Fixture *f, LoopPriority priority, LoopFn fn, LoopSource **source)
{
        assert_int_equal(loop_add_timer(f->loop, "timer", priority, fn, f, source), 0);
}

static void test_free_accepts_null(void **state)
{
        assert_null(loop_free(NULL));
        assert_null(loop_source_free(NULL));
        loop_source_disarm(NULL);
}

static void test_readable_fd_is_served(void **state)
{
        Fixture *f = *state;

        add_fd(f);
        assert_int_equal(write(f->fds[1], "abq", 3), 3);
        assert_int_equal(loop_run(f->loop), 0);
        assert_string_equal(f->trace, "abq");
}

static void test_exit_result_is_the_first(void **state)
{
        Fixture *f = *state;

        loop_exit(f->loop, -EPIPE);
        loop_exit(f->loop, 0);
        assert_int_equal(loop_run(f->loop), -EPIPE);
}

/* It would spin for ever. */
static void test_loop_without_sources_is_a_fault(void **state)
{
        Fixture *f = *state;

        assert_int_equal(loop_run(f->loop), -EIO);
}

static int on_tick(void *userdata)
{
        Fixture *f = userdata;

        note(f, "t");
        if (strlen(f->trace) == 3)
                loop_exit(f->loop, 0);
        return loop_source_arm(f->timer, 1);
}

static void test_timer_fires_once_per_arming(void **state)
{
        Fixture *f = *state;

        add_timer(f, LOOP_PRIORITY_KERNEL, on_tick, &f->timer);
        assert_int_equal(loop_source_arm(f->timer, 0), 0);
        assert_int_equal(loop_run(f->loop), 0);
        assert_string_equal(f->trace, "ttt");
}

static void test_arming_again_replaces(void **state)
{
        Fixture *f = *state;

        add_timer(f, LOOP_PRIORITY_KERNEL, on_exit_timer, &f->timer);
        assert_int_equal(loop_source_arm(f->timer, UINT64_C(3600) * 1000000), 0);
        assert_int_equal(loop_source_arm(f->timer, 1000), 0);
        assert_int_equal(loop_run(f->loop), 17); /* before the alarm */
        assert_string_equal(f->trace, "x");
}

static void test_longest_time_is_accepted(void **state)
{
        Fixture *f = *state;

        add_timer(f, LOOP_PRIORITY_KERNEL, on_tick, &f->other);
        assert_int_equal(loop_source_arm(f->other, INT64_MAX), 0);
        add_timer(f, LOOP_PRIORITY_KERNEL, on_exit_timer, &f->timer);
        assert_int_equal(loop_source_arm(f->timer, 1000), 0);
        assert_int_equal(loop_run(f->loop), 17);
        assert_string_equal(f->trace, "x");
}

static int on_disarm_other(void *userdata)
{
        Fixture *f = userdata;

        note(f, "d");
        loop_source_disarm(f->other);
        return 0;
}

/* Both are due in the same turn: the one with the higher priority takes the other back. */
static void test_disarmed_timer_does_not_fire(void **state)
{
        Fixture *f = *state;
        LoopSource *last = NULL;

        add_timer(f, LOOP_PRIORITY_SIGNAL, on_disarm_other, &f->timer);
        add_timer(f, LOOP_PRIORITY_KERNEL, on_tick, &f->other);
        add_timer(f, LOOP_PRIORITY_CLIENT, on_exit_timer, &last);
        assert_int_equal(loop_source_arm(f->other, 0), 0);
        assert_int_equal(loop_source_arm(last, 0), 0);
        assert_int_equal(loop_source_arm(f->timer, 0), 0);
        assert_int_equal(loop_run(f->loop), 17);
        assert_string_equal(f->trace, "dx");
        last = loop_source_free(last);
}

static int on_free_other(void *userdata)
{
        Fixture *f = userdata;

        note(f, "f");
        f->other = loop_source_free(f->other);
        return 0;
}

static void test_freed_source_does_not_fire(void **state)
{
        Fixture *f = *state;
        LoopSource *last = NULL;

        add_timer(f, LOOP_PRIORITY_SIGNAL, on_free_other, &f->timer);
        add_timer(f, LOOP_PRIORITY_KERNEL, on_tick, &f->other);
        add_timer(f, LOOP_PRIORITY_CLIENT, on_exit_timer, &last);
        assert_int_equal(loop_source_arm(f->other, 0), 0);
        assert_int_equal(loop_source_arm(last, 0), 0);
        assert_int_equal(loop_source_arm(f->timer, 0), 0);
        assert_int_equal(loop_run(f->loop), 17);
        assert_string_equal(f->trace, "fx");
        last = loop_source_free(last);
}

static int on_free_self(void *userdata)
{
        Fixture *f = userdata;

        note(f, "s");
        f->timer = loop_source_free(f->timer);
        loop_exit(f->loop, 3);
        return -EBADF; /* even then its fault is told under its name */
}

static void on_fault(void *userdata, const char *source, int r)
{
        Fixture *f = userdata;

        f->fault_source = source;
        f->fault = r;
}

static void test_source_may_free_itself(void **state)
{
        Fixture *f = *state;

        loop_on_fault(f->loop, on_fault, f);
        add_timer(f, LOOP_PRIORITY_KERNEL, on_free_self, &f->timer);
        assert_int_equal(loop_source_arm(f->timer, 0), 0);
        assert_int_equal(loop_run(f->loop), 3);
        assert_string_equal(f->fault_source, "timer");
        assert_int_equal(f->fault, -EBADF);
}

static int on_client(void *userdata)
{
        note(userdata, "c");
        return 0;
}

static int on_kernel(void *userdata)
{
        note(userdata, "k");
        return 0;
}

static void test_priorities_order_one_turn(void **state)
{
        Fixture *f = *state;
        LoopSource *last = NULL;

        add_timer(f, LOOP_PRIORITY_CLIENT, on_client, &f->timer);
        add_timer(f, LOOP_PRIORITY_KERNEL, on_kernel, &f->other);
        add_timer(f, LOOP_PRIORITY_CLIENT, on_exit_timer, &last);
        assert_int_equal(loop_source_arm(f->timer, 0), 0);
        assert_int_equal(loop_source_arm(last, 0), 0);
        assert_int_equal(loop_source_arm(f->other, 0), 0);
        assert_int_equal(loop_run(f->loop), 17);
        assert_string_equal(f->trace, "kcx");
        last = loop_source_free(last);
}

static int on_signal(void *userdata)
{
        Fixture *f = userdata;

        note(f, "u");
        loop_exit(f->loop, 5);
        return 0;
}

static void test_signal_is_served_first(void **state)
{
        Fixture *f = *state;

        add_fd(f);
        assert_int_equal(loop_add_signal(f->loop, "SIGUSR1", SIGUSR1, on_signal, f, &f->signal), 0);
        assert_int_equal(write(f->fds[1], "a", 1), 1);
        assert_int_equal(raise(SIGUSR1), 0);
        assert_int_equal(loop_run(f->loop), 5);
        /* libevent learns of it by a descriptor of its own: the pipe may have been served before */
        assert_non_null(strchr(f->trace, 'u'));
}

static void test_fault_ends_the_loop_without_a_handler(void **state)
{
        Fixture *f = *state;

        f->result = -ENXIO;
        add_fd(f);
        assert_int_equal(write(f->fds[1], "a", 1), 1);
        assert_int_equal(loop_run(f->loop), -ENXIO);
}

static void test_fault_goes_to_the_handler_with_its_source(void **state)
{
        Fixture *f = *state;

        loop_on_fault(f->loop, on_fault, f);
        f->result = -ENXIO;
        add_fd(f);
        assert_int_equal(write(f->fds[1], "aq", 2), 2);
        assert_int_equal(loop_run(f->loop), 0); /* it was the handler's to decide */
        assert_string_equal(f->fault_source, "pipe");
        assert_int_equal(f->fault, -ENXIO);
        assert_string_equal(f->trace, "aq");
}

static void test_outcomes_are_no_faults(void **state)
{
        Fixture *f = *state;

        loop_on_fault(f->loop, on_fault, f);
        loop_report(f->loop, "x", 0);
        loop_report(f->loop, "x", 7);
        assert_null(f->fault_source);
        loop_report(f->loop, "x", -7);
        assert_int_equal(f->fault, -7);
}

typedef struct Corpse {
        Fixture *fixture;
        const char *letter;
        struct Corpse *heir; /* handed over when this one is buried */
} Corpse;

static void bury(void *object)
{
        Corpse *c = object;

        note(c->fixture, c->letter);
        if (c->heir)
                assert_int_equal(loop_reap(c->fixture->loop, bury, c->heir), 0);
}

static Corpse corpses[3];

static int on_reap(void *userdata)
{
        Fixture *f = userdata;

        note(f, "(");
        assert_int_equal(loop_reap(f->loop, bury, &corpses[0]), 0);
        assert_int_equal(loop_reap(f->loop, bury, &corpses[1]), 0);
        note(f, ")");
        return 0;
}

/* Nothing goes while a handler of the turn is still to come; then in the order of handing over. */
static void test_reaping_waits_for_the_end_of_the_turn(void **state)
{
        Fixture *f = *state;

        corpses[0] = (Corpse){ .fixture = f, .letter = "1", .heir = &corpses[2] };
        corpses[1] = (Corpse){ .fixture = f, .letter = "2" };
        corpses[2] = (Corpse){ .fixture = f, .letter = "3" };
        add_timer(f, LOOP_PRIORITY_KERNEL, on_reap, &f->timer);
        add_timer(f, LOOP_PRIORITY_CLIENT, on_exit_timer, &f->other);
        assert_int_equal(loop_source_arm(f->timer, 0), 0);
        assert_int_equal(loop_source_arm(f->other, 0), 0);
        assert_int_equal(loop_run(f->loop), 17);
        assert_string_equal(f->trace, "()x123");
}

static void test_bury_reaps_without_a_turn(void **state)
{
        Fixture *f = *state;

        corpses[0] = (Corpse){ .fixture = f, .letter = "1" };
        assert_int_equal(loop_reap(f->loop, bury, &corpses[0]), 0);
        assert_string_equal(f->trace, "");
        loop_bury(f->loop);
        assert_string_equal(f->trace, "1");
        loop_bury(f->loop);
        assert_string_equal(f->trace, "1");
}

static void test_free_reaps_what_is_left(void **state)
{
        Fixture f = { 0 };

        assert_int_equal(loop_new(&f.loop), 0);
        corpses[0] = (Corpse){ .fixture = &f, .letter = "1", .heir = &corpses[1] };
        corpses[1] = (Corpse){ .fixture = &f, .letter = "2" };
        assert_int_equal(loop_reap(f.loop, bury, &corpses[0]), 0);
        assert_null(loop_free(f.loop));
        assert_string_equal(f.trace, "12");
}

static void test_impossible_fd_is_a_fault(void **state)
{
        Fixture *f = *state;
        LoopSource *source = NULL;

        assert_true(loop_add_fd(f->loop, "bad", LOOP_PRIORITY_CLIENT, 1 << 19, on_readable, f,
                                &source) < 0);
        assert_null(source); /* and loop_free() finds no source left */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_free_accepts_null),
                loop_test(test_readable_fd_is_served),
                loop_test(test_exit_result_is_the_first),
                loop_test(test_loop_without_sources_is_a_fault),
                loop_test(test_timer_fires_once_per_arming),
                loop_test(test_arming_again_replaces),
                loop_test(test_longest_time_is_accepted),
                loop_test(test_disarmed_timer_does_not_fire),
                loop_test(test_freed_source_does_not_fire),
                loop_test(test_source_may_free_itself),
                loop_test(test_priorities_order_one_turn),
                loop_test(test_signal_is_served_first),
                loop_test(test_fault_ends_the_loop_without_a_handler),
                loop_test(test_fault_goes_to_the_handler_with_its_source),
                loop_test(test_outcomes_are_no_faults),
                loop_test(test_reaping_waits_for_the_end_of_the_turn),
                loop_test(test_bury_reaps_without_a_turn),
                cmocka_unit_test(test_free_reaps_what_is_left),
                loop_test(test_impossible_fd_is_a_fault),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
