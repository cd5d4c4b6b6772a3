/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * cgtaskctl doctor: is this host fit for cgtask, and if not, what to do?
 *
 * Runs all checks whatever the first ones say, so that one look shows everything; the daemon and
 * the database come last. Works for anybody: what this caller may not see is said as such.
 */

#include "check.h"
#include "ctl.h"
#include "history.h"
#include "hostfs.h"

#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <string.h>

enum {
        COLUMN_STATE,
        COLUMN_CHECK,
        COLUMN_DETAIL,
        COLUMN_REMEDY,
};

static const TableColumn columns[] = {
        [COLUMN_STATE] = { "STATE", "state", false, false },
        [COLUMN_CHECK] = { "CHECK", "check", false, false },
        [COLUMN_DETAIL] = { "DETAIL", "detail", false, false },
        [COLUMN_REMEDY] = { "REMEDY", "remedy", false, false },
};

static int check_host(const HostFs *host, CheckList *list)
{
        static int (*const checks[])(const HostFs *, CheckList *) = {
                check_hierarchy,    check_mount_options, check_controllers, check_namespace,
                check_memory_files, check_core_files,    check_calls,       check_pressure,
                check_inotify,      check_units,         check_groups,
        };
        size_t i;
        int r;

        for (i = 0; i < N_ELEMENTS(checks); i++) {
                r = checks[i](host, list);
                if (r < 0)
                        return error_fold(r);
        }
        return 0;
}

static int check_rows(const char *path, CheckList *list)
{
        _cleanup_(history_freep) History *history = NULL;
        int64_t n;
        int r;

        r = history_new(path, &history);
        if (r == 0)
                r = history_open(history);
        if (r == 0)
                r = history_count(history, &n);
        if (r < 0)
                return error_fold(r);
        if (r == 0)
                return error_fold(check_add(list, CHECK_OK, "database", NULL,
                                            "readable, %lld executions", (long long)n));
        if (r == HISTORY_E_DENIED)
                return error_fold(check_add(list, CHECK_SKIP, "database", NULL, "%s",
                                            history_error(history)));
        return error_fold(check_add(list, r == HISTORY_E_ABSENT ? CHECK_WARN : CHECK_FAIL,
                                    "database", NULL, "%s", history_error(history)));
}

/* What the daemon complains of, in its own words. Its remedy is part of the line. */
static int add_health(const json_t *status, CheckList *list)
{
        const char *text, *name, *remedy;
        json_t *flag;
        size_t i;
        int r;

        json_array_foreach(json_object_get(status, "health"), i, flag) {
                name = json_string_value(json_object_get(flag, "name"));
                text = json_string_value(json_object_get(flag, "text"));
                remedy = json_string_value(json_object_get(flag, "remedy"));
                r = check_add(list, CHECK_WARN, "daemon's health", NULL, "%s: %s%s%s",
                              name ? name : "?", text ? text : "?", remedy ? "; remedy: " : "",
                              remedy ? remedy : "");
                if (r < 0)
                        return error_fold(r);
        }
        return 0;
}

static int check_daemon(const Ctl *ctl, CheckList *list)
{
        _cleanup_(json_decrefp) json_t *status = NULL;
        _cleanup_free_ char *reason = NULL;
        const char *version;
        int r;

        r = ctl_status_get(ctl, &status, &reason);
        if (r < 0)
                return error_fold(r);
        if (r == CTL_STATUS_NOT_RUNNING)
                return error_fold(check_add(list, CHECK_FAIL, "daemon",
                                            "systemctl enable --now cgtaskd.socket", "%s", reason));
        if (r == CTL_STATUS_DENIED)
                return error_fold(check_add(list, CHECK_SKIP, "daemon", NULL, "%s", reason));
        if (r > 0)
                return error_fold(check_add(list, CHECK_FAIL, "daemon",
                                            "journalctl -u cgtaskd.service", "%s", reason));
        version = json_string_value(json_object_get(status, "version"));
        r = check_add(list, CHECK_OK, "daemon", NULL, "answers, version %s",
                      version ? version : "unknown");
        if (r == 0 && json_array_size(json_object_get(status, "health")) == 0)
                r = check_add(list, ctl_status_is_healthy(status) ? CHECK_OK : CHECK_WARN,
                              "daemon's health",
                              ctl_status_is_healthy(status) ? NULL : "see cgtaskctl status", "%s",
                              ctl_status_is_healthy(status) ? "well" : "not well");
        if (r == 0)
                r = add_health(status, list);
        return error_fold(r);
}

static TableColour state_colour(CheckState state)
{
        switch (state) {
        case CHECK_OK:
                return TABLE_COLOUR_GREEN;
        case CHECK_WARN:
                return TABLE_COLOUR_YELLOW;
        case CHECK_FAIL:
                return TABLE_COLOUR_RED;
        case CHECK_SKIP:
                return TABLE_COLOUR_DIM;
        }
        return TABLE_COLOUR_NONE;
}

/* Under the detail, since it is long. */
static int add_remedy_row(Table *table, const char *remedy)
{
        _cleanup_free_ char *line = NULL;
        int r;

        r = ctl_format(&line, "-> %s", remedy);
        if (r == 0)
                r = table_add_row(table);
        if (r == 0)
                r = table_set_text(table, COLUMN_STATE, "");
        if (r == 0)
                r = table_set_text(table, COLUMN_CHECK, "");
        if (r == 0)
                r = table_set_text(table, COLUMN_DETAIL, line);
        return error_fold(r);
}

/* The remedy is a column for programs and a line for people. */
static int add_check(Table *table, const Check *check, bool for_programs)
{
        int r;

        r = table_add_row(table);
        if (r == 0)
                r = table_set_text(table, COLUMN_STATE, check_state_name(check->state));
        if (r == 0)
                r = table_set_text(table, COLUMN_CHECK, check->name);
        if (r == 0)
                r = table_set_text(table, COLUMN_DETAIL, check->detail);
        table_set_colour(table, COLUMN_STATE, state_colour(check->state));
        if (r < 0 || !check->remedy)
                return error_fold(r);
        return error_fold(for_programs ? table_set_text(table, COLUMN_REMEDY, check->remedy)
                                       : add_remedy_row(table, check->remedy));
}

static int print_checks(const Ctl *ctl, const CheckList *list)
{
        _cleanup_(table_freep) Table *table = NULL;
        bool for_programs = ctl->style.json != TABLE_JSON_OFF;
        TableStyle style = ctl->style;
        size_t i;
        int r;

        r = table_new(columns, for_programs ? N_ELEMENTS(columns) : COLUMN_REMEDY, &table);
        for (i = 0; r == 0 && i < list->n_checks; i++)
                r = add_check(table, &list->checks[i], for_programs);
        if (r < 0)
                return error_fold(r);
        style.legend = false;
        return error_fold(table_print(table, stdout, &style));
}

static size_t count_checks(const CheckList *list, CheckState state)
{
        size_t i, n = 0;

        for (i = 0; i < list->n_checks; i++)
                n += list->checks[i].state == state;
        return n;
}

static int run_checks(const Ctl *ctl, const HostFs *host, CheckList *list)
{
        const char *database = ctl->database ? ctl->database : WIRE_DATABASE_PATH;
        _cleanup_free_ char *path = NULL;
        int r;

        if (asprintf(&path, "%s%s", ctl->database ? "" : host->root, database) < 0) {
                path = NULL;
                return error_origin(-ENOMEM);
        }
        r = check_host(host, list);
        if (r == 0)
                r = check_database(host, path, list);
        if (r == 0)
                r = check_rows(path, list);
        /* A daemon belongs to the host it runs on, not to a folder. */
        if (r == 0 && (!*host->root || ctl->socket))
                r = check_daemon(ctl, list);
        return error_fold(r);
}

int ctl_doctor(const Ctl *ctl, int argc, char *argv[])
{
        _cleanup_(check_list_deinitp) CheckList list = CHECK_LIST_INIT;
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };
        size_t n_failed;
        int r;

        r = hostfs_probe(ctl->root ? ctl->root : "", ctl->executions_root, &host);
        if (r == -ENOMEM)
                return error_fold(r);
        if (r < 0)
                return ctl_error("cannot read the mounts of this host: %s", strerror(-r));
        r = run_checks(ctl, &host, &list);
        if (r == 0)
                r = print_checks(ctl, &list);
        if (r < 0)
                return error_fold(r);

        n_failed = count_checks(&list, CHECK_FAIL);
        if (ctl->style.json == TABLE_JSON_OFF && ctl->style.legend)
                printf("\n%zu ok, %zu warn, %zu FAIL, %zu skipped\n", count_checks(&list, CHECK_OK),
                       count_checks(&list, CHECK_WARN), n_failed, count_checks(&list, CHECK_SKIP));
        return n_failed > 0 ? CTL_EXIT_FAILED : CTL_EXIT_OK;
}
