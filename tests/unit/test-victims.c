/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's lines about OOM kills (M6): real ones, and such as a hostile workload would like. */

#include "victims.h"

#include "private/cleanup.h"
#include "private/execution-record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ID "019ad2f3c0de7a6b8c9d0e1f2a3b4c5d"
#define OTHER "019ad2f3ffff7a6b8c9d0e1f2a3b4c5d"
#define PARENT "/cgtask.slice/cgtask-executions.service"
#define CGROUP PARENT "/x-" ID

typedef struct Kill {
        const char *line;
        pid_t pid; /* 0: not to be believed */
        const char *comm, *constraint;
} Kill;

#define MEMCG "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),"
/* 5.10 to 7.2 write it like this; the cpuset is the task's. */
#define OWN(comm, pid)                                                                        \
        MEMCG "cpuset=/,mems_allowed=0,oom_memcg=" CGROUP ",task_memcg=" CGROUP ",task=" comm \
              ",pid=" pid ",uid=1000"

static const Kill kills[] = {
        { OWN("python3", "31877"), 31877, "python3", "CONSTRAINT_MEMCG" },
        { "Memory: " OWN("python3", "31877"), 31877, "python3", "CONSTRAINT_MEMCG" },
        /* a limit above, and the host's end */
        { MEMCG "cpuset=user.slice,mems_allowed=0,oom_memcg=/cgtask.slice,task_memcg=" CGROUP
                ",task=dd,pid=7,uid=0",
          7, "dd", "CONSTRAINT_MEMCG" },
        { "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
          "task_memcg=" CGROUP ",task=hog,pid=812,uid=0",
          812, "hog", "CONSTRAINT_NONE" },
        /* a limit below its own */
        { MEMCG "cpuset=/,mems_allowed=0,oom_memcg=" CGROUP "/a,task_memcg=" CGROUP
                "/a/b,task=dd,pid=9,uid=0",
          9, "dd", "CONSTRAINT_MEMCG" },
        /* COMM is the workload's choice */
        { OWN(",pid=1,uid=0", "55"), 55, ",pid=1,uid=0", "CONSTRAINT_MEMCG" },
        { OWN("a,task=b", "55"), 55, "a,task=b", "CONSTRAINT_MEMCG" },
        { OWN("(", "55"), 55, "(", "CONSTRAINT_MEMCG" },
        { OWN(")", "55"), 55, ")", "CONSTRAINT_MEMCG" },
        { OWN("", "55"), 55, "", "CONSTRAINT_MEMCG" },
        { OWN("a\\x0ab\\x0a", "55"), 55, "a\\x0ab\\x0a", "CONSTRAINT_MEMCG" },
        { OWN("a\nb", "55"), 55, "a\nb", "CONSTRAINT_MEMCG" },
        { OWN("%s%n", "55"), 55, "%s%n", "CONSTRAINT_MEMCG" },
        { OWN("oom-kill:constr", "55"), 55, "oom-kill:constr", "CONSTRAINT_MEMCG" },
        { OWN("/x-0123456789ab", "55"), 55, "/x-0123456789ab", "CONSTRAINT_MEMCG" },
        /* so are the names of cgroups below its own: another execution's victim cannot be made */
        { MEMCG "cpuset=/,mems_allowed=0,oom_memcg=" CGROUP "/,task_memcg=" PARENT "/x-" OTHER
                ",task_memcg=" CGROUP ",task=dd,pid=9,uid=0" },
        { MEMCG "cpuset=/,mems_allowed=0,oom_memcg=/cgtask.slice,task_memcg=" CGROUP "/x-" OTHER
                ",task=dd,pid=9,uid=0" },
        /* not ours */
        { MEMCG "cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=dd,pid=9,uid=0" },
        { MEMCG "cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/x-12,task=dd,pid=9,uid=0" },
        { MEMCG "cpuset=/,mems_allowed=0,oom_memcg=" CGROUP "0,task_memcg=" CGROUP
                "0,task=dd,pid=9,uid=0" },
        /* cut off or out of range */
        { OWN("dd", "0") },
        { OWN("dd", "-4") },
        { OWN("dd", "99999999999999999999") },
        { OWN("dd", "x") },
        { MEMCG "cpuset=/,mems_allowed=0,oom_memcg=" CGROUP ",task_memcg=" CGROUP ",task=dd" },
        { MEMCG "cpuset=/,mems_allowed=0,oom_memcg=" CGROUP ",task_memcg=" CGROUP },
        { "oom-kill:constraint=" },
        { ",task_memcg=" CGROUP ",task=dd,pid=9,uid=0" },
        { "" },
};

static void test_kill_names_the_victim_or_nothing(void **state)
{
        for (size_t i = 0; i < N_ELEMENTS(kills); ++i) {
                Victim v;
                int r = victims_parse_kill(kills[i].line, &v);

                if (r != 0)
                        continue;
                assert_string_equal(v.execution_id, ID);
                assert_int_equal(v.pid, kills[i].pid);
                assert_string_equal(v.comm, kills[i].comm);
                assert_string_equal(v.constraint, kills[i].constraint);
                assert_true(v.anon_rss_bytes == RECORD_NULL);
        }
}

static void test_long_comm_is_cut(void **state)
{
        char line[1024];
        Victim v;

        (void)snprintf(line, sizeof(line),
                       MEMCG "oom_memcg=/,task_memcg=" CGROUP ",task=%0200d,pid=3,uid=0", 0);
        assert_int_equal(victims_parse_kill(line, &v), 0);
        assert_int_equal(strlen(v.comm), VICTIMS_COMM_MAX - 1);
}

#define REST ", file-rss:1024kB, shmem-rss:0kB, UID:1000 pgtables:180kB oom_score_adj:0"

static const struct {
        const char *line;
        pid_t pid;
        const char *comm;
        int64_t anon_rss_bytes;
} sizes[] = {
        { "Memory cgroup out of memory: Killed process 31877 (python3) total-vm:82036kB, "
          "anon-rss:49152kB" REST,
          31877, "python3", 49152 * 1024 },
        { "Out of memory: Killed process 812 (hog) total-vm:9kB, anon-rss:8kB" REST, 812, "hog",
          8192 },
        { "Killed process 5 (() total-vm:9kB, anon-rss:8kB" REST, 5, "(", 8192 },
        { "Killed process 5 ()) total-vm:9kB, anon-rss:8kB" REST, 5, ")", 8192 },
        { "Killed process 5 (, anon-rss:1kB) total-vm:9kB, anon-rss:8kB" REST, 5, ", anon-rss:1kB",
          8192 },
        { "Killed process 5 () total-vm:1kB) total-vm:9kB, anon-rss:8kB" REST, 5, ") total-vm:1kB",
          8192 },
        { "Killed process 5 (a) total-vm:9kB, anon-rss:-8kB" REST, 0, NULL, 0 },
        { "Killed process 0 (a) total-vm:9kB, anon-rss:8kB" REST, 0, NULL, 0 },
        { "Killed process x (a) total-vm:9kB, anon-rss:8kB" REST, 0, NULL, 0 },
        { "Killed process 5 (a) total-vm:9kB", 0, NULL, 0 },
        { "Killed process ", 0, NULL, 0 },
        { "", 0, NULL, 0 },
};

static void test_killed_gives_the_size(void **state)
{
        for (size_t i = 0; i < N_ELEMENTS(sizes); ++i) {
                Victim v;
                int r = victims_parse_killed(sizes[i].line, &v);

                assert_int_equal(r, sizes[i].pid ? 0 : VICTIMS_E_OTHER);
                if (r != 0)
                        continue;
                assert_int_equal(v.pid, sizes[i].pid);
                assert_string_equal(v.comm, sizes[i].comm);
                assert_true(v.anon_rss_bytes == sizes[i].anon_rss_bytes);
        }
}

typedef struct Found {
        Victim victims[8];
        size_t n;
} Found;

static void found_add(void *userdata, const Victim *victim)
{
        Found *found = userdata;

        assert_true(found->n < N_ELEMENTS(found->victims));
        found->victims[found->n++] = *victim;
}

static void feed(Found *found, const char *const *lines, size_t n)
{
        VictimsReader reader = { .fn = found_add, .userdata = found };

        *found = (Found){ 0 };
        for (size_t i = 0; i < n; ++i)
                victims_feed(&reader, lines[i], 100 + (int64_t)i);
        victims_end(&reader);
}

#define KILLED(pid, comm, kib)                                       \
        "Memory cgroup out of memory: Killed process " pid " (" comm \
        ") total-vm:9kB, anon-rss:" kib "kB" REST

static void test_two_lines_make_one_victim(void **state)
{
        static const char *const lines[] = {
                "dd invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
                OWN("dd", "7"),
                "eth0: link up",
                KILLED("7", "dd", "64"),
                KILLED("8", "not ours", "64"),
                OWN("sh", "9"), /* its second line is lost */
                KILLED("10", "sh", "64"),
                MEMCG "oom_memcg=/a,task_memcg=/a,task=b,pid=11,uid=0",
                KILLED("11", "b", "64"),
        };
        Found found;

        feed(&found, lines, N_ELEMENTS(lines));
        assert_int_equal(found.n, 2);
        assert_int_equal(found.victims[0].pid, 7);
        assert_true(found.victims[0].at_usec == 101);
        assert_true(found.victims[0].anon_rss_bytes == 65536);
        assert_int_equal(found.victims[1].pid, 9);
        assert_true(found.victims[1].anon_rss_bytes == RECORD_NULL);
}

/* R19: with memory.oom.group the lines that follow do not say whose they are. */
static void test_group_kill_names_the_first(void **state)
{
        static const char *const lines[] = {
                OWN("dd", "7"),
                KILLED("7", "dd", "64"),
                "Tasks in " CGROUP " are going to be killed due to memory.oom.group set",
                KILLED("6", "sh", "4"),
                KILLED("7", "dd", "64"),
                MEMCG "oom_memcg=/a,task_memcg=/a,task=b,pid=11,uid=0",
                KILLED("11", "b", "64"),
                "Tasks in /a are going to be killed due to memory.oom.group set",
                KILLED("12", "b", "64"),
        };
        Found found;

        feed(&found, lines, N_ELEMENTS(lines));
        assert_int_equal(found.n, 1);
        assert_int_equal(found.victims[0].pid, 7);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kill_names_the_victim_or_nothing),
                cmocka_unit_test(test_long_comm_is_cut),
                cmocka_unit_test(test_killed_gives_the_size),
                cmocka_unit_test(test_two_lines_make_one_victim),
                cmocka_unit_test(test_group_kill_names_the_first),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
