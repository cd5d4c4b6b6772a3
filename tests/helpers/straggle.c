/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * straggle FIFO [MIB]: leaves a daemon behind in the old way: forked twice, a session of its own,
 * no standard streams, deaf to polite signals. Says "left PID" once it is there, and exits with 0.
 * The daemon waits for the FIFO, touches so much memory, and exits.
 */

#include "helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define USAGE "FIFO [MIB]"

static _Noreturn void straggle(const char *fifo, unsigned long n_mib, int report_fd)
{
        int fd = open("/dev/null", O_RDWR);
        pid_t pid = getpid();

        (void)signal(SIGHUP, SIG_IGN);
        (void)signal(SIGTERM, SIG_IGN);
        if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
                _exit(HELPER_EXIT_FAULT);
        if (write(report_fd, &pid, sizeof(pid)) != sizeof(pid))
                _exit(HELPER_EXIT_FAULT);
        (void)close(report_fd);
        helper_block_on(fifo);
        if (n_mib > 0)
                (void)helper_touch(n_mib);
        _exit(0);
}

int main(int argc, char *argv[])
{
        unsigned long n_mib;
        int report[2];
        pid_t pid, left;

        if (argc != 2 && argc != 3)
                helper_usage(USAGE);
        n_mib = argc == 3 ? helper_number(argv[2], USAGE) : 0;
        if (pipe2(report, O_CLOEXEC) < 0)
                helper_fail("pipe2");
        pid = fork();
        if (pid < 0)
                helper_fail("fork");
        if (pid == 0) {
                if (setsid() < 0)
                        _exit(HELPER_EXIT_FAULT);
                pid = fork();
                if (pid == 0)
                        straggle(argv[1], n_mib, report[1]);
                _exit(pid < 0 ? HELPER_EXIT_FAULT : 0);
        }
        (void)close(report[1]);
        if (waitpid(pid, NULL, 0) < 0)
                helper_fail("waitpid");
        if (read(report[0], &left, sizeof(left)) != sizeof(left))
                helper_fail("the straggler did not come up");
        helper_say("left %d\n", (int)left);
        return 0;
}
