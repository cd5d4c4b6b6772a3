/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Scope-bound release of what a function holds.
 *
 * A variable marked `_cleanup_(fn)` is handed to fn(&variable) when it goes out of scope. To hand
 * the object to somebody else, pass TAKE_PTR(p) or TAKE_FD(fd): the variable is invalid after it.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _printf_(text, first) __attribute__((format(printf, text, first)))
#define _unused_ __attribute__((unused))

#define TAKE_PTR(p)                             \
        ({                                      \
                __typeof__(p) *_taken = &(p);   \
                __typeof__(p) _value = *_taken; \
                *_taken = NULL;                 \
                _value;                         \
        })

#define TAKE_FD(fd)                   \
        ({                            \
                int *_taken = &(fd);  \
                int _value = *_taken; \
                *_taken = -1;         \
                _value;               \
        })

#define N_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

static inline void cleanup_freep(void *p)
{
        free(*(void **)p);
}

/* Closes fd if it is one; always gives back -1, so that `fd = cleanup_close(fd)` leaves no trace. */
static inline int cleanup_close(int fd)
{
        if (fd >= 0)
                (void)close(fd);
        return -1;
}

static inline void cleanup_closep(int *fd)
{
        (void)cleanup_close(*fd);
}

static inline void cleanup_fclosep(FILE **f)
{
        if (*f)
                (void)fclose(*f);
}

static inline void cleanup_closedirp(DIR **d)
{
        if (*d)
                (void)closedir(*d);
}

#define _cleanup_free_ _cleanup_(cleanup_freep)
#define _cleanup_close_ _cleanup_(cleanup_closep)
#define _cleanup_fclose_ _cleanup_(cleanup_fclosep)
#define _cleanup_closedir_ _cleanup_(cleanup_closedirp)
