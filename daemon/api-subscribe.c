/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Subscribe: what is, then what happens.
 *
 * The live executions are told as fast as the client reads; what happens meanwhile is told at once,
 * so an execution may be heard of by its change first: each answer has the whole execution, and the
 * client keeps the latest one by id. A client that does not read is dropped at
 * MaxPendingOutputBytes, as any other is; it subscribes again and sees what is.
 */

#include "api-private.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <string.h>

struct ApiSubscription {
        PeerPending pending;
        Api *api;
        Peer *peer;
        char *task;  /* NULL: any */
        int64_t uid; /* -1: any */
        json_t *ids; /* of those that are to be told as existing */
        size_t next;
        LIST_ENTRY(ApiSubscription) link;
};

static void api_subscription_cancel(PeerPending *pending)
{
        ApiSubscription *s = (ApiSubscription *)pending;

        LIST_REMOVE(s, link);
        json_decref(s->ids);
        free(s->task);
        free(s);
}

static int api_subscription_tell(ApiSubscription *s, const char *event, Execution *e)
{
        json_t *o = api_encode_live(s->api, e);
        json_t *parameters = o ? json_pack("{s:s, s:o}", "event", event, "execution", o) : NULL;

        if (!parameters)
                return error_origin(-ENOMEM);
        return error_fold(peer_reply(s->peer, parameters, /* continues= */ true));
}

static int api_subscription_continue(PeerPending *pending, Peer *peer)
{
        ApiSubscription *s = (ApiSubscription *)pending;
        Execution *e;
        int r;

        while (s->next < json_array_size(s->ids) && !peer_is_congested(peer)) {
                e = registry_find(s->api->context.registry,
                                  json_string_value(json_array_get(s->ids, s->next++)));
                if (!e || !execution_is_live(e))
                        continue;
                r = api_subscription_tell(s, "existing", e);
                if (r < 0)
                        return error_fold(r);
        }
        return 0;
}

static const char *api_event_name(const Execution *e, bool is_new)
{
        if (is_new)
                return "created";
        switch (e->state) {
        case EXECUTION_RUNNING:
                return "started";
        case EXECUTION_STORED:
                return "ended";
        case EXECUTION_CREATED:
        case EXECUTION_DRAINED:
        case EXECUTION_MEASURED:
        case EXECUTION_REMOVED:
        case _EXECUTION_STATE_N:
                break;
        }
        return NULL; /* an inner step */
}

int api_on_change(Api *api, Execution *e, bool is_new)
{
        const char *event = api_event_name(e, is_new);
        ApiSubscription *s;
        int r;

        if (!event)
                return 0;
        LIST_FOREACH(s, &api->subscriptions, link) {
                if ((s->uid >= 0 && e->metadata.uid != (uid_t)s->uid) ||
                    (s->task && (!e->metadata.task || strcmp(s->task, e->metadata.task) != 0)))
                        continue;
                r = api_subscription_tell(s, event, e);
                if (r < 0)
                        return error_fold(r);
        }
        return 0;
}

int api_subscribe(Api *api, Peer *peer, const VarlinkCall *call)
{
        int64_t uid = peer_get_rights(peer).read ? -1 : (int64_t)peer_get_uid(peer);
        const char *task = NULL;
        ApiSubscription *s;

        if (varlink_get_text(call->parameters, "task", &task) != 0)
                return api_answer_invalid(peer, "task", "a string is expected");
        s = calloc(1, sizeof(*s));
        if (!s)
                return error_origin(-ENOMEM);
        LIST_INSERT_HEAD(&api->subscriptions, s, link);
        s->pending.cancel = api_subscription_cancel;
        s->pending.writable = api_subscription_continue;
        s->api = api;
        s->peer = peer;
        s->uid = uid;
        s->task = task ? strdup(task) : NULL;
        if ((task && !s->task) || api_collect_live(api, task, uid, &s->ids) < 0) {
                api_subscription_cancel(&s->pending);
                return error_origin(-ENOMEM);
        }
        peer_set_pending(peer, &s->pending);
        return error_fold(api_subscription_continue(&s->pending, peer));
}
