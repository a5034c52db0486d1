/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The document of the metrics: its bounds, and values that were worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <apr_strings.h>

#include "pool_fixture.h"
#include "protocol/tseed_metrics.h"

static tseed_metrics_t metrics_of(int layers, int upstreams)
{
    tseed_metrics_t metrics = {.version = "1.2",
                               .httpd = "2.4.60",
                               .seeder = "working",
                               .has_tasks = 1,
                               .has_readings = 1};

    metrics.layers = apr_array_make(pool, layers + 1, sizeof(tseed_layer_counts_t));
    metrics.upstreams = apr_array_make(pool, upstreams + 1, sizeof(tseed_upstream_counts_t));
    for (int i = 0; i < layers; i++) {
        tseed_layer_counts_t *layer = apr_array_push(metrics.layers);

        *layer = (tseed_layer_counts_t){.name = apr_psprintf(pool, "layer%d", i)};
    }
    for (int i = 0; i < upstreams; i++) {
        tseed_upstream_counts_t *upstream = apr_array_push(metrics.upstreams);

        *upstream = (tseed_upstream_counts_t){.name = apr_psprintf(pool, "host%d", i)};
    }
    return metrics;
}

static const char *write_text(const tseed_metrics_t *metrics)
{
    apr_size_t length;

    return tseed_metrics_document(metrics, TSEED_EXPOSITION_TEXT, &length, pool);
}

static int series_of(const char *text)
{
    int series = 0;

    for (; text && *text; text = strchr(text, '\n') + 1) {
        series += *text != '#';
    }
    return series;
}

/* Everything that 200 layers can ever have had while a configuration stayed as it was: a layer
 * fetches missing tiles or shows empty ones. With all upstreams that are counted one by one. */
static void test_metrics__are_bounded(void **state)
{
    tseed_metrics_t metrics = metrics_of(200, TSEED_COUNTED_UPSTREAMS);
    const char *roots[TSEED_COUNTED_ROOTS + 1] = {0};

    (void)state;
    metrics.roots = roots;
    metrics.readings.roots = TSEED_COUNTED_ROOTS;
    metrics.readings.reconciled = metrics.readings.quota_enabled = 1;
    for (int i = 0; i < TSEED_COUNTED_ROOTS; i++) {
        roots[i] = apr_psprintf(pool, "/cache%d", i);
    }
    metrics.readings.roots_print = tseed_metrics_roots_print(roots);
    for (int i = 0; i < 200; i++) {
        tseed_layer_counts_t *layer = &APR_ARRAY_IDX(metrics.layers, i, tseed_layer_counts_t);

        memset(layer->requests, 0xFF, sizeof(layer->requests));
        layer->requests[TSEED_OUTCOME_EMPTY] = 0;
        layer->succeeded = 1;
    }
    assert_in_range(series_of(write_text(&metrics)), 2000, 3000);
}

static void assert_has(const char *text, const char *line)
{
    if (!strstr(text, line)) {
        fail_msg("no %s in\n%s", line, text);
    }
}

/* What a seeder has measured below the roots of an earlier configuration is not told of others. */
static void test_metrics__other_roots(void **state)
{
    const char *const measured[] = {"/one", "/two", NULL};
    const char *const others[][3] = {{"/two", "/one"}, {"/one"}, {"/onet", "wo"}, {NULL}};
    tseed_metrics_t metrics = metrics_of(0, 0);

    (void)state;
    metrics.readings.roots = 2;
    metrics.readings.free[0] = 17;
    metrics.readings.roots_print = tseed_metrics_roots_print(measured);
    metrics.roots = measured;
    assert_has(write_text(&metrics), "\ntileseed_filesystem_free_bytes{store=\"/one\"} 17\n");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        metrics.roots = others[i];
        assert_null(strstr(write_text(&metrics), "\ntileseed_filesystem_free_bytes{"));
    }
}

static void test_metrics__values(void **state)
{
    tseed_metrics_t metrics = metrics_of(2, 1);
    tseed_layer_counts_t *layer = &APR_ARRAY_IDX(metrics.layers, 1, tseed_layer_counts_t);
    tseed_upstream_counts_t *upstream =
        &APR_ARRAY_IDX(metrics.upstreams, 0, tseed_upstream_counts_t);
    const char *text;

    (void)state;
    metrics.is_up = 1;
    metrics.starts = 3;
    metrics.tasks[TSEED_RESEED][0] = 4;
    metrics.tasks[TSEED_TRUNCATE][1] = 1;
    metrics.remaining = 12345;
    metrics.rate = 17.5;
    metrics.readings = (tseed_readings_t){.started = 1700000000000000,
                                          .waiting = {[TSEED_WAIT_UPSTREAM] = 2},
                                          .used_bytes = 99,
                                          .limit_bytes = 500,
                                          .quota_enabled = 1,
                                          .roots = 2,
                                          .free = {1024, -1}};
    metrics.roots = (const char *const[]){"/var/cache", "/mnt", NULL};
    metrics.readings.roots_print = tseed_metrics_roots_print(metrics.roots);
    metrics.counts.tiles[TSEED_WORK_TRUNCATE][TSEED_ACT_REMOVED] = 64;
    metrics.counts.written[TSEED_WORK_REQUEST] = 4096;
    metrics.counts.ended[TSEED_SEED][TSEED_END_ABORTED] = 1;
    metrics.counts.counts[TSEED_COUNT_DIFFERING_PAGES] = 6;
    metrics.counts.services[1] = 8;
    metrics.counts.latency[TSEED_TIMED_HIT].buckets[0] = 2;
    metrics.counts.latency[TSEED_TIMED_HIT].buckets[16] = 1;
    metrics.counts.latency[TSEED_TIMED_HIT].sum = 31000250;
    layer->requests[TSEED_OUTCOME_MISS] = 5;
    layer->made = 64;
    layer->succeeded = 1600000000500000;
    upstream->replies[TSEED_REPLY_NONE] = 7;
    upstream->received = 1 << 20;
    upstream->latency.buckets[13] = 7;
    text = write_text(&metrics);

    assert_has(text, "\ntileseed_build_info{version=\"1.2\",httpd=\"2.4.60\"} 1\n");
    assert_has(text, "\ntileseed_seeder_up 1\n");
    assert_has(text, "\ntileseed_seeder_state{state=\"working\"} 1\n");
    assert_has(text, "\ntileseed_seeder_state{state=\"locked_out\"} 0\n");
    assert_has(text, "\ntileseed_seeder_starts_total 3\n");
    assert_has(text, "\ntileseed_seeder_start_timestamp_seconds 1700000000.0\n");
    assert_has(text, "\ntileseed_tasks{type=\"reseed\",state=\"pending\"} 4\n");
    assert_has(text, "\ntileseed_tasks{type=\"truncate\",state=\"running\"} 1\n");
    assert_has(text, "\ntileseed_tasks_waiting{cause=\"upstream\"} 2\n");
    assert_has(text, "\ntileseed_tiles_remaining 12345\n");
    assert_has(text, "\ntileseed_tiles_per_second 17.5\n");
    assert_has(text, "\ntileseed_tasks_finished_total{type=\"seed\",result=\"aborted\"} 1\n");
    assert_has(text, "\ntileseed_tiles_total{type=\"truncate\",result=\"removed\"} 64\n");
    assert_has(text, "\ntileseed_tiles_total{type=\"request\",result=\"made\"} 0\n");
    assert_has(text, "\ntileseed_written_bytes_total{type=\"request\"} 4096\n");
    assert_has(text, "\ntileseed_layer_tiles_total{layer=\"layer1\",result=\"made\"} 64\n");
    assert_has(text, "\ntileseed_layer_tiles_total{layer=\"layer0\",result=\"failed\"} 0\n");
    assert_has(text, "\ntileseed_layer_last_success_timestamp_seconds{layer=\"layer1\"} "
                     "1600000000.5\n");
    assert_null(strstr(text, "success_timestamp_seconds{layer=\"layer0\"}"));
    assert_has(text, "\ntileseed_tile_requests_total{layer=\"layer0\",result=\"hit\"} 0\n");
    assert_has(text, "\ntileseed_tile_requests_total{layer=\"layer1\",result=\"miss\"} 5\n");
    assert_null(strstr(text, "requests_total{layer=\"layer0\",result=\"miss\"}"));
    assert_has(text, "\ntileseed_service_requests_total{result=\"document\"} 8\n");
    assert_has(text, "duration_seconds_bucket{result=\"hit\",le=\"0.00025\"} 2\n");
    assert_has(text, "duration_seconds_bucket{result=\"hit\",le=\"30.0\"} 2\n");
    assert_has(text, "duration_seconds_bucket{result=\"hit\",le=\"+Inf\"} 3\n");
    assert_has(text, "duration_seconds_sum{result=\"hit\"} 31.00025\n");
    assert_has(text, "duration_seconds_count{result=\"hit\"} 3\n");
    assert_has(text, "requests_total{upstream=\"host0\",result=\"no_answer\"} 7\n");
    assert_has(text, "\ntileseed_upstream_received_bytes_total{upstream=\"host0\"} 1048576\n");
    assert_has(text, "duration_seconds_bucket{upstream=\"host0\",le=\"60.0\"} 0\n");
    assert_has(text, "duration_seconds_bucket{upstream=\"host0\",le=\"+Inf\"} 7\n");
    assert_has(text, "\ntileseed_cache_bytes 99\n");
    assert_has(text, "\ntileseed_quota_limit_bytes 500\n");
    assert_has(text, "\ntileseed_filesystem_free_bytes{store=\"/var/cache\"} 1024\n");
    assert_null(strstr(text, "/mnt"));
    assert_has(text, "\ntileseed_reconcile_differing_pages_total 6\n");
    assert_null(strstr(text, "\ntileseed_reconcile_last_timestamp_seconds "));
}

/* What is not known is left out rather than called zero; the families stay. */
static void test_metrics__unknown(void **state)
{
    tseed_metrics_t metrics = metrics_of(0, 0);
    const char *text;

    (void)state;
    metrics.has_tasks = metrics.has_readings = 0;
    metrics.seeder = "none";
    text = write_text(&metrics);
    assert_has(text, "\ntileseed_seeder_up 0\n");
    assert_has(text, "\n# TYPE tileseed_tasks gauge\n# HELP");
    assert_has(text, "\n# TYPE tileseed_cache_bytes gauge\n# HELP");
    assert_has(text, "\n# TYPE tileseed_tile_requests_total counter\n# HELP");
    assert_has(text, "\n# TYPE tileseed_quota_limit_bytes gauge\n# HELP");

    metrics.has_readings = 1; /* with the quota off there is no limit */
    text = write_text(&metrics);
    assert_has(text, "\ntileseed_quota_enabled 0\n");
    assert_null(strstr(text, "\ntileseed_quota_limit_bytes "));
}

static void test_metrics__buckets(void **state)
{
    static const apr_interval_time_t bounds[] = {10, 20, 30};

    (void)state;
    assert_int_equal(tseed_bucket_of(bounds, 4, 0), 0);
    assert_int_equal(tseed_bucket_of(bounds, 4, 10), 0);
    assert_int_equal(tseed_bucket_of(bounds, 4, 11), 1);
    assert_int_equal(tseed_bucket_of(bounds, 4, 30), 2);
    assert_int_equal(tseed_bucket_of(bounds, 4, INT64_MAX), 3);
    assert_int_equal(tseed_latency_bounds[0], 250);
    assert_int_equal(tseed_latency_bounds[TSEED_LATENCY_BUCKETS - 2], 30 * APR_USEC_PER_SEC);
    assert_int_equal(tseed_reply_bounds[0], 5000);
    assert_int_equal(tseed_reply_bounds[TSEED_REPLY_BUCKETS - 2], 60 * APR_USEC_PER_SEC);
    for (int i = 1; i < TSEED_LATENCY_BUCKETS - 1; i++) {
        assert_true(tseed_latency_bounds[i] > tseed_latency_bounds[i - 1]);
    }
    for (int i = 1; i < TSEED_REPLY_BUCKETS - 1; i++) {
        assert_true(tseed_reply_bounds[i] > tseed_reply_bounds[i - 1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics__are_bounded), cmocka_unit_test(test_metrics__other_roots),
        cmocka_unit_test(test_metrics__values),      cmocka_unit_test(test_metrics__unknown),
        cmocka_unit_test(test_metrics__buckets),
    };

    return cmocka_run_group_tests_name("metrics", tests, setup_group, teardown_group);
}
