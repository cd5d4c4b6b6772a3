/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * hog MIB [MSEC|hold]: touches so much anonymous memory; keeps it for MSEC milliseconds, or says
 * "ready PID" and keeps it until a signal comes.
 */

#include "helper.h"

#include <string.h>
#include <unistd.h>

#define USAGE "MIB [MSEC|hold]"

int main(int argc, char *argv[])
{
        if (argc != 2 && argc != 3)
                helper_usage(USAGE);
        (void)helper_touch(helper_number(argv[1], USAGE));
        if (argc == 2)
                return 0;
        if (strcmp(argv[2], "hold") == 0) {
                helper_say("ready %d\n", (int)getpid());
                for (;;)
                        (void)pause();
        }
        helper_pause(helper_number(argv[2], USAGE));
        return 0;
}
