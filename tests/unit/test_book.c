/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The book: pages come and go with their tiles, marks come before changes, victims in order. */
#include "book_fixture.h"

#include <string.h>

#define NOW INT64_C(1790000000)

static tseed_book_tileset_t *booked;

static const tseed_page_t here = {5, 7, 9};
static const tseed_writer_t writer = {12, NOW};

static tseed_book_tileset_t *enter(int64_t id, const tseed_chain_t *accounts, int complete)
{
    const tseed_tileset_record_t record = {.id = id,
                                           .print = (uint64_t)id * 1000003,
                                           .key = "topp:states/EPSG:4326/png/default",
                                           .layer = "topp:states",
                                           .gridset = "EPSG:4326",
                                           .format = "image/png",
                                           .parameters = "{}",
                                           .root = "/cache",
                                           .place = "",
                                           .shared = {0, 1, 70, 4096},
                                           .complete = complete};

    return tseed_book_add(book, &record, accounts, UINT64_C(1) << 3);
}

static int setup(void **state)
{
    (void)state;
    book_begin();
    booked = enter(1, &chain, 1);
    return 0;
}

static tseed_effect_t effect(int64_t names, int64_t files, int64_t bytes, int64_t allocated)
{
    return (tseed_effect_t){names, files, bytes, allocated};
}

static void assert_effect(const tseed_effect_t *is, int64_t names, int64_t files, int64_t bytes,
                          int64_t allocated)
{
    assert_int_equal(is->names, names);
    assert_int_equal(is->files, files);
    assert_int_equal(is->bytes, bytes);
    assert_int_equal(is->allocated, allocated);
}

/* As a worker does: charges, then what it did is booked. */
static apr_status_t change(const tseed_page_t *page, tseed_effect_t what, const tseed_writer_t *who)
{
    assert_null(tseed_account_charge(&booked->chain, (tseed_amount_t){what.allocated, what.files}));
    return tseed_book_apply(book, booked, page, &what, who);
}

static void write_at(const tseed_page_t *page, const tseed_writer_t *who)
{
    assert_int_equal(change(page, effect(4, 4, 400, 16384), who), APR_SUCCESS);
}

static void assert_charged(int64_t bytes, int64_t files)
{
    const tseed_amount_t used = tseed_account_used(chain.global);

    assert_int_equal(used.bytes, bytes + 4096);
    assert_int_equal(used.files, files + 1);
}

static tseed_book_page_t page_at(const tseed_page_t *page)
{
    tseed_book_page_t found;

    assert_true(tseed_book_page(&found, book, booked, page));
    return found;
}

/* The saved page of a place, or 0. */
static int saved_page(tseed_page_record_t *record, int *gone, tseed_save_t save,
                      const tseed_page_t *page)
{
    size_t cursor = 0;

    while (tseed_book_change(book, record, gone, save, &cursor)) {
        if (record->page.z == page->z && record->page.x == page->x && record->page.y == page->y) {
            return 1;
        }
    }
    return 0;
}

static void save(void)
{
    tseed_book_saved(book, TSEED_SAVE_ALL);
    assert_int_equal(tseed_book_changes(book, TSEED_SAVE_ALL), 0);
}

/* ---- pages ---- */

static void test_book__a_page_comes_and_goes_with_its_tiles(void **state)
{
    tseed_book_page_t found;
    tseed_page_record_t record;
    int gone;

    (void)state;
    assert_false(tseed_book_page(&found, book, booked, &here));
    write_at(&here, &writer);
    found = page_at(&here);
    assert_effect(&found.usage, 4, 4, 400, 16384);
    assert_int_equal(found.accessed, NOW);
    assert_effect(&booked->record.paged, 4, 4, 400, 16384);
    assert_int_equal(booked->record.pages, 1);
    save();
    assert_int_equal(change(&here, effect(-4, -4, -400, -16384), NULL), APR_SUCCESS);
    assert_true(saved_page(&record, &gone, TSEED_SAVE_ALL, &here));
    assert_true(gone);
    save();
    assert_false(tseed_book_page(&found, book, booked, &here));
    assert_int_equal(booked->record.pages, 0);
    assert_charged(0, 0);
}

static void test_book__less_than_nothing_is_not_booked(void **state)
{
    tseed_effect_t difference, counted = effect(3, 3, 300, 12288);

    (void)state;
    write_at(&here, &writer);
    assert_int_equal(change(&here, effect(-1, -1, -500, -4096), NULL), APR_EINVAL);
    assert_true(page_at(&here).in_doubt);
    assert_int_equal(booked->in_doubt, 1);
    assert_effect(&booked->record.paged, 4, 4, 400, 16384);
    assert_charged(16384, 4);
    assert_int_equal(change(&here, effect(1, 1, 5, 4096), &writer), APR_SUCCESS);
    assert_effect(&booked->record.paged, 4, 4, 400, 16384);
    tseed_book_count(&difference, book, booked, &here, &counted, 0);
    assert_effect(&difference, -1, -1, -100, -4096);
    assert_false(page_at(&here).in_doubt);
    assert_int_equal(booked->in_doubt, 0);
    assert_charged(12288, 3);
}

static void test_book__more_than_a_page_has_places_for_is_not_booked(void **state)
{
    (void)state;
    assert_int_equal(change(&here, effect(1024, 1000, 1, 4096), &writer), APR_SUCCESS);
    assert_int_equal(change(&here, effect(1, 0, 0, 0), &writer), APR_EINVAL);
    assert_int_equal(change(&(tseed_page_t){6, 1, 1}, effect(1, 2, 0, 0), &writer), APR_EINVAL);
}

static void test_book__what_is_loaded_is_charged(void **state)
{
    tseed_page_record_t record = {.tileset = 1,
                                  .page = here,
                                  .usage = effect(9, 8, 7000, 32768),
                                  .accessed = NOW - 5,
                                  .heat = tseed_heat_add(0, 3, NOW - 5)};

    (void)state;
    tseed_account_limit_set(chain.layer, (tseed_amount_t){1, 1});
    tseed_book_load(book, booked, &record);
    assert_charged(32768, 8);
    assert_int_equal(page_at(&here).accessed, NOW - 5);
    assert_int_equal(page_at(&here).heat, record.heat);
    assert_int_equal(tseed_book_changes(book, TSEED_SAVE_ALL), 0);
    record.page.x++;
    record.dirty = 1;
    tseed_book_load(book, booked, &record);
    assert_true(page_at(&record.page).in_doubt);
    assert_int_equal(tseed_book_ask(book, booked, &record.page), TSEED_PAGE_IN_DOUBT);
}

static void test_book__a_row_that_cant_be_right_does_no_harm(void **state)
{
    tseed_page_record_t record = {.tileset = 1, .page = here, .usage = effect(5, 6, 10, 4096)};
    tseed_book_page_t found;

    (void)state;
    tseed_book_load(book, booked, &record);
    found = page_at(&here);
    assert_effect(&found.usage, 0, 0, 0, 0);
    assert_true(found.in_doubt);
    record.page.z = 64;
    tseed_book_load(book, booked, &record);
    record.page.z = -1;
    tseed_book_load(book, booked, &record);
    assert_int_equal(booked->in_doubt, 1);
    assert_charged(0, 0);
}

static void test_book__hits_find_their_page(void **state)
{
    uint64_t print = tseed_page_print(booked->record.print, here.z, here.x, here.y);

    (void)state;
    assert_false(tseed_book_hit(book, print, 1, NOW));
    write_at(&here, &writer);
    save();
    assert_true(tseed_book_hit(book, print, 41, NOW + 60));
    assert_int_equal(page_at(&here).accessed, NOW + 60);
    assert_in_range((int64_t)(tseed_heat_uses(page_at(&here).heat, NOW + 60) * 100), 4198, 4201);
    assert_int_equal(tseed_book_changes(book, TSEED_SAVE_ALL), 1);
}

static void test_book__a_write_is_worth_one_read(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        write_at(&here, &writer);
    }
    assert_int_equal(page_at(&here).heat, tseed_heat_add(0, 1, NOW));
}

/* ---- marks ---- */

static void test_book__a_mark_is_committed_before_the_page_may_change(void **state)
{
    tseed_page_record_t record;
    int gone;

    (void)state;
    assert_int_equal(tseed_book_hold(book, booked, &here), TSEED_PAGE_UNMARKED);
    assert_int_equal(tseed_book_ask(book, booked, &here), TSEED_PAGE_UNMARKED);
    assert_int_equal(tseed_book_changes(book, TSEED_SAVE_MARKS), 1);
    assert_true(saved_page(&record, &gone, TSEED_SAVE_MARKS, &here));
    assert_true(record.dirty);
    assert_false(gone);
    tseed_book_saved(book, TSEED_SAVE_MARKS);
    assert_int_equal(tseed_book_ask(book, booked, &here), 0);
    assert_int_equal(tseed_book_changes(book, TSEED_SAVE_MARKS), 0);
    assert_int_equal(tseed_book_hold(book, booked, &here), 0);
}

static void test_book__a_mark_outlasts_its_holds_by_a_sweep(void **state)
{
    tseed_page_record_t record;
    int gone;

    (void)state;
    tseed_book_hold(book, booked, &here);
    save();
    write_at(&here, &writer);
    tseed_book_sweep(book);
    tseed_book_drop(book, booked, &here);
    tseed_book_sweep(book);
    assert_true(saved_page(&record, &gone, TSEED_SAVE_ALL, &here));
    assert_true(record.dirty);
    save();
    assert_int_equal(tseed_book_ask(book, booked, &here), 0);
    tseed_book_sweep(book);
    assert_true(saved_page(&record, &gone, TSEED_SAVE_ALL, &here));
    assert_false(record.dirty);
    save();
    assert_int_equal(tseed_book_ask(book, booked, &here), TSEED_PAGE_UNMARKED);
}

/* What was done there may not be on the disk. */
static void test_book__a_mark_stays_while_it_is_unsafe(void **state)
{
    const tseed_effect_t none = {0};
    tseed_page_record_t record;
    int gone;

    (void)state;
    booked->keeps_empty = booked->is_unsafe = 1;
    tseed_book_hold(book, booked, &here);
    save();
    assert_int_equal(tseed_book_apply(book, booked, &here, &none, NULL), APR_SUCCESS);
    tseed_book_drop(book, booked, &here);
    for (int i = 0; i < 3; i++) {
        assert_true(tseed_book_sweep(book));
        save();
        assert_int_equal(tseed_book_ask(book, booked, &here), 0);
    }
    booked->is_unsafe = 0;
    assert_true(tseed_book_sweep(book));
    assert_true(tseed_book_sweep(book));
    assert_true(saved_page(&record, &gone, TSEED_SAVE_ALL, &here));
    assert_true(gone);
    assert_false(tseed_book_sweep(book));
}

static void test_book__an_empty_page_goes_when_it_is_dropped(void **state)
{
    tseed_book_page_t found;
    tseed_page_record_t record;
    int gone;

    (void)state;
    tseed_book_hold(book, booked, &here);
    save();
    tseed_book_drop(book, booked, &here);
    assert_true(saved_page(&record, &gone, TSEED_SAVE_ALL, &here));
    assert_true(gone);
    save();
    assert_false(tseed_book_page(&found, book, booked, &here));
}

static void test_book__marks_are_saved_alone(void **state)
{
    static const tseed_page_t there = {5, 8, 9};
    tseed_page_record_t record;
    int gone;

    (void)state;
    write_at(&there, &writer);
    tseed_book_hold(book, booked, &here);
    assert_false(saved_page(&record, &gone, TSEED_SAVE_MARKS, &there));
    tseed_book_saved(book, TSEED_SAVE_MARKS);
    assert_int_equal(tseed_book_ask(book, booked, &here), 0);
    assert_int_equal(tseed_book_changes(book, TSEED_SAVE_ALL), 1);
    assert_true(saved_page(&record, &gone, TSEED_SAVE_ALL, &there));
}

static void test_book__a_lost_database_is_told_everything_again(void **state)
{
    tseed_page_record_t record;
    int gone;

    (void)state;
    write_at(&(tseed_page_t){5, 8, 9}, &writer);
    tseed_book_hold(book, booked, &here);
    save();
    tseed_book_resave(book);
    assert_int_equal(tseed_book_ask(book, booked, &here), TSEED_PAGE_UNMARKED);
    assert_true(saved_page(&record, &gone, TSEED_SAVE_MARKS, &here));
    assert_int_equal(tseed_book_changes(book, TSEED_SAVE_ALL), 2);
    assert_true(booked->changed);
}

static void test_book__unknown_pages_of_an_incomplete_tile_set_are_counted_first(void **state)
{
    const tseed_effect_t counted = effect(2, 2, 20, 8192);
    tseed_effect_t difference;

    (void)state;
    booked = enter(2, &chain, 0);
    assert_int_equal(tseed_book_hold(book, booked, &here),
                     TSEED_PAGE_UNMARKED | TSEED_PAGE_IN_DOUBT);
    save();
    assert_int_equal(tseed_book_ask(book, booked, &here), TSEED_PAGE_IN_DOUBT);
    tseed_book_count(&difference, book, booked, &here, &counted, 0);
    assert_int_equal(tseed_book_ask(book, booked, &here), 0);
    assert_int_equal(booked->record.pages, 1);
    assert_int_equal(tseed_account_used(chain.global).bytes, 2 * 4096 + 8192);
}

/* ---- tile sets ---- */

static int looks(size_t at_most, size_t *cursor, int *count)
{
    tseed_book_page_t found;

    *count = 0;
    while (tseed_book_next_in_doubt(&found, book, cursor, &at_most)) {
        assert_true(found.in_doubt);
        (*count)++;
    }
    return (int)at_most;
}

/* A search for what is in doubt may be broken off anywhere. */
static void test_book__pages_in_doubt_are_found_in_portions(void **state)
{
    tseed_book_tileset_t *other = enter(2, &chain, 1);
    size_t cursor = 0;
    int found;

    (void)state;
    tseed_book_expect(book, 5000);
    for (int i = 0; i < 5000; i++) {
        const tseed_page_record_t record = {
            .page = {9, i, 0}, .usage = {1, 1, 70, 4096}, .dirty = i % 2};

        tseed_book_load(book, i < 2500 ? booked : other, &record);
    }
    assert_int_equal(looks(4000, &cursor, &found), 0);
    assert_int_equal(found, 2000);
    assert_int_equal(looks(4000, &cursor, &found), 3000);
    assert_int_equal(found, 500);
    tseed_book_doubt_all(book, NULL);
    assert_int_equal(booked->in_doubt, 2500);
    assert_int_equal(other->in_doubt, 2500);
    assert_int_equal(tseed_book_in_doubt(book), 5000);
    cursor = 0;
    looks(6000, &cursor, &found);
    assert_int_equal(found, 5000);
}

/* A row of the database may say any number of pages. */
static void test_book__what_is_expected_need_not_come(void **state)
{
    (void)state;
    tseed_book_expect(book, -1);
    tseed_book_expect(book, 0);
    tseed_book_expect(book, INT64_MAX);
    write_at(&here, &writer);
    assert_int_equal(page_at(&here).usage.names, 4);
}

static void test_book__shared_files_are_charged_to_the_tile_set(void **state)
{
    const tseed_effect_t one = effect(0, 1, 70, 4096), two = effect(0, -3, -210, -12288);
    const tseed_effect_t none = effect(0, 0, 0, 0);
    tseed_effect_t difference;

    (void)state;
    assert_charged(0, 0);
    booked->changed = 0;
    tseed_account_charge(&chain, (tseed_amount_t){4096, 1});
    assert_int_equal(tseed_book_share(book, booked, &one), APR_SUCCESS);
    assert_effect(&booked->record.shared, 0, 2, 140, 8192);
    assert_true(booked->changed);
    tseed_account_release(&chain, (tseed_amount_t){12288, 3});
    assert_int_equal(tseed_book_share(book, booked, &two), APR_EINVAL);
    assert_charged(4096, 1);
    tseed_book_count_shared(&difference, book, booked, &none);
    assert_effect(&difference, 0, -2, -140, -8192);
    assert_charged(-4096, -1);
}

static void test_book__a_level_renamed_away_stays_charged_until_it_is_gone(void **state)
{
    static const tseed_effect_t some = {1, 1, 100, 4096};
    tseed_effect_t moved;

    (void)state;
    write_at(&here, &writer);
    write_at(&(tseed_page_t){5, 1, 1}, &writer);
    write_at(&(tseed_page_t){6, 1, 1}, &writer);
    tseed_book_detach(&moved, book, booked, 5);
    assert_effect(&moved, 8, 8, 800, 32768);
    assert_effect(&booked->record.paged, 4, 4, 400, 16384);
    assert_charged(49152, 12);
    tseed_book_purge(book, booked, &some);
    assert_effect(&booked->record.detached, 7, 7, 700, 28672);
    tseed_book_purge(book, booked, NULL);
    assert_effect(&booked->record.detached, 0, 0, 0, 0);
    assert_charged(16384, 4);
    save();
    assert_int_equal(booked->record.pages, 1);
}

/* What a seeder that died had renamed away: more than its books say, and what is at its places now
 * nobody knows. */
static void test_book__what_was_renamed_away_before_is_taken_over(void **state)
{
    static const tseed_effect_t more = {9, 9, 900, 36864};

    (void)state;
    for (int64_t x = 0; x < 3; x++) {
        write_at(&(tseed_page_t){5, x, 1}, &writer);
    }
    write_at(&(tseed_page_t){6, 1, 1}, &writer);
    tseed_book_inherit(book, booked, 5, &more);
    assert_effect(&booked->record.detached, 9, 9, 900, 36864);
    assert_effect(&booked->record.paged, 4, 4, 400, 16384);
    assert_charged(36864 + 16384, 13);
    assert_int_equal(booked->in_doubt, 3);
    assert_false(page_at(&(tseed_page_t){6, 1, 1}).in_doubt);
}

static void test_book__a_complete_tile_set_was_read(void **state)
{
    (void)state;
    assert_int_equal(tseed_book_incomplete(book), 0);
    booked = enter(2, &chain, 0);
    assert_int_equal(tseed_book_incomplete(book), 1);
    booked->unread = 1;
    booked->changed = 0;
    tseed_book_complete(book, booked);
    assert_true(booked->record.complete && booked->changed && !booked->unread);
    assert_int_equal(tseed_book_incomplete(book), 0);
    tseed_book_complete(book, booked);
    assert_int_equal(tseed_book_incomplete(book), 0);
}

/* A record says what was saved; pages are counted as they come. */
static void test_book__sums_begin_at_zero(void **state)
{
    tseed_tileset_record_t record = booked->record;
    char key[] = "key";

    (void)state;
    record.print++;
    record.pages = 5;
    record.paged = effect(9, 9, 900, 36864);
    record.detached = effect(2, 2, 20, 8192); /* these are charged as they are */
    record.shared = effect(0, 0, 0, 0);
    record.doubtful = 1 << 5;
    record.key = key;
    booked = tseed_book_add(book, &record, &chain, 0);
    key[0] = 'x';
    assert_string_equal(booked->record.key, "key");
    assert_int_equal(booked->marked, 1 << 5);
    assert_charged(8192, 2);
    assert_int_equal(booked->record.pages, 0);
    assert_effect(&booked->record.paged, 0, 0, 0, 0);
}

static void assert_found(int64_t *number)
{
    assert_null(tseed_book_validate(book, pool));
    ++*number;
    assert_non_null(tseed_book_validate(book, pool));
    *number -= 2;
    assert_non_null(tseed_book_validate(book, pool));
    ++*number;
}

/* Each by itself: the others agree. */
static void test_book__the_validator_finds_each_wrong_sum(void **state)
{
    const tseed_effect_t none = {0};

    (void)state;
    write_at(&here, &writer);
    write_at(&(tseed_page_t){6, 0, 0}, &writer);
    change(&here, effect(0, 0, -9999, 0), NULL); /* can't be, so it is in doubt now */
    assert_found(&booked->record.paged.names);
    assert_found(&booked->record.paged.files);
    assert_found(&booked->record.paged.bytes);
    assert_found(&booked->record.paged.allocated);
    assert_found(&booked->record.pages);
    assert_found(&booked->in_doubt);
    assert_int_equal(tseed_book_apply(book, booked, &here, &none, NULL), APR_SUCCESS);
}

/* The cells may hold anything before. */
static void test_book__cells_are_of_this_level_alone(void **state)
{
    const tseed_range_t level = {5, 0, 0, 511, 511}; /* 16 x 16 pages */
    const tseed_window_t window = tseed_window_of(&level, &level, 2);
    tseed_cell_t cells[4];

    (void)state;
    memset(cells, 0x55, sizeof(cells));
    tseed_book_cells(cells, book, booked, &window, 0, 2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(cells[i].tiles, 0);
    }
    write_at(&(tseed_page_t){5, 0, 0}, &writer);
    write_at(&(tseed_page_t){5, 9, 1}, &writer);
    write_at(&(tseed_page_t){6, 0, 0}, &writer);
    memset(cells, 0x55, sizeof(cells));
    tseed_book_cells(cells, book, booked, &window, 0, 2);
    assert_int_equal(cells[0].tiles + cells[1].tiles, 8);
    assert_int_equal(cells[2].tiles + cells[3].tiles, 0);
}

static void test_book__a_marked_level_is_in_doubt_after_a_crash(void **state)
{
    tseed_page_record_t row = {.tileset = 2, .page = here, .usage = effect(1, 1, 1, 4096)};
    tseed_tileset_record_t record;

    (void)state;
    tseed_book_mark_levels(booked, UINT64_C(1) << here.z);
    assert_int_equal(booked->marked, 0);
    save();
    assert_int_equal(booked->marked, UINT64_C(1) << here.z);
    record = booked->record;
    record.print++;
    booked = tseed_book_add(book, &record, &chain, 0);
    tseed_book_load(book, booked, &row);
    row.page.z++;
    tseed_book_load(book, booked, &row);
    assert_int_equal(booked->in_doubt, 1);
    assert_true(page_at(&here).in_doubt);
    tseed_book_doubt_all(book, NULL);
    assert_int_equal(booked->in_doubt, 2);
    tseed_book_unmark_levels(booked, UINT64_MAX);
    assert_int_equal(booked->record.doubtful, 0);
}

static void test_book__tile_sets_are_found_by_print(void **state)
{
    (void)state;
    assert_ptr_equal(tseed_book_find(book, 1000003), booked);
    assert_null(tseed_book_find(book, 5));
    assert_ptr_equal(tseed_book_next(book, &(unsigned){0}), booked);
    assert_null(tseed_book_next(book, &(unsigned){1}));
}

/* ---- victims ---- */

static tseed_page_t column(int64_t x)
{
    return (tseed_page_t){5, x, 0};
}

/* Pages 0 to 9; page i was read i times, the least recently used is the last. */
static void fill(void)
{
    for (int64_t x = 0; x < 10; x++) {
        const tseed_page_t page = column(x);
        uint64_t print = tseed_page_print(booked->record.print, page.z, page.x, page.y);

        write_at(&page, &(tseed_writer_t){x, NOW - 1000});
        tseed_book_hit(book, print, x, NOW - 10 * x);
    }
}

static void assert_victims(tseed_policy_t policy, const tseed_account_t *account, int count, ...)
{
    tseed_book_page_t victims[16];
    va_list columns;

    assert_int_equal(tseed_book_victims(victims, 4, book, account, policy), count);
    va_start(columns, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(victims[i].page.x, va_arg(columns, int));
    }
    va_end(columns);
}

static void test_book__lru_and_lfu_have_an_order_of_their_own(void **state)
{
    (void)state;
    fill();
    assert_victims(TSEED_POLICY_LRU, chain.global, 4, 9, 8, 7, 6);
    assert_victims(TSEED_POLICY_LFU, chain.layer, 4, 0, 1, 2, 3);
    assert_victims(TSEED_POLICY_LFU, chain.root, 4, 0, 1, 2, 3);
}

/* Where the policy's measure is the same, the other one decides. */
static void test_book__of_equals_the_other_measure_decides(void **state)
{
    static const int64_t reads[] = {3, 1, 2}, ages[] = {0, 200, 100};

    (void)state;
    for (int64_t x = 0; x < 3; x++) {
        const tseed_page_record_t record = {
            .tileset = 1,
            .page = column(x),
            .usage = effect(1, 1, 70, 4096),
            .accessed = NOW,
            .heat = tseed_heat_add(0, reads[x], NOW),
        };

        tseed_book_load(book, booked, &record);
    }
    assert_victims(TSEED_POLICY_LRU, chain.global, 3, 1, 2, 0);
    for (int64_t x = 0; x < 3; x++) {
        const tseed_page_record_t record = {
            .tileset = 1,
            .page = column(3 + x),
            .usage = effect(1, 1, 70, 4096),
            .accessed = NOW - ages[x],
            .heat = tseed_heat_add(0, 1, NOW - 100000),
        };

        tseed_book_load(book, booked, &record);
    }
    assert_victims(TSEED_POLICY_LFU, chain.global, 4, 4, 5, 3, 1);
}

static void test_book__what_is_pinned_or_kept_or_empty_does_not_go(void **state)
{
    const tseed_page_t pinned = column(9), empty = column(8), kept = {3, 0, 0};

    (void)state;
    fill();
    write_at(&kept, &(tseed_writer_t){1, NOW - 5000});
    tseed_book_hold(book, booked, &pinned);
    tseed_book_pin(book, booked, &pinned);
    assert_true(tseed_book_has_pins(book));
    assert_int_equal(change(&empty, effect(-4, -4, -400, -16384), NULL), APR_SUCCESS);
    assert_victims(TSEED_POLICY_LRU, chain.global, 4, 7, 6, 5, 4);
    tseed_book_unpin(book, booked, &pinned);
    assert_false(tseed_book_has_pins(book));
    tseed_book_drop(book, booked, &pinned);
    assert_victims(TSEED_POLICY_LRU, chain.global, 4, 9, 7, 6, 5);
}

static void test_book__what_can_not_be_removed_does_not_go(void **state)
{
    tseed_book_page_t victim;

    (void)state;
    fill();
    assert_int_equal(tseed_book_victims(&victim, 1, book, chain.global, TSEED_POLICY_LRU), 1);
    booked->spared = 1;
    assert_false(tseed_book_is_victim(book, &victim));
    assert_victims(TSEED_POLICY_LRU, chain.global, 0);
    booked->spared = 0;
    assert_true(tseed_book_is_victim(book, &victim));
    assert_victims(TSEED_POLICY_LRU, chain.global, 4, 9, 8, 7, 6);
}

/* Links alone; the files that they share are not charged. */
static void test_book__what_has_no_files_of_its_own_does_not_go(void **state)
{
    const tseed_effect_t none = effect(0, -1, -70, -4096);

    (void)state;
    assert_int_equal(change(&here, effect(1024, 0, 0, 0), &writer), APR_SUCCESS);
    assert_int_equal(tseed_book_share(book, booked, &none), APR_SUCCESS);
    assert_victims(TSEED_POLICY_LRU, chain.global, 0);
}

/* Page 9 is the oldest, and has links alone. While few files are shared, its removal would probably
 * free none of them: all others go first. */
static void test_book__links_to_charged_files_go(void **state)
{
    const tseed_page_t links = column(9);
    tseed_effect_t shared = effect(0, 8, 800, 32768); /* nine of them */
    tseed_book_page_t victims[10];

    (void)state;
    fill();
    assert_int_equal(change(&links, effect(0, -4, -400, -16384), NULL), APR_SUCCESS);
    assert_int_equal(tseed_book_share(book, booked, &shared), APR_SUCCESS);
    assert_int_equal(tseed_book_victims(victims, 10, book, chain.global, TSEED_POLICY_LRU), 10);
    assert_int_equal(victims[9].page.x, 9);
    assert_true(tseed_book_is_victim(book, &victims[9]));
    shared = effect(0, 1, 100, 4096); /* as many as pages */
    assert_int_equal(tseed_book_share(book, booked, &shared), APR_SUCCESS);
    assert_victims(TSEED_POLICY_LRU, chain.global, 4, 9, 8, 7, 6);
    assert_victims(TSEED_POLICY_LFU, chain.layer, 4, 0, 1, 2, 3);
}

static void test_book__what_running_tasks_have_written_goes_last(void **state)
{
    (void)state;
    fill();
    for (int64_t task = 2; task < 10; task++) {
        tseed_book_writing(book, task, 1);
    }
    assert_victims(TSEED_POLICY_LRU, chain.global, 4, 1, 0, 9, 8);
    tseed_book_writing(book, 5, 0);
    assert_victims(TSEED_POLICY_LRU, chain.global, 4, 5, 1, 0, 9);
}

/* Whoever holds it may wait for the very room that it takes. */
static void test_book__what_jobs_hold_goes_last_of_all(void **state)
{
    const tseed_page_t held = column(9);

    (void)state;
    fill();
    for (int64_t task = 0; task < 8; task++) {
        tseed_book_writing(book, task, 1);
    }
    tseed_book_hold(book, booked, &held);
    assert_victims(TSEED_POLICY_LRU, chain.global, 4, 8, 7, 6, 5);
    for (int x = 0; x < 9; x++) {
        const tseed_page_t other = column(x);

        tseed_book_hold(book, booked, &other);
        tseed_book_pin(book, booked, &other);
    }
    assert_victims(TSEED_POLICY_LRU, chain.global, 1, 9);
}

static void test_book__only_what_is_charged_to_the_account_goes(void **state)
{
    tseed_chain_t other = chain;

    (void)state;
    other.layer = tseed_account_create();
    fill();
    booked = enter(2, &other, 1);
    write_at(&(tseed_page_t){5, 77, 0}, &(tseed_writer_t){1, NOW - 9000});
    assert_victims(TSEED_POLICY_LRU, other.layer, 1, 77);
    assert_victims(TSEED_POLICY_LRU, chain.layer, 4, 9, 8, 7, 6);
    assert_victims(TSEED_POLICY_LRU, chain.global, 4, 77, 9, 8, 7);
    free(other.layer);
}

static void test_book__a_victim_that_was_used_since_is_none(void **state)
{
    tseed_book_page_t victims[4];

    (void)state;
    fill();
    assert_int_equal(tseed_book_victims(victims, 4, book, chain.global, TSEED_POLICY_LRU), 4);
    assert_true(tseed_book_is_victim(book, &victims[0]));
    tseed_book_hit(book, tseed_page_print(booked->record.print, 5, 9, 0), 1, NOW);
    assert_false(tseed_book_is_victim(book, &victims[0]));
    tseed_book_hold(book, booked, &victims[1].page);
    assert_true(tseed_book_is_victim(book, &victims[1]));
    tseed_book_pin(book, booked, &victims[1].page);
    assert_false(tseed_book_is_victim(book, &victims[1]));
    assert_true(tseed_book_is_victim(book, &victims[2]));
}

/* Many pages, against a sort of all of them. */
static int by_access(const void *a, const void *b)
{
    const tseed_book_page_t *left = a, *right = b;

    return left->accessed < right->accessed ? -1 : left->accessed > right->accessed;
}

static void test_book__the_best_of_many_are_chosen(void **state)
{
    enum { COUNT = 20000, CHOSEN = 300 };
    tseed_book_page_t *all = calloc(COUNT, sizeof(*all)),
                      *victims = calloc(CHOSEN, sizeof(*victims));
    unsigned seed = 3;

    (void)state;
    for (int64_t x = 0; x < COUNT; x++) {
        const tseed_page_t page = {12, x % 200, x / 200};

        write_at(&page, &(tseed_writer_t){1, NOW + rand_r(&seed) % 100000});
        all[x] = page_at(&page);
    }
    qsort(all, COUNT, sizeof(*all), by_access);
    assert_int_equal(tseed_book_victims(victims, CHOSEN, book, chain.global, TSEED_POLICY_LRU),
                     CHOSEN);
    for (int i = 0; i < CHOSEN; i++) {
        assert_int_equal(victims[i].accessed, all[i].accessed);
    }
    free(all);
    free(victims);
}

/* ---- what a cache is worth ---- */

enum { KNOWN = 2000, ROOM = 200, READS = 60000 };

/* A cache of ROOM pages by the textbook: what was read least often, counted for ever, or longest
 * ago goes. */
static double textbook_ratio(const int *reads, tseed_policy_t policy)
{
    int64_t *counts = calloc(KNOWN, sizeof(*counts)), *last = calloc(KNOWN, sizeof(*last));
    const int64_t *worth = policy == TSEED_POLICY_LFU ? counts : last;
    int cached[ROOM], count = 0, hits = 0;

    for (int i = 0; i < READS; i++) {
        int worst = 0, found = 0;

        counts[reads[i]]++;
        last[reads[i]] = i + 1;
        for (int k = 0; k < count; k++) {
            found |= cached[k] == reads[i];
            worst = worth[cached[k]] < worth[cached[worst]] ? k : worst;
        }
        hits += found;
        if (!found && count < ROOM) {
            cached[count++] = reads[i];
        } else if (!found && worth[reads[i]] > worth[cached[worst]]) {
            cached[worst] = reads[i];
        }
    }
    free(counts);
    free(last);
    return (double)hits / READS;
}

static void remove_victim(tseed_policy_t policy)
{
    tseed_book_page_t victim;

    assert_int_equal(tseed_book_victims(&victim, 1, book, chain.global, policy), 1);
    assert_int_equal(change(&victim.page, effect(-4, -4, -400, -16384), NULL), APR_SUCCESS);
    save();
}

/* The same by the book: a page that is not there is written and read, and one goes for it. */
static double books_ratio(const int *reads, tseed_policy_t policy)
{
    int hits = 0;

    for (int i = 0; i < READS; i++) {
        const tseed_page_t page = column(reads[i]);
        const int64_t now = NOW + i;

        uint64_t print = tseed_page_print(booked->record.print, 5, page.x, 0);

        if (tseed_book_hit(book, print, 1, now)) {
            hits++;
        } else {
            write_at(&page, &(tseed_writer_t){1, now});
            tseed_book_hit(book, print, 1, now);
        }
        if (booked->record.pages > ROOM) {
            remove_victim(policy);
        }
    }
    return (double)hits / READS;
}

static int *zipf_reads(void)
{
    int *reads = calloc(READS, sizeof(*reads));
    double sums[KNOWN], sum = 0;
    unsigned seed = 7;

    for (int i = 0; i < KNOWN; i++) {
        sums[i] = sum += 1.0 / (i + 1);
    }
    for (int i = 0; i < READS; i++) {
        double at = sum * rand_r(&seed) / RAND_MAX;

        while (reads[i] < KNOWN - 1 && sums[reads[i]] < at) {
            reads[i]++;
        }
    }
    return reads;
}

static void compare_with_textbook(tseed_policy_t policy)
{
    int *reads = zipf_reads();
    double expected = textbook_ratio(reads, policy), got = books_ratio(reads, policy);

    free(reads);
    if (got < expected - 0.01) {
        fail_msg("%.3f of the reads are hits, %.3f by the textbook", got, expected);
    }
}

static void test_book__lfu_keeps_what_is_read_often(void **state)
{
    (void)state;
    compare_with_textbook(TSEED_POLICY_LFU);
}

static void test_book__lru_keeps_what_was_read_lately(void **state)
{
    (void)state;
    compare_with_textbook(TSEED_POLICY_LRU);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_book__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_page_comes_and_goes_with_its_tiles),
        TEST(less_than_nothing_is_not_booked),
        TEST(more_than_a_page_has_places_for_is_not_booked),
        TEST(what_is_loaded_is_charged),
        TEST(a_row_that_cant_be_right_does_no_harm),
        TEST(hits_find_their_page),
        TEST(a_write_is_worth_one_read),
        TEST(a_mark_is_committed_before_the_page_may_change),
        TEST(a_mark_outlasts_its_holds_by_a_sweep),
        TEST(a_mark_stays_while_it_is_unsafe),
        TEST(an_empty_page_goes_when_it_is_dropped),
        TEST(marks_are_saved_alone),
        TEST(a_lost_database_is_told_everything_again),
        TEST(unknown_pages_of_an_incomplete_tile_set_are_counted_first),
        TEST(shared_files_are_charged_to_the_tile_set),
        TEST(a_level_renamed_away_stays_charged_until_it_is_gone),
        TEST(what_was_renamed_away_before_is_taken_over),
        TEST(a_complete_tile_set_was_read),
        TEST(sums_begin_at_zero),
        TEST(cells_are_of_this_level_alone),
        TEST(the_validator_finds_each_wrong_sum),
        TEST(a_marked_level_is_in_doubt_after_a_crash),
        TEST(tile_sets_are_found_by_print),
        TEST(pages_in_doubt_are_found_in_portions),
        TEST(what_is_expected_need_not_come),
        TEST(lru_and_lfu_have_an_order_of_their_own),
        TEST(of_equals_the_other_measure_decides),
        TEST(what_is_pinned_or_kept_or_empty_does_not_go),
        TEST(what_can_not_be_removed_does_not_go),
        TEST(what_has_no_files_of_its_own_does_not_go),
        TEST(links_to_charged_files_go),
        TEST(what_running_tasks_have_written_goes_last),
        TEST(what_jobs_hold_goes_last_of_all),
        TEST(only_what_is_charged_to_the_account_goes),
        TEST(a_victim_that_was_used_since_is_none),
        TEST(the_best_of_many_are_chosen),
        TEST(lfu_keeps_what_is_read_often),
        TEST(lru_keeps_what_was_read_lately),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
