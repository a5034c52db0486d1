/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Patience: tasks whose upstream is away stay RUNNING, say why and lend their threads; they go on
 * by themselves, or end when it has been away for too long.
 *
 * Since when is part of a task's record, so that a restart does not begin to count anew. The wall
 * clock is read once for that; from then on the monotonic one counts.
 */
#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "pipeline/tseed_upstreams.h"
#include "seeder/tseed_house.h"

static int needs_upstream(const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_GOING && (run->fetching > 0 || run->parked);
}

static const char *name_of(const tseed_run_t *run, int address)
{
    return run->tileset.layer->source.addresses[address].upstream->name;
}

/* Of a name or a cause in a reason, so that there is room for what stands behind it. */
#define PART_SIZE 80

static void write_reason(tseed_run_t *run, const char *name, const tseed_outlook_t *outlook,
                         apr_time_t now)
{
    int64_t left = (outlook->next - now + APR_USEC_PER_SEC - 1) / APR_USEC_PER_SEC;
    const apr_time_t since =
        outlook->since < run->progress.away_since ? outlook->since : run->progress.away_since;
    char next[40] = "it is being tried", time[TSEED_TIME_SIZE];
    char upstream[PART_SIZE], cause[PART_SIZE];

    tseed_text_second(time, since);
    if (left > 0) {
        apr_snprintf(next, sizeof(next), "next try in %" APR_INT64_T_FMT " s", left);
    }
    tseed_text_say(run->progress.reason, sizeof(run->progress.reason),
                   "waiting for upstream %s: %s since %s, %s",
                   tseed_text_fit(upstream, sizeof(upstream), name),
                   tseed_text_fit(cause, sizeof(cause), outlook->cause), time, next);
}

static void give_up(tseed_seeder_t *seeder, tseed_run_t *run, const char *name, const char *cause)
{
    char upstream[PART_SIZE];

    run->progress.state = TSEED_ABORTED;
    tseed_text_say(run->progress.reason, sizeof(run->progress.reason),
                   "the upstream %s was away for longer than TileSeedGiveUp allows: %s",
                   tseed_text_fit(upstream, sizeof(upstream), name), cause);
    tseed_pump_drain(seeder, run);
}

/* An earlier seeder may have begun to wait. */
static void begin_to_wait(tseed_run_t *run, apr_time_t now)
{
    apr_time_t *since = &run->progress.away_since;
    apr_time_t wall = tseed_clock_wall(*since);

    *since = *since ? *since : wall;
    run->waits_since = now - (wall - *since);
}

/* What is shown each second is not worth a record in the database. */
static void hold_on(tseed_seeder_t *seeder, tseed_run_t *run, const char *name,
                    const tseed_outlook_t *outlook, apr_time_t now)
{
    int was_dirty = run->dirty || !run->waits_since;

    if (!run->waits_since) {
        begin_to_wait(run, now);
    }
    if (now - run->waits_since >= seeder->context->settings->give_up) {
        give_up(seeder, run, name, outlook->cause);
    } else {
        write_reason(run, name, outlook, now);
    }
    tseed_display_run(seeder->display, run);
    run->dirty = was_dirty;
}

static void go_on(tseed_seeder_t *seeder, tseed_run_t *run, apr_time_t now)
{
    run->waits_since = run->progress.away_since = 0;
    run->measured_at = now;
    tseed_run_remind(run);
    tseed_display_run(seeder->display, run);
}

/* It has answered nothing for a while, and what it was asked has not failed yet. */
static void be_hushed(tseed_seeder_t *seeder, tseed_run_t *run, const char *name,
                      const tseed_outlook_t *outlook, apr_time_t now)
{
    char upstream[PART_SIZE];
    int was_dirty = run->dirty;

    run->is_hushed = 1;
    tseed_text_say(run->progress.reason, sizeof(run->progress.reason),
                   "waiting for upstream %s: no answer for %" APR_INT64_T_FMT " s",
                   tseed_text_fit(upstream, sizeof(upstream), name),
                   (now - outlook->hushed) / APR_USEC_PER_SEC);
    tseed_display_run(seeder->display, run);
    run->dirty = was_dirty;
}

static void hear_again(tseed_seeder_t *seeder, tseed_run_t *run)
{
    run->is_hushed = 0;
    if (run->phase == TSEED_RUN_GOING) {
        tseed_run_remind(run);
        tseed_display_run(seeder->display, run);
    }
}

/* Before the upstream's first answer nobody knows whether what an earlier seeder waited for is. */
static int is_over(const tseed_run_t *run, const tseed_outlook_t *outlook)
{
    return run->phase == TSEED_RUN_GOING &&
           (run->waits_since || (run->progress.away_since && outlook->heard));
}

static void tick(void *module, apr_time_t now)
{
    tseed_seeder_t *seeder = module;
    for (tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        tseed_outlook_t outlook = {0};
        int address =
            needs_upstream(run) ? tseed_upstreams_get(seeder->context->fetcher, &outlook, run) : 0;

        if (outlook.since) {
            hold_on(seeder, run, name_of(run, address), &outlook, now);
        } else if (is_over(run, &outlook)) {
            go_on(seeder, run, now);
        }
        if (!outlook.since && outlook.hushed) {
            be_hushed(seeder, run, name_of(run, address), &outlook, now);
        } else if (run->is_hushed) {
            hear_again(seeder, run);
        }
    }
}

tseed_client_t tseed_patience_client = {.tick = tick};
