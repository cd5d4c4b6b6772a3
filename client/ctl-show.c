/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * cgtaskctl show: everything that is known of an execution, for people.
 *
 * One line per column of v1_execution, in its order, with a name and a unit. A number that is
 * easily misread has a remark behind it that says why: a peak that is only a lower bound, one that
 * is mostly page cache, a row that covers only a part. JSON is the row itself.
 */

#include "ctl.h"
#include "human.h"
#include "live.h"
#include "sources.h"

#include "private/error.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>

#define VALUE_MAX 256

typedef enum Unit {
        UNIT_PLAIN,
        UNIT_BYTES,
        UNIT_LIMIT, /* bytes; NULL is "none" */
        UNIT_SPAN,
        UNIT_TIME,
        UNIT_FLAG,
        UNIT_USER,
        UNIT_OBJECT,
} Unit;

typedef struct Line {
        const char *name; /* NULL: the column's own */
        Unit unit;
} Line;

static const Line lines[RECORD_N_COLUMNS] = {
        [RECORD_COLUMN_id] = { "Id", UNIT_PLAIN },
        [RECORD_COLUMN_task] = { "Task", UNIT_PLAIN },
        [RECORD_COLUMN_labels] = { "Labels", UNIT_OBJECT },
        [RECORD_COLUMN_attempt_of] = { "Attempt of", UNIT_PLAIN },
        [RECORD_COLUMN_owner] = { "Owner", UNIT_PLAIN },
        [RECORD_COLUMN_boot_id] = { "Boot id", UNIT_PLAIN },
        [RECORD_COLUMN_cgroup_id] = { "Cgroup id", UNIT_PLAIN },
        [RECORD_COLUMN_uid] = { "User", UNIT_USER },
        [RECORD_COLUMN_gid] = { "Group id", UNIT_PLAIN },
        [RECORD_COLUMN_command] = { "Command", UNIT_PLAIN },
        [RECORD_COLUMN_state] = { "State", UNIT_PLAIN },
        [RECORD_COLUMN_result] = { "Result", UNIT_PLAIN },
        [RECORD_COLUMN_exit_kind] = { "Exit", UNIT_PLAIN },
        [RECORD_COLUMN_exit_status] = { "Exit status", UNIT_PLAIN },
        [RECORD_COLUMN_oom_cause] = { "OOM cause", UNIT_PLAIN },
        [RECORD_COLUMN_oom_kills] = { "OOM kills", UNIT_PLAIN },
        [RECORD_COLUMN_oom_events] = { "OOM events", UNIT_PLAIN },
        [RECORD_COLUMN_oom_group_kills] = { "OOM group kills", UNIT_PLAIN },
        [RECORD_COLUMN_max_events] = { "Limit events", UNIT_PLAIN },
        [RECORD_COLUMN_high_events] = { "Throttle events", UNIT_PLAIN },
        [RECORD_COLUMN_capture] = { "Capture", UNIT_PLAIN },
        [RECORD_COLUMN_capture_reason] = { "Capture reason", UNIT_PLAIN },
        [RECORD_COLUMN_coverage] = { "Coverage", UNIT_PLAIN },
        [RECORD_COLUMN_memory_peak_bytes] = { "Memory peak", UNIT_BYTES },
        [RECORD_COLUMN_memory_peak_is_lower_bound] = { "Peak is lower bound", UNIT_FLAG },
        [RECORD_COLUMN_memory_swap_peak_bytes] = { "Swap peak", UNIT_BYTES },
        [RECORD_COLUMN_memory_current_at_end_bytes] = { "Memory at end", UNIT_BYTES },
        [RECORD_COLUMN_memory_max_bytes] = { "Memory limit", UNIT_LIMIT },
        [RECORD_COLUMN_memory_high_bytes] = { "Throttle limit", UNIT_LIMIT },
        [RECORD_COLUMN_anon_peak_sampled_bytes] = { "Anonymous, sampled", UNIT_BYTES },
        [RECORD_COLUMN_file_peak_sampled_bytes] = { "Page cache, sampled", UNIT_BYTES },
        [RECORD_COLUMN_shmem_peak_sampled_bytes] = { "Shared, sampled", UNIT_BYTES },
        [RECORD_COLUMN_kernel_peak_sampled_bytes] = { "Kernel, sampled", UNIT_BYTES },
        [RECORD_COLUMN_working_set_peak_sampled_bytes] = { "Working set, sampled", UNIT_BYTES },
        [RECORD_COLUMN_n_samples] = { "Samples", UNIT_PLAIN },
        [RECORD_COLUMN_first_sample_usec] = { "First sample", UNIT_TIME },
        [RECORD_COLUMN_last_sample_usec] = { "Last sample", UNIT_TIME },
        [RECORD_COLUMN_runner_rss_peak_bytes] = { "Runner RSS peak", UNIT_BYTES },
        [RECORD_COLUMN_runner_rss_source] = { "Runner RSS source", UNIT_PLAIN },
        [RECORD_COLUMN_pids_peak] = { "Processes, peak", UNIT_PLAIN },
        [RECORD_COLUMN_cpu_user_usec] = { "CPU time, user", UNIT_SPAN },
        [RECORD_COLUMN_cpu_system_usec] = { "CPU time, system", UNIT_SPAN },
        [RECORD_COLUMN_io_read_bytes] = { "Read", UNIT_BYTES },
        [RECORD_COLUMN_io_write_bytes] = { "Written", UNIT_BYTES },
        [RECORD_COLUMN_psi_some_usec] = { "Stalled, some", UNIT_SPAN },
        [RECORD_COLUMN_psi_full_usec] = { "Stalled, all", UNIT_SPAN },
        [RECORD_COLUMN_memory_stat] = { "Memory at end, parts", UNIT_OBJECT },
        [RECORD_COLUMN_profiled] = { "Profiled", UNIT_FLAG },
        [RECORD_COLUMN_created_usec] = { "Created", UNIT_TIME },
        [RECORD_COLUMN_started_usec] = { "Started", UNIT_TIME },
        [RECORD_COLUMN_ended_usec] = { "Ended", UNIT_TIME },
        [RECORD_COLUMN_duration_usec] = { "Duration", UNIT_SPAN },
        [RECORD_COLUMN_ncpu] = { "CPUs", UNIT_PLAIN },
        [RECORD_COLUMN_kernel_release] = { "Kernel", UNIT_PLAIN },
        [RECORD_COLUMN_schema_version] = { "Schema version", UNIT_PLAIN },
};

/* The parts of memory.stat that say where memory is; the rest is for programs. */
static const char *const memory_parts[] = { "anon", "file", "shmem", "kernel", "sock" };

static const TableColumn columns[] = {
        { "", "name", true, false },
        { "", "value", false, false },
};

static int add_line(Table *table, const char *name, const char *value, const char *remark)
{
        _cleanup_free_ char *label = NULL, *text = NULL;
        int r;

        if (asprintf(&label, "%s:", name) < 0) {
                label = NULL;
                return error_origin(-ENOMEM);
        }
        if (asprintf(&text, "%s%s%s%s", value, *remark ? " (" : "", remark, *remark ? ")" : "") <
            0) {
                text = NULL;
                return error_origin(-ENOMEM);
        }
        r = table_add_row(table);
        if (r == 0)
                r = table_set_text(table, 0, label);
        if (r == 0)
                r = table_set_text(table, 1, text);
        return error_fold(r);
}

/*
 * "key=value, key=value"; numbers as bytes if they are some. *ret_text is the caller's to free().
 */
static int object_to_text(const Ctl *ctl, const char *json, const char *const *keys, size_t n_keys,
                          char **ret_text)
{
        _cleanup_(json_decrefp) json_t *object = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *text = NULL;
        char number[HUMAN_MAX];
        const char *key, *separator = "";
        json_t *value;
        size_t n, i;

        f = open_memstream(&text, &n);
        object = json_loads(json, 0, NULL);
        if (!f)
                return error_origin(-ENOMEM);
        json_object_foreach(object, key, value) {
                for (i = 0; i < n_keys && strcmp(keys[i], key) != 0; i++)
                        ;
                if (n_keys > 0 && i == n_keys)
                        continue;
                if (json_is_integer(value))
                        fprintf(f, "%s%s=%s", separator, key,
                                ctl_bytes(ctl, json_integer_value(value), number));
                else if (json_is_string(value))
                        fprintf(f, "%s%s=%s", separator, key, json_string_value(value));
                separator = ", ";
        }
        f = (fclose(f), NULL);
        if (!text)
                return error_origin(-ENOMEM);
        *ret_text = TAKE_PTR(text);
        return 0;
}

static void write_user(int64_t uid, char *text)
{
        const struct passwd *pw;

        pw = uid >= 0 ? getpwuid((uid_t)uid) : NULL;
        if (pw)
                snprintf(text, VALUE_MAX, "%lld (%s)", (long long)uid, pw->pw_name);
        else
                snprintf(text, VALUE_MAX, "%lld", (long long)uid);
}

/* "1.2G, 1288490188 bytes": rounded to read, exact to copy. */
static void write_bytes(const Ctl *ctl, int64_t value, char *text)
{
        char number[HUMAN_MAX];

        if (ctl->bytes || value < 1024)
                snprintf(text, VALUE_MAX, "%lld bytes", (long long)value);
        else
                snprintf(text, VALUE_MAX, "%s, %lld bytes", human_bytes((uint64_t)value, number),
                         (long long)value);
}

/* A number that is not NULL. */
static void write_integer(const Ctl *ctl, Unit unit, int64_t value, char text[VALUE_MAX])
{
        char number[HUMAN_MAX];

        switch (unit) {
        case UNIT_BYTES:
        case UNIT_LIMIT:
                write_bytes(ctl, value, text);
                return;
        case UNIT_SPAN:
                snprintf(text, VALUE_MAX, "%s",
                         human_span(value < 0 ? 0 : (uint64_t)value, 2, number));
                return;
        case UNIT_TIME:
                snprintf(text, VALUE_MAX, "%s",
                         human_time(value < 0 ? 0 : (uint64_t)value, number));
                return;
        case UNIT_FLAG:
                snprintf(text, VALUE_MAX, "%s", value ? "yes" : "no");
                return;
        case UNIT_USER:
                write_user(value, text);
                return;
        case UNIT_PLAIN:
        case UNIT_OBJECT:
                snprintf(text, VALUE_MAX, "%lld", (long long)value);
                return;
        }
}

/* Page cache in memory.stat as per cent of the peak; -1 if that cannot be said. */
static int64_t cache_share(const ExecutionRecord *record)
{
        _cleanup_(json_decrefp) json_t *stat = NULL;
        int64_t file, shmem;

        if (!record->memory_stat || record->memory_peak_bytes <= 0)
                return -1;
        stat = json_loads(record->memory_stat, 0, NULL);
        if (!json_is_integer(json_object_get(stat, "file")))
                return -1;
        file = json_integer_value(json_object_get(stat, "file"));
        shmem = json_integer_value(json_object_get(stat, "shmem")); /* tmpfs is in file, too */
        if (file < shmem || file > INT64_MAX / 100)
                return -1;
        return (file - shmem) * 100 / record->memory_peak_bytes;
}

/* The one thing to know about the peak. */
static void remark_peak(const ExecutionRecord *record, char text[VALUE_MAX])
{
        int64_t share = cache_share(record);

        if (record_is_running(record))
                snprintf(text, VALUE_MAX, "so far");
        else if (record->memory_peak_is_lower_bound == 1 && record->oom_kills > 0)
                snprintf(text, VALUE_MAX, "lower bound: memory ran out, more was wanted");
        else if (record->memory_peak_is_lower_bound == 1 && record->capture &&
                 strcmp(record->capture, "captured") == 0)
                snprintf(text, VALUE_MAX, "lower bound: it touched the limit");
        else if (record->memory_peak_is_lower_bound == 1)
                snprintf(text, VALUE_MAX, "lower bound: the end was not seen");
        else if (record->memory_peak_bytes == RECORD_NULL && record->capture_reason)
                snprintf(text, VALUE_MAX, "%s", record->capture_reason);
        else if (share > 50)
                snprintf(text, VALUE_MAX,
                         "%lld%% of it was page cache at the end, which the kernel gives up "
                         "under pressure",
                         (long long)share);
}

/* "" or what a reader should know about the value. */
static void remark(const ExecutionRecord *record, size_t column, char text[VALUE_MAX])
{
        const ExecutionRecord *r = record;
        char signal[HUMAN_MAX];

        *text = 0;
        if (column == RECORD_COLUMN_memory_peak_bytes)
                remark_peak(r, text);
        else if (column == RECORD_COLUMN_coverage && r->coverage &&
                 strcmp(r->coverage, "partial") == 0)
                snprintf(text, VALUE_MAX,
                         "what was charged before it was attached, or after a "
                         "process left, is missing");
        else if (column == RECORD_COLUMN_exit_status && r->exit_kind && r->exit_status > 0 &&
                 strcmp(r->exit_kind, "signaled") == 0)
                snprintf(text, VALUE_MAX, "%s", human_signal((int)r->exit_status, signal));
        else if (column == RECORD_COLUMN_runner_rss_peak_bytes &&
                 r->runner_rss_peak_bytes != RECORD_NULL)
                snprintf(text, VALUE_MAX, "of the main process alone");
        else if (column == RECORD_COLUMN_capture && r->capture_reason)
                snprintf(text, VALUE_MAX, "for the reason below");
        else if (column == RECORD_COLUMN_memory_stat && r->memory_stat)
                snprintf(text, VALUE_MAX, "approximate");
}

static int add_object(const Ctl *ctl, Table *table, size_t column, const char *json,
                      const char *note)
{
        _cleanup_free_ char *text = NULL;
        size_t n_keys = column == RECORD_COLUMN_memory_stat ? N_ELEMENTS(memory_parts) : 0;
        int r;

        r = object_to_text(ctl, json, memory_parts, n_keys, &text);
        if (r < 0)
                return error_fold(r);
        return error_fold(add_line(table, lines[column].name, *text ? text : "-", note));
}

static int add_column(const Ctl *ctl, Table *table, const ExecutionRecord *record, size_t column)
{
        const char *text = record_get_text(record, &record_columns[column]);
        int64_t value = record_get_integer(record, &record_columns[column]);
        const char *name = lines[column].name;
        char number[VALUE_MAX], note[VALUE_MAX];

        remark(record, column, note);
        if (text && lines[column].unit == UNIT_OBJECT)
                return error_fold(add_object(ctl, table, column, text, note));
        if (!text && value != RECORD_NULL)
                write_integer(ctl, lines[column].unit, value, number);
        else if (!text)
                strcpy(number, lines[column].unit == UNIT_LIMIT ? "none" : "-");
        return error_fold(add_line(table, name ? name : record_columns[column].name,
                                   text ? text : number, note));
}

typedef struct Victims {
        const Ctl *ctl;
        Table *table;  /* for people */
        json_t *array; /* for programs */
} Victims;

static int victim_to_line(void *userdata, const HistoryVictim *v)
{
        const Victims *victims = userdata;
        char text[VALUE_MAX], size[VALUE_MAX] = "size not known";

        if (v->anon_rss_bytes != RECORD_NULL)
                write_bytes(victims->ctl, v->anon_rss_bytes, size);
        snprintf(text, sizeof(text), "%.64s, pid %lld", v->comm, (long long)v->pid);
        return error_fold(add_line(victims->table, "OOM victim", text, size));
}

static int victim_to_json(void *userdata, const HistoryVictim *v)
{
        const Victims *victims = userdata;
        json_t *object;

        object = json_pack(
                "{s:I, s:I, s:o, s:o, s:o}", "at_usec", (json_int_t)v->at_usec, "pid",
                (json_int_t)v->pid, "comm", table_json_text(v->comm), "anon_rss_bytes",
                v->anon_rss_bytes == RECORD_NULL ? json_null() : json_integer(v->anon_rss_bytes),
                "constraint", *v->constraint ? table_json_text(v->constraint) : json_null());
        return json_array_append_new(victims->array, object) < 0 ? error_origin(-ENOMEM) : 0;
}

/* Only the database has them, and only for those who may read it: else nothing is said. */
static int add_victims(const Sources *sources, const ExecutionRecord *record,
                       int (*fn)(void *userdata, const HistoryVictim *victim), Victims *victims)
{
        int r;

        if (!sources->history || record->oom_kills <= 0)
                return 0;
        r = history_list_victims(sources->history, record->id, fn, victims);
        return r < 0 ? error_fold(r) : 0;
}

static int print_record(const Ctl *ctl, const Sources *sources, const ExecutionRecord *record,
                        const LiveState *state)
{
        _cleanup_(table_freep) Table *table = NULL;
        Victims victims = { .ctl = ctl };
        TableStyle style = ctl->style;
        char number[VALUE_MAX];
        size_t i;
        int r;

        r = table_new(columns, N_ELEMENTS(columns), &table);
        for (i = 0; r == 0 && i < RECORD_N_COLUMNS; i++)
                r = add_column(ctl, table, record, i);
        victims.table = table;
        if (r == 0)
                r = add_victims(sources, record, victim_to_line, &victims);
        if (r == 0 && state->cgroup_path)
                r = add_line(table, "Cgroup", state->cgroup_path, "");
        if (r == 0 && state->cgroup_path && state->memory_current_bytes != RECORD_NULL) {
                write_bytes(ctl, state->memory_current_bytes, number);
                r = add_line(table, "Memory now", number, "");
        }
        if (r < 0)
                return error_fold(r);
        style.legend = false;
        return error_fold(table_print(table, stdout, &style));
}

/* What only the daemon knows of a running one; nothing of it is not worth a word. */
static int get_state(const Sources *sources, ExecutionRecord *record, LiveState *ret_state)
{
        ExecutionRecord fresh;
        int r;

        if (!sources->client || !record_is_running(record))
                return 0;
        execution_record_init(&fresh);
        r = live_get(sources->client, record->id, &fresh, ret_state);
        if (r == 0) {
                execution_record_deinit(record);
                *record = fresh;
        }
        return r == -ENOMEM ? error_fold(r) : 0;
}

static int victims_to_json(const Sources *sources, const ExecutionRecord *record, json_t *object)
{
        Victims victims = { .array = json_array() };
        int r;

        r = add_victims(sources, record, victim_to_json, &victims);
        if (r == 0 && json_array_size(victims.array) > 0)
                r = json_object_set(object, "oom_victims", victims.array) < 0
                            ? error_origin(-ENOMEM)
                            : 0;
        json_decref(victims.array);
        return error_fold(r);
}

static int to_json(const Sources *sources, const ExecutionRecord *record, const LiveState *state,
                   json_t **ret_object)
{
        _cleanup_(json_decrefp) json_t *object = NULL;
        int r;

        r = record_to_json(record, &object);
        if (r < 0)
                return error_fold(r);
        if (state->cgroup_path &&
            (json_object_set_new(object, "cgroup_path", table_json_text(state->cgroup_path)) < 0 ||
             json_object_set_new(object, "memory_current_bytes",
                                 state->memory_current_bytes == RECORD_NULL
                                         ? json_null()
                                         : json_integer(state->memory_current_bytes)) < 0))
                return error_origin(-ENOMEM);
        r = victims_to_json(sources, record, object);
        if (r < 0)
                return error_fold(r);
        *ret_object = TAKE_PTR(object);
        return 0;
}

/* One execution to the table of people or into the array for programs. */
static int show_one(const Ctl *ctl, const Sources *sources, const char *text, json_t *array)
{
        _cleanup_(live_state_deinit) LiveState state = { 0 };
        _cleanup_(record_deinitp) ExecutionRecord record;
        json_t *object = NULL;
        int r;

        execution_record_init(&record);
        r = sources_find(sources, text, false, &record);
        if (r == 0)
                r = get_state(sources, &record, &state);
        if (r != 0)
                return error_fold(r);
        if (!array)
                return error_fold(print_record(ctl, sources, &record, &state));
        r = to_json(sources, &record, &state, &object);
        if (r < 0)
                return error_fold(r);
        return json_array_append_new(array, object) < 0 ? error_origin(-ENOMEM) : 0;
}

int ctl_show(const Ctl *ctl, int argc, char *argv[])
{
        _cleanup_(sources_closep) Sources sources = SOURCES_INIT;
        _cleanup_(json_decrefp) json_t *array = NULL;
        int i, r;

        if (ctl->style.json != TABLE_JSON_OFF) {
                array = json_array();
                if (!array)
                        return error_origin(-ENOMEM);
        }
        r = sources_open(ctl, &sources);
        for (i = 0; r == 0 && i < argc; i++) {
                if (i > 0 && !array)
                        putchar('\n');
                r = show_one(ctl, &sources, argv[i], array);
        }
        if (r != 0)
                return r < 0 ? error_fold(r) : CTL_EXIT_FAILED;
        if (array)
                table_print_json(argc == 1 ? json_array_get(array, 0) : array, stdout,
                                 ctl->style.json);
        return CTL_EXIT_OK;
}
