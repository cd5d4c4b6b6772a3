/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Telling the daemon how a task ended, with patience for a daemon that is being restarted. */

#include "cgtask.h"

#define FINISH_PATIENCE_USEC (10 * UINT64_C(1000000)) /* how long the daemon may be away */

enum {
        _FINISH_E_SUCCESS,
        FINISH_E_FAILED, /* the daemon stayed away, or refused */
};

typedef struct FinishReport {
        const char *id;
        int status; /* as waitpid(2) */
        int64_t max_rss_bytes;
        bool wait_drained; /* wait without end for the last process of the execution */
} FinishReport;

/*
 * client is the one that made the execution, still connected if all is well. 0, or FINISH_E_FAILED
 * with cgtask_client_error() saying why.
 */
int finish_send(cgtask_client *client, const FinishReport *report,
                cgtask_execution **ret_execution);
