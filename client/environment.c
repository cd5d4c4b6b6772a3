/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Who an execution is, from the variables that executors set for their jobs.
 *
 * One table, in the order in which they are looked for: what usually runs inside the other comes
 * first (an Airflow task on a Slurm node is an Airflow task). The task is what stays the same from
 * run to run, so that its executions can be compared; what differs goes into labels. cgexec-task(1)
 * shows the same table.
 */

#include "environment.h"

#include "display.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define ENVIRONMENT_MARKERS_MAX 2
#define ENVIRONMENT_PARTS_MAX 3

typedef struct EnvironmentExecutor {
        const char *name;
        const char *markers[ENVIRONMENT_MARKERS_MAX]; /* present if all of them are set */
        struct {
                const char *variable;
                const char *instead; /* if variable is not set */
        } task[ENVIRONMENT_PARTS_MAX];
        struct {
                const char *key;
                const char *variable;
        } labels[ENVIRONMENT_LABELS_MAX];
} EnvironmentExecutor;

static const EnvironmentExecutor environment_executors[] = {
        {
                .name = "airflow",
                .markers = { "AIRFLOW_CTX_DAG_ID", "AIRFLOW_CTX_TASK_ID" },
                .task = { { "AIRFLOW_CTX_DAG_ID" }, { "AIRFLOW_CTX_TASK_ID" } },
                .labels = { { "run_id", "AIRFLOW_CTX_DAG_RUN_ID" },
                            { "try_number", "AIRFLOW_CTX_TRY_NUMBER" },
                            { "map_index", "AIRFLOW_CTX_MAP_INDEX" } },
        },
        {
                .name = "gitlab",
                .markers = { "GITLAB_CI", "CI_JOB_ID" },
                .task = { { "CI_PROJECT_PATH" }, { "CI_JOB_NAME" } },
                .labels = { { "pipeline_id", "CI_PIPELINE_ID" }, { "job_id", "CI_JOB_ID" } },
        },
        {
                .name = "github",
                .markers = { "GITHUB_ACTIONS", "GITHUB_RUN_ID" },
                .task = { { "GITHUB_REPOSITORY" }, { "GITHUB_WORKFLOW" }, { "GITHUB_JOB" } },
                .labels = { { "run_id", "GITHUB_RUN_ID" },
                            { "run_attempt", "GITHUB_RUN_ATTEMPT" } },
        },
        {
                .name = "buildkite",
                .markers = { "BUILDKITE", "BUILDKITE_JOB_ID" },
                .task = { { "BUILDKITE_PIPELINE_SLUG" },
                          { "BUILDKITE_STEP_KEY", "BUILDKITE_LABEL" } },
                .labels = { { "build_number", "BUILDKITE_BUILD_NUMBER" },
                            { "job_id", "BUILDKITE_JOB_ID" },
                            { "retry_count", "BUILDKITE_RETRY_COUNT" } },
        },
        {
                .name = "slurm",
                .markers = { "SLURM_JOB_ID" },
                .task = { { "SLURM_JOB_NAME" } },
                .labels = { { "job_id", "SLURM_JOB_ID" },
                            { "step_id", "SLURM_STEP_ID" },
                            { "array_job_id", "SLURM_ARRAY_JOB_ID" },
                            { "array_task_id", "SLURM_ARRAY_TASK_ID" },
                            { "restart_count", "SLURM_RESTART_COUNT" } },
        },
        {
                .name = "jenkins",
                .markers = { "JOB_NAME", "BUILD_TAG" },
                .task = { { "JOB_NAME" }, { "STAGE_NAME" } },
                .labels = { { "build_number", "BUILD_NUMBER" }, { "build_tag", "BUILD_TAG" } },
        },
};

/* A text that the daemon takes for a name. */
static bool environment_is_plain(const char *text)
{
        uint32_t c;
        size_t n;

        while ((n = display_decode(text, &c)) > 0) {
                if (c < 0x20 || (c >= 0x7f && c <= 0x9f))
                        return false;
                text += n;
        }
        return *text == 0;
}

/* The value of name, NULL if it is not set or of no use. */
static const char *environment_get(char *const environment[], const char *name)
{
        size_t n;

        if (!name)
                return NULL;
        n = strlen(name);
        for (size_t i = 0; environment[i]; i++) {
                const char *value = environment[i] + n + 1;

                if (strncmp(environment[i], name, n) != 0 || environment[i][n] != '=')
                        continue;
                return *value && environment_is_plain(value) ? value : NULL;
        }
        return NULL;
}

static bool environment_has(char *const environment[], const EnvironmentExecutor *executor)
{
        for (size_t i = 0; i < ENVIRONMENT_MARKERS_MAX; i++)
                if (executor->markers[i] && !environment_get(environment, executor->markers[i]))
                        return false;
        return true;
}

static int environment_join_task(char *const environment[], const EnvironmentExecutor *executor,
                                 char **ret_task)
{
        _cleanup_free_ char *task = NULL;
        const char *part;
        char *longer;

        for (size_t i = 0; i < ENVIRONMENT_PARTS_MAX; i++) {
                part = environment_get(environment, executor->task[i].variable);
                if (!part)
                        part = environment_get(environment, executor->task[i].instead);
                if (!part)
                        continue;
                if (asprintf(&longer, "%s%s%s", task ? task : "", task ? "/" : "", part) < 0)
                        return error_origin(-ENOMEM);
                free(task);
                task = longer;
        }
        *ret_task = TAKE_PTR(task);
        return 0;
}

static void environment_add_labels(char *const environment[], const EnvironmentExecutor *executor,
                                   EnvironmentIdentity *identity)
{
        const char *value;

        for (size_t i = 0; i < ENVIRONMENT_LABELS_MAX && executor->labels[i].key; i++) {
                value = environment_get(environment, executor->labels[i].variable);
                if (!value)
                        continue;
                identity->labels[identity->n_labels].key = executor->labels[i].key;
                identity->labels[identity->n_labels].value = value;
                identity->n_labels++;
        }
}

int environment_identify(char *const environment[], EnvironmentIdentity *ret_identity)
{
        EnvironmentIdentity identity = { 0 };
        int r;

        for (size_t i = 0; i < N_ELEMENTS(environment_executors); i++) {
                const EnvironmentExecutor *executor = &environment_executors[i];

                if (!environment_has(environment, executor))
                        continue;
                r = environment_join_task(environment, executor, &identity.task);
                if (r < 0)
                        return error_fold(r);
                environment_add_labels(environment, executor, &identity);
                identity.executor = executor->name;
                *ret_identity = identity;
                return 0;
        }
        return ENVIRONMENT_E_NONE;
}

void environment_identity_deinit(EnvironmentIdentity *identity)
{
        free(identity->task);
        *identity = (EnvironmentIdentity){ 0 };
}
