/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Inside libcgtask: what Create is asked for, and the JSON object that says it. */

#include "cgtask.h"

#include <jansson.h>

/* Bytes of JSON that the command may take; what does not fit is cut and marked with "...". */
#define REQUEST_COMMAND_MAX 8192

/* The parameters of Create, the caller's to json_decref(). -ENOMEM. */
int request_to_json(const cgtask_request *request, json_t **ret_parameters);

void request_freep(cgtask_request **request);
#define _cleanup_request_ _cleanup_(request_freep)
