/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The return contract of every function inside cgtask.
 *
 *    0   done
 *   <0   a fault, as -errno. It is forwarded unchanged; no caller inside cgtask tells one errno
 *        from another when it came from cgtask's own code.
 *   >0   an expected outcome, named by an enum of the module (CGROUP_E_GONE, ...). The direct
 *        caller handles it; it never travels further.
 *
 * A fault is marked where it starts with error_origin() and where it passes with error_fold(). Both
 * give the number back. The marks are kept per thread and cost nothing on the good path; whoever
 * ends the fault's journey prints them with error_trace_print().
 */

#include <stddef.h>

/* Starts a new trace at this place; r is a negative errno. Returns r. */
#define error_origin(r) error_origin_at((r), __FILE__, __LINE__, __func__)

/* Adds this place to the trace if r is a fault. Returns r. */
#define error_fold(r)                                                          \
        ({                                                                     \
                int _r = (r);                                                  \
                _r < 0 ? error_fold_at(_r, __FILE__, __LINE__, __func__) : _r; \
        })

int error_origin_at(int r, const char *file, int line, const char *function);
int error_fold_at(int r, const char *file, int line, const char *function);

/*
 * Writes the trace of this thread's latest fault, innermost place first, as one line
 * ("cgroup_create (cgroup.c:61) < registry_create (registry.c:92)"), cut to n bytes with its NUL.
 */
void error_trace_print(char *buffer, size_t n);
