/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jumps: over random findings in small worlds they are what looking at each position says, and they
 * pass 10^12 tiles in a few steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tiling/tseed_findings.h"

#include "pool_fixture.h"

#define LEVELS 5
#define DEEP   7 /* several blocks a side */
#define DEPTH  2
#define MANY   1000000

/* Tiles of one unit at level 0, twice as many a side at each further level. */
static tseed_gridset_t world(int width, int height, int levels)
{
    tseed_gridset_t set = {
        .name = "units",
        .extent = {0, 0, width, height},
        .tile_width = 1,
        .tile_height = 1,
        .meters_per_unit = 1,
        .levels = levels,
        .resolution = {1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625},
    };

    assert_null(tseed_gridset_finish(&set, pool));
    return set;
}

/* ---- an oracle that looks at each tile ---- */

/* The same arithmetic on integers, as each level has exactly four tiles for one above. A metatile
 * is below itself. */
static int is_below(const tseed_finding_t *finding, const tseed_range_t *tiles)
{
    const int levels = tiles->z - finding->range.z;

    for (int64_t y = tiles->miny; levels >= 0 && y <= tiles->maxy; y++) {
        for (int64_t x = tiles->minx; x <= tiles->maxx; x++) {
            if (x >> levels < finding->range.minx || x >> levels > finding->range.maxx ||
                y >> levels < finding->range.miny || y >> levels > finding->range.maxy) {
                return 0;
            }
        }
    }
    return levels >= 0;
}

/* The class of task 1's own findings is 1, that of others' is 2; those of task 3 do not count. */
static int class_of(void *baton, const tseed_finding_t *finding)
{
    (void)baton;
    return finding->task == 3 ? 0 : (int)finding->task;
}

static int prunes(const tseed_finding_t *finding)
{
    return finding->shade && finding->depth >= DEPTH && class_of(NULL, finding) > 0;
}

/* Whether a finding has ground of some tiles. */
static int touches(const tseed_finding_t *finding, const tseed_range_t *tiles)
{
    const tseed_range_t *range = &finding->range;
    const int levels = tiles->z - range->z;

    return levels >= 0 && tiles->minx >> levels <= range->maxx &&
           tiles->maxx >> levels >= range->minx && tiles->miny >> levels <= range->maxy &&
           tiles->maxy >> levels >= range->miny;
}

/* The level of the lowest hole that has ground of some tiles; -1: there is none. */
static int lowest_hole(const tseed_findings_t *findings, const tseed_range_t *wanted)
{
    const tseed_finding_t *at = NULL;
    int level = -1;

    while ((at = tseed_findings_next(findings, at)) != NULL) {
        if (!at->is_gone && at->is_hole && touches(at, wanted) && at->range.z > level) {
            level = at->range.z;
        }
    }
    return level;
}

static int expected_class(const tseed_findings_t *findings, const tseed_range_t *wanted)
{
    const tseed_finding_t *best = NULL, *at = NULL;
    const int from = lowest_hole(findings, wanted);

    while ((at = tseed_findings_next(findings, at)) != NULL) {
        if (!at->is_gone && prunes(at) && at->range.z < wanted->z && is_below(at, wanted) &&
            at->range.z >= from && (!best || at->range.z < best->range.z)) {
            best = at;
        }
    }
    return best ? class_of(NULL, best) : 0;
}

/* ---- random worlds ---- */

static uint64_t dice;

static int roll(int sides)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((dice >> 33) % (uint64_t)sides);
}

/* Finds something of one metatile in `odds`. */
static void sow(tseed_findings_t *findings, const tseed_positions_t *positions, int odds)
{
    for (int64_t i = 0; i < positions->count; i++) {
        const tseed_place_t place = tseed_positions_place(positions, i);
        tseed_finding_t *finding;

        if (roll(odds) > 0) {
            continue;
        }
        finding = tseed_findings_get(findings, place.block.z, place.x, place.y);
        finding->range = tseed_positions_at(positions, i).wanted;
        finding->shade = 1;
        finding->depth = DEPTH - (roll(4) == 0);
        finding->task = 1 + roll(3);
        if (roll(5) == 0) {
            finding->shade = (uint32_t)roll(2);
            tseed_findings_set_hole(findings, finding, 1);
        } else if (roll(6) == 0) {
            tseed_findings_forget(findings, finding);
        }
    }
}

typedef struct {
    tseed_gridset_t set;
    tseed_positions_t positions;
    tseed_findings_t *findings;
    tseed_jump_t jump;
} world_t;

/* A deep world has the larger metatiles, and findings in a few of them. */
static void make(world_t *made, int seed, int levels)
{
    static const int sides[] = {1, 2, 3, 4, 8, 32};
    const int large = levels == DEEP ? 2 : 0;
    const int meta_width = sides[large + roll(6 - large)];
    const int meta_height = sides[large + roll(6 - large)];
    const int width = 1 + roll(4), height = 1 + roll(4);
    tseed_bounds_t bounds;

    dice = (uint64_t)seed;
    made->set = world(width, height, levels);
    bounds = made->set.extent;
    if (roll(2)) { /* a task that wants a part */
        bounds = (tseed_bounds_t){roll(8) / 16.0, roll(8) / 16.0, width - roll(7) / 16.0,
                                  height - roll(7) / 16.0};
    }
    tseed_positions_init(&made->positions, &made->set, &bounds,
                         &(tseed_shape_t){0, levels - 1, meta_width, meta_height});
    made->findings = tseed_findings_create(meta_width, meta_height, DEPTH);
    sow(made->findings, &made->positions, 2 + roll(40) + (large ? 60 : 0));
    made->jump = (tseed_jump_t){.findings = made->findings,
                                .positions = &made->positions,
                                .class_of = class_of,
                                .looked = 1,
                                .seed = (uint64_t)seed};
}

static int class_at(const world_t *made, int64_t position)
{
    const tseed_metatile_t metatile = tseed_positions_at(&made->positions, position);

    return expected_class(made->findings, &metatile.wanted);
}

static int64_t tiles_passed(const tseed_jump_t *jump, int64_t position, int64_t end)
{
    return tseed_positions_tiles_before(jump->positions, end) -
           tseed_positions_tiles_before(jump->positions, position);
}

static int64_t tiles_at(const world_t *made, int64_t position)
{
    const tseed_metatile_t metatile = tseed_positions_at(&made->positions, position);

    return tseed_range_count(&metatile.wanted);
}

/* ---- tests ---- */

static void check_runs(const world_t *made)
{
    int64_t position = 0;

    while (position < made->positions.count) {
        const int expected = class_at(made, position);
        int64_t end = position;
        tseed_landing_t landing;

        tseed_jump_from(&landing, &made->jump, position, MANY);
        assert_int_equal(landing.finding ? landing.class_of : 0, expected);
        assert_false(landing.is_look);
        while (expected && end < made->positions.count && class_at(made, end) == expected) {
            end++;
        }
        assert_int_equal(landing.end, end);
        position = end > position ? end : position + 1;
    }
}

static void test_jump__passes_what_lies_below_findings_and_no_more(void **state)
{
    (void)state;
    for (int seed = 1; seed <= 400; seed++) {
        world_t made;

        make(&made, seed, LEVELS);
        check_runs(&made);
        tseed_findings_destroy(made.findings);
    }
}

/* Runs of whole blocks end within a level here, at ends of findings and at holes. */
static void test_jump__passes_whole_blocks_and_no_more(void **state)
{
    (void)state;
    for (int seed = 1; seed <= 60; seed++) {
        world_t made;

        make(&made, seed, DEEP);
        check_runs(&made);
        tseed_findings_destroy(made.findings);
    }
}

/* Goes through a world as a task does, a few steps at a time. Returns the tiles that were passed or
 * visited; `looks` counts what was looked at. */
static int64_t go_through(const world_t *made, int64_t *looks, int64_t *passed)
{
    int64_t position = 0, tiles = 0;

    *looks = *passed = 0;
    while (position < made->positions.count) {
        tseed_landing_t landing;

        tseed_jump_from(&landing, &made->jump, position, 3);
        assert_int_equal(landing.finding ? landing.class_of : 0, class_at(made, position));
        *looks += landing.is_look;
        *passed += landing.end - position;
        tiles += landing.end > position ? tiles_passed(&made->jump, position, landing.end)
                                        : tiles_at(made, position);
        position = landing.end > position ? landing.end : position + 1;
    }
    return tiles;
}

static void test_jump__looks_at_a_share(void **state)
{
    int64_t looks, passed, all_looks = 0, all_passed = 0;

    (void)state;
    for (int seed = 1; seed <= 300; seed++) {
        world_t made;

        make(&made, seed, LEVELS);
        made.jump.looked = 1 + seed % 2;
        made.jump.share = 5;
        assert_int_equal(go_through(&made, &looks, &passed), made.positions.tiles);
        all_looks += looks;
        all_passed += passed;
        tseed_findings_destroy(made.findings);
    }
    /* 5 % of class 1 or 2, which are about as many; fewer where 16 are the most, and where holes or
     * findings of other classes lie in between */
    assert_in_range(all_looks * 1000 / (all_looks + all_passed), 10, 40);
}

static void test_jump__looks_at_the_same_metatiles_each_time(void **state)
{
    world_t made;
    int64_t looks, passed, again, passed_again;

    (void)state;
    make(&made, 7, LEVELS);
    made.jump.share = 100;
    go_through(&made, &looks, &passed);
    go_through(&made, &again, &passed_again);
    assert_int_equal(looks, again);
    assert_int_equal(passed, passed_again);
    tseed_findings_destroy(made.findings);
}

static void plant(tseed_findings_t *findings, const tseed_positions_t *positions, int z, int64_t x,
                  int64_t y)
{
    tseed_finding_t *finding = tseed_findings_get(findings, z, x, y);

    finding->range =
        tseed_positions_at(positions, tseed_positions_of_metatile(positions, z, x, y)).wanted;
    finding->shade = 1;
    finding->depth = DEPTH;
    finding->task = 1;
}

/* How many calls pass a world. */
static int count_calls(const tseed_jump_t *jump, int64_t position, int64_t *tiles)
{
    int calls = 0;

    for (*tiles = 0; position < jump->positions->count; calls++) {
        tseed_landing_t landing;

        tseed_jump_from(&landing, jump, position, MANY);
        assert_true(landing.end > position);
        *tiles += tiles_passed(jump, position, landing.end);
        position = landing.end;
    }
    return calls;
}

static void test_jump__a_sea_of_10_to_the_12_takes_a_few_steps(void **state)
{
    const tseed_gridset_t *mercator = tseed_gridset_builtin("EPSG:3857");
    tseed_positions_t positions;
    tseed_findings_t *findings = tseed_findings_create(4, 4, DEPTH);
    tseed_jump_t jump = {.findings = findings,
                         .positions = &positions,
                         .class_of = class_of,
                         .looked = 1,
                         .seed = 1};
    tseed_landing_t landing;
    int64_t tiles;

    (void)state;
    tseed_positions_init(&positions, mercator, &mercator->extent, &(tseed_shape_t){0, 20, 4, 4});
    plant(findings, &positions, 2, 0, 0); /* the whole world */
    assert_int_equal(count_calls(&jump, positions.first[3], &tiles), 1);
    assert_int_equal(tiles, INT64_C(1466015503701) - 1 - 4 - 16);
    tseed_jump_from(&landing, &jump, positions.first[3], 18); /* a level a step */
    assert_int_equal(landing.end, positions.count);
    for (int steps = 1; steps < 18; steps++) {
        tseed_jump_from(&landing, &jump, positions.first[3], steps);
        assert_int_equal(landing.end, positions.first[3 + steps]);
    }
    tseed_findings_destroy(findings);
}

static void test_jump__a_quarter_of_the_world_is_counted_exactly(void **state)
{
    const tseed_gridset_t *mercator = tseed_gridset_builtin("EPSG:3857");
    tseed_positions_t positions;
    tseed_findings_t *findings = tseed_findings_create(4, 4, DEPTH);
    tseed_jump_t jump = {.findings = findings,
                         .positions = &positions,
                         .class_of = class_of,
                         .looked = 1,
                         .seed = 1};
    int64_t passed = 0, position;

    (void)state;
    tseed_positions_init(&positions, mercator, &mercator->extent, &(tseed_shape_t){3, 14, 4, 4});
    plant(findings, &positions, 3, 1, 0); /* south east */
    for (position = positions.first[14]; position < positions.count;) {
        tseed_landing_t landing;

        tseed_jump_from(&landing, &jump, position, MANY);
        passed += tiles_passed(&jump, position, landing.end);
        /* 2^14 tiles are 512 blocks; a row of the western half has 256 blocks of 64 metatiles */
        position = landing.finding ? landing.end : position + INT64_C(256) * 64;
    }
    assert_int_equal(passed, INT64_C(1) << 26);
    tseed_findings_destroy(findings);
}

/* ---- known ground ---- */

/* Mercator's levels start .. stop, and what is found there. */
typedef struct {
    tseed_positions_t positions;
    tseed_findings_t *findings;
    tseed_jump_t jump;
} ground_t;

static void open_ground(ground_t *ground, int start, int stop, int meta_height)
{
    const tseed_gridset_t *mercator = tseed_gridset_builtin("EPSG:3857");

    tseed_positions_init(&ground->positions, mercator, &mercator->extent,
                         &(tseed_shape_t){start, stop, 4, meta_height});
    ground->findings = tseed_findings_create(4, meta_height, DEPTH);
    ground->jump = (tseed_jump_t){.findings = ground->findings,
                                  .positions = &ground->positions,
                                  .class_of = class_of,
                                  .looked = 1,
                                  .seed = 1};
}

static void close_ground(ground_t *ground)
{
    tseed_findings_destroy(ground->findings);
}

/* Where so many steps end, counted from the first position of a level. */
static int64_t end_after(const ground_t *ground, int z, int64_t from, int steps)
{
    tseed_landing_t landing;

    tseed_jump_from(&landing, &ground->jump, ground->positions.first[z] + from, steps);
    return landing.end - ground->positions.first[z];
}

/* 2^14 tiles are 512 blocks of 8 x 8 metatiles. */
static void test_jump__takes_rows_of_blocks_blocks_and_lines_in_a_step(void **state)
{
    const int64_t row = INT64_C(512) * 64;
    ground_t ground;
    tseed_finding_t *hole;

    (void)state;
    open_ground(&ground, 2, 14, 4);
    plant(ground.findings, &ground.positions, 2, 0, 0); /* the whole world */
    hole = tseed_findings_get(ground.findings, 14, 1000, 96);
    hole->range = (tseed_range_t){14, 4000, 384, 4003, 387};
    tseed_findings_set_hole(ground.findings, hole, 1);
    /* the hole is the first metatile of block 125 in row 12 of blocks */
    assert_int_equal(end_after(&ground, 14, 0, 1), 12 * row);
    assert_int_equal(end_after(&ground, 14, 0, 2), 12 * row + 125 * 64);
    assert_int_equal(end_after(&ground, 14, 0, MANY), 12 * row + 125 * 64);
    /* behind the hole: a line of 7, seven lines of 8, the other blocks, the other rows */
    assert_int_equal(end_after(&ground, 14, 12 * row + 125 * 64 + 1, 1), 12 * row + 125 * 64 + 8);
    assert_int_equal(end_after(&ground, 14, 12 * row + 125 * 64 + 1, 2), 12 * row + 125 * 64 + 16);
    assert_int_equal(end_after(&ground, 14, 12 * row + 125 * 64 + 1, 8), 12 * row + 126 * 64);
    assert_int_equal(end_after(&ground, 14, 12 * row + 125 * 64 + 1, 9), 13 * row);
    assert_int_equal(end_after(&ground, 14, 12 * row + 125 * 64 + 1, 10), 512 * row);
    close_ground(&ground);
}

static void test_jump__takes_a_part_of_the_world_by_steps(void **state)
{
    const int64_t row = INT64_C(512) * 128; /* metatiles of 4 x 2 tiles */
    ground_t ground;

    (void)state;
    open_ground(&ground, 2, 14, 2);
    plant(ground.findings, &ground.positions, 2, 0, 0); /* the southern half */
    assert_int_equal(end_after(&ground, 14, 0, 1), 256 * row);
    assert_int_equal(end_after(&ground, 14, 256 * row, 1), 256 * row);
    close_ground(&ground);
    open_ground(&ground, 3, 14, 4);
    plant(ground.findings, &ground.positions, 3, 1, 0); /* south east: 256 blocks of each row */
    assert_int_equal(end_after(&ground, 14, 256 * 64, 1), 512 * 64);
    assert_int_equal(end_after(&ground, 14, (512 + 256) * 64, 1), 2 * 512 * 64);
    close_ground(&ground);
}

typedef struct {
    int count, asking, broad;
    int64_t x[64], y[64];
} looks_t;

/* What is looked at in a level, by columns and rows from a metatile on. */
static looks_t looks_at(const ground_t *ground, int z, int64_t left, int64_t bottom, int64_t side)
{
    looks_t looks = {0};

    for (int64_t y = bottom; y < bottom + side; y++) {
        for (int64_t x = left; x < left + side; x++) {
            const int64_t at = tseed_positions_of_metatile(&ground->positions, z, x, y);
            tseed_landing_t landing;

            tseed_jump_from(&landing, &ground->jump, at, 1);
            looks.broad += landing.is_broad;
            looks.asking += landing.asks;
            if (landing.is_look) {
                assert_int_equal(landing.end, at);
                assert_true(looks.count < 64);
                looks.x[looks.count] = x - left;
                looks.y[looks.count++] = y - bottom;
            }
        }
    }
    return looks;
}

/* Level 5 has 8 x 8 metatiles, of which 16 may be looked at: one in each half of each row. */
static void test_jump__looks_lie_in_parts_of_their_own(void **state)
{
    ground_t ground;
    looks_t looks;

    (void)state;
    open_ground(&ground, 2, 6, 4);
    ground.jump.share = 100;
    plant(ground.findings, &ground.positions, 2, 0, 0);
    for (int seed = 1; seed <= 50; seed++) {
        ground.jump.seed = (uint64_t)seed;
        assert_int_equal(looks_at(&ground, 3, 0, 0, 2).count, 4);
        assert_int_equal(looks_at(&ground, 4, 0, 0, 4).count, 16);
        looks = looks_at(&ground, 5, 0, 0, 8);
        assert_int_equal(looks.count, 16);
        for (int i = 0; i < 16; i++) { /* row by row, as they were gone through */
            assert_int_equal(looks.y[i], i / 2);
            assert_int_equal(looks.x[i] / 4, i % 2);
        }
        assert_int_equal(looks.asking + looks.broad, 0);
    }
    close_ground(&ground);
}

/* 5 % of 8 x 8 metatiles are 3.2. */
static void test_jump__looks_are_as_many_as_the_share_says(void **state)
{
    ground_t ground;
    int sum = 0;

    (void)state;
    open_ground(&ground, 2, 5, 4);
    ground.jump.share = 5;
    plant(ground.findings, &ground.positions, 2, 0, 0);
    for (int seed = 1; seed <= 1000; seed++) {
        int count;

        ground.jump.seed = (uint64_t)seed;
        count = looks_at(&ground, 5, 0, 0, 8).count;
        assert_in_range(count, 2, 4); /* where two parts meet, two looks may be one */
        sum += count;
    }
    assert_in_range(sum, 3150, 3250);
    close_ground(&ground);
}

static int same_looks(const looks_t *a, const looks_t *b)
{
    int is_same = a->count == b->count;

    for (int i = 0; is_same && i < a->count; i++) {
        is_same = a->x[i] == b->x[i] && a->y[i] == b->y[i];
    }
    return is_same;
}

/* Findings beside and above each other, and other seeds, have looks at other places: four or so
 * of 64 metatiles. At the next level they go other ways too. */
static void test_jump__looks_differ(void **state)
{
    looks_t one, other, finer;
    ground_t ground;
    int alike = 0;

    (void)state;
    open_ground(&ground, 2, 7, 4);
    ground.jump.share = 7;
    plant(ground.findings, &ground.positions, 4, 0, 0);
    plant(ground.findings, &ground.positions, 4, 1, 0);
    plant(ground.findings, &ground.positions, 4, 0, 1);
    one = looks_at(&ground, 7, 0, 0, 8);
    assert_in_range(one.count, 4, 5);
    other = looks_at(&ground, 7, 8, 0, 8);
    assert_false(same_looks(&one, &other));
    other = looks_at(&ground, 7, 0, 8, 8);
    assert_false(same_looks(&one, &other));
    ground.jump.seed = 2;
    other = looks_at(&ground, 7, 0, 0, 8);
    assert_false(same_looks(&one, &other));
    close_ground(&ground);
    /* one look in each of 16 rows of 16, and in each pair of 32 rows of 32 */
    open_ground(&ground, 2, 7, 4);
    ground.jump.share = 100;
    plant(ground.findings, &ground.positions, 2, 0, 0);
    one = looks_at(&ground, 6, 0, 0, 16);
    finer = looks_at(&ground, 7, 0, 0, 32);
    assert_int_equal(one.count, 16);
    assert_int_equal(finer.count, 16);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(one.y[i], i);
        assert_int_equal(finer.y[i] / 2, i);
        alike += (one.x[i] >= 8) == finer.y[i] % 2;
    }
    assert_in_range(alike, 2, 14); /* all 16 if the draw were the same */
    close_ground(&ground);
}

static void assert_looks(const looks_t *looks, int count, int asking, int broad)
{
    assert_int_equal(looks->count, count);
    assert_int_equal(looks->asking, asking);
    assert_int_equal(looks->broad, broad);
}

/* The first level below a finding that has an eighth of a level. */
static void test_jump__asks_about_broad_findings(void **state)
{
    ground_t ground;
    looks_t looks;

    (void)state;
    open_ground(&ground, 2, 6, 4);
    ground.jump.asks = 1;
    plant(ground.findings, &ground.positions, 2, 0, 0);
    looks = looks_at(&ground, 3, 0, 0, 2);
    assert_looks(&looks, 4, 4, 4);
    looks = looks_at(&ground, 4, 0, 0, 4);
    assert_looks(&looks, 0, 0, 16);
    ground.jump.asks = 0;
    looks = looks_at(&ground, 3, 0, 0, 2);
    assert_looks(&looks, 0, 0, 0);
    close_ground(&ground);
    open_ground(&ground, 3, 6, 4); /* a sixteenth */
    ground.jump.asks = 1;
    plant(ground.findings, &ground.positions, 4, 2, 2);
    looks = looks_at(&ground, 5, 4, 4, 2);
    assert_looks(&looks, 0, 0, 0);
    close_ground(&ground);
    open_ground(&ground, 3, 6, 2); /* an eighth: level 3 has 2 x 4 metatiles */
    ground.jump.asks = 1;
    plant(ground.findings, &ground.positions, 3, 1, 2);
    looks = looks_at(&ground, 4, 2, 4, 2);
    assert_looks(&looks, 4, 4, 4);
    close_ground(&ground);
}

/* The task begins at level 5: that is the first one below, with 16 looks of 64. */
static void test_jump__asks_where_the_task_begins(void **state)
{
    const tseed_gridset_t *mercator = tseed_gridset_builtin("EPSG:3857");
    tseed_positions_t above;
    ground_t ground;
    looks_t looks;

    (void)state;
    open_ground(&ground, 5, 6, 4);
    ground.jump.asks = 1;
    tseed_positions_init(&above, mercator, &mercator->extent, &(tseed_shape_t){2, 6, 4, 4});
    plant(ground.findings, &above, 2, 0, 0);
    looks = looks_at(&ground, 5, 0, 0, 8);
    assert_looks(&looks, 16, 16, 64);
    looks = looks_at(&ground, 6, 0, 0, 16);
    assert_looks(&looks, 0, 0, 256);
    close_ground(&ground);
}

static void test_findings__survive_being_many_and_being_dropped(void **state)
{
    tseed_findings_t *findings = tseed_findings_create(4, 4, DEPTH);

    (void)state;
    for (int64_t i = 0; i < 5000; i++) {
        tseed_findings_get(findings, 9, i % 71, i / 71)->task = i + 1;
    }
    for (int64_t i = 0; i < 5000; i += 2) {
        tseed_findings_drop(findings, tseed_findings_find(findings, 9, i % 71, i / 71));
    }
    assert_int_equal(tseed_findings_count(findings), 2500);
    for (int64_t i = 0; i < 5000; i++) {
        const tseed_finding_t *found = tseed_findings_find(findings, 9, i % 71, i / 71);

        assert_int_equal(found ? found->task : 0, i % 2 ? i + 1 : 0);
    }
    tseed_findings_destroy(findings);
}

static void count(void *baton, tseed_finding_t *below)
{
    assert_false(below->is_gone);
    ++*(int *)baton;
}

static int expected_below(const tseed_findings_t *findings, const tseed_finding_t *finding)
{
    const tseed_finding_t *at = NULL;
    int expected = 0;

    while ((at = tseed_findings_next(findings, at)) != NULL) {
        expected += !at->is_gone && at->range.z > finding->range.z && touches(finding, &at->range);
    }
    return expected;
}

static void test_findings__visit_all_below_that_have_common_ground(void **state)
{
    (void)state;
    for (int seed = 1; seed <= 100; seed++) {
        const tseed_finding_t *finding = NULL;
        world_t made;

        make(&made, seed, LEVELS);
        while ((finding = tseed_findings_next(made.findings, finding)) != NULL) {
            int found = 0;

            tseed_findings_each_below(made.findings, &made.set, finding, count, &found);
            assert_int_equal(found, expected_below(made.findings, finding));
        }
        tseed_findings_destroy(made.findings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jump__passes_what_lies_below_findings_and_no_more),
        cmocka_unit_test(test_jump__passes_whole_blocks_and_no_more),
        cmocka_unit_test(test_jump__takes_rows_of_blocks_blocks_and_lines_in_a_step),
        cmocka_unit_test(test_jump__takes_a_part_of_the_world_by_steps),
        cmocka_unit_test(test_jump__looks_lie_in_parts_of_their_own),
        cmocka_unit_test(test_jump__looks_are_as_many_as_the_share_says),
        cmocka_unit_test(test_jump__looks_differ),
        cmocka_unit_test(test_jump__asks_about_broad_findings),
        cmocka_unit_test(test_jump__asks_where_the_task_begins),
        cmocka_unit_test(test_jump__looks_at_a_share),
        cmocka_unit_test(test_jump__looks_at_the_same_metatiles_each_time),
        cmocka_unit_test(test_jump__a_sea_of_10_to_the_12_takes_a_few_steps),
        cmocka_unit_test(test_jump__a_quarter_of_the_world_is_counted_exactly),
        cmocka_unit_test(test_findings__survive_being_many_and_being_dropped),
        cmocka_unit_test(test_findings__visit_all_below_that_have_common_ground),
    };

    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
