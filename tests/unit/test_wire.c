/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A wire by itself: what it does with the codes of a curl whose connection broke. */
#include "fetcher_fixture.h"

#include "source/tseed_wire.h"

static tseed_wire_t *load(fixture_t *fixture, CURLM *multi, tseed_transfer_t *transfer)
{
    tseed_wire_t *wire = tseed_wire_create(&fixture->upstream, NULL, NULL);

    tseed_wire_load(wire, transfer, tseed_clock_monotonic());
    assert_int_equal(curl_multi_add_handle(multi, wire->easy), CURLM_OK);
    return wire;
}

/* Until the wire's request has ended; returns curl's code. */
static CURLcode carry_out(CURLM *multi)
{
    CURLMsg *message;
    int running, left;

    do {
        assert_int_equal(curl_multi_perform(multi, &running), CURLM_OK);
        curl_multi_poll(multi, NULL, 0, 100, NULL);
        message = curl_multi_info_read(multi, &left);
    } while (!message);
    return message->data.result;
}

static void unload(CURLM *multi, tseed_wire_t *wire, CURLcode code)
{
    tseed_wire_judge(wire, code);
    curl_multi_remove_handle(multi, wire->easy);
    tseed_wire_unload(wire);
    tseed_wire_destroy(wire);
}

/* Nothing of the answer has come: the request goes out again, and that once. */
static void test_wire__sends_again_what_http2_has_lost(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t transfer = ask(fixture, "/picture");
    CURLM *multi = curl_multi_init();
    tseed_wire_t *wire = load(fixture, multi, &transfer);
    CURLcode code;

    assert_false(tseed_wire_repeat(wire, multi, CURLE_OK));
    assert_false(tseed_wire_repeat(wire, multi, CURLE_RECV_ERROR));
    assert_true(tseed_wire_repeat(wire, multi, CURLE_HTTP2));
    assert_false(tseed_wire_repeat(wire, multi, CURLE_HTTP2));
    code = carry_out(multi);
    assert_int_equal(code, CURLE_OK);
    unload(multi, wire, code);
    assert_picture(&transfer);
    free(transfer.body);
    curl_multi_cleanup(multi);
}

/* The next transfer of the wire may be sent again as well, but not when its answer has begun. */
static void test_wire__does_not_send_again_what_is_answered(void **state)
{
    fixture_t *fixture = *state;
    tseed_transfer_t first = ask(fixture, "/picture"), second = ask(fixture, "/picture");
    CURLM *multi = curl_multi_init();
    tseed_wire_t *wire = load(fixture, multi, &first);

    assert_true(tseed_wire_repeat(wire, multi, CURLE_HTTP2));
    assert_int_equal(carry_out(multi), CURLE_OK);
    curl_multi_remove_handle(multi, wire->easy);
    tseed_wire_unload(wire);
    tseed_wire_load(wire, &second, tseed_clock_monotonic());
    curl_multi_add_handle(multi, wire->easy);
    assert_int_equal(carry_out(multi), CURLE_OK);
    assert_false(tseed_wire_repeat(wire, multi, CURLE_HTTP2));
    unload(multi, wire, CURLE_OK);
    assert_picture(&second);
    free(first.body);
    free(second.body);
    curl_multi_cleanup(multi);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_wire__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sends_again_what_http2_has_lost),
        TEST(does_not_send_again_what_is_answered),
    };

    return cmocka_run_group_tests(tests, setup_fetchers, teardown_group);
}
