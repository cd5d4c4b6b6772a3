/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* block-on FIFO [MIB]: touches so much memory, then lives until the FIFO was opened for writing. */

#include "helper.h"

#define USAGE "FIFO [MIB]"

int main(int argc, char *argv[])
{
        if (argc != 2 && argc != 3)
                helper_usage(USAGE);
        if (argc == 3)
                (void)helper_touch(helper_number(argv[2], USAGE));
        helper_block_on(argv[1]);
        return 0;
}
