/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records of the kernel's log, of which a task writes a part: its name. The input is fed line by
 * line, as the log would be.
 */

#include "fuzz.h"

#include "victims.h"

#include "private/cleanup.h"

static void seen(void *userdata, const Victim *victim)
{
        ++*(unsigned *)userdata;
        fuzz_assert(strlen(victim->execution_id) == 32);
        fuzz_assert(strnlen(victim->comm, sizeof(victim->comm)) < sizeof(victim->comm));
        fuzz_assert(strnlen(victim->constraint, sizeof(victim->constraint)) <
                    sizeof(victim->constraint));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
        _cleanup_free_ char *text = fuzz_text(data, n);
        unsigned victims = 0, lines = 0;
        VictimsReader reader = { .fn = seen, .userdata = &victims };
        char *rest = text;
        const char *line;

        while (text && (line = strsep(&rest, "\n"))) {
                /* A line of exactly its size: a read behind its end is seen. */
                _cleanup_free_ char *alone = strdup(line);

                fuzz_assert(alone);
                victims_feed(&reader, alone, ++lines);
        }
        victims_end(&reader);
        fuzz_assert(victims <= lines);
        return 0;
}
