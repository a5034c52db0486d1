/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jumps: a run grows by rectangles of metatiles that follow each other in the sequence. */
#include "tiling/tseed_jump.h"

/* A rectangle at a position: what is below a finding, cut to what follows the position at once. */
typedef struct {
    const tseed_jump_t *jump;
    const tseed_finding_t *finding;
    tseed_metatiles_t below; /* all of the finding at this level */
    int has_looks;
    int is_broad, asks; /* the finding is broad, and this is the first level below it */
} source_t;

#define BROAD 8 /* a finding is, that has such a part of a level */

/* ---- looks ---- */

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

static double width_of(const tseed_metatiles_t *metatiles)
{
    return (double)(metatiles->maxx - metatiles->minx + 1);
}

static double height_of(const tseed_metatiles_t *metatiles)
{
    return (double)(metatiles->maxy - metatiles->miny + 1);
}

static unsigned look_count(const source_t *source)
{
    const double all = width_of(&source->below) * height_of(&source->below);
    const double looks = all * source->jump->share / 100 + draw(source, TSEED_LOOKS_MOST);
    const double most = all < TSEED_LOOKS_MOST ? all : TSEED_LOOKS_MOST;

    return (unsigned)(looks < most && !source->asks ? looks : most);
}

/* The i-th of `count` looks lies in the i-th of as many equal parts of the rectangle. */
static tseed_metatiles_t look_at(const source_t *source, unsigned i, unsigned count)
{
    const tseed_metatiles_t *below = &source->below;
    const double place = (i + draw(source, i)) * height_of(below) / count;
    const int64_t row = (int64_t)place;
    const int64_t column = (int64_t)((place - (double)row) * width_of(below));
    const int64_t x = below->minx + column, y = below->miny + row;

    return (tseed_metatiles_t){below->z, x, y, x, y};
}

/* ---- obstacles ---- */

/* Calls with each rectangle that is no part of what is passed below the finding: looks, and holes
 * that are deeper than the finding. */
typedef void obstacle_t(tseed_metatiles_t *rectangle, const tseed_metatiles_t *obstacle);

static void for_obstacles(const source_t *source, obstacle_t *cut, tseed_metatiles_t *rectangle)
{
    const tseed_findings_t *findings = source->jump->findings;
    const unsigned looks = source->has_looks ? look_count(source) : 0;
    const tseed_finding_t *hole;

    for (unsigned i = 0; i < looks; i++) {
        const tseed_metatiles_t look = look_at(source, i, looks);

        cut(rectangle, &look);
    }
    for (unsigned i = 0; (hole = tseed_findings_hole(findings, i)) != NULL; i++) {
        if (hole->range.z > source->finding->range.z && hole->range.z <= source->below.z) {
            const tseed_metatiles_t inside =
                tseed_findings_touched(hole, source->jump->positions, source->below.z);

            cut(rectangle, &inside);
        }
    }
}

/* Cuts a rectangle off before the columns of an obstacle in it. */
static void cut_columns(tseed_metatiles_t *rectangle, const tseed_metatiles_t *obstacle)
{
    tseed_metatiles_t common;

    if (tseed_metatiles_share(&common, rectangle, obstacle)) {
        rectangle->maxx = common.minx - 1;
    }
}

/* And before its rows. */
static void cut_rows(tseed_metatiles_t *rectangle, const tseed_metatiles_t *obstacle)
{
    tseed_metatiles_t common;

    if (tseed_metatiles_share(&common, rectangle, obstacle)) {
        rectangle->maxy = common.miny - 1;
    }
}

/* ---- rectangles ---- */

/* Blocks but the first and the last one of a level have `side` metatiles on a side. */
static int64_t side_of(int meta_side)
{
    return meta_side < 32 ? 32 / meta_side : 1;
}

/* The last column or row of the block row or column that ends at `most` or before; `limit` is the
 * level's own end. */
static int64_t whole_blocks(int64_t most, int64_t limit, int meta_side)
{
    const int64_t side = side_of(meta_side);

    return most >= limit ? limit : (most + 1) / side * side - 1;
}

/* Whole rows of blocks, if the finding has all columns of the level. */
static int take_rows(tseed_metatiles_t *taken, const source_t *source, const tseed_place_t *place)
{
    tseed_metatiles_t rows = place->level;

    rows.miny = place->block.miny;
    rows.maxy = source->below.maxy;
    if (place->x != place->level.minx || source->below.minx > rows.minx ||
        source->below.maxx < rows.maxx) {
        return 0;
    }
    for_obstacles(source, cut_rows, &rows);
    rows.maxy =
        whole_blocks(rows.maxy, place->level.maxy, source->jump->positions->shape.meta_height);
    *taken = rows;
    return rows.maxy >= place->block.maxy;
}

/* Whole blocks of a row of blocks. */
static int take_blocks(tseed_metatiles_t *taken, const source_t *source, const tseed_place_t *place)
{
    tseed_metatiles_t blocks = place->block;

    blocks.maxx = source->below.maxx;
    if (source->below.maxy < blocks.maxy) {
        return 0;
    }
    for_obstacles(source, cut_columns, &blocks);
    blocks.maxx =
        whole_blocks(blocks.maxx, place->level.maxx, source->jump->positions->shape.meta_width);
    *taken = blocks;
    return blocks.maxx >= place->block.maxx;
}

/* The rest of a row of metatiles in a block. The metatile at the place is in it, or is an obstacle.
 */
static int take_line(tseed_metatiles_t *taken, const source_t *source, const tseed_place_t *place)
{
    tseed_metatiles_t line = place->block;

    line.minx = place->x;
    line.miny = line.maxy = place->y;
    line.maxx = source->below.maxx < line.maxx ? source->below.maxx : line.maxx;
    for_obstacles(source, cut_columns, &line);
    *taken = line;
    return line.maxx >= line.minx;
}

/* What follows a place at once. Returns 0 if the place itself is an obstacle: a look. */
static int take(tseed_metatiles_t *taken, const source_t *source, const tseed_place_t *place)
{
    const int begins = place->x == place->block.minx && place->y == place->block.miny;

    return (begins && take_rows(taken, source, place)) ||
           (begins && take_blocks(taken, source, place)) || take_line(taken, source, place);
}

/* The position behind the last metatile of a rectangle. */
static int64_t behind(const tseed_positions_t *positions, const tseed_metatiles_t *taken)
{
    return tseed_positions_of_metatile(positions, taken->z, taken->maxx, taken->maxy) + 1;
}

/* ---- runs ---- */

/* Sets whether the finding is broad, and whether it is asked about at this level. */
static void judge(source_t *source, const tseed_place_t *place)
{
    const tseed_positions_t *positions = source->jump->positions;
    const int below = source->finding->range.z + 1;
    const int first = below > positions->shape.zoom_start ? below : positions->shape.zoom_start;
    const tseed_metatiles_t ground = tseed_findings_below(source->finding, positions, first);

    source->is_broad =
        source->jump->asks && tseed_metatiles_any(&ground) &&
        width_of(&ground) * height_of(&ground) * BROAD >= (double)positions->metatiles[first];
    source->asks = source->is_broad && place->block.z == first;
}

/* Looks for the finding above a position and how it counts. Returns 0 if there is none. */
static int find(source_t *source, int *class_of, const tseed_jump_t *jump,
                const tseed_place_t *place)
{
    const tseed_spot_t spot = {jump->positions, place->block.z, place->x, place->y, 0};

    source->jump = jump;
    source->finding = tseed_findings_above(jump->findings, &spot, jump->class_of, jump->baton);
    if (!source->finding) {
        return 0;
    }
    source->below = tseed_findings_below(source->finding, jump->positions, place->block.z);
    *class_of = jump->class_of(jump->baton, source->finding);
    judge(source, place);
    source->has_looks = source->asks || (jump->share > 0 && *class_of == jump->looked);
    return 1;
}

void tseed_jump_from(tseed_landing_t *landing, const tseed_jump_t *jump, int64_t position,
                     int steps)
{
    tseed_place_t place = tseed_positions_place(jump->positions, position);
    tseed_metatiles_t taken;
    source_t source;
    int class_of;

    *landing = (tseed_landing_t){.end = position};
    if (!find(&source, &landing->class_of, jump, &place)) {
        return;
    }
    landing->finding = source.finding;
    landing->is_broad = source.is_broad;
    class_of = landing->class_of;
    landing->is_look = !take(&taken, &source, &place);
    landing->asks = landing->is_look && source.asks;
    while (steps-- > 0 && class_of == landing->class_of && take(&taken, &source, &place)) {
        landing->end = behind(jump->positions, &taken);
        if (landing->end >= jump->positions->count) {
            break;
        }
        place = tseed_positions_place(jump->positions, landing->end);
        if (!find(&source, &class_of, jump, &place)) {
            break;
        }
    }
    landing->tiles = tseed_positions_tiles_before(jump->positions, landing->end) -
                     tseed_positions_tiles_before(jump->positions, position);
}
