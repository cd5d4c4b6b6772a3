/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Between api.c (dispatch), api-create.c, api-finish.c, api-query.c and api-subscribe.c. */

#include "api.h"

typedef struct ApiCreate ApiCreate;
typedef struct ApiSubscription ApiSubscription;

struct Api {
        ApiContext context;
        LIST_HEAD(, ApiCreate) creates; /* waiting for the hierarchy */
        LIST_HEAD(, ApiSubscription) subscriptions;
        bool stopping;
};

typedef int (*ApiMethodFn)(Api *api, Peer *peer, const VarlinkCall *call);

int api_create(Api *api, Peer *peer, const VarlinkCall *call);
int api_finish(Api *api, Peer *peer, const VarlinkCall *call);
int api_get(Api *api, Peer *peer, const VarlinkCall *call);
int api_list(Api *api, Peer *peer, const VarlinkCall *call);
int api_subscribe(Api *api, Peer *peer, const VarlinkCall *call);
int api_drain(Api *api, Peer *peer, const VarlinkCall *call);

/* Answers. */
int api_answer_invalid(Peer *peer, const char *parameter, const char *reason);
int api_answer_reason(Peer *peer, const char *error, const char *reason);
int api_answer_id(Peer *peer, const char *error, const char *id);
int api_answer_denied(Peer *peer, const char *reason);
/* {"execution": o}; takes o over, NULL: no memory. */
int api_answer_execution(Peer *peer, json_t *o, bool continues);

/*
 * The live execution that parameter id names, if the peer may see it (may_end: end it). NULL: the
 * call has been answered, or *ret_r is a fault. With ret_missing, an id without a live execution is
 * not answered but told there.
 */
Execution *api_find(Api *api, Peer *peer, const VarlinkCall *call, bool may_end,
                    const char **ret_missing, int *ret_r);

/*
 * Ids of the live executions of task (NULL: any) and uid (-1: any), as an array of strings that the
 * caller owns. -ENOMEM.
 */
int api_collect_live(Api *api, const char *task, int64_t uid, json_t **ret_ids);

/* Answers with the recorded row of id, as Get does. */
int api_answer_recorded(Api *api, Peer *peer, const char *id);

/* The type Execution for a live execution, with live figures. NULL: no memory. */
json_t *api_encode_live(Api *api, Execution *execution);

/*
 * Attach for the peer itself (pid 0) or for pid. 0: done; >0: answered with an error; <0.
 */
int api_attach_process(Api *api, Peer *peer, Execution *execution, pid_t pid);
