/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows on the wire, by the one list of columns. */

#include "execution-json.h"

/* A path or a damaged row may hold what is not UTF-8: that is left out, as is what no memory is for. */
static int execution_json_put_text(json_t *o, const char *member, const char *value)
{
        json_t *text = value ? json_string(value) : NULL;

        return text ? json_object_set_new(o, member, text) : 0;
}

static int execution_json_put_json(json_t *o, const char *member, const char *value)
{
        json_t *parsed = value ? json_loads(value, 0, NULL) : NULL;

        return parsed ? json_object_set_new(o, member, parsed) : 0;
}

static int execution_json_put_integer(json_t *o, const char *member, int64_t value)
{
        return value == RECORD_NULL ? 0 : json_object_set_new(o, member, json_integer(value));
}

static int execution_json_put_flag(json_t *o, const char *member, int64_t value)
{
        return value == RECORD_NULL ? 0 : json_object_set_new(o, member, json_boolean(value != 0));
}

json_t *execution_json_encode(const ExecutionRecord *record, const char *cgroup_path,
                              int64_t memory_peak, int64_t memory_current)
{
        json_t *o = json_object();
        int failed = !o;

        if (failed)
                return NULL;
#define EXECUTION_JSON_TEXT(column, member) \
        failed |= execution_json_put_text(o, member, record->column);
#define EXECUTION_JSON_JSON(column, member) \
        failed |= execution_json_put_json(o, member, record->column);
#define EXECUTION_JSON_INTEGER(column, member) \
        failed |= execution_json_put_integer(o, member, record->column);
#define EXECUTION_JSON_FLAG(column, member) \
        failed |= execution_json_put_flag(o, member, record->column);
#define EXECUTION_JSON(kind, column, member) EXECUTION_JSON_##kind(column, member)
        EXECUTION_COLUMNS(EXECUTION_JSON)
        failed |= execution_json_put_text(o, "cgroupPath", cgroup_path);
        failed |= execution_json_put_integer(o, "memoryPeak", memory_peak);
        failed |= execution_json_put_integer(o, "memoryCurrent", memory_current);
        if (failed) {
                json_decref(o);
                return NULL;
        }
        return o;
}
