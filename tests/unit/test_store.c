/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The store on a real file system: what is there afterwards, what is not, and what was left alone.
 */
#include "store_fixture.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "store/tseed_store_view.h"

static apr_status_t put(fixture_t *fixture, int z, int64_t x, int64_t y, const char *content)
{
    tseed_effect_t effect;

    return tseed_store_put(&effect, fixture->store, &(tseed_tile_t){z, x, y}, content,
                           strlen(content), NULL);
}

static int exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static struct stat stat_of(const char *path)
{
    struct stat st = {0};

    assert_int_equal(lstat(path, &st), 0);
    return st;
}

static void assert_content(const char *path, const char *expected)
{
    char content[64] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_true(fread(content, 1, sizeof(content) - 1, file) < sizeof(content));
    fclose(file);
    assert_string_equal(content, expected);
}

/* Somebody else's file; its directory exists. */
static const char *plant(const char *path)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs("foreign", file);
    fclose(file);
    return path;
}

static int entries;

static int count_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)path;
    (void)st;
    (void)ftw;
    entries += kind == FTW_F || kind == FTW_SL;
    return 0;
}

/* Files below the root, hidden ones included. */
static int count_files(const fixture_t *fixture)
{
    entries = 0;
    nftw(fixture->made.layer.store.root, count_entry, 16, FTW_PHYS);
    return entries;
}

/* Counts how often it is asked, and says stop from the limit on. */
typedef struct {
    int64_t asked, limit;
} counter_t;

static int count_to(void *baton)
{
    counter_t *counter = baton;

    return counter->asked++ >= counter->limit;
}

static void count_removed(void *baton, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    (void)tile;
    *(int64_t *)baton -= effect->names;
}

static int64_t remove_range(fixture_t *fixture, tseed_range_t range)
{
    int64_t removed = 0;
    const tseed_visitor_t visitor = {count_removed, &removed, NULL, NULL};

    assert_int_equal(tseed_store_remove(fixture->store, &range, &visitor, NULL), APR_SUCCESS);
    return removed;
}

static tseed_range_t level(const fixture_t *fixture, int z)
{
    return (tseed_range_t){z, 0, 0, fixture->made.gridset.columns[z] - 1,
                           fixture->made.gridset.rows[z] - 1};
}

static void test_store__put_makes_the_root_and_its_parents(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_GEOWEBCACHE);

    fixture->made.layer.store.root =
        apr_pstrcat(fixture->pool, fixture->top, "/srv/maps/tiles", NULL);
    assert_int_equal(tseed_store_open(&fixture->store, &fixture->made.tileset, 1, fixture->pool),
                     0);
    assert_int_equal(put(fixture, 12, 1000, 1002, "tile"), APR_SUCCESS);
    assert_content(apr_pstrcat(fixture->pool, fixture->top,
                               "/srv/maps/tiles/topp_states/EPSG_900913_12/007_007/"
                               "0001000_0001002.png",
                               NULL),
                   "tile");
    assert_int_equal(count_files(fixture), 1);
}

static void test_store__put_replaces(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);

    assert_int_equal(put(fixture, 3, 1, 2, "the first and longer one"), APR_SUCCESS);
    assert_int_equal(put(fixture, 3, 1, 2, "second"), APR_SUCCESS);
    assert_content(tile(fixture, 3, 1, 2), "second");
    assert_int_equal(count_files(fixture), 1);
}

static void test_store__put_sets_modes_whatever_the_umask(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    mode_t before = umask(077);

    fixture->made.layer.store.mode = 0664;
    fixture->made.layer.store.dirmode = 02775;
    assert_int_equal(tseed_store_open(&fixture->store, &fixture->made.tileset, 1, fixture->pool),
                     0);
    assert_int_equal(put(fixture, 3, 1, 2, "tile"), APR_SUCCESS);
    umask(before);
    assert_int_equal(stat_of(tile(fixture, 3, 1, 2)).st_mode & 07777, 0664);
    assert_int_equal(stat_of(full(fixture, "topp_states/EPSG_900913/3/1")).st_mode & 07777, 02775);
    assert_int_equal(stat_of(full(fixture, "topp_states")).st_mode & 07777, 02775);
    assert_int_equal(stat_of(fixture->made.layer.store.root).st_mode & 07777, 02775);
}

static void test_store__put_stopped_changes_nothing(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    tseed_effect_t effect;
    counter_t now = {0, 0};

    assert_int_equal(put(fixture, 3, 1, 2, "old"), APR_SUCCESS);
    assert_int_equal(tseed_store_put(&effect, fixture->store, &(tseed_tile_t){3, 1, 2}, "new", 3,
                                     &(tseed_stop_t){count_to, &now}),
                     APR_EINTR);
    assert_int_equal(tseed_store_put(&effect, fixture->store, &(tseed_tile_t){3, 1, 3}, "new", 3,
                                     &(tseed_stop_t){count_to, &now}),
                     APR_EINTR);
    assert_content(tile(fixture, 3, 1, 2), "old");
    assert_int_equal(count_files(fixture), 1);
    assert_int_equal(now.asked, 2);
}

static int is_over;

static int ask_is_over(void)
{
    return is_over;
}

static int expire(void *baton)
{
    int *asked = baton;

    ++*asked;
    is_over = 1; /* before the file has its name */
    return 0;
}

/* Another host may be at work in the directories. */
static void test_store__put_that_is_guarded_changes_nothing(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    tseed_effect_t effect;
    int asked = 0;

    assert_int_equal(put(fixture, 3, 1, 2, "old"), APR_SUCCESS);
    tseed_store_guard(ask_is_over);
    assert_int_equal(tseed_store_put(&effect, fixture->store, &(tseed_tile_t){3, 1, 2}, "new", 3,
                                     &(tseed_stop_t){expire, &asked}),
                     APR_EINTR);
    assert_int_equal(asked, 1); /* who comes too late asks nobody else */
    assert_int_equal(put(fixture, 3, 7, 7, "new"), APR_EINTR);
    assert_int_equal(tseed_store_remove(fixture->store, &(tseed_range_t){3, 0, 0, 7, 7},
                                        &(tseed_visitor_t){NULL, NULL, NULL, NULL}, NULL),
                     APR_EINTR);
    tseed_store_guard(NULL);
    assert_content(tile(fixture, 3, 1, 2), "old");
    assert_int_equal(count_files(fixture), 1);
    assert_int_not_equal(access(full(fixture, "topp_states/EPSG_900913/3/7"), F_OK), 0);
}

/* A crash between linkat and rename leaves a hidden name of a good tile: it must not be written
 * into. */
static void test_store__put_survives_its_own_leftover(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);

    assert_int_equal(put(fixture, 3, 1, 2, "good"), APR_SUCCESS);
    assert_int_equal(
        link(tile(fixture, 3, 1, 2), full(fixture, "topp_states/EPSG_900913/3/1/.tseed-7.tmp")), 0);
    assert_int_equal(put(fixture, 3, 1, 3, "next"), APR_SUCCESS);
    assert_content(tile(fixture, 3, 1, 2), "good");
    assert_content(tile(fixture, 3, 1, 3), "next");
    assert_int_equal(count_files(fixture), 2);
}

/* Another httpd's seeder whose thread has the same number writes into the same directory. */
typedef struct {
    tseed_store_t *store;
    int folder;
    apr_status_t rv;
} neighbour_t;

static int write_beside(void *baton)
{
    neighbour_t *neighbour = baton;

    neighbour->rv = tseed_view_write(neighbour->store, neighbour->folder, "half", 4);
    return 0;
}

static void test_store__put_beside_another_httpd(void **state)
{
    fixture_t *fixture;
    neighbour_t neighbour = {.rv = -1};
    tseed_effect_t effect, lost = {0};

    tseed_store_instance_set("one");
    fixture = open_store(state, TSEED_LAYOUT_XYZ);
    tseed_store_instance_set("two");
    assert_int_equal(tseed_store_open(&neighbour.store, &fixture->made.tileset, 7, fixture->pool),
                     0);
    assert_int_equal(put(fixture, 3, 1, 1, "before"), APR_SUCCESS);
    neighbour.folder = open(full(fixture, "topp_states/EPSG_900913/3/1"), O_RDONLY | O_DIRECTORY);
    assert_int_equal(tseed_store_put(&effect, fixture->store, &(tseed_tile_t){3, 1, 2}, "good", 4,
                                     &(tseed_stop_t){write_beside, &neighbour}),
                     APR_SUCCESS);
    assert_int_equal(neighbour.rv, APR_SUCCESS);
    assert_content(tile(fixture, 3, 1, 2), "good");
    assert_int_equal(tseed_view_finish(&lost, neighbour.store, neighbour.folder, "9.png", NULL),
                     APR_SUCCESS);
    assert_content(full(fixture, "topp_states/EPSG_900913/3/1/9.png"), "half");
    assert_int_equal(count_files(fixture), 3);
    close(neighbour.folder);
    tseed_store_instance_set("");
}

/* Directories that both have found missing: whoever comes second has what it wants. */
static void *make_folders(void *data)
{
    const fixture_t *fixture = data;
    tseed_store_t *store;
    tseed_effect_t effect;
    apr_pool_t *pool;
    apr_status_t rv;
    static _Atomic unsigned ids = 0;

    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    rv = tseed_store_open(&store, &fixture->made.tileset, 20 + ids++ % 4, pool);
    for (int64_t x = 0; rv == APR_SUCCESS && x < 500; x++) {
        rv = tseed_store_put(&effect, store, &(tseed_tile_t){9, x, 1}, "x", 1, NULL);
    }
    apr_pool_destroy(pool);
    return (void *)(intptr_t)rv;
}

static void test_store__directories_made_by_two_at_once(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    pthread_t threads[4];
    void *rv;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, make_folders, fixture), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &rv);
        assert_int_equal((intptr_t)rv, APR_SUCCESS);
    }
    assert_int_equal(count_files(fixture), 500);
}

static void test_store__put_after_the_directory_was_removed(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);

    assert_int_equal(put(fixture, 3, 1, 2, "tile"), APR_SUCCESS);
    nftw(fixture->made.layer.store.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(put(fixture, 3, 1, 3, "again"), APR_SUCCESS);
    assert_content(tile(fixture, 3, 1, 3), "again");
}

/* The error is the system's own, and the unfinished file goes. A file size limit stands for a full
 * disk; root may write into read-only directories, not over this limit. */
static void test_store__put_that_fails_leaves_nothing(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    struct rlimit before, small;
    apr_status_t rv;

    assert_int_equal(put(fixture, 3, 1, 2, "old"), APR_SUCCESS);
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){4, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    rv = put(fixture, 3, 1, 2, "longer than that");
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rv, EFBIG);
    assert_content(tile(fixture, 3, 1, 2), "old");
    assert_int_equal(count_files(fixture), 1);
}

static void test_store__put_where_a_file_is_in_the_way(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);

    mkdir(fixture->made.layer.store.root, 0755);
    plant(full(fixture, "topp_states"));
    assert_int_equal(put(fixture, 3, 1, 2, "tile"), ENOTDIR);
    assert_content(full(fixture, "topp_states"), "foreign");
}

/* Root may write everywhere: then the directory of another user can't be tested, and the test says
 * so. */
static void test_store__put_into_a_read_only_directory(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    int is_root = geteuid() == 0;
    apr_status_t rv;

    assert_int_equal(put(fixture, 3, 1, 2, "tile"), APR_SUCCESS);
    chmod(full(fixture, "topp_states/EPSG_900913/3/1"), 0555);
    if (is_root) {
        assert_int_equal(chmod(fixture->top, 0755), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    rv = put(fixture, 3, 1, 3, "tile");
    if (is_root) {
        assert_int_equal(seteuid(0), 0);
    }
    chmod(full(fixture, "topp_states/EPSG_900913/3/1"), 0755);
    assert_int_equal(rv, EACCES);
    assert_int_equal(count_files(fixture), 1);
}

static void test_store__more_directories_than_are_remembered(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);

    for (int round = 0; round < 2; round++) {
        for (int64_t x = 0; x < 40; x++) {
            assert_int_equal(put(fixture, 6, x, round, "tile"), APR_SUCCESS);
        }
    }
    assert_int_equal(count_files(fixture), 80);
    assert_true(exists(tile(fixture, 6, 39, 1)));
}

static void test_store__present_is_row_by_row_from_the_bottom_left(void **state)
{
    static const tseed_layout_t layouts[] = {TSEED_LAYOUT_GEOWEBCACHE, TSEED_LAYOUT_XYZ,
                                             TSEED_LAYOUT_QUADKEY};
    fixture_t *fixture = *state;
    tseed_range_t range = {5, 14, 7, 18, 9};

    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        uint64_t bits[2] = {~UINT64_C(0), ~UINT64_C(0)};

        open_store(state, layouts[i]);
        assert_int_equal(tseed_store_present(fixture->store, &range, bits, 2), APR_SUCCESS);
        assert_int_equal(bits[0] | bits[1], 0);
        assert_int_equal(put(fixture, 5, 14, 7, "a"), APR_SUCCESS);
        assert_int_equal(put(fixture, 5, 18, 7, "b"), APR_SUCCESS);
        assert_int_equal(put(fixture, 5, 15, 9, "c"), APR_SUCCESS);
        assert_int_equal(put(fixture, 5, 13, 7, "outside"), APR_SUCCESS);
        assert_int_equal(put(fixture, 5, 15, 8, ""), APR_SUCCESS);
        assert_int_equal(tseed_store_present(fixture->store, &range, bits, 2), APR_SUCCESS);
        assert_int_equal(bits[0], UINT64_C(1) << 0 | UINT64_C(1) << 4 | UINT64_C(1) << 11);
        assert_int_equal(bits[1], 0);
    }
}

static void test_store__present_takes_as_many_tiles_as_bits(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_GEOWEBCACHE);
    tseed_range_t exact = {20, 0, 0, 15, 7}, more = {20, 0, 0, 128, 0}, huge = level(fixture, 30);
    uint64_t bits[2];

    assert_int_equal(put(fixture, 20, 15, 7, "last"), APR_SUCCESS);
    assert_int_equal(tseed_store_present(fixture->store, &exact, bits, 2), APR_SUCCESS);
    assert_true(bits[1] == UINT64_C(1) << 63);
    assert_int_equal(tseed_store_present(fixture->store, &more, bits, 2), APR_EINVAL);
    assert_int_equal(tseed_store_present(fixture->store, &huge, bits, 2), APR_EINVAL);
}

/* A view that remembers a directory must not take its removed ghost for the truth. */
static void test_store__present_sees_a_directory_made_anew(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    tseed_range_t range = {3, 1, 2, 1, 3};
    tseed_effect_t effect;
    tseed_store_t *other;
    uint64_t bits;

    assert_int_equal(tseed_store_open(&other, &fixture->made.tileset, 8, fixture->pool), 0);
    assert_int_equal(put(fixture, 3, 1, 2, "tile"), APR_SUCCESS);
    nftw(fixture->made.layer.store.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(tseed_store_put(&effect, other, &(tseed_tile_t){3, 1, 3}, "x", 1, NULL),
                     APR_SUCCESS);
    assert_int_equal(tseed_store_present(fixture->store, &range, &bits, 1), APR_SUCCESS);
    assert_int_equal(bits, 2);
}

/* Removes the middle of a 12 x 12 block: exactly that goes, in every layout. */
static void test_store__remove_exactly_the_range(void **state)
{
    fixture_t *fixture = *state;
    tseed_range_t range = {5, 9, 10, 15, 18};

    fixture->made.layer.store.path_template = "{x}_{z}/{layer}/{-y}.{ext}";
    for (int layout = TSEED_LAYOUT_GEOWEBCACHE; layout <= TSEED_LAYOUT_TEMPLATE; layout++) {
        open_store(state, (tseed_layout_t)layout);
        for (int i = 0; i < 144; i++) {
            assert_int_equal(put(fixture, 5, 8 + i % 12, 8 + i / 12, "tile"), APR_SUCCESS);
        }
        assert_int_equal(remove_range(fixture, range), 7 * 9);
        for (int i = 0; i < 144; i++) {
            int64_t x = 8 + i % 12, y = 8 + i / 12;
            int gone = x >= 9 && x <= 15 && y >= 10 && y <= 18;

            assert_int_equal(exists(tile(fixture, 5, x, y)), !gone);
        }
        assert_int_equal(remove_range(fixture, level(fixture, 5)), 144 - 7 * 9);
        assert_int_equal(count_files(fixture), 0);
        assert_true(exists(fixture->made.layer.store.root));
        assert_int_equal(rmdir(fixture->made.layer.store.root), 0);
    }
}

static void put_neighbour(fixture_t *fixture, const char *extension, const char *hash, int z)
{
    tileset_fixture_t other = fixture->made;
    tseed_effect_t effect;
    tseed_store_t *store;

    other.format.extension = extension;
    other.tileset.hash = hash;
    other.tileset.layer = &other.layer;
    other.tileset.subset = &other.subset;
    other.tileset.format = &other.format;
    other.subset.gridset = &other.gridset;
    assert_int_equal(tseed_store_open(&store, &other.tileset, 9, fixture->pool), 0);
    assert_int_equal(tseed_store_put(&effect, store, &(tseed_tile_t){z, 2, 2}, "n", 1, NULL),
                     APR_SUCCESS);
    tseed_store_close(store);
}

static void test_store__remove_spares_the_neighbours(void **state)
{
    fixture_t *fixture = *state;

    for (int layout = TSEED_LAYOUT_GEOWEBCACHE; layout < TSEED_LAYOUT_TEMPLATE; layout++) {
        open_store(state, (tseed_layout_t)layout);
        assert_int_equal(put(fixture, 3, 2, 2, "tile"), APR_SUCCESS);
        assert_int_equal(put(fixture, 3, 2, 3, "tile"), APR_SUCCESS);
        put_neighbour(fixture, "jpeg", NULL, 3);
        put_neighbour(fixture, "png", "7510004a12f49fdd49a2ba366e9c4594be7e4358", 3);
        put_neighbour(fixture, "png", NULL, 2);
        put_neighbour(fixture, "png", NULL, 4);
        assert_int_equal(remove_range(fixture, level(fixture, 3)), 2);
        assert_int_equal(count_files(fixture), 4);
        nftw(fixture->made.layer.store.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
}

static void test_store__remove_spares_what_is_no_tile(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    const char *foreign[8];

    for (int y = 0; y < 8; y++) {
        assert_int_equal(put(fixture, 3, 1, y, "tile"), APR_SUCCESS);
    }
    foreign[0] = plant(full(fixture, "topp_states/EPSG_900913/3/1/01.png"));
    foreign[1] = plant(full(fixture, "topp_states/EPSG_900913/3/1/8.png"));
    foreign[2] = plant(full(fixture, "topp_states/EPSG_900913/3/1/2.png.bak"));
    foreign[3] = plant(full(fixture, "topp_states/EPSG_900913/3/1/.tseed-3.tmp"));
    foreign[4] = plant(full(fixture, "topp_states/EPSG_900913/3/2"));
    foreign[5] = plant(full(fixture, "topp_states/metadata.xml"));
    mkdir(full(fixture, "topp_states/EPSG_900913/3/1/5.png.d"), 0755);
    foreign[6] = full(fixture, "topp_states/EPSG_900913/3/1/5.png.d");
    mkdir(full(fixture, "topp_states/EPSG_900913/3/4"), 0755);
    foreign[7] = full(fixture, "topp_states/EPSG_900913/3/4");
    assert_int_equal(remove_range(fixture, level(fixture, 3)), 8);
    for (int i = 0; i < 8; i++) {
        assert_true(exists(foreign[i]));
    }
}

/* A directory that bears a tile's name is no tile. */
static void test_store__remove_spares_a_directory_called_like_a_tile(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);

    assert_int_equal(put(fixture, 3, 1, 2, "tile"), APR_SUCCESS);
    mkdir(tile(fixture, 3, 1, 3), 0755);
    assert_int_equal(remove_range(fixture, level(fixture, 3)), 1);
    assert_true(exists(tile(fixture, 3, 1, 3)));
}

static void test_store__remove_nothing_is_success(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_GEOWEBCACHE);

    assert_int_equal(remove_range(fixture, level(fixture, 30)), 0);
    assert_false(exists(fixture->made.layer.store.root));
    mkdir(fixture->made.layer.store.root, 0755);
    assert_int_equal(remove_range(fixture, level(fixture, 30)), 0);
    assert_int_equal(remove_range(fixture, (tseed_range_t){3, 0, 0, -1, -1}), 0);
    assert_true(exists(fixture->made.layer.store.root));
}

static void test_store__remove_takes_empty_tiles_too(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);

    assert_int_equal(put(fixture, 3, 1, 2, "uniform"), APR_SUCCESS);
    assert_int_equal(put(fixture, 3, 1, 3, ""), APR_SUCCESS);
    assert_int_equal(mkdir(full(fixture, "topp_states/EPSG_900913/3/2"), 0755), 0);
    assert_int_equal(link(tile(fixture, 3, 1, 2), tile(fixture, 3, 2, 2)), 0);
    assert_int_equal(remove_range(fixture, level(fixture, 3)), 3);
    assert_int_equal(count_files(fixture), 0);
}

static int make_link(const char *path)
{
    return symlink("2.png", path);
}

static int make_loop(const char *path)
{
    return symlink(path, path);
}

static int make_pipe(const char *path)
{
    return mkfifo(path, 0600);
}

static int is_present(fixture_t *fixture, int z, int64_t x, int64_t y)
{
    uint64_t bits;

    assert_int_equal(tseed_store_present(fixture->store, &(tseed_range_t){z, x, y, x, y}, &bits, 1),
                     0);
    return (int)bits;
}

/* Nobody finds, counts or is told of it; it is replaced by a tile, and removed. */
static void test_store__what_is_no_regular_file_is_no_tile(void **state)
{
    static int (*const makes[])(const char *path) = {make_link, make_loop, make_pipe};
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    const tseed_range_t range = {3, 1, 3, 1, 3};
    tseed_effect_t sum;

    assert_int_equal(put(fixture, 3, 1, 2, "tile"), APR_SUCCESS);
    for (size_t i = 0; i < sizeof(makes) / sizeof(makes[0]); i++) {
        assert_int_equal(makes[i](tile(fixture, 3, 1, 3)), 0);
        assert_false(is_present(fixture, 3, 1, 3));
        assert_int_equal(tseed_store_count(&sum, NULL, fixture->store, &range, 0), 0);
        assert_int_equal(sum.names, 0);
        assert_int_equal(put(fixture, 3, 1, 3, "tile"), APR_SUCCESS);
        assert_true(is_present(fixture, 3, 1, 3));
        assert_int_equal(unlink(tile(fixture, 3, 1, 3)), 0);
        assert_int_equal(makes[i](tile(fixture, 3, 1, 3)), 0);
        assert_int_equal(remove_range(fixture, range), 0);
        assert_int_equal(count_files(fixture), 1);
    }
}

static void assert_obstacle(const fixture_t *fixture, int is_tile, const char *path)
{
    int found;

    assert_string_equal(tseed_store_obstacle(&found, fixture->store), path);
    assert_int_equal(found, is_tile);
}

/* One tile is in the way of itself alone, a directory in the way of others as well. */
static void test_store__says_what_it_has_failed_at(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    tseed_effect_t effect;

    assert_int_equal(put(fixture, 3, 1, 2, "tile"), APR_SUCCESS);
    assert_int_equal(mkdir(tile(fixture, 3, 1, 3), 0755), 0);
    assert_int_equal(put(fixture, 3, 1, 3, "tile"), EISDIR);
    assert_obstacle(fixture, 1, tile(fixture, 3, 1, 3));
    assert_int_equal(tseed_store_share(&effect, fixture->store, "tile", 4), APR_SUCCESS);
    assert_int_equal(
        tseed_store_link(&effect, fixture->store, &(tseed_tile_t){3, 1, 3}, "tile", 4, NULL),
        EISDIR);
    assert_obstacle(fixture, 1, tile(fixture, 3, 1, 3));
    plant(full(fixture, "topp_states/EPSG_900913/3/2"));
    assert_int_equal(put(fixture, 3, 2, 3, "tile"), ENOTDIR);
    assert_obstacle(fixture, 0, full(fixture, "topp_states/EPSG_900913/3/2"));
    plant(full(fixture, "topp_states/EPSG_900913/4"));
    assert_int_equal(put(fixture, 4, 2, 3, "tile"), ENOTDIR);
    assert_obstacle(fixture, 0, full(fixture, "topp_states/EPSG_900913/4"));
}

static void test_store__remove_does_not_follow_links_to_directories(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    const char *away = apr_pstrcat(fixture->pool, fixture->top, "/away", NULL);
    const char *kept;

    mkdir(away, 0755);
    kept = plant(apr_pstrcat(fixture->pool, away, "/2.png", NULL));
    assert_int_equal(put(fixture, 3, 1, 2, "tile"), APR_SUCCESS);
    assert_int_equal(symlink(away, full(fixture, "topp_states/EPSG_900913/3/5")), 0);
    assert_int_equal(remove_range(fixture, level(fixture, 3)), 1);
    assert_true(exists(kept));
    assert_true(exists(full(fixture, "topp_states/EPSG_900913/3/5")));
}

/* What a truncate would leave must not be written, nor taken for a seed's. */
static void test_store__no_link_below_the_root_is_followed(void **state)
{
    static const char *const links[] = {"topp_states", "topp_states/EPSG_900913",
                                        "topp_states/EPSG_900913/3", "topp_states/EPSG_900913/3/5"};
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    const char *away = apr_pstrcat(fixture->pool, fixture->top, "/away", NULL);

    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        const char *link = full(fixture, links[i]);
        uint64_t bits;

        assert_int_equal(put(fixture, 3, 5, 2, "tile"), APR_SUCCESS);
        assert_int_equal(rename(link, away), 0);
        assert_int_equal(symlink(away, link), 0);
        assert_int_equal(
            tseed_store_open(&fixture->store, &fixture->made.tileset, 7, fixture->pool), 0);
        assert_int_equal(put(fixture, 3, 5, 1, "tile"), ELOOP);
        assert_obstacle(fixture, 0, link);
        assert_int_equal(
            tseed_store_present(fixture->store, &(tseed_range_t){3, 5, 1, 5, 2}, &bits, 1), ELOOP);
        assert_obstacle(fixture, 0, link);
        assert_int_equal(remove_range(fixture, level(fixture, 3)), 0);
        assert_int_equal(unlink(link), 0);
        assert_int_equal(rename(away, link), 0);
        assert_int_equal(put(fixture, 3, 5, 1, "tile"), APR_SUCCESS);
    }
}

static void test_store__remove_below_a_root_that_is_a_link(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    const char *disk = apr_pstrcat(fixture->pool, fixture->top, "/disk", NULL);

    mkdir(disk, 0755);
    assert_int_equal(symlink(disk, fixture->made.layer.store.root), 0);
    assert_int_equal(put(fixture, 3, 1, 2, "tile"), APR_SUCCESS);
    assert_int_equal(remove_range(fixture, level(fixture, 3)), 1);
    assert_false(exists(full(fixture, "topp_states")));
    assert_true(exists(disk));
}

static void age(const char *path, time_t seconds)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A crash's file is dropped with the directory that only it keeps, whether names are asked for or
 * read. */
static void test_store__remove_drops_old_leftovers(void **state)
{
    static const int64_t tops[] = {0, 511};

    for (int i = 0; i < 2; i++) {
        fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
        const char *old;

        assert_int_equal(put(fixture, 9, 1, 0, "tile"), APR_SUCCESS);
        old = plant(full(fixture, "topp_states/EPSG_900913/9/1/.tseed-3.tmp"));
        age(old, 2 * 3600);
        assert_int_equal(remove_range(fixture, (tseed_range_t){9, 1, 0, 1, tops[i]}), 1);
        assert_false(exists(full(fixture, "topp_states")));
    }
}

/* It may be the file of a put that is under way. */
static void test_store__remove_spares_young_leftovers(void **state)
{
    static const int64_t tops[] = {0, 511};

    for (int i = 0; i < 2; i++) {
        fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
        const char *young;

        assert_int_equal(put(fixture, 9, 1, 0, "tile"), APR_SUCCESS);
        young = plant(full(fixture, "topp_states/EPSG_900913/9/1/.tseed-3.tmp"));
        assert_int_equal(remove_range(fixture, (tseed_range_t){9, 1, 0, 1, tops[i]}), 1);
        assert_true(exists(young));
    }
}

/* A wall clock that was set ahead makes no file old; one that was not, does. */
static void test_store__remove_knows_ages_when_the_clock_was_set(void **state)
{
    const apr_time_t now = apr_time_now(), monotonic = tseed_clock_monotonic();
    const apr_time_t hours[] = {2, 0}; /* that it was set ahead by since the start */

    for (int i = 0; i < 2; i++) {
        const tseed_calendar_t calendar =
            tseed_calendar_begin(now - apr_time_from_sec(3600 * hours[i]), monotonic);
        fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
        const char *file;

        tseed_store_calendar_set(&calendar);
        assert_int_equal(put(fixture, 9, 1, 0, "tile"), APR_SUCCESS);
        file = plant(full(fixture, "topp_states/EPSG_900913/9/1/.tseed-3.tmp"));
        age(file, 3600 * 3 / 2);
        assert_int_equal(remove_range(fixture, (tseed_range_t){9, 1, 0, 1, 0}), 1);
        tseed_store_calendar_set(NULL);
        assert_int_equal(exists(file), hours[i] > 0);
    }
}

/* Level 20 has 1.1 * 10^12 tiles, of which ten are there. What is examined is counted, not timed.
 */
static void test_store__remove_few_of_a_million_million(void **state)
{
    fixture_t *fixture = *state;

    for (int layout = TSEED_LAYOUT_GEOWEBCACHE; layout < TSEED_LAYOUT_TEMPLATE; layout++) {
        counter_t counter = {0, INT64_MAX};
        int64_t removed = 0;
        tseed_range_t range = level(open_store(state, (tseed_layout_t)layout), 20);

        for (int64_t i = 0; i < 10; i++) {
            assert_int_equal(put(fixture, 20, i * 104729 % 1048576, i * 7919, "tile"), APR_SUCCESS);
        }
        assert_int_equal(tseed_store_remove(fixture->store, &range,
                                            &(tseed_visitor_t){count_removed, &removed, NULL, NULL},
                                            &(tseed_stop_t){count_to, &counter}),
                         APR_SUCCESS);
        assert_int_equal(removed, 10);
        assert_true(counter.asked < 1000);
    }
}

/* 16, then 64 tiles of one directory with a thousand others: those are not looked at. */
static void test_store__remove_few_among_many(void **state)
{
    static const tseed_range_t ranges[] = {{5, 8, 8, 11, 11}, {5, 16, 16, 23, 23}};
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_QUADKEY);
    counter_t counter = {0, INT64_MAX};
    int64_t removed = 0;

    for (int i = 0; i < 32 * 32; i++) {
        assert_int_equal(put(fixture, 5, i % 32, i / 32, "t"), APR_SUCCESS);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tseed_store_remove(fixture->store, &ranges[i],
                                            &(tseed_visitor_t){count_removed, &removed, NULL, NULL},
                                            &(tseed_stop_t){count_to, &counter}),
                         0);
    }
    assert_int_equal(removed, 16 + 64);
    assert_true(counter.asked < 100);
    assert_int_equal(count_files(fixture), 32 * 32 - 16 - 64);
}

static void test_store__remove_stopped_in_the_middle(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_GEOWEBCACHE);
    tseed_range_t range = level(fixture, 4);
    int64_t removed = 0;
    counter_t counter = {0, 20};

    for (int i = 0; i < 256; i++) {
        assert_int_equal(put(fixture, 4, i % 16, i / 16, "t"), APR_SUCCESS);
    }
    assert_int_equal(tseed_store_remove(fixture->store, &range,
                                        &(tseed_visitor_t){count_removed, &removed, NULL, NULL},
                                        &(tseed_stop_t){count_to, &counter}),
                     APR_EINTR);
    assert_true(removed > 0 && removed < 20);
    assert_int_equal(counter.asked, 21);
    assert_int_equal(count_files(fixture), 256 - removed);
}

/* Threads */

typedef struct {
    fixture_t *fixture;
    unsigned id;
    apr_pool_t *pool;
    _Atomic int *done;
    apr_status_t rv;
} thread_t;

/* Columns of its own in directories that all threads share. */
static void *put_many(void *data)
{
    thread_t *self = data;
    tseed_effect_t effect;
    tseed_store_t *store;

    self->rv = tseed_store_open(&store, &self->fixture->made.tileset, self->id, self->pool);
    for (int i = 0; i < 400 && self->rv == APR_SUCCESS; i++) {
        self->rv = tseed_store_put(
            &effect, store, &(tseed_tile_t){12, i % 100 * 40 + self->id, i / 100}, "tile", 4, NULL);
    }
    tseed_store_close(store);
    atomic_fetch_add(self->done, 1);
    return NULL;
}

/* Four threads that put; meanwhile this one removes what is not theirs, when asked to. */
static void run_threads(fixture_t *fixture, int also_remove)
{
    thread_t threads[4];
    pthread_t ids[4];
    _Atomic int done = 0;

    for (unsigned i = 0; i < 4; i++) {
        threads[i] = (thread_t){.fixture = fixture, .id = i, .done = &done};
        apr_pool_create(&threads[i].pool, NULL);
        assert_int_equal(pthread_create(&ids[i], NULL, put_many, &threads[i]), 0);
    }
    while (also_remove && atomic_load(&done) < 4) {
        remove_range(fixture, level(fixture, 12));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(ids[i], NULL);
        assert_int_equal(threads[i].rv, APR_SUCCESS);
        apr_pool_destroy(threads[i].pool);
    }
}

static void test_store__threads_put_into_the_same_new_directories(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_GEOWEBCACHE);

    run_threads(fixture, 0);
    assert_int_equal(count_files(fixture), 1600);
    assert_int_equal(remove_range(fixture, level(fixture, 12)), 1600);
}

static void test_store__threads_put_while_another_removes(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_GEOWEBCACHE);

    run_threads(fixture, 1);
    remove_range(fixture, level(fixture, 12));
    assert_int_equal(count_files(fixture), 0);
    assert_false(exists(full(fixture, "topp_states")));
}

static int open_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static void test_store__close_gives_every_descriptor_back(void **state)
{
    int before = open_descriptors();
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);
    uint64_t bits;
    tseed_range_t range = {5, 0, 0, 7, 7};

    for (int i = 0; i < 12; i++) {
        assert_int_equal(put(fixture, 5, i, 0, "tile"), APR_SUCCESS);
    }
    assert_int_equal(tseed_store_present(fixture->store, &range, &bits, 1), APR_SUCCESS);
    remove_range(fixture, level(fixture, 5));
    assert_int_equal(open_descriptors() - before, 9);
    tseed_store_close(fixture->store);
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_store__put_makes_the_root_and_its_parents),
        STORE_TEST(test_store__put_replaces),
        STORE_TEST(test_store__put_sets_modes_whatever_the_umask),
        STORE_TEST(test_store__put_stopped_changes_nothing),
        STORE_TEST(test_store__put_that_is_guarded_changes_nothing),
        STORE_TEST(test_store__put_survives_its_own_leftover),
        STORE_TEST(test_store__put_beside_another_httpd),
        STORE_TEST(test_store__directories_made_by_two_at_once),
        STORE_TEST(test_store__put_after_the_directory_was_removed),
        STORE_TEST(test_store__put_that_fails_leaves_nothing),
        STORE_TEST(test_store__put_where_a_file_is_in_the_way),
        STORE_TEST(test_store__put_into_a_read_only_directory),
        STORE_TEST(test_store__more_directories_than_are_remembered),
        STORE_TEST(test_store__present_is_row_by_row_from_the_bottom_left),
        STORE_TEST(test_store__present_takes_as_many_tiles_as_bits),
        STORE_TEST(test_store__present_sees_a_directory_made_anew),
        STORE_TEST(test_store__remove_exactly_the_range),
        STORE_TEST(test_store__remove_spares_the_neighbours),
        STORE_TEST(test_store__remove_spares_what_is_no_tile),
        STORE_TEST(test_store__remove_spares_a_directory_called_like_a_tile),
        STORE_TEST(test_store__remove_nothing_is_success),
        STORE_TEST(test_store__remove_takes_empty_tiles_too),
        STORE_TEST(test_store__what_is_no_regular_file_is_no_tile),
        STORE_TEST(test_store__says_what_it_has_failed_at),
        STORE_TEST(test_store__remove_does_not_follow_links_to_directories),
        STORE_TEST(test_store__no_link_below_the_root_is_followed),
        STORE_TEST(test_store__remove_below_a_root_that_is_a_link),
        STORE_TEST(test_store__remove_drops_old_leftovers),
        STORE_TEST(test_store__remove_spares_young_leftovers),
        STORE_TEST(test_store__remove_knows_ages_when_the_clock_was_set),
        STORE_TEST(test_store__remove_few_of_a_million_million),
        STORE_TEST(test_store__remove_few_among_many),
        STORE_TEST(test_store__remove_stopped_in_the_middle),
        STORE_TEST(test_store__threads_put_into_the_same_new_directories),
        STORE_TEST(test_store__threads_put_while_another_removes),
        STORE_TEST(test_store__close_gives_every_descriptor_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
