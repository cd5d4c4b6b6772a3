/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the arguments of command line options may be: strict, so that no typing slip becomes a limit. */

#include "option.h"

#include "human.h"

#include "private/cleanup.h"
#include "private/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* 1024 to the power of a unit's place; 0 for what is no unit. */
static uint64_t option_unit(char c)
{
        switch (c) {
        case 'K':
                return UINT64_C(1) << 10;
        case 'M':
                return UINT64_C(1) << 20;
        case 'G':
                return UINT64_C(1) << 30;
        case 'T':
                return UINT64_C(1) << 40;
        default:
                return 0;
        }
}

bool option_parse_size(const char *text, uint64_t *ret_bytes)
{
        char digits[32];
        size_t n = strlen(text);
        uint64_t unit = 1, value;

        if (strcmp(text, "infinity") == 0) {
                *ret_bytes = OPTION_INFINITY;
                return true;
        }
        if (n == 0 || n >= sizeof(digits))
                return false;
        strcpy(digits, text);
        if (option_unit(text[n - 1]) > 0) {
                unit = option_unit(text[n - 1]);
                digits[n - 1] = 0;
        }
        if (!human_parse_u64(digits, &value) || __builtin_mul_overflow(value, unit, &value) ||
            value > INT64_MAX)
                return false;
        *ret_bytes = value;
        return true;
}

bool option_parse_count(const char *text, uint64_t *ret_n)
{
        uint64_t value;

        if (strcmp(text, "infinity") == 0) {
                *ret_n = OPTION_INFINITY;
                return true;
        }
        if (!human_parse_u64(text, &value) || value == 0 || value > INT64_MAX)
                return false;
        *ret_n = value;
        return true;
}

bool option_parse_bool(const char *text, bool *ret_value)
{
        static const char *const yes[] = { "yes", "true", "on", "1" };
        static const char *const no[] = { "no", "false", "off", "0" };

        for (size_t i = 0; i < N_ELEMENTS(yes); i++) {
                bool is_yes = strcasecmp(text, yes[i]) == 0;

                if (is_yes || strcasecmp(text, no[i]) == 0) {
                        *ret_value = is_yes;
                        return true;
                }
        }
        return false;
}

bool option_parse_stragglers(const char *text, char ret_policy[OPTION_STRAGGLERS_MAX])
{
        uint64_t usec;

        if (strcmp(text, "wait") == 0 || strcmp(text, "kill") == 0) {
                strcpy(ret_policy, text);
                return true;
        }
        if (!human_parse_span(text, &usec))
                return false;
        /* The daemon knows fewer units than people type. */
        (void)snprintf(ret_policy, OPTION_STRAGGLERS_MAX, "%" PRIu64 "usec", usec);
        return true;
}

bool option_is_id(const char *text)
{
        return strlen(text) == WIRE_ID_LENGTH && strspn(text, "0123456789abcdef") == WIRE_ID_LENGTH;
}

bool option_parse_label(const char *text, size_t *ret_key_length)
{
        size_t n = strcspn(text, "=");

        if (n == 0 || text[n] == 0)
                return false;
        *ret_key_length = n;
        return true;
}
