/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Between daemon.c (life), daemon-hierarchy.c (the keeper, adoption) and daemon-status.c. */

#include "api.h"
#include "daemon.h"
#include "drain.h"
#include "hierarchy.h"
#include "host.h"
#include "inquest.h"
#include "listener.h"
#include "loop.h"
#include "registry.h"
#include "watch.h"
#include "worker.h"

#include <stdint.h>

typedef enum DaemonKeeper {
        DAEMON_KEEPER_NONE, /* not there (yet), or none is needed in this layout */
        DAEMON_KEEPER_UNIT,
        DAEMON_KEEPER_REPLACEMENT,
} DaemonKeeper;

struct Daemon {
        DaemonOptions options;
        Config config;
        Host host;
        AccessGroups groups;
        int lock_fd;
        Loop *loop;
        LoopSource *sigterm, *sigint, *sighup;
        Worker *worker;
        LoopSource *worker_source;
        Inquest *inquest;
        Watch *watch;
        Hierarchy *hierarchy;
        UserTable *users;
        Registry *registry;
        Drain *drain;
        Api *api;
        Listener *listener;
        const char *own_socket; /* to be removed at the end; NULL: systemd's */
        LoopSource *tick, *watchdog;
        uint64_t watchdog_usec;
        uint64_t started_usec; /* monotonic */
        bool store_was_ok, victims_were_ok;
        char corrupt_moved[256]; /* the last one that was logged */

        /* daemon-hierarchy.c */
        LoopSource *hierarchy_timer;
        DaemonKeeper keeper;
        int keeper_wd;
        bool adopted, starting_unit;
        uint64_t not_ready_since_usec, unit_asked_usec; /* 0: is ready; never */
};

int daemon_hierarchy_start(Daemon *daemon);
void daemon_hierarchy_stop(Daemon *daemon);
/* Something about keeper/ may have changed: look, and see to it. */
int daemon_hierarchy_look(Daemon *daemon);
int daemon_hierarchy_need(void *daemon); /* a Create waits */

json_t *daemon_status(void *daemon);
