/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * From final counters to oom_cause and result. A pure function; the truth table is its test.
 * Exit codes never decide about OOM: 137 can be chosen by a program, and a task whose child was
 * killed can exit with 0 (kernel facts K11 to K17).
 */

#include <stdbool.h>
#include <stdint.h>

typedef enum VerdictExit {
        VERDICT_EXIT_UNKNOWN,
        VERDICT_EXIT_EXITED,
        VERDICT_EXIT_SIGNALED,
} VerdictExit;

typedef enum VerdictCause {
        VERDICT_CAUSE_NONE,
        VERDICT_CAUSE_OWN_LIMIT,      /* a limit at or below the execution's own cgroup */
        VERDICT_CAUSE_ANCESTOR_LIMIT, /* a limit above it */
        VERDICT_CAUSE_HOST,           /* the machine ran out: no cgroup's limit was met */
        VERDICT_CAUSE_USERSPACE,      /* systemd-oomd */
        VERDICT_CAUSE_UNKNOWN, /* killed by the kernel for memory, but whose limit is not known */
} VerdictCause;

typedef struct VerdictInput {
        bool counters_known;        /* memory.events was read at the end; else no cause is given */
        uint64_t oom, oom_kill;     /* memory.events, hierarchical */
        bool ancestor_known;        /* both readings of the ancestors' local oom counters exist */
        uint64_t ancestor_oom_rise; /* by how much they rose during the execution */
        bool oomd_killed;           /* xattr user.oomd_kill on the execution's cgroup */
        VerdictExit exit;
        int exit_status; /* code or signal number; not read if exit is UNKNOWN */
} VerdictInput;

/*
 * Names as they stand in v1_execution; *ret_cause is NULL if the counters are not known. Static
 * texts. result is "oom" if and only if a cause was found (not NULL, not "none").
 */
void verdict_decide(const VerdictInput *input, const char **ret_cause, const char **ret_result);

const char *verdict_exit_name(VerdictExit exit);                      /* exit_kind */
bool verdict_exit_from_name(const char *name, VerdictExit *ret_exit); /* false: no such name */
