/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One stream connection to the daemon: JSON objects, each followed by a NUL, under one deadline. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_NO_DEADLINE UINT64_MAX

enum {
        _WIRE_E_SUCCESS,
        WIRE_E_TIMEOUT,   /* the deadline has passed */
        WIRE_E_CLOSED,    /* the other end has closed, maybe in the middle of a message */
        WIRE_E_TOO_LONG,  /* a message longer than WIRE_REPLY_MAX */
        WIRE_E_MALFORMED, /* not one JSON object, or a member given twice */
};

typedef struct Wire {
        int fd;
        uint64_t deadline_usec; /* as wire_now(); WIRE_NO_DEADLINE */
        bool unread;            /* WIRE_E_CLOSED came before the last message was read to its end */
        char *buffer;           /* received and not yet handed out */
        size_t n_buffer;
        size_t n_allocated;
} Wire;

#define WIRE_NULL ((Wire){ .fd = -1, .deadline_usec = WIRE_NO_DEADLINE })

/* The clock of deadlines: microseconds of CLOCK_MONOTONIC. */
uint64_t wire_now(void);

/* Closes and forgets what was received; the deadline stays. Accepts what is closed already. */
void wire_close(Wire *wire);

/* 0, WIRE_E_TIMEOUT, or -errno as connect(2). */
int wire_connect(Wire *wire, const char *path);

/* 0, WIRE_E_TIMEOUT, WIRE_E_CLOSED; a peer that has closed may still have left a reply behind. */
int wire_send(Wire *wire, const json_t *message);

/* The next object, the caller's to json_decref(). Any WIRE_E_, <0. */
int wire_receive(Wire *wire, json_t **ret_message);

/* json_decref() as a cleanup function. */
void wire_json_decrefp(json_t **json);
#define _cleanup_json_ _cleanup_(wire_json_decrefp)
