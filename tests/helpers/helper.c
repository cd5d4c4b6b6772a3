/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the helpers share. */

#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

void helper_fail(const char *what)
{
        dprintf(STDERR_FILENO, "%s: %s: %s\n", program_invocation_short_name, what,
                strerror(errno));
        _exit(HELPER_EXIT_FAULT);
}

void helper_usage(const char *usage)
{
        dprintf(STDERR_FILENO, "usage: %s %s\n", program_invocation_short_name, usage);
        _exit(HELPER_EXIT_FAULT);
}

unsigned long helper_number(const char *text, const char *usage)
{
        if (!*text || strspn(text, "0123456789") != strlen(text))
                helper_usage(usage);
        return strtoul(text, NULL, 10);
}

void helper_say(const char *format, ...)
{
        char line[512];
        va_list ap;
        int n;

        va_start(ap, format);
        n = vsnprintf(line, sizeof(line), format, ap);
        va_end(ap);
        if (n < 0 || write(STDOUT_FILENO, line, (size_t)n) != n)
                helper_fail("stdout");
}

void *helper_touch(size_t n_mib)
{
        size_t n = n_mib * MIB;
        char *p;

        p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
                helper_fail("mmap");
        /* Huge pages would make the sum depend on where the mapping begins. */
        (void)madvise(p, n, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < n; i += 4096)
                *(volatile char *)(p + i) = 1;
        return p;
}

void helper_pause(unsigned long msec)
{
        struct timespec ts = { .tv_sec = (time_t)(msec / 1000),
                               .tv_nsec = (long)(msec % 1000 * 1000000) };

        while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
                ;
}

void helper_block_on(const char *fifo)
{
        char c;
        int fd;
        ssize_t n;

        do
                fd = open(fifo, O_RDONLY | O_CLOEXEC);
        while (fd < 0 && errno == EINTR);
        if (fd < 0)
                helper_fail(fifo);
        do
                n = read(fd, &c, 1);
        while (n > 0 || (n < 0 && errno == EINTR));
        (void)close(fd);
}
