/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pruning.
 *
 * A finding is relied on only when the database has it, so that what a task has passed stays known
 * whatever happens. A reseed relies on findings that it has made or met again itself, and only if
 * nothing of another colour lies below: it has to make anew what is there. A finding goes with the
 * recipe by which its tile was made.
 */
#include "usage/tseed_prune.h"

#include <apr_hash.h>

#include "base/tseed_clock.h"
#include "tiling/tseed_jump.h"
#include "usage/tseed_finder.h"

#define LANDINGS 200 /* jumps of a run in one turn of the loop, */
#define STEPS    100 /* and steps of a jump */

struct tseed_prune_t {
    tseed_prune_uses_t uses;
    tseed_client_t client;
    apr_hash_t *sets; /* number of the tile set -> tseed_pruned_set_t */
    int has_more;     /* a run was cut short at the last turn */
};

/* ---- sets ---- */

static const tseed_prune_config_t *config_of(const tseed_run_t *run)
{
    return &run->tileset.layer->prune;
}

static tseed_pruned_set_t *find(const tseed_prune_t *prune, const tseed_book_tileset_t *booked)
{
    return apr_hash_get(prune->sets, &booked->number, sizeof(booked->number));
}

/* Forgets what a truncate that is not done makes out of date. Returns how many of these findings
 * have pruned what lies below them. */
static int64_t forget_old(tseed_prune_t *prune, tseed_pruned_set_t *set, const char *key)
{
    tseed_finding_t *finding;
    size_t cursor = 0;
    int64_t forgotten = 0;

    while ((finding = tseed_findings_next(set->findings, &cursor)) != NULL) {
        if (!finding->is_gone && tseed_cutoff_has(prune->uses.cutoff, key, &finding->range)) {
            forgotten += tseed_finding_prunes(set->findings, finding);
            tseed_findings_forget(set->findings, finding);
            tseed_pruned_set_change(set, finding);
        }
    }
    if (tseed_pruned_set_has_changes(set)) {
        prune->uses.session->must_save = prune->uses.session->must_record = 1;
    }
    return forgotten;
}

/* Enters the set of a tile set. NULL: the database has failed, which is noted. */
static tseed_pruned_set_t *enter(tseed_prune_t *prune, const tseed_book_tileset_t *booked,
                                 int meta_width, int meta_height, int depth)
{
    tseed_session_t *session = prune->uses.session;
    tseed_pruned_set_t *set;
    apr_status_t rv;

    if (!session->state || (session->trouble && tseed_clock_monotonic() < session->retry_at)) {
        return NULL;
    }
    set = tseed_pruned_set_create(booked, meta_width, meta_height, depth);
    rv = tseed_pruned_set_load(set, session->state, INT64_MAX, prune->uses.context->scratch);
    if (rv != APR_SUCCESS) {
        tseed_session_fail(session, rv, "read what was pruned");
        tseed_pruned_set_free(set);
        return NULL;
    }
    apr_hash_set(prune->sets, &booked->number, sizeof(booked->number), set);
    return set;
}

/* The set of a run's tile set. NULL: the database has failed. */
static tseed_pruned_set_t *get(tseed_prune_t *prune, const tseed_run_t *run)
{
    tseed_pruned_set_t *set = find(prune, run->booked);

    if (!set) {
        set = enter(prune, run->booked, run->task->meta_width, run->task->meta_height,
                    config_of(run)->depth);
        if (set) {
            forget_old(prune, set, run->tileset.key);
        }
    }
    return set;
}

static void clear(tseed_pruned_set_t *set, const tseed_run_t *run)
{
    tseed_pruned_set_clear(set, run->task->meta_width, run->task->meta_height,
                           config_of(run)->depth);
    set->recipe = run->booked->record.recipe;
}

/* Where TileSeedPrune is off nothing stays known. */
static void leave(tseed_prune_t *prune, const tseed_run_t *run)
{
    tseed_pruned_set_t *set = get(prune, run);

    if (set && tseed_findings_count(set->findings) > 0) {
        clear(set, run);
    }
}

/* The set as it is by the run's recipe. NULL: TileSeedPrune is off, or the database has failed. */
static tseed_pruned_set_t *set_of(tseed_prune_t *prune, tseed_run_t *run)
{
    tseed_pruned_set_t *set = config_of(run)->is_on ? get(prune, run) : NULL;

    if (set) {
        tseed_origins_follow(prune->uses.origins, run);
        if (set->recipe != run->booked->record.recipe) {
            clear(set, run);
        }
    }
    return set;
}

/* ---- passing ---- */

typedef enum { NOT_RELIED_ON, OWN, OF_OTHERS, NOT_SAVED } class_t;

static int class_of(void *baton, const tseed_finding_t *finding)
{
    const tseed_run_t *run = baton;
    const int is_own = finding->task == run->task->id;

    if (run->task->type == TSEED_RESEED && !(is_own && finding->is_clean)) {
        return NOT_RELIED_ON;
    }
    if (!finding->is_saved) {
        return NOT_SAVED;
    }
    return is_own ? OWN : OF_OTHERS;
}

static tseed_jump_t jump_of(const tseed_pruned_set_t *set, tseed_run_t *run)
{
    return (tseed_jump_t){
        .findings = set->findings,
        .positions = &run->positions,
        .class_of = class_of,
        .baton = run,
        .looked = OWN,
        .share = config_of(run)->share,
        .asks = config_of(run)->share > 0,
        .seed = run->booked->record.print,
    };
}

/* Counts positions from..to-1 that a run of pruned positions begins with. Those that are finished
 * already were no part of a run before a seeder died: they are not counted again. */
static void count_passed(tseed_run_t *run, int64_t from, int64_t to, const tseed_landing_t *landing)
{
    tseed_progress_t *progress = &run->progress;

    progress->pruned += landing->tiles;
    progress->spared += landing->end - from;
    for (int64_t position = from; position < to; position++) {
        if (tseed_progress_is_done(progress, position)) {
            const tseed_metatile_t metatile = tseed_run_metatile(run, position);

            progress->pruned -= tseed_range_count(&metatile.wanted);
            progress->spared--;
        }
    }
}

/* Passes a run of pruned positions. A run that is longer than the window is passed when everything
 * before it is finished. Returns 0 if it is not yet. */
static int pass(tseed_prune_t *prune, tseed_run_t *run, int64_t from,
                const tseed_landing_t *landing)
{
    tseed_progress_t *progress = &run->progress;
    const int64_t window_end = progress->low + TSEED_WINDOW;
    const int64_t end = landing->end < window_end ? landing->end : window_end;

    if (landing->end > window_end && from > progress->low) {
        return 0;
    }
    count_passed(run, from, end, landing);
    if (landing->end > window_end) {
        tseed_progress_pass(progress, landing->end);
    }
    for (int64_t position = from; landing->end <= window_end && position < end; position++) {
        tseed_progress_finish(progress, position);
    }
    tseed_display_run(prune->uses.display, run);
    return 1;
}

/* Whether looks are under way: what a broad finding prunes waits for what they find. */
static int is_looking(const tseed_run_t *run)
{
    for (const tseed_job_t *job = run->jobs; job; job = job->sibling) {
        if (job->shade) {
            return 1;
        }
    }
    return 0;
}

/* Looks what begins at the position that the run has next. Returns 1 if there may be more to pass
 * behind it; if not, *position is what the run begins next, or -1. */
static int go_on(tseed_prune_t *prune, tseed_run_t *run, const tseed_jump_t *jump,
                 int64_t *position)
{
    tseed_landing_t landing;

    *position = tseed_run_peek(run);
    if (*position < 0) {
        return 0;
    }
    tseed_jump_from(&landing, jump, *position, STEPS);
    if (!landing.finding) {
        return 0;
    }
    if (landing.class_of == NOT_SAVED) {
        prune->uses.session->must_save = prune->uses.session->must_record = 1;
        *position = -1;
        return 0;
    }
    if (landing.is_look) {
        return 0;
    }
    if (landing.is_broad && is_looking(run)) {
        *position = -1;
        return 0;
    }
    if (pass(prune, run, *position, &landing)) {
        return 1;
    }
    *position = -1;
    return 0;
}

int64_t tseed_prune_next(tseed_prune_t *prune, tseed_run_t *run)
{
    const tseed_pruned_set_t *set = set_of(prune, run);
    tseed_jump_t jump;
    int64_t position;
    int landings = 0;

    if (!config_of(run)->is_on) {
        leave(prune, run);
    }
    if (!config_of(run)->is_on || run->list) {
        return tseed_run_peek(run);
    }
    if (!set) {
        return -1;
    }
    jump = jump_of(set, run);
    while (go_on(prune, run, &jump, &position)) {
        if (++landings == LANDINGS) {
            prune->has_more = 1;
            return -1;
        }
    }
    return position;
}

void tseed_prune_begin(tseed_prune_t *prune, tseed_job_t *job)
{
    tseed_run_t *run = job->run;
    const tseed_pruned_set_t *set = run->list ? NULL : set_of(prune, run);
    tseed_landing_t landing;
    tseed_jump_t jump;

    if (set) {
        jump = jump_of(set, run);
        tseed_jump_from(&landing, &jump, job->position, 1);
        if (landing.is_look) {
            job->shade = tseed_pruned_set_shade(set, landing.finding->shade);
            job->must_fetch = 1;
        }
    }
}

const tseed_shade_t *tseed_prune_shade(tseed_prune_t *prune, tseed_run_t *run, int64_t position)
{
    const tseed_pruned_set_t *set = set_of(prune, run);
    const tseed_finding_t *above;
    tseed_place_t place;
    tseed_spot_t spot;

    if (!set) {
        return NULL;
    }
    place = tseed_positions_place(&run->positions, position);
    spot = (tseed_spot_t){&run->positions, place.block.z, place.x, place.y, 0};
    above = tseed_findings_above(set->findings, &spot, NULL, NULL);
    return above ? tseed_pruned_set_shade(set, above->shade) : NULL;
}

/* ---- finding ---- */

void tseed_prune_take(tseed_prune_t *prune, const tseed_job_t *job)
{
    const tseed_run_t *run = job->run;
    tseed_pruned_set_t *set = NULL;

    if (job->outcome == TSEED_JOB_OK && !job->is_made_of_shade && config_of(run)->is_on &&
        (!job->shade || job->is_wrong)) {
        set = find(prune, run->booked);
    }
    if (set && set->recipe == run->booked->record.recipe) {
        tseed_finder_take(set, prune->uses.cache, job);
    }
}

/* ---- truncates ---- */

int64_t tseed_prune_truncate(tseed_prune_t *prune, const tseed_tileset_t *tileset)
{
    const tseed_layer_t *layer = tileset->layer;
    const uint64_t print = tseed_tileset_print(tileset, prune->uses.context->scratch);
    const tseed_book_tileset_t *booked =
        prune->uses.cache->book ? tseed_book_find(prune->uses.cache->book, print) : NULL;
    tseed_pruned_set_t *set = booked ? find(prune, booked) : NULL;

    if (booked && !set) {
        set = enter(prune, booked, layer->meta_width, layer->meta_height, layer->prune.depth);
    }
    return set ? forget_old(prune, set, tileset->key) : 0;
}

void tseed_prune_forget(tseed_prune_t *prune, const tseed_book_tileset_t *booked)
{
    tseed_pruned_set_t *set = find(prune, booked);

    if (set) {
        apr_hash_set(prune->sets, &booked->number, sizeof(booked->number), NULL);
        tseed_pruned_set_free(set);
    }
}

/* ---- saving ---- */

static tseed_pruned_set_t *next(apr_hash_index_t **index)
{
    tseed_pruned_set_t *set = *index ? apr_hash_this_val(*index) : NULL;

    *index = *index ? apr_hash_next(*index) : NULL;
    return set;
}

int tseed_prune_has_changes(const tseed_prune_t *prune)
{
    apr_hash_index_t *index = apr_hash_first(prune->uses.context->scratch, prune->sets);
    const tseed_pruned_set_t *set;
    int changes = 0;

    while ((set = next(&index)) != NULL) {
        changes |= tseed_pruned_set_has_changes(set);
    }
    return changes;
}

apr_status_t tseed_prune_write(const tseed_prune_t *prune)
{
    apr_hash_index_t *index = apr_hash_first(prune->uses.context->scratch, prune->sets);
    tseed_pruned_set_t *set;
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && (set = next(&index)) != NULL) {
        rv = tseed_pruned_set_write(set, prune->uses.session->state, prune->uses.context->scratch);
    }
    return rv;
}

void tseed_prune_saved(const tseed_prune_t *prune)
{
    apr_hash_index_t *index = apr_hash_first(prune->uses.context->scratch, prune->sets);
    tseed_pruned_set_t *set;

    while ((set = next(&index)) != NULL) {
        tseed_pruned_set_saved(set);
    }
}

/* ---- the client ---- */

/* Fed behind the runs: what they left is passed in the next turn. */
static apr_time_t due(const void *module)
{
    const tseed_prune_t *prune = module;

    return prune->has_more ? 0 : INT64_MAX;
}

/* Before the runs are fed. */
static void feed(void *module)
{
    tseed_prune_t *prune = module;

    prune->has_more = 0;
}

tseed_prune_t *tseed_prune_create(const tseed_prune_uses_t *uses)
{
    tseed_prune_t *prune = apr_pcalloc(uses->context->pool, sizeof(*prune));

    prune->uses = *uses;
    prune->sets = apr_hash_make(uses->context->pool);
    prune->client = (tseed_client_t){.module = prune, .feed = feed, .due = due};
    return prune;
}

tseed_client_t *tseed_prune_client(tseed_prune_t *prune)
{
    return &prune->client;
}
