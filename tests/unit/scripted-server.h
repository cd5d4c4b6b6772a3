/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A daemon for tests: a thread that answers each call on one connection with the next text of a
 * list, and remembers the calls. After the last one it closes.
 */

#include "private/cleanup.h"

#include <assert.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SERVER_CALLS_MAX 16

typedef struct Server {
        char directory[64];
        char path[80];
        int listener;
        const char *const *replies; /* NULL at the end; several for one call: joined by "\n" */
        pthread_t thread;
        char *calls[SERVER_CALLS_MAX];
        size_t n_calls;
} Server;

static inline char *server_read_call(int fd)
{
        char *text = calloc(1, 1 << 20);
        size_t n = 0;

        while (n < (1 << 20) && read(fd, text + n, 1) == 1)
                if (text[n++] == 0)
                        return text;
        free(text);
        return NULL;
}

static inline void *server_main(void *userdata)
{
        Server *server = userdata;
        int fd = accept(server->listener, NULL, NULL);

        for (size_t i = 0; fd >= 0 && server->replies[i] && server->n_calls < SERVER_CALLS_MAX;
             i++) {
                char *reply, *call = server_read_call(fd);
                size_t n;

                if (!call)
                        break;
                server->calls[server->n_calls++] = call;
                reply = strdup(server->replies[i]);
                n = strlen(reply) + 1;
                for (char *p = reply; *p; p++)
                        if (*p == '\n')
                                *p = 0;
                (void)!send(fd, reply, n, MSG_NOSIGNAL);
                free(reply);
        }
        (void)cleanup_close(fd);
        return NULL;
}

static inline void server_start(Server *server, const char *const replies[])
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        *server = (Server){ .replies = replies };
        strcpy(server->directory, "/tmp/scripted-server.XXXXXX");
        if (!mkdtemp(server->directory))
                abort();
        strcat(strcpy(server->path, server->directory), "/s");
        strcpy(address.sun_path, server->path);
        server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(server->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
            listen(server->listener, 4) < 0 ||
            pthread_create(&server->thread, NULL, server_main, server) != 0)
                abort();
}

/* Waits for the script to end: the client must have closed, or all replies been given. */
static inline void server_join(Server *server)
{
        (void)shutdown(server->listener, SHUT_RDWR);
        (void)pthread_join(server->thread, NULL);
}

/* The parameters of a call, the caller's; NULL if it had none. Checks the method. */
static inline json_t *server_parameters(const Server *server, size_t i, const char *method)
{
        json_t *call = json_loads(server->calls[i], 0, NULL);
        const char *name = json_string_value(json_object_get(call, "method"));
        json_t *parameters;

        if (!name || strcmp(name, method) != 0)
                abort();
        parameters = json_incref(json_object_get(call, "parameters"));
        json_decref(call);
        return parameters;
}

static inline void server_stop(Server *server)
{
        server_join(server);
        for (size_t i = 0; i < server->n_calls; i++)
                free(server->calls[i]);
        (void)cleanup_close(server->listener);
        (void)unlink(server->path);
        (void)rmdir(server->directory);
}
