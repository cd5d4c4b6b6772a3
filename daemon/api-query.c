/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Get and List: what is live comes from the registry, what has ended from the store.
 *
 * A listing is produced as fast as the client reads it: ids are collected first, each answer is made
 * when there is room for it. Rows are read by the worker, at most API_ROWS_MAX of them; those who
 * want more read the database.
 */

#include "api-private.h"

#include "execution-json.h"
#include "private/cleanup.h"
#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <limits.h>

#define API_ROWS_MAX 1000

/* -- reading rows on the worker --------------------------------------------------------------- */

/* Outlives its peer if that is closed meanwhile: the job cannot be taken back. */
typedef struct ApiQuery {
        WorkerJob job;
        PeerPending pending;
        Api *api;
        Peer *peer; /* NULL: nobody waits any more */
        char *id;   /* Get; else List by filter */
        char *task, *state;
        int64_t uid;
        json_t *rows; /* array of Execution objects */
} ApiQuery;

static int api_list_start(Api *api, Peer *peer, json_t *ids, json_t *rows);

static void api_query_free(ApiQuery *query)
{
        json_decref(query->rows);
        free(query->id);
        free(query->task);
        free(query->state);
        free(query);
}

static void api_query_cancel(PeerPending *pending)
{
        ApiQuery *query = (ApiQuery *)((char *)pending - offsetof(ApiQuery, pending));

        query->peer = NULL;
}

static int api_query_take_row(void *userdata, const ExecutionRecord *record)
{
        json_t *o = execution_json_encode(record, NULL, RECORD_NULL, RECORD_NULL);
        ApiQuery *query = userdata;

        return o && json_array_append_new(query->rows, o) == 0 ? 0 : error_origin(-ENOMEM);
}

static int api_query_get(ApiQuery *query, Store *store)
{
        ExecutionRecord record;
        int r;

        execution_record_init(&record);
        r = store_get(store, query->id, &record);
        if (r)
                return error_fold(r);
        /* somebody else's row is not there for those who may not see it */
        if (query->uid >= 0 && record.uid != query->uid)
                r = STORE_E_NOT_FOUND;
        else
                r = api_query_take_row(query, &record);
        execution_record_deinit(&record);
        return error_fold(r);
}

static int api_query_run(WorkerJob *job, Store *store)
{
        ApiQuery *query = (ApiQuery *)job;
        StoreFilter filter = {
                .task = query->task, .state = query->state, .uid = query->uid, .limit = API_ROWS_MAX
        };

        if (query->id)
                return error_fold(api_query_get(query, store));
        return error_fold(store_list(store, &filter, api_query_take_row, query));
}

static int api_query_answer(ApiQuery *query, int result)
{
        Peer *peer = query->peer;
        json_t *rows;

        peer_set_pending(peer, NULL);
        if (result == STORE_E_NOT_FOUND)
                return api_answer_id(peer, WIRE_ERROR_NO_SUCH_EXECUTION, query->id);
        if (result) {
                WorkerStatus status;

                worker_get_status(query->api->context.worker, &status);
                return api_answer_reason(peer, WIRE_ERROR_STORE_UNAVAILABLE,
                                         *status.store_error ? status.store_error
                                                             : "the database could not be read");
        }
        if (query->id)
                return error_fold(api_answer_execution(
                        peer, json_incref(json_array_get(query->rows, 0)), false));
        rows = json_incref(query->rows);
        return error_fold(api_list_start(query->api, peer, NULL, rows));
}

static void api_query_done(WorkerJob *job, int result)
{
        ApiQuery *query = (ApiQuery *)job;

        if (query->peer)
                loop_report(query->api->context.loop, "query", api_query_answer(query, result));
        api_query_free(query);
}

static int api_query_submit(Api *api, Peer *peer, const char *id, const char *task,
                            const char *state, int64_t uid)
{
        ApiQuery *query = calloc(1, sizeof(*query));

        if (!query)
                return error_origin(-ENOMEM);
        query->job.kind = WORKER_JOB_CALL;
        query->job.fn = api_query_run;
        query->job.done = api_query_done;
        execution_record_init(&query->job.record);
        query->pending.cancel = api_query_cancel;
        query->api = api;
        query->peer = peer;
        query->uid = uid;
        query->rows = json_array();
        query->id = id ? strdup(id) : NULL;
        query->task = task ? strdup(task) : NULL;
        query->state = state ? strdup(state) : NULL;
        if (!query->rows || (id && !query->id) || (task && !query->task) ||
            (state && !query->state)) {
                api_query_free(query);
                return error_origin(-ENOMEM);
        }
        peer_set_pending(peer, &query->pending);
        worker_submit(api->context.worker, &query->job);
        return 0;
}

int api_answer_recorded(Api *api, Peer *peer, const char *id)
{
        int64_t uid = peer_get_rights(peer).read ? -1 : (int64_t)peer_get_uid(peer);

        return error_fold(api_query_submit(api, peer, id, NULL, NULL, uid));
}

int api_get(Api *api, Peer *peer, const VarlinkCall *call)
{
        const char *missing = NULL;
        Execution *e;
        int r;

        e = api_find(api, peer, call, /* may_end= */ false, &missing, &r);
        if (e)
                return error_fold(api_answer_execution(peer, api_encode_live(api, e), false));
        if (r < 0 || !missing)
                return error_fold(r);
        return error_fold(api_answer_recorded(api, peer, missing));
}

/* -- answering one by one --------------------------------------------------------------------- */

typedef struct ApiList {
        PeerPending pending;
        Api *api;
        json_t *ids;  /* live ones; or */
        json_t *rows; /* recorded ones */
        size_t next;
} ApiList;

static void api_list_cancel(PeerPending *pending)
{
        ApiList *list = (ApiList *)pending;

        json_decref(list->ids);
        json_decref(list->rows);
        free(list);
}

/* Answers with number i; one that has gone meanwhile is left out. */
static int api_list_answer(ApiList *list, Peer *peer, size_t i)
{
        Execution *e;

        if (list->rows)
                return error_fold(api_answer_execution(
                        peer, json_incref(json_array_get(list->rows, i)), true));
        e = registry_find(list->api->context.registry,
                          json_string_value(json_array_get(list->ids, i)));
        return e ? error_fold(api_answer_execution(peer, api_encode_live(list->api, e), true)) : 0;
}

/* Goes on until the client has enough to read. */
static int api_list_continue(PeerPending *pending, Peer *peer)
{
        ApiList *list = (ApiList *)pending;
        size_t n = json_array_size(list->rows ? list->rows : list->ids);
        int r;

        while (list->next < n) {
                if (peer_is_congested(peer))
                        return 0;
                r = api_list_answer(list, peer, list->next++);
                if (r < 0)
                        return error_fold(r);
        }
        peer_set_pending(peer, NULL);
        api_list_cancel(pending);
        return error_fold(peer_reply(peer, NULL, false));
}

/* Takes over ids or rows. */
static int api_list_start(Api *api, Peer *peer, json_t *ids, json_t *rows)
{
        ApiList *list = calloc(1, sizeof(*list));

        if (!list) {
                json_decref(ids);
                json_decref(rows);
                return error_origin(-ENOMEM);
        }
        list->pending.cancel = api_list_cancel;
        list->pending.writable = api_list_continue;
        list->api = api;
        list->ids = ids;
        list->rows = rows;
        peer_set_pending(peer, &list->pending);
        return error_fold(api_list_continue(&list->pending, peer));
}

typedef struct ApiSelection {
        const char *task;
        int64_t uid; /* -1: all */
        json_t *ids;
} ApiSelection;

static int api_list_select(void *userdata, Execution *e)
{
        ApiSelection *s = userdata;

        if (!execution_is_live(e) || (s->uid >= 0 && e->metadata.uid != (uid_t)s->uid) ||
            (s->task && (!e->metadata.task || strcmp(s->task, e->metadata.task) != 0)))
                return 0;
        return json_array_append_new(s->ids, json_string(e->id)) < 0 ? error_origin(-ENOMEM) : 0;
}

int api_collect_live(Api *api, const char *task, int64_t uid, json_t **ret_ids)
{
        ApiSelection selection = { .task = task, .uid = uid, .ids = json_array() };
        int r;

        if (!selection.ids)
                return error_origin(-ENOMEM);
        r = registry_for_each(api->context.registry, api_list_select, &selection);
        if (r < 0) {
                json_decref(selection.ids);
                return error_fold(r);
        }
        *ret_ids = selection.ids;
        return 0;
}

static int api_list_live(Api *api, Peer *peer, const char *task, int64_t uid)
{
        json_t *ids;
        int r;

        r = api_collect_live(api, task, uid, &ids);
        return r < 0 ? error_fold(r) : error_fold(api_list_start(api, peer, ids, NULL));
}

int api_list(Api *api, Peer *peer, const VarlinkCall *call)
{
        const json_t *p = call->parameters;
        const char *task = NULL, *state = "running";
        int64_t uid = -1, own = peer_get_uid(peer);

        if (varlink_get_text(p, "task", &task) != 0)
                return api_answer_invalid(peer, "task", "a string is expected");
        if (varlink_get_text(p, "state", &state) != 0 ||
            (strcmp(state, "running") != 0 && strcmp(state, "finished") != 0 &&
             strcmp(state, "lost") != 0))
                return api_answer_invalid(peer, "state",
                                          "\"running\", \"finished\" or \"lost\" is expected");
        if (varlink_get_integer(p, "uid", 0, UINT32_MAX, &uid) != 0)
                return api_answer_invalid(peer, "uid", "a user id is expected");
        if (!peer_get_rights(peer).read) {
                if (uid >= 0 && uid != own)
                        return api_answer_denied(peer,
                                                 "only root and members of group " ACCESS_GROUP_READ
                                                 " see other users' executions");
                uid = own;
        }
        if (strcmp(state, "running") == 0)
                return error_fold(api_list_live(api, peer, task, uid));
        return error_fold(api_query_submit(api, peer, NULL, task, state, uid));
}
