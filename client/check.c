/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Checks of the cgroup hierarchy, and the list that all checks go into.
 *
 * A check looks, and says what it saw, never what it supposes: what the caller may not read is
 * CHECK_SKIP with the reason. FAIL is for what keeps executions from being accounted for; WARN for
 * what costs precision, speed or comfort.
 *
 * Only reading is done, so all of it can be run by anybody, at any time.
 */

#include "check.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define TEXT_MAX 4096

static const char *const controllers[] = { "memory", "pids", "cpu", "io" };

int check_add(CheckList *list, CheckState state, const char *name, const char *remedy,
              const char *format, ...)
{
        Check *checks;
        char *detail;
        va_list ap;
        size_t n;

        if (list->n_checks == list->n_allocated) {
                n = list->n_allocated > 0 ? list->n_allocated * 2 : 32;
                checks = reallocarray(list->checks, n, sizeof(*checks));
                if (!checks)
                        return error_origin(-ENOMEM);
                list->checks = checks;
                list->n_allocated = n;
        }
        va_start(ap, format);
        if (vasprintf(&detail, format, ap) < 0)
                detail = NULL;
        va_end(ap);
        if (!detail)
                return error_origin(-ENOMEM);
        list->checks[list->n_checks++] = (Check){ state, name, detail, remedy };
        return 0;
}

void check_list_deinit(CheckList *list)
{
        size_t i;

        for (i = 0; i < list->n_checks; i++)
                free(list->checks[i].detail);
        free(list->checks);
        *list = (CheckList)CHECK_LIST_INIT;
}

const char *check_state_name(CheckState state)
{
        switch (state) {
        case CHECK_OK:
                return "ok";
        case CHECK_WARN:
                return "warn";
        case CHECK_FAIL:
                return "FAIL";
        case CHECK_SKIP:
                return "skip";
        }
        return "?";
}

/* Is it really a cgroup2 file system? Only the real root can be asked. */
static bool has_magic(const HostFs *host)
{
        struct statfs st;

        return *host->root || (statfs(host->mount, &st) == 0 && st.f_type == CGROUP2_SUPER_MAGIC);
}

int check_hierarchy(const HostFs *host, CheckList *list)
{
        static const char name[] = "cgroup v2";
        static const char boot_v2[] =
                "boot with systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all";

        if (!host->mount)
                return error_fold(check_add(list, CHECK_FAIL, name, boot_v2,
                                            "no cgroup v2 hierarchy is mounted"));
        if (!has_magic(host))
                return error_fold(check_add(list, CHECK_FAIL, name, boot_v2,
                                            "%s is something else than it says", host->mount));
        if (hostfs_has_word(host->v1_controllers, "memory"))
                return error_fold(check_add(list, CHECK_FAIL, name, boot_v2,
                                            "hybrid: %s is there, but v1 hierarchies hold %s",
                                            host->mount, host->v1_controllers));
        if (*host->v1_controllers)
                return error_fold(check_add(list, CHECK_WARN, name, boot_v2,
                                            "%s, besides v1 hierarchies with %s", host->mount,
                                            host->v1_controllers));
        return error_fold(check_add(list, CHECK_OK, name, NULL, "mounted at %s", host->mount));
}

/* One option that should, or should not, be there. */
static int check_option(const HostFs *host, CheckList *list, const char *name, bool wanted,
                        const char *with, const char *without, const char *remedy)
{
        bool has = hostfs_has_option(host, name);

        return error_fold(check_add(list, has == wanted ? CHECK_OK : CHECK_WARN, name,
                                    has == wanted ? NULL : remedy, "%s: %s", has ? "on" : "off",
                                    has ? with : without));
}

int check_mount_options(const HostFs *host, CheckList *list)
{
        int r;

        if (!host->mount)
                return 0;
        if (hostfs_has_option(host, "ro"))
                r = check_add(list, CHECK_FAIL, "writable",
                              "in a container, give it its own cgroup namespace with a writable "
                              "/sys/fs/cgroup; else mount -o remount,rw it",
                              "%s is mounted read-only: no cgroup can be made", host->mount);
        else
                r = check_add(list, CHECK_OK, "writable", NULL, "%s is mounted read-write",
                              host->mount);
        if (r == 0)
                r = check_option(host, list, "nsdelegate", true,
                                 "containers cannot lift their own limits",
                                 "a container may change the limits of its own root",
                                 "mount -o remount,nsdelegate,memory_recursiveprot /sys/fs/cgroup");
        if (r == 0)
                r = check_option(host, list, "memory_recursiveprot", true,
                                 "memory.low of a slice protects what is below it",
                                 "memory.low of a slice protects nothing below it",
                                 "mount -o remount,nsdelegate,memory_recursiveprot /sys/fs/cgroup");
        if (r == 0)
                r = check_option(host, list, "memory_localevents", false,
                                 "OOM kills in cgroups that a task makes itself are not counted",
                                 "memory.events counts what is below, too",
                                 "mount it without memory_localevents");
        if (r == 0)
                r = check_add(list, CHECK_OK, "favordynmods", NULL, "%s",
                              hostfs_has_option(host, "favordynmods")
                                      ? "on: moving a process is quick, forks cost a little more"
                                      : "off, as usual: moving a process into its cgroup may take "
                                        "20 ms");
        return error_fold(r);
}

/* "memory, io" of those that are not in text; "" if all are. */
static void list_missing(const char *text, char *missing, size_t n)
{
        size_t i, length = 0;

        *missing = 0;
        for (i = 0; i < N_ELEMENTS(controllers); i++)
                if (!hostfs_has_word(text, controllers[i]))
                        length += (size_t)snprintf(missing + length, n - length, "%s%s",
                                                   length > 0 ? ", " : "", controllers[i]);
}

static int check_available(const HostFs *host, CheckList *list)
{
        static const char name[] = "controllers";
        char text[TEXT_MAX], missing[64];
        int r;

        r = hostfs_read(host, text, sizeof(text), "%s/cgroup.controllers", host->mount);
        if (r < 0)
                return error_fold(check_add(list, CHECK_SKIP, name, NULL,
                                            "cannot read %s/cgroup.controllers: %s", host->mount,
                                            strerror(-r)));
        list_missing(text, missing, sizeof(missing));
        if (!hostfs_has_word(text, "memory"))
                return error_fold(check_add(
                        list, CHECK_FAIL, name,
                        "enable the memory controller: no cgroup_disable=memory on the kernel's "
                        "command line (some boards need cgroup_enable=memory), no v1 hierarchy "
                        "that holds it",
                        "missing in %s: %s", host->mount, missing));
        if (*missing)
                return error_fold(check_add(list, CHECK_WARN, name,
                                            "their columns stay NULL; take them out of the v1 "
                                            "hierarchies",
                                            "missing in %s: %s", host->mount, missing));
        return error_fold(
                check_add(list, CHECK_OK, name, NULL, "memory, pids, cpu and io are there"));
}

static int check_enabled(const HostFs *host, CheckList *list)
{
        static const char name[] = "executions' controllers";
        static const char start[] = "systemctl start cgtask-executions.service";
        char text[TEXT_MAX], missing[64];
        int r;

        r = hostfs_read(host, text, sizeof(text), "%s/cgroup.subtree_control",
                        host->executions_root);
        if (r == -ENOENT)
                return error_fold(check_add(list, CHECK_WARN, name, start, "%s is not there yet",
                                            host->executions_root));
        if (r < 0)
                return error_fold(check_add(list, CHECK_SKIP, name, NULL, "cannot read %s: %s",
                                            host->executions_root, strerror(-r)));
        list_missing(text, missing, sizeof(missing));
        if (!hostfs_has_word(text, "memory"))
                return error_fold(check_add(list, CHECK_FAIL, name,
                                            "systemctl restart cgtask-executions.service, or write "
                                            "+memory to that file",
                                            "not enabled in %s/cgroup.subtree_control: %s",
                                            host->executions_root, missing));
        if (*missing)
                return error_fold(check_add(list, CHECK_WARN, name,
                                            "their columns stay NULL; see Delegate= of "
                                            "cgtask-executions.service",
                                            "not enabled in %s/cgroup.subtree_control: %s",
                                            host->executions_root, missing));
        return error_fold(
                check_add(list, CHECK_OK, name, NULL, "enabled in %s", host->executions_root));
}

int check_controllers(const HostFs *host, CheckList *list)
{
        int r;

        if (!host->mount)
                return 0;
        r = check_available(host, list);
        if (r == 0)
                r = check_enabled(host, list);
        return error_fold(r);
}

/* The first cgroup namespace of a boot has this inode, by the kernel's own constant. */
#define FIRST_NAMESPACE "cgroup:[4026531835]"

int check_namespace(const HostFs *host, CheckList *list)
{
        static const char name[] = "container";
        static const char remedy[] =
                "run the daemon on the host; in a container only with a delegated, writable "
                "subtree and cgtaskd --executions-root=PATH";
        _cleanup_free_ char *path = NULL;
        char namespace[64];
        const char *marker = NULL;
        ssize_t n;

        if (asprintf(&path, "%s/proc/self/ns/cgroup", host->root) < 0) {
                path = NULL;
                return error_origin(-ENOMEM);
        }
        n = readlink(path, namespace, sizeof(namespace) - 1);
        if (n >= 0)
        namespace[n] = 0;
        if (hostfs_access(host, "/.dockerenv") == 0)
                marker = "/.dockerenv";
        else if (hostfs_access(host, "/run/.containerenv") == 0)
                marker = "/run/.containerenv";
        else if (hostfs_access(host, "/run/systemd/container") == 0)
                marker = "/run/systemd/container";

        if (marker)
                return error_fold(check_add(list, CHECK_WARN, name, remedy,
                                            "this is inside a container: %s is there", marker));
        if (n < 0)
                return error_fold(check_add(list, CHECK_SKIP, name, NULL, "cannot read %s: %s",
                                            path, strerror(errno)));
        if (strcmp(namespace, FIRST_NAMESPACE) != 0)
                return error_fold(check_add(list, CHECK_WARN, name, remedy,
                                            "this is a cgroup namespace of its own"));
        if (host->mount && strcmp(host->mount_source, "/") != 0)
                return error_fold(check_add(list, CHECK_WARN, name, remedy,
                                            "only the part %s of the hierarchy is mounted",
                                            host->mount_source));
        return error_fold(check_add(list, CHECK_OK, name, NULL,
                                    "not in a container, nor in a cgroup namespace"));
}
