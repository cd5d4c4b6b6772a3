/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The listening socket and all connections that came from it. */

#include "peer.h"
#include "user.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct Listener Listener;

/*
 * fd: a listening UNIX stream socket, taken over. handler's `closed` is the listener's own and need
 * not be set. config, groups and users are borrowed and may change their content.
 */
int listener_new(Loop *loop, int fd, const Config *config, const PeerHandler *handler,
                 const AccessGroups *groups, UserTable *users, Listener **ret_listener);
/* Closes all connections; they are freed by the loop. */
Listener *listener_free(Listener *listener);

/* Makes a socket at path (mode 0666, an old one is replaced) and listens. */
int listener_bind(const char *path, int *ret_fd);

size_t listener_count(const Listener *listener);
/* True while it does not accept because descriptors or memory ran out. */
bool listener_is_paused(const Listener *listener);
