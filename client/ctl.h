/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the verbs of cgtaskctl share: options in force, exit statuses, error lines. */

#include "table.h"

#include "private/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

#define CTL_NAME "cgtaskctl"

/* Exit statuses, as cgtaskctl(1) has them. */
enum {
        CTL_EXIT_OK = 0,
        CTL_EXIT_FAILED = 1,      /* also: something is wrong with what was asked about */
        CTL_EXIT_USAGE = 2,       /* the command line */
        CTL_EXIT_NOT_RUNNING = 3, /* status: there is no daemon */
};

/* Texts are borrowed from the command line; NULL: not given. */
typedef struct Ctl {
        /* where things are */
        const char *socket;
        const char *database;
        const char *executions_root;
        const char *root; /* doctor: a folder that stands for / */
        /* what to choose */
        const char *task;
        const char *state;
        int64_t uid;        /* -1: all */
        int64_t since_usec; /* -1: all */
        int64_t n_lines;    /* -1: all */
        /* what to do */
        int signal;
        uint64_t grace_usec;
        /* how to show it */
        TableStyle style;
        bool bytes;
} Ctl;

/*
 * The verbs. argv has what stood behind the verb. Each returns the exit status, or <0 for a fault
 * that has no line on stderr yet.
 */
int ctl_list(const Ctl *ctl, int argc, char *argv[]);
int ctl_show(const Ctl *ctl, int argc, char *argv[]);
int ctl_kill(const Ctl *ctl, int argc, char *argv[]);
int ctl_status(const Ctl *ctl, int argc, char *argv[]);
int ctl_doctor(const Ctl *ctl, int argc, char *argv[]);
int ctl_drain(const Ctl *ctl, int argc, char *argv[]);

/* "cgtaskctl: ..." on stderr, one line whatever is in it; gives back CTL_EXIT_FAILED. */
int ctl_error(const char *format, ...) _printf_(1, 2);
/* The same without making it a failure. */
void ctl_note(const char *format, ...) _printf_(1, 2);

/* Formatted, then escaped (display.h). *ret_text is the caller's to free(). -ENOMEM. */
int ctl_format(char **ret_text, const char *format, ...) _printf_(2, 3);

/* How asking the daemon for its status went. */
enum {
        _CTL_STATUS_SUCCESS,
        CTL_STATUS_NOT_RUNNING,
        CTL_STATUS_DENIED, /* it does not talk to this caller */
        CTL_STATUS_FAILED,
};

/*
 * What the daemon says of itself. 0, or CTL_STATUS_ with the reason, which is the caller's to
 * free(). -ENOMEM, -ENAMETOOLONG.
 */
int ctl_status_get(const Ctl *ctl, json_t **ret_status, char **ret_reason);
/* Is there nothing in it that somebody should look after? */
bool ctl_status_is_healthy(const json_t *status);

/* For people: IEC, or digits with --bytes. Returns text. */
const char *ctl_bytes(const Ctl *ctl, int64_t bytes, char *text);
