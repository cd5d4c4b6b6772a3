/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who an execution is, from the variables that executors set for their jobs (--from-env). */

#include <stddef.h>

#define ENVIRONMENT_LABELS_MAX 8

enum {
        _ENVIRONMENT_E_SUCCESS,
        ENVIRONMENT_E_NONE, /* no executor that is known */
};

/* Keys belong to the table, values to the environment; task is the owner's. */
typedef struct EnvironmentIdentity {
        const char *executor; /* "airflow", ... */
        char *task;           /* parts joined by "/"; NULL if none is set */
        size_t n_labels;
        struct {
                const char *key;
                const char *value;
        } labels[ENVIRONMENT_LABELS_MAX];
} EnvironmentIdentity;

/* Variables that are empty, not UTF-8 or hold control characters count as not set. -ENOMEM. */
int environment_identify(char *const environment[], EnvironmentIdentity *ret_identity);

void environment_identity_deinit(EnvironmentIdentity *identity);
