/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One line per event. To the journal with fields if stderr is connected to it, else to stderr as
 * "<N>text" for a service manager or "cgtaskd: text" on a terminal. Only main, daemon, api and
 * execution log; everything below returns facts.
 */

#include "private/cleanup.h"

#include <syslog.h>

typedef struct LogFields {
        const char *message_id; /* 32 hex digits, or NULL */
        const char *execution_id;
        const char *task;
        const char *cgroup_path;
        const char *result;
        long long memory_peak; /* bytes; < 0: not known */
        long long uid;         /* < 0: not known */
} LogFields;

#define LOG_FIELDS_NULL ((LogFields){ .memory_peak = -1, .uid = -1 })

/* One MESSAGE_ID per kind of event; the catalog explains them. */
#define LOG_MESSAGE_EXECUTION_FINISHED "6f1dbb1ab9d94ad78b4c6c05f2d0a6f1"
#define LOG_MESSAGE_EXECUTION_OOM "0d6a2e3b1e0f4d7f9c7a5b8e94f3c2d8"
#define LOG_MESSAGE_STORE_FAILED "b7c1f5f0a34e4c1c8a2f6d1e5b907a43"
#define LOG_MESSAGE_DEGRADED "e2a9c46d7f304b3e8f1d0c5a6b7e8f90"

/* Looks once at stderr; max_level is the least important syslog level that is shown. */
void log_setup(int max_level);

void log_write(int level, const LogFields *fields, const char *format, ...) _printf_(3, 4);

#define log_error(...) log_write(LOG_ERR, NULL, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, NULL, __VA_ARGS__)
#define log_notice(...) log_write(LOG_NOTICE, NULL, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, NULL, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, NULL, __VA_ARGS__)
