/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A folder of a test's own that stands for a host: files made from texts, gone afterwards. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "private/cleanup.h"

#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Tree {
        char root[64];
        char path[512]; /* of tree_path() */
} Tree;

static inline int tree_set_up(void **state)
{
        Tree *t = calloc(1, sizeof(*t));

        assert_non_null(t);
        (void)snprintf(t->root, sizeof(t->root), "/tmp/cgtask-test-XXXXXX");
        assert_non_null(mkdtemp(t->root));
        *state = t;
        return 0;
}

static inline int tree_remove(const char *path, const struct stat *st, int type, struct FTW *place)
{
        return remove(path);
}

static inline int tree_tear_down(void **state)
{
        Tree *t = *state;

        assert_int_equal(nftw(t->root, tree_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
        free(t);
        return 0;
}

#define tree_test(fn) cmocka_unit_test_setup_teardown(fn, tree_set_up, tree_tear_down)

/* Not inline: UBSan's tests for NULL make gcc see paths that are none. */
_unused_ static __attribute__((noinline)) const char *tree_path(Tree *t, const char *path)
{
        assert_true(strlen(t->root) + strlen(path) < sizeof(t->path));
        strcpy(stpcpy(t->path, t->root), path);
        return t->path;
}

/* Makes the folders above path, and path itself as one if text is NULL. */
static inline void tree_write(Tree *t, const char *path, const char *text)
{
        char *p;
        FILE *f;

        (void)tree_path(t, path);
        for (p = t->path + strlen(t->root) + 1; (p = strchr(p, '/')); p++) {
                *p = 0;
                assert_true(mkdir(t->path, 0755) == 0 || errno == EEXIST);
                *p = '/';
        }
        if (!text) {
                assert_true(mkdir(t->path, 0755) == 0 || errno == EEXIST);
                return;
        }
        f = fopen(t->path, "we");
        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
}

static inline void tree_unlink(Tree *t, const char *path)
{
        assert_int_equal(remove(tree_path(t, path)), 0);
}

/* What is in a file now, in one static buffer. */
static inline const char *tree_read(Tree *t, const char *path)
{
        static char text[4096];
        size_t n;
        FILE *f;

        f = fopen(tree_path(t, path), "re");
        assert_non_null(f);
        n = fread(text, 1, sizeof(text) - 1, f);
        text[n] = 0;
        assert_int_equal(fclose(f), 0);
        return text;
}
