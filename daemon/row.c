/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The making of a row.
 *
 * A value that is not known stays NULL; if somebody could wonder why, capture_reason says it.
 */

#include "row.h"

#include "private/cleanup.h"
#include "private/error.h"
#include "schema.h"

#include <errno.h>

int row_set_text(char **column, const char *text)
{
        char *copy = text ? strdup(text) : NULL;

        if (text && !copy)
                return error_origin(-ENOMEM);
        free(*column);
        *column = copy;
        return 0;
}

/* Adds to what capture_reason already says. */
static int row_add_reason(ExecutionRecord *record, const char *reason)
{
        char *text;

        if (!record->capture_reason)
                return error_fold(row_set_text(&record->capture_reason, reason));
        if (asprintf(&text, "%s; %s", record->capture_reason, reason) < 0)
                return error_origin(-ENOMEM);
        free(record->capture_reason);
        record->capture_reason = text;
        return 0;
}

static int64_t row_usec(uint64_t usec)
{
        return usec == 0 || usec > INT64_MAX ? RECORD_NULL : (int64_t)usec;
}

int row_describe(const RowFacts *facts, ExecutionRecord *record)
{
        const Metadata *m = facts->metadata;
        const Host *host = facts->host;
        int r;

        if ((r = row_set_text(&record->id, facts->id)) < 0 ||
            (r = row_set_text(&record->task, m->task)) < 0 ||
            (r = row_set_text(&record->labels, m->labels)) < 0 ||
            (r = row_set_text(&record->attempt_of, m->attempt_of)) < 0 ||
            (r = row_set_text(&record->command, m->command)) < 0 ||
            (r = row_set_text(&record->owner, host->owner[0] ? host->owner : NULL)) < 0 ||
            (r = row_set_text(&record->boot_id, host->boot_id)) < 0 ||
            (r = row_set_text(&record->kernel_release, host->kernel_release)) < 0 ||
            (r = row_set_text(&record->state, "running")) < 0 ||
            (r = row_set_text(&record->coverage, m->partial ? "partial" : "full")) < 0)
                return error_fold(r);
        record->cgroup_id = (int64_t)facts->cgroup_id;
        if (m->uid != (uid_t)-1)
                record->uid = m->uid;
        if (m->gid != (gid_t)-1)
                record->gid = m->gid;
        record->created_usec = row_usec(m->created_usec);
        record->started_usec = row_usec(m->started_usec);
        record->n_samples = 0;
        record->profiled = 0;
        record->ncpu = host->ncpu;
        record->schema_version = SCHEMA_VERSION;
        return 0;
}

static void row_set_times(const RowFacts *facts, ExecutionRecord *record)
{
        const Metadata *m = facts->metadata;

        record->ended_usec = row_usec(facts->ended_usec);
        if (m->started_monotonic_usec && facts->ended_monotonic_usec >= m->started_monotonic_usec)
                record->duration_usec =
                        (int64_t)(facts->ended_monotonic_usec - m->started_monotonic_usec);
}

static int row_set_exit(const Metadata *m, ExecutionRecord *record)
{
        if (m->exit != VERDICT_EXIT_UNKNOWN)
                record->exit_status = m->exit_status;
        if (m->runner_max_rss_bytes >= 0) {
                record->runner_rss_peak_bytes = m->runner_max_rss_bytes;
                if (row_set_text(&record->runner_rss_source, "ru_maxrss") < 0)
                        return error_origin(-ENOMEM);
        }
        return error_fold(row_set_text(&record->exit_kind, verdict_exit_name(m->exit)));
}

/* Coverage partial makes a captured peak partial too: it is a lower bound of the need. */
static int row_judge_coverage(const Metadata *m, ExecutionRecord *record)
{
        int r;

        if (!m->partial)
                return 0;
        r = row_set_text(&record->coverage, "partial");
        if (r == 0 && m->partial_reason)
                r = row_add_reason(record, m->partial_reason);
        if (r == 0 && record->capture && strcmp(record->capture, "captured") == 0) {
                record->memory_peak_is_lower_bound = 1;
                r = row_set_text(&record->capture, "partial");
        }
        return error_fold(r);
}

int row_conclude(const RowFacts *facts, const VerdictInput *verdict, ExecutionRecord *record)
{
        const Metadata *m = facts->metadata;
        const char *cause, *result;
        int r;

        row_set_times(facts, record);
        verdict_decide(verdict, &cause, &result);
        if ((r = row_set_text(&record->state, "finished")) < 0 ||
            (r = row_set_text(&record->oom_cause, cause)) < 0 ||
            (r = row_set_text(&record->result, result)) < 0 || (r = row_set_exit(m, record)) < 0 ||
            (r = row_judge_coverage(m, record)) < 0)
                return error_fold(r);
        if (facts->ended_usec == 0 && m->started_usec)
                return error_fold(row_add_reason(record, "it ended while cgtaskd was not running: "
                                                         "the time of its end is not known"));
        return 0;
}

int row_conclude_lost(const RowFacts *facts, const char *reason, ExecutionRecord *record)
{
        int r;

        if ((r = row_set_text(&record->state, "lost")) < 0 ||
            (r = row_set_text(&record->result, "lost")) < 0 ||
            (r = row_set_text(&record->capture, "lost")) < 0 ||
            (r = row_set_text(&record->capture_reason, reason)) < 0 ||
            (r = row_set_exit(facts->metadata, record)) < 0)
                return error_fold(r);
        if (record->memory_peak_bytes != RECORD_NULL)
                record->memory_peak_is_lower_bound = 1;
        return 0;
}
