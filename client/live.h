/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Executions as the daemon knows them now: by way of libcgtask, as records. */

#include "record.h"

#include "cgtask.h"

#include <stdint.h>

/* What the daemon knows beyond the columns. Initialise by zeroing; RECORD_NULL for not known. */
typedef struct LiveState {
        char *cgroup_path;
        int64_t memory_current_bytes;
} LiveState;

/* The peak so far of a running execution is its memory_peak_bytes. -ENOMEM, -EPROTO. */
int live_to_record(const cgtask_execution *execution, ExecutionRecord *ret_record,
                   LiveState *ret_state);

/*
 * Adds what matches in one state ("running", "finished", "lost") to the list. As cgtask_list(); the
 * client has the text.
 */
int live_list(cgtask_client *client, const char *state, const RecordFilter *filter,
              RecordList *list);

/* One execution by its whole id. As cgtask_get(). */
int live_get(cgtask_client *client, const char *id, ExecutionRecord *ret_record,
             LiveState *ret_state);

void live_state_deinit(LiveState *state);
