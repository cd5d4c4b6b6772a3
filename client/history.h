/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The recorded executions, read from the database without the daemon.
 *
 * No call keeps a transaction open when it returns: whoever dawdles over a listing does not keep
 * the daemon from tidying its WAL.
 */

#include "record.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct History History;

enum {
        _HISTORY_E_SUCCESS,
        HISTORY_E_ABSENT,     /* there is no such file */
        HISTORY_E_DENIED,     /* the caller may not read it */
        HISTORY_E_FOREIGN,    /* not a database of cgtask */
        HISTORY_E_NEWER,      /* written by a newer cgtask */
        HISTORY_E_UNREADABLE, /* locked, damaged, I/O error */
};

/* The newest form of the database that is understood here; see cgtask-db(5). */
#define HISTORY_SCHEMA_VERSION 1
#define HISTORY_APPLICATION_ID 0x63677431 /* "cgt1" */

/* A handle without a connection. path is copied. -ENOMEM. */
int history_new(const char *path, History **ret_history);
History *history_free(History *history);

/* Opens for reading only, and looks whether it is ours. 0, HISTORY_E_*, -ENOMEM. */
int history_open(History *history);

/* Adds what matches to the list, newest first. 0, HISTORY_E_UNREADABLE, -ENOMEM. */
int history_list(History *history, const RecordFilter *filter, RecordList *list);

/* An OOM victim as the kernel's log has it; NULL columns are RECORD_NULL and "". */
typedef struct HistoryVictim {
        int64_t at_usec, pid, anon_rss_bytes;
        const char *comm, *constraint; /* until fn returns */
} HistoryVictim;

/*
 * Calls fn for each victim of an execution, in their order; a result <0 ends it and comes back. 0,
 * HISTORY_E_UNREADABLE, -ENOMEM.
 */
int history_list_victims(History *history, const char *execution_id,
                         int (*fn)(void *userdata, const HistoryVictim *victim), void *userdata);

/* How many executions are recorded. 0, HISTORY_E_UNREADABLE. */
int history_count(History *history, int64_t *ret_n);

/* One line about the last outcome above 0 that names the file and the remedy; never NULL. */
const char *history_error(const History *history);

static inline void history_freep(History **history)
{
        (void)history_free(*history);
}
