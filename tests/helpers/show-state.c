/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * show-state FILE [SIGNAL]: writes down everything that a process inherits and that exec keeps, one
 * fact a line, so that two runs can be compared with diff. With SIGNAL it then dies of it.
 *
 * Descriptors are shown with what they lead to, their flags and position; FILE itself, and whatever
 * differs from process to process (pid, parent), is left out.
 */

#include "helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void show_status(FILE *out)
{
        static const char *const keys[] = {
                "Umask:",  "Uid:",    "Gid:",    "Groups:",  "SigQ:",       "SigPnd:",
                "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:",  "CapInh:",     "CapPrm:",
                "CapEff:", "CapBnd:", "CapAmb:", "Seccomp:", "NoNewPrivs:", "Cpus_allowed_list:"
        };
        char line[1024];
        FILE *in = fopen("/proc/self/status", "re");

        if (!in)
                helper_fail("/proc/self/status");
        while (fgets(line, sizeof(line), in))
                for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
                        /* SigQ counts the signals queued for the whole user. */
                        if (strncmp(line, keys[i], strlen(keys[i])) == 0 &&
                            strcmp(keys[i], "SigQ:") != 0)
                                fputs(line, out);
        (void)fclose(in);
}

static void show_descriptors(FILE *out)
{
        char path[64], target[512];
        DIR *dir = opendir("/proc/self/fd");
        struct dirent *entry;

        if (!dir)
                helper_fail("/proc/self/fd");
        while ((entry = readdir(dir))) {
                int fd = atoi(entry->d_name);
                struct stat st;
                ssize_t n;

                if (*entry->d_name == '.' || fd == dirfd(dir) || fd == fileno(out))
                        continue;
                (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                n = readlink(path, target, sizeof(target) - 1);
                if (n < 0 || fstat(fd, &st) < 0)
                        helper_fail(path);
                target[n] = '\0';
                fprintf(out, "fd %d %s mode %o flags %#o cloexec %d at %lld\n", fd, target,
                        (unsigned)st.st_mode, (unsigned)fcntl(fd, F_GETFL),
                        fcntl(fd, F_GETFD) & FD_CLOEXEC, (long long)lseek(fd, 0, SEEK_CUR));
        }
        (void)closedir(dir);
}

static void show_limits(FILE *out)
{
        struct rlimit limit;

        for (int i = 0; i < (int)RLIM_NLIMITS; i++)
                if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
                        fprintf(out, "rlimit %d %llu %llu\n", i, (unsigned long long)limit.rlim_cur,
                                (unsigned long long)limit.rlim_max);
}

static void show_file(FILE *out, const char *path)
{
        char line[256] = "";
        FILE *in = fopen(path, "re");

        if (!in || !fgets(line, sizeof(line), in))
                helper_fail(path);
        fprintf(out, "%s %s%s", path, line, strchr(line, '\n') ? "" : "\n");
        (void)fclose(in);
}

int main(int argc, char *argv[], char *envp[])
{
        char text[4096], name[16] = "";
        FILE *out;
        int subreaper = -1, death = -1, tty;

        if (argc < 2)
                helper_usage("FILE [SIGNAL]");
        /* Above whatever number a test uses, so that it takes no place that must be free. */
        tty = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (tty < 0)
                helper_fail(argv[1]);
        out = fdopen(fcntl(tty, F_DUPFD_CLOEXEC, 500), "w");
        (void)close(tty);
        if (!out)
                helper_fail(argv[1]);

        for (int i = 0; i < argc; i++)
                fprintf(out, "arg %d %s\n", i, i == 1 ? "FILE" : argv[i]);
        for (char **e = envp; *e; e++)
                fprintf(out, "env %s\n", *e);
        fprintf(out, "cwd %s\n", getcwd(text, sizeof(text)) ? text : "?");
        (void)prctl(PR_GET_NAME, name);
        (void)prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
        (void)prctl(PR_GET_PDEATHSIG, &death);
        fprintf(out, "comm %s dumpable %d subreaper %d pdeathsig %d timerslack %d\n", name,
                prctl(PR_GET_DUMPABLE), subreaper, death, prctl(PR_GET_TIMERSLACK));
        fprintf(out, "nice %d policy %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
        fprintf(out, "pgid %d sid %d\n", (int)getpgrp(), (int)getsid(0));
        tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
        fprintf(out, "tty %d foreground %d stdin %d stdout %d\n", tty >= 0,
                tty >= 0 && tcgetpgrp(tty) == getpgrp(), isatty(0), isatty(1));
        if (tty >= 0)
                (void)close(tty);
        show_status(out);
        show_file(out, "/proc/self/oom_score_adj");
        show_file(out, "/proc/self/coredump_filter");
        show_descriptors(out);
        show_limits(out);
        if (fclose(out) != 0)
                helper_fail(argv[1]);
        if (argc > 2)
                (void)kill(getpid(), atoi(argv[2]));
        return 0;
}
