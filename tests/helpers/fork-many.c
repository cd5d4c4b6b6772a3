/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * fork-many N: forks N processes that all live at the same time, says "alive N" (or "alive M of N:
 * why" when fork was refused), lets them go, and exits with 0 if each was forked and ended well.
 */

#include "helper.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define USAGE "N"

int main(int argc, char *argv[])
{
        unsigned long n, n_alive = 0, n_well = 0;
        int gate[2], status, fork_errno = 0;
        pid_t pid;
        char c;

        if (argc != 2)
                helper_usage(USAGE);
        n = helper_number(argv[1], USAGE);
        if (pipe(gate) < 0)
                helper_fail("pipe");
        while (n_alive < n) {
                pid = fork();
                if (pid < 0) {
                        fork_errno = errno;
                        break;
                }
                if (pid == 0) {
                        (void)close(gate[1]);
                        _exit(read(gate[0], &c, 1) == 0 ? 0 : 1);
                }
                n_alive++;
        }
        if (fork_errno)
                helper_say("alive %lu of %lu: %s\n", n_alive, n, strerror(fork_errno));
        else
                helper_say("alive %lu\n", n_alive);
        (void)close(gate[1]);
        while ((pid = wait(&status)) > 0)
                n_well += status == 0;
        return n_well == n ? 0 : 1;
}
