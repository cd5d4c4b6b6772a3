/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One connection of a client.
 *
 * Input is bytes up to a NUL. Nothing of a message is interpreted before it is complete, nothing of
 * a refused peer ever is. A message must be complete within PEER_MESSAGE_USEC of its first byte, and
 * is at most MaxMessageBytes long. While a call waits for its answer, no further one is read, so a
 * client that pipelines is slowed down and not buffered. A client that does not read its answers is
 * dropped at MaxPendingOutputBytes.
 *
 * Closing has two steps: peer_close() releases what others hold of the peer, and the memory goes
 * after the turn of the loop. An answer never closes the peer under whoever gives it: one that is
 * dropped for its output stays deaf and mute until its deadline, which is at once. A client that only
 * shut down its sending side still gets the answers.
 */

#include "peer.h"

#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"
#include "private/wire.h"
#include "process.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* kernel 6.5; not in Debian 12's headers */
#endif

#define PEER_MESSAGE_USEC (30 * USEC_PER_SEC)
#define PEER_REFUSED_USEC (5 * USEC_PER_SEC)
#define PEER_GROUPS_MAX 65536 /* NGROUPS_MAX */

struct Peer {
        Loop *loop;
        const Config *config;
        PeerHandler handler;
        struct bufferevent *bev;
        size_t max_message_bytes; /* as at the beginning: the read watermark depends on it */
        LoopSource *deadline;     /* of a message that is not complete, or of a refused peer */
        struct ucred credentials;
        AccessRights rights;
        uint64_t accepted_boottime_usec;
        char *refusal; /* the answer to everything; NULL: it is served */
        PeerPending *pending;
        LIST_HEAD(, PeerMade) made;
        bool busy; /* a call waits for its answer */
        bool oneway;
        bool in_message; /* the deadline runs from its first byte */
        bool paused;     /* not reading: enough has come behind a call that waits */
        bool dropped;    /* too much output: about to be closed */
        bool in_process, ended, closing, close_when_flushed;
};

static int peer_process(Peer *peer);

/* -- credentials ------------------------------------------------------------------------------ */

static int peer_read_groups(int fd, gid_t primary, gid_t **ret_groups, size_t *ret_n)
{
        _cleanup_free_ gid_t *groups = NULL;
        socklen_t length = 64 * sizeof(gid_t);

        for (;;) {
                gid_t *larger = realloc(groups, length + sizeof(gid_t));

                if (!larger)
                        return error_origin(-ENOMEM);
                groups = larger;
                if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length) == 0)
                        break;
                if (errno != ERANGE || length > PEER_GROUPS_MAX * sizeof(gid_t))
                        return error_origin(-errno);
        }
        *ret_n = length / sizeof(gid_t) + 1;
        groups[*ret_n - 1] = primary;
        *ret_groups = TAKE_PTR(groups);
        return 0;
}

static int peer_identify(Peer *peer, int fd, const AccessGroups *known)
{
        _cleanup_free_ gid_t *groups = NULL;
        socklen_t length = sizeof(peer->credentials);
        size_t n = 0;
        int r;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer->credentials, &length) < 0)
                return error_origin(-errno);
        r = peer_read_groups(fd, peer->credentials.gid, &groups, &n);
        if (r < 0)
                return error_fold(r);
        peer->rights = access_decide(known, peer->credentials.uid, groups, n);
        peer->accepted_boottime_usec = clock_usec(CLOCK_BOOTTIME);
        return 0;
}

int peer_open_process(const Peer *peer, int *ret_pidfd)
{
        _cleanup_close_ int fd = -1;
        socklen_t length = sizeof(fd);
        uint64_t ticks;
        int r;

        if (getsockopt(bufferevent_getfd(peer->bev), SOL_SOCKET, SO_PEERPIDFD, &fd, &length) == 0) {
                *ret_pidfd = TAKE_FD(fd);
                return 0;
        }
        if (errno == ESRCH) /* it was reaped: its number is anybody's */
                return PROCESS_E_GONE;
        r = process_open(peer->credentials.pid, &fd);
        if (r)
                return error_fold(r);
        r = process_read_start(peer->credentials.pid, &ticks);
        if (r)
                return error_fold(r);
        /* who got this number after the connection was made is somebody else */
        if (ticks > peer->accepted_boottime_usec / (USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK)))
                return PROCESS_E_GONE;
        *ret_pidfd = TAKE_FD(fd);
        return 0;
}

/* -- closing ---------------------------------------------------------------------------------- */

static void peer_free(void *object)
{
        Peer *peer = object;
        PeerMade *made;

        while ((made = LIST_FIRST(&peer->made))) {
                LIST_REMOVE(made, link);
                free(made);
        }
        peer->deadline = loop_source_free(peer->deadline);
        if (peer->bev)
                bufferevent_free(peer->bev); /* closes the socket */
        free(peer->refusal);
        free(peer);
}

static int peer_end_input(Peer *peer)
{
        if (peer->ended && LIST_EMPTY(&peer->made))
                return 0;
        peer->ended = true;
        return peer->handler.gone ? error_fold(peer->handler.gone(peer->handler.userdata, peer))
                                  : 0;
}

/* An answer that has been given is not held back: the daemon may be about to end. */
static void peer_push(Peer *peer)
{
        struct evbuffer *output = bufferevent_get_output(peer->bev);

        (void)evbuffer_unfreeze(output, /* at_front= */ 1); /* the bufferevent writes no more */
        (void)evbuffer_write(output, bufferevent_getfd(peer->bev));
}

void peer_close(Peer *peer)
{
        if (peer->closing)
                return;
        peer->closing = true;
        loop_report(peer->loop, "peer", peer_end_input(peer));
        if (peer->pending) {
                PeerPending *pending = peer->pending;

                peer->pending = NULL;
                pending->cancel(pending);
        }
        bufferevent_disable(peer->bev, EV_READ | EV_WRITE);
        peer_push(peer);
        bufferevent_setcb(peer->bev, NULL, NULL, NULL, NULL);
        loop_source_disarm(peer->deadline);
        peer->handler.closed(peer->handler.closed_userdata);
        loop_report(peer->loop, "peer", loop_reap(peer->loop, peer_free, peer));
}

static void peer_flush_and_close(Peer *peer)
{
        if (evbuffer_get_length(bufferevent_get_output(peer->bev)) == 0)
                peer_close(peer);
        else
                peer->close_when_flushed = true;
}

static int peer_on_deadline(void *userdata)
{
        peer_close(userdata);
        return 0;
}

static int peer_arm_deadline(Peer *peer, uint64_t usec)
{
        int r;

        if (!peer->deadline) {
                r = loop_add_timer(peer->loop, "peer", LOOP_PRIORITY_CLIENT, peer_on_deadline, peer,
                                   &peer->deadline);
                if (r < 0)
                        return error_fold(r);
        }
        return error_fold(loop_source_arm(peer->deadline, usec));
}

/* -- answers ---------------------------------------------------------------------------------- */

static int peer_write(Peer *peer, const char *text)
{
        struct evbuffer *output = bufferevent_get_output(peer->bev);

        /* the NUL is part of the frame */
        if (evbuffer_add(output, text, strlen(text) + 1) < 0)
                return error_origin(-ENOMEM);
        if (evbuffer_get_length(output) <= peer->config->max_pending_output_bytes)
                return 0;
        peer->dropped = true;
        bufferevent_disable(peer->bev, EV_READ);
        return error_fold(peer_arm_deadline(peer, 0));
}

static int peer_answer(Peer *peer, const char *error, json_t *parameters, bool continues)
{
        _cleanup_free_ char *text = NULL;
        int r;

        assert(peer->busy);
        r = varlink_format_reply(error, parameters, continues, &text);
        json_decref(parameters);
        if (r < 0)
                return error_fold(r);
        if (!peer->oneway && !peer->closing && !peer->dropped) {
                r = peer_write(peer, text);
                if (r < 0)
                        return error_fold(r);
        }
        if (continues)
                return 0;
        peer->busy = false;
        peer->pending = NULL;
        return peer->in_process ? 0 : error_fold(peer_process(peer));
}

int peer_reply(Peer *peer, json_t *parameters, bool continues)
{
        return error_fold(peer_answer(peer, NULL, parameters, continues));
}

int peer_error(Peer *peer, const char *error, json_t *parameters)
{
        return error_fold(peer_answer(peer, error, parameters, /* continues= */ false));
}

bool peer_is_congested(const Peer *peer)
{
        return evbuffer_get_length(bufferevent_get_output(peer->bev)) >
               peer->config->max_pending_output_bytes / 2;
}

void peer_set_pending(Peer *peer, PeerPending *pending)
{
        peer->pending = pending;
}

/* -- messages --------------------------------------------------------------------------------- */

static int peer_refuse_oversized(Peer *peer)
{
        _cleanup_free_ char *text = NULL;
        json_t *parameters = json_pack("{s:s, s:I}", "quota", "MaxMessageBytes", "limit",
                                       (json_int_t)peer->max_message_bytes);
        int r;

        r = varlink_format_reply(WIRE_ERROR_QUOTA_EXCEEDED, parameters, false, &text);
        json_decref(parameters);
        if (r == 0)
                r = peer_write(peer, text);
        if (r < 0)
                return error_fold(r);
        bufferevent_disable(peer->bev, EV_READ);
        peer_flush_and_close(peer);
        return peer->closing || peer->dropped
                       ? 0
                       : error_fold(peer_arm_deadline(peer, PEER_REFUSED_USEC));
}

/* A message has begun: the time for all of it runs, however often a piece of it comes. */
static int peer_begin_message(Peer *peer)
{
        if (peer->in_message)
                return 0;
        peer->in_message = true;
        return error_fold(peer_arm_deadline(peer, PEER_MESSAGE_USEC));
}

static int peer_dispatch(Peer *peer, const char *text, size_t n)
{
        VarlinkCall call;
        int r;

        if (varlink_parse_call(text, n, &call) != 0) {
                peer_close(peer);
                return 0;
        }
        peer->busy = true;
        peer->oneway = call.oneway;
        r = peer->handler.call(peer->handler.userdata, peer, &call);
        varlink_call_deinit(&call);
        return error_fold(r);
}

/* Takes one complete message out of the input. Returns 1 if there was one, 0 if not, <0. */
static int peer_process_one(Peer *peer)
{
        struct evbuffer *input = bufferevent_get_input(peer->bev);
        _cleanup_free_ char *text = NULL;
        struct evbuffer_ptr end = evbuffer_search(input, "\0", 1, NULL);
        size_t n;
        int r;

        if (end.pos < 0) {
                n = evbuffer_get_length(input);
                if (n > peer->max_message_bytes)
                        return error_fold(peer_refuse_oversized(peer));
                return n > 0 ? error_fold(peer_begin_message(peer)) : 0;
        }
        n = (size_t)end.pos;
        if (n > peer->max_message_bytes)
                return error_fold(peer_refuse_oversized(peer));
        peer->in_message = false;
        loop_source_disarm(peer->deadline);
        text = malloc(n + 1);
        if (!text)
                return error_origin(-ENOMEM);
        (void)evbuffer_remove(input, text, n + 1);
        r = peer_dispatch(peer, text, n);
        return r < 0 ? error_fold(r) : 1;
}

static int peer_process_refused(Peer *peer)
{
        struct evbuffer *input = bufferevent_get_input(peer->bev);
        struct evbuffer_ptr end = evbuffer_search(input, "\0", 1, NULL);
        int r = 0;

        (void)evbuffer_drain(input, evbuffer_get_length(input));
        if (peer->close_when_flushed)
                return 0;
        if (end.pos >= 0)
                r = peer_write(peer, peer->refusal);
        if (end.pos >= 0 || peer->ended) /* ended: it did not ask, so it is not told */
                peer_flush_and_close(peer);
        return error_fold(r);
}

/* Input that is full and not taken out would have libevent call us again and again. */
static void peer_pace(Peer *peer)
{
        size_t n = evbuffer_get_length(bufferevent_get_input(peer->bev));
        bool pause = peer->busy && n > peer->max_message_bytes;

        if (pause && !peer->paused)
                bufferevent_disable(peer->bev, EV_READ);
        else if (!pause && peer->paused && !peer->dropped && !peer->close_when_flushed)
                bufferevent_enable(peer->bev, EV_READ);
        peer->paused = pause;
}

bool peer_has_hung_up(const Peer *peer)
{
        struct pollfd p = { .fd = bufferevent_getfd(peer->bev) };

        return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

static int peer_process(Peer *peer)
{
        int r = 1;

        if (peer->refusal)
                return error_fold(peer_process_refused(peer));
        peer->in_process = true;
        while (r > 0 && !peer->busy && !peer->closing && !peer->dropped &&
               !peer->close_when_flushed)
                r = peer_process_one(peer);
        peer->in_process = false;
        if (r < 0)
                return error_fold(r);
        if (!peer->closing)
                peer_pace(peer);
        if (peer->ended && !peer->closing) {
                if (peer_has_hung_up(peer))
                        peer_close(peer);
                else if (!peer->busy)
                        peer_flush_and_close(peer);
        }
        return 0;
}

/* -- callbacks -------------------------------------------------------------------------------- */

static void peer_on_readable(struct bufferevent *bev, void *userdata)
{
        Peer *peer = userdata;

        loop_report(peer->loop, "peer", peer_process(peer));
}

static void peer_on_writable(struct bufferevent *bev, void *userdata)
{
        Peer *peer = userdata;

        if (peer->close_when_flushed)
                peer_close(peer);
        else if (peer->pending && peer->pending->writable)
                loop_report(peer->loop, "peer", peer->pending->writable(peer->pending, peer));
}

static int peer_handle_event(Peer *peer, short what)
{
        int r;

        if (what & BEV_EVENT_ERROR) {
                peer_close(peer);
                return 0;
        }
        if (!(what & BEV_EVENT_EOF))
                return 0;
        r = peer_process(peer); /* what came before the end */
        if (r < 0)
                return error_fold(r);
        if (peer->closing)
                return 0;
        r = peer_end_input(peer);
        if (r < 0)
                return error_fold(r);
        return error_fold(peer_process(peer));
}

static void peer_on_event(struct bufferevent *bev, short what, void *userdata)
{
        Peer *peer = userdata;

        loop_report(peer->loop, "peer", peer_handle_event(peer, what));
}

/* -- life ------------------------------------------------------------------------------------- */

int peer_new(Loop *loop, int fd, const Config *config, const PeerHandler *handler,
             const AccessGroups *groups, Peer **ret_peer)
{
        _cleanup_close_ int own_fd = fd;
        Peer *peer = calloc(1, sizeof(*peer));
        int r;

        if (!peer)
                return error_origin(-ENOMEM);
        peer->loop = loop;
        peer->config = config;
        peer->max_message_bytes = config->max_message_bytes;
        peer->handler = *handler;
        LIST_INIT(&peer->made);
        r = peer_identify(peer, fd, groups);
        if (r < 0) {
                peer_free(peer);
                return error_fold(r);
        }
        peer->bev = bufferevent_socket_new(loop_get_base(loop), fd, BEV_OPT_CLOSE_ON_FREE);
        if (!peer->bev) {
                peer_free(peer);
                return error_origin(-ENOMEM);
        }
        own_fd = -1;
        (void)bufferevent_priority_set(peer->bev, LOOP_PRIORITY_CLIENT);
        bufferevent_setcb(peer->bev, peer_on_readable, peer_on_writable, peer_on_event, peer);
        /* one byte more than allowed, so that too long can be told from just right */
        bufferevent_setwatermark(peer->bev, EV_READ, 0, config->max_message_bytes + 2);
        if (bufferevent_enable(peer->bev, EV_READ | EV_WRITE) < 0) {
                peer_free(peer);
                return error_origin(-ENOMEM);
        }
        *ret_peer = peer;
        return 0;
}

void peer_refuse(Peer *peer, const char *error, json_t *parameters)
{
        if (varlink_format_reply(error, parameters, false, &peer->refusal) < 0 ||
            peer_arm_deadline(peer, PEER_REFUSED_USEC) < 0)
                peer_close(peer);
}

uid_t peer_get_uid(const Peer *peer)
{
        return peer->credentials.uid;
}

gid_t peer_get_gid(const Peer *peer)
{
        return peer->credentials.gid;
}

pid_t peer_get_pid(const Peer *peer)
{
        return peer->credentials.pid;
}

AccessRights peer_get_rights(const Peer *peer)
{
        return peer->rights;
}

int peer_add_made(Peer *peer, const char *id)
{
        PeerMade *made = calloc(1, sizeof(*made));

        if (!made)
                return error_origin(-ENOMEM);
        (void)snprintf(made->id, sizeof(made->id), "%s", id);
        LIST_INSERT_HEAD(&peer->made, made, link);
        return 0;
}

void peer_remove_made(Peer *peer, const char *id)
{
        PeerMade *made;

        LIST_FOREACH(made, &peer->made, link) {
                if (strcmp(made->id, id) != 0)
                        continue;
                LIST_REMOVE(made, link);
                free(made);
                return;
        }
}

PeerMade *peer_first_made(Peer *peer)
{
        return LIST_FIRST(&peer->made);
}
