/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names of OOM victims.
 *
 * A case is opened when a row with OOM kills has been stored. The journal may be behind the kernel,
 * so a case is read a few times, at growing distances, until there are as many victims as kills (or,
 * with memory.oom.group, which counts one more, until the tries are used up). All cases that are due
 * are read in one job: a reading costs the same for one as for many.
 *
 * A case lives here only, so it ends with the daemon: stopping tries what is open once more, a crash
 * loses the names of the last seconds. That, a log that cannot be read, or one that had no record in
 * the end, costs the names and nothing else; the last failure is kept for the status until a case is
 * solved again.
 */

#include "inquest.h"

#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"
#include "private/execution-record.h"
#include "victims.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#define INQUEST_FIRST_USEC (250 * USEC_PER_MSEC) /* doubled for each try: 8 s in all */
#define INQUEST_TRIES 5
#define INQUEST_CASES_MAX 1024
#define INQUEST_VICTIMS_MAX 64 /* per execution; its row has the true count */

typedef struct InquestCase InquestCase;
typedef STAILQ_HEAD(InquestCases, InquestCase) InquestCases;

struct InquestCase {
        char id[33];
        uint64_t since_usec, due_usec;
        int64_t n_kills;
        unsigned n_tries;
        Victim victims[INQUEST_VICTIMS_MAX];
        size_t n_victims;
        bool changed, stored; /* since it was last stored; all that are known */
        STAILQ_ENTRY(InquestCase) link;
};

typedef struct InquestJob {
        WorkerJob job;
        Inquest *inquest;
        InquestCases cases;
} InquestJob;

struct Inquest {
        Loop *loop;
        Worker *worker;
        LoopSource *timer;
        InquestCases waiting;
        size_t n_cases; /* waiting or being read */
        bool reading, stopping;
        bool complaining;
        char complaint[192];
};

/* -- on the worker ---------------------------------------------------------------------------- */

/* A process is named once, however often the log is read. */
static void inquest_note(InquestCase *c, const Victim *victim)
{
        for (size_t i = 0; i < c->n_victims; ++i) {
                Victim *known = &c->victims[i];

                if (known->pid != victim->pid)
                        continue;
                if (known->anon_rss_bytes == RECORD_NULL && victim->anon_rss_bytes != RECORD_NULL) {
                        known->anon_rss_bytes = victim->anon_rss_bytes;
                        c->changed = true;
                }
                return;
        }
        if (c->n_victims == INQUEST_VICTIMS_MAX)
                return;
        c->victims[c->n_victims++] = *victim;
        c->changed = true;
}

static void inquest_on_victim(void *userdata, const Victim *victim)
{
        InquestJob *job = userdata;
        InquestCase *c;

        STAILQ_FOREACH(c, &job->cases, link)
                if (strcmp(c->id, victim->execution_id) == 0)
                        inquest_note(c, victim);
}

static int inquest_read(WorkerJob *worker_job, Store *store)
{
        InquestJob *job = (InquestJob *)worker_job;
        uint64_t since = UINT64_MAX;
        InquestCase *c;
        int r;

        STAILQ_FOREACH(c, &job->cases, link)
                since = c->since_usec < since ? c->since_usec : since;
        r = victims_read(since, inquest_on_victim, job);
        STAILQ_FOREACH(c, &job->cases, link) {
                ++c->n_tries;
                if (!c->changed)
                        continue;
                c->stored = store_put_victims(store, c->id, c->victims, c->n_victims) == 0;
                c->changed = !c->stored;
        }
        return error_fold(r);
}

/* -- on the loop ------------------------------------------------------------------------------ */

static void inquest_complain(Inquest *q, const InquestCase *c, int r)
{
        const char *why = "it has no record of the kill";

        if (r != 0)
                why = "it cannot be read";
        else if (c->n_victims > 0)
                why = "the database did not take them";
        (void)snprintf(q->complaint, sizeof(q->complaint),
                       "the OOM victims of execution %s are not named from the kernel's log: %s",
                       c->id, why);
        q->complaining = true;
}

/* True if nothing more is to be expected. */
static bool inquest_is_over(Inquest *q, const InquestCase *c, int r)
{
        bool all = c->stored && !c->changed &&
                   ((int64_t)c->n_victims >= c->n_kills || c->n_victims == INQUEST_VICTIMS_MAX);

        if (!all && c->n_tries < INQUEST_TRIES && !q->stopping)
                return false;
        if (c->stored)
                q->complaining = false;
        else
                inquest_complain(q, c, r);
        return true;
}

static int inquest_arm(Inquest *q)
{
        uint64_t now = clock_monotonic_usec(), due = UINT64_MAX;
        InquestCase *c;

        STAILQ_FOREACH(c, &q->waiting, link)
                due = c->due_usec < due ? c->due_usec : due;
        if (due == UINT64_MAX || q->reading || q->stopping)
                return 0;
        return error_fold(loop_source_arm(q->timer, due > now ? due - now : 0));
}

static void inquest_done(WorkerJob *worker_job, int result)
{
        InquestJob *job = (InquestJob *)worker_job;
        Inquest *q = job->inquest;
        InquestCase *c;

        q->reading = false;
        while ((c = STAILQ_FIRST(&job->cases))) {
                STAILQ_REMOVE_HEAD(&job->cases, link);
                if (inquest_is_over(q, c, result)) {
                        free(c);
                        --q->n_cases;
                        continue;
                }
                c->due_usec = clock_monotonic_usec() + (INQUEST_FIRST_USEC << c->n_tries);
                STAILQ_INSERT_TAIL(&q->waiting, c, link);
        }
        free(job);
        loop_report(q->loop, "inquest", inquest_arm(q));
}

/* Has those read that are due, or all of them. */
static int inquest_begin(Inquest *q, bool all)
{
        InquestJob *job = calloc(1, sizeof(*job));
        InquestCases later = STAILQ_HEAD_INITIALIZER(later);
        uint64_t now = clock_monotonic_usec();
        InquestCase *c;

        if (!job)
                return error_origin(-ENOMEM);
        STAILQ_INIT(&job->cases);
        while ((c = STAILQ_FIRST(&q->waiting))) {
                STAILQ_REMOVE_HEAD(&q->waiting, link);
                if (all || c->due_usec <= now)
                        STAILQ_INSERT_TAIL(&job->cases, c, link);
                else
                        STAILQ_INSERT_TAIL(&later, c, link);
        }
        STAILQ_CONCAT(&q->waiting, &later);
        if (STAILQ_EMPTY(&job->cases)) {
                free(job);
                return error_fold(inquest_arm(q));
        }
        job->inquest = q;
        job->job.kind = WORKER_JOB_CALL;
        job->job.fn = inquest_read;
        job->job.done = inquest_done;
        q->reading = true;
        worker_submit(q->worker, &job->job);
        return 0;
}

static int inquest_on_timer(void *userdata)
{
        Inquest *q = userdata;

        return q->reading ? 0 : error_fold(inquest_begin(q, /* all= */ false));
}

int inquest_open(Inquest *q, const char *execution_id, uint64_t since_usec, int64_t n_kills)
{
        InquestCase *c;

        if (q->n_cases >=
            INQUEST_CASES_MAX) { /* a storm: the kernel's log has no room for it, too */
                (void)snprintf(q->complaint, sizeof(q->complaint),
                               "more than %d executions at once wait for the names of their OOM "
                               "victims",
                               INQUEST_CASES_MAX);
                q->complaining = true;
                return 0;
        }
        c = calloc(1, sizeof(*c));
        if (!c)
                return error_origin(-ENOMEM);
        (void)snprintf(c->id, sizeof(c->id), "%s", execution_id);
        c->since_usec = since_usec;
        c->due_usec = clock_monotonic_usec() + INQUEST_FIRST_USEC;
        c->n_kills = n_kills;
        STAILQ_INSERT_TAIL(&q->waiting, c, link);
        ++q->n_cases;
        return q->stopping ? error_fold(inquest_begin(q, /* all= */ true))
                           : error_fold(inquest_arm(q));
}

const char *inquest_complaint(const Inquest *q)
{
        return q->complaining ? q->complaint : NULL;
}

/* -- life ------------------------------------------------------------------------------------- */

int inquest_new(Loop *loop, Worker *worker, Inquest **ret_inquest)
{
        Inquest *q = calloc(1, sizeof(*q));
        int r;

        if (!q)
                return error_origin(-ENOMEM);
        q->loop = loop;
        q->worker = worker;
        STAILQ_INIT(&q->waiting);
        r = loop_add_timer(loop, "inquest", LOOP_PRIORITY_KERNEL, inquest_on_timer, q, &q->timer);
        if (r < 0) {
                free(q);
                return error_fold(r);
        }
        *ret_inquest = q;
        return 0;
}

void inquest_stop(Inquest *q)
{
        q->stopping = true;
        if (!STAILQ_EMPTY(&q->waiting))
                (void)inquest_begin(q, /* all= */ true); /* no memory: without their names, then */
}

Inquest *inquest_free(Inquest *q)
{
        InquestCase *c;

        if (!q)
                return NULL;
        assert(!q->reading);
        while ((c = STAILQ_FIRST(&q->waiting))) {
                STAILQ_REMOVE_HEAD(&q->waiting, link);
                free(c);
        }
        q->timer = loop_source_free(q->timer);
        free(q);
        return NULL;
}
