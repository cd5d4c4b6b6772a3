/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One row of v1_execution: the columns, their order, and their names on the wire.
 *
 * EXECUTION_COLUMNS is the only list of them. The struct, the table, the view, the statements, the
 * Varlink type and the decoder of the client are all expansions of it, so a column cannot be
 * forgotten in one place. cgtask-db(5) says what each one means; a test holds that page against
 * this list.
 *
 *   TEXT     char *, owned by the record, NULL = SQL NULL
 *   JSON     the same, holding one JSON object
 *   INTEGER  int64_t, RECORD_NULL = SQL NULL
 *   FLAG     int64_t, 0, 1 or RECORD_NULL; an INTEGER in SQL, a bool on the wire
 *
 * Bytes and microseconds throughout, as the names say.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_NULL INT64_MIN

/* X(kind, column, member on the wire) */
#define EXECUTION_COLUMNS(X)                                                     \
        X(TEXT, id, "id")                                                        \
        X(TEXT, task, "task")                                                    \
        X(JSON, labels, "labels")                                                \
        X(TEXT, attempt_of, "attemptOf")                                         \
        X(TEXT, owner, "owner")                                                  \
        X(TEXT, boot_id, "bootId")                                               \
        X(INTEGER, cgroup_id, "cgroupId")                                        \
        X(INTEGER, uid, "uid")                                                   \
        X(INTEGER, gid, "gid")                                                   \
        X(TEXT, command, "command")                                              \
        X(TEXT, state, "state")                                                  \
        X(TEXT, result, "result")                                                \
        X(TEXT, exit_kind, "exitKind")                                           \
        X(INTEGER, exit_status, "exitStatus")                                    \
        X(TEXT, oom_cause, "oomCause")                                           \
        X(INTEGER, oom_kills, "oomKills")                                        \
        X(INTEGER, oom_events, "oomEvents")                                      \
        X(INTEGER, oom_group_kills, "oomGroupKills")                             \
        X(INTEGER, max_events, "maxEvents")                                      \
        X(INTEGER, high_events, "highEvents")                                    \
        X(TEXT, capture, "capture")                                              \
        X(TEXT, capture_reason, "captureReason")                                 \
        X(TEXT, coverage, "coverage")                                            \
        X(INTEGER, memory_peak_bytes, "memoryPeakBytes")                         \
        X(FLAG, memory_peak_is_lower_bound, "memoryPeakIsLowerBound")            \
        X(INTEGER, memory_swap_peak_bytes, "memorySwapPeakBytes")                \
        X(INTEGER, memory_current_at_end_bytes, "memoryCurrentAtEndBytes")       \
        X(INTEGER, memory_max_bytes, "memoryMaxBytes")                           \
        X(INTEGER, memory_high_bytes, "memoryHighBytes")                         \
        X(INTEGER, anon_peak_sampled_bytes, "anonPeakSampledBytes")              \
        X(INTEGER, file_peak_sampled_bytes, "filePeakSampledBytes")              \
        X(INTEGER, shmem_peak_sampled_bytes, "shmemPeakSampledBytes")            \
        X(INTEGER, kernel_peak_sampled_bytes, "kernelPeakSampledBytes")          \
        X(INTEGER, working_set_peak_sampled_bytes, "workingSetPeakSampledBytes") \
        X(INTEGER, n_samples, "nSamples")                                        \
        X(INTEGER, first_sample_usec, "firstSampleUsec")                         \
        X(INTEGER, last_sample_usec, "lastSampleUsec")                           \
        X(INTEGER, runner_rss_peak_bytes, "runnerRssPeakBytes")                  \
        X(TEXT, runner_rss_source, "runnerRssSource")                            \
        X(INTEGER, pids_peak, "pidsPeak")                                        \
        X(INTEGER, cpu_user_usec, "cpuUserUsec")                                 \
        X(INTEGER, cpu_system_usec, "cpuSystemUsec")                             \
        X(INTEGER, io_read_bytes, "ioReadBytes")                                 \
        X(INTEGER, io_write_bytes, "ioWriteBytes")                               \
        X(INTEGER, psi_some_usec, "psiSomeUsec")                                 \
        X(INTEGER, psi_full_usec, "psiFullUsec")                                 \
        X(JSON, memory_stat, "memoryStat")                                       \
        X(FLAG, profiled, "profiled")                                            \
        X(INTEGER, created_usec, "createdUsec")                                  \
        X(INTEGER, started_usec, "startedUsec")                                  \
        X(INTEGER, ended_usec, "endedUsec")                                      \
        X(INTEGER, duration_usec, "durationUsec")                                \
        X(INTEGER, ncpu, "ncpu")                                                 \
        X(TEXT, kernel_release, "kernelRelease")                                 \
        X(INTEGER, schema_version, "schemaVersion")

#define RECORD_MEMBER_TEXT(column) char *column;
#define RECORD_MEMBER_JSON(column) char *column;
#define RECORD_MEMBER_INTEGER(column) int64_t column;
#define RECORD_MEMBER_FLAG(column) int64_t column;
#define RECORD_MEMBER(kind, column, member) RECORD_MEMBER_##kind(column)

typedef struct ExecutionRecord {
        EXECUTION_COLUMNS(RECORD_MEMBER)
} ExecutionRecord;

/* Makes every column NULL. */
static inline void execution_record_init(ExecutionRecord *r)
{
        memset(r, 0, sizeof(*r));
#define RECORD_INIT_TEXT(column)
#define RECORD_INIT_JSON(column)
#define RECORD_INIT_INTEGER(column) r->column = RECORD_NULL;
#define RECORD_INIT_FLAG(column) r->column = RECORD_NULL;
#define RECORD_INIT(kind, column, member) RECORD_INIT_##kind(column)
        EXECUTION_COLUMNS(RECORD_INIT)
}

/* Frees the texts; the record may be used again after execution_record_init(). */
static inline void execution_record_deinit(ExecutionRecord *r)
{
#define RECORD_DEINIT_TEXT(column) free(r->column);
#define RECORD_DEINIT_JSON(column) free(r->column);
#define RECORD_DEINIT_INTEGER(column)
#define RECORD_DEINIT_FLAG(column)
#define RECORD_DEINIT(kind, column, member) RECORD_DEINIT_##kind(column)
        EXECUTION_COLUMNS(RECORD_DEINIT)
        execution_record_init(r);
}
