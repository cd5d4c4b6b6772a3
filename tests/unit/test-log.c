/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where log lines go and what they look like. The journal is played by this program: it defines
 * connect() and sd_journal_sendv(), so that no test ever reaches a real one.
 */

#include "log.h"

#define SD_JOURNAL_SUPPRESS_LOCATION

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>

#include <cmocka.h>

static struct {
        bool is_there;
        int result;
        char entry[32768]; /* the fields of all entries, one a line */
} journal;

int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t n)
{
        if (journal.is_there)
                return 0;
        errno = ECONNREFUSED;
        return -1;
}

int sd_journal_sendv(const struct iovec *fields, int n)
{
        for (int i = 0; i < n; ++i)
                (void)snprintf(journal.entry + strlen(journal.entry),
                               sizeof(journal.entry) - strlen(journal.entry), "%.*s\n",
                               (int)fields[i].iov_len, (const char *)fields[i].iov_base);
        errno = EBADF; /* a caller's errno must outlive this */
        return journal.result;
}

/* stderr while a test runs: a pipe that nobody empties but taken(). */
static int reader_fd, saved_stderr_fd;

static int setup(void **state)
{
        int fds[2];

        memset(&journal, 0, sizeof(journal));
        assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        saved_stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        assert_true(saved_stderr_fd >= 0);
        assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
        (void)close(fds[1]);
        reader_fd = fds[0];
        (void)unsetenv("JOURNAL_STREAM");
        (void)unsetenv("INVOCATION_ID");
        log_setup(LOG_INFO);
        return 0;
}

static int teardown(void **state)
{
        assert_int_equal(dup2(saved_stderr_fd, STDERR_FILENO), STDERR_FILENO);
        saved_stderr_fd = cleanup_close(saved_stderr_fd);
        reader_fd = cleanup_close(reader_fd);
        return 0;
}

/* What has been written to stderr since the last call. */
static const char *taken(void)
{
        static char text[262144];
        ssize_t n = read(reader_fd, text, sizeof(text) - 1);

        if (n < 0)
                assert_int_equal(errno, EAGAIN);
        text[n > 0 ? n : 0] = '\0';
        return text;
}

/* As systemd does it: device and inode of the stream behind stderr. */
static void connect_stderr_to_journal(void)
{
        struct stat st;
        char stream[64];

        assert_int_equal(fstat(STDERR_FILENO, &st), 0);
        (void)snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
                       (unsigned long long)st.st_ino);
        assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
        journal.is_there = true;
        log_setup(LOG_INFO);
}

static const LogFields all_fields = {
        .message_id = LOG_MESSAGE_EXECUTION_FINISHED,
        .execution_id = "0190163d8694739bb8ebf3cc4c1f8e6e",
        .task = "etl/load",
        .cgroup_path = "/sys/fs/cgroup/x-1",
        .result = "ok",
        .memory_peak = 1048576,
        .uid = 0,
};

static void test_stderr_gets_one_line(void **state)
{
        log_notice("ready, %d executions adopted", 3);
        assert_string_equal(taken(), "cgtaskd: ready, 3 executions adopted\n");
}

static void test_service_manager_gets_the_level(void **state)
{
        assert_int_equal(setenv("INVOCATION_ID", "0123456789abcdef0123456789abcdef", 1), 0);
        log_setup(LOG_DEBUG);
        log_error("a");
        log_warning("b");
        log_notice("c");
        log_info("d");
        log_debug("e");
        assert_string_equal(taken(), "<3>a\n<4>b\n<5>c\n<6>d\n<7>e\n");
}

static void test_unimportant_lines_are_not_shown(void **state)
{
        log_setup(LOG_WARNING);
        log_debug("a");
        log_info("b");
        log_notice("c");
        log_warning("d");
        assert_string_equal(taken(), "cgtaskd: d\n");
}

static void test_fields_follow_in_brackets(void **state)
{
        LogFields fields = LOG_FIELDS_NULL;

        log_write(LOG_INFO, &all_fields, "execution finished");
        assert_string_equal(taken(), "cgtaskd: execution finished "
                                     "[execution=0190163d8694739bb8ebf3cc4c1f8e6e result=ok "
                                     "memory_peak=1048576 uid=0 task=etl/load "
                                     "cgroup=/sys/fs/cgroup/x-1]\n");
        log_write(LOG_INFO, &fields, "nothing known");
        assert_string_equal(taken(), "cgtaskd: nothing known\n");
        fields.memory_peak = 0;
        log_write(LOG_INFO, &fields, "peak known");
        assert_string_equal(taken(), "cgtaskd: peak known [memory_peak=0]\n");
}

static void test_journal_gets_fields(void **state)
{
        connect_stderr_to_journal();
        log_write(LOG_INFO, &all_fields, "execution finished");
        assert_string_equal(journal.entry, "MESSAGE=execution finished\n"
                                           "PRIORITY=6\n"
                                           "SYSLOG_IDENTIFIER=cgtaskd\n"
                                           "MESSAGE_ID=" LOG_MESSAGE_EXECUTION_FINISHED "\n"
                                           "CGTASK_EXECUTION_ID=0190163d8694739bb8ebf3cc4c1f8e6e\n"
                                           "CGTASK_RESULT=ok\n"
                                           "CGTASK_MEMORY_PEAK=1048576\n"
                                           "CGTASK_PEER_UID=0\n"
                                           "CGTASK_TASK=etl/load\n"
                                           "CGTASK_CGROUP=/sys/fs/cgroup/x-1\n");
        journal.entry[0] = '\0';
        log_error("plain");
        assert_string_equal(journal.entry,
                            "MESSAGE=plain\nPRIORITY=3\nSYSLOG_IDENTIFIER=cgtaskd\n");
        assert_string_equal(taken(), "");
}

static void test_other_stream_is_not_the_journal(void **state)
{
        static const char *const streams[] = {
                "", "1:2", "8:0:1", "x", "-1:-1", ":", "1:", ":2", "0:0", "18446744073709551616:1"
        };

        journal.is_there = true;
        for (size_t i = 0; i < N_ELEMENTS(streams); ++i) {
                assert_int_equal(setenv("JOURNAL_STREAM", streams[i], 1), 0);
                log_setup(LOG_INFO);
                log_info("a");
                assert_string_equal(taken(), "cgtaskd: a\n");
        }
        assert_string_equal(journal.entry, "");
}

static void test_absent_journal_falls_back_to_stderr(void **state)
{
        connect_stderr_to_journal();
        journal.is_there = false;
        log_info("a");
        assert_string_equal(taken(), "<6>a\n");
        journal.is_there = true;
        journal.result = -EMSGSIZE;
        log_info("b");
        assert_string_equal(taken(), "<6>b\n");
}

/* Nobody forges a line, or talks to a terminal. */
static void test_texts_are_made_harmless(void **state)
{
        static const struct {
                const char *task, *shown;
        } tasks[] = {
                { "a\nb", "a\\x0ab" },
                { "a\r<0>b\t", "a\\x0d<0>b\\x09" },
                { "\x1b[31mred\x7f", "\\x1b[31mred\\x7f" },
                { "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa7", /* umlauts, euro, penguin */
                  "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa7" },
                { ("\xc2\x9b"
                   "31m"),
                  "\\xc2\\x9b31m" },                            /* C1 control: CSI */
                { "\xc0\x8a", "\\xc0\\x8a" },                   /* overlong newline */
                { "\xe0\x80\x8a", "\\xe0\\x80\\x8a" },          /* ... of three bytes */
                { "\xed\xa0\x80", "\\xed\\xa0\\x80" },          /* surrogate */
                { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, /* above U+10FFFF */
                { "\xff\xfe", "\\xff\\xfe" },
                { "\xe2\x82", "\\xe2\\x82" }, /* cut off */
                { "\x80", "\\x80" },
                { "back\\slash %s %n", "back\\slash %s %n" },
        };

        for (size_t i = 0; i < N_ELEMENTS(tasks); ++i) {
                LogFields fields = LOG_FIELDS_NULL;
                char expected[256];

                fields.task = tasks[i].task;
                log_write(LOG_INFO, &fields, "of %s", tasks[i].task);
                (void)snprintf(expected, sizeof(expected), "cgtaskd: of %s [task=%s]\n",
                               tasks[i].shown, tasks[i].shown);
                assert_string_equal(taken(), expected);
        }
}

static void test_journal_texts_are_made_harmless(void **state)
{
        LogFields fields = LOG_FIELDS_NULL;

        connect_stderr_to_journal();
        fields.task = "a\nCGTASK_RESULT=ok";
        log_write(LOG_INFO, &fields, "x\ny");
        assert_string_equal(journal.entry, "MESSAGE=x\\x0ay\nPRIORITY=6\n"
                                           "SYSLOG_IDENTIFIER=cgtaskd\n"
                                           "CGTASK_TASK=a\\x0aCGTASK_RESULT=ok\n");
}

/* However long: one line, complete, that still has its end. */
/* cmocka 2 does not want assert_in_range() any more, cmocka 1 has nothing else. */
static void assert_length(size_t n, size_t at_least, size_t at_most)
{
        assert_true(n >= at_least);
        assert_true(n <= at_most);
}

static void test_long_texts_are_cut(void **state)
{
        LogFields fields = LOG_FIELDS_NULL;
        char text[20000];
        const char *line;

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        log_info("%s", text);
        line = taken();
        assert_length(strlen(line), 2000, 4096);
        assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);

        fields.task = text;
        fields.cgroup_path = text;
        log_write(LOG_INFO, &fields, "%s", text);
        line = taken();
        assert_length(strlen(line), 4000, 4096);
        assert_string_equal(line + strlen(line) - 2, "]\n");

        memset(text, 0x01, sizeof(text) - 1); /* each one grows to four */
        log_write(LOG_INFO, &fields, "%s", text);
        line = taken();
        assert_length(strlen(line), 4000, 4096);
        assert_string_equal(line + strlen(line) - 2, "]\n");

        connect_stderr_to_journal();
        log_write(LOG_INFO, &fields, "%s", text);
        assert_length(strlen(journal.entry), 8000, 8300);
        assert_string_equal(taken(), "");
}

/* A log that takes nothing costs the loop one short wait, and is told what it missed. */
static void test_stuck_stderr_does_not_hold_the_caller(void **state)
{
        static const char junk[4096];
        const char *text;

        while (write(STDERR_FILENO, junk, sizeof(junk)) > 0)
                ;
        assert_int_equal(errno, EAGAIN);
        for (unsigned i = 0; i < 5000; ++i)
                log_info("lost");
        (void)taken();
        log_info("found");
        text = taken();
        assert_string_equal(text, "cgtaskd: found\n"
                                  "cgtaskd: log was stuck, lines lost before the last one: 5000\n");
        log_info("on");
        assert_string_equal(taken(), "cgtaskd: on\n");
}

static void test_errno_is_not_changed(void **state)
{
        errno = ENOSPC;
        log_error("cannot write: %m");
        assert_int_equal(errno, ENOSPC);
        assert_string_equal(taken(), "cgtaskd: cannot write: No space left on device\n");
        connect_stderr_to_journal();
        errno = ENOSPC;
        log_error("cannot write: %m");
        assert_int_equal(errno, ENOSPC);
        assert_non_null(strstr(journal.entry, "MESSAGE=cannot write: No space left on device\n"));
}

static void test_message_ids_are_ids(void **state)
{
        static const char *const ids[] = { LOG_MESSAGE_EXECUTION_FINISHED,
                                           LOG_MESSAGE_EXECUTION_OOM, LOG_MESSAGE_STORE_FAILED,
                                           LOG_MESSAGE_DEGRADED };

        for (size_t i = 0; i < N_ELEMENTS(ids); ++i) {
                assert_int_equal(strlen(ids[i]), 32);
                assert_int_equal(strspn(ids[i], "0123456789abcdef"), 32);
                for (size_t k = 0; k < i; ++k)
                        assert_string_not_equal(ids[i], ids[k]);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_stderr_gets_one_line),
                TEST(test_service_manager_gets_the_level),
                TEST(test_unimportant_lines_are_not_shown),
                TEST(test_fields_follow_in_brackets),
                TEST(test_journal_gets_fields),
                TEST(test_other_stream_is_not_the_journal),
                TEST(test_absent_journal_falls_back_to_stderr),
                TEST(test_texts_are_made_harmless),
                TEST(test_journal_texts_are_made_harmless),
                TEST(test_long_texts_are_cut),
                TEST(test_stuck_stderr_does_not_hold_the_caller),
                TEST(test_errno_is_not_changed),
                TEST(test_message_ids_are_ids),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
