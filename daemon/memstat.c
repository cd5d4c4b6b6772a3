/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pure parsers of the kernel's cgroup v2 files.
 *
 * Three forms are known: one value (memory.peak, memory.max), flat-keyed ("key value" lines:
 * memory.events, memory.stat), nested-keyed ("name key=value key=value" lines: io.stat,
 * memory.pressure). What a newer kernel adds (keys, lines, fields) is skipped by rule; what is asked
 * for must have exactly the kernel's form, because a number that is nearly right would be stored as
 * if the kernel had said it.
 *
 * Texts end with their NUL, may be of any length, and are not changed. A text is never copied, but
 * for the keys of memstat_to_json().
 */

#include "memstat.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#define MEMSTAT_KEY_MAX 128 /* the longest one of 7.2 has 28 bytes */

/* A piece of the text. */
typedef struct Span {
        const char *at;
        size_t n;
} Span;

static bool span_equals(Span span, const char *text)
{
        return strlen(text) == span.n && memcmp(span.at, text, span.n) == 0;
}

static bool span_to_u64(Span span, uint64_t *ret_value)
{
        uint64_t value = 0;

        if (span.n == 0)
                return false;
        for (size_t i = 0; i < span.n; ++i) {
                if (span.at[i] < '0' || span.at[i] > '9')
                        return false;
                if (__builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(span.at[i] - '0'), &value))
                        return false;
        }
        *ret_value = value;
        return true;
}

/* Takes the next line off the text, without its newline. */
static bool span_take_line(const char **text, Span *ret_line)
{
        const char *start = *text;

        if (*start == '\0')
                return false;
        *ret_line = (Span){ .at = start, .n = strcspn(start, "\n") };
        *text = start + ret_line->n + (start[ret_line->n] == '\n');
        return true;
}

/* Takes the next word off the line: what stands before a blank or the end. */
static bool span_take_word(Span *line, Span *ret_word)
{
        size_t n = 0;

        while (line->n > 0 && *line->at == ' ') {
                ++line->at;
                --line->n;
        }
        while (n < line->n && line->at[n] != ' ')
                ++n;
        *ret_word = (Span){ .at = line->at, .n = n };
        line->at += n;
        line->n -= n;
        return n > 0;
}

/* Splits at the first occurrence of the separator; false if there is none, or nothing before it. */
static bool span_split(Span span, char separator, Span *ret_left, Span *ret_right)
{
        const char *at = memchr(span.at, separator, span.n);

        if (!at || at == span.at)
                return false;
        *ret_left = (Span){ .at = span.at, .n = (size_t)(at - span.at) };
        *ret_right = (Span){ .at = at + 1, .n = span.n - ret_left->n - 1 };
        return true;
}

/* The whole text as one line, if that is what it is. */
static bool span_of_single_line(const char *text, Span *ret_line)
{
        return span_take_line(&text, ret_line) && *text == '\0';
}

int memstat_parse_u64(const char *text, uint64_t *ret_value)
{
        Span line;

        if (!span_of_single_line(text, &line) || !span_to_u64(line, ret_value))
                return MEMSTAT_E_MALFORMED;
        return 0;
}

int memstat_parse_limit(const char *text, uint64_t *ret_value)
{
        Span line;

        if (!span_of_single_line(text, &line))
                return MEMSTAT_E_MALFORMED;
        if (span_equals(line, "max")) {
                *ret_value = MEMSTAT_MAX;
                return 0;
        }
        return span_to_u64(line, ret_value) ? 0 : MEMSTAT_E_MALFORMED;
}

/* Lines of other keys need a key and a blank, but any value: the kernel may add what it likes. */
int memstat_parse_key(const char *text, const char *key, uint64_t *ret_value)
{
        bool found = false;
        uint64_t value = 0;
        Span line, name, number;

        while (span_take_line(&text, &line)) {
                if (!span_split(line, ' ', &name, &number))
                        return MEMSTAT_E_MALFORMED;
                if (!span_equals(name, key))
                        continue;
                if (found || !span_to_u64(number, &value))
                        return MEMSTAT_E_MALFORMED;
                found = true;
        }
        if (!found)
                return MEMSTAT_E_MISSING;
        *ret_value = value;
        return 0;
}

int memstat_parse_events(const char *text, MemstatEvents *ret_events)
{
        MemstatEvents events = { .has_oom_group_kill = true };
        const struct {
                const char *key;
                uint64_t *value;
        } keys[] = {
                { "high", &events.high },
                { "max", &events.max },
                { "oom", &events.oom },
                { "oom_kill", &events.oom_kill },
        };
        int r;

        for (size_t i = 0; i < N_ELEMENTS(keys); ++i) {
                r = memstat_parse_key(text, keys[i].key, keys[i].value);
                if (r != 0)
                        return r;
        }
        r = memstat_parse_key(text, "oom_group_kill", &events.oom_group_kill);
        if (r == MEMSTAT_E_MISSING)
                events.has_oom_group_kill = false;
        else if (r != 0)
                return r;
        *ret_events = events;
        return 0;
}

int memstat_parse_populated(const char *text, bool *ret_populated)
{
        uint64_t value;
        int r = memstat_parse_key(text, "populated", &value);

        if (r != 0)
                return r;
        if (value > 1)
                return MEMSTAT_E_MALFORMED;
        *ret_populated = value == 1;
        return 0;
}

/* total= among the fields of a pressure line. */
static int memstat_pressure_total(Span fields, uint64_t *ret_usec)
{
        Span field, name, number;

        while (span_take_word(&fields, &field)) {
                if (!span_split(field, '=', &name, &number))
                        return MEMSTAT_E_MALFORMED;
                if (span_equals(name, "total"))
                        return span_to_u64(number, ret_usec) ? 0 : MEMSTAT_E_MALFORMED;
        }
        return MEMSTAT_E_MISSING;
}

int memstat_parse_pressure(const char *text, MemstatPressure *ret_pressure)
{
        MemstatPressure pressure = { 0 };
        bool has_some = false, has_full = false;
        Span line, name;
        int r;

        while (span_take_line(&text, &line)) {
                if (!span_take_word(&line, &name))
                        return MEMSTAT_E_MALFORMED;
                if (!has_some && span_equals(name, "some")) {
                        r = memstat_pressure_total(line, &pressure.some_usec);
                        has_some = true;
                } else if (!has_full && span_equals(name, "full")) {
                        r = memstat_pressure_total(line, &pressure.full_usec);
                        has_full = true;
                } else {
                        continue;
                }
                if (r != 0)
                        return r;
        }
        if (!has_some || !has_full)
                return MEMSTAT_E_MISSING;
        *ret_pressure = pressure;
        return 0;
}

static bool memstat_io_field(Span field, MemstatIo *io)
{
        Span name, number;
        uint64_t *sum, value;

        if (!span_split(field, '=', &name, &number))
                return false;
        if (span_equals(name, "rbytes"))
                sum = &io->read_bytes;
        else if (span_equals(name, "wbytes"))
                sum = &io->write_bytes;
        else
                return true;
        return span_to_u64(number, &value) && !__builtin_add_overflow(*sum, value, sum);
}

/*
 * A line begins with its device, "8:0". Kernels have written devices without statistics and without
 * a newline ("7:7 7:6 8:0 rbytes=..."; the last one at the end of the file even without the rest),
 * and "(unknown)" for a device without a name. So a word without "=" is a device wherever it stands.
 */
int memstat_parse_io(const char *text, MemstatIo *ret_io)
{
        MemstatIo io = { 0 };
        Span line, word;

        while (span_take_line(&text, &line)) {
                if (!span_take_word(&line, &word) || memchr(word.at, '=', word.n))
                        return MEMSTAT_E_MALFORMED;
                while (span_take_word(&line, &word))
                        if (memchr(word.at, '=', word.n) && !memstat_io_field(word, &io))
                                return MEMSTAT_E_MALFORMED;
        }
        *ret_io = io;
        return 0;
}

/* Only printable ASCII: what else the kernel would never write, and JSON could not hold. */
static bool memstat_copy_key(Span name, char key[MEMSTAT_KEY_MAX])
{
        if (name.n >= MEMSTAT_KEY_MAX)
                return false;
        for (size_t i = 0; i < name.n; ++i)
                if (name.at[i] <= ' ' || name.at[i] > '~')
                        return false;
        memcpy(key, name.at, name.n);
        key[name.n] = '\0';
        return true;
}

static int memstat_fill_object(json_t *object, const char *text)
{
        char key[MEMSTAT_KEY_MAX];
        Span line, name, number;
        uint64_t value;

        while (span_take_line(&text, &line)) {
                /* SQL and JSON integers are signed; no counter of the kernel comes near. */
                if (!span_split(line, ' ', &name, &number) || !span_to_u64(number, &value) ||
                    value > INT64_MAX || !memstat_copy_key(name, key) ||
                    json_object_get(object, key))
                        return MEMSTAT_E_MALFORMED;
                if (json_object_set_new(object, key, json_integer((json_int_t)value)) < 0)
                        return error_origin(-ENOMEM);
        }
        return 0;
}

int memstat_to_json(const char *text, char **ret_json)
{
        json_t *object = json_object();
        char *json;
        int r;

        if (!object)
                return error_origin(-ENOMEM);
        r = memstat_fill_object(object, text);
        json = r == 0 ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
        json_decref(object);
        if (r != 0)
                return error_fold(r);
        if (!json)
                return error_origin(-ENOMEM);
        *ret_json = json;
        return 0;
}
