/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The database as files.
 *
 * Nothing here keeps a file open, and a file that exists is opened only when no connection has it:
 * closing any descriptor of a file drops all POSIX locks of the process on it, SQLite's included.
 * Nothing is ever deleted.
 */

#include "dbfile.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Of the file format: where the header keeps the application id, big endian. */
#define DBFILE_ID_OFFSET 68

int dbfile_make(const char *path, DbfileId *ret_id)
{
        _cleanup_close_ int fd = -1;
        struct stat st;

        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
        if (fd < 0 && errno != EEXIST)
                return error_origin(-errno);
        if (fd >= 0 && fchmod(fd, 0640) < 0)
                return error_origin(-errno);
        if (stat(path, &st) < 0)
                return error_origin(-errno);
        if (!S_ISREG(st.st_mode))
                return DBFILE_E_NOT_A_FILE;
        *ret_id = (DbfileId){ .dev = st.st_dev, .ino = st.st_ino };
        return 0;
}

bool dbfile_identify(const char *path, DbfileId *ret_id)
{
        struct stat st;

        if (stat(path, &st) < 0)
                return false;
        *ret_id = (DbfileId){ .dev = st.st_dev, .ino = st.st_ino };
        return true;
}

bool dbfile_is_at(const char *path, const DbfileId *id)
{
        DbfileId found;

        return dbfile_identify(path, &found) && found.dev == id->dev && found.ino == id->ino;
}

int64_t dbfile_size(const char *path)
{
        struct stat st;

        return stat(path, &st) < 0 ? -1 : (int64_t)st.st_size;
}

static int64_t dbfile_usec(const struct timespec *t)
{
        return (int64_t)t->tv_sec * 1000000 + t->tv_nsec / 1000;
}

bool dbfile_is_from_before_boot(const char *path)
{
        struct timespec now, up;
        struct stat st;

        if (stat(path, &st) < 0)
                return false;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        (void)clock_gettime(CLOCK_BOOTTIME, &up);
        return dbfile_usec(&st.st_mtim) < dbfile_usec(&now) - dbfile_usec(&up);
}

static int dbfile_join(const char *path, const char *suffix, char **ret_path)
{
        char *joined;

        if (asprintf(&joined, "%s%s", path, suffix) < 0)
                return error_origin(-ENOMEM);
        *ret_path = joined;
        return 0;
}

static bool dbfile_has_wal(const char *path)
{
        _cleanup_free_ char *wal = NULL;

        return dbfile_join(path, "-wal", &wal) == 0 && access(wal, F_OK) == 0;
}

static uint32_t dbfile_read_be32(const unsigned char *p)
{
        return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

bool dbfile_was_database(const char *path, uint32_t application_id)
{
        static const unsigned char magic[16] = "SQLite format 3", zeroes[16];
        unsigned char header[DBFILE_ID_OFFSET + 4] = { 0 };
        _cleanup_close_ int fd = -1;
        ssize_t n;

        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        n = pread(fd, header, sizeof(header), 0);
        if (n < 0)
                return false;
        if (memcmp(header, magic, sizeof(magic)) == 0)
                return dbfile_read_be32(header + DBFILE_ID_OFFSET) == application_id;
        if (n >= (ssize_t)sizeof(zeroes) && memcmp(header, zeroes, sizeof(zeroes)) == 0)
                return true;
        return dbfile_has_wal(path);
}

/* PATH.<kind>-<unix time>; the clock is ahead of itself if that name is taken. */
static int dbfile_new_name(const char *path, const char *kind, char **ret_name)
{
        for (time_t t = time(NULL);; ++t) {
                char *name;

                if (asprintf(&name, "%s.%s-%lld", path, kind, (long long)t) < 0)
                        return error_origin(-ENOMEM);
                if (access(name, F_OK) < 0) {
                        *ret_name = name;
                        return 0;
                }
                free(name);
        }
}

/* A missing one is as good as a renamed one. */
static int dbfile_rename(const char *path, const char *name, const char *suffix)
{
        _cleanup_free_ char *from = NULL, *to = NULL;
        int r;

        r = dbfile_join(path, suffix, &from);
        if (r == 0)
                r = dbfile_join(name, suffix, &to);
        if (r < 0)
                return error_fold(r);
        if (rename(from, to) < 0 && errno != ENOENT)
                return error_origin(-errno);
        return 0;
}

/* PATH itself goes last: until then the next try finds damage again, and finishes this one. */
int dbfile_set_aside(const char *path, char **ret_name)
{
        static const char *const suffixes[] = { "-shm", "-wal", "" };
        _cleanup_free_ char *name = NULL;
        int r;

        r = dbfile_new_name(path, "corrupt", &name);
        for (size_t i = 0; r == 0 && i < N_ELEMENTS(suffixes); ++i)
                r = dbfile_rename(path, name, suffixes[i]);
        if (r < 0)
                return error_fold(r);
        *ret_name = TAKE_PTR(name);
        return 0;
}

int dbfile_set_aside_wal(const char *path)
{
        _cleanup_free_ char *name = NULL;
        int r;

        r = dbfile_new_name(path, "orphan", &name);
        if (r == 0)
                r = dbfile_rename(path, name, "-wal");
        return error_fold(r);
}
