/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An ExecutionRecord as the Varlink type Execution: columns in camelCase, NULL left out. */

#include "private/execution-record.h"

#include <jansson.h>

/*
 * cgroup_path NULL and RECORD_NULL numbers are left out. The caller owns what is returned; NULL:
 * no memory.
 */
json_t *execution_json_encode(const ExecutionRecord *record, const char *cgroup_path,
                              int64_t memory_peak, int64_t memory_current);
