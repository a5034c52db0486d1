/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Gauges: what the seeder says of the upstreams and of the disk quota, beside its tasks. REST
 * documents, the board and the seeder share these records. They are plain data without pointers.
 *
 * A gauge has no number that changes with time alone: moments stand here instead of ages. So a
 * gauge that was read once is right until the seeder writes another. */
#ifndef TSEED_GAUGE_H
#define TSEED_GAUGE_H

#include <apr_time.h>
#include <stdint.h>

#include "layer/tseed_layer.h"

#define TSEED_GAUGE_CAUSE_SIZE 240

/* How an upstream is doing, as far as anybody knows. */
typedef enum {
    TSEED_UPSTREAM_UNASKED, /* by this seeder, or since it was away */
    TSEED_UPSTREAM_WELL,
    TSEED_UPSTREAM_FAILING, /* it answers, but its last answers to a layer were no use */
    TSEED_UPSTREAM_SILENT,  /* nothing has come for longer than its answers usually take */
    TSEED_UPSTREAM_QUIET,   /* it has asked for a pause */
    TSEED_UPSTREAM_AWAY     /* the circuit is open: only probes are sent */
} tseed_upstream_state_t;

/* An upstream that this seeder has asked. Times are monotonic, 0: never or not now. */
typedef struct {
    char name[TSEED_NAME_MAX + 1];
    int64_t state;                      /* tseed_upstream_state_t */
    int64_t window;                     /* most requests at once, just now */
    int64_t under_way, queued;          /* requests */
    int64_t tasks;                      /* that wait for it */
    int64_t requests, errors;           /* that have ended, and those without a good answer */
    int64_t failed, looked;             /* of its last answers: those that were no use, and all */
    apr_interval_time_t usual;          /* latency; 0: not known yet */
    apr_time_t heard;                   /* its last good answer */
    apr_time_t since;                   /* it is in this state; 0 if it is well or was not asked */
    apr_time_t quiet_until, next;       /* its pause ends; it is asked next */
    char cause[TSEED_GAUGE_CAUSE_SIZE]; /* UTF-8, without secrets; "" when it is well */
    char layer[TSEED_NAME_MAX + 1];     /* whose answer the cause tells of; "": nobody knows */
} tseed_upstream_gauge_t;

/* What the quota configuration says of all layers together. */
typedef struct {
    int64_t enabled;
    int64_t policy; /* tseed_policy_t */
    int64_t bytes;  /* the limit */
} tseed_quota_rule_t;

/* The disk quota of all layers. Times are wall time, 0: never. */
typedef struct {
    int64_t is_complete; /* all tile sets are counted */
    int64_t used_bytes, used_files;
    int64_t disk_free; /* bytes, below the fullest store root; -1: not measured */
    int64_t tasks;     /* that wait for room */
    int64_t in_doubt;  /* pages to be counted */
    apr_time_t grace;  /* the first clean-up begins; 0: none waits */
    apr_time_t clean_started, clean_last; /* the last clean-up */
    int64_t clean_pages, clean_bytes, clean_files;
} tseed_quota_gauge_t;

/* "UNASKED", "WELL", "FAILING", "SILENT", "QUIET", "AWAY"; static text. A state that can't be is
 * "UNASKED". Any thread. */
static inline const char *tseed_upstream_state_name(int64_t state)
{
    static const char *const names[] = {
        [TSEED_UPSTREAM_UNASKED] = "UNASKED", [TSEED_UPSTREAM_WELL] = "WELL",
        [TSEED_UPSTREAM_FAILING] = "FAILING", [TSEED_UPSTREAM_SILENT] = "SILENT",
        [TSEED_UPSTREAM_QUIET] = "QUIET",     [TSEED_UPSTREAM_AWAY] = "AWAY",
    };

    return names[state >= 0 && state <= TSEED_UPSTREAM_AWAY ? state : TSEED_UPSTREAM_UNASKED];
}

#endif
