/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Outages: what a task says and does while its upstream is away, or refuses it. */
#include "pipeline/tseed_outage.h"

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "pipeline/tseed_upstreams.h"

struct tseed_outage_t {
    const tseed_context_t *context;
    const tseed_runs_t *runs;
    tseed_ends_t *ends;
    const tseed_display_t *display;
    tseed_client_t client;
};

static int needs_upstream(const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_GOING && (run->fetching > 0 || run->to_retry);
}

static const char *name_of(const tseed_run_t *run, int address)
{
    return run->tileset.layer->source.addresses[address].upstream->name;
}

/* How long a task waits for a layer that its upstream does not have. */
#define NO_LAYER_MOST (180 * APR_USEC_PER_SEC)

/* Bytes of a name or a cause in a reason, so that the text behind it has room. */
#define PART_SIZE 80

/* Says when the upstream is tried again, in the second in which that will have happened. A time
 * stays the same while seconds to it go by: who polls is told of nothing new. */
static void write_next(char *text, size_t size, apr_interval_time_t left)
{
    char time[TSEED_TIME_SIZE];

    if (left <= 0) {
        apr_cpystrn(text, "it is being tried", size);
        return;
    }
    tseed_text_second(time, tseed_clock_wall(0) + left + APR_USEC_PER_SEC - 1);
    apr_snprintf(text, size, "next try at %s", time);
}

static void write_reason(tseed_run_t *run, const char *name, const tseed_outlook_t *outlook,
                         apr_time_t now)
{
    const apr_time_t since =
        outlook->since < run->progress.away_since ? outlook->since : run->progress.away_since;
    char next[PART_SIZE], time[TSEED_TIME_SIZE];
    char upstream[PART_SIZE], cause[PART_SIZE];

    tseed_text_second(time, since);
    write_next(next, sizeof(next), outlook->next - now);
    tseed_text_fit(upstream, sizeof(upstream), name);
    tseed_text_fit(cause, sizeof(cause), outlook->cause);
    if (tseed_run_is_refused(run) && run->refused.what != TSEED_REFUSES_NOTHING) {
        tseed_progress_say(&run->progress, TSEED_REASON_REFUSED,
                           "refused by upstream %s: %s since %s, %s", upstream, cause, time, next);
        return;
    }
    tseed_progress_say(&run->progress,
                       outlook->quiet_until > now ? TSEED_REASON_QUIET : TSEED_REASON_AWAY,
                       "waiting for upstream %s: %s since %s, %s", upstream, cause, time, next);
}

static int has_no_layer(const tseed_run_t *run)
{
    return tseed_run_is_refused(run) && run->refused.what == TSEED_REFUSES_LAYER;
}

static void give_up(tseed_outage_t *outage, tseed_run_t *run, const char *name, const char *cause)
{
    const char *what = has_no_layer(run) ? "does not have what the layer asks for"
                       : tseed_run_is_refused(run) && run->refused.what != TSEED_REFUSES_NOTHING
                           ? "refused the task for longer than TileSeedGiveUp allows"
                           : "was away for longer than TileSeedGiveUp allows";
    char upstream[PART_SIZE];

    tseed_run_abort(run);
    tseed_progress_say(&run->progress, TSEED_REASON_GIVEN_UP, "the upstream %s %s: %s",
                       tseed_text_fit(upstream, sizeof(upstream), name), what, cause);
    tseed_ends_drain(outage->ends, run);
}

/* An earlier seeder may have begun to wait. */
static void begin_to_wait(tseed_run_t *run, apr_time_t now)
{
    apr_time_t *since = &run->progress.away_since;
    apr_time_t wall = tseed_clock_wall(*since);

    *since = *since ? *since : wall;
    run->waits_since = now - (wall - *since);
}

/* Nobody mends a layer that is not there by waiting, and less if the capabilities lack it, too. An
 * upstream that starts may not have read its layers yet. */
static apr_interval_time_t patience(const tseed_outage_t *outage, const tseed_run_t *run)
{
    const apr_interval_time_t most = outage->context->settings->give_up;

    if (has_no_layer(run)) {
        return run->lacks_layer ? 0 : NO_LAYER_MOST < most ? NO_LAYER_MOST : most;
    }
    return most;
}

/* The board shows when the next try is. Only the beginning is worth a record in the database. */
static void hold_on(tseed_outage_t *outage, tseed_run_t *run, const char *name,
                    const tseed_outlook_t *outlook, apr_time_t now)
{
    const int is_new = !run->waits_since;

    if (is_new) {
        begin_to_wait(run, now);
    }
    if (now - run->waits_since >= patience(outage, run)) {
        give_up(outage, run, name, outlook->cause);
    } else {
        write_reason(run, name, outlook, now);
    }
    if (is_new) {
        tseed_display_run(outage->display, run);
    } else {
        tseed_display_show(outage->display, run);
    }
}

static void go_on(tseed_outage_t *outage, tseed_run_t *run, apr_time_t now)
{
    run->waits_since = run->progress.away_since = 0;
    tseed_run_measure_from(run, now);
    tseed_run_remind(run);
    tseed_display_run(outage->display, run);
}

/* The upstream has answered nothing for a while, and no request has failed yet. */
static void note_silence(tseed_outage_t *outage, tseed_run_t *run, const char *name,
                         const tseed_outlook_t *outlook, apr_time_t now)
{
    char upstream[PART_SIZE], time[TSEED_TIME_SIZE];

    run->is_silent = 1;
    tseed_text_second(time, tseed_clock_wall(0) - (now - outlook->silent));
    tseed_progress_say(&run->progress, TSEED_REASON_SILENT,
                       "waiting for upstream %s: no answer since %s",
                       tseed_text_fit(upstream, sizeof(upstream), name), time);
    tseed_display_show(outage->display, run);
}

static void hear_again(tseed_outage_t *outage, tseed_run_t *run)
{
    run->is_silent = 0;
    if (run->phase == TSEED_RUN_GOING) {
        tseed_run_remind(run);
        tseed_display_run(outage->display, run);
    }
}

/* Whether the wait is over. If an earlier seeder began the wait, this is known when the upstream
 * has answered once. */
static int is_over(const tseed_run_t *run, const tseed_outlook_t *outlook)
{
    return run->phase == TSEED_RUN_GOING &&
           (run->waits_since ||
            (run->progress.away_since && outlook->heard && !run->refused.count));
}

/* The upstream is there, and refuses the run or asks it for a pause. */
static void hold_on_refused(tseed_outage_t *outage, tseed_run_t *run, apr_time_t now)
{
    tseed_outlook_t outlook = {.since = tseed_clock_wall(run->progress.away_since),
                               .next = run->refused.next,
                               .quiet_until = run->refused.next};

    apr_cpystrn(outlook.cause, run->refused.cause, sizeof(outlook.cause));
    hold_on(outage, run, run->refused.by->name, &outlook, now);
}

void tseed_outage_look(tseed_outage_t *outage, tseed_run_t *run, const char *name,
                       const tseed_outlook_t *outlook, apr_time_t now)
{
    if (outlook->since) {
        hold_on(outage, run, name, outlook, now);
    } else if (run->phase == TSEED_RUN_GOING && tseed_run_is_refused(run)) {
        hold_on_refused(outage, run, now);
    } else if (is_over(run, outlook)) {
        go_on(outage, run, now);
    }
    if (!outlook->since && outlook->silent) {
        note_silence(outage, run, name, outlook, now);
    } else if (run->is_silent) {
        hear_again(outage, run);
    }
}

static void tick(void *module, apr_time_t now)
{
    tseed_outage_t *outage = module;

    for (tseed_run_t *run = outage->runs->tasks; run; run = run->next_run) {
        tseed_outlook_t outlook = {0};
        int address =
            needs_upstream(run) ? tseed_upstreams_get(outage->context->fetcher, &outlook, run) : 0;

        const char *name = outlook.since || outlook.silent ? name_of(run, address) : "";

        tseed_outage_look(outage, run, name, &outlook, now);
    }
}

tseed_outage_t *tseed_outage_create(const tseed_context_t *context, const tseed_runs_t *runs,
                                    tseed_ends_t *ends, const tseed_display_t *display)
{
    tseed_outage_t *outage = apr_pcalloc(context->pool, sizeof(*outage));

    outage->context = context;
    outage->runs = runs;
    outage->ends = ends;
    outage->display = display;
    outage->client = (tseed_client_t){.module = outage, .tick = tick};
    return outage;
}

tseed_client_t *tseed_outage_client(tseed_outage_t *outage)
{
    return &outage->client;
}
