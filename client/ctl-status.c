/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * cgtaskctl status: how the daemon is.
 *
 * The daemon answers with an object that may grow. What is known here has a name and a unit and a
 * place in the order; what is not is shown under its own name, so an older cgtaskctl hides nothing.
 * Whatever the daemon is unhappy about comes last, each with its remedy.
 */

#include "ctl.h"
#include "human.h"

#include "cgtask.h"

#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <string.h>

#define API_TIMEOUT_USEC UINT64_C(10000000)

typedef enum Unit {
        UNIT_NONE,
        UNIT_BYTES,
        UNIT_USEC,
} Unit;

typedef struct Field {
        const char *key;
        const char *name;
        Unit unit;
} Field;

static const Field fields[] = {
        { "version", "Version", UNIT_NONE },
        { "state", "State", UNIT_NONE },
        { "uptimeUsec", "Up", UNIT_USEC },
        { "layout", "Layout", UNIT_NONE },
        { "executionsRoot", "Executions", UNIT_NONE },
        { "keeper", "Keeper", UNIT_NONE },
        { "live", "Live", UNIT_NONE },
        { "byState", "By state", UNIT_NONE },
        { "connections", "Connections", UNIT_NONE },
        { "storedRows", "Rows stored", UNIT_NONE },
        { "commits", "Commits", UNIT_NONE },
        { "failedCommits", "Failed commits", UNIT_NONE },
        { "queuedJobs", "Jobs queued", UNIT_NONE },
        { "storeOk", "Store is well", UNIT_NONE },
        { "storeError", "Store error", UNIT_NONE },
        { "walBytes", "WAL", UNIT_BYTES },
        { "watches", "Watches", UNIT_NONE },
        { "inotifyOk", "Notification is well", UNIT_NONE },
        { "owner", "Owner", UNIT_NONE },
        { "bootId", "Boot id", UNIT_NONE },
        { "kernel", "Kernel", UNIT_NONE },
};

static const TableColumn columns[] = {
        { "", "name", true, false },
        { "", "value", false, false },
};

static void client_closep(cgtask_client **client)
{
        (void)cgtask_client_free(*client);
}

static const Field *find_field(const char *key)
{
        size_t i;

        for (i = 0; i < N_ELEMENTS(fields); i++)
                if (strcmp(fields[i].key, key) == 0)
                        return &fields[i];
        return NULL;
}

static void write_value(const Ctl *ctl, FILE *f, const json_t *value, Unit unit);

/* "a=1, b=2", or "1, 2" for an array. */
static void write_members(const Ctl *ctl, FILE *f, const json_t *value, Unit unit)
{
        const char *key, *separator = "";
        json_t *member;
        size_t i;

        if (json_is_object(value)) {
                json_object_foreach((json_t *)value, key, member) {
                        fprintf(f, "%s%s=", separator, key);
                        write_value(ctl, f, member, unit);
                        separator = ", ";
                }
        } else {
                json_array_foreach(value, i, member) {
                        fputs(separator, f);
                        write_value(ctl, f, member, unit);
                        separator = ", ";
                }
        }
}

static void write_value(const Ctl *ctl, FILE *f, const json_t *value, Unit unit)
{
        char number[HUMAN_MAX];

        switch (json_typeof(value)) {
        case JSON_OBJECT:
        case JSON_ARRAY:
                if (json_object_size(value) == 0 && json_array_size(value) == 0)
                        fputc('-', f);
                else
                        write_members(ctl, f, value, unit);
                return;
        case JSON_STRING:
                fputs(json_string_length(value) > 0 ? json_string_value(value) : "-", f);
                return;
        case JSON_INTEGER:
                if (unit == UNIT_BYTES)
                        fputs(ctl_bytes(ctl, json_integer_value(value), number), f);
                else if (unit == UNIT_USEC && json_integer_value(value) >= 0)
                        fputs(human_span((uint64_t)json_integer_value(value), 2, number), f);
                else
                        fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
                return;
        case JSON_REAL:
                fprintf(f, "%g", json_real_value(value));
                return;
        case JSON_TRUE:
        case JSON_FALSE:
                fputs(json_is_true(value) ? "yes" : "no", f);
                return;
        case JSON_NULL:
                fputc('-', f);
                return;
        }
}

/* Is this value itself a complaint? */
static bool is_bad(const char *key, const json_t *value)
{
        if (strcmp(key, "storeOk") == 0 || strcmp(key, "inotifyOk") == 0)
                return json_is_false(value);
        if (strcmp(key, "storeError") == 0)
                return json_string_length(value) > 0;
        return false;
}

static int add_line(const Ctl *ctl, Table *table, const char *key, const json_t *value)
{
        const Field *field = find_field(key);
        _cleanup_free_ char *text = NULL, *label = NULL;
        size_t n;
        FILE *f;
        int r;

        f = open_memstream(&text, &n);
        if (!f)
                return error_origin(-ENOMEM);
        write_value(ctl, f, value, field ? field->unit : UNIT_NONE);
        if (fclose(f) != 0)
                return error_origin(-ENOMEM);
        if (asprintf(&label, "%s:", field ? field->name : key) < 0) {
                label = NULL;
                return error_origin(-ENOMEM);
        }
        r = table_add_row(table);
        if (r == 0)
                r = table_set_text(table, 0, label);
        if (r == 0)
                r = table_set_text(table, 1, text);
        if (r == 0 && is_bad(key, value))
                table_set_colour(table, 1, TABLE_COLOUR_RED);
        return error_fold(r);
}

/* Known fields in our order, then the others in the daemon's. */
static int print_fields(const Ctl *ctl, json_t *status)
{
        _cleanup_(table_freep) Table *table = NULL;
        TableStyle style = ctl->style;
        const json_t *known;
        const char *key;
        json_t *value;
        size_t i;
        int r;

        r = table_new(columns, N_ELEMENTS(columns), &table);
        for (i = 0; r == 0 && i < N_ELEMENTS(fields); i++) {
                known = json_object_get(status, fields[i].key);
                if (known)
                        r = add_line(ctl, table, fields[i].key, known);
        }
        if (r < 0)
                return error_fold(r);
        json_object_foreach(status, key, value) {
                if (find_field(key) || strcmp(key, "health") == 0)
                        continue;
                r = add_line(ctl, table, key, value);
                if (r < 0)
                        return error_fold(r);
        }
        style.legend = false;
        return error_fold(table_print(table, stdout, &style));
}

bool ctl_status_is_healthy(const json_t *status)
{
        return json_array_size(json_object_get(status, "health")) == 0 &&
               !json_is_false(json_object_get(status, "storeOk")) &&
               !json_is_false(json_object_get(status, "inotifyOk"));
}

static int print_health(const Ctl *ctl, const json_t *status)
{
        const json_t *health = json_object_get(status, "health");
        const char *on = ctl->style.colour ? table_colour_on(TABLE_COLOUR_RED) : "";
        const char *off = ctl->style.colour ? table_colour_off(TABLE_COLOUR_RED) : "";
        json_t *flag;
        size_t i;

        json_array_foreach(health, i, flag) {
                _cleanup_free_ char *line = NULL;
                const char *name = json_string_value(json_object_get(flag, "name"));
                const char *text = json_string_value(json_object_get(flag, "text"));
                const char *remedy = json_string_value(json_object_get(flag, "remedy"));
                int r;

                r = ctl_format(&line, "%s: %s%s%s", name ? name : "?", text ? text : "?",
                               remedy ? "; remedy: " : "", remedy ? remedy : "");
                if (r < 0)
                        return error_fold(r);
                printf("%s%s%s%s\n", i == 0 ? "\n" : "", on, line, off);
        }
        return 0;
}

/* outcome, with what the client has to say about it. */
static int explain(int outcome, const cgtask_client *client, char **ret_reason)
{
        int r;

        r = ctl_format(ret_reason, "%s", cgtask_client_error(client));
        return r < 0 ? error_fold(r) : outcome;
}

/* No socket, or nobody behind it: there is no daemon. Anything else is another matter. */
static int connect_outcome(int r)
{
        switch (r) {
        case -ENOENT:
        case -ECONNREFUSED:
                return CTL_STATUS_NOT_RUNNING;
        case -EACCES:
        case -EPERM:
                return CTL_STATUS_DENIED;
        default:
                return CTL_STATUS_FAILED;
        }
}

static int call_outcome(const cgtask_client *client)
{
        const char *name = cgtask_client_error_name(client);

        return name && strcmp(name, WIRE_ERROR_PERMISSION_DENIED) == 0 ? CTL_STATUS_DENIED
                                                                       : CTL_STATUS_FAILED;
}

int ctl_status_get(const Ctl *ctl, json_t **ret_status, char **ret_reason)
{
        _cleanup_(client_closep) cgtask_client *client = NULL;
        _cleanup_free_ char *text = NULL;
        json_t *status;
        int r;

        r = cgtask_client_new(ctl->socket, &client);
        if (r < 0)
                return error_fold(r);
        cgtask_client_set_timeout(client, API_TIMEOUT_USEC);
        r = cgtask_client_connect(client);
        if (r < 0)
                return error_fold(explain(connect_outcome(r), client, ret_reason));
        r = cgtask_get_status(client, &text);
        if (r < 0)
                return error_fold(explain(call_outcome(client), client, ret_reason));
        status = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(status)) {
                json_decref(status);
                r = ctl_format(ret_reason, "what the daemon says of itself is no object");
                return r < 0 ? error_fold(r) : CTL_STATUS_FAILED;
        }
        *ret_status = status;
        return 0;
}

/* One line, and the exit status. */
static int refuse(int outcome, const char *reason)
{
        if (outcome != CTL_STATUS_NOT_RUNNING)
                return ctl_error("%s", reason);
        (void)ctl_error("cgtaskd is not running: %s; start it with 'systemctl enable --now "
                        "cgtaskd.socket'",
                        reason);
        return CTL_EXIT_NOT_RUNNING;
}

int ctl_status(const Ctl *ctl, int argc, char *argv[])
{
        _cleanup_(json_decrefp) json_t *status = NULL;
        _cleanup_free_ char *reason = NULL;
        int r;

        r = ctl_status_get(ctl, &status, &reason);
        if (r < 0)
                return error_fold(r);
        if (r > 0)
                return refuse(r, reason);
        if (ctl->style.json != TABLE_JSON_OFF) {
                table_print_json(status, stdout, ctl->style.json);
        } else {
                r = print_fields(ctl, status);
                if (r == 0)
                        r = print_health(ctl, status);
                if (r < 0)
                        return error_fold(r);
        }
        return ctl_status_is_healthy(status) ? CTL_EXIT_OK : CTL_EXIT_FAILED;
}
