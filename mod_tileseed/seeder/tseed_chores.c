/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Chores: pages that are counted.
 *
 * A page is counted because a job waits for it, because it was in doubt when the seeder started, or
 * because a walk has found it on the disk and not in the book. The first goes before the others,
 * which take one worker at most.
 *
 * A walk goes through the directories of one tile set in a thread of its own. What it finds comes
 * in portions; it sleeps until all pages of a portion have been counted.
 */
#include <apr_strings.h>
#include <semaphore.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "seeder/tseed_house.h"
#include "store/tseed_store.h"

#define RETRY            (60 * APR_USEC_PER_SEC)
#define RECOUNTS_AT_ONCE 64
#define LOOKS_AT_ONCE    (1 << 18) /* of pages, in milliseconds */

/* ---- counting ---- */

/* The tiles of a page, as far as the grid goes. */
static tseed_range_t tiles_of(const tseed_run_t *run, const tseed_place_t *place)
{
    const tseed_gridset_t *gridset = run->tileset.subset->gridset;
    tseed_range_t grid = {place->z, 0, 0, gridset->columns[place->z] - 1,
                          gridset->rows[place->z] - 1};
    tseed_range_t page = {place->z, place->x * TSEED_PAGE_SIDE, place->y * TSEED_PAGE_SIDE,
                          (place->x + 1) * TSEED_PAGE_SIDE - 1,
                          (place->y + 1) * TSEED_PAGE_SIDE - 1};

    return tseed_range_intersect(&page, &grid);
}

/* A job of a standing run that is about no metatile. */
static tseed_job_t *chore_get(tseed_seeder_t *seeder, tseed_run_t *run, tseed_stage_t stage)
{
    const tseed_range_t nothing = {.z = -1, .maxx = -1, .maxy = -1};
    tseed_job_t *job = tseed_pump_job_get(seeder);

    job->stage = stage;
    job->position = -1;
    job->metatile = (tseed_metatile_t){nothing, nothing};
    tseed_run_job_add(run, job);
    return job;
}

/* A job in one page; it waits in the run's queue until it may begin. */
static void begin_page(tseed_seeder_t *seeder, tseed_run_t *run, const tseed_place_t *place,
                       tseed_stage_t stage)
{
    tseed_job_t *job = chore_get(seeder, run, stage);

    job->metatile.wanted = tiles_of(run, place);
    tseed_steward_hold(seeder, job);
    tseed_steward_pin(seeder, job);
    tseed_queue_put(&run->ready, job);
    seeder->chores++;
}

static int is_counted(const tseed_run_t *run, const tseed_place_t *place)
{
    for (const tseed_job_t *job = run->jobs; job; job = job->sibling) {
        const tseed_range_t *tiles = &job->metatile.wanted;

        if (job->stage == TSEED_STAGE_COUNT && tiles->z == place->z &&
            tiles->minx == place->x * TSEED_PAGE_SIDE &&
            tiles->miny == place->y * TSEED_PAGE_SIDE) {
            return 1;
        }
    }
    return 0;
}

void tseed_chores_count(tseed_seeder_t *seeder, tseed_shelf_t *shelf, const tseed_place_t *place)
{
    tseed_run_t *run = tseed_standing_of(seeder, shelf);

    if (run && !is_counted(run, place)) {
        begin_page(seeder, run, place, TSEED_STAGE_COUNT);
    }
}

/* The store can't be looked at: tasks pause, guests are served without it. */
static void give_up(tseed_seeder_t *seeder, const tseed_job_t *count)
{
    tseed_run_t *standing = count->run;

    for (tseed_run_t *run = seeder->runs; run; run = run->next_run) {
        if (run->shelf == standing->shelf && run->ready.count > 0) {
            tseed_pump_pause(seeder, run, count);
        }
    }
    for (int waiting = standing->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&standing->ready);

        if (job->stage == TSEED_STAGE_CUT) {
            tseed_pump_work(seeder, job, TSEED_STAGE_CUT);
        } else {
            tseed_queue_put(&standing->ready, job);
        }
    }
}

int tseed_chores_remove(tseed_seeder_t *seeder, const tseed_leaf_t *page)
{
    tseed_run_t *run = tseed_standing_of(seeder, page->shelf);

    if (run) {
        begin_page(seeder, run, &page->place, TSEED_STAGE_REMOVE);
        run->jobs->counted = page->usage;
    }
    return run != NULL;
}

static void counted(tseed_seeder_t *seeder, tseed_job_t *job)
{
    const tseed_range_t *tiles = &job->metatile.wanted;
    const tseed_place_t place = {tiles->z, tiles->minx / TSEED_PAGE_SIDE,
                                 tiles->miny / TSEED_PAGE_SIDE};
    tseed_effect_t difference = {0};

    if (job->outcome == TSEED_JOB_STOPPED) {
        return; /* the next seeder counts */
    }
    if (job->outcome != TSEED_JOB_OK) { /* in doubt as before */
        seeder->count_after = tseed_clock_monotonic() + RETRY;
        tseed_audit_counted(seeder, job, NULL);
        give_up(seeder, job);
        return;
    }
    if (job->stage == TSEED_STAGE_COUNT) {
        tseed_book_count(&difference, seeder->book, job->run->shelf, &place, &job->counted);
    } else {
        tseed_book_count_shared(&difference, seeder->book, job->run->shelf, &job->counted);
    }
    tseed_audit_counted(seeder, job, &difference);
}

/* Returns 0 if that is not possible now. */
static int begin_shared(tseed_seeder_t *seeder, tseed_shelf_t *shelf, tseed_stage_t stage)
{
    tseed_run_t *run = tseed_standing_of(seeder, shelf);

    if (run) {
        tseed_queue_put(&run->ready, chore_get(seeder, run, stage));
        seeder->chores++;
    }
    return run != NULL;
}

/* What is due in shared files, one tile set after the other: they may be many. */
static void shared_next(tseed_seeder_t *seeder)
{
    tseed_shelf_t *shelf = tseed_book_shelf(seeder->book, seeder->shared_cursor);

    while (shelf && !shelf->shared_due && !shelf->sweep_due) {
        shelf = tseed_book_shelf(seeder->book, ++seeder->shared_cursor);
    }
    if (!shelf) {
        seeder->shared_cursor = 0;
    } else if (shelf->shared_due) {
        tseed_chores_count_shared(seeder, shelf);
    } else if (begin_shared(seeder, shelf, TSEED_STAGE_SWEEP)) {
        shelf->sweep_due = 0;
        seeder->shared_due--;
    }
}

/* Shared files have no page: they are counted while nothing else goes on in the tile set. */
int tseed_chores_count_shared(tseed_seeder_t *seeder, tseed_shelf_t *shelf)
{
    const int begun = begin_shared(seeder, shelf, TSEED_STAGE_COUNT_SHARED);

    if (begun && shelf->shared_due) {
        shelf->shared_due = 0;
        seeder->shared_due--;
    }
    return begun;
}

void tseed_chores_sweep(tseed_seeder_t *seeder, tseed_shelf_t *shelf)
{
    seeder->shared_due += !shelf->sweep_due;
    shelf->sweep_due = 1;
}

static void swept(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_steward_book(seeder, job);
    if (job->outcome == TSEED_JOB_NO_STORE) {
        tseed_log(TSEED_LOG_ERROR, job->rv,
                  "can't remove shared files of layer '%s' below %s that no tile needs any more; "
                  "the next truncate or start tries it again",
                  job->run->task->layer, job->run->tileset.layer->store.root);
    }
}

/* Before anything is written: pages that an earlier seeder was at work in, whose unfinished files
 * are dropped. Shared files have no marks: one tile set after the other, those first that somebody
 * is about to write in. Levels that were being truncated hold less than the book has: they can
 * wait. There may be any number of pages: they are gone through once, a few at a time. */
void tseed_chores_recount(tseed_seeder_t *seeder)
{
    tseed_shelf_t *shelf;

    seeder->is_recounting = 1;
    for (unsigned i = 0; (shelf = tseed_book_shelf(seeder->book, i)) != NULL; i++) {
        shelf->shared_due = shelf->holding.shared.files > 0 || shelf->in_doubt > 0;
        seeder->shared_due += shelf->shared_due;
    }
}

static void recount_page(tseed_seeder_t *seeder, const tseed_leaf_t *leaf)
{
    tseed_run_t *run = tseed_standing_of(seeder, leaf->shelf);

    if (run && !is_counted(run, &leaf->place)) {
        begin_page(seeder, run, &leaf->place, TSEED_STAGE_COUNT);
        run->jobs->is_recount = 1;
        seeder->recounts++;
    }
}

/* Begins the next pages of the recount; ends it behind the last. */
static void recount_feed(tseed_seeder_t *seeder)
{
    size_t looks = LOOKS_AT_ONCE;
    tseed_leaf_t leaf;

    while (seeder->recounts < RECOUNTS_AT_ONCE) {
        if (!tseed_steward_is_doubtful(seeder) ||
            !tseed_book_next_in_doubt(&leaf, seeder->book, &seeder->recount_cursor, &looks)) {
            seeder->is_recounting = looks == 0 || seeder->recounts > 0;
            return;
        }
        if (!(leaf.shelf->holding.doubtful >> leaf.place.z & 1)) {
            recount_page(seeder, &leaf);
        }
    }
}

int tseed_chores_is_looking(const tseed_seeder_t *seeder)
{
    return seeder->is_recounting && seeder->recounts == 0;
}

/* ---- walks ---- */

/* One at a time. Its thread owns the job until it puts it into the mailbox, and again after the
 * semaphore was posted. malloc'd. */
struct tseed_walk_t {
    tseed_job_t *job;
    tseed_mailbox_t *mailbox;
    sem_t go_on;
    int is_back;     /* the main thread's: it has the job, */
    unsigned cursor; /* and has counted that much of its tally */
};

/* Hands a portion over and sleeps until it has been counted. */
static void hand_over(tseed_walk_t *walk)
{
    walk->job->outcome = TSEED_JOB_MORE;
    tseed_mailbox_put(walk->mailbox, walk->job);
    while (sem_wait(&walk->go_on) != 0) {
        /* a signal */
    }
}

static void found(void *data, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    tseed_walk_t *walk = data;
    tseed_place_t place = tseed_place_of(tile);

    tseed_tally_add(&walk->job->tally, &place, effect);
    if (tseed_tally_is_full(&walk->job->tally)) {
        hand_over(walk);
    }
}

static apr_status_t go_through(tseed_walk_t *walk, apr_pool_t *pool)
{
    const tseed_run_t *run = walk->job->run;
    const tseed_subset_t *subset = run->tileset.subset;
    const tseed_witness_t witness = {found, walk, NULL};
    tseed_store_t *store;
    apr_status_t rv = tseed_store_open(&store, &run->tileset, TSEED_STORE_IDS - 1, pool);

    if (rv == APR_SUCCESS) {
        rv = tseed_store_walk(store, subset->zoom_first, subset->zoom_last, &witness, NULL);
    }
    return rv;
}

static void *walk_thread(void *data)
{
    tseed_walk_t *walk = data;
    apr_pool_t *pool = tseed_memory_pool();

    walk->job->rv = go_through(walk, pool);
    walk->job->outcome = walk->job->rv == APR_SUCCESS ? TSEED_JOB_OK : TSEED_JOB_NO_STORE;
    apr_pool_destroy(pool);
    tseed_mailbox_put(walk->mailbox, walk->job); /* from now on the walk is the main thread's */
    return NULL;
}

static void walk_begin(tseed_seeder_t *seeder, tseed_run_t *run)
{
    tseed_walk_t *walk = tseed_memory_get(sizeof(*walk));
    pthread_t thread;

    if (!run->shelf->holding.complete) {
        tseed_chores_count_shared(seeder, run->shelf);
    }
    walk->mailbox = &seeder->mailbox;
    walk->job = chore_get(seeder, run, TSEED_STAGE_WALK);
    sem_init(&walk->go_on, 0, 0);
    seeder->walk = walk;
    seeder->status.walked = run->shelf->holding.id;
    seeder->status.walked_level = run->tileset.subset->zoom_first;
    if (pthread_create(&thread, NULL, walk_thread, walk) == 0) {
        pthread_detach(thread);
    } else { /* as if it had failed at once */
        walk->job->outcome = TSEED_JOB_NO_STORE;
        walk->job->rv = APR_ENOMEM;
        tseed_mailbox_put(&seeder->mailbox, walk->job);
    }
}

static void walk_end(tseed_seeder_t *seeder)
{
    tseed_walk_t *walk = seeder->walk;
    tseed_job_t *job = walk->job;
    tseed_shelf_t *shelf = job->run->shelf;

    if (job->outcome == TSEED_JOB_OK && !shelf->holding.complete) {
        tseed_book_complete(seeder->book, shelf);
        tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
                  "the cache of %s is known now: %" APR_INT64_T_FMT " tiles, %" APR_INT64_T_FMT
                  " bytes",
                  shelf->holding.key, shelf->holding.paged.names,
                  shelf->holding.paged.allocated + shelf->holding.shared.allocated);
    } else if (job->outcome != TSEED_JOB_OK) {
        shelf->unread = 1;
        tseed_log(TSEED_LOG_ERROR, job->rv,
                  "the cache of %s below %s can't be read; it is tried again in a minute",
                  shelf->holding.key, shelf->holding.root);
    }
    if (job->outcome == TSEED_JOB_OK) {
        tseed_audit_walked(seeder, shelf);
    }
    seeder->status.walked = 0;
    seeder->walk_after = job->outcome == TSEED_JOB_OK ? 0 : tseed_clock_monotonic() + RETRY;
    tseed_tally_clear(&job->tally);
    tseed_pump_job_put_back(seeder, job);
    sem_destroy(&walk->go_on);
    free(walk);
    seeder->walk = NULL;
}

/* The next page of the portion that is not in the book; 0: there is none. */
static int next_found(tseed_seeder_t *seeder, tseed_place_t *place)
{
    tseed_walk_t *walk = seeder->walk;
    const tseed_line_t *line;
    tseed_leaf_t leaf;

    while ((line = tseed_tally_next(&walk->job->tally, &walk->cursor)) != NULL) {
        seeder->status.walked_level = line->place.z;
        if (!tseed_book_page(&leaf, seeder->book, walk->job->run->shelf, &line->place)) {
            *place = line->place;
            return 1;
        }
    }
    return 0;
}

/* Goes on with the walk, or begins the next. Returns whether a page is being counted. */
static int walk_feed(tseed_seeder_t *seeder)
{
    tseed_walk_t *walk = seeder->walk;
    tseed_place_t place;

    if (!walk || !walk->is_back) {
        return 0;
    }
    if (next_found(seeder, &place)) {
        tseed_chores_count(seeder, walk->job->run->shelf, &place);
        return 1;
    }
    if (walk->job->outcome != TSEED_JOB_MORE) {
        walk_end(seeder);
        return 0;
    }
    tseed_tally_clear(&walk->job->tally);
    walk->is_back = 0;
    sem_post(&walk->go_on);
    return 0;
}

/* ---- in the background ---- */

/* Tile sets that are not known yet, in turn: one that can't be read keeps no other waiting. */
static tseed_shelf_t *next_unknown(tseed_seeder_t *seeder)
{
    tseed_shelf_t *shelf;

    if (tseed_book_incomplete(seeder->book) == 0) {
        return NULL;
    }
    while ((shelf = tseed_book_shelf(seeder->book, seeder->walk_cursor)) != NULL &&
           shelf->holding.complete) {
        seeder->walk_cursor++;
    }
    seeder->walk_cursor = shelf ? seeder->walk_cursor + 1 : 0;
    return shelf;
}

/* A tile set that is not known yet, or is compared with the disk. */
static tseed_shelf_t *next_to_walk(tseed_seeder_t *seeder)
{
    tseed_shelf_t *shelf = next_unknown(seeder);

    return shelf ? shelf : tseed_audit_next(seeder);
}

static void walk_next(tseed_seeder_t *seeder, apr_time_t now)
{
    tseed_shelf_t *shelf = seeder->walk || now < seeder->walk_after ? NULL : next_to_walk(seeder);
    tseed_run_t *run = shelf ? tseed_standing_of(seeder, shelf) : NULL;

    if (run) {
        walk_begin(seeder, run);
    }
}

/* The next page in doubt in which nobody is at work; the search may last for some turns. */
static void count_next(tseed_seeder_t *seeder)
{
    size_t looks = LOOKS_AT_ONCE;
    tseed_leaf_t leaf;

    while (tseed_book_next_in_doubt(&leaf, seeder->book, &seeder->doubt_cursor, &looks)) {
        if (!leaf.pinned) {
            tseed_chores_count(seeder, leaf.shelf, &leaf.place);
            return;
        }
    }
    seeder->doubt_cursor = looks > 0 ? 0 : seeder->doubt_cursor;
}

/* What was refused once waits until there may be room. */
static int lacks_room(const tseed_run_t *run, const tseed_job_t *job, apr_time_t now)
{
    return run->short_of && now < job->due;
}

/* A guest's answer that can't be stored for reasons that have nothing to do with it. */
static int must_pass(const tseed_seeder_t *seeder, const tseed_job_t *job)
{
    return job->stage == TSEED_STAGE_CUT && !job->due &&
           (seeder->is_recounting || seeder->loader.is_going || seeder->state_trouble);
}

static void work_off(tseed_seeder_t *seeder, tseed_run_t *run, apr_time_t now)
{
    for (int waiting = run->ready.count; waiting > 0; waiting--) {
        tseed_job_t *job = tseed_queue_take(&run->ready);

        if (!lacks_room(run, job, now) && tseed_steward_may_work(seeder, job)) {
            tseed_pump_work(seeder, job, job->stage);
        } else if (must_pass(seeder, job)) {
            job->is_passing = 1;
            tseed_pump_work(seeder, job, job->stage);
        } else {
            tseed_queue_put(&run->ready, job);
        }
    }
}

/* Pages that are counted, walks. */
static void feed_background(tseed_seeder_t *seeder, apr_time_t now)
{
    if (seeder->is_recounting) {
        recount_feed(seeder);
    }
    if (seeder->chores == 0 && seeder->shared_due > 0) {
        shared_next(seeder);
    }
    if (seeder->chores == 0 && now >= seeder->count_after && !walk_feed(seeder) &&
        tseed_steward_is_doubtful(seeder)) {
        count_next(seeder);
    }
    tseed_audit_feed(seeder);
    walk_next(seeder, now);
}

void tseed_chores_feed(tseed_seeder_t *seeder)
{
    apr_time_t now = tseed_clock_monotonic();

    if (!seeder->loader.is_going) {
        feed_background(seeder, now);
    }
    for (tseed_run_t *run = seeder->standing; run; run = run->next_run) {
        work_off(seeder, run, now);
    }
}

void tseed_chores_take(tseed_seeder_t *seeder, tseed_job_t *job)
{
    if (job->stage == TSEED_STAGE_WALK) {
        seeder->walk->is_back = 1;
        seeder->walk->cursor = 0;
        return;
    }
    job->run->working--;
    seeder->chores--;
    seeder->recounts -= job->is_recount;
    if (job->stage == TSEED_STAGE_REMOVE) {
        tseed_janitor_take(seeder, job);
    } else if (job->stage == TSEED_STAGE_SWEEP) {
        swept(seeder, job);
    } else {
        counted(seeder, job);
    }
    tseed_steward_drop(seeder, job);
    tseed_pump_job_put_back(seeder, job);
}
