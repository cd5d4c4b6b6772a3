/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cgtaskd: options, prerequisites, exit codes; nothing else. */

#include "config.h"
#include "daemon.h"
#include "keeper.h"
#include "log.h"
#include "private/cleanup.h"
#include "private/wire.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

typedef enum MainAction {
        MAIN_RUN,
        MAIN_KEEPER,
        MAIN_KEEPER_REPLACEMENT,
        MAIN_CHECK_CONFIG,
        MAIN_DUMP_CONFIG,
        MAIN_HELP,
        MAIN_VERSION,
} MainAction;

typedef struct MainOptions {
        MainAction action;
        DaemonOptions daemon;
        int log_level;
} MainOptions;

static void main_help(void)
{
        (void)printf(
                "cgtaskd [OPTIONS]\n\n"
                "Accounts for the memory of task executions.\n\n"
                "     --config=FILE           read FILE instead of cgtaskd.conf and drop-ins\n"
                "     --executions-root=PATH  cgroup to put executions in (default: auto)\n"
                "     --database=FILE         database (default: " WIRE_DATABASE_PATH ")\n"
                "     --socket=PATH           listen there (default: what systemd hands over,\n"
                "                             else " WIRE_SOCKET_PATH ")\n"
                "     --check-config          read the configuration, report, exit\n"
                "     --dump-config           print the configuration in force, exit\n"
                "     --keeper                be the keeper of the executions' cgroup\n"
                "     --debug                 log every change of state\n"
                "  -h, --help                 show this help\n"
                "     --version               show the version\n\n"
                "See cgtaskd(8).\n");
}

static int main_usage(const char *program)
{
        (void)fprintf(stderr, "cgtaskd: bad usage; see cgtaskd --help\n");
        return 2;
}

static bool main_parse(int argc, char *argv[], MainOptions *ret)
{
        enum {
                CONFIG = 256,
                ROOT,
                DATABASE,
                SOCKET,
                CHECK,
                DUMP,
                KEEPER,
                REPLACEMENT,
                DEBUG,
                VERSION
        };
        static const struct option options[] = {
                { "config", required_argument, NULL, CONFIG },
                { "executions-root", required_argument, NULL, ROOT },
                { "database", required_argument, NULL, DATABASE },
                { "socket", required_argument, NULL, SOCKET },
                { "check-config", no_argument, NULL, CHECK },
                { "dump-config", no_argument, NULL, DUMP },
                { "keeper", no_argument, NULL, KEEPER },
                { "keeper-replacement", required_argument, NULL, REPLACEMENT },
                { "debug", no_argument, NULL, DEBUG },
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, VERSION },
                { NULL, 0, NULL, 0 },
        };
        MainOptions o = { .action = MAIN_RUN, .log_level = LOG_INFO };
        int c;

        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
                switch (c) {
                case CONFIG:
                        o.daemon.config_file = optarg;
                        break;
                case ROOT:
                        o.daemon.executions_root = optarg;
                        break;
                case DATABASE:
                        o.daemon.database_path = optarg;
                        break;
                case SOCKET:
                        o.daemon.socket_path = optarg;
                        break;
                case CHECK:
                        o.action = MAIN_CHECK_CONFIG;
                        break;
                case DUMP:
                        o.action = MAIN_DUMP_CONFIG;
                        break;
                case KEEPER:
                        o.action = MAIN_KEEPER;
                        break;
                case REPLACEMENT:
                        o.action = MAIN_KEEPER_REPLACEMENT;
                        break;
                case DEBUG:
                        o.log_level = LOG_DEBUG;
                        break;
                case 'h':
                        o.action = MAIN_HELP;
                        break;
                case VERSION:
                        o.action = MAIN_VERSION;
                        break;
                default:
                        return false;
                }
        }
        if (optind < argc) {
                (void)fprintf(stderr, "cgtaskd: it takes no arguments, but got '%s'\n",
                              argv[optind]);
                return false;
        }
        *ret = o;
        return true;
}

static void main_complain(void *userdata, const char *file, unsigned line, const char *text)
{
        if (line)
                log_write(LOG_WARNING, NULL, "%s:%u: %s", file, line, text);
        else
                log_write(LOG_WARNING, NULL, "%s: %s", file, text);
}

static int main_config(const MainOptions *o)
{
        _cleanup_(config_deinit) Config config = { 0 };
        int r;

        r = daemon_load_config(&o->daemon, main_complain, NULL, &config);
        if (r < 0)
                return EXIT_FAILURE;
        if (o->action == MAIN_DUMP_CONFIG)
                config_dump(&config, stdout);
        return EXIT_SUCCESS;
}

static int main_run(const MainOptions *o)
{
        _cleanup_(config_deinit) Config config = { 0 };
        Daemon *daemon;
        int r;

        r = daemon_load_config(&o->daemon, main_complain, NULL, &config);
        if (r < 0) {
                log_error("The configuration has errors: mend them (cgtaskd --check-config)");
                return EXIT_FAILURE;
        }
        (void)signal(SIGPIPE, SIG_IGN);
        /* a keeper's replacement is the only child, never waited for */
        (void)signal(SIGCHLD, SIG_IGN);
        r = daemon_new(&o->daemon, &config, &daemon);
        if (r < 0) {
                if (r != -DAEMON_ETOLD)
                        log_error("Cannot start: %s", strerror(-r));
                return EXIT_FAILURE;
        }
        r = daemon_run(daemon);
        daemon = daemon_free(daemon);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char *argv[])
{
        MainOptions options;

        if (!main_parse(argc, argv, &options))
                return main_usage(argv[0]);
        log_setup(options.log_level);
        switch (options.action) {
        case MAIN_RUN:
                return main_run(&options);
        case MAIN_KEEPER:
                return keeper_run();
        case MAIN_KEEPER_REPLACEMENT:
                return keeper_run_replacement();
        case MAIN_CHECK_CONFIG:
        case MAIN_DUMP_CONFIG:
                return main_config(&options);
        case MAIN_HELP:
                main_help();
                return EXIT_SUCCESS;
        case MAIN_VERSION:
                (void)printf("cgtaskd " CGTASK_VERSION "\n");
                return EXIT_SUCCESS;
        }
        return EXIT_FAILURE;
}
