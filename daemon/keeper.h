/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The process that holds the executions' parent. systemd removes the subtree of a unit, finished
 * cgroups and their counters included, the moment it is empty; so something sleeps in keeper/
 * always.
 */

#include <stdbool.h>
#include <sys/types.h>

/*
 * `cgtaskd --keeper`, main process of cgtask-executions.service: makes keeper/ in its own cgroup,
 * moves there, gives the controllers to the parent's children, reports READY, sleeps until SIGTERM.
 * Writes its own messages. Returns an exit status.
 */
int keeper_run(void);

/*
 * `cgtaskd --keeper-replacement=DIR`: sleeps until SIGTERM; whoever started it puts it into DIR, so
 * that it is there before it has run. Returns an exit status.
 */
int keeper_run_replacement(void);

enum {
        KEEPER_E_GONE = 1, /* the parent is not there any more */
};

/*
 * Starts a replacement and puts it into keeper/ of the parent (root_fd, at root_path); makes keeper/
 * again if systemd has removed it already. *ret_pid: the child. 0, KEEPER_E_GONE, <0.
 */
int keeper_spawn_replacement(int root_fd, const char *root_path, pid_t *ret_pid);

/* Who sits in keeper/ (root_fd: the parent): 0 nobody. *ret_is_replacement tells which sort. */
pid_t keeper_find(int root_fd, bool *ret_is_replacement);

/* Asks systemd to start cgtask-executions.service. Blocks: worker thread only. */
int keeper_start_unit(void);
