/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What jobs do in a store: a change is charged before it is made, and noted for the book
 * afterwards. */
#include "work/tseed_job_store.h"

#include <errno.h>

#include "base/tseed_log.h"
#include "base/tseed_text.h"

int tseed_job_is_stopped(void *run)
{
    return atomic_load(&((tseed_run_t *)run)->stopped) || tseed_store_is_over();
}

void tseed_job_no_store(tseed_job_t *job, tseed_store_t *store, apr_status_t rv)
{
    int is_tile;

    tseed_text_fit(job->result.place, sizeof(job->result.place),
                   store ? tseed_store_obstacle(&is_tile, store)
                         : job->run->tileset.layer->store.root);
    job->result.outcome = tseed_job_is_stopped(job->run) ? TSEED_JOB_STOPPED
                          : job->result.refused          ? TSEED_JOB_NO_ROOM
                                                         : TSEED_JOB_NO_STORE;
    job->result.rv = rv;
}

/* Marks a tile that can't be made. The first cause is the one to begin with. */
static void give_up(tseed_job_t *job, const tseed_tile_t *tile, const char *place, apr_status_t rv)
{
    char why[TSEED_CAUSE_SIZE];

    if (!tseed_job_lacks_any(job)) {
        tseed_text_say(job->result.cause, sizeof(job->result.cause), "%s can't be replaced: %s",
                       place, apr_strerror(rv, why, sizeof(why)));
    }
    job->result.is_blocked = 1;
    tseed_job_lack(job, tile);
}

int tseed_job_blame(tseed_job_t *job, tseed_store_t *store, const tseed_tile_t *tile,
                    apr_status_t rv)
{
    int is_tile = 0;
    const char *place = tseed_job_is_stopped(job->run) || job->result.refused
                            ? ""
                            : tseed_store_obstacle(&is_tile, store);

    if (is_tile) {
        give_up(job, tile, place, rv);
    } else {
        tseed_job_no_store(job, store, rv);
    }
    return is_tile;
}

void tseed_job_check(tseed_store_t *store, tseed_job_t *job)
{
    apr_status_t rv = tseed_store_present(store, &job->metatile.wanted, job->result.present,
                                          TSEED_METATILE_TILES_MAX / 64);
    if (rv != APR_SUCCESS) {
        tseed_job_no_store(job, store, rv);
    }
}

/* ---- charged before it is written ---- */

/* Reserves what a new file may cost at most. APR_EDQUOT: an account refuses. */
static apr_status_t charge(tseed_job_t *job, int64_t allocated)
{
    job->result.needed = allocated;
    job->result.refused =
        tseed_account_charge(&job->run->booked->chain, (tseed_amount_t){allocated, 1});
    return job->result.refused ? APR_FROM_OS_ERROR(EDQUOT) : APR_SUCCESS;
}

static int64_t at_least_0(int64_t number)
{
    return number > 0 ? number : 0;
}

void tseed_job_settle(tseed_job_t *job, int64_t allocated, int files, const tseed_effect_t *effect)
{
    const tseed_amount_t spare = {allocated - at_least_0(effect->allocated),
                                  files - at_least_0(effect->files)};

    tseed_account_release(&job->run->booked->chain, spare);
    job->result.freed.bytes += at_least_0(-effect->allocated);
    job->result.freed.files += at_least_0(-effect->files);
}

void tseed_job_note(tseed_job_t *job, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    tseed_page_t page = tseed_page_of(tile);

    tseed_tally_add(&job->result.tally, &page, effect);
}

void tseed_job_charge_unremoved(tseed_store_t *store, const tseed_job_t *job)
{
    tseed_effect_t left;
    apr_status_t rv = tseed_store_unremoved_take(&left, store);

    if (rv != APR_SUCCESS) {
        tseed_account_correct(&job->run->booked->chain,
                              (tseed_amount_t){left.allocated, left.files});
        tseed_log(TSEED_LOG_ERROR, rv,
                  "TS0087: can't remove unfinished files of layer '%s' below %s: their "
                  "%" APR_INT64_T_FMT " bytes count for the disk quota until the seeder starts "
                  "anew; before that, remove the files .tseed-*.tmp there while no task runs",
                  job->run->task->layer, job->run->tileset.layer->store.root, left.allocated);
    }
}

static apr_status_t put_tile(tseed_store_t *store, tseed_job_t *job, const tseed_tile_t *tile,
                             const tseed_encoded_t *encoded)
{
    const tseed_stop_t stop = {tseed_job_is_stopped, job->run};
    int64_t allocated = tseed_store_allocation(store, encoded->length);
    tseed_effect_t effect;
    apr_status_t rv = charge(job, allocated);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = tseed_store_put(&effect, store, tile, encoded->data, encoded->length, &stop);
    tseed_job_charge_unremoved(store, job);
    tseed_job_settle(job, allocated, 1, &effect);
    if (rv == APR_SUCCESS) {
        tseed_job_note(job, tile, &effect);
        job->result.bytes += (int64_t)encoded->length;
    }
    return rv;
}

static apr_status_t share(tseed_store_t *store, tseed_job_t *job, const tseed_encoded_t *encoded)
{
    int64_t allocated = tseed_store_allocation(store, encoded->length);
    tseed_effect_t effect;
    apr_status_t rv = charge(job, allocated);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = tseed_store_share(&effect, store, encoded->data, encoded->length);
    tseed_job_charge_unremoved(store, job);
    tseed_job_settle(job, allocated, 1, &effect);
    tseed_effect_add(&job->result.shared, &effect);
    job->result.bytes += effect.bytes;
    return rv;
}

/* APR_ENOTIMPL: the tile needs a file of its own. */
static apr_status_t link_tile(tseed_store_t *store, tseed_job_t *job, const tseed_tile_t *tile,
                              const tseed_encoded_t *encoded)
{
    const tseed_stop_t stop = {tseed_job_is_stopped, job->run};
    tseed_effect_t effect;
    apr_status_t rv = tseed_store_link(&effect, store, tile, encoded->data, encoded->length, &stop);

    if (rv == APR_NOTFOUND) {
        rv = share(store, job, encoded);
        if (rv == APR_SUCCESS) {
            rv = tseed_store_link(&effect, store, tile, encoded->data, encoded->length, &stop);
        }
    }
    if (rv == APR_SUCCESS) {
        tseed_job_settle(job, 0, 0, &effect);
        tseed_job_note(job, tile, &effect);
    }
    return rv == APR_NOTFOUND ? APR_ENOTIMPL : rv;
}

apr_status_t tseed_job_store_tile(tseed_store_t *store, tseed_job_t *job, const tseed_tile_t *tile,
                                  const tseed_encoded_t *encoded)
{
    apr_status_t rv = APR_ENOTIMPL;

    job->result.refused = NULL;
    if (job->run->tileset.layer->store.link_uniform && encoded->uniform) {
        rv = link_tile(store, job, tile, encoded);
    }
    return rv == APR_ENOTIMPL ? put_tile(store, job, tile, encoded) : rv;
}
