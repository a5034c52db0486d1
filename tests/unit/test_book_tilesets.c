/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The book: which of its tile sets are next, and what changes many of them at once. */
#include "book_fixture.h"

static tseed_book_tileset_t *first, *second, *third;

static tseed_book_tileset_t *enter(const char *key, const char *root, int complete)
{
    const int64_t id = 1 + tseed_book_tilesets(book);
    const tseed_tileset_record_t record = {.id = id,
                                           .print = (uint64_t)id * 1000003,
                                           .key = key,
                                           .layer = "topp:states",
                                           .gridset = "EPSG:4326",
                                           .format = "image/png",
                                           .parameters = "{}",
                                           .root = root,
                                           .place = "",
                                           .complete = complete};

    return tseed_book_add(book, &record, &chain, 0);
}

/* Two tile sets below /cache and one below /other, all complete. */
static int setup(void **state)
{
    (void)state;
    book_begin();
    first = enter("first", "/cache", 1);
    second = enter("second", "/other", 1);
    third = enter("third", "/cache", 1);
    return 0;
}

/* Puts files of a tile set where those stand that were renamed away. */
static void detach(tseed_book_tileset_t *booked, int64_t files)
{
    const tseed_effect_t usage = {files, files, 100 * files, 4096 * files};

    tseed_book_inherit(book, booked, 5, &usage);
}

/* ---- which are next ---- */

typedef tseed_book_tileset_t *next_t(const tseed_book_t *book, unsigned *number);

/* The numbers of all that are found, as decimal digits of one number. */
static int all_of(next_t *next)
{
    int digits = 0;

    for (unsigned i = 0; next(book, &i); i++) {
        digits = 10 * digits + 1 + (int)i;
    }
    return digits;
}

/* Books what a page gains, by a task at a time, and saves everything. */
static void put(tseed_book_tileset_t *booked, const tseed_effect_t *gain, int64_t now)
{
    const tseed_page_t page = {3, 0, 0};
    const tseed_writer_t writer = {.task = 7, .now = now};
    tseed_page_record_t record;
    size_t cursor = 0;
    int gone;

    tseed_book_hold(book, booked, &page);
    if (gain) {
        assert_int_equal(tseed_account_charge(&chain, (tseed_amount_t){0, 0}), APR_SUCCESS);
        assert_int_equal(tseed_book_apply(book, booked, &page, gain, &writer), APR_SUCCESS);
    }
    tseed_book_drop(book, booked, &page);
    while (tseed_book_change(book, &record, &gone, TSEED_SAVE_ALL, &cursor)) {
    }
    tseed_book_saved(book, TSEED_SAVE_ALL);
}

/* ---- which leave ---- */

static const tseed_effect_t tiles = {2, 1, 100, 4096}, no_tiles = {-2, -1, -100, -4096};

static void test_book_tilesets__that_are_bare_leave(void **state)
{
    tseed_book_tileset_t *fourth;

    (void)state;
    first->loaded = second->loaded = third->loaded = 1;
    assert_true(tseed_book_is_bare(second));
    put(second, &tiles, 100);
    assert_true(tseed_book_has_files(second));
    assert_false(tseed_book_is_bare(second));
    put(second, &no_tiles, 200);
    assert_false(tseed_book_has_files(second));
    assert_true(tseed_book_is_bare(second));
    tseed_book_remove(book, second);
    assert_int_equal(tseed_book_tilesets(book), 2);
    assert_int_equal(all_of(tseed_book_next), 13);
    assert_null(tseed_book_find(book, 2 * 1000003));
    fourth = enter("fourth", "/new", 1);
    assert_int_equal(all_of(tseed_book_next), 123);
    assert_string_equal(fourth->record.key, "fourth");
    assert_int_equal(fourth->entries, 0);
}

/* A page in which nothing ever was needs no mark that outlasts its hold: the row of a tile set of
 * which nothing could be made goes at once. Tiles that were removed may come back. */
static void test_book_tilesets__are_bare_at_once_if_nothing_was_stored(void **state)
{
    (void)state;
    first->loaded = second->loaded = 1;
    first->keeps_empty = second->keeps_empty = 1;
    put(first, NULL, 0);
    assert_true(tseed_book_is_bare(first));
    put(second, &tiles, 100);
    put(second, &no_tiles, 200);
    assert_false(tseed_book_is_bare(second));
}

static int is_not(const tseed_book_tileset_t *booked, const void *baton)
{
    return booked != baton;
}

static void test_book_tilesets__that_are_used_least(void **state)
{
    (void)state;
    put(first, &tiles, 300);
    put(second, &tiles, 100);
    put(third, &tiles, 200);
    assert_ptr_equal(tseed_book_least_used(book, is_not, NULL), second);
    assert_ptr_equal(tseed_book_least_used(book, is_not, second), third);
    tseed_book_hit(book, tseed_page_print(second->record.print, 3, 0, 0), 1, 400);
    assert_ptr_equal(tseed_book_least_used(book, is_not, NULL), third);
}

static void test_book_tilesets__that_leave_give_their_pages(void **state)
{
    const tseed_page_t page = {3, 0, 0};
    tseed_book_page_t found[4];

    (void)state;
    put(first, &tiles, 100);
    put(second, &tiles, 100);
    assert_int_equal(tseed_book_leavers(found, 4, book), 0);
    assert_false(tseed_book_has_leavers(book));
    tseed_book_set_leaving(book, second, 1);
    assert_true(tseed_book_has_leavers(book));
    second->spared = 1;
    assert_int_equal(tseed_book_leavers(found, 4, book), 0);
    second->spared = 0;
    assert_int_equal(tseed_book_leavers(found, 4, book), 1);
    assert_ptr_equal(found[0].booked, second);
    tseed_book_hold(book, second, &page);
    assert_int_equal(tseed_book_leavers(found, 4, book), 0);
    tseed_book_drop(book, second, &page);
    tseed_book_set_leaving(book, second, 0);
    assert_false(tseed_book_has_leavers(book));
    assert_int_equal(tseed_book_leavers(found, 4, book), 0);
}

static void test_book_tilesets__that_leave_have_their_turn(void **state)
{
    tseed_book_tileset_t *had;

    (void)state;
    put(first, &tiles, 100);
    put(second, &tiles, 100);
    tseed_book_set_leaving(book, first, 1);
    tseed_book_set_leaving(book, second, 1);
    for (int round = 0; round < 2; round++) {
        tseed_book_page_t found;

        assert_int_equal(tseed_book_leavers(&found, 1, book), 1);
        had = found.booked;
        assert_int_equal(tseed_book_leavers(&found, 1, book), 1);
        assert_ptr_not_equal(found.booked, had);
    }
}

static void test_book_tilesets__are_numbered(void **state)
{
    (void)state;
    assert_int_equal(tseed_book_tilesets(book), 3);
    assert_ptr_equal(tseed_book_next(book, &(unsigned){0}), first);
    assert_ptr_equal(tseed_book_next(book, &(unsigned){2}), third);
    assert_null(tseed_book_next(book, &(unsigned){3}));
}

static void test_book_tilesets__that_are_not_complete_are_next(void **state)
{
    (void)state;
    assert_int_equal(all_of(tseed_book_next_incomplete), 0);
    enter("fourth", "/cache", 0);
    enter("fifth", "/cache", 0);
    assert_int_equal(all_of(tseed_book_next_incomplete), 45);
    tseed_book_complete(book, tseed_book_next(book, &(unsigned){3}));
    assert_int_equal(all_of(tseed_book_next_incomplete), 5);
}

static void test_book_tilesets__that_are_not_loaded_are_next(void **state)
{
    (void)state;
    assert_int_equal(all_of(tseed_book_next_unloaded), 123);
    second->loaded = 1;
    assert_int_equal(all_of(tseed_book_next_unloaded), 13);
}

static void test_book_tilesets__that_must_be_saved_are_next(void **state)
{
    (void)state;
    assert_int_equal(all_of(tseed_book_next_changed), 0);
    tseed_book_mark_levels(third, 1);
    assert_int_equal(all_of(tseed_book_next_changed), 3);
    tseed_book_saved(book, TSEED_SAVE_ALL);
    assert_int_equal(all_of(tseed_book_next_changed), 0);
}

static void test_book_tilesets__whose_shared_files_are_due_are_next(void **state)
{
    (void)state;
    assert_int_equal(all_of(tseed_book_next_due), 0);
    first->sweep_due = 1;
    third->shared_due = 1;
    assert_int_equal(all_of(tseed_book_next_due), 13);
}

/* ---- all of them ---- */

static void test_book_tilesets__are_known_when_complete_or_unreadable(void **state)
{
    tseed_book_tileset_t *fourth = enter("fourth", "/cache", 0);

    (void)state;
    assert_false(tseed_book_is_known(book));
    fourth->unread = 1;
    assert_true(tseed_book_is_known(book));
    tseed_book_complete(book, fourth);
    assert_true(tseed_book_is_known(book));
}

static void test_book_tilesets__are_spared_no_longer(void **state)
{
    (void)state;
    first->spared = third->spared = 1;
    tseed_book_spare_none(book);
    assert_false(first->spared);
    assert_false(third->spared);
}

static void test_book_tilesets__with_shared_files_or_doubts_are_due(void **state)
{
    const tseed_effect_t shared = {0, 2, 140, 8192};
    const tseed_page_record_t doubtful = {.tileset = 3, .page = {5, 1, 1}, .dirty = 1};
    tseed_effect_t difference;

    (void)state;
    second->shared_due = 1;
    tseed_book_count_shared(&difference, book, first, &shared);
    tseed_book_load(book, third, &doubtful);
    assert_int_equal(tseed_book_make_shared_due(book), 2);
    assert_true(first->shared_due);
    assert_false(second->shared_due);
    assert_true(third->shared_due);
}

/* ---- a store root ---- */

static void test_book_tilesets__one_alone_has_files_that_were_renamed_away(void **state)
{
    unsigned number = 0;

    (void)state;
    assert_null(tseed_book_only_detached(book, "/cache"));
    detach(second, 4);
    assert_null(tseed_book_only_detached(book, "/cache"));
    detach(third, 4);
    assert_ptr_equal(tseed_book_only_detached(book, "/cache"), third);
    assert_ptr_equal(tseed_book_next_detached(book, &number, "/cache"), third);
    assert_int_equal(number, 2);
    detach(first, 4);
    assert_null(tseed_book_only_detached(book, "/cache"));
}

static void test_book_tilesets__of_one_root_are_purged(void **state)
{
    (void)state;
    detach(first, 1);
    detach(second, 2);
    detach(third, 4);
    assert_int_equal(tseed_account_used(chain.global).files, 7);
    tseed_book_purge_root(book, "/cache");
    assert_int_equal(tseed_account_used(chain.global).files, 2);
    assert_int_equal(tseed_account_used(chain.global).bytes, 2 * 4096);
    assert_int_equal(first->record.detached.files, 0);
    assert_int_equal(second->record.detached.files, 2);
}

static void test_book_tilesets__of_one_root_are_swept(void **state)
{
    const tseed_effect_t shared = {0, 2, 140, 8192};
    tseed_effect_t difference;

    (void)state;
    tseed_book_count_shared(&difference, book, second, &shared);
    tseed_book_count_shared(&difference, book, third, &shared);
    assert_int_equal(tseed_book_sweep_root(book, "/cache"), 1);
    assert_int_equal(tseed_book_sweep_root(book, "/cache"), 0);
    assert_false(first->sweep_due);
    assert_false(second->sweep_due);
    assert_true(third->sweep_due);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_book_tilesets__are_numbered, setup, teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__that_are_bare_leave, setup, teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__are_bare_at_once_if_nothing_was_stored,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__that_are_used_least, setup, teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__that_leave_give_their_pages, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__that_leave_have_their_turn, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__that_are_not_complete_are_next, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__that_are_not_loaded_are_next, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__that_must_be_saved_are_next, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__whose_shared_files_are_due_are_next,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__are_known_when_complete_or_unreadable,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__are_spared_no_longer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__with_shared_files_or_doubts_are_due,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_book_tilesets__one_alone_has_files_that_were_renamed_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__of_one_root_are_purged, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_book_tilesets__of_one_root_are_swept, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
