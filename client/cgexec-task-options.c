/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The command line of cgexec-task.
 *
 * One table makes both the parser and --help, in the order of the manual page. A mistake is one line
 * that names the option, what was given and what would do.
 */

#include "cgexec-task-options.h"

#include "display.h"
#include "human.h"
#include "option.h"

#include "private/cleanup.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MEMORY_MIN 4096 /* the daemon takes no less than a page */
#define OPTIONS_LAUNCH_TIMEOUT_USEC (30 * HUMAN_SECOND)

enum {
        OPTION_TASK = 0x100, /* above all characters */
        OPTION_LABEL,
        OPTION_FROM_ENV,
        OPTION_ATTEMPT_OF,
        OPTION_MEMORY_MAX,
        OPTION_MEMORY_HIGH,
        OPTION_SWAP_MAX,
        OPTION_PIDS_MAX,
        OPTION_OOM_GROUP,
        OPTION_STRAGGLERS,
        OPTION_SUPERVISE,
        OPTION_SUMMARY,
        OPTION_SUMMARY_FILE,
        OPTION_WAIT_DRAINED,
        OPTION_LAUNCH_TIMEOUT,
        OPTION_REQUIRE,
        OPTION_SOCKET,
        OPTION_QUIET = 'q',
        OPTION_HELP = 'h',
        OPTION_VERSION = 0x200,
};

/* argument: NULL takes none; "[=...]" may have one; else its name. help: '\n' begins a new line. */
static const struct {
        int code;
        const char *name;
        const char *argument;
        const char *help;
} options_table[] = {
        { OPTION_TASK, "task", "KEY",
          "What this is an execution of\n(default: the base name of COMMAND)" },
        { OPTION_LABEL, "label", "KEY=VALUE", "Say more about it; may be given many times" },
        { OPTION_FROM_ENV, "from-env", NULL,
          "Task and labels from the executor's variables\n"
          "(Airflow, GitLab, GitHub, Buildkite, Slurm,\nJenkins)" },
        { OPTION_ATTEMPT_OF, "attempt-of", "ID", "This is a retry of the execution ID" },
        { OPTION_MEMORY_MAX, "memory-max", "BYTES", "Kill above this much memory (K M G T)" },
        { OPTION_MEMORY_HIGH, "memory-high", "BYTES", "Slow down and reclaim above this much" },
        { OPTION_SWAP_MAX, "swap-max", "BYTES", "Use at most this much swap" },
        { OPTION_PIDS_MAX, "pids-max", "N", "At most so many processes and threads" },
        { OPTION_OOM_GROUP, "oom-group", "yes|no",
          "On OOM kill all of the task, not one process\n(default: no)" },
        { OPTION_STRAGGLERS, "stragglers", "wait|kill|SPAN",
          "What becomes of processes that outlive COMMAND:\n"
          "wait for them, kill them, kill them after SPAN" },
        { OPTION_SUPERVISE, "supervise", NULL, "Stay, forward signals, record the exit status" },
        { OPTION_SUMMARY, "summary", "[=text|json]",
          "Print peak, limit and result at the end, to\nstderr; implies --supervise" },
        { OPTION_SUMMARY_FILE, "summary-file", "PATH",
          "Write the summary there; implies --supervise" },
        { OPTION_WAIT_DRAINED, "wait-drained", NULL,
          "Leave only when the last process of the task\nhas gone; implies --supervise" },
        { OPTION_LAUNCH_TIMEOUT, "launch-timeout", "SPAN",
          "How long the daemon may take to start the task\n(default: 30s; 0: no limit)" },
        { OPTION_REQUIRE, "require", NULL, "Do not run COMMAND if it cannot be accounted" },
        { OPTION_SOCKET, "socket", "PATH",
          "Socket of the daemon\n(default: /run/cgtask/cgtask.sock)" },
        { OPTION_QUIET, "quiet", NULL, "No warning if the task is not accounted" },
        { OPTION_HELP, "help", NULL, "Show this help" },
        { OPTION_VERSION, "version", NULL, "Show the version" },
};

#define OPTIONS_HELP_COLUMN 33

static int options_flush(void)
{
        return fflush(stdout) != 0 || ferror(stdout) ? -EIO : 0;
}

int options_print_help(void)
{
        printf("Usage: cgexec-task [OPTIONS] [--] COMMAND [ARG...]\n\n"
               "Run COMMAND as one execution that cgtaskd accounts for.\n\n");
        for (size_t i = 0; i < N_ELEMENTS(options_table); i++) {
                const char *argument = options_table[i].argument, *help = options_table[i].help;
                char code[] = "    ";
                int n;

                if (options_table[i].code < 0x100)
                        (void)snprintf(code, sizeof(code), "-%c, ", (char)options_table[i].code);
                n = printf("  %s--%s%s%s", code, options_table[i].name,
                           argument && *argument != '[' ? "=" : "", argument ? argument : "");
                for (;;) {
                        size_t length = strcspn(help, "\n");

                        if (n >= OPTIONS_HELP_COLUMN) {
                                printf("\n");
                                n = 0;
                        }
                        printf("%*s%.*s\n", OPTIONS_HELP_COLUMN - n, "", (int)length, help);
                        n = 0;
                        if (!help[length])
                                break;
                        help += length + 1;
                }
        }
        printf("\nSee cgexec-task(1).\n");
        return options_flush();
}

int options_print_version(void)
{
        printf("cgexec-task %s\n", CGTASK_VERSION);
        return options_flush();
}

/* One line about a mistake; false for the caller to hand on. */
static bool options_complain(const char *format, ...) _printf_(1, 2);
static bool options_complain(const char *format, ...)
{
        _cleanup_free_ char *text = NULL, *line = NULL;
        va_list ap;
        int n;

        va_start(ap, format);
        n = vasprintf(&text, format, ap);
        va_end(ap);
        if (n < 0)
                text = NULL;
        else
                (void)display_escape(text, &line);
        dprintf(STDERR_FILENO, "cgexec-task: %s\n", line ? line : "out of memory");
        return false;
}

static bool options_set_size(const char *name, const char *text, uint64_t min, uint64_t *ret)
{
        if (strcmp(text, "auto") == 0)
                return options_complain("--%s=auto: this version cannot size a task by itself; "
                                        "give a size, such as 512M",
                                        name);
        if (!option_parse_size(text, ret))
                return options_complain("--%s=%s: not a size; use digits with K, M, G or T, "
                                        "such as 512M",
                                        name, text);
        if (*ret < min)
                return options_complain("--%s=%s: nothing can run with that; use a size, "
                                        "such as 512M",
                                        name, text);
        return true;
}

static bool options_is_utf8(const char *text)
{
        uint32_t c;
        size_t n;

        while ((n = display_decode(text, &c)) > 0)
                text += n;
        return *text == 0;
}

static bool options_set_task(Options *o, const char *text)
{
        if (!*text || !options_is_utf8(text))
                return options_complain("--task=%s: a task key is UTF-8 text and not empty", text);
        o->task = text;
        return true;
}

static bool options_add_label(Options *o, const char *text)
{
        size_t n;

        if (!option_parse_label(text, &n) || !options_is_utf8(text))
                return options_complain("--label=%s: not of the form KEY=VALUE in UTF-8", text);
        o->labels[o->n_labels++] = text;
        return true;
}

static bool options_set_summary(Options *o, const char *text)
{
        if (!text || strcmp(text, "text") == 0)
                o->summary = SUMMARY_TEXT;
        else if (strcmp(text, "json") == 0)
                o->summary = SUMMARY_JSON;
        else
                return options_complain("--summary=%s: use text or json", text);
        return true;
}

/* Identity and limits. */
static bool options_set_request(Options *o, int code, const char *text)
{
        switch (code) {
        case OPTION_TASK:
                return options_set_task(o, text);
        case OPTION_LABEL:
                return options_add_label(o, text);
        case OPTION_ATTEMPT_OF:
                o->attempt_of = text;
                return option_is_id(text) ||
                       options_complain("--attempt-of=%s: an id is 32 lower-case hex digits", text);
        case OPTION_MEMORY_MAX:
                return options_set_size("memory-max", text, OPTIONS_MEMORY_MIN, &o->memory_max);
        case OPTION_MEMORY_HIGH:
                return options_set_size("memory-high", text, OPTIONS_MEMORY_MIN, &o->memory_high);
        case OPTION_SWAP_MAX:
                return options_set_size("swap-max", text, 0, &o->swap_max);
        case OPTION_PIDS_MAX:
                return option_parse_count(text, &o->pids_max) ||
                       options_complain("--pids-max=%s: not a number from 1 on", text);
        case OPTION_OOM_GROUP:
                o->has_oom_group = true;
                return option_parse_bool(text, &o->oom_group) ||
                       options_complain("--oom-group=%s: use yes or no", text);
        case OPTION_STRAGGLERS:
                return option_parse_stragglers(text, o->stragglers) ||
                       options_complain("--stragglers=%s: use wait, kill or a time such as 10s",
                                        text);
        default:
                return options_complain("option %d is in no list", code);
        }
}

/* How the task is run; the rest goes on to the above. */
static bool options_set(Options *o, int code, const char *text)
{
        switch (code) {
        case OPTION_FROM_ENV:
                o->from_env = true;
                return true;
        case OPTION_SUPERVISE:
                o->supervise = true;
                return true;
        case OPTION_SUMMARY:
                return options_set_summary(o, text);
        case OPTION_SUMMARY_FILE:
                o->summary_path = text;
                return true;
        case OPTION_WAIT_DRAINED:
                o->wait_drained = true;
                return true;
        case OPTION_LAUNCH_TIMEOUT:
                return human_parse_span(text, &o->launch_timeout_usec) ||
                       options_complain("--launch-timeout=%s: not a time; use one such as 30s",
                                        text);
        case OPTION_REQUIRE:
                o->require = true;
                return true;
        case OPTION_SOCKET:
                o->socket_path = text;
                return *text || options_complain("--socket: the path is empty");
        case OPTION_QUIET:
                o->quiet = true;
                return true;
        default:
                return options_set_request(o, code, text);
        }
}

/* What getopt_long() did not take, in words. argument: the word that it stopped at. */
static bool options_complain_getopt(int c, int code, const char *argument)
{
        for (size_t i = 0; i < N_ELEMENTS(options_table); i++) {
                if (options_table[i].code != code)
                        continue;
                if (c == ':')
                        return options_complain("--%s needs an argument: --%s=%s",
                                                options_table[i].name, options_table[i].name,
                                                options_table[i].argument);
                return options_complain("--%s takes no argument", options_table[i].name);
        }
        if (strncmp(argument, "--", 2) == 0)
                return options_complain("unknown or ambiguous option %s (see cgexec-task --help)",
                                        argument);
        return options_complain("unknown option -%c (see cgexec-task --help)", (char)code);
}

static bool options_check(Options *o, char *argv[])
{
        if (!*argv)
                return options_complain("no command given (see cgexec-task --help)");
        o->command = argv;
        if (o->summary_path && o->summary == SUMMARY_NONE)
                o->summary = SUMMARY_TEXT;
        if (o->summary != SUMMARY_NONE || o->wait_drained)
                o->supervise = true;
        return true;
}

OptionsResult options_parse(Options *options, int argc, char *argv[])
{
        struct option table[N_ELEMENTS(options_table) + 1] = { 0 };
        int c;

        for (size_t i = 0; i < N_ELEMENTS(options_table); i++) {
                const char *argument = options_table[i].argument;

                table[i].name = options_table[i].name;
                table[i].val = options_table[i].code;
                table[i].has_arg = !argument          ? no_argument
                                   : *argument == '[' ? optional_argument
                                                      : required_argument;
        }

        *options = (Options){ .memory_max = OPTION_INFINITY,
                              .memory_high = OPTION_INFINITY,
                              .swap_max = OPTION_INFINITY,
                              .pids_max = OPTION_INFINITY,
                              .launch_timeout_usec = OPTIONS_LAUNCH_TIMEOUT_USEC };
        options->labels = calloc((size_t)argc, sizeof(*options->labels));
        if (!options->labels && !options_complain("out of memory"))
                return OPTIONS_BAD;

        opterr = 0;
        while ((c = getopt_long(argc, argv, "+:qh", table, NULL)) >= 0) {
                if (c == '?' || c == ':') {
                        (void)options_complain_getopt(c, optopt, argv[optind - 1]);
                        return OPTIONS_BAD;
                }
                if (c == OPTION_HELP)
                        return OPTIONS_HELP;
                if (c == OPTION_VERSION)
                        return OPTIONS_VERSION;
                if (!options_set(options, c, optarg))
                        return OPTIONS_BAD;
        }
        return options_check(options, argv + optind) ? OPTIONS_RUN : OPTIONS_BAD;
}

void options_deinit(Options *options)
{
        free(options->labels);
        options->labels = NULL;
}
