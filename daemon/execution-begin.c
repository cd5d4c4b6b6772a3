/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How an execution comes to be: made for a client, or found at start; and how it gets its runner.
 *
 * Order at creation: directory, xattr, limits, watches, then both files read once (an event may have
 * been before the watch). The xattr is there before anything can run inside. If a step fails the
 * directory is removed again; it never held a process.
 *
 * Order at attach: the caller holds a pidfd; if that process is still alive after the move, then
 * the number written to cgroup.procs meant this process and no other. Since the kernel accepts a
 * zombie and moves nothing, /proc has the last word.
 */

#include "cgroup.h"
#include "execution-private.h"
#include "measure.h"
#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"
#include "process.h"
#include "row.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* How long a client that made an execution may take to come back after a restart of the daemon. */
#define EXECUTION_ABANDON_USEC (30 * USEC_PER_SEC)
/* How long its parent may take to reap a runner, whose exit status the kernel tells only then. */
#define EXECUTION_REAP_USEC USEC_PER_SEC
#define EXECUTION_REAP_FIRST_USEC (5 * USEC_PER_MSEC)

static int execution_new(const ExecutionContext *context, const char *id, Execution **ret_execution)
{
        Execution *e = calloc(1, sizeof(*e));

        if (!e)
                return error_origin(-ENOMEM);
        e->context = context;
        (void)snprintf(e->id, sizeof(e->id), "%s", id);
        (void)snprintf(e->name, sizeof(e->name), WIRE_CGROUP_PREFIX "%s", e->id);
        e->metadata = METADATA_NULL;
        e->events_wd = e->memory_wd = e->runner_fd = e->supervisor_fd = -1;
        e->checkpointed_usec = clock_monotonic_usec();
        execution_record_init(&e->record);
        LIST_INIT(&e->waiters);
        *ret_execution = e;
        return 0;
}

static void execution_freep(Execution **e)
{
        (void)execution_free(*e);
}

/* -- limits and watches ----------------------------------------------------------------------- */

static int execution_set_limit(int dir_fd, const char *file, uint64_t value, int *ret_errno)
{
        char text[32];
        int r;

        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
        r = cgroup_set(dir_fd, file, text, ret_errno);
        switch (r) {
        case CGROUP_E_GONE:
                return EXECUTION_E_GONE;
        case CGROUP_E_ABSENT:
                *ret_errno = EOPNOTSUPP;
                return EXECUTION_E_REFUSED;
        case CGROUP_E_REFUSED:
                return EXECUTION_E_REFUSED;
        default:
                return error_fold(r);
        }
}

static int execution_set_limits(int dir_fd, const ExecutionLimits *l, int *ret_errno)
{
        int r = 0;

        /* high before max: nothing is in it yet, so the order is only for readers of strace */
        if (r == 0 && l->has_memory_high)
                r = execution_set_limit(dir_fd, "memory.high", l->memory_high_bytes, ret_errno);
        if (r == 0 && l->has_memory_max)
                r = execution_set_limit(dir_fd, "memory.max", l->memory_max_bytes, ret_errno);
        if (r == 0 && l->has_swap_max)
                r = execution_set_limit(dir_fd, "memory.swap.max", l->swap_max_bytes, ret_errno);
        if (r == 0 && l->has_pids_max)
                r = execution_set_limit(dir_fd, "pids.max", l->pids_max, ret_errno);
        if (r == 0 && l->oom_group)
                r = execution_set_limit(dir_fd, "memory.oom.group", 1, ret_errno);
        return error_fold(r);
}

static int execution_watch_file(Execution *e, const char *file, int cookie, int *wd)
{
        char path[4096];
        int r;

        (void)snprintf(path, sizeof(path), "%s/%s/%s", hierarchy_root_path(e->context->hierarchy),
                       e->name, file);
        r = watch_add(e->context->watch, path, e, cookie, wd);
        /* no watch to be had: the periodic re-check finds out a little later */
        return r < 0 ? error_fold(r) : 0;
}

static int execution_watch(Execution *e)
{
        int r;

        r = execution_watch_file(e, "cgroup.events", EXECUTION_LOOK_EVENTS, &e->events_wd);
        if (r < 0)
                return error_fold(r);
        return error_fold(
                execution_watch_file(e, "memory.events", EXECUTION_LOOK_MEMORY, &e->memory_wd));
}

/* -- create ----------------------------------------------------------------------------------- */

static int execution_equip(Execution *e, const ExecutionLimits *limits, int *ret_errno)
{
        _cleanup_close_ int fd = -1;
        int r;

        r = cgroup_open(hierarchy_root_fd(e->context->hierarchy), e->name, &fd);
        if (r)
                return r < 0 ? error_fold(r) : EXECUTION_E_GONE;
        r = execution_save_metadata(e, fd);
        if (r < 0)
                return error_fold(r);
        r = execution_set_limits(fd, limits, ret_errno);
        if (r)
                return error_fold(r);
        return error_fold(execution_watch(e));
}

int execution_create(const ExecutionContext *context, const char *id, Metadata *metadata,
                     const ExecutionLimits *limits, Execution **ret_execution, int *ret_errno)
{
        _cleanup_(execution_freep) Execution *e = NULL;
        int root_fd = hierarchy_root_fd(context->hierarchy);
        int r;

        r = execution_new(context, id, &e);
        if (r < 0) {
                metadata_deinit(metadata);
                return error_fold(r);
        }
        e->metadata = *metadata;
        *metadata = METADATA_NULL;
        e->finish_expected = true;
        e->metadata.has_ancestor_ooms =
                hierarchy_read_ancestor_ooms(context->hierarchy, &e->metadata.ancestor_ooms);
        r = cgroup_create(root_fd, e->name, &e->cgroup_id);
        if (r)
                return r < 0                  ? error_fold(r)
                       : r == CGROUP_E_GONE   ? EXECUTION_E_GONE
                       : r == CGROUP_E_EXISTS ? error_origin(-EEXIST) /* 74 random bits: a fault */
                                              : EXECUTION_E_FULL;
        r = execution_equip(e, limits, ret_errno);
        if (r) {
                (void)cgroup_remove(root_fd, e->name); /* nobody was ever in it */
                return error_fold(r);
        }
        r = execution_checkpoint(e, /* measured= */ false); /* it is empty yet */
        if (r < 0)
                (void)execution_proceed(
                        e); /* the next checkpoint or the final row makes up for it */
        *ret_execution = TAKE_PTR(e);
        return 0;
}

/* -- the runner ------------------------------------------------------------------------------- */

static int execution_on_runner(void *userdata)
{
        Execution *e = userdata;

        e->runner_ended = true;
        e->runner_source = loop_source_free(e->runner_source);
        return execution_look(e, EXECUTION_LOOK_ALL);
}

static int execution_on_supervisor(void *userdata)
{
        Execution *e = userdata;

        e->supervisor_source = loop_source_free(e->supervisor_source);
        e->supervisor_fd = cleanup_close(e->supervisor_fd);
        return execution_creator_gone(e);
}

/* Takes over pidfd. */
static int execution_set_runner(Execution *e, int pidfd)
{
        e->runner_source = loop_source_free(e->runner_source);
        e->runner_fd = cleanup_close(e->runner_fd);
        e->runner_fd = pidfd;
        e->runner_ended = false;
        return error_fold(loop_add_fd(e->context->loop, "runner", LOOP_PRIORITY_KERNEL, pidfd,
                                      execution_on_runner, e, &e->runner_source));
}

static int execution_move(Execution *e, pid_t pid, int pidfd, int *ret_errno)
{
        int r;

        r = cgroup_attach(hierarchy_root_fd(e->context->hierarchy), e->name, pid, ret_errno);
        switch (r) {
        case 0:
                break;
        case CGROUP_E_GONE:
                return EXECUTION_E_GONE;
        case CGROUP_E_NO_PROCESS:
                return EXECUTION_E_NO_PROCESS;
        case CGROUP_E_REFUSED:
                return EXECUTION_E_REFUSED;
        default:
                return error_fold(r);
        }
        if (process_has_ended(pidfd))
                return EXECUTION_E_NO_PROCESS;
        return execution_holds(e, pid) ? 0 : EXECUTION_E_NOT_MOVED;
}

/* Writes down who the runner is; true if the xattr does not say so yet. */
static bool execution_note_runner(Execution *e, pid_t pid)
{
        Metadata *m = &e->metadata;
        uint64_t start = 0;

        (void)process_read_start(pid, &start);
        if (m->runner_pid == pid && m->runner_start == start)
                return false;
        m->runner_pid = pid;
        m->runner_start = start;
        m->started_usec = clock_realtime_usec();
        m->started_monotonic_usec = clock_monotonic_usec();
        return true;
}

static void execution_forget_runner(Execution *e)
{
        e->metadata.runner_pid = 0;
        e->metadata.started_usec = e->metadata.started_monotonic_usec = 0;
}

static int execution_note_late(Execution *e)
{
        e->metadata.partial = true;
        return error_fold(
                row_set_text(&e->metadata.partial_reason,
                             "attached while running: memory charged before it stays with "
                             "the cgroup that it came from"));
}

/* What is to be remembered of a process that has just been found or put inside. */
static int execution_note_attached(Execution *e, pid_t pid, bool late, const char *origin)
{
        bool changed = execution_note_runner(e, pid);
        int r;

        if (late) {
                changed = true;
                r = execution_note_late(e);
                if (r < 0)
                        return error_fold(r);
        }
        if (*origin && row_set_text(&e->metadata.origin, origin) < 0)
                return error_origin(-ENOMEM);
        return changed ? error_fold(execution_save_metadata(e, -1)) : 0;
}

int execution_attach(Execution *e, pid_t pid, int pidfd, bool announced, int *ret_errno)
{
        char origin[4096] = "";
        bool inside;
        int r;

        if (!execution_is_live(e))
                return EXECUTION_E_ENDED;
        inside = execution_holds(e, pid);
        if (!inside) {
                (void)process_read_cgroup(pid, origin, sizeof(origin));
                r = execution_move(e, pid, pidfd, ret_errno);
                if (r > 0 &&
                    e->state == EXECUTION_CREATED) /* as written down beforehand: it is not so */
                        execution_forget_runner(e);
                if (r)
                        return error_fold(r);
        }
        r = execution_note_attached(e, pid, !inside && !announced, origin);
        if (r < 0)
                return error_fold(r);
        r = execution_set_runner(e, pidfd);
        if (r < 0) {
                e->runner_fd = -1; /* still the caller's */
                return error_fold(r);
        }
        if (e->state == EXECUTION_CREATED)
                execution_set_state(e, EXECUTION_RUNNING);
        loop_report(e->context->loop, "execution", execution_look(e, EXECUTION_LOOK_EVENTS));
        return 0; /* whatever that was: pidfd is ours now */
}

int execution_release(Execution *e, pid_t pid, int *ret_errno)
{
        _cleanup_close_ int fd = -1;
        char path[8192];
        int r;

        if (!e->metadata.origin || e->metadata.runner_pid != pid || e->runner_fd < 0 ||
            process_has_ended(e->runner_fd))
                return EXECUTION_E_NO_PROCESS;
        (void)snprintf(path, sizeof(path), "%s%s", hierarchy_mount_point(e->context->hierarchy),
                       e->metadata.origin);
        r = cgroup_open(-1, path, &fd); /* absolute, so the parent does not matter */
        if (r)
                return r < 0 ? error_fold(r) : EXECUTION_E_GONE;
        r = cgroup_attach(fd, ".", pid, ret_errno);
        if (r)
                return r < 0                   ? error_fold(r)
                       : r == CGROUP_E_GONE    ? EXECUTION_E_GONE
                       : r == CGROUP_E_REFUSED ? EXECUTION_E_REFUSED
                                               : EXECUTION_E_NO_PROCESS;
        /* what it forked inside was there from its first instruction on */
        e->metadata.partial = false;
        if (row_set_text(&e->metadata.partial_reason, NULL) < 0)
                return error_origin(-ENOMEM);
        e->metadata.supervisor_pid = pid;
        e->metadata.supervisor_start = e->metadata.runner_start;
        e->metadata.runner_pid = 0;
        e->runner_source = loop_source_free(e->runner_source);
        e->runner_fd = cleanup_close(e->runner_fd);
        return error_fold(execution_save_metadata(e, -1));
}

/*
 * Nobody told how the runner ended: the kernel may (6.15), once its parent has reaped it (K40).
 * libevent does not wait for a POLLHUP alone, so it is asked again, at growing distance.
 */
bool execution_awaits_reap(Execution *e)
{
        uint64_t waited;
        int status, r;

        if (e->runner_fd < 0 || e->metadata.exit != VERDICT_EXIT_UNKNOWN)
                return false;
        r = process_get_wait_status(e->runner_fd, &status);
        if (r == 0)
                execution_set_exit(e, status);
        if (r != PROCESS_E_NOT_YET || !process_has_ended(e->runner_fd))
                return false;
        if (!e->reap_awaited_usec)
                e->reap_awaited_usec = clock_monotonic_usec();
        waited = clock_monotonic_usec() - e->reap_awaited_usec;
        if (waited >= EXECUTION_REAP_USEC)
                return false;
        return execution_pause(e, EXECUTION_PAUSE_REAP, EXECUTION_REAP_FIRST_USEC + waited / 4) ==
               0;
}

/* Did anything ever run in it, though no runner was attached? */
static bool execution_has_run(Execution *e)
{
        _cleanup_close_ int fd = -1;
        int64_t peak = RECORD_NULL, current;

        if (e->populated || e->finished || e->metadata.started_usec)
                return true;
        if (cgroup_open(hierarchy_root_fd(e->context->hierarchy), e->name, &fd) != 0)
                return false;
        return measure_live(fd, &peak, &current) == 0 && peak > 0;
}

int execution_begin(Execution *e)
{
        int r;

        if (!execution_has_run(e)) {
                e->metadata.partial = true;
                r = row_set_text(
                        &e->metadata.partial_reason,
                        "nothing ever ran in it: its client left before it had started one");
                if (r < 0)
                        return error_fold(r);
        }
        execution_set_state(e, EXECUTION_RUNNING);
        return execution_proceed(e);
}

/* -- adoption --------------------------------------------------------------------------------- */

static int execution_adopt_metadata(Execution *e, int dir_fd)
{
        _cleanup_free_ char *text = NULL;
        int r;

        r = cgroup_get_xattr(dir_fd, METADATA_XATTR, &text);
        if (r == 0)
                r = metadata_decode(text, &e->metadata);
        if (r < 0)
                return error_fold(r);
        if (r == 0)
                return 0;
        e->metadata.uid = (uid_t)-1;
        e->metadata.gid = (gid_t)-1;
        e->metadata.partial = true;
        return error_fold(
                row_set_text(&e->metadata.partial_reason,
                             "its cgroup was found without readable metadata: task, times "
                             "and owner are not known"));
}

/* A pidfd of the process that (pid, start) was; -1 if it is gone. */
static int execution_reopen(pid_t pid, uint64_t start)
{
        _cleanup_close_ int fd = -1;
        uint64_t now = 0;

        if (pid <= 0 || process_open(pid, &fd) != 0 || process_read_start(pid, &now) != 0 ||
            now != start)
                return -1;
        return TAKE_FD(fd);
}

static int execution_adopt_processes(Execution *e)
{
        const Metadata *m = &e->metadata;
        int fd, r;

        fd = execution_reopen(m->runner_pid, m->runner_start);
        if (fd >= 0 && execution_holds(e, m->runner_pid)) {
                r = execution_set_runner(e, fd);
                if (r < 0)
                        return error_fold(r);
        } else {
                (void)cleanup_close(fd);
                e->runner_ended = m->runner_pid > 0;
        }
        e->supervisor_fd = execution_reopen(m->supervisor_pid, m->supervisor_start);
        e->finish_expected = e->supervisor_fd >= 0;
        e->finished = m->exit != VERDICT_EXIT_UNKNOWN;
        if (e->supervisor_fd < 0)
                return 0;
        return error_fold(loop_add_fd(e->context->loop, "supervisor", LOOP_PRIORITY_KERNEL,
                                      e->supervisor_fd, execution_on_supervisor, e,
                                      &e->supervisor_source));
}

int execution_adopt(const ExecutionContext *context, const char *name, Execution **ret_execution)
{
        _cleanup_(execution_freep) Execution *e = NULL;
        _cleanup_close_ int fd = -1;
        struct stat st;
        int r;

        r = cgroup_open(hierarchy_root_fd(context->hierarchy), name, &fd);
        if (r)
                return r < 0 ? error_fold(r) : EXECUTION_E_GONE;
        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        r = execution_new(context, name + strlen(WIRE_CGROUP_PREFIX), &e);
        if (r < 0)
                return error_fold(r);
        e->cgroup_id = st.st_ino;
        if ((r = execution_adopt_metadata(e, fd)) < 0 || (r = execution_adopt_processes(e)) < 0 ||
            (r = execution_watch(e)) < 0)
                return error_fold(r);
        r = cgroup_read_populated(hierarchy_root_fd(context->hierarchy), e->name, &e->populated);
        if (r)
                return r < 0 ? error_fold(r) : EXECUTION_E_GONE;
        e->ended_unseen = !e->populated;
        if (e->metadata.started_usec)
                e->state = EXECUTION_RUNNING;
        else if (e->finish_expected && !e->populated)
                (void)execution_pause(e, EXECUTION_PAUSE_ABANDON, EXECUTION_ABANDON_USEC);
        *ret_execution = TAKE_PTR(e);
        return 0;
}
