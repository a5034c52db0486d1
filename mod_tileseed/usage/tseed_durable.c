/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Durable: what is on the disk, so that the database may say so.
 *
 *      progress    A run's progress is copied when a sync begins. Checkpoints write the last copy
 *                  whose sync has succeeded. The board shows the progress itself.
 *      endings     A task is DONE when a sync that began after its last tile has succeeded. If a
 *                  sync has failed meanwhile, tiles may be lost: the reason of the end says so.
 *      page marks  A sweep takes a mark away only if a sync has begun since the sweep before and
 *                  has succeeded. A page that became empty stays in the book until then.
 *      level marks A mark goes when a sync that began after the last job of the level has
 *                  succeeded.
 */
#include "usage/tseed_durable.h"

#include <string.h>

struct tseed_durable_t {
    const tseed_cache_t *cache;
    tseed_sync_t *syncs; /* by file system */
};

tseed_durable_t *tseed_durable_create(const tseed_cache_t *cache, apr_pool_t *pool)
{
    tseed_durable_t *durable = apr_pcalloc(pool, sizeof(*durable));

    durable->cache = cache;
    return durable;
}

void tseed_durable_enter(tseed_durable_t *durable, tseed_sync_t *sync)
{
    sync->next = durable->syncs;
    durable->syncs = sync;
}

tseed_sync_t *tseed_durable_first(const tseed_durable_t *durable)
{
    return durable->syncs;
}

tseed_sync_root_t *tseed_durable_root(const tseed_durable_t *durable,
                                      const tseed_book_tileset_t *booked)
{
    for (const tseed_sync_t *sync = booked ? durable->syncs : NULL; sync; sync = sync->next) {
        for (tseed_sync_root_t *root = sync->roots; root; root = root->next) {
            if (strcmp(root->path, booked->record.root) == 0) {
                return root;
            }
        }
    }
    return NULL;
}

int tseed_durable_is_at_end(const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_ENDING && run->losses == 0;
}

const tseed_progress_t *tseed_durable_progress(const tseed_durable_t *durable,
                                               const tseed_run_t *run)
{
    if (tseed_durable_root(durable, run->booked)) {
        return run->is_to_save ? &run->synced : NULL;
    }
    return run->dirty ? &run->progress : NULL;
}

void tseed_durable_saved(const tseed_durable_t *durable, tseed_run_t *run)
{
    run->is_to_save = 0;
    run->dirty = run->dirty && tseed_durable_root(durable, run->booked);
}

/* Nothing of a task that is not DONE is promised. */
int tseed_durable_may_end(const tseed_durable_t *durable, const tseed_run_t *run)
{
    return run->may_end || run->terminated || run->progress.state == TSEED_ABORTED ||
           !tseed_durable_root(durable, run->booked);
}

const char *tseed_durable_trouble(const tseed_durable_t *durable, const tseed_run_t *run)
{
    const tseed_sync_root_t *root =
        tseed_durable_is_at_end(run) ? tseed_durable_root(durable, run->booked) : NULL;

    return root && root->is_said ? root->trouble : NULL;
}

/* ---- marks ---- */

void tseed_durable_touch_levels(tseed_durable_t *durable, const tseed_book_tileset_t *booked)
{
    tseed_sync_root_t *root = tseed_durable_root(durable, booked);

    if (root) {
        root->levels = root->sync->begun;
        root->sync->due = 1;
    }
}

int tseed_durable_may_unmark(tseed_durable_t *durable, const tseed_book_tileset_t *booked)
{
    const tseed_sync_root_t *root = tseed_durable_root(durable, booked);

    if (root && root->done <= root->levels) {
        root->sync->due = 1;
        return 0;
    }
    return 1;
}

void tseed_durable_sweep(tseed_durable_t *durable)
{
    tseed_book_tileset_t *booked;
    int lingers;

    for (unsigned i = 0; (booked = tseed_book_next(durable->cache->book, &i)) != NULL; i++) {
        const tseed_sync_root_t *root = tseed_durable_root(durable, booked);

        booked->keeps_empty = root != NULL;
        booked->is_unsafe = root && root->done <= root->swept;
    }
    for (tseed_sync_t *sync = durable->syncs; sync; sync = sync->next) {
        for (tseed_sync_root_t *root = sync->roots; root; root = root->next) {
            root->swept = root->done > root->swept ? sync->begun : root->swept;
        }
    }
    lingers = tseed_book_sweep(durable->cache->book);
    for (tseed_sync_t *sync = durable->syncs; sync; sync = sync->next) {
        sync->due |= lingers;
    }
}

void tseed_durable_end(const tseed_durable_t *durable)
{
    tseed_book_tileset_t *booked;

    for (unsigned i = 0; (booked = tseed_book_next(durable->cache->book, &i)) != NULL; i++) {
        const tseed_sync_root_t *root = tseed_durable_root(durable, booked);

        booked->is_unsafe =
            root && !(root->sync->is_last && !root->sync->at_work && root->rv == APR_SUCCESS);
    }
}
