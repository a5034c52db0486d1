/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Misses: requests that wait for a tile which is not there yet.
 *
 * The background run of a tile set makes its missing tiles. Their metatiles go from CHECK to FETCH
 * to CUT like those of a seed, once for all requests that wait for the same metatile (a "flight").
 * While a task is at work on a metatile, requests wait for the task, and the metatile is not
 * fetched twice. A tile that can't be stored is handed to its requests all the same. If room alone
 * was lacking, the seeder tries once more to store the tile. If the upstream fails, the requests
 * are told so at once, and when their clients may try again. A request that comes before that time
 * gets the same answer, and the upstream is not asked. If the seeder dies, the children ask the
 * next seeder. A tile below a metatile of one colour needs no upstream. Main thread only.
 */
#ifndef TSEED_MISSES_H
#define TSEED_MISSES_H

#include "books/tseed_background.h"
#include "books/tseed_quota_wait.h"
#include "pipeline/tseed_flow.h"
#include "seeder/tseed_coverages.h"
#include "seeder/tseed_open_tilesets.h"

typedef struct tseed_misses_t tseed_misses_t;

/* What misses use. */
typedef struct {
    const tseed_context_t *context;
    tseed_runs_t *runs;
    tseed_cache_t *cache;
    tseed_holds_t *holds;
    tseed_jobs_t *jobs;
    tseed_open_tilesets_t *open; /* whose runs make missing tiles */
    tseed_quota_wait_t *quota_wait;
    tseed_flow_t *flow;
    tseed_coverages_t *coverages; /* who takes the questions for coverages */
    tseed_health_t *health;
    tseed_savings_t *savings;
    const tseed_cutoff_t *cutoff;
    int socket; /* where children ask; see tseed_miss.h */
} tseed_misses_uses_t;

/* Makes the module, in the context's pool, with no request waiting. */
tseed_misses_t *tseed_misses_create(const tseed_misses_uses_t *uses);
/* Returns the record to enter among the clients; it lives as long as the module. */
tseed_client_t *tseed_misses_client(tseed_misses_t *misses);

/* Opens the epoll that hears of clients that leave. Fails when there is no descriptor left. */
apr_status_t tseed_misses_open(tseed_misses_t *misses);
/* Returns the descriptor to poll: readable when a client has left. */
int tseed_misses_hangups(const tseed_misses_t *misses);

/* How many requests wait. */
int tseed_misses_waiting(const tseed_misses_t *misses);

/* Takes in the questions that have come. */
void tseed_misses_hear(tseed_misses_t *misses);
/* Answers the questions that have come: nothing can be made, for that cause, a sentence. For a
 * seeder that can't begin. */
void tseed_misses_send_away(tseed_misses_t *misses, const char *cause);
/* Forgets the requests whose clients have left. */
void tseed_misses_part(tseed_misses_t *misses);
/* Has the upstreams of a layer asked at once, by requests and by tasks. Whatever has failed there
 * may be tried again. Layers that fail there have their first metatile made anew: the answer says
 * whether they still do. */
void tseed_misses_ask_again(tseed_misses_t *misses, const tseed_layer_t *layer);
#endif
