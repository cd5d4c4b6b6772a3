/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What cgexec-task says at the end about the execution it ran.
 *
 * For people: one line that leaves out what is not known instead of giving a zero for it. For
 * programs: the execution object as the daemon described it. As long as a process of the execution
 * lives, its numbers can still grow; both say so (`not final`, `state` is `running`).
 */

#include "summary.h"

#include "display.h"
#include "human.h"
#include "wire.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool summary_get(const cgtask_execution *e, const char *member, uint64_t *ret_value)
{
        int64_t value;

        if (cgtask_execution_get_integer(e, member, &value) < 0 || value < 0)
                return false;
        *ret_value = (uint64_t)value;
        return true;
}

static const char *summary_text(const cgtask_execution *e, const char *member)
{
        const char *text;

        return cgtask_execution_get_text(e, member, &text) < 0 ? "" : text;
}

/* "peak 300.4M of 512.0M", "peak at least 64.0M of 64.0M", "peak not known". */
static void summary_write_peak(FILE *f, const cgtask_execution *e)
{
        uint64_t value, is_lower_bound = 0;
        char text[HUMAN_MAX];

        if (!summary_get(e, "memoryPeakBytes", &value) && !summary_get(e, "memoryPeak", &value)) {
                fputs("peak not known", f);
                return;
        }
        (void)summary_get(e, "memoryPeakIsLowerBound", &is_lower_bound);
        fprintf(f, "peak %s%s", is_lower_bound ? "at least " : "", human_bytes(value, text));
        if (summary_get(e, "memoryMaxBytes", &value))
                fprintf(f, " of %s", human_bytes(value, text));
}

/* "ok", "error (exit status 3)", "signal (SIGTERM)", "oom (own_limit)", "running". */
static void summary_write_result(FILE *f, const cgtask_execution *e)
{
        const char *result = summary_text(e, "result");
        char text[HUMAN_MAX];
        uint64_t value;

        if (!*result)
                result = summary_text(e, "state");
        fprintf(f, ", %s", *result ? result : "unknown");
        if (strcmp(result, "oom") == 0 && *summary_text(e, "oomCause"))
                fprintf(f, " (%s)", summary_text(e, "oomCause"));
        else if (strcmp(result, "error") == 0 && summary_get(e, "exitStatus", &value))
                fprintf(f, " (exit status %" PRIu64 ")", value);
        else if (strcmp(result, "signal") == 0 && summary_get(e, "exitStatus", &value))
                fprintf(f, " (%s)", human_signal((int)value, text));
}

static int summary_write_text(const char *task, const cgtask_execution *e, bool accounted,
                              const char *reason, char **ret_line)
{
        _cleanup_free_ char *line = NULL;
        uint64_t n_kills;
        size_t n;
        FILE *f;

        f = open_memstream(&line, &n);
        if (!f)
                return error_origin(-ENOMEM);
        fprintf(f, "task %s: ", task);
        if (e) {
                summary_write_peak(f, e);
                summary_write_result(f, e);
                if (summary_get(e, "oomKills", &n_kills))
                        fprintf(f, ", %" PRIu64 " OOM kill%s", n_kills, n_kills == 1 ? "" : "s");
                if (strcmp(summary_text(e, "state"), "running") == 0)
                        fputs(" (not final: processes of it are still there)", f);
        } else {
                fprintf(f, "%s: %s", accounted ? "no record received" : "not accounted", reason);
        }
        if (fclose(f) != 0)
                return error_origin(-ENOMEM);
        return error_fold(display_escape(line, ret_line));
}

static int summary_write_json(const char *task, const cgtask_execution *e, bool accounted,
                              const char *reason, char **ret_line)
{
        _cleanup_json_ json_t *object = NULL;
        char *line;

        if (e)
                return error_fold(cgtask_execution_to_json(e, ret_line));
        object = json_pack("{s:s, s:b, s:s}", "task", task, "accounted", accounted, "reason",
                           reason);
        line = object ? json_dumps(object, JSON_COMPACT) : NULL;
        if (!line)
                return error_origin(-ENOMEM);
        *ret_line = line;
        return 0;
}

int summary_write(SummaryFormat format, const char *task, const cgtask_execution *execution,
                  bool accounted, const char *reason, char **ret_line)
{
        if (format == SUMMARY_JSON)
                return error_fold(summary_write_json(task, execution, accounted, reason, ret_line));
        return error_fold(summary_write_text(task, execution, accounted, reason, ret_line));
}
