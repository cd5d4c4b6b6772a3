/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Finds the names of those whom the kernel killed: after an execution with OOM kills has been stored,
 * its victims are read from the kernel's log and stored beside it. Nothing waits for that.
 */

#include "loop.h"
#include "worker.h"

#include <stdint.h>

typedef struct Inquest Inquest;

int inquest_new(Loop *loop, Worker *worker, Inquest **ret_inquest);
/* What still waits is tried once more, at once: to be called before the worker is freed. */
void inquest_stop(Inquest *inquest);
Inquest *inquest_free(Inquest *inquest); /* after the worker */

/*
 * The row of execution_id, with n_kills counted, is stored; since_usec (realtime): nothing in the
 * log is about it before. -ENOMEM.
 */
int inquest_open(Inquest *inquest, const char *execution_id, uint64_t since_usec, int64_t n_kills);

/* Why the latest victims have no name; NULL: they have. Borrowed, until the next turn of the loop. */
const char *inquest_complaint(const Inquest *inquest);
