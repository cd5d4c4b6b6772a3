/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The registry and the drain as far as they go without a cgroup: quotas, look-up, what becomes of a
 * creation that finds no parent, and a drain of nothing. Everything else is tested on a real kernel.
 */

#include "drain.h"
#include "registry.h"

#include "store-fixture.h"

#include <event2/event.h>

#define ID "0197f0c0a1b2733c8d4e5f6071829304"

typedef struct Setup {
        Fixture *files;
        Loop *loop;
        Watch *watch;
        Worker *worker;
        Hierarchy *hierarchy;
        UserTable *users;
        Config config;
        Host host;
        Registry *registry;
        Drain *drain;
        unsigned n_removed, n_told;
        int64_t drained, killed;
        DrainWaiter waiters[3];
        bool again; /* the first one that is told starts another drain */
} Setup;

static Setup *current;

static int on_watch(void *userdata, void *subject, int cookie)
{
        return 0;
}

static void on_change(void *userdata, Execution *execution, bool is_new)
{
        if (execution->state == EXECUTION_REMOVED)
                ++((Setup *)userdata)->n_removed;
}

static int set_up(void **state)
{
        Setup *s = calloc(1, sizeof(*s));
        ExecutionContext context;
        Store *store;

        assert_non_null(s);
        assert_int_equal(fixture_set_up((void **)&s->files), 0);
        assert_int_equal(config_init(&s->config), 0);
        assert_int_equal(host_init(&s->host), 0);
        assert_int_equal(loop_new(&s->loop), 0);
        assert_int_equal(watch_new(s->loop, on_watch, s, &s->watch), 0);
        assert_int_equal(store_new(s->files->path, &store), 0);
        assert_int_equal(worker_new(store, &s->worker), 0);
        assert_true(hierarchy_new("/nonexistent", &s->hierarchy) >= 0); /* never made ready here */
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
        registry_on_change(s->registry, on_change, s);
        assert_int_equal(drain_new(s->loop, s->registry, &s->drain), 0);
        current = s;
        *state = s;
        return 0;
}

static int tear_down(void **state)
{
        Setup *s = *state;
        void *files = s->files;

        assert_null(worker_free(s->worker));
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

#define registry_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

/* Its texts are on the heap: whatever becomes of it, they must be freed. */
static int create(Setup *s, uid_t uid, RegistryQuota *ret_quota)
{
        ExecutionLimits limits = { 0 };
        Metadata metadata = METADATA_NULL;
        Execution *e = NULL;
        int r, e_errno = 0;

        metadata.uid = uid;
        metadata.task = strdup("t");
        metadata.labels = strdup("{\"a\":\"b\"}");
        r = registry_create(s->registry, &metadata, &limits, &e, ret_quota, &e_errno);
        assert_null(metadata.task);
        assert_null(metadata.labels);
        assert_null(e);
        return r;
}

static void expect_quota(Setup *s, uid_t uid, const char *name, uint64_t limit)
{
        RegistryQuota quota = { 0 };

        assert_int_equal(create(s, uid, &quota), REGISTRY_E_QUOTA);
        assert_string_equal(quota.name, name);
        assert_true(quota.limit == limit);
}

static void test_empty_registry_counts_nothing(void **state)
{
        Setup *s = *state;

        assert_int_equal(registry_count(s->registry), 0);
        assert_int_equal(registry_count_live(s->registry), 0);
        for (unsigned i = 0; i < _EXECUTION_STATE_N; ++i)
                assert_int_equal(registry_count_state(s->registry, (ExecutionState)i), 0);
        assert_int_equal(registry_look_at_all(s->registry), 0);
        assert_null(registry_free(NULL));
        assert_null(drain_free(NULL));
}

static void test_only_ids_are_looked_up(void **state)
{
        static const char *const ids[] = { "", "x", ID, ID "0", "0", "../../x-" };
        Setup *s = *state;
        char large[5000];

        for (size_t i = 0; i < N_ELEMENTS(ids); ++i)
                assert_null(registry_find(s->registry, ids[i]));
        memset(large, 'a', sizeof(large) - 1);
        large[sizeof(large) - 1] = '\0';
        assert_null(registry_find(s->registry, large));
}

static void test_quotas_are_named(void **state)
{
        Setup *s = *state;

        s->config.max_creates_per_second_per_user = 0;
        expect_quota(s, 1000, "MaxCreatesPerSecondPerUser", 0);
        s->config.max_executions_per_user = 0;
        expect_quota(s, 1000, "MaxExecutionsPerUser", 0);
        s->config.max_executions = 0;
        expect_quota(s, 1000, "MaxExecutions", 0);
        expect_quota(s, 0, "MaxExecutions", 0); /* that one holds for root, too */
}

/* The hierarchy vanished between the question and the deed: nothing is left behind. */
static void test_no_parent_is_gone(void **state)
{
        Setup *s = *state;
        RegistryQuota quota;

        s->config.max_executions_per_user = 0; /* root is exempt */
        s->config.max_creates_per_second_per_user = 0;
        assert_int_equal(create(s, 0, &quota), EXECUTION_E_GONE);
        assert_int_equal(registry_count(s->registry), 0);
        assert_int_equal(s->n_removed, 0);
        assert_int_equal(watch_count(s->watch), 0);
}

static void on_drained(DrainWaiter *waiter, int64_t drained, int64_t killed)
{
        ++current->n_told;
        current->drained = drained;
        current->killed = killed;
        if (!current->again)
                return;
        current->again = false;
        waiter->fn = on_drained;
        assert_int_equal(drain_start(current->drain, 0, waiter), 0);
}

static void test_drain_of_nothing_is_done_at_once(void **state)
{
        Setup *s = *state;

        assert_false(drain_is_active(s->drain));
        assert_int_equal(drain_check(s->drain), 0);
        s->waiters[0].fn = on_drained;
        assert_int_equal(drain_start(s->drain, UINT64_MAX / 2, &s->waiters[0]), 0);
        assert_int_equal(s->n_told, 1);
        assert_int_equal(s->drained, 0);
        assert_int_equal(s->killed, 0);
        assert_true(drain_is_active(s->drain)); /* until the daemon ends */
        assert_int_equal(drain_check(s->drain), 0);
        assert_int_equal(s->n_told, 1);
}

/* What a pipelining client does: the next Drain comes from within the answer to the first. */
static void test_drain_may_be_started_by_its_own_end(void **state)
{
        Setup *s = *state;

        s->again = true;
        s->waiters[0].fn = on_drained;
        assert_int_equal(drain_start(s->drain, 0, &s->waiters[0]), 0);
        assert_int_equal(s->n_told, 2);
}

static void test_cancelled_waiter_is_not_told(void **state)
{
        Setup *s = *state;

        s->waiters[0].fn = on_drained;
        drain_wait_cancel(&s->waiters[0]); /* never waited */
        assert_int_equal(drain_start(s->drain, 0, &s->waiters[0]), 0);
        drain_wait_cancel(&s->waiters[0]);
        drain_wait_cancel(&s->waiters[0]);
        assert_int_equal(s->n_told, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                registry_test(test_empty_registry_counts_nothing),
                registry_test(test_only_ids_are_looked_up),
                registry_test(test_quotas_are_named),
                registry_test(test_no_parent_is_gone),
                registry_test(test_drain_of_nothing_is_done_at_once),
                registry_test(test_drain_may_be_started_by_its_own_end),
                registry_test(test_cancelled_waiter_is_not_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
