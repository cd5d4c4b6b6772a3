/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The two clocks: one to store and show, one to measure with. Microseconds. */

#include <stdint.h>
#include <time.h>

#define USEC_PER_SEC UINT64_C(1000000)
#define USEC_PER_MSEC UINT64_C(1000)

static inline uint64_t clock_usec(clockid_t clock)
{
        struct timespec t;

        (void)clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / 1000;
}

static inline uint64_t clock_realtime_usec(void)
{
        return clock_usec(CLOCK_REALTIME);
}

static inline uint64_t clock_monotonic_usec(void)
{
        return clock_usec(CLOCK_MONOTONIC);
}
