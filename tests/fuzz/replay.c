/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * replay.c: runs one target over every file of the folders it is given, so that what fuzzing has
 * found once is tested in every build, with every compiler. A file that a target does not survive
 * has been named before, on the last line of the output.
 */

#include "fuzz.h"

#include "private/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void replay_file(int dir, const char *name)
{
        static uint8_t data[FUZZ_INPUT_MAX + 1];
        _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        fuzz_assert(fd >= 0);
        n = read(fd, data, sizeof(data));
        fuzz_assert(n >= 0 && n <= FUZZ_INPUT_MAX);
        (void)LLVMFuzzerTestOneInput(data, (size_t)n);
}

static unsigned replay_folder(const char *path)
{
        DIR *dir = opendir(path);
        struct dirent *entry;
        unsigned n = 0;

        fuzz_assert(dir);
        while ((entry = readdir(dir))) {
                if (entry->d_name[0] == '.')
                        continue;
                (void)printf("# %s/%s\n", path, entry->d_name);
                (void)fflush(stdout);
                replay_file(dirfd(dir), entry->d_name);
                ++n;
        }
        (void)closedir(dir);
        return n;
}

int main(int argc, char *argv[])
{
        unsigned n = 0;

        (void)LLVMFuzzerTestOneInput(NULL, 0);
        for (int i = 1; i < argc; ++i)
                n += replay_folder(argv[i]);
        (void)printf("%u inputs\n", n);
        return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
