/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The rows. One SQLite connection, used by one thread (the worker); WAL, synchronous=FULL, so a
 * committed row survives a power cut. Nothing here waits for locks: a busy database is an outcome.
 */

#include "private/execution-record.h"
#include "victims.h"

#include <stddef.h>
#include <stdint.h>

typedef struct Store Store;

enum {
        _STORE_E_SUCCESS,
        STORE_E_UNAVAILABLE, /* full, locked, unreadable, I/O error: try again later; see store_error() */
        STORE_E_NEWER,       /* the database was written by a newer cgtask */
        STORE_E_NOT_FOUND,
        STORE_E_STOPPED, /* a callback asked to stop */
};

/* What store_list() looks for: NULL and -1 match everything. */
typedef struct StoreFilter {
        const char *task;
        const char *state;
        int64_t uid;
        int64_t limit; /* newest first; -1 = all */
} StoreFilter;

/*
 * A handle without a connection: nothing is opened yet. path is copied. -ENOMEM.
 */
int store_new(const char *path, Store **ret_store);
Store *store_free(Store *store);

/*
 * Opens (or opens again after a failure), creates and migrates; costs nothing if what is open is
 * good. The mode is 0640, the group that of the setgid directory; the WAL is kept at close so that
 * readers of the group work after the daemon has stopped. A damaged database of ours is renamed to
 * NAME.corrupt-<unix time> with its -wal and -shm and a new one is begun; *ret_corrupt_moved (caller
 * frees; may be NULL) is then the new name, else NULL. A file that is not ours is left alone:
 * STORE_E_UNAVAILABLE. 0, STORE_E_UNAVAILABLE, STORE_E_NEWER, <0.
 */
int store_open(Store *store, char **ret_corrupt_moved);

/*
 * One transaction: begin, any number of puts, commit. A put inserts the row or replaces every column
 * of the row with the same id (an execution has exactly one row); a row goes from `running` to
 * `lost` to `finished`, and a put that would take it back is ignored. A NULL schema_version becomes
 * the one in force. After anything but 0 the transaction is rolled back and none of its rows counts;
 * <0 from a put is a row that can never be stored. begin and commit notice a file that was replaced
 * or removed under us: STORE_E_UNAVAILABLE, and the next store_open() takes the one that is there.
 */
int store_begin(Store *store);
int store_put(Store *store, const ExecutionRecord *record);
int store_commit(Store *store);
void store_rollback(Store *store);

/*
 * Rows still `running`:  of another boot become `lost` (capture `lost`, reason given, the last
 * checkpoint stays as memory_peak_bytes with memory_peak_is_lower_bound=1). In its own transaction.
 * *ret_n: how many.
 */
int store_close_other_boots(Store *store, const char *boot_id, const char *reason, int64_t *ret_n);

/*
 * The same for rows of this boot that are `running` though their cgroup is gone: is_live(id) says
 * with anything but 0 which ones are not to be touched.
 */
int store_close_vanished(Store *store, const char *boot_id,
                         int (*is_live)(void *userdata, const char *id), void *userdata,
                         const char *reason, int64_t *ret_n);

/*
 * The victims of one execution, in a transaction of its own: they take the place of those that an
 * earlier, shorter reading of the kernel's log found.
 */
int store_put_victims(Store *store, const char *execution_id, const Victim *victims, size_t n);

/*
 * Reads. The record given to fn is the callee's to read, not to keep. fn returns 0 to go on; >0 ends
 * the listing with STORE_E_STOPPED, <0 with that fault. Newest first.
 */
int store_get(Store *store, const char *id, ExecutionRecord *ret_record); /* caller deinits */
int store_list(Store *store, const StoreFilter *filter,
               int (*fn)(void *userdata, const ExecutionRecord *record), void *userdata);

/*
 * Upkeep for idle moments. Neither waits: with a reader or writer in the way they do nothing and
 * return STORE_E_UNAVAILABLE. checkpoint empties the WAL; optimize refreshes the planner's figures.
 */
int store_checkpoint(Store *store);
int store_optimize(Store *store);

/* One line about the last failure that names the file and the remedy; never NULL. */
const char *store_error(const Store *store);

/* Size of the WAL in bytes, -1 if not known. */
int64_t store_wal_bytes(const Store *store);

static inline void store_freep(Store **store)
{
        (void)store_free(*store);
}
