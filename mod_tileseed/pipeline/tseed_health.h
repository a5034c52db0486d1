/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The health of upstreams: what their last answers to each layer were like. An upstream may answer
 * quickly and in vain: with an error, a page for logging in, or a picture of another size. Main
 * thread only.
 *
 * A layer fails when its last three answers were no use, or all answers that it has ever got. The
 * next good answer ends that. These say nothing new and are not noted:
 *
 *      - another failure of a metatile that has failed before, if the layer has got a good answer
 *        in between
 *      - that one tile of a source that has tiles is not there, once the layer has got a good one
 *
 * A failure that is told long after the last answer would be a rumour: see the constants.
 */
#ifndef TSEED_HEALTH_H
#define TSEED_HEALTH_H

#include "work/tseed_run.h"

/* How long after the last answer a layer is said to fail, and, where that answer says that the
 * upstream is away, how long. */
#define TSEED_HEALTH_LASTS      (600 * APR_USEC_PER_SEC)
#define TSEED_HEALTH_AWAY_LASTS (60 * APR_USEC_PER_SEC)

typedef struct tseed_health_t tseed_health_t;

/* The last answers of an upstream to all layers together. */
typedef struct {
    int failed, looked; /* answers: those that were no use, and all; at most 32 of each layer */
    const char *layer;  /* the one whose last failure is the newest, of those that fail; or NULL */
    const char *cause;  /* of that failure */
    apr_time_t since;   /* monotonic: the layer fails since then */
} tseed_illness_t;

/* Nothing is known at first. Lives in `pool`. */
tseed_health_t *tseed_health_create(apr_pool_t *pool);

/* Notes what came of the request of a job that has come back from FETCH or CUT: of joined jobs, the
 * leader. Other jobs, and answers to requests of others, say nothing. now: monotonic. */
void tseed_health_take(tseed_health_t *health, const tseed_job_t *leader, apr_time_t now);

/* What is known of an upstream. `layer` and `cause` hold until the next note. */
tseed_illness_t tseed_health_of(const tseed_health_t *health, const tseed_upstream_t *upstream,
                                apr_time_t now);

/* Whether a request for a layer may be sent although its upstreams have asked for a pause for this
 * layer: 0, and *cause, before the pause of one of them is over; then one request asks, until an
 * answer comes or half a minute is over. `cause` holds until the next note. now: monotonic. */
int tseed_health_may_ask(tseed_health_t *health, const char **cause, const tseed_layer_t *layer,
                         apr_time_t now);

/* Ends the pauses of a layer: the next request asks. */
void tseed_health_ask_again(tseed_health_t *health, const tseed_layer_t *layer);

/* Whether a layer fails at an upstream. */
int tseed_health_fails(const tseed_health_t *health, const tseed_layer_t *layer,
                       const tseed_upstream_t *upstream, apr_time_t now);

#endif
