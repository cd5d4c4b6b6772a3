/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Exit status of a helper that was used wrongly or refused something: no test expects it. */
#define HELPER_EXIT_FAULT 99

/* "NAME: WHAT: why", with errno, and exit. */
_Noreturn void helper_fail(const char *what);
_Noreturn void helper_usage(const char *usage);

/* Digits only; else helper_usage(). */
unsigned long helper_number(const char *text, const char *usage);

/* Writes one line whole, at once. */
void helper_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Touches every page of that many MiB of anonymous memory. */
void *helper_touch(size_t n_mib);
void helper_pause(unsigned long msec);

/* Waits until somebody has opened the FIFO for writing and the last one has closed it again. */
void helper_block_on(const char *fifo);
