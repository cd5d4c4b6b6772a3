/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Standing between a task and whoever started it: its signals, its end, its exit status. */

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

/* What the caller gave us, and the task is to get. */
typedef struct SuperviseSignals {
        sigset_t mask;
        struct sigaction child;
} SuperviseSignals;

/* Blocks all signals, so that none is lost until there is a child to pass it on to. */
void supervise_hold(SuperviseSignals *ret_saved);

/* Everything as the caller gave it: in the child before it goes on, or when there is no child. */
void supervise_release(const SuperviseSignals *saved);

/* In the parent: from now on, and what was held back, signals go to pid. */
void supervise_forward(pid_t pid, const SuperviseSignals *saved);

/*
 * Waits for pid to end; signals are blocked again afterwards. *ret_max_rss_bytes is ru_maxrss,
 * which includes children that pid has waited for. 0, <0.
 */
int supervise_wait(pid_t pid, int *ret_status, int64_t *ret_max_rss_bytes);

/* From now on a request to end (HUP, INT, QUIT, TERM) makes the process end like the task did. */
void supervise_leave_on_signal(int status);

/* Ends as a process with that wait status ended: same exit status or signal. Async-signal-safe. */
_Noreturn void supervise_exit_like(int status);
