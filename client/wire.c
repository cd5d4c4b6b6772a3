/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One stream connection to the daemon.
 *
 * Everything that can wait, waits in poll(2) until the one deadline. Only connect(2) cannot be
 * polled for on a UNIX socket whose listener's queue is full; it waits by the socket's send timeout.
 * The process's signals are left alone: writing never raises SIGPIPE, an interrupted call goes on.
 *
 * The buffer holds what was received and not yet handed out, so replies may arrive in pieces or
 * several at once. It grows with the message it holds, up to WIRE_REPLY_MAX.
 */

#include "wire.h"

#include "private/cleanup.h"
#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#define WIRE_READ_MIN 4096

uint64_t wire_now(void)
{
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void wire_json_decrefp(json_t **json)
{
        json_decref(*json);
}

void wire_close(Wire *wire)
{
        wire->fd = cleanup_close(wire->fd);
        free(wire->buffer);
        wire->buffer = NULL;
        wire->n_buffer = wire->n_allocated = 0;
}

/* Microseconds until the deadline; 0 if it has passed, UINT64_MAX if there is none. */
static uint64_t wire_remaining(const Wire *wire)
{
        uint64_t now;

        if (wire->deadline_usec == WIRE_NO_DEADLINE)
                return UINT64_MAX;
        now = wire_now();
        return now >= wire->deadline_usec ? 0 : wire->deadline_usec - now;
}

/* Waits for events or an error on the socket. 0, WIRE_E_TIMEOUT, <0. */
static int wire_wait(Wire *wire, short events)
{
        struct pollfd pollfd = { .fd = wire->fd, .events = events };
        struct timespec ts;
        uint64_t usec;
        int r;

        do {
                usec = wire_remaining(wire);
                if (usec == 0)
                        return WIRE_E_TIMEOUT;
                ts.tv_sec = (time_t)(usec / 1000000);
                ts.tv_nsec = (long)(usec % 1000000 * 1000);
                r = ppoll(&pollfd, 1, usec == UINT64_MAX ? NULL : &ts, NULL);
        } while (r == 0 || (r < 0 && errno == EINTR));

        return r < 0 ? error_origin(-errno) : 0;
}

static int wire_set_connect_timeout(int fd, uint64_t usec)
{
        struct timeval tv = { 0 }; /* zero: wait without end */

        if (usec != UINT64_MAX) {
                tv.tv_sec = (time_t)(usec / 1000000);
                tv.tv_usec = (suseconds_t)(usec % 1000000);
        }
        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0)
                return error_origin(-errno);
        return 0;
}

int wire_connect(Wire *wire, const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -1;
        uint64_t usec;
        int r;

        if (strlen(path) >= sizeof(address.sun_path))
                return error_origin(-ENAMETOOLONG);
        strcpy(address.sun_path, path);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return error_origin(-errno);

        do {
                usec = wire_remaining(wire);
                if (usec == 0)
                        return WIRE_E_TIMEOUT;
                r = wire_set_connect_timeout(fd, usec);
                if (r < 0)
                        return error_fold(r);
                r = connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
        } while (r == -EINTR);

        if (r == -EAGAIN)
                return WIRE_E_TIMEOUT;
        if (r < 0)
                return error_origin(r);

        wire_close(wire);
        wire->unread = false;
        wire->fd = TAKE_FD(fd);
        return 0;
}

static int wire_send_bytes(Wire *wire, const char *bytes, size_t n)
{
        ssize_t k;
        int r;

        while (n > 0) {
                k = send(wire->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
                if (k >= 0) {
                        bytes += k;
                        n -= (size_t)k;
                        continue;
                }
                if (errno == EPIPE || errno == ECONNRESET) {
                        wire->unread = true;
                        return WIRE_E_CLOSED;
                }
                if (errno == EINTR)
                        continue;
                if (errno != EAGAIN)
                        return error_origin(-errno);
                r = wire_wait(wire, POLLOUT);
                if (r)
                        return r < 0 ? error_fold(r) : r;
        }
        return 0;
}

int wire_send(Wire *wire, const json_t *message)
{
        _cleanup_free_ char *text = NULL;

        text = json_dumps(message, JSON_COMPACT);
        if (!text)
                return error_origin(-ENOMEM);
        return error_fold(wire_send_bytes(wire, text, strlen(text) + 1));
}

/* Room for at least WIRE_READ_MIN bytes more, or for what is left up to the longest message. */
static int wire_reserve(Wire *wire)
{
        size_t n = wire->n_allocated;
        char *p;

        if (n - wire->n_buffer >= WIRE_READ_MIN)
                return 0;
        if (wire->n_buffer > WIRE_REPLY_MAX)
                return WIRE_E_TOO_LONG;
        n = n ? 2 * n : 2 * WIRE_READ_MIN;
        if (n > WIRE_REPLY_MAX + WIRE_READ_MIN)
                n = WIRE_REPLY_MAX + WIRE_READ_MIN;
        if (n <= wire->n_allocated)
                return 0;

        p = realloc(wire->buffer, n);
        if (!p)
                return error_origin(-ENOMEM);
        wire->buffer = p;
        wire->n_allocated = n;
        return 0;
}

/* Adds what has arrived, waiting for it if need be. */
static int wire_fill(Wire *wire)
{
        ssize_t k;
        int r;

        r = wire_reserve(wire);
        if (r)
                return r < 0 ? error_fold(r) : r;

        for (;;) {
                k = recv(wire->fd, wire->buffer + wire->n_buffer,
                         wire->n_allocated - wire->n_buffer, MSG_DONTWAIT);
                if (k > 0)
                        break;
                if (k == 0)
                        return WIRE_E_CLOSED;
                if (errno == ECONNRESET) { /* unix(7): it closed with bytes of ours not read */
                        wire->unread = true;
                        return WIRE_E_CLOSED;
                }
                if (errno == EINTR)
                        continue;
                if (errno != EAGAIN)
                        return error_origin(-errno);
                r = wire_wait(wire, POLLIN);
                if (r)
                        return r < 0 ? error_fold(r) : r;
        }

        wire->n_buffer += (size_t)k;
        return 0;
}

/* Takes the message of n bytes from the front of the buffer, and the NUL behind it. */
static int wire_take(Wire *wire, size_t n, json_t **ret_message)
{
        json_t *message;

        message = json_loadb(wire->buffer, n, JSON_REJECT_DUPLICATES, NULL);
        wire->n_buffer -= n + 1;
        memmove(wire->buffer, wire->buffer + n + 1, wire->n_buffer);

        if (!json_is_object(message)) {
                json_decref(message);
                return WIRE_E_MALFORMED;
        }
        *ret_message = message;
        return 0;
}

int wire_receive(Wire *wire, json_t **ret_message)
{
        size_t n_scanned = 0;
        char *end;
        int r;

        for (;;) {
                end = wire->n_buffer > n_scanned
                              ? memchr(wire->buffer + n_scanned, 0, wire->n_buffer - n_scanned)
                              : NULL;
                if (end)
                        break;
                n_scanned = wire->n_buffer;
                r = wire_fill(wire);
                if (r)
                        return r < 0 ? error_fold(r) : r;
        }

        if (end - wire->buffer > WIRE_REPLY_MAX)
                return WIRE_E_TOO_LONG;
        return wire_take(wire, (size_t)(end - wire->buffer), ret_message);
}
