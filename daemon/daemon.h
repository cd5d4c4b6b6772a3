/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The root object: owns everything else, starts it in order, ends it in reverse. */

#include "config.h"

#include <stdbool.h>

typedef struct Daemon Daemon;

typedef struct DaemonOptions {
        const char *config_file;     /* --config=, or NULL */
        const char *executions_root; /* --executions-root=, or NULL: as configured */
        const char *database_path;   /* --database=, or NULL: as configured */
        const char *socket_path; /* --socket=, or NULL: inherited from systemd, else the default */
} DaemonOptions;

/*
 * Loads the configuration with the options over it. complain as config_load(). 0, -EINVAL (all
 * complaints have been made), <0.
 */
int daemon_load_config(const DaemonOptions *options, ConfigComplainFn complain, void *userdata,
                       Config *ret_config);

/* What made it useless has been logged in one line, with its remedy. No call here fails like that. */
#define DAEMON_ETOLD ECANCELED

/* Takes over config. Everything that would make it useless is found here: -DAEMON_ETOLD. */
int daemon_new(const DaemonOptions *options, Config *config, Daemon **ret_daemon);
Daemon *daemon_free(Daemon *daemon);

/* Serves until SIGTERM or SIGINT (0) or a fault (<0, logged). */
int daemon_run(Daemon *daemon);
