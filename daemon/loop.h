/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The only event loop and everything it calls. A handler is an ordinary function that returns 0 or
 * a fault; a fault goes to the one fault handler. Objects that must go while a handler of theirs may
 * still be on the stack are handed to loop_reap() and freed after the turn.
 */

#include <stdint.h>

typedef struct Loop Loop;
typedef struct LoopSource LoopSource;
struct event_base;

typedef int (*LoopFn)(void *userdata);

/* Served in this order within one turn. */
typedef enum LoopPriority {
        LOOP_PRIORITY_SIGNAL,
        LOOP_PRIORITY_KERNEL, /* inotify, pidfds, worker results, timers */
        LOOP_PRIORITY_CLIENT,
        _LOOP_PRIORITY_N,
} LoopPriority;

int loop_new(Loop **ret_loop);
Loop *loop_free(Loop *loop); /* all sources must have been freed */

/* What happens to a fault that a handler returned. Without one the loop ends. */
void loop_on_fault(Loop *loop, void (*fn)(void *userdata, const char *source, int r),
                   void *userdata);

/* Calls fn whenever fd is readable. The fd stays the caller's and must outlive the source. */
int loop_add_fd(Loop *loop, const char *name, LoopPriority priority, int fd, LoopFn fn,
                void *userdata, LoopSource **ret_source);
int loop_add_signal(Loop *loop, const char *name, int signo, LoopFn fn, void *userdata,
                    LoopSource **ret_source);
/* Not armed yet. */
int loop_add_timer(Loop *loop, const char *name, LoopPriority priority, LoopFn fn, void *userdata,
                   LoopSource **ret_source);
/* One shot, usec from now; arming again replaces the old time. */
int loop_source_arm(LoopSource *source, uint64_t usec);
void loop_source_disarm(LoopSource *source);
LoopSource *loop_source_free(LoopSource *source);

/* Calls fn(object) after the handlers of this turn have returned (or at loop_free()). */
int loop_reap(Loop *loop, void (*fn)(void *object), void *object);
/* Does it now: for owners that go while the loop does not run, before what their objects lean on. */
void loop_bury(Loop *loop);

/* Until loop_exit(); returns what that was given. */
int loop_run(Loop *loop);
void loop_exit(Loop *loop, int r);

/* Passes a handler's result on to the fault handler: for callbacks of other libevent objects. */
void loop_report(Loop *loop, const char *source, int r);

/* For listener.c and peer.c, which own other kinds of libevent objects. */
struct event_base *loop_get_base(Loop *loop);
