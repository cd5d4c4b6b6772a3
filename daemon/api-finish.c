/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finish and Drain: the answers that wait for executions.
 *
 * Finish is answered when the row is durable. If processes are left after the runner, it is answered
 * after a short grace with state `running` instead, unless the caller wants to wait for them. The
 * grace is there because from kernel 7.x on `populated` may still be 1 for a moment after the
 * parent's wait has returned.
 */

#include "api-private.h"

#include "execution-json.h"
#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>

#define API_FINISH_GRACE_USEC (250 * USEC_PER_MSEC)

typedef struct ApiFinish {
        PeerPending pending;
        ExecutionWaiter waiter;
        LoopSource *grace;
        Api *api;
        Peer *peer;
        Execution *execution; /* valid as long as the waiter is linked */
} ApiFinish;

static void api_finish_free(ApiFinish *finish)
{
        execution_wait_cancel(&finish->waiter);
        finish->grace = loop_source_free(finish->grace);
        free(finish);
}

static void api_finish_cancel(PeerPending *pending)
{
        api_finish_free((ApiFinish *)pending);
}

/* Ends the waiting and answers. */
static int api_finish_answer(ApiFinish *finish, bool store_failed)
{
        Execution *e = finish->execution;
        Peer *peer = finish->peer;
        Api *api = finish->api;

        peer_set_pending(peer, NULL);
        api_finish_free(finish);
        if (store_failed) {
                WorkerStatus status;

                worker_get_status(api->context.worker, &status);
                return api_answer_reason(peer, WIRE_ERROR_STORE_UNAVAILABLE, status.store_error);
        }
        return error_fold(api_answer_execution(peer, api_encode_live(api, e), false));
}

static void api_finish_on_change(ExecutionWaiter *waiter, Execution *e, bool store_failed)
{
        ApiFinish *finish = (ApiFinish *)((char *)waiter - offsetof(ApiFinish, waiter));
        Loop *loop = finish->api->context.loop;

        if (store_failed || e->state >= EXECUTION_STORED) /* it is freed by the answer */
                loop_report(loop, "finish", api_finish_answer(finish, store_failed));
}

static int api_finish_on_grace(void *userdata)
{
        ApiFinish *finish = userdata;

        if (!execution_is_live(finish->execution))
                return 0; /* its row is on the way */
        return error_fold(api_finish_answer(finish, /* store_failed= */ false));
}

static int api_finish_wait(Api *api, Peer *peer, Execution *e, bool wait_drained)
{
        ApiFinish *finish = calloc(1, sizeof(*finish));
        int r = 0;

        if (!finish)
                return error_origin(-ENOMEM);
        finish->pending.cancel = api_finish_cancel;
        finish->waiter.fn = api_finish_on_change;
        finish->api = api;
        finish->peer = peer;
        finish->execution = e;
        if (!wait_drained) {
                r = loop_add_timer(api->context.loop, "finish", LOOP_PRIORITY_CLIENT,
                                   api_finish_on_grace, finish, &finish->grace);
                if (r == 0)
                        r = loop_source_arm(finish->grace, API_FINISH_GRACE_USEC);
        }
        if (r < 0) {
                api_finish_free(finish);
                return error_fold(r);
        }
        execution_wait(e, &finish->waiter);
        peer_set_pending(peer, &finish->pending);
        return 0;
}

int api_finish(Api *api, Peer *peer, const VarlinkCall *call)
{
        const json_t *p = call->parameters;
        const char *kind = NULL, *missing = NULL;
        VerdictExit exit;
        int64_t status = -1, max_rss = -1;
        bool wait_drained = false;
        Execution *e;
        int r;

        if (varlink_get_text(p, "exitKind", &kind) != 0 || !kind ||
            !verdict_exit_from_name(kind, &exit))
                return api_answer_invalid(peer, "exitKind",
                                          "\"exited\", \"signaled\" or \"unknown\" is expected");
        if (varlink_get_integer(p, "exitStatus", 0, 255, &status) != 0 ||
            (status < 0 && exit != VERDICT_EXIT_UNKNOWN))
                return api_answer_invalid(peer, "exitStatus",
                                          "an exit code or signal number is expected");
        if (varlink_get_integer(p, "runnerMaxRss", 0, INT64_MAX, &max_rss) != 0)
                return api_answer_invalid(peer, "runnerMaxRss", "a number of bytes is expected");
        if (varlink_get_bool(p, "waitDrained", &wait_drained) != 0)
                return api_answer_invalid(peer, "waitDrained", "a boolean is expected");
        e = api_find(api, peer, call, /* may_end= */ true, &missing, &r);
        if (!e && missing &&
            !hierarchy_is_ready(api->context.hierarchy)) /* to be adopted, perhaps */
                return api_answer_reason(peer, WIRE_ERROR_NOT_READY,
                                         hierarchy_reason(api->context.hierarchy));
        if (!e && missing) /* told again after a restart that came just behind the commit */
                return error_fold(api_answer_recorded(api, peer, missing));
        if (!e)
                return error_fold(r);
        peer_remove_made(peer, e->id);
        if (e->state >= EXECUTION_STORED) /* only its directory is left, which may take a while */
                return error_fold(api_answer_execution(peer, api_encode_live(api, e), false));
        r = api_finish_wait(api, peer, e, wait_drained);
        if (r < 0)
                return error_fold(r);
        return error_fold(execution_finish(e, exit, (int)status, max_rss));
}

/* -- Drain ------------------------------------------------------------------------------------ */

typedef struct ApiDrain {
        PeerPending pending;
        DrainWaiter waiter;
        Api *api;
        Peer *peer;
} ApiDrain;

static void api_drain_cancel(PeerPending *pending)
{
        ApiDrain *drain = (ApiDrain *)pending;

        drain_wait_cancel(&drain->waiter);
        free(drain);
}

static void api_drain_on_done(DrainWaiter *waiter, int64_t drained, int64_t killed)
{
        ApiDrain *drain = (ApiDrain *)((char *)waiter - offsetof(ApiDrain, waiter));
        Peer *peer = drain->peer;
        Api *api = drain->api;

        peer_set_pending(peer, NULL);
        free(drain);
        loop_report(api->context.loop, "drain",
                    peer_reply(peer,
                               json_pack("{s:I, s:I}", "drained", (json_int_t)drained, "killed",
                                         (json_int_t)killed),
                               false));
}

int api_drain(Api *api, Peer *peer, const VarlinkCall *call)
{
        int64_t grace = 0;
        ApiDrain *drain;

        if (!peer_get_rights(peer).root)
                return api_answer_denied(peer, "only root may drain");
        if (varlink_get_integer(call->parameters, "graceUsec", 0, INT64_MAX, &grace) != 0)
                return api_answer_invalid(peer, "graceUsec",
                                          "a number of microseconds is expected");
        drain = calloc(1, sizeof(*drain));
        if (!drain)
                return error_origin(-ENOMEM);
        drain->pending.cancel = api_drain_cancel;
        drain->waiter.fn = api_drain_on_done;
        drain->api = api;
        drain->peer = peer;
        peer_set_pending(peer, &drain->pending);
        return error_fold(drain_start(api->context.drain, (uint64_t)grace, &drain->waiter));
}
