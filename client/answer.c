/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One execution as the daemon described it: the JSON object of a reply, read by member. */

#include "client.h"

#include "private/error.h"

#include <errno.h>

int client_execution_new(json_t *object, cgtask_execution **ret_execution)
{
        cgtask_execution *execution;

        execution = calloc(1, sizeof(*execution));
        if (!execution)
                return error_origin(-ENOMEM);
        execution->object = json_incref(object);
        *ret_execution = execution;
        return 0;
}

int client_take_execution(cgtask_client *client, const json_t *parameters,
                          cgtask_execution **ret_execution)
{
        json_t *object = json_object_get(parameters, "execution");

        if (!json_is_object(object))
                return client_malformed(client, "execution");
        if (client_execution_new(object, ret_execution) < 0)
                return client_fail(client, -ENOMEM, "out of memory");
        return 0;
}

_public_ cgtask_execution *cgtask_execution_free(cgtask_execution *execution)
{
        if (!execution)
                return NULL;
        json_decref(execution->object);
        free(execution);
        return NULL;
}

void client_execution_freep(cgtask_execution **execution)
{
        cgtask_execution_free(*execution);
}

_public_ int cgtask_execution_get_text(const cgtask_execution *execution, const char *member,
                                       const char **ret_text)
{
        json_t *value = json_object_get(execution->object, member);

        if (!value || json_is_null(value))
                return -ENODATA;
        if (!json_is_string(value))
                return -EINVAL;
        *ret_text = json_string_value(value);
        return 0;
}

_public_ int cgtask_execution_get_integer(const cgtask_execution *execution, const char *member,
                                          int64_t *ret_value)
{
        json_t *value = json_object_get(execution->object, member);

        if (!value || json_is_null(value))
                return -ENODATA;
        if (!json_is_integer(value) && !json_is_boolean(value))
                return -EINVAL;
        *ret_value = json_is_integer(value) ? json_integer_value(value) : json_is_true(value);
        return 0;
}

_public_ int cgtask_execution_to_json(const cgtask_execution *execution, char **ret_json)
{
        char *text = json_dumps(execution->object, JSON_COMPACT);

        if (!text)
                return error_origin(-ENOMEM);
        *ret_json = text;
        return 0;
}
