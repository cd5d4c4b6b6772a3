/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Execution records as data: columns by number, JSON, lists, and what a listing asks for. */

#include "private/execution-record.h"
#include "private/wire.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum RecordKind {
        RECORD_KIND_TEXT,
        RECORD_KIND_JSON,
        RECORD_KIND_INTEGER,
        RECORD_KIND_FLAG,
} RecordKind;

typedef struct RecordColumn {
        RecordKind kind;
        const char *name;   /* in v1_execution */
        const char *member; /* on the wire */
        size_t offset;      /* in ExecutionRecord */
} RecordColumn;

#define RECORD_INDEX(kind, column, member) RECORD_COLUMN_##column,
enum {
        EXECUTION_COLUMNS(RECORD_INDEX) /* RECORD_COLUMN_id, ... */
        RECORD_N_COLUMNS
};

/* EXECUTION_COLUMNS, in its order. */
extern const RecordColumn record_columns[RECORD_N_COLUMNS];

/* NULL, RECORD_NULL: the column is NULL. The text belongs to the record. */
const char *record_get_text(const ExecutionRecord *record, const RecordColumn *column);
int64_t record_get_integer(const ExecutionRecord *record, const RecordColumn *column);
/* text is copied; NULL is SQL NULL. -ENOMEM. */
int record_set_text(ExecutionRecord *record, const RecordColumn *column, const char *text);
void record_set_integer(ExecutionRecord *record, const RecordColumn *column, int64_t value);

/* An object with the columns' names, nulls included; flags are booleans. -ENOMEM. */
int record_to_json(const ExecutionRecord *record, json_t **ret_object);
/*
 * From an object with the members' names; of another type than the column's is as absent. -ENOMEM.
 */
int record_from_json(const json_t *object, ExecutionRecord *ret_record);

bool record_is_running(const ExecutionRecord *record);

typedef struct RecordList {
        ExecutionRecord *records;
        size_t n_records;
        size_t n_allocated;
} RecordList;

#define RECORD_LIST_INIT   \
        {                  \
                NULL, 0, 0 \
        }

/* Takes over what record holds, also when it fails: record is empty afterwards. -ENOMEM. */
int record_list_add(RecordList *list, ExecutionRecord *record);
/* Newest first: ids begin with their time. Then cuts to n (-1: nothing is cut). */
void record_list_finish(RecordList *list, int64_t n);
void record_list_deinit(RecordList *list);

/* What is looked for. NULL and -1 match everything. */
typedef struct RecordFilter {
        const char *task; /* a shell pattern */
        const char *state;
        int64_t uid;
        int64_t since_usec;  /* running, or ended at that time or later */
        const char *id_part; /* beginning or end of an id, lower case */
        int64_t limit;       /* newest ones */
} RecordFilter;

#define RECORD_FILTER_INIT                               \
        {                                                \
                .uid = -1, .since_usec = -1, .limit = -1 \
        }

/* Everything but the limit. */
bool record_matches(const ExecutionRecord *record, const RecordFilter *filter);
bool record_task_matches(const char *pattern, const char *task);

/* Fewer digits than these name no execution; with them, only if no other one has them too. */
#define RECORD_ID_PART_MIN 8

/*
 * The digits in what somebody typed for an execution: a whole id or its beginning or end, in either
 * case, with the dashes of a UUID, as x-<id>, or as a path that ends so. False if it is none.
 */
bool record_parse_id(const char *text, char ret_part[WIRE_ID_LENGTH + 1]);

static inline void record_deinitp(ExecutionRecord *record)
{
        execution_record_deinit(record);
}

static inline void record_list_deinitp(RecordList *list)
{
        record_list_deinit(list);
}
