/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pruning: what is found, and what is passed.
 *
 * A finding is relied on only when the database has it, so that what a task has passed stays known
 * whatever happens. A reseed relies on findings that it has made or met again itself, and only if
 * nothing of another colour lies below: it has to make anew what is there. A finding is about a
 * whole metatile, and goes with the recipe by which its tile was made. What was written below one
 * and not learnt from is a hole.
 */
#include "savings/tseed_prune.h"

#include <apr_hash.h>

#include "base/tseed_clock.h"
#include "books/tseed_cache.h"
#include "savings/tseed_finding_set.h"
#include "protocol/tseed_coverage.h"
#include "work/tseed_run.h"

#define CELLS    2   /* columns and rows of the book that are asked of a level */
#define LANDINGS 200 /* jumps of a run in one turn of the loop, */
#define STEPS    100 /* and steps of a jump */

struct tseed_prune_t {
    tseed_savings_uses_t uses;
    apr_hash_t *sets; /* number of the tile set -> tseed_finding_set_t */
    int has_more;     /* a run was cut short at the last turn */
};

static const tseed_uniform_config_t *config_of(const tseed_run_t *run)
{
    return &run->tileset.layer->uniform;
}

/* ---- sets ---- */

static tseed_finding_set_t *find(const tseed_prune_t *prune, const tseed_book_tileset_t *booked)
{
    return apr_hash_get(prune->sets, &booked->number, sizeof(booked->number));
}

/* Forgets what a truncate that is not done makes out of date. Returns how many of these findings
 * have pruned what lies below them. */
static int64_t forget_old(tseed_prune_t *prune, tseed_finding_set_t *set, const char *key)
{
    tseed_finding_t *at = NULL;
    int64_t forgotten = 0;

    while ((at = tseed_findings_next(set->findings, at)) != NULL) {
        if (!at->is_gone && tseed_cutoff_has(prune->uses.cutoff, key, &at->range)) {
            forgotten += tseed_finding_prunes(set->findings, at);
            tseed_finding_set_forget(set, at);
        }
    }
    if (tseed_finding_set_has_changes(set)) {
        prune->uses.session->must_save = prune->uses.session->must_record = 1;
    }
    return forgotten;
}

/* Enters the set of a tile set. NULL: the database has failed, which is noted. */
static tseed_finding_set_t *enter(tseed_prune_t *prune, const tseed_book_tileset_t *booked,
                                  int meta_width, int meta_height, int depth)
{
    tseed_session_t *session = prune->uses.session;
    tseed_finding_set_t *set;
    apr_status_t rv;

    if (!session->state || (session->trouble && tseed_clock_monotonic() < session->retry_at)) {
        return NULL;
    }
    set = tseed_finding_set_create(booked, meta_width, meta_height, depth);
    rv = tseed_finding_set_load(set, session->state, INT64_MAX, prune->uses.context->scratch);
    if (rv != APR_SUCCESS) {
        tseed_session_fail(session, rv, "read what was pruned");
        tseed_finding_set_free(set);
        return NULL;
    }
    apr_hash_set(prune->sets, &booked->number, sizeof(booked->number), set);
    return set;
}

/* The set of a run's tile set. NULL: the database has failed. */
static tseed_finding_set_t *get(tseed_prune_t *prune, const tseed_run_t *run)
{
    tseed_finding_set_t *set = find(prune, run->booked);

    if (!set) {
        set = enter(prune, run->booked, run->task->meta_width, run->task->meta_height,
                    config_of(run)->depth);
        if (set) {
            forget_old(prune, set, run->tileset.key);
        }
    }
    return set;
}

static void clear(tseed_finding_set_t *set, const tseed_run_t *run)
{
    tseed_finding_set_clear(set, run->task->meta_width, run->task->meta_height,
                            config_of(run)->depth);
    set->recipe = run->booked->record.recipe;
}

/* The set as it is by the run's recipe. NULL: TileSeedPrune is off, or the database has failed. */
static tseed_finding_set_t *set_of(tseed_prune_t *prune, tseed_run_t *run)
{
    tseed_finding_set_t *set = config_of(run)->is_on ? get(prune, run) : NULL;

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

/* The finding that prunes a position of a run; NULL: none does. */
static const tseed_finding_t *above(const tseed_finding_set_t *set, tseed_run_t *run,
                                    int64_t position, tseed_finding_class_t *counts)
{
    const tseed_range_t wanted = tseed_run_metatile(run, position).wanted;

    return tseed_findings_above(set->findings, run->tileset.subset->gridset, &wanted, 0, counts,
                                run);
}

static tseed_jump_t jump_of(const tseed_finding_set_t *set, tseed_run_t *run)
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

/* Passes and counts a run of pruned positions, up to the first that is under way: it was joined
 * with others before anything was found above it. Positions that are finished already were no part
 * of a run before a seeder died: they are not counted again. A run that is longer than the window
 * is passed when everything before it is finished. What a broad finding prunes waits for what looks
 * find. Returns 0 if it can't be passed yet. */
static int pass(tseed_prune_t *prune, tseed_run_t *run, int64_t from,
                const tseed_landing_t *landing)
{
    tseed_progress_t *progress = &run->progress;
    const int64_t window_end = progress->low + TSEED_WINDOW;
    int64_t end = landing->end;

    for (const tseed_job_t *job = run->jobs; job; job = job->sibling) {
        if (landing->is_broad && job->savings.shade) {
            return 0;
        }
        end = job->position > from && job->position < end ? job->position : end;
    }
    if (end > window_end && from > progress->low) {
        return 0;
    }
    progress->spared += end - from;
    progress->pruned += tseed_positions_tiles_before(&run->positions, end) -
                        tseed_positions_tiles_before(&run->positions, from);
    for (int64_t position = from; position < end && position < window_end; position++) {
        if (tseed_progress_is_done(progress, position)) {
            const tseed_metatile_t metatile = tseed_run_metatile(run, position);

            progress->pruned -= tseed_range_count(&metatile.wanted);
            progress->spared--;
        } else if (end <= window_end) {
            tseed_progress_finish(progress, position);
        }
    }
    if (end > window_end) {
        tseed_progress_pass(progress, end);
    }
    tseed_display_run(prune->uses.display, run);
    return 1;
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
    if (!landing.finding || (landing.is_look && landing.class_of != NOT_SAVED)) {
        return 0;
    }
    if (landing.class_of == NOT_SAVED) {
        prune->uses.session->must_save = prune->uses.session->must_record = 1;
    } else if (pass(prune, run, *position, &landing)) {
        return 1;
    }
    *position = -1;
    return 0;
}

int64_t tseed_prune_next(tseed_prune_t *prune, tseed_run_t *run)
{
    const int is_on = config_of(run)->is_on;
    tseed_finding_set_t *set = is_on ? set_of(prune, run) : get(prune, run);
    tseed_jump_t jump;
    int64_t position;
    int landings = 0;

    if (!is_on && set && tseed_findings_count(set->findings) > 0) {
        clear(set, run); /* nothing stays known */
    }
    if (!is_on || run->list) {
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

int tseed_prune_has(tseed_prune_t *prune, tseed_run_t *run, int64_t position)
{
    const tseed_finding_set_t *set = run->list ? NULL : set_of(prune, run);

    return set && above(set, run, position, class_of);
}

static void begin(void *saving, tseed_job_t *job)
{
    tseed_prune_t *prune = saving;
    tseed_run_t *run = job->run;
    const tseed_finding_set_t *set = run->list ? NULL : set_of(prune, run);
    tseed_landing_t landing;
    tseed_jump_t jump;

    if (set) {
        jump = jump_of(set, run);
        tseed_jump_from(&landing, &jump, job->position, 1);
        if (landing.is_look) {
            job->savings.shade = tseed_finding_set_shade(set, landing.finding->shade);
        }
    }
}

const tseed_shade_t *tseed_prune_shade(tseed_prune_t *prune, tseed_run_t *run, int64_t position)
{
    const tseed_finding_set_t *set = set_of(prune, run);
    const tseed_finding_t *finding = set ? above(set, run, position, NULL) : NULL;

    return finding ? tseed_finding_set_shade(set, finding->shade) : NULL;
}

/* ---- finding ---- */

/* A finding for each metatile of one colour, and for each other one below such. */

/* A metatile, its tiles that the layer has, and the finding that prunes it, or NULL. */
typedef struct {
    const tseed_prune_t *prune;
    tseed_finding_set_t *set;
    const tseed_job_t *job;
    const tseed_range_t *range;
    int64_t x, y;
    const tseed_finding_t *above;
} site_t;

/* What is known of the tiles above a metatile: how many of them are of a shade, and how many levels
 * above these are too, at least. */
typedef struct {
    const tseed_range_t *parents;
    uint32_t shade;
    int64_t tiles;
    int least;
} parents_t;

static void add_parent(void *baton, tseed_finding_t *found)
{
    parents_t *all = baton;
    const tseed_range_t part = tseed_range_intersect(&found->range, all->parents);

    if (found->shade == all->shade) {
        all->tiles += tseed_range_count(&part);
        all->least = found->depth < all->least ? found->depth : all->least;
    }
}

/* How many levels above are of that shade. */
static int depth_of(const site_t *site, uint32_t shade)
{
    const tseed_gridset_t *gridset = site->job->run->tileset.subset->gridset;
    const tseed_bounds_t ground = tseed_range_bounds(gridset, site->range);
    tseed_range_t parents;
    parents_t all = {&parents, shade, 0, TSEED_LEVELS_MAX};

    if (site->above && site->above->shade == shade) {
        return config_of(site->job->run)->depth; /* what is above is taken to be of it */
    }
    if (site->range->z == 0) {
        return 0;
    }
    parents = tseed_range_of(gridset, site->range->z - 1, &ground);
    tseed_findings_each(site->set->findings, &parents, add_parent, &all);
    return all.tiles == tseed_range_count(&parents) ? all.least + 1 : 0;
}

/* How many tiles the book has in the squares of pages that a level's part of the ground touches. */
static int64_t tiles_at(const tseed_cache_t *cache, const tseed_run_t *run, int z,
                        const tseed_bounds_t *ground)
{
    const tseed_subset_t *subset = run->tileset.subset;
    const tseed_range_t level = tseed_range_of(subset->gridset, z, &subset->extent);
    const tseed_range_t inside = tseed_range_within(subset->gridset, z, ground);
    const tseed_range_t tiles = tseed_range_intersect(&inside, &level);
    const tseed_window_t window = tseed_window_of(&level, &tiles, CELLS);
    tseed_cell_t cells[CELLS * CELLS] = {{0}};
    int64_t sum = 0;

    if (window.rows > 0) {
        tseed_book_cells(cells, cache->book, run->booked, &window, 0, window.rows);
    }
    for (int i = 0; i < window.rows * window.columns; i++) {
        sum += cells[i].tiles;
    }
    return sum;
}

/* Whether other runs of a list are about to write below: their answers may be older than this
 * finding. */
static int write_below(const tseed_run_t *runs, const site_t *site, const tseed_bounds_t *ground)
{
    const tseed_run_t *own = site->job->run;

    for (const tseed_run_t *run = runs; run; run = run->next_run) {
        const tseed_job_t *job = run != own && run->booked == own->booked ? run->jobs : NULL;

        for (; job; job = job->sibling) {
            const tseed_range_t *tiles = &job->metatile.wanted;
            const tseed_range_t inside =
                tseed_range_of(own->tileset.subset->gridset, tiles->z, ground);

            if (tiles->z > site->range->z && tseed_range_meets(&inside, tiles)) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether there is no tile below, nor will be one of before this finding, by a book that knows all
 * pages of the tile set. The book may have tiles of the neighbourhood in the same pages. */
static int is_empty_below(const site_t *site)
{
    const tseed_run_t *run = site->job->run;
    const tseed_bounds_t ground = tseed_range_bounds(run->tileset.subset->gridset, site->range);
    int64_t tiles = 0;

    if (!run->booked->record.complete || run->booked->in_doubt > 0 ||
        write_below(site->prune->uses.runs->tasks, site, &ground) ||
        write_below(site->prune->uses.runs->background, site, &ground)) {
        return 0;
    }
    for (int z = site->range->z + 1; tiles == 0 && z <= run->tileset.subset->zoom_last; z++) {
        tiles += tiles_at(site->prune->uses.cache, run, z, &ground);
    }
    return tiles == 0;
}

typedef struct {
    tseed_finding_set_t *set;
    uint32_t shade;
} newer_t;

static void forget_older(void *baton, tseed_finding_t *below)
{
    const newer_t *newer = baton;

    if (!below->is_hole && below->shade != newer->shade) {
        tseed_finding_set_forget(newer->set, below);
    }
}

/* Notes a metatile that is of one shade, or has several colours (0) below a finding. A hole stays
 * one: below it there may be tiles of another colour, whatever its own is now. What was found below
 * of another colour is older, and forgotten: it would count again, after all that was passed, as
 * soon as this finding is forgotten. */
static void note(const site_t *site, uint32_t shade)
{
    const tseed_run_t *run = site->job->run;
    const int depth = shade ? depth_of(site, shade) : 0;
    tseed_finding_t *finding =
        tseed_findings_get(site->set->findings, site->range->z, site->x, site->y);
    const int is_new = tseed_range_count(&finding->range) == 0 || finding->shade != shade ||
                       !tseed_range_has(&finding->range, site->range);
    const int prunes = shade && depth >= config_of(run)->depth;
    const int speaks_anew = is_new || (prunes && finding->depth < config_of(run)->depth);
    newer_t newer = {site->set, shade};
    int is_hole;

    if (speaks_anew || !finding->is_clean) {
        finding->is_clean = prunes && is_empty_below(site);
    }
    if (speaks_anew) {
        finding->is_saved = 0;
    }
    is_hole = site->above && (site->above->shade != shade || finding->is_hole);
    finding->depth = depth;
    finding->range = *site->range;
    finding->shade = shade;
    if (speaks_anew && prunes) {
        tseed_findings_each_below(site->set->findings, run->tileset.subset->gridset, finding,
                                  forget_older, &newer);
    }
    finding->task = run->is_background ? 0 : run->task->id;
    tseed_findings_set_hole(site->set->findings, finding, is_hole);
    tseed_finding_set_change(site->set, finding);
}

/* Some tiles are as before, and their colour was not looked at. Where the answer is that of before,
 * what was found is true still, of this task too. Where nothing was found, the tiles may be of
 * another colour than a finding above, which is of another time. */
static void confirm(const site_t *site, const tseed_finding_t *finding, uint32_t shade)
{
    const int is_reseed = site->job->run->task->type == TSEED_RESEED;
    const int has_looked = is_reseed || site->job->result.is_wrong ||
                           site->job->result.plain.colours != TSEED_COLOURS_UNKNOWN;

    if (finding && is_reseed && tseed_range_has(&finding->range, site->range)) {
        note(site, finding->shade);
    } else if (site->above && has_looked && site->above->shade != shade) {
        note(site, 0);
    }
}

/* Nothing is kept of metatiles that prune nothing, and that nothing prunes. */
static int is_worth_it(const site_t *site, const tseed_finding_t *known, uint32_t shade)
{
    const tseed_run_t *run = site->job->run;
    const int has_room =
        !run->is_background && tseed_findings_count(site->set->findings) < TSEED_FINDINGS_MOST;

    return (site->above && site->above->shade != shade) ||
           (shade && site->range->z < run->tileset.subset->zoom_last &&
            (site->above || known || has_room));
}

/* Forgets a broad finding that one of its first looks has contradicted: the upstream may have been
 * ill when the finding was made. That costs the requests of one level, whose metatiles are found to
 * be of one colour then, each by itself. */
static void doubt(tseed_finding_set_t *set, const tseed_job_t *job)
{
    const tseed_jump_t jump = jump_of(set, job->run);
    tseed_landing_t landing;

    tseed_jump_from(&landing, &jump, job->position, 1);
    if (landing.asks) {
        const tseed_finding_t *broad = landing.finding;

        tseed_finding_set_forget(
            set, tseed_findings_find(set->findings, broad->range.z, broad->x, broad->y));
    }
}

/* Takes in that a metatile is of a shade; 0: of several, or nobody knows. */
static void learn(const site_t *site, tseed_finding_t *known, uint32_t shade)
{
    if (is_worth_it(site, known, shade)) {
        note(site, shade);
    } else if (known) {
        tseed_finding_set_forget(site->set, known);
    }
}

/* A part of a metatile speaks for the metatile only if it is of another colour than all of it was
 * known to be. */
static void learn_of_part(const site_t *site, tseed_finding_t *known, uint32_t shade)
{
    const tseed_finding_t *expected = known ? known : site->above;

    if (expected && expected->shade != shade) {
        learn(site, known, 0);
    }
}

/* Takes in a CUT that has made tiles of an answer, or has found that they are as before. One that
 * has failed, or has an answer of before a line, may have written tiles of any colour. */
static void took(void *saving, tseed_job_t *job)
{
    tseed_prune_t *prune = saving;
    const tseed_run_t *run = job->run;
    const tseed_subset_t *subset = run->tileset.subset;
    const tseed_metatile_t *metatile = &job->metatile;
    const tseed_range_t level = tseed_range_of(subset->gridset, metatile->whole.z, &subset->extent);
    const tseed_range_t range = tseed_range_intersect(&metatile->whole, &level);
    const tseed_plain_t *plain = &job->result.plain;
    const int is_good =
        job->result.outcome == TSEED_JOB_OK && !job->accounts.is_stale && !run->is_doubtful;
    const int is_part = !tseed_range_has(&metatile->wanted, &range);
    site_t site = {prune,
                   find(prune, run->booked),
                   job,
                   &range,
                   metatile->whole.minx / run->task->meta_width,
                   metatile->whole.miny / run->task->meta_height,
                   NULL};
    tseed_finding_t *known;
    uint32_t shade = 0; /* several colours, or too many shades */

    if (job->savings.is_made_of_shade || !config_of(run)->is_on || !site.set ||
        site.set->recipe != run->booked->record.recipe ||
        (is_good ? job->savings.shade && !job->result.is_wrong : tseed_job_written(job) == 0)) {
        return;
    }
    if (is_good && job->result.is_wrong) {
        doubt(site.set, job);
    }
    site.above = tseed_findings_above(site.set->findings, subset->gridset, &range, 1, NULL, NULL);
    known = tseed_findings_find(site.set->findings, range.z, site.x, site.y);
    if (is_good && plain->colours == TSEED_COLOURS_ONE) {
        shade = tseed_finding_set_number(site.set, plain->data, plain->length);
    }
    if (!is_good) {
        learn(&site, known, 0);
    } else if (plain->colours == TSEED_COLOURS_UNKNOWN ||
               (plain->colours == TSEED_COLOURS_ONE &&
                tseed_job_present(job) > job->result.equal)) {
        if (!is_part || !known) { /* what all of it was is as true as before */
            confirm(&site, known, shade);
        }
    } else if (is_part) {
        learn_of_part(&site, known, shade);
    } else {
        learn(&site, known, shade);
    }
}

/* ---- truncates ---- */

static int64_t forget_area(void *saving, const tseed_tileset_t *tileset)
{
    tseed_prune_t *prune = saving;
    const tseed_layer_t *layer = tileset->layer;
    const uint64_t print = tseed_tileset_print(tileset, prune->uses.context->scratch);
    const tseed_book_tileset_t *booked =
        prune->uses.cache->book ? tseed_book_find(prune->uses.cache->book, print) : NULL;
    tseed_finding_set_t *set = booked ? find(prune, booked) : NULL;

    if (booked && !set) {
        set = enter(prune, booked, layer->meta_width, layer->meta_height, layer->uniform.depth);
    }
    return set ? forget_old(prune, set, tileset->key) : 0;
}

static void forget_tileset(void *saving, const tseed_book_tileset_t *booked)
{
    tseed_prune_t *prune = saving;
    tseed_finding_set_t *set = find(prune, booked);

    if (set) {
        apr_hash_set(prune->sets, &booked->number, sizeof(booked->number), NULL);
        tseed_finding_set_free(set);
    }
}

/* ---- saving ---- */

static int has_changes(const void *saving)
{
    apr_hash_t *const sets = ((const tseed_prune_t *)saving)->sets;
    int changes = 0;

    for (apr_hash_index_t *at = apr_hash_first(NULL, sets); at; at = apr_hash_next(at)) {
        changes |= tseed_finding_set_has_changes(apr_hash_this_val(at));
    }
    return changes;
}

static apr_status_t save(const void *saving)
{
    const tseed_savings_uses_t *uses = &((const tseed_prune_t *)saving)->uses;
    apr_hash_t *const sets = ((const tseed_prune_t *)saving)->sets;
    apr_status_t rv = APR_SUCCESS;

    for (apr_hash_index_t *at = apr_hash_first(NULL, sets); rv == APR_SUCCESS && at;
         at = apr_hash_next(at)) {
        rv = tseed_finding_set_write(apr_hash_this_val(at), uses->session->state,
                                     uses->context->scratch);
    }
    return rv;
}

static void saved(const void *saving)
{
    apr_hash_t *const sets = ((const tseed_prune_t *)saving)->sets;

    for (apr_hash_index_t *at = apr_hash_first(NULL, sets); at; at = apr_hash_next(at)) {
        tseed_finding_set_saved(apr_hash_this_val(at));
    }
}

/* ---- the saving ---- */

/* Fed behind the runs: what they left is passed in the next turn. */
static apr_time_t due(const void *saving)
{
    const tseed_prune_t *prune = saving;

    return prune->has_more ? 0 : INT64_MAX;
}

/* Before the runs are fed. */
static void feed(void *saving)
{
    tseed_prune_t *prune = saving;

    prune->has_more = 0;
}

static void *create(const tseed_savings_uses_t *uses)
{
    tseed_prune_t *prune = apr_pcalloc(uses->context->pool, sizeof(*prune));

    prune->uses = *uses;
    prune->sets = apr_hash_make(uses->context->pool);
    return prune;
}

const tseed_saving_t tseed_prune_saving = {
    create, feed, due, begin, took, forget_area, forget_tileset, has_changes, save, saved,
};
