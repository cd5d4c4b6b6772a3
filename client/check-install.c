/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Checks of what the package made: units, groups, the database.
 *
 * Units are seen by their cgroups and by the socket; the service manager is not asked, so this
 * works the same without systemd, without a bus, and for anybody.
 */

#include "check.h"

#include "human.h"

#include "private/cleanup.h"
#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_MAX 4096
#define WAL_WARN_BYTES (64 * 1024 * 1024)

/* Somebody lives in this cgroup? -errno if it cannot be read. */
static int is_populated(const HostFs *host, const char *cgroup)
{
        char text[TEXT_MAX];
        int r;

        r = hostfs_read(host, text, sizeof(text), "%s/cgroup.events", cgroup);
        return r < 0 ? r : strstr(text, "populated 1") != NULL;
}

static int check_keeper(const HostFs *host, CheckList *list)
{
        static const char name[] = "cgtask-executions.service";
        static const char start[] = "systemctl start cgtask-executions.service";
        _cleanup_free_ char *keeper = NULL;
        int r;

        if (!host->executions_root)
                return 0;
        if (asprintf(&keeper, "%s/keeper", host->executions_root) < 0) {
                keeper = NULL;
                return error_origin(-ENOMEM);
        }
        if (hostfs_access(host, "%s", host->executions_root) < 0)
                return error_fold(check_add(list, CHECK_WARN, name, start,
                                            "not running: %s is not there", host->executions_root));
        r = is_populated(host, keeper);
        if (r > 0)
                return error_fold(check_add(list, CHECK_OK, name, NULL, "its keeper is in %s",
                                            host->executions_root));
        if (r == 0 || r == -ENOENT)
                return error_fold(check_add(list, CHECK_WARN, name,
                                            "systemctl restart cgtask-executions.service once no "
                                            "execution is left",
                                            "no keeper in %s: systemd may remove finished cgroups "
                                            "before they are read",
                                            host->executions_root));
        return error_fold(check_add(list, CHECK_SKIP, name, NULL, "cannot read %s: %s", keeper,
                                    strerror(-r)));
}

static int check_socket(const HostFs *host, CheckList *list)
{
        static const char name[] = "cgtaskd.socket";
        static const char remedy[] = "systemctl enable --now cgtaskd.socket";
        _cleanup_free_ char *path = NULL;
        struct stat st;

        if (asprintf(&path, "%s" WIRE_SOCKET_PATH, host->root) < 0) {
                path = NULL;
                return error_origin(-ENOMEM);
        }
        if (stat(path, &st) < 0)
                return error_fold(
                        check_add(list, CHECK_FAIL, name, remedy, "%s: %s", path, strerror(errno)));
        if (!S_ISSOCK(st.st_mode))
                return error_fold(
                        check_add(list, CHECK_FAIL, name, remedy, "%s is no socket", path));
        if ((st.st_mode & 0666) != 0666)
                return error_fold(check_add(list, CHECK_WARN, name,
                                            "SocketMode=0666; the daemon decides who may",
                                            "%s has mode %04o: not everybody can connect", path,
                                            (unsigned)(st.st_mode & 07777)));
        return error_fold(check_add(list, CHECK_OK, name, NULL, "%s is there", path));
}

static int check_service(const HostFs *host, CheckList *list)
{
        static const char name[] = "cgtaskd.service";
        _cleanup_free_ char *cgroup = NULL;
        int r;

        if (!host->mount)
                return 0;
        if (asprintf(&cgroup, "%s/cgtask.slice/cgtaskd.service", host->mount) < 0) {
                cgroup = NULL;
                return error_origin(-ENOMEM);
        }
        r = is_populated(host, cgroup);
        if (r > 0)
                return error_fold(check_add(list, CHECK_OK, name, NULL, "running"));
        if (r == 0 || r == -ENOENT)
                return error_fold(check_add(list, CHECK_WARN, name,
                                            "the socket starts it; or systemctl start "
                                            "cgtaskd.service",
                                            "not running as a service"));
        return error_fold(check_add(list, CHECK_SKIP, name, NULL, "cannot read %s: %s", cgroup,
                                    strerror(-r)));
}

int check_units(const HostFs *host, CheckList *list)
{
        int r;

        r = check_keeper(host, list);
        if (r == 0)
                r = check_socket(host, list);
        if (r == 0)
                r = check_service(host, list);
        return error_fold(r);
}

/* From the name service, or from the file below another root. NULL if there is none. */
static const struct group *find_group(const HostFs *host, const char *name)
{
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *path = NULL;
        const struct group *group;

        if (!*host->root)
                return getgrnam(name);
        if (asprintf(&path, "%s/etc/group", host->root) < 0) {
                path = NULL;
                return NULL;
        }
        f = fopen(path, "re");
        while (f && (group = fgetgrent(f)))
                if (strcmp(group->gr_name, name) == 0)
                        return group;
        return NULL;
}

static bool is_member_now(gid_t gid)
{
        _cleanup_free_ gid_t *gids = NULL;
        int i, n;

        if (getegid() == gid)
                return true;
        n = getgroups(0, NULL);
        gids = n > 0 ? calloc((size_t)n, sizeof(*gids)) : NULL;
        n = gids ? getgroups(n, gids) : 0;
        for (i = 0; i < n; i++)
                if (gids[i] == gid)
                        return true;
        return false;
}

static bool is_listed(const struct group *group)
{
        const struct passwd *pw = getpwuid(geteuid());
        char **member;

        for (member = group->gr_mem; pw && *member; member++)
                if (strcmp(*member, pw->pw_name) == 0)
                        return true;
        return false;
}

static int check_group(const HostFs *host, CheckList *list, const char *name, const char *may)
{
        const struct group *group = find_group(host, name);

        if (!group)
                return error_fold(check_add(list, CHECK_FAIL, name,
                                            "systemd-sysusers, or groupadd --system it",
                                            "there is no such group"));
        if (geteuid() == 0)
                return error_fold(check_add(list, CHECK_OK, name, NULL,
                                            "gid %u; root may %s in any case",
                                            (unsigned)group->gr_gid, may));
        if (is_member_now(group->gr_gid))
                return error_fold(check_add(list, CHECK_OK, name, NULL,
                                            "gid %u; you are in it and may %s",
                                            (unsigned)group->gr_gid, may));
        if (is_listed(group))
                return error_fold(check_add(list, CHECK_WARN, name, "log in again",
                                            "gid %u; you were added to it after you logged in",
                                            (unsigned)group->gr_gid));
        return error_fold(check_add(list, CHECK_OK, name, NULL,
                                    "gid %u; you are not in it and may not %s",
                                    (unsigned)group->gr_gid, may));
}

int check_groups(const HostFs *host, CheckList *list)
{
        int r;

        r = check_group(host, list, "cgtask", "launch");
        if (r == 0)
                r = check_group(host, list, "cgtask-read", "read all rows");
        return error_fold(r);
}

static int check_wal(const char *path, CheckList *list)
{
        _cleanup_free_ char *wal = NULL;
        char number[HUMAN_MAX];
        struct stat st;

        if (asprintf(&wal, "%s-wal", path) < 0) {
                wal = NULL;
                return error_origin(-ENOMEM);
        }
        if (stat(wal, &st) < 0 && errno == ENOENT)
                return error_fold(check_add(
                        list, CHECK_WARN, "WAL", "start the daemon: it makes and keeps the file",
                        "%s is not there: members of cgtask-read depend on it", wal));
        if (stat(wal, &st) < 0)
                return error_fold(
                        check_add(list, CHECK_SKIP, "WAL", NULL, "%s: %s", wal, strerror(errno)));
        if (st.st_size > WAL_WARN_BYTES)
                return error_fold(check_add(list, CHECK_WARN, "WAL",
                                            "find who reads the database all the time (fuser), "
                                            "and end it",
                                            "%s: a long reader keeps it from being tidied",
                                            human_bytes((uint64_t)st.st_size, number)));
        return error_fold(check_add(list, CHECK_OK, "WAL", NULL, "%s",
                                    human_bytes((uint64_t)st.st_size, number)));
}

/* Owner and mode: who may read is decided by them alone. */
static int check_mode(const HostFs *host, const char *path, const struct stat *st, CheckList *list)
{
        static const char remedy[] =
                "chown root:cgtask-read and chmod 0640 it, and give its directory mode 2750 "
                "(systemd-tmpfiles --create)";
        const struct group *group = find_group(host, "cgtask-read");

        if (st->st_mode & 0037)
                return error_fold(check_add(list, CHECK_WARN, "database mode", remedy,
                                            "%s has mode %04o: too many may open it", path,
                                            (unsigned)(st->st_mode & 07777)));
        if (st->st_uid != 0 || !group || st->st_gid != group->gr_gid)
                return error_fold(check_add(list, CHECK_WARN, "database mode", remedy,
                                            "%s belongs to uid %u, gid %u: not root:cgtask-read",
                                            path, (unsigned)st->st_uid, (unsigned)st->st_gid));
        return error_fold(check_add(list, CHECK_OK, "database mode", NULL, "%04o, root:cgtask-read",
                                    (unsigned)(st->st_mode & 07777)));
}

int check_database(const HostFs *host, const char *path, CheckList *list)
{
        struct stat st;
        int r;

        if (stat(path, &st) < 0) {
                r = errno;
                if (r == EACCES)
                        return error_fold(check_add(list, CHECK_SKIP, "database mode", NULL,
                                                    "you may not look into the directory of %s",
                                                    path));
                return error_fold(check_add(list, CHECK_WARN, "database mode",
                                            "the daemon makes it when it starts", "%s: %s", path,
                                            strerror(r)));
        }
        r = check_mode(host, path, &st, list);
        if (r == 0)
                r = check_wal(path, list);
        return error_fold(r);
}
