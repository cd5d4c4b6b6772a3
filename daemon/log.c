/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One line per event, to the journal or to stderr.
 *
 * The journal gets the text and the fields apart. Everywhere else the fields follow the text in
 * brackets, because a line without the id of its execution is of no use.
 *
 * Texts come from people who may launch tasks. Control characters, and bytes that are no UTF-8, are
 * written as \xNN: nobody forges a second line or talks to an operator's terminal.
 *
 * The loop thread logs, so a log that does not take its lines must not hold it. Before each line the
 * socket is asked whether it has room (libsystemd itself would wait as long as it takes, and says
 * nothing if there is no journal). The first line that finds the journal or stderr stuck waits for
 * LOG_WAIT_MSEC; until it moves again lines are counted instead of written, and the count is told
 * afterwards. Only one thread logs.
 */

#include "log.h"

#define SD_JOURNAL_SUPPRESS_LOCATION /* it would always be this file */

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-journal.h>

#define LOG_NAME "cgtaskd"
#define LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"
#define LOG_TEXT_MAX 2048 /* one message, with its NUL; longer ones are cut */
#define LOG_LINE_MAX 4096 /* one line on stderr: not above PIPE_BUF, so that it comes whole */
#define LOG_BODY_MAX (LOG_LINE_MAX - 2) /* what of it is left beside "]" and the newline */
#define LOG_ENTRY_MAX 8192
#define LOG_WAIT_MSEC 100

/* All fields of one journal entry, one behind the other in one buffer. */
typedef struct LogEntry {
        struct iovec fields[10];
        int n_fields;
        char buffer[LOG_ENTRY_MAX];
        size_t n_used;
} LogEntry;

static struct {
        int max_level;
        bool to_journal;      /* stderr is a stream of the journal */
        bool level_prefix;    /* whoever reads stderr understands "<N>" */
        unsigned long n_lost; /* lines since the log has been stuck */
} log_state = { .max_level = LOG_INFO };

/* Length of the character at s if it may be shown as it is, else 0. */
static size_t log_printable_length(const unsigned char *s)
{
        static const uint32_t smallest[] = { [2] = 0xa0, [3] = 0x800, [4] = 0x10000 };
        uint32_t c = *s;
        size_t n;

        if (c < 0x80)
                return c >= ' ' && c != 0x7f;
        n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 0;
        if (n == 0 || c >= 0xf8)
                return 0;
        c &= 0x7fu >> n;
        for (size_t i = 1; i < n; ++i) {
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
                c = c << 6 | (s[i] & 0x3f);
        }
        if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
                return 0;
        return n;
}

/* Writes text, made harmless, into n bytes; what does not fit is cut before it. Returns the length. */
static size_t log_escape(const char *text, char *out, size_t n)
{
        static const char digits[] = "0123456789abcdef";
        const unsigned char *s = (const unsigned char *)text;
        size_t used = 0;

        while (*s) {
                size_t length = log_printable_length(s);
                unsigned char escaped[4] = { '\\', 'x', (unsigned char)digits[*s >> 4],
                                             (unsigned char)digits[*s & 15] };
                const unsigned char *from = length > 0 ? s : escaped;
                size_t n_out = length > 0 ? length : sizeof(escaped);

                if (used + n_out >= n)
                        break;
                memcpy(out + used, from, n_out);
                used += n_out;
                s += length > 0 ? length : 1;
        }
        out[used] = '\0';
        return used;
}

static void log_add(LogEntry *entry, const char *name, const char *value)
{
        char *start = entry->buffer + entry->n_used;
        size_t n_left = sizeof(entry->buffer) - entry->n_used, n = strlen(name) + 1;

        if (!value || n_left < n + 1)
                return;
        (void)snprintf(start, n_left, "%s=", name);
        n += log_escape(value, start + n, n_left - n);
        entry->fields[entry->n_fields++] = (struct iovec){ .iov_base = start, .iov_len = n };
        entry->n_used += n;
}

static void log_add_number(LogEntry *entry, const char *name, long long value)
{
        char text[24];

        if (value < 0)
                return;
        (void)snprintf(text, sizeof(text), "%lld", value);
        log_add(entry, name, text);
}

/* Waits until something can be written without blocking, but not for long, and not twice. */
static bool log_has_room(int fd)
{
        struct pollfd pollfd = { .fd = fd, .events = POLLOUT };

        return poll(&pollfd, 1, log_state.n_lost > 0 ? 0 : LOG_WAIT_MSEC) == 1 &&
               (pollfd.revents & POLLOUT) != 0;
}

/* A connected datagram socket has no POLLOUT while the other end's queue is full. */
static bool log_journal_has_room(void)
{
        static const struct sockaddr_un address = { .sun_family = AF_UNIX,
                                                    .sun_path = LOG_JOURNAL_SOCKET };
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        return fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
               log_has_room(fd);
}

static bool log_to_journal(int level, const LogFields *fields, const char *text)
{
        LogEntry entry = { .n_fields = 0 };

        if (!log_state.to_journal || !log_journal_has_room())
                return false;
        log_add(&entry, "MESSAGE", text);
        log_add_number(&entry, "PRIORITY", level);
        log_add(&entry, "SYSLOG_IDENTIFIER", LOG_NAME);
        log_add(&entry, "MESSAGE_ID", fields->message_id);
        log_add(&entry, "CGTASK_EXECUTION_ID", fields->execution_id);
        log_add(&entry, "CGTASK_RESULT", fields->result);
        log_add_number(&entry, "CGTASK_MEMORY_PEAK", fields->memory_peak);
        log_add_number(&entry, "CGTASK_PEER_UID", fields->uid);
        log_add(&entry, "CGTASK_TASK", fields->task);
        log_add(&entry, "CGTASK_CGROUP", fields->cgroup_path);
        return sd_journal_sendv(entry.fields, entry.n_fields) >= 0;
}

/* Adds " name=value" to the line, "[" before the first one. */
static size_t log_append(char *line, size_t used, bool *brackets, const char *name,
                         const char *value)
{
        int n;

        if (!value || used + strlen(name) + 4 >= LOG_BODY_MAX)
                return used;
        n = snprintf(line + used, LOG_BODY_MAX - used, "%s%s=", *brackets ? " " : " [", name);
        used += (size_t)n;
        *brackets = true;
        return used + log_escape(value, line + used, LOG_BODY_MAX - used);
}

/* One line with its newline, always complete, however long the fields are. Returns its length. */
static size_t log_format_line(int level, const LogFields *fields, const char *text, char *line)
{
        char peak[24] = "", uid[24] = "";
        bool brackets = false;
        size_t n;

        if (fields->memory_peak >= 0)
                (void)snprintf(peak, sizeof(peak), "%lld", fields->memory_peak);
        if (fields->uid >= 0)
                (void)snprintf(uid, sizeof(uid), "%lld", fields->uid);
        n = (size_t)(log_state.level_prefix ? snprintf(line, LOG_LINE_MAX, "<%d>%s", level, text)
                                            : snprintf(line, LOG_LINE_MAX, LOG_NAME ": %s", text));
        n = log_append(line, n, &brackets, "execution", fields->execution_id);
        n = log_append(line, n, &brackets, "result", fields->result);
        n = log_append(line, n, &brackets, "memory_peak", *peak ? peak : NULL);
        n = log_append(line, n, &brackets, "uid", *uid ? uid : NULL);
        n = log_append(line, n, &brackets, "task", fields->task);
        n = log_append(line, n, &brackets, "cgroup", fields->cgroup_path);
        if (brackets)
                line[n++] = ']';
        line[n++] = '\n';
        return n;
}

static bool log_to_stderr(int level, const LogFields *fields, const char *text)
{
        char line[LOG_LINE_MAX];
        size_t n = log_format_line(level, fields, text, line), done = 0;

        while (done < n) {
                ssize_t k;

                if (!log_has_room(STDERR_FILENO))
                        return false;
                k = write(STDERR_FILENO, line + done, n - done);
                if (k < 0 && errno != EINTR)
                        return errno != EAGAIN; /* a broken one stays so: no use to count */
                done += k > 0 ? (size_t)k : 0;
        }
        return true;
}

static bool log_emit(int level, const LogFields *fields, const char *text)
{
        return log_to_journal(level, fields, text) || log_to_stderr(level, fields, text);
}

static void log_tell_lost(void)
{
        char text[80];

        (void)snprintf(text, sizeof(text), "log was stuck, lines lost before the last one: %lu",
                       log_state.n_lost);
        log_state.n_lost = 0;
        (void)log_emit(LOG_WARNING, &LOG_FIELDS_NULL, text);
}

void log_setup(int max_level)
{
        const char *stream = getenv("JOURNAL_STREAM");
        unsigned long long device, inode;
        struct stat st;
        char rest;

        log_state.max_level = max_level;
        log_state.to_journal = stream && fstat(STDERR_FILENO, &st) == 0 &&
                               sscanf(stream, "%llu:%llu%c", &device, &inode, &rest) == 2 &&
                               device == st.st_dev && inode == st.st_ino;
        log_state.level_prefix =
                log_state.to_journal || (getenv("INVOCATION_ID") && !isatty(STDERR_FILENO));
        log_state.n_lost = 0;
}

void log_write(int level, const LogFields *fields, const char *format, ...)
{
        char text[LOG_TEXT_MAX], safe[LOG_TEXT_MAX];
        int saved_errno = errno; /* also what %m in the format speaks of */
        va_list args;

        if (level > log_state.max_level)
                return;
        va_start(args, format);
        if (vsnprintf(text, sizeof(text), format, args) < 0)
                text[0] = '\0';
        va_end(args);
        (void)log_escape(text, safe, sizeof(safe));
        if (!log_emit(level, fields ? fields : &LOG_FIELDS_NULL, safe))
                ++log_state.n_lost;
        else if (log_state.n_lost > 0)
                log_tell_lost();
        errno = saved_errno;
}
