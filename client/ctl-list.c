/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * cgtaskctl list: one line per execution.
 *
 * A line has what decides on a limit: the peak, the limit in force, and why it ended. Ids are
 * whole, they are copied from here. JSON has all columns instead of the line.
 */

#include "ctl.h"
#include "human.h"
#include "sources.h"

#include "private/error.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
        COLUMN_ID,
        COLUMN_TASK,
        COLUMN_STATE,
        COLUMN_RESULT,
        COLUMN_PEAK,
        COLUMN_LIMIT,
        COLUMN_OOM,
        COLUMN_EXIT,
        COLUMN_DURATION,
        COLUMN_AGE,
};

static const TableColumn columns[] = {
        [COLUMN_ID] = { "ID", "id", false, false },
        [COLUMN_TASK] = { "TASK", "task", false, true },
        [COLUMN_STATE] = { "STATE", "state", false, false },
        [COLUMN_RESULT] = { "RESULT", "result", false, false },
        [COLUMN_PEAK] = { "PEAK", "memory_peak_bytes", true, false },
        [COLUMN_LIMIT] = { "LIMIT", "memory_max_bytes", true, false },
        [COLUMN_OOM] = { "OOM", "oom_cause", false, false },
        [COLUMN_EXIT] = { "EXIT", "exit_status", true, false },
        [COLUMN_DURATION] = { "DURATION", "duration_usec", true, false },
        [COLUMN_AGE] = { "AGE", "created_usec", true, false },
};

static int64_t now_usec(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        return now.tv_sec * (int64_t)HUMAN_SECOND + now.tv_nsec / 1000;
}

static int set_bytes(const Ctl *ctl, Table *table, size_t column, int64_t bytes, bool at_least)
{
        char number[HUMAN_MAX], text[HUMAN_MAX + 1];

        if (bytes == RECORD_NULL)
                return 0;
        snprintf(text, sizeof(text), "%s%s", ctl_bytes(ctl, bytes, number), at_least ? "+" : "");
        return error_fold(table_set_integer(table, column, bytes, text));
}

static int set_span(Table *table, size_t column, int64_t usec, unsigned n_units)
{
        char text[HUMAN_MAX];

        return error_fold(
                table_set_integer(table, column, usec, human_span((uint64_t)usec, n_units, text)));
}

/* "0", "1", "SIGKILL"; "?" where it ended and nobody knows how. */
static int set_exit(Table *table, const ExecutionRecord *record)
{
        char text[HUMAN_MAX];

        if (!record->exit_kind)
                return 0;
        if (record->exit_status == RECORD_NULL)
                return error_fold(table_set_text(table, COLUMN_EXIT, "?"));
        if (strcmp(record->exit_kind, "signaled") == 0)
                (void)human_signal((int)record->exit_status, text);
        else
                snprintf(text, sizeof(text), "%lld", (long long)record->exit_status);
        return error_fold(table_set_integer(table, COLUMN_EXIT, record->exit_status, text));
}

static TableColour result_colour(const char *result)
{
        if (!result || strcmp(result, "ok") == 0)
                return TABLE_COLOUR_NONE;
        return strcmp(result, "oom") == 0 ? TABLE_COLOUR_RED : TABLE_COLOUR_YELLOW;
}

static int set_times(Table *table, const ExecutionRecord *record, int64_t now)
{
        int64_t begin =
                record->started_usec != RECORD_NULL ? record->started_usec : record->created_usec;
        int64_t duration = record->duration_usec;
        int r;

        if (duration == RECORD_NULL && record_is_running(record) && begin != RECORD_NULL)
                duration = now > begin ? now - begin : 0;
        if (duration != RECORD_NULL && duration >= 0) {
                r = set_span(table, COLUMN_DURATION, duration, 2);
                if (r < 0)
                        return error_fold(r);
        }
        if (record->created_usec == RECORD_NULL)
                return 0;
        return error_fold(set_span(table, COLUMN_AGE,
                                   now > record->created_usec ? now - record->created_usec : 0, 1));
}

static int set_texts(Table *table, const ExecutionRecord *record)
{
        const char *oom = record->oom_cause;
        int r;

        if (oom && strcmp(oom, "none") == 0)
                oom = NULL;
        r = table_set_text(table, COLUMN_ID, record->id);
        if (r == 0)
                r = table_set_text(table, COLUMN_TASK, record->task);
        if (r == 0)
                r = table_set_text(table, COLUMN_STATE, record->state);
        if (r == 0)
                r = table_set_text(table, COLUMN_RESULT, record->result);
        if (r == 0)
                r = table_set_text(table, COLUMN_OOM, oom);
        table_set_colour(table, COLUMN_RESULT, result_colour(record->result));
        return error_fold(r);
}

static int add_row(const Ctl *ctl, Table *table, const ExecutionRecord *record, int64_t now)
{
        int r;

        r = table_add_row(table);
        if (r == 0)
                r = set_texts(table, record);
        if (r == 0)
                r = set_bytes(ctl, table, COLUMN_PEAK, record->memory_peak_bytes,
                              record->memory_peak_is_lower_bound == 1 && !ctl->bytes);
        if (r == 0)
                r = set_bytes(ctl, table, COLUMN_LIMIT, record->memory_max_bytes, false);
        if (r == 0)
                r = set_exit(table, record);
        if (r == 0)
                r = set_times(table, record, now);
        return error_fold(r);
}

/* What the marks in the lines mean, if there are any. */
static void print_last_line(const RecordList *list)
{
        bool lower_bound = false;
        size_t i;

        for (i = 0; i < list->n_records; i++)
                if (list->records[i].memory_peak_is_lower_bound == 1)
                        lower_bound = true;
        printf("\n%zu execution%s listed.%s\n", list->n_records, list->n_records == 1 ? "" : "s",
               lower_bound ? " + means at least: something cut the peak short, see show." : "");
}

static int print_table(const Ctl *ctl, const RecordList *list)
{
        _cleanup_(table_freep) Table *table = NULL;
        int64_t now = now_usec();
        size_t i;
        int r;

        r = table_new(columns, N_ELEMENTS(columns), &table);
        if (r < 0)
                return error_fold(r);
        for (i = 0; i < list->n_records; i++) {
                r = add_row(ctl, table, &list->records[i], now);
                if (r < 0)
                        return error_fold(r);
        }
        r = table_print(table, stdout, &ctl->style);
        if (r < 0)
                return error_fold(r);
        if (ctl->style.legend)
                print_last_line(list);
        return CTL_EXIT_OK;
}

/* Row by row: all of a long history as one value in memory would be many times its size. */
static int print_json(const Ctl *ctl, const RecordList *list)
{
        size_t i;
        int r;

        fputs("[", stdout);
        for (i = 0; i < list->n_records; i++) {
                json_auto_t *row = NULL;

                r = record_to_json(&list->records[i], &row);
                if (r < 0)
                        return error_fold(r);
                if (i > 0)
                        fputs(",", stdout);
                if (ctl->style.json == TABLE_JSON_PRETTY)
                        fputs("\n", stdout);
                table_write_json(row, stdout, ctl->style.json);
        }
        fputs(ctl->style.json == TABLE_JSON_PRETTY && list->n_records > 0 ? "\n]\n" : "]\n",
              stdout);
        return CTL_EXIT_OK;
}

int ctl_list(const Ctl *ctl, int argc, char *argv[])
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        _cleanup_(sources_closep) Sources sources = SOURCES_INIT;
        RecordFilter filter = {
                .task = ctl->task,
                .state = ctl->state,
                .uid = ctl->uid,
                .since_usec = ctl->since_usec,
                .limit = ctl->n_lines,
        };
        int r;

        r = sources_open(ctl, &sources);
        if (r == 0)
                r = sources_list(&sources, &filter, &list);
        if (r != 0)
                return r < 0 ? error_fold(r) : CTL_EXIT_FAILED;
        return error_fold(ctl->style.json == TABLE_JSON_OFF ? print_table(ctl, &list)
                                                            : print_json(ctl, &list));
}
