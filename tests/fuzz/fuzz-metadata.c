/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The xattr of an execution's cgroup, which a root of a container could write to. What is accepted
 * is written back, and read again as the same.
 */

#include "fuzz.h"

#include "metadata.h"

#include "private/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
        _cleanup_free_ char *text = fuzz_text(data, n);
        _cleanup_free_ char *once = NULL;
        _cleanup_free_ char *twice = NULL;
        Metadata first, second;

        if (!text || metadata_decode(text, &first) != 0)
                return 0;
        fuzz_assert(metadata_encode(&first, &once) == 0);
        fuzz_assert(metadata_decode(once, &second) == 0);
        fuzz_assert(metadata_encode(&second, &twice) == 0);
        fuzz_assert(strcmp(once, twice) == 0);
        metadata_deinit(&first);
        metadata_deinit(&second);
        return 0;
}
