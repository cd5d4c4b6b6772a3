/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Accepting.
 *
 * Who may connect is decided here, before a byte is read: by group, by the number of connections in
 * all and per uid. When descriptors run out, accepting pauses for a second; the kernel's queue keeps
 * the callers waiting meanwhile, and nobody is lost.
 */

#include "listener.h"

#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <event2/listener.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define LISTENER_PAUSE_USEC USEC_PER_SEC
/*
 * Refused peers are told why; this many may be waiting to hear it, further ones are closed unheard.
 * They are counted apart, so that strangers cannot use up what MaxConnections gives to others.
 */
#define LISTENER_REFUSED_MAX 64

typedef struct ListenerEntry {
        Listener *listener;
        Peer *peer;
        User *user;
        bool refused;
        LIST_ENTRY(ListenerEntry) link;
} ListenerEntry;

struct Listener {
        Loop *loop;
        struct evconnlistener *events;
        LoopSource *pause;
        bool paused;
        const Config *config;
        const AccessGroups *groups;
        UserTable *users;
        PeerHandler handler;
        LIST_HEAD(, ListenerEntry) entries;
        size_t n_entries, n_refused;
};

static void listener_on_closed(void *userdata)
{
        ListenerEntry *entry = userdata;

        LIST_REMOVE(entry, link);
        --entry->listener->n_entries;
        entry->listener->n_refused -= entry->refused;
        if (entry->user) {
                --entry->user->n_connections;
                user_forget(entry->listener->users, entry->user);
        }
        free(entry);
}

/* parameters are taken over. The entry may be gone afterwards. */
static void listener_refuse(Listener *listener, ListenerEntry *entry, const char *error,
                            json_t *parameters)
{
        entry->refused = true;
        if (++listener->n_refused > LISTENER_REFUSED_MAX)
                peer_close(entry->peer);
        else
                peer_refuse(entry->peer, error, parameters);
        json_decref(parameters);
}

static void listener_refuse_quota(Listener *listener, ListenerEntry *entry, const char *quota,
                                  uint64_t limit)
{
        listener_refuse(listener, entry, WIRE_ERROR_QUOTA_EXCEEDED,
                        json_pack("{s:s, s:I}", "quota", quota, "limit", (json_int_t)limit));
}

static void listener_refuse_stranger(Listener *listener, ListenerEntry *entry)
{
        char reason[256] = "";

        if (listener->n_refused < LISTENER_REFUSED_MAX) /* it reads files */
                access_explain_refusal(listener->groups, peer_get_uid(entry->peer), reason,
                                       sizeof(reason));
        listener_refuse(listener, entry, WIRE_ERROR_PERMISSION_DENIED,
                        json_pack("{s:s}", "reason", reason));
}

static void listener_admit(Listener *listener, ListenerEntry *entry)
{
        const Config *config = listener->config;
        AccessRights rights = peer_get_rights(entry->peer);

        if (!rights.launch && !rights.read)
                listener_refuse_stranger(listener, entry);
        else if (listener->n_entries - listener->n_refused > config->max_connections)
                listener_refuse_quota(listener, entry, "MaxConnections", config->max_connections);
        else if (!rights.root && entry->user->n_connections > config->max_connections_per_user)
                listener_refuse_quota(listener, entry, "MaxConnectionsPerUser",
                                      config->max_connections_per_user);
}

static int listener_accept(Listener *listener, int fd)
{
        PeerHandler handler = listener->handler;
        ListenerEntry *entry;
        int r;

        entry = calloc(1, sizeof(*entry));
        if (!entry) {
                (void)cleanup_close(fd);
                return error_origin(-ENOMEM);
        }
        entry->listener = listener;
        handler.closed = listener_on_closed;
        handler.closed_userdata = entry;
        r = peer_new(listener->loop, fd, listener->config, &handler, listener->groups,
                     &entry->peer);
        if (r == 0)
                r = user_get(listener->users, peer_get_uid(entry->peer), &entry->user);
        LIST_INSERT_HEAD(&listener->entries, entry, link);
        ++listener->n_entries;
        if (r < 0) {
                if (entry->peer)
                        peer_close(entry->peer);
                else
                        listener_on_closed(entry);
                return 0; /* this connection's trouble alone */
        }
        ++entry->user->n_connections;
        listener_admit(listener, entry);
        return 0;
}

static void listener_on_accept(struct evconnlistener *events, evutil_socket_t fd,
                               struct sockaddr *address, int length, void *userdata)
{
        Listener *listener = userdata;

        loop_report(listener->loop, "listener", listener_accept(listener, fd));
}

static int listener_on_resume(void *userdata)
{
        Listener *listener = userdata;

        listener->paused = false;
        return evconnlistener_enable(listener->events) < 0 ? error_origin(-EIO) : 0;
}

static void listener_on_error(struct evconnlistener *events, void *userdata)
{
        Listener *listener = userdata;

        listener->paused = true;
        (void)evconnlistener_disable(events);
        loop_report(listener->loop, "listener",
                    loop_source_arm(listener->pause, LISTENER_PAUSE_USEC));
}

int listener_new(Loop *loop, int fd, const Config *config, const PeerHandler *handler,
                 const AccessGroups *groups, UserTable *users, Listener **ret_listener)
{
        Listener *listener = calloc(1, sizeof(*listener));
        int r;

        if (!listener) {
                (void)cleanup_close(fd);
                return error_origin(-ENOMEM);
        }
        *listener = (Listener){ .loop = loop,
                                .config = config,
                                .groups = groups,
                                .users = users,
                                .handler = *handler };
        LIST_INIT(&listener->entries);
        (void)evutil_make_socket_nonblocking(fd); /* systemd hands over a blocking one */
        listener->events = evconnlistener_new(loop_get_base(loop), listener_on_accept, listener,
                                              LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
        if (!listener->events) {
                (void)cleanup_close(fd);
                (void)listener_free(listener);
                return error_origin(-ENOMEM);
        }
        evconnlistener_set_error_cb(listener->events, listener_on_error);
        r = loop_add_timer(loop, "listener", LOOP_PRIORITY_CLIENT, listener_on_resume, listener,
                           &listener->pause);
        if (r < 0) {
                (void)listener_free(listener);
                return error_fold(r);
        }
        *ret_listener = listener;
        return 0;
}

Listener *listener_free(Listener *listener)
{
        ListenerEntry *entry;

        if (!listener)
                return NULL;
        listener->pause = loop_source_free(listener->pause);
        while ((entry = LIST_FIRST(&listener->entries)))
                peer_close(entry->peer);
        if (listener->events)
                evconnlistener_free(listener->events);
        free(listener);
        return NULL;
}

int listener_bind(const char *path, int *ret_fd)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -1;
        struct stat st;

        if (strlen(path) >= sizeof(address.sun_path))
                return error_origin(-ENAMETOOLONG);
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return error_origin(-errno);
        if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) /* nothing else is ours to remove */
                (void)unlink(path);
        if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0666) < 0 ||
            listen(fd, SOMAXCONN) < 0)
                return error_origin(-errno);
        *ret_fd = TAKE_FD(fd);
        return 0;
}

size_t listener_count(const Listener *listener)
{
        return listener->n_entries;
}

bool listener_is_paused(const Listener *listener)
{
        return listener->paused;
}
