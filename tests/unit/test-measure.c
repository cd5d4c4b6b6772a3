/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the kernel's files to columns: files as 6.1, 6.12 and 7.2 write them, and what becomes of
 * those that are missing. The directory is a fake; that the kernel writes these files is tested on
 * the kernels themselves.
 */

#include "measure.h"

#include "tree-fixture.h"

#include <fcntl.h>
#include <sys/xattr.h>

#define PAGE 4096
#define NCPU 4
#define MIB (INT64_C(1024) * 1024)
#define TOLERANCE (64 * PAGE * NCPU)

typedef struct File {
        const char *name, *text; /* text NULL: the kernel does not have it */
} File;

/* Debian 12's kernel: no memory.swap.peak, no pids.peak. */
static const File linux_6_1[] = {
        { "cgroup.procs", "" },
        { "memory.peak", "104857600\n" },
        { "memory.current", "8192\n" },
        { "memory.max", "1073741824\n" },
        { "memory.high", "max\n" },
        { "memory.events", "low 0\nhigh 3\nmax 7\noom 1\noom_kill 0\noom_group_kill 0\n" },
        { "cpu.stat", "usage_usec 300\nuser_usec 100\nsystem_usec 200\n"
                      "core_sched.force_idle_usec 0\nnr_periods 0\nnr_throttled 0\n"
                      "throttled_usec 0\nnr_bursts 0\nburst_usec 0\n" },
        { "io.stat", "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n"
                     "8:16 rbytes=1 wbytes=2 rios=1 wios=1 dbytes=0 dios=0\n" },
        { "memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n"
                             "full avg10=0.00 avg60=0.00 avg300=0.00 total=45\n" },
        { "memory.stat", "anon 4096\nfile 8192\nkernel 100\nkernel_stack 0\npagetables 0\n"
                         "sec_pagetables 0\npercpu 0\nsock 0\nvmalloc 0\nshmem 0\nzswap 0\n"
                         "zswapped 0\ninactive_file 12\npgfault 99\n" },
};

static const File linux_6_12[] = {
        { "cgroup.procs", "" },
        { "memory.peak", "104857600\n" },
        { "memory.swap.peak", "0\n" },
        { "memory.current", "8192\n" },
        { "memory.max", "max\n" },
        { "memory.high", "536870912\n" },
        { "memory.events", "low 0\nhigh 3\nmax 7\noom 0\noom_kill 0\noom_group_kill 2\n" },
        { "pids.peak", "17\n" },
        { "cpu.stat", "usage_usec 300\nuser_usec 100\nsystem_usec 200\nnice_usec 0\n"
                      "core_sched.force_idle_usec 0\nnr_periods 0\nnr_throttled 0\n"
                      "throttled_usec 0\nnr_bursts 0\nburst_usec 0\n" },
        { "io.stat", "" },
        { "memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
                             "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n" },
        { "memory.stat", "anon 4096\nfile 8192\nswapcached 0\npgdemote_kswapd 0\n"
                         "hugetlb 0\n" },
};

/* memory.events has a counter more, cpu.stat and memory.stat too. */
static const File linux_7_2[] = {
        { "cgroup.procs", "" },
        { "memory.peak", "104857600\n" },
        { "memory.swap.peak", "65536\n" },
        { "memory.current", "0\n" },
        { "memory.max", "max\n" },
        { "memory.high", "max\n" },
        { "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n"
                           "sock_throttled 5\n" },
        { "pids.peak", "1\n" },
        { "cpu.stat", "usage_usec 0\nuser_usec 0\nsystem_usec 0\nnice_usec 0\nof_tomorrow x\n" },
        { "io.stat", "(unknown) rbytes=5 wbytes=6 rios=1 wios=1 dbytes=0 dios=0\n7:0 \n" },
        { "memory.pressure", NULL }, /* PSI is off */
        { "memory.stat", "anon 0\nmemory_of_tomorrow 1\n" },
};

typedef struct Fixture {
        Tree *tree;
        int fd;
        ExecutionRecord record;
        VerdictInput verdict;
} Fixture;

static int set_up(void **state)
{
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        assert_int_equal(tree_set_up((void **)&f->tree), 0);
        f->fd = open(f->tree->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        execution_record_init(&f->record);
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        Fixture *f = *state;
        void *tree = f->tree;

        execution_record_deinit(&f->record);
        (void)cleanup_close(f->fd);
        assert_int_equal(tree_tear_down(&tree), 0);
        free(f);
        return 0;
}

#define measure_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static void put(Fixture *f, const char *name, const char *text)
{
        int fd;

        (void)unlinkat(f->fd, name, 0);
        if (!text)
                return;
        fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        (void)cleanup_close(fd);
}

static void put_all(Fixture *f, const File *files, size_t n)
{
        for (size_t i = 0; i < n; ++i)
                put(f, files[i].name, files[i].text);
}

static void measure(Fixture *f)
{
        execution_record_deinit(&f->record);
        f->verdict = (VerdictInput){ 0 };
        assert_int_equal(measure_final(f->fd, NCPU, PAGE, &f->record, &f->verdict), 0);
}

static void test_files_of_6_1(void **state)
{
        Fixture *f = *state;
        const ExecutionRecord *r = &f->record;

        put_all(f, linux_6_1, N_ELEMENTS(linux_6_1));
        measure(f);
        assert_int_equal(r->memory_peak_bytes, 100 * MIB);
        assert_true(r->memory_swap_peak_bytes == RECORD_NULL); /* never 0: it was not counted */
        assert_int_equal(r->memory_current_at_end_bytes, 8192);
        assert_int_equal(r->memory_max_bytes, 1024 * MIB);
        assert_true(r->memory_high_bytes == RECORD_NULL);
        assert_int_equal(r->high_events, 3);
        assert_int_equal(r->max_events, 7);
        assert_int_equal(r->oom_events, 1);
        assert_int_equal(r->oom_kills, 0);
        assert_int_equal(r->oom_group_kills, 0);
        assert_true(r->pids_peak == RECORD_NULL);
        assert_int_equal(r->cpu_user_usec, 100);
        assert_int_equal(r->cpu_system_usec, 200);
        assert_int_equal(r->io_read_bytes, 4097);
        assert_int_equal(r->io_write_bytes, 8194);
        assert_int_equal(r->psi_some_usec, 123);
        assert_int_equal(r->psi_full_usec, 45);
        assert_non_null(strstr(r->memory_stat, "\"inactive_file\":12"));
        assert_string_equal(r->capture, "captured");
        assert_null(r->capture_reason);
        assert_int_equal(r->memory_peak_is_lower_bound, 0);
        assert_true(f->verdict.counters_known);
        assert_int_equal(f->verdict.oom, 1);
        assert_false(f->verdict.oomd_killed);
}

static void test_files_of_6_12(void **state)
{
        Fixture *f = *state;
        const ExecutionRecord *r = &f->record;

        put_all(f, linux_6_12, N_ELEMENTS(linux_6_12));
        measure(f);
        assert_int_equal(r->memory_swap_peak_bytes, 0); /* counted, and nothing was swapped */
        assert_true(r->memory_max_bytes == RECORD_NULL);
        assert_int_equal(r->memory_high_bytes, 512 * MIB);
        assert_int_equal(r->oom_group_kills, 2);
        assert_int_equal(r->pids_peak, 17);
        assert_int_equal(r->io_read_bytes, 0);
        assert_int_equal(r->io_write_bytes, 0);
        assert_int_equal(r->psi_some_usec, 0);
        assert_string_equal(r->memory_stat, "{\"anon\":4096,\"file\":8192,\"swapcached\":0,"
                                            "\"pgdemote_kswapd\":0,\"hugetlb\":0}");
        assert_int_equal(r->memory_peak_is_lower_bound, 0);
}

static void test_files_of_7_2(void **state)
{
        Fixture *f = *state;
        const ExecutionRecord *r = &f->record;

        put_all(f, linux_7_2, N_ELEMENTS(linux_7_2));
        measure(f);
        assert_int_equal(r->memory_swap_peak_bytes, 65536);
        assert_int_equal(r->memory_current_at_end_bytes, 0);
        assert_int_equal(r->oom_kills, 0);
        assert_true(f->verdict.counters_known); /* in spite of sock_throttled */
        assert_int_equal(r->cpu_user_usec, 0);
        assert_int_equal(r->io_read_bytes, 5);
        assert_int_equal(r->io_write_bytes, 6);
        assert_true(r->psi_some_usec == RECORD_NULL);
        assert_true(r->psi_full_usec == RECORD_NULL);
        assert_non_null(strstr(r->memory_stat, "memory_of_tomorrow"));
        assert_string_equal(r->capture, "captured");
}

/* A44: memory.current is there, and must not be taken for the peak. */
static void test_missing_peak_is_unsupported(void **state)
{
        Fixture *f = *state;

        put_all(f, linux_6_1, N_ELEMENTS(linux_6_1));
        put(f, "memory.peak", NULL);
        measure(f);
        assert_true(f->record.memory_peak_bytes == RECORD_NULL);
        assert_true(f->record.memory_peak_is_lower_bound == RECORD_NULL);
        assert_string_equal(f->record.capture, "unsupported");
        assert_non_null(strstr(f->record.capture_reason, "memory.peak"));
        assert_int_equal(f->record.memory_current_at_end_bytes, 8192);
        assert_int_equal(f->record.oom_events, 1);
}

static void test_lower_bound_begins_at_the_tolerance(void **state)
{
        static const struct {
                int64_t peak, max;
                int64_t bound;
        } cases[] = {
                { 100 * MIB, 100 * MIB, 1 },
                { 100 * MIB - TOLERANCE, 100 * MIB, 1 },
                { 100 * MIB - TOLERANCE - 1, 100 * MIB, 0 },
                { 100 * MIB + PAGE, 100 * MIB, 1 }, /* lowered while it ran */
                { 0, 100 * MIB, 0 },
                { 0, 0, 1 },
                { INT64_MAX - TOLERANCE, INT64_MAX, 1 },
        };
        Fixture *f = *state;

        assert_int_equal(measure_tolerance(NCPU, PAGE), TOLERANCE);
        put_all(f, linux_6_12, N_ELEMENTS(linux_6_12));
        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                char text[32];

                (void)snprintf(text, sizeof(text), "%lld\n", (long long)cases[i].peak);
                put(f, "memory.peak", text);
                (void)snprintf(text, sizeof(text), "%lld\n", (long long)cases[i].max);
                put(f, "memory.max", text);
                measure(f);
                if (f->record.memory_peak_is_lower_bound != cases[i].bound)
                        fail_msg("case %zu", i);
        }
}

/* Whoever was killed wanted more, wherever the limit was. */
static void test_oom_kill_makes_a_lower_bound(void **state)
{
        Fixture *f = *state;

        put_all(f, linux_6_12, N_ELEMENTS(linux_6_12));
        put(f, "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0\n");
        measure(f);
        assert_int_equal(f->record.memory_peak_is_lower_bound, 1);
        assert_int_equal(f->record.oom_kills, 1);
        assert_int_equal(f->verdict.oom_kill, 1);
}

static void test_kernel_before_5_17_has_no_group_kills(void **state)
{
        Fixture *f = *state;

        put_all(f, linux_6_1, N_ELEMENTS(linux_6_1));
        put(f, "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
        measure(f);
        assert_true(f->record.oom_group_kills == RECORD_NULL);
        assert_int_equal(f->record.oom_kills, 0);
}

/* What is not of the kernel's form is no number; the rest is not harmed. */
static void test_malformed_files_stay_null(void **state)
{
        static const File broken[] = {
                { "memory.swap.peak", "-1\n" },
                { "memory.current", "4096 bytes\n" },
                { "memory.max", "18446744073709551616\n" },
                { "memory.high", "\n" },
                { "memory.events", "low 0\nhigh\n" },
                { "pids.peak", "max\n" },
                { "cpu.stat", "user_usec x\nsystem_usec 1\n" },
                { "io.stat", "8:0 rbytes=x\n" },
                { "memory.pressure", "some avg10=0.00\n" },
                { "memory.stat", "anon\n" },
        };
        Fixture *f = *state;
        const ExecutionRecord *r = &f->record;

        put_all(f, linux_6_12, N_ELEMENTS(linux_6_12));
        put_all(f, broken, N_ELEMENTS(broken));
        measure(f);
        assert_int_equal(r->memory_peak_bytes, 100 * MIB);
        assert_true(r->memory_swap_peak_bytes == RECORD_NULL);
        assert_true(r->memory_current_at_end_bytes == RECORD_NULL);
        assert_true(r->memory_max_bytes == RECORD_NULL);
        assert_true(r->memory_high_bytes == RECORD_NULL);
        assert_true(r->oom_kills == RECORD_NULL && r->oom_events == RECORD_NULL);
        assert_true(r->pids_peak == RECORD_NULL);
        assert_true(r->cpu_user_usec == RECORD_NULL && r->cpu_system_usec == RECORD_NULL);
        assert_true(r->io_read_bytes == RECORD_NULL);
        assert_true(r->psi_some_usec == RECORD_NULL);
        assert_null(r->memory_stat);
        assert_false(f->verdict.counters_known);
        assert_string_equal(r->capture, "captured");
}

/* More than the columns can hold: 2^63 and up. */
static void test_numbers_beyond_int64_are_null(void **state)
{
        Fixture *f = *state;

        put_all(f, linux_6_12, N_ELEMENTS(linux_6_12));
        put(f, "memory.max", "9223372036854775808\n");
        put(f, "memory.high", "9223372036854775807\n");
        measure(f);
        assert_true(f->record.memory_max_bytes == RECORD_NULL);
        assert_true(f->record.memory_high_bytes == INT64_MAX);
}

/* F16: systemd-oomd counts its kills in an xattr. */
static void test_oomd_leaves_its_mark(void **state)
{
        static const struct {
                const char *value;
                bool killed;
        } cases[] = {
                { "1", true }, { "12", true }, { "0", false }, { "x", false }, { "", false }
        };
        Fixture *f = *state;

        put_all(f, linux_6_12, N_ELEMENTS(linux_6_12));
        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                if (fsetxattr(f->fd, "user.oomd_kill", cases[i].value, strlen(cases[i].value), 0) <
                    0)
                        skip(); /* tmpfs before 6.6 */
                measure(f);
                assert_int_equal(f->verdict.oomd_killed, cases[i].killed);
        }
}

static void test_vanished_directory_is_gone(void **state)
{
        Fixture *f = *state;
        int64_t peak = 1, current = 2;

        /* no cgroup.procs: the directory itself is not a cgroup any more */
        assert_int_equal(measure_final(f->fd, NCPU, PAGE, &f->record, &f->verdict), MEASURE_E_GONE);
        assert_int_equal(measure_live(f->fd, &peak, &current), MEASURE_E_GONE);
        assert_int_equal(peak, 1);
        assert_int_equal(current, 2);
        /* it went in the middle: the peak that was read stays */
        put(f, "memory.peak", "4096\n");
        assert_int_equal(measure_final(f->fd, NCPU, PAGE, &f->record, &f->verdict), MEASURE_E_GONE);
        assert_int_equal(f->record.memory_peak_bytes, 4096);
}

static void test_live_figures(void **state)
{
        Fixture *f = *state;
        int64_t peak, current;

        put_all(f, linux_6_1, N_ELEMENTS(linux_6_1));
        assert_int_equal(measure_live(f->fd, &peak, &current), 0);
        assert_int_equal(peak, 100 * MIB);
        assert_int_equal(current, 8192);
        put(f, "memory.peak", NULL);
        assert_int_equal(measure_live(f->fd, &peak, &current), 0);
        assert_true(peak == RECORD_NULL);
        assert_int_equal(current, 8192);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                measure_test(test_files_of_6_1),
                measure_test(test_files_of_6_12),
                measure_test(test_files_of_7_2),
                measure_test(test_missing_peak_is_unsupported),
                measure_test(test_lower_bound_begins_at_the_tolerance),
                measure_test(test_oom_kill_makes_a_lower_bound),
                measure_test(test_kernel_before_5_17_has_no_group_kills),
                measure_test(test_malformed_files_stay_null),
                measure_test(test_numbers_beyond_int64_are_null),
                measure_test(test_oomd_leaves_its_mark),
                measure_test(test_vanished_directory_is_gone),
                measure_test(test_live_figures),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
