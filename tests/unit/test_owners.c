/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Places of tile sets as their rows keep them, and whether their files are tiles of others. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <apr_strings.h>

#include "layer/tseed_place.h"
#include "protocol/tseed_parameters.h"
#include "store/tseed_owners.h"

#include "pool_fixture.h"
#include "tileset_fixture.h"

#define HASH "0123456789abcdef0123456789abcdef01234567"

static char root[PATH_MAX];
static int has_filter; /* the configured layer has a parameter */

static void make_layer(tileset_fixture_t *fixture, const char *directory)
{
    tseed_layer_t *layer = &fixture->layer;

    tileset_fixture_init(fixture, directory, TSEED_LAYOUT_GEOWEBCACHE);
    layer->subsets = apr_array_make(pool, 1, sizeof(tseed_subset_t));
    layer->formats = apr_array_make(pool, 1, sizeof(tseed_format_t));
    layer->filters = apr_array_make(pool, 1, sizeof(tseed_filter_t));
    APR_ARRAY_PUSH(layer->subsets, tseed_subset_t) = fixture->subset;
    APR_ARRAY_PUSH(layer->formats, tseed_format_t) = fixture->format;
}

/* The row of the fixture's tile set. */
static tseed_tileset_record_t row_of(const tileset_fixture_t *fixture, const char *key)
{
    const apr_table_t *none = apr_table_make(pool, 1);

    return (tseed_tileset_record_t){.id = 1,
                                    .key = key,
                                    .layer = fixture->layer.name,
                                    .gridset = fixture->gridset.name,
                                    .format = "image/png",
                                    .parameters = tseed_parameters_save(none, pool),
                                    .root = fixture->layer.store.root,
                                    .place = tseed_place_text(&fixture->tileset, pool)};
}

static void test_place__comes_back_as_it_was(void **state)
{
    tileset_fixture_t fixture;
    tseed_tileset_record_t row;
    tseed_tileset_t tileset;

    (void)state;
    make_layer(&fixture, root);
    row = row_of(&fixture, "k/default");
    assert_memory_equal(row.place, "geowebcache\n1x1 2x2 4x4 ", 24);
    assert_null(tseed_place_restore(&tileset, &row, pool));
    assert_int_equal(tileset.layer->store.layout, TSEED_LAYOUT_GEOWEBCACHE);
    assert_string_equal(tileset.layer->store.root, root);
    assert_string_equal(tileset.format->extension, "png");
    assert_int_equal(tileset.subset->gridset->levels, 31);
    assert_int_equal(tileset.subset->gridset->columns[30], INT64_C(1) << 30);
    assert_int_equal(tileset.subset->gridset->rows[2], 4);
    assert_null(tileset.hash);

    row.key = "k/" HASH;
    row.place = "/{z}/{x}/{y}.png\n3x2";
    assert_null(tseed_place_restore(&tileset, &row, pool));
    assert_string_equal(tileset.hash, HASH);
    assert_int_equal(tileset.layer->store.layout, TSEED_LAYOUT_TEMPLATE);
    assert_string_equal(tileset.layer->store.path_template, "/{z}/{x}/{y}.png");
    assert_int_equal(tileset.subset->gridset->columns[0], 3);
}

/* Nobody guesses where tiles are that are to be removed. */
static void test_place__a_row_that_does_not_say_it_is_refused(void **state)
{
    static const char *const places[] = {
        "geowebcache",      "geowebcache\n",   "nowhere\n1x1",       "geowebcache\n1",
        "geowebcache\n0x1", "geowebcache\n1x", "geowebcache\n1x1 x", "\n1x1",
        "geowebcache\n1x-1"};
    tileset_fixture_t fixture;
    tseed_tileset_record_t row;
    tseed_tileset_t tileset;

    (void)state;
    make_layer(&fixture, root);
    row = row_of(&fixture, "k/default");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        row.place = places[i];
        assert_non_null(strstr(tseed_place_restore(&tileset, &row, pool), "can't be read"));
    }
    row.place = apr_pstrdup(pool, "geowebcache\n");
    for (int i = 0; i <= TSEED_LEVELS_MAX; i++) {
        row.place = apr_pstrcat(pool, row.place, "1x1 ", NULL);
    }
    assert_non_null(strstr(tseed_place_restore(&tileset, &row, pool), "can't be read"));
    row.place = "";
    assert_non_null(strstr(tseed_place_restore(&tileset, &row, pool), "earlier version"));

    row = row_of(&fixture, "default");
    assert_non_null(tseed_place_restore(&tileset, &row, pool));
    row = row_of(&fixture, "k/0123");
    assert_non_null(tseed_place_restore(&tileset, &row, pool));
    row = row_of(&fixture, "k/default");
    row.format = "image/x";
    assert_non_null(tseed_place_restore(&tileset, &row, pool));
}

/* The owner of a corner of the tile set below `directory`, where the fixture's layer is configured
 * at `configured`. */
static const char *owner_at(const char *directory, const char *configured, const char *name,
                            int *is_used, int *is_shared)
{
    tileset_fixture_t gone, there;
    tseed_tileset_record_t row;
    tseed_tileset_t tileset;
    tseed_catalog_t *catalog = tseed_catalog_create(pool);
    tseed_owners_t *owners;
    const char *obstacle;

    make_layer(&gone, directory);
    make_layer(&there, configured);
    there.layer.name = name;
    if (has_filter) {
        *(tseed_filter_t *)apr_array_push(there.layer.filters) = (tseed_filter_t){.name = "STYLES"};
    }
    APR_ARRAY_PUSH(catalog->order, const tseed_layer_t *) = &there.layer;
    row = row_of(&gone, "k/default");
    assert_null(tseed_owners_restore(&tileset, &row, pool));
    assert_int_equal(tseed_owners_create(&owners, &obstacle, &tileset, catalog, pool), APR_SUCCESS);
    *is_used = tseed_owners_use(owners, is_shared);
    return tseed_owners_of_any(owners);
}

static void test_owners__are_found_through_links_and_slashes(void **state)
{
    const char *link = apr_pstrcat(pool, root, "/link", NULL);
    const char *slashes = apr_pstrcat(pool, root, "///", NULL);
    const char *absent = apr_pstrcat(pool, root, "/absent", NULL);
    int is_used, is_shared;

    (void)state;
    assert_string_equal(owner_at(root, root, "topp:states", &is_used, &is_shared), "topp:states");
    assert_true(is_used && is_shared);
    assert_string_equal(owner_at(root, slashes, "topp:states", &is_used, &is_shared),
                        "topp:states");
    assert_int_equal(symlink(".", link), 0);
    assert_string_equal(owner_at(root, link, "topp:states", &is_used, &is_shared), "topp:states");
    assert_true(is_used);
    assert_int_equal(unlink(link), 0);

    /* another layer beside it, another root, a root below or above it */
    assert_null(owner_at(root, root, "other", &is_used, &is_shared));
    assert_true(is_used);
    assert_null(owner_at(root, "/", "topp:states", &is_used, &is_shared));
    assert_null(owner_at(root, absent, "topp:states", &is_used, &is_shared));
    assert_false(is_used);
    assert_null(owner_at(absent, root, "topp:states", &is_used, &is_shared));
    assert_null(owner_at(root, "/dev", "topp:states", &is_used, &is_shared));

    /* the root may be a directory of any of its tile sets */
    has_filter = 1;
    assert_string_equal(owner_at(absent, root, "other", &is_used, &is_shared), "other");
    has_filter = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place__comes_back_as_it_was),
        cmocka_unit_test(test_place__a_row_that_does_not_say_it_is_refused),
        cmocka_unit_test(test_owners__are_found_through_links_and_slashes),
    };
    const char *folder = getenv("TMPDIR");
    int failed;

    snprintf(root, sizeof(root), "%s/test_owners-XXXXXX", folder ? folder : "/tmp");
    if (!mkdtemp(root)) {
        return 1;
    }
    failed = cmocka_run_group_tests_name("owners", tests, setup_group, teardown_group);
    rmdir(root);
    return failed;
}
