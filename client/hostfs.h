/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where this host has its cgroups: the mounts, and files read below a root folder. */

#include <stdbool.h>
#include <stddef.h>

typedef struct HostFs {
        const char *root;      /* borrowed; "" for the real one, else a folder that stands for / */
        char *mount;           /* of the v2 hierarchy, as seen below root; NULL: there is none */
        char *mount_source;    /* what of the hierarchy is mounted there: "/" if all of it */
        char *options;         /* of the mount and of the hierarchy, ",a,b," */
        char *v1_controllers;  /* that hang in v1 hierarchies, "memory,pids"; "" if none does */
        char *executions_root; /* given, or where the units put it; NULL without a mount */
} HostFs;

/*
 * root is borrowed for the life of ret_host. executions_root NULL: below the mount, where
 * cgtask-executions.service is. -ENOMEM, or -errno if the mounts cannot be read.
 */
int hostfs_probe(const char *root, const char *executions_root, HostFs *ret_host);
void hostfs_deinit(HostFs *host);

/*
 * A file as text; path is absolute and printf-like, root is put before it. At most n - 1 bytes are
 * read. 0 or -errno, here an answer and not a fault.
 */
int hostfs_read(const HostFs *host, char *text, size_t n, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* 0 if it is there, else -errno. */
int hostfs_access(const HostFs *host, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Is option among the mount's? */
bool hostfs_has_option(const HostFs *host, const char *option);

/* Is word in text, which is words separated by spaces, commas or newlines? */
bool hostfs_has_word(const char *text, const char *word);

static inline void hostfs_deinitp(HostFs *host)
{
        hostfs_deinit(host);
}
