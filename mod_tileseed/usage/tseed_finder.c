/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The finder: a finding for each metatile of one colour, and for each other one below such. */
#include "usage/tseed_finder.h"

#include "protocol/tseed_coverage.h"

#define CELLS 2 /* columns and rows of the book that are asked of a level */

static const tseed_prune_config_t *config_of(const tseed_run_t *run)
{
    return &run->tileset.layer->prune;
}

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

/* Whether the book has no tile below; it may have tiles of the neighbourhood in the same pages. */
static int is_empty_below(const tseed_cache_t *cache, const site_t *site)
{
    const tseed_run_t *run = site->job->run;
    const tseed_bounds_t ground = tseed_range_bounds(run->tileset.subset->gridset, site->range);
    int64_t tiles = 0;

    for (int z = site->range->z + 1; tiles == 0 && z <= run->tileset.subset->zoom_last; z++) {
        tiles += tiles_at(cache, run, z, &ground);
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

/* The least rectangle that has both. */
static tseed_range_t around(const tseed_range_t *a, const tseed_range_t *b)
{
    return (tseed_range_t){
        a->z, a->minx < b->minx ? a->minx : b->minx, a->miny < b->miny ? a->miny : b->miny,
        a->maxx > b->maxx ? a->maxx : b->maxx, a->maxy > b->maxy ? a->maxy : b->maxy};
}

/* Notes which ground is of a shade. The ground that an earlier task has found of the same colour
 * stays known if it is larger. A hole never loses ground, and has no colour where it has several
 * grounds: the finding above it is of before it, and would speak for what the hole has lost. */
static void set_ground(tseed_finding_t *finding, const tseed_range_t *range, uint32_t shade)
{
    if (finding->shade == shade && has(&finding->range, range)) {
        return;
    }
    if (finding->is_hole && !has(range, &finding->range)) {
        finding->range = around(&finding->range, range);
        finding->shade = 0;
        finding->depth = 0;
        return;
    }
    finding->range = *range;
    finding->shade = shade;
}

/* Notes a metatile that is of one shade, or has several colours (0) below a finding. What is known
 * to lie below it is known of the ground that the finding had: of more ground it is asked anew. A
 * hole stays one: below it there may be tiles of another colour, whatever its own is now. */
static void note(const tseed_cache_t *cache, const site_t *site, uint32_t shade)
{
    const tseed_run_t *run = site->job->run;
    const int depth = shade ? depth_of(site, shade) : 0;
    tseed_finding_t *finding =
        tseed_findings_get(site->set->findings, site->range->z, site->x, site->y);
    const int is_new = tseed_range_count(&finding->range) == 0 || finding->shade != shade ||
                       !has(&finding->range, site->range);
    const int prunes = shade && depth >= config_of(run)->depth;
    int is_hole;

    if (is_new || (prunes && finding->depth < config_of(run)->depth)) {
        finding->is_clean = prunes && is_empty_below(cache, site);
        finding->is_saved = 0;
    }
    is_hole = site->above && (site->above->shade != shade || finding->is_hole);
    finding->depth = depth;
    set_ground(finding, site->range, shade);
    finding->task = run->is_background ? 0 : run->task->id;
    tseed_findings_set_hole(site->set->findings, finding, is_hole);
    tseed_pruned_set_change(site->set, finding);
}

/* Some tiles are as before, and their colour was not looked at. Where the answer is that of before,
 * what was found is true still, of this task too. Where nothing was found, the tiles may be of
 * another colour than a finding above, which is of another time. */
static void confirm(const tseed_cache_t *cache, const site_t *site, const tseed_finding_t *finding,
                    uint32_t shade)
{
    const int is_reseed = site->job->run->task->type == TSEED_RESEED;
    const int has_looked = is_reseed || site->job->plain.colours != TSEED_COLOURS_UNKNOWN;

    if (finding && is_reseed && has(&finding->range, site->range)) {
        note(cache, site, finding->shade);
    } else if (site->above && has_looked && site->above->shade != shade) {
        note(cache, site, 0);
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
    const int is_known =
        site->above || tseed_findings_find(site->set->findings, site->range->z, site->x, site->y);

    if (site->above && site->above->shade != shade) {
        return 1;
    }
    return shade && site->range->z < run->tileset.subset->zoom_last &&
           (is_known || (!run->is_background &&
                         tseed_findings_count(site->set->findings) < TSEED_FINDINGS_MOST));
}

void tseed_finder_take(tseed_pruned_set_t *set, const tseed_cache_t *cache, const tseed_job_t *job)
{
    const tseed_run_t *run = job->run;
    site_t site = {.set = set, .job = job, .range = &job->metatile.wanted};
    tseed_finding_t *known;
    tseed_spot_t spot;
    uint32_t shade;

    site.x = job->metatile.whole.minx / run->task->meta_width;
    site.y = job->metatile.whole.miny / run->task->meta_height;
    spot = (tseed_spot_t){&run->positions, site.range->z, site.x, site.y, 1};
    site.above = tseed_findings_above(set->findings, &spot, NULL, NULL);
    known = tseed_findings_find(set->findings, site.range->z, site.x, site.y);
    shade = shade_of(set, job);
    if (job->plain.colours == TSEED_COLOURS_UNKNOWN ||
        (job->plain.colours == TSEED_COLOURS_ONE && tseed_job_present(job) > 0)) {
        confirm(cache, &site, known, shade);
        return;
    }
    if (is_worth_it(&site, shade)) {
        note(cache, &site, shade);
    } else {
        forget(set, known);
    }
}
