/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Starting a task as a child that is in its cgroup before its first instruction. */

#include "supervise.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* As env(1) and timeout(1). */
#define LAUNCH_EXIT_FAILURE 125        /* cgexec-task itself failed */
#define LAUNCH_EXIT_NOT_EXECUTABLE 126 /* the command was found, but cannot be run */
#define LAUNCH_EXIT_NOT_FOUND 127

#define LAUNCH_ERROR_MAX 512

typedef struct LaunchPlan {
        char *const *argv;
        const char *id;          /* of the execution; NULL: the task is not accounted */
        const char *cgroup_path; /* its directory */
        const char *socket_path; /* for the child's own connection; NULL: the usual one */
        uint64_t deadline_usec;  /* as wire_now() */
        bool require;            /* no attach, no exec */
} LaunchPlan;

typedef struct Launched {
        pid_t pid;
        bool born_inside;                    /* in its cgroup, but not yet known as the runner */
        int exec_error;                      /* errno; 0: the task runs, or has run */
        char attach_error[LAUNCH_ERROR_MAX]; /* "" unless the child could not attach itself */
} Launched;

/* Would execvp(3) find something to run? 0, or the -errno that it would fail with. */
int launch_resolve(const char *command);

/* execvp(3); comes back only with the errno of its failure. */
int launch_exec(char *const argv[]);

/*
 * Remembers what CPUs the caller is bound to, for launch_exec(). To be called before anybody moves it.
 */
void launch_keep_cpus(void);

/*
 * Has launch_exec() take back an inherited oom_score_adj of -1000: under a memory limit it would make
 * a task that cannot be killed, only hang.
 */
void launch_allow_oom_kill(void);

/* The exit status for a failed exec. */
int launch_exit_status(int error);

/*
 * Starts the task, with signals held by supervise_hold(); from here on they go to the child. Comes
 * back when the child has executed the command, or has failed to. 0, or -errno: no child.
 */
int launch_start(const LaunchPlan *plan, const SuperviseSignals *signals, Launched *ret_launched);

/* What remains until deadline_usec, in the form of cgtask_client_set_timeout(). */
uint64_t launch_remaining(uint64_t deadline_usec);
