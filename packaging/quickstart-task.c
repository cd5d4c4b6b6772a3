/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The five small tasks of packaging/quickstart.
 *
 * One static program, so that next to nothing but what is asked for is charged to the execution.
 * It says its pid first: whoever started it can then tell whether it was executed in place.
 */

#include "private/cleanup.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TASK_PAGE 4096
#define TASK_PAUSE_MAX_SEC 60 /* if nobody comes to kill it */
#define TASK_OOM_MAX_MIB 1024 /* if nothing limits it */

static size_t task_number(const char *text)
{
        return text ? strtoul(text, NULL, 10) : 0;
}

static void task_sleep(size_t ms)
{
        struct timespec t = { .tv_sec = (time_t)(ms / 1000),
                              .tv_nsec = (long)(ms % 1000) * 1000000 };

        while (nanosleep(&t, &t) < 0)
                ;
}

/* Memory that has been written to is memory that is charged. */
static char *task_touch(size_t mib)
{
        size_t n = mib << 20;
        char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
                exit(EXIT_FAILURE);
        for (size_t i = 0; i < n; i += TASK_PAGE)
                ((volatile char *)p)[i] = 1;
        return p;
}

static int task_plain(char *argv[])
{
        (void)task_touch(task_number(argv[0]));
        return EXIT_SUCCESS;
}

/* MIB HOLD_MS REST_MS */
static int task_spike(char *argv[])
{
        size_t mib = task_number(argv[0]);
        char *p;

        p = task_touch(mib);
        task_sleep(task_number(argv[1]));
        (void)munmap(p, mib << 20);
        task_sleep(task_number(argv[2]));
        return EXIT_SUCCESS;
}

/* Succeeds if its child does not: a pipeline, a pool of workers, a shell script without `set -e`. */
static int task_child_oom(char *argv[])
{
        int status = 0;
        pid_t pid;

        pid = fork();
        if (pid == 0) {
                (void)task_touch(TASK_OOM_MAX_MIB);
                _exit(EXIT_SUCCESS);
        }
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
                return EXIT_FAILURE;
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int task_pause(char *argv[])
{
        (void)alarm(TASK_PAUSE_MAX_SEC);
        (void)pause();
        return EXIT_FAILURE;
}

/* BEFORE_MS MIB AFTER_MS: what is left is nobody's child and in a session of its own. */
static int task_straggler(char *argv[])
{
        pid_t pid;

        pid = fork();
        if (pid != 0)
                return pid < 0 || waitpid(pid, NULL, 0) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        (void)setsid();
        if (fork() != 0)
                _exit(EXIT_SUCCESS);
        task_sleep(task_number(argv[0]));
        (void)task_touch(task_number(argv[1]));
        task_sleep(task_number(argv[2]));
        _exit(EXIT_SUCCESS);
}

int main(int argc, char *argv[])
{
        static const struct {
                const char *name;
                int n_arguments;
                int (*run)(char *argv[]);
        } tasks[] = {
                { "plain", 1, task_plain },         { "spike", 3, task_spike },
                { "child-oom", 0, task_child_oom }, { "pause", 0, task_pause },
                { "straggler", 3, task_straggler },
        };

        for (size_t i = 0; i < N_ELEMENTS(tasks); ++i)
                if (argc == tasks[i].n_arguments + 2 && strcmp(argv[1], tasks[i].name) == 0) {
                        (void)printf("%d\n", (int)getpid());
                        (void)fflush(stdout);
                        return tasks[i].run(argv + 2);
                }
        (void)fprintf(stderr,
                      "quickstart-task: plain MIB | spike MIB HOLD_MS REST_MS | child-oom | "
                      "pause | straggler BEFORE_MS MIB AFTER_MS\n");
        return 2;
}
