/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Where executions are looked up.
 *
 * The database has everything but lags behind for what runs (the last checkpoint); the daemon knows
 * what runs and shows ordinary users their own. So:
 *   - both: rows from the database, peaks so far from the daemon. The daemon is asked first: then a
 *     row that says `finished` is the newer word, and one that says `running` may take its peak.
 *   - only the database (no daemon): `running` rows are as of their last checkpoint, and a note
 *     says so.
 *   - only the daemon (the caller may not read the database): what it shows to this caller.
 */

#include "sources.h"

#include "live.h"

#include "private/cleanup.h"
#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <string.h>

#define API_TIMEOUT_USEC UINT64_C(10000000)

/* One more than is named when a part of an id fits several. */
#define MATCHES_SHOWN 5

/* The database: 0 also when it is not for this caller; its reason is then in the handle. */
static int open_history(const Ctl *ctl, Sources *sources, History **ret_unusable)
{
        _cleanup_(history_freep) History *history = NULL;
        int r;

        r = history_new(ctl->database ? ctl->database : WIRE_DATABASE_PATH, &history);
        if (r < 0)
                return error_fold(r);
        r = history_open(history);
        if (r < 0)
                return error_fold(r);
        if (r == 0) {
                sources->history = TAKE_PTR(history);
                return 0;
        }
        if ((r == HISTORY_E_ABSENT || r == HISTORY_E_DENIED) && !ctl->database) {
                *ret_unusable = TAKE_PTR(history);
                return 0;
        }
        (void)ctl_error("%s", history_error(history));
        return SOURCES_E_FAILED;
}

/* As cgtask_client_connect(); *ret_client is a client in any case but -ENOMEM. */
static int connect_client(const Ctl *ctl, cgtask_client **ret_client)
{
        int r;

        r = cgtask_client_new(ctl->socket, ret_client);
        if (r < 0)
                return error_fold(r);
        cgtask_client_set_timeout(*ret_client, API_TIMEOUT_USEC);
        return cgtask_client_connect(*ret_client);
}

int sources_open_daemon(const Ctl *ctl, Sources *ret_sources)
{
        _cleanup_(sources_closep) Sources sources = SOURCES_INIT;
        int r;

        sources.asked = true;
        r = connect_client(ctl, &sources.client);
        if (r < 0 && !sources.client)
                return error_fold(r);
        if (r < 0) {
                (void)ctl_error("%s", cgtask_client_error(sources.client));
                return SOURCES_E_FAILED;
        }
        *ret_sources = sources;
        sources = (Sources)SOURCES_INIT;
        return 0;
}

int sources_open(const Ctl *ctl, Sources *ret_sources)
{
        _cleanup_(history_freep) History *unusable = NULL;
        _cleanup_(sources_closep) Sources sources = SOURCES_INIT;
        int r;

        r = open_history(ctl, &sources, &unusable);
        if (r != 0)
                return error_fold(r);
        sources.asked = !ctl->database || ctl->socket;
        if (sources.asked) {
                r = connect_client(ctl, &sources.client);
                if (r < 0 && !sources.client)
                        return error_fold(r);
                if (r < 0 && !sources.history) {
                        (void)ctl_error("%s", history_error(unusable));
                        (void)ctl_error("%s", cgtask_client_error(sources.client));
                        return SOURCES_E_FAILED;
                }
                if (r < 0)
                        sources.client = cgtask_client_free(sources.client);
        }
        *ret_sources = sources;
        sources = (Sources)SOURCES_INIT;
        return 0;
}

void sources_close(Sources *sources)
{
        sources->client = cgtask_client_free(sources->client);
        sources->history = history_free(sources->history);
}

/* A failure of the daemon loses nothing but freshness when there is a database. */
static int ask(const Sources *sources, const char *state, const RecordFilter *filter,
               RecordList *list)
{
        int r;

        if (filter->state && strcmp(filter->state, state) != 0)
                return 0;
        r = live_list(sources->client, state, filter, list);
        if (r >= 0 || r == -ENOMEM)
                return error_fold(r);
        if (sources->history) {
                ctl_note("peaks so far are missing: %s", cgtask_client_error(sources->client));
                return 0;
        }
        (void)ctl_error("%s", cgtask_client_error(sources->client));
        return SOURCES_E_FAILED;
}

static int list_from_daemon(const Sources *sources, const RecordFilter *filter, RecordList *list)
{
        static const char *const states[] = { "running", "finished", "lost" };
        size_t i;
        int r;

        for (i = 0; i < N_ELEMENTS(states); i++) {
                r = ask(sources, states[i], filter, list);
                if (r != 0)
                        return error_fold(r);
        }
        return 0;
}

/*
 * What runs into the rows: a row that is running takes what the daemon said, one that is not there
 * yet is added. Both lists are sorted, so one pass does it.
 */
static int merge(RecordList *live, RecordList *rows)
{
        size_t i, j = 0, n_rows = rows->n_records;
        ExecutionRecord *row, swap;
        int r, order = -1;

        for (i = 0; i < live->n_records; i++) {
                if (!live->records[i].id)
                        continue;
                for (; j < n_rows; j++) {
                        order = strcmp(rows->records[j].id ? rows->records[j].id : "",
                                       live->records[i].id);
                        if (order <= 0)
                                break;
                }
                if (j == n_rows || order < 0) {
                        r = record_list_add(rows, &live->records[i]);
                        if (r < 0)
                                return error_fold(r);
                        continue;
                }
                row = &rows->records[j];
                if (record_is_running(row)) {
                        swap = *row;
                        *row = live->records[i];
                        live->records[i] = swap;
                }
        }
        return 0;
}

static void note_stale(const RecordList *list)
{
        size_t i;

        for (i = 0; i < list->n_records; i++) {
                if (!record_is_running(&list->records[i]))
                        continue;
                ctl_note("cgtaskd does not answer: running executions as of their last checkpoint");
                return;
        }
}

static int list_from_both(const Sources *sources, const RecordFilter *filter, RecordList *rows)
{
        _cleanup_(record_list_deinitp) RecordList live = RECORD_LIST_INIT;
        int r;

        if (sources->client) {
                r = ask(sources, "running", filter, &live);
                if (r != 0)
                        return error_fold(r);
                record_list_finish(&live, -1);
        }
        r = history_list(sources->history, filter, rows);
        if (r > 0) {
                (void)ctl_error("%s", history_error(sources->history));
                return SOURCES_E_FAILED;
        }
        if (r < 0)
                return error_fold(r);
        if (sources->asked && !sources->client)
                note_stale(rows);
        return error_fold(merge(&live, rows));
}

int sources_list(const Sources *sources, const RecordFilter *filter, RecordList *ret_list)
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        int r;

        r = sources->history ? list_from_both(sources, filter, &list)
                             : list_from_daemon(sources, filter, &list);
        if (r != 0)
                return error_fold(r);
        record_list_finish(&list, filter->limit);
        *ret_list = list;
        list = (RecordList)RECORD_LIST_INIT;
        return 0;
}

static int refuse_ambiguous(const char *text, const RecordList *list)
{
        size_t i;

        (void)ctl_error("%s is the beginning or end of several ids: give more digits", text);
        for (i = 0; i < list->n_records && i < MATCHES_SHOWN; i++)
                ctl_note("  %s %s", list->records[i].id,
                         list->records[i].task ? list->records[i].task : "");
        if (list->n_records > MATCHES_SHOWN)
                ctl_note("  and others");
        return SOURCES_E_FAILED;
}

/* By its whole id the daemon finds any execution, also one whose row is on its way to the disk. */
static int get_from_daemon(const Sources *sources, const char *id, ExecutionRecord *ret_record)
{
        int r;

        r = live_get(sources->client, id, ret_record, NULL);
        if (r >= 0 || r == -ENOMEM)
                return error_fold(r);
        (void)ctl_error("%s", cgtask_client_error(sources->client));
        return SOURCES_E_FAILED;
}

int sources_find(const Sources *sources, const char *text, bool running_only,
                 ExecutionRecord *ret_record)
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        RecordFilter filter = RECORD_FILTER_INIT;
        char part[WIRE_ID_LENGTH + 1];
        int r;

        if (!record_parse_id(text, part)) {
                (void)ctl_error("%s is no id", text);
                return SOURCES_E_FAILED;
        }
        if (!sources->history && strlen(part) == WIRE_ID_LENGTH)
                return error_fold(get_from_daemon(sources, part, ret_record));
        filter.id_part = part;
        filter.state = running_only ? "running" : NULL;
        filter.limit = MATCHES_SHOWN + 1;
        r = sources_list(sources, &filter, &list);
        if (r != 0)
                return error_fold(r);
        if (list.n_records == 0 && sources->client && strlen(part) == WIRE_ID_LENGTH)
                return error_fold(get_from_daemon(sources, part, ret_record));
        if (list.n_records == 0) {
                (void)ctl_error("no %sexecution has the id %s", running_only ? "running " : "",
                                text);
                return SOURCES_E_FAILED;
        }
        if (list.n_records > 1)
                return refuse_ambiguous(text, &list);
        *ret_record = list.records[0];
        execution_record_init(&list.records[0]);
        return 0;
}
