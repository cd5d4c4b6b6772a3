/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who may do what: decided once per connection, from what the kernel says about the peer. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ACCESS_GROUP_LAUNCH "cgtask"
#define ACCESS_GROUP_READ "cgtask-read"

/* The two groups by number; -1: this host has no such group. */
typedef struct AccessGroups {
        gid_t launch, read;
} AccessGroups;

typedef struct AccessRights {
        bool root;   /* everything */
        bool launch; /* create; see and end the own uid's executions */
        bool read;   /* see all executions */
} AccessRights;

/* Asks the group database; may block, so only at start and at reload. */
void access_lookup_groups(AccessGroups *ret_groups);

/* Pure. groups: primary and supplementary gids of the peer. */
AccessRights access_decide(const AccessGroups *known, uid_t uid, const gid_t *groups, size_t n);

/*
 * One line for a refused peer: which groups there are, or that it only has to log in again since
 * /etc/group names it already. Reads local files only.
 */
void access_explain_refusal(const AccessGroups *known, uid_t uid, char *buffer, size_t n);
