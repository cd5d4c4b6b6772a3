/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The one place where the kernel's files become columns: everything that is read at MEASURED. */

#include "private/execution-record.h"
#include "verdict.h"

#include <stdint.h>

enum {
        _MEASURE_E_SUCCESS,
        MEASURE_E_GONE, /* the directory vanished before its counters could be read */
};

/*
 * Reads all counters of the open cgroup directory dir_fd into the columns of record that describe
 * the workload, and those that decide about the cause into verdict (its ancestor_* and exit* are
 * the caller's). memory.peak and the event counters come first, memory.stat last. A file that
 * cannot be read leaves its columns NULL; what that means for the capture is told by
 * record->capture and record->capture_reason. page_size in bytes. 0, MEASURE_E_GONE, <0.
 */
int measure_final(int dir_fd, long ncpu, long page_size, ExecutionRecord *record,
                  VerdictInput *verdict);

/* memory.peak and memory.current now, RECORD_NULL where they cannot be read. 0, MEASURE_E_GONE. */
int measure_live(int dir_fd, int64_t *ret_peak, int64_t *ret_current);

/*
 * memory.peak is charged in batches of 64 pages per CPU (MEMCG_CHARGE_BATCH, mm/memcontrol.c): the
 * bytes by which it may differ from what was touched, and within which it counts as "at the limit".
 */
int64_t measure_tolerance(long ncpu, long page_size);
