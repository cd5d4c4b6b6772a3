/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Framing, deadlines, and what a broken or hostile other end can do. */

#include "wire.h"

#include "private/cleanup.h"
#include "private/wire.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#define SHORT_USEC 20000

/* One end of a socket pair as a Wire; the other end is ours. */
static int pair(Wire *wire)
{
        int fds[2];

        *wire = WIRE_NULL;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        wire->fd = fds[0];
        wire->deadline_usec = wire_now() + 10 * 1000000;
        return fds[1];
}

static void put(int fd, const char *bytes, size_t n)
{
        assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

static json_int_t receive_a(Wire *wire)
{
        json_t *message = NULL;
        json_int_t a;

        assert_int_equal(wire_receive(wire, &message), 0);
        a = json_integer_value(json_object_get(message, "a"));
        json_decref(message);
        return a;
}

static void test_messages_in_one_piece_come_out_one_by_one(void **state)
{
        Wire wire;
        int fd = pair(&wire);

        put(fd, "{\"a\":1}\0{\"a\":2}\0{\"a\"", 20);
        assert_int_equal(receive_a(&wire), 1);
        assert_int_equal(receive_a(&wire), 2);
        put(fd, ":3}\0", 4);
        assert_int_equal(receive_a(&wire), 3);
        wire_close(&wire);
        close(fd);
}

typedef struct Writer {
        int fd;
        size_t n;
} Writer;

/* {"a":7,"b":"xxx..."} of n bytes, sent byte by byte at both ends. */
static void *write_long(void *userdata)
{
        static const char head[] = "{\"a\":7,\"b\":\"", tail[] = "\"}";
        Writer *w = userdata;
        size_t n_body = w->n - strlen(head) - strlen(tail);
        char *body = malloc(n_body);

        memset(body, 'x', n_body);
        for (size_t i = 0; i < strlen(head); i++)
                (void)!send(w->fd, head + i, 1, MSG_NOSIGNAL);
        for (size_t i = 0; i < n_body;) {
                ssize_t k = send(w->fd, body + i, n_body - i, MSG_NOSIGNAL);

                if (k < 0)
                        break;
                i += (size_t)k;
        }
        for (size_t i = 0; i < sizeof(tail); i++)
                (void)!send(w->fd, tail + i, 1, MSG_NOSIGNAL);
        free(body);
        return NULL;
}

static void test_a_long_message_arrives_in_pieces(void **state)
{
        const size_t sizes[] = { 4095, 4096, 4097, 8191, 8192, 100000, WIRE_REPLY_MAX };

        for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
                pthread_t thread;
                Writer writer;
                Wire wire;

                writer = (Writer){ .fd = pair(&wire), .n = sizes[i] };
                assert_int_equal(pthread_create(&thread, NULL, write_long, &writer), 0);
                assert_int_equal(receive_a(&wire), 7);
                assert_int_equal(wire.n_buffer, 0);
                assert_int_equal(pthread_join(thread, NULL), 0);
                wire_close(&wire);
                close(writer.fd);
        }
}

static void test_a_longer_message_is_refused(void **state)
{
        json_t *message = NULL;
        pthread_t thread;
        Writer writer;
        Wire wire;

        writer = (Writer){ .fd = pair(&wire), .n = WIRE_REPLY_MAX + 1 };
        assert_int_equal(pthread_create(&thread, NULL, write_long, &writer), 0);
        assert_int_equal(wire_receive(&wire, &message), WIRE_E_TOO_LONG);
        assert_null(message);
        assert_true(wire.n_allocated <= WIRE_REPLY_MAX + 4096);
        wire_close(&wire);
        assert_int_equal(pthread_join(thread, NULL), 0);
        close(writer.fd);
}

static void test_what_is_not_an_object_is_malformed(void **state)
{
        static const char *const bad[] = {
                "",
                "[]",
                "7",
                "null",
                "{",
                "{}x",
                "{\"a\":1,\"a\":2}",
                "{'a':1}",
                "{a:1}",
                "{\"a\":NaN}",
                "{\"a\":1,}",
                "\xff",
                "{\"a\":\"\xff\"}",
                "{\"a\":\"\\u0000\"}",
                "{\"a\":99999999999999999999}",
                "\"text\"",
        };

        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                json_t *message = NULL;
                Wire wire;
                int fd = pair(&wire);

                put(fd, bad[i], strlen(bad[i]) + 1);
                assert_int_equal(wire_receive(&wire, &message), WIRE_E_MALFORMED);
                assert_null(message);
                wire_close(&wire);
                close(fd);
        }
}

static void test_deep_nesting_is_malformed(void **state)
{
        static char deep[200000];
        json_t *message = NULL;
        Wire wire;
        int fd = pair(&wire);

        memset(deep, '[', sizeof(deep) - 1);
        memcpy(deep, "{\"a\":", 5);
        put(fd, deep, sizeof(deep));
        assert_int_equal(wire_receive(&wire, &message), WIRE_E_MALFORMED);
        wire_close(&wire);
        close(fd);
}

static void test_an_end_in_the_middle_is_closed(void **state)
{
        json_t *message = NULL;
        Wire wire;
        int fd = pair(&wire);

        put(fd, "{\"a\":1}", 7);
        close(fd);
        assert_int_equal(wire_receive(&wire, &message), WIRE_E_CLOSED);
        assert_int_equal(wire_receive(&wire, &message), WIRE_E_CLOSED);
        wire_close(&wire);
}

static void test_silence_meets_the_deadline(void **state)
{
        json_t *message = NULL;
        Wire wire;
        int fd = pair(&wire);
        uint64_t begun = wire_now();

        put(fd, "{\"a\":", 5);
        wire.deadline_usec = begun + SHORT_USEC;
        assert_int_equal(wire_receive(&wire, &message), WIRE_E_TIMEOUT);
        assert_true(wire_now() - begun >= SHORT_USEC);
        /* A deadline that has passed does not even begin to wait. */
        assert_int_equal(wire_receive(&wire, &message), WIRE_E_TIMEOUT);
        wire_close(&wire);
        close(fd);
}

static json_t *long_message(void)
{
        json_t *message = json_object();
        static char text[3000000];

        memset(text, 'y', sizeof(text) - 1);
        json_object_set_new(message, "b", json_string(text));
        return message;
}

static void *read_all(void *userdata)
{
        int fd = *(int *)userdata;
        static char buffer[7777];
        size_t total = 0;
        ssize_t k;

        while ((k = read(fd, buffer, sizeof(buffer))) > 0)
                total += (size_t)k;
        return (void *)total;
}

static void test_a_message_longer_than_the_socket_holds_is_sent_whole(void **state)
{
        json_t *message = long_message();
        pthread_t thread;
        void *total;
        Wire wire;
        int fd = pair(&wire);

        assert_int_equal(pthread_create(&thread, NULL, read_all, &fd), 0);
        assert_int_equal(wire_send(&wire, message), 0);
        wire_close(&wire);
        assert_int_equal(pthread_join(thread, &total), 0);
        assert_int_equal((size_t)total, 2999999 + strlen("{\"b\":\"\"}") + 1);
        json_decref(message);
        close(fd);
}

static void test_a_peer_that_does_not_read_meets_the_deadline(void **state)
{
        json_t *message = long_message();
        Wire wire;
        int fd = pair(&wire);

        wire.deadline_usec = wire_now() + SHORT_USEC;
        assert_int_equal(wire_send(&wire, message), WIRE_E_TIMEOUT);
        json_decref(message);
        wire_close(&wire);
        close(fd);
}

/* S12: refused before it was read. SIGPIPE would end this program. */
static void test_a_reply_left_behind_is_read_after_a_failed_write(void **state)
{
        json_t *message = json_object();
        Wire wire;
        int fd = pair(&wire);

        put(fd, "{\"a\":5}\0", 8);
        close(fd);
        assert_int_equal(wire_send(&wire, message), WIRE_E_CLOSED);
        assert_int_equal(receive_a(&wire), 5);
        json_decref(message);
        wire_close(&wire);
}

static void test_connect_says_what_is_wrong(void **state)
{
        char directory[] = "/tmp/test-wire.XXXXXX", path[64], long_path[200];
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        Wire wire = WIRE_NULL;
        int fd;

        assert_non_null(mkdtemp(directory));
        snprintf(path, sizeof(path), "%s/s", directory);
        assert_int_equal(wire_connect(&wire, path), -ENOENT);

        memset(long_path, 'x', sizeof(long_path));
        long_path[sizeof(long_path) - 1] = 0;
        assert_int_equal(wire_connect(&wire, long_path), -ENAMETOOLONG);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        strcpy(address.sun_path, path);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(wire_connect(&wire, path), -ECONNREFUSED);
        assert_int_equal(wire.fd, -1);

        /* A listener that accepts nothing: its queue holds one. */
        assert_int_equal(listen(fd, 0), 0);
        assert_int_equal(wire_connect(&wire, path), 0);
        {
                Wire second = WIRE_NULL;

                second.deadline_usec = wire_now() + SHORT_USEC;
                assert_int_equal(wire_connect(&second, path), WIRE_E_TIMEOUT);
                assert_int_equal(second.fd, -1);
        }
        wire_close(&wire);
        close(fd);
        unlink(path);
        rmdir(directory);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_messages_in_one_piece_come_out_one_by_one),
                cmocka_unit_test(test_a_long_message_arrives_in_pieces),
                cmocka_unit_test(test_a_longer_message_is_refused),
                cmocka_unit_test(test_what_is_not_an_object_is_malformed),
                cmocka_unit_test(test_deep_nesting_is_malformed),
                cmocka_unit_test(test_an_end_in_the_middle_is_closed),
                cmocka_unit_test(test_silence_meets_the_deadline),
                cmocka_unit_test(test_a_message_longer_than_the_socket_holds_is_sent_whole),
                cmocka_unit_test(test_a_peer_that_does_not_read_meets_the_deadline),
                cmocka_unit_test(test_a_reply_left_behind_is_read_after_a_failed_write),
                cmocka_unit_test(test_connect_says_what_is_wrong),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
