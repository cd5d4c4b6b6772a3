/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CGTASK_H
#define CGTASK_H

/*
 * libcgtask: ask cgtaskd to account for executions.
 *
 * Every call blocks until the daemon has answered or the client's deadline has passed. Calls return
 * 0 (or what is said) on success and a negative errno on failure; cgtask_client_error() then has
 * one line for people. Output parameters are untouched on failure. Texts handed out by getters
 * belong to their object. A client is not for two threads at once. SIGPIPE is never raised.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CGTASK_API_VERSION 1

/* One connection to the daemon. */
typedef struct cgtask_client cgtask_client;
/* What Create is asked for. */
typedef struct cgtask_request cgtask_request;
/* One execution, as the daemon described it. */
typedef struct cgtask_execution cgtask_execution;

/* client.c */

/*
 * Makes a client; nothing is connected yet. path NULL: $CGTASK_SOCKET, else the well-known socket.
 * -ENOMEM, -ENAMETOOLONG.
 */
int cgtask_client_new(const char *path, cgtask_client **ret_client);

/* Closes the connection; accepts NULL; always returns NULL. Executions go on. */
cgtask_client *cgtask_client_free(cgtask_client *client);

/*
 * From now on all calls together may take this long, in microseconds; 0 takes the deadline away.
 * A call that meets the deadline gives -ETIMEDOUT and closes the connection.
 */
void cgtask_client_set_timeout(cgtask_client *client, uint64_t usec);

/* One line about the last failed call, without a newline; "" before any failure. Never NULL. */
const char *cgtask_client_error(const cgtask_client *client);

/*
 * The Varlink error name of the last failed call ("io.cgtask.Executions.NotYours"), or NULL when
 * the failure was not an answer of the daemon (no daemon, no memory, deadline, broken connection).
 */
const char *cgtask_client_error_name(const cgtask_client *client);

/* Connects if not connected. -ENOENT, -ECONNREFUSED, -EACCES, -ETIMEDOUT, ... as connect(2). */
int cgtask_client_connect(cgtask_client *client);

/* request.c */

/* An empty request: attach false, no limits. -ENOMEM. */
int cgtask_request_new(cgtask_request **ret_request);
cgtask_request *cgtask_request_free(cgtask_request *request);

/*
 * Texts are copied; NULL takes one away. -EINVAL if it is not UTF-8, -ENOMEM.
 * Logical task key: UTF-8, no control characters, at most 255 bytes (the daemon decides).
 */
int cgtask_request_set_task(cgtask_request *request, const char *task);
/* Adds or replaces one label. */
int cgtask_request_set_label(cgtask_request *request, const char *key, const char *value);
/*
 * argv of the command, NULL-terminated; the daemon stores argv[0] unless configured otherwise. Any
 * bytes may be in it; what is not UTF-8 is replaced, and what goes beyond 8 KiB is left out.
 */
int cgtask_request_set_command(cgtask_request *request, char *const argv[]);
/* Id of the first attempt when this is a retry. */
int cgtask_request_set_attempt_of(cgtask_request *request, const char *id);
/* "wait", "kill", or a time span such as "10s" after which stragglers are killed. */
int cgtask_request_set_stragglers(cgtask_request *request, const char *policy);
/* true: the daemon moves the calling process in before it answers. */
void cgtask_request_set_attach(cgtask_request *request, bool attach);
/*
 * Limits in bytes; pids_max in processes; oom_group false = only the victim dies. More than 2^63-1
 * counts as 2^63-1.
 */
void cgtask_request_set_memory_max(cgtask_request *request, uint64_t bytes);
void cgtask_request_set_memory_high(cgtask_request *request, uint64_t bytes);
void cgtask_request_set_swap_max(cgtask_request *request, uint64_t bytes);
void cgtask_request_set_pids_max(cgtask_request *request, uint64_t n);
void cgtask_request_set_oom_group(cgtask_request *request, bool oom_group);

/*
 * Create. *ret_id (32 hex digits) and *ret_cgroup_path (absolute) are the caller's to free();
 * either may be NULL if not wanted. -ETIMEDOUT, -ECONNRESET, -EREMOTEIO for an error answered by
 * the daemon (see cgtask_client_error_name()), -EPROTO or -EMSGSIZE for an answer that makes no
 * sense, else as cgtask_client_connect().
 *
 * While the client that made an execution stays connected, the daemon waits for its Finish. When it
 * goes, the daemon expects none any more, and drops an execution that nothing was attached to.
 */
int cgtask_create(cgtask_client *client, const cgtask_request *request, char **ret_id,
                  char **ret_cgroup_path);

/* method.c */

/* Attach: moves pid (0 = the caller) into the execution and makes it the runner. As Create. */
int cgtask_attach(cgtask_client *client, const char *id, pid_t pid);
/* Release: moves the caller back to the cgroup it came from. */
int cgtask_release(cgtask_client *client, const char *id);

/*
 * Finish: tells how the runner ended. wait_status is what waitpid(2) gave, or -1 if not known;
 * runner_max_rss_bytes is ru_maxrss in bytes, or -1. With wait_drained the answer comes after the
 * last process has gone and the row is durable. *ret_execution may be NULL if not wanted.
 */
int cgtask_finish(cgtask_client *client, const char *id, int wait_status,
                  int64_t runner_max_rss_bytes, bool wait_drained,
                  cgtask_execution **ret_execution);

/* Kill: sends signal (0 = SIGKILL to all at once, safe against forks) to the execution. */
int cgtask_kill(cgtask_client *client, const char *id, int signal);
/* Get: one execution, live or recorded. */
int cgtask_get(cgtask_client *client, const char *id, cgtask_execution **ret_execution);

/*
 * List: calls fn once for each execution that matches; NULL filters (uid -1) match all; state NULL
 * means live ones. fn returns 0 to go on; anything else ends the listing and is returned.
 */
int cgtask_list(cgtask_client *client, const char *task, const char *state, int64_t uid,
                int (*fn)(const cgtask_execution *execution, void *userdata), void *userdata);

/* GetStatus: a JSON object as text, the caller's to free(). */
int cgtask_get_status(cgtask_client *client, char **ret_json);

/* Drain (root only): no new executions; those still alive after grace_usec are killed. */
int cgtask_drain(cgtask_client *client, uint64_t grace_usec, int64_t *ret_drained,
                 int64_t *ret_killed);

/* answer.c */

/* Accepts NULL; always returns NULL. */
cgtask_execution *cgtask_execution_free(cgtask_execution *execution);

/*
 * One member by its name on the wire ("memoryPeakBytes", "result"). -ENODATA if it is null or
 * absent, -EINVAL if it is of another type. get_integer gives 0 or 1 for a boolean.
 */
int cgtask_execution_get_text(const cgtask_execution *execution, const char *member,
                              const char **ret_text);
int cgtask_execution_get_integer(const cgtask_execution *execution, const char *member,
                                 int64_t *ret_value);
/* The whole object as JSON text, the caller's to free(). */
int cgtask_execution_to_json(const cgtask_execution *execution, char **ret_json);

#ifdef __cplusplus
}
#endif

#endif
