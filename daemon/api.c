/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dispatch of calls, the service interface, and the methods that answer at once.
 *
 * A method finds its peer identified and its call well formed. It checks its parameters, asks the
 * registry, and answers; those that must wait (Create for the keeper, Finish for the row, Get and
 * List for the store) live in files of their own.
 *
 * What a client does wrong is answered and costs that client. Only our own faults are returned.
 */

#include "api-private.h"

#include "execution-json.h"
#include "log.h"
#include "private/cleanup.h"
#include "private/error.h"
#include "private/wire.h"
#include "process.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>

static const char api_description[] =
#include "io.cgtask.Executions.inc"
        ;

static const char api_service_description[] =
        "# What every Varlink service offers.\n"
        "interface org.varlink.service\n\n"
        "method GetInfo() -> (\n"
        "  vendor: string,\n  product: string,\n  version: string,\n  url: string,\n"
        "  interfaces: []string\n)\n\n"
        "method GetInterfaceDescription(interface: string) -> (description: string)\n\n"
        "error InterfaceNotFound(interface: string)\n"
        "error MethodNotFound(method: string)\n"
        "error MethodNotImplemented(method: string)\n"
        "error InvalidParameter(parameter: string)\n"
        "error PermissionDenied()\n"
        "error ExpectedMore()\n"
        "error ExpectedUpgrade()\n";

/* -- answers ---------------------------------------------------------------------------------- */

int api_answer_invalid(Peer *peer, const char *parameter, const char *reason)
{
        return error_fold(
                peer_error(peer, WIRE_ERROR_INVALID_PARAMETER,
                           json_pack("{s:s, s:s}", "parameter", parameter, "reason", reason)));
}

int api_answer_reason(Peer *peer, const char *error, const char *reason)
{
        return error_fold(peer_error(peer, error, json_pack("{s:s}", "reason", reason)));
}

int api_answer_id(Peer *peer, const char *error, const char *id)
{
        return error_fold(peer_error(peer, error, json_pack("{s:s}", "id", id)));
}

int api_answer_denied(Peer *peer, const char *reason)
{
        return error_fold(api_answer_reason(peer, WIRE_ERROR_PERMISSION_DENIED, reason));
}

int api_answer_execution(Peer *peer, json_t *o, bool continues)
{
        json_t *parameters = json_object();

        if (json_object_set_new(parameters, "execution", o) < 0) { /* also if either is NULL */
                json_decref(parameters);
                return error_origin(-ENOMEM);
        }
        return error_fold(peer_reply(peer, parameters, continues));
}

json_t *api_encode_live(Api *api, Execution *e)
{
        char path[PATH_MAX];
        ExecutionRecord record;
        int64_t current = RECORD_NULL;
        json_t *o = NULL;

        (void)snprintf(path, sizeof(path), "%s/%s", hierarchy_root_path(api->context.hierarchy),
                       e->name);
        if (e->state >= EXECUTION_MEASURED)
                return execution_json_encode(&e->record, path, e->record.memory_peak_bytes,
                                             RECORD_NULL);
        if (execution_snapshot(e, &record, &current) == 0)
                o = execution_json_encode(&record, path, record.memory_peak_bytes, current);
        execution_record_deinit(&record);
        return o;
}

Execution *api_find(Api *api, Peer *peer, const VarlinkCall *call, bool may_end,
                    const char **ret_missing, int *ret_r)
{
        AccessRights rights = peer_get_rights(peer);
        const char *id = NULL;
        Execution *e;

        *ret_r = 0;
        if (varlink_get_text(call->parameters, "id", &id) != 0 || !id) {
                *ret_r = api_answer_invalid(peer, "id", "32 hexadecimal digits are expected");
                return NULL;
        }
        e = registry_find(api->context.registry, id);
        if (!e) {
                if (ret_missing)
                        *ret_missing = id;
                else if (!hierarchy_is_ready(api->context.hierarchy)) /* not adopted yet, perhaps */
                        *ret_r = api_answer_reason(peer, WIRE_ERROR_NOT_READY,
                                                   hierarchy_reason(api->context.hierarchy));
                else
                        *ret_r = api_answer_id(peer, WIRE_ERROR_NO_SUCH_EXECUTION, id);
                return NULL;
        }
        if (rights.root || (rights.launch && e->metadata.uid == peer_get_uid(peer)) ||
            (!may_end && rights.read))
                return e;
        *ret_r = api_answer_id(peer, WIRE_ERROR_NOT_YOURS, id);
        return NULL;
}

/* -- Attach, Release, Kill, GetStatus --------------------------------------------------------- */

static int api_answer_attach(Peer *peer, const Execution *e, int outcome, int e_errno)
{
        char reason[256];

        switch (outcome) {
        case EXECUTION_E_ENDED:
        case EXECUTION_E_GONE:
                return api_answer_id(peer, WIRE_ERROR_NO_SUCH_EXECUTION, e->id);
        case EXECUTION_E_NO_PROCESS:
                return api_answer_invalid(peer, "pid", "the process has ended");
        case EXECUTION_E_NOT_MOVED:
                return api_answer_invalid(peer, "pid",
                                          "the process could not be moved: it is ending");
        default:
                (void)snprintf(reason, sizeof(reason), "the kernel refused to move the process: %s",
                               strerror(e_errno));
                return api_answer_reason(peer, WIRE_ERROR_UNSUPPORTED, reason);
        }
}

/*
 * May this peer have processes of these uids moved? For another process than its own all of them
 * must be the peer's. Its own one may have others beside (it was set-uid), but if none is the
 * peer's, then the number was reused between its connecting and our accepting it.
 */
static bool api_may_move(const Peer *peer, const ProcessStatus *status, bool self)
{
        size_t n = 0;

        if (peer_get_rights(peer).root)
                return true;
        for (size_t i = 0; i < N_ELEMENTS(status->uids); ++i)
                n += status->uids[i] == peer_get_uid(peer);
        return self ? n > 0 : n == N_ELEMENTS(status->uids);
}

/* May this peer have that process moved? Answers if not. */
static int api_check_target(Api *api, Peer *peer, pid_t pid)
{
        ProcessStatus status;
        int r;

        r = process_read_status(pid, &status);
        if (r < 0)
                return error_fold(r);
        if (r) {
                r = api_answer_invalid(peer, "pid", "no such process");
                return r < 0 ? error_fold(r) : 1;
        }
        if (status.n_nspids > 1 && !api->context.config->allow_containers) {
                r = api_answer_denied(peer,
                                      "the process is in a container (another pid namespace): "
                                      "set AllowContainers=yes in cgtaskd.conf to account for it");
                return r < 0 ? error_fold(r) : 1;
        }
        if (api_may_move(peer, &status, pid == peer_get_pid(peer)))
                return 0;
        r = api_answer_denied(peer, "the process belongs to another user");
        return r < 0 ? error_fold(r) : 1;
}

int api_attach_process(Api *api, Peer *peer, Execution *e, pid_t pid)
{
        _cleanup_close_ int pidfd = -1;
        bool self = pid == 0 || pid == peer_get_pid(peer);
        int r, e_errno = 0;

        /* Its launch timed out: it may run by now, and must not be moved in the middle of that. */
        if (self && peer_has_hung_up(peer)) {
                r = api_answer_reason(peer, WIRE_ERROR_NOT_READY, "the caller did not wait");
                return r < 0 ? error_fold(r) : 1;
        }
        r = self ? peer_open_process(peer, &pidfd) : process_open(pid, &pidfd);
        if (r < 0)
                return error_fold(r);
        if (self)
                pid = peer_get_pid(peer);
        if (r == 0)
                r = api_check_target(api, peer, pid);
        else
                r = api_answer_invalid(peer, "pid", "no such process") < 0 ? error_origin(-ENOMEM)
                                                                           : 1;
        if (r)
                return error_fold(r);
        r = execution_attach(e, pid, pidfd, /* announced= */ self && e->metadata.command, &e_errno);
        if (r == 0) {
                pidfd = -1; /* the execution's now */
                return 0;
        }
        if (r < 0)
                return error_fold(r);
        r = api_answer_attach(peer, e, r, e_errno);
        return r < 0 ? error_fold(r) : 1;
}

static int api_attach(Api *api, Peer *peer, const VarlinkCall *call)
{
        int64_t pid = 0;
        Execution *e;
        int r;

        if (varlink_get_integer(call->parameters, "pid", 1, INT_MAX, &pid) != 0)
                return api_answer_invalid(peer, "pid", "a process id is expected");
        e = api_find(api, peer, call, /* may_end= */ true, NULL, &r);
        if (!e)
                return error_fold(r);
        r = api_attach_process(api, peer, e, (pid_t)pid);
        if (r)
                return r < 0 ? error_fold(r) : 0;
        return error_fold(peer_reply(peer, NULL, false));
}

static int api_release(Api *api, Peer *peer, const VarlinkCall *call)
{
        char reason[256];
        Execution *e;
        int r, e_errno = 0;

        e = api_find(api, peer, call, /* may_end= */ true, NULL, &r);
        if (!e)
                return error_fold(r);
        r = execution_release(e, peer_get_pid(peer), &e_errno);
        switch (r) {
        case 0:
                return error_fold(peer_reply(peer, NULL, false));
        case EXECUTION_E_NO_PROCESS:
                return api_answer_invalid(peer, "id",
                                          "the caller was not attached to this execution");
        case EXECUTION_E_GONE:
        case EXECUTION_E_REFUSED:
                (void)snprintf(reason, sizeof(reason), "cannot move back to %s: %s",
                               e->metadata.origin,
                               r == EXECUTION_E_GONE ? "that cgroup is gone" : strerror(e_errno));
                return api_answer_reason(peer, WIRE_ERROR_UNSUPPORTED, reason);
        default:
                return error_fold(r);
        }
}

static int api_kill(Api *api, Peer *peer, const VarlinkCall *call)
{
        int64_t signo = SIGKILL;
        Execution *e;
        int n, r;

        if (varlink_get_integer(call->parameters, "signal", 1, SIGRTMAX, &signo) != 0)
                return api_answer_invalid(peer, "signal", "a signal number is expected");
        e = api_find(api, peer, call, /* may_end= */ true, NULL, &r);
        if (!e)
                return error_fold(r);
        r = execution_kill(e, (int)signo, &n);
        if (r < 0)
                return error_fold(r);
        if (r)
                return api_answer_id(peer, WIRE_ERROR_NO_SUCH_EXECUTION, e->id);
        return error_fold(peer_reply(peer, NULL, false));
}

static int api_get_status(Api *api, Peer *peer, const VarlinkCall *call)
{
        json_t *status = api->context.status(api->context.userdata);
        json_t *parameters = json_object();

        if (json_object_set_new(parameters, "status", status) < 0) { /* also if either is NULL */
                json_decref(parameters);
                return error_origin(-ENOMEM);
        }
        return error_fold(peer_reply(peer, parameters, false));
}

/* -- org.varlink.service ---------------------------------------------------------------------- */

static int api_get_info(Api *api, Peer *peer, const VarlinkCall *call)
{
        return error_fold(peer_reply(peer,
                                     json_pack("{s:s, s:s, s:s, s:s, s:[s, s]}", "vendor", "cgtask",
                                               "product", "cgtaskd", "version", CGTASK_VERSION,
                                               "url", "https://cgtask.io", "interfaces",
                                               WIRE_INTERFACE, WIRE_SERVICE),
                                     false));
}

static int api_get_interface_description(Api *api, Peer *peer, const VarlinkCall *call)
{
        const char *interface = NULL, *description = NULL;

        if (varlink_get_text(call->parameters, "interface", &interface) != 0 || !interface)
                return api_answer_invalid(peer, "interface",
                                          "the name of an interface is expected");
        if (strcmp(interface, WIRE_INTERFACE) == 0)
                description = api_description;
        else if (strcmp(interface, WIRE_SERVICE) == 0)
                description = api_service_description;
        if (!description)
                return error_fold(peer_error(peer, WIRE_ERROR_INTERFACE_NOT_FOUND,
                                             json_pack("{s:s}", "interface", interface)));
        return error_fold(peer_reply(peer, json_pack("{s:s}", "description", description), false));
}

/* -- dispatch --------------------------------------------------------------------------------- */

#define API_PARAMETERS_MAX 8

typedef struct ApiMethod {
        const char *name;
        ApiMethodFn fn; /* NULL: described, and comes with a later version */
        bool needs_more;
        const char *parameters[API_PARAMETERS_MAX];
} ApiMethod;

static const ApiMethod api_methods[] = {
        { WIRE_INTERFACE ".Create",
          api_create,
          false,
          { "task", "labels", "limits", "stragglers", "attemptOf", "attach", "command" } },
        { WIRE_INTERFACE ".Attach", api_attach, false, { "id", "pid" } },
        { WIRE_INTERFACE ".Release", api_release, false, { "id" } },
        { WIRE_INTERFACE ".Finish",
          api_finish,
          false,
          { "id", "exitKind", "exitStatus", "runnerMaxRss", "waitDrained" } },
        { WIRE_INTERFACE ".Kill", api_kill, false, { "id", "signal" } },
        { WIRE_INTERFACE ".Get", api_get, false, { "id" } },
        { WIRE_INTERFACE ".List", api_list, true, { "task", "state", "uid" } },
        { WIRE_INTERFACE ".Subscribe", api_subscribe, true, { "task" } },
        { WIRE_INTERFACE ".GetStatus", api_get_status, false, { NULL } },
        { WIRE_INTERFACE ".Drain", api_drain, false, { "graceUsec" } },
        { WIRE_SERVICE ".GetInfo", api_get_info, false, { NULL } },
        { WIRE_SERVICE ".GetInterfaceDescription",
          api_get_interface_description,
          false,
          { "interface" } },
};

static const ApiMethod *api_find_method(const char *name)
{
        for (size_t i = 0; i < N_ELEMENTS(api_methods); ++i)
                if (strcmp(api_methods[i].name, name) == 0)
                        return &api_methods[i];
        return NULL;
}

static int api_answer_no_method(Peer *peer, const char *method)
{
        const char *dot = strrchr(method, '.');
        size_t n = dot ? (size_t)(dot - method) : 0;

        if ((n == strlen(WIRE_INTERFACE) && strncmp(method, WIRE_INTERFACE, n) == 0) ||
            (n == strlen(WIRE_SERVICE) && strncmp(method, WIRE_SERVICE, n) == 0))
                return error_fold(peer_error(peer, WIRE_ERROR_METHOD_NOT_FOUND,
                                             json_pack("{s:s}", "method", method)));
        return error_fold(peer_error(peer, WIRE_ERROR_INTERFACE_NOT_FOUND,
                                     json_pack("{s:s%}", "interface", method, n)));
}

static int api_on_call(void *userdata, Peer *peer, const VarlinkCall *call)
{
        const ApiMethod *method = api_find_method(call->method);
        Api *api = userdata;
        const char *unknown;

        if (!method)
                return error_fold(api_answer_no_method(peer, call->method));
        if (call->upgrade)
                return api_answer_invalid(peer, "upgrade", "this method does not upgrade");
        if (method->needs_more && !call->more)
                return error_fold(peer_error(peer, WIRE_ERROR_EXPECTED_MORE, NULL));
        unknown = varlink_find_unknown(call->parameters, method->parameters, API_PARAMETERS_MAX);
        if (unknown)
                return api_answer_invalid(peer, unknown, "there is no such parameter");
        return error_fold(method->fn(api, peer, call));
}

static int api_on_gone(void *userdata, Peer *peer)
{
        Api *api = userdata;
        PeerMade *made;
        Execution *e;
        int r;

        while ((made = peer_first_made(peer))) {
                e = registry_find(api->context.registry, made->id);
                peer_remove_made(peer, made->id);
                r = e && !api->stopping ? execution_creator_gone(e) : 0;
                if (r < 0)
                        return error_fold(r);
        }
        return 0;
}

PeerHandler api_get_handler(Api *api)
{
        return (PeerHandler){ .call = api_on_call, .gone = api_on_gone, .userdata = api };
}

void api_stop(Api *api)
{
        api->stopping = true;
}

int api_new(const ApiContext *context, Api **ret_api)
{
        Api *api = calloc(1, sizeof(*api));

        if (!api)
                return error_origin(-ENOMEM);
        api->context = *context;
        LIST_INIT(&api->creates);
        LIST_INIT(&api->subscriptions);
        *ret_api = api;
        return 0;
}

Api *api_free(Api *api)
{
        free(api);
        return NULL;
}
