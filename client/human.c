/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Numbers for people.
 *
 * Writing: into a buffer of the caller's, never longer than HUMAN_MAX, no memory to fail. Reading:
 * strict; a text either is of the form or it is refused as a whole, so a mistyped unit is never
 * taken for another number.
 */

#include "human.h"

#include "private/cleanup.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <time.h>

typedef struct SpanUnit {
        const char *name;
        uint64_t usec;
} SpanUnit;

/* Largest first: the first name of a unit is the one written. */
static const SpanUnit span_units[] = {
        { "w", 7 * HUMAN_DAY },
        { "d", HUMAN_DAY },
        { "h", HUMAN_HOUR },
        { "min", HUMAN_MINUTE },
        { "s", HUMAN_SECOND },
        { "ms", 1000 },
        { "us", 1 },
        { "m", HUMAN_MINUTE },
        { "sec", HUMAN_SECOND },
        { "hour", HUMAN_HOUR },
        { "hours", HUMAN_HOUR },
        { "day", HUMAN_DAY },
        { "days", HUMAN_DAY },
        { "week", 7 * HUMAN_DAY },
        { "weeks", 7 * HUMAN_DAY },
        { "usec", 1 },
        { "msec", 1000 },
        { "minute", HUMAN_MINUTE },
        { "minutes", HUMAN_MINUTE },
        { "second", HUMAN_SECOND },
        { "seconds", HUMAN_SECOND },
};

#define N_WRITTEN_UNITS 4 /* w, d, h, min; what is shorter has rules of its own */

const char *human_bytes(uint64_t bytes, char text[HUMAN_MAX])
{
        static const char suffixes[] = "KMGTPE";
        uint64_t unit = 1024, whole, tenths;
        size_t i = 0;

        if (bytes < 1024) {
                snprintf(text, HUMAN_MAX, "%" PRIu64 "B", bytes);
                return text;
        }
        /* One decimal may round up to 1024.0: that is 1.0 of the next unit. */
        while (suffixes[i + 1] && bytes / unit >= 1024) {
                unit *= 1024;
                i++;
        }
        whole = bytes / unit;
        tenths = (bytes % unit / (unit / 1024) * 10 + 512) / 1024;
        if (tenths == 10) {
                whole++;
                tenths = 0;
        }
        if (whole == 1024 && suffixes[i + 1]) {
                whole = 1;
                i++;
        }
        snprintf(text, HUMAN_MAX, "%" PRIu64 ".%" PRIu64 "%c", whole, tenths, suffixes[i]);
        return text;
}

/* Below one minute: "12.345s" (the milliseconds only if asked for), "12ms", "12us". */
static void write_short_span(uint64_t usec, bool exact, char *text, size_t n)
{
        uint64_t ms = usec % HUMAN_SECOND / 1000;

        if (usec >= HUMAN_SECOND && exact && ms > 0)
                snprintf(text, n, "%" PRIu64 ".%03" PRIu64 "s", usec / HUMAN_SECOND, ms);
        else if (usec >= HUMAN_SECOND)
                snprintf(text, n, "%" PRIu64 "s", usec / HUMAN_SECOND);
        else if (usec >= 1000)
                snprintf(text, n, "%" PRIu64 "ms", usec / 1000);
        else if (usec > 0)
                snprintf(text, n, "%" PRIu64 "us", usec);
        else
                snprintf(text, n, "0");
}

const char *human_span(uint64_t usec, unsigned n_units, char text[HUMAN_MAX])
{
        size_t i, n = 0;

        if (usec < HUMAN_MINUTE) {
                write_short_span(usec, n_units > 1, text, HUMAN_MAX);
                return text;
        }
        for (i = 0; i < N_WRITTEN_UNITS && n_units > 0; i++) {
                if (usec < span_units[i].usec)
                        continue;
                n += (size_t)snprintf(text + n, HUMAN_MAX - n, "%s%" PRIu64 "%s", n > 0 ? " " : "",
                                      usec / span_units[i].usec, span_units[i].name);
                usec %= span_units[i].usec;
                n_units--;
        }
        if (n_units > 0 && usec >= HUMAN_SECOND)
                snprintf(text + n, HUMAN_MAX - n, " %" PRIu64 "s", usec / HUMAN_SECOND);
        return text;
}

const char *human_time(uint64_t usec, char text[HUMAN_MAX])
{
        struct tm tm;
        time_t t = (time_t)(usec / HUMAN_SECOND);

        if (!localtime_r(&t, &tm) || strftime(text, HUMAN_MAX, "%a %Y-%m-%d %H:%M:%S %Z", &tm) == 0)
                snprintf(text, HUMAN_MAX, "@%" PRIu64, usec / HUMAN_SECOND);
        return text;
}

const char *human_signal(int signal, char text[HUMAN_MAX])
{
        const char *name = sigabbrev_np(signal);

        if (name)
                snprintf(text, HUMAN_MAX, "SIG%s", name);
        else if (signal == SIGRTMIN)
                snprintf(text, HUMAN_MAX, "SIGRTMIN");
        else if (signal > SIGRTMIN && signal <= SIGRTMAX)
                snprintf(text, HUMAN_MAX, "SIGRTMIN+%d", signal - SIGRTMIN);
        else
                snprintf(text, HUMAN_MAX, "%d", signal);
        return text;
}

/* Digits at *text, which is moved behind them; false if there are none or they overflow. */
static bool take_number(const char **text, uint64_t *ret_value)
{
        const char *p = *text;
        uint64_t value = 0;

        if (*p < '0' || *p > '9')
                return false;
        for (; *p >= '0' && *p <= '9'; p++)
                if (__builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
                        return false;
        *ret_value = value;
        *text = p;
        return true;
}

bool human_parse_u64(const char *text, uint64_t *ret_value)
{
        uint64_t value;

        if (!take_number(&text, &value) || *text)
                return false;
        *ret_value = value;
        return true;
}

/* The unit at *text, which is moved behind it. No unit at the end of the text means seconds. */
static bool take_unit(const char **text, uint64_t *ret_usec)
{
        size_t i, n;

        n = strspn(*text, "abcdefghijklmnopqrstuvwxyz");
        if (n == 0 && **text == 0) {
                *ret_usec = HUMAN_SECOND;
                return true;
        }
        for (i = 0; i < N_ELEMENTS(span_units); i++) {
                if (strlen(span_units[i].name) != n || strncmp(*text, span_units[i].name, n) != 0)
                        continue;
                *ret_usec = span_units[i].usec;
                *text += n;
                return true;
        }
        return false;
}

bool human_parse_span(const char *text, uint64_t *ret_usec)
{
        uint64_t sum = 0, number, unit;

        do {
                text += strspn(text, " ");
                if (!take_number(&text, &number))
                        return false;
                text += strspn(text, " ");
                if (!take_unit(&text, &unit) || __builtin_mul_overflow(number, unit, &number) ||
                    __builtin_add_overflow(sum, number, &sum))
                        return false;
                text += strspn(text, " ");
        } while (*text);

        *ret_usec = sum;
        return true;
}

static bool usec_from_tm(struct tm *tm, uint64_t *ret_usec)
{
        time_t t;

        tm->tm_isdst = -1;
        t = mktime(tm);
        if (t < 0)
                return false;
        *ret_usec = (uint64_t)t * HUMAN_SECOND;
        return true;
}

/* Midnight of the day of now, so many days before. */
static bool midnight(uint64_t now_usec, int n_days, uint64_t *ret_usec)
{
        struct tm tm;
        time_t t = (time_t)(now_usec / HUMAN_SECOND);

        if (!localtime_r(&t, &tm))
                return false;
        tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
        tm.tm_mday -= n_days;
        return usec_from_tm(&tm, ret_usec);
}

static bool parse_calendar(const char *text, uint64_t now_usec, uint64_t *ret_usec)
{
        static const char *const with_date[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
                                                 "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d" };
        static const char *const time_only[] = { "%H:%M:%S", "%H:%M" };
        time_t now = (time_t)(now_usec / HUMAN_SECOND);
        const char *end;
        struct tm tm;
        size_t i;

        for (i = 0; i < N_ELEMENTS(with_date); i++) {
                memset(&tm, 0, sizeof(tm));
                end = strptime(text, with_date[i], &tm);
                if (end && *end == 0)
                        return usec_from_tm(&tm, ret_usec);
        }
        for (i = 0; i < N_ELEMENTS(time_only); i++) {
                if (!localtime_r(&now, &tm))
                        return false;
                tm.tm_sec = 0;
                end = strptime(text, time_only[i], &tm);
                if (end && *end == 0)
                        return usec_from_tm(&tm, ret_usec);
        }
        return false;
}

/* A span, with or without " ago" behind it or a minus before it. */
static bool parse_ago(const char *text, uint64_t now_usec, uint64_t *ret_usec)
{
        char span[HUMAN_MAX];
        uint64_t usec;
        size_t n;

        if (human_parse_u64(text, &usec))
                return false; /* "2026" is a slip, not 34 minutes */
        if (*text == '-')
                text++;
        n = strlen(text);
        if (n > 4 && strcmp(text + n - 4, " ago") == 0)
                n -= 4;
        if (n >= sizeof(span))
                return false;
        memcpy(span, text, n);
        span[n] = 0;
        if (!human_parse_span(span, &usec))
                return false;
        *ret_usec = usec > now_usec ? 0 : now_usec - usec;
        return true;
}

bool human_parse_time(const char *text, uint64_t now_usec, uint64_t *ret_usec)
{
        uint64_t value;

        if (strcmp(text, "now") == 0) {
                *ret_usec = now_usec;
                return true;
        }
        if (strcmp(text, "today") == 0)
                return midnight(now_usec, 0, ret_usec);
        if (strcmp(text, "yesterday") == 0)
                return midnight(now_usec, 1, ret_usec);
        if (*text == '@') {
                if (!human_parse_u64(text + 1, &value) ||
                    __builtin_mul_overflow(value, HUMAN_SECOND, &value))
                        return false;
                *ret_usec = value;
                return true;
        }
        return parse_ago(text, now_usec, ret_usec) || parse_calendar(text, now_usec, ret_usec);
}

static bool parse_realtime_signal(const char *name, int *ret_signal)
{
        uint64_t offset = 0;

        if (strncasecmp(name, "RTMIN", 5) != 0)
                return false;
        if (name[5] && (name[5] != '+' || !human_parse_u64(name + 6, &offset)))
                return false;
        if (offset > (uint64_t)(SIGRTMAX - SIGRTMIN))
                return false;
        *ret_signal = SIGRTMIN + (int)offset;
        return true;
}

bool human_parse_signal(const char *text, int *ret_signal)
{
        const char *name = text, *abbreviation;
        uint64_t number;
        int i;

        if (human_parse_u64(text, &number)) {
                if (number < 1 || number > (uint64_t)SIGRTMAX)
                        return false;
                *ret_signal = (int)number;
                return true;
        }
        if (strncasecmp(name, "SIG", 3) == 0)
                name += 3;
        for (i = 1; i < SIGRTMIN; i++) {
                abbreviation = sigabbrev_np(i);
                if (abbreviation && strcasecmp(abbreviation, name) == 0) {
                        *ret_signal = i;
                        return true;
                }
        }
        return parse_realtime_signal(name, ret_signal);
}
