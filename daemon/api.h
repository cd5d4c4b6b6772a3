/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The methods: a call comes in, the registry or the store is asked, an answer goes out. */

#include "drain.h"
#include "hierarchy.h"
#include "peer.h"
#include "registry.h"
#include "worker.h"

typedef struct Api Api;

/* Borrowed from the daemon. */
typedef struct ApiContext {
        Loop *loop;
        Registry *registry;
        Worker *worker;
        Hierarchy *hierarchy;
        Drain *drain;
        const Config *config;
        json_t *(*status)(void *userdata); /* the object of GetStatus; NULL: no memory */
        /* a Create found the hierarchy not ready: see to it */
        int (*need_hierarchy)(void *userdata);
        void *userdata;
} ApiContext;

int api_new(const ApiContext *context, Api **ret_api);
Api *api_free(Api *api); /* all peers must have been closed */

/* What the listener gives its peers. */
PeerHandler api_get_handler(Api *api);

/*
 * The daemon is ending: from now on a connection that closes says nothing about its executions, for
 * their clients will come back to the next daemon.
 */
void api_stop(Api *api);

/* An execution is new or has changed its state: subscribers are told. */
int api_on_change(Api *api, Execution *execution, bool is_new);

/* The hierarchy has become ready: the Creates that waited for it go on. */
int api_on_ready(Api *api);
