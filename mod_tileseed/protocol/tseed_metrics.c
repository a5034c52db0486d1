/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The document of the metrics: a table of families, and a function for each that writes its values.
 *
 * A family is named even when it has no value just now, so that every document names all of them.
 * A series whose count is 0 is left out where a layer has many of them. A series that an alert
 * waits for is always there: if the series began at 1, the alert would miss the first event. */
#include "protocol/tseed_metrics.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_digest.h"
#include "protocol/tseed_gauge.h"

#define MSEC (APR_USEC_PER_SEC / 1000)

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

const apr_interval_time_t tseed_latency_bounds[TSEED_LATENCY_BUCKETS - 1] = {
    MSEC / 4,    MSEC / 2,    MSEC,         5 * MSEC / 2, 5 * MSEC,   10 * MSEC,
    25 * MSEC,   50 * MSEC,   100 * MSEC,   250 * MSEC,   500 * MSEC, 1000 * MSEC,
    2500 * MSEC, 5000 * MSEC, 10000 * MSEC, 30000 * MSEC,
};

const apr_interval_time_t tseed_reply_bounds[TSEED_REPLY_BUCKETS - 1] = {
    5 * MSEC,    10 * MSEC,   25 * MSEC,   50 * MSEC,    100 * MSEC,   250 * MSEC,   500 * MSEC,
    1000 * MSEC, 2500 * MSEC, 5000 * MSEC, 10000 * MSEC, 30000 * MSEC, 60000 * MSEC,
};

const char *const tseed_seeder_states[] = {
    "none", "starting", "working", "locked_out", "no_state", "stopped", "standby", NULL,
};

static const char *const outcomes[] = {
    [TSEED_OUTCOME_HIT] = "hit",           [TSEED_OUTCOME_MADE] = "made",
    [TSEED_OUTCOME_UNSTORED] = "unstored", [TSEED_OUTCOME_EMPTY] = "empty",
    [TSEED_OUTCOME_MISS] = "miss",         [TSEED_OUTCOME_BUSY] = "busy",
    [TSEED_OUTCOME_FAILED] = "failed",     [TSEED_OUTCOME_FORBIDDEN] = "forbidden",
    [TSEED_OUTCOME_ERROR] = "error",       [TSEED_OUTCOME_REFUSED] = "refused",
    [TSEED_OUTCOME_DOCUMENT] = "document",
};

static const char *const works[] = {
    [TSEED_WORK_SEED] = "seed",
    [TSEED_WORK_RESEED] = "reseed",
    [TSEED_WORK_TRUNCATE] = "truncate",
    [TSEED_WORK_REQUEST] = "request",
};

#define NAME(member, ...) #member,
static const char *const acts[] = {TSEED_TILE_COUNTS(NAME)};

static const char *const ends[] = {
    [TSEED_END_DONE] = "done",
    [TSEED_END_ABORTED] = "aborted",
    [TSEED_END_TERMINATED] = "terminated",
};

static const char *const replies[] = {
    [TSEED_REPLY_OK] = "ok",
    [TSEED_REPLY_UNCHANGED] = "unchanged",
    [TSEED_REPLY_NO_PICTURE] = "no_picture",
    [TSEED_REPLY_CLIENT_ERROR] = "client_error",
    [TSEED_REPLY_SERVER_ERROR] = "server_error",
    [TSEED_REPLY_NONE] = "no_answer",
    [TSEED_REPLY_CANCELLED] = "cancelled",
};

static const char *const waits[] = {
    [TSEED_WAIT_QUOTA] = "quota",
    [TSEED_WAIT_UPSTREAM] = "upstream",
    [TSEED_WAIT_STORE] = "store",
    [TSEED_WAIT_TASK] = "task",
    [TSEED_WAIT_CONFIGURATION] = "configuration",
};

unsigned tseed_bucket_of(const apr_interval_time_t *bounds, unsigned buckets,
                         apr_interval_time_t duration)
{
    unsigned bucket = 0;

    while (bucket < buckets - 1 && duration > bounds[bucket]) {
        bucket++;
    }
    return bucket;
}

/* ---- the seeder and its tasks ---- */

typedef tseed_exposition_t text_t;
typedef tseed_metrics_t metrics_t;

static void write_build(text_t *text, const metrics_t *metrics)
{
    tseed_exposition_number(text, LABELS("version", metrics->version, "httpd", metrics->httpd), 1);
}

static void write_up(text_t *text, const metrics_t *metrics)
{
    tseed_exposition_number(text, NULL, metrics->is_up);
}

static void write_active(text_t *text, const metrics_t *metrics)
{
    tseed_exposition_number(text, NULL, metrics->is_active);
}

static void write_state(text_t *text, const metrics_t *metrics)
{
    for (int i = 0; tseed_seeder_states[i]; i++) {
        tseed_exposition_number(text, LABELS("state", tseed_seeder_states[i]),
                                strcmp(tseed_seeder_states[i], metrics->seeder) == 0);
    }
}

static void write_starts(text_t *text, const metrics_t *metrics)
{
    tseed_exposition_count(text, NULL, metrics->starts);
}

static void write_started(text_t *text, const metrics_t *metrics)
{
    if (metrics->has_readings) {
        tseed_exposition_time(text, NULL, metrics->readings.started);
    }
}

static void write_tasks(text_t *text, const metrics_t *metrics)
{
    for (int type = 0; metrics->has_tasks && type <= TSEED_TRUNCATE; type++) {
        tseed_exposition_number(text, LABELS("type", works[type], "state", "pending"),
                                metrics->tasks[type][0]);
        tseed_exposition_number(text, LABELS("type", works[type], "state", "running"),
                                metrics->tasks[type][1]);
    }
}

static void write_waiting(text_t *text, const metrics_t *metrics)
{
    for (int cause = 0; metrics->has_readings && cause < TSEED_WAITS; cause++) {
        tseed_exposition_number(text, LABELS("cause", waits[cause]),
                                metrics->readings.waiting[cause]);
    }
}

static void write_reasons(text_t *text, const metrics_t *metrics)
{
    for (int code = 0; metrics->has_tasks && code < TSEED_REASONS; code++) {
        if (tseed_reason_is_wait(code)) {
            tseed_exposition_number(text, LABELS("code", tseed_reason_name(code)),
                                    metrics->reasons[code]);
        }
    }
}

static void write_remaining(text_t *text, const metrics_t *metrics)
{
    if (metrics->has_tasks) {
        tseed_exposition_number(text, NULL, metrics->remaining);
    }
}

static void write_rate(text_t *text, const metrics_t *metrics)
{
    if (metrics->has_tasks) {
        tseed_exposition_real(text, NULL, metrics->rate);
    }
}

static void write_ended(text_t *text, const metrics_t *metrics)
{
    for (int type = 0; type <= TSEED_TRUNCATE; type++) {
        for (int end = 0; end < TSEED_ENDS; end++) {
            tseed_exposition_count(text, LABELS("type", works[type], "result", ends[end]),
                                   metrics->counts.ended[type][end]);
        }
    }
}

/* Whether a kind of work has that kind of end for a tile. */
static int may_act(int work, int act)
{
    switch (act) {
    case TSEED_ACT_REMOVED:
        return work == TSEED_WORK_TRUNCATE;
    case TSEED_ACT_UNCHANGED:
        return work == TSEED_WORK_RESEED;
    case TSEED_ACT_SKIPPED:
        return work != TSEED_WORK_REQUEST;
    case TSEED_ACT_MADE:
    case TSEED_ACT_FAILED:
        return work != TSEED_WORK_TRUNCATE;
    default: /* what was saved */
        return work == TSEED_WORK_SEED || work == TSEED_WORK_RESEED;
    }
}

static void write_tiles(text_t *text, const metrics_t *metrics)
{
    for (int work = 0; work < TSEED_WORKS; work++) {
        for (int act = 0; act < TSEED_ACTS; act++) {
            if (may_act(work, act) || metrics->counts.tiles[work][act] > 0) {
                tseed_exposition_count(text, LABELS("type", works[work], "result", acts[act]),
                                       metrics->counts.tiles[work][act]);
            }
        }
    }
}

static void write_written(text_t *text, const metrics_t *metrics)
{
    for (int work = 0; work < TSEED_WORKS; work++) {
        if (work != TSEED_WORK_TRUNCATE) {
            tseed_exposition_count(text, LABELS("type", works[work]),
                                   metrics->counts.written[work]);
        }
    }
}

/* ---- layers ---- */

static void write_layer_tiles(text_t *text, const metrics_t *metrics)
{
    for (int i = 0; i < metrics->layers->nelts; i++) {
        const tseed_layer_counts_t *layer =
            &APR_ARRAY_IDX(metrics->layers, i, tseed_layer_counts_t);

        tseed_exposition_count(text, LABELS("layer", layer->name, "result", "made"), layer->made);
        tseed_exposition_count(text, LABELS("layer", layer->name, "result", "failed"),
                               layer->failed);
    }
}

static void write_succeeded(text_t *text, const metrics_t *metrics)
{
    for (int i = 0; i < metrics->layers->nelts; i++) {
        const tseed_layer_counts_t *layer =
            &APR_ARRAY_IDX(metrics->layers, i, tseed_layer_counts_t);

        if (layer->succeeded > 0) {
            tseed_exposition_time(text, LABELS("layer", layer->name), layer->succeeded);
        }
    }
}

static void write_requests(text_t *text, const metrics_t *metrics)
{
    for (int i = 0; i < metrics->layers->nelts; i++) {
        const tseed_layer_counts_t *layer =
            &APR_ARRAY_IDX(metrics->layers, i, tseed_layer_counts_t);

        for (int outcome = 0; outcome < TSEED_OUTCOMES_OF_TILES; outcome++) {
            if (layer->requests[outcome] > 0 || outcome == TSEED_OUTCOME_HIT) {
                tseed_exposition_count(text,
                                       LABELS("layer", layer->name, "result", outcomes[outcome]),
                                       layer->requests[outcome]);
            }
        }
    }
}

static void write_services(text_t *text, const metrics_t *metrics)
{
    for (int i = 0; i < TSEED_OUTCOMES - TSEED_OUTCOMES_OF_TILES; i++) {
        tseed_exposition_count(text, LABELS("result", outcomes[TSEED_OUTCOMES_OF_TILES + i]),
                               metrics->counts.services[i]);
    }
}

static void write_latency(text_t *text, const metrics_t *metrics)
{
    static const char *const names[] = {
        [TSEED_TIMED_HIT] = "hit",
        [TSEED_TIMED_MADE] = "made",
    };

    for (int timed = 0; timed < TSEED_TIMED; timed++) {
        const tseed_histogram_t *histogram = &metrics->counts.latency[timed];

        tseed_exposition_histogram(text, LABELS("result", names[timed]), tseed_latency_bounds,
                                   TSEED_LATENCY_BUCKETS - 1, histogram->buckets, histogram->sum);
    }
}

static void write_miss_waiters(text_t *text, const metrics_t *metrics)
{
    if (metrics->has_readings) {
        tseed_exposition_number(text, NULL, metrics->readings.requests);
    }
}

static void write_miss_places(text_t *text, const metrics_t *metrics)
{
    if (metrics->has_readings) {
        tseed_exposition_number(text, NULL, metrics->readings.requests_most);
    }
}

static void write_others(text_t *text, const metrics_t *metrics)
{
    tseed_exposition_number(text, NULL, metrics->others);
}

/* ---- upstreams ---- */

static const tseed_upstream_counts_t *upstream_at(const metrics_t *metrics, int i)
{
    return &APR_ARRAY_IDX(metrics->upstreams, i, tseed_upstream_counts_t);
}

static void write_upstream_states(text_t *text, const metrics_t *metrics)
{
    for (int i = 0; i < metrics->upstreams->nelts; i++) {
        const tseed_upstream_counts_t *upstream = upstream_at(metrics, i);

        for (int state = 0; state <= TSEED_UPSTREAM_AWAY; state++) {
            tseed_exposition_number(
                text, LABELS("upstream", upstream->name, "state", tseed_upstream_state_name(state)),
                upstream->state == state);
        }
    }
}

static void write_replies(text_t *text, const metrics_t *metrics)
{
    for (int i = 0; i < metrics->upstreams->nelts; i++) {
        const tseed_upstream_counts_t *upstream = upstream_at(metrics, i);

        for (int reply = 0; reply < TSEED_REPLIES; reply++) {
            tseed_exposition_count(text,
                                   LABELS("upstream", upstream->name, "result", replies[reply]),
                                   upstream->replies[reply]);
        }
    }
}

static void write_received(text_t *text, const metrics_t *metrics)
{
    for (int i = 0; i < metrics->upstreams->nelts; i++) {
        tseed_exposition_count(text, LABELS("upstream", upstream_at(metrics, i)->name),
                               upstream_at(metrics, i)->received);
    }
}

static void write_reply_latency(text_t *text, const metrics_t *metrics)
{
    for (int i = 0; i < metrics->upstreams->nelts; i++) {
        const tseed_upstream_counts_t *upstream = upstream_at(metrics, i);

        tseed_exposition_histogram(text, LABELS("upstream", upstream->name), tseed_reply_bounds,
                                   TSEED_REPLY_BUCKETS - 1, upstream->latency.buckets,
                                   upstream->latency.sum);
    }
}

/* ---- the cache and its quota ---- */

static void write_count(text_t *text, const metrics_t *metrics, tseed_server_count_t count)
{
    tseed_exposition_count(text, NULL, metrics->counts.counts[count]);
}

/* A function that writes one of the counters without a label. */
#define COUNT_WRITER(name, count)                                                                  \
    static void name(text_t *text, const metrics_t *metrics)                                       \
    {                                                                                              \
        write_count(text, metrics, count);                                                         \
    }

COUNT_WRITER(write_cleanups, TSEED_COUNT_CLEANUPS)
COUNT_WRITER(write_evicted_pages, TSEED_COUNT_EVICTED_PAGES)
COUNT_WRITER(write_evicted_tiles, TSEED_COUNT_EVICTED_TILES)
COUNT_WRITER(write_evicted_bytes, TSEED_COUNT_EVICTED_BYTES)
COUNT_WRITER(write_quota_refusals, TSEED_COUNT_QUOTA_REFUSALS)
COUNT_WRITER(write_store_errors, TSEED_COUNT_STORE_ERRORS)
COUNT_WRITER(write_reconciles, TSEED_COUNT_RECONCILES)
COUNT_WRITER(write_differing_pages, TSEED_COUNT_DIFFERING_PAGES)

/* A function that writes a number that the seeder measures. */
#define GAUGE_WRITER(name, condition, member)                                                      \
    static void name(text_t *text, const metrics_t *metrics)                                       \
    {                                                                                              \
        if (metrics->has_readings && (condition)) {                                                \
            tseed_exposition_number(text, NULL, metrics->readings.member);                         \
        }                                                                                          \
    }

GAUGE_WRITER(write_used_bytes, 1, used_bytes)
GAUGE_WRITER(write_used_files, 1, used_files)
GAUGE_WRITER(write_quota_enabled, 1, quota_enabled)
GAUGE_WRITER(write_quota_limit, metrics->readings.quota_enabled, limit_bytes)
GAUGE_WRITER(write_books_complete, 1, is_complete)
GAUGE_WRITER(write_in_doubt, 1, pages_in_doubt)

static void write_reconciled(text_t *text, const metrics_t *metrics)
{
    if (metrics->has_readings && metrics->readings.reconciled > 0) {
        tseed_exposition_time(text, NULL, metrics->readings.reconciled);
    }
}

uint64_t tseed_metrics_roots_print(const char *const *roots)
{
    uint64_t print = 0;

    for (; *roots; roots++) {
        print = tseed_digest(*roots, strlen(*roots) + 1, print);
    }
    return print;
}

/* Whether the names are those of the roots that were measured. */
static int knows_roots(const metrics_t *metrics)
{
    return metrics->has_readings && metrics->readings.roots > 0 &&
           metrics->readings.roots_print == tseed_metrics_roots_print(metrics->roots);
}

static void write_free(text_t *text, const metrics_t *metrics)
{
    for (int i = 0; knows_roots(metrics) && i < metrics->readings.roots && metrics->roots[i]; i++) {
        if (metrics->readings.free[i] >= 0) {
            tseed_exposition_number(text, LABELS("store", metrics->roots[i]),
                                    metrics->readings.free[i]);
        }
    }
}

/* ---- all ---- */

#define COUNTER   TSEED_METRIC_COUNTER
#define GAUGE     TSEED_METRIC_GAUGE
#define HISTOGRAM TSEED_METRIC_HISTOGRAM

/* clang-format off */
static const struct {
    tseed_family_t family;
    void (*write)(text_t *text, const metrics_t *metrics);
} families[] = {
    {{"tileseed_build", TSEED_METRIC_INFO, "",
      "Versions of the module and of httpd."}, write_build},
    {{"tileseed_seeder_up", GAUGE, "",
      "Whether the seeder works or stands by, and gives signs of life."}, write_up},
    {{"tileseed_seeder_active", GAUGE, "",
      "Whether this host works: of hosts with one database one does."}, write_active},
    {{"tileseed_seeder_state", GAUGE, "",
      "1 for the state that the seeder is in."}, write_state},
    {{"tileseed_seeder_starts", COUNTER, "",
      "Seeders that were started since httpd was."}, write_starts},
    {{"tileseed_seeder_start_timestamp_seconds", GAUGE, "seconds",
      "When the seeder was started."}, write_started},
    {{"tileseed_tasks", GAUGE, "",
      "Unfinished tasks that this location sees."}, write_tasks},
    {{"tileseed_tasks_waiting", GAUGE, "",
      "Tasks that stand still."}, write_waiting},
    {{"tileseed_tasks_reason", GAUGE, "",
      "Unfinished tasks of this location that wait, by reasonCode."}, write_reasons},
    {{"tileseed_tasks_finished", COUNTER, "",
      "Tasks that have ended."}, write_ended},
    {{"tileseed_tiles_remaining", GAUGE, "",
      "Tiles that the unfinished tasks of this location have before them."}, write_remaining},
    {{"tileseed_tiles_per_second", GAUGE, "",
      "The pace of those tasks of late, as their documents give it."}, write_rate},
    {{"tileseed_tiles", COUNTER, "",
      "What became of the tiles of tasks, and of tiles that requests have asked for."},
     write_tiles},
    {{"tileseed_written_bytes", COUNTER, "bytes",
      "Bytes of tiles written into the stores."}, write_written},
    {{"tileseed_layer_tiles", COUNTER, "",
      "Tiles that were made or given up, by layer."}, write_layer_tiles},
    {{"tileseed_layer_last_success_timestamp_seconds", GAUGE, "seconds",
      "When a seed or reseed of the layer last ended without a failure."}, write_succeeded},
    {{"tileseed_tile_requests", COUNTER, "",
      "Requests for tiles by their result, as the access log has it."}, write_requests},
    {{"tileseed_service_requests", COUNTER, "",
      "Other requests to locations of tiles, by their result."}, write_services},
    {{"tileseed_tile_request_duration_seconds", HISTOGRAM, "seconds",
      "Time from a request for a tile to the beginning of the answer."}, write_latency},
    {{"tileseed_miss_waiters", GAUGE, "",
      "Requests that wait for a missing tile."}, write_miss_waiters},
    {{"tileseed_miss_waiters_limit", GAUGE, "",
      "Most requests that may wait at once."}, write_miss_places},
    {{"tileseed_upstream_requests", COUNTER, "",
      "Requests to upstreams by their result."}, write_replies},
    {{"tileseed_upstream_state", GAUGE, "",
      "1 for the state that the upstream is in."}, write_upstream_states},
    {{"tileseed_upstream_received_bytes", COUNTER, "bytes",
      "Bytes of the bodies that upstreams have sent."}, write_received},
    {{"tileseed_upstream_request_duration_seconds", HISTOGRAM, "seconds",
      "Time from a request to an upstream to the end of the answer."}, write_reply_latency},
    {{"tileseed_cache_bytes", GAUGE, "bytes",
      "What the cache takes on the disk, as the quota counts it."}, write_used_bytes},
    {{"tileseed_cache_files", GAUGE, "",
      "Files of the cache."}, write_used_files},
    {{"tileseed_quota_enabled", GAUGE, "",
      "Whether the disk quota is on."}, write_quota_enabled},
    {{"tileseed_quota_limit_bytes", GAUGE, "bytes",
      "The disk quota of all layers; absent while the quota is off."}, write_quota_limit},
    {{"tileseed_quota_refusals", COUNTER, "",
      "Metatiles that have had to wait for room in the quota."}, write_quota_refusals},
    {{"tileseed_cleanups", COUNTER, "",
      "Clean-ups for the quota that have begun."}, write_cleanups},
    {{"tileseed_evicted_pages", COUNTER, "",
      "Pages removed for the quota."}, write_evicted_pages},
    {{"tileseed_evicted_tiles", COUNTER, "",
      "Tiles removed for the quota."}, write_evicted_tiles},
    {{"tileseed_evicted_bytes", COUNTER, "bytes",
      "Bytes on the disk that removals for the quota have freed."}, write_evicted_bytes},
    {{"tileseed_store_errors", COUNTER, "",
      "Pauses of tasks because a store could not be used."}, write_store_errors},
    {{"tileseed_filesystem_free_bytes", GAUGE, "bytes",
      "Free bytes below a store, while TileSeedMinFree has them measured."}, write_free},
    {{"tileseed_books_complete", GAUGE, "",
      "Whether the books have all that is in the cache."}, write_books_complete},
    {{"tileseed_books_pages_in_doubt", GAUGE, "",
      "Pages that are still to be counted."}, write_in_doubt},
    {{"tileseed_reconciles", COUNTER, "",
      "Comparisons of the books with the disk that were finished."}, write_reconciles},
    {{"tileseed_reconcile_differing_pages", COUNTER, "",
      "Pages that comparisons have corrected in the books."}, write_differing_pages},
    {{"tileseed_reconcile_last_timestamp_seconds", GAUGE, "seconds",
      "When the last comparison was finished."}, write_reconciled},
    {{"tileseed_metrics_other_layers", GAUGE, "",
      "Configured layers that are counted together as _other."}, write_others},
};
/* clang-format on */

const char *tseed_metrics_document(const tseed_metrics_t *metrics, tseed_exposition_format_t format,
                                   apr_size_t *length, apr_pool_t *pool)
{
    tseed_exposition_t text = tseed_exposition_begin(format, pool);

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        tseed_exposition_family(&text, &families[i].family);
        families[i].write(&text, metrics);
    }
    return tseed_exposition_end(&text, length);
}
