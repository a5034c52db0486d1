/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The metrics: what is counted and measured, and the document that says it.
 *
 * The records here are plain numbers. The board has the same numbers as shared memory
 * (board/tseed_counters.h). Counters begin at 0 when httpd starts, and never fall while it runs.
 *
 * The document is bounded: a layer has at most 12 series, an upstream 24, and all else about a
 * hundred. Layers and upstreams beyond those that the board counts one by one are counted together,
 * as `_other`.
 */
#ifndef TSEED_METRICS_H
#define TSEED_METRICS_H

#include <apr_tables.h>

#include "protocol/tseed_exposition.h"
#include "protocol/tseed_task.h"

/* Layers and upstreams that are counted one by one; number 0 is all the others together. */
#define TSEED_COUNTED_LAYERS    512
#define TSEED_COUNTED_UPSTREAMS 17
#define TSEED_COUNTED_OTHER     "_other"

/* Store roots whose free space is shown: the first of the configuration. */
#define TSEED_COUNTED_ROOTS 16

/* ---- what is counted ---- */

/* What became of a request for a tile. */
typedef enum {
    TSEED_OUTCOME_HIT,       /* the tile was there */
    TSEED_OUTCOME_MADE,      /* the tile was missing and was made for this request */
    TSEED_OUTCOME_UNSTORED,  /* the same, but the store did not take the tile */
    TSEED_OUTCOME_EMPTY,     /* a blank tile stands for the missing one */
    TSEED_OUTCOME_MISS,      /* the tile is missing and is not made */
    TSEED_OUTCOME_BUSY,      /* the tile can't be made just now */
    TSEED_OUTCOME_FAILED,    /* the upstream has not made the tile */
    TSEED_OUTCOME_FORBIDDEN, /* rules of the tile's directory keep the client out */
    TSEED_OUTCOME_ERROR,     /* the file can't be read */
    TSEED_OUTCOME_REFUSED,   /* the request names no tile and no document */
    TSEED_OUTCOME_DOCUMENT   /* a document of a service */
} tseed_tile_outcome_t;

#define TSEED_OUTCOMES_OF_TILES 9  /* the first: of requests that name a tile of a layer */
#define TSEED_OUTCOMES          11 /* all */

/* Who had tiles made or removed: tasks by their type, and requests for missing tiles. The first
 * three numbers are those of tseed_task_type_t. */
typedef enum {
    TSEED_WORK_SEED,
    TSEED_WORK_RESEED,
    TSEED_WORK_TRUNCATE,
    TSEED_WORK_REQUEST,
    TSEED_WORKS
} tseed_work_kind_t;

/* What became of a tile of a task: of those skipped, UNCHANGED counts apart. */
#define TSEED_ACT(member, name, ...) TSEED_ACT_##name,
typedef enum { TSEED_TILE_COUNTS(TSEED_ACT) TSEED_ACTS } tseed_act_t;

typedef enum { TSEED_END_DONE, TSEED_END_ABORTED, TSEED_END_TERMINATED, TSEED_ENDS } tseed_end_t;

/* What an upstream answered. */
typedef enum {
    TSEED_REPLY_OK,           /* 200 with what may be a picture */
    TSEED_REPLY_UNCHANGED,    /* 304 */
    TSEED_REPLY_NO_PICTURE,   /* 200 with something else, or another status below 400 */
    TSEED_REPLY_CLIENT_ERROR, /* 4xx */
    TSEED_REPLY_SERVER_ERROR, /* 5xx */
    TSEED_REPLY_NONE,         /* refused, reset, timed out */
    TSEED_REPLY_CANCELLED,    /* nobody wanted the answer any more */
    TSEED_REPLIES
} tseed_upstream_reply_t;

/* Everything that has no label. */
typedef enum {
    TSEED_COUNT_CLEANUPS, /* clean-ups for the quota that have begun */
    TSEED_COUNT_EVICTED_PAGES,
    TSEED_COUNT_EVICTED_TILES,
    TSEED_COUNT_EVICTED_BYTES,
    TSEED_COUNT_QUOTA_REFUSALS, /* metatiles that have had to wait for room */
    TSEED_COUNT_STORE_ERRORS,   /* pauses because a store can't be used */
    TSEED_COUNT_RECONCILES,     /* that are finished */
    TSEED_COUNT_DIFFERING_PAGES,
    TSEED_COUNTS
} tseed_server_count_t;

/* ---- histograms ---- */

#define TSEED_LATENCY_BUCKETS 17 /* of tiles: 16 bounds from 0.25 ms to 30 s */
#define TSEED_REPLY_BUCKETS   14 /* of upstreams: 13 bounds from 5 ms to 60 s */
#define TSEED_BUCKETS_MAX     TSEED_LATENCY_BUCKETS

extern const apr_interval_time_t tseed_latency_bounds[TSEED_LATENCY_BUCKETS - 1];
extern const apr_interval_time_t tseed_reply_bounds[TSEED_REPLY_BUCKETS - 1];

typedef struct {
    uint64_t buckets[TSEED_BUCKETS_MAX];
    uint64_t sum; /* microseconds */
} tseed_histogram_t;

/* The bucket of a duration: the first whose bound is not below it. Any thread. */
unsigned tseed_bucket_of(const apr_interval_time_t *bounds, unsigned buckets,
                         apr_interval_time_t duration);

/* Tiles whose latency is measured: found in the cache, and made for the request. */
typedef enum { TSEED_TIMED_HIT, TSEED_TIMED_MADE, TSEED_TIMED } tseed_timed_t;

/* ---- records ---- */

/* The counters of the whole server. */
typedef struct {
    uint64_t services[TSEED_OUTCOMES - TSEED_OUTCOMES_OF_TILES];
    uint64_t tiles[TSEED_WORKS][TSEED_ACTS];
    uint64_t written[TSEED_WORKS]; /* bytes */
    uint64_t ended[TSEED_TRUNCATE + 1][TSEED_ENDS];
    uint64_t counts[TSEED_COUNTS];
    tseed_histogram_t latency[TSEED_TIMED];
} tseed_server_counts_t;

typedef struct {
    const char *name;
    uint64_t requests[TSEED_OUTCOMES_OF_TILES];
    uint64_t made, failed; /* tiles, by tasks and for requests */
    apr_time_t succeeded;  /* a seed or reseed ended without a failure; 0: none since the start */
} tseed_layer_counts_t;

typedef struct {
    const char *name;
    int64_t state; /* tseed_upstream_state_t */
    uint64_t replies[TSEED_REPLIES];
    uint64_t received; /* bytes */
    tseed_histogram_t latency;
} tseed_upstream_counts_t;

/* Why tasks stand still: running ones, and those that do not fit the configuration of this host. */
typedef enum {
    TSEED_WAIT_QUOTA,
    TSEED_WAIT_UPSTREAM,
    TSEED_WAIT_STORE,
    TSEED_WAIT_TASK, /* another one is at work at the same metatile */
    TSEED_WAIT_CONFIGURATION,
    TSEED_WAITS
} tseed_wait_cause_t;

/* What the seeder measures once a second; 64-bit numbers alone. */
typedef struct {
    apr_time_t started; /* the seeder, wall clock */
    int64_t waiting[TSEED_WAITS];
    int64_t used_bytes, used_files;           /* the cache, as the quota counts */
    int64_t quota_enabled, limit_bytes;       /* the limit holds if it is enabled */
    int64_t pages_in_doubt, is_complete;      /* of the books */
    apr_time_t reconciled;                    /* the end of the last reconcile; 0: never */
    int64_t requests, requests_most;          /* that wait for missing tiles */
    int64_t roots, free[TSEED_COUNTED_ROOTS]; /* free bytes of store roots; -1: not known */
    uint64_t roots_print;                     /* tseed_metrics_roots_print: of which roots */
} tseed_readings_t;

/* All that the document says. */
typedef struct {
    const char *version, *httpd; /* of the module, of the server */
    const char *seeder;          /* one of tseed_seeder_states */
    int is_up, is_active;        /* active: it works and does not stand by */
    uint64_t starts;
    int has_tasks;                        /* 0: the board can't be read just now */
    int64_t tasks[TSEED_TRUNCATE + 1][2]; /* by type, pending and running */
    int64_t reasons[TSEED_REASONS];       /* by the code of their reason */
    int64_t remaining;                    /* tiles */
    double rate;                          /* tiles a second */
    int has_readings;
    tseed_readings_t readings;
    const char *const *roots; /* names of readings.free, NULL behind the last */
    tseed_server_counts_t counts;
    apr_array_header_t *layers;    /* of tseed_layer_counts_t */
    apr_array_header_t *upstreams; /* of tseed_upstream_counts_t */
    int others;                    /* configured layers that are counted as `_other` */
} tseed_metrics_t;

/* The states of a seeder, NULL behind the last. */
extern const char *const tseed_seeder_states[];

/* A hash of the names of store roots, NULL behind the last. A seeder of the last configuration may
 * have measured other roots. Any thread. */
uint64_t tseed_metrics_roots_print(const char *const *roots);

/* The document, in `pool`, and its length. Any thread. */
const char *tseed_metrics_document(const tseed_metrics_t *metrics, tseed_exposition_format_t format,
                                   apr_size_t *length, apr_pool_t *pool);

#endif
