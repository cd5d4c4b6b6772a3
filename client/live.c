/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Executions as the daemon knows them now.
 *
 * The daemon's Execution has the columns of v1_execution under their wire names, and besides them
 * what only a live one has: where its cgroup is, what it uses now, its peak so far. The columns go
 * into a record; the peak so far goes where the final one will stand, since for a running execution
 * the row has only the last checkpoint.
 */

#include "live.h"

#include "table.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <string.h>

typedef struct Listing {
        const RecordFilter *filter;
        RecordList *list;
} Listing;

void live_state_deinit(LiveState *state)
{
        free(state->cgroup_path);
        memset(state, 0, sizeof(*state));
}

/* Only what is there and of its type; ret_state may be NULL. */
static int read_state(const json_t *object, ExecutionRecord *record, LiveState *ret_state)
{
        const json_t *peak = json_object_get(object, "memoryPeak");
        const json_t *current = json_object_get(object, "memoryCurrent");
        const char *path = json_string_value(json_object_get(object, "cgroupPath"));
        char *copy = NULL;

        if (json_is_integer(peak) && record_is_running(record))
                record->memory_peak_bytes = json_integer_value(peak);
        if (!ret_state)
                return 0;
        if (path) {
                copy = strdup(path);
                if (!copy)
                        return error_origin(-ENOMEM);
        }
        ret_state->cgroup_path = copy;
        ret_state->memory_current_bytes =
                json_is_integer(current) ? json_integer_value(current) : RECORD_NULL;
        return 0;
}

int live_to_record(const cgtask_execution *execution, ExecutionRecord *ret_record,
                   LiveState *ret_state)
{
        _cleanup_(record_deinitp) ExecutionRecord record;
        _cleanup_(json_decrefp) json_t *object = NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        execution_record_init(&record);
        r = cgtask_execution_to_json(execution, &text);
        if (r < 0)
                return error_fold(r);
        object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        if (!object)
                return error_origin(-EPROTO);
        r = record_from_json(object, &record);
        if (r < 0)
                return error_fold(r);
        r = read_state(object, &record, ret_state);
        if (r < 0)
                return error_fold(r);
        *ret_record = record;
        execution_record_init(&record);
        return 0;
}

static int add_execution(const cgtask_execution *execution, void *userdata)
{
        _cleanup_(record_deinitp) ExecutionRecord record;
        Listing *listing = userdata;
        int r;

        execution_record_init(&record);
        r = live_to_record(execution, &record, NULL);
        if (r < 0)
                return error_fold(r);
        if (!record_matches(&record, listing->filter))
                return 0;
        return error_fold(record_list_add(listing->list, &record));
}

int live_list(cgtask_client *client, const char *state, const RecordFilter *filter,
              RecordList *list)
{
        Listing listing = { .filter = filter, .list = list };
        const char *task = NULL;

        /* The daemon compares names; patterns are matched here. */
        if (filter->task && !strpbrk(filter->task, "*?[\\"))
                task = filter->task;
        return error_fold(cgtask_list(client, task, state, filter->uid, add_execution, &listing));
}

int live_get(cgtask_client *client, const char *id, ExecutionRecord *ret_record,
             LiveState *ret_state)
{
        cgtask_execution *execution = NULL;
        int r;

        r = cgtask_get(client, id, &execution);
        if (r < 0)
                return error_fold(r);
        r = live_to_record(execution, ret_record, ret_state);
        (void)cgtask_execution_free(execution);
        return error_fold(r);
}
