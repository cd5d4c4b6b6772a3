/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One connection: credentials, framing, one call at a time, bounded in every direction.
 */

#include "access.h"
#include "config.h"
#include "loop.h"
#include "varlink.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

typedef struct Peer Peer;

/* What the owner of the peers (the listener) and the server of their calls (the api) are told. */
typedef struct PeerHandler {
        /* Answer with peer_reply() or peer_error(), now or later; one call at a time. */
        int (*call)(void *userdata, Peer *peer, const VarlinkCall *call);
        /*
         * It will send nothing any more; answers may still reach it. Once; and again when it is
         * closed, if it has got executions since then from calls that had been sent before.
         */
        int (*gone)(void *userdata, Peer *peer);
        void *userdata;
        /* It is closed and about to be freed. */
        void (*closed)(void *closed_userdata);
        void *closed_userdata;
} PeerHandler;

/* Something that will answer the peer's current call later. Cancelled when the peer is closed. */
typedef struct PeerPending PeerPending;
struct PeerPending {
        void (*cancel)(PeerPending *pending);              /* the peer is closing: forget it */
        int (*writable)(PeerPending *pending, Peer *peer); /* output has drained; may be NULL */
};

/* Executions that this connection made and that have not been finished by it. */
typedef struct PeerMade {
        char id[33];
        LIST_ENTRY(PeerMade) link;
} PeerMade;

/* Takes over fd, also on failure. Everything else that is given is borrowed. */
int peer_new(Loop *loop, int fd, const Config *config, const PeerHandler *handler,
             const AccessGroups *groups, Peer **ret_peer);
/*
 * Its first message will be answered with this error, unread, and the connection closed. parameters
 * is borrowed.
 */
void peer_refuse(Peer *peer, const char *error, json_t *parameters);
/* Closes now; it is freed after this turn of the loop. */
void peer_close(Peer *peer);

uid_t peer_get_uid(const Peer *peer);
gid_t peer_get_gid(const Peer *peer);
pid_t peer_get_pid(const Peer *peer);
AccessRights peer_get_rights(const Peer *peer);
/*
 * A pidfd of the process that connected, proved to be that one. 0, >0 if it has gone, <0.
 */
int peer_open_process(const Peer *peer, int *ret_pidfd);

/*
 * The answer to the current call. parameters is taken over and may be NULL. With continues, what is
 * pending stays valid, whatever becomes of the peer; the last answer may be followed by the peer's
 * next call, or by its end, before it returns.
 */
int peer_reply(Peer *peer, json_t *parameters, bool continues);
int peer_error(Peer *peer, const char *error, json_t *parameters);
/* True while more output waits than a peer should have: stop producing until writable(). */
bool peer_is_congested(const Peer *peer);
/* It has closed the connection: no answer reaches it, and it goes on without one. */
bool peer_has_hung_up(const Peer *peer);

void peer_set_pending(Peer *peer, PeerPending *pending); /* NULL: nothing any more */

int peer_add_made(Peer *peer, const char *id);
void peer_remove_made(Peer *peer, const char *id);
PeerMade *peer_first_made(Peer *peer);
