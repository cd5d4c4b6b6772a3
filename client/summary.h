/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What cgexec-task says at the end about the execution it ran (--summary). */

#include "cgtask.h"

#include <stdbool.h>

typedef enum SummaryFormat {
        SUMMARY_NONE,
        SUMMARY_TEXT,
        SUMMARY_JSON,
} SummaryFormat;

/*
 * One line without its newline, the caller's to free(). execution NULL: there is no record, for
 * reason; accounted tells whether there will be one all the same. -ENOMEM.
 */
int summary_write(SummaryFormat format, const char *task, const cgtask_execution *execution,
                  bool accounted, const char *reason, char **ret_line);
