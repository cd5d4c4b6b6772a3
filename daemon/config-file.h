/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The files of the configuration: which ones count, and what stands on their lines. Knows nothing of
 * keys.
 */

typedef struct ConfigFileHandler {
        /* One "name=value" under [section] ("" before the first one). A fault is kept, not obeyed. */
        int (*assign)(void *userdata, const char *file, unsigned line, const char *section,
                      const char *name, const char *value);
        /* What is wrong with a line, or with the file as a whole (line 0). */
        void (*complain)(void *userdata, const char *file, unsigned line, const char *text);
        void *userdata;
} ConfigFileHandler;

/*
 * Both read to the end of everything and then return 0 or the first fault (assign()'s too), each one
 * complained about. A missing path is -ENOENT; for config_file_read_all() no file is a must.
 */
int config_file_read(const char *path, const ConfigFileHandler *handler);
int config_file_read_all(const char *root, const ConfigFileHandler *handler);
