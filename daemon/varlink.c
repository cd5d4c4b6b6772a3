/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Varlink messages.
 *
 * A message that is not a call (no JSON object, an unknown header member, a flag that is no boolean)
 * says that the other end does not speak the protocol: no answer, the connection is closed. What is
 * wrong inside of a well-formed call is answered with InvalidParameter.
 */

#include "varlink.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <string.h>

static bool varlink_take_flag(const json_t *value, bool *flag)
{
        if (!json_is_boolean(value))
                return false;
        *flag = json_is_true(value);
        return true;
}

static bool varlink_take_header(VarlinkCall *call)
{
        const char *key;
        json_t *value;

        json_object_foreach(call->message, key, value) {
                if (strcmp(key, "method") == 0)
                        call->method = json_string_value(value);
                else if (strcmp(key, "parameters") == 0 && json_is_object(value))
                        call->parameters = value;
                else if (strcmp(key, "parameters") == 0 && json_is_null(value))
                        call->parameters = NULL;
                else if (strcmp(key, "oneway") == 0 && varlink_take_flag(value, &call->oneway))
                        continue;
                else if (strcmp(key, "more") == 0 && varlink_take_flag(value, &call->more))
                        continue;
                else if (strcmp(key, "upgrade") == 0 && varlink_take_flag(value, &call->upgrade))
                        continue;
                else
                        return false;
        }
        return call->method && call->oneway + call->more + call->upgrade <= 1;
}

int varlink_parse_call(const char *text, size_t n, VarlinkCall *ret_call)
{
        VarlinkCall call = { 0 };

        call.message = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(call.message) || !varlink_take_header(&call)) {
                json_decref(call.message);
                return VARLINK_E_MALFORMED;
        }
        *ret_call = call;
        return 0;
}

void varlink_call_deinit(VarlinkCall *call)
{
        json_decref(call->message);
        *call = (VarlinkCall){ 0 };
}

int varlink_format_reply(const char *error, json_t *parameters, bool continues, char **ret_text)
{
        json_t *reply = json_object();
        char *text = NULL;
        int failed = !reply;

        if (!failed && error)
                failed |= json_object_set_new(reply, "error", json_string(error));
        if (!failed && parameters)
                failed |= json_object_set(reply, "parameters", parameters);
        else if (!failed)
                failed |= json_object_set_new(reply, "parameters", json_object());
        if (!failed && continues)
                failed |= json_object_set_new(reply, "continues", json_true());
        if (!failed)
                text = json_dumps(reply, JSON_COMPACT);
        json_decref(reply);
        if (!text)
                return error_origin(-ENOMEM);
        *ret_text = text;
        return 0;
}

static const json_t *varlink_get(const json_t *parameters, const char *name)
{
        const json_t *value = json_object_get(parameters, name);

        return json_is_null(value) ? NULL : value;
}

int varlink_get_text(const json_t *parameters, const char *name, const char **ret)
{
        const json_t *value = varlink_get(parameters, name);

        if (!value)
                return 0;
        if (!json_is_string(value))
                return VARLINK_E_INVALID;
        *ret = json_string_value(value);
        return 0;
}

int varlink_get_bool(const json_t *parameters, const char *name, bool *ret)
{
        const json_t *value = varlink_get(parameters, name);

        if (!value)
                return 0;
        if (!json_is_boolean(value))
                return VARLINK_E_INVALID;
        *ret = json_is_true(value);
        return 0;
}

int varlink_get_integer(const json_t *parameters, const char *name, int64_t min, int64_t max,
                        int64_t *ret)
{
        const json_t *value = varlink_get(parameters, name);

        if (!value)
                return 0;
        if (!json_is_integer(value) || json_integer_value(value) < min ||
            json_integer_value(value) > max)
                return VARLINK_E_INVALID;
        *ret = json_integer_value(value);
        return 0;
}

const char *varlink_find_unknown(const json_t *parameters, const char *const *known, size_t n)
{
        const char *key;
        json_t *value;

        json_object_foreach((json_t *)parameters, key, value) {
                size_t i;

                for (i = 0; i < n && known[i]; ++i)
                        if (strcmp(key, known[i]) == 0)
                                break;
                if (i == n || !known[i])
                        return key;
        }
        return NULL;
}

bool varlink_text_is_printable(const char *text)
{
        for (const unsigned char *p = (const unsigned char *)text; *p; ++p) {
                if (*p < 0x20 || *p == 0x7f)
                        return false;
                if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) /* U+0080 to U+009F */
                        return false;
        }
        return true;
}
