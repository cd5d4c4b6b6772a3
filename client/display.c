/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Text on a terminal.
 *
 * Task names, commands and labels come from whoever may launch, and are read by root. A name that
 * holds an escape sequence could retitle the window, rewrite lines above it or answer for the user;
 * one with bidirectional controls reads as another name. So everything that is not plainly visible
 * is spelled out before it goes out, and only then are widths counted.
 *
 * The width of a character is the C library's word (wcwidth, main sets a UTF-8 LC_CTYPE); where it
 * has none, one column. Nothing here depends on the locale for what is escaped.
 */

#include "display.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

#define ELLIPSIS "\xe2\x80\xa6" /* one column */

/* Longest spelling of one byte or character: \u{10ffff}. */
#define ESCAPE_MAX 10

/* Assigned, but invisible or able to reorder what stands around them. First, last. */
static const uint32_t hidden_ranges[][2] = {
        { 0x0000, 0x001f },   { 0x007f, 0x009f },   { 0x00ad, 0x00ad },   { 0x034f, 0x034f },
        { 0x061c, 0x061c },   { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
        { 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
        { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
        { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

size_t display_decode(const char *text, uint32_t *ret_character)
{
        static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
        const unsigned char *s = (const unsigned char *)text;
        size_t length, i;
        uint32_t c;

        if (s[0] == 0)
                return 0;
        if (s[0] < 0x80) {
                *ret_character = s[0];
                return 1;
        }

        length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
        if (s[0] < 0xc2 || s[0] > 0xf4)
                return 0;
        c = s[0] & (0x7fU >> length);
        for (i = 1; i < length; i++) {
                if ((s[i] & 0xc0) != 0x80)
                        return 0; /* the NUL at the end stops here, too */
                c = c << 6 | (s[i] & 0x3f);
        }
        if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
                return 0;

        *ret_character = c;
        return length;
}

static bool is_hidden(uint32_t c)
{
        size_t i;

        for (i = 0; i < N_ELEMENTS(hidden_ranges); i++)
                if (c >= hidden_ranges[i][0] && c <= hidden_ranges[i][1])
                        return true;
        return (c & 0xfffe) == 0xfffe; /* the last two of every plane are no characters */
}

/* Spells out what stands at text; returns how many of its bytes that were. */
static size_t escape_one(const char *text, char *out, size_t *ret_n_out)
{
        size_t length;
        uint32_t c;
        int n;

        length = display_decode(text, &c);
        if (length == 0) {
                n = snprintf(out, ESCAPE_MAX + 1, "\\x%02x", (unsigned)(unsigned char)*text);
                length = 1;
        } else if (c == '\n' || c == '\t') {
                n = snprintf(out, ESCAPE_MAX + 1, "\\%c", c == '\n' ? 'n' : 't');
        } else if (c < 0x80 && is_hidden(c)) {
                n = snprintf(out, ESCAPE_MAX + 1, "\\x%02x", (unsigned)c);
        } else if (is_hidden(c)) {
                n = snprintf(out, ESCAPE_MAX + 1, "\\u{%x}", (unsigned)c);
        } else {
                memcpy(out, text, length);
                n = (int)length;
        }
        *ret_n_out = (size_t)n;
        return length;
}

int display_escape(const char *text, char **ret_text)
{
        _cleanup_free_ char *escaped = NULL;
        size_t n = 0, n_out;

        escaped = malloc(strlen(text) * ESCAPE_MAX + ESCAPE_MAX + 1);
        if (!escaped)
                return error_origin(-ENOMEM);
        while (*text) {
                text += escape_one(text, escaped + n, &n_out);
                n += n_out;
        }
        escaped[n] = 0;
        *ret_text = TAKE_PTR(escaped);
        return 0;
}

static size_t character_width(uint32_t c)
{
        int width;

        width = wcwidth((wchar_t)c);
        return width < 0 ? 1 : (size_t)width;
}

size_t display_width(const char *text)
{
        size_t width = 0, length;
        uint32_t c;

        while ((length = display_decode(text, &c)) > 0) {
                width += character_width(c);
                text += length;
        }
        return width;
}

int display_cut(const char *text, size_t n_columns, char **ret_text)
{
        _cleanup_free_ char *cut = NULL;
        size_t n = 0, width = 0, length;
        uint32_t c;

        cut = malloc(strlen(text) + sizeof(ELLIPSIS));
        if (!cut)
                return error_origin(-ENOMEM);
        if (display_width(text) <= n_columns) {
                strcpy(cut, text);
                *ret_text = TAKE_PTR(cut);
                return 0;
        }
        while ((length = display_decode(text + n, &c)) > 0) {
                if (width + character_width(c) + 1 > n_columns)
                        break;
                width += character_width(c);
                n += length;
        }
        memcpy(cut, text, n);
        strcpy(cut + n, n_columns > 0 ? ELLIPSIS : "");
        *ret_text = TAKE_PTR(cut);
        return 0;
}
