/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The xattr of an execution: struct to JSON and back.
 *
 * One table names each member once. Numbers beyond 2^63-1 (only "infinite" is one) are left out and
 * come back as the default. A member that an older daemon did not write comes back as the default
 * too; one that a newer daemon wrote is ignored: either may find the other's cgroups.
 */

#include "metadata.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* X(kind, member) */
#define METADATA_MEMBERS(X)                \
        X(TEXT, task)                      \
        X(TEXT, labels)                    \
        X(TEXT, attempt_of)                \
        X(TEXT, command)                   \
        X(INTEGER, uid)                    \
        X(INTEGER, gid)                    \
        X(INTEGER, stragglers_usec)        \
        X(INTEGER, created_usec)           \
        X(INTEGER, created_monotonic_usec) \
        X(INTEGER, started_usec)           \
        X(INTEGER, started_monotonic_usec) \
        X(INTEGER, runner_pid)             \
        X(INTEGER, runner_start)           \
        X(INTEGER, supervisor_pid)         \
        X(INTEGER, supervisor_start)       \
        X(TEXT, origin)                    \
        X(FLAG, partial)                   \
        X(TEXT, partial_reason)            \
        X(FLAG, has_ancestor_ooms)         \
        X(INTEGER, ancestor_ooms)          \
        X(INTEGER, exit_status)            \
        X(INTEGER, runner_max_rss_bytes)

void metadata_deinit(Metadata *metadata)
{
#define METADATA_DEINIT_TEXT(member) free(metadata->member);
#define METADATA_DEINIT_INTEGER(member)
#define METADATA_DEINIT_FLAG(member)
#define METADATA_DEINIT(kind, member) METADATA_DEINIT_##kind(member)
        METADATA_MEMBERS(METADATA_DEINIT)
        *metadata = METADATA_NULL;
}

static void metadata_freep(Metadata *metadata)
{
        metadata_deinit(metadata);
}

static void metadata_json_decref(json_t **json)
{
        json_decref(*json);
}

/* Leaves out what has its default, so that a typical xattr is about 300 bytes. */
static int metadata_put_text(json_t *o, const char *key, const char *value)
{
        json_t *v;

        if (!value)
                return 0;
        v = json_string(value);
        if (v)
                return json_object_set_new(o, key, v);
        /* no memory; or no UTF-8, which the name of a cgroup need not be: that is left out */
        v = json_stringn_nocheck(value, strlen(value));
        json_decref(v);
        return v ? 0 : -1;
}

static int metadata_put_integer(json_t *o, const char *key, uint64_t value)
{
        if (value == 0 || value > INT64_MAX)
                return 0;
        return json_object_set_new(o, key, json_integer((json_int_t)value));
}

int metadata_encode(const Metadata *metadata, char **ret_text)
{
        _cleanup_(metadata_json_decref) json_t *o = json_object();
        char *text;
        int failed = 0;

        if (!o)
                return error_origin(-ENOMEM);
#define METADATA_PUT_TEXT(member) failed |= metadata_put_text(o, #member, metadata->member);
#define METADATA_PUT_INTEGER(member) \
        failed |= metadata_put_integer(o, #member, (uint64_t)metadata->member);
#define METADATA_PUT_FLAG(member) \
        failed |= metadata->member ? json_object_set_new(o, #member, json_true()) : 0;
#define METADATA_PUT(kind, member) METADATA_PUT_##kind(member)
        METADATA_MEMBERS(METADATA_PUT)
        if (metadata->stragglers_usec == 0) /* "kill": not the default, so it has to be said */
                failed |= json_object_set_new(o, "stragglers_usec", json_integer(0));
        if (metadata->runner_max_rss_bytes == 0)
                failed |= json_object_set_new(o, "runner_max_rss_bytes", json_integer(0));
        if (metadata->exit != VERDICT_EXIT_UNKNOWN)
                failed |= metadata_put_text(o, "exit", verdict_exit_name(metadata->exit));
        text = failed ? NULL : json_dumps(o, JSON_COMPACT);
        if (!text)
                return error_origin(-ENOMEM);
        *ret_text = text;
        return 0;
}

static int metadata_take_text(const json_t *o, const char *key, char **ret)
{
        const json_t *v = json_object_get(o, key);
        char *copy;

        if (!v)
                return 0;
        if (!json_is_string(v))
                return METADATA_E_INVALID;
        copy = strdup(json_string_value(v));
        if (!copy)
                return error_origin(-ENOMEM);
        *ret = copy;
        return 0;
}

static int metadata_take_integer(const json_t *o, const char *key, int64_t *value)
{
        const json_t *v = json_object_get(o, key);

        if (!v)
                return 0;
        if (!json_is_integer(v))
                return METADATA_E_INVALID;
        *value = json_integer_value(v);
        return 0;
}

static int metadata_decode_object(const json_t *o, Metadata *m)
{
        const char *exit;
        int r;

#define METADATA_TAKE_TEXT(member)                      \
        r = metadata_take_text(o, #member, &m->member); \
        if (r)                                          \
                return error_fold(r);
#define METADATA_TAKE_INTEGER(member)                          \
        {                                                      \
                int64_t value = (int64_t)m->member;            \
                                                               \
                r = metadata_take_integer(o, #member, &value); \
                if (r)                                         \
                        return error_fold(r);                  \
                m->member = (__typeof__(m->member))value;      \
                if ((int64_t)m->member != value)               \
                        return METADATA_E_INVALID;             \
        }
#define METADATA_TAKE_FLAG(member) m->member = json_is_true(json_object_get(o, #member));
#define METADATA_TAKE(kind, member) METADATA_TAKE_##kind(member)
        METADATA_MEMBERS(METADATA_TAKE)
        exit = json_string_value(json_object_get(o, "exit"));
        if (exit && !verdict_exit_from_name(exit, &m->exit))
                return METADATA_E_INVALID;
        return 0;
}

int metadata_decode(const char *text, Metadata *ret_metadata)
{
        _cleanup_(metadata_json_decref) json_t *o = NULL;
        _cleanup_(metadata_freep) Metadata m = METADATA_NULL;
        int r;

        o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(o))
                return METADATA_E_INVALID;
        r = metadata_decode_object(o, &m);
        if (r)
                return error_fold(r);
        *ret_metadata = m;
        m = METADATA_NULL;
        return 0;
}
