/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The executions of this host.
 *
 * The registry is the one owner of every Execution, from its creation or adoption until its cgroup
 * has been removed. Others know an execution by its id.
 *
 * Every RecheckSec each live execution is looked at without any event having come: a lost one then
 * costs at most that long. The list is kept in the order of the last look, and the timer takes a
 * tenth of the interval at a time, so that ten thousand are not looked at in one turn of the loop.
 */

#include "registry.h"

#include "private/cleanup.h"
#include "private/clock.h"
#include "private/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <sys/random.h>

#define REGISTRY_SLICES 10

struct Registry {
        ExecutionContext context;
        UserTable *users;
        void *by_id; /* tree of Execution */
        TAILQ_HEAD(RegistryList, Execution) all;
        size_t counts[_EXECUTION_STATE_N];
        LoopSource *recheck_timer;
        void (*change)(void *userdata, Execution *execution, bool is_new);
        void *change_userdata;
};

static int registry_compare(const void *a, const void *b)
{
        const Execution *x = a, *y = b;

        return strcmp(x->id, y->id);
}

Execution *registry_find(const Registry *registry, const char *id)
{
        Execution key = { 0 }, **found;

        if (strlen(id) != WIRE_ID_LENGTH)
                return NULL;
        memcpy(key.id, id, WIRE_ID_LENGTH + 1);
        found = tfind(&key, &registry->by_id, registry_compare);
        return found ? *found : NULL;
}

size_t registry_count_state(const Registry *registry, ExecutionState state)
{
        return registry->counts[state];
}

size_t registry_count_live(const Registry *registry)
{
        return registry->counts[EXECUTION_CREATED] + registry->counts[EXECUTION_RUNNING];
}

size_t registry_count(const Registry *registry)
{
        size_t n = 0;

        for (unsigned i = 0; i < EXECUTION_REMOVED; ++i)
                n += registry->counts[i];
        return n;
}

void registry_on_change(Registry *registry,
                        void (*fn)(void *userdata, Execution *execution, bool is_new),
                        void *userdata)
{
        registry->change = fn;
        registry->change_userdata = userdata;
}

static void registry_tell(const Registry *registry, Execution *e, bool is_new)
{
        if (registry->change)
                registry->change(registry->change_userdata, e, is_new);
}

static void registry_bury(void *object)
{
        (void)execution_free(object);
}

/* Takes the execution out; it is freed after this turn of the loop. */
static int registry_remove(Registry *registry, Execution *e)
{
        User *user;

        (void)tdelete(e, &registry->by_id, registry_compare);
        TAILQ_REMOVE(&registry->all, e, link);
        --registry->counts[e->state];
        if (user_get(registry->users, e->metadata.uid, &user) == 0) {
                if (user->n_executions > 0)
                        --user->n_executions;
                user_forget(registry->users, user);
        }
        return error_fold(loop_reap(registry->context.loop, registry_bury, e));
}

static void registry_on_changed(void *userdata, Execution *e, ExecutionState old)
{
        Registry *registry = userdata;

        if (old == e->state)
                return;
        --registry->counts[old];
        ++registry->counts[e->state];
        if (e->state == EXECUTION_REMOVED)
                loop_report(registry->context.loop, "registry", registry_remove(registry, e));
        registry_tell(registry, e, /* is_new= */ false);
}

static int registry_insert(Registry *registry, Execution *e)
{
        User *user;

        if (user_get(registry->users, e->metadata.uid, &user) < 0 ||
            !tsearch(e, &registry->by_id, registry_compare))
                return error_origin(-ENOMEM);
        ++user->n_executions;
        TAILQ_INSERT_TAIL(&registry->all, e, link);
        ++registry->counts[e->state];
        registry_tell(registry, e, /* is_new= */ true);
        return 0;
}

/* -- creation --------------------------------------------------------------------------------- */

/* UUID version 7 (RFC 9562): 48 bits of milliseconds, then random bits. */
static int registry_make_id(char id[WIRE_ID_LENGTH + 1])
{
        uint64_t ms = clock_realtime_usec() / USEC_PER_MSEC;
        unsigned char u[16];

        if (getrandom(u, sizeof(u), 0) != sizeof(u))
                return error_origin(-errno);
        for (unsigned i = 0; i < 6; ++i)
                u[i] = (unsigned char)(ms >> (40 - 8 * i));
        u[6] = (unsigned char)(0x70 | (u[6] & 0x0f));
        u[8] = (unsigned char)(0x80 | (u[8] & 0x3f));
        for (unsigned i = 0; i < sizeof(u); ++i)
                (void)snprintf(id + 2 * i, 3, "%02x", u[i]);
        return 0;
}

static bool registry_check_quota(const Registry *registry, User *user, RegistryQuota *ret_quota)
{
        const Config *c = registry->context.config;

        if (registry_count(registry) >= c->max_executions)
                *ret_quota = (RegistryQuota){ "MaxExecutions", c->max_executions };
        else if (user->uid != 0 && user->n_executions >= c->max_executions_per_user)
                *ret_quota = (RegistryQuota){ "MaxExecutionsPerUser", c->max_executions_per_user };
        else if (!user_take_token(user, c->max_creates_per_second_per_user))
                *ret_quota = (RegistryQuota){ "MaxCreatesPerSecondPerUser",
                                              c->max_creates_per_second_per_user };
        else
                return true;
        return false;
}

int registry_create(Registry *registry, Metadata *metadata, const ExecutionLimits *limits,
                    Execution **ret_execution, RegistryQuota *ret_quota, int *ret_errno)
{
        char id[WIRE_ID_LENGTH + 1];
        Execution *e;
        User *user;
        int r;

        r = user_get(registry->users, metadata->uid, &user);
        if (r == 0 && !registry_check_quota(registry, user, ret_quota))
                r = REGISTRY_E_QUOTA;
        if (r == 0)
                r = registry_make_id(id);
        if (r) {
                metadata_deinit(metadata);
                return error_fold(r);
        }
        r = execution_create(&registry->context, id, metadata, limits, &e, ret_errno);
        if (r)
                return error_fold(r);
        r = registry_insert(registry, e);
        if (r < 0)
                return error_fold(r); /* no memory for a tree node: the daemon is about to end */
        *ret_execution = e;
        return 0;
}

/* -- adoption --------------------------------------------------------------------------------- */

static bool registry_is_our_name(const char *name)
{
        size_t prefix = strlen(WIRE_CGROUP_PREFIX);

        return strncmp(name, WIRE_CGROUP_PREFIX, prefix) == 0 &&
               strlen(name) == prefix + WIRE_ID_LENGTH &&
               strspn(name + prefix, "0123456789abcdef") == WIRE_ID_LENGTH;
}

static int registry_adopt_one(Registry *registry, const char *name, size_t *n)
{
        Execution *e;
        int r;

        if (registry_find(registry, name + strlen(WIRE_CGROUP_PREFIX)))
                return 0;
        r = execution_adopt(&registry->context, name, &e);
        if (r)
                return r < 0 ? error_fold(r) : 0;
        r = registry_insert(registry, e);
        if (r < 0)
                return error_fold(r);
        ++*n;
        return error_fold(execution_look(e, EXECUTION_LOOK_ALL));
}

int registry_adopt(Registry *registry, size_t *ret_n)
{
        _cleanup_closedir_ DIR *dir = NULL;
        struct dirent *entry;
        size_t n = 0;
        int fd, r;

        fd = openat(hierarchy_root_fd(registry->context.hierarchy), ".",
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return error_origin(-errno);
        dir = fdopendir(fd);
        if (!dir) {
                (void)cleanup_close(fd);
                return error_origin(-ENOMEM);
        }
        while ((entry = readdir(dir))) {
                if (!registry_is_our_name(entry->d_name))
                        continue;
                r = registry_adopt_one(registry, entry->d_name, &n);
                if (r < 0)
                        return error_fold(r);
        }
        *ret_n = n;
        return 0;
}

/* -- looking ---------------------------------------------------------------------------------- */

int registry_for_each(Registry *registry, int (*fn)(void *userdata, Execution *execution),
                      void *userdata)
{
        Execution *e, *next;
        int r;

        for (e = TAILQ_FIRST(&registry->all); e; e = next) {
                next = TAILQ_NEXT(e, link);
                r = fn(userdata, e);
                if (r)
                        return error_fold(r);
        }
        return 0;
}

static int registry_look(void *userdata, Execution *e)
{
        return error_fold(execution_look(e, EXECUTION_LOOK_ALL));
}

int registry_look_at_all(Registry *registry)
{
        return error_fold(registry_for_each(registry, registry_look, NULL));
}

static int registry_arm(Registry *registry)
{
        return error_fold(loop_source_arm(
                registry->recheck_timer, registry->context.config->recheck_usec / REGISTRY_SLICES));
}

static int registry_on_recheck(void *userdata)
{
        Registry *registry = userdata;
        size_t n = registry_count(registry);
        Execution *e;
        int r;

        n = (n + REGISTRY_SLICES - 1) / REGISTRY_SLICES;
        while (n-- > 0 && (e = TAILQ_FIRST(&registry->all))) {
                TAILQ_REMOVE(&registry->all, e, link);
                TAILQ_INSERT_TAIL(&registry->all, e, link);
                r = execution_recheck(e);
                if (r < 0)
                        return error_fold(r);
        }
        return error_fold(registry_arm(registry));
}

int registry_new(const ExecutionContext *context, UserTable *users, Registry **ret_registry)
{
        Registry *registry = calloc(1, sizeof(*registry));
        int r;

        if (!registry)
                return error_origin(-ENOMEM);
        registry->context = *context;
        registry->context.changed = registry_on_changed;
        registry->context.userdata = registry;
        registry->users = users;
        TAILQ_INIT(&registry->all);
        r = loop_add_timer(context->loop, "recheck", LOOP_PRIORITY_KERNEL, registry_on_recheck,
                           registry, &registry->recheck_timer);
        if (r == 0)
                r = registry_arm(registry);
        if (r < 0) {
                (void)registry_free(registry);
                return error_fold(r);
        }
        *ret_registry = registry;
        return 0;
}

static void registry_ignore(void *object)
{
}

Registry *registry_free(Registry *registry)
{
        Execution *e;

        if (!registry)
                return NULL;
        registry->recheck_timer = loop_source_free(registry->recheck_timer);
        loop_bury(registry->context.loop); /* the removed ones lean on our context, too */
        tdestroy(registry->by_id, registry_ignore);
        while ((e = TAILQ_FIRST(&registry->all))) {
                TAILQ_REMOVE(&registry->all, e, link);
                (void)execution_free(e);
        }
        free(registry);
        return NULL;
}
