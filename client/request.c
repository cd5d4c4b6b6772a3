/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What Create is asked for.
 *
 * Texts that name things (task, labels, ids) must be UTF-8 and are refused otherwise. The command is
 * no name: any bytes may stand in an argv, so its bytes that are not UTF-8 are replaced by U+FFFD,
 * and its tail is cut, because a long argv must not make the request longer than the daemon reads.
 */

#include "request.h"

#include "client.h"
#include "display.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

typedef enum RequestLimit {
        REQUEST_MEMORY_MAX,
        REQUEST_MEMORY_HIGH,
        REQUEST_SWAP_MAX,
        REQUEST_PIDS_MAX,
        _REQUEST_N_LIMITS,
} RequestLimit;

static const char *const request_limit_members[] = {
        [REQUEST_MEMORY_MAX] = "memoryMax",
        [REQUEST_MEMORY_HIGH] = "memoryHigh",
        [REQUEST_SWAP_MAX] = "swapMax",
        [REQUEST_PIDS_MAX] = "pidsMax",
};

struct cgtask_request {
        json_t *texts; /* members of Create that are texts or made of them */
        bool attach;
        bool has_limit[_REQUEST_N_LIMITS];
        json_int_t limits[_REQUEST_N_LIMITS];
        bool has_oom_group, oom_group;
};

_public_ int cgtask_request_new(cgtask_request **ret_request)
{
        _cleanup_request_ cgtask_request *request = NULL;

        request = calloc(1, sizeof(*request));
        if (!request)
                return error_origin(-ENOMEM);
        request->texts = json_object();
        if (!request->texts)
                return error_origin(-ENOMEM);

        *ret_request = TAKE_PTR(request);
        return 0;
}

_public_ cgtask_request *cgtask_request_free(cgtask_request *request)
{
        if (!request)
                return NULL;
        json_decref(request->texts);
        free(request);
        return NULL;
}

void request_freep(cgtask_request **request)
{
        cgtask_request_free(*request);
}

static bool request_is_utf8(const char *text)
{
        uint32_t c;
        size_t n;

        while ((n = display_decode(text, &c)) > 0)
                text += n;
        return *text == 0;
}

/* Sets or, with NULL, takes away one text member of object. */
static int request_set_text(json_t *object, const char *member, const char *text)
{
        if (!text) {
                (void)json_object_del(object, member);
                return 0;
        }
        if (!request_is_utf8(text))
                return error_origin(-EINVAL);
        if (json_object_set_new(object, member, json_string(text)) < 0)
                return error_origin(-ENOMEM);
        return 0;
}

_public_ int cgtask_request_set_task(cgtask_request *request, const char *task)
{
        return error_fold(request_set_text(request->texts, "task", task));
}

_public_ int cgtask_request_set_attempt_of(cgtask_request *request, const char *id)
{
        return error_fold(request_set_text(request->texts, "attemptOf", id));
}

_public_ int cgtask_request_set_stragglers(cgtask_request *request, const char *policy)
{
        return error_fold(request_set_text(request->texts, "stragglers", policy));
}

_public_ int cgtask_request_set_label(cgtask_request *request, const char *key, const char *value)
{
        json_t *labels;

        if (!key || !*key || !request_is_utf8(key))
                return error_origin(-EINVAL);
        labels = json_object_get(request->texts, "labels");
        if (!labels) {
                labels = json_object();
                if (json_object_set_new(request->texts, "labels", labels) < 0)
                        return error_origin(-ENOMEM);
        }
        return error_fold(request_set_text(labels, key, value));
}

/*
 * A copy of argument that is UTF-8 and takes at most *budget bytes as JSON, which are taken off the
 * budget. *ret_cut: something is missing.
 */
static int request_copy_argument(const char *argument, size_t *budget, char **ret_copy,
                                 bool *ret_cut)
{
        size_t length, width, n = 0;
        uint32_t c;
        char *copy;

        /* A byte becomes three at most, and no more is kept than the budget allows. */
        copy = malloc(*budget + sizeof(REPLACEMENT));
        if (!copy)
                return error_origin(-ENOMEM);

        while (*argument) {
                length = display_decode(argument, &c);
                width = length == 0 ? strlen(REPLACEMENT) : length;
                /* JSON spells a control character with six bytes, quote and backslash with two. */
                if (length == 1 && (c < 0x20 || c == '"' || c == '\\'))
                        width = 6;
                if (width > *budget)
                        break;
                *budget -= width;
                if (length == 0)
                        memcpy(copy + n, REPLACEMENT, strlen(REPLACEMENT));
                else
                        memcpy(copy + n, argument, length);
                n += length == 0 ? strlen(REPLACEMENT) : length;
                argument += length == 0 ? 1 : length;
        }

        copy[n] = 0;
        *ret_cut = *argument != 0;
        *ret_copy = copy;
        return 0;
}

/* Appends argument, or what fits of it. *ret_cut as above; then nothing may follow but the mark. */
static int request_append_argument(json_t *command, const char *argument, size_t *budget,
                                   bool *ret_cut)
{
        _cleanup_free_ char *copy = NULL;
        int r;

        if (*budget < sizeof("\"\",") - 1) {
                *ret_cut = true;
                return 0;
        }
        *budget -= sizeof("\"\",") - 1;
        r = request_copy_argument(argument, budget, &copy, ret_cut);
        if (r < 0)
                return error_fold(r);
        if (json_array_append_new(command, json_string(copy)) < 0)
                return error_origin(-ENOMEM);
        return 0;
}

_public_ int cgtask_request_set_command(cgtask_request *request, char *const argv[])
{
        _cleanup_json_ json_t *command = json_array();
        size_t budget = REQUEST_COMMAND_MAX;
        bool cut = false;
        int r;

        if (!command)
                return error_origin(-ENOMEM);
        for (size_t i = 0; argv[i] && !cut; i++) {
                r = request_append_argument(command, argv[i], &budget, &cut);
                if (r < 0)
                        return error_fold(r);
        }
        if (cut && json_array_append_new(command, json_string("...")) < 0)
                return error_origin(-ENOMEM);
        if (json_object_set(request->texts, "command", command) < 0)
                return error_origin(-ENOMEM);
        return 0;
}

_public_ void cgtask_request_set_attach(cgtask_request *request, bool attach)
{
        request->attach = attach;
}

static void request_set_limit(cgtask_request *request, RequestLimit limit, uint64_t value)
{
        request->has_limit[limit] = true;
        request->limits[limit] = value > INT64_MAX ? INT64_MAX : (json_int_t)value;
}

_public_ void cgtask_request_set_memory_max(cgtask_request *request, uint64_t bytes)
{
        request_set_limit(request, REQUEST_MEMORY_MAX, bytes);
}

_public_ void cgtask_request_set_memory_high(cgtask_request *request, uint64_t bytes)
{
        request_set_limit(request, REQUEST_MEMORY_HIGH, bytes);
}

_public_ void cgtask_request_set_swap_max(cgtask_request *request, uint64_t bytes)
{
        request_set_limit(request, REQUEST_SWAP_MAX, bytes);
}

_public_ void cgtask_request_set_pids_max(cgtask_request *request, uint64_t n)
{
        request_set_limit(request, REQUEST_PIDS_MAX, n);
}

_public_ void cgtask_request_set_oom_group(cgtask_request *request, bool oom_group)
{
        request->has_oom_group = true;
        request->oom_group = oom_group;
}

static int request_add_limits(const cgtask_request *request, json_t *parameters)
{
        _cleanup_json_ json_t *limits = json_object();

        for (size_t i = 0; i < _REQUEST_N_LIMITS; i++)
                if (request->has_limit[i] &&
                    json_object_set_new(limits, request_limit_members[i],
                                        json_integer(request->limits[i])) < 0)
                        return error_origin(-ENOMEM);
        if (request->has_oom_group &&
            json_object_set_new(limits, "oomGroup", json_boolean(request->oom_group)) < 0)
                return error_origin(-ENOMEM);
        if (!limits ||
            (json_object_size(limits) > 0 && json_object_set(parameters, "limits", limits) < 0))
                return error_origin(-ENOMEM);
        return 0;
}

int request_to_json(const cgtask_request *request, json_t **ret_parameters)
{
        _cleanup_json_ json_t *parameters = json_copy(request->texts);
        int r;

        if (!parameters)
                return error_origin(-ENOMEM);
        r = request_add_limits(request, parameters);
        if (r < 0)
                return error_fold(r);
        if (request->attach && json_object_set_new(parameters, "attach", json_true()) < 0)
                return error_origin(-ENOMEM);
        *ret_parameters = TAKE_PTR(parameters);
        return 0;
}

_public_ int cgtask_create(cgtask_client *client, const cgtask_request *request, char **ret_id,
                           char **ret_cgroup_path)
{
        _cleanup_json_ json_t *parameters = NULL, *reply = NULL;
        _cleanup_free_ char *id = NULL, *cgroup_path = NULL;
        const char *text;
        int r;

        if (request_to_json(request, &parameters) < 0)
                return client_fail(client, -ENOMEM, "out of memory");
        r = client_call(client, "Create", parameters, &reply);
        if (r < 0)
                return error_fold(r);

        text = json_string_value(json_object_get(reply, "id"));
        if (!text || !*text)
                return client_malformed(client, "id");
        id = strdup(text);
        text = json_string_value(json_object_get(reply, "cgroupPath"));
        if (!text || *text != '/')
                return client_malformed(client, "cgroupPath");
        cgroup_path = strdup(text);
        if (!id || !cgroup_path)
                return client_fail(client, -ENOMEM, "out of memory");

        if (ret_id)
                *ret_id = TAKE_PTR(id);
        if (ret_cgroup_path)
                *ret_cgroup_path = TAKE_PTR(cgroup_path);
        return 0;
}
