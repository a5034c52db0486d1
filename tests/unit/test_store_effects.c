/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What the store says it has changed is what a walk of the disk finds changed. */
#include "store_effects_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the system refuses just now: root may do everything in a directory that is read-only. */
static enum { NOTHING, TO_REMOVE, TO_CHANGE, TO_LOOK } refused;

static int refuse(int error)
{
    errno = error;
    return -1;
}

static int refusal = EACCES; /* of a removal */

/* Instead of the C library's. */
int unlinkat(int folder, const char *name, int flags)
{
    return refused >= TO_REMOVE ? refuse(refusal) : (int)syscall(SYS_unlinkat, folder, name, flags);
}

int fstatat(int folder, const char *name, struct stat *st, int flags)
{
    return refused >= TO_LOOK ? refuse(EACCES)
                              : (int)syscall(SYS_newfstatat, folder, name, st, flags);
}

int ftruncate(int fd, off_t length)
{
    return refused >= TO_CHANGE ? refuse(EROFS) : (int)syscall(SYS_ftruncate, fd, length);
}

static void test_store__put_counts_what_it_replaces(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    const char *other = apr_pstrcat(fixture->pool, fixture->top, "/other", NULL);

    assert_effect(put(fixture, 1, 2, 700), 1, 1, 700, 1024);
    assert_effect(put(fixture, 1, 2, 512), 0, 0, -188, -512);
    assert_effect(put(fixture, 1, 2, 0), 0, 0, -512, -512);
    assert_effect(put(fixture, 1, 3, 1), 1, 1, 1, 512);
    assert_int_equal(link(tile(fixture, 4, 1, 3), other), 0);
    assert_effect(put(fixture, 1, 3, 2), 0, 0, 1, 0);
}

static void test_store__put_counts_a_symbolic_link_as_nothing(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    put(fixture, 1, 2, 700);
    assert_int_equal(symlink("2.png", tile(fixture, 4, 1, 3)), 0);
    assert_effect(put(fixture, 1, 3, 3), 1, 1, 3, 512);
}

static void test_store__put_that_fails_or_stops_has_no_effect(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    tseed_effect_t effect;

    put(fixture, 1, 2, 700);
    mkdir(tile(fixture, 4, 1, 3), 0755);
    assert_int_not_equal(
        tseed_store_put(&effect, fixture->store, &(tseed_tile_t){4, 1, 3}, "x", 1, NULL), 0);
    assert_effect(effect, 0, 0, 0, 0);
}

/* A stop that comes when the hidden file has its content, in a directory that has become
 * read-only. */
typedef struct {
    int refused, asked;
} late_stop_t;

static int stops_late(void *baton)
{
    late_stop_t *stop = baton;
    const int is_written = stop->asked++ > 0;

    refused = is_written ? stop->refused : NOTHING;
    return is_written;
}

static void put_stopped(fixture_t *fixture, int what)
{
    late_stop_t late = {.refused = what};
    const tseed_stop_t stop = {stops_late, &late};
    tseed_effect_t effect;

    assert_int_equal(
        tseed_store_put(&effect, fixture->store, &(tseed_tile_t){4, 5, 5}, "unfinished", 10, &stop),
        APR_EINTR);
    assert_effect(effect, 0, 0, 0, 0);
    refused = NOTHING;
}

static void test_store__put_empties_what_it_cannot_remove(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    tseed_effect_t left;

    put_stopped(fixture, TO_REMOVE);
    assert_survey(fixture, &(tseed_effect_t){0, 1, 0, 0});
    assert_int_equal(tseed_store_unremoved_take(&left, fixture->store), APR_SUCCESS);
    assert_effect(left, 0, 0, 0, 0);
    put(fixture, 5, 5, 700);
    assert_survey(fixture, &(tseed_effect_t){1, 1, 700, 1024});
}

static void test_store__put_tells_what_it_has_left(void **state)
{
    for (int what = TO_CHANGE; what <= TO_LOOK; what++) {
        fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
        tseed_effect_t left;

        put_stopped(fixture, what);
        assert_int_equal(tseed_store_unremoved_take(&left, fixture->store), EROFS);
        assert_effect(left, 0, 1, 10, 512);
        assert_survey(fixture, &left);
        assert_int_equal(tseed_store_unremoved_take(&left, fixture->store), APR_SUCCESS);
        assert_effect(left, 0, 0, 0, 0);
    }
}

/* A rename that a file server has done and reports as failed: nothing is emptied then. */
static void test_store__only_what_is_forbidden_is_emptied(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    tseed_effect_t left;

    refusal = EIO;
    put_stopped(fixture, TO_REMOVE);
    refusal = EACCES;
    assert_int_equal(tseed_store_unremoved_take(&left, fixture->store), EIO);
    assert_effect(left, 0, 1, 10, 512);
    assert_survey(fixture, &left);
}

static void test_store__allocation_is_rounded_up(void **state)
{
    fixture_t *fixture = open_store(state, TSEED_LAYOUT_XYZ);

    assert_int_equal(tseed_store_allocation(fixture->store, 4097), 4097);
    tseed_store_block_set(fixture->store, 4096);
    assert_int_equal(tseed_store_allocation(fixture->store, 0), 0);
    assert_int_equal(tseed_store_allocation(fixture->store, 1), 4096);
    assert_int_equal(tseed_store_allocation(fixture->store, 4096), 4096);
    assert_int_equal(tseed_store_allocation(fixture->store, 4097), 8192);
}

static tseed_effect_t count(fixture_t *fixture, tseed_range_t range)
{
    tseed_effect_t sum;

    assert_int_equal(tseed_store_count(&sum, NULL, fixture->store, &range, 0), APR_SUCCESS);
    return sum;
}

static void add_up(void *baton, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    assert_int_equal(tile->z, 4);
    tseed_effect_add(baton, effect);
}

static tseed_effect_t remove_range(fixture_t *fixture, tseed_range_t range)
{
    tseed_effect_t sum = {0};

    assert_int_equal(tseed_store_remove(fixture->store, &range,
                                        &(tseed_visitor_t){add_up, &sum, NULL, NULL}, NULL),
                     APR_SUCCESS);
    return sum;
}

static void test_store__remove_tells_what_each_tile_was_worth(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    put(fixture, 1, 2, 700);
    put(fixture, 1, 3, 0);
    uniform(fixture, 2, 2, "sea");
    assert_int_equal(symlink("2.png", tile(fixture, 4, 2, 3)), 0);
    assert_effect(remove_range(fixture, (tseed_range_t){4, 1, 2, 1, 2}), -1, -1, -700, -1024);
    assert_effect(remove_range(fixture, (tseed_range_t){4, 1, 3, 1, 3}), -1, -1, 0, 0);
    assert_effect(remove_range(fixture, (tseed_range_t){4, 2, 2, 2, 3}), -1, 0, 0, 0);
    assert_effect(sweep(fixture), 0, -1, -3, -512);
}

/* Names outside, such as those of a backup made of hard links, change nothing: what is below the
 * root is removed and counted by its own names. */
static void test_store__names_elsewhere_change_nothing(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    tseed_range_t range = {4, 1, 1, 1, 4};

    put(fixture, 1, 1, 700);
    put(fixture, 1, 2, 100);
    uniform(fixture, 1, 3, "sea");
    for (int64_t y = 1; y <= 3; y++) {
        assert_int_equal(link(tile(fixture, 4, 1, y),
                              apr_psprintf(fixture->pool, "%s/backup%d", fixture->top, (int)y)),
                         0);
    }
    assert_effect(count(fixture, range), 3, 2, 800, 1024 + 512);
    uniform(fixture, 1, 4, "land");
    assert_effect(count(fixture, range), 4, 2, 800, 1024 + 512);
    assert_effect(remove_range(fixture, range), -4, -2, -800, -1024 - 512);
}

static int masters(fixture_t *fixture)
{
    tseed_effect_t shared;

    assert_int_equal(tseed_store_shared_count(&shared, fixture->store, 0), APR_SUCCESS);
    return (int)shared.files;
}

/* Somebody removes the hidden directory: two names of one file in a page get a master again, and
 * count as before. A single name does when it is a name of that master. */
static void test_store__count_finds_a_lost_master_again(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    const char *links = full(fixture, ".tileseed/links/topp_states/EPSG_900913/png");
    const tseed_range_t all = {4, 0, 0, 15, 15}, one = {4, 1, 1, 1, 1};

    fixture->made.layer.store.link_uniform = 1;
    put(fixture, 2, 1, 700);
    for (int64_t y = 1; y <= 3; y++) {
        uniform(fixture, 1, y, "sea");
    }
    uniform(fixture, 2, 2, "ice");
    assert_effect(count(fixture, all), 5, 1, 700, 1024);
    for (int again = 0; again < 2; again++) { /* the second time another file has the name */
        assert_int_equal(masters(fixture), 2);
        assert_int_equal(system(apr_pstrcat(fixture->pool, "rm -r ", links, NULL)), 0);
        tseed_store_shared_forget();
        if (again) {
            uniform(fixture, 3, 1, "sea");
        }
        assert_effect(count(fixture, one), 1, 1, 3, 512);
        assert_int_equal(tseed_store_adopted_take(fixture->store), 0);
        assert_effect(count(fixture, all), 5 + again, 2, 703, 1024 + 512); /* "ice" is alone */
        assert_int_equal(tseed_store_adopted_take(fixture->store), 1);
        assert_int_equal(tseed_store_adopted_take(fixture->store), 0);
        assert_int_equal(masters(fixture), 1 + again);
        assert_effect(count(fixture, one), 1, 0, 0, 0);
        assert_effect(uniform(fixture, 2, 2, "ice"), 0, 0, 0, 0);
    }
}

static tseed_range_t random_range(void)
{
    int x = rand() % 16, y = rand() % 8;

    return (tseed_range_t){4, x, y, x + rand() % 3, y + rand() % 3};
}

/* One random step, as tasks and clean-ups make them. */
static tseed_effect_t step(fixture_t *fixture)
{
    static const char *const contents[] = {"sea", "land", "ice"};
    int64_t x = rand() % 16, y = rand() % 8;

    switch (rand() % 8) {
    case 0:
        return remove_range(fixture, random_range());
    case 1:
        return sweep(fixture);
    case 2:
    case 3:
        return uniform(fixture, x, y, contents[rand() % 3]);
    default:
        return put(fixture, x, y, (size_t)rand() % 2000);
    }
}

/* The sum of all effects is what is there, and so is the sum over pages and shared files. */
static void test_store__effects_add_up(void **state)
{
    fixture_t *fixture = *state;

    srand(4);
    for (int layout = TSEED_LAYOUT_GEOWEBCACHE; layout < TSEED_LAYOUT_TEMPLATE; layout++) {
        tseed_effect_t sum = {0}, counted, part;

        open_store_by_blocks(state, (tseed_layout_t)layout);
        for (int i = 0; i < 1000; i++) {
            tseed_effect_t effect = step(fixture);

            tseed_effect_add(&sum, &effect);
        }
        assert_survey(fixture, &sum);
        assert_int_equal(tseed_store_shared_count(&counted, fixture->store, 0), APR_SUCCESS);
        part = count(fixture, (tseed_range_t){4, 0, 0, 15, 3});
        tseed_effect_add(&counted, &part);
        part = count(fixture, (tseed_range_t){4, 0, 4, 15, 15});
        tseed_effect_add(&counted, &part);
        assert_survey(fixture, &counted);
        nftw(fixture->made.layer.store.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
}

/* What another httpd writes just now is about to become a tile; after an hour it is left. */
static void test_store__count_spares_young_leftovers_of_others(void **state)
{
    const struct timespec old[2] = {{1000000, 0}, {1000000, 0}};
    fixture_t *fixture;
    const char *own, *young, *left;
    tseed_effect_t sum;

    tseed_store_instance_set("own");
    fixture = open_store_by_blocks(state, TSEED_LAYOUT_QUADKEY);
    own = full(fixture, "topp_states/EPSG_900913/.tseed-own-255.tmp");
    young = full(fixture, "topp_states/EPSG_900913/.tseed-other-255.tmp");
    left = full(fixture, "topp_states/EPSG_900913/.tseed-other-254.tmp");
    assert_int_equal(tseed_store_put(&sum, fixture->store, &(tseed_tile_t){6, 0, 0}, "t", 1, NULL),
                     0);
    assert_int_equal(link(tile(fixture, 6, 0, 0), own), 0);
    close(creat(young, 0600));
    close(creat(left, 0600));
    assert_int_equal(utimensat(AT_FDCWD, left, old, 0), 0);
    assert_int_equal(
        tseed_store_count(&sum, NULL, fixture->store, &(tseed_range_t){6, 0, 0, 1, 0}, 1), 0);
    assert_int_not_equal(access(own, F_OK), 0);
    assert_int_equal(access(young, F_OK), 0);
    assert_int_not_equal(access(left, F_OK), 0);
    tseed_store_instance_set("");
}

/* A crash's files are nobody's: counting drops them in small directories and in large ones. */
static void test_store__count_drops_leftovers_when_asked(void **state)
{
    for (int large = 0; large < 2; large++) {
        fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_QUADKEY);
        const char *left = full(fixture, "topp_states/EPSG_900913/.tseed-255.tmp");
        tseed_effect_t sum;

        for (int i = 0; i < (large ? 1500 : 1); i++) {
            assert_int_equal(tseed_store_put(&sum, fixture->store,
                                             &(tseed_tile_t){6, i % 64, i / 64}, "t", 1, NULL),
                             0);
        }
        assert_int_equal(link(tile(fixture, 6, 0, 0), left), 0);
        assert_int_equal(count(fixture, (tseed_range_t){6, 0, 0, 1, 0}).names, 1 + large);
        assert_int_equal(access(left, F_OK), 0);
        assert_int_equal(
            tseed_store_count(&sum, NULL, fixture->store, &(tseed_range_t){6, 0, 0, 1, 0}, 1), 0);
        assert_int_not_equal(access(left, F_OK), 0);
    }
}

static void write_leftover(const char *path)
{
    int fd = creat(path, 0600);

    assert_int_equal(write(fd, "unfinished", 10), 10);
    close(fd);
}

/* A crash has left its files, and the directory has become read-only. Another name of a tile is not
 * emptied. */
static void test_store__count_empties_leftovers_it_cannot_remove(void **state)
{
    for (int large = 0; large < 2; large++) {
        fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_QUADKEY);
        const char *left = full(fixture, "topp_states/EPSG_900913/.tseed-255.tmp");
        const char *other = full(fixture, "topp_states/EPSG_900913/.tseed-254.tmp");
        const tseed_range_t range = {6, 0, 0, 1, 0};
        tseed_effect_t sum;
        struct stat st;

        for (int i = 0; i < (large ? 1500 : 1); i++) {
            assert_int_equal(tseed_store_put(&sum, fixture->store,
                                             &(tseed_tile_t){6, i % 64, i / 64}, "t", 1, NULL),
                             0);
        }
        assert_int_equal(link(tile(fixture, 6, 0, 0), other), 0);
        write_leftover(left);
        refused = TO_CHANGE;
        for (int again = 0; again < 2; again++) { /* noted once, the tile's other name as well */
            const tseed_effect_t noted = {0, again ? 0 : 2, again ? 0 : 11, again ? 0 : 1024};
            tseed_effect_t unremoved;

            assert_int_equal(tseed_store_count(&sum, NULL, fixture->store, &range, 1), APR_SUCCESS);
            assert_int_equal(tseed_store_unremoved_take(&unremoved, fixture->store) != APR_SUCCESS,
                             !again);
            assert_effect(unremoved, noted.names, noted.files, noted.bytes, noted.allocated);
        }
        assert_int_equal(stat(left, &st) == 0 ? st.st_size : -1, 10);
        refused = TO_REMOVE;
        assert_int_equal(tseed_store_count(&sum, NULL, fixture->store, &range, 1), APR_SUCCESS);
        assert_int_equal(stat(left, &st) == 0 ? st.st_size : -1, 0);
        assert_int_equal(stat(other, &st) == 0 ? st.st_size : -1, 1);
        refused = NOTHING;
        unlink(other);
        assert_effect(sum, 1 + large, 1 + large, 1 + large, 512 * (1 + large));
    }
}

static void test_store__count_of_shared_files_tells_what_it_has_left(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    const char *left = full(fixture, ".tileseed/links/topp_states/EPSG_900913/png/.tseed-3.tmp");
    tseed_effect_t sum, unremoved;

    uniform(fixture, 1, 2, "sea");
    assert_int_equal(link(tile(fixture, 4, 1, 2), full(fixture, ".tileseed/links/topp_states/"
                                                                "EPSG_900913/png/.tseed-4.tmp")),
                     0);
    write_leftover(left);
    refused = TO_CHANGE;
    assert_int_equal(tseed_store_shared_count(&sum, fixture->store, 1), APR_SUCCESS);
    refused = NOTHING;
    assert_effect(sum, 0, 1, 3, 512);
    assert_int_equal(tseed_store_unremoved_take(&unremoved, fixture->store), EROFS);
    assert_effect(unremoved, 0, 1, 10, 512);
}

/* The files of the host that had the role before; a host that comes back must not find its own. */
static void test_store__count_drops_leftovers_of_the_tenure_before(void **state)
{
    for (int large = 0; large < 2; large++) {
        fixture_t *fixture;
        const char *left, *own;
        tseed_effect_t sum;

        tseed_store_instance_set("own");
        tseed_store_tenure_set(9, 4);
        fixture = open_store_by_blocks(state, TSEED_LAYOUT_QUADKEY);
        left = full(fixture, "topp_states/EPSG_900913/.tseed-own-4-255.tmp");
        own = full(fixture, "topp_states/EPSG_900913/.tseed-own-9-255.tmp");
        for (int i = 0; i < (large ? 1500 : 1); i++) {
            assert_int_equal(tseed_store_put(&sum, fixture->store,
                                             &(tseed_tile_t){6, i % 64, i / 64}, "t", 1, NULL),
                             0);
        }
        assert_int_equal(link(tile(fixture, 6, 0, 0), left), 0);
        assert_int_equal(link(tile(fixture, 6, 0, 0), own), 0);
        assert_int_equal(
            tseed_store_count(&sum, NULL, fixture->store, &(tseed_range_t){6, 0, 0, 1, 0}, 1), 0);
        assert_int_not_equal(access(left, F_OK), 0);
        assert_int_not_equal(access(own, F_OK), 0);
        tseed_store_tenure_set(0, 0);
        tseed_store_instance_set("");
    }
}

static void test_store__walk_finds_every_tile(void **state)
{
    fixture_t *fixture = *state;

    for (int layout = TSEED_LAYOUT_GEOWEBCACHE; layout < TSEED_LAYOUT_TEMPLATE; layout++) {
        tseed_effect_t sum = {0}, found_sum = {0}, effect;

        open_store_by_blocks(state, (tseed_layout_t)layout);
        for (int i = 0; i < 200; i++) {
            effect = put(fixture, rand() % 16, rand() % 16, (size_t)i);
            tseed_effect_add(&sum, &effect);
        }
        for (int z = 3; z <= 5; z += 2) {
            assert_int_equal(tseed_store_put(&effect, fixture->store, &(tseed_tile_t){z, 1, 1},
                                             "other level", 11, NULL),
                             0);
        }
        assert_int_equal(tseed_store_walk(fixture->store, 4, 4,
                                          &(tseed_visitor_t){add_up, &found_sum, NULL, NULL}, NULL),
                         APR_SUCCESS);
        assert_effect(found_sum, sum.names, sum.files, sum.bytes, sum.allocated);
        nftw(fixture->made.layer.store.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
}

static void count_tile(void *baton, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    (void)tile;
    (void)effect;
    (*(int *)baton)++;
}

static int from_third(void *baton)
{
    return *(int *)baton >= 3;
}

static void test_store__walk_goes_through_levels_and_stops(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    int tiles = 0;

    for (int z = 2; z <= 9; z++) {
        tseed_effect_t effect;

        assert_int_equal(
            tseed_store_put(&effect, fixture->store, &(tseed_tile_t){z, 1, 1}, "t", 1, NULL), 0);
    }
    assert_int_equal(tseed_store_walk(fixture->store, 3, 8,
                                      &(tseed_visitor_t){count_tile, &tiles, NULL, NULL}, NULL),
                     0);
    assert_int_equal(tiles, 6);
    tiles = 0;
    assert_int_equal(tseed_store_walk(fixture->store, 0, 30,
                                      &(tseed_visitor_t){count_tile, &tiles, NULL, NULL},
                                      &(tseed_stop_t){from_third, &tiles}),
                     APR_EINTR);
    assert_int_equal(tiles, 3);
}

static apr_array_header_t *hashes_of(fixture_t *fixture, apr_status_t expected)
{
    apr_array_header_t *hashes;

    assert_int_equal(tseed_store_hashes(&hashes, &fixture->made.tileset, fixture->pool), expected);
    return hashes;
}

/* GeoWebCache's hash of ?STYLES=polygon and its names of two levels. There is no level 31, another
 * grid set is another matter, and 39 digits are no hash. */
static void test_store__hashes_of_a_cache_that_was_found(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_GEOWEBCACHE);
    static const char *const names[] = {
        "",
        "/topp_states",
        "/topp_states/EPSG_900913_10",
        "/topp_states/EPSG_900913_10_f0023dc7bc347fee7a3a04dc797f2223f74e3448",
        "/topp_states/EPSG_900913_11_f0023dc7bc347fee7a3a04dc797f2223f74e3448",
        "/topp_states/EPSG_900913_31_741c9a8301530c6faff21bbee084ade44abdc8b9",
        "/topp_states/EPSG_4326_10_7510004a12f49fdd49a2ba366e9c4594be7e4358",
        "/topp_states/EPSG_900913_12_ed5fe8dc461f38ece6b67eb7f6e02562283b4b2"};
    apr_array_header_t *hashes;

    assert_int_equal(hashes_of(fixture, APR_SUCCESS)->nelts, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(
            mkdir(apr_pstrcat(fixture->pool, fixture->made.layer.store.root, names[i], NULL), 0755),
            0);
    }
    hashes = hashes_of(fixture, APR_SUCCESS);
    assert_int_equal(hashes->nelts, 1);
    assert_string_equal(APR_ARRAY_IDX(hashes, 0, const char *),
                        "f0023dc7bc347fee7a3a04dc797f2223f74e3448");
}

static void test_store__hashes_of_every_layout(void **state)
{
    static const char *const templates[] = {"{layer}/{hash}/{z}/{x}/{y}.{ext}",
                                            "{z}/{hash}/{x}/{y}.{ext}"};
    static const char *const hash = "7510004a12f49fdd49a2ba366e9c4594be7e4358";
    fixture_t *fixture = *state;

    for (int layout = TSEED_LAYOUT_GEOWEBCACHE; layout <= TSEED_LAYOUT_TEMPLATE; layout++) {
        fixture->made.layer.store.path_template = templates[0];
        fixture->made.tileset.hash = hash;
        open_store_by_blocks(state, (tseed_layout_t)layout);
        put(fixture, 1, 1, 1);
        fixture->made.tileset.hash = NULL;
        assert_int_equal(hashes_of(fixture, APR_SUCCESS)->nelts, 1);
        nftw(fixture->made.layer.store.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
    fixture->made.layer.store.path_template = templates[1];
    hashes_of(fixture, APR_ENOTIMPL);
}

static const char *file_about(fixture_t *fixture, const char *name)
{
    static const char *const hash = "7510004a12f49fdd49a2ba366e9c4594be7e4358";
    const char *folder = full(fixture, name), *path;
    FILE *file;

    mkdir(fixture->made.layer.store.root, 0755);
    mkdir(folder, 0755);
    path = apr_pstrcat(fixture->pool, folder, "/parameters-", hash, ".properties", NULL);
    file = fopen(path, "w");
    assert_true(file && fputs(name, file) >= 0 && fclose(file) == 0);
    return tseed_store_hash_file(&fixture->made.tileset, hash, fixture->pool);
}

/* The layer's directory goes before one of its unchanged name. */
static void test_store__file_about_a_hash(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_GEOWEBCACHE);

    assert_null(file_about(fixture, "roads"));
    assert_string_equal(file_about(fixture, "topp:states"), "topp:states");
    assert_string_equal(file_about(fixture, "topp_states"), "topp_states");
    fixture->made.layer.store.layout = TSEED_LAYOUT_XYZ;
    assert_null(file_about(fixture, "topp_states"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_store__put_counts_what_it_replaces),
        STORE_TEST(test_store__put_counts_a_symbolic_link_as_nothing),
        STORE_TEST(test_store__put_that_fails_or_stops_has_no_effect),
        STORE_TEST(test_store__put_empties_what_it_cannot_remove),
        STORE_TEST(test_store__put_tells_what_it_has_left),
        STORE_TEST(test_store__only_what_is_forbidden_is_emptied),
        STORE_TEST(test_store__count_of_shared_files_tells_what_it_has_left),
        STORE_TEST(test_store__allocation_is_rounded_up),
        STORE_TEST(test_store__remove_tells_what_each_tile_was_worth),
        STORE_TEST(test_store__names_elsewhere_change_nothing),
        STORE_TEST(test_store__count_finds_a_lost_master_again),
        STORE_TEST(test_store__effects_add_up),
        STORE_TEST(test_store__count_drops_leftovers_when_asked),
        STORE_TEST(test_store__count_empties_leftovers_it_cannot_remove),
        STORE_TEST(test_store__count_drops_leftovers_of_the_tenure_before),
        STORE_TEST(test_store__count_spares_young_leftovers_of_others),
        STORE_TEST(test_store__walk_finds_every_tile),
        STORE_TEST(test_store__hashes_of_a_cache_that_was_found),
        STORE_TEST(test_store__hashes_of_every_layout),
        STORE_TEST(test_store__file_about_a_hash),
        STORE_TEST(test_store__walk_goes_through_levels_and_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
