/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * cgtaskctl kill: ends executions, or sends them a signal.
 *
 * All ids are looked up before anything is sent, so a mistyped one does not leave half of the work
 * done. SIGKILL is asked for as "all at once": the kernel then also gets the processes that are
 * being forked meanwhile, which no loop over pids does.
 */

#include "ctl.h"
#include "human.h"
#include "sources.h"

#include "private/error.h"

#include <errno.h>
#include <signal.h>

static int find_all(const Sources *sources, int argc, char *argv[], RecordList *list)
{
        ExecutionRecord record;
        int i, r;

        for (i = 0; i < argc; i++) {
                r = sources_find(sources, argv[i], true, &record);
                if (r == 0)
                        r = record_list_add(list, &record);
                if (r != 0)
                        return error_fold(r);
        }
        return 0;
}

int ctl_kill(const Ctl *ctl, int argc, char *argv[])
{
        _cleanup_(record_list_deinitp) RecordList list = RECORD_LIST_INIT;
        _cleanup_(sources_closep) Sources sources = SOURCES_INIT;
        int status = CTL_EXIT_OK;
        size_t i;
        int r;

        r = sources_open_daemon(ctl, &sources);
        if (r == 0)
                r = find_all(&sources, argc, argv, &list);
        if (r != 0)
                return r < 0 ? error_fold(r) : CTL_EXIT_FAILED;

        for (i = 0; i < list.n_records; i++) {
                r = cgtask_kill(sources.client, list.records[i].id,
                                ctl->signal == SIGKILL ? 0 : ctl->signal);
                if (r < 0)
                        status = ctl_error("%s: %s", list.records[i].id,
                                           cgtask_client_error(sources.client));
        }
        return status;
}
