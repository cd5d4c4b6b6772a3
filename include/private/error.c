/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The trace of a thread's latest fault: where it began and where it passed. */

#include "private/error.h"

#include <stdio.h>
#include <string.h>

#define ERROR_TRACE_MAX 12 /* places kept; a deeper trace loses its outermost ones */

typedef struct ErrorPlace {
        const char *file;
        const char *function;
        int line;
} ErrorPlace;

static _Thread_local ErrorPlace error_places[ERROR_TRACE_MAX];
static _Thread_local size_t error_n_places;

static void error_add(const char *file, int line, const char *function)
{
        if (error_n_places < ERROR_TRACE_MAX)
                error_places[error_n_places++] =
                        (ErrorPlace){ .file = file, .function = function, .line = line };
}

int error_origin_at(int r, const char *file, int line, const char *function)
{
        error_n_places = 0;
        error_add(file, line, function);
        return r;
}

int error_fold_at(int r, const char *file, int line, const char *function)
{
        error_add(file, line, function);
        return r;
}

void error_trace_print(char *buffer, size_t n)
{
        size_t used = 0;

        if (n == 0)
                return;
        buffer[0] = '\0';
        for (size_t i = 0; i < error_n_places && used < n; ++i) {
                const ErrorPlace *p = &error_places[i];
                const char *base = strrchr(p->file, '/');
                int k = snprintf(buffer + used, n - used, "%s%s (%s:%d)", i ? " < " : "",
                                 p->function, base ? base + 1 : p->file, p->line);

                if (k < 0)
                        return;
                used += (size_t)k;
        }
}
