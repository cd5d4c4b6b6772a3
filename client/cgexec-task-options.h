/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The command line of cgexec-task. */

#include "option.h"
#include "summary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts belong to argv. */
typedef struct Options {
        const char *task;    /* NULL: from the environment or COMMAND */
        const char **labels; /* each "KEY=VALUE"; the array is the owner's */
        size_t n_labels;
        bool from_env;
        const char *attempt_of;
        uint64_t memory_max, memory_high, swap_max, pids_max; /* OPTION_INFINITY: leave alone */
        bool has_oom_group, oom_group;
        char stragglers[OPTION_STRAGGLERS_MAX]; /* "": what the daemon is configured to do */
        uint64_t launch_timeout_usec;           /* 0: none */
        bool require, supervise, wait_drained, quiet;
        SummaryFormat summary;
        const char *summary_path;
        const char *socket_path;
        char **command;
} Options;

typedef enum OptionsResult {
        OPTIONS_RUN,
        OPTIONS_HELP,
        OPTIONS_VERSION,
        OPTIONS_BAD, /* which has been said on stderr */
} OptionsResult;

/* Options end at the first argument that is none. *options is the caller's to deinit in any case. */
OptionsResult options_parse(Options *options, int argc, char *argv[]);
void options_deinit(Options *options);

/* On stdout. <0: it could not be written. */
int options_print_help(void);
int options_print_version(void);
