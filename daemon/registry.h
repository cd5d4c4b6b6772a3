/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* All executions that have a cgroup: by id, by state, by user. */

#include "execution.h"
#include "user.h"

#include <stddef.h>

typedef struct Registry Registry;

enum {
        _REGISTRY_E_SUCCESS,
        REGISTRY_E_QUOTA =
                100, /* apart from EXECUTION_E_*, which registry_create() hands through */
};

typedef struct RegistryQuota {
        const char *name; /* the configuration key that was met */
        uint64_t limit;
} RegistryQuota;

/* Fields of context except changed and userdata are the caller's to fill; it is copied. */
int registry_new(const ExecutionContext *context, UserTable *users, Registry **ret_registry);
/* The worker must have been freed before: no job may be under way. */
Registry *registry_free(Registry *registry);

/*
 * Makes an execution for metadata->uid. metadata is taken over. REGISTRY_E_QUOTA with *ret_quota;
 * else as execution_create().
 */
int registry_create(Registry *registry, Metadata *metadata, const ExecutionLimits *limits,
                    Execution **ret_execution, RegistryQuota *ret_quota, int *ret_errno);

/* Finds what an earlier daemon left below the parent. Names of other forms are not looked at. */
int registry_adopt(Registry *registry, size_t *ret_n);

Execution *registry_find(const Registry *registry, const char *id); /* NULL: none */
/* Calls fn for each; fn must not remove others than its own. Ends early with what fn returns. */
int registry_for_each(Registry *registry, int (*fn)(void *userdata, Execution *execution),
                      void *userdata);

/* inotify lost events: look at all of them. */
int registry_look_at_all(Registry *registry);

size_t registry_count(const Registry *registry);      /* with a cgroup, whatever their state */
size_t registry_count_live(const Registry *registry); /* CREATED or RUNNING */
size_t registry_count_state(const Registry *registry, ExecutionState state);
/*
 * Calls fn after each change of state, and once for an execution that is new (is_new): REMOVED is the
 * last call for it. One listener.
 */
void registry_on_change(Registry *registry,
                        void (*fn)(void *userdata, Execution *execution, bool is_new),
                        void *userdata);
