/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The doctor's checks on made-up hosts (A43, R24): what is right, what is wrong, what to do. */

#include "check.h"

#include "tree-fixture.h"

#include <stdbool.h>

#define CGROUP "/sys/fs/cgroup"
#define EXECUTIONS CGROUP "/cgtask.slice/cgtask-executions.service"

typedef int (*CheckFn)(const HostFs *host, CheckList *list);

static void mount_with(Tree *t, const char *options, const char *super_options)
{
        char line[256];

        (void)snprintf(line, sizeof(line),
                       "30 22 0:26 / " CGROUP " %s,nosuid - cgroup2 cgroup2 rw%s\n", options,
                       super_options);
        tree_write(t, "/proc/self/mountinfo", line);
}

/* A host on which all is well, as far as files can tell. */
static void make_good_host(Tree *t)
{
        mount_with(t, "rw", ",nsdelegate,memory_recursiveprot");
        tree_write(t, "/proc/self/cgroup", "0::/user.slice/me\n");
        tree_write(t, "/proc/sys/kernel/osrelease", "6.12.0-test\n");
        tree_write(t, "/proc/pressure/memory", "some avg10=0.00 total=0\n");
        tree_write(t, "/proc/sys/fs/inotify/max_user_watches", "192536\n");
        tree_write(t, "/proc/sys/fs/inotify/max_user_instances", "128\n");
        tree_write(t, CGROUP "/cgroup.controllers", "cpuset cpu io memory pids\n");
        tree_write(t, EXECUTIONS "/cgroup.subtree_control", "cpu io memory pids\n");
        tree_write(t, EXECUTIONS "/cgroup.events", "populated 1\nfrozen 0\n");
        tree_write(t, EXECUTIONS "/cgroup.kill", "");
        tree_write(t, EXECUTIONS "/memory.current", "0\n");
        tree_write(t, EXECUTIONS "/memory.peak", "0\n");
        tree_write(t, EXECUTIONS "/memory.swap.peak", "0\n");
        tree_write(t, EXECUTIONS "/memory.swap.current", "0\n");
        tree_write(t, EXECUTIONS "/keeper/cgroup.events", "populated 1\nfrozen 0\n");
        tree_write(t, CGROUP "/cgtask.slice/cgtaskd.service/cgroup.events", "populated 1\n");
        tree_write(t, "/etc/group", "root:x:0:\ncgtask:x:900:\ncgtask-read:x:901:\n");
        tree_write(t, "/proc/self/ns/x", "");
        assert_int_equal(symlink("cgroup:[4026531835]", tree_path(t, "/proc/self/ns/cgroup")), 0);
}

/* The state of the check with this name; -1 if there is none. What is wrong must have a remedy. */
static int state_of(Tree *t, CheckFn fn, const char *name)
{
        _cleanup_(check_list_deinitp) CheckList list = CHECK_LIST_INIT;
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };
        int state = -1;
        size_t i;

        assert_int_equal(hostfs_probe(t->root, NULL, &host), 0);
        assert_int_equal(fn(&host, &list), 0);
        for (i = 0; i < list.n_checks; i++) {
                if (list.checks[i].state == CHECK_WARN || list.checks[i].state == CHECK_FAIL)
                        assert_non_null(list.checks[i].remedy);
                assert_null(strchr(list.checks[i].detail, '\n'));
                if (strcmp(list.checks[i].name, name) == 0)
                        state = (int)list.checks[i].state;
        }
        return state;
}

#define expect_state(t, fn, name, expected) assert_int_equal(state_of((t), (fn), (name)), expected)

static void test_good_host_is_ok(void **state)
{
        static const struct {
                CheckFn fn;
                const char *name;
        } cases[] = {
                { check_hierarchy, "cgroup v2" },
                { check_mount_options, "writable" },
                { check_mount_options, "nsdelegate" },
                { check_mount_options, "memory_recursiveprot" },
                { check_mount_options, "memory_localevents" },
                { check_mount_options, "favordynmods" },
                { check_controllers, "controllers" },
                { check_controllers, "executions' controllers" },
                { check_namespace, "container" },
                { check_memory_files, "memory.peak" },
                { check_memory_files, "memory.swap.peak" },
                { check_core_files, "cgroup.kill" },
                { check_pressure, "pressure (PSI)" },
                { check_inotify, "inotify" },
                { check_units, "cgtask-executions.service" },
                { check_units, "cgtaskd.service" },
                { check_groups, "cgtask" },
                { check_groups, "cgtask-read" },
        };
        size_t i;

        make_good_host(*state);
        for (i = 0; i < N_ELEMENTS(cases); i++)
                if (state_of(*state, cases[i].fn, cases[i].name) != CHECK_OK)
                        fail_msg("%s is not ok", cases[i].name);
}

static void test_hierarchies_that_will_not_do(void **state)
{
        tree_write(*state, "/proc/self/mountinfo", "1 2 0:1 / / rw - ext4 none rw\n");
        expect_state(*state, check_hierarchy, "cgroup v2", CHECK_FAIL);
        expect_state(*state, check_controllers, "controllers", -1);
        tree_write(*state, "/proc/self/mountinfo",
                   "1 2 0:1 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n"
                   "2 2 0:2 / /sys/fs/cgroup/memory rw - cgroup none rw,memory\n");
        expect_state(*state, check_hierarchy, "cgroup v2", CHECK_FAIL);
        tree_write(*state, "/proc/self/mountinfo",
                   "1 2 0:1 / /sys/fs/cgroup rw - cgroup2 none rw\n"
                   "2 2 0:2 / /mnt/freezer rw - cgroup none rw,freezer\n");
        expect_state(*state, check_hierarchy, "cgroup v2", CHECK_WARN);
}

static void test_mount_options_that_cost_something(void **state)
{
        make_good_host(*state);
        mount_with(*state, "ro", "");
        expect_state(*state, check_mount_options, "writable", CHECK_FAIL);
        expect_state(*state, check_mount_options, "nsdelegate", CHECK_WARN);
        expect_state(*state, check_mount_options, "memory_recursiveprot", CHECK_WARN);
        mount_with(*state, "rw", ",memory_localevents,favordynmods");
        expect_state(*state, check_mount_options, "memory_localevents", CHECK_WARN);
        expect_state(*state, check_mount_options, "favordynmods", CHECK_OK);
}

static void test_missing_controllers(void **state)
{
        make_good_host(*state);
        tree_write(*state, CGROUP "/cgroup.controllers", "cpuset cpu io pids\n");
        expect_state(*state, check_controllers, "controllers", CHECK_FAIL);
        tree_write(*state, CGROUP "/cgroup.controllers", "memory pids cpuset\n");
        expect_state(*state, check_controllers, "controllers", CHECK_WARN);
        tree_unlink(*state, CGROUP "/cgroup.controllers");
        expect_state(*state, check_controllers, "controllers", CHECK_SKIP);
        tree_write(*state, EXECUTIONS "/cgroup.subtree_control", "\n");
        expect_state(*state, check_controllers, "executions' controllers", CHECK_FAIL);
        tree_write(*state, EXECUTIONS "/cgroup.subtree_control", "memory pids\n");
        expect_state(*state, check_controllers, "executions' controllers", CHECK_WARN);
        tree_unlink(*state, EXECUTIONS "/cgroup.subtree_control");
        expect_state(*state, check_controllers, "executions' controllers", CHECK_WARN);
}

static void test_containers_are_noticed(void **state)
{
        make_good_host(*state);
        tree_write(*state, "/run/.containerenv", "");
        expect_state(*state, check_namespace, "container", CHECK_WARN);
        tree_unlink(*state, "/run/.containerenv");
        expect_state(*state, check_namespace, "container", CHECK_OK);
        tree_unlink(*state, "/proc/self/ns/cgroup");
        expect_state(*state, check_namespace, "container", CHECK_SKIP);
        assert_int_equal(symlink("cgroup:[4026532001]", tree_path(*state, "/proc/self/ns/cgroup")),
                         0);
        expect_state(*state, check_namespace, "container", CHECK_WARN);
}

/* R12, A44: an old kernel is named, nothing is assumed. */
static void test_old_kernels_lack_files(void **state)
{
        make_good_host(*state);
        tree_unlink(*state, EXECUTIONS "/memory.peak");
        tree_unlink(*state, EXECUTIONS "/memory.swap.peak");
        tree_unlink(*state, EXECUTIONS "/cgroup.kill");
        expect_state(*state, check_memory_files, "memory.peak", CHECK_FAIL);
        expect_state(*state, check_memory_files, "memory.swap.peak", CHECK_WARN);
        expect_state(*state, check_core_files, "cgroup.kill", CHECK_WARN);
        tree_unlink(*state, EXECUTIONS "/memory.current");
        expect_state(*state, check_memory_files, "memory.peak", CHECK_SKIP);
        tree_write(*state, CGROUP "/user.slice/me/memory.current", "0\n");
        expect_state(*state, check_memory_files, "memory.peak", CHECK_FAIL);
        tree_write(*state, CGROUP "/user.slice/me/memory.peak", "0\n");
        expect_state(*state, check_memory_files, "memory.peak", CHECK_OK);
        tree_unlink(*state, "/proc/pressure/memory");
        expect_state(*state, check_pressure, "pressure (PSI)", CHECK_WARN);
}

/* R17 */
static void test_inotify_limits(void **state)
{
        make_good_host(*state);
        tree_write(*state, "/proc/sys/fs/inotify/max_user_watches", "8192\n");
        expect_state(*state, check_inotify, "inotify", CHECK_WARN);
        tree_write(*state, "/proc/sys/fs/inotify/max_user_watches", "40000\n");
        expect_state(*state, check_inotify, "inotify", CHECK_OK);
        tree_write(*state, "/proc/sys/fs/inotify/max_user_instances", "2\n");
        expect_state(*state, check_inotify, "inotify", CHECK_WARN);
        tree_write(*state, "/proc/sys/fs/inotify/max_user_instances", "many\n");
        expect_state(*state, check_inotify, "inotify", CHECK_SKIP);
}

static void test_units_that_are_not_there(void **state)
{
        make_good_host(*state);
        expect_state(*state, check_units, "cgtaskd.socket", CHECK_FAIL);
        tree_write(*state, "/run/cgtask/cgtask.sock", "");
        expect_state(*state, check_units, "cgtaskd.socket", CHECK_FAIL);
        tree_write(*state, EXECUTIONS "/keeper/cgroup.events", "populated 0\nfrozen 0\n");
        expect_state(*state, check_units, "cgtask-executions.service", CHECK_WARN);
        tree_write(*state, CGROUP "/cgtask.slice/cgtaskd.service/cgroup.events", "populated 0\n");
        expect_state(*state, check_units, "cgtaskd.service", CHECK_WARN);
}

static void test_groups_that_are_not_there(void **state)
{
        make_good_host(*state);
        tree_write(*state, "/etc/group", "root:x:0:\ncgtask-reader:x:5:\n");
        expect_state(*state, check_groups, "cgtask", CHECK_FAIL);
        expect_state(*state, check_groups, "cgtask-read", CHECK_FAIL);
}

static int database_state(Tree *t, const char *name)
{
        _cleanup_(check_list_deinitp) CheckList list = CHECK_LIST_INIT;
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };
        size_t i;

        assert_int_equal(hostfs_probe(t->root, NULL, &host), 0);
        assert_int_equal(check_database(&host, tree_path(t, "/cgtask.db"), &list), 0);
        for (i = 0; i < list.n_checks; i++)
                if (strcmp(list.checks[i].name, name) == 0)
                        return (int)list.checks[i].state;
        return -1;
}

static void test_database_that_too_many_may_open(void **state)
{
        Tree *t = *state;

        make_good_host(t);
        assert_int_equal(database_state(t, "database mode"), CHECK_WARN);
        tree_write(t, "/cgtask.db", "");
        assert_int_equal(chmod(tree_path(t, "/cgtask.db"), 0644), 0);
        assert_int_equal(database_state(t, "database mode"), CHECK_WARN);
        assert_int_equal(chmod(tree_path(t, "/cgtask.db"), 0640), 0);
        if (geteuid() == 0) {
                assert_int_equal(database_state(t, "database mode"), CHECK_WARN);
                assert_int_equal(chown(tree_path(t, "/cgtask.db"), 0, 901), 0);
                assert_int_equal(database_state(t, "database mode"), CHECK_OK);
        }
        assert_int_equal(database_state(t, "WAL"), CHECK_WARN);
        tree_write(t, "/cgtask.db-wal", "");
        assert_int_equal(database_state(t, "WAL"), CHECK_OK);
        assert_int_equal(truncate(tree_path(t, "/cgtask.db-wal"), 65 * 1024 * 1024), 0);
        assert_int_equal(database_state(t, "WAL"), CHECK_WARN);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                tree_test(test_good_host_is_ok),
                tree_test(test_hierarchies_that_will_not_do),
                tree_test(test_mount_options_that_cost_something),
                tree_test(test_missing_controllers),
                tree_test(test_containers_are_noticed),
                tree_test(test_old_kernels_lack_files),
                tree_test(test_inotify_limits),
                tree_test(test_units_that_are_not_there),
                tree_test(test_groups_that_are_not_there),
                tree_test(test_database_that_too_many_may_open),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
