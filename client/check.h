/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a host must have for cgtask: each thing looked at, said in one line, with its remedy. */

#include "hostfs.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum CheckState {
        CHECK_OK,
        CHECK_WARN, /* works, but not as well as it could */
        CHECK_FAIL,
        CHECK_SKIP, /* could not be looked at, and why */
} CheckState;

typedef struct Check {
        CheckState state;
        const char *name; /* borrowed, static */
        char *detail;
        const char *remedy; /* borrowed, static; NULL: none needed */
} Check;

typedef struct CheckList {
        Check *checks;
        size_t n_checks;
        size_t n_allocated;
} CheckList;

#define CHECK_LIST_INIT    \
        {                  \
                NULL, 0, 0 \
        }

/* name and remedy are borrowed. -ENOMEM. */
int check_add(CheckList *list, CheckState state, const char *name, const char *remedy,
              const char *format, ...) __attribute__((format(printf, 5, 6)));
void check_list_deinit(CheckList *list);

/* "ok", "warn", "FAIL", "skip". */
const char *check_state_name(CheckState state);

/* All of these add to the list. -ENOMEM. */

/* check.c: the cgroup hierarchy */
int check_hierarchy(const HostFs *host, CheckList *list);
int check_mount_options(const HostFs *host, CheckList *list);
int check_controllers(const HostFs *host, CheckList *list);
int check_namespace(const HostFs *host, CheckList *list);

/* check-kernel.c: what the kernel has */
int check_memory_files(const HostFs *host, CheckList *list);
int check_core_files(const HostFs *host, CheckList *list);
int check_calls(const HostFs *host, CheckList *list);
int check_pressure(const HostFs *host, CheckList *list);
int check_inotify(const HostFs *host, CheckList *list);

/* check-install.c: what the package made of it */
int check_units(const HostFs *host, CheckList *list);
int check_groups(const HostFs *host, CheckList *list);
int check_database(const HostFs *host, const char *path, CheckList *list);

static inline void check_list_deinitp(CheckList *list)
{
        check_list_deinit(list);
}
