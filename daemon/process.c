/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One process: what /proc and its pidfd say about it.
 *
 * A number read from /proc/PID is only about "our" process if a pidfd of it was open before the
 * reading and had not ended after it; callers that need that certainty check both.
 */

#include "process.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define PROCESS_CGROUP_MAX 8192
/* /proc/PID/status is about 1.5 KiB, but 720 KiB with all the groups that a process can have. */
#define PROCESS_STATUS_FIRST 4096
#define PROCESS_STATUS_MAX (1024 * 1024)

int process_open(pid_t pid, int *ret_pidfd)
{
        int fd;

        /* glibc 2.36 has pidfd_open(), 2.35 has not; the call itself is in every kernel we run on */
        fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0)
                return errno == ESRCH || errno == EINVAL ? PROCESS_E_GONE : error_origin(-errno);
        *ret_pidfd = fd; /* pidfds are always close-on-exec */
        return 0;
}

bool process_has_ended(int pidfd)
{
        struct pollfd p = { .fd = pidfd, .events = POLLIN };

        return poll(&p, 1, 0) > 0 && p.revents != 0;
}

/* As much as fits, with a NUL. */
static int process_read_file(pid_t pid, const char *file, char *buffer, size_t n)
{
        _cleanup_close_ int fd = -1;
        char path[64];
        size_t used = 0;

        (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT || errno == ESRCH ? PROCESS_E_GONE : error_origin(-errno);
        while (used < n - 1) {
                ssize_t k = read(fd, buffer + used, n - 1 - used);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return errno == ESRCH ? PROCESS_E_GONE : error_origin(-errno);
                if (k == 0)
                        break;
                used += (size_t)k;
        }
        buffer[used] = '\0';
        return 0;
}

/* The text behind "\nKEY:"; NULL if there is no such line. A process's name stands on line one. */
static const char *process_status_line(const char *text, const char *key)
{
        const char *p = strstr(text, key);

        return p ? p + strlen(key) : NULL;
}

bool process_parse_status(const char *text, ProcessStatus *ret_status)
{
        ProcessStatus status = { 0 };
        const char *uids = process_status_line(text, "\nUid:");
        const char *nspids = process_status_line(text, "\nNSpid:");
        unsigned u[4];

        if (!uids || sscanf(uids, "%u %u %u %u", &u[0], &u[1], &u[2], &u[3]) != 4)
                return false;
        for (size_t i = 0; i < 4; ++i)
                status.uids[i] = u[i];
        /* a kernel without pid namespaces has no such line: then there is one number */
        if (!nspids)
                status.n_nspids = 1;
        for (const char *p = nspids; p && *p && *p != '\n'; ++p)
                if (p[0] >= '0' && p[0] <= '9' && (p[1] < '0' || p[1] > '9'))
                        ++status.n_nspids;
        if (status.n_nspids == 0)
                return false;
        *ret_status = status;
        return true;
}

/*
 * Whole, however long it is: NSpid stands behind Groups, and a text cut in between would pass for
 * that of a kernel without pid namespaces.
 */
int process_read_status(pid_t pid, ProcessStatus *ret_status)
{
        _cleanup_free_ char *text = NULL;
        int r;

        for (size_t size = PROCESS_STATUS_FIRST; size <= PROCESS_STATUS_MAX; size *= 2) {
                char *larger = realloc(text, size);

                if (!larger)
                        return error_origin(-ENOMEM);
                text = larger;
                r = process_read_file(pid, "status", text, size);
                if (r)
                        return error_fold(r);
                if (strlen(text) < size - 1)
                        return process_parse_status(text, ret_status) ? 0 : error_origin(-EBADMSG);
        }
        return error_origin(-EFBIG);
}

bool process_parse_start(const char *text, uint64_t *ret_ticks)
{
        /* the name, field 2, may hold spaces and parentheses: count from the last ')' */
        const char *p = strrchr(text, ')');
        uint64_t ticks;

        for (unsigned field = 2; p && field < 22; ++field) {
                p = strchr(p, ' ');
                if (p)
                        ++p;
        }
        if (!p || sscanf(p, "%" SCNu64, &ticks) != 1)
                return false;
        *ret_ticks = ticks;
        return true;
}

int process_read_start(pid_t pid, uint64_t *ret_ticks)
{
        char text[1024];
        int r = process_read_file(pid, "stat", text, sizeof(text));

        if (r)
                return error_fold(r);
        return process_parse_start(text, ret_ticks) ? 0 : error_origin(-EBADMSG);
}

int process_read_cgroup(pid_t pid, char *buffer, size_t n)
{
        char text[PROCESS_CGROUP_MAX];
        const char *line;
        size_t length;
        int r;

        r = process_read_file(pid, "cgroup", text, sizeof(text));
        if (r)
                return error_fold(r);
        line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
        if (!line)
                return error_origin(-ENODATA);
        line = strchr(line, '/');
        if (!line)
                return error_origin(-EBADMSG);
        length = strcspn(line, "\n");
        if (length >= n)
                return error_origin(-ENAMETOOLONG);
        memcpy(buffer, line, length);
        buffer[length] = '\0';
        return 0;
}

bool process_is_in_cgroup(pid_t pid, const char *path)
{
        char own[4096];
        size_t length = strlen(path);

        if (length == 0 || process_read_cgroup(pid, own, sizeof(own)) != 0 ||
            strncmp(own, path, length) != 0)
                return false;
        /* " (deleted)" follows a cgroup that was removed under a zombie */
        return own[length] == '\0' || own[length] == '/' || own[length] == ' ';
}

/* struct pidfd_info of <linux/pidfd.h>, which Debian 12's headers do not have. */
struct process_pidfd_info {
        uint64_t mask;
        uint64_t cgroupid;
        uint32_t pid, tgid, ppid;
        uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
        int32_t exit_code;
};
#define PROCESS_PIDFD_GET_INFO _IOWR(0xFF, 11, struct process_pidfd_info)
#define PROCESS_PIDFD_INFO_EXIT (UINT64_C(1) << 3)

int process_get_wait_status(int pidfd, int *ret_wait_status)
{
        struct process_pidfd_info info = { .mask = PROCESS_PIDFD_INFO_EXIT };

        /* ENOTTY before 6.13, and EINVAL on 6.12; ESRCH: reaped, and 6.13 or 6.14 kept nothing */
        if (ioctl(pidfd, PROCESS_PIDFD_GET_INFO, &info) < 0)
                return PROCESS_E_UNKNOWN;
        if (!(info.mask & PROCESS_PIDFD_INFO_EXIT))
                return PROCESS_E_NOT_YET;
        *ret_wait_status = info.exit_code;
        return 0;
}
