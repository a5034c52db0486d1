/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The health of upstreams: a record for each layer and upstream that have met. */
#include "pipeline/tseed_health.h"

#include <apr_hash.h>
#include <apr_strings.h>

#include "source/tseed_source.h"

#define STREAK     3
#define ASKS_EVERY (30 * APR_USEC_PER_SEC)

typedef struct {
    const tseed_layer_t *layer;
    const tseed_upstream_t *upstream;
} meeting_t;

typedef struct {
    meeting_t meeting;
    uint32_t bits;      /* of the last answers, the newest first; 1: it was no use */
    int looked;         /* how many of them, */
    int streak;         /* and how many of the newest were no use */
    int is_away;        /* the last one says that the upstream is away */
    apr_time_t well_at; /* monotonic: the last good answer; 0: none */
    apr_time_t since;   /* when the streak began */
    apr_time_t noted;   /* the last answer */
    apr_time_t paused;  /* monotonic: until then the upstream wants to hear nothing of the layer; 0:
                         * its last answer asks for no pause */
    char cause[TSEED_CAUSE_SIZE];
} record_t;

struct tseed_health_t {
    apr_pool_t *pool;
    apr_hash_t *records; /* meeting_t -> record_t */
};

tseed_health_t *tseed_health_create(apr_pool_t *pool)
{
    tseed_health_t *health = apr_pcalloc(pool, sizeof(*health));

    health->pool = pool;
    health->records = apr_hash_make(pool);
    return health;
}

/* NULL: they have not met. */
static record_t *find(const tseed_health_t *health, const tseed_layer_t *layer,
                      const tseed_upstream_t *upstream)
{
    const meeting_t meeting = {layer, upstream};

    return apr_hash_get(health->records, &meeting, sizeof(meeting));
}

static record_t *record_of(tseed_health_t *health, const tseed_job_t *job)
{
    const meeting_t meeting = {job->run->tileset.layer, job->request.transfer.upstream};
    record_t *record = find(health, meeting.layer, meeting.upstream);

    if (!record) {
        record = apr_pcalloc(health->pool, sizeof(*record));
        record->meeting = meeting;
        apr_hash_set(health->records, &record->meeting, sizeof(meeting), record);
    }
    return record;
}

/* Whether a failure says something of the upstream that its good answers have not refuted. */
static int is_news(const record_t *record, const tseed_job_t *job)
{
    const int status = job->request.transfer.http_status;

    if (!record->well_at) {
        return 1;
    }
    if (tseed_source_is_tiled(&job->run->tileset.layer->source) &&
        (status == 404 || status == 410 || status == 204)) {
        return 0;
    }
    return job->request.tries == 0 || record->well_at < job->request.first_failed;
}

/* `cause`: why no tiles can be made of an answer; NULL: they were. */
static void note(tseed_health_t *health, const tseed_job_t *job, const char *cause, apr_time_t now)
{
    record_t *record = record_of(health, job);

    record->paused =
        job->request.transfer.pauses_layer ? now + job->request.transfer.retry_after : 0;
    if (cause && !is_news(record, job)) {
        return;
    }
    record->bits = record->bits << 1 | (cause != NULL);
    record->looked += record->looked < 32;
    record->noted = now;
    record->is_away = cause && job->request.transfer.result == TSEED_FETCH_AWAY;
    if (!cause) {
        record->well_at = now;
        record->streak = 0;
        return;
    }
    record->since = record->streak++ ? record->since : now;
    apr_cpystrn(record->cause, cause, sizeof(record->cause));
}

/* A request that was not sent says nothing, unless the upstream could not be reached. */
void tseed_health_take(tseed_health_t *health, const tseed_job_t *leader, apr_time_t now)
{
    const tseed_transfer_t *transfer = &leader->request.transfer;

    if (leader->request.stage == TSEED_STAGE_FETCH) {
        if (transfer->result == TSEED_FETCH_AWAY ||
            (transfer->result == TSEED_FETCH_FAILED && transfer->sent)) {
            note(health, leader, transfer->cause, now);
        }
    } else if (leader->request.stage == TSEED_STAGE_CUT && transfer->sent &&
               !leader->savings.is_made_of_shade) {
        if (leader->result.outcome == TSEED_JOB_OK ||
            leader->result.outcome == TSEED_JOB_BAD_ANSWER) {
            note(health, leader,
                 leader->result.outcome == TSEED_JOB_OK ? NULL : leader->result.cause, now);
        }
    }
}

static int fails(const record_t *record, apr_time_t now)
{
    const apr_interval_time_t lasts =
        record->is_away ? TSEED_HEALTH_AWAY_LASTS : TSEED_HEALTH_LASTS;

    return now < record->paused ||
           ((record->streak >= STREAK || (record->streak > 0 && !record->well_at)) &&
            now - record->noted < lasts);
}

int tseed_health_fails(const tseed_health_t *health, const tseed_layer_t *layer,
                       const tseed_upstream_t *upstream, apr_time_t now)
{
    const record_t *record = find(health, layer, upstream);

    return record && fails(record, now);
}

int tseed_health_may_ask(tseed_health_t *health, const char **cause, const tseed_layer_t *layer,
                         apr_time_t now)
{
    record_t *first = NULL;

    for (int i = 0; i < layer->source.count; i++) {
        record_t *record = find(health, layer, layer->source.addresses[i].upstream);

        if (!record || !record->paused) {
            return 1;
        }
        first = first && first->paused <= record->paused ? first : record;
    }
    if (first && now < first->paused) {
        *cause = first->cause;
        return 0;
    }
    if (first) {
        first->paused = now + ASKS_EVERY;
    }
    return 1;
}

void tseed_health_ask_again(tseed_health_t *health, const tseed_layer_t *layer)
{
    for (int i = 0; i < layer->source.count; i++) {
        record_t *record = find(health, layer, layer->source.addresses[i].upstream);

        if (record && record->paused) {
            record->paused = 1; /* over */
        }
    }
}

tseed_illness_t tseed_health_of(const tseed_health_t *health, const tseed_upstream_t *upstream,
                                apr_time_t now)
{
    tseed_illness_t illness = {0};
    apr_time_t newest = 0;

    for (apr_hash_index_t *i = apr_hash_first(NULL, health->records); i; i = apr_hash_next(i)) {
        const record_t *record = apr_hash_this_val(i);

        if (record->meeting.upstream != upstream) {
            continue;
        }
        illness.looked += record->looked;
        illness.failed += __builtin_popcount(record->bits);
        if (fails(record, now) && record->noted > newest) {
            newest = record->noted;
            illness.layer = record->meeting.layer->name;
            illness.cause = record->cause;
            illness.since = record->since;
        }
    }
    return illness;
}
