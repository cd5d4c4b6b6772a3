/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Telling the daemon how a task ended.
 *
 * The connection that made the execution stays open for that: as long as it is, the daemon knows
 * that a status will follow, and waits for it. The daemon may be away at that moment: restarted, upgraded, killed. It finds the execution again by
 * itself; only the exit status would be lost, so the report is sent until it is answered, for ten
 * seconds. An answered error is final, unless it says that the daemon is not ready yet.
 */

#include "finish.h"

#include "wire.h"

#include "private/error.h"
#include "private/wire.h"

#include <string.h>
#include <time.h>

#define FINISH_PAUSE_FIRST_USEC 20000
#define FINISH_PAUSE_MAX_USEC 500000
#define FINISH_LONG_WAIT_USEC 1000000 /* a daemon that answered nothing for so long was alive */

static void finish_pause(uint64_t usec)
{
        struct timespec ts = { .tv_sec = (time_t)(usec / 1000000),
                               .tv_nsec = (long)(usec % 1000000 * 1000) };

        (void)nanosleep(&ts, NULL);
}

static bool finish_is_final(const cgtask_client *client)
{
        const char *name = cgtask_client_error_name(client);

        return name && strcmp(name, WIRE_ERROR_NOT_READY) != 0 &&
               strcmp(name, WIRE_ERROR_STORE_UNAVAILABLE) != 0;
}

/* One attempt. <0 with the client's error set. */
static int finish_try(cgtask_client *client, const FinishReport *report, uint64_t deadline_usec,
                      cgtask_execution **ret_execution)
{
        uint64_t now = wire_now();
        int r;

        cgtask_client_set_timeout(client, deadline_usec > now ? deadline_usec - now : 1);
        r = cgtask_client_connect(client);
        if (r < 0)
                return error_fold(r);
        if (report->wait_drained)
                cgtask_client_set_timeout(client, 0);
        return error_fold(cgtask_finish(client, report->id, report->status, report->max_rss_bytes,
                                        report->wait_drained, ret_execution));
}

int finish_send(cgtask_client *client, const FinishReport *report, cgtask_execution **ret_execution)
{
        uint64_t deadline = wire_now() + FINISH_PATIENCE_USEC, pause = FINISH_PAUSE_FIRST_USEC;
        uint64_t begun;

        for (;;) {
                begun = wire_now();
                if (finish_try(client, report, deadline, ret_execution) == 0)
                        return 0;
                if (wire_now() - begun > FINISH_LONG_WAIT_USEC && report->wait_drained)
                        deadline = wire_now() + FINISH_PATIENCE_USEC;
                if (finish_is_final(client) || wire_now() + pause >= deadline)
                        return FINISH_E_FAILED;
                finish_pause(pause);
                pause = pause * 2 > FINISH_PAUSE_MAX_USEC ? FINISH_PAUSE_MAX_USEC : pause * 2;
        }
}
