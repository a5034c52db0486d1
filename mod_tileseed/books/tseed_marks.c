/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Marks of work to do, what of it is on the disk, and how runs are displayed. */
#include "books/tseed_marks.h"

#include <string.h>

#include <apr_strings.h>

#include "base/tseed_text.h"
#include "board/tseed_counters.h"

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

/* Why the database has not been allowed to say so for long; NULL: there is no trouble. */
static const char *durable_trouble(const tseed_durable_t *durable, const tseed_run_t *run)
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

/* The display: what the board shows of running tasks. */

struct tseed_display_t {
    tseed_board_t *board;
    const tseed_session_t *session;
    const tseed_durable_t *durable;
};

tseed_display_t *tseed_display_create(const tseed_context_t *context,
                                      const tseed_session_t *session,
                                      const tseed_durable_t *durable)
{
    tseed_display_t *display = apr_pcalloc(context->pool, sizeof(*display));

    display->board = context->board;
    display->session = session;
    display->durable = durable;
    return display;
}

/* Whether a run stands still until the database has marks, losses, or its end. */
static int waits_for_state(const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_ENDING || (run->losses > 0 && !run->jobs) ||
           (run->ready.count > 0 && run->working == 0);
}

/* What the run has done since it was shown last. Before the board shows it: a seeder that dies in
 * between loses no count. */
static void count(const tseed_display_t *display, tseed_run_t *run)
{
    const tseed_layer_t *layer = run->tileset.layer;
    const tseed_counted_t now = tseed_counted_of(&run->progress);

    tseed_counters_tiles(display->board, layer ? layer->counted : 0,
                         (tseed_work_kind_t)run->task->type, &run->counted, &now);
}

void tseed_display_begin(tseed_run_t *run)
{
    run->counted = tseed_counted_of(&run->progress);
}

void tseed_display_show(const tseed_display_t *display, tseed_run_t *run)
{
    tseed_progress_t shown = run->progress;
    const char *database = display->session->trouble;
    const char *sync = durable_trouble(display->durable, run);

    shown.state = TSEED_RUNNING; /* until the database has its end, when it leaves the board */
    if (database && waits_for_state(run)) { /* a reason that can't be recorded */
        tseed_progress_tell(&shown, TSEED_REASON_DATABASE, database);
    } else if (sync) {
        tseed_progress_tell(&shown, TSEED_REASON_SYNC, sync);
    }
    count(display, run);
    if (!run->terminated) {
        tseed_board_slot_update(display->board, run->slot, &shown);
    }
}

void tseed_display_run(const tseed_display_t *display, tseed_run_t *run)
{
    run->dirty = 1;
    tseed_display_show(display, run);
}

tseed_marks_t *tseed_marks_create(apr_pool_t *pool)
{
    tseed_marks_t *marks = apr_pcalloc(pool, sizeof(*marks));

    marks->to_count = apr_array_make(pool, 16, sizeof(tseed_count_mark_t));
    marks->to_purge = apr_array_make(pool, 4, sizeof(const char *));
    return marks;
}

void tseed_marks_count_page(tseed_marks_t *marks, tseed_book_tileset_t *booked,
                            const tseed_page_t *page)
{
    APR_ARRAY_PUSH(marks->to_count, tseed_count_mark_t) = (tseed_count_mark_t){booked, *page};
}

void tseed_marks_doubt_shared(tseed_marks_t *marks, tseed_book_tileset_t *booked)
{
    marks->shared_due += !booked->shared_due;
    booked->shared_due = 1;
}

void tseed_marks_count_shared(tseed_marks_t *marks, tseed_book_tileset_t *booked)
{
    tseed_marks_doubt_shared(marks, booked);
    tseed_marks_count_page(marks, booked, &(tseed_page_t){.z = -1});
}

void tseed_marks_purge(tseed_marks_t *marks, const char *root)
{
    APR_ARRAY_PUSH(marks->to_purge, const char *) = root;
}
