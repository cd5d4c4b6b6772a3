/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Steps that the tests of the store share. */

#include "schema.h"
#include "store-fixture.h"
#include "store.h"

static inline Store *open_store(const char *path)
{
        Store *store;

        assert_int_equal(store_new(path, &store), 0);
        if (store_open(store, NULL) != 0)
                fail_msg("%s", store_error(store));
        return store;
}

/* One row in a transaction of its own; the result of the first step that gave one. */
static inline int put(Store *store, unsigned n, const char *state)
{
        ExecutionRecord record;
        int r;

        fixture_record(&record, n, state);
        r = store_begin(store);
        if (r == 0)
                r = store_put(store, &record);
        if (r == 0)
                r = store_commit(store);
        execution_record_deinit(&record);
        return r;
}

static inline void get(Store *store, unsigned n, ExecutionRecord *ret_record)
{
        char id[33];

        fixture_id(n, id);
        assert_int_equal(store_get(store, id, ret_record), 0);
}

static inline void expect_state(Store *store, unsigned n, const char *state)
{
        ExecutionRecord record;

        get(store, n, &record);
        assert_string_equal(record.state, state);
        execution_record_deinit(&record);
}

static inline void expect_error(Store *store, const char *part)
{
        if (!strstr(store_error(store), part))
                fail_msg("\"%s\" is not in: %s", part, store_error(store));
}

typedef struct Listing {
        char ids[256]; /* last digits, in the order of the listing */
        int stop_at, result;
} Listing;

/* For store_list(). */
static inline int note_row(void *userdata, const ExecutionRecord *record)
{
        Listing *l = userdata;
        size_t n = strlen(l->ids);

        l->ids[n] = record->id[31];
        l->ids[n + 1] = '\0';
        return (int)n + 1 == l->stop_at ? l->result : 0;
}

/* For store_close_vanished(): ids with an even last digit live. */
static inline int is_even(void *userdata, const char *id)
{
        int *n_asked = userdata;

        ++*n_asked;
        return (id[31] - '0') % 2 == 0;
}
