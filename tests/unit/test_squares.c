/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Squares of pages: their sums against a model that adds up every page, and how old pages are. */
#include <string.h>

#include "book_fixture.h"
#include "quota/tseed_squares.h"

#define NOW  INT64_C(1790000000)
#define SIDE 64 /* pages of a level of the model */
#define SETS 2
#define Z    11 /* SIDE * 32 tiles are all of level 11 */

static tseed_book_tileset_t *sets[SETS];
static unsigned seed;

static tseed_book_tileset_t *enter(int64_t id)
{
    const tseed_tileset_record_t record = {.id = id,
                                           .print = (uint64_t)id * 1000003,
                                           .key = "a/b/png/default",
                                           .layer = "a",
                                           .gridset = "b",
                                           .format = "image/png",
                                           .parameters = "{}",
                                           .root = "/cache",
                                           .place = "",
                                           .complete = 1};

    return tseed_book_add(book, &record, &chain, 0);
}

static int setup(void **state)
{
    (void)state;
    book_begin();
    seed = 5;
    for (int i = 0; i < SETS; i++) {
        sets[i] = enter(i + 1);
    }
    return 0;
}

static int64_t any(int64_t below)
{
    return rand_r(&seed) % below;
}

static void apply(tseed_book_tileset_t *booked, const tseed_page_t *page, int64_t tiles,
                  const tseed_writer_t *writer)
{
    const tseed_effect_t what = {tiles, tiles, tiles * 700, tiles * 4096};

    if (tiles > 0) {
        assert_null(tseed_account_charge(&chain, (tseed_amount_t){what.allocated, what.files}));
    }
    assert_int_equal(tseed_book_apply(book, booked, page, &what, writer), APR_SUCCESS);
    if (tiles < 0) {
        tseed_account_release(&chain, (tseed_amount_t){-what.allocated, -what.files});
    }
}

/* ---- against a model ---- */

typedef struct {
    int64_t tiles, written;
} model_t;

/* Levels Z and Z + 1; of the latter the model has a part. */
static model_t model[SETS][2][SIDE][SIDE];

static model_t *model_of(int set, const tseed_page_t *page)
{
    return &model[set][page->z - Z][page->x % SIDE][page->y % SIDE];
}

/* Where the part of level Z + 1 begins: its squares are not aligned to a large power of two. */
static const int64_t parts[2][2] = {{0, 0}, {SIDE * 5, SIDE * 7}};

/* Most changes are near each other, as those of a seed are. */
static tseed_page_t any_page(void)
{
    const int part = (int)any(2);
    const int64_t reach = any(3) ? 7 : SIDE;

    return (tseed_page_t){Z + part, parts[part][0] + any(reach), parts[part][1] + any(reach)};
}

static void write_some(int set, const tseed_page_t *page, int64_t now)
{
    model_t *one = model_of(set, page);
    const int64_t tiles = 1 + any(5);

    if (one->tiles + tiles <= TSEED_PAGE_TILES) {
        apply(sets[set], page, tiles, &(tseed_writer_t){any(3) + 1, now});
        one->written = one->tiles ? one->written : now;
        one->tiles += tiles;
    }
}

static void remove_some(int set, const tseed_page_t *page)
{
    model_t *one = model_of(set, page);
    const int64_t tiles = any(2) ? one->tiles : any(one->tiles + 1);

    apply(sets[set], page, -tiles, NULL);
    one->tiles -= tiles;
    one->written = one->tiles ? one->written : 0;
}

static void count(int set, const tseed_page_t *page, int64_t now)
{
    model_t *one = model_of(set, page);
    const int64_t tiles = any(4) ? any(TSEED_PAGE_TILES + 1) : 0;
    const tseed_effect_t counted = {tiles, tiles, tiles * 700, tiles * 4096};
    tseed_effect_t difference;

    one->written = tiles ? now - any(1000) * any(2) : 0;
    one->written = tiles && any(10) == 0 ? 0 : one->written;
    tseed_book_count(&difference, book, sets[set], page, &counted, one->written);
    assert_int_equal(difference.names, tiles - one->tiles);
    one->tiles = tiles;
}

static void renew(int set, const tseed_page_t *page, int64_t now)
{
    model_t *one = model_of(set, page);

    tseed_book_renew(book, sets[set], page, 4 + any(1000000), one->tiles, now);
    one->written = one->tiles ? now : 0;
}

static void detach(int set)
{
    const int part = (int)any(2);
    tseed_effect_t moved;

    tseed_book_detach(&moved, book, sets[set], Z + part);
    tseed_book_purge(book, sets[set], NULL);
    memset(model[set][part], 0, sizeof(model[set][part]));
}

static void step(int64_t now)
{
    const int set = (int)any(SETS);
    const tseed_page_t page = any_page();

    switch (any(12)) {
    case 0:
    case 1:
        remove_some(set, &page);
        break;
    case 2:
        count(set, &page, now);
        break;
    case 3:
        renew(set, &page, now);
        break;
    case 4:
        tseed_book_hit(book, tseed_page_print(sets[set]->record.print, page.z, page.x, page.y),
                       1 + any(100), now);
        break;
    case 5:
        tseed_book_saved(book, TSEED_SAVE_ALL); /* empty pages go */
        break;
    default:
        write_some(set, &page, now);
    }
    if (any(2000) == 0) {
        detach(set);
    }
}

/* What the model has in a cell. */
static tseed_cell_t sum_of(int set, const tseed_window_t *window, int column, int row)
{
    const int part = window->level.z - Z;
    tseed_cell_t sum = {0};

    for (int64_t x = 0; x < SIDE; x++) {
        for (int64_t y = 0; y < SIDE; y++) {
            const tseed_page_t page = {Z + part, parts[part][0] + x, parts[part][1] + y};
            const model_t *one = model_of(set, &page);
            tseed_book_page_t found;

            if (page.x >> window->shift != window->x + column ||
                page.y >> window->shift != window->y + row || one->tiles == 0) {
                continue;
            }
            assert_true(tseed_book_page(&found, book, sets[set], &page));
            if (sum.tiles == 0 || one->written < sum.oldest) {
                sum.oldest = (uint32_t)one->written;
            }
            sum.heat = found.heat > sum.heat ? found.heat : sum.heat;
            sum.tiles += one->tiles;
            sum.bytes += one->tiles * 4096;
        }
    }
    return sum;
}

/* A window of any place and size, looked at in portions of any height. */
static void compare(int set)
{
    const tseed_page_t first = any_page();
    const tseed_range_t level = {first.z, 0, 0, (1 << 20) - 1, (1 << 20) - 1};
    const tseed_range_t wanted = {first.z, first.x * 32, first.y * 32,
                                  (first.x + any(SIDE)) * 32 + 31, (first.y + any(SIDE)) * 32 + 31};
    const tseed_window_t window = tseed_window_of(&level, &wanted, 1 + (int)any(12));
    tseed_cell_t cells[12 * 12];
    int rows;

    for (int row = 0; row < window.rows; row += rows) {
        rows = 1 + (int)any(window.rows - row);
        tseed_book_cells(&cells[row * window.columns], book, sets[set], &window, row, rows);
    }
    for (int row = 0; row < window.rows; row++) {
        for (int column = 0; column < window.columns; column++) {
            const tseed_cell_t *is = &cells[row * window.columns + column];
            const tseed_cell_t should = sum_of(set, &window, column, row);

            assert_int_equal(is->tiles, should.tiles);
            assert_int_equal(is->bytes, should.bytes);
            assert_int_equal(is->heat, should.heat);
            assert_int_equal(is->oldest, should.oldest);
        }
    }
}

static void test_squares__sums_are_those_of_all_pages(void **state)
{
    (void)state;
    memset(model, 0, sizeof(model));
    for (int i = 0; i < 40000; i++) {
        step(NOW + i);
        if (i % 200 == 0) {
            compare((int)any(SETS));
        }
        if (i % 2000 == 0) {
            assert_null(tseed_book_validate(book, pool));
        }
    }
}

/* A new book of the rows that the old one has saved. */
static void test_squares__are_there_again_after_a_restart(void **state)
{
    tseed_book_t *old = book;
    tseed_page_record_t record;
    size_t cursor = 0;
    int gone;

    (void)state;
    memset(model, 0, sizeof(model));
    for (int i = 0; i < 5000; i++) {
        step(NOW + i);
    }
    tseed_book_saved(old, TSEED_SAVE_ALL);
    tseed_book_resave(old);
    book = tseed_book_create(pool);
    for (int i = 0; i < SETS; i++) {
        sets[i] = enter(i + 1);
    }
    while (tseed_book_change(old, &record, &gone, TSEED_SAVE_ALL, &cursor)) {
        if (!gone) {
            tseed_book_load(book, sets[record.tileset - 1], &record);
        }
    }
    assert_true(tseed_book_pages(book) > 100);
    for (int i = 0; i < 100; i++) {
        compare((int)any(SETS));
    }
}

/* Rows that no seeder can have written. */
static void test_squares__leave_out_what_cannot_be(void **state)
{
    const tseed_window_t window = {.columns = 1, .rows = 1, .shift = 58, .level = {.z = 5}};
    tseed_page_record_t record = {.tileset = 1, .page = {5, -1, 0}, .usage = {1, 1, 1, 1}};
    tseed_cell_t cell;

    (void)state;
    tseed_book_load(book, sets[0], &record);
    record.page = (tseed_page_t){5, 0, INT64_MIN};
    tseed_book_load(book, sets[0], &record);
    record.page = (tseed_page_t){64, 0, 0};
    tseed_book_load(book, sets[0], &record);
    tseed_book_cells(&cell, book, sets[0], &window, 0, 1);
    assert_int_equal(cell.tiles, 0);
    assert_int_equal(tseed_book_pages(book), 0);
    record.page = (tseed_page_t){5, INT64_MAX >> 5, 1};
    tseed_book_load(book, sets[0], &record);
    record.page = (tseed_page_t){5, 1, INT64_MAX >> 5};
    tseed_book_load(book, sets[0], &record);
    tseed_book_cells(&cell, book, sets[0], &window, 0, 1);
    assert_int_equal(cell.tiles, 2);
}

/* ---- what they cost ---- */

static uint64_t no_print(const void *baton, const tseed_page_entry_t *entry)
{
    (void)baton;
    return (uint64_t)entry->x * 1000003 + (uint64_t)entry->y;
}

static void add_page(tseed_page_table_t *table, tseed_squares_t *squares, uint32_t *root, int64_t x,
                     int64_t y)
{
    const tseed_cell_t nothing = {0};
    tseed_page_entry_t entry = {.x = x, .y = y};
    const tseed_page_key_t key = {no_print(NULL, &entry), 0, {5, x, y}};
    const uint32_t number = tseed_page_table_add(table, &key);

    tseed_page_table_get(table, number)->names = 1;
    tseed_squares_change(squares, root, number, &nothing);
}

static void test_squares__a_lone_page_needs_none(void **state)
{
    tseed_page_table_t table;
    tseed_squares_t squares;
    uint32_t roots[2] = {0, 0};

    (void)state;
    tseed_page_table_init(&table, no_print, NULL);
    tseed_squares_init(&squares, &table);
    add_page(&table, &squares, &roots[0], 12345, 67890);
    assert_int_equal(squares.slab_count, 0);
    for (int64_t at = 0; at < 64 * 64; at++) {
        add_page(&table, &squares, &roots[1], at % 64, at / 64);
    }
    assert_int_equal(squares.count, 1024 + 256 + 64 + 16 + 4 + 1);
    for (uint32_t number = 1; number <= 64 * 64; number++) { /* the lone page has number 0 */
        tseed_page_entry_t *entry = tseed_page_table_get(&table, number);
        const tseed_cell_t before = tseed_squares_cell(entry);

        entry->names = 0;
        tseed_squares_change(&squares, &roots[1], number, &before);
    }
    assert_int_equal(squares.count, 0);
    assert_int_equal(roots[1], 0);
    tseed_squares_destroy(&squares);
    tseed_page_table_destroy(&table);
}

/* A sum that was changed by mistake, and a page in a wrong place, are found. */
static void test_squares__the_validator_finds_what_is_wrong(void **state)
{
    tseed_page_table_t table;
    tseed_squares_t squares;
    uint32_t root = 0;
    int64_t pages = 0, tiles = 0;

    (void)state;
    tseed_page_table_init(&table, no_print, NULL);
    tseed_squares_init(&squares, &table);
    add_page(&table, &squares, &root, 1, 1);
    add_page(&table, &squares, &root, 6, 1);
    assert_true(tseed_squares_validate(&pages, &tiles, &squares, root));
    assert_true(pages == 2 && tiles == 2);
    squares.slabs[0][root - 1].sum.bytes++;
    assert_false(tseed_squares_validate(&pages, &tiles, &squares, root));
    squares.slabs[0][root - 1].sum.bytes--;
    tseed_page_table_get(&table, 1)->x = 2;
    assert_false(tseed_squares_validate(&pages, &tiles, &squares, root));
    tseed_squares_destroy(&squares);
    tseed_page_table_destroy(&table);
}

/* ---- how old pages are ---- */

static const tseed_page_t here = {Z, 3, 4};

static int64_t written(void)
{
    tseed_book_page_t found;

    assert_true(tseed_book_page(&found, book, sets[0], &here));
    return found.written;
}

static void write_here(int64_t tiles, int64_t now)
{
    apply(sets[0], &here, tiles, &(tseed_writer_t){7, now});
}

static void test_squares__a_page_is_as_old_as_its_oldest_tile(void **state)
{
    (void)state;
    write_here(4, NOW);
    write_here(4, NOW + 100);
    assert_int_equal(written(), NOW);
    apply(sets[0], &here, -4, NULL);
    write_here(0, NOW + 200); /* made again: nobody knows which */
    assert_int_equal(written(), NOW);
    apply(sets[0], &here, -4, NULL);
    assert_int_equal(written(), 0);
    write_here(1, NOW + 300);
    assert_int_equal(written(), NOW + 300);
}

static void test_squares__a_reseed_of_all_tiles_makes_a_page_young(void **state)
{
    (void)state;
    write_here(8, NOW);
    tseed_book_renew(book, sets[0], &here, 9, 4, NOW + 500);
    assert_int_equal(written(), NOW);
    tseed_book_renew(book, sets[0], &here, 9, 4, NOW + 500);
    assert_int_equal(written(), NOW + 500);
    tseed_book_renew(book, sets[0], &here, 10, 8, NOW + 400); /* began earlier: no younger */
    assert_int_equal(written(), NOW + 500);
}

static void test_squares__half_a_reseed_makes_nothing_young(void **state)
{
    (void)state;
    write_here(8, NOW);
    tseed_book_renew(book, sets[0], &here, 9, 4, NOW + 500);
    tseed_book_renew(book, sets[0], &here, 10, 4, NOW + 600); /* perhaps the same four */
    assert_int_equal(written(), NOW);
    tseed_book_renew(book, sets[0], &here, 9, 4, NOW + 700);
    assert_int_equal(written(), NOW);
    tseed_book_renew(book, sets[0], &here, 9, 4, NOW + 700);
    assert_int_equal(written(), NOW + 700);
}

/* Of 8 tiles 4 were made again, and 4 are removed: nobody knows which ones are left. */
static void test_squares__what_was_removed_is_not_young(void **state)
{
    (void)state;
    write_here(8, NOW);
    tseed_book_renew(book, sets[0], &here, 9, 4, NOW + 500);
    apply(sets[0], &here, -4, NULL);
    tseed_book_renew(book, sets[0], &here, 9, 0, NOW + 500);
    assert_int_equal(written(), NOW);
}

static void test_squares__a_count_knows_the_dates_of_the_files(void **state)
{
    const tseed_effect_t counted = {2, 2, 1400, 8192};
    tseed_effect_t difference;

    (void)state;
    write_here(8, NOW);
    tseed_book_renew(book, sets[0], &here, 9, 6, NOW + 500);
    tseed_book_count(&difference, book, sets[0], &here, &counted, NOW - 5000);
    assert_int_equal(written(), NOW - 5000);
    tseed_book_renew(book, sets[0], &here, 9, 1, NOW + 500); /* six of them are not among the two */
    assert_int_equal(written(), NOW - 5000);
    tseed_book_count(&difference, book, sets[0], &here, &counted, 0);
    assert_int_equal(written(), 0);
    write_here(1, NOW + 900);
    assert_int_equal(written(), 0); /* what is unknown stays unknown */
    tseed_book_renew(book, sets[0], &here, 11, 3, NOW + 950);
    assert_int_equal(written(), NOW + 950);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_squares__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(sums_are_those_of_all_pages),
        TEST(are_there_again_after_a_restart),
        TEST(leave_out_what_cannot_be),
        TEST(a_lone_page_needs_none),
        TEST(the_validator_finds_what_is_wrong),
        TEST(a_page_is_as_old_as_its_oldest_tile),
        TEST(a_reseed_of_all_tiles_makes_a_page_young),
        TEST(half_a_reseed_makes_nothing_young),
        TEST(what_was_removed_is_not_young),
        TEST(a_count_knows_the_dates_of_the_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
