/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What is safe, and may be told the database:
 *
 *      progress    A run's progress is copied when a sync begins. Checkpoints write the last copy
 *                  whose sync has succeeded. The board shows the progress itself.
 *      endings     A task is DONE when a sync has succeeded that began after its last tile. If one
 *                  has failed meanwhile, what it was about is lost: the reason of the end says so.
 *      marks       A sweep takes marks of pages away only if a sync has begun since the sweep
 *                  before, and has succeeded. Marks of levels wait for one after their last job.
 *                  Pages that become empty keep their mark as long.
 */
#include "seeder/tseed_safe.h"

#include <string.h>

#include "seeder/tseed_house.h"

tseed_sync_t *tseed_safe_sync(const tseed_seeder_t *seeder, const tseed_book_tileset_t *booked)
{
    for (tseed_sync_t *sync = booked ? seeder->syncs : NULL; sync; sync = sync->next) {
        for (const tseed_sync_root_t *root = sync->roots; root; root = root->next) {
            if (strcmp(root->path, booked->record.root) == 0) {
                return sync;
            }
        }
    }
    return NULL;
}

int tseed_safe_is_at_end(const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_ENDING && run->losses == 0;
}

const tseed_progress_t *tseed_safe_progress(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    if (tseed_safe_sync(seeder, run->booked)) {
        return run->is_to_save ? &run->synced : NULL;
    }
    return run->dirty ? &run->progress : NULL;
}

void tseed_safe_saved(const tseed_seeder_t *seeder, tseed_run_t *run)
{
    run->is_to_save = 0;
    run->dirty = run->dirty && tseed_safe_sync(seeder, run->booked);
}

/* Nothing of a task that is not DONE is promised. */
int tseed_safe_may_end(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    return run->may_end || run->terminated || run->progress.state == TSEED_ABORTED ||
           !tseed_safe_sync(seeder, run->booked);
}

const char *tseed_safe_trouble(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    const tseed_sync_t *sync =
        tseed_safe_is_at_end(run) ? tseed_safe_sync(seeder, run->booked) : NULL;

    return sync && sync->is_said ? sync->trouble : NULL;
}

/* ---- marks ---- */

void tseed_safe_touch_levels(tseed_seeder_t *seeder, const tseed_book_tileset_t *booked)
{
    tseed_sync_t *sync = tseed_safe_sync(seeder, booked);

    if (sync) {
        sync->levels = sync->begun;
        sync->due = 1;
    }
}

int tseed_safe_may_unmark(tseed_seeder_t *seeder, const tseed_book_tileset_t *booked)
{
    tseed_sync_t *sync = tseed_safe_sync(seeder, booked);

    if (sync && sync->done <= sync->levels) {
        sync->due = 1;
        return 0;
    }
    return 1;
}

void tseed_safe_sweep(tseed_seeder_t *seeder)
{
    tseed_book_tileset_t *booked;
    int lingers;

    for (unsigned i = 0; (booked = tseed_book_tileset(seeder->cache->book, i)) != NULL; i++) {
        const tseed_sync_t *sync = tseed_safe_sync(seeder, booked);

        booked->keeps_empty = sync != NULL;
        booked->is_unsafe = sync && sync->done <= sync->swept;
    }
    for (tseed_sync_t *sync = seeder->syncs; sync; sync = sync->next) {
        if (sync->done > sync->swept) {
            sync->swept = sync->begun;
        }
    }
    lingers = tseed_book_sweep(seeder->cache->book);
    for (tseed_sync_t *sync = seeder->syncs; sync; sync = sync->next) {
        sync->due |= lingers;
    }
}

void tseed_safe_end(tseed_seeder_t *seeder)
{
    tseed_book_tileset_t *booked;

    for (unsigned i = 0; (booked = tseed_book_tileset(seeder->cache->book, i)) != NULL; i++) {
        const tseed_sync_t *sync = tseed_safe_sync(seeder, booked);

        booked->is_unsafe = sync && !(sync->is_last && !sync->at_work && sync->rv == APR_SUCCESS);
    }
}
