/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which executor is seen, and what it says of the execution. */

#include "environment.h"

#include "private/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define VARIABLES_MAX 8

typedef struct Case {
        const char *variables[VARIABLES_MAX];
        const char *executor; /* NULL: none */
        const char *task;
        const char *labels; /* "key=value;..." */
} Case;

static const Case cases[] = {
        { { "PATH=/bin" }, NULL, NULL, NULL },
        { { NULL }, NULL, NULL, NULL },
        { { "AIRFLOW_CTX_DAG_ID=d", "AIRFLOW_CTX_TASK_ID=t", "AIRFLOW_CTX_DAG_RUN_ID=r",
            "AIRFLOW_CTX_TRY_NUMBER=2", "AIRFLOW_CTX_MAP_INDEX=5" },
          "airflow",
          "d/t",
          "run_id=r;try_number=2;map_index=5;" },
        /* Both markers are needed. */
        { { "AIRFLOW_CTX_DAG_ID=d" }, NULL, NULL, NULL },
        { { "AIRFLOW_CTX_DAG_ID=d", "AIRFLOW_CTX_TASK_ID=" }, NULL, NULL, NULL },
        { { "GITLAB_CI=true", "CI_JOB_ID=7", "CI_JOB_NAME=build", "CI_PROJECT_PATH=g/p",
            "CI_PIPELINE_ID=9" },
          "gitlab",
          "g/p/build",
          "pipeline_id=9;job_id=7;" },
        { { "GITHUB_ACTIONS=true", "GITHUB_REPOSITORY=o/r", "GITHUB_WORKFLOW=CI", "GITHUB_JOB=test",
            "GITHUB_RUN_ID=1", "GITHUB_RUN_ATTEMPT=2" },
          "github",
          "o/r/CI/test",
          "run_id=1;run_attempt=2;" },
        { { "BUILDKITE=true", "BUILDKITE_JOB_ID=j", "BUILDKITE_PIPELINE_SLUG=p",
            "BUILDKITE_STEP_KEY=k", "BUILDKITE_LABEL=l" },
          "buildkite",
          "p/k",
          "job_id=j;" },
        { { "BUILDKITE=true", "BUILDKITE_JOB_ID=j", "BUILDKITE_PIPELINE_SLUG=p",
            "BUILDKITE_STEP_KEY=", "BUILDKITE_LABEL=l", "BUILDKITE_RETRY_COUNT=0" },
          "buildkite",
          "p/l",
          "job_id=j;retry_count=0;" },
        { { "SLURM_JOB_ID=4", "SLURM_JOB_NAME=sim", "SLURM_ARRAY_JOB_ID=3", "SLURM_ARRAY_TASK_ID=1",
            "SLURM_STEP_ID=0" },
          "slurm",
          "sim",
          "job_id=4;step_id=0;array_job_id=3;array_task_id=1;" },
        { { "JOB_NAME=f/j", "BUILD_NUMBER=3", "BUILD_TAG=jenkins-f-j-3", "STAGE_NAME=Test" },
          "jenkins",
          "f/j/Test",
          "build_number=3;build_tag=jenkins-f-j-3;" },
        { { "JOB_NAME=j", "BUILD_NUMBER=3" }, NULL, NULL, NULL },
        /* The first one in the table wins, not the first one in the environment. */
        { { "SLURM_JOB_ID=4", "SLURM_JOB_NAME=sim", "AIRFLOW_CTX_TASK_ID=t",
            "AIRFLOW_CTX_DAG_ID=d" },
          "airflow",
          "d/t",
          "" },
        /* A name is the whole name; a value may hold anything but what no name may hold. */
        { { "SLURM_JOB_IDX=4", "XSLURM_JOB_ID=4", "SLURM_JOB_ID" }, NULL, NULL, NULL },
        { { "SLURM_JOB_ID=a=b", "SLURM_JOB_NAME=\xc3\xa4 \xe2\x82\xac" },
          "slurm",
          "\xc3\xa4 \xe2\x82\xac",
          "job_id=a=b;" },
        { { "SLURM_JOB_ID=4", "SLURM_JOB_NAME=a\nb", "SLURM_STEP_ID=\xff" },
          "slurm",
          NULL,
          "job_id=4;" },
        { { "SLURM_JOB_ID=4",
            "SLURM_JOB_NAME=\xc2\x9b"
            "31m",
            "SLURM_STEP_ID=\x7f" },
          "slurm",
          NULL,
          "job_id=4;" },
};

static void test_each_executor_is_seen(void **state)
{
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                char *environment[VARIABLES_MAX + 1] = { 0 };
                EnvironmentIdentity identity;
                char labels[256] = "";

                for (size_t k = 0; k < VARIABLES_MAX && cases[i].variables[k]; k++)
                        environment[k] = (char *)cases[i].variables[k];

                if (!cases[i].executor) {
                        assert_int_equal(environment_identify(environment, &identity),
                                         ENVIRONMENT_E_NONE);
                        continue;
                }
                assert_int_equal(environment_identify(environment, &identity), 0);
                assert_string_equal(identity.executor, cases[i].executor);
                if (cases[i].task)
                        assert_string_equal(identity.task, cases[i].task);
                else
                        assert_null(identity.task);
                for (size_t k = 0; k < identity.n_labels; k++) {
                        strcat(strcat(labels, identity.labels[k].key), "=");
                        strcat(strcat(labels, identity.labels[k].value), ";");
                }
                assert_string_equal(labels, cases[i].labels);
                environment_identity_deinit(&identity);
                assert_null(identity.task);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_executor_is_seen),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
