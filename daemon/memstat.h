/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Pure parsers of the kernel's cgroup v2 files: text in, numbers out. No I/O, no state. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMSTAT_MAX UINT64_MAX /* "max" in a limit file */

enum {
        _MEMSTAT_E_SUCCESS,
        MEMSTAT_E_MALFORMED, /* not the form that the kernel writes */
        MEMSTAT_E_MISSING,   /* the key is not there */
};

/* memory.events and memory.events.local; a key that a kernel does not have stays 0, has_x tells. */
typedef struct MemstatEvents {
        uint64_t high, max, oom, oom_kill, oom_group_kill;
        bool has_oom_group_kill; /* since 5.17 */
} MemstatEvents;

typedef struct MemstatPressure {
        uint64_t some_usec, full_usec; /* total= of the two lines */
} MemstatPressure;

typedef struct MemstatIo {
        uint64_t read_bytes, write_bytes; /* summed over devices */
} MemstatIo;

/*
 * Strict decimal: digits only, one optional newline at the end, at most 2^64-1.
 * Also "max" -> MEMSTAT_MAX for the _limit form. 0 or MEMSTAT_E_MALFORMED.
 */
int memstat_parse_u64(const char *text, uint64_t *ret_value);
int memstat_parse_limit(const char *text, uint64_t *ret_value);

/* Value of one key of a flat-keyed file ("key value\n" lines). 0, MEMSTAT_E_MISSING, _MALFORMED. */
int memstat_parse_key(const char *text, const char *key, uint64_t *ret_value);

/* All four: 0, MEMSTAT_E_MISSING (a key that every kernel has is not there), _MALFORMED. */
int memstat_parse_events(const char *text, MemstatEvents *ret_events);
int memstat_parse_populated(const char *text, bool *ret_populated); /* cgroup.events */
int memstat_parse_pressure(const char *text, MemstatPressure *ret_pressure);
int memstat_parse_io(const char *text, MemstatIo *ret_io); /* "" is all zero */

/*
 * memory.stat (or any flat-keyed file) as one JSON object of integers, unknown keys kept, in the
 * file's order. *ret_json is the caller's to free(). 0, MEMSTAT_E_MALFORMED, -ENOMEM.
 */
int memstat_to_json(const char *text, char **ret_json);
