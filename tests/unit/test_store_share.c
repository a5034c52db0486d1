/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Uniform tiles: one file, many names, and books that stay right. */
#include "store_effects_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct stat stat_tile(fixture_t *fixture, int64_t x, int64_t y)
{
    struct stat st = {0};

    assert_int_equal(lstat(tile(fixture, 4, x, y), &st), 0);
    return st;
}

static tseed_effect_t shared(fixture_t *fixture)
{
    tseed_effect_t sum;

    assert_int_equal(tseed_store_shared_count(&sum, fixture->store, 0), APR_SUCCESS);
    return sum;
}

static void test_share__the_first_pays_and_the_others_do_not(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    assert_effect(uniform(fixture, 1, 2, "sea"), 1, 1, 3, 512);
    assert_effect(uniform(fixture, 1, 3, "sea"), 1, 0, 0, 0);
    assert_effect(uniform(fixture, 9, 3, "sea"), 1, 0, 0, 0);
    assert_effect(uniform(fixture, 9, 4, "land"), 1, 1, 4, 512);
    assert_effect(shared(fixture), 0, 2, 7, 1024);
    assert_int_equal(stat_tile(fixture, 1, 2).st_ino, stat_tile(fixture, 9, 3).st_ino);
    assert_int_equal(stat_tile(fixture, 1, 2).st_nlink, 4);
}

static void test_share__link_replaces(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    put(fixture, 1, 2, 700);
    assert_effect(uniform(fixture, 1, 2, "sea"), 0, 0, 3 - 700, 512 - 1024);
    assert_effect(uniform(fixture, 1, 2, "sea"), 0, 0, 0, 0);
    assert_effect(uniform(fixture, 1, 2, "land"), 0, 1, 4, 512);
    assert_effect(put(fixture, 1, 2, 9), 0, 1, 9, 512);
    assert_effect(sweep(fixture), 0, -2, -7, -1024);
}

static void test_share__several_views_share_one_file(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_GEOWEBCACHE);
    tseed_effect_t first = uniform(fixture, 1, 2, "sea");

    open_store_by_blocks(state, TSEED_LAYOUT_GEOWEBCACHE);
    assert_effect(first, 1, 1, 3, 512);
    assert_effect(uniform(fixture, 1, 3, "sea"), 1, 0, 0, 0);
}

static void test_share__made_twice_is_made_once(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    tseed_effect_t effect;

    assert_int_equal(tseed_store_share(&effect, fixture->store, "sea", 3), APR_SUCCESS);
    assert_effect(effect, 0, 1, 3, 512);
    assert_int_equal(tseed_store_share(&effect, fixture->store, "sea", 3), APR_SUCCESS);
    assert_effect(effect, 0, 0, 0, 0);
}

static void test_share__sweep_takes_what_has_no_tile(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    uniform(fixture, 1, 2, "sea");
    uniform(fixture, 1, 3, "land");
    unlink(tile(fixture, 4, 1, 2));
    assert_effect(sweep(fixture), 0, -1, -3, -512);
    assert_effect(sweep(fixture), 0, 0, 0, 0);
    assert_effect(shared(fixture), 0, 1, 4, 512);
    assert_effect(uniform(fixture, 1, 2, "sea"), 1, 1, 3, 512);
    unlink(tile(fixture, 4, 1, 2));
    unlink(tile(fixture, 4, 1, 3));
    assert_effect(sweep(fixture), 0, -2, -7, -1024);
    assert_int_not_equal(access(full(fixture, ".tileseed"), F_OK), 0);
    assert_effect(shared(fixture), 0, 0, 0, 0);
}

/* What another thread's sweep removed is not believed to be there. */
static void test_share__link_notices_a_sweep(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    tseed_store_t *first = fixture->store;

    uniform(fixture, 1, 2, "sea");
    unlink(tile(fixture, 4, 1, 2));
    open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    assert_effect(sweep(fixture), 0, -1, -3, -512);
    fixture->store = first;
    assert_effect(uniform(fixture, 1, 2, "sea"), 1, 1, 3, 512);
}

static void test_share__link_after_all_was_removed_by_hand(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    uniform(fixture, 1, 2, "sea");
    nftw(fixture->made.layer.store.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    assert_effect(uniform(fixture, 1, 2, "sea"), 1, 1, 3, 512);
}

/* A master that a power cut has emptied would make empty tiles for ever. */
static void test_share__an_emptied_master_is_passed_over(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    uniform(fixture, 1, 2, "sea");
    assert_int_equal(truncate(tile(fixture, 4, 1, 2), 0), 0);
    open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    assert_effect(uniform(fixture, 1, 3, "sea"), 1, 1, 3, 512);
    assert_effect(uniform(fixture, 1, 2, "sea"), 0, 0, 0, 0);
    assert_int_equal(stat_tile(fixture, 1, 2).st_size, 3);
    assert_effect(sweep(fixture), 0, -1, 0, 0);
}

static void test_share__parameters_and_formats_share_nothing(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    assert_effect(uniform(fixture, 1, 2, "sea"), 1, 1, 3, 512);
    fixture->made.tileset.hash = "7510004a12f49fdd49a2ba366e9c4594be7e4358";
    open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    assert_effect(uniform(fixture, 1, 2, "sea"), 1, 1, 3, 512);
    assert_effect(shared(fixture), 0, 1, 3, 512);
    fixture->made.format.extension = "jpeg";
    open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    assert_effect(uniform(fixture, 1, 2, "sea"), 1, 1, 3, 512);
}

/* Files that can't get a name in that directory now; the module's linkat is this one. */
static const char *elsewhere;

/* How many names a file can have. 0: as many as the file system gives; ext4 gives 65,000. */
static nlink_t names_most;

int linkat(int from, const char *name, int to, const char *target, int flags)
{
    struct stat st;

    if (elsewhere && strstr(target, elsewhere)) {
        errno = EXDEV;
        return -1;
    }
    if (names_most && fstatat(from, name, &st, 0) == 0 && st.st_nlink >= names_most) {
        errno = EMLINK;
        return -1;
    }
    return (int)syscall(SYS_linkat, from, name, to, target, flags);
}

static void test_share__a_master_with_all_names_gets_a_successor(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);

    names_most = 4;
    uniform(fixture, 1, 2, "sea");
    assert_effect(uniform(fixture, 1, 3, "sea"), 1, 0, 0, 0);
    assert_effect(uniform(fixture, 1, 4, "sea"), 1, 0, 0, 0);
    assert_effect(uniform(fixture, 1, 5, "sea"), 1, 1, 3, 512);
    assert_effect(uniform(fixture, 1, 6, "sea"), 1, 0, 0, 0);
    open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    assert_effect(uniform(fixture, 1, 7, "sea"), 1, 0, 0, 0);
    names_most = 0;
}

static void test_share__across_file_systems_is_put_instead(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    tseed_effect_t sum = {0};

    uniform(fixture, 1, 2, "sea");
    elsewhere = "5.png";
    assert_int_equal(uniform_of(&sum, fixture->store, (tseed_tile_t){4, 2, 10}, "sea"),
                     APR_ENOTIMPL);
    assert_effect(sum, 0, 0, 0, 0);
    elsewhere = NULL;
    assert_effect(uniform(fixture, 1, 3, "sea"), 1, 0, 0, 0);
}

/* What can't be read is no proof that there are none. */
static void test_share__masters_that_cannot_be_read_are_asked_for_again(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    const char *links = full(fixture, ".tileseed/links/topp_states/EPSG_900913/png");
    const char *away = full(fixture, ".tileseed/away");
    tseed_effect_t sum, effect;

    sum = uniform(fixture, 1, 2, "sea");
    effect = uniform(fixture, 1, 3, "sea");
    tseed_effect_add(&sum, &effect);
    open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    assert_int_equal(rename(links, away), 0);
    assert_int_equal(symlink(away, links), 0);
    assert_int_equal(
        tseed_store_put(&effect, fixture->store, &(tseed_tile_t){4, 1, 2}, "land", 4, NULL), ELOOP);
    assert_effect(effect, 0, 0, 0, 0);
    assert_int_equal(unlink(links), 0);
    assert_int_equal(rename(away, links), 0);
    effect = put(fixture, 1, 2, 4);
    assert_effect(effect, 0, 1, 4, BLOCK);
    tseed_effect_add(&sum, &effect);
    assert_survey(fixture, &sum);
}

/* Views learn of each other's masters, and of those that are swept, without reading them again. */
static void test_share__views_keep_up_with_many_colours(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    tseed_store_t *mine = fixture->store, *other;
    tseed_effect_t sum = {0}, effect;

    open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    other = fixture->store;
    for (int i = 0; i < 3000; i++) {
        char colour[16];

        snprintf(colour, sizeof(colour), "colour %d", i);
        fixture->store = i % 2 ? mine : other;
        effect = uniform(fixture, i % 16, i / 16 % 8, colour);
        tseed_effect_add(&sum, &effect);
        effect = uniform(fixture, i % 16, i / 16 % 8 + 8, colour);
        tseed_effect_add(&sum, &effect);
        if (i % 7 == 0) {
            effect = sweep(fixture);
            tseed_effect_add(&sum, &effect);
        }
    }
    assert_survey(fixture, &sum);
}

static int always(void *baton)
{
    (void)baton;
    return 1;
}

static void test_share__stopped_changes_nothing(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    const tseed_stop_t stop = {always, NULL};
    tseed_effect_t effect;

    uniform(fixture, 1, 2, "sea");
    put(fixture, 1, 4, 700);
    for (int64_t y = 3; y <= 4; y++) {
        assert_int_equal(
            tseed_store_link(&effect, fixture->store, &(tseed_tile_t){4, 1, y}, "sea", 3, &stop),
            APR_EINTR);
        assert_effect(effect, 0, 0, 0, 0);
    }
    assert_int_equal(stat_tile(fixture, 1, 4).st_size, 700);
}

static void test_share__what_is_empty_or_long_is_put_instead(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    static const char longer[100000];
    tseed_effect_t effect;

    assert_int_equal(tseed_store_link(&effect, fixture->store, &(tseed_tile_t){4, 1, 1}, longer,
                                      sizeof(longer), NULL),
                     APR_ENOTIMPL);
    assert_int_equal(tseed_store_share(&effect, fixture->store, longer, 0), APR_ENOTIMPL);
}

/* What a crash leaves beside the masters goes with a sweep when it is an hour old. */
static void test_share__sweep_drops_old_leftovers(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    const char *left = full(fixture, ".tileseed/links/topp_states/EPSG_900913/png/.tseed-3.tmp");
    const struct timespec old[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};

    uniform(fixture, 1, 2, "sea");
    assert_int_equal(link(tile(fixture, 4, 1, 2), left), 0);
    assert_effect(sweep(fixture), 0, 0, 0, 0);
    assert_int_equal(access(left, F_OK), 0);
    assert_int_equal(utimensat(AT_FDCWD, left, old, 0), 0);
    assert_effect(sweep(fixture), 0, 0, 0, 0);
    assert_int_not_equal(access(left, F_OK), 0);
    assert_effect(shared(fixture), 0, 1, 3, 512);
}

/* What a crash leaves beside the masters goes with a count, while nothing is written. It may be
 * another name of a master. */
static void test_share__count_drops_leftovers(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    const char *left = full(fixture, ".tileseed/links/topp_states/EPSG_900913/png/.tseed-3.tmp");
    tseed_effect_t sum;

    uniform(fixture, 1, 2, "sea");
    assert_int_equal(link(tile(fixture, 4, 1, 2), left), 0);
    assert_effect(shared(fixture), 0, 1, 3, 512);
    assert_int_equal(access(left, F_OK), 0);
    assert_int_equal(tseed_store_shared_count(&sum, fixture->store, 1), APR_SUCCESS);
    assert_effect(sum, 0, 1, 3, 512);
    assert_int_not_equal(access(left, F_OK), 0);
    assert_int_equal(access(tile(fixture, 4, 1, 2), F_OK), 0);
}

/* A full disk, for which a file size limit stands. */
static void test_share__that_fails_leaves_nothing(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    struct rlimit before, small;
    tseed_effect_t effect, none = {0};
    apr_status_t rv;

    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){4, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    rv = tseed_store_share(&effect, fixture->store, "longer than that", 16);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rv, EFBIG);
    assert_effect(effect, 0, 0, 0, 0);
    assert_survey(fixture, &none);
}

/* Threads */

typedef struct {
    fixture_t *fixture;
    unsigned id;
    apr_pool_t *pool;
    _Atomic int *done;
    tseed_effect_t sum;
} thread_t;

/* Links and removes tiles of its own row. Removing is what makes masters go. */
static void *link_many(void *data)
{
    static const char *const contents[] = {"sea", "land", "ice", "sand", "rock", "wood"};
    thread_t *self = data;
    unsigned seed = self->id;
    tseed_store_t *store;

    tseed_store_open(&store, &self->fixture->made.tileset, self->id, self->pool);
    tseed_store_block_set(store, BLOCK);
    for (int i = 0; i < 3000; i++) {
        tseed_tile_t at = {4, rand_r(&seed) % 4, self->id};

        if (rand_r(&seed) % 2) {
            uniform_of(&self->sum, store, at, contents[rand_r(&seed) % 6]);
        } else if (unlink(apr_pstrcat(
                       self->pool, self->fixture->made.layer.store.root, "/",
                       tseed_store_path(&self->fixture->made.tileset, 4, at.x, at.y, self->pool),
                       NULL)) == 0) {
            self->sum.names--;
        }
    }
    tseed_store_close(store);
    atomic_fetch_add(self->done, 1);
    return NULL;
}

static void test_share__threads_link_while_another_sweeps(void **state)
{
    fixture_t *fixture = open_store_by_blocks(state, TSEED_LAYOUT_XYZ);
    thread_t threads[3];
    pthread_t ids[3];
    _Atomic int done = 0;
    tseed_effect_t sum = {0}, effect;

    for (unsigned i = 0; i < 3; i++) {
        threads[i] = (thread_t){.fixture = fixture, .id = i, .done = &done};
        apr_pool_create(&threads[i].pool, NULL);
        assert_int_equal(pthread_create(&ids[i], NULL, link_many, &threads[i]), 0);
    }
    while (atomic_load(&done) < 3) {
        effect = sweep(fixture);
        tseed_effect_add(&sum, &effect);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(ids[i], NULL);
        tseed_effect_add(&sum, &threads[i].sum);
        apr_pool_destroy(threads[i].pool);
    }
    assert_survey(fixture, &sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_share__the_first_pays_and_the_others_do_not),
        STORE_TEST(test_share__link_replaces),
        STORE_TEST(test_share__several_views_share_one_file),
        STORE_TEST(test_share__made_twice_is_made_once),
        STORE_TEST(test_share__sweep_takes_what_has_no_tile),
        STORE_TEST(test_share__link_notices_a_sweep),
        STORE_TEST(test_share__link_after_all_was_removed_by_hand),
        STORE_TEST(test_share__an_emptied_master_is_passed_over),
        STORE_TEST(test_share__parameters_and_formats_share_nothing),
        STORE_TEST(test_share__a_master_with_all_names_gets_a_successor),
        STORE_TEST(test_share__across_file_systems_is_put_instead),
        STORE_TEST(test_share__masters_that_cannot_be_read_are_asked_for_again),
        STORE_TEST(test_share__views_keep_up_with_many_colours),
        STORE_TEST(test_share__stopped_changes_nothing),
        STORE_TEST(test_share__what_is_empty_or_long_is_put_instead),
        STORE_TEST(test_share__sweep_drops_old_leftovers),
        STORE_TEST(test_share__count_drops_leftovers),
        STORE_TEST(test_share__that_fails_leaves_nothing),
        STORE_TEST(test_share__threads_link_while_another_sweeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
