/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * wait-status FILE COMMAND [ARG...]: runs the command and writes what wait(2) says of it, "exited N"
 * or "signaled N": a shell cannot tell exit status 137 from SIGKILL. Always exits with 0.
 */

#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
        int fd, status;
        pid_t pid;

        if (argc < 3)
                helper_usage("FILE COMMAND [ARG...]");
        pid = fork();
        if (pid < 0)
                helper_fail("fork");
        if (pid == 0) {
                (void)execvp(argv[2], argv + 2);
                helper_fail(argv[2]);
        }
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        helper_fail("waitpid");
        fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0)
                helper_fail(argv[1]);
        if (WIFEXITED(status))
                dprintf(fd, "exited %d\n", WEXITSTATUS(status));
        else
                dprintf(fd, "signaled %d\n", WTERMSIG(status));
        return 0;
}
