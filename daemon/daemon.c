/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon as a whole.
 *
 * Order of construction, and in reverse of destruction: loop, store with its worker, watch,
 * hierarchy, registry, drain, api, listener. The worker is ended before the registry, so that no
 * execution is freed with a job under way; executions themselves are left alone: the next daemon
 * adopts them.
 *
 * READY is said as soon as the socket is served. The executions' parent may come later (its unit is
 * ordered after this one): daemon-hierarchy.c waits for it, keeps it populated, and adopts what is
 * in it.
 */

#include "daemon.h"

#include "daemon-private.h"
#include "log.h"
#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <systemd/sd-daemon.h>

#define DAEMON_STATUS_USEC (5 * USEC_PER_SEC)
#define DAEMON_LOCK_RETRY_MSEC 50

/* -- faults and signals ----------------------------------------------------------------------- */

static void daemon_on_fault(void *userdata, const char *source, int r)
{
        Daemon *d = userdata;
        char trace[1024];

        error_trace_print(trace, sizeof(trace));
        log_error("Fault in %s: %s; ending, executions go on without me [%s]", source, strerror(-r),
                  trace);
        loop_exit(d->loop, r);
}

static int daemon_on_terminate(void *userdata)
{
        Daemon *d = userdata;

        (void)sd_notify(0, "STOPPING=1");
        loop_exit(d->loop, 0);
        return 0;
}

static void daemon_complain(void *userdata, const char *file, unsigned line, const char *text)
{
        if (line)
                log_warning("%s:%u: %s", file, line, text);
        else
                log_warning("%s: %s", file, text);
}

/* What cannot change while running keeps its old value. */
static int daemon_on_reload(void *userdata)
{
        Daemon *d = userdata;
        Config config = { 0 };
        char text[64];
        int r;

        (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
                       (unsigned long long)clock_monotonic_usec());
        (void)sd_notify(0, text);
        r = daemon_load_config(&d->options, daemon_complain, NULL, &config);
        if (r == 0) {
                char *database = config.database_path, *root = config.executions_root;

                config.database_path = TAKE_PTR(d->config.database_path);
                config.executions_root = TAKE_PTR(d->config.executions_root);
                config_deinit(&d->config);
                d->config = config;
                free(database);
                free(root);
                log_notice("Configuration reloaded");
        } else {
                log_error("Configuration not reloaded: the old one stays in force");
        }
        access_lookup_groups(&d->groups);
        (void)sd_notify(0, "READY=1");
        return 0;
}

/* -- watch, worker, status -------------------------------------------------------------------- */

static int daemon_on_watch(void *userdata, void *subject, int cookie)
{
        Daemon *d = userdata;

        if (!subject) {
                log_warning("The inotify queue overflowed: looking at all executions");
                return error_fold(registry_look_at_all(d->registry));
        }
        if (subject == d)
                return error_fold(daemon_hierarchy_look(d));
        return error_fold(execution_look(subject, cookie));
}

static int daemon_on_worker(void *userdata)
{
        Daemon *d = userdata;

        return error_fold(worker_dispatch(d->worker));
}

/* Whatever comes of it, the row stands. */
static int daemon_find_victims(Daemon *d, const ExecutionRecord *record)
{
        uint64_t since = record->created_usec > 0 ? (uint64_t)record->created_usec : 0;

        return error_fold(inquest_open(d->inquest, record->id, since, record->oom_kills));
}

static void daemon_on_change(void *userdata, Execution *e, bool is_new)
{
        Daemon *d = userdata;

        if (d->api)
                loop_report(d->loop, "subscribe", api_on_change(d->api, e, is_new));
        if (e->state == EXECUTION_STORED && e->record.oom_kills > 0)
                loop_report(d->loop, "inquest", daemon_find_victims(d, &e->record));
        if (e->state != EXECUTION_REMOVED)
                return;
        loop_report(d->loop, "drain", drain_check(d->drain));
        if (d->keeper == DAEMON_KEEPER_REPLACEMENT && registry_count(d->registry) == 0)
                loop_report(d->loop, "keeper", daemon_hierarchy_look(d));
}

static void daemon_report_store(Daemon *d)
{
        LogFields fields = LOG_FIELDS_NULL;
        WorkerStatus status;

        worker_get_status(d->worker, &status);
        if (*status.corrupt_moved && strcmp(status.corrupt_moved, d->corrupt_moved) != 0) {
                (void)snprintf(d->corrupt_moved, sizeof(d->corrupt_moved), "%s",
                               status.corrupt_moved);
                fields.message_id = LOG_MESSAGE_STORE_FAILED;
                log_write(LOG_ERR, &fields,
                          "The database was damaged: it is kept as %s, and a new one was begun",
                          status.corrupt_moved);
        }
        if (!status.store_known || status.store_ok == d->store_was_ok)
                return;
        d->store_was_ok = status.store_ok;
        fields.message_id = LOG_MESSAGE_STORE_FAILED;
        if (status.store_ok)
                log_notice("The database works again");
        else
                log_write(LOG_ERR, &fields,
                          "Rows cannot be stored, the cgroups of ended executions wait: %s",
                          status.store_error);
}

/* The first failure is logged, the rest is the status's. */
static void daemon_report_victims(Daemon *d)
{
        const char *complaint = inquest_complaint(d->inquest);
        LogFields fields = LOG_FIELDS_NULL;

        if (!complaint == d->victims_were_ok)
                return;
        d->victims_were_ok = !complaint;
        fields.message_id = LOG_MESSAGE_DEGRADED;
        if (complaint)
                log_write(LOG_WARNING, &fields, "Rows go on, but %s", complaint);
        else
                log_notice("OOM victims are named again");
}

static int daemon_on_tick(void *userdata)
{
        Daemon *d = userdata;
        char text[256];

        daemon_report_store(d);
        daemon_report_victims(d);
        (void)snprintf(text, sizeof(text), "STATUS=%s: %zu live, %zu to be stored or removed",
                       hierarchy_is_ready(d->hierarchy) ? "Accounting" : "Waiting for the keeper",
                       registry_count_live(d->registry),
                       registry_count(d->registry) - registry_count_live(d->registry));
        (void)sd_notify(0, text);
        if (hierarchy_is_ready(d->hierarchy)) { /* a lost event of the keeper costs this long */
                int r = daemon_hierarchy_look(d);

                if (r < 0)
                        return error_fold(r);
        }
        return error_fold(loop_source_arm(d->tick, DAEMON_STATUS_USEC));
}

static int daemon_on_watchdog(void *userdata)
{
        Daemon *d = userdata;

        (void)sd_notify(0, "WATCHDOG=1");
        return error_fold(loop_source_arm(d->watchdog, d->watchdog_usec / 3));
}

/* -- construction ----------------------------------------------------------------------------- */

int daemon_load_config(const DaemonOptions *options, ConfigComplainFn complain, void *userdata,
                       Config *ret_config)
{
        Config config = { 0 };
        int r;

        r = config_load("", options->config_file, complain, userdata, &config);
        if (r < 0)
                return error_fold(r);
        if (options->executions_root) {
                free(config.executions_root);
                config.executions_root = strdup(options->executions_root);
        }
        if (options->database_path) {
                free(config.database_path);
                config.database_path = strdup(options->database_path);
        }
        if (!config.executions_root || !config.database_path) {
                config_deinit(&config);
                return error_origin(-ENOMEM);
        }
        *ret_config = config;
        return 0;
}

/* One daemon per database; `cgtaskctl drain` looks at the lock to see whether one lives. */
static int daemon_lock(Daemon *d)
{
        _cleanup_free_ char *path = NULL;
        int r;

        if (asprintf(&path, "%s.lock", d->config.database_path) < 0) {
                path = NULL;
                return error_origin(-ENOMEM);
        }
        d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (d->lock_fd < 0) {
                log_error("Cannot open %s: %s (systemd-tmpfiles --create makes its directory)",
                          path, strerror(errno));
                return error_origin(-DAEMON_ETOLD);
        }
        /* `cgtaskctl drain` holds it shared for a moment, to see whether it can be had */
        for (unsigned i = 0; (r = flock(d->lock_fd, LOCK_EX | LOCK_NB)) < 0 && i < 20; ++i)
                (void)poll(NULL, 0, DAEMON_LOCK_RETRY_MSEC);
        if (r < 0) {
                log_error(
                        "Another cgtaskd uses %s: stop it, or give this one a DatabasePath= of its "
                        "own",
                        d->config.database_path);
                return error_origin(-DAEMON_ETOLD);
        }
        return 0;
}

static int daemon_add_signals(Daemon *d)
{
        int r;

        if ((r = loop_add_signal(d->loop, "SIGTERM", SIGTERM, daemon_on_terminate, d,
                                 &d->sigterm)) < 0 ||
            (r = loop_add_signal(d->loop, "SIGINT", SIGINT, daemon_on_terminate, d, &d->sigint)) <
                    0 ||
            (r = loop_add_signal(d->loop, "SIGHUP", SIGHUP, daemon_on_reload, d, &d->sighup)) < 0)
                return error_fold(r);
        return 0;
}

static int daemon_start_storage(Daemon *d)
{
        Store *store = NULL;
        int r;

        r = store_new(d->config.database_path, &store);
        if (r < 0)
                return error_fold(r);
        r = worker_new(store, &d->worker); /* takes the store over */
        if (r < 0) {
                (void)store_free(store);
                return error_fold(r);
        }
        r = inquest_new(d->loop, d->worker, &d->inquest);
        if (r < 0)
                return error_fold(r);
        return error_fold(loop_add_fd(d->loop, "worker", LOOP_PRIORITY_KERNEL,
                                      worker_get_fd(d->worker), daemon_on_worker, d,
                                      &d->worker_source));
}

static int daemon_start_accounting(Daemon *d)
{
        ExecutionContext context = {
                .loop = d->loop, .worker = d->worker, .config = &d->config, .host = &d->host
        };
        int r;

        r = watch_new(d->loop, daemon_on_watch, d, &d->watch);
        if (r == 0)
                r = hierarchy_new(d->config.executions_root, &d->hierarchy);
        if (r < 0)
                return error_fold(r);
        if (r > 0) {
                log_error("Cannot account for executions here: %s", hierarchy_reason(d->hierarchy));
                return error_origin(-DAEMON_ETOLD);
        }
        context.watch = d->watch;
        context.hierarchy = d->hierarchy;
        r = user_table_new(&d->users);
        if (r == 0)
                r = registry_new(&context, d->users, &d->registry);
        if (r < 0)
                return error_fold(r);
        registry_on_change(d->registry, daemon_on_change, d);
        return error_fold(drain_new(d->loop, d->registry, &d->drain));
}

/* The socket that systemd made, or one of our own. */
static int daemon_get_socket(Daemon *d, int *ret_fd)
{
        const char *path = d->options.socket_path ? d->options.socket_path : WIRE_SOCKET_PATH;
        int r;

        if (!d->options.socket_path && sd_listen_fds(1) == 1) {
                *ret_fd = SD_LISTEN_FDS_START;
                return 0;
        }
        r = listener_bind(path, ret_fd);
        if (r == 0)
                d->own_socket = path;
        if (r < 0) {
                log_error("Cannot listen on %s: %s (start cgtaskd.socket, or name another one with "
                          "--socket=)",
                          path, strerror(-r));
                return error_origin(-DAEMON_ETOLD);
        }
        return 0;
}

static int daemon_start_serving(Daemon *d)
{
        ApiContext context = { .loop = d->loop,
                               .registry = d->registry,
                               .worker = d->worker,
                               .hierarchy = d->hierarchy,
                               .drain = d->drain,
                               .config = &d->config,
                               .status = daemon_status,
                               .need_hierarchy = daemon_hierarchy_need,
                               .userdata = d };
        PeerHandler handler;
        int fd = -1, r;

        r = api_new(&context, &d->api);
        if (r == 0)
                r = daemon_get_socket(d, &fd);
        if (r < 0)
                return error_fold(r);
        handler = api_get_handler(d->api);
        return error_fold(listener_new(d->loop, fd, &d->config, &handler, &d->groups, d->users,
                                       &d->listener));
}

static int daemon_start_timers(Daemon *d)
{
        int r;

        r = loop_add_timer(d->loop, "tick", LOOP_PRIORITY_KERNEL, daemon_on_tick, d, &d->tick);
        if (r == 0)
                r = loop_source_arm(d->tick, 0);
        if (r == 0 && sd_watchdog_enabled(0, &d->watchdog_usec) > 0) {
                r = loop_add_timer(d->loop, "watchdog", LOOP_PRIORITY_KERNEL, daemon_on_watchdog, d,
                                   &d->watchdog);
                if (r == 0)
                        r = loop_source_arm(d->watchdog, 0);
        }
        return error_fold(r);
}

int daemon_new(const DaemonOptions *options, Config *config, Daemon **ret_daemon)
{
        Daemon *d = calloc(1, sizeof(*d));
        int r;

        if (!d)
                return error_origin(-ENOMEM);
        d->options = *options;
        d->config = *config;
        *config = (Config){ 0 };
        d->lock_fd = -1;
        d->keeper_wd = -1;
        d->store_was_ok = d->victims_were_ok = true;
        d->started_usec = clock_monotonic_usec();
        access_lookup_groups(&d->groups);
        if ((r = loop_new(&d->loop)) < 0 || (r = host_init(&d->host)) < 0 ||
            (r = daemon_lock(d)) < 0 || (r = daemon_add_signals(d)) < 0 ||
            (r = daemon_start_storage(d)) < 0 || (r = daemon_start_accounting(d)) < 0 ||
            (r = daemon_hierarchy_start(d)) < 0 || (r = daemon_start_serving(d)) < 0 ||
            (r = daemon_start_timers(d)) < 0 || (r = daemon_hierarchy_look(d)) < 0) {
                (void)daemon_free(d);
                return error_fold(r);
        }
        loop_on_fault(d->loop, daemon_on_fault, d);
        *ret_daemon = d;
        return 0;
}

Daemon *daemon_free(Daemon *d)
{
        if (!d)
                return NULL;
        d->watchdog = loop_source_free(d->watchdog);
        d->tick = loop_source_free(d->tick);
        if (d->api)
                api_stop(d->api);
        d->listener = listener_free(d->listener);
        if (d->own_socket)
                (void)unlink(d->own_socket);
        d->worker_source = loop_source_free(d->worker_source);
        if (d->inquest)
                inquest_stop(d->inquest);
        d->worker = worker_free(d->worker);
        daemon_hierarchy_stop(d);
        d->api = api_free(d->api);
        d->drain = drain_free(d->drain);
        if (d->registry)
                registry_on_change(d->registry, NULL, NULL);
        d->registry = registry_free(d->registry);
        d->inquest = inquest_free(d->inquest);
        d->users = user_table_free(d->users);
        d->hierarchy = hierarchy_free(d->hierarchy);
        d->watch = watch_free(d->watch);
        d->sighup = loop_source_free(d->sighup);
        d->sigint = loop_source_free(d->sigint);
        d->sigterm = loop_source_free(d->sigterm);
        d->lock_fd = cleanup_close(d->lock_fd);
        d->loop = loop_free(d->loop);
        config_deinit(&d->config);
        free(d);
        return NULL;
}

int daemon_run(Daemon *d)
{
        (void)sd_notify(0, "READY=1");
        return error_fold(loop_run(d->loop));
}
