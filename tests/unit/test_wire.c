/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A wire by itself: what it does with the codes of a curl whose connection broke. */
#include "fetcher_fixture.h"

#include "source/tseed_wire.h"

/* What teardown ends, also when an assertion fails: the server waits for its connections. The wire
 * still holds the last transfer then. */
static CURLM *multi;
static tseed_wire_t *wire;
static tseed_transfer_t transfer, next;

static int setup_wire(void **state)
{
    const int code = setup(state);
    const fixture_t *fixture = *state;

    multi = curl_multi_init();
    wire = tseed_wire_create(&fixture->upstream, NULL, NULL);
    return code;
}

static void unload(void)
{
    curl_multi_remove_handle(multi, wire->easy);
    if (wire->transfer) {
        tseed_wire_unload(wire);
    }
}

static int teardown_wire(void **state)
{
    unload();
    tseed_wire_destroy(wire);
    curl_multi_cleanup(multi);
    return teardown(state);
}

static void load(tseed_transfer_t *loaded)
{
    tseed_wire_load(wire, loaded, tseed_clock_monotonic());
    assert_int_equal(curl_multi_add_handle(multi, wire->easy), CURLM_OK);
}

/* Until the wire's request has ended. */
static void carry_out(void)
{
    const apr_time_t end = tseed_clock_monotonic() + TEST_TIMEOUT * APR_USEC_PER_SEC;
    const CURLMsg *message;
    int running, left;

    do {
        assert_true(tseed_clock_monotonic() < end);
        assert_int_equal(curl_multi_perform(multi, &running), CURLM_OK);
        curl_multi_poll(multi, NULL, 0, 100, NULL);
        message = curl_multi_info_read(multi, &left);
    } while (!message);
    assert_int_equal(message->data.result, CURLE_OK);
    tseed_wire_judge(wire, CURLE_OK);
}

/* Nothing of the answer has come: the request goes out again, and that once. */
static void test_wire__sends_again_what_http2_has_lost(void **state)
{
    transfer = ask(*state, "/picture");
    load(&transfer);
    assert_false(tseed_wire_go_on(wire, multi, CURLE_OK));
    assert_false(tseed_wire_go_on(wire, multi, CURLE_RECV_ERROR));
    assert_true(tseed_wire_go_on(wire, multi, CURLE_HTTP2));
    assert_false(tseed_wire_go_on(wire, multi, CURLE_HTTP2));
    carry_out();
    assert_picture(&transfer);
    free(transfer.body);
}

/* The next transfer of the wire may be sent again as well. */
static void test_wire__sends_each_transfer_again(void **state)
{
    transfer = ask(*state, "/picture");
    load(&transfer);
    assert_true(tseed_wire_go_on(wire, multi, CURLE_HTTP2));
    carry_out();
    unload();
    next = ask(*state, "/picture");
    load(&next);
    assert_true(tseed_wire_go_on(wire, multi, CURLE_HTTP2));
    carry_out();
    assert_picture(&next);
    free(transfer.body);
    free(next.body);
}

static void test_wire__does_not_send_again_what_is_answered(void **state)
{
    transfer = ask(*state, "/picture");
    load(&transfer);
    carry_out();
    assert_false(tseed_wire_go_on(wire, multi, CURLE_HTTP2));
    assert_picture(&transfer);
    free(transfer.body);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_wire__##name, setup_wire, teardown_wire)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sends_again_what_http2_has_lost),
        TEST(sends_each_transfer_again),
        TEST(does_not_send_again_what_is_answered),
    };

    return cmocka_run_group_tests(tests, setup_fetchers, teardown_group);
}
