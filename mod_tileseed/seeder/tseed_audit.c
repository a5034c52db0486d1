/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The audit: a reconcile of all books with the disk.
 *
 * A reconcile puts all pages in doubt, so that they are counted, and whoever writes before
 * that counts his own first. Tile set by tile set, directories are walked for tiles that the books
 * do not know, and the shared files are counted. Tile sets that the books do not know are looked
 * for first, and those that lapsed with their directory go. Meanwhile the limits hold, by what is
 * booked.
 *
 * The request is a note of the database; the status says which one was carried out. A seeder that
 * finds another one there, or finds it unfinished, begins it anew.
 */
#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "seeder/tseed_house.h"
#include "state/tseed_books.h"
#include "upkeep/tseed_lapsed.h"

/* ---- begin and end ---- */

static void begin(tseed_seeder_t *seeder, apr_time_t requested)
{
    unsigned tilesets = 0;

    tseed_book_doubt_all(seeder->cache->book);
    while (tseed_book_tileset(seeder->cache->book, tilesets)) {
        tilesets++;
    }
    seeder->audit = (tseed_audit_t){.wants_walk = 1};
    seeder->cache->is_reconciling = 1;
    seeder->cache->status.reconcile =
        (tseed_reconcile_t){.requested = requested, .started = apr_time_now()};
    tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
              "the books of the disk usage are compared with the disk: %" APR_INT64_T_FMT
              " pages in %u tile sets",
              tseed_book_in_doubt(seeder->cache->book), tilesets);
}

static void end(tseed_seeder_t *seeder)
{
    tseed_reconcile_t *reconcile = &seeder->cache->status.reconcile;

    seeder->cache->is_reconciling = 0;
    reconcile->finished = tseed_clock_wall(reconcile->started);
    tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
              "the books of the disk usage agree with the disk now: %" APR_INT64_T_FMT
              " of %" APR_INT64_T_FMT " pages were corrected; %" APR_INT64_T_FMT
              " tiles, %s in %" APR_INT64_T_FMT " files, were not in the books, %" APR_INT64_T_FMT
              " tiles, %s in %" APR_INT64_T_FMT " files, were not on the disk",
              reconcile->differing, reconcile->counted, reconcile->found.names,
              tseed_text_amount(reconcile->found.allocated, seeder->context->scratch),
              reconcile->found.files, reconcile->lost.names,
              tseed_text_amount(reconcile->lost.allocated, seeder->context->scratch),
              reconcile->lost.files);
}

apr_status_t tseed_audit_hear(tseed_seeder_t *seeder)
{
    const tseed_reconcile_t *last = &seeder->cache->status.reconcile;
    const char *value = "";
    apr_status_t rv = tseed_books_note_get(seeder->session->state, &value, TSEED_USAGE_REQUIRED,
                                           seeder->context->scratch);
    apr_time_t requested = rv == APR_SUCCESS ? apr_atoi64(value) : 0;

    if (requested && !seeder->cache->is_reconciling && !seeder->cache->is_loading &&
        (requested != last->requested || !last->finished)) {
        rv = tseed_scout_look(seeder);
        if (rv == APR_SUCCESS) {
            rv = tseed_lapsed_look(seeder->context, seeder->session, seeder->cache);
        }
        if (rv == APR_SUCCESS) {
            begin(seeder, requested);
        }
    }
    return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
}

/* ---- on its way ---- */

/* Shared files that can't be counted now are tried again. */
static void shared_counted(void *module, const tseed_effect_t *difference)
{
    tseed_seeder_t *seeder = module;
    tseed_audit_t *audit = &seeder->audit;

    audit->is_counting = 0;
    audit->tileset += difference != NULL;
    audit->wants_walk = difference != NULL;
}

static void feed(void *module)
{
    tseed_seeder_t *seeder = module;
    tseed_audit_t *audit = &seeder->audit;
    tseed_book_tileset_t *booked = tseed_book_tileset(seeder->cache->book, audit->tileset);

    if (!seeder->cache->is_reconciling || seeder->cache->is_loading) {
        return;
    }
    if (!booked && tseed_book_in_doubt(seeder->cache->book) == 0) {
        end(seeder);
    } else if (booked && audit->wants_walk) {
        seeder->to_walk = booked;
        audit->wants_walk = 0;
    } else if (booked && !seeder->to_walk && !audit->is_counting &&
               tseed_count_may_retry(seeder->count)) {
        audit->is_counting = tseed_count_shared(seeder->count, booked, shared_counted, seeder);
    }
}

tseed_client_t tseed_audit_client = {.feed = feed};
