/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Findings: a hash table by level, column and row, with linear probing, and a list of the holes. */
#include "tiling/tseed_findings.h"

#include "base/tseed_memory.h"

#define SLOTS_LEAST 64

struct tseed_findings_t {
    int meta_width, meta_height, depth;
    tseed_finding_t **slots; /* NULL: free */
    size_t size;             /* a power of two, more than count */
    size_t count;
    int64_t of_level[TSEED_LEVELS_MAX];
    tseed_finding_t **holes;
    unsigned hole_count, hole_room;
};

tseed_findings_t *tseed_findings_create(int meta_width, int meta_height, int depth)
{
    tseed_findings_t *findings = tseed_memory_get(sizeof(*findings));

    findings->meta_width = meta_width;
    findings->meta_height = meta_height;
    findings->depth = depth;
    findings->size = SLOTS_LEAST;
    findings->slots = tseed_memory_get(findings->size * sizeof(tseed_finding_t *));
    return findings;
}

void tseed_findings_destroy(tseed_findings_t *findings)
{
    for (size_t i = 0; i < findings->size; i++) {
        free(findings->slots[i]);
    }
    free(findings->slots);
    free(findings->holes);
    free(findings);
}

int64_t tseed_findings_count(const tseed_findings_t *findings)
{
    return (int64_t)findings->count;
}

/* ---- the table ---- */

/* The finalizer of MurmurHash3 over the three numbers. */
static size_t hash_of(int z, int64_t x, int64_t y)
{
    uint64_t bits = (uint64_t)x * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)y;

    bits = (bits ^ bits >> 33) * UINT64_C(0xff51afd7ed558ccd) + (uint64_t)z;
    bits = (bits ^ bits >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (size_t)(bits ^ bits >> 33);
}

/* Where the finding of a metatile is, or where it would be. */
static size_t slot_of(const tseed_findings_t *findings, int z, int64_t x, int64_t y)
{
    size_t slot = hash_of(z, x, y) & (findings->size - 1);
    const tseed_finding_t *at;

    while ((at = findings->slots[slot]) && (at->range.z != z || at->x != x || at->y != y)) {
        slot = (slot + 1) & (findings->size - 1);
    }
    return slot;
}

static void grow(tseed_findings_t *findings)
{
    tseed_finding_t **old = findings->slots;
    const size_t size = findings->size;

    findings->size = 2 * size;
    findings->slots = tseed_memory_get(findings->size * sizeof(tseed_finding_t *));
    for (size_t i = 0; i < size; i++) {
        if (old[i]) {
            findings->slots[slot_of(findings, old[i]->range.z, old[i]->x, old[i]->y)] = old[i];
        }
    }
    free(old);
}

tseed_finding_t *tseed_findings_find(const tseed_findings_t *findings, int z, int64_t x, int64_t y)
{
    tseed_finding_t *found = findings->slots[slot_of(findings, z, x, y)];

    return found && !found->is_gone ? found : NULL;
}

tseed_finding_t *tseed_findings_get(tseed_findings_t *findings, int z, int64_t x, int64_t y)
{
    size_t slot = slot_of(findings, z, x, y);
    tseed_finding_t *found = findings->slots[slot];

    if (found && found->is_gone) {
        *found = (tseed_finding_t){
            .x = x, .y = y, .range = {z, 0, 0, -1, -1}, .is_changed = found->is_changed};
    }
    if (found) {
        return found;
    }
    if (2 * (findings->count + 1) > findings->size) {
        grow(findings);
        slot = slot_of(findings, z, x, y);
    }
    found = findings->slots[slot] = tseed_memory_get(sizeof(*found));
    found->range = (tseed_range_t){z, 0, 0, -1, -1};
    found->x = x;
    found->y = y;
    findings->count++;
    findings->of_level[z]++;
    return found;
}

/* Takes an entry out and closes the gap: an entry behind it moves up if the gap lies between the
 * entry and the slot that the entry would have best. */
static void take_out(tseed_findings_t *findings, size_t gap)
{
    const size_t mask = findings->size - 1;
    const tseed_finding_t *at;

    for (size_t i = (gap + 1) & mask; (at = findings->slots[i]) != NULL; i = (i + 1) & mask) {
        const size_t best = hash_of(at->range.z, at->x, at->y) & mask;

        if (((i - best) & mask) >= ((i - gap) & mask)) {
            findings->slots[gap] = findings->slots[i];
            gap = i;
        }
    }
    findings->slots[gap] = NULL;
    findings->count--;
}

void tseed_findings_drop(tseed_findings_t *findings, tseed_finding_t *finding)
{
    tseed_findings_forget(findings, finding);
    take_out(findings, slot_of(findings, finding->range.z, finding->x, finding->y));
    findings->of_level[finding->range.z]--;
    free(finding);
}

tseed_finding_t *tseed_findings_next(const tseed_findings_t *findings, size_t *cursor)
{
    while (*cursor < findings->size) {
        tseed_finding_t *at = findings->slots[(*cursor)++];

        if (at) {
            return at;
        }
    }
    return NULL;
}

/* ---- holes ---- */

static void hole_add(tseed_findings_t *findings, tseed_finding_t *hole)
{
    if (findings->hole_count == findings->hole_room) {
        findings->hole_room = findings->hole_room ? 2 * findings->hole_room : 16;
        findings->holes = realloc(findings->holes, findings->hole_room * sizeof(hole));
        if (!findings->holes) {
            abort();
        }
    }
    findings->holes[findings->hole_count++] = hole;
}

static void hole_remove(tseed_findings_t *findings, const tseed_finding_t *hole)
{
    unsigned i = 0;

    while (findings->holes[i] != hole) {
        i++;
    }
    findings->hole_count--;
    memmove(findings->holes + i, findings->holes + i + 1,
            (findings->hole_count - i) * sizeof(*findings->holes));
}

void tseed_findings_set_hole(tseed_findings_t *findings, tseed_finding_t *finding, int is_hole)
{
    if (is_hole && !finding->is_hole) {
        hole_add(findings, finding);
    } else if (!is_hole && finding->is_hole) {
        hole_remove(findings, finding);
    }
    finding->is_hole = is_hole;
}

const tseed_finding_t *tseed_findings_hole(const tseed_findings_t *findings, unsigned i)
{
    return i < findings->hole_count ? findings->holes[i] : NULL;
}

void tseed_findings_forget(tseed_findings_t *findings, tseed_finding_t *finding)
{
    tseed_findings_set_hole(findings, finding, 0);
    finding->is_gone = 1;
}

/* ---- rectangles of metatiles ---- */

int tseed_metatiles_any(const tseed_metatiles_t *metatiles)
{
    return metatiles->minx <= metatiles->maxx && metatiles->miny <= metatiles->maxy;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int tseed_metatiles_share(tseed_metatiles_t *common, const tseed_metatiles_t *a,
                          const tseed_metatiles_t *b)
{
    *common = (tseed_metatiles_t){a->z, larger(a->minx, b->minx), larger(a->miny, b->miny),
                                  smaller(a->maxx, b->maxx), smaller(a->maxy, b->maxy)};
    return a->z == b->z && tseed_metatiles_any(common);
}

/* ---- above and below ---- */

/* Tiles along one axis. */
typedef struct {
    int64_t first, last;
} stretch_t;

/* The metatiles of `side` tiles, all of whose wanted tiles are among `tiles`, which are wanted. */
static stretch_t enclosed(stretch_t tiles, stretch_t wanted, int side)
{
    return (stretch_t){
        tiles.first <= wanted.first ? wanted.first / side : (tiles.first + side - 1) / side,
        tiles.last >= wanted.last ? wanted.last / side : (tiles.last + 1) / side - 1,
    };
}

tseed_metatiles_t tseed_findings_below(const tseed_finding_t *finding,
                                       const tseed_positions_t *positions, int z)
{
    const tseed_bounds_t ground = tseed_range_bounds(positions->gridset, &finding->range);
    const tseed_range_t tiles = tseed_range_within(positions->gridset, z, &ground);
    const tseed_range_t *wanted = &positions->range[z];
    const tseed_range_t common = tseed_range_intersect(&tiles, wanted);
    stretch_t columns, rows;

    if (tseed_range_count(&common) == 0) {
        return (tseed_metatiles_t){z, 0, 0, -1, -1};
    }
    columns = enclosed((stretch_t){common.minx, common.maxx},
                       (stretch_t){wanted->minx, wanted->maxx}, positions->shape.meta_width);
    rows = enclosed((stretch_t){common.miny, common.maxy}, (stretch_t){wanted->miny, wanted->maxy},
                    positions->shape.meta_height);
    return (tseed_metatiles_t){z, columns.first, rows.first, columns.last, rows.last};
}

tseed_metatiles_t tseed_findings_touched(const tseed_finding_t *finding,
                                         const tseed_positions_t *positions, int z)
{
    const tseed_bounds_t ground = tseed_range_bounds(positions->gridset, &finding->range);
    const tseed_range_t tiles = tseed_range_of(positions->gridset, z, &ground);
    const tseed_range_t common = tseed_range_intersect(&tiles, &positions->range[z]);
    const int width = positions->shape.meta_width, height = positions->shape.meta_height;

    if (tseed_range_count(&common) == 0) {
        return (tseed_metatiles_t){z, 0, 0, -1, -1};
    }
    return (tseed_metatiles_t){z, common.minx / width, common.miny / height, common.maxx / width,
                               common.maxy / height};
}

int tseed_finding_prunes(const tseed_findings_t *findings, const tseed_finding_t *finding)
{
    return finding->shade > 0 && finding->depth >= findings->depth;
}

/* The finding at level z whose metatile has that point of the ground. */
static const tseed_finding_t *find_at(const tseed_findings_t *findings,
                                      const tseed_gridset_t *gridset, int z,
                                      const tseed_bounds_t *point)
{
    const tseed_range_t tile = tseed_range_of(gridset, z, point);

    return tseed_findings_find(findings, z, tile.minx / findings->meta_width,
                               tile.miny / findings->meta_height);
}

/* The middle of the first wanted tile of a metatile; it may hang out of the extent. */
static tseed_bounds_t middle_of(const tseed_spot_t *spot)
{
    const tseed_positions_t *positions = spot->positions;
    const tseed_range_t *extent = &positions->range[spot->z];
    const int64_t column = larger(spot->x * positions->shape.meta_width, extent->minx);
    const int64_t row = larger(spot->y * positions->shape.meta_height, extent->miny);
    const tseed_range_t tile = {spot->z, column, row, column, row};
    const tseed_bounds_t ground = tseed_range_bounds(positions->gridset, &tile);
    const tseed_bounds_t *grid = &positions->gridset->extent;
    const double east = (ground.minx + ground.maxx) / 2, north = (ground.miny + ground.maxy) / 2;
    tseed_bounds_t point;

    point.minx = point.maxx = east < grid->maxx ? east : (ground.minx + grid->maxx) / 2;
    point.miny = point.maxy = north > grid->maxy   ? (ground.miny + grid->maxy) / 2
                              : north < grid->miny ? (ground.maxy + grid->miny) / 2
                                                   : north;
    return point;
}

static int is_below(const tseed_finding_t *finding, const tseed_spot_t *spot)
{
    const tseed_metatiles_t below = tseed_findings_below(finding, spot->positions, spot->z);

    return spot->x >= below.minx && spot->x <= below.maxx && spot->y >= below.miny &&
           spot->y <= below.maxy;
}

/* The ground of a metatile's wanted tiles. */
static tseed_bounds_t ground_of(const tseed_spot_t *spot)
{
    const tseed_positions_t *positions = spot->positions;
    const int width = positions->shape.meta_width, height = positions->shape.meta_height;
    const tseed_range_t whole = {spot->z, spot->x * width, spot->y * height,
                                 (spot->x + 1) * width - 1, (spot->y + 1) * height - 1};
    const tseed_range_t wanted = tseed_range_intersect(&whole, &positions->range[spot->z]);

    return tseed_range_bounds(positions->gridset, &wanted);
}

/* Whether a hole at level z has some of that ground. */
static int has_hole(const tseed_findings_t *findings, const tseed_gridset_t *gridset, int z,
                    const tseed_bounds_t *ground)
{
    const tseed_range_t tiles = tseed_range_of(gridset, z, ground);
    const int width = findings->meta_width, height = findings->meta_height;
    int has = 0;

    for (int64_t y = tiles.miny / height; y <= tiles.maxy / height; y++) {
        for (int64_t x = tiles.minx / width; x <= tiles.maxx / width; x++) {
            const tseed_finding_t *found = tseed_findings_find(findings, z, x, y);
            const tseed_range_t common =
                found ? tseed_range_intersect(&found->range, &tiles) : tiles;

            has |= found && found->is_hole && tseed_range_count(&common) > 0;
        }
    }
    return has;
}

static int has_some(const tseed_finding_t *finding, const tseed_range_t *tiles)
{
    const tseed_range_t common = tseed_range_intersect(&finding->range, tiles);

    return tseed_range_count(&common) > 0;
}

/* The findings of one level that have some of its tiles: looked up, or picked out of all findings
 * if these are fewer than the metatiles. */
static void each_of(const tseed_findings_t *findings, const tseed_range_t *tiles,
                    tseed_findings_visit_t *visit, void *baton)
{
    const int64_t left = tiles->minx / findings->meta_width;
    const int64_t right = tiles->maxx / findings->meta_width;
    const int64_t low = tiles->miny / findings->meta_height;
    const int64_t high = tiles->maxy / findings->meta_height;
    const int is_large =
        (double)(right - left + 1) * (double)(high - low + 1) > (double)findings->size;
    tseed_finding_t *found;
    size_t cursor = 0;

    while (is_large && (found = tseed_findings_next(findings, &cursor)) != NULL) {
        if (!found->is_gone && found->range.z == tiles->z && has_some(found, tiles)) {
            visit(baton, found);
        }
    }
    for (int64_t y = low; !is_large && y <= high; y++) {
        for (int64_t x = left; x <= right; x++) {
            found = tseed_findings_find(findings, tiles->z, x, y);
            if (found && has_some(found, tiles)) {
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

            each_of(findings, &tiles, visit, baton);
        }
    }
}

const tseed_finding_t *tseed_findings_above(const tseed_findings_t *findings,
                                            const tseed_spot_t *spot,
                                            tseed_finding_counts_t *counts, void *baton)
{
    const tseed_gridset_t *gridset = spot->positions->gridset;
    const tseed_bounds_t point = middle_of(spot), ground = ground_of(spot);
    const tseed_finding_t *above = NULL;
    int ends = 0;

    for (int z = spot->z - spot->is_anew; z >= 0 && !ends; z--) {
        const tseed_finding_t *found =
            findings->of_level[z] && z < spot->z ? find_at(findings, gridset, z, &point) : NULL;

        if (found && tseed_finding_prunes(findings, found) && (!counts || counts(baton, found)) &&
            is_below(found, spot)) {
            above = found;
        }
        ends = findings->of_level[z] && has_hole(findings, gridset, z, &ground);
    }
    return above;
}
