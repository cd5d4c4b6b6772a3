/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A daemon's inside without a cgroup: the real listener, registry, worker, store and methods over a
 * real socket. The hierarchy is never ready.
 */

#include "api.h"
#include "listener.h"
#include "peer-fixture.h"
#include "private/wire.h"
#include "store-fixture.h"

#include <grp.h>
#include <signal.h>
#include <sys/un.h>
#include <sys/wait.h>

#define ID "0197f0c0a1b2733c8d4e5f6071829304"
#define USER 54321
#define GROUP_LAUNCH 54400
#define GROUP_READ 54401

typedef struct Setup {
        Fixture *files;
        char socket[96];
        Loop *loop;
        Watch *watch;
        Worker *worker;
        LoopSource *worker_source;
        Hierarchy *hierarchy;
        UserTable *users;
        Config config;
        Host host;
        AccessGroups groups;
        Registry *registry;
        Drain *drain;
        Api *api;
        Listener *listener;
        Client *client;
        unsigned n_needed; /* times the hierarchy was asked for */
} Setup;

static inline int on_watch(void *userdata, void *subject, int cookie)
{
        return 0;
}

static inline int on_worker(void *userdata)
{
        return worker_dispatch(((Setup *)userdata)->worker);
}

static inline int need_hierarchy(void *userdata)
{
        ++((Setup *)userdata)->n_needed;
        return 0;
}

static inline json_t *status(void *userdata)
{
        return json_pack("{s:s}", "state", "waiting");
}

static inline void set_up_accounting(Setup *s)
{
        ExecutionContext context;
        Store *store;

        assert_int_equal(watch_new(s->loop, on_watch, s, &s->watch), 0);
        assert_int_equal(store_new(s->files->path, &store), 0);
        assert_int_equal(worker_new(store, &s->worker), 0);
        assert_int_equal(loop_add_fd(s->loop, "worker", LOOP_PRIORITY_KERNEL,
                                     worker_get_fd(s->worker), on_worker, s, &s->worker_source),
                         0);
        assert_true(hierarchy_new("/nonexistent", &s->hierarchy) >= 0);
        assert_int_equal(user_table_new(&s->users), 0);
        context = (ExecutionContext){
                .loop = s->loop,
                .watch = s->watch,
                .worker = s->worker,
                .hierarchy = s->hierarchy,
                .config = &s->config,
                .host = &s->host,
        };
        assert_int_equal(registry_new(&context, s->users, &s->registry), 0);
        assert_int_equal(drain_new(s->loop, s->registry, &s->drain), 0);
}

static inline void set_up_serving(Setup *s)
{
        ApiContext context = {
                .loop = s->loop,
                .registry = s->registry,
                .worker = s->worker,
                .hierarchy = s->hierarchy,
                .drain = s->drain,
                .config = &s->config,
                .status = status,
                .need_hierarchy = need_hierarchy,
                .userdata = s,
        };
        PeerHandler handler;
        int fd = -1;

        assert_int_equal(api_new(&context, &s->api), 0);
        handler = api_get_handler(s->api);
        (void)snprintf(s->socket, sizeof(s->socket), "%s/socket", s->files->folder);
        assert_int_equal(listener_bind(s->socket, &fd), 0);
        assert_int_equal(
                listener_new(s->loop, fd, &s->config, &handler, &s->groups, s->users, &s->listener),
                0);
}

static inline int connect_to(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return cleanup_close(fd);
        return fd;
}

static inline Client *client_connect(Setup *s)
{
        int fd = connect_to(s->socket);

        assert_true(fd >= 0);
        return client_new(fd);
}

static inline int set_up(void **state)
{
        Setup *s = calloc(1, sizeof(*s));

        assert_non_null(s);
        (void)signal(SIGPIPE, SIG_IGN);
        assert_int_equal(fixture_set_up((void **)&s->files), 0);
        assert_int_equal(chmod(s->files->folder, 0755), 0);
        assert_int_equal(config_init(&s->config), 0);
        assert_int_equal(host_init(&s->host), 0);
        s->groups = (AccessGroups){ GROUP_LAUNCH, GROUP_READ };
        assert_int_equal(loop_new(&s->loop), 0);
        set_up_accounting(s);
        set_up_serving(s);
        s->client = client_connect(s);
        *state = s;
        return 0;
}

/* In the daemon's order. */
static inline int tear_down(void **state)
{
        Setup *s = *state;
        void *files = s->files;

        assert_null(listener_free(s->listener));
        s->client = client_free(s->client);
        s->worker_source = loop_source_free(s->worker_source);
        assert_null(worker_free(s->worker));
        assert_null(api_free(s->api));
        assert_null(drain_free(s->drain));
        assert_null(registry_free(s->registry));
        s->users = user_table_free(s->users);
        assert_null(hierarchy_free(s->hierarchy));
        assert_null(watch_free(s->watch));
        assert_null(loop_free(s->loop));
        config_deinit(&s->config);
        assert_int_equal(fixture_tear_down(&files), 0);
        free(s);
        return 0;
}

#define method_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static inline void call(Setup *s, const char *method, const char *parameters)
{
        char text[8192];

        (void)snprintf(text, sizeof(text), "{\"method\":\"%s\",\"parameters\":%s}", method,
                       parameters);
        client_send(s->client, text);
}

#define EXECUTIONS(name) WIRE_INTERFACE "." name
#define SERVICE(name) WIRE_SERVICE "." name

/* The answer is this error; returns the text of one of its parameters in a static buffer. */
static inline const char *expect_error(Setup *s, const char *error, const char *parameter)
{
        static char text[1024];
        json_t *answer = client_wait(s->client, s->loop);
        json_t *value = json_object_get(json_object_get(answer, "parameters"), parameter);
        const char *got = json_string_value(json_object_get(answer, "error"));

        if (!got || strcmp(got, error) != 0)
                fail_msg("got %s, wanted %s", got ? got : "no error", error);
        (void)snprintf(text, sizeof(text), "%s",
                       json_is_string(value) ? json_string_value(value) : "");
        json_decref(answer);
        return text;
}

static inline void expect_invalid(Setup *s, const char *parameter)
{
        assert_string_equal(expect_error(s, WIRE_ERROR_INVALID_PARAMETER, "parameter"), parameter);
}
