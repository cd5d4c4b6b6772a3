/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The place of the executions in this host's cgroup tree.
 *
 * libcgroup answers one question here: where is the memory controller mounted. Its calls that create,
 * attach or delete are never used: on v2 they report success for what they did not do.
 *
 * Nothing outside of the parent is written, with one exception: in layout OWN the daemon first moves
 * itself into a leaf of its own cgroup, since a cgroup with processes cannot give controllers to its
 * children.
 */

#include "hierarchy.h"

#include "cgroup.h"
#include "memstat.h"
#include "private/cleanup.h"
#include "private/error.h"
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define HIERARCHY_ANCESTORS_MAX 16
#define HIERARCHY_OWN_LEAF "cgtaskd"
#define HIERARCHY_LEAVE_ROUNDS 16
/* Room for cgroups that workloads nest below their own, beside one per execution. */
#define HIERARCHY_DESCENDANTS_PER_EXECUTION 4

struct Hierarchy {
        HierarchyLayout layout;
        char *mount_point;
        char *root_path;
        int root_fd;
        int ancestor_fds[HIERARCHY_ANCESTORS_MAX]; /* their memory.events.local */
        size_t n_ancestors;
        bool ready;
        bool has_memory_peak;
        bool has_pids;
        char reason[512];
};

static int _printf_(3, 4) hierarchy_because(Hierarchy *h, int outcome, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        (void)vsnprintf(h->reason, sizeof(h->reason), format, ap);
        va_end(ap);
        return outcome;
}

static int hierarchy_find_mount(Hierarchy *h)
{
        struct statfs fs;
        char *mount = NULL;
        int r;

        r = cgroup_init();
        if (r)
                return hierarchy_because(h, HIERARCHY_E_IMPOSSIBLE,
                                         "no cgroup hierarchy was found (%s): mount cgroup2 on "
                                         "/sys/fs/cgroup",
                                         cgroup_strerror(r));
        r = cgroup_get_subsys_mount_point("memory", &mount);
        if (r)
                return hierarchy_because(
                        h, HIERARCHY_E_IMPOSSIBLE,
                        "the memory controller is not available (%s): boot without "
                        "cgroup_disable=memory, on a host with cgroup v2",
                        cgroup_strerror(r));
        h->mount_point = mount;
        if (statfs(mount, &fs) < 0)
                return error_origin(-errno);
        if (fs.f_type != CGROUP2_SUPER_MAGIC)
                return hierarchy_because(h, HIERARCHY_E_IMPOSSIBLE,
                                         "the memory controller is on cgroup v1 (%s): boot with "
                                         "systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all",
                                         mount);
        return 0;
}

static int hierarchy_set_root(Hierarchy *h, const char *parent, const char *child)
{
        if (asprintf(&h->root_path, "%s%s%s", parent, *child && strcmp(parent, "/") != 0 ? "/" : "",
                     child) < 0) {
                h->root_path = NULL;
                return error_origin(-ENOMEM);
        }
        return 0;
}

static int hierarchy_choose(Hierarchy *h, const char *executions_root)
{
        _cleanup_free_ char *absolute = NULL;
        char own[4096];
        char *base;
        int r;

        if (strcmp(executions_root, "auto") != 0) {
                struct statfs fs;

                h->layout = HIERARCHY_LAYOUT_GIVEN;
                if (statfs(executions_root, &fs) < 0 && errno != ENOENT)
                        return error_origin(-errno);
                return error_fold(hierarchy_set_root(h, executions_root, ""));
        }
        r = process_read_cgroup(getpid(), own, sizeof(own));
        if (r < 0)
                return error_fold(r);
        if (r > 0)
                return error_origin(-ESRCH);
        if (asprintf(&absolute, "%s%s", h->mount_point, strcmp(own, "/") == 0 ? "" : own) < 0)
                return error_origin(-ENOMEM);
        base = strrchr(absolute, '/');
        if (base && strcmp(base + 1, HIERARCHY_DAEMON_UNIT) == 0) {
                h->layout = HIERARCHY_LAYOUT_SYSTEMD;
                *base = '\0';
                return error_fold(hierarchy_set_root(h, absolute, HIERARCHY_EXECUTIONS_UNIT));
        }
        h->layout = HIERARCHY_LAYOUT_OWN;
        if (strcmp(own, "/") == 0)
                return hierarchy_because(h, HIERARCHY_E_IMPOSSIBLE,
                                         "the daemon runs in the root cgroup, which it must not "
                                         "manage: start cgtaskd.service, or give it a directory by "
                                         "ExecutionsRoot= (--executions-root=)");
        /* started anew by hand: the leaf of the daemon before us */
        if (base && strcmp(base + 1, HIERARCHY_OWN_LEAF) == 0)
                *base = '\0';
        return error_fold(hierarchy_set_root(h, absolute, ""));
}

int hierarchy_new(const char *executions_root, Hierarchy **ret_hierarchy)
{
        Hierarchy *h = calloc(1, sizeof(*h));
        int r;

        if (!h)
                return error_origin(-ENOMEM);
        h->root_fd = -1;
        r = hierarchy_find_mount(h);
        if (r == 0)
                r = hierarchy_choose(h, executions_root);
        if (r < 0) {
                (void)hierarchy_free(h);
                return error_fold(r);
        }
        *ret_hierarchy = h;
        return r;
}

Hierarchy *hierarchy_free(Hierarchy *h)
{
        if (!h)
                return NULL;
        hierarchy_invalidate(h);
        free(h->root_path);
        free(h->mount_point);
        free(h);
        return NULL;
}

void hierarchy_invalidate(Hierarchy *h)
{
        h->ready = false;
        h->root_fd = cleanup_close(h->root_fd);
        for (size_t i = 0; i < h->n_ancestors; ++i)
                (void)cleanup_close(h->ancestor_fds[i]);
        h->n_ancestors = 0;
}

/* memory.events.local of the parent itself and of all above it; the mount's root has none. */
static void hierarchy_open_ancestors(Hierarchy *h)
{
        char path[4096 + 32];
        size_t mount = strlen(h->mount_point);
        _cleanup_free_ char *dir = strdup(h->root_path);
        char *slash;

        while (dir && strlen(dir) > mount && h->n_ancestors < HIERARCHY_ANCESTORS_MAX) {
                int fd;

                (void)snprintf(path, sizeof(path), "%s/memory.events.local", dir);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd >= 0)
                        h->ancestor_fds[h->n_ancestors++] = fd;
                slash = strrchr(dir, '/');
                if (!slash)
                        break;
                *slash = '\0';
        }
}

bool hierarchy_read_ancestor_ooms(const Hierarchy *h, uint64_t *ret_ooms)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < h->n_ancestors; ++i) {
                char text[512];
                uint64_t oom;
                ssize_t n = pread(h->ancestor_fds[i], text, sizeof(text) - 1, 0);

                if (n < 0)
                        return false;
                text[n] = '\0';
                if (memstat_parse_key(text, "oom", &oom) != 0)
                        return false;
                sum += oom;
        }
        *ret_ooms = sum;
        return h->n_ancestors > 0;
}

static int hierarchy_open_root(Hierarchy *h)
{
        struct statfs fs;
        int fd;

        fd = open(h->root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT && h->layout == HIERARCHY_LAYOUT_GIVEN &&
            mkdir(h->root_path, 0755) == 0)
                fd = open(h->root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return hierarchy_because(
                        h, HIERARCHY_E_NOT_READY, "cannot open %s: %s%s", h->root_path,
                        strerror(errno),
                        errno == EROFS ? " (a container needs a cgroup namespace of its own with a "
                                         "writable /sys/fs/cgroup)"
                        : h->layout == HIERARCHY_LAYOUT_SYSTEMD ? " (is " HIERARCHY_EXECUTIONS_UNIT
                                                                  " running?)"
                                                                : "");
        h->root_fd = fd;
        if (fstatfs(fd, &fs) < 0)
                return error_origin(-errno);
        if (fs.f_type != CGROUP2_SUPER_MAGIC || !hierarchy_cgroup_path(h))
                return hierarchy_because(
                        h, HIERARCHY_E_IMPOSSIBLE,
                        "%s is not on a cgroup2 file system: name a directory below "
                        "%s in ExecutionsRoot=",
                        h->root_path, h->mount_point);
        return 0;
}

/* True if the space-separated list in `file` has the word. */
static bool hierarchy_lists(const Hierarchy *h, const char *file, const char *word)
{
        char text[512];
        char *rest, *p;

        if (cgroup_read_into(h->root_fd, file, text, sizeof(text)) != 0)
                return false;
        for (p = strtok_r(text, " \n", &rest); p; p = strtok_r(NULL, " \n", &rest))
                if (strcmp(p, word) == 0)
                        return true;
        return false;
}

/* Moves what the parent itself holds to our leaf. 1: there was something to move, 0: nothing. */
static int hierarchy_empty_root(Hierarchy *h)
{
        _cleanup_free_ char *text = NULL;
        char *rest, *line;
        int r, e = 0, n = 0;

        r = cgroup_read(h->root_fd, "cgroup.procs", &text);
        if (r)
                return r < 0 ? error_fold(r) : 0;
        for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                r = cgroup_attach(h->root_fd, HIERARCHY_OWN_LEAF, (pid_t)atoi(line), &e);
                if (r < 0)
                        return error_fold(r);
                n = 1;
        }
        return n;
}

/* Layout OWN: our processes have to leave the parent before it can have controllers. */
static int hierarchy_leave_root(Hierarchy *h)
{
        uint64_t id;
        int r;

        r = cgroup_create(h->root_fd, HIERARCHY_OWN_LEAF, &id);
        if (r && r != CGROUP_E_EXISTS)
                return r < 0 ? error_fold(r)
                             : hierarchy_because(h, HIERARCHY_E_IMPOSSIBLE,
                                                 "cannot make %s/" HIERARCHY_OWN_LEAF
                                                 ": it is not ours to manage (Delegate=yes?)",
                                                 h->root_path);
        /* again, for children that were forked meanwhile; whoever cannot be moved is told by EBUSY */
        r = 1;
        for (unsigned i = 0; r > 0 && i < HIERARCHY_LEAVE_ROUNDS; ++i)
                r = hierarchy_empty_root(h);
        return r < 0 ? error_fold(r) : 0;
}

static int hierarchy_enable(Hierarchy *h, const char *controller, bool required)
{
        char value[32];
        int r, e = 0;

        if (hierarchy_lists(h, "cgroup.subtree_control", controller))
                return 0;
        if (!hierarchy_lists(h, "cgroup.controllers", controller)) {
                if (!required)
                        return 0;
                return hierarchy_because(
                        h, HIERARCHY_E_IMPOSSIBLE,
                        "%s does not have the %s controller: enable it in "
                        "cgroup.subtree_control of its parent (systemd: Delegate=yes)",
                        h->root_path, controller);
        }
        (void)snprintf(value, sizeof(value), "+%s", controller);
        r = cgroup_set(h->root_fd, "cgroup.subtree_control", value, &e);
        if (r < 0)
                return error_fold(r);
        if (r && required)
                return hierarchy_because(
                        h, HIERARCHY_E_IMPOSSIBLE, "cannot enable the %s controller in %s: %s%s",
                        controller, h->root_path, r == CGROUP_E_REFUSED ? strerror(e) : "gone",
                        e == EBUSY ? " (it holds processes: name an empty cgroup)" : "");
        return 0;
}

static int hierarchy_prepare_root(Hierarchy *h)
{
        static const char *const optional[] = { "pids", "cpu", "io" };
        int r;

        if (h->layout == HIERARCHY_LAYOUT_OWN) {
                r = hierarchy_leave_root(h);
                if (r)
                        return error_fold(r);
        }
        r = hierarchy_enable(h, "memory", /* required= */ true);
        if (r)
                return error_fold(r);
        for (size_t i = 0; i < N_ELEMENTS(optional); ++i) {
                r = hierarchy_enable(h, optional[i], /* required= */ false);
                if (r)
                        return error_fold(r);
        }
        return 0;
}

static int hierarchy_check_keeper(Hierarchy *h)
{
        bool populated;
        int r;

        r = cgroup_read_populated(h->root_fd, HIERARCHY_KEEPER, &populated);
        if (r < 0)
                return error_fold(r);
        if (r || !populated)
                return hierarchy_because(h, HIERARCHY_E_NOT_READY,
                                         "no process in %s/" HIERARCHY_KEEPER
                                         " (is " HIERARCHY_EXECUTIONS_UNIT " running?)",
                                         h->root_path);
        if (!hierarchy_lists(h, "cgroup.subtree_control", "memory"))
                return hierarchy_because(h, HIERARCHY_E_NOT_READY,
                                         "the memory controller is not enabled in %s",
                                         h->root_path);
        return 0;
}

/* A hard cap in the kernel beside our own count. */
static void hierarchy_cap(Hierarchy *h, uint64_t max_executions)
{
        char value[32];
        int e;

        if (max_executions > UINT32_MAX / HIERARCHY_DESCENDANTS_PER_EXECUTION)
                return;
        (void)snprintf(
                value, sizeof(value), "%llu",
                (unsigned long long)(max_executions * HIERARCHY_DESCENDANTS_PER_EXECUTION + 16));
        (void)cgroup_set(h->root_fd, "cgroup.max.descendants", value, &e);
}

int hierarchy_make_ready(Hierarchy *h, uint64_t max_executions)
{
        int r;

        if (h->ready)
                return 0;
        if (!h->root_path)
                return HIERARCHY_E_IMPOSSIBLE;
        hierarchy_invalidate(h);
        r = hierarchy_open_root(h);
        if (r == 0)
                r = h->layout == HIERARCHY_LAYOUT_SYSTEMD ? hierarchy_check_keeper(h)
                                                          : hierarchy_prepare_root(h);
        if (r) {
                hierarchy_invalidate(h);
                return error_fold(r);
        }
        hierarchy_cap(h, max_executions);
        hierarchy_open_ancestors(h);
        h->has_memory_peak = faccessat(h->root_fd, "memory.peak", F_OK, 0) == 0;
        h->has_pids = hierarchy_lists(h, "cgroup.subtree_control", "pids");
        h->reason[0] = '\0';
        h->ready = true;
        return 0;
}

bool hierarchy_is_ready(const Hierarchy *h)
{
        return h->ready;
}

HierarchyLayout hierarchy_layout(const Hierarchy *h)
{
        return h->layout;
}

const char *hierarchy_layout_name(HierarchyLayout layout)
{
        switch (layout) {
        case HIERARCHY_LAYOUT_SYSTEMD:
                return "systemd";
        case HIERARCHY_LAYOUT_GIVEN:
                return "given";
        case HIERARCHY_LAYOUT_OWN:
                return "own";
        }
        return NULL;
}

int hierarchy_root_fd(const Hierarchy *h)
{
        return h->root_fd;
}

const char *hierarchy_root_path(const Hierarchy *h)
{
        return h->root_path;
}

const char *hierarchy_mount_point(const Hierarchy *h)
{
        return h->mount_point;
}

const char *hierarchy_cgroup_path(const Hierarchy *h)
{
        size_t n = strlen(h->mount_point);

        if (!h->root_path || strncmp(h->root_path, h->mount_point, n) != 0)
                return NULL;
        return h->root_path + n;
}

const char *hierarchy_reason(const Hierarchy *h)
{
        return h->reason;
}

bool hierarchy_has_memory_peak(const Hierarchy *h)
{
        return h->has_memory_peak;
}

bool hierarchy_has_pids(const Hierarchy *h)
{
        return h->has_pids;
}
