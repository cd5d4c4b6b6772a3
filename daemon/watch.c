/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inotify instance.
 *
 * A watch descriptor is never reused by the kernel within one instance, but events for a removed one
 * may still be queued: a descriptor that is not in the map is ignored. Every mask means "look",
 * whatever it says, except IN_IGNORED, after which the descriptor is dead, and IN_Q_OVERFLOW, after
 * which nothing is known and everything has to be looked at.
 *
 * Handlers may add and remove watches while events are dispatched: the map is asked anew for each
 * event, and the buffer is our own copy.
 */

#include "watch.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <sys/inotify.h>

typedef struct WatchEntry {
        int wd;
        int cookie;
        void *subject;
} WatchEntry;

struct Watch {
        Loop *loop;
        int fd; /* -1: no instance could be had */
        LoopSource *source;
        WatchFn fn;
        void *userdata;
        void *entries; /* tree of WatchEntry by wd */
        size_t n_entries;
        bool working;
};

static int watch_compare(const void *a, const void *b)
{
        const WatchEntry *x = a, *y = b;

        return x->wd < y->wd ? -1 : x->wd > y->wd;
}

static WatchEntry *watch_find(const Watch *watch, int wd)
{
        WatchEntry key = { .wd = wd };
        WatchEntry **found = tfind(&key, &watch->entries, watch_compare);

        return found ? *found : NULL;
}

static void watch_forget(Watch *watch, WatchEntry *entry)
{
        (void)tdelete(entry, &watch->entries, watch_compare);
        --watch->n_entries;
        free(entry);
}

static int watch_handle(Watch *watch, const struct inotify_event *event)
{
        WatchEntry *entry;

        if (event->mask & IN_Q_OVERFLOW)
                return error_fold(watch->fn(watch->userdata, NULL, 0));
        entry = watch_find(watch, event->wd);
        if (!entry)
                return 0;
        if (event->mask & IN_IGNORED) { /* the kernel dropped it: from 7.1 on when a cgroup goes */
                void *subject = entry->subject;
                int cookie = entry->cookie;

                watch_forget(watch, entry);
                return error_fold(watch->fn(watch->userdata, subject, cookie));
        }
        return error_fold(watch->fn(watch->userdata, entry->subject, entry->cookie));
}

static int watch_dispatch(void *userdata)
{
        char buffer[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
        Watch *watch = userdata;
        ssize_t n;
        int r;

        n = read(watch->fd, buffer, sizeof(buffer));
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : error_origin(-errno);
        for (char *p = buffer; p < buffer + n;) {
                const struct inotify_event *event = (const void *)p;

                p += sizeof(*event) + event->len;
                r = watch_handle(watch, event);
                if (r < 0)
                        return error_fold(r);
        }
        return 0;
}

/* Users share a limit of instances: without one, the next watch_add() tries again. */
static int watch_open(Watch *watch)
{
        int r;

        watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        watch->working = watch->fd >= 0;
        if (watch->fd < 0)
                return 0;
        r = loop_add_fd(watch->loop, "inotify", LOOP_PRIORITY_KERNEL, watch->fd, watch_dispatch,
                        watch, &watch->source);
        if (r < 0)
                watch->fd = cleanup_close(watch->fd);
        return error_fold(r);
}

int watch_new(Loop *loop, WatchFn fn, void *userdata, Watch **ret_watch)
{
        Watch *watch = calloc(1, sizeof(*watch));
        int r;

        if (!watch)
                return error_origin(-ENOMEM);
        *watch = (Watch){ .loop = loop, .fd = -1, .fn = fn, .userdata = userdata };
        r = watch_open(watch);
        if (r < 0) {
                (void)watch_free(watch);
                return error_fold(r);
        }
        *ret_watch = watch;
        return 0;
}

Watch *watch_free(Watch *watch)
{
        if (!watch)
                return NULL;
        assert(watch->n_entries == 0);
        watch->source = loop_source_free(watch->source);
        watch->fd = cleanup_close(watch->fd);
        free(watch);
        return NULL;
}

int watch_add(Watch *watch, const char *path, void *subject, int cookie, int *ret_wd)
{
        _cleanup_free_ WatchEntry *entry = NULL;
        WatchEntry **node;
        int wd, r;

        if (watch->fd < 0) {
                r = watch_open(watch);
                if (r < 0)
                        return error_fold(r);
        }
        if (watch->fd < 0)
                return WATCH_E_FULL;
        entry = malloc(sizeof(*entry));
        if (!entry)
                return error_origin(-ENOMEM);
        wd = inotify_add_watch(watch->fd, path, IN_MODIFY);
        if (wd < 0) {
                if (errno == ENOENT || errno == ENODEV)
                        return WATCH_E_GONE;
                if (errno != ENOSPC)
                        return error_origin(-errno);
                watch->working = false;
                return WATCH_E_FULL;
        }
        *entry = (WatchEntry){ .wd = wd, .cookie = cookie, .subject = subject };
        node = tsearch(entry, &watch->entries, watch_compare);
        if (!node) {
                (void)inotify_rm_watch(watch->fd, wd);
                return error_origin(-ENOMEM);
        }
        if (*node != entry) /* the kernel gives the same descriptor for the same file */
                return error_origin(-EEXIST);
        ++watch->n_entries;
        entry = NULL;
        watch->working = true;
        *ret_wd = wd;
        return 0;
}

void watch_remove(Watch *watch, int wd)
{
        WatchEntry *entry = wd >= 0 ? watch_find(watch, wd) : NULL;

        if (!entry)
                return;
        watch_forget(watch, entry);
        /* EINVAL: the kernel was faster (7.1 and later) */
        (void)inotify_rm_watch(watch->fd, wd);
}

bool watch_is_working(const Watch *watch)
{
        return watch->working;
}

size_t watch_count(const Watch *watch)
{
        return watch->n_entries;
}
