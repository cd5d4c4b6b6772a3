/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where executions are looked up: the database, the daemon, or both together. */

#include "ctl.h"
#include "history.h"
#include "record.h"

#include "cgtask.h"

enum {
        _SOURCES_E_SUCCESS,
        SOURCES_E_FAILED, /* a line is on stderr */
};

typedef struct Sources {
        History *history;      /* NULL: not readable for this caller */
        cgtask_client *client; /* NULL: no daemon, or not to be asked */
        bool asked;            /* the daemon was to be asked */
} Sources;

#define SOURCES_INIT              \
        {                         \
                NULL, NULL, false \
        }

/*
 * Opens what this caller may use. A database named on the command line is read alone: it may be of
 * another host, and what runs here is none of its business. SOURCES_E_FAILED if there is nothing,
 * or if the database is there but cannot be understood.
 */
int sources_open(const Ctl *ctl, Sources *ret_sources);
/* Only the daemon: for what cannot be done without it. SOURCES_E_FAILED, -ENOMEM. */
int sources_open_daemon(const Ctl *ctl, Sources *ret_sources);
void sources_close(Sources *sources);

/* What matches, newest first, with the peaks so far of what runs. SOURCES_E_FAILED, -ENOMEM. */
int sources_list(const Sources *sources, const RecordFilter *filter, RecordList *ret_list);

/*
 * The one execution that text names (record_parse_id()); running_only: among those that run.
 * SOURCES_E_FAILED: none, or several, which are listed on stderr.
 */
int sources_find(const Sources *sources, const char *text, bool running_only,
                 ExecutionRecord *ret_record);

static inline void sources_closep(Sources *sources)
{
        sources_close(sources);
}
