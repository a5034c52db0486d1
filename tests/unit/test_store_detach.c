/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Levels that are renamed away and purged: at once, wholly, and nothing of anybody else's. */
#include "store_effects_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static const tseed_range_t all = {4, 0, 0, 15, 15};

static apr_status_t detach(fixture_t *fixture, tseed_range_t range, int64_t expected)
{
    tseed_remnant_t remnant = {.print = 0xfeed, .task = 7, .usage = {0, 3, 2, 1}};
    apr_status_t rv = tseed_store_detach(&remnant, fixture->store, &range, NULL);

    if (rv == APR_SUCCESS) {
        assert_int_equal(remnant.usage.names, expected);
    }
    return rv;
}

static int64_t purge(fixture_t *fixture, unsigned part, unsigned parts)
{
    _Atomic int64_t removed = 0;

    assert_int_equal(tseed_store_purge(&removed, fixture->made.layer.store.root, part, parts, NULL),
                     APR_SUCCESS);
    return removed;
}

static int64_t count(fixture_t *fixture)
{
    tseed_effect_t sum;

    assert_int_equal(tseed_store_count(&sum, NULL, fixture->store, &all, 0), APR_SUCCESS);
    return sum.names;
}

static int is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static void fill(fixture_t *fixture)
{
    for (int64_t i = 0; i < 256; i++) {
        put(fixture, i % 16, i / 16, 10);
    }
}

static void test_detach__hides_a_level_and_purge_removes_it(void **state)
{
    static const tseed_layout_t layouts[] = {TSEED_LAYOUT_GEOWEBCACHE, TSEED_LAYOUT_XYZ,
                                             TSEED_LAYOUT_TMS, TSEED_LAYOUT_ARCGIS,
                                             TSEED_LAYOUT_TILECACHE};
    fixture_t *fixture = *state;

    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        tseed_effect_t effect;

        open_store_by_blocks(state, layouts[i]);
        fill(fixture);
        assert_int_equal(
            tseed_store_put(&effect, fixture->store, &(tseed_tile_t){5, 1, 1}, "other", 5, NULL),
            0);
        assert_int_equal(detach(fixture, all, 256), APR_SUCCESS);
        assert_int_equal(count(fixture), 0);
        assert_true(is_there(full(fixture, ".tileseed/removed/4-000000000000feed-7-256-3-2-1-0")));
        assert_int_equal(purge(fixture, 0, 1), 256);
        assert_false(is_there(full(fixture, ".tileseed")));
        assert_true(is_there(tile(fixture, 5, 1, 1)));
        assert_int_equal(detach(fixture, (tseed_range_t){5, 0, 0, 31, 31}, 1), APR_SUCCESS);
        assert_int_equal(purge(fixture, 0, 1), 1);
        assert_int_equal(rmdir(fixture->made.layer.store.root), 0);
    }
}

/* Whoever comes later reads from the name what went away with it. */
static void test_detach__leaves_a_note(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    const tseed_remnant_t *remnant;
    apr_array_header_t *remnants;
    const char *foreign = full(fixture, ".tileseed/removed/4-0");

    assert_int_equal(tseed_remnant_list(&remnants, fixture->made.layer.store.root, fixture->pool),
                     0);
    assert_int_equal(remnants->nelts, 0);
    fill(fixture);
    assert_int_equal(detach(fixture, all, 256), APR_SUCCESS);
    assert_int_equal(mkdir(foreign, 0755), 0);
    assert_int_equal(tseed_remnant_list(&remnants, fixture->made.layer.store.root, fixture->pool),
                     0);
    assert_int_equal(remnants->nelts, 1);
    remnant = &APR_ARRAY_IDX(remnants, 0, tseed_remnant_t);
    assert_int_equal(remnant->z, 4);
    assert_int_equal(remnant->print, 0xfeed);
    assert_int_equal(remnant->task, 7);
    assert_effect(remnant->usage, 256, 3, 2, 1);
}

static void test_detach__twice_before_a_purge(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_GEOWEBCACHE);

    for (int i = 0; i < 3; i++) {
        fill(fixture);
        assert_int_equal(detach(fixture, all, 256), APR_SUCCESS);
    }
    assert_int_equal(purge(fixture, 0, 1), 768);
    fill(fixture);
    assert_int_equal(detach(fixture, all, 256), APR_SUCCESS);
    assert_int_equal(purge(fixture, 0, 1), 256);
}

static void test_detach__nothing_is_success(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    assert_int_equal(detach(fixture, all, 0), APR_SUCCESS);
    assert_int_equal(purge(fixture, 0, 1), 0);
    mkdir(fixture->made.layer.store.root, 0755);
    assert_int_equal(detach(fixture, all, 0), APR_SUCCESS);
    assert_int_equal(purge(fixture, 0, 1), 0);
}

static void test_detach__not_where_levels_share_a_directory(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_QUADKEY);

    fill(fixture);
    assert_int_equal(detach(fixture, all, 0), APR_ENOTIMPL);
    nftw(fixture->made.layer.store.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    fixture->made.layer.store.path_template = "{x}/{z}/{y}.{ext}";
    open_store_by_blocks(state, TSEED_LAYOUT_TEMPLATE);
    fill(fixture);
    assert_int_equal(detach(fixture, all, 0), APR_ENOTIMPL);
    assert_int_equal(count(fixture), 256);
}

/* What a removal of the range would leave alone keeps the directory in its place. */
static void test_detach__not_with_anything_else_in_it(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    const char *level = "topp_states/EPSG_900913/4";
    const char *const foreign[] = {"/3/readme.txt", "/3/16.png", "/readme.txt", "/3/1.jpeg", "/16"};

    fill(fixture);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        const char *path = full(fixture, apr_pstrcat(fixture->pool, level, foreign[i], NULL));

        assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0644)), 0);
        assert_int_equal(detach(fixture, all, 0), APR_ENOTIMPL);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(mkdir(full(fixture, "topp_states/EPSG_900913/4/3/16.png"), 0755), 0);
    assert_int_equal(detach(fixture, all, 0), APR_ENOTIMPL);
    assert_int_equal(rmdir(full(fixture, "topp_states/EPSG_900913/4/3/16.png")), 0);
    assert_int_equal(detach(fixture, (tseed_range_t){4, 0, 0, 15, 14}, 0), APR_ENOTIMPL);
    assert_int_equal(count(fixture), 256);
    assert_int_equal(detach(fixture, all, 256), APR_SUCCESS);
}

static void test_detach__not_through_a_link(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    const char *level = full(fixture, "topp_states/EPSG_900913/4");
    const char *away = apr_pstrcat(fixture->pool, fixture->top, "/away", NULL);

    put(fixture, 1, 1, 10);
    assert_int_equal(rename(level, away), 0);
    assert_int_equal(symlink(away, level), 0);
    assert_int_equal(detach(fixture, all, 0), APR_ENOTIMPL);
    assert_int_equal(unlink(level), 0);
    assert_int_equal(mkdir(level, 0755), 0);
    assert_int_equal(symlink(away, apr_pstrcat(fixture->pool, level, "/1", NULL)), 0);
    assert_int_equal(detach(fixture, all, 0), APR_ENOTIMPL);
}

/* Somebody who puts a tile when so many names of a survey have been examined. */
typedef struct {
    tseed_store_t *view;
    tseed_tile_t tile;
    int asked, when;
} intruder_t;

static int intrude(void *baton)
{
    intruder_t *intruder = baton;
    tseed_effect_t effect;

    if (++intruder->asked == intruder->when) {
        assert_int_equal(tseed_store_put(&effect, intruder->view, &intruder->tile, "jpeg", 4, NULL),
                         0);
    }
    return 0;
}

/* The store of a tile set with other names, in that layout. */
static tseed_store_t *neighbour(fixture_t *fixture, tileset_fixture_t *f, const char *root)
{
    tseed_store_t *view;

    *f = fixture->made;
    f->tileset.layer = &f->layer;
    f->tileset.subset = &f->subset;
    f->subset.gridset = &f->gridset;
    f->tileset.format = &f->format;
    f->layer.store.root = root;
    f->format.mime = "image/jpeg";
    f->format.extension = "jpeg";
    f->layer.name = fixture->made.layer.store.path_template ? "other" : f->layer.name;
    assert_int_equal(tseed_store_open(&view, &f->tileset, 1, fixture->pool), 0);
    return view;
}

static void ignore(void *baton, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    (void)baton;
    (void)tile;
    (void)effect;
}

static int is_present(tseed_store_t *view, const tseed_tile_t *tile)
{
    uint64_t bits;

    assert_int_equal(
        tseed_store_present(view, &(tseed_range_t){tile->z, tile->x, tile->y, tile->x, tile->y},
                            &bits, 1),
        APR_SUCCESS);
    return bits == 1;
}

/* Others put their tiles where the survey has passed, whatever way leads them there. */
static void spare_what_came(fixture_t *fixture, const char *root)
{
    tileset_fixture_t other;
    intruder_t intruder = {.view = neighbour(fixture, &other, root)};
    const tseed_stop_t stop = {intrude, &intruder};
    const tseed_visitor_t nobody = {ignore, NULL, NULL, NULL};
    tseed_remnant_t remnant = {0};

    fill(fixture);
    assert_int_equal(tseed_store_detach(&remnant, fixture->store, &all, &stop), APR_SUCCESS);
    for (intruder.when = intruder.asked; intruder.when > 0; intruder.when -= 50) {
        fill(fixture);
        intruder.asked = 0;
        intruder.tile = (tseed_tile_t){4, intruder.when % 16, 3};
        assert_int_equal(tseed_store_detach(&remnant, fixture->store, &all, &stop), APR_ENOTIMPL);
        assert_true(is_present(intruder.view, &intruder.tile));
        assert_int_equal(count(fixture), 256);
        assert_int_equal(tseed_store_remove(intruder.view, &all, &nobody, NULL), APR_SUCCESS);
        rmdir(root); /* as long as it is a directory in the level's */
    }
}

static void test_detach__spares_what_came_meanwhile(void **state)
{
    static const tseed_layout_t layouts[] = {TSEED_LAYOUT_GEOWEBCACHE, TSEED_LAYOUT_XYZ,
                                             TSEED_LAYOUT_TMS, TSEED_LAYOUT_ARCGIS};
    fixture_t *fixture = *state;

    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        open_store_by_blocks(state, layouts[i]);
        spare_what_came(fixture, fixture->made.layer.store.root);
    }
}

/* By a root that is a link, and by one that lies in the level's directory. */
static void test_detach__spares_what_came_another_way(void **state)
{
    fixture_t *fixture = *state;
    const char *link = apr_pstrcat(fixture->pool, fixture->top, "/link", NULL);

    fixture->made.layer.store.path_template = "{z}/{x}/{layer}/{y}.{ext}";
    open_store_by_blocks(state, TSEED_LAYOUT_TEMPLATE);
    spare_what_came(fixture, fixture->made.layer.store.root);
    assert_int_equal(symlink(fixture->made.layer.store.root, link), 0);
    spare_what_came(fixture, link);
    spare_what_came(fixture,
                    apr_pstrcat(fixture->pool, fixture->made.layer.store.root, "/4/below", NULL));
    assert_int_equal(unlink(link), 0);
}

/* Views remember directories. What they write must not go where it would be purged. */
static void test_detach__other_views_do_not_write_into_it(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    tseed_store_t *other = fixture->store;
    tseed_effect_t effect;
    uint64_t bits;

    put(fixture, 1, 1, 10);
    assert_int_equal(tseed_store_link(&effect, other, &(tseed_tile_t){4, 1, 2}, "sea", 3, NULL),
                     APR_NOTFOUND);
    open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    assert_int_equal(detach(fixture, all, 1), APR_SUCCESS);
    assert_int_equal(tseed_store_present(other, &(tseed_range_t){4, 1, 1, 1, 1}, &bits, 1),
                     APR_SUCCESS);
    assert_int_equal(bits, 0);
    fixture->store = other;
    assert_effect(put(fixture, 1, 1, 20), 1, 1, 20, 512);
    assert_effect(uniform(fixture, 1, 2, "sea"), 1, 1, 3, 512);
    assert_int_equal(purge(fixture, 0, 1), 1);
    assert_int_equal(count(fixture), 2);
}

/* The sum stays right: masters of tiles that were purged go with the next sweep. */
static void test_detach__shared_files_are_swept_after_the_purge(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    uniform(fixture, 1, 1, "sea");
    uniform(fixture, 1, 2, "sea");
    assert_int_equal(detach(fixture, all, 2), APR_SUCCESS);
    assert_effect(sweep(fixture), 0, 0, 0, 0);
    assert_int_equal(purge(fixture, 0, 1), 2);
    assert_effect(sweep(fixture), 0, -1, -3, -512);
}

static int third(void *baton)
{
    return ++*(int *)baton > 100;
}

static void test_detach__a_stopped_purge_is_resumed(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    _Atomic int64_t removed = 0;
    tseed_remnant_t remnant = {0};
    int asked = 0;

    fill(fixture);
    assert_int_equal(
        tseed_store_detach(&remnant, fixture->store, &all, &(tseed_stop_t){third, &asked}),
        APR_EINTR);
    assert_int_equal(count(fixture), 256);
    assert_int_equal(detach(fixture, all, 256), APR_SUCCESS);
    asked = 0;
    assert_int_equal(tseed_store_purge(&removed, fixture->made.layer.store.root, 0, 1,
                                       &(tseed_stop_t){third, &asked}),
                     APR_EINTR);
    assert_true(removed > 0 && removed < 256);
    assert_int_equal(removed + purge(fixture, 0, 1), 256);
    assert_false(is_there(full(fixture, ".tileseed")));
}

typedef struct {
    fixture_t *fixture;
    unsigned part;
    int64_t removed;
} part_t;

static void *purge_part(void *data)
{
    part_t *part = data;

    part->removed = purge(part->fixture, part->part, 3);
    return NULL;
}

static void test_detach__threads_share_a_purge(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    part_t parts[3];
    pthread_t ids[3];
    int64_t sum = 0;

    fill(fixture);
    assert_int_equal(detach(fixture, all, 256), APR_SUCCESS);
    for (unsigned i = 0; i < 3; i++) {
        parts[i] = (part_t){fixture, i, 0};
        assert_int_equal(pthread_create(&ids[i], NULL, purge_part, &parts[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(ids[i], NULL);
        sum += parts[i].removed;
    }
    assert_int_equal(sum, 256);
    assert_false(is_there(full(fixture, ".tileseed")));
}

typedef struct {
    fixture_t *fixture;
    _Atomic int enough;
} purger_t;

static void *purge_on_and_on(void *data)
{
    purger_t *purger = data;

    while (!purger->enough) {
        purge(purger->fixture, 0, 1);
    }
    return NULL;
}

/* A purge that comes to its end takes the directory away in which the next level is to go. */
static void test_detach__while_others_are_purged(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    purger_t purger = {.fixture = fixture};
    pthread_t id;

    assert_int_equal(pthread_create(&id, NULL, purge_on_and_on, &purger), 0);
    for (int i = 0; i < 300; i++) {
        put(fixture, 1, 1, 10);
        assert_int_equal(detach(fixture, all, 1), APR_SUCCESS);
    }
    purger.enough = 1;
    pthread_join(id, NULL);
    assert_int_equal(count(fixture), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_detach__hides_a_level_and_purge_removes_it),
        STORE_TEST(test_detach__leaves_a_note),
        STORE_TEST(test_detach__twice_before_a_purge),
        STORE_TEST(test_detach__nothing_is_success),
        STORE_TEST(test_detach__not_where_levels_share_a_directory),
        STORE_TEST(test_detach__not_with_anything_else_in_it),
        STORE_TEST(test_detach__not_through_a_link),
        STORE_TEST(test_detach__spares_what_came_meanwhile),
        STORE_TEST(test_detach__spares_what_came_another_way),
        STORE_TEST(test_detach__other_views_do_not_write_into_it),
        STORE_TEST(test_detach__shared_files_are_swept_after_the_purge),
        STORE_TEST(test_detach__a_stopped_purge_is_resumed),
        STORE_TEST(test_detach__threads_share_a_purge),
        STORE_TEST(test_detach__while_others_are_purged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
