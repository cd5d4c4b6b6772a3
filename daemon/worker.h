/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The one other thread. It owns the Store and everything that may sleep: commits, rmdir, reading of
 * stored rows. Jobs go in through one queue, results come back through another and wake the loop
 * by an eventfd. Rows are committed in groups: an urgent row goes out with whatever waits beside
 * it as soon as the thread is free; a lazy one waits for company for at most 5 ms or 64 rows. Jobs
 * are begun in the order of their submission: a call sees every row that was submitted before it.
 */

#include "store.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define WORKER_GROUP_ROWS 64
#define WORKER_GROUP_USEC 5000

typedef struct Worker Worker;
typedef struct WorkerJob WorkerJob;

typedef enum WorkerJobKind {
        WORKER_JOB_ROW,  /* put `record`; result 0 after the commit, else as store_open() or
                            store_commit(), or <0: this row can never be stored */
        WORKER_JOB_CALL, /* run fn on the thread; result is what it returned */
} WorkerJobKind;

/* Embedded in, or allocated by, whoever submits it; it is the worker's until done() is called. */
struct WorkerJob {
        WorkerJobKind kind;
        bool urgent;                              /* ROW: do not wait for company */
        ExecutionRecord record;                   /* ROW: the job's own copy */
        int (*fn)(WorkerJob *job, Store *store);  /* CALL: on the worker thread */
        void (*done)(WorkerJob *job, int result); /* on the loop thread; may free the job */
        void *userdata;
        int result;                   /* private to worker.c */
        uint64_t queued_usec;         /* private to worker.c */
        STAILQ_ENTRY(WorkerJob) link; /* private to worker.c */
};

/* What the thread knows of its store, copied out for status. */
typedef struct WorkerStatus {
        bool store_known; /* the first try to open it is over */
        bool store_ok;
        char store_error[256];   /* "" if ok */
        char corrupt_moved[256]; /* new name of the last damaged database, "" if there was none */
        int64_t wal_bytes;
        uint64_t n_committed_rows, n_commits, n_failed_commits;
        size_t n_queued; /* jobs not yet done */
} WorkerStatus;

/*
 * Starts the thread (all signals blocked in it), which opens the store. The store is owned by the
 * worker from here on; after a failure it is still the caller's.
 */
int worker_new(Store *store, Worker **ret_worker);

/*
 * Finishes what is queued (rows that cannot be committed now are given back as failed), stops the
 * thread, closes the store. done() of all jobs has been called when it returns; what a done() submits
 * meanwhile is finished as well, so it must not submit a failed row again. Accepts NULL.
 */
Worker *worker_free(Worker *worker);

/* Readable when worker_dispatch() has something to do. Owned by the worker. */
int worker_get_fd(const Worker *worker);
/* Calls done() of every finished job, on the caller's (the loop's) thread. */
int worker_dispatch(Worker *worker);

/* Hands a job over. Never blocks and never fails; the bound is on those who create executions. */
void worker_submit(Worker *worker, WorkerJob *job);

void worker_get_status(Worker *worker, WorkerStatus *ret_status);

static inline void worker_freep(Worker **worker)
{
        (void)worker_free(*worker);
}
