/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Emptying the host: no new executions, a grace for the live ones, then SIGKILL, then their rows. */

#include "registry.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

typedef struct Drain Drain;

/* Embedded in whatever waits for the end of it. */
typedef struct DrainWaiter DrainWaiter;
struct DrainWaiter {
        void (*fn)(DrainWaiter *waiter, int64_t drained, int64_t killed);
        LIST_ENTRY(DrainWaiter) link;
        bool linked;
};

int drain_new(Loop *loop, Registry *registry, Drain **ret_drain);
Drain *drain_free(Drain *drain); /* waiters are dropped, not told */

/* Starts, or shortens the grace of, a drain. The waiter may be told before this returns. */
int drain_start(Drain *drain, uint64_t grace_usec, DrainWaiter *waiter);
void drain_wait_cancel(DrainWaiter *waiter);
/* An execution was removed: are we there? */
int drain_check(Drain *drain);
/* True from the first drain_start() until the daemon ends. */
bool drain_is_active(const Drain *drain);
