/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * cgexec-task: runs one command as one execution.
 *
 * In place (the default): ask the daemon for an execution and to be moved into it, then execute the
 * command. Nothing of ours remains: same process, same descriptors, same signals. Supervised: the
 * command is a child, see launch.c, supervise.c, finish.c for the three parts of its life.
 *
 * Whatever is wrong with the daemon, the command runs and its exit status is the one given back; one
 * line on stderr says that it was not accounted for. Only --require makes that an error. What the
 * user typed wrong is always an error, and is found before anything is asked of the daemon.
 */

#include "cgexec-task-options.h"
#include "cgtask.h"
#include "client.h"
#include "display.h"
#include "environment.h"
#include "finish.h"
#include "launch.h"
#include "option.h"
#include "request.h"
#include "summary.h"
#include "supervise.h"
#include "wire.h"

#include "private/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_TIMEOUT_USEC 1000000 /* for a record that is only to be shown */

/* Everything that one run needs. */
typedef struct Run {
        Options options;
        char *task;
        cgtask_request *request;
        cgtask_client *client; /* NULL: it could not be made */
        uint64_t deadline_usec;
        int summary_fd; /* -1: stderr */
        char *reason;   /* why the task is not accounted; NULL: it is */
} Run;

static void run_deinit(Run *run)
{
        free(run->reason);
        (void)cleanup_close(run->summary_fd);
        cgtask_client_free(run->client);
        cgtask_request_free(run->request);
        free(run->task);
        options_deinit(&run->options);
}

static int fail(const char *what, int error)
{
        dprintf(STDERR_FILENO, "cgexec-task: %s: %s\n", what, strerror(error));
        return LAUNCH_EXIT_FAILURE;
}

static int fail_exec(const char *command, int error)
{
        (void)fail(command, error);
        return launch_exit_status(error);
}

/* Remembers why, and says so: at most one line per run. With --require it is an error, never quiet. */
static void run_not_accounted(Run *run, const char *reason)
{
        if (run->reason)
                return;
        run->reason = strdup(reason);
        if (!run->options.quiet || run->options.require)
                dprintf(STDERR_FILENO, "cgexec-task: not accounted: %s\n", reason);
}

static void run_warn(const Run *run, const char *what, const char *reason)
{
        if (!run->options.quiet)
                dprintf(STDERR_FILENO, "cgexec-task: %s: %s\n", what, reason);
}

/*
 * Takes the places of stdin, stdout and stderr if the caller left them closed, so that no socket of
 * ours gets such a number and a warning into it. Close-on-exec: the task finds them closed.
 */
static void hold_standard_fds(void)
{
        int fd;

        do
                fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        while (fd >= 0 && fd <= STDERR_FILENO);
        (void)cleanup_close(fd);
}

/* The task key: what the user said, else what the executor said, else the base name of COMMAND. */
static int run_set_task(Run *run, const EnvironmentIdentity *identity)
{
        const char *command = run->options.command[0];
        const char *slash = strrchr(command, '/');

        if (run->options.task)
                run->task = strdup(run->options.task);
        else if (identity->task)
                run->task = strdup(identity->task);
        else if (display_escape(slash ? slash + 1 : command, &run->task) < 0)
                return -ENOMEM;
        if (!run->task)
                return -ENOMEM;
        return cgtask_request_set_task(run->request, run->task);
}

static int run_set_labels(Run *run, const EnvironmentIdentity *identity)
{
        const Options *o = &run->options;
        int r;

        for (size_t i = 0; i < identity->n_labels; i++) {
                r = cgtask_request_set_label(run->request, identity->labels[i].key,
                                             identity->labels[i].value);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < o->n_labels; i++) {
                _cleanup_free_ char *key = NULL;
                size_t n = 0;

                (void)option_parse_label(o->labels[i], &n);
                key = strndup(o->labels[i], n);
                if (!key)
                        return -ENOMEM;
                r = cgtask_request_set_label(run->request, key, o->labels[i] + n + 1);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void run_set_limits(Run *run)
{
        const Options *o = &run->options;

        if (o->memory_max != OPTION_INFINITY)
                cgtask_request_set_memory_max(run->request, o->memory_max);
        if (o->memory_high != OPTION_INFINITY)
                cgtask_request_set_memory_high(run->request, o->memory_high);
        if (o->swap_max != OPTION_INFINITY)
                cgtask_request_set_swap_max(run->request, o->swap_max);
        if (o->pids_max != OPTION_INFINITY)
                cgtask_request_set_pids_max(run->request, o->pids_max);
        if (o->has_oom_group)
                cgtask_request_set_oom_group(run->request, o->oom_group);
}

static int run_set_identity(Run *run)
{
        EnvironmentIdentity identity = { 0 };
        int r;

        if (run->options.from_env && environment_identify(environ, &identity) < 0)
                return -ENOMEM;
        r = run_set_task(run, &identity);
        if (r == 0)
                r = run_set_labels(run, &identity);
        environment_identity_deinit(&identity);
        return r;
}

/* The request without `attach`. 0 or the exit status. */
static int run_make_request(Run *run)
{
        const Options *o = &run->options;
        int r;

        r = cgtask_request_new(&run->request);
        if (r == 0)
                r = run_set_identity(run);
        if (r == 0)
                r = cgtask_request_set_command(run->request, o->command);
        if (r == 0 && o->attempt_of)
                r = cgtask_request_set_attempt_of(run->request, o->attempt_of);
        if (r == 0 && *o->stragglers)
                r = cgtask_request_set_stragglers(run->request, o->stragglers);
        if (r < 0)
                return fail("cannot make the request", -r);
        run_set_limits(run);
        return 0;
}

/* 0 or the exit status. A bad --socket is the user's mistake; a bad environment is not. */
static int run_make_client(Run *run)
{
        const Options *o = &run->options;
        int r;

        r = cgtask_client_new(o->socket_path, &run->client);
        if (r < 0 && o->socket_path)
                return fail(o->socket_path, -r);
        if (r == 0)
                cgtask_client_set_timeout(run->client, o->launch_timeout_usec);
        run->deadline_usec =
                o->launch_timeout_usec ? wire_now() + o->launch_timeout_usec : WIRE_NO_DEADLINE;
        return 0;
}

/* Create. false: not accounted, which has been said. */
static bool run_create(Run *run, char **ret_id, char **ret_cgroup_path)
{
        if (!run->client) {
                run_not_accounted(run, "the path of the socket in $CGTASK_SOCKET is too long");
                return false;
        }
        if (cgtask_create(run->client, run->request, ret_id, ret_cgroup_path) < 0) {
                run_not_accounted(run, cgtask_client_error(run->client));
                return false;
        }
        return true;
}

static int run_exec(Run *run)
{
        run->client = cgtask_client_free(run->client);
        return fail_exec(run->options.command[0], launch_exec(run->options.command));
}

static int run_in_place(Run *run)
{
        cgtask_request_set_attach(run->request, true);
        if (!run_create(run, NULL, NULL) && run->options.require)
                return LAUNCH_EXIT_FAILURE;
        return run_exec(run);
}

/* What there is to say about the end of the execution. */
static void run_summarize(const Run *run, const cgtask_execution *execution, const char *error)
{
        const Options *o = &run->options;
        _cleanup_free_ char *line = NULL;
        int r;

        if (o->summary == SUMMARY_NONE)
                return;
        r = summary_write(o->summary, run->task, execution, !run->reason, run->reason ?: error,
                          &line);
        if (r < 0)
                (void)fail("cannot make the summary", -r);
        else if (run->summary_fd < 0)
                dprintf(STDERR_FILENO, "%s%s\n", o->summary == SUMMARY_TEXT ? "cgexec-task: " : "",
                        line);
        else if (dprintf(run->summary_fd, "%s\n", line) < 0)
                (void)fail(o->summary_path, errno);
}

static void run_finish(Run *run, const char *id, int status, int64_t max_rss_bytes)
{
        _cleanup_execution_ cgtask_execution *execution = NULL;
        _cleanup_free_ char *error = NULL;
        FinishReport report = { .id = id,
                                .status = status,
                                .max_rss_bytes = max_rss_bytes,
                                .wait_drained = run->options.wait_drained };

        if (run->reason) {
                run_summarize(run, NULL, NULL);
                return;
        }
        if (report.wait_drained)
                supervise_leave_on_signal(status);
        if (finish_send(run->client, &report, &execution) == 0) {
                run_summarize(run, execution, NULL);
                return;
        }
        error = strdup(cgtask_client_error(run->client));
        run_warn(run, "exit status not recorded", error ?: "");
        /* The daemon may have closed the record without us: it is then there to be shown. */
        if (run->options.summary != SUMMARY_NONE && cgtask_client_error_name(run->client)) {
                cgtask_client_set_timeout(run->client, RECORD_TIMEOUT_USEC);
                (void)cgtask_get(run->client, id, &execution);
        }
        run_summarize(run, execution, error ?: "");
}

/* The handshake after the child has started. false: with --require, the command did not run. */
static bool run_attach(Run *run, const Launched *launched, const char *id)
{
        if (*launched->attach_error) {
                run_not_accounted(run, launched->attach_error);
                run->client = cgtask_client_free(run->client); /* it will not be used */
                return !run->options.require;
        }
        if (launched->born_inside && cgtask_attach(run->client, id, launched->pid) < 0)
                run_warn(run, "the record may be incomplete", cgtask_client_error(run->client));
        return true;
}

static int run_supervised(Run *run)
{
        const Options *o = &run->options;
        _cleanup_free_ char *id = NULL, *cgroup_path = NULL;
        SuperviseSignals signals;
        Launched launched;
        LaunchPlan plan = { .argv = o->command,
                            .socket_path = o->socket_path,
                            .deadline_usec = run->deadline_usec,
                            .require = o->require };
        int64_t max_rss_bytes = -1;
        bool may_run;
        int r, status;

        if (!run_create(run, &id, &cgroup_path)) {
                if (o->require)
                        return LAUNCH_EXIT_FAILURE;
                if (o->summary == SUMMARY_NONE)
                        return run_exec(run); /* there is nothing to stay for */
        }
        plan.id = id;
        plan.cgroup_path = cgroup_path;

        supervise_hold(&signals);
        r = launch_start(&plan, &signals, &launched);
        if (r < 0) {
                supervise_release(&signals);
                return fail("cannot start a process", -r);
        }
        may_run = run_attach(run, &launched, id);
        if (launched.exec_error)
                (void)fail_exec(o->command[0], launched.exec_error);

        r = supervise_wait(launched.pid, &status, &max_rss_bytes);
        if (r < 0)
                return fail("cannot wait for the task", -r);
        if (!may_run)
                return LAUNCH_EXIT_FAILURE;
        run_finish(run, id, status, max_rss_bytes);
        supervise_exit_like(status);
}

/* 0 or the exit status. Nothing has happened yet when it fails. */
static int run_prepare(Run *run)
{
        const Options *o = &run->options;
        int r;

        r = launch_resolve(o->command[0]);
        if (r < 0)
                return fail_exec(o->command[0], -r);
        if (o->summary_path) {
                run->summary_fd = open(o->summary_path,
                                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
                if (run->summary_fd < 0)
                        return fail(o->summary_path, errno);
        }
        r = run_make_request(run);
        return r ?: run_make_client(run);
}

int main(int argc, char *argv[])
{
        _cleanup_(run_deinit) Run run = { .summary_fd = -1 };
        int r;

        hold_standard_fds();
        launch_keep_cpus();
        switch (options_parse(&run.options, argc, argv)) {
        case OPTIONS_HELP:
                return options_print_help() < 0 ? LAUNCH_EXIT_FAILURE : EXIT_SUCCESS;
        case OPTIONS_VERSION:
                return options_print_version() < 0 ? LAUNCH_EXIT_FAILURE : EXIT_SUCCESS;
        case OPTIONS_BAD:
                return LAUNCH_EXIT_FAILURE;
        case OPTIONS_RUN:
                break;
        }
        r = run_prepare(&run);
        if (r)
                return r;
        if (run.options.memory_max != OPTION_INFINITY)
                launch_allow_oom_kill();
        return run.options.supervise ? run_supervised(&run) : run_in_place(&run);
}
