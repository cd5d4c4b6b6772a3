/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The database as files: PATH, PATH-wal and PATH-shm. What is in them is the store's. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
        _DBFILE_E_SUCCESS,
        DBFILE_E_NOT_A_FILE, /* a folder, a device, ... */
};

typedef struct DbfileId {
        dev_t dev;
        ino_t ino;
} DbfileId;

/*
 * Makes an empty file if there is none, mode 0640 whatever the umask, and says which one is there.
 * 0, DBFILE_E_NOT_A_FILE, <0.
 */
int dbfile_make(const char *path, DbfileId *ret_id);

bool dbfile_identify(const char *path, DbfileId *ret_id); /* false: there is none */
bool dbfile_is_at(const char *path, const DbfileId *id);
int64_t dbfile_size(const char *path); /* -1: there is none */

/* Last written before this boot? Then the machine went down with it; a mere crash harms no file. */
bool dbfile_is_from_before_boot(const char *path);

/*
 * Was the file, which cannot be read as a database now, one with this application id? Yes if its
 * header says so, or if it has no SQLite header any more but zeroes or a WAL beside it.
 */
bool dbfile_was_database(const char *path, uint32_t application_id);

/* Renames all three to PATH.corrupt-<unix time>*; *ret_name is the new name of PATH, to be freed. */
int dbfile_set_aside(const char *path, char **ret_name);
/* Renames PATH-wal only, to PATH.orphan-<unix time>-wal. */
int dbfile_set_aside_wal(const char *path);
