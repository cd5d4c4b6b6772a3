/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the daemon knows of an execution that the kernel does not: kept as one JSON object in the
 * xattr user.cgtask of the execution's cgroup, so that it lives exactly as long as the counters and
 * the next daemon finds both together.
 */

#include "verdict.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define METADATA_XATTR "cgtask"

typedef struct Metadata {
        char *task;       /* may be NULL */
        char *labels;     /* JSON object as text, or NULL */
        char *attempt_of; /* or NULL */
        char *command;    /* or NULL */
        uid_t uid;
        gid_t gid;
        uint64_t stragglers_usec; /* CONFIG_INFINITY = wait, 0 = kill, else kill after that */

        uint64_t created_usec, created_monotonic_usec;
        uint64_t started_usec, started_monotonic_usec; /* 0: no runner yet */

        /* the runner and, if somebody will tell its end by Finish, that somebody */
        pid_t runner_pid, supervisor_pid; /* 0: none */
        uint64_t runner_start,
                supervisor_start; /* clock ticks since boot: with the pid, an identity */
        char *origin; /* cgroup that an attached caller came from, for Release; or NULL */

        bool partial;         /* not in its cgroup from its first instruction on, or left it */
        char *partial_reason; /* or NULL */

        bool has_ancestor_ooms; /* sum of the ancestors' local oom counters at creation */
        uint64_t ancestor_ooms;

        VerdictExit exit; /* as told by Finish or by the kernel */
        int exit_status;
        int64_t runner_max_rss_bytes; /* -1: not known */
} Metadata;

#define METADATA_NULL ((Metadata){ .runner_max_rss_bytes = -1, .stragglers_usec = UINT64_MAX })

void metadata_deinit(Metadata *metadata);

/* One line of JSON, the caller's to free(). 0, -ENOMEM. */
int metadata_encode(const Metadata *metadata, char **ret_text);

enum {
        _METADATA_E_SUCCESS,
        METADATA_E_INVALID, /* not what metadata_encode() writes */
};
/* Into an uninitialised struct. 0, METADATA_E_INVALID, -ENOMEM. */
int metadata_decode(const char *text, Metadata *ret_metadata);
