/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder's process without httpd: the books and the disk quota. */
#include "seeder_fixture.h"

#include <fcntl.h>
#include <sys/inotify.h>

#include "state/tseed_origin_rows.h"

/* ---- the books ---- */

static int64_t disk_files, disk_bytes;

/* A shared file is counted at its hidden name, as du would count it once. */
static int measure(const char *path, const struct stat *info, int flag, struct FTW *at)
{
    (void)at;
    if (flag == FTW_F && (info->st_nlink == 1 || strstr(path, "/.tileseed/links/"))) {
        disk_files++;
        disk_bytes += (info->st_size + BLOCK - 1) / BLOCK * BLOCK;
    }
    return 0;
}

static void measure_disk(fixture_t *fixture)
{
    disk_files = disk_bytes = 0;
    nftw(fixture->layer->store.root, measure, 16, FTW_PHYS);
}

static tseed_effect_t sum_of_books(fixture_t *fixture)
{
    tseed_effect_t sum = {0};
    apr_array_header_t *records;

    assert_int_equal(tseed_books_tilesets(fixture->state, &records, fixture->pool), APR_SUCCESS);
    for (int i = 0; i < records->nelts; i++) {
        const tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        tseed_effect_add(&sum, &record->paged);
        tseed_effect_add(&sum, &record->shared);
        tseed_effect_add(&sum, &record->detached);
    }
    return sum;
}

static int books_agree(fixture_t *fixture)
{
    tseed_effect_t sum = sum_of_books(fixture);

    measure_disk(fixture);
    return sum.files == disk_files && sum.allocated == disk_bytes;
}

static void await_agreement(fixture_t *fixture)
{
    apr_time_t deadline = tseed_clock_monotonic() + TEST_TIMEOUT;

    while (!books_agree(fixture)) {
        assert_true(tseed_clock_monotonic() < deadline);
        apr_sleep(100000); /* the books are saved once a second */
    }
}

/* The books agree with the disk, and what was renamed away by a truncate has gone: it is in the
 * books as long as it is on the disk. */
static void await_files(fixture_t *fixture, int64_t files)
{
    apr_time_t deadline = tseed_clock_monotonic() + TEST_TIMEOUT;

    while (!books_agree(fixture) || disk_files != files) {
        if (tseed_clock_monotonic() > deadline) {
            assert_int_equal(disk_files, files);
            fail_msg("the books do not agree with the disk");
        }
        apr_sleep(100000);
    }
}

/* Whether all that is on the disk is in the books; nothing is limited before. */
static int is_known(fixture_t *fixture)
{
    apr_array_header_t *records;
    int complete = 0;

    assert_int_equal(tseed_books_tilesets(fixture->state, &records, fixture->pool), APR_SUCCESS);
    for (int i = 0; i < records->nelts; i++) {
        complete += APR_ARRAY_IDX(records, i, tseed_tileset_record_t).complete;
    }
    return complete == 2;
}

static void set_quota(fixture_t *fixture, const char *document)
{
    tseed_quota_change_t change = {.only = NULL};
    const char *saved, *directive;
    int64_t version;

    AWAIT(is_known(fixture));
    AWAIT(tseed_state_quota_get(fixture->state, &saved, &directive, &version, fixture->pool) ==
          APR_SUCCESS);
    assert_null(tseed_quota_config_load(&change.config, saved, fixture->pool));
    assert_null(tseed_quota_config_merge(&change, TSEED_BODY_JSON, document, strlen(document), NULL,
                                         fixture->pool));
    assert_int_equal(tseed_state_quota_set(fixture->state,
                                           tseed_quota_config_save(&change.config, fixture->pool),
                                           directive, version),
                     APR_SUCCESS);
    ring(fixture);
}

static void test_seeder_quota__books_agree_with_the_disk(void **state)
{
    fixture_t *fixture = *state;

    wait_end(fixture, post(fixture, "seed", 4, 4));
    await_files(fixture, 341);
    wait_end(fixture, post(fixture, "reseed", 3, 2));
    await_agreement(fixture);
    wait_end(fixture, post(fixture, "truncate", 3, 1));
    await_files(fixture, 256);
    wait_end(fixture, post(fixture, "truncate", 20, 1));
    await_files(fixture, 0);
}

static void test_seeder_quota__books_take_an_existing_cache_in(void **state)
{
    fixture_t *fixture = *state;

    wait_end(fixture, post(fixture, "seed", 4, 4));
    seeder_stop(fixture, SIGTERM);
    assert_true(sql(fixture, "DELETE FROM page"));
    assert_true(sql(fixture, "DELETE FROM tileset"));
    seeder_start(fixture);
    await_files(fixture, 341);
}

/* A seeder that died while all was counted by another block size, which was then taken back. */
static void test_seeder_quota__sizes_by_two_blocks_are_counted_again(void **state)
{
    fixture_t *fixture = *state;

    wait_end(fixture, post(fixture, "seed", 4, 4));
    await_agreement(fixture);
    assert_int_equal(seeder_stop(fixture, SIGTERM), 0);
    assert_true(sql(fixture, "UPDATE note SET value = '-1' WHERE name = 'block'"));
    assert_true(sql(fixture, "UPDATE page SET allocated = 2 * allocated"));
    assert_true(sql(fixture, "UPDATE tileset SET allocated = 2 * allocated"));
    assert_false(books_agree(fixture));
    seeder_start(fixture);
    await_agreement(fixture);
}

/* What sizes are rounded up to is known before, and without, the quota that it is a part of. */
static void test_seeder_quota__sizes_are_right_without_a_quota(void **state)
{
    fixture_t *fixture = *state;

    wait_end(fixture, post(fixture, "seed", 2, 1));
    await_agreement(fixture);
    seeder_stop(fixture, SIGTERM);
    assert_true(sql(fixture, "UPDATE quota SET config = 'nonsense'"));
    seeder_start(fixture);
    wait_end(fixture, post(fixture, "seed", 3, 1));
    await_files(fixture, 85);
}

static void test_seeder_quota__books_agree_after_kills(void **state)
{
    fixture_t *fixture = *state;
    int64_t id = post(fixture, "seed", 5, 4);

    for (int i = 1; i <= 6; i++) {
        wait_processed(fixture, id, i * 100);
        seeder_stop(fixture, SIGKILL);
        seeder_start(fixture);
    }
    assert_int_equal(wait_end(fixture, id).state, TSEED_DONE);
    await_files(fixture, 1365);
    id = post(fixture, "truncate", 5, 1);
    apr_sleep(20000);
    seeder_stop(fixture, SIGKILL);
    seeder_start(fixture);
    wait_end(fixture, id);
    await_files(fixture, 0);
}

static int is_doubtful(fixture_t *fixture)
{
    apr_array_header_t *records;
    uint64_t levels = 0;

    assert_int_equal(tseed_books_tilesets(fixture->state, &records, fixture->pool), APR_SUCCESS);
    for (int i = 0; i < records->nelts; i++) {
        levels |= APR_ARRAY_IDX(records, i, tseed_tileset_record_t).doubtful;
    }
    return levels != 0;
}

static void test_seeder_quota__doubts_of_an_earlier_seeder_have_an_end(void **state)
{
    fixture_t *fixture = *state;

    wait_end(fixture, post(fixture, "seed", 4, 4));
    seeder_stop(fixture, SIGTERM);
    assert_true(sql(fixture, "UPDATE tileset SET doubtful = 24"));
    assert_true(sql(fixture, "UPDATE page SET files = 1, allocated = 4096 WHERE z > 2"));
    seeder_start(fixture);
    AWAIT(!is_doubtful(fixture));
    assert_true(books_agree(fixture));
    assert_int_equal(disk_files, 341);
}

/* A truncate of a few tiles of a level whose other pages an earlier seeder has left in doubt. */
static void test_seeder_quota__doubts_outlast_a_truncate_beside_them(void **state)
{
    fixture_t *fixture = *state;

    wait_end(fixture, post(fixture, "seed", 4, 4));
    seeder_stop(fixture, SIGTERM);
    assert_true(sql(fixture, "INSERT INTO page WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT"
                             " i + 1 FROM n WHERE i < 11999) SELECT 1, 20, i % 200, i / 200, 1, 1,"
                             " 4096, 4096, 0, 0, 0, 0 FROM n"));
    assert_true(sql(fixture, "UPDATE tileset SET doubtful = 1 << 20 WHERE id = 1"));
    seeder_start(fixture);
    wait_end(fixture,
             post_document(fixture, fixture->layer,
                           "{'seedRequest':{'type':'truncate','zoomStart':20,'zoomStop':20,"
                           "'bounds':{'coords':{'double':[0,0,10,10]}}}}"));
    seeder_stop(fixture, SIGKILL);
    seeder_start(fixture);
    await_files(fixture, 341);
}

/* Another database in the place of ours, told first of the tile set that is not the first. */
static void test_seeder_quota__another_database_gets_the_books_whole(void **state)
{
    static const char document[] = "{'seedRequest':{'type':'seed','zoomStart':0,'zoomStop':3}}";
    fixture_t *fixture = *state;

    wait_end(fixture, post(fixture, "seed", 4, 4));
    wait_end(fixture, post_document(fixture, fixture->other, document));
    await_agreement(fixture);
    assert_true(sql(fixture, "DELETE FROM page"));
    assert_true(sql(fixture, "DELETE FROM tileset"));
    wait_end(fixture, post_document(fixture, fixture->other, document));
    wait_end(fixture, post_document(fixture, fixture->other,
                                    "{'seedRequest':{'type':'truncate','zoomStart':3,"
                                    "'zoomStop':3}}"));
    await_agreement(fixture);
    seeder_stop(fixture, SIGTERM);
    seeder_start(fixture);
    wait_end(fixture, post(fixture, "truncate", 2, 1));
    await_files(fixture, 320 + 21);
}

/* One that was ours long ago: it has the tile sets by other numbers, and pages that have gone. */
static void test_seeder_quota__an_old_database_gets_the_books_whole(void **state)
{
    fixture_t *fixture = *state;

    wait_end(fixture, post(fixture, "seed", 4, 4));
    await_agreement(fixture);
    assert_true(sql(fixture, "UPDATE page SET tileset = tileset + 10, x = x + 7"));
    assert_true(sql(fixture, "UPDATE tileset SET id = id + 10"));
    wait_end(fixture, post(fixture, "truncate", 3, 1));
    await_agreement(fixture);
    seeder_stop(fixture, SIGTERM);
    seeder_start(fixture);
    wait_end(fixture, post(fixture, "truncate", 1, 1));
    await_files(fixture, 256);
}

/* The last backup, put back while there is no seeder. */
static void test_seeder_quota__the_books_of_a_backup_are_compared_with_the_disk(void **state)
{
    fixture_t *fixture = *state;
    const char *path = apr_pstrcat(fixture->pool, fixture->dir, "/tileseed.db", NULL);
    const char *backup = apr_pstrcat(fixture->pool, fixture->dir, "/backup.db", NULL);

    wait_end(fixture, post(fixture, "seed", 4, 4));
    await_agreement(fixture);
    assert_true(sql(fixture, apr_psprintf(fixture->pool, "VACUUM INTO '%s'", backup)));
    wait_end(fixture, post(fixture, "truncate", 3, 1));
    wait_end(fixture, post_document(fixture, fixture->other, "{'seedRequest':{'zoomStop':2}}"));
    seeder_stop(fixture, SIGTERM);
    unlink(apr_pstrcat(fixture->pool, path, "-wal", NULL));
    unlink(apr_pstrcat(fixture->pool, path, "-shm", NULL));
    assert_int_equal(rename(backup, path), 0);
    seeder_start(fixture);
    await_files(fixture, 256 + 21);
}

/* Whether anything is known of where the tiles of level 3 came from. */
static int knows_answers(fixture_t *fixture)
{
    static const tseed_page_t page = {3, 0, 0};
    const char *text;

    assert_int_equal(tseed_origin_rows_load(fixture->state, &text, 1, &page, fixture->pool),
                     APR_SUCCESS);
    return *text != '\0';
}

/* Tasks of other metatiles and of the same ones come in turn: what either writes counts. */
static void test_seeder_quota__answers_are_forgotten_when_recipes_come_and_go(void **state)
{
    fixture_t *fixture = *state;
    int64_t before;

    wait_end(fixture, post(fixture, "seed", 3, 4));
    seeder_stop(fixture, SIGTERM);
    assert_true(knows_answers(fixture));
    fixture->layer->meta_width = 2;
    post(fixture, "reseed", 0, 1);
    fixture->layer->meta_width = 4;
    post_document(fixture, fixture->layer,
                  "{'seedRequest':{'type':'reseed','zoomStart':4,'zoomStop':4}}");
    before = upstream->requests;
    upstream->mood = HANGS;
    seeder_start(fixture);
    AWAIT(upstream->requests == before + 2);
    AWAIT(!knows_answers(fixture));
}

static void test_seeder_quota__books_take_shared_files_in(void **state)
{
    fixture_t *fixture = *state;

    seeder_stop(fixture, SIGTERM);
    fixture->layer->store.link_uniform = 1;
    upstream->mood = UNIFORM;
    seeder_start(fixture);
    wait_end(fixture, post(fixture, "seed", 3, 4));
    seeder_stop(fixture, SIGTERM);
    assert_true(sql(fixture, "DELETE FROM page"));
    assert_true(sql(fixture, "DELETE FROM tileset"));
    seeder_start(fixture);
    await_files(fixture, 1);
}

/* Looks at the disk from outside, again and again. The seeder stands still meanwhile: what it
 * removes behind us and writes before us would be counted twice. It works at least as long as it
 * stands, however slow the machine is. */
static void *watch_disk(void *data)
{
    fixture_t *fixture = data;
    int64_t most = 0;
    int status;

    while (fixture->watched) {
        const apr_time_t begin = tseed_clock_monotonic();

        kill(fixture->seeder, SIGSTOP);
        waitpid(fixture->seeder, &status, WUNTRACED);
        measure_disk(fixture);
        kill(fixture->seeder, SIGCONT);
        most = disk_bytes > most ? disk_bytes : most;
        apr_sleep(20000 + tseed_clock_monotonic() - begin);
    }
    fixture->most_seen = most;
    return NULL;
}

static void watch_begin(fixture_t *fixture)
{
    fixture->watched = 1;
    assert_int_equal(pthread_create(&fixture->watcher, NULL, watch_disk, fixture), 0);
}

/* Returns the most bytes that were on the disk at a time. */
static int64_t watch_end(fixture_t *fixture)
{
    fixture->watched = 0;
    assert_int_equal(pthread_join(fixture->watcher, NULL), 0);
    return fixture->most_seen;
}

/* Ends a watch that a failed check has left, before the seeder goes. */
static int watched_teardown(void **state)
{
    fixture_t *fixture = *state;

    if (fixture->watched) {
        watch_end(fixture);
    }
    return fixture_teardown(state);
}

static void test_seeder_quota__quota_is_never_passed(void **state)
{
    fixture_t *fixture = *state;
    int64_t id;

    set_quota(fixture, "{'cacheQuotaConfiguration':{'enabled':true,'globalQuota':{'value':6,"
                       "'units':'MiB'},'globalExpirationPolicyName':'LRU'}}");
    watch_begin(fixture);
    id = post(fixture, "seed", 6, 4); /* 5461 tiles of a block each, three times the quota */
    assert_int_equal(wait_end(fixture, id).state, TSEED_DONE);
    assert_in_range(watch_end(fixture), 3 << 20, 6 << 20);
    assert_int_equal(progress_of(fixture, id).made, 5461);
    await_agreement(fixture);
}

static void test_seeder_quota__a_lowered_quota_is_reached_by_and_by(void **state)
{
    fixture_t *fixture = *state;

    wait_end(fixture, post(fixture, "seed", 6, 4));
    await_agreement(fixture);
    set_quota(fixture, "{'cacheQuotaConfiguration':{'enabled':true,'cacheCleanUpFrequency':1,"
                       "'globalQuota':{'value':20,'units':'MiB'}}}");
    AWAIT(sum_of_books(fixture).allocated <= 20 << 20);
    set_quota(fixture, "{'cacheQuotaConfiguration':{'globalQuota':{'value':8,'units':'MiB'}}}");
    AWAIT(sum_of_books(fixture).allocated <= 8 << 20);
    await_agreement(fixture);
    assert_true(disk_bytes > 3 << 20);
}

/* Tiles of very many single colours are links to as many shared files: these go as other files do.
 * Room for 64 of 1365. */
static void shared_files_make_room(fixture_t *fixture, const char *policy)
{
    int64_t id;

    seeder_stop(fixture, SIGTERM);
    fixture->layer->store.link_uniform = 1;
    fixture->layer->meta_width = fixture->layer->meta_height = 1;
    upstream->mood = COLOURS;
    seeder_start(fixture);
    set_quota(fixture, apr_psprintf(fixture->pool,
                                    "{'cacheQuotaConfiguration':{'enabled':true,"
                                    "'cacheCleanUpFrequency':1,'globalQuota':{'value':256,'units':"
                                    "'KiB'},'globalExpirationPolicyName':'%s'}}",
                                    policy));
    id = post(fixture, "seed", 5, 4);
    assert_int_equal(wait_end(fixture, id).state, TSEED_DONE);
    assert_int_equal(progress_of(fixture, id).made, 1365);
    await_agreement(fixture);
    assert_true(disk_bytes <= 256 << 10);
    set_quota(fixture, "{'cacheQuotaConfiguration':{'layerQuotas':[{'layer':'topp:states','quota':"
                       "{'value':20,'units':'KiB'}}]}}");
    AWAIT(sum_of_books(fixture).allocated <= 20 << 10);
    await_agreement(fixture);
}

static void test_seeder_quota__shared_files_make_room_by_lru(void **state)
{
    shared_files_make_room(*state, "LRU");
}

static void test_seeder_quota__shared_files_make_room_by_lfu(void **state)
{
    shared_files_make_room(*state, "LFU");
}

/* Waits for the end of a task; meanwhile the books never say more than the limit. */
static int ends_within(fixture_t *fixture, int64_t id, int64_t limit)
{
    assert_true(sum_of_books(fixture).allocated <= limit);
    return progress_of(fixture, id).state == TSEED_DONE;
}

/* However small the quota: who waits for room keeps none from being made, and what was evicted
 * meanwhile is not made again. */
static void get_on_with_20_tiles(fixture_t *fixture, const char *policy)
{
    int64_t ids[2];

    set_quota(fixture, apr_psprintf(fixture->pool,
                                    "{'cacheQuotaConfiguration':{'enabled':true,'globalQuota':{"
                                    "'value':80,'units':'KiB'},'globalExpirationPolicyName':'%s'}}",
                                    policy));
    watch_begin(fixture);
    ids[0] = post(fixture, "seed", 5, 4);
    ids[1] = post(fixture, "reseed", 4, 2);
    AWAIT(ends_within(fixture, ids[0], 80 << 10));
    AWAIT(ends_within(fixture, ids[1], 80 << 10));
    assert_in_range(watch_end(fixture), 16 << 10, 80 << 10);
    assert_int_equal(progress_of(fixture, ids[0]).made + progress_of(fixture, ids[0]).skipped,
                     1365);
    assert_int_equal(progress_of(fixture, ids[1]).made + progress_of(fixture, ids[1]).skipped, 341);
    assert_int_equal(progress_of(fixture, ids[1]).failed, 0);
    await_agreement(fixture);
}

static void test_seeder_quota__gets_on_with_20_tiles_by_lru(void **state)
{
    get_on_with_20_tiles(*state, "LRU");
}

static void test_seeder_quota__gets_on_with_20_tiles_by_lfu(void **state)
{
    get_on_with_20_tiles(*state, "LFU");
}

static void test_seeder_quota__a_metatile_may_be_larger_than_the_quota(void **state)
{
    fixture_t *fixture = *state;
    int64_t id;

    set_quota(fixture, "{'cacheQuotaConfiguration':{'enabled':true,'globalQuota':{'value':12,"
                       "'units':'KiB'}}}");
    id = post(fixture, "seed", 3, 1);
    assert_int_equal(wait_end(fixture, id).state, TSEED_DONE);
    assert_int_equal(progress_of(fixture, id).made, 85);
    await_agreement(fixture);
    assert_in_range(disk_bytes, 4 << 10, 12 << 10);
}

static void test_seeder_quota__a_tile_larger_than_the_quota_is_a_failure(void **state)
{
    fixture_t *fixture = *state;
    int64_t id;

    set_quota(fixture, "{'cacheQuotaConfiguration':{'enabled':true,'globalQuota':{'value':3,"
                       "'units':'KiB'}}}");
    id = post(fixture, "seed", 1, 1);
    assert_int_equal(wait_end(fixture, id).failed, 5);
    assert_int_equal(progress_of(fixture, id).failures, 2);
}

/* The levels that the tasks below are about never go. */
static void keep_levels(fixture_t *fixture)
{
    seeder_stop(fixture, SIGTERM);
    fixture->layer->kept = 7;
    seeder_start(fixture);
}

static void test_seeder_quota__a_task_waits_when_nothing_may_go(void **state)
{
    fixture_t *fixture = *state;
    tseed_row_t row;
    int64_t id;

    keep_levels(fixture);
    set_quota(fixture, "{'cacheQuotaConfiguration':{'enabled':true,'globalQuota':{'value':4,"
                       "'units':'KiB'}}}");
    id = post(fixture, "seed", 1, 1);
    AWAIT(tseed_board_find(fixture->board, id, &row) &&
          strcmp(row.progress.reason,
                 "paused: disk quota of 4.0 KiB reached and nothing may be expired") == 0);
    set_quota(fixture, "{'cacheQuotaConfiguration':{'enabled':false}}");
    assert_int_equal(wait_end(fixture, id).made, 5);
    assert_string_equal(progress_of(fixture, id).reason, "");
}

/* Room for a part of the last metatile only: 10 of its 16 tiles. */
static const char ten_tiles[] = "{'cacheQuotaConfiguration':{'enabled':true,'globalQuota':{"
                                "'value':40,'units':'KiB'}}}";

static int is_stuck(fixture_t *fixture, int64_t id)
{
    tseed_row_t row;

    return tseed_board_find(fixture->board, id, &row) &&
           strstr(row.progress.reason, "nothing may be expired");
}

static void test_seeder_quota__what_was_written_before_a_pause_counts(void **state)
{
    fixture_t *fixture = *state;
    int64_t bytes = wait_end(fixture, post(fixture, "seed", 2, 1)).bytes;
    int64_t id;

    wait_end(fixture, post(fixture, "truncate", 2, 1));
    keep_levels(fixture);
    set_quota(fixture, ten_tiles);
    id = post(fixture, "seed", 2, 1);
    AWAIT(is_stuck(fixture, id) && files(fixture) == 10);
    set_quota(fixture, "{'cacheQuotaConfiguration':{'enabled':false}}");
    assert_int_equal(wait_end(fixture, id).bytes, bytes);
    assert_int_equal(progress_of(fixture, id).made, 21);
}

static void test_seeder_quota__what_was_written_counts_in_a_terminated_task(void **state)
{
    const tseed_termination_t all = {.mask = 1u << TSEED_RUNNING, .reason = "terminated"};
    fixture_t *fixture = *state;
    apr_array_header_t *terminated;
    int64_t id;

    keep_levels(fixture);
    set_quota(fixture, ten_tiles);
    id = post(fixture, "seed", 2, 1);
    AWAIT(is_stuck(fixture, id) && files(fixture) == 10);
    assert_int_equal(tseed_state_terminate(fixture->state, &terminated, &all, fixture->pool),
                     APR_SUCCESS);
    ring(fixture);
    AWAIT(unconfirmed(fixture) == 0);
    assert_int_equal(progress_of(fixture, id).made, 10);
}

/* ---- truncates ---- */

static const char *in_cache(fixture_t *fixture, const char *path)
{
    return apr_pstrcat(fixture->pool, fixture->layer->store.root, "/", path, NULL);
}

static int is_there(fixture_t *fixture, const char *path)
{
    return access(in_cache(fixture, path), F_OK) == 0;
}

/* Something that keeps a purge busy for a while: names in a directory that was renamed away. */
static void pile_up(fixture_t *fixture, int names)
{
    int folder;

    mkdir(in_cache(fixture, ".tileseed"), 0755);
    mkdir(in_cache(fixture, ".tileseed/removed"), 0755);
    mkdir(in_cache(fixture, ".tileseed/removed/9-0"), 0755);
    folder = open(in_cache(fixture, ".tileseed/removed/9-0"), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < names; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%d.png", i);
        close(openat(folder, name, O_CREAT | O_WRONLY, 0644));
    }
    close(folder);
}

/* Tells levels that were renamed away from those that were emptied. */
static int watch_levels(fixture_t *fixture)
{
    int watch = inotify_init1(IN_NONBLOCK);

    assert_true(
        inotify_add_watch(watch, in_cache(fixture, "topp_states"), IN_MOVED_FROM | IN_DELETE) >= 0);
    return watch;
}

static void levels_gone(int watch, int *moved, int *removed)
{
    char buffer[8192];
    ssize_t length = read(watch, buffer, sizeof(buffer));

    *moved = *removed = 0;
    for (char *at = buffer; at < buffer + length;) {
        const struct inotify_event *event = (const struct inotify_event *)at;

        *moved += (event->mask & IN_MOVED_FROM) != 0;
        *removed += (event->mask & IN_DELETE) != 0;
        at += sizeof(*event) + event->len;
    }
    close(watch);
}

static void test_seeder_quota__levels_are_renamed_away(void **state)
{
    fixture_t *fixture = *state;
    int watch, moved, removed;
    tseed_progress_t progress;

    wait_end(fixture, post(fixture, "seed", 4, 4));
    pile_up(fixture, 20000);
    watch = watch_levels(fixture);
    progress = wait_end(fixture, post(fixture, "truncate", 4, 1));
    assert_int_equal(files(fixture), 0);
    assert_int_equal(progress.removed, 341);
    assert_int_equal(progress.skipped, 0);
    levels_gone(watch, &moved, &removed);
    assert_int_equal(moved, 5);
    assert_int_equal(wait_end(fixture, post(fixture, "seed", 4, 4)).made, 341);
    await_files(fixture, 341);
    AWAIT(!is_there(fixture, ".tileseed")); /* what was renamed away goes by and by */
}

static void test_seeder_quota__not_from_another_task(void **state)
{
    fixture_t *fixture = *state;
    int watch, moved, removed;
    int64_t before, seed;

    wait_end(fixture, post(fixture, "seed", 4, 4));
    before = upstream->requests;
    upstream->mood = HANGS;
    seed = post(fixture, "seed", 5, 2);
    wait_processed(fixture, seed, 341); /* it has looked at all tiles that are there */
    AWAIT(upstream->requests > before);
    watch = watch_levels(fixture);
    assert_int_equal(wait_end(fixture, post(fixture, "truncate", 4, 1)).removed, 341);
    levels_gone(watch, &moved, &removed);
    assert_int_equal(moved, 0);
    assert_int_equal(removed, 5);
    upstream->mood = FINE;
    assert_int_equal(wait_end(fixture, seed).made, 1024);
    await_files(fixture, 1024);
}

/* Killed at any instant from the first name that goes to the last. */
static void test_seeder_quota__a_truncate_survives_kills(void **state)
{
    fixture_t *fixture = *state;

    for (int i = 0; i < 4; i++) {
        int64_t id;
        tseed_progress_t progress;

        wait_end(fixture, post(fixture, "seed", 4, 4));
        await_agreement(fixture);
        pile_up(fixture, 2000);
        id = post(fixture, "truncate", 4, 1);
        if (i % 2) {
            wait_end(fixture, id);
        } else {
            AWAIT(!is_there(fixture, "topp_states/EPSG_900913_00") || i % 4 == 0);
        }
        seeder_stop(fixture, SIGKILL);
        seeder_start(fixture);
        progress = wait_end(fixture, id);
        assert_int_equal(progress.state, TSEED_DONE);
        assert_int_equal(progress.removed + progress.skipped, 341);
        assert_int_equal(files(fixture), 0);
        AWAIT(!is_there(fixture, ".tileseed"));
        await_files(fixture, 0);
    }
}

/* As a seeder leaves it that was killed before the end of a purge. */
static void test_seeder_quota__what_was_renamed_away_is_charged_until_it_is_gone(void **state)
{
    fixture_t *fixture = *state;

    wait_end(fixture, post(fixture, "seed", 4, 4));
    await_agreement(fixture);
    seeder_stop(fixture, SIGTERM);
    mkdir(in_cache(fixture, ".tileseed"), 0755);
    mkdir(in_cache(fixture, ".tileseed/removed"), 0755);
    assert_int_equal(rename(in_cache(fixture, "topp_states/EPSG_900913_04"),
                            in_cache(fixture, ".tileseed/removed/4-0")),
                     0);
    assert_true(sql(fixture, "DELETE FROM page WHERE z = 4"));
    assert_true(sql(fixture, "UPDATE tileset SET detached_names = 256, detached_files = 256, "
                             "detached_allocated = 256 * 4096, names = 85, files = 85, "
                             "allocated = 85 * 4096 WHERE layer = 'topp:states'"));
    assert_true(books_agree(fixture));
    seeder_start(fixture);
    AWAIT(!is_there(fixture, ".tileseed"));
    await_files(fixture, 85);
}

static void test_seeder_quota__shared_files_are_known_again_and_go_with_their_tiles(void **state)
{
    fixture_t *fixture = *state;

    fixture->layer->store.link_uniform = 1;
    seeder_stop(fixture, SIGTERM);
    seeder_start(fixture);
    upstream->mood = UNIFORM;
    wait_end(fixture, post(fixture, "seed", 4, 4));
    await_files(fixture, 1);
    seeder_stop(fixture, SIGKILL);
    seeder_start(fixture);
    wait_end(fixture, post(fixture, "seed", 5, 4));
    await_files(fixture, 1);
    assert_int_equal(wait_end(fixture, post(fixture, "truncate", 20, 1)).removed, 1365);
    AWAIT(!is_there(fixture, ".tileseed"));
    await_files(fixture, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_seeder_quota__books_agree_with_the_disk, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__books_take_an_existing_cache_in,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__sizes_by_two_blocks_are_counted_again,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__sizes_are_right_without_a_quota,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__books_agree_after_kills, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__doubts_of_an_earlier_seeder_have_an_end,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__doubts_outlast_a_truncate_beside_them,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__another_database_gets_the_books_whole,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__an_old_database_gets_the_books_whole,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder_quota__the_books_of_a_backup_are_compared_with_the_disk, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder_quota__answers_are_forgotten_when_recipes_come_and_go, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__books_take_shared_files_in,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__quota_is_never_passed, fixture_setup,
                                        watched_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__a_lowered_quota_is_reached_by_and_by,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__shared_files_make_room_by_lru,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__shared_files_make_room_by_lfu,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__gets_on_with_20_tiles_by_lru,
                                        fixture_setup, watched_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__gets_on_with_20_tiles_by_lfu,
                                        fixture_setup, watched_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__a_metatile_may_be_larger_than_the_quota,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder_quota__a_tile_larger_than_the_quota_is_a_failure, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__a_task_waits_when_nothing_may_go,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__what_was_written_before_a_pause_counts,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder_quota__what_was_written_counts_in_a_terminated_task, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__levels_are_renamed_away, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__not_from_another_task, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seeder_quota__a_truncate_survives_kills, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder_quota__what_was_renamed_away_is_charged_until_it_is_gone, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(
            test_seeder_quota__shared_files_are_known_again_and_go_with_their_tiles, fixture_setup,
            fixture_teardown),
    };

    return cmocka_run_group_tests(tests, upstream_setup, upstream_teardown);
}
