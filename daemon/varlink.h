/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The grammar of Varlink messages (UAPI.20), without any connection: text to call, reply to text,
 * and strict access to parameters.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        _VARLINK_E_SUCCESS,
        VARLINK_E_MALFORMED, /* not a call: the connection has to be closed */
        VARLINK_E_INVALID,   /* a parameter is of the wrong type or out of range */
};

typedef struct VarlinkCall {
        json_t *message;    /* owns everything below */
        const char *method; /* "interface.Method" */
        json_t *parameters; /* an object; NULL if there are none */
        bool oneway, more, upgrade;
} VarlinkCall;

/* n bytes without the NUL that ends the message. 0, VARLINK_E_MALFORMED. */
int varlink_parse_call(const char *text, size_t n, VarlinkCall *ret_call);
void varlink_call_deinit(VarlinkCall *call);

/*
 * One reply without its NUL; error NULL: a success. parameters is borrowed and may be NULL.
 * *ret_text is the caller's to free(). -ENOMEM.
 */
int varlink_format_reply(const char *error, json_t *parameters, bool continues, char **ret_text);

/*
 * Parameters by name: an absent or null one leaves *ret as it is. 0, VARLINK_E_INVALID. Texts are
 * borrowed from the call.
 */
int varlink_get_text(const json_t *parameters, const char *name, const char **ret);
int varlink_get_bool(const json_t *parameters, const char *name, bool *ret);
int varlink_get_integer(const json_t *parameters, const char *name, int64_t min, int64_t max,
                        int64_t *ret);
/* The name of a parameter that is not among the n known ones; NULL: there is none. */
const char *varlink_find_unknown(const json_t *parameters, const char *const *known, size_t n);

/* No byte below 0x20, no DEL, no C1 control. The text is UTF-8 (jansson saw to that). */
bool varlink_text_is_printable(const char *text);
