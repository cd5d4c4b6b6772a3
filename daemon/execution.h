/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One execution: its cgroup, its runner, its way from CREATED to REMOVED. */

#include "config.h"
#include "hierarchy.h"
#include "host.h"
#include "loop.h"
#include "metadata.h"
#include "private/execution-record.h"
#include "private/wire.h"
#include "watch.h"
#include "worker.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#define EXECUTION_NAME_MAX (sizeof(WIRE_CGROUP_PREFIX) + WIRE_ID_LENGTH)

typedef struct Execution Execution;
typedef struct ExecutionContext ExecutionContext;
typedef struct ExecutionWaiter ExecutionWaiter;

typedef enum ExecutionState {
        EXECUTION_CREATED,  /* the cgroup is there, limited and watched; no runner yet */
        EXECUTION_RUNNING,  /* a runner was there */
        EXECUTION_DRAINED,  /* the runner's end is known, the last process has gone */
        EXECUTION_MEASURED, /* every counter has been read */
        EXECUTION_STORED,   /* its row is durable */
        EXECUTION_REMOVED,  /* its cgroup is gone */
        _EXECUTION_STATE_N,
} ExecutionState;

enum {
        _EXECUTION_E_SUCCESS,
        EXECUTION_E_GONE,       /* the parent or the cgroup vanished */
        EXECUTION_E_FULL,       /* the kernel has no room for another cgroup */
        EXECUTION_E_REFUSED,    /* the kernel refused; *ret_errno says why */
        EXECUTION_E_NO_PROCESS, /* the process ended before or while it was moved */
        EXECUTION_E_NOT_MOVED,  /* the kernel accepted the move but the process is elsewhere */
        EXECUTION_E_ENDED,      /* too late: it has drained already */
};

typedef struct ExecutionLimits {
        bool has_memory_max, has_memory_high, has_swap_max, has_pids_max, oom_group;
        uint64_t memory_max_bytes, memory_high_bytes, swap_max_bytes, pids_max;
} ExecutionLimits;

/* What all executions share; borrowed from the daemon. */
struct ExecutionContext {
        Loop *loop;
        Watch *watch;
        Worker *worker;
        Hierarchy *hierarchy;
        const Config *config;
        const Host *host;
        /* after each change of state, and when a row could not be stored (state unchanged) */
        void (*changed)(void *userdata, Execution *execution, ExecutionState old_state);
        void *userdata;
};

/* Somebody waits for a change of one execution: embedded in whatever waits. */
struct ExecutionWaiter {
        /* store_failed: its row could not be committed now; it will be tried again */
        void (*fn)(ExecutionWaiter *waiter, Execution *execution, bool store_failed);
        LIST_ENTRY(ExecutionWaiter) link;
        bool linked;
};

/* What the timer of an execution is for. */
typedef enum ExecutionPause {
        EXECUTION_PAUSE_NONE,
        EXECUTION_PAUSE_ABANDON,    /* CREATED: its maker may still come back */
        EXECUTION_PAUSE_STRAGGLERS, /* RUNNING: then they are killed */
        EXECUTION_PAUSE_FINISH,     /* RUNNING, drained: somebody alive owes a Finish */
        EXECUTION_PAUSE_REAP,       /* RUNNING, drained: the runner's parent has not reaped it */
        EXECUTION_PAUSE_RETRY,      /* any: try the same step again */
} ExecutionPause;

struct Execution {
        const ExecutionContext *context;
        char id[WIRE_ID_LENGTH + 1];
        char name[EXECUTION_NAME_MAX];
        ExecutionState state;
        Metadata metadata;
        uint64_t cgroup_id;

        int events_wd, memory_wd; /* cgroup.events, memory.events; -1: not watched */
        bool populated;
        uint64_t oom_kills; /* last seen, for the log only */
        /* livelock: `oom` as of the last comparison, when that was, how often it rose in a row */
        uint64_t ooms, ooms_seen_usec; /* monotonic */
        unsigned n_oom_rises;
        bool livelocked;

        int runner_fd, supervisor_fd; /* pidfds; -1: not known */
        LoopSource *runner_source, *supervisor_source;
        bool runner_ended;
        bool finish_expected; /* somebody alive will say Finish */
        bool finished;        /* and has said it */
        bool escaped;         /* the runner was found outside, and that is noted */

        LoopSource *timer; /* the one thing that is waited for */
        ExecutionPause pause;
        unsigned n_tries;  /* of rmdir */
        bool ended_unseen; /* it had drained before this daemon started */
        uint64_t ended_usec, ended_monotonic_usec;
        uint64_t reap_awaited_usec; /* monotonic: since when */
        uint64_t checkpointed_usec; /* monotonic */

        ExecutionRecord record; /* from MEASURED on */
        unsigned n_jobs;        /* under way on the worker: not to be freed */
        bool storing, removing;

        LIST_HEAD(, ExecutionWaiter) waiters;
        /* the registry's */
        TAILQ_ENTRY(Execution) link;
};

/*
 * Makes the cgroup, limits and watches it, and queues its `running` row. metadata is taken over,
 * also on failure. *ret_errno: see EXECUTION_E_REFUSED. On failure nothing is left behind.
 */
int execution_create(const ExecutionContext *context, const char *id, Metadata *metadata,
                     const ExecutionLimits *limits, Execution **ret_execution, int *ret_errno);

/* One that was found at start by its directory's name. 0, EXECUTION_E_GONE, <0. */
int execution_adopt(const ExecutionContext *context, const char *name, Execution **ret_execution);

/* No job may be under way. Drops the watches; the cgroup stays. */
Execution *execution_free(Execution *execution);

/*
 * Moves a process in and verifies that it is there. pidfd was opened before the caller looked at
 * the process, and is taken over on success. The process becomes the runner. If it is there already
 * (born there) it is not moved. announced: its command has not begun yet, so coverage stays full.
 * 0, EXECUTION_E_ENDED, _GONE, _REFUSED, _NO_PROCESS, _NOT_MOVED, <0.
 */
int execution_attach(Execution *execution, pid_t pid, int pidfd, bool announced, int *ret_errno);
/* Moves the process back to where execution_attach() found it; it is not the runner any more. */
int execution_release(Execution *execution, pid_t pid, int *ret_errno);

/* The runner's end as told by its supervisor. Later ones are ignored. */
int execution_finish(Execution *execution, VerdictExit exit, int status, int64_t max_rss_bytes);
/* Whoever made it is gone without Finish: no Finish is expected any more. */
int execution_creator_gone(Execution *execution);

/* SIGKILL to all at once, another signal to each. *ret_n as cgroup_kill(). */
int execution_kill(Execution *execution, int signal, int *ret_n);

/* cookie of a watch, or EXECUTION_LOOK_ALL. */
enum {
        EXECUTION_LOOK_ALL,
        EXECUTION_LOOK_EVENTS,
        EXECUTION_LOOK_MEMORY,
};
/* Re-reads what an event was about and goes on from there. */
int execution_look(Execution *execution, int what);
/* The periodic re-check: EXECUTION_LOOK_ALL, and a checkpoint if one is due. */
int execution_recheck(Execution *execution);

/* The row as it stands, with live figures; record is initialised here, the caller deinits it. */
int execution_snapshot(Execution *execution, ExecutionRecord *ret_record, int64_t *ret_current);

const char *execution_state_name(ExecutionState state);
static inline bool execution_is_live(const Execution *e)
{
        return e->state < EXECUTION_DRAINED;
}

void execution_wait(Execution *execution, ExecutionWaiter *waiter);
void execution_wait_cancel(ExecutionWaiter *waiter);
