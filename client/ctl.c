/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the verbs share: error lines, which no text can make into two, and bytes. */

#include "ctl.h"

#include "display.h"
#include "human.h"

#include "private/error.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static void write_error(const char *format, va_list ap)
{
        _cleanup_free_ char *line = NULL, *escaped = NULL;

        if (vasprintf(&line, format, ap) < 0)
                line = NULL;
        if (line)
                (void)display_escape(line, &escaped);
        (void)fflush(stdout); /* in the order of writing, if both are one terminal */
        fprintf(stderr, CTL_NAME ": %s\n", escaped ? escaped : strerror(ENOMEM));
}

int ctl_error(const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        write_error(format, ap);
        va_end(ap);
        return CTL_EXIT_FAILED;
}

void ctl_note(const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        write_error(format, ap);
        va_end(ap);
}

int ctl_format(char **ret_text, const char *format, ...)
{
        _cleanup_free_ char *line = NULL;
        va_list ap;

        va_start(ap, format);
        if (vasprintf(&line, format, ap) < 0)
                line = NULL;
        va_end(ap);
        return line ? error_fold(display_escape(line, ret_text)) : error_origin(-ENOMEM);
}

const char *ctl_bytes(const Ctl *ctl, int64_t bytes, char *text)
{
        if (bytes < 0 || ctl->bytes) {
                snprintf(text, HUMAN_MAX, "%lld", (long long)bytes);
                return text;
        }
        return human_bytes((uint64_t)bytes, text);
}
