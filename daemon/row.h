/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From what is known of an execution to its row: no I/O, no decisions but the verdict's. */

#include "host.h"
#include "metadata.h"
#include "private/execution-record.h"
#include "verdict.h"

#include <stdint.h>

/* What the execution module knows beside the metadata. */
typedef struct RowFacts {
        const char *id;
        uint64_t cgroup_id;
        const Metadata *metadata;
        const Host *host;
        uint64_t ended_usec, ended_monotonic_usec; /* 0: not known */
} RowFacts;

/*
 * Fills an initialised record with identity, times and what the host is; state `running`. The
 * record owns its texts: execution_record_deinit(). -ENOMEM.
 */
int row_describe(const RowFacts *facts, ExecutionRecord *record);

/*
 * Turns a described and measured record into a finished one: state, exit, cause, result, coverage,
 * runner's RSS, end and duration. -ENOMEM.
 */
int row_conclude(const RowFacts *facts, const VerdictInput *verdict, ExecutionRecord *record);

/* The same for one whose cgroup vanished before it could be read: state and result `lost`. */
int row_conclude_lost(const RowFacts *facts, const char *reason, ExecutionRecord *record);

/* Replaces a text column by a copy; NULL makes it NULL. -ENOMEM. */
int row_set_text(char **column, const char *text);
