/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The event loop: libevent with names, priorities, one place for faults, and safe destruction.
 *
 * loop_run() turns libevent once at a time and reaps in between. So whatever a handler does to
 * other objects, nothing that is still on the stack of this turn is freed under it.
 */

#include "loop.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>

typedef struct LoopCorpse {
        void (*fn)(void *object);
        void *object;
        STAILQ_ENTRY(LoopCorpse) link;
} LoopCorpse;

struct Loop {
        struct event_base *base;
        void (*on_fault)(void *userdata, const char *source, int r);
        void *fault_userdata;
        STAILQ_HEAD(, LoopCorpse) corpses;
        size_t n_sources;
        bool exiting;
        int exit_result;
};

struct LoopSource {
        Loop *loop;
        struct event *event;
        const char *name; /* a literal */
        LoopFn fn;
        void *userdata;
};

int loop_new(Loop **ret_loop)
{
        Loop *loop = calloc(1, sizeof(*loop));

        if (!loop)
                return error_origin(-ENOMEM);
        STAILQ_INIT(&loop->corpses);
        loop->base = event_base_new();
        if (!loop->base || event_base_priority_init(loop->base, _LOOP_PRIORITY_N) < 0) {
                (void)loop_free(loop);
                return error_origin(-ENOMEM);
        }
        *ret_loop = loop;
        return 0;
}

void loop_bury(Loop *loop)
{
        LoopCorpse *c;

        while ((c = STAILQ_FIRST(&loop->corpses))) {
                STAILQ_REMOVE_HEAD(&loop->corpses, link);
                c->fn(c->object);
                free(c);
        }
}

Loop *loop_free(Loop *loop)
{
        if (!loop)
                return NULL;
        loop_bury(loop);
        assert(loop->n_sources == 0);
        if (loop->base)
                event_base_free(loop->base);
        free(loop);
        return NULL;
}

void loop_on_fault(Loop *loop, void (*fn)(void *userdata, const char *source, int r),
                   void *userdata)
{
        loop->on_fault = fn;
        loop->fault_userdata = userdata;
}

void loop_report(Loop *loop, const char *source, int r)
{
        if (r >= 0)
                return;
        if (loop->on_fault)
                loop->on_fault(loop->fault_userdata, source, r);
        else
                loop_exit(loop, r);
}

static void loop_trampoline(evutil_socket_t fd, short what, void *userdata)
{
        LoopSource *source = userdata;
        Loop *loop = source->loop;
        const char *name = source->name;

        loop_report(loop, name, source->fn(source->userdata));
}

static int loop_add(Loop *loop, const char *name, LoopPriority priority, int fd, short what,
                    LoopFn fn, void *userdata, LoopSource **ret_source)
{
        LoopSource *source = calloc(1, sizeof(*source));

        if (!source)
                return error_origin(-ENOMEM);
        *source = (LoopSource){ .loop = loop, .name = name, .fn = fn, .userdata = userdata };
        source->event = event_new(loop->base, fd, what, loop_trampoline, source);
        ++loop->n_sources;
        if (!source->event || event_priority_set(source->event, (int)priority) < 0 ||
            (what && event_add(source->event, NULL) < 0)) {
                (void)loop_source_free(source);
                return error_origin(-ENOMEM);
        }
        *ret_source = source;
        return 0;
}

int loop_add_fd(Loop *loop, const char *name, LoopPriority priority, int fd, LoopFn fn,
                void *userdata, LoopSource **ret_source)
{
        return error_fold(
                loop_add(loop, name, priority, fd, EV_READ | EV_PERSIST, fn, userdata, ret_source));
}

int loop_add_signal(Loop *loop, const char *name, int signo, LoopFn fn, void *userdata,
                    LoopSource **ret_source)
{
        return error_fold(loop_add(loop, name, LOOP_PRIORITY_SIGNAL, signo, EV_SIGNAL | EV_PERSIST,
                                   fn, userdata, ret_source));
}

int loop_add_timer(Loop *loop, const char *name, LoopPriority priority, LoopFn fn, void *userdata,
                   LoopSource **ret_source)
{
        return error_fold(loop_add(loop, name, priority, -1, 0, fn, userdata, ret_source));
}

int loop_source_arm(LoopSource *source, uint64_t usec)
{
        struct timeval tv = { .tv_sec = (time_t)(usec / 1000000),
                              .tv_usec = (suseconds_t)(usec % 1000000) };

        return event_add(source->event, &tv) < 0 ? error_origin(-ENOMEM) : 0;
}

void loop_source_disarm(LoopSource *source)
{
        if (source)
                (void)event_del(source->event);
}

LoopSource *loop_source_free(LoopSource *source)
{
        if (!source)
                return NULL;
        if (source->event)
                event_free(source->event);
        --source->loop->n_sources;
        free(source);
        return NULL;
}

int loop_reap(Loop *loop, void (*fn)(void *object), void *object)
{
        LoopCorpse *c = malloc(sizeof(*c));

        if (!c)
                return error_origin(-ENOMEM);
        *c = (LoopCorpse){ .fn = fn, .object = object };
        STAILQ_INSERT_TAIL(&loop->corpses, c, link);
        return 0;
}

int loop_run(Loop *loop)
{
        while (!loop->exiting) {
                /* 1: no source is left, so nothing could ever happen any more */
                if (event_base_loop(loop->base, EVLOOP_ONCE) != 0)
                        return error_origin(-EIO);
                loop_bury(loop);
        }
        return loop->exit_result;
}

void loop_exit(Loop *loop, int r)
{
        if (!loop->exiting)
                loop->exit_result = r;
        loop->exiting = true;
        (void)event_base_loopbreak(loop->base);
}

struct event_base *loop_get_base(Loop *loop)
{
        return loop->base;
}
