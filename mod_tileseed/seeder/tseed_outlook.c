/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The outlook: how the upstreams of a run's source are doing, and which of them is asked. */
#include "base/tseed_clock.h"
#include "seeder/tseed_house.h"

/* What one of the addresses of a run's source says. */
static void look_at(const tseed_seeder_t *seeder, tseed_outlook_t *outlook, const tseed_run_t *run,
                    int address)
{
    tseed_fetcher_outlook(seeder->context->fetcher, outlook,
                          run->tileset.layer->source.addresses[address].upstream);
}

int tseed_outlook_get(const tseed_seeder_t *seeder, tseed_outlook_t *outlook,
                      const tseed_run_t *run)
{
    int soonest = 0;

    look_at(seeder, outlook, run, 0);
    for (int i = 1; outlook->since && i < run->tileset.layer->source.count; i++) {
        tseed_outlook_t other;

        look_at(seeder, &other, run, i);
        if (!other.since || other.next < outlook->next) {
            *outlook = other;
            soonest = i;
        }
    }
    return soonest;
}

int tseed_outlook_choose(const tseed_seeder_t *seeder, const tseed_job_t *job)
{
    const tseed_source_t *source = &job->run->tileset.layer->source;
    int first = source->mode == TSEED_SOURCE_SHARE ? (int)(job->position % source->count) : 0;
    apr_time_t now = tseed_clock_monotonic();
    tseed_outlook_t outlook;

    for (int i = 0; i < source->count; i++) {
        int address = (first + job->tries + i) % source->count;

        look_at(seeder, &outlook, job->run, address);
        if (!outlook.since || outlook.next <= now) {
            return address;
        }
    }
    return tseed_outlook_get(seeder, &outlook, job->run);
}
