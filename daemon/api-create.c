/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Create: from parameters to a cgroup, at once or as soon as the hierarchy is ready.
 *
 * Everything is checked before anything is made. A Create that finds the keeper not there yet (just
 * booted, just installed, just killed) waits for it; the caller's own deadline is shorter than ours.
 */

#include "api-private.h"

#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"
#include "private/wire.h"
#include "process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#define API_CREATE_WAIT_USEC (60 * USEC_PER_SEC)
#define API_COMMAND_MAX 4096 /* bytes kept of a command line */
/*
 * All labels together, as they stand in the xattr (quoted twice). The kernel takes 64 KiB; command,
 * origin and the rest may need 20 of them.
 */
#define API_LABELS_MAX 40960

typedef struct ApiRequest {
        Metadata metadata;
        ExecutionLimits limits;
        bool attach;
} ApiRequest;

/* One that waits for the hierarchy. */
struct ApiCreate {
        PeerPending pending;
        Api *api;
        Peer *peer;
        ApiRequest request;
        LoopSource *deadline;
        LIST_ENTRY(ApiCreate) link;
};

/* Why a parameter is refused. */
typedef struct ApiComplaint {
        const char *parameter;
        char reason[200];
        bool ceiling; /* LimitRefused */
        uint64_t maximum;
} ApiComplaint;

static bool api_complain(ApiComplaint *c, const char *parameter, const char *reason)
{
        c->parameter = parameter;
        (void)snprintf(c->reason, sizeof(c->reason), "%s", reason);
        return false;
}

static bool api_complain_limit(ApiComplaint *c, const char *parameter, const char *what,
                               uint64_t limit)
{
        c->parameter = parameter;
        (void)snprintf(c->reason, sizeof(c->reason), "%s%llu", what, (unsigned long long)limit);
        return false;
}

/* -- parameters ------------------------------------------------------------------------------- */

static bool api_take_task(Api *api, const json_t *p, Metadata *m, ApiComplaint *c)
{
        const char *task = NULL;

        if (varlink_get_text(p, "task", &task) != 0)
                return api_complain(c, "task", "a string is expected");
        if (!task)
                return true;
        if (!*task || !varlink_text_is_printable(task))
                return api_complain(c, "task", "it is empty or has control characters");
        if (strlen(task) > api->context.config->max_task_bytes)
                return api_complain_limit(c, "task", "longer than MaxTaskBytes=",
                                          api->context.config->max_task_bytes);
        m->task = strdup(task);
        return m->task ? true : api_complain(c, "task", "no memory");
}

static bool api_check_label(Api *api, const char *key, const json_t *value, ApiComplaint *c)
{
        const Config *config = api->context.config;

        if (!json_is_string(value))
                return api_complain(c, "labels", "values are strings");
        if (!*key || !varlink_text_is_printable(key) ||
            !varlink_text_is_printable(json_string_value(value)))
                return api_complain(c, "labels",
                                    "a key is empty, or a key or value has control "
                                    "characters");
        if (strlen(key) + json_string_length(value) > config->max_label_bytes)
                return api_complain_limit(
                        c, "labels", "one is longer than MaxLabelBytes=", config->max_label_bytes);
        return true;
}

/* Does the JSON text fit into the xattr, where it is a JSON string? */
static bool api_labels_fit(const char *text)
{
        size_t n = 0;

        for (const char *p = text; *p; ++p)
                n += *p == '"' || *p == '\\' ? 2 : 1;
        return n <= API_LABELS_MAX;
}

static bool api_take_labels(Api *api, const json_t *p, Metadata *m, ApiComplaint *c)
{
        json_t *labels = json_object_get(p, "labels"), *value;
        const char *key;

        if (!labels || json_is_null(labels))
                return true;
        if (!json_is_object(labels))
                return api_complain(c, "labels", "an object of strings is expected");
        if (json_object_size(labels) > api->context.config->max_labels)
                return api_complain_limit(c, "labels",
                                          "more than MaxLabels=", api->context.config->max_labels);
        json_object_foreach(labels, key, value) {
                if (!api_check_label(api, key, value, c))
                        return false;
        }
        if (json_object_size(labels) == 0)
                return true;
        m->labels = json_dumps(labels, JSON_COMPACT);
        if (!m->labels)
                return api_complain(c, "labels", "no memory");
        return api_labels_fit(m->labels)
                       ? true
                       : api_complain_limit(c, "labels", "all together longer than ",
                                            API_LABELS_MAX);
}

/* One number of Limits; the smallest sensible memory limit is one page, 0 would kill at once. */
static bool api_take_limit(const json_t *limits, const char *name, int64_t min, bool *has,
                           uint64_t *value, ApiComplaint *c)
{
        int64_t n = -1;

        if (varlink_get_integer(limits, name, min, INT64_MAX, &n) != 0)
                return api_complain_limit(c, name, "it must be an integer of at least ",
                                          (uint64_t)min);
        *has = n >= 0;
        *value = (uint64_t)n;
        return true;
}

static bool api_take_limits(Api *api, Peer *peer, const json_t *p, ExecutionLimits *l,
                            ApiComplaint *c)
{
        static const char *const known[] = { "memoryMax", "memoryHigh", "swapMax", "pidsMax",
                                             "oomGroup" };
        const json_t *limits = json_object_get(p, "limits");
        uint64_t ceiling = api->context.config->memory_max_ceiling;
        const char *unknown;

        if (limits && !json_is_null(limits) && !json_is_object(limits))
                return api_complain(c, "limits", "an object is expected");
        if (!json_is_object(limits))
                limits = NULL;
        unknown = limits ? varlink_find_unknown(limits, known, N_ELEMENTS(known)) : NULL;
        if (unknown)
                return api_complain(c, "limits", "it has a member that is not known");
        if (!api_take_limit(limits, "memoryMax", 4096, &l->has_memory_max, &l->memory_max_bytes,
                            c) ||
            !api_take_limit(limits, "memoryHigh", 4096, &l->has_memory_high, &l->memory_high_bytes,
                            c) ||
            !api_take_limit(limits, "swapMax", 0, &l->has_swap_max, &l->swap_max_bytes, c) ||
            !api_take_limit(limits, "pidsMax", 1, &l->has_pids_max, &l->pids_max, c))
                return false;
        if (varlink_get_bool(limits, "oomGroup", &l->oom_group) != 0)
                return api_complain(c, "oomGroup", "a boolean is expected");
        /* the ceiling also holds for those who ask for no limit at all only if they ask for one */
        if (ceiling != CONFIG_INFINITY && !peer_get_rights(peer).root && l->has_memory_max &&
            l->memory_max_bytes > ceiling) {
                c->ceiling = true;
                c->maximum = ceiling;
                return api_complain(c, "memoryMax", "");
        }
        return true;
}

static bool api_take_policy(Api *api, const json_t *p, Metadata *m, ApiComplaint *c)
{
        const char *policy = api->context.config->stragglers, *attempt = NULL;

        if (varlink_get_text(p, "stragglers", &policy) != 0 ||
            !config_parse_stragglers(policy, &m->stragglers_usec))
                return api_complain(c, "stragglers",
                                    "\"wait\", \"kill\" or a time span is expected");
        if (varlink_get_text(p, "attemptOf", &attempt) != 0 ||
            (attempt && (strlen(attempt) != WIRE_ID_LENGTH ||
                         strspn(attempt, "0123456789abcdef") != WIRE_ID_LENGTH)))
                return api_complain(c, "attemptOf", "32 hexadecimal digits are expected");
        m->attempt_of = attempt ? strdup(attempt) : NULL;
        return !attempt || m->attempt_of ? true : api_complain(c, "attemptOf", "no memory");
}

/* Arguments are data of somebody else: what cannot be shown is replaced, never refused. */
static void api_append_argument(char *command, size_t n, const char *argument)
{
        size_t used = strlen(command);
        size_t full = n - 1;

        if (used > 0 && used < full)
                command[used++] = ' ';
        for (; *argument && used < full; ++argument)
                command[used++] =
                        (unsigned char)*argument < 0x20 || *argument == 0x7f ? '?' : *argument;
        if (*argument) /* cut: not in the middle of a UTF-8 sequence */
                while (used > 0 && ((unsigned char)command[used - 1] & 0xc0) == 0x80)
                        --used;
        if (*argument && used > 0 && (unsigned char)command[used - 1] >= 0xc0)
                --used;
        command[used] = '\0';
}

static bool api_take_command(Api *api, const json_t *p, Metadata *m, ApiComplaint *c)
{
        const json_t *command = json_object_get(p, "command");
        size_t n = json_array_size(command);
        char text[API_COMMAND_MAX] = "";

        if (command && !json_is_null(command) && !json_is_array(command))
                return api_complain(c, "command", "an array of strings is expected");
        if (!api->context.config->store_arguments && n > 1)
                n = 1;
        for (size_t i = 0; i < n; ++i) {
                const char *argument = json_string_value(json_array_get(command, i));

                if (!argument)
                        return api_complain(c, "command", "an array of strings is expected");
                api_append_argument(text, sizeof(text), argument);
        }
        if (n == 0)
                return true;
        m->command = strdup(text);
        return m->command ? true : api_complain(c, "command", "no memory");
}

static bool api_take_request(Api *api, Peer *peer, const json_t *p, ApiRequest *request,
                             ApiComplaint *c)
{
        Metadata *m = &request->metadata;

        m->uid = peer_get_uid(peer);
        m->gid = peer_get_gid(peer);
        if (varlink_get_bool(p, "attach", &request->attach) != 0)
                return api_complain(c, "attach", "a boolean is expected");
        return api_take_task(api, p, m, c) && api_take_labels(api, p, m, c) &&
               api_take_limits(api, peer, p, &request->limits, c) &&
               api_take_policy(api, p, m, c) && api_take_command(api, p, m, c);
}

/* -- making it -------------------------------------------------------------------------------- */

static int api_answer_create_error(Api *api, Peer *peer, int outcome, const RegistryQuota *quota,
                                   int e_errno)
{
        char reason[256];

        switch (outcome) {
        case REGISTRY_E_QUOTA:
                return error_fold(peer_error(peer, WIRE_ERROR_QUOTA_EXCEEDED,
                                             json_pack("{s:s, s:I}", "quota", quota->name, "limit",
                                                       (json_int_t)quota->limit)));
        case EXECUTION_E_FULL:
                return api_answer_reason(
                        peer, WIRE_ERROR_NOT_READY,
                        "the kernel has no room for another cgroup "
                        "(cgroup.max.descendants, or cgroup ids): try again later");
        case EXECUTION_E_REFUSED:
                (void)snprintf(reason, sizeof(reason), "the kernel refused a limit: %s%s",
                               strerror(e_errno),
                               e_errno == EOPNOTSUPP ? " (its controller is not enabled)" : "");
                return api_answer_reason(peer, WIRE_ERROR_UNSUPPORTED, reason);
        default:
                return api_answer_reason(peer, WIRE_ERROR_NOT_READY,
                                         hierarchy_reason(api->context.hierarchy));
        }
}

/*
 * Who will be inside is written to the xattr before it is: then the one write is enough, and a
 * daemon that dies in between leaves nothing unsaid.
 */
static void api_announce(Peer *peer, ApiRequest *request)
{
        Metadata *m = &request->metadata;
        uint64_t start = 0;

        m->created_usec = clock_realtime_usec();
        m->created_monotonic_usec = clock_monotonic_usec();
        (void)process_read_start(peer_get_pid(peer), &start);
        if (request->attach) {
                m->runner_pid = peer_get_pid(peer);
                m->runner_start = start;
                m->started_usec = m->created_usec;
                m->started_monotonic_usec = m->created_monotonic_usec;
        } else {
                m->supervisor_pid = peer_get_pid(peer);
                m->supervisor_start = start;
        }
}

static int api_answer_created(Api *api, Peer *peer, const Execution *e)
{
        char path[PATH_MAX];

        (void)snprintf(path, sizeof(path), "%s/%s", hierarchy_root_path(api->context.hierarchy),
                       e->name);
        return error_fold(
                peer_reply(peer, json_pack("{s:s, s:s}", "id", e->id, "cgroupPath", path), false));
}

/* The hierarchy is ready. Takes over the request's metadata. Answers. */
static int api_make(Api *api, Peer *peer, ApiRequest *request)
{
        RegistryQuota quota;
        Execution *e;
        int r, e_errno = 0;

        if (peer_has_hung_up(peer)) /* an execution that nobody knows of would be left */
                return api_answer_reason(peer, WIRE_ERROR_NOT_READY, "the caller did not wait");
        api_announce(peer, request);
        r = registry_create(api->context.registry, &request->metadata, &request->limits, &e, &quota,
                            &e_errno);
        if (r < 0)
                return error_fold(r);
        if (r == EXECUTION_E_GONE) { /* the parent, or only this one: the look finds out */
                r = api->context.need_hierarchy(api->context.userdata);
                if (r < 0)
                        return error_fold(r);
                r = EXECUTION_E_GONE;
        }
        if (r)
                return error_fold(api_answer_create_error(api, peer, r, &quota, e_errno));
        r = peer_add_made(peer, e->id);
        if (r == 0 && request->attach)
                r = api_attach_process(api, peer, e, 0);
        if (r > 0) { /* answered: it will not be used */
                peer_remove_made(peer, e->id);
                return error_fold(execution_creator_gone(e));
        }
        return r < 0 ? error_fold(r) : error_fold(api_answer_created(api, peer, e));
}

/* -- waiting ---------------------------------------------------------------------------------- */

static void api_create_free(ApiCreate *create)
{
        LIST_REMOVE(create, link);
        create->deadline = loop_source_free(create->deadline);
        metadata_deinit(&create->request.metadata);
        free(create);
}

static void api_create_cancel(PeerPending *pending)
{
        api_create_free((ApiCreate *)pending);
}

static int api_create_on_deadline(void *userdata)
{
        ApiCreate *create = userdata;
        Peer *peer = create->peer;
        Api *api = create->api;

        peer_set_pending(peer, NULL);
        api_create_free(create);
        return api_answer_reason(peer, WIRE_ERROR_NOT_READY,
                                 hierarchy_reason(api->context.hierarchy));
}

static int api_create_later(Api *api, Peer *peer, ApiRequest *request)
{
        ApiCreate *create = calloc(1, sizeof(*create));
        int r;

        if (!create)
                return error_origin(-ENOMEM);
        create->pending.cancel = api_create_cancel;
        create->api = api;
        create->peer = peer;
        create->request = *request;
        request->metadata = METADATA_NULL;
        LIST_INSERT_HEAD(&api->creates, create, link);
        peer_set_pending(peer, &create->pending);
        r = loop_add_timer(api->context.loop, "create", LOOP_PRIORITY_CLIENT,
                           api_create_on_deadline, create, &create->deadline);
        if (r == 0)
                r = loop_source_arm(create->deadline, API_CREATE_WAIT_USEC);
        if (r < 0)
                return error_fold(r);
        return error_fold(api->context.need_hierarchy(api->context.userdata));
}

int api_on_ready(Api *api)
{
        ApiCreate *create;
        int r;

        while (hierarchy_is_ready(api->context.hierarchy) && (create = LIST_FIRST(&api->creates))) {
                ApiRequest request = create->request;
                Peer *peer = create->peer;

                create->request.metadata = METADATA_NULL;
                api_create_free(create);
                peer_set_pending(peer, NULL);
                r = api_make(api, peer, &request);
                metadata_deinit(&request.metadata);
                if (r < 0)
                        return error_fold(r);
        }
        return 0;
}

static int api_answer_complaint(Peer *peer, const ApiComplaint *c)
{
        if (c->ceiling)
                return error_fold(peer_error(peer, WIRE_ERROR_LIMIT_REFUSED,
                                             json_pack("{s:s, s:I}", "field", c->parameter,
                                                       "maximum", (json_int_t)c->maximum)));
        return error_fold(api_answer_invalid(peer, c->parameter, c->reason));
}

static void api_request_deinit(ApiRequest *request)
{
        metadata_deinit(&request->metadata);
}

int api_create(Api *api, Peer *peer, const VarlinkCall *call)
{
        _cleanup_(api_request_deinit) ApiRequest request = { .metadata = METADATA_NULL };
        ApiComplaint complaint = { 0 };

        if (!peer_get_rights(peer).launch)
                return api_answer_denied(peer, "only root and members of group " ACCESS_GROUP_LAUNCH
                                               " may create executions");
        if (!api_take_request(api, peer, call->parameters, &request, &complaint))
                return error_fold(api_answer_complaint(peer, &complaint));
        if (drain_is_active(api->context.drain))
                return api_answer_reason(
                        peer, WIRE_ERROR_NOT_READY,
                        "the daemon is draining: restart cgtaskd.service to go on");
        if (!hierarchy_is_ready(api->context.hierarchy))
                return error_fold(api_create_later(api, peer, &request));
        return error_fold(api_make(api, peer, &request));
}
