/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Inside libcgtask: the handle, one call, and the outcomes that only callers inside tell apart. */

#include "cgtask.h"
#include "wire.h"

#include "private/cleanup.h"

/* On the definition of each function of cgtask.h: everything else stays inside the library. */
#define _public_ __attribute__((visibility("default")))

#define CLIENT_ERROR_MAX 1024

struct cgtask_client {
        char *path;
        Wire wire;
        char error[CLIENT_ERROR_MAX]; /* "" before any failure; one line, nothing hidden in it */
        char *error_name;             /* of an error that the daemon answered, else NULL */
};

struct cgtask_execution {
        json_t *object;
};

void client_freep(cgtask_client **client);
#define _cleanup_client_ _cleanup_(client_freep)
void client_execution_freep(cgtask_execution **execution);
#define _cleanup_execution_ _cleanup_(client_execution_freep)

/* Sets the text of the failure r and gives r back. */
int client_fail(cgtask_client *client, int r, const char *format, ...) _printf_(3, 4);

/* Sends a call of io.cgtask.Executions. parameters NULL: none. Connects if not connected. */
int client_send(cgtask_client *client, const char *method, const json_t *parameters, bool more);

/*
 * The next reply. *ret_parameters is the caller's; an empty object if there were none. An error in
 * it becomes -EREMOTEIO. *ret_continues may be NULL where no more than one reply was asked for.
 */
int client_receive(cgtask_client *client, json_t **ret_parameters, bool *ret_continues);

/* Both. ret_parameters may be NULL. */
int client_call(cgtask_client *client, const char *method, const json_t *parameters,
                json_t **ret_parameters);

/* The answer lacks member, or has it in another form: closes the connection, gives -EPROTO. */
int client_malformed(cgtask_client *client, const char *member);

/* Wraps the object `execution` of a reply. -EPROTO if it has none. */
int client_take_execution(cgtask_client *client, const json_t *parameters,
                          cgtask_execution **ret_execution);

/* Wraps object, which stays the caller's. -ENOMEM. */
int client_execution_new(json_t *object, cgtask_execution **ret_execution);
