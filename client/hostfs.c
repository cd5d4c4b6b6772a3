/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Where this host has its cgroups.
 *
 * /proc/self/mountinfo is the one source: it also tells what v1 hierarchies hold, with which
 * options the v2 hierarchy is mounted, and whether only a part of it is. Everything is relative to
 * a root folder, so that hosts of any kind can be made of a few files in a test.
 */

#include "hostfs.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define EXECUTIONS_SLICE "cgtask.slice/cgtask-executions.service"

/* One line of mountinfo; all of it points into the line. */
typedef struct Mount {
        char *source, *point, *options, *type, *super_options;
} Mount;

/* The kernel writes space, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
        char *out = text;

        while (*text) {
                if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
                    text[2] <= '7' && text[3] >= '0' && text[3] <= '7') {
                        *out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
                                        (text[3] - '0'));
                        text += 4;
                } else {
                        *out++ = *text++;
                }
        }
        *out = 0;
}

/* "36 35 98:0 /source /point rw,noatime [optional...] - type device options" */
static bool parse_mount(char *line, Mount *ret_mount)
{
        char *fields[6], *type, *state;
        size_t i;

        line[strcspn(line, "\n")] = 0;
        type = strstr(line, " - ");
        if (!type)
                return false;
        *type = 0;
        type += 3;
        for (i = 0; i < N_ELEMENTS(fields); i++) {
                fields[i] = strtok_r(i == 0 ? line : NULL, " ", &state);
                if (!fields[i])
                        return false;
        }
        ret_mount->source = fields[3];
        ret_mount->point = fields[4];
        ret_mount->options = fields[5];
        ret_mount->type = strtok_r(type, " ", &state);
        (void)strtok_r(NULL, " ", &state);
        ret_mount->super_options = strtok_r(NULL, " ", &state);
        if (!ret_mount->type || !ret_mount->super_options)
                return false;
        unescape(ret_mount->source);
        unescape(ret_mount->point);
        return true;
}

/* Later mounts cover earlier ones at the same place; the usual place goes before any other. */
static bool is_better(const HostFs *host, const Mount *mount)
{
        return !host->mount || strcmp(mount->point, "/sys/fs/cgroup") == 0 ||
               (strcmp(host->mount, "/sys/fs/cgroup") != 0 &&
                strcmp(mount->point, "/sys/fs/cgroup/unified") == 0);
}

static int take_v2(HostFs *host, const Mount *mount)
{
        _cleanup_free_ char *point = NULL, *source = NULL, *options = NULL;

        point = strdup(mount->point);
        source = strdup(mount->source);
        if (asprintf(&options, ",%s,%s,", mount->options, mount->super_options) < 0)
                options = NULL;
        if (!point || !source || !options)
                return error_origin(-ENOMEM);
        free(host->mount);
        free(host->mount_source);
        free(host->options);
        host->mount = TAKE_PTR(point);
        host->mount_source = TAKE_PTR(source);
        host->options = TAKE_PTR(options);
        return 0;
}

/* Controllers of a v1 mount: those of its options that are none of the file system itself. */
static int take_v1(HostFs *host, Mount *mount)
{
        static const char not_controllers[] = "rw ro xattr noprefix clone_children cpuset_v2_mode";
        char *option, *state, *joined;

        for (option = strtok_r(mount->super_options, ",", &state); option;
             option = strtok_r(NULL, ",", &state)) {
                if (strchr(option, '=') || hostfs_has_word(not_controllers, option) ||
                    hostfs_has_word(host->v1_controllers, option))
                        continue;
                if (asprintf(&joined, "%s%s%s", host->v1_controllers,
                             *host->v1_controllers ? "," : "", option) < 0)
                        return error_origin(-ENOMEM);
                free(host->v1_controllers);
                host->v1_controllers = joined;
        }
        return 0;
}

static int read_mounts(HostFs *host)
{
        _cleanup_free_ char *path = NULL, *line = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        size_t n = 0;
        Mount mount;
        int r = 0;

        if (asprintf(&path, "%s/proc/self/mountinfo", host->root) < 0) {
                path = NULL;
                return error_origin(-ENOMEM);
        }
        f = fopen(path, "re");
        if (!f)
                return error_origin(-errno);
        while (r == 0 && getline(&line, &n, f) >= 0) {
                if (!parse_mount(line, &mount))
                        continue;
                if (strcmp(mount.type, "cgroup2") == 0 && is_better(host, &mount))
                        r = take_v2(host, &mount);
                else if (strcmp(mount.type, "cgroup") == 0)
                        r = take_v1(host, &mount);
        }
        return error_fold(r);
}

static int set_executions_root(HostFs *host, const char *path)
{
        char *copy;

        if (!path && !host->mount)
                return 0;
        if (path)
                copy = strdup(path);
        else if (asprintf(&copy, "%s/" EXECUTIONS_SLICE, host->mount) < 0)
                copy = NULL;
        if (!copy)
                return error_origin(-ENOMEM);
        host->executions_root = copy;
        return 0;
}

int hostfs_probe(const char *root, const char *executions_root, HostFs *ret_host)
{
        _cleanup_(hostfs_deinitp) HostFs host = { .root = root };
        int r;

        host.v1_controllers = strdup("");
        if (!host.v1_controllers)
                return error_origin(-ENOMEM);
        r = read_mounts(&host);
        if (r == 0)
                r = set_executions_root(&host, executions_root);
        if (r < 0)
                return error_fold(r);
        *ret_host = host;
        memset(&host, 0, sizeof(host));
        return 0;
}

void hostfs_deinit(HostFs *host)
{
        free(host->mount);
        free(host->mount_source);
        free(host->options);
        free(host->v1_controllers);
        free(host->executions_root);
        memset(host, 0, sizeof(*host));
}

static char *make_path(const HostFs *host, const char *format, va_list ap)
{
        _cleanup_free_ char *tail = NULL;
        char *path;

        if (vasprintf(&tail, format, ap) < 0) {
                tail = NULL;
                return NULL;
        }
        return asprintf(&path, "%s%s", host->root, tail) < 0 ? NULL : path;
}

int hostfs_read(const HostFs *host, char *text, size_t n, const char *format, ...)
{
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -1;
        ssize_t k, n_read = 0;
        va_list ap;

        va_start(ap, format);
        path = make_path(host, format, ap);
        va_end(ap);
        if (!path)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;
        do {
                k = read(fd, text + n_read, n - 1 - (size_t)n_read);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                n_read += k;
        } while (k > 0 && (size_t)n_read < n - 1);
        text[n_read] = 0;
        return 0;
}

int hostfs_access(const HostFs *host, const char *format, ...)
{
        _cleanup_free_ char *path = NULL;
        va_list ap;

        va_start(ap, format);
        path = make_path(host, format, ap);
        va_end(ap);
        if (!path)
                return -ENOMEM;
        return faccessat(AT_FDCWD, path, F_OK, 0) < 0 ? -errno : 0;
}

bool hostfs_has_word(const char *text, const char *word)
{
        size_t n = strlen(word), length;

        while (*text) {
                text += strspn(text, " ,\n");
                length = strcspn(text, " ,\n");
                if (length > 0 && length == n && strncmp(text, word, n) == 0)
                        return true;
                text += length;
        }
        return false;
}

bool hostfs_has_option(const HostFs *host, const char *option)
{
        return host->options && hostfs_has_word(host->options, option);
}
