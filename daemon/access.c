/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rights from credentials.
 *
 * Only numbers that the kernel vouches for decide (SO_PEERCRED, SO_PEERGROUPS). Names are looked up
 * for the sake of the message, in /etc alone: a directory service could block the loop.
 */

#include "access.h"

#include "private/cleanup.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define ACCESS_BUFFER_FIRST 16384
#define ACCESS_BUFFER_MAX (16 * 1024 * 1024)

/* The buffer has to hold all members, and some sites have thousands. */
static gid_t access_lookup(const char *name)
{
        _cleanup_free_ char *buffer = NULL;
        struct group g, *found = NULL;
        int r = ERANGE;

        for (size_t size = ACCESS_BUFFER_FIRST; r == ERANGE && size <= ACCESS_BUFFER_MAX;
             size *= 4) {
                char *larger = realloc(buffer, size);

                if (!larger)
                        return (gid_t)-1;
                buffer = larger;
                r = getgrnam_r(name, &g, buffer, size, &found);
        }
        return r == 0 && found ? found->gr_gid : (gid_t)-1;
}

void access_lookup_groups(AccessGroups *ret_groups)
{
        ret_groups->launch = access_lookup(ACCESS_GROUP_LAUNCH);
        ret_groups->read = access_lookup(ACCESS_GROUP_READ);
}

AccessRights access_decide(const AccessGroups *known, uid_t uid, const gid_t *groups, size_t n)
{
        AccessRights rights = { .root = uid == 0 };

        for (size_t i = 0; i < n; ++i) {
                rights.launch |= known->launch != (gid_t)-1 && groups[i] == known->launch;
                rights.read |= known->read != (gid_t)-1 && groups[i] == known->read;
        }
        rights.launch |= rights.root;
        rights.read |= rights.root;
        return rights;
}

static bool access_has_member(const struct group *g, const char *user)
{
        for (char **member = g->gr_mem; *member; ++member)
                if (strcmp(*member, user) == 0)
                        return true;
        return false;
}

/* Is the user a member of one of our groups by /etc/passwd and /etc/group? */
static bool access_is_listed(uid_t uid)
{
        _cleanup_fclose_ FILE *passwd = fopen("/etc/passwd", "re");
        _cleanup_fclose_ FILE *group = fopen("/etc/group", "re");
        char passwd_buffer[4096], group_buffer[65536];
        struct passwd p, *user = NULL;
        struct group g, *found = NULL;

        while (passwd && fgetpwent_r(passwd, &p, passwd_buffer, sizeof(passwd_buffer), &user) == 0)
                if (user->pw_uid == uid)
                        break;
        if (!user || user->pw_uid != uid)
                return false;
        while (group && fgetgrent_r(group, &g, group_buffer, sizeof(group_buffer), &found) == 0)
                if ((strcmp(found->gr_name, ACCESS_GROUP_LAUNCH) == 0 ||
                     strcmp(found->gr_name, ACCESS_GROUP_READ) == 0) &&
                    access_has_member(found, user->pw_name))
                        return true;
        return false;
}

void access_explain_refusal(const AccessGroups *known, uid_t uid, char *buffer, size_t n)
{
        if (access_is_listed(uid))
                (void)snprintf(buffer, n,
                               "this session of uid %u does not have group " ACCESS_GROUP_LAUNCH
                               " or " ACCESS_GROUP_READ " yet: log in again",
                               (unsigned)uid);
        else if (known->launch == (gid_t)-1 && known->read == (gid_t)-1)
                (void)snprintf(buffer, n,
                               "uid %u is not root, and this host has no group " ACCESS_GROUP_LAUNCH
                               ": make it with systemd-sysusers",
                               (unsigned)uid);
        else
                (void)snprintf(
                        buffer, n,
                        "uid %u is in neither group " ACCESS_GROUP_LAUNCH " nor " ACCESS_GROUP_READ
                        ": add it with usermod -aG " ACCESS_GROUP_LAUNCH " USER, then log in again",
                        (unsigned)uid);
}
