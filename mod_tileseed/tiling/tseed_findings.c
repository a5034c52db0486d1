/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Findings: a hash table by level, column and row, each of its places a chain, and a list of the
 * holes. A jump grows by rectangles of metatiles that follow each other in the sequence. */
#include "tiling/tseed_findings.h"

#include "base/tseed_memory.h"

#define CHAINS_LEAST 64

struct tseed_findings_t {
    int meta_width, meta_height, depth;
    tseed_finding_t **chains;
    size_t size; /* a power of two, not less than count */
    size_t count;
    int64_t of_level[TSEED_LEVELS_MAX];
    tseed_finding_t *holes;
};

tseed_findings_t *tseed_findings_create(int meta_width, int meta_height, int depth)
{
    tseed_findings_t *findings = tseed_memory_get(sizeof(*findings));

    findings->meta_width = meta_width;
    findings->meta_height = meta_height;
    findings->depth = depth;
    findings->size = CHAINS_LEAST;
    findings->chains = tseed_memory_get(findings->size * sizeof(tseed_finding_t *));
    return findings;
}

void tseed_findings_destroy(tseed_findings_t *findings)
{
    for (tseed_finding_t *at = tseed_findings_next(findings, NULL), *next; at; at = next) {
        next = tseed_findings_next(findings, at);
        free(at);
    }
    free(findings->chains);
    free(findings);
}

int64_t tseed_findings_count(const tseed_findings_t *findings)
{
    return (int64_t)findings->count;
}

/* ---- the table ---- */

/* The finalizer of MurmurHash3 over the three numbers: a place. */
static size_t place_of(const tseed_findings_t *findings, int z, int64_t x, int64_t y)
{
    uint64_t bits = (uint64_t)x * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)y;

    bits = (bits ^ bits >> 33) * UINT64_C(0xff51afd7ed558ccd) + (uint64_t)z;
    bits = (bits ^ bits >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (size_t)(bits ^ bits >> 33) & (findings->size - 1);
}

/* The link that leads to the finding of a metatile, or would. */
static tseed_finding_t **link_of(const tseed_findings_t *findings, int z, int64_t x, int64_t y)
{
    tseed_finding_t **at = &findings->chains[place_of(findings, z, x, y)];

    while (*at && ((*at)->range.z != z || (*at)->x != x || (*at)->y != y)) {
        at = &(*at)->next;
    }
    return at;
}

static void grow(tseed_findings_t *findings)
{
    const tseed_findings_t old = *findings;

    findings->size = 2 * old.size;
    findings->chains = tseed_memory_get(findings->size * sizeof(tseed_finding_t *));
    for (size_t i = 0; i < old.size; i++) {
        for (tseed_finding_t *at = old.chains[i], *next; at; at = next) {
            tseed_finding_t **chain =
                &findings->chains[place_of(findings, at->range.z, at->x, at->y)];

            next = at->next;
            at->next = *chain;
            *chain = at;
        }
    }
    free(old.chains);
}

tseed_finding_t *tseed_findings_find(const tseed_findings_t *findings, int z, int64_t x, int64_t y)
{
    tseed_finding_t *found = *link_of(findings, z, x, y);

    return found && !found->is_gone ? found : NULL;
}

tseed_finding_t *tseed_findings_get(tseed_findings_t *findings, int z, int64_t x, int64_t y)
{
    tseed_finding_t *found = *link_of(findings, z, x, y);

    if (!found) {
        if (findings->count == findings->size) {
            grow(findings);
        }
        found = *link_of(findings, z, x, y) = tseed_memory_get(sizeof(*found));
        found->is_gone = 1;
        findings->count++;
        findings->of_level[z]++;
    }
    if (found->is_gone) {
        *found = (tseed_finding_t){.x = x,
                                   .y = y,
                                   .range = {z, 0, 0, -1, -1},
                                   .is_changed = found->is_changed,
                                   .next_changed = found->next_changed,
                                   .next = found->next};
    }
    return found;
}

void tseed_findings_drop(tseed_findings_t *findings, tseed_finding_t *finding)
{
    tseed_findings_forget(findings, finding);
    *link_of(findings, finding->range.z, finding->x, finding->y) = finding->next;
    findings->count--;
    findings->of_level[finding->range.z]--;
    free(finding);
}

tseed_finding_t *tseed_findings_next(const tseed_findings_t *findings, const tseed_finding_t *at)
{
    size_t i = at ? place_of(findings, at->range.z, at->x, at->y) + 1 : 0;

    if (at && at->next) {
        return at->next;
    }
    while (i < findings->size && !findings->chains[i]) {
        i++;
    }
    return i < findings->size ? findings->chains[i] : NULL;
}

void tseed_findings_set_hole(tseed_findings_t *findings, tseed_finding_t *finding, int is_hole)
{
    tseed_finding_t **at = &findings->holes;

    if (is_hole && !finding->is_hole) {
        finding->next_hole = *at;
        *at = finding;
    } else if (!is_hole && finding->is_hole) {
        while (*at != finding) {
            at = &(*at)->next_hole;
        }
        *at = finding->next_hole;
    }
    finding->is_hole = is_hole;
}

void tseed_findings_forget(tseed_findings_t *findings, tseed_finding_t *finding)
{
    tseed_findings_set_hole(findings, finding, 0);
    finding->is_gone = 1;
}

/* ---- above and below ---- */

int tseed_finding_prunes(const tseed_findings_t *findings, const tseed_finding_t *finding)
{
    return finding->shade > 0 && finding->depth >= findings->depth;
}

/* The metatiles that have some of these tiles. */
static tseed_metatiles_t metatiles_of(const tseed_range_t *tiles, int width, int height)
{
    if (tseed_range_count(tiles) == 0) {
        return *tiles;
    }
    return (tseed_metatiles_t){tiles->z, tiles->minx / width, tiles->miny / height,
                               tiles->maxx / width, tiles->maxy / height};
}

/* Looked up, or picked out of all findings if these are fewer than the metatiles. */
void tseed_findings_each(const tseed_findings_t *findings, const tseed_range_t *tiles,
                         tseed_findings_visit_t *visit, void *baton)
{
    const tseed_metatiles_t all = metatiles_of(tiles, findings->meta_width, findings->meta_height);
    const int is_large = (double)(all.maxx - all.minx + 1) * (double)(all.maxy - all.miny + 1) >
                         (double)findings->size;
    tseed_finding_t *found = is_large ? tseed_findings_next(findings, NULL) : NULL;

    for (; found; found = tseed_findings_next(findings, found)) {
        if (!found->is_gone && tseed_range_meets(&found->range, tiles)) {
            visit(baton, found);
        }
    }
    for (int64_t y = all.miny; !is_large && y <= all.maxy; y++) {
        for (int64_t x = all.minx; x <= all.maxx; x++) {
            found = tseed_findings_find(findings, tiles->z, x, y);
            if (found && tseed_range_meets(&found->range, tiles)) {
                visit(baton, found);
            }
        }
    }
}

void tseed_findings_each_below(const tseed_findings_t *findings, const tseed_gridset_t *gridset,
                               const tseed_finding_t *finding, tseed_findings_visit_t *visit,
                               void *baton)
{
    const tseed_bounds_t ground = tseed_range_bounds(gridset, &finding->range);

    for (int z = finding->range.z + 1; z < TSEED_LEVELS_MAX; z++) {
        if (findings->of_level[z] > 0) {
            const tseed_range_t tiles = tseed_range_of(gridset, z, &ground);

            tseed_findings_each(findings, &tiles, visit, baton);
        }
    }
}

static int is_below(const tseed_finding_t *finding, const tseed_gridset_t *gridset,
                    const tseed_range_t *wanted)
{
    const tseed_bounds_t ground = tseed_range_bounds(gridset, &finding->range);
    const tseed_range_t tiles = tseed_range_within(gridset, wanted->z, &ground);

    return tseed_range_has(&tiles, wanted);
}

static void find_hole(void *has_hole, tseed_finding_t *finding)
{
    *(int *)has_hole |= finding->is_hole;
}

/* What lies below a finding as a whole has its first tile below it. */
const tseed_finding_t *tseed_findings_above(const tseed_findings_t *findings,
                                            const tseed_gridset_t *gridset,
                                            const tseed_range_t *wanted, int is_anew,
                                            tseed_finding_class_t *class_of, void *baton)
{
    const tseed_bounds_t ground = tseed_range_bounds(gridset, wanted);
    const tseed_finding_t *above = NULL, *found;
    int has_hole = 0;

    for (int z = wanted->z - is_anew; z >= 0 && !has_hole; z--) {
        if (findings->of_level[z] > 0) {
            const tseed_range_t tiles = tseed_range_of(gridset, z, &ground);

            found = tseed_findings_find(findings, z, tiles.minx / findings->meta_width,
                                        tiles.miny / findings->meta_height);
            if (found && z < wanted->z && tseed_finding_prunes(findings, found) &&
                (!class_of || class_of(baton, found)) && is_below(found, gridset, wanted)) {
                above = found;
            }
            tseed_findings_each(findings, &tiles, find_hole, &has_hole);
        }
    }
    return above;
}

/* Those with wanted tiles that have ground in common with a finding. */
static tseed_metatiles_t touched_by(const tseed_finding_t *finding,
                                    const tseed_positions_t *positions, int z)
{
    const tseed_bounds_t ground = tseed_range_bounds(positions->gridset, &finding->range);
    const tseed_range_t tiles = tseed_range_of(positions->gridset, z, &ground);
    const tseed_range_t wanted = tseed_range_intersect(&tiles, &positions->range[z]);

    return metatiles_of(&wanted, positions->shape.meta_width, positions->shape.meta_height);
}

/* The metatiles of a sequence at a level, all of whose wanted tiles lie below a finding: what the
 * ground touches but for the edges that are cut. May be empty. */
static tseed_metatiles_t below_of(const tseed_finding_t *finding,
                                  const tseed_positions_t *positions, int z)
{
    const int width = positions->shape.meta_width, height = positions->shape.meta_height;
    const tseed_bounds_t ground = tseed_range_bounds(positions->gridset, &finding->range);
    const tseed_range_t inside = tseed_range_within(positions->gridset, z, &ground);
    const tseed_range_t *wanted = &positions->range[z];
    const tseed_range_t tiles = tseed_range_intersect(&inside, wanted);
    tseed_metatiles_t below = metatiles_of(&tiles, width, height);

    below.minx += tiles.minx > wanted->minx && tiles.minx % width > 0;
    below.miny += tiles.miny > wanted->miny && tiles.miny % height > 0;
    below.maxx -= tiles.maxx < wanted->maxx && (tiles.maxx + 1) % width > 0;
    below.maxy -= tiles.maxy < wanted->maxy && (tiles.maxy + 1) % height > 0;
    return below;
}

/* ---- jumps: looks ---- */

#define BROAD 8 /* a finding is, that has such a part of a level */

/* A rectangle at a position: what is below a finding, cut to what follows the position at once. */
typedef struct {
    const tseed_jump_t *jump;
    tseed_place_t place;
    const tseed_finding_t *finding;
    int class_of;            /* of it */
    tseed_metatiles_t below; /* all of the finding at this level */
    int has_looks;
    int is_broad, asks; /* the finding is broad, and this is the first level below it */
} source_t;

/* splitmix64 */
static uint64_t mix(uint64_t bits)
{
    bits += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* 0 <= number < 1, another one for each i. */
static double draw(const source_t *source, unsigned i)
{
    uint64_t bits = mix(source->jump->seed ^ (uint64_t)source->finding->range.z);

    bits = mix(bits ^ (uint64_t)source->finding->x);
    bits = mix(bits ^ (uint64_t)source->finding->y);
    bits = mix(bits ^ (uint64_t)source->below.z << 32 ^ i);
    return (double)(bits >> 11) * 0x1p-53;
}

static unsigned look_count(const source_t *source)
{
    const double all = (double)tseed_range_count(&source->below);
    const double looks = all * source->jump->share / 100 + draw(source, TSEED_LOOKS_MOST);
    const double most = all < TSEED_LOOKS_MOST ? all : TSEED_LOOKS_MOST;

    return source->has_looks ? (unsigned)(looks < most && !source->asks ? looks : most) : 0;
}

/* The i-th of `count` looks lies in the i-th of as many equal parts of the rectangle. */
static tseed_metatiles_t look_at(const source_t *source, unsigned i, unsigned count)
{
    const tseed_metatiles_t *below = &source->below;
    const double width = (double)(below->maxx - below->minx + 1);
    const double height = (double)(below->maxy - below->miny + 1);
    const double place = (i + draw(source, i)) * height / count;
    const int64_t row = (int64_t)place;
    const int64_t x = below->minx + (int64_t)((place - (double)row) * width);
    const int64_t y = below->miny + row;

    return (tseed_metatiles_t){below->z, x, y, x, y};
}

/* ---- jumps: rectangles ---- */

static void cut_before(tseed_metatiles_t *rectangle, const tseed_metatiles_t *obstacle, int by_rows)
{
    const tseed_metatiles_t common = tseed_range_intersect(rectangle, obstacle);

    if (tseed_range_count(&common) > 0 && by_rows) {
        rectangle->maxy = common.miny - 1;
    } else if (tseed_range_count(&common) > 0) {
        rectangle->maxx = common.minx - 1;
    }
}

/* Cuts a rectangle off before the columns, or the rows, of what is no part of what is passed below
 * the finding: looks, and holes that are deeper than the finding. */
static void cut(tseed_metatiles_t *rectangle, const source_t *source, int by_rows)
{
    const unsigned looks = look_count(source);
    const tseed_positions_t *positions = source->jump->positions;
    const tseed_finding_t *hole = source->jump->findings->holes;
    const int z = source->below.z;

    for (unsigned i = 0; i < looks; i++) {
        const tseed_metatiles_t look = look_at(source, i, looks);

        cut_before(rectangle, &look, by_rows);
    }
    for (; hole; hole = hole->next_hole) {
        if (hole->range.z > source->finding->range.z && hole->range.z <= z) {
            const tseed_metatiles_t touched = touched_by(hole, positions, z);

            cut_before(rectangle, &touched, by_rows);
        }
    }
}

/* The last column or row of the block row or column that ends at `most` or before; `limit` is the
 * level's own end. Blocks but the first and the last one of a level have as many metatiles on a
 * side. */
static int64_t whole_blocks(int64_t most, int64_t limit, int meta_side)
{
    const int64_t side = meta_side < 32 ? 32 / meta_side : 1;

    return most >= limit ? limit : (most + 1) / side * side - 1;
}

/* What follows a place at once. Returns 0 if the place itself is an obstacle: a look. */
static int take(tseed_metatiles_t *taken, const source_t *source)
{
    const tseed_shape_t *shape = &source->jump->positions->shape;
    const tseed_place_t *place = &source->place;
    const tseed_metatiles_t *below = &source->below, *block = &place->block;
    const tseed_metatiles_t *level = &place->level;
    const int begins = place->x == block->minx && place->y == block->miny;

    /* whole rows of blocks, if the finding has all columns of the level */
    if (begins && place->x == level->minx && below->minx <= level->minx &&
        below->maxx >= level->maxx) {
        *taken = (tseed_metatiles_t){block->z, level->minx, block->miny, level->maxx, below->maxy};
        cut(taken, source, 1);
        taken->maxy = whole_blocks(taken->maxy, level->maxy, shape->meta_height);
        if (taken->maxy >= block->maxy) {
            return 1;
        }
    }
    /* whole blocks of a row of blocks */
    if (begins && below->maxy >= block->maxy) {
        *taken = (tseed_metatiles_t){block->z, block->minx, block->miny, below->maxx, block->maxy};
        cut(taken, source, 0);
        taken->maxx = whole_blocks(taken->maxx, level->maxx, shape->meta_width);
        if (taken->maxx >= block->maxx) {
            return 1;
        }
    }
    /* the rest of a row of metatiles in a block */
    *taken = (tseed_metatiles_t){block->z, place->x, place->y,
                                 below->maxx < block->maxx ? below->maxx : block->maxx, place->y};
    cut(taken, source, 0);
    return taken->maxx >= taken->minx;
}

/* ---- jumps: runs ---- */

/* Looks for the finding above a position. Returns 0 if there is none. */
static int find(source_t *source, const tseed_jump_t *jump, int64_t position)
{
    const tseed_positions_t *positions = jump->positions;
    const tseed_shape_t *shape = &positions->shape;
    const tseed_place_t place = tseed_positions_place(positions, position);
    const int z = place.block.z;
    const tseed_tile_t tile = {z, place.x * shape->meta_width, place.y * shape->meta_height};
    const tseed_range_t wanted = tseed_positions_metatile(positions, &tile).wanted;
    const tseed_finding_t *finding = tseed_findings_above(jump->findings, positions->gridset,
                                                          &wanted, 0, jump->class_of, jump->baton);
    tseed_metatiles_t ground;
    int first;

    if (!finding) {
        return 0;
    }
    first = finding->range.z < shape->zoom_start ? shape->zoom_start : finding->range.z + 1;
    ground = below_of(finding, positions, first);
    *source = (source_t){
        jump, place, finding, jump->class_of(jump->baton, finding), below_of(finding, positions, z),
        0,    0,     0};
    source->is_broad =
        jump->asks && tseed_range_count(&ground) > 0 &&
        (double)tseed_range_count(&ground) * BROAD >= (double)positions->metatiles[first];
    source->asks = source->is_broad && z == first;
    source->has_looks = source->asks || (jump->share > 0 && source->class_of == jump->looked);
    return 1;
}

void tseed_jump_from(tseed_landing_t *landing, const tseed_jump_t *jump, int64_t position,
                     int steps)
{
    const tseed_positions_t *positions = jump->positions;
    tseed_metatiles_t taken;
    source_t source;

    *landing = (tseed_landing_t){.end = position};
    while (steps-- > 0 && landing->end < positions->count && find(&source, jump, landing->end)) {
        const int is_look = !take(&taken, &source);

        if (landing->end == position) {
            landing->finding = source.finding;
            landing->class_of = source.class_of;
            landing->is_broad = source.is_broad;
            landing->is_look = is_look;
            landing->asks = is_look && source.asks;
        }
        if (is_look || source.class_of != landing->class_of) {
            break;
        }
        landing->end = tseed_positions_of_metatile(positions, taken.z, taken.maxx, taken.maxy) + 1;
    }
}
