/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of the configuration, and their lines.
 *
 * libinih splits the lines, and three habits of it are kept away from users here. It gives a handler
 * no line numbers (a compile-time choice that Debian did not make), cuts lines at 200 bytes without a
 * word, and takes an indented line as more text for the value before it. So it does not read the
 * files itself: config_file_next_line() hands it one line at a time, counted, stripped and measured,
 * and notices afterwards whether the line came out as a key.
 *
 * Of cgtaskd.conf only the one in the highest folder is read, then the drop-ins of all folders by
 * name. An empty file, such as a link to /dev/null, has no keys but does hide the lower one: masking
 * needs no code of its own.
 */

#include "config-file.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define CONFIG_FILE_NAME "cgtaskd.conf"
#define CONFIG_FILE_DROPIN_SUFFIX ".conf"

/* Highest first. */
static const char *const config_file_folders[] = { "/etc/cgtask", "/run/cgtask",
                                                   "/usr/lib/cgtask" };

/* One file being read. */
typedef struct ConfigFile {
        const char *path;
        const ConfigFileHandler *handler;
        FILE *f;
        char *line; /* buffer of getline() */
        size_t line_size;
        unsigned line_number;
        bool pending; /* the line should come out as a key, and has not yet */
        int fault;    /* the first one; reading goes on so that all are reported */
} ConfigFile;

static void config_file_deinit(ConfigFile *file)
{
        cleanup_fclosep(&file->f);
        free(file->line);
}

static void config_file_keep_fault(int *fault, int r)
{
        if (*fault == 0)
                *fault = r;
}

/* Complains about the current line and makes that a fault. */
static _printf_(3, 4) void config_file_fail(ConfigFile *file, int r, const char *format, ...)
{
        char text[256];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        file->handler->complain(file->handler->userdata, file->path, file->line_number, text);
        config_file_keep_fault(&file->fault, error_origin(r));
}

/* Called by libinih; nonzero goes on. */
static int config_file_assign(void *userdata, const char *section, const char *name,
                              const char *value)
{
        ConfigFile *file = userdata;
        int r;

        file->pending = false;
        r = file->handler->assign(file->handler->userdata, file->path, file->line_number, section,
                                  name, value);
        if (r < 0)
                config_file_keep_fault(&file->fault, error_fold(r));
        return 1;
}

/* "[Section]", perhaps with a comment behind it. */
static bool config_file_is_section(const char *text)
{
        const char *end = strchr(text, ']');

        if (!end || end == text + 1)
                return false;
        end += 1 + strspn(end + 1, " \t\r");
        return *end == '\0' || *end == ';' || *end == '#';
}

/* What of the current line is for libinih: "" if nothing. n is the line's length, NULs counted. */
static const char *config_file_examine_line(ConfigFile *file, size_t n, size_t max)
{
        const char *text = file->line;

        if (strlen(text) != n) {
                config_file_fail(file, -EINVAL, "NUL byte in the line");
                return "";
        }
        if (file->line_number == 1 && strncmp(text, "\xef\xbb\xbf", 3) == 0)
                text += 3; /* a byte order mark */
        text += strspn(text, " \t\r\v\f");
        if (*text == '\0' || *text == '#' || *text == ';')
                return "";
        if (strlen(text) > max) {
                config_file_fail(file, -EINVAL, "line of more than %zu bytes", max);
                return "";
        }
        if (*text == '[' && !config_file_is_section(text)) {
                config_file_fail(file, -EINVAL, "not of the form [Section]");
                return "";
        }
        file->pending = *text != '[';
        return text;
}

/* Called by libinih in place of fgets(): the next line, with a newline, into n bytes. */
static char *config_file_next_line(char *buffer, int n, void *userdata)
{
        ConfigFile *file = userdata;
        ssize_t length;

        if (file->pending)
                config_file_fail(file, -EINVAL, "not of the form Key=value");
        file->pending = false;
        length = getline(&file->line, &file->line_size, file->f);
        if (length < 0) {
                int error = errno;

                file->line_number = 0;
                if (!feof(file->f))
                        config_file_fail(file, -error, "cannot be read: %s", strerror(error));
                return NULL;
        }
        ++file->line_number;
        if (length > 0 && file->line[length - 1] == '\n')
                file->line[--length] = '\0';
        (void)snprintf(buffer, (size_t)n, "%s\n",
                       config_file_examine_line(file, (size_t)length, (size_t)n - 2));
        return buffer;
}

int config_file_read(const char *path, const ConfigFileHandler *handler)
{
        _cleanup_(config_file_deinit) ConfigFile file = { .path = path, .handler = handler };
        int r;

        file.f = fopen(path, "re");
        if (!file.f) {
                r = -errno;
                config_file_fail(&file, r, "cannot be opened: %s", strerror(-r));
                return file.fault;
        }
        r = ini_parse_stream(config_file_next_line, &file, config_file_assign, &file);
        /* A line that libinih refuses has been complained about; other numbers are its own. */
        if (r != 0 && file.fault == 0)
                config_file_fail(&file, r < 0 ? -ENOMEM : -EINVAL, "cannot be parsed");
        return file.fault;
}

/* Without memory NULL. */
static char *config_file_path(const char *root, const char *folder, const char *name)
{
        char *path;

        return asprintf(&path, "%s%s/%s", root, folder, name) < 0 ? NULL : path;
}

static int config_file_read_highest(const char *root, const ConfigFileHandler *handler)
{
        for (size_t i = 0; i < N_ELEMENTS(config_file_folders); ++i) {
                _cleanup_free_ char *path =
                        config_file_path(root, config_file_folders[i], CONFIG_FILE_NAME);

                if (!path)
                        return error_origin(-ENOMEM);
                if (access(path, F_OK) == 0 || errno != ENOENT)
                        return config_file_read(path, handler);
        }
        return 0;
}

typedef struct ConfigFileDropin {
        char *path;
        const char *name; /* in path */
} ConfigFileDropin;

typedef struct ConfigFileDropins {
        ConfigFileDropin *items;
        size_t n_items;
} ConfigFileDropins;

static void config_file_dropins_deinit(ConfigFileDropins *dropins)
{
        for (size_t i = 0; i < dropins->n_items; ++i)
                free(dropins->items[i].path);
        free(dropins->items);
}

/* A name that is there already came from a higher folder, and stays. */
static int config_file_dropins_add(ConfigFileDropins *dropins, const char *folder, const char *name)
{
        ConfigFileDropin *items;
        char *path;

        for (size_t i = 0; i < dropins->n_items; ++i)
                if (strcmp(dropins->items[i].name, name) == 0)
                        return 0;
        items = reallocarray(dropins->items, dropins->n_items + 1, sizeof(*items));
        if (!items)
                return error_origin(-ENOMEM);
        dropins->items = items;
        path = config_file_path("", folder, name);
        if (!path)
                return error_origin(-ENOMEM);
        items[dropins->n_items++] =
                (ConfigFileDropin){ .path = path, .name = path + strlen(folder) + 1 };
        return 0;
}

static bool config_file_is_dropin(const char *name)
{
        size_t n = strlen(name), n_suffix = strlen(CONFIG_FILE_DROPIN_SUFFIX);

        return name[0] != '.' && n > n_suffix &&
               strcmp(name + n - n_suffix, CONFIG_FILE_DROPIN_SUFFIX) == 0;
}

/* Adds the drop-ins of one folder. A folder that is not there has none. */
static int config_file_dropins_scan(ConfigFileDropins *dropins, const char *folder,
                                    const ConfigFileHandler *handler)
{
        _cleanup_closedir_ DIR *dir = opendir(folder);
        const struct dirent *entry;
        char text[128];
        int r;

        if (!dir && errno == ENOENT)
                return 0;
        if (!dir) {
                r = -errno;
                (void)snprintf(text, sizeof(text), "cannot be opened: %s", strerror(-r));
                handler->complain(handler->userdata, folder, 0, text);
                return error_origin(r);
        }
        while ((entry = readdir(dir))) {
                if (!config_file_is_dropin(entry->d_name))
                        continue;
                r = config_file_dropins_add(dropins, folder, entry->d_name);
                if (r < 0)
                        return error_fold(r);
        }
        return 0;
}

static int config_file_dropin_compare(const void *a, const void *b)
{
        return strcmp(((const ConfigFileDropin *)a)->name, ((const ConfigFileDropin *)b)->name);
}

static int config_file_read_dropins(const char *root, const ConfigFileHandler *handler)
{
        _cleanup_(config_file_dropins_deinit) ConfigFileDropins dropins = { 0 };
        int fault = 0;

        for (size_t i = 0; i < N_ELEMENTS(config_file_folders); ++i) {
                _cleanup_free_ char *folder =
                        config_file_path(root, config_file_folders[i], CONFIG_FILE_NAME ".d");

                if (!folder)
                        return error_origin(-ENOMEM);
                config_file_keep_fault(&fault, config_file_dropins_scan(&dropins, folder, handler));
        }
        if (dropins.n_items > 0)
                qsort(dropins.items, dropins.n_items, sizeof(*dropins.items),
                      config_file_dropin_compare);
        for (size_t i = 0; i < dropins.n_items; ++i)
                config_file_keep_fault(&fault, config_file_read(dropins.items[i].path, handler));
        return fault;
}

int config_file_read_all(const char *root, const ConfigFileHandler *handler)
{
        int fault = 0;

        config_file_keep_fault(&fault, config_file_read_highest(root, handler));
        config_file_keep_fault(&fault, config_file_read_dropins(root, handler));
        return error_fold(fault);
}
