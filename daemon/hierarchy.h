/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Where executions live: which layout this host has, whether it is ready, and why not.
 *
 *   SYSTEMD  <slice>/cgtask-executions.service, beside our own cgtaskd.service; a keeper process in
 *            keeper/ holds it. Not ready until the keeper sits there.
 *   GIVEN    the directory named by ExecutionsRoot=, which must hold no processes.
 *   OWN      our own cgroup (a container, a delegated scope): the daemon moves itself to a leaf.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIERARCHY_EXECUTIONS_UNIT "cgtask-executions.service"
#define HIERARCHY_DAEMON_UNIT "cgtaskd.service"
#define HIERARCHY_KEEPER "keeper"

typedef enum HierarchyLayout {
        HIERARCHY_LAYOUT_SYSTEMD,
        HIERARCHY_LAYOUT_GIVEN,
        HIERARCHY_LAYOUT_OWN,
} HierarchyLayout;

enum {
        _HIERARCHY_E_SUCCESS,
        HIERARCHY_E_IMPOSSIBLE, /* this host cannot do it; hierarchy_reason() has cause and remedy */
        HIERARCHY_E_NOT_READY, /* not yet, or not any more; hierarchy_reason() says what is missing */
};

typedef struct Hierarchy Hierarchy;

/*
 * Finds the v2 mount and decides about the layout; changes nothing. executions_root is "auto" or an
 * absolute path. Also hands out the object when it says IMPOSSIBLE, for its reason.
 */
int hierarchy_new(const char *executions_root, Hierarchy **ret_hierarchy);
Hierarchy *hierarchy_free(Hierarchy *hierarchy);

/*
 * Opens the executions' parent and, in the layouts without keeper, prepares it. Cheap when it is
 * ready already. 0, HIERARCHY_E_NOT_READY, HIERARCHY_E_IMPOSSIBLE, <0.
 */
int hierarchy_make_ready(Hierarchy *hierarchy, uint64_t max_executions);
/* What was there has vanished: look again next time. */
void hierarchy_invalidate(Hierarchy *hierarchy);
bool hierarchy_is_ready(const Hierarchy *hierarchy);

HierarchyLayout hierarchy_layout(const Hierarchy *hierarchy);
const char *hierarchy_layout_name(HierarchyLayout layout);
/* The open parent directory; -1 unless ready. Borrowed. */
int hierarchy_root_fd(const Hierarchy *hierarchy);
/* Absolute path of the parent; NULL if impossible. Borrowed. */
const char *hierarchy_root_path(const Hierarchy *hierarchy);
/* Where cgroup2 is mounted. Borrowed. */
const char *hierarchy_mount_point(const Hierarchy *hierarchy);
/* The parent as /proc/PID/cgroup has it: below the mount. Borrowed; NULL if impossible. */
const char *hierarchy_cgroup_path(const Hierarchy *hierarchy);
const char *hierarchy_reason(const Hierarchy *hierarchy);   /* one line, never NULL */
bool hierarchy_has_memory_peak(const Hierarchy *hierarchy); /* kernel 5.19; known once ready */
bool hierarchy_has_pids(const Hierarchy *hierarchy);

/*
 * Sum of `oom` in memory.events.local over all ancestors of the executions: where a limit above
 * them is hit, the kernel counts it there (K11). False if none could be read.
 */
bool hierarchy_read_ancestor_ooms(const Hierarchy *hierarchy, uint64_t *ret_ooms);
