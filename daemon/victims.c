/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the kernel log for OOM victims.
 *
 * The kernel writes two lines for a kill, in the same form from 5.10 to 7.2 (M6): first
 * "oom-kill:constraint=...,oom_memcg=/a,task_memcg=/a/b,task=COMM,pid=N,uid=N", then
 * "Killed process N (COMM) total-vm:..kB, anon-rss:..kB, ...". The first has the cgroup, the second
 * the size; the pid holds them together. With memory.oom.group a second line follows for each process
 * of the group, but none of them says of which: they stay without a name, since a kill elsewhere,
 * whose first line is missing, looks the same.
 *
 * COMM is chosen by the workload, and so are the names of cgroups below its own if it runs as root.
 * Hence the pid is taken from the end of the line, and a line in which two different executions are
 * named is not believed: it would give one a victim of the other.
 *
 * Only the latest VICTIMS_RECORDS records are read, so a long log costs no more than a short one. The
 * first line is rate limited by the kernel (10 in 5 s), so a storm of kills leaves some without a
 * name. What is missing is missing: the caller says so, and no figure depends on it.
 */

#include "victims.h"

#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"
#include "private/execution-record.h"
#include "private/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-journal.h>

#define VICTIMS_RECORDS 8000    /* an OOM kill has 40 to 100 of them */
#define VICTIMS_RECORD_MAX 8192 /* the kernel's own bound for one record of /dev/kmsg */

/* The last occurrence of needle in text; NULL: none. */
static const char *victims_find_last(const char *text, const char *needle)
{
        const char *found = NULL;

        for (const char *p = text; (p = strstr(p, needle)); ++p)
                found = p;
        return found;
}

static void victims_copy(char *to, size_t n, const char *from, size_t length)
{
        (void)snprintf(to, n, "%.*s", (int)(length < n ? length : n - 1), from);
}

/* The id in the path components of our form; false: there is none, or there are several. */
static bool victims_take_id(const char *text, const char *end, Victim *v)
{
        static const char prefix[] = "/" WIRE_CGROUP_PREFIX;

        for (const char *p = text; (p = strstr(p, prefix)) && p < end; ++p) {
                const char *id = p + strlen(prefix);

                if (strspn(id, "0123456789abcdef") != WIRE_ID_LENGTH)
                        continue;
                if (*v->execution_id && memcmp(v->execution_id, id, WIRE_ID_LENGTH) != 0)
                        return false;
                victims_copy(v->execution_id, sizeof(v->execution_id), id, WIRE_ID_LENGTH);
        }
        return *v->execution_id;
}

static bool victims_take_pid(const char *text, const char *form, Victim *v)
{
        long long pid;

        if (sscanf(text, form, &pid) != 1 || pid <= 0 || pid > INT_MAX)
                return false;
        v->pid = (pid_t)pid;
        return true;
}

int victims_parse_kill(const char *line, Victim *ret_victim)
{
        Victim v = { .at_usec = RECORD_NULL, .anon_rss_bytes = RECORD_NULL };
        const char *constraint = strstr(line, "oom-kill:constraint=");
        const char *path, *task, *pid;

        if (!constraint)
                return VICTIMS_E_OTHER;
        constraint += strlen("oom-kill:constraint=");
        path = strstr(constraint, ",task_memcg=");
        task = path ? strstr(path, ",task=") : NULL;
        pid = task ? victims_find_last(task, ",pid=") : NULL;
        if (!pid || !victims_take_pid(pid, ",pid=%10lld", &v) ||
            !victims_take_id(constraint, pid, &v))
                return VICTIMS_E_OTHER;
        task += strlen(",task=");
        if (task > pid)
                return VICTIMS_E_OTHER;
        victims_copy(v.constraint, sizeof(v.constraint), constraint, strcspn(constraint, ","));
        victims_copy(v.comm, sizeof(v.comm), task, (size_t)(pid - task));
        *ret_victim = v;
        return 0;
}

int victims_parse_killed(const char *line, Victim *ret_victim)
{
        Victim v = { .at_usec = RECORD_NULL };
        const char *p = strstr(line, "Killed process ");
        const char *comm = p ? strstr(p, " (") : NULL;
        const char *end = comm ? victims_find_last(comm, ") total-vm:") : NULL;
        const char *rss = end ? strstr(end, ", anon-rss:") : NULL;
        long long kib;

        if (!rss || !victims_take_pid(p, "Killed process %10lld (", &v) ||
            sscanf(rss, ", anon-rss:%15lldkB", &kib) != 1 || kib < 0)
                return VICTIMS_E_OTHER;
        victims_copy(v.comm, sizeof(v.comm), comm + 2, (size_t)(end - comm - 2));
        v.anon_rss_bytes = kib * 1024;
        *ret_victim = v;
        return 0;
}

/* -- one line after the other ----------------------------------------------------------------- */

static void victims_flush(VictimsReader *reader)
{
        if (reader->has_pending)
                reader->fn(reader->userdata, &reader->pending);
        reader->has_pending = false;
}

void victims_feed(VictimsReader *reader, const char *line, int64_t at_usec)
{
        Victim v = { 0 };

        if (strstr(line, "oom-kill:constraint=")) {
                victims_flush(reader);
                reader->has_pending = victims_parse_kill(line, &v) == 0;
                v.at_usec = at_usec;
                reader->pending = v;
        } else if (reader->has_pending && victims_parse_killed(line, &v) == 0 &&
                   v.pid == reader->pending.pid) {
                reader->pending.anon_rss_bytes = v.anon_rss_bytes;
                victims_flush(reader);
        }
}

void victims_end(VictimsReader *reader)
{
        victims_flush(reader);
}

/* -- the journal ------------------------------------------------------------------------------ */

static void victims_closep(sd_journal **journal)
{
        if (*journal)
                sd_journal_close(*journal);
}

/* Goes to the first of the records to be read. 0, VICTIMS_E_NO_LOG, -errno; *ret_more: is there one? */
static int victims_seek(sd_journal *journal, uint64_t since_usec, int *ret_more)
{
        uint64_t at;
        int r;

        if ((r = sd_journal_add_match(journal, "_TRANSPORT=kernel", 0)) < 0 ||
            (r = sd_journal_add_match(journal, "SYSLOG_FACILITY=0", 0)) < 0 ||
            (r = sd_journal_seek_tail(journal)) < 0 ||
            (r = sd_journal_previous_skip(journal, VICTIMS_RECORDS)) < 0)
                return r;
        if (r == 0)
                return VICTIMS_E_NO_LOG; /* e.g. Storage=none, or ReadKMsg=no */
        r = sd_journal_get_realtime_usec(journal, &at);
        if (r < 0)
                return r;
        *ret_more = 1;
        if (at < since_usec) {
                r = sd_journal_seek_realtime_usec(journal, since_usec);
                if (r >= 0)
                        *ret_more = r = sd_journal_next(journal);
        }
        return r < 0 ? r : 0;
}

static void victims_feed_entry(sd_journal *journal, VictimsReader *reader)
{
        _cleanup_free_ char *line = NULL;
        const void *data;
        uint64_t at;
        size_t n;

        if (sd_journal_get_realtime_usec(journal, &at) < 0 ||
            sd_journal_get_data(journal, "MESSAGE", &data, &n) < 0)
                return;
        line = strndup(data, n);
        if (line)
                victims_feed(reader, line, (int64_t)at);
}

static int victims_read_journal(uint64_t since_usec, VictimsReader *reader)
{
        _cleanup_(victims_closep) sd_journal *journal = NULL;
        uint64_t at;
        int r, more = 0;

        r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
        if (r < 0)
                return r == -ENOMEM ? error_origin(r) : VICTIMS_E_NO_LOG;
        r = victims_seek(journal, since_usec, &more);
        while (r == 0 && more > 0) {
                /* the seek is exact per file only */
                if (sd_journal_get_realtime_usec(journal, &at) == 0 && at >= since_usec)
                        victims_feed_entry(journal, reader);
                more = sd_journal_next(journal);
        }
        return r != 0 || more < 0 ? VICTIMS_E_NO_LOG : 0; /* <0: unreadable for us */
}

/* -- /dev/kmsg -------------------------------------------------------------------------------- */

/* "PRIORITY,SEQUENCE,USEC,FLAGS;TEXT\n KEY=VALUE...": a record of the kernel itself, not too old? */
static bool victims_open_record(char *record, uint64_t boot_usec, uint64_t since_usec,
                                const char **ret_text, int64_t *ret_at_usec)
{
        unsigned priority;
        unsigned long long usec;
        char *text = strchr(record, ';');

        if (!text || sscanf(record, "%9u,%*u,%15llu,", &priority, &usec) != 2 || priority >= 8 ||
            boot_usec + usec < since_usec)
                return false;
        ++text;
        text[strcspn(text, "\n")] = 0;
        *ret_text = text;
        *ret_at_usec = (int64_t)(boot_usec + usec);
        return true;
}

static int victims_read_kmsg(uint64_t since_usec, VictimsReader *reader)
{
        uint64_t boot_usec = clock_realtime_usec() - clock_monotonic_usec();
        char record[VICTIMS_RECORD_MAX + 1];
        _cleanup_close_ int fd = -1;
        const char *text;
        int64_t at;

        fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return VICTIMS_E_NO_LOG;
        for (;;) {
                ssize_t n = read(fd, record, VICTIMS_RECORD_MAX);

                if (n < 0 && (errno == EPIPE || errno == EINTR))
                        continue; /* overwritten under us: goes on with the oldest that is there */
                if (n < 0)
                        return errno == EAGAIN ? 0 : VICTIMS_E_NO_LOG;
                if (n == 0)
                        return 0;
                record[n] = 0;
                if (victims_open_record(record, boot_usec, since_usec, &text, &at))
                        victims_feed(reader, text, at);
        }
}

int victims_read(uint64_t since_usec, VictimsFn fn, void *userdata)
{
        VictimsReader reader = { .fn = fn, .userdata = userdata };
        int r;

        r = victims_read_journal(since_usec, &reader);
        if (r == VICTIMS_E_NO_LOG)
                r = victims_read_kmsg(since_usec, &reader);
        victims_end(&reader);
        return error_fold(r);
}
