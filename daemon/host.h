/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who this owner is and what machine it runs on: read once at start. */

typedef struct Host {
        char owner[33]; /* machine id made specific to cgtask, 32 hex digits; "" if there is none */
        char boot_id[33]; /* 32 hex digits */
        char kernel_release[128];
        long ncpu;      /* configured processors: the error bound of memory.peak */
        long page_size; /* bytes */
} Host;

/* <0: no boot id can be had, and without it no cgroup can be told from one of another boot. */
int host_init(Host *host);
