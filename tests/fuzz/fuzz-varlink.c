/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What any client may write to the socket: the grammar, and access to every kind of parameter. */

#include "fuzz.h"

#include "varlink.h"

#include "private/cleanup.h"

static void fuzz_parameters(const json_t *parameters)
{
        static const char *const known[] = { "id", "task", "n" };
        const char *text = NULL;
        bool flag = false;
        int64_t n = 7;

        if (varlink_get_text(parameters, "task", &text) == 0 && text)
                (void)varlink_text_is_printable(text);
        (void)varlink_get_bool(parameters, "id", &flag);
        if (varlink_get_integer(parameters, "n", 1, 9, &n) == 0)
                fuzz_assert(n >= 1 && n <= 9);
        (void)varlink_find_unknown(parameters, known, sizeof(known) / sizeof(known[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
        _cleanup_free_ char *text = fuzz_text(data, n);
        _cleanup_free_ char *reply = NULL;
        VarlinkCall call;

        if (!text || varlink_parse_call(text, n, &call) != 0)
                return 0;
        fuzz_assert(call.method && (!call.parameters || json_is_object(call.parameters)));
        fuzz_parameters(call.parameters);
        fuzz_assert(varlink_format_reply(call.method, call.parameters, call.more, &reply) == 0);
        /* One message has one end. */
        fuzz_assert(reply[0] == '{' && reply[strlen(reply) - 1] == '}');
        varlink_call_deinit(&call);
        return 0;
}
