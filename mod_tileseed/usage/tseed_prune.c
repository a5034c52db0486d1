/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pruning.
 *
 * A finding is relied on only when the database has it, so that what a task has passed stays known
 * whatever happens. A reseed relies on findings that it has made or met again itself, and only where
 * nothing of another colour lies below: it has to make anew what is there. A finding goes with the
 * recipe by which its tile was made.
 */
#include "usage/tseed_prune.h"

#include <apr_hash.h>

#include "base/tseed_clock.h"
#include "protocol/tseed_coverage.h"
#include "tiling/tseed_jump.h"
#include "usage/tseed_pruned_set.h"

#define LANDINGS 200 /* jumps of a run in one turn of the loop, */
#define STEPS    100 /* and steps of a jump */
#define CELLS    2   /* columns and rows of the book that are asked of a level */

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
    rv = tseed_pruned_set_load(set, session->state, prune->uses.context->scratch);
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

    return set ? set
               : enter(prune, run->booked, run->task->meta_width, run->task->meta_height,
                       config_of(run)->depth);
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
        .seed = run->booked->record.print,
    };
}

/* The tiles of positions from..to-1 that are finished already: before a seeder died, they were no
 * part of a run. */
static int64_t finished_tiles(const tseed_run_t *run, int64_t from, int64_t to)
{
    int64_t tiles = 0;

    for (int64_t position = from; position < to; position++) {
        if (tseed_progress_is_done(&run->progress, position)) {
            const tseed_metatile_t metatile = tseed_run_metatile(run, position);

            tiles += tseed_range_count(&metatile.wanted);
        }
    }
    return tiles;
}

/* Passes a run of pruned positions. A run that is longer than the window is passed when everything
 * before it is finished. Returns 0 if it is not yet. */
static int pass(tseed_prune_t *prune, tseed_run_t *run, int64_t from,
                const tseed_landing_t *landing)
{
    tseed_progress_t *progress = &run->progress;
    const int64_t window_end = progress->low + TSEED_WINDOW;
    const int64_t end = landing->end < window_end ? landing->end : window_end;
    const int64_t tiles = landing->tiles - finished_tiles(run, from, end);

    if (landing->end > window_end && from > progress->low) {
        return 0;
    }
    if (landing->end > window_end) {
        tseed_progress_pass(progress, landing->end);
    }
    for (int64_t position = from; landing->end <= window_end && position < end; position++) {
        tseed_progress_finish(progress, position);
    }
    progress->pruned += landing->class_of == OWN ? tiles : 0;
    progress->skipped += landing->class_of == OWN ? 0 : tiles;
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
    if (!landing.finding || landing.is_look) {
        return 0;
    }
    if (landing.class_of == NOT_SAVED) {
        prune->uses.session->must_save = prune->uses.session->must_record = 1;
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

    if (!set) {
        return NULL;
    }
    place = tseed_positions_place(&run->positions, position);
    above = tseed_findings_above(set->findings, &run->positions, place.block.z, place.x, place.y,
                                 NULL, NULL);
    return above ? tseed_pruned_set_shade(set, above->shade) : NULL;
}

/* ---- finding ---- */

/* A metatile, its tiles that were looked at, and the finding that prunes it, or NULL. */
typedef struct {
    tseed_pruned_set_t *set;
    const tseed_job_t *job;
    const tseed_range_t *range;
    int64_t x, y;
    const tseed_finding_t *above;
} site_t;

static int has(const tseed_range_t *range, const tseed_range_t *part)
{
    const tseed_range_t common = tseed_range_intersect(range, part);

    return tseed_range_count(&common) == tseed_range_count(part);
}

/* The depth of the metatile in a column and row of the level above, if what `parents` has of the
 * metatile is of that shade; else -1. */
static int depth_at(const site_t *site, const tseed_range_t *parents, int64_t x, int64_t y,
                    uint32_t shade)
{
    const int width = site->job->run->task->meta_width, height = site->job->run->task->meta_height;
    const tseed_range_t whole = {parents->z, x * width, y * height, (x + 1) * width - 1,
                                 (y + 1) * height - 1};
    const tseed_range_t part = tseed_range_intersect(&whole, parents);
    const tseed_finding_t *found = tseed_findings_find(site->set->findings, parents->z, x, y);

    return found && found->shade == shade && has(&found->range, &part) ? found->depth : -1;
}

/* How many levels above are of that shade. */
static int depth_of(const site_t *site, uint32_t shade)
{
    const tseed_run_t *run = site->job->run;
    const tseed_gridset_t *gridset = run->tileset.subset->gridset;
    const int width = run->task->meta_width, height = run->task->meta_height;
    const tseed_bounds_t ground = tseed_range_bounds(gridset, site->range);
    tseed_range_t parents;
    int least = TSEED_LEVELS_MAX;

    if (site->above && site->above->shade == shade) {
        return config_of(run)->depth; /* what is above is taken to be of it */
    }
    if (site->range->z == 0) {
        return 0;
    }
    parents = tseed_range_of(gridset, site->range->z - 1, &ground);
    for (int64_t y = parents.miny / height; y <= parents.maxy / height; y++) {
        for (int64_t x = parents.minx / width; x <= parents.maxx / width; x++) {
            const int depth = depth_at(site, &parents, x, y, shade);

            least = depth < least ? depth : least;
        }
    }
    return least + 1;
}

/* How many tiles the book has in the squares of pages that a level's part of the ground touches. */
static int64_t tiles_at(const tseed_prune_t *prune, const tseed_run_t *run, int z,
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
        tseed_book_cells(cells, prune->uses.cache->book, run->booked, &window, 0, window.rows);
    }
    for (int i = 0; i < window.rows * window.columns; i++) {
        sum += cells[i].tiles;
    }
    return sum;
}

/* Whether the book has no tile below; it may have tiles of the neighbourhood in the same pages. */
static int is_empty_below(const tseed_prune_t *prune, const site_t *site)
{
    const tseed_run_t *run = site->job->run;
    const tseed_bounds_t ground = tseed_range_bounds(run->tileset.subset->gridset, site->range);
    int64_t tiles = 0;

    for (int z = site->range->z + 1; tiles == 0 && z <= run->tileset.subset->zoom_last; z++) {
        tiles += tiles_at(prune, run, z, &ground);
    }
    return tiles == 0;
}

static void forget(tseed_pruned_set_t *set, tseed_finding_t *finding)
{
    if (finding) {
        tseed_findings_forget(set->findings, finding);
        tseed_pruned_set_change(set, finding);
    }
}

/* The ground that an earlier task has found of the same colour stays known if it is larger. */
static void set_range(tseed_finding_t *finding, const tseed_range_t *range, uint32_t shade)
{
    if (finding->shade != shade || !has(&finding->range, range)) {
        finding->range = *range;
    }
}

/* Notes a metatile that is of one shade, or has several colours (0) below a finding. */
static void note(const tseed_prune_t *prune, const site_t *site, uint32_t shade)
{
    const tseed_run_t *run = site->job->run;
    const int is_hole = site->above && site->above->shade != shade;
    const int depth = shade ? depth_of(site, shade) : 0;
    tseed_finding_t *finding =
        tseed_findings_get(site->set->findings, site->range->z, site->x, site->y);
    const int is_new = tseed_range_count(&finding->range) == 0 || finding->shade != shade;
    const int prunes = shade && depth >= config_of(run)->depth;

    if (is_new || (prunes && finding->depth < config_of(run)->depth)) {
        finding->is_clean = prunes && is_empty_below(prune, site);
        finding->is_saved = 0;
    }
    set_range(finding, site->range, shade);
    finding->shade = shade;
    finding->depth = depth;
    finding->task = run->is_background ? 0 : run->task->id;
    tseed_findings_set_hole(site->set->findings, finding, is_hole);
    tseed_pruned_set_change(site->set, finding);
}

/* Of the same answer as before: what was found is true still, of this task too. */
static void confirm(const tseed_prune_t *prune, const site_t *site, const tseed_finding_t *finding)
{
    if (finding && site->job->run->task->type == TSEED_RESEED && has(&finding->range, site->range)) {
        note(prune, site, finding->shade);
    }
}

/* The shade of a job's tiles; 0: they have several colours, or there are too many shades. */
static uint32_t shade_of(tseed_pruned_set_t *set, const tseed_job_t *job)
{
    return job->plain.colours == TSEED_COLOURS_ONE
               ? tseed_pruned_set_number(set, job->plain.data, job->plain.length)
               : 0;
}

/* Nothing is kept of metatiles that prune nothing, and that nothing prunes. */
static int is_worth_it(const site_t *site, uint32_t shade)
{
    const tseed_run_t *run = site->job->run;
    const int is_known = site->above || tseed_findings_find(site->set->findings, site->range->z,
                                                            site->x, site->y);

    if (site->above && site->above->shade != shade) {
        return 1;
    }
    return shade && site->range->z < run->tileset.subset->zoom_last &&
           (is_known || (!run->is_background &&
                         tseed_findings_count(site->set->findings) < TSEED_FINDINGS_MOST));
}

void tseed_prune_take(tseed_prune_t *prune, const tseed_job_t *job)
{
    const tseed_run_t *run = job->run;
    site_t site = {.job = job, .range = &job->metatile.wanted};
    tseed_finding_t *known;
    uint32_t shade;

    if (job->outcome != TSEED_JOB_OK || job->is_made_of_shade || !config_of(run)->is_on ||
        (job->shade && !job->is_wrong)) {
        return;
    }
    site.set = find(prune, run->booked);
    if (!site.set || site.set->recipe != run->booked->record.recipe) {
        return;
    }
    site.x = job->metatile.whole.minx / run->task->meta_width;
    site.y = job->metatile.whole.miny / run->task->meta_height;
    site.above = tseed_findings_above(site.set->findings, &run->positions, site.range->z, site.x,
                                      site.y, NULL, NULL);
    known = tseed_findings_find(site.set->findings, site.range->z, site.x, site.y);
    if (job->plain.colours == TSEED_COLOURS_UNKNOWN ||
        (job->plain.colours == TSEED_COLOURS_ONE && tseed_job_present(job) > 0)) {
        confirm(prune, &site, known);
        return;
    }
    shade = shade_of(site.set, job);
    if (is_worth_it(&site, shade)) {
        note(prune, &site, shade);
    } else {
        forget(site.set, known);
    }
}

/* ---- truncates ---- */

static int is_touched(const tseed_finding_t *finding, const tseed_gridset_t *gridset,
                      const tseed_task_t *truncate)
{
    const tseed_bounds_t ground = tseed_range_bounds(gridset, &finding->range);
    tseed_bounds_t common;

    return truncate->has_area && truncate->zoom_stop >= finding->range.z &&
           tseed_bounds_intersect(&common, &ground, &truncate->bounds);
}

static void truncate_set(tseed_prune_t *prune, tseed_pruned_set_t *set,
                         const tseed_gridset_t *gridset, const tseed_task_t *truncate)
{
    tseed_finding_t *finding;
    size_t cursor = 0;

    while ((finding = tseed_findings_next(set->findings, &cursor)) != NULL) {
        if (!finding->is_gone && is_touched(finding, gridset, truncate)) {
            forget(set, finding);
        }
    }
    if (tseed_pruned_set_has_changes(set)) {
        prune->uses.session->must_save = prune->uses.session->must_record = 1;
    }
}

void tseed_prune_truncate(tseed_prune_t *prune, const tseed_tileset_t *tileset,
                          const tseed_task_t *truncate)
{
    const tseed_layer_t *layer = tileset->layer;
    const uint64_t print = tseed_tileset_print(tileset, prune->uses.context->scratch);
    const tseed_book_tileset_t *booked =
        prune->uses.cache->book ? tseed_book_find(prune->uses.cache->book, print) : NULL;
    tseed_pruned_set_t *set = booked ? find(prune, booked) : NULL;

    if (booked && !set) {
        set = enter(prune, booked, layer->meta_width, layer->meta_height, layer->prune.depth);
    }
    if (set && tseed_findings_count(set->findings) > 0) {
        truncate_set(prune, set, tileset->subset->gridset, truncate);
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
