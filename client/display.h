/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Text on a terminal: how wide it is, where to cut it, what of it must not get there raw. */

#include <stddef.h>
#include <stdint.h>

/*
 * One UTF-8 character from text, in its shortest form and not a surrogate. Returns its length in
 * bytes; 0 at the end of the text and where the text is not UTF-8.
 */
size_t display_decode(const char *text, uint32_t *ret_character);

/*
 * A copy in which nothing can move the cursor, colour the screen, turn the writing direction or
 * hide: such characters, and bytes that are not UTF-8, come as \n, \t, \xNN or \u{N}. Doing it
 * twice changes nothing. *ret_text is the caller's to free(). -ENOMEM.
 */
int display_escape(const char *text, char **ret_text);

/* Columns that escaped text takes. */
size_t display_width(const char *text);

/*
 * The beginning of escaped text that fits into so many columns, with an ellipsis as its last one if
 * something is missing. *ret_text is the caller's to free(). -ENOMEM.
 */
int display_cut(const char *text, size_t n_columns, char **ret_text);
