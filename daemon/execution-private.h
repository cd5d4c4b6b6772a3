/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Between execution.c (the life) and execution-begin.c (how one comes to be and gets its runner). */

#include "execution.h"
#include "log.h"

/* Leaves CREATED: there was a runner, or there never will be one. */
int execution_begin(Execution *execution);
/* Goes on from the facts that are known; faults are logged and tried again. */
int execution_proceed(Execution *execution);

/* Is the process in this execution's cgroup or below it? A zombie is where it was. */
bool execution_holds(const Execution *execution, pid_t pid);

/* Drained: is the kernel going to tell how the runner ended? Then the timer is armed. */
bool execution_awaits_reap(Execution *execution);

void execution_set_state(Execution *execution, ExecutionState state);
void execution_set_exit(Execution *execution, int wait_status);
LogFields execution_log_fields(const Execution *execution);
/* Arms the execution's one timer, unless it is running for the same reason already. */
int execution_pause(Execution *execution, ExecutionPause pause, uint64_t usec);
/* Rewrites the xattr; dir_fd -1: opens the directory itself. */
int execution_save_metadata(Execution *execution, int dir_fd);
int execution_checkpoint(Execution *execution, bool measured);
