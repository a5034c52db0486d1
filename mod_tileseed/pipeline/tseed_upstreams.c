/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The upstreams of a source: the fetcher knows which of them are away. */
#include "pipeline/tseed_upstreams.h"

#include "base/tseed_clock.h"

/* How the upstream at an address of a run's source is doing, as the run may tell it. */
static void look_at(tseed_fetcher_t *fetcher, tseed_outlook_t *outlook, const tseed_run_t *run,
                    int address)
{
    const tseed_layer_t *layer = run->tileset.layer;
    tseed_outlook_t seen;

    tseed_fetcher_outlook(fetcher, &seen, layer->source.addresses[address].upstream);
    *outlook = seen;
    tseed_cause_for(outlook->cause, seen.cause, seen.layer, layer);
}

int tseed_upstreams_get(tseed_fetcher_t *fetcher, tseed_outlook_t *outlook, const tseed_run_t *run)
{
    int soonest = 0;

    look_at(fetcher, outlook, run, 0);
    for (int i = 1; outlook->since && i < run->tileset.layer->source.count; i++) {
        tseed_outlook_t other;

        look_at(fetcher, &other, run, i);
        if (!other.since || other.next < outlook->next) {
            *outlook = other;
            soonest = i;
        }
    }
    return soonest;
}

int tseed_upstreams_choose(tseed_fetcher_t *fetcher, const tseed_job_t *job)
{
    const tseed_source_t *source = &job->run->tileset.layer->source;
    int first = source->mode == TSEED_SOURCE_SHARE ? (int)(job->position % source->count) : 0;
    apr_time_t now = tseed_clock_monotonic();
    tseed_outlook_t outlook;

    for (int i = 0; i < source->count; i++) {
        int address = (first + job->request.tries + i) % source->count;

        look_at(fetcher, &outlook, job->run, address);
        if (!outlook.since || outlook.next <= now) {
            return address;
        }
    }
    return tseed_upstreams_get(fetcher, &outlook, job->run);
}
