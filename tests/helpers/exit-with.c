/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* exit-with STATUS [signal]: ends with it, or of the signal with that number. Does nothing else. */

#include "helper.h"

#include <signal.h>
#include <unistd.h>

#define USAGE "STATUS [signal]"

int main(int argc, char *argv[])
{
        int n;

        if (argc != 2 && argc != 3)
                helper_usage(USAGE);
        n = (int)helper_number(argv[1], USAGE);
        if (argc == 3) {
                (void)signal(n, SIG_DFL); /* systemd has services ignore SIGPIPE */
                (void)kill(getpid(), n);
        }
        _exit(n);
}
