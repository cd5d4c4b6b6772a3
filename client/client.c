/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The handle of libcgtask: a connection, its deadline, and what to say about the last failure.
 *
 * A call is a Varlink message and its reply. Whatever breaks the order of replies (deadline, lost
 * connection, malformed answer) closes the connection; the next call makes a new one. An error that
 * the daemon answered leaves it open. The daemon may refuse a peer before it has read anything: a
 * failed write is therefore no failure before the reply has been looked for.
 *
 * Nothing here asks the name service, loads code or reads locale files, since the launcher is linked
 * statically.
 */

#include "client.h"

#include "display.h"

#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/un.h>

_public_ int cgtask_client_new(const char *path, cgtask_client **ret_client)
{
        _cleanup_client_ cgtask_client *client = NULL;

        if (!path)
                path = secure_getenv(WIRE_SOCKET_ENV);
        if (!path || !*path)
                path = WIRE_SOCKET_PATH;
        if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
                return error_origin(-ENAMETOOLONG);

        client = calloc(1, sizeof(*client));
        if (!client)
                return error_origin(-ENOMEM);
        client->wire = WIRE_NULL;
        client->path = strdup(path);
        if (!client->path)
                return error_origin(-ENOMEM);

        *ret_client = TAKE_PTR(client);
        return 0;
}

_public_ cgtask_client *cgtask_client_free(cgtask_client *client)
{
        if (!client)
                return NULL;
        free(client->error_name);
        wire_close(&client->wire);
        free(client->path);
        free(client);
        return NULL;
}

void client_freep(cgtask_client **client)
{
        cgtask_client_free(*client);
}

_public_ void cgtask_client_set_timeout(cgtask_client *client, uint64_t usec)
{
        uint64_t deadline;

        if (usec == 0 || __builtin_add_overflow(wire_now(), usec, &deadline))
                deadline = WIRE_NO_DEADLINE;
        client->wire.deadline_usec = deadline;
}

_public_ const char *cgtask_client_error(const cgtask_client *client)
{
        return client->error;
}

_public_ const char *cgtask_client_error_name(const cgtask_client *client)
{
        return client->error_name;
}

static void client_forget_error(cgtask_client *client)
{
        free(client->error_name);
        client->error_name = NULL;
}

/* Copies as many whole characters of line as fit. */
static void client_set_error(cgtask_client *client, const char *line)
{
        size_t n = 0, length;
        uint32_t c;

        while ((length = display_decode(line + n, &c)) > 0 && n + length < sizeof(client->error))
                n += length;
        memcpy(client->error, line, n);
        client->error[n] = 0;
}

int client_fail(cgtask_client *client, int r, const char *format, ...)
{
        char text[CLIENT_ERROR_MAX];
        _cleanup_free_ char *line = NULL;
        va_list ap;

        va_start(ap, format);
        (void)vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);

        /* Reasons come over a socket that anybody may have made: nothing of them goes out raw. */
        if (display_escape(text, &line) < 0)
                strcpy(client->error, "out of memory");
        else
                client_set_error(client, line);
        return error_origin(r);
}

/* What became of the connection, as text and errno. It is closed. */
static int client_fail_wire(cgtask_client *client, int r)
{
        wire_close(&client->wire);
        switch (r) {
        case WIRE_E_TIMEOUT:
                return client_fail(client, -ETIMEDOUT, "no answer from cgtaskd in time");
        case WIRE_E_CLOSED:
                return client_fail(client, -ECONNRESET,
                                   "cgtaskd closed the connection without an answer");
        case WIRE_E_TOO_LONG:
                return client_fail(client, -EMSGSIZE,
                                   "the answer of cgtaskd is longer than %d bytes", WIRE_REPLY_MAX);
        case WIRE_E_MALFORMED:
                return client_fail(client, -EPROTO, "the answer of cgtaskd is not valid Varlink");
        default:
                return client_fail(client, r, "cannot talk to cgtaskd: %s", strerror(-r));
        }
}

int client_malformed(cgtask_client *client, const char *member)
{
        wire_close(&client->wire);
        return client_fail(client, -EPROTO, "the answer of cgtaskd lacks a valid '%s'", member);
}

static int client_connect(cgtask_client *client)
{
        const char *hint = "";
        int r;

        if (client->wire.fd >= 0)
                return 0;
        r = wire_connect(&client->wire, client->path);
        if (r == WIRE_E_TIMEOUT)
                return client_fail(client, -ETIMEDOUT,
                                   "cannot connect to %s in time (cgtaskd is busy or hangs)",
                                   client->path);
        if (r == -ENOENT || r == -ECONNREFUSED)
                hint = " (is cgtaskd.socket running?)";
        if (r < 0)
                return client_fail(client, r, "cannot connect to %s: %s%s", client->path,
                                   strerror(-r), hint);
        return 0;
}

_public_ int cgtask_client_connect(cgtask_client *client)
{
        client_forget_error(client);
        return error_fold(client_connect(client));
}

int client_send(cgtask_client *client, const char *method, const json_t *parameters, bool more)
{
        _cleanup_json_ json_t *message = NULL;
        char name[128];
        int r;

        client_forget_error(client);
        r = client_connect(client);
        if (r < 0)
                return error_fold(r);

        (void)snprintf(name, sizeof(name), WIRE_INTERFACE ".%s", method);
        message = json_pack("{s:s}", "method", name);
        if (!message ||
            (parameters && json_object_set(message, "parameters", (json_t *)parameters) < 0) ||
            (more && json_object_set_new(message, "more", json_true()) < 0))
                return client_fail(client, -ENOMEM, "out of memory");

        r = wire_send(&client->wire, message);
        if (r && r != WIRE_E_CLOSED)
                return client_fail_wire(client, r);
        return 0;
}

static const char *client_text(const json_t *parameters, const char *member)
{
        return json_string_value(json_object_get(parameters, member));
}

static json_int_t client_integer(const json_t *parameters, const char *member)
{
        return json_integer_value(json_object_get(parameters, member));
}

/* "WHAT: REASON", or WHAT alone where the daemon gave no reason. */
static int client_fail_reason(cgtask_client *client, const char *what, const json_t *parameters)
{
        const char *reason = client_text(parameters, "reason");

        return client_fail(client, -EREMOTEIO, "%s%s%s", what, reason ? ": " : "",
                           reason ? reason : "");
}

static int client_fail_parameter(cgtask_client *client, const json_t *parameters)
{
        const char *parameter = client_text(parameters, "parameter");
        char what[256];

        (void)snprintf(what, sizeof(what), "cgtaskd does not accept %s",
                       parameter ? parameter : "the request");
        return client_fail_reason(client, what, parameters);
}

static int client_fail_execution(cgtask_client *client, const char *format,
                                 const json_t *parameters)
{
        const char *id = client_text(parameters, "id");
        char what[128];

        (void)snprintf(what, sizeof(what), format, id ? id : "");
        return client_fail_reason(client, what, parameters);
}

/* Errors whose text is fixed words and the reason, if one is given. */
static const struct {
        const char *name;
        const char *what;
} client_errors[] = {
        { WIRE_ERROR_PERMISSION_DENIED, "permission denied" },
        { WIRE_ERROR_UNSUPPORTED, "not supported here" },
        { WIRE_ERROR_NOT_READY, "cgtaskd is not ready" },
        { WIRE_ERROR_STORE_UNAVAILABLE, "cgtaskd cannot store rows" },
        { WIRE_ERROR_INTERFACE_NOT_FOUND, "the socket belongs to another service" },
        { WIRE_ERROR_METHOD_NOT_FOUND, "cgtaskd is older than this program" },
        { WIRE_ERROR_METHOD_NOT_IMPLEMENTED, "cgtaskd does not implement this" },
};

static int client_fail_answered(cgtask_client *client, const char *name, const json_t *parameters)
{
        free(client->error_name);
        client->error_name = strdup(name);
        if (!client->error_name)
                return client_fail(client, -ENOMEM, "out of memory");

        for (size_t i = 0; i < N_ELEMENTS(client_errors); i++)
                if (strcmp(name, client_errors[i].name) == 0)
                        return client_fail_reason(client, client_errors[i].what, parameters);
        if (strcmp(name, WIRE_ERROR_NO_SUCH_EXECUTION) == 0)
                return client_fail_execution(client, "no such execution: %s", parameters);
        if (strcmp(name, WIRE_ERROR_NOT_YOURS) == 0)
                return client_fail_execution(client, "execution %s belongs to another user",
                                             parameters);
        if (strcmp(name, WIRE_ERROR_QUOTA_EXCEEDED) == 0)
                return client_fail(client, -EREMOTEIO, "quota exceeded: %s (limit %lld)",
                                   client_text(parameters, "quota") ?: "unknown",
                                   (long long)client_integer(parameters, "limit"));
        if (strcmp(name, WIRE_ERROR_LIMIT_REFUSED) == 0)
                return client_fail(client, -EREMOTEIO, "cgtaskd refuses %s above %lld",
                                   client_text(parameters, "field") ?: "a value",
                                   (long long)client_integer(parameters, "maximum"));
        if (strcmp(name, WIRE_ERROR_INVALID_PARAMETER) == 0)
                return client_fail_parameter(client, parameters);
        return client_fail_reason(client, name, parameters);
}

int client_receive(cgtask_client *client, json_t **ret_parameters, bool *ret_continues)
{
        _cleanup_json_ json_t *message = NULL, *parameters = NULL;
        json_t *error, *continues;
        int r;

        r = wire_receive(&client->wire, &message);
        if (r)
                return client_fail_wire(client, r);

        error = json_object_get(message, "error");
        continues = json_object_get(message, "continues");
        parameters = json_incref(json_object_get(message, "parameters"));
        if (!parameters || json_is_null(parameters)) {
                json_decref(parameters);
                parameters = json_object();
        }
        if ((error && !json_is_string(error)) || (continues && !json_is_boolean(continues)) ||
            (json_is_true(continues) && !ret_continues) || !json_is_object(parameters))
                return client_fail_wire(client, WIRE_E_MALFORMED);
        if (error)
                return client_fail_answered(client, json_string_value(error), parameters);

        *ret_parameters = TAKE_PTR(parameters);
        if (ret_continues)
                *ret_continues = json_is_true(continues);
        return 0;
}

int client_call(cgtask_client *client, const char *method, const json_t *parameters,
                json_t **ret_parameters)
{
        _cleanup_json_ json_t *reply = NULL;
        int r;

        /* A daemon that is restarted may end with calls not read yet: the next one gets them. */
        for (bool again = true;; again = false) {
                client->wire.unread = false;
                r = client_send(client, method, parameters, false);
                if (r == 0)
                        r = client_receive(client, &reply, NULL);
                if (r == 0 || client->error_name || !again || !client->wire.unread)
                        break;
        }
        if (r < 0)
                return error_fold(r);
        if (ret_parameters)
                *ret_parameters = TAKE_PTR(reply);
        return 0;
}
