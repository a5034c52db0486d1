/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What was found of a tile set comes back from the database as it was saved, and nothing else. */
#include "state_fixture.h"

#include "savings/tseed_finding_set.h"
#include "state/tseed_books.h"

#define DEPTH 2

static tseed_book_tileset_t booked;

/* A tile set in the database, for findings of metatiles of 4 x 4. */
static tseed_finding_set_t *begin(const fixture_t *fixture)
{
    booked = (tseed_book_tileset_t){.record = {.print = 7,
                                               .key = "k",
                                               .layer = "l",
                                               .gridset = "g",
                                               .format = "f",
                                               .parameters = "{}",
                                               .root = "/tiles",
                                               .place = "",
                                               .recipe = 5}};
    assert_int_equal(tseed_books_add(fixture->state, &booked.record), APR_SUCCESS);
    return tseed_finding_set_create(&booked, 4, 4, DEPTH);
}

static tseed_finding_t *find(tseed_finding_set_t *set, int z, int64_t x, int64_t y, uint32_t shade)
{
    tseed_finding_t *finding = tseed_findings_get(set->findings, z, x, y);

    finding->range = (tseed_range_t){z, 4 * x, 4 * y, 4 * x + 3, 4 * y + 3};
    finding->shade = shade;
    finding->depth = 3;
    finding->task = INT64_C(5000000000);
    finding->is_clean = 1;
    tseed_finding_set_change(set, finding);
    return finding;
}

static void save(tseed_finding_set_t *set, const fixture_t *fixture)
{
    assert_int_equal(tseed_state_begin(fixture->state), APR_SUCCESS);
    assert_int_equal(tseed_finding_set_write(set, fixture->state, fixture->pool), APR_SUCCESS);
    assert_int_equal(tseed_state_commit(fixture->state), APR_SUCCESS);
    tseed_finding_set_saved(set);
    assert_false(tseed_finding_set_has_changes(set));
}

/* As the next seeder has it. */
static tseed_finding_set_t *load(const fixture_t *fixture)
{
    tseed_finding_set_t *set = tseed_finding_set_create(&booked, 4, 4, DEPTH);

    assert_int_equal(tseed_finding_set_load(set, fixture->state, INT64_MAX, fixture->pool),
                     APR_SUCCESS);
    return set;
}

static tseed_finding_set_t *save_and_load(tseed_finding_set_t *set, const fixture_t *fixture)
{
    save(set, fixture);
    tseed_finding_set_free(set);
    return load(fixture);
}

static uint32_t sea(tseed_finding_set_t *set)
{
    return tseed_finding_set_number(set, (const unsigned char *)"\0sea\xff", 5);
}

static void test_finding_set__comes_back_as_it_was(void **data)
{
    fixture_t *fixture = *data;
    tseed_finding_set_t *set = begin(fixture);
    const uint32_t land = tseed_finding_set_number(set, (const unsigned char *)"land", 4);
    const tseed_finding_t *found;
    const tseed_shade_t *shade;

    assert_int_equal(land, 1);
    assert_int_equal(sea(set), 2);
    assert_int_equal(sea(set), 2);
    find(set, 30, INT64_C(1) << 28, 3, 2);
    tseed_findings_set_hole(set->findings, find(set, 31, 9, 8, 0), 1);
    set = save_and_load(set, fixture);
    found = tseed_findings_find(set->findings, 30, INT64_C(1) << 28, 3);
    assert_non_null(found);
    assert_int_equal(found->range.maxx, (INT64_C(1) << 30) + 3);
    assert_int_equal(found->range.miny, 12);
    assert_int_equal(found->depth, 3);
    assert_int_equal(found->task, INT64_C(5000000000));
    assert_true(found->is_clean && found->is_saved && !found->is_hole);
    assert_true(tseed_finding_prunes(set->findings, found));
    shade = tseed_finding_set_shade(set, found->shade);
    assert_int_equal(shade->length, 5);
    assert_memory_equal(shade->data, "\0sea\xff", 5);
    assert_true(tseed_findings_find(set->findings, 31, 9, 8)->is_hole);
    assert_int_equal(tseed_findings_count(set->findings), 2);
    tseed_finding_set_free(set);
}

static void test_finding_set__many_portions_come_back(void **data)
{
    fixture_t *fixture = *data;
    tseed_finding_set_t *set = begin(fixture);

    for (int i = 0; i < 10000; i++) {
        find(set, i % 7, i / 7 % 100, i / 700, sea(set));
    }
    set = save_and_load(set, fixture);
    assert_int_equal(tseed_findings_count(set->findings), 10000);
    tseed_finding_set_free(set);

    set = tseed_finding_set_create(&booked, 4, 4, DEPTH);
    assert_int_equal(tseed_finding_set_load(set, fixture->state, 5000, fixture->pool), APR_SUCCESS);
    assert_int_equal(tseed_findings_count(set->findings), 8192);
    assert_non_null(tseed_findings_find(set->findings, 0, 0, 0));
    assert_null(tseed_findings_find(set->findings, 6, 99, 0));
    tseed_finding_set_free(set);
}

static void test_finding_set__what_is_forgotten_stays_away(void **data)
{
    fixture_t *fixture = *data;
    tseed_finding_set_t *set = begin(fixture);
    tseed_finding_t *gone;

    find(set, 3, 1, 1, sea(set));
    gone = find(set, 3, 2, 1, sea(set));
    save(set, fixture);
    tseed_finding_set_forget(set, gone);
    assert_null(tseed_findings_find(set->findings, 3, 2, 1));
    set = save_and_load(set, fixture);
    assert_int_equal(tseed_findings_count(set->findings), 1);
    tseed_finding_set_clear(set, 8, 8, DEPTH);
    assert_true(tseed_finding_set_has_changes(set));
    find(set, 5, 0, 0, sea(set));
    set = save_and_load(set, fixture);
    assert_int_equal(tseed_findings_count(set->findings), 1);
    assert_non_null(tseed_findings_find(set->findings, 5, 0, 0));
    assert_non_null(tseed_finding_set_shade(set, 1));
    tseed_finding_set_free(set);
}

static void test_finding_set__follows_its_tile_set_into_another_database(void **data)
{
    fixture_t *fixture = *data;
    tseed_finding_set_t *set = begin(fixture);

    find(set, 3, 1, 1, sea(set));
    save(set, fixture);
    assert_int_equal(tseed_books_forget(fixture->state, booked.record.print), APR_SUCCESS);
    booked.record.id += 10; /* as the row of another database */
    assert_true(tseed_finding_set_has_changes(set));
    set = save_and_load(set, fixture);
    assert_int_equal(tseed_findings_count(set->findings), 1);
    tseed_finding_set_free(set);
}

static void test_finding_set__goes_with_its_tile_set(void **data)
{
    fixture_t *fixture = *data;
    tseed_finding_set_t *set = begin(fixture);

    find(set, 3, 1, 1, sea(set));
    save(set, fixture);
    tseed_finding_set_free(set);
    assert_int_equal(tseed_books_forget(fixture->state, booked.record.print), APR_SUCCESS);
    set = load(fixture);
    assert_int_equal(tseed_findings_count(set->findings), 0);
    assert_null(tseed_finding_set_shade(set, 1));
    tseed_finding_set_free(set);
}

static void test_finding_set__has_a_limit_of_shades(void **data)
{
    fixture_t *fixture = *data;
    tseed_finding_set_t *set = begin(fixture);

    for (uint32_t i = 0; i < TSEED_SHADES_MOST + 1; i++) {
        const uint32_t expected = i < TSEED_SHADES_MOST ? i + 1 : 0;

        assert_int_equal(tseed_finding_set_number(set, (const unsigned char *)&i, sizeof(i)),
                         expected);
    }
    tseed_finding_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_finding_set__comes_back_as_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(test_finding_set__many_portions_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_finding_set__what_is_forgotten_stays_away, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            test_finding_set__follows_its_tile_set_into_another_database, setup, teardown),
        cmocka_unit_test_setup_teardown(test_finding_set__goes_with_its_tile_set, setup, teardown),
        cmocka_unit_test_setup_teardown(test_finding_set__has_a_limit_of_shades, setup, teardown),
    };
    const int code = database_begin();

    return code >= 0 ? code
                     : database_end(cmocka_run_group_tests(tests, group_setup, group_teardown));
}
