/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The socket: who is admitted, who is refused and why, and that the refused ones cost the others
 * nothing. Strangers are children of another uid, which takes root.
 */

#include "listener.h"

#include "peer-fixture.h"
#include "private/wire.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#define STRANGER 54321
#define GROUP_LAUNCH 54400
#define GROUP_READ 54401

typedef struct Fixture {
        char folder[64];
        char path[96];
        Loop *loop;
        Config config;
        AccessGroups groups;
        UserTable *users;
        Listener *listener;
        AccessRights seen; /* of the last call */
        unsigned n_calls;
} Fixture;

static int on_call(void *userdata, Peer *peer, const VarlinkCall *call)
{
        Fixture *f = userdata;

        ++f->n_calls;
        f->seen = peer_get_rights(peer);
        return peer_reply(peer, json_pack("{s:I}", "uid", (json_int_t)peer_get_uid(peer)), false);
}

static int set_up(void **state)
{
        Fixture *f = calloc(1, sizeof(*f));
        PeerHandler handler = { .call = on_call, .userdata = f };
        int fd = -1;

        assert_non_null(f);
        (void)signal(SIGPIPE, SIG_IGN);
        (void)snprintf(f->folder, sizeof(f->folder), "/tmp/cgtask-test-XXXXXX");
        assert_non_null(mkdtemp(f->folder));
        assert_int_equal(chmod(f->folder, 0755), 0);
        (void)snprintf(f->path, sizeof(f->path), "%s/socket", f->folder);
        assert_int_equal(config_init(&f->config), 0);
        f->groups = (AccessGroups){ GROUP_LAUNCH, GROUP_READ };
        assert_int_equal(loop_new(&f->loop), 0);
        assert_int_equal(user_table_new(&f->users), 0);
        assert_int_equal(listener_bind(f->path, &fd), 0);
        assert_int_equal(
                listener_new(f->loop, fd, &f->config, &handler, &f->groups, f->users, &f->listener),
                0);
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        Fixture *f = *state;

        assert_null(listener_free(f->listener));
        f->users = user_table_free(f->users);
        assert_null(loop_free(f->loop));
        config_deinit(&f->config);
        (void)unlink(f->path);
        assert_int_equal(rmdir(f->folder), 0);
        free(f);
        return 0;
}

#define listener_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static int connect_to(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return cleanup_close(fd);
        return fd;
}

static Client *client_connect(Fixture *f)
{
        int fd = connect_to(f->path);

        assert_true(fd >= 0);
        return client_new(fd);
}

#define CALL "{\"method\":\"t.Call\"}"

/* -- the socket -- */

static void test_socket_is_for_everybody(void **state)
{
        Fixture *f = *state;
        struct stat st;

        assert_int_equal(stat(f->path, &st), 0);
        assert_true(S_ISSOCK(st.st_mode));
        assert_int_equal(st.st_mode & 07777, 0666); /* who may is decided at accept */
}

static void test_old_socket_is_replaced_but_no_file(void **state)
{
        Fixture *f = *state;
        char path[128];
        int fd = -1;

        assert_int_equal(listener_bind(f->path, &fd), 0);
        (void)cleanup_close(fd);
        (void)snprintf(path, sizeof(path), "%s/file", f->folder);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        (void)cleanup_close(fd);
        assert_int_equal(listener_bind(path, &fd), -EADDRINUSE);
        assert_int_equal(access(path, F_OK), 0);
        assert_int_equal(unlink(path), 0);
}

static void test_impossible_paths_are_faults(void **state)
{
        char path[200];
        int fd = 4711;

        memset(path, 'x', sizeof(path) - 1);
        path[sizeof(path) - 1] = '\0';
        assert_int_equal(listener_bind(path, &fd), -ENAMETOOLONG);
        assert_int_equal(listener_bind("/nonexistent/socket", &fd), -ENOENT);
        assert_int_equal(fd, 4711);
}

/* -- admission -- */

static void test_clients_come_and_go(void **state)
{
        Fixture *f = *state;
        Client *a, *b;

        if (geteuid() != 0)
                skip();
        a = client_connect(f);
        b = client_connect(f);
        client_send(a, CALL);
        client_send(b, CALL);
        client_expect(a, f->loop, "{\"parameters\":{\"uid\":0}}");
        client_expect(b, f->loop, "{\"parameters\":{\"uid\":0}}");
        assert_true(f->seen.root);
        assert_int_equal(listener_count(f->listener), 2);
        a = client_free(a);
        loop_rest(f->loop);
        assert_int_equal(listener_count(f->listener), 1);
        b = client_free(b);
        loop_rest(f->loop);
        assert_int_equal(listener_count(f->listener), 0);
}

static void test_free_closes_all(void **state)
{
        Fixture *f = *state;
        Client *clients[10];

        for (size_t i = 0; i < N_ELEMENTS(clients); ++i)
                clients[i] = client_connect(f);
        loop_rest(f->loop);
        assert_int_equal(listener_count(f->listener), N_ELEMENTS(clients));
        f->listener = listener_free(f->listener);
        for (size_t i = 0; i < N_ELEMENTS(clients); ++i) {
                client_expect_end(clients[i], f->loop);
                clients[i] = client_free(clients[i]);
        }
        assert_null(listener_free(NULL));
}

static void expect_quota(Fixture *f, Client *c, const char *quota, unsigned limit)
{
        char wanted[256];

        (void)snprintf(wanted, sizeof(wanted),
                       "{\"error\":\"" WIRE_ERROR_QUOTA_EXCEEDED
                       "\",\"parameters\":{\"quota\":\"%s\",\"limit\":%u}}",
                       quota, limit);
        client_send(c, CALL);
        client_expect(c, f->loop, wanted);
        client_expect_end(c, f->loop);
}

static void test_connections_are_bounded(void **state)
{
        Fixture *f = *state;
        Client *a, *b, *c;

        if (geteuid() != 0)
                skip();
        f->config.max_connections = 2;
        a = client_connect(f);
        b = client_connect(f);
        loop_rest(f->loop);
        c = client_connect(f);
        expect_quota(f, c, "MaxConnections", 2);
        c = client_free(c);
        a = client_free(a);
        loop_rest(f->loop);
        c = client_connect(f); /* there is room again */
        client_send(c, CALL);
        client_expect(c, f->loop, "{\"parameters\":{\"uid\":0}}");
        b = client_free(b);
        c = client_free(c);
}

/* -- strangers -- */

/* Becomes somebody else for good, as long as this process lives. */
static void become(uid_t uid, const gid_t *groups, size_t n)
{
        if (setgroups(n, groups) < 0 || setresgid(uid, uid, uid) < 0 ||
            setresuid(uid, uid, uid) < 0)
                _exit(99);
}

/* Runs fn as another user in a child, and the loop in this process until that ends. */
static void run_as(Fixture *f, uid_t uid, const gid_t *groups, size_t n, int (*fn)(Fixture *f))
{
        int status = -1;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                (void)alarm(CLIENT_DEADLINE_SEC);
                become(uid, groups, n);
                _exit(fn(f));
        }
        while (waitpid(pid, &status, WNOHANG) == 0)
                loop_turn(f->loop, EVLOOP_NONBLOCK);
        loop_rest(f->loop);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

/* Sends text and reads until the end or a NUL. */
static bool ask(int fd, const char *text, char *answer, size_t n)
{
        size_t used = 0;

        if (send(fd, text, strlen(text) + 1, MSG_NOSIGNAL) < 0)
                return false;
        while (used < n && recv(fd, answer + used, 1, 0) == 1)
                if (answer[used++] == '\0')
                        return true;
        return false;
}

static int ask_and_be_denied(Fixture *f)
{
        char answer[1024], c;
        int fd = connect_to(f->path);

        if (fd < 0 || !ask(fd, CALL, answer, sizeof(answer)))
                return 1;
        if (!strstr(answer, "\"" WIRE_ERROR_PERMISSION_DENIED "\"") || !strstr(answer, "54321") ||
            !strstr(answer, "usermod -aG cgtask"))
                return 2;
        return recv(fd, &c, 1, 0) == 0 ? 0 : 3; /* and it is closed */
}

static void test_stranger_is_denied_with_a_reason(void **state)
{
        static const gid_t others[] = { 1, 2, 3 };
        Fixture *f = *state;

        if (geteuid() != 0)
                skip();
        run_as(f, STRANGER, others, N_ELEMENTS(others), ask_and_be_denied);
        run_as(f, STRANGER, NULL, 0, ask_and_be_denied);
        assert_int_equal(f->n_calls, 0);
        assert_int_equal(listener_count(f->listener), 0);
}

static int send_rubbish_and_be_denied(Fixture *f)
{
        char answer[1024];
        int fd = connect_to(f->path);

        if (fd < 0 || !ask(fd, "\xff{{{", answer, sizeof(answer)))
                return 1;
        return strstr(answer, WIRE_ERROR_PERMISSION_DENIED) ? 0 : 2;
}

static void test_strangers_bytes_are_not_parsed(void **state)
{
        Fixture *f = *state;

        if (geteuid() != 0)
                skip();
        run_as(f, STRANGER, NULL, 0, send_rubbish_and_be_denied);
}

static int ask_and_be_served(Fixture *f)
{
        char answer[1024];
        int fd = connect_to(f->path);

        if (fd < 0 || !ask(fd, CALL, answer, sizeof(answer)))
                return 1;
        return strcmp(answer, "{\"parameters\":{\"uid\":54321}}") == 0 ? 0 : 2;
}

static void test_groups_decide(void **state)
{
        static const gid_t launch[] = { 7, GROUP_LAUNCH }, read[] = { GROUP_READ },
                           both[] = { GROUP_READ, GROUP_LAUNCH };
        static const gid_t many[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,          12,
                                      13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,          24,
                                      25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,          36,
                                      37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,          48,
                                      49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59,          60,
                                      61, 62, 63, 64, 65, 66, 67, 68, 69, 70, GROUP_LAUNCH };
        Fixture *f = *state;

        if (geteuid() != 0)
                skip();
        run_as(f, STRANGER, launch, N_ELEMENTS(launch), ask_and_be_served);
        assert_true(f->seen.launch && !f->seen.read && !f->seen.root);
        run_as(f, STRANGER, read, N_ELEMENTS(read), ask_and_be_served);
        assert_true(!f->seen.launch && f->seen.read && !f->seen.root);
        run_as(f, STRANGER, both, N_ELEMENTS(both), ask_and_be_served);
        assert_true(f->seen.launch && f->seen.read && !f->seen.root);
        run_as(f, STRANGER, many, N_ELEMENTS(many),
               ask_and_be_served); /* more than one look finds */
        assert_true(f->seen.launch);
}

static int use_up_own_quota(Fixture *f)
{
        char answer[1024];
        int fds[3];

        for (size_t i = 0; i < N_ELEMENTS(fds); ++i) {
                bool refused = i == 2;

                fds[i] = connect_to(f->path);
                if (fds[i] < 0 || !ask(fds[i], CALL, answer, sizeof(answer)))
                        return 1;
                if (!strstr(answer, "MaxConnectionsPerUser") == refused)
                        return 2;
        }
        return 0;
}

static void test_connections_of_one_user_are_bounded(void **state)
{
        static const gid_t launch[] = { GROUP_LAUNCH };
        Fixture *f = *state;
        Client *root[3];

        if (geteuid() != 0)
                skip();
        f->config.max_connections_per_user = 2;
        run_as(f, STRANGER, launch, 1, use_up_own_quota);
        run_as(f, STRANGER, launch, 1, use_up_own_quota); /* they were given back */
        for (size_t i = 0; i < N_ELEMENTS(root); ++i) {   /* root is exempt */
                root[i] = client_connect(f);
                client_send(root[i], CALL);
                client_expect(root[i], f->loop, "{\"parameters\":{\"uid\":0}}");
        }
        for (size_t i = 0; i < N_ELEMENTS(root); ++i)
                root[i] = client_free(root[i]);
}

static int connect_and_stay_silent(Fixture *f)
{
        size_t n_open = 0;
        char c;

        for (unsigned i = 0; i < 200; ++i) {
                int fd = connect_to(f->path);

                if (fd < 0)
                        return 1;
                /* the last one of those who are closed unheard proves that all were accepted */
                if (i == 199 && recv(fd, &c, 1, 0) != 0)
                        return 2;
                ++n_open;
        }
        return n_open == 200 ? 0 : 3;
}

static int crowd_and_wait(Fixture *f)
{
        int r = connect_and_stay_silent(f);

        (void)kill(getpid(), SIGSTOP); /* with all of them open */
        return r;
}

/* Strangers may fill the waiting room, not the places of others. */
static void test_strangers_do_not_crowd_out_others(void **state)
{
        Fixture *f = *state;
        int status = -1;
        Client *c;
        pid_t pid;

        if (geteuid() != 0)
                skip();
        f->config.max_connections = 2;
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)alarm(CLIENT_DEADLINE_SEC);
                become(STRANGER, NULL, 0);
                _exit(crowd_and_wait(f));
        }
        while (waitpid(pid, &status, WNOHANG | WUNTRACED) == 0)
                loop_turn(f->loop, EVLOOP_NONBLOCK);
        assert_true(WIFSTOPPED(status));
        loop_rest(f->loop);
        assert_int_equal(listener_count(f->listener), 64);
        c = client_connect(f);
        client_send(c, CALL);
        client_expect(c, f->loop, "{\"parameters\":{\"uid\":0}}");
        c = client_free(c);
        assert_int_equal(kill(pid, SIGCONT), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        loop_rest(f->loop);
        assert_int_equal(listener_count(f->listener), 0);
}

/* -- descriptors -- */

static void test_want_of_descriptors_pauses(void **state)
{
        Fixture *f = *state;
        struct rlimit before, none;
        Client *c;

        if (geteuid() != 0)
                skip();
        c = client_connect(f);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        none = (struct rlimit){ (rlim_t)c->fd + 1, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        loop_rest(f->loop);
        assert_true(listener_is_paused(f->listener));
        assert_int_equal(listener_count(f->listener), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        client_send(c, CALL);
        client_expect(c, f->loop, "{\"parameters\":{\"uid\":0}}"); /* nobody is lost */
        assert_false(listener_is_paused(f->listener));
        c = client_free(c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                listener_test(test_socket_is_for_everybody),
                listener_test(test_old_socket_is_replaced_but_no_file),
                cmocka_unit_test(test_impossible_paths_are_faults),
                listener_test(test_clients_come_and_go),
                listener_test(test_free_closes_all),
                listener_test(test_connections_are_bounded),
                listener_test(test_stranger_is_denied_with_a_reason),
                listener_test(test_strangers_bytes_are_not_parsed),
                listener_test(test_groups_decide),
                listener_test(test_connections_of_one_user_are_bounded),
                listener_test(test_strangers_do_not_crowd_out_others),
                listener_test(test_want_of_descriptors_pauses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
