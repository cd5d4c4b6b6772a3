/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What all targets have in common. A target is one function: libFuzzer calls it with inputs of its
 * own (meson option "fuzz"), replay.c with the files of the corpus (in every test run).
 */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Longer inputs find nothing that shorter ones do not; libFuzzer's -max_len says the same. */
#define FUZZ_INPUT_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* assert() that no build switches off. */
#define fuzz_assert(condition)    \
        do {                      \
                if (!(condition)) \
                        abort();  \
        } while (0)

/*
 * The input as a text in a block of exactly its size, so that a read behind its end is seen. NULL:
 * too long. The caller's to free().
 */
static inline char *fuzz_text(const uint8_t *data, size_t n)
{
        char *text;

        if (n > FUZZ_INPUT_MAX)
                return NULL;
        text = malloc(n + 1);
        fuzz_assert(text);
        if (n > 0)
                memcpy(text, data, n);
        text[n] = '\0';
        return text;
}
