/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounts of hosts of all kinds, and files below another root. */

#include "hostfs.h"

#include "tree-fixture.h"

#define MOUNTINFO "/proc/self/mountinfo"

static void probe(Tree *t, HostFs *host)
{
        assert_int_equal(hostfs_probe(t->root, NULL, host), 0);
}

/* A43: what a unified host has. */
static void test_unified_host_is_understood(void **state)
{
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };

        tree_write(*state, MOUNTINFO,
                   "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                   "30 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 "
                   "cgroup2 rw,nsdelegate,memory_recursiveprot\n");
        probe(*state, &host);
        assert_string_equal(host.mount, "/sys/fs/cgroup");
        assert_string_equal(host.mount_source, "/");
        assert_string_equal(host.v1_controllers, "");
        assert_string_equal(host.executions_root,
                            "/sys/fs/cgroup/cgtask.slice/cgtask-executions.service");
        assert_true(hostfs_has_option(&host, "nsdelegate"));
        assert_true(hostfs_has_option(&host, "rw"));
        assert_false(hostfs_has_option(&host, "ro"));
        assert_false(hostfs_has_option(&host, "memory"));
        assert_false(hostfs_has_option(&host, "memory_localevents"));
}

static void test_hybrid_host_names_its_v1_controllers(void **state)
{
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };

        tree_write(*state, MOUNTINFO,
                   "30 22 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
                   "31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n"
                   "32 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
                   "33 30 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                   "34 30 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                   "35 30 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
        probe(*state, &host);
        assert_string_equal(host.mount, "/sys/fs/cgroup/unified");
        assert_string_equal(host.v1_controllers, "memory,cpu,cpuacct");
}

static void test_the_usual_place_goes_first(void **state)
{
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };

        tree_write(*state, MOUNTINFO,
                   "31 30 0:26 / /mnt/a rw - cgroup2 none rw\n"
                   "32 30 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
                   "33 30 0:26 /sub /mnt/b rw - cgroup2 none rw\n");
        probe(*state, &host);
        assert_string_equal(host.mount, "/sys/fs/cgroup");
}

static void test_escaped_paths_and_parts_are_read(void **state)
{
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };

        tree_write(*state, MOUNTINFO,
                   "31 30 0:26 /a\\134b /mnt/my\\040cgroup ro master:3 propagate_from:2 - cgroup2 "
                   "none rw\n");
        probe(*state, &host);
        assert_string_equal(host.mount, "/mnt/my cgroup");
        assert_string_equal(host.mount_source, "/a\\b");
        assert_true(hostfs_has_option(&host, "ro"));
}

static void test_odd_lines_are_passed_over(void **state)
{
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };

        tree_write(*state, MOUNTINFO,
                   "\n - \nx - cgroup2 none rw\n1 2 3 4 5 - cgroup2 none rw\n"
                   "1 2 3 4 5 6 - cgroup2\n1 2 3 4 5 6 - cgroup2 none\n1 2 3 / /x rw cgroup2\n"
                   "1 2 3 / /\\9\\04 rw - ext4 none rw");
        probe(*state, &host);
        assert_null(host.mount);
        assert_null(host.executions_root);
        assert_false(hostfs_has_option(&host, "rw"));
}

static void test_given_root_is_taken(void **state)
{
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };
        Tree *t = *state;

        tree_write(t, MOUNTINFO, "");
        assert_int_equal(hostfs_probe(t->root, "/else/where", &host), 0);
        assert_string_equal(host.executions_root, "/else/where");
        assert_int_equal(hostfs_probe("/nowhere", NULL, &host), -ENOENT);
        assert_string_equal(host.executions_root, "/else/where");
}

static void test_files_are_read_below_the_root(void **state)
{
        _cleanup_(hostfs_deinitp) HostFs host = { 0 };
        char text[6];

        tree_write(*state, MOUNTINFO, "");
        tree_write(*state, "/a/b", "0123456789");
        probe(*state, &host);
        assert_int_equal(hostfs_read(&host, text, sizeof(text), "/%s/b", "a"), 0);
        assert_string_equal(text, "01234");
        assert_int_equal(hostfs_read(&host, text, sizeof(text), "/a/c"), -ENOENT);
        assert_int_equal(hostfs_read(&host, text, sizeof(text), "/a"), -EISDIR);
        assert_int_equal(hostfs_access(&host, "/a/%c", 'b'), 0);
        assert_int_equal(hostfs_access(&host, "/a/c"), -ENOENT);
        assert_int_equal(hostfs_access(&host, "/a/b/c"), -ENOTDIR);
}

static void test_words_are_whole(void **state)
{
        assert_true(hostfs_has_word("cpuset cpu io memory\n", "memory"));
        assert_true(hostfs_has_word("cpu", "cpu"));
        assert_true(hostfs_has_word(",a,b,", "b"));
        assert_false(hostfs_has_word("cpuset memory", "cpu"));
        assert_false(hostfs_has_word("", "cpu"));
        assert_false(hostfs_has_word("   \n", ""));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                tree_test(test_unified_host_is_understood),
                tree_test(test_hybrid_host_names_its_v1_controllers),
                tree_test(test_the_usual_place_goes_first),
                tree_test(test_escaped_paths_and_parts_are_read),
                tree_test(test_odd_lines_are_passed_over),
                tree_test(test_given_root_is_taken),
                tree_test(test_files_are_read_below_the_root),
                tree_test(test_words_are_whole),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
