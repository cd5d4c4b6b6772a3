/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Execution records as data.
 *
 * The database and the daemon describe the same thing under two sets of names; both are turned into
 * an ExecutionRecord here or by way of record_columns, so that what comes after does not care where
 * a record came from. Nothing is invented on the way: what is absent or of an unexpected type stays
 * NULL.
 */

#include "record.h"

#include "table.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#define RECORD_COLUMN(kind, column, member) \
        { RECORD_KIND_##kind, #column, member, offsetof(ExecutionRecord, column) },

const RecordColumn record_columns[RECORD_N_COLUMNS] = { EXECUTION_COLUMNS(RECORD_COLUMN) };

static char **text_at(ExecutionRecord *record, const RecordColumn *column)
{
        return (char **)(void *)((char *)record + column->offset);
}

static int64_t *integer_at(ExecutionRecord *record, const RecordColumn *column)
{
        return (int64_t *)(void *)((char *)record + column->offset);
}

static bool is_text(const RecordColumn *column)
{
        return column->kind == RECORD_KIND_TEXT || column->kind == RECORD_KIND_JSON;
}

const char *record_get_text(const ExecutionRecord *record, const RecordColumn *column)
{
        return is_text(column) ? *text_at((ExecutionRecord *)record, column) : NULL;
}

int64_t record_get_integer(const ExecutionRecord *record, const RecordColumn *column)
{
        return is_text(column) ? RECORD_NULL : *integer_at((ExecutionRecord *)record, column);
}

int record_set_text(ExecutionRecord *record, const RecordColumn *column, const char *text)
{
        char **place = text_at(record, column);
        char *copy = NULL;

        if (text) {
                copy = strdup(text);
                if (!copy)
                        return error_origin(-ENOMEM);
        }
        free(*place);
        *place = copy;
        return 0;
}

void record_set_integer(ExecutionRecord *record, const RecordColumn *column, int64_t value)
{
        *integer_at(record, column) = value;
}

/* NULL only without memory. */
static json_t *column_to_json(const ExecutionRecord *record, const RecordColumn *column)
{
        const char *text = record_get_text(record, column);
        int64_t value = record_get_integer(record, column);
        json_t *object;

        if (!text && value == RECORD_NULL)
                return json_null();
        switch (column->kind) {
        case RECORD_KIND_TEXT:
                return table_json_text(text);
        case RECORD_KIND_JSON:
                object = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
                return object ? object : table_json_text(text);
        case RECORD_KIND_INTEGER:
                return json_integer(value);
        case RECORD_KIND_FLAG:
                return json_boolean(value);
        }
        return json_null();
}

int record_to_json(const ExecutionRecord *record, json_t **ret_object)
{
        _cleanup_(json_decrefp) json_t *object = NULL;
        size_t i;

        object = json_object();
        for (i = 0; i < RECORD_N_COLUMNS; i++)
                if (json_object_set_new(object, record_columns[i].name,
                                        column_to_json(record, &record_columns[i])) < 0)
                        return error_origin(-ENOMEM);
        *ret_object = TAKE_PTR(object);
        return 0;
}

static int column_from_json(const json_t *value, ExecutionRecord *record,
                            const RecordColumn *column)
{
        _cleanup_free_ char *text = NULL;

        switch (column->kind) {
        case RECORD_KIND_TEXT:
                return error_fold(record_set_text(record, column, json_string_value(value)));
        case RECORD_KIND_JSON:
                if (!json_is_object(value))
                        return 0;
                text = json_dumps(value, JSON_COMPACT);
                return text ? error_fold(record_set_text(record, column, text))
                            : error_origin(-ENOMEM);
        case RECORD_KIND_INTEGER:
                if (json_is_integer(value))
                        record_set_integer(record, column, json_integer_value(value));
                return 0;
        case RECORD_KIND_FLAG:
                if (json_is_boolean(value))
                        record_set_integer(record, column, json_is_true(value));
                return 0;
        }
        return 0;
}

int record_from_json(const json_t *object, ExecutionRecord *ret_record)
{
        _cleanup_(record_deinitp) ExecutionRecord record;
        size_t i;
        int r;

        execution_record_init(&record);
        for (i = 0; i < RECORD_N_COLUMNS; i++) {
                r = column_from_json(json_object_get(object, record_columns[i].member), &record,
                                     &record_columns[i]);
                if (r < 0)
                        return error_fold(r);
        }
        *ret_record = record;
        execution_record_init(&record);
        return 0;
}

bool record_is_running(const ExecutionRecord *record)
{
        return record->state && strcmp(record->state, "running") == 0;
}

int record_list_add(RecordList *list, ExecutionRecord *record)
{
        ExecutionRecord *records;
        size_t n;

        if (list->n_records == list->n_allocated) {
                n = list->n_allocated > 0 ? list->n_allocated * 2 : 16;
                records = reallocarray(list->records, n, sizeof(*records));
                if (!records) {
                        execution_record_deinit(record);
                        return error_origin(-ENOMEM);
                }
                list->records = records;
                list->n_allocated = n;
        }
        list->records[list->n_records++] = *record;
        execution_record_init(record);
        return 0;
}

static int compare_newest_first(const void *a, const void *b)
{
        const ExecutionRecord *x = a, *y = b;

        return strcmp(y->id ? y->id : "", x->id ? x->id : "");
}

void record_list_finish(RecordList *list, int64_t n)
{
        if (list->n_records > 1)
                qsort(list->records, list->n_records, sizeof(*list->records), compare_newest_first);
        while (n >= 0 && list->n_records > (size_t)n)
                execution_record_deinit(&list->records[--list->n_records]);
}

void record_list_deinit(RecordList *list)
{
        size_t i;

        for (i = 0; i < list->n_records; i++)
                execution_record_deinit(&list->records[i]);
        free(list->records);
        *list = (RecordList)RECORD_LIST_INIT;
}

bool record_task_matches(const char *pattern, const char *task)
{
        return task && fnmatch(pattern, task, 0) == 0;
}

static bool id_matches(const char *id, const char *part)
{
        size_t n = strlen(part), n_id = id ? strlen(id) : 0;

        return n_id >= n && (strncmp(id, part, n) == 0 || strcmp(id + n_id - n, part) == 0);
}

bool record_matches(const ExecutionRecord *record, const RecordFilter *filter)
{
        int64_t ended;

        if (filter->task && !record_task_matches(filter->task, record->task))
                return false;
        if (filter->state && (!record->state || strcmp(filter->state, record->state) != 0))
                return false;
        if (filter->uid >= 0 && record->uid != filter->uid)
                return false;
        if (filter->id_part && !id_matches(record->id, filter->id_part))
                return false;
        if (filter->since_usec < 0 || record_is_running(record))
                return true;
        ended = record->ended_usec != RECORD_NULL ? record->ended_usec : record->created_usec;
        return ended != RECORD_NULL && ended >= filter->since_usec;
}

bool record_parse_id(const char *text, char ret_part[WIRE_ID_LENGTH + 1])
{
        char part[WIRE_ID_LENGTH + 1];
        const char *slash;
        size_t n = 0;

        slash = strrchr(text, '/');
        if (slash)
                text = slash + 1;
        if (strncmp(text, WIRE_CGROUP_PREFIX, strlen(WIRE_CGROUP_PREFIX)) == 0)
                text += strlen(WIRE_CGROUP_PREFIX);
        for (; *text; text++) {
                if (*text == '-')
                        continue;
                if (n == WIRE_ID_LENGTH || !strchr("0123456789abcdefABCDEF", *text))
                        return false;
                part[n++] = *text >= 'A' && *text <= 'F' ? (char)(*text - 'A' + 'a') : *text;
        }
        if (n < RECORD_ID_PART_MIN)
                return false;
        part[n] = 0;
        strcpy(ret_part, part);
        return true;
}
