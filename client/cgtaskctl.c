/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * cgtaskctl: the command line.
 *
 * Two tables say what there is: verbs, and options with the verbs that they go with. --help, the
 * parser and the man page (a test compares them) follow the tables. Options stand before or behind
 * the verb. Everything else is in ctl-<verb>.c.
 *
 * What is wrong with the command line is one line and CTL_EXIT_USAGE, before anything was done.
 */

#include "ctl.h"

#include "human.h"
#include "record.h"

#include "private/error.h"
#include "private/wire.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define VERSION_TEXT CTL_NAME " " CGTASK_VERSION

#define DEFAULT_LINES 50
#define TEXT_OF(number) TEXT_OF_EXPANDED(number)
#define TEXT_OF_EXPANDED(number) #number

enum {
        VERB_LIST = 1 << 0,
        VERB_SHOW = 1 << 1,
        VERB_KILL = 1 << 2,
        VERB_STATUS = 1 << 3,
        VERB_DOCTOR = 1 << 4,
        VERB_DRAIN = 1 << 5,
        VERB_ALL = (1 << 6) - 1,
};

typedef struct Verb {
        unsigned bit;
        const char *name;
        const char *argument; /* in --help */
        int n_min, n_max;     /* arguments */
        int (*run)(const Ctl *ctl, int argc, char *argv[]);
        const char *help;
} Verb;

/* The first one is what no verb means. */
static const Verb verbs[] = {
        { VERB_LIST, "list", "", 0, 0, ctl_list, "List executions, newest first (the default)" },
        { VERB_SHOW, "show", " ID...", 1, INT_MAX, ctl_show,
          "Show all that is known of executions" },
        { VERB_KILL, "kill", " ID...", 1, INT_MAX, ctl_kill, "End executions, or signal them" },
        { VERB_STATUS, "status", "", 0, 0, ctl_status, "Ask the daemon how it is" },
        { VERB_DOCTOR, "doctor", "", 0, 0, ctl_doctor, "Check this host, and say what to do" },
        { VERB_DRAIN, "drain", "", 0, 0, ctl_drain, "End all executions (root only)" },
};

typedef struct Option {
        int code; /* of getopt_long(); below 128: also the short option */
        const char *name;
        const char *argument; /* NULL: it takes none */
        unsigned verbs;
        const char *help;
} Option;

enum {
        OPTION_TASK = 128,
        OPTION_STATE,
        OPTION_USER,
        OPTION_SINCE,
        OPTION_GRACE,
        OPTION_EXECUTIONS_ROOT,
        OPTION_ROOT,
        OPTION_SOCKET,
        OPTION_DATABASE,
        OPTION_JSON,
        OPTION_BYTES,
        OPTION_NO_LEGEND,
        OPTION_NO_PAGER,
        OPTION_VERSION,
};

/* In the order of --help and of cgtaskctl(1). */
static const Option options[] = {
        { OPTION_TASK, "task", "PATTERN", VERB_LIST, "Only tasks that match this shell pattern" },
        { OPTION_STATE, "state", "STATE", VERB_LIST, "Only running, finished or lost ones" },
        { OPTION_USER, "user", "USER", VERB_LIST, "Only those of this user (name or uid)" },
        { OPTION_SINCE, "since", "TIME", VERB_LIST,
          "Only what ran then or later (2h, today, a date)" },
        { 'n', "lines", "N", VERB_LIST,
          "At most so many, or all (default: " TEXT_OF(DEFAULT_LINES) ")" },
        { 's', "signal", "SIGNAL", VERB_KILL, "Signal to send (default: SIGKILL, to all at once)" },
        { OPTION_GRACE, "grace", "SPAN", VERB_DRAIN, "Time to end by themselves (default: 0)" },
        { OPTION_EXECUTIONS_ROOT, "executions-root", "PATH", VERB_DRAIN | VERB_DOCTOR,
          "Cgroup of the executions (default: found)" },
        { OPTION_ROOT, "root", "PATH", VERB_DOCTOR, "Check the files below PATH instead" },
        { OPTION_SOCKET, "socket", "PATH", VERB_ALL,
          "Socket of the daemon (default: " WIRE_SOCKET_PATH ")" },
        { OPTION_DATABASE, "database", "PATH", VERB_ALL,
          "Database (default: " WIRE_DATABASE_PATH ")" },
        { OPTION_JSON, "json", "MODE", VERB_ALL, "JSON: short, pretty or off (default: off)" },
        { 'j', NULL, NULL, VERB_ALL, "--json=pretty on a terminal, else --json=short" },
        { OPTION_BYTES, "bytes", NULL, VERB_ALL, "Plain numbers of bytes" },
        { OPTION_NO_LEGEND, "no-legend", NULL, VERB_ALL, "No titles and no last line" },
        { OPTION_NO_PAGER, "no-pager", NULL, VERB_ALL, "Accepted; there never is a pager" },
        { 'h', "help", NULL, VERB_ALL, "Show this help" },
        { OPTION_VERSION, "version", NULL, VERB_ALL, "Show the version" },
};

/* stdout is a terminal that wants colours? */
static bool wants_colour(void)
{
        const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");

        return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && term &&
               strcmp(term, "dumb") != 0;
}

static size_t terminal_width(void)
{
        struct winsize size;

        if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
                return 0;
        return size.ws_col;
}

_printf_(1, 2) static int usage_error(const char *format, ...)
{
        _cleanup_free_ char *line = NULL;
        va_list ap;

        va_start(ap, format);
        if (vasprintf(&line, format, ap) < 0)
                line = NULL;
        va_end(ap);
        (void)ctl_error("%s; see " CTL_NAME " --help", line ? line : strerror(ENOMEM));
        return CTL_EXIT_USAGE;
}

static void print_help(void)
{
        char left[64];
        size_t i;

        printf(CTL_NAME " [OPTIONS...] [VERB] [ARGUMENTS...]\n\n"
                        "Show and end executions that cgtaskd accounts for.\n\nVerbs:\n");
        for (i = 0; i < N_ELEMENTS(verbs); i++) {
                snprintf(left, sizeof(left), "%s%s", verbs[i].name, verbs[i].argument);
                printf("  %-27s %s\n", left, verbs[i].help);
        }
        printf("\nOptions:\n");
        for (i = 0; i < N_ELEMENTS(options); i++) {
                const Option *o = &options[i];
                char letter[] = { '-', (char)o->code, o->name ? ',' : 0, ' ', 0 };

                snprintf(left, sizeof(left), "%s%s%s%s%s", o->code < 128 ? letter : "    ",
                         o->name ? "--" : "", o->name ? o->name : "", o->argument ? "=" : "",
                         o->argument ? o->argument : "");
                printf("  %-27s %s\n", left, o->help);
        }
        printf("\nSee cgtaskctl(1).\n");
}

static int parse_user(const char *text, int64_t *ret_uid)
{
        const struct passwd *pw;
        uint64_t uid;

        if (human_parse_u64(text, &uid) && uid < UINT32_MAX) {
                *ret_uid = (int64_t)uid;
                return 0;
        }
        pw = getpwnam(text);
        if (!pw)
                return usage_error("there is no user '%s'", text);
        *ret_uid = pw->pw_uid;
        return 0;
}

static int parse_lines(const char *text, int64_t *ret_n)
{
        uint64_t n;

        if (strcmp(text, "all") == 0) {
                *ret_n = -1;
                return 0;
        }
        if (!human_parse_u64(text, &n) || n > INT64_MAX)
                return usage_error("--lines takes a number or 'all', not '%s'", text);
        *ret_n = (int64_t)n;
        return 0;
}

static int parse_since(const char *text, int64_t *ret_usec)
{
        struct timespec now;
        uint64_t usec;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        usec = (uint64_t)now.tv_sec * HUMAN_SECOND + (uint64_t)now.tv_nsec / 1000;
        if (!human_parse_time(text, usec, &usec) || usec > INT64_MAX)
                return usage_error("--since does not understand '%s'", text);
        *ret_usec = (int64_t)usec;
        return 0;
}

static int parse_json(const char *text, TableJson *ret_json)
{
        if (strcmp(text, "short") == 0)
                *ret_json = TABLE_JSON_SHORT;
        else if (strcmp(text, "pretty") == 0)
                *ret_json = TABLE_JSON_PRETTY;
        else if (strcmp(text, "off") == 0)
                *ret_json = TABLE_JSON_OFF;
        else
                return usage_error("--json takes short, pretty or off, not '%s'", text);
        return 0;
}

static int parse_state(const char *text, const char **ret_state)
{
        if (strcmp(text, "running") != 0 && strcmp(text, "finished") != 0 &&
            strcmp(text, "lost") != 0)
                return usage_error("--state takes running, finished or lost, not '%s'", text);
        *ret_state = text;
        return 0;
}

/* What an option with an argument is about; 0 or CTL_EXIT_USAGE. */
static int set_value(Ctl *ctl, int code, const char *value)
{
        switch (code) {
        case OPTION_TASK:
                ctl->task = value;
                return 0;
        case OPTION_STATE:
                return parse_state(value, &ctl->state);
        case OPTION_USER:
                return parse_user(value, &ctl->uid);
        case OPTION_SINCE:
                return parse_since(value, &ctl->since_usec);
        case 'n':
                return parse_lines(value, &ctl->n_lines);
        case 's':
                return human_parse_signal(value, &ctl->signal)
                               ? 0
                               : usage_error("there is no signal '%s'", value);
        case OPTION_GRACE:
                return human_parse_span(value, &ctl->grace_usec)
                               ? 0
                               : usage_error("--grace takes a time span, not '%s'", value);
        case OPTION_EXECUTIONS_ROOT:
                ctl->executions_root = value;
                return 0;
        case OPTION_ROOT:
                ctl->root = value;
                return 0;
        case OPTION_SOCKET:
                ctl->socket = value;
                return 0;
        case OPTION_DATABASE:
                ctl->database = value;
                return 0;
        case OPTION_JSON:
                return parse_json(value, &ctl->style.json);
        default:
                return 0;
        }
}

static void set_flag(Ctl *ctl, int code)
{
        if (code == 'j')
                ctl->style.json = isatty(STDOUT_FILENO) ? TABLE_JSON_PRETTY : TABLE_JSON_SHORT;
        else if (code == OPTION_BYTES)
                ctl->bytes = true;
        else if (code == OPTION_NO_LEGEND)
                ctl->style.legend = false;
}

static const Option *find_option(int code)
{
        size_t i;

        for (i = 0; i < N_ELEMENTS(options); i++)
                if (options[i].code == code)
                        return &options[i];
        return NULL;
}

/* "--name" or "-x", for people. */
static const char *option_name(const Option *option, char text[HUMAN_MAX])
{
        if (option->name)
                snprintf(text, HUMAN_MAX, "--%s", option->name);
        else
                snprintf(text, HUMAN_MAX, "-%c", option->code);
        return text;
}

/* What getopt_long() stumbled over. */
static int refuse_option(int c, char *const argv[])
{
        const Option *option = find_option(optopt);
        char name[HUMAN_MAX];

        if (c == ':' && option)
                return usage_error("%s needs an argument", option_name(option, name));
        if (option)
                return usage_error("%s takes no argument", option_name(option, name));
        if (optopt > 0)
                return usage_error("unknown option -%c", optopt);
        return usage_error("unknown option %s", argv[optind - 1]);
}

/* The tables in the form of getopt_long(). */
static void make_getopt(struct option *longs, char *shorts)
{
        size_t i, n = 0;

        *shorts++ = ':';
        for (i = 0; i < N_ELEMENTS(options); i++) {
                if (options[i].name)
                        longs[n++] = (struct option){ options[i].name,
                                                      options[i].argument ? required_argument
                                                                          : no_argument,
                                                      NULL, options[i].code };
                if (options[i].code >= 128)
                        continue;
                *shorts++ = (char)options[i].code;
                if (options[i].argument)
                        *shorts++ = ':';
        }
        *shorts = 0;
        longs[n] = (struct option){ NULL, 0, NULL, 0 };
}

/* Fills in ctl. >= 0: leave with this status; -1: go on. *ret_given: bits of options[]. */
static int parse_options(Ctl *ctl, int argc, char *argv[], unsigned *ret_given)
{
        struct option longs[N_ELEMENTS(options) + 1];
        char shorts[2 * N_ELEMENTS(options) + 2];
        unsigned given = 0;
        int c, r;

        make_getopt(longs, shorts);
        opterr = 0;
        while ((c = getopt_long(argc, argv, shorts, longs, NULL)) >= 0) {
                if (c == '?' || c == ':')
                        return refuse_option(c, argv);
                if (c == 'h') {
                        print_help();
                        return CTL_EXIT_OK;
                }
                if (c == OPTION_VERSION) {
                        printf("%s\n", VERSION_TEXT);
                        return CTL_EXIT_OK;
                }
                set_flag(ctl, c);
                r = set_value(ctl, c, optarg);
                if (r != 0)
                        return r;
                given |= 1U << (find_option(c) - options);
        }
        *ret_given = given;
        return -1;
}

static const Verb *find_verb(const char *name)
{
        size_t i;

        for (i = 0; i < N_ELEMENTS(verbs); i++)
                if (strcmp(verbs[i].name, name) == 0)
                        return &verbs[i];
        return NULL;
}

/* Does what was given go together? 0 or CTL_EXIT_USAGE. */
static int check_verb(const Verb *verb, int argc, char *argv[], unsigned given)
{
        char name[HUMAN_MAX], part[WIRE_ID_LENGTH + 1];
        size_t i;

        for (i = 0; i < N_ELEMENTS(options); i++)
                if ((given & 1U << i) && !(options[i].verbs & verb->bit))
                        return usage_error("%s does not go with %s", option_name(&options[i], name),
                                           verb->name);
        if (argc < verb->n_min)
                return usage_error("%s needs an ID", verb->name);
        if (argc > verb->n_max)
                return usage_error("%s takes no argument '%s'", verb->name, argv[0]);
        for (i = 0; i < (size_t)argc; i++)
                if (!record_parse_id(argv[i], part))
                        return usage_error(
                                "'%s' is no id: it has %d hex digits, of which the first "
                                "or last %d are enough where they are the only ones",
                                argv[i], WIRE_ID_LENGTH, RECORD_ID_PART_MIN);
        return 0;
}

/* A reader that has gone away is no trouble; a full disk behind stdout is. */
static int finish_output(int status)
{
        if (fflush(stdout) == 0 && !ferror(stdout))
                return status;
        if (errno == EPIPE)
                return status;
        return ctl_error("cannot write: %s", strerror(errno));
}

static int run(int argc, char *argv[])
{
        Ctl ctl = { .uid = -1, .since_usec = -1, .n_lines = DEFAULT_LINES, .signal = SIGKILL };
        const Verb *verb = &verbs[0];
        unsigned given = 0;
        int r;

        ctl.style.legend = true;
        ctl.style.colour = wants_colour();
        ctl.style.n_columns = terminal_width();
        r = parse_options(&ctl, argc, argv, &given);
        if (r >= 0)
                return r;
        argc -= optind;
        argv += optind;
        if (argc > 0) {
                verb = find_verb(argv[0]);
                if (!verb)
                        return usage_error("unknown verb '%s'", argv[0]);
                argc--;
                argv++;
        }
        r = check_verb(verb, argc, argv, given);
        if (r != 0)
                return r;
        r = verb->run(&ctl, argc, argv);
        return r < 0 ? ctl_error("%s", strerror(-r)) : r;
}

int main(int argc, char *argv[])
{
        (void)setlocale(LC_TIME, "");
        /* Widths of characters; names of tasks are UTF-8 whatever the caller's locale is. */
        (void)setlocale(LC_CTYPE, "C.UTF-8");
        return finish_output(run(argc, argv));
}
