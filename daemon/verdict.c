/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From final counters to oom_cause and result.
 *
 * The kernel counts the two halves of an OOM kill in two places: `oom` in the cgroup whose limit was
 * met, `oom_kill` in the cgroup where the victim lived, and both in every cgroup above (memory.events
 * is hierarchical). Of an execution without limits that dies of its parent's limit only `oom_kill`
 * is seen in its own files. That is why two counters are enough to tell whose limit it was.
 *
 *   oom_kill == 0   The kernel's OOM killer took nothing. `oom` alone is no death: it counts tries
 *                   that found nobody to kill (oom_score_adj -1000: hundreds in a second), or a
 *                   victim that was leaving by itself. cgroup.kill and systemd-oomd send SIGKILL
 *                   without counting, so a kill of systemd-oomd shows in its xattr only.
 *   oom_kill > 0    A process of the workload was killed. The counter is raised before the signal is
 *                   sent, so it stands when the cgroup has drained. It is no number of processes:
 *                   with memory.oom.group the first victim is counted twice.
 *     oom > 0       ... and the limit was the execution's own or one of a cgroup inside it.
 *     else          ... and the limit was above. A limit of an ancestor raises `oom` in that
 *                   ancestor's memory.events.local (5.2 and later); the host's OOM killer raises no
 *                   cgroup's `oom` at all. Without both readings of the ancestors, nobody can tell.
 *
 * All of this was executed on 6.1, 6.12 and 7.2, the same on each. Hosts that mount cgroup2 with
 * memory_localevents have local counters in memory.events: a limit inside the execution is then seen
 * as ancestor's or host's.
 *
 * systemd-oomd is believed only if the kernel killed nothing: where both struck, the kernel's
 * counters are the stronger proof that memory ran out.
 */

#include "verdict.h"

#include "private/cleanup.h"

#include <stddef.h>
#include <string.h>

static const char *const verdict_exit_names[] = {
        [VERDICT_EXIT_UNKNOWN] = "unknown",
        [VERDICT_EXIT_EXITED] = "exited",
        [VERDICT_EXIT_SIGNALED] = "signaled",
};

static const char *verdict_cause_name(VerdictCause cause)
{
        switch (cause) {
        case VERDICT_CAUSE_NONE:
                return "none";
        case VERDICT_CAUSE_OWN_LIMIT:
                return "own_limit";
        case VERDICT_CAUSE_ANCESTOR_LIMIT:
                return "ancestor_limit";
        case VERDICT_CAUSE_HOST:
                return "host";
        case VERDICT_CAUSE_USERSPACE:
                return "userspace";
        case VERDICT_CAUSE_UNKNOWN:
                return "unknown";
        }
        return "unknown";
}

static VerdictCause verdict_cause(const VerdictInput *input)
{
        if (input->oom_kill == 0)
                return input->oomd_killed ? VERDICT_CAUSE_USERSPACE : VERDICT_CAUSE_NONE;
        if (input->oom > 0)
                return VERDICT_CAUSE_OWN_LIMIT;
        if (!input->ancestor_known)
                return VERDICT_CAUSE_UNKNOWN;
        return input->ancestor_oom_rise > 0 ? VERDICT_CAUSE_ANCESTOR_LIMIT : VERDICT_CAUSE_HOST;
}

static const char *verdict_exit_result(const VerdictInput *input)
{
        switch (input->exit) {
        case VERDICT_EXIT_UNKNOWN:
                return "unknown";
        case VERDICT_EXIT_EXITED:
                return input->exit_status == 0 ? "ok" : "error";
        case VERDICT_EXIT_SIGNALED:
                return "signal";
        }
        return "unknown";
}

void verdict_decide(const VerdictInput *input, const char **ret_cause, const char **ret_result)
{
        VerdictCause cause = input->counters_known ? verdict_cause(input) : VERDICT_CAUSE_NONE;

        *ret_cause = input->counters_known ? verdict_cause_name(cause) : NULL;
        *ret_result = cause != VERDICT_CAUSE_NONE ? "oom" : verdict_exit_result(input);
}

const char *verdict_exit_name(VerdictExit exit)
{
        return verdict_exit_names[exit];
}

bool verdict_exit_from_name(const char *name, VerdictExit *ret_exit)
{
        for (size_t i = 0; i < N_ELEMENTS(verdict_exit_names); ++i)
                if (strcmp(name, verdict_exit_names[i]) == 0) {
                        *ret_exit = (VerdictExit)i;
                        return true;
                }
        return false;
}
