/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods on executions that exist, one function each; Create is in request.c. */

#include "client.h"

#include "private/error.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

/*
 * Calls method with the members that pack made; takes pack over. NULL: one of the texts is not
 * UTF-8, or there is no memory, and the former cannot be a valid id or name.
 */
static int method_call(cgtask_client *client, const char *method, json_t *pack,
                       json_t **ret_parameters)
{
        _cleanup_json_ json_t *parameters = pack;

        if (!parameters)
                return client_fail(client, -EINVAL, "%s: an argument is not valid UTF-8", method);
        return error_fold(client_call(client, method, parameters, ret_parameters));
}

static int method_call_execution(cgtask_client *client, const char *method, json_t *pack,
                                 cgtask_execution **ret_execution)
{
        _cleanup_json_ json_t *reply = NULL;
        int r;

        r = method_call(client, method, pack, &reply);
        if (r < 0 || !ret_execution)
                return error_fold(r);
        return error_fold(client_take_execution(client, reply, ret_execution));
}

/* Adds an optional member; a failure leaves *object NULL. Takes value over in any case. */
static void method_add(json_t **object, const char *member, json_t *value)
{
        if (json_object_set_new(*object, member, value) < 0) {
                json_decref(*object);
                *object = NULL;
        }
}

_public_ int cgtask_attach(cgtask_client *client, const char *id, pid_t pid)
{
        json_t *pack = json_pack("{s:s}", "id", id);

        if (pid != 0)
                method_add(&pack, "pid", json_integer(pid));
        return error_fold(method_call(client, "Attach", pack, NULL));
}

_public_ int cgtask_release(cgtask_client *client, const char *id)
{
        return error_fold(method_call(client, "Release", json_pack("{s:s}", "id", id), NULL));
}

_public_ int cgtask_finish(cgtask_client *client, const char *id, int wait_status,
                           int64_t runner_max_rss_bytes, bool wait_drained,
                           cgtask_execution **ret_execution)
{
        const char *kind = "unknown";
        json_t *pack, *status = NULL;

        if (wait_status != -1 && WIFEXITED(wait_status)) {
                kind = "exited";
                status = json_integer(WEXITSTATUS(wait_status));
        } else if (wait_status != -1 && WIFSIGNALED(wait_status)) {
                kind = "signaled";
                status = json_integer(WTERMSIG(wait_status));
        }

        pack = json_pack("{s:s, s:s}", "id", id, "exitKind", kind);
        if (strcmp(kind, "unknown") != 0)
                method_add(&pack, "exitStatus", status);
        if (runner_max_rss_bytes >= 0)
                method_add(&pack, "runnerMaxRss", json_integer(runner_max_rss_bytes));
        if (wait_drained)
                method_add(&pack, "waitDrained", json_true());
        return error_fold(method_call_execution(client, "Finish", pack, ret_execution));
}

_public_ int cgtask_kill(cgtask_client *client, const char *id, int signal)
{
        json_t *pack = json_pack("{s:s}", "id", id);

        if (signal != 0)
                method_add(&pack, "signal", json_integer(signal));
        return error_fold(method_call(client, "Kill", pack, NULL));
}

_public_ int cgtask_get(cgtask_client *client, const char *id, cgtask_execution **ret_execution)
{
        json_t *pack = json_pack("{s:s}", "id", id);

        return error_fold(method_call_execution(client, "Get", pack, ret_execution));
}

/*
 * One reply of a listing: hands its execution to fn. A reply without one is the end of a listing
 * that has nothing (more) to tell.
 */
static int method_list_one(cgtask_client *client, json_t *reply,
                           int (*fn)(const cgtask_execution *execution, void *userdata),
                           void *userdata)
{
        _cleanup_execution_ cgtask_execution *execution = NULL;
        int r;

        if (!json_object_get(reply, "execution"))
                return 0;
        r = client_take_execution(client, reply, &execution);
        if (r < 0)
                return error_fold(r);
        r = fn(execution, userdata);
        if (r)
                wire_close(&client->wire); /* the rest of the listing is not wanted */
        return r;
}

static json_t *method_list_filter(const char *task, const char *state, int64_t uid)
{
        json_t *filter = json_object();

        if (task)
                method_add(&filter, "task", json_string(task));
        if (state)
                method_add(&filter, "state", json_string(state));
        if (uid >= 0)
                method_add(&filter, "uid", json_integer(uid));
        return filter;
}

_public_ int cgtask_list(cgtask_client *client, const char *task, const char *state, int64_t uid,
                         int (*fn)(const cgtask_execution *execution, void *userdata),
                         void *userdata)
{
        _cleanup_json_ json_t *filter = method_list_filter(task, state, uid);
        bool continues = true;
        int r;

        if (!filter)
                return client_fail(client, -EINVAL, "List: an argument is not valid UTF-8");
        r = client_send(client, "List", filter, true);
        if (r < 0)
                return error_fold(r);

        while (continues) {
                _cleanup_json_ json_t *reply = NULL;

                r = client_receive(client, &reply, &continues);
                if (r < 0)
                        return error_fold(r);
                r = method_list_one(client, reply, fn, userdata);
                if (r)
                        return r;
        }
        return 0;
}

_public_ int cgtask_get_status(cgtask_client *client, char **ret_json)
{
        _cleanup_json_ json_t *reply = NULL;
        json_t *status;
        char *text;
        int r;

        r = client_call(client, "GetStatus", NULL, &reply);
        if (r < 0)
                return error_fold(r);
        status = json_object_get(reply, "status");
        if (!json_is_object(status))
                return client_malformed(client, "status");
        text = json_dumps(status, JSON_COMPACT);
        if (!text)
                return client_fail(client, -ENOMEM, "out of memory");
        *ret_json = text;
        return 0;
}

_public_ int cgtask_drain(cgtask_client *client, uint64_t grace_usec, int64_t *ret_drained,
                          int64_t *ret_killed)
{
        _cleanup_json_ json_t *reply = NULL;
        json_int_t drained, killed;
        json_t *pack;
        int r;

        if (grace_usec > INT64_MAX)
                grace_usec = INT64_MAX;
        pack = json_pack("{s:I}", "graceUsec", (json_int_t)grace_usec);
        r = method_call(client, "Drain", pack, &reply);
        if (r < 0)
                return error_fold(r);
        if (json_unpack(reply, "{s:I, s:I}", "drained", &drained, "killed", &killed) < 0)
                return client_malformed(client, "drained");
        if (ret_drained)
                *ret_drained = drained;
        if (ret_killed)
                *ret_killed = killed;
        return 0;
}
