/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the arguments of command line options may be. Each gives false and leaves its output alone
 * for anything that is not of its form. Spans and plain numbers are in human.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTION_INFINITY UINT64_MAX
#define OPTION_STRAGGLERS_MAX 32

/* "512M": digits with an optional K, M, G or T (1024), at most 2^63-1; "infinity" -> no limit. */
bool option_parse_size(const char *text, uint64_t *ret_bytes);
/* "100", "infinity"; at least 1. */
bool option_parse_count(const char *text, uint64_t *ret_n);
/* "yes", "no", and what systemd takes for them: true, on, 1; false, off, 0. */
bool option_parse_bool(const char *text, bool *ret_value);
/* "wait", "kill" or a span, which comes back in microseconds: "10s" -> "10000000usec". */
bool option_parse_stragglers(const char *text, char ret_policy[OPTION_STRAGGLERS_MAX]);
/* 32 hex digits. */
bool option_is_id(const char *text);
/* "KEY=VALUE": *ret_key_length bytes of key, at least one; the value begins behind the '='. */
bool option_parse_label(const char *text, size_t *ret_key_length);
