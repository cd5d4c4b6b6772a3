/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Who was killed: the kernel's log records of OOM kills, with the execution that the cgroup's path
 * names. They add names to what the counters have said already; nothing is decided by them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VICTIMS_COMM_MAX 64 /* TASK_COMM_LEN is 16; room for escapes */

/* One row of v1_oom_victim. */
typedef struct Victim {
        char execution_id[33];
        int64_t at_usec; /* realtime, as the log has it */
        pid_t pid;       /* as the kernel saw it; never an identity */
        char comm[VICTIMS_COMM_MAX];
        int64_t anon_rss_bytes; /* RECORD_NULL: the second line was not found */
        char constraint[32];    /* "CONSTRAINT_MEMCG", "CONSTRAINT_NONE", ... */
} Victim;

enum {
        _VICTIMS_E_SUCCESS,
        VICTIMS_E_OTHER,  /* not such a line, or not of exactly one execution */
        VICTIMS_E_NO_LOG, /* neither the journal nor /dev/kmsg has records of the kernel for us */
};

/* fn's result is ignored: it cannot stop the reading, which is bounded anyway. */
typedef void (*VictimsFn)(void *userdata, const Victim *victim);

/* Between the lines of one reading. */
typedef struct VictimsReader {
        VictimsFn fn;
        void *userdata;
        Victim pending; /* its second line has not come yet */
        bool has_pending;
} VictimsReader;

/*
 * "oom-kill:constraint=...,task_memcg=/.../x-<id>/...,task=COMM,pid=N,uid=N": everything but time and
 * RSS. Pure.
 */
int victims_parse_kill(const char *line, Victim *ret_victim);
/* "...Killed process N (COMM) total-vm:NkB, anon-rss:NkB, ...": pid, comm, anonymous bytes. Pure. */
int victims_parse_killed(const char *line, Victim *ret_victim);

/* The lines of a log in their order; end gives the last victim away. */
void victims_feed(VictimsReader *reader, const char *line, int64_t at_usec);
void victims_end(VictimsReader *reader);

/*
 * Reads the kernel's latest records since since_usec (realtime), from the journal, else from
 * /dev/kmsg, and calls fn for each victim of any execution. Blocks for some 10 ms: worker thread
 * only. 0, VICTIMS_E_NO_LOG, <0.
 */
int victims_read(uint64_t since_usec, VictimsFn fn, void *userdata);
