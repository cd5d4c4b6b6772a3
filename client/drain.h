/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Ends executions without a daemon: through the files of their cgroups alone. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DrainResult {
        size_t n_executions; /* directories of executions that were found */
        size_t n_over;       /* with no process in them from the start */
        size_t n_drained;    /* that ended by themselves in the time they were given */
        size_t n_killed;
        size_t n_stuck; /* with processes still in them */
} DrainResult;

/*
 * Waits up to grace_usec for the executions below folder to end, kills what is left, and waits up
 * to kill_usec for that. Nothing is removed: a directory is the record of its execution until a
 * daemon has stored the row. -errno: the folder cannot be read; -ENOENT: it is not there.
 */
int drain_executions(const char *folder, uint64_t grace_usec, uint64_t kill_usec,
                     DrainResult *ret_result);

/*
 * Does a daemon hold the lock of its database? Nobody is woken by asking. The lock is touched for a
 * moment only, and shared.
 */
bool drain_daemon_is_alive(const char *lock_path);
