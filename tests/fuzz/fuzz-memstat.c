/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parsers of the kernel's files. What they accept has to be what they say it is. */

#include "fuzz.h"

#include "memstat.h"

#include "private/cleanup.h"

#include <jansson.h>

static void fuzz_json(const char *text)
{
        _cleanup_free_ char *json = NULL;
        json_t *o;

        if (memstat_to_json(text, &json) != 0)
                return;
        o = json_loads(json, 0, NULL);
        fuzz_assert(json_is_object(o));
        json_decref(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
        _cleanup_free_ char *text = fuzz_text(data, n);
        MemstatEvents events;
        MemstatPressure pressure;
        MemstatIo io;
        bool populated;
        uint64_t value, limit, oom;

        if (!text)
                return 0;
        if (memstat_parse_u64(text, &value) == 0) {
                fuzz_assert(text[0] >= '0' && text[0] <= '9');
                fuzz_assert(memstat_parse_limit(text, &limit) == 0 && limit == value);
        }
        (void)memstat_parse_limit(text, &limit);
        (void)memstat_parse_key(text, "anon", &value);
        if (memstat_parse_events(text, &events) == 0)
                fuzz_assert(memstat_parse_key(text, "oom", &oom) == 0 && oom == events.oom);
        (void)memstat_parse_populated(text, &populated);
        (void)memstat_parse_pressure(text, &pressure);
        (void)memstat_parse_io(text, &io);
        fuzz_json(text);
        return 0;
}
