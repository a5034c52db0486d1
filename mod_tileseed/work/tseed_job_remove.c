/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs that remove or count: what a worker does in pages and levels without an answer. */
#include "work/tseed_job_remove.h"

#include "board/tseed_traces.h"
#include "work/tseed_job_store.h"

typedef struct {
    tseed_board_t *board;
    tseed_job_t *job;
} removal_t;

static void count_removed(const removal_t *removal)
{
    tseed_trace_count(removal->board, removal->job->accounts.trace);
    atomic_fetch_add(&removal->job->run->unlinked, 1);
}

static void remove_next(void *data, const tseed_tile_t *tile)
{
    const removal_t *removal = data;

    tseed_trace_remove(removal->board, removal->job->accounts.trace, tile->x, tile->y);
}

static void removed(void *data, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    const removal_t *removal = data;

    count_removed(removal);
    tseed_job_settle(removal->job, 0, 0, effect);
    tseed_job_note(removal->job, tile, effect);
}

/* A seeder that died at this level has removed a tile last that it did not count, or was about to.
 */
static void inherit(tseed_store_t *store, const removal_t *removal)
{
    tseed_range_t tile = {.z = removal->job->metatile.wanted.z};
    tseed_effect_t left;

    removal->job->result.has_inherited = 1;
    if (tseed_trace_doubt(removal->board, removal->job->accounts.trace, &tile.minx, &tile.miny)) {
        tile.maxx = tile.minx;
        tile.maxy = tile.miny;
        tile = tseed_range_intersect(&tile, &removal->job->metatile.wanted);
        if (tseed_range_count(&tile) == 1 &&
            tseed_store_count(&left, NULL, store, &tile, 0) == APR_SUCCESS && left.names == 0) {
            count_removed(removal);
        }
    }
}

/* A tally that is full is booked first. */
static int must_pause(void *data)
{
    const tseed_job_t *job = data;

    return tseed_job_is_stopped(job->run) || tseed_tally_is_full(&job->result.tally);
}

/* APR_ENOTIMPL: to be removed tile by tile. */
static apr_status_t detach(tseed_store_t *store, tseed_job_t *job)
{
    const tseed_stop_t stop = {tseed_job_is_stopped, job->run};
    tseed_remnant_t remnant = job->request.remnant;
    apr_status_t rv;

    if (!job->request.is_whole) {
        return APR_ENOTIMPL;
    }
    rv = tseed_store_detach(&remnant, store, &job->metatile.wanted, &stop);
    if (rv == APR_SUCCESS) {
        job->result.is_detached = 1;
        atomic_fetch_add(&job->run->unlinked, remnant.usage.names);
    }
    return rv;
}

static apr_status_t sweep_shared(tseed_store_t *store, tseed_job_t *job)
{
    tseed_effect_t swept;
    apr_status_t rv = tseed_store_shared_sweep(&swept, store);

    tseed_job_settle(job, 0, 0, &swept);
    tseed_effect_add(&job->result.shared, &swept);
    return rv;
}

/* The shared files of what was renamed away are swept when it is gone. */
static apr_status_t remove_tiles(tseed_store_t *store, removal_t *removal)
{
    tseed_job_t *job = removal->job;
    const tseed_stop_t stop = {must_pause, job};
    const tseed_visitor_t visitor = {removed, removal, remove_next, NULL};
    apr_status_t rv = tseed_store_remove(store, &job->metatile.wanted, &visitor, &stop);

    return rv == APR_SUCCESS ? sweep_shared(store, job) : rv;
}

void tseed_job_remove(tseed_board_t *board, tseed_store_t *store, tseed_job_t *job)
{
    removal_t removal = {board, job};
    apr_status_t rv;

    if (job->accounts.inherits && !job->result.has_inherited) {
        inherit(store, &removal);
    }
    rv = detach(store, job);
    if (rv == APR_ENOTIMPL) {
        rv = remove_tiles(store, &removal);
    }
    if (APR_STATUS_IS_EINTR(rv) && !tseed_job_is_stopped(job->run)) {
        job->result.outcome = TSEED_JOB_MORE;
    } else if (rv != APR_SUCCESS) {
        tseed_job_no_store(job, store, rv);
    }
}

void tseed_job_sweep(tseed_store_t *store, tseed_job_t *job)
{
    apr_status_t rv = sweep_shared(store, job);

    if (rv != APR_SUCCESS) {
        tseed_job_no_store(job, store, rv);
    }
}

/* ---- counted ---- */

void tseed_job_count(tseed_store_t *store, tseed_job_t *job)
{
    apr_status_t rv = job->request.stage == TSEED_STAGE_COUNT_SHARED
                          ? tseed_store_shared_count(&job->result.counted, store,
                                                     1) /* nobody else writes meanwhile */
                          : tseed_store_count(&job->result.counted, &job->result.oldest, store,
                                              &job->metatile.wanted, job->is_recount);

    tseed_job_charge_unremoved(store, job);
    job->result.has_adopted = tseed_store_adopted_take(store);
    if (rv != APR_SUCCESS) {
        tseed_job_no_store(job, store, rv);
    }
}
