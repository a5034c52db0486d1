/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Expositions: both texts against ones written by hand, and the choice between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <apr_strings.h>

#include "pool_fixture.h"
#include "protocol/tseed_exposition.h"

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const tseed_family_t apples = {"shop_apples", TSEED_METRIC_COUNTER, "", "Apples sold."};
static const tseed_family_t weight = {"shop_weight_bytes", TSEED_METRIC_GAUGE, "bytes", "All."};
static const tseed_family_t build = {"shop_build", TSEED_METRIC_INFO, "", "Versions."};
static const tseed_family_t times = {"shop_seconds", TSEED_METRIC_HISTOGRAM, "seconds", "Waits."};

/* Three waits of 1 ms, 5 ms and 2 s, and one of a minute. */
static const apr_interval_time_t bounds[] = {250, 5000, 2500000};
static const uint64_t buckets[] = {0, 2, 1, 1};

static const char *write_shop(tseed_exposition_format_t format)
{
    tseed_exposition_t text = tseed_exposition_begin(format, pool);
    apr_size_t length;
    const char *written;

    tseed_exposition_family(&text, &apples);
    tseed_exposition_count(&text, LABELS("kind", "red", "size", "big"), UINT64_MAX);
    tseed_exposition_count(&text, NULL, 0);
    tseed_exposition_family(&text, &weight);
    tseed_exposition_number(&text, NULL, -7);
    tseed_exposition_real(&text, LABELS("a", "b"), 0.5);
    tseed_exposition_time(&text, LABELS("a", "c"), 1700000000250000);
    tseed_exposition_family(&text, &build);
    tseed_exposition_number(&text, LABELS("version", "1.0"), 1);
    tseed_exposition_family(&text, &times);
    tseed_exposition_histogram(&text, LABELS("till", "1"), bounds, 3, buckets, 62006000);
    tseed_exposition_histogram(&text, NULL, bounds, 1, buckets, 0);
    written = tseed_exposition_end(&text, &length);
    assert_int_equal(strlen(written), length);
    return written;
}

static void test_exposition__text(void **state)
{
    (void)state;
    assert_string_equal(write_shop(TSEED_EXPOSITION_TEXT),
                        "# HELP shop_apples_total Apples sold.\n"
                        "# TYPE shop_apples_total counter\n"
                        "shop_apples_total{kind=\"red\",size=\"big\"} 18446744073709551615\n"
                        "shop_apples_total 0\n"
                        "# HELP shop_weight_bytes All.\n"
                        "# TYPE shop_weight_bytes gauge\n"
                        "shop_weight_bytes -7\n"
                        "shop_weight_bytes{a=\"b\"} 0.5\n"
                        "shop_weight_bytes{a=\"c\"} 1700000000.25\n"
                        "# HELP shop_build_info Versions.\n"
                        "# TYPE shop_build_info gauge\n"
                        "shop_build_info{version=\"1.0\"} 1\n"
                        "# HELP shop_seconds Waits.\n"
                        "# TYPE shop_seconds histogram\n"
                        "shop_seconds_bucket{till=\"1\",le=\"0.00025\"} 0\n"
                        "shop_seconds_bucket{till=\"1\",le=\"0.005\"} 2\n"
                        "shop_seconds_bucket{till=\"1\",le=\"2.5\"} 3\n"
                        "shop_seconds_bucket{till=\"1\",le=\"+Inf\"} 4\n"
                        "shop_seconds_sum{till=\"1\"} 62.006\n"
                        "shop_seconds_count{till=\"1\"} 4\n"
                        "shop_seconds_bucket{le=\"0.00025\"} 0\n"
                        "shop_seconds_bucket{le=\"+Inf\"} 2\n"
                        "shop_seconds_sum 0.0\n"
                        "shop_seconds_count 2\n");
}

/* The same but for what the head comment of the header lists. */
static void test_exposition__openmetrics(void **state)
{
    const char *text = write_shop(TSEED_EXPOSITION_OPENMETRICS);

    (void)state;
    assert_non_null(strstr(text, "# HELP shop_apples Apples sold.\n"
                                 "# TYPE shop_apples counter\n"
                                 "shop_apples_total{kind=\"red\""));
    assert_non_null(strstr(text, "# TYPE shop_weight_bytes gauge\n"
                                 "# UNIT shop_weight_bytes bytes\n"
                                 "shop_weight_bytes -7\n"));
    assert_non_null(strstr(text, "# TYPE shop_build info\n"
                                 "shop_build_info{version=\"1.0\"} 1\n"));
    assert_non_null(strstr(text, "# TYPE shop_seconds histogram\n# UNIT shop_seconds seconds\n"));
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
    assert_null(strstr(text, "_created"));
}

static const char *value_of(const char *label)
{
    tseed_exposition_t text = tseed_exposition_begin(TSEED_EXPOSITION_TEXT, pool);
    apr_size_t length;

    text.family = &apples;
    tseed_exposition_count(&text, LABELS("l", label), 1);
    return tseed_exposition_end(&text, &length);
}

static void test_exposition__labels(void **state)
{
    static const struct {
        const char *label, *written;
    } rows[] = {
        {"", ""},
        {"topp:states", "topp:states"},
        {"a\"b", "a\\\"b"},
        {"a\\b\\", "a\\\\b\\\\"},
        {"a\nb\r\t", "a\\nb\r\t"},
        {"\"} 1\nshop_apples_total{l=\"x", "\\\"} 1\\nshop_apples_total{l=\\\"x"},
        {"<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"},
        {"Stra\xC3\x9F"
         "e",
         "Stra\xC3\x9F"
         "e"},
        {"\xE2\x82\xAC \xF0\x9F\x97\xBA", "\xE2\x82\xAC \xF0\x9F\x97\xBA"},
        {"\xFC", "\xEF\xBF\xBD"},                                 /* Latin-1 */
        {"\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* overlong */
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* a surrogate */
        {"\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* cut off */
        {"\xF5\x80\x80\x80z", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz"},
        {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"}, /* the last character there is */
        {"\xE2\x82\"", "\xEF\xBF\xBD\xEF\xBF\xBD\\\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(value_of(rows[i].label), apr_pstrcat(pool, "shop_apples_total{l=\"",
                                                                 rows[i].written, "\"} 1\n", NULL));
    }
}

/* The text grows beyond its first size. */
static void test_exposition__grows(void **state)
{
    tseed_exposition_t text = tseed_exposition_begin(TSEED_EXPOSITION_TEXT, pool);
    const char *written;
    apr_size_t length;

    (void)state;
    text.family = &apples;
    for (int i = 0; i < 10000; i++) {
        tseed_exposition_count(&text, NULL, 10000 + (uint64_t)i);
    }
    written = tseed_exposition_end(&text, &length);
    assert_int_equal(length, 10000 * strlen("shop_apples_total 10000\n"));
    assert_memory_equal(written + length - 24, "shop_apples_total 19999\n", 24);
}

#define OPEN "application/openmetrics-text"

static void test_exposition__choice(void **state)
{
    static const struct {
        const char *accept;
        int is_open;
    } rows[] = {
        {NULL, 0},
        {"", 0},
        {"*/*", 0},
        {"text/html", 0},
        {"text/plain", 0},
        {OPEN, 1},
        {"Application/OpenMetrics-Text; Version=1.0.0", 1},
        {OPEN ";version=\"1.0.0\"", 1},
        {OPEN ";version=0.0.1", 0}, /* we have no such version */
        {OPEN ";version=0.0.1,text/plain", 0},
        {"application/*", 1},
        {"text/plain;q=0.5," OPEN ";q=0.5", 0},
        {"text/plain;q=0.4," OPEN ";q=0.5", 1},
        {"text/plain;q=0.5, " OPEN " ; q = 0.4", 0},
        {"*/*;q=0.1," OPEN ";q=0.2", 1},
        {"*/*," OPEN ";q=0.2", 0},
        {OPEN ";q=0", 0},
        {OPEN ";q=2,*/*;q=0.1", 0}, /* not from 0 to 1 */
        {OPEN ";q=high", 0},
        {"text/*;q=0.3,application/*;q=0.4", 1},
        {"text/plain;version=0.0.4;q=0.9," OPEN ";q=0.8,text/plain;q=0.1", 0},
        {";;,,;q", 0},
        /* Prometheus 2.42, Prometheus 3, curl, a browser */
        {OPEN ";version=1.0.0," OPEN ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;"
              "q=0.1",
         1},
        {OPEN ";version=1.0.0;escaping=allow-utf-8;q=0.6," OPEN ";version=0.0.1;q=0.5,text/plain;"
              "version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
         1},
        {"text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (tseed_exposition_choose(rows[i].accept, pool) !=
            (rows[i].is_open ? TSEED_EXPOSITION_OPENMETRICS : TSEED_EXPOSITION_TEXT)) {
            fail_msg("Accept: %s", rows[i].accept);
        }
    }
    assert_string_equal(tseed_exposition_type(TSEED_EXPOSITION_TEXT),
                        "text/plain; version=0.0.4; charset=utf-8");
    assert_string_equal(tseed_exposition_type(TSEED_EXPOSITION_OPENMETRICS),
                        "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exposition__text),   cmocka_unit_test(test_exposition__openmetrics),
        cmocka_unit_test(test_exposition__labels), cmocka_unit_test(test_exposition__grows),
        cmocka_unit_test(test_exposition__choice),
    };

    return cmocka_run_group_tests_name("exposition", tests, setup_group, teardown_group);
}
