/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Standing between a task and whoever started it.
 *
 * Signals are passed on by handlers, so that they get through at any time, also while the parent
 * waits for the daemon. The handlers are installed after the fork: the child has nothing to undo
 * but SIGCHLD, which must not be ignored in the parent (the kernel would throw the exit status
 * away), and the mask. A signal that the caller had blocked or ignored is passed on as well; the
 * child inherited that state and decides by it.
 *
 * What the terminal sends (^C, ^\, hangup) goes to the whole foreground process group, and the child
 * is in it: such a signal is told by its si_code and not passed on a second time. A signal that a
 * process sends to the group cannot be told from one for us alone, and arrives twice.
 *
 * Stopping is not mirrored. ^Z stops parent and child alike, since TSTP is left alone; if only the
 * child stops, the parent goes on waiting.
 *
 * The pid stays the child's until it is reaped, and it is reaped with all signals blocked: a handler
 * can never hit a process that got the number afterwards.
 */

#include "supervise.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const int supervise_forwarded[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                           SIGUSR2, SIGCONT, SIGALRM, SIGWINCH };
static const int supervise_endings[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

static volatile sig_atomic_t supervise_pid;    /* > 0: the child, not yet reaped */
static volatile sig_atomic_t supervise_status; /* its wait status, once supervise_pid is 0 again */

void supervise_hold(SuperviseSignals *ret_saved)
{
        struct sigaction action = { .sa_handler = SIG_DFL };
        sigset_t all;

        sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, &ret_saved->mask);
        (void)sigaction(SIGCHLD, &action, &ret_saved->child);
}

void supervise_release(const SuperviseSignals *saved)
{
        (void)sigaction(SIGCHLD, &saved->child, NULL);
        (void)sigprocmask(SIG_SETMASK, &saved->mask, NULL);
}

/* The child got this one from the terminal itself. */
static bool supervise_child_has(int signal, const siginfo_t *info)
{
        if (info->si_code != SI_KERNEL || getpgid(supervise_pid) != getpgrp())
                return false;
        /* A hangup goes to the session leader alone; the others hear of it when it ends. */
        return signal != SIGHUP || getsid(0) != getpid();
}

static void supervise_handle(int signal, siginfo_t *info, void *context)
{
        int saved_errno = errno;

        if (supervise_pid == 0)
                supervise_exit_like(supervise_status);
        if (!supervise_child_has(signal, info))
                (void)kill(supervise_pid, signal);
        errno = saved_errno;
}

void supervise_forward(pid_t pid, const SuperviseSignals *saved)
{
        struct sigaction action = { .sa_sigaction = supervise_handle,
                                    .sa_flags = SA_SIGINFO | SA_RESTART };
        sigset_t mask = saved->mask;

        supervise_pid = pid;
        sigfillset(&action.sa_mask);
        for (size_t i = 0; i < N_ELEMENTS(supervise_forwarded); i++) {
                (void)sigaction(supervise_forwarded[i], &action, NULL);
                sigdelset(&mask, supervise_forwarded[i]);
        }
        sigaddset(&mask, SIGPIPE); /* a summary that nobody reads must not end us */
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
}

int supervise_wait(pid_t pid, int *ret_status, int64_t *ret_max_rss_bytes)
{
        struct rusage usage;
        siginfo_t info;
        sigset_t all;
        int r, status;

        do
                r = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
        while (r < 0 && errno == EINTR);
        if (r < 0)
                return error_origin(-errno);

        sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        if (wait4(pid, &status, 0, &usage) < 0)
                return error_origin(-errno);
        supervise_status = status;
        supervise_pid = 0;

        *ret_status = status;
        *ret_max_rss_bytes = (int64_t)usage.ru_maxrss * 1024;
        return 0;
}

void supervise_leave_on_signal(int status)
{
        sigset_t endings;

        supervise_status = status;
        sigemptyset(&endings);
        sigaddset(&endings, SIGTSTP); /* its default: whoever waits may stop waiting for a while */
        for (size_t i = 0; i < N_ELEMENTS(supervise_endings); i++)
                sigaddset(&endings, supervise_endings[i]);
        (void)sigprocmask(SIG_UNBLOCK, &endings, NULL);
}

_Noreturn void supervise_exit_like(int status)
{
        struct sigaction action = { .sa_handler = SIG_DFL };
        struct rlimit no_core = { 0, 0 };
        sigset_t set;

        if (WIFEXITED(status))
                _exit(WEXITSTATUS(status));

        /* The task has left its own core, if any; one of ours would only hide it. */
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)prctl(PR_SET_DUMPABLE, 0);
        (void)sigaction(WTERMSIG(status), &action, NULL);
        sigemptyset(&set);
        sigaddset(&set, WTERMSIG(status));
        (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
        (void)kill(getpid(), WTERMSIG(status));
        _exit(128 + WTERMSIG(status)); /* as init of a pid namespace no signal ends us */
}
