/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One connection against hostile clients: framing, order, bounds, and who is told of its end. The
 * handler is the test's; it answers by the method's name.
 */

#include "peer.h"

#include "peer-fixture.h"
#include "private/wire.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#define MESSAGE_BYTES 4096
#define OUTPUT_BYTES 16384

typedef struct Fixture {
        Loop *loop;
        Config config;
        AccessGroups groups;
        Peer *peer;
        Client *client;
        PeerPending pending;
        char trace[256]; /* first letters of the methods, and what happened */
        size_t n_chunks; /* of t.Stream, still to be sent */
        int fault;
} Fixture;

static void note(Fixture *f, char letter)
{
        size_t n = strlen(f->trace);

        if (n + 1 < sizeof(f->trace))
                f->trace[n] = letter;
}

static void on_cancel(PeerPending *pending)
{
        note((Fixture *)((char *)pending - offsetof(Fixture, pending)), '!');
}

static json_t *chunk(void)
{
        char text[1024];

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        return json_pack("{s:s}", "x", text);
}

/* Keeps its object in use after each answer, as a listing does. */
static int stream(Fixture *f, Peer *peer, bool careful)
{
        while (f->n_chunks > 0) {
                int r;

                if (careful && peer_is_congested(peer))
                        return 0;
                --f->n_chunks;
                r = peer_reply(peer, chunk(), true);
                if (r < 0)
                        return r;
        }
        peer_set_pending(peer, NULL);
        return peer_reply(peer, NULL, false);
}

static int on_writable(PeerPending *pending, Peer *peer)
{
        Fixture *f = (Fixture *)((char *)pending - offsetof(Fixture, pending));

        note(f, 'w');
        return stream(f, peer, true);
}

static int on_call(void *userdata, Peer *peer, const VarlinkCall *call)
{
        Fixture *f = userdata;
        const char *name = strrchr(call->method, '.');

        name = name ? name + 1 : call->method;
        note(f, *name);
        f->pending = (PeerPending){ .cancel = on_cancel };
        if (strcmp(name, "Echo") == 0)
                return peer_reply(peer, json_incref(call->parameters), false);
        if (strcmp(name, "Fail") == 0)
                return -EBADF;
        if (strcmp(name, "Close") == 0) {
                peer_close(peer);
                return peer_reply(peer, NULL, false);
        }
        if (strcmp(name, "Make") == 0) {
                assert_int_equal(peer_add_made(peer, "m"), 0);
                return peer_reply(peer, NULL, false);
        }
        peer_set_pending(peer, &f->pending);
        if (strcmp(name, "Stream") == 0) {
                f->pending.writable = on_writable;
                return stream(f, peer, true);
        }
        if (strcmp(name, "Burst") == 0)
                return stream(f, peer, false);
        return 0; /* Wait: answered by the test */
}

static int on_gone(void *userdata, Peer *peer)
{
        Fixture *f = userdata;

        note(f, '-');
        while (peer_first_made(peer)) {
                note(f, 'm');
                peer_remove_made(peer, peer_first_made(peer)->id);
        }
        return 0;
}

static void on_closed(void *userdata)
{
        Fixture *f = userdata;

        note(f, '.');
        f->peer = NULL;
}

static void on_fault(void *userdata, const char *source, int r)
{
        ((Fixture *)userdata)->fault = r;
}

static int set_up(void **state)
{
        Fixture *f = calloc(1, sizeof(*f));
        PeerHandler handler = { .call = on_call,
                                .gone = on_gone,
                                .userdata = f,
                                .closed = on_closed,
                                .closed_userdata = f };
        int fds[2];

        assert_non_null(f);
        (void)signal(SIGPIPE, SIG_IGN);
        assert_int_equal(config_init(&f->config), 0);
        f->config.max_message_bytes = MESSAGE_BYTES;
        f->config.max_pending_output_bytes = OUTPUT_BYTES;
        f->groups = (AccessGroups){ (gid_t)-1, (gid_t)-1 };
        assert_int_equal(loop_new(&f->loop), 0);
        loop_on_fault(f->loop, on_fault, f);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
                         0);
        f->client = client_new(fds[0]);
        assert_int_equal(peer_new(f->loop, fds[1], &f->config, &handler, &f->groups, &f->peer), 0);
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        Fixture *f = *state;

        if (f->peer)
                peer_close(f->peer);
        assert_null(loop_free(f->loop));
        f->client = client_free(f->client);
        config_deinit(&f->config);
        free(f);
        return 0;
}

#define peer_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

#define ECHO(n) "{\"method\":\"t.Echo\",\"parameters\":{\"n\":" #n "}}"
#define ECHOED(n) "{\"parameters\":{\"n\":" #n "}}"
#define WAIT "{\"method\":\"t.Wait\"}"
#define EMPTY "{\"parameters\":{}}"

static void test_credentials_are_those_of_the_other_end(void **state)
{
        Fixture *f = *state;
        AccessRights rights = peer_get_rights(f->peer);
        int fd = -1;
        struct pollfd p;

        assert_int_equal(peer_get_uid(f->peer), geteuid());
        assert_int_equal(peer_get_gid(f->peer), getegid());
        assert_int_equal(peer_get_pid(f->peer), getpid());
        assert_int_equal(rights.root, geteuid() == 0);
        assert_int_equal(rights.launch, geteuid() == 0);
        assert_int_equal(peer_open_process(f->peer, &fd), 0);
        p = (struct pollfd){ .fd = fd, .events = POLLIN };
        assert_int_equal(poll(&p, 1, 0), 0); /* a pidfd of somebody alive */
        (void)cleanup_close(fd);
}

static void test_call_is_answered(void **state)
{
        Fixture *f = *state;

        client_send(f->client, ECHO(1));
        client_expect(f->client, f->loop, ECHOED(1));
        client_send(f->client, ECHO(2));
        client_expect(f->client, f->loop, ECHOED(2));
        client_expect_silence(f->client, f->loop);
        assert_string_equal(f->trace, "EE");
}

static void test_bytes_may_come_one_by_one(void **state)
{
        static const char text[] = ECHO(1) "\0" ECHO(2);
        Fixture *f = *state;

        for (size_t i = 0; i < sizeof(text); ++i) {
                client_send_bytes(f->client, text + i, 1);
                loop_turn(f->loop, EVLOOP_NONBLOCK);
        }
        client_expect(f->client, f->loop, ECHOED(1));
        client_expect(f->client, f->loop, ECHOED(2));
        client_expect_silence(f->client, f->loop);
}

static void test_pipelined_calls_are_answered_in_order(void **state)
{
        static const char text[] = ECHO(1) "\0" WAIT "\0" ECHO(2) "\0" WAIT "\0" ECHO(3);
        Fixture *f = *state;

        client_send_bytes(f->client, text, sizeof(text));
        client_expect(f->client, f->loop, ECHOED(1));
        client_expect_silence(f->client, f->loop);
        assert_string_equal(f->trace, "EW"); /* the third waits for the second's answer */
        assert_int_equal(peer_reply(f->peer, json_pack("{s:i}", "w", 1), false), 0);
        client_expect(f->client, f->loop, "{\"parameters\":{\"w\":1}}");
        client_expect(f->client, f->loop, ECHOED(2));
        client_expect_silence(f->client, f->loop);
        assert_string_equal(f->trace, "EWEW");
        assert_int_equal(peer_error(f->peer, "t.Sorry", NULL), 0);
        client_expect(f->client, f->loop, "{\"error\":\"t.Sorry\",\"parameters\":{}}");
        client_expect(f->client, f->loop, ECHOED(3));
        assert_string_equal(f->trace, "EWEWE");
}

static void test_many_pipelined_calls(void **state)
{
        enum { N = 3000 };
        Fixture *f = *state;
        size_t n_answers = 0;

        for (unsigned i = 0; i < N; ++i) {
                client_send(f->client, ECHO(1));
                if (i % 50 == 49)
                        loop_rest(f->loop);
                while (i % 50 == 49 && n_answers <= i) {
                        client_expect(f->client, f->loop, ECHOED(1));
                        ++n_answers;
                }
        }
        assert_int_equal(n_answers, N);
        client_expect_silence(f->client, f->loop);
}

static void test_oneway_gets_no_reply(void **state)
{
        Fixture *f = *state;

        client_send(f->client, "{\"method\":\"t.Echo\",\"oneway\":true}");
        client_send(f->client, "{\"method\":\"t.Wait\",\"oneway\":true}");
        loop_rest(f->loop);
        assert_int_equal(peer_error(f->peer, "t.Sorry", NULL), 0);
        client_send(f->client, ECHO(3));
        client_expect(f->client, f->loop, ECHOED(3));
        client_expect_silence(f->client, f->loop);
        assert_string_equal(f->trace, "EWE");
}

static void test_malformed_message_closes(void **state)
{
        Fixture *f = *state;

        client_send(f->client, ECHO(1));
        client_send(f->client, "{\"method\":\"t.Echo\",\"bogus\":1}");
        client_send(f->client, ECHO(2));
        client_expect(f->client, f->loop, ECHOED(1));
        client_expect_end(f->client, f->loop);
        assert_string_equal(f->trace, "E-.");
}

static void test_empty_message_closes(void **state)
{
        Fixture *f = *state;

        client_send(f->client, "");
        client_expect_end(f->client, f->loop);
        assert_string_equal(f->trace, "-.");
}

/* Binary rubbish of all lengths around the limit; each needs a connection of its own. */
static void test_rubbish_closes_without_a_call(void **state)
{
        Fixture *f = *state;
        char bytes[256];

        for (size_t i = 0; i < sizeof(bytes); ++i)
                bytes[i] = (char)(255 - i); /* the last one is NUL */
        client_send_bytes(f->client, bytes, sizeof(bytes));
        client_expect_end(f->client, f->loop);
        assert_string_equal(f->trace, "-.");
}

/* A call of n bytes with its NUL not counted. */
static void send_long(Fixture *f, size_t n, bool terminated)
{
        static const char begin[] = "{\"method\":\"t.Echo\",\"parameters\":{\"n\":1,\"x\":\"";
        char text[4 * MESSAGE_BYTES];

        memset(text, 'x', sizeof(text));
        memcpy(text, begin, strlen(begin));
        memcpy(text + n - 3, "\"}}", 4);
        client_send_bytes(f->client, text, terminated ? n + 1 : n);
}

static void expect_too_long(Fixture *f)
{
        client_expect(f->client, f->loop,
                      "{\"error\":\"" WIRE_ERROR_QUOTA_EXCEEDED
                      "\",\"parameters\":{\"quota\":\"MaxMessageBytes\",\"limit\":4096}}");
        client_expect_end(f->client, f->loop);
}

static void test_longest_message_is_accepted(void **state)
{
        Fixture *f = *state;
        json_t *answer;

        send_long(f, MESSAGE_BYTES, true);
        answer = client_wait(f->client, f->loop);
        assert_non_null(json_object_get(answer, "parameters"));
        json_decref(answer);
        client_expect_silence(f->client, f->loop);
        assert_string_equal(f->trace, "E");
}

static void test_oversized_message_is_refused(void **state)
{
        Fixture *f = *state;

        send_long(f, MESSAGE_BYTES + 1, true);
        expect_too_long(f);
        assert_string_equal(f->trace, "-.");
}

static void test_oversized_message_is_refused_before_its_end(void **state)
{
        Fixture *f = *state;

        send_long(f, 3 * MESSAGE_BYTES, false);
        expect_too_long(f);
        assert_string_equal(f->trace, "-.");
}

/* The limit of an old connection stays: its buffer was made for it. */
static void test_limit_is_that_of_the_beginning(void **state)
{
        Fixture *f = *state;

        f->config.max_message_bytes = 1 << 20;
        send_long(f, MESSAGE_BYTES + 1, true);
        expect_too_long(f);
}

static void test_input_is_bounded_while_a_call_waits(void **state)
{
        Fixture *f = *state;

        client_send(f->client, WAIT);
        send_long(f, MESSAGE_BYTES, true);
        send_long(f, MESSAGE_BYTES, true);
        client_expect_silence(f->client, f->loop);
        assert_int_equal(peer_reply(f->peer, NULL, false), 0);
        client_expect(f->client, f->loop, EMPTY);
        json_decref(client_wait(f->client, f->loop));
        json_decref(client_wait(f->client, f->loop));
        assert_string_equal(f->trace, "WEE");
}

static void test_half_closed_client_gets_its_answers(void **state)
{
        Fixture *f = *state;

        client_send(f->client, ECHO(1));
        client_send(f->client, WAIT);
        client_send(f->client, ECHO(2));
        assert_int_equal(shutdown(f->client->fd, SHUT_WR), 0);
        client_expect(f->client, f->loop, ECHOED(1));
        client_expect_silence(f->client, f->loop);
        assert_string_equal(f->trace, "EW-");
        assert_int_equal(peer_reply(f->peer, NULL, false), 0);
        client_expect(f->client, f->loop, EMPTY);
        client_expect(f->client, f->loop, ECHOED(2));
        client_expect_end(f->client, f->loop);
        assert_string_equal(f->trace, "EW-E.");
}

static void test_half_closed_idle_client_is_closed(void **state)
{
        Fixture *f = *state;

        assert_int_equal(shutdown(f->client->fd, SHUT_WR), 0);
        client_expect_end(f->client, f->loop);
        assert_string_equal(f->trace, "-.");
}

static void test_half_message_and_end_is_closed(void **state)
{
        Fixture *f = *state;

        client_send_bytes(f->client, "{\"meth", 6);
        loop_rest(f->loop);
        assert_int_equal(shutdown(f->client->fd, SHUT_WR), 0);
        client_expect_end(f->client, f->loop);
        assert_string_equal(f->trace, "-.");
}

static void test_end_of_the_client_cancels_what_waits(void **state)
{
        Fixture *f = *state;

        client_send(f->client, WAIT);
        client_send(f->client, ECHO(1)); /* too late to matter */
        loop_rest(f->loop);
        f->client = client_free(f->client);
        loop_rest(f->loop);
        assert_string_equal(f->trace, "W-!.");
        assert_null(f->peer);
}

/* A call that was sent before the end makes something after it: somebody has to hear of that. */
static void test_made_after_the_end_is_told_at_the_close(void **state)
{
        Fixture *f = *state;

        client_send(f->client, "{\"method\":\"t.Make\"}");
        client_send(f->client, WAIT);
        client_send(f->client, "{\"method\":\"t.Make\"}");
        assert_int_equal(shutdown(f->client->fd, SHUT_WR), 0);
        loop_rest(f->loop);
        assert_string_equal(f->trace, "MW-m");
        assert_int_equal(peer_reply(f->peer, NULL, false), 0);
        loop_rest(f->loop);
        assert_string_equal(f->trace, "MW-mM-m.");
}

static void test_made_ones_are_remembered_and_forgotten(void **state)
{
        Fixture *f = *state;

        assert_null(peer_first_made(f->peer));
        assert_int_equal(peer_add_made(f->peer, "a"), 0);
        assert_int_equal(peer_add_made(f->peer, "b"), 0);
        peer_remove_made(f->peer, "c");
        peer_remove_made(f->peer, "b");
        assert_string_equal(peer_first_made(f->peer)->id, "a");
        peer_remove_made(f->peer, "a");
        assert_null(peer_first_made(f->peer));
        assert_int_equal(peer_add_made(f->peer, "left over"), 0); /* freed with the peer */
}

static void test_answer_of_a_closed_peer_is_dropped(void **state)
{
        Fixture *f = *state;

        client_send(f->client, "{\"method\":\"t.Close\"}");
        client_send(f->client, ECHO(1));
        client_expect_end(f->client, f->loop);
        assert_string_equal(f->trace, "C-.");
}

static void test_stream_goes_at_the_clients_pace(void **state)
{
        enum { N = 400 };
        Fixture *f = *state;
        int size = 4096;
        size_t n = 0;

        assert_int_equal(setsockopt(f->client->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
        f->n_chunks = N;
        client_send(f->client, "{\"method\":\"t.Stream\",\"more\":true}");
        loop_rest(f->loop);
        assert_true(f->n_chunks > N / 4); /* not all of it is buffered for a client that sleeps */
        for (;;) {
                json_t *answer = client_wait(f->client, f->loop);
                bool more = json_is_true(json_object_get(answer, "continues"));

                json_decref(answer);
                if (!more)
                        break;
                ++n;
        }
        assert_int_equal(n, N);
        assert_non_null(strchr(f->trace, 'w'));
        assert_null(strchr(f->trace, '!'));
}

/* The peer must not be closed under a producer without manners, whose object is still in use. */
static void test_client_that_does_not_read_is_dropped(void **state)
{
        Fixture *f = *state;

        f->n_chunks = 1000;
        client_send(f->client, "{\"method\":\"t.Burst\",\"more\":true}");
        loop_rest(f->loop);
        client_receive(f->client);
        assert_true(f->client->ended);
        assert_true(f->client->n < 300 * 1024);
        assert_null(f->peer);
        assert_int_equal(f->fault, 0);
}

/* It is dropped between two answers; the next turn ends it, and cancels what is pending. */
static void test_dropped_client_cancels_what_is_pending(void **state)
{
        Fixture *f = *state;

        client_send(f->client, WAIT);
        loop_rest(f->loop);
        for (unsigned i = 0; i < 1000; ++i)
                assert_int_equal(peer_reply(f->peer, chunk(), true), 0);
        assert_non_null(f->peer);
        assert_string_equal(f->trace, "W");
        loop_rest(f->loop);
        assert_null(f->peer);
        assert_string_equal(f->trace, "W-!.");
}

static void test_refused_client_is_told_why_whatever_it_says(void **state)
{
        static const char *const cases[] = { ECHO(1), "rubbish", "", "{\"method\":\"t.Echo\"" };
        json_t *parameters = json_pack("{s:s}", "reason", "no");

        for (size_t i = 0; i < N_ELEMENTS(cases); ++i) {
                Fixture *f;

                assert_int_equal(set_up((void **)&f), 0);
                peer_refuse(f->peer, "t.Denied", parameters);
                client_expect_silence(f->client, f->loop);
                client_send(f->client, cases[i]);
                client_expect(f->client, f->loop,
                              "{\"error\":\"t.Denied\",\"parameters\":{\"reason\":\"no\"}}");
                client_expect_end(f->client, f->loop);
                assert_string_equal(f->trace, "-."); /* nothing of it was parsed */
                assert_int_equal(tear_down((void **)&f), 0);
        }
        json_decref(parameters);
}

static void test_refused_client_is_told_once(void **state)
{
        Fixture *f = *state;

        peer_refuse(f->peer, "t.Denied", NULL);
        client_send(f->client, ECHO(1));
        client_send(f->client, ECHO(2));
        client_expect(f->client, f->loop, "{\"error\":\"t.Denied\",\"parameters\":{}}");
        client_expect_end(f->client, f->loop);
}

/* It must not hold its descriptor until the deadline. */
static void test_refused_client_that_leaves_is_closed(void **state)
{
        Fixture *f = *state;

        peer_refuse(f->peer, "t.Denied", NULL);
        client_send_bytes(f->client, "xxx", 3);
        loop_rest(f->loop);
        assert_non_null(f->peer);
        f->client = client_free(f->client);
        loop_rest(f->loop);
        assert_null(f->peer);
        assert_string_equal(f->trace, "-.");
}

static void test_fault_of_the_handler_is_reported(void **state)
{
        Fixture *f = *state;

        client_send(f->client, "{\"method\":\"t.Fail\"}");
        loop_rest(f->loop);
        assert_int_equal(f->fault, -EBADF);
}

static void test_close_twice_is_once(void **state)
{
        Fixture *f = *state;
        Peer *peer = f->peer;

        peer_close(peer);
        peer_close(peer);
        assert_string_equal(f->trace, "-.");
        client_expect_end(f->client, f->loop);
}

static void test_no_socket_is_a_fault(void **state)
{
        Fixture *f = *state;
        PeerHandler handler = { .call = on_call, .closed = on_closed, .closed_userdata = f };
        Peer *peer = NULL;
        int fds[2];

        assert_int_equal(pipe(fds), 0);
        assert_int_equal(peer_new(f->loop, fds[0], &f->config, &handler, &f->groups, &peer),
                         -ENOTSOCK);
        assert_null(peer);
        assert_int_equal(close(fds[0]), -1); /* it was taken over */
        assert_int_equal(close(fds[1]), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                peer_test(test_credentials_are_those_of_the_other_end),
                peer_test(test_call_is_answered),
                peer_test(test_bytes_may_come_one_by_one),
                peer_test(test_pipelined_calls_are_answered_in_order),
                peer_test(test_many_pipelined_calls),
                peer_test(test_oneway_gets_no_reply),
                peer_test(test_malformed_message_closes),
                peer_test(test_empty_message_closes),
                peer_test(test_rubbish_closes_without_a_call),
                peer_test(test_longest_message_is_accepted),
                peer_test(test_oversized_message_is_refused),
                peer_test(test_oversized_message_is_refused_before_its_end),
                peer_test(test_limit_is_that_of_the_beginning),
                peer_test(test_input_is_bounded_while_a_call_waits),
                peer_test(test_half_closed_client_gets_its_answers),
                peer_test(test_half_closed_idle_client_is_closed),
                peer_test(test_half_message_and_end_is_closed),
                peer_test(test_end_of_the_client_cancels_what_waits),
                peer_test(test_made_after_the_end_is_told_at_the_close),
                peer_test(test_made_ones_are_remembered_and_forgotten),
                peer_test(test_answer_of_a_closed_peer_is_dropped),
                peer_test(test_stream_goes_at_the_clients_pace),
                peer_test(test_client_that_does_not_read_is_dropped),
                peer_test(test_dropped_client_cancels_what_is_pending),
                cmocka_unit_test(test_refused_client_is_told_why_whatever_it_says),
                peer_test(test_refused_client_is_told_once),
                peer_test(test_refused_client_that_leaves_is_closed),
                peer_test(test_fault_of_the_handler_is_reported),
                peer_test(test_close_twice_is_once),
                peer_test(test_no_socket_is_a_fault),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
