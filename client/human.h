/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Numbers for people, and what people type for numbers: bytes, spans, times, signals. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the text of any function here that writes one. */
#define HUMAN_MAX 64

#define HUMAN_SECOND UINT64_C(1000000)
#define HUMAN_MINUTE (60 * HUMAN_SECOND)
#define HUMAN_HOUR (60 * HUMAN_MINUTE)
#define HUMAN_DAY (24 * HUMAN_HOUR)

/* All of these write to text and return it. */

/* "0B", "1023B", "1.0K", "1.5G": powers of 1024, rounded to the nearest tenth. */
const char *human_bytes(uint64_t bytes, char text[HUMAN_MAX]);
/* The largest units of it, at most so many: "1h 5min", "4min 12s", "7.250s", "12ms", "0". */
const char *human_span(uint64_t usec, unsigned n_units, char text[HUMAN_MAX]);
/* "Thu 2026-01-15 09:30:00 UTC", in the time zone in force. */
const char *human_time(uint64_t usec, char text[HUMAN_MAX]);
/* "SIGKILL", "SIGRTMIN+3"; the number where there is no name. */
const char *human_signal(int signal, char text[HUMAN_MAX]);

/* All of these give false, with the output untouched, for anything that is not of their form. */

/* Digits only, at most 2^64-1. */
bool human_parse_u64(const char *text, uint64_t *ret_value);
/* "10" (seconds), "10s", "500ms", "1h 30min", "2d", "1w". */
bool human_parse_span(const char *text, uint64_t *ret_usec);
/*
 * "now", "today", "yesterday", "YYYY-MM-DD", "YYYY-MM-DD HH:MM[:SS]" (or with T), "HH:MM[:SS]"
 * (today), "@SECONDS", or a span with its unit: that long before now ("2h", "2h ago", "-2h").
 */
bool human_parse_time(const char *text, uint64_t now_usec, uint64_t *ret_usec);
/* "KILL", "SIGKILL", "kill", "9", "RTMIN+3"; 1 to SIGRTMAX. */
bool human_parse_signal(const char *text, int *ret_signal);
