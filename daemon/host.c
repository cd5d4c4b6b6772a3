/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The identity of this host, this boot and this kernel. */

#include "host.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

/* Mixed into the machine id so that rows cannot be matched with other programs' ids of this host. */
#define HOST_APPLICATION_ID \
        SD_ID128_MAKE(5c, 1d, 0b, 6f, f6, 0e, 4b, 3d, 9a, 51, 27, ce, 6d, 88, 40, 13)

int host_init(Host *host)
{
        sd_id128_t id;
        struct utsname u;
        int r;

        *host = (Host){ 0 };
        r = sd_id128_get_boot(&id);
        if (r < 0)
                return error_origin(r);
        (void)sd_id128_to_string(id, host->boot_id);
        /* a container may have no machine id: then owner stays empty, and is stored as NULL */
        if (sd_id128_get_machine_app_specific(HOST_APPLICATION_ID, &id) >= 0)
                (void)sd_id128_to_string(id, host->owner);
        if (uname(&u) < 0)
                return error_origin(-errno);
        (void)snprintf(host->kernel_release, sizeof(host->kernel_release), "%s", u.release);
        host->ncpu = sysconf(_SC_NPROCESSORS_CONF);
        host->page_size = sysconf(_SC_PAGESIZE);
        return 0;
}
