/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file of the configuration. What is accepted is dumped, and the dump is accepted as the same. */

#include "fuzz.h"

#include "config.h"

#include "private/cleanup.h"

#include <sys/mman.h>
#include <unistd.h>

static void complain(void *userdata, const char *file, unsigned line, const char *text)
{
        ++*(unsigned *)userdata;
        fuzz_assert(file && text[0]);
}

static int load(const char *text, size_t n, unsigned *complaints, Config *ret_config)
{
        _cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
        char path[32];

        fuzz_assert(fd >= 0 && write(fd, text, n) == (ssize_t)n);
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        *complaints = 0;
        return config_load("", path, complain, complaints, ret_config);
}

static char *dump(const Config *config)
{
        char *text = NULL;
        size_t n;
        FILE *f = open_memstream(&text, &n);

        fuzz_assert(f);
        config_dump(config, f);
        fuzz_assert(fclose(f) == 0);
        return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
        _cleanup_free_ char *text = fuzz_text(data, n);
        _cleanup_free_ char *once = NULL;
        _cleanup_free_ char *twice = NULL;
        Config first = { 0 }, second = { 0 };
        unsigned complaints;

        if (!text || load(text, n, &complaints, &first) != 0)
                return 0;
        once = dump(&first);
        fuzz_assert(load(once, strlen(once), &complaints, &second) == 0 && complaints == 0);
        twice = dump(&second);
        fuzz_assert(strcmp(once, twice) == 0);
        config_deinit(&first);
        config_deinit(&second);
        return 0;
}
