/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /proc and pidfds: the parsers against hostile names, the rest against this process and children. */

#include "process.h"

#include "private/cleanup.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NUMBERS_4_TO_21 "S 1 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0"

static void test_start_is_field_22_whatever_the_name(void **state)
{
        static const struct {
                const char *text;
                bool ok;
                uint64_t ticks;
        } cases[] = {
                { "1 (init) " NUMBERS_4_TO_21 " 4711 1000 2\n", true, 4711 },
                { "1 (a) b () " NUMBERS_4_TO_21 " 4712 1000 2\n", true, 4712 },
                { "1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21) " NUMBERS_4_TO_21
                  " 4713 1\n",
                  true, 4713 },
                { "1 (\n) 0 \n) " NUMBERS_4_TO_21 " 4714 1\n", true, 4714 },
                { "1 () " NUMBERS_4_TO_21 " 0 1\n", true, 0 },
                { "1 ()))) " NUMBERS_4_TO_21 " 18446744073709551615 1\n", true, UINT64_MAX },
                { "1 (x) " NUMBERS_4_TO_21 " 4715", true, 4715 },
                { "1 (x) " NUMBERS_4_TO_21, false, 0 },
                { "1 (x) " NUMBERS_4_TO_21 " ", false, 0 },
                { "1 (x) " NUMBERS_4_TO_21 " x", false, 0 },
                { "1 (x)", false, 0 },
                { "1 x " NUMBERS_4_TO_21 " 4711", false, 0 },
                { "", false, 0 },
        };

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                uint64_t ticks = 99;
                bool ok = process_parse_start(cases[i].text, &ticks);

                if (ok != cases[i].ok || ticks != (ok ? cases[i].ticks : 99))
                        fail_msg("case %zu: %d, %llu", i, ok, (unsigned long long)ticks);
        }
}

static void test_status_is_parsed(void **state)
{
        static const struct {
                const char *text;
                unsigned n_nspids; /* 0: refused */
        } cases[] = {
                { "Name:\tx\nUid:\t0\t1\t2\t3\nGroups:\t1 2 \nNSpid:\t17\nNSpgid:\t17\t1\n", 1 },
                { "Name:\tx\nUid:\t0\t1\t2\t3\nNSpid:\t17\t1\n", 2 },
                { "Name:\tx\nUid:\t0\t1\t2\t3\nNSpid:\t17\t9\t1", 3 },
                /* a kernel without pid namespaces */
                { "Name:\tx\nUid:\t0\t1\t2\t3\nGid:\t1\t1\t1\t1\n", 1 },
                /* the kernel escapes newlines of names; a name is not a line of its own */
                { "Name:\tx\\nUid:\\t7\nUid:\t0\t1\t2\t3\nNSpid:\t17\t1\n", 2 },
                { "Name:\tNSpid: 1 2 3\nUid:\t0\t1\t2\t3\nNSpid:\t17\n", 1 },
                { "Name:\tx\nUid:\t0\t1\t2\nNSpid:\t17\n", 1 }, /* reads on: see below */
                { "Name:\tx\nUid:\t0\t1\t2\t3\nNSpid:\t\n", 0 },
                { "Name:\tx\nUid:\t0\t1\t2\t3\nNSpid:", 0 },
                { "Name:\tx\nNSpid:\t17\n", 0 },
                { "Name:\tx\nUid:\tx\nNSpid:\t17\n", 0 },
                { "Uid:\t0\t1\t2\t3\n", 0 }, /* line one is the name */
                { "", 0 },
        };

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                ProcessStatus status = { .n_nspids = 99 };
                bool ok = process_parse_status(cases[i].text, &status);

                if (i == 6) { /* three uids: a word follows, no number */
                        assert_false(ok);
                        continue;
                }
                if (ok != (cases[i].n_nspids > 0) ||
                    status.n_nspids != (ok ? cases[i].n_nspids : 99))
                        fail_msg("case %zu: %d, %u", i, ok, status.n_nspids);
                if (ok)
                        for (unsigned u = 0; u < 4; ++u)
                                assert_int_equal(status.uids[u], u);
        }
}

static void test_self_is_read(void **state)
{
        ProcessStatus status;
        uint64_t ticks = 0, again = 1;
        int fd = -1;

        assert_int_equal(process_read_status(getpid(), &status), 0);
        assert_int_equal(status.uids[0], getuid());
        assert_int_equal(status.uids[1], geteuid());
        assert_true(status.n_nspids >= 1);
        assert_int_equal(process_read_start(getpid(), &ticks), 0);
        assert_true(ticks > 0);
        assert_int_equal(process_read_start(getpid(), &again), 0);
        assert_true(ticks == again);
        assert_int_equal(process_open(getpid(), &fd), 0);
        assert_false(process_has_ended(fd));
        fd = cleanup_close(fd);
}

static pid_t start_child(void (*fn)(void), int *gate)
{
        int fds[2];
        pid_t pid;
        char c;

        assert_int_equal(pipe(fds), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void)close(fds[1]);
                fn();
                (void)!read(fds[0], &c, 1);
                _exit(7);
        }
        (void)close(fds[0]);
        *gate = fds[1];
        return pid;
}

static void take_hostile_name(void)
{
        (void)prctl(PR_SET_NAME, "a) b (\n) S 1");
}

static void test_hostile_name_of_a_real_process(void **state)
{
        ProcessStatus status;
        char path[64], name[64] = "";
        uint64_t mine, ticks = 0;
        int gate;
        pid_t pid = start_child(take_hostile_name, &gate);

        (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
        while (!strchr(name, ')')) { /* until it has its name */
                _cleanup_fclose_ FILE *f = fopen(path, "re");

                assert_non_null(f);
                (void)!fread(name, 1, sizeof(name) - 1, f);
        }
        assert_int_equal(process_read_start(getpid(), &mine), 0);
        assert_int_equal(process_read_start(pid, &ticks), 0);
        assert_true(ticks >= mine);
        assert_int_equal(process_read_status(pid, &status), 0);
        assert_int_equal(status.uids[0], getuid());
        (void)close(gate);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#define MANY_GROUPS 65536

static void take_many_groups(void)
{
        static gid_t groups[MANY_GROUPS];

        for (size_t i = 0; i < MANY_GROUPS; ++i)
                groups[i] = (gid_t)(4000000000 + i);
        (void)setgroups(MANY_GROUPS, groups);
}

static bool has_many_groups(pid_t pid)
{
        static char text[1 << 20];
        char path[64];
        _cleanup_fclose_ FILE *f = NULL;

        (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        f = fopen(path, "re");
        text[f ? fread(text, 1, sizeof(text) - 1, f) : 0] = '\0';
        return strstr(text, "4000065535") != NULL;
}

/* NSpid stands behind them: it must be found, or a container would not be noticed. */
static void test_many_groups_do_not_hide_the_namespace(void **state)
{
        ProcessStatus status = { 0 };
        int gate;
        pid_t pid;

        if (geteuid() != 0)
                skip();
        pid = start_child(take_many_groups, &gate);
        while (!has_many_groups(pid))
                assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
        assert_int_equal(process_read_status(pid, &status), 0);
        assert_true(status.n_nspids >= 1);
        assert_int_equal(status.uids[0], 0);
        (void)close(gate);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void do_nothing(void)
{
}

static void test_end_of_a_process_is_noticed(void **state)
{
        ProcessStatus status;
        char path[4096];
        uint64_t ticks;
        int gate, fd = -1, other = -1, wait_status = -1;
        pid_t pid = start_child(do_nothing, &gate);
        struct pollfd p;

        assert_int_equal(process_open(pid, &fd), 0);
        assert_false(process_has_ended(fd));
        assert_int_not_equal(process_get_wait_status(fd, &wait_status), 0);
        (void)close(gate);
        p = (struct pollfd){ .fd = fd, .events = POLLIN };
        assert_int_equal(poll(&p, 1, 10000), 1);
        assert_true(process_has_ended(fd)); /* a zombie has */
        assert_int_equal(process_read_start(pid, &ticks), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_true(process_has_ended(fd));
        assert_int_equal(process_read_start(pid, &ticks), PROCESS_E_GONE);
        assert_int_equal(process_read_status(pid, &status), PROCESS_E_GONE);
        assert_int_equal(process_read_cgroup(pid, path, sizeof(path)), PROCESS_E_GONE);
        assert_int_equal(process_open(pid, &other), PROCESS_E_GONE);
        assert_int_equal(other, -1);
        assert_false(process_is_in_cgroup(pid, ""));
        if (process_get_wait_status(fd, &wait_status) == 0) /* kernel 6.15 */
                assert_int_equal(WEXITSTATUS(wait_status), 7);
        fd = cleanup_close(fd);
}

static void test_impossible_pids_are_gone(void **state)
{
        static const pid_t pids[] = { 0, -1, -4711, 2147483647 };
        uint64_t ticks;
        int fd = -1;

        for (size_t i = 0; i < N_ELEMENTS(pids); ++i) {
                assert_int_equal(process_open(pids[i], &fd), PROCESS_E_GONE);
                assert_int_equal(process_read_start(pids[i], &ticks), PROCESS_E_GONE);
        }
        assert_int_equal(fd, -1);
}

static void test_wait_status_of_no_pidfd_is_unknown(void **state)
{
        int status = 4711;

        assert_int_equal(process_get_wait_status(STDIN_FILENO, &status), PROCESS_E_UNKNOWN);
        assert_int_equal(process_get_wait_status(-1, &status), PROCESS_E_UNKNOWN);
        assert_int_equal(status, 4711);
}

static void test_cgroup_of_self(void **state)
{
        char path[4096], small[1];
        int r = process_read_cgroup(getpid(), path, sizeof(path));

        if (r == -ENODATA) /* no cgroup v2 here */
                skip();
        assert_int_equal(r, 0);
        assert_int_equal(path[0], '/');
        assert_null(strchr(path, '\n'));
        assert_int_equal(process_read_cgroup(getpid(), small, sizeof(small)), -ENAMETOOLONG);
        assert_false(process_is_in_cgroup(getpid(), "x-0197f0c0a1b2733c8d4e5f6071829304"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_start_is_field_22_whatever_the_name),
                cmocka_unit_test(test_status_is_parsed),
                cmocka_unit_test(test_self_is_read),
                cmocka_unit_test(test_hostile_name_of_a_real_process),
                cmocka_unit_test(test_many_groups_do_not_hide_the_namespace),
                cmocka_unit_test(test_end_of_a_process_is_noticed),
                cmocka_unit_test(test_impossible_pids_are_gone),
                cmocka_unit_test(test_wait_status_of_no_pidfd_is_unknown),
                cmocka_unit_test(test_cgroup_of_self),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
