/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How the counters lie in memory. Private to the board room; see tseed_counters.h. */
#ifndef TSEED_COUNTERS_LAYOUT_H
#define TSEED_COUNTERS_LAYOUT_H

#include "board/tseed_pair.h"
#include "layer/tseed_layer.h"
#include "protocol/tseed_metrics.h"

#define TSEED_COUNTERS_LINE    64
#define TSEED_COUNTERS_STRIPES 8

typedef char tseed_counted_name_t[TSEED_NAME_MAX + 1];

/* The requests for a layer's tiles that one stripe of threads has counted. */
typedef struct {
    _Alignas(TSEED_COUNTERS_LINE) tseed_word_t outcomes[TSEED_OUTCOMES_OF_TILES];
} tseed_counters_stripe_t;

typedef struct {
    tseed_counters_stripe_t stripes[TSEED_COUNTERS_STRIPES];
    _Alignas(TSEED_COUNTERS_LINE) tseed_word_t made;
    tseed_word_t failed, succeeded;
} tseed_counters_layer_t;

typedef struct {
    _Alignas(TSEED_COUNTERS_LINE) tseed_word_t buckets[TSEED_BUCKETS_MAX];
    tseed_word_t sum;
} tseed_counters_histogram_t;

typedef struct {
    tseed_counters_histogram_t latency;
    tseed_word_t replies[TSEED_REPLIES];
    tseed_word_t received;
} tseed_counters_upstream_t;

typedef struct {
    /* parent */
    tseed_counted_name_t layer_names[TSEED_COUNTED_LAYERS];
    tseed_counted_name_t upstream_names[TSEED_COUNTED_UPSTREAMS];

    /* children, and of the layers the last members the seeder */
    tseed_counters_layer_t layers[TSEED_COUNTED_LAYERS];
    tseed_counters_histogram_t latency[TSEED_COUNTERS_STRIPES][TSEED_TIMED];
    tseed_word_t services[TSEED_OUTCOMES - TSEED_OUTCOMES_OF_TILES];

    /* seeder, any thread */
    tseed_counters_upstream_t upstreams[TSEED_COUNTED_UPSTREAMS];
    tseed_word_t tiles[TSEED_WORKS][TSEED_ACTS];
    tseed_word_t written[TSEED_WORKS];
    tseed_word_t ended[TSEED_TRUNCATE + 1][TSEED_ENDS];
    tseed_word_t counts[TSEED_COUNTS];

    /* seeder, main thread */
    tseed_word_t readings_turn; /* 0: nothing yet */
    tseed_word_t readings[2 * TSEED_WORDS(tseed_readings_t)];
} tseed_counters_t;

static_assert(sizeof(tseed_readings_t) % 8 == 0, "records are copied in whole words");

#endif
