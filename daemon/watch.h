/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One inotify instance for all executions. Events are hints: they say "look at this file", never
 * what is in it.
 */

#include "loop.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct Watch Watch;

enum {
        _WATCH_E_SUCCESS,
        WATCH_E_FULL, /* no instance or no more watches (sysctl fs.inotify): rely on the timer */
        WATCH_E_GONE, /* no such file */
};

/*
 * subject is what was given to watch_add(), cookie too. subject NULL: the queue overflowed, look at
 * everything.
 */
typedef int (*WatchFn)(void *userdata, void *subject, int cookie);

/* Works without inotify too (then every watch_add() is WATCH_E_FULL). */
int watch_new(Loop *loop, WatchFn fn, void *userdata, Watch **ret_watch);
Watch *watch_free(Watch *watch);

/* Watches the file itself (a watch on its folder sees nothing of kernfs). 0, _FULL, _GONE, <0. */
int watch_add(Watch *watch, const char *path, void *subject, int cookie, int *ret_wd);
/* Always before rmdir: kernels before 7.1 tell a watch nothing of it and keep it for ever. */
void watch_remove(Watch *watch, int wd); /* wd -1: nothing to do */

bool watch_is_working(const Watch *watch); /* false: the last watch could not be had */
size_t watch_count(const Watch *watch);
