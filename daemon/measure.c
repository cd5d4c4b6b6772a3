/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The final reading of one execution.
 *
 * Order matters little, since the cgroup is empty and its counters stand still, but memory.peak and
 * memory.events come first all the same: should the directory vanish in between, those two are what
 * the product promises. memory.stat is flushed lazily by the kernel and so comes last; it is
 * approximate by up to 64 pages per CPU.
 *
 * No column ever holds another measure than its name says. A file that is not there (swap.peak
 * before 6.5, pressure without PSI) is NULL; no memory.peak at all (before 5.19) is `unsupported`.
 */

#include "measure.h"

#include "cgroup.h"
#include "memstat.h"
#include "private/cleanup.h"
#include "private/error.h"
#include "row.h"

int64_t measure_tolerance(long ncpu, long page_size)
{
        return 64 * (int64_t)page_size * ncpu;
}

/* A file with one number, or "max" which stays NULL. */
static int measure_number(int dir_fd, const char *file, int64_t *value)
{
        char text[64];
        uint64_t n;
        int r;

        r = cgroup_read_into(dir_fd, file, text, sizeof(text));
        if (r == CGROUP_E_GONE)
                return MEASURE_E_GONE;
        if (r < 0)
                return error_fold(r);
        if (r == 0 && memstat_parse_limit(text, &n) == 0 && n <= INT64_MAX)
                *value = (int64_t)n;
        return 0;
}

static int measure_events(int dir_fd, ExecutionRecord *record, VerdictInput *verdict)
{
        _cleanup_free_ char *text = NULL;
        MemstatEvents events;
        int r;

        r = cgroup_read(dir_fd, "memory.events", &text);
        if (r == CGROUP_E_GONE)
                return MEASURE_E_GONE;
        if (r < 0)
                return error_fold(r);
        if (r || memstat_parse_events(text, &events) != 0)
                return 0;
        record->oom_kills = (int64_t)events.oom_kill;
        record->oom_events = (int64_t)events.oom;
        record->max_events = (int64_t)events.max;
        record->high_events = (int64_t)events.high;
        if (events.has_oom_group_kill)
                record->oom_group_kills = (int64_t)events.oom_group_kill;
        verdict->counters_known = true;
        verdict->oom = events.oom;
        verdict->oom_kill = events.oom_kill;
        return 0;
}

static int measure_cpu(int dir_fd, ExecutionRecord *record)
{
        _cleanup_free_ char *text = NULL;
        uint64_t user, system;
        int r;

        r = cgroup_read(dir_fd, "cpu.stat", &text);
        if (r == CGROUP_E_GONE)
                return MEASURE_E_GONE;
        if (r < 0)
                return error_fold(r);
        if (r == 0 && memstat_parse_key(text, "user_usec", &user) == 0 &&
            memstat_parse_key(text, "system_usec", &system) == 0) {
                record->cpu_user_usec = (int64_t)user;
                record->cpu_system_usec = (int64_t)system;
        }
        return 0;
}

static int measure_io(int dir_fd, ExecutionRecord *record)
{
        _cleanup_free_ char *text = NULL;
        MemstatIo io;
        int r;

        r = cgroup_read(dir_fd, "io.stat", &text);
        if (r == CGROUP_E_GONE)
                return MEASURE_E_GONE;
        if (r < 0)
                return error_fold(r);
        if (r == 0 && memstat_parse_io(text, &io) == 0) {
                record->io_read_bytes = (int64_t)io.read_bytes;
                record->io_write_bytes = (int64_t)io.write_bytes;
        }
        return 0;
}

static int measure_pressure(int dir_fd, ExecutionRecord *record)
{
        char text[512];
        MemstatPressure pressure;
        int r;

        r = cgroup_read_into(dir_fd, "memory.pressure", text, sizeof(text));
        if (r == CGROUP_E_GONE)
                return MEASURE_E_GONE;
        if (r < 0)
                return error_fold(r);
        if (r == 0 && memstat_parse_pressure(text, &pressure) == 0) {
                record->psi_some_usec = (int64_t)pressure.some_usec;
                record->psi_full_usec = (int64_t)pressure.full_usec;
        }
        return 0;
}

static int measure_stat(int dir_fd, ExecutionRecord *record)
{
        _cleanup_free_ char *text = NULL;
        int r;

        r = cgroup_read(dir_fd, "memory.stat", &text);
        if (r == CGROUP_E_GONE)
                return MEASURE_E_GONE;
        if (r < 0)
                return error_fold(r);
        if (r == 0) {
                r = memstat_to_json(text, &record->memory_stat);
                if (r < 0)
                        return error_fold(r);
        }
        return 0;
}

/* systemd-oomd leaves a count in this xattr of the cgroup that it killed. */
static bool measure_oomd_killed(int dir_fd)
{
        _cleanup_free_ char *value = NULL;
        uint64_t n;

        return cgroup_get_xattr(dir_fd, "oomd_kill", &value) == 0 &&
               memstat_parse_u64(value, &n) == 0 && n > 0;
}

static int measure_judge_capture(const VerdictInput *verdict, int64_t tolerance,
                                 ExecutionRecord *record)
{
        int r;

        if (record->memory_peak_bytes == RECORD_NULL) {
                r = row_set_text(&record->capture_reason,
                                 "the kernel has no memory.peak (it came with 5.19)");
                return r < 0 ? r : error_fold(row_set_text(&record->capture, "unsupported"));
        }
        record->memory_peak_is_lower_bound =
                verdict->oom_kill > 0 ||
                (record->memory_max_bytes != RECORD_NULL &&
                 record->memory_peak_bytes + tolerance >= record->memory_max_bytes);
        return error_fold(row_set_text(&record->capture, "captured"));
}

int measure_final(int dir_fd, long ncpu, long page_size, ExecutionRecord *record,
                  VerdictInput *verdict)
{
        int r;

        if ((r = measure_number(dir_fd, "memory.peak", &record->memory_peak_bytes)) ||
            (r = measure_events(dir_fd, record, verdict)) ||
            (r = measure_number(dir_fd, "memory.swap.peak", &record->memory_swap_peak_bytes)) ||
            (r = measure_number(dir_fd, "memory.current", &record->memory_current_at_end_bytes)) ||
            (r = measure_number(dir_fd, "memory.max", &record->memory_max_bytes)) ||
            (r = measure_number(dir_fd, "memory.high", &record->memory_high_bytes)) ||
            (r = measure_number(dir_fd, "pids.peak", &record->pids_peak)) ||
            (r = measure_cpu(dir_fd, record)) || (r = measure_io(dir_fd, record)) ||
            (r = measure_pressure(dir_fd, record)) || (r = measure_stat(dir_fd, record)))
                return error_fold(r);
        verdict->oomd_killed = measure_oomd_killed(dir_fd);
        return error_fold(
                measure_judge_capture(verdict, measure_tolerance(ncpu, page_size), record));
}

int measure_live(int dir_fd, int64_t *ret_peak, int64_t *ret_current)
{
        int64_t peak = RECORD_NULL, current = RECORD_NULL;
        int r;

        if ((r = measure_number(dir_fd, "memory.peak", &peak)) ||
            (r = measure_number(dir_fd, "memory.current", &current)))
                return error_fold(r);
        *ret_peak = peak;
        *ret_current = current;
        return 0;
}
