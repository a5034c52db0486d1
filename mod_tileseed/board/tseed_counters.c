/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Counters: additions by many, sums by readers. Numbers of layers and upstreams are bounded before
 * each use. */
#include "board/tseed_counters.h"

#include <apr_strings.h>
#include <string.h>

#include "board/tseed_board_layout.h"

#define READ_ATTEMPTS 1000

static void add(tseed_word_t *word, uint64_t more)
{
    atomic_fetch_add_explicit(word, more, memory_order_relaxed);
}

static uint64_t get(const tseed_word_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* A duration is not below 0, whatever was done to the clock. */
static void observe(tseed_counters_histogram_t *histogram, const apr_interval_time_t *bounds,
                    unsigned buckets, apr_interval_time_t duration)
{
    duration = duration > 0 ? duration : 0;
    add(&histogram->buckets[tseed_bucket_of(bounds, buckets, duration)], 1);
    add(&histogram->sum, (uint64_t)duration);
}

static tseed_counters_layer_t *layer_at(const tseed_board_t *board, unsigned layer)
{
    return &board->segment->counters.layers[layer < TSEED_COUNTED_LAYERS ? layer : 0];
}

static tseed_counters_upstream_t *upstream_at(const tseed_board_t *board, unsigned upstream)
{
    return &board->segment->counters.upstreams[upstream < TSEED_COUNTED_UPSTREAMS ? upstream : 0];
}

/* ---- names ---- */

/* The number of a name in a table, or 0. Number 0 has no name. */
static unsigned find(const tseed_counted_name_t *names, unsigned count, const char *name)
{
    unsigned number = count - 1;

    while (number > 0 && strncmp(names[number], name, sizeof(*names)) != 0) {
        number--;
    }
    return number;
}

/* A place that nobody needs: an empty one, else one whose name is configured no more; 0: there is
 * none. */
static unsigned find_place(const tseed_counted_name_t *names, unsigned count,
                           apr_hash_t *configured)
{
    unsigned number = find(names, count, "");

    for (unsigned i = 1; number == 0 && i < count; i++) {
        if (!memchr(names[i], '\0', sizeof(*names)) ||
            !apr_hash_get(configured, names[i], APR_HASH_KEY_STRING)) {
            number = i;
        }
    }
    return number;
}

/* A table while names are entered. */
typedef struct {
    tseed_counted_name_t *names;
    unsigned count;
    char *places; /* where each number counts, */
    size_t size;  /* that many bytes */
    apr_hash_t *configured;
    int is_full;
} table_t;

/* Sets the words of a place to 0. */
static void clear(const table_t *table, unsigned number)
{
    tseed_word_t *words = (void *)(table->places + number * table->size);

    for (size_t i = 0; i < table->size / sizeof(*words); i++) {
        atomic_store_explicit(&words[i], 0, memory_order_relaxed);
    }
}

/* The number of a name, which gets one if there is one left. What is called as all others together
 * belongs to them: no series may be there twice. */
static unsigned enter(table_t *table, const char *name)
{
    unsigned number = find(table->names, table->count, name);

    if (number > 0 || table->is_full || strcmp(name, TSEED_COUNTED_OTHER) == 0) {
        return number;
    }
    number = find_place(table->names, table->count, table->configured);
    table->is_full = number == 0;
    if (number > 0) {
        clear(table, number);
        apr_cpystrn(table->names[number], name, sizeof(*table->names));
    }
    return number;
}

void tseed_counters_enter(tseed_board_t *board, const tseed_catalog_t *catalog)
{
    tseed_counters_t *counters = &board->segment->counters;
    table_t layers = {.names = counters->layer_names,
                      .count = TSEED_COUNTED_LAYERS,
                      .places = (char *)counters->layers,
                      .size = sizeof(*counters->layers),
                      .configured = catalog->layers};
    table_t upstreams = {.names = counters->upstream_names,
                         .count = TSEED_COUNTED_UPSTREAMS,
                         .places = (char *)counters->upstreams,
                         .size = sizeof(*counters->upstreams),
                         .configured = catalog->upstreams};

    for (int i = 0; i < catalog->order->nelts; i++) {
        tseed_layer_t *layer = APR_ARRAY_IDX(catalog->order, i, tseed_layer_t *);

        layer->counted = enter(&layers, layer->name);
    }
    for (apr_hash_index_t *i = apr_hash_first(NULL, catalog->upstreams); i; i = apr_hash_next(i)) {
        tseed_upstream_t *upstream = apr_hash_this_val(i);

        upstream->counted = enter(&upstreams, upstream->name);
    }
}

/* ---- counting ---- */

void tseed_counters_request(tseed_board_t *board, unsigned layer, tseed_tile_outcome_t outcome,
                            apr_interval_time_t took, unsigned stripe)
{
    tseed_counters_histogram_t *latency =
        board->segment->counters.latency[stripe % TSEED_COUNTERS_STRIPES];

    add(&layer_at(board, layer)->stripes[stripe % TSEED_COUNTERS_STRIPES].outcomes[outcome], 1);
    if (outcome == TSEED_OUTCOME_HIT) {
        observe(&latency[TSEED_TIMED_HIT], tseed_latency_bounds, TSEED_LATENCY_BUCKETS, took);
    } else if (outcome == TSEED_OUTCOME_MADE || outcome == TSEED_OUTCOME_UNSTORED) {
        observe(&latency[TSEED_TIMED_MADE], tseed_latency_bounds, TSEED_LATENCY_BUCKETS, took);
    }
}

void tseed_counters_service(tseed_board_t *board, tseed_tile_outcome_t outcome)
{
    add(&board->segment->counters.services[outcome - TSEED_OUTCOMES_OF_TILES], 1);
}

#define ACT(member, name, ...) [TSEED_ACT_##name] = progress->member,

tseed_counted_t tseed_counted_of(const tseed_progress_t *progress)
{
    tseed_counted_t counted = {.acts = {TSEED_TILE_COUNTS(ACT)}, .bytes = progress->bytes};

    counted.acts[TSEED_ACT_SKIPPED] -= progress->unchanged;
    return counted;
}

/* Counters never fall: where there is less than before, nothing is counted. */
static void add_difference(tseed_word_t *word, int64_t before, int64_t now)
{
    if (now > before) {
        add(word, (uint64_t)(now - before));
    }
}

void tseed_counters_tiles(tseed_board_t *board, unsigned layer, tseed_work_kind_t work,
                          tseed_counted_t *counted, const tseed_counted_t *now)
{
    tseed_counters_t *counters = &board->segment->counters;

    for (int act = 0; act < TSEED_ACTS; act++) {
        add_difference(&counters->tiles[work][act], counted->acts[act], now->acts[act]);
    }
    add_difference(&counters->written[work], counted->bytes, now->bytes);
    add_difference(&layer_at(board, layer)->made, counted->acts[TSEED_ACT_MADE],
                   now->acts[TSEED_ACT_MADE]);
    add_difference(&layer_at(board, layer)->failed, counted->acts[TSEED_ACT_FAILED],
                   now->acts[TSEED_ACT_FAILED]);
    *counted = *now;
}

void tseed_counters_end(tseed_board_t *board, tseed_task_type_t type, tseed_end_t end)
{
    add(&board->segment->counters.ended[type][end], 1);
}

void tseed_counters_success(tseed_board_t *board, unsigned layer, apr_time_t now)
{
    atomic_store_explicit(&layer_at(board, layer)->succeeded, (uint64_t)now, memory_order_relaxed);
}

void tseed_counters_reply(tseed_board_t *board, unsigned upstream, tseed_upstream_reply_t reply,
                          apr_interval_time_t took, uint64_t received)
{
    tseed_counters_upstream_t *counters = upstream_at(board, upstream);

    add(&counters->replies[reply], 1);
    add(&counters->received, received);
    if (reply != TSEED_REPLY_CANCELLED) {
        observe(&counters->latency, tseed_reply_bounds, TSEED_REPLY_BUCKETS, took);
    }
}

void tseed_counters_add(tseed_board_t *board, tseed_server_count_t count, int64_t more)
{
    add_difference(&board->segment->counters.counts[count], 0, more);
}

void tseed_counters_readings_set(tseed_board_t *board, const tseed_readings_t *readings)
{
    tseed_counters_t *counters = &board->segment->counters;

    tseed_pair_write(&counters->readings_turn, counters->readings, readings,
                     TSEED_WORDS(*readings));
}

/* ---- reading ---- */

int tseed_counters_readings(const tseed_board_t *board, tseed_readings_t *readings)
{
    const tseed_counters_t *counters = &board->segment->counters;

    if (get(&counters->readings_turn) == 0) {
        return 0;
    }
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        if (tseed_pair_read(readings, &counters->readings_turn, counters->readings,
                            TSEED_WORDS(*readings))) {
            readings->roots = readings->roots >= 0 && readings->roots <= TSEED_COUNTED_ROOTS
                                  ? readings->roots
                                  : TSEED_COUNTED_ROOTS;
            return 1;
        }
    }
    return 0;
}

static void read_words(uint64_t *to, const tseed_word_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] += get(&from[i]);
    }
}

static void read_histogram(tseed_histogram_t *to, const tseed_counters_histogram_t *from)
{
    read_words(to->buckets, from->buckets, TSEED_BUCKETS_MAX);
    read_words(&to->sum, &from->sum, 1);
}

void tseed_counters_server(const tseed_board_t *board, tseed_server_counts_t *counts)
{
    const tseed_counters_t *counters = &board->segment->counters;

    memset(counts, 0, sizeof(*counts));
    read_words(counts->services, counters->services,
               sizeof(counts->services) / sizeof(*counts->services));
    read_words(counts->tiles[0], counters->tiles[0], TSEED_WORKS * TSEED_ACTS);
    read_words(counts->written, counters->written, TSEED_WORKS);
    read_words(counts->ended[0], counters->ended[0], (TSEED_TRUNCATE + 1) * TSEED_ENDS);
    read_words(counts->counts, counters->counts, TSEED_COUNTS);
    for (int stripe = 0; stripe < TSEED_COUNTERS_STRIPES; stripe++) {
        for (int timed = 0; timed < TSEED_TIMED; timed++) {
            read_histogram(&counts->latency[timed], &counters->latency[stripe][timed]);
        }
    }
}

void tseed_counters_layer(const tseed_board_t *board, unsigned layer, tseed_layer_counts_t *counts)
{
    const tseed_counters_layer_t *counters = layer_at(board, layer);

    *counts = (tseed_layer_counts_t){.name = counts->name};
    for (int stripe = 0; stripe < TSEED_COUNTERS_STRIPES; stripe++) {
        read_words(counts->requests, counters->stripes[stripe].outcomes, TSEED_OUTCOMES_OF_TILES);
    }
    counts->made = get(&counters->made);
    counts->failed = get(&counters->failed);
    counts->succeeded = (apr_time_t)get(&counters->succeeded);
}

void tseed_counters_upstream(const tseed_board_t *board, unsigned upstream,
                             tseed_upstream_counts_t *counts)
{
    const tseed_counters_upstream_t *counters = upstream_at(board, upstream);

    *counts = (tseed_upstream_counts_t){.name = counts->name};
    read_words(counts->replies, counters->replies, TSEED_REPLIES);
    counts->received = get(&counters->received);
    read_histogram(&counts->latency, &counters->latency);
}
