/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A reconcile puts all pages in doubt. The pages are counted in the background. A job that is to
 * write to a page which is not counted yet has that page counted first. Tile sets that the book
 * does not know are looked for first, and lapsed tile sets whose store root is gone are forgotten.
 * Then each tile set is walked for tiles that the book does not know, and its shared files are
 * counted. Meanwhile the limits hold by what is booked.
 *
 * The request is a note of the database; the status says which request was carried out. A seeder
 * that finds another request there begins a reconcile. A seeder that finds an unfinished reconcile
 * begins it anew.
 */
#include "books/tseed_reconciler.h"

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "board/tseed_counters.h"
#include "books/tseed_discover.h"
#include "books/tseed_lapsed.h"
#include "state/tseed_books.h"
#include "store/tseed_store.h"

struct tseed_reconciler_t {
    const tseed_context_t *context;
    const tseed_session_t *session;
    tseed_cache_t *cache;
    tseed_count_t *count;
    tseed_walk_t *walk;
    unsigned tileset; /* number of the tile set that is compared, in two steps: */
    int must_walk;    /* its directories are still to be walked, */
    int is_counting;  /* and then its shared files are counted */
    tseed_client_t client;
};

/* ---- begin and end ---- */

static void begin(tseed_reconciler_t *reconciler, apr_time_t requested)
{
    tseed_cache_t *cache = reconciler->cache;

    tseed_book_doubt_all(cache->book, NULL);
    tseed_store_shared_forget();
    reconciler->tileset = 0;
    reconciler->must_walk = 1;
    reconciler->is_counting = 0;
    cache->is_reconciling = 1;
    cache->status.reconcile =
        (tseed_reconcile_t){.requested = requested, .started = apr_time_now()};
    tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
              "TS0071: the books of the disk usage are compared with the disk: %" APR_INT64_T_FMT
              " pages in %u tile sets",
              tseed_book_in_doubt(cache->book), tseed_book_tilesets(cache->book));
}

static void end(tseed_reconciler_t *reconciler)
{
    tseed_reconcile_t *reconcile = &reconciler->cache->status.reconcile;
    apr_pool_t *scratch = reconciler->context->scratch;

    reconciler->cache->is_reconciling = 0;
    reconcile->finished = tseed_clock_wall(reconcile->started);
    tseed_counters_add(reconciler->context->board, TSEED_COUNT_RECONCILES, 1);
    tseed_counters_add(reconciler->context->board, TSEED_COUNT_DIFFERING_PAGES,
                       reconcile->differing);
    tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
              "TS0072: the books of the disk usage agree with the disk now: %" APR_INT64_T_FMT
              " of %" APR_INT64_T_FMT " pages were corrected; %" APR_INT64_T_FMT
              " tiles, %s in %" APR_INT64_T_FMT " files, were not in the books, %" APR_INT64_T_FMT
              " tiles, %s in %" APR_INT64_T_FMT " files, were not on the disk",
              reconcile->differing, reconcile->counted, reconcile->found.names,
              tseed_text_amount(reconcile->found.allocated, scratch), reconcile->found.files,
              reconcile->lost.names, tseed_text_amount(reconcile->lost.allocated, scratch),
              reconcile->lost.files);
}

/* Whether a request is still to be carried out, and may be now. */
static int is_due(const tseed_reconciler_t *reconciler, apr_time_t requested)
{
    const tseed_cache_t *cache = reconciler->cache;
    const tseed_reconcile_t *last = &cache->status.reconcile;

    return requested && !cache->is_reconciling && !cache->is_loading &&
           (requested != last->requested || !last->finished);
}

apr_status_t tseed_reconciler_hear(tseed_reconciler_t *reconciler)
{
    const char *value = "";
    apr_status_t rv = tseed_books_note_get(reconciler->session->state, &value, TSEED_USAGE_REQUIRED,
                                           reconciler->context->scratch);
    apr_time_t requested = rv == APR_SUCCESS ? apr_atoi64(value) : 0;

    if (is_due(reconciler, requested)) {
        rv = tseed_discover_look(reconciler->context, reconciler->cache);
        if (rv == APR_SUCCESS) {
            rv = tseed_lapsed_look(reconciler->context, reconciler->session, reconciler->cache);
        }
        if (rv == APR_SUCCESS) {
            begin(reconciler, requested);
        }
    }
    return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
}

/* ---- on its way ---- */

/* Shared files that can't be counted now are tried again. */
static void shared_counted(void *module, const tseed_effect_t *difference)
{
    tseed_reconciler_t *reconciler = module;

    reconciler->is_counting = 0;
    reconciler->tileset += difference != NULL;
    reconciler->must_walk = difference != NULL;
}

static void feed(void *module)
{
    tseed_reconciler_t *reconciler = module;
    tseed_cache_t *cache = reconciler->cache;
    tseed_book_tileset_t *booked = tseed_book_next(cache->book, &reconciler->tileset);

    if (!cache->is_reconciling || cache->is_loading) {
        return;
    }
    if (!booked && tseed_book_in_doubt(cache->book) == 0) {
        end(reconciler);
    } else if (booked && reconciler->must_walk) {
        tseed_walk_want(reconciler->walk, booked);
        reconciler->must_walk = 0;
    } else if (booked && !tseed_walk_is_wanted(reconciler->walk) && !reconciler->is_counting &&
               tseed_count_may_retry(booked)) {
        reconciler->is_counting =
            tseed_count_shared(reconciler->count, booked, shared_counted, reconciler);
    }
}

/* ---- the module ---- */

tseed_reconciler_t *tseed_reconciler_create(const tseed_context_t *context,
                                            const tseed_session_t *session, tseed_cache_t *cache,
                                            tseed_count_t *count, tseed_walk_t *walk)
{
    tseed_reconciler_t *reconciler = apr_pcalloc(context->pool, sizeof(*reconciler));

    reconciler->context = context;
    reconciler->session = session;
    reconciler->cache = cache;
    reconciler->count = count;
    reconciler->walk = walk;
    reconciler->client = (tseed_client_t){.module = reconciler, .feed = feed};
    return reconciler;
}

tseed_client_t *tseed_reconciler_client(tseed_reconciler_t *reconciler)
{
    return &reconciler->client;
}
