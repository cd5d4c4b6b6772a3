/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * cgtaskd.conf: one table of keys with their defaults, read from
 * /usr/lib/cgtask, /run/cgtask, /etc/cgtask (cgtaskd.conf: the highest one only) and then all
 * cgtaskd.conf.d/ drop-ins in the order of their names (a name in a higher folder replaces the same
 * name in a lower one; a link to /dev/null masks it).
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CONFIG_INFINITY UINT64_MAX

typedef struct Config {
        /* [Daemon] */
        char *database_path;
        char *executions_root; /* "auto" or an absolute path */
        uint64_t checkpoint_usec;
        uint64_t recheck_usec;
        char *stragglers; /* "wait", "kill" or a time span */
        bool store_arguments;
        bool allow_containers;
        /* [Limits] */
        uint64_t max_connections;
        uint64_t max_connections_per_user;
        uint64_t max_executions;
        uint64_t max_executions_per_user;
        uint64_t max_creates_per_second_per_user;
        uint64_t max_message_bytes;
        uint64_t max_pending_output_bytes;
        uint64_t max_task_bytes;
        uint64_t max_labels;
        uint64_t max_label_bytes;
        uint64_t memory_max_ceiling; /* bytes or CONFIG_INFINITY */
        /* [Retention] */
        uint64_t keep_for_usec;
        uint64_t max_database_bytes;
        /* [Sampling] */
        uint64_t sampling_interval_usec;
        uint64_t sampling_max_interval_usec;
} Config;

/* What to do with one complaint: file and line it came from (line 0: the file as a whole). */
typedef void (*ConfigComplainFn)(void *userdata, const char *file, unsigned line, const char *text);

/* Defaults. -ENOMEM. config_deinit() accepts a zeroed struct. */
int config_init(Config *config);
void config_deinit(Config *config);

/*
 * Defaults, then the files. root is put before the three folders ("" in real life, a temporary
 * folder in tests). file, if not NULL, is read instead of all of them. An unknown key or section is
 * a complaint and ignored; a value that does not parse is a complaint and a fault: -EINVAL with
 * *ret_config untouched. A missing `file` is -ENOENT with a complaint.
 */
int config_load(const char *root, const char *file, ConfigComplainFn complain, void *userdata,
                Config *ret_config);

/* Every key with its value in force, in the form of the file, values in the units that parse back. */
void config_dump(const Config *config, FILE *f);

/* "10", "10s", "5min", "1h 30min", "90d", "infinity" -> microseconds (a bare number: seconds). */
bool config_parse_span(const char *text, uint64_t *ret_usec);
/* "64K", "1.5G"?  no fractions: digits with an optional K, M, G or T (1024), or "infinity". */
bool config_parse_size(const char *text, uint64_t *ret_bytes);
/* Stragglers policy: "wait" -> CONFIG_INFINITY, "kill" -> 0, a span -> itself. */
bool config_parse_stragglers(const char *text, uint64_t *ret_usec);
