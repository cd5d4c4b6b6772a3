/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The methods (api*.c), over the real socket with the real listener, registry, worker and store;
 * there is no cgroup, so the hierarchy is never ready. What needs one is tested in a guest.
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

static int on_watch(void *userdata, void *subject, int cookie)
{
        return 0;
}

static int on_worker(void *userdata)
{
        return worker_dispatch(((Setup *)userdata)->worker);
}

static int need_hierarchy(void *userdata)
{
        ++((Setup *)userdata)->n_needed;
        return 0;
}

static json_t *status(void *userdata)
{
        return json_pack("{s:s}", "state", "waiting");
}

static void set_up_accounting(Setup *s)
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

static void set_up_serving(Setup *s)
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

static int connect_to(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return cleanup_close(fd);
        return fd;
}

static Client *client_connect(Setup *s)
{
        int fd = connect_to(s->socket);

        assert_true(fd >= 0);
        return client_new(fd);
}

static int set_up(void **state)
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
static int tear_down(void **state)
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

static void call(Setup *s, const char *method, const char *parameters)
{
        char text[8192];

        (void)snprintf(text, sizeof(text), "{\"method\":\"%s\",\"parameters\":%s}", method,
                       parameters);
        client_send(s->client, text);
}

#define EXECUTIONS(name) WIRE_INTERFACE "." name
#define SERVICE(name) WIRE_SERVICE "." name

/* The answer is this error; returns the text of one of its parameters in a static buffer. */
static const char *expect_error(Setup *s, const char *error, const char *parameter)
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

static void expect_invalid(Setup *s, const char *parameter)
{
        assert_string_equal(expect_error(s, WIRE_ERROR_INVALID_PARAMETER, "parameter"), parameter);
}

/* -- org.varlink.service and dispatch -- */

static void test_service_describes_itself(void **state)
{
        Setup *s = *state;
        json_t *answer, *p;

        call(s, SERVICE("GetInfo"), "{}");
        answer = client_wait(s->client, s->loop);
        p = json_object_get(answer, "parameters");
        assert_string_equal(json_string_value(json_object_get(p, "product")), "cgtaskd");
        assert_int_equal(json_array_size(json_object_get(p, "interfaces")), 2);
        json_decref(answer);
        call(s, SERVICE("GetInterfaceDescription"), "{\"interface\":\"" WIRE_INTERFACE "\"}");
        answer = client_wait(s->client, s->loop);
        p = json_object_get(json_object_get(answer, "parameters"), "description");
        assert_non_null(strstr(json_string_value(p), "interface " WIRE_INTERFACE));
        assert_non_null(strstr(json_string_value(p), "method Create("));
        json_decref(answer);
        call(s, SERVICE("GetInterfaceDescription"), "{\"interface\":\"" WIRE_SERVICE "\"}");
        answer = client_wait(s->client, s->loop);
        p = json_object_get(json_object_get(answer, "parameters"), "description");
        assert_non_null(strstr(json_string_value(p), "interface " WIRE_SERVICE));
        json_decref(answer);
        call(s, SERVICE("GetInterfaceDescription"), "{\"interface\":\"a.b\"}");
        assert_string_equal(expect_error(s, WIRE_ERROR_INTERFACE_NOT_FOUND, "interface"), "a.b");
        call(s, SERVICE("GetInterfaceDescription"), "{}");
        expect_invalid(s, "interface");
        call(s, SERVICE("GetInterfaceDescription"), "{\"interface\":1}");
        expect_invalid(s, "interface");
}

static void test_unknown_methods_are_errors(void **state)
{
        static const struct {
                const char *method, *error, *parameter, *value;
        } cases[] = {
                { EXECUTIONS("Explode"), WIRE_ERROR_METHOD_NOT_FOUND, "method",
                  EXECUTIONS("Explode") },
                { EXECUTIONS("create"), WIRE_ERROR_METHOD_NOT_FOUND, "method",
                  EXECUTIONS("create") },
                { EXECUTIONS(""), WIRE_ERROR_METHOD_NOT_FOUND, "method", EXECUTIONS("") },
                { SERVICE("Get"), WIRE_ERROR_METHOD_NOT_FOUND, "method", SERVICE("Get") },
                { "io.cgtask.Create", WIRE_ERROR_INTERFACE_NOT_FOUND, "interface", "io.cgtask" },
                { EXECUTIONS("Create.x"), WIRE_ERROR_INTERFACE_NOT_FOUND, "interface",
                  EXECUTIONS("Create") },
                { "Create", WIRE_ERROR_INTERFACE_NOT_FOUND, "interface", "" },
                { "", WIRE_ERROR_INTERFACE_NOT_FOUND, "interface", "" },
                { ".", WIRE_ERROR_INTERFACE_NOT_FOUND, "interface", "" },
                { "\xc3\xa9.\xc3\xa9", WIRE_ERROR_INTERFACE_NOT_FOUND, "interface", "\xc3\xa9" },
        };
        Setup *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                call(s, cases[i].method, "{}");
                assert_string_equal(expect_error(s, cases[i].error, cases[i].parameter),
                                    cases[i].value);
        }
}

static void test_unknown_parameters_are_errors(void **state)
{
        static const char *const methods[] = {
                EXECUTIONS("Create"),    EXECUTIONS("Attach"), EXECUTIONS("Release"),
                EXECUTIONS("Finish"),    EXECUTIONS("Kill"),   EXECUTIONS("Get"),
                EXECUTIONS("GetStatus"), EXECUTIONS("Drain"),  SERVICE("GetInfo"),
        };
        Setup *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(methods); ++i) {
                call(s, methods[i], "{\"bogus\":null}");
                expect_invalid(s, "bogus");
        }
        client_send(s->client, "{\"method\":\"" EXECUTIONS(
                                       "List") "\",\"more\":true,\"parameters\":{\"Task\":\"t\"}}");
        expect_invalid(s, "Task");
}

static void test_flags_are_honoured(void **state)
{
        Setup *s = *state;

        client_send(s->client, "{\"method\":\"" EXECUTIONS("List") "\"}");
        (void)expect_error(s, WIRE_ERROR_EXPECTED_MORE, "");
        client_send(s->client, "{\"method\":\"" SERVICE("GetInfo") "\",\"upgrade\":true}");
        expect_invalid(s, "upgrade");
        client_send(s->client, "{\"method\":\"" SERVICE("GetInfo") "\",\"oneway\":true}");
        client_send(s->client, "{\"method\":\"" EXECUTIONS("Nobody") "\",\"oneway\":true}");
        client_send(s->client,
                    "{\"method\":\"" EXECUTIONS("Get") "\",\"oneway\":true,"
                                                       "\"parameters\":{\"id\":\"" ID "\"}}");
        client_send(s->client, "{\"method\":\"" EXECUTIONS("GetStatus") "\"}");
        client_expect(s->client, s->loop, "{\"parameters\":{\"status\":{\"state\":\"waiting\"}}}");
        client_expect_silence(s->client, s->loop);
}

/* -- Create -- */

static void test_bad_creates_are_refused(void **state)
{
        static const struct {
                const char *parameters, *refused;
        } cases[] = {
                { "{\"task\":1}", "task" },
                { "{\"task\":\"\"}", "task" },
                { "{\"task\":\"a\\nb\"}", "task" },
                { "{\"task\":\"\\u007f\"}", "task" },
                { "{\"task\":\"\\u009b31m\"}", "task" },
                { "{\"labels\":[]}", "labels" },
                { "{\"labels\":\"x\"}", "labels" },
                { "{\"labels\":{\"a\":1}}", "labels" },
                { "{\"labels\":{\"a\":null}}", "labels" },
                { "{\"labels\":{\"\":\"a\"}}", "labels" },
                { "{\"labels\":{\"a\":\"\\u0001\"}}", "labels" },
                { "{\"labels\":{\"\\t\":\"a\"}}", "labels" },
                { "{\"labels\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\",\"d\":\"4\"}}", "labels" },
                { "{\"labels\":{\"a\":\"123456789012345678901234567890\"}}", "labels" },
                { "{\"limits\":1}", "limits" },
                { "{\"limits\":{\"memoryMin\":4096}}", "limits" },
                { "{\"limits\":{\"memoryMax\":4095}}", "memoryMax" },
                { "{\"limits\":{\"memoryMax\":-1}}", "memoryMax" },
                { "{\"limits\":{\"memoryMax\":1e9}}", "memoryMax" },
                { "{\"limits\":{\"memoryMax\":\"1G\"}}", "memoryMax" },
                { "{\"limits\":{\"memoryHigh\":0}}", "memoryHigh" },
                { "{\"limits\":{\"swapMax\":-1}}", "swapMax" },
                { "{\"limits\":{\"pidsMax\":0}}", "pidsMax" },
                { "{\"limits\":{\"oomGroup\":1}}", "oomGroup" },
                { "{\"stragglers\":\"never\"}", "stragglers" },
                { "{\"stragglers\":5}", "stragglers" },
                { "{\"attemptOf\":\"x\"}", "attemptOf" },
                { "{\"attemptOf\":\"0197F0C0A1B2733C8D4E5F6071829304\"}", "attemptOf" },
                { "{\"attemptOf\":\"0197f0c0a1b2733c8d4e5f60718293040\"}", "attemptOf" },
                { "{\"attach\":1}", "attach" },
                { "{\"command\":\"sh\"}", "command" },
                { "{\"command\":[1]}", "command" },
                { "{\"command\":{}}", "command" },
        };
        Setup *s = *state;

        s->config.max_labels = 3;
        s->config.max_label_bytes = 20;
        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                call(s, EXECUTIONS("Create"), cases[i].parameters);
                expect_invalid(s, cases[i].refused);
        }
        assert_int_equal(s->n_needed, 0);
        assert_int_equal(registry_count(s->registry), 0);
}

static void test_long_task_names_its_limit(void **state)
{
        Setup *s = *state;

        s->config.max_task_bytes = 3;
        call(s, EXECUTIONS("Create"), "{\"task\":\"abcd\"}");
        assert_string_equal(expect_error(s, WIRE_ERROR_INVALID_PARAMETER, "reason"),
                            "longer than MaxTaskBytes=3");
        call(s, EXECUTIONS("Create"), "{\"task\":\"\\u00e9\\u00e9\"}"); /* bytes, not characters */
        expect_invalid(s, "task");
}

/* Each within its limits, and yet too much for one xattr: quotes take four bytes there. */
static void test_labels_that_the_kernel_cannot_hold_are_refused(void **state)
{
        Setup *s = *state;
        char *text = calloc(1, 70000), *p;

        p = stpcpy(text, "{\"method\":\"" EXECUTIONS("Create") "\",\"parameters\":{\"labels\":{");
        for (unsigned i = 0; i < 30; ++i) {
                p += sprintf(p, "%s\"k%u\":\"", i ? "," : "", i);
                for (unsigned k = 0; k < 1000; ++k)
                        p = stpcpy(p, "\\\"");
                p = stpcpy(p, "\"");
        }
        (void)stpcpy(p, "}}}");
        client_send(s->client, text);
        free(text);
        expect_invalid(s, "labels");
}

/* What is right waits for the keeper; a client that leaves is forgotten. */
static void test_create_waits_for_the_hierarchy(void **state)
{
        Setup *s = *state;

        call(s, EXECUTIONS("Create"),
             "{\"task\":\"t\",\"labels\":{\"a\":\"b\"},\"limits\":{\"memoryMax\":1048576,"
             "\"memoryHigh\":null,\"swapMax\":0,\"pidsMax\":10,\"oomGroup\":true},"
             "\"stragglers\":\"10s\",\"attemptOf\":\"" ID "\",\"attach\":true,"
             "\"command\":[\"/bin/sh\",\"-c\",\"x\\u0007\"]}");
        call(s, SERVICE("GetInfo"), "{}"); /* behind it, so it waits as well */
        client_expect_silence(s->client, s->loop);
        assert_int_equal(s->n_needed, 1);
        s->client = client_free(s->client);
        loop_rest(s->loop);
        assert_int_equal(listener_count(s->listener), 0);
        assert_int_equal(api_on_ready(s->api), 0);
}

static void test_waiting_creates_go_with_the_listener(void **state)
{
        Setup *s = *state;

        call(s, EXECUTIONS("Create"), "{\"task\":\"t\"}");
        client_expect_silence(s->client, s->loop);
        s->listener = listener_free(s->listener);
        client_expect_end(s->client, s->loop);
}

/* -- ids -- */

static void test_ids_are_checked(void **state)
{
        static const char *const methods[] = { EXECUTIONS("Attach"), EXECUTIONS("Release"),
                                               EXECUTIONS("Kill"), EXECUTIONS("Get") };
        Setup *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(methods); ++i) {
                call(s, methods[i], "{}");
                expect_invalid(s, "id");
                call(s, methods[i], "{\"id\":null}");
                expect_invalid(s, "id");
                call(s, methods[i], "{\"id\":7}");
                expect_invalid(s, "id");
        }
}

/* Without its hierarchy the daemon cannot know whether it is there: it does not say "no". */
static void test_actions_on_unknown_ids_are_not_ready(void **state)
{
        static const char *const methods[] = { EXECUTIONS("Attach"), EXECUTIONS("Release"),
                                               EXECUTIONS("Kill") };
        static const char *const ids[] = { ID, "x", "", "../../x" };
        Setup *s = *state;
        char parameters[128];

        for (size_t i = 0; i < N_ELEMENTS(methods); ++i)
                for (size_t k = 0; k < N_ELEMENTS(ids); ++k) {
                        (void)snprintf(parameters, sizeof(parameters), "{\"id\":\"%s\"}", ids[k]);
                        call(s, methods[i], parameters);
                        (void)expect_error(s, WIRE_ERROR_NOT_READY, "reason");
                }
        call(s, EXECUTIONS("Finish"), "{\"id\":\"" ID "\",\"exitKind\":\"unknown\"}");
        (void)expect_error(s, WIRE_ERROR_NOT_READY, "reason");
}

static void test_bad_finishes_are_refused(void **state)
{
        static const struct {
                const char *parameters, *refused;
        } cases[] = {
                { "{}", "exitKind" },
                { "{\"exitKind\":\"died\"}", "exitKind" },
                { "{\"exitKind\":0}", "exitKind" },
                { "{\"exitKind\":\"exited\"}", "exitStatus" },
                { "{\"exitKind\":\"exited\",\"exitStatus\":256}", "exitStatus" },
                { "{\"exitKind\":\"signaled\",\"exitStatus\":-1}", "exitStatus" },
                { "{\"exitKind\":\"exited\",\"exitStatus\":\"0\"}", "exitStatus" },
                { "{\"exitKind\":\"unknown\",\"runnerMaxRss\":-1}", "runnerMaxRss" },
                { "{\"exitKind\":\"unknown\",\"runnerMaxRss\":1.5}", "runnerMaxRss" },
                { "{\"exitKind\":\"unknown\",\"waitDrained\":\"yes\"}", "waitDrained" },
                { "{\"exitKind\":\"unknown\"}", "id" },
        };
        Setup *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                call(s, EXECUTIONS("Finish"), cases[i].parameters);
                expect_invalid(s, cases[i].refused);
        }
}

static void test_bad_numbers_are_refused(void **state)
{
        Setup *s = *state;

        call(s, EXECUTIONS("Kill"), "{\"id\":\"" ID "\",\"signal\":0}");
        expect_invalid(s, "signal");
        call(s, EXECUTIONS("Kill"), "{\"id\":\"" ID "\",\"signal\":65}");
        expect_invalid(s, "signal");
        call(s, EXECUTIONS("Attach"), "{\"id\":\"" ID "\",\"pid\":0}");
        expect_invalid(s, "pid");
        call(s, EXECUTIONS("Attach"), "{\"id\":\"" ID "\",\"pid\":4294967297}");
        expect_invalid(s, "pid");
        call(s, EXECUTIONS("Drain"), "{\"graceUsec\":-1}");
        expect_invalid(s, "graceUsec");
        assert_false(drain_is_active(s->drain));
}

/* -- rows -- */

typedef struct RowJob {
        WorkerJob job;
        bool done;
} RowJob;

static void on_row_done(WorkerJob *job, int result)
{
        assert_int_equal(result, 0);
        ((RowJob *)job)->done = true;
}

/* n rows, by turns of root and of USER. */
static void store_rows(Setup *s, unsigned n)
{
        RowJob *jobs = calloc(n, sizeof(*jobs));

        for (unsigned i = 0; i < n; ++i) {
                jobs[i].job.kind = WORKER_JOB_ROW;
                jobs[i].job.done = on_row_done;
                fixture_record(&jobs[i].job.record, i, "finished");
                jobs[i].job.record.uid = i % 2 ? USER : 0;
                worker_submit(s->worker, &jobs[i].job);
        }
        for (unsigned i = 0; i < n; ++i) {
                while (!jobs[i].done)
                        loop_turn(s->loop, EVLOOP_ONCE);
                execution_record_deinit(&jobs[i].job.record);
        }
        free(jobs);
}

static const char *row_id(unsigned i)
{
        static char id[64];
        ExecutionRecord record;

        fixture_record(&record, i, "finished");
        (void)snprintf(id, sizeof(id), "%s", record.id);
        execution_record_deinit(&record);
        return id;
}

static void test_recorded_execution_is_got(void **state)
{
        Setup *s = *state;
        char parameters[128];
        json_t *answer, *o;

        store_rows(s, 2);
        (void)snprintf(parameters, sizeof(parameters), "{\"id\":\"%s\"}", row_id(1));
        call(s, EXECUTIONS("Get"), parameters);
        call(s, SERVICE("GetInfo"), "{}"); /* keeps its place behind the slower one */
        answer = client_wait(s->client, s->loop);
        o = json_object_get(json_object_get(answer, "parameters"), "execution");
        assert_string_equal(json_string_value(json_object_get(o, "id")), row_id(1));
        assert_string_equal(json_string_value(json_object_get(o, "state")), "finished");
        assert_null(json_object_get(o, "cgroupPath"));
        assert_null(json_object_get(o, "memoryCurrent"));
        json_decref(answer);
        answer = client_wait(s->client, s->loop);
        assert_non_null(json_object_get(json_object_get(answer, "parameters"), "product"));
        json_decref(answer);
        call(s, EXECUTIONS("Get"), "{\"id\":\"" ID "\"}");
        assert_string_equal(expect_error(s, WIRE_ERROR_NO_SUCH_EXECUTION, "id"), ID);
        call(s, EXECUTIONS("Get"), "{\"id\":\"' OR 1 --\"}");
        assert_string_equal(expect_error(s, WIRE_ERROR_NO_SUCH_EXECUTION, "id"), "' OR 1 --");
}

/* Reads a listing to its end; returns the number of executions in it. */
static size_t read_list(Setup *s, const char *parameters)
{
        char text[512];
        size_t n = 0;

        (void)snprintf(text, sizeof(text),
                       "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":%s}",
                       parameters);
        client_send(s->client, text);
        for (;;) {
                json_t *answer = client_wait(s->client, s->loop);
                bool more = json_is_true(json_object_get(answer, "continues"));
                json_t *o = json_object_get(json_object_get(answer, "parameters"), "execution");

                assert_null(json_object_get(answer, "error"));
                assert_int_equal(more, o != NULL);
                json_decref(answer);
                if (!more)
                        return n;
                ++n;
        }
}

static void test_recorded_executions_are_listed(void **state)
{
        Setup *s = *state;

        assert_int_equal(read_list(s, "{}"), 0);
        assert_int_equal(read_list(s, "{\"state\":\"finished\"}"), 0);
        store_rows(s, 100);
        assert_int_equal(read_list(s, "{\"state\":\"finished\"}"), 100);
        assert_int_equal(read_list(s, "{\"state\":\"finished\",\"uid\":54321}"), 50);
        assert_int_equal(read_list(s, "{\"state\":\"finished\",\"task\":\"nobody's\"}"), 0);
        assert_int_equal(read_list(s, "{\"state\":\"lost\"}"), 0);
        assert_int_equal(read_list(s, "{\"state\":\"running\"}"), 0);
}

static void test_bad_lists_are_refused(void **state)
{
        static const struct {
                const char *parameters, *refused;
        } cases[] = {
                { "{\"state\":\"dead\"}", "state" }, { "{\"state\":1}", "state" },
                { "{\"task\":1}", "task" },          { "{\"uid\":-1}", "uid" },
                { "{\"uid\":4294967296}", "uid" },   { "{\"uid\":\"root\"}", "uid" },
        };
        Setup *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                char text[256];

                (void)snprintf(
                        text, sizeof(text),
                        "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":%s}",
                        cases[i].parameters);
                client_send(s->client, text);
                expect_invalid(s, cases[i].refused);
        }
}

/* With room for little output the listing stops and goes, and ends all the same. */
static void test_long_list_goes_at_the_clients_pace(void **state)
{
        Setup *s = *state;
        int size = 4096;

        s->config.max_pending_output_bytes = 8192;
        (void)setsockopt(s->client->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
        store_rows(s, 400);
        assert_int_equal(read_list(s, "{\"state\":\"finished\"}"), 400);
}

/* One answer alone is more than may be pending: the client goes, the daemon does not. */
static void test_list_that_overflows_drops_the_client(void **state)
{
        Setup *s = *state;

        s->config.max_pending_output_bytes = 100;
        store_rows(s, 50);
        client_send(s->client,
                    "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":"
                                                        "{\"state\":\"finished\"}}");
        while (!s->client->ended) {
                loop_turn(s->loop, EVLOOP_ONCE);
                client_receive(s->client);
        }
        assert_int_equal(listener_count(s->listener), 0);
}

static void test_client_may_leave_while_the_store_is_asked(void **state)
{
        Setup *s = *state;

        store_rows(s, 10);
        for (unsigned i = 0; i < 20; ++i) {
                client_send(s->client,
                            "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":"
                                                                "{\"state\":\"finished\"}}");
                if (i % 2)
                        loop_turn(s->loop, EVLOOP_ONCE);
                s->client = client_free(s->client);
                s->client = client_connect(s);
        }
        call(s, SERVICE("GetInfo"), "{}");
        json_decref(client_wait(s->client, s->loop));
        /* and one that is still being asked for when everything ends */
        client_send(s->client,
                    "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":"
                                                        "{\"state\":\"finished\"}}");
        loop_turn(s->loop, EVLOOP_NONBLOCK);
}

/* -- Drain -- */

static void test_drain_ends_creation(void **state)
{
        Setup *s = *state;

        call(s, EXECUTIONS("Drain"), "{\"graceUsec\":9223372036854775807}");
        client_expect(s->client, s->loop, "{\"parameters\":{\"drained\":0,\"killed\":0}}");
        call(s, EXECUTIONS("Create"), "{\"task\":\"t\"}");
        assert_non_null(strstr(expect_error(s, WIRE_ERROR_NOT_READY, "reason"), "draining"));
        call(s, EXECUTIONS("Drain"), "{}");
        call(s, EXECUTIONS("Drain"), "{}");
        client_expect(s->client, s->loop, "{\"parameters\":{\"drained\":0,\"killed\":0}}");
        client_expect(s->client, s->loop, "{\"parameters\":{\"drained\":0,\"killed\":0}}");
}

/* -- rights -- */

/* Asks as another user in a child; its answer must contain `wanted`. */
static void ask_as(Setup *s, gid_t group, const char *text, const char *wanted)
{
        int status = -1;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                char answer[4096];
                size_t n = 0;
                int fd;

                (void)alarm(CLIENT_DEADLINE_SEC);
                if (setgroups(1, &group) < 0 || setresgid(USER, USER, USER) < 0 ||
                    setresuid(USER, USER, USER) < 0)
                        _exit(99);
                fd = connect_to(s->socket);
                if (fd < 0 || send(fd, text, strlen(text) + 1, MSG_NOSIGNAL) < 0)
                        _exit(98);
                while (n < sizeof(answer) && recv(fd, answer + n, 1, 0) == 1)
                        if (answer[n++] == '\0')
                                _exit(strstr(answer, wanted) ? 0 : 1);
                _exit(97);
        }
        while (waitpid(pid, &status, WNOHANG) == 0)
                loop_turn(s->loop, EVLOOP_NONBLOCK);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) != 0)
                fail_msg("%s: %d instead of %s", text, WEXITSTATUS(status), wanted);
}

static void test_rights_are_enforced(void **state)
{
        static const struct {
                gid_t group;
                const char *text, *wanted;
        } cases[] = {
                { GROUP_READ, "{\"method\":\"" EXECUTIONS("Create") "\"}",
                  WIRE_ERROR_PERMISSION_DENIED },
                { GROUP_LAUNCH, "{\"method\":\"" EXECUTIONS("Drain") "\"}",
                  WIRE_ERROR_PERMISSION_DENIED },
                { GROUP_READ, "{\"method\":\"" EXECUTIONS("Drain") "\"}",
                  WIRE_ERROR_PERMISSION_DENIED },
                { GROUP_LAUNCH,
                  "{\"method\":\"" EXECUTIONS("Create") "\",\"parameters\":{\"limits\":"
                                                        "{\"memoryMax\":1048577}}}",
                  "{\"error\":\"" WIRE_ERROR_LIMIT_REFUSED
                  "\",\"parameters\":{\"field\":\"memoryMax\",\"maximum\":1048576}}" },
                { GROUP_LAUNCH,
                  "{\"method\":\"" EXECUTIONS(
                          "List") "\",\"more\":true,\"parameters\":{\"uid\":0}}",
                  WIRE_ERROR_PERMISSION_DENIED },
                { GROUP_LAUNCH,
                  "{\"method\":\"" EXECUTIONS("List") "\",\"more\":true,\"parameters\":"
                                                      "{\"uid\":54321}}",
                  "{\"parameters\":{}}" },
                { GROUP_READ,
                  "{\"method\":\"" EXECUTIONS(
                          "List") "\",\"more\":true,\"parameters\":{\"uid\":0}}",
                  "{\"parameters\":{}}" },
                { GROUP_LAUNCH, "{\"method\":\"" EXECUTIONS("GetStatus") "\"}", "waiting" },
        };
        Setup *s = *state;

        if (geteuid() != 0)
                skip();
        s->config.memory_max_ceiling = 1048576;
        for (size_t i = 0; i < N_ELEMENTS(cases); ++i)
                ask_as(s, cases[i].group, cases[i].text, cases[i].wanted);
}

/* Members of cgtask see their own rows; somebody else's is not there for them. */
static void test_rows_of_others_are_hidden(void **state)
{
        Setup *s = *state;
        char mine[256], theirs[256];

        if (geteuid() != 0)
                skip();
        store_rows(s, 2);
        (void)snprintf(theirs, sizeof(theirs),
                       "{\"method\":\"" EXECUTIONS("Get") "\",\"parameters\":{\"id\":\"%s\"}}",
                       row_id(0));
        (void)snprintf(mine, sizeof(mine),
                       "{\"method\":\"" EXECUTIONS("Get") "\",\"parameters\":{\"id\":\"%s\"}}",
                       row_id(1));
        ask_as(s, GROUP_LAUNCH, mine, "\"state\":\"finished\"");
        ask_as(s, GROUP_LAUNCH, theirs, WIRE_ERROR_NO_SUCH_EXECUTION);
        ask_as(s, GROUP_READ, theirs, "\"state\":\"finished\"");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                method_test(test_service_describes_itself),
                method_test(test_unknown_methods_are_errors),
                method_test(test_unknown_parameters_are_errors),
                method_test(test_flags_are_honoured),
                method_test(test_bad_creates_are_refused),
                method_test(test_long_task_names_its_limit),
                method_test(test_labels_that_the_kernel_cannot_hold_are_refused),
                method_test(test_create_waits_for_the_hierarchy),
                method_test(test_waiting_creates_go_with_the_listener),
                method_test(test_ids_are_checked),
                method_test(test_actions_on_unknown_ids_are_not_ready),
                method_test(test_bad_finishes_are_refused),
                method_test(test_bad_numbers_are_refused),
                method_test(test_recorded_execution_is_got),
                method_test(test_recorded_executions_are_listed),
                method_test(test_bad_lists_are_refused),
                method_test(test_long_list_goes_at_the_clients_pace),
                method_test(test_list_that_overflows_drops_the_client),
                method_test(test_client_may_leave_while_the_store_is_asked),
                method_test(test_drain_ends_creation),
                method_test(test_rights_are_enforced),
                method_test(test_rows_of_others_are_hidden),
        };

        /* they are root's methods for the most part; and no stranger to the socket can be tested */
        if (geteuid() != 0) {
                print_message("1..0 # SKIP needs root\n");
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
