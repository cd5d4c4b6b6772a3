/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The loop and the client's end of a connection in one thread: what is written to a UNIX socket is
 * readable at once, so turning the loop a few times without waiting brings everything to rest.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config.h"
#include "loop.h"
#include "private/cleanup.h"

#include <errno.h>
#include <event2/event.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>

#define CLIENT_TURNS 12
#define CLIENT_DEADLINE_SEC 60

typedef struct Client {
        int fd;
        char input[1 << 20];
        size_t n;
        bool ended; /* the other end has closed */
} Client;

static inline void loop_turn(Loop *loop, int flags)
{
        assert_true(event_base_loop(loop_get_base(loop), flags) >= 0);
        loop_bury(loop);
}

static inline void loop_rest(Loop *loop)
{
        for (unsigned i = 0; i < CLIENT_TURNS; ++i)
                loop_turn(loop, EVLOOP_NONBLOCK);
}

static inline Client *client_new(int fd)
{
        Client *c = calloc(1, sizeof(*c));

        assert_non_null(c);
        c->fd = fd;
        return c;
}

static inline Client *client_free(Client *c)
{
        if (c)
                (void)cleanup_close(c->fd);
        free(c);
        return NULL;
}

static inline void client_send_bytes(Client *c, const char *bytes, size_t n)
{
        assert_int_equal(send(c->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT), n);
}

/* One message with its NUL. */
static inline void client_send(Client *c, const char *text)
{
        client_send_bytes(c, text, strlen(text) + 1);
}

/* Takes what has arrived. */
static inline void client_receive(Client *c)
{
        for (;;) {
                ssize_t k = recv(c->fd, c->input + c->n, sizeof(c->input) - c->n, MSG_DONTWAIT);

                if (k > 0) {
                        c->n += (size_t)k;
                        continue;
                }
                c->ended |= k == 0 || errno == ECONNRESET;
                return;
        }
}

/* The next complete message, to be decref'd; NULL: there is none. */
static inline json_t *client_take(Client *c)
{
        char *end;
        json_t *message;
        size_t n;

        client_receive(c);
        end = memchr(c->input, '\0', c->n);
        if (!end)
                return NULL;
        message = json_loads(c->input, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(message);
        n = (size_t)(end - c->input) + 1;
        memmove(c->input, end + 1, c->n - n);
        c->n -= n;
        return message;
}

/* Turns the loop until there is one. */
static inline json_t *client_wait(Client *c, Loop *loop)
{
        json_t *message;

        (void)alarm(CLIENT_DEADLINE_SEC);
        while (!(message = client_take(c))) {
                assert_false(c->ended);
                loop_turn(loop, EVLOOP_ONCE);
        }
        (void)alarm(0);
        return message;
}

/* The next message is exactly this one. */
static inline void client_expect(Client *c, Loop *loop, const char *wanted)
{
        json_t *got, *want = json_loads(wanted, 0, NULL);

        assert_non_null(want);
        got = client_wait(c, loop);
        if (!json_equal(got, want)) {
                _cleanup_free_ char *text = json_dumps(got, JSON_COMPACT);

                fail_msg("got %s, wanted %s", text, wanted);
        }
        json_decref(got);
        json_decref(want);
}

/* Nothing more has come, and it is not closed either. */
static inline void client_expect_silence(Client *c, Loop *loop)
{
        loop_rest(loop);
        client_receive(c);
        assert_int_equal(c->n, 0);
        assert_false(c->ended);
}

/* It was closed, and nothing came before that. */
static inline void client_expect_end(Client *c, Loop *loop)
{
        loop_rest(loop);
        client_receive(c);
        assert_int_equal(c->n, 0);
        assert_true(c->ended);
}
