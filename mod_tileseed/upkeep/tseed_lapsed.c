/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A tile set has lapsed when it is no longer configured, or is configured at another place now.
 *
 * Nothing of a lapsed tile set is counted or removed, but its row stays. A layer that comes back
 * gets its number back, and clients see which files still take room. The row is forgotten when a
 * client says so, or when a reconcile finds that the store root is gone. No file is touched.
 */
#include "upkeep/tseed_lapsed.h"

#include <apr_file_info.h>
#include <stdlib.h>

#include "base/tseed_log.h"
#include "state/tseed_books.h"

/* Whether a number is in a text of numbers, each behind a blank. */
static int is_listed(const char *numbers, int64_t number)
{
    char *end;

    for (int64_t one; *numbers; numbers = end) {
        one = strtoll(numbers, &end, 10);
        if (one == number || end == numbers) {
            return one == number;
        }
    }
    return 0;
}

static int is_gone(const char *directory, apr_pool_t *pool)
{
    apr_finfo_t info;
    const apr_status_t rv = apr_stat(&info, directory, APR_FINFO_TYPE, pool);

    return APR_STATUS_IS_ENOENT(rv) || APR_STATUS_IS_ENOTDIR(rv);
}

/* Forgets lapsed tile sets: those with these numbers, or if `numbers` is NULL those without a
 * directory. */
static apr_status_t forget(const tseed_context_t *context, const tseed_session_t *session,
                           const tseed_cache_t *cache, const char *numbers)
{
    apr_array_header_t *records;
    apr_status_t rv = tseed_books_tilesets(session->state, &records, context->scratch);

    for (int i = 0; rv == APR_SUCCESS && i < records->nelts; i++) {
        const tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        if (tseed_book_find(cache->book, record->print) ||
            !(numbers ? is_listed(numbers, record->id) : is_gone(record->root, context->scratch))) {
            continue;
        }
        rv = tseed_books_forget(session->state, record->print);
        tseed_log(TSEED_LOG_NOTICE, rv,
                  "TS0069: tile set %" APR_INT64_T_FMT
                  " of layer '%s' below %s, which is not configured, leaves the books: %s",
                  record->id, record->layer, record->root,
                  numbers ? "somebody wants it" : "the directory is gone");
    }
    return rv;
}

/* Forgets the tile sets that the note names. The transaction begins before the note is read, so a
 * request that comes meanwhile is in the note or comes later. */
static apr_status_t forget_noted(const tseed_context_t *context, const tseed_session_t *session,
                                 const tseed_cache_t *cache)
{
    const char *numbers;
    apr_status_t rv =
        tseed_books_note_get(session->state, &numbers, TSEED_USAGE_FORGET, context->scratch);

    if (rv == APR_SUCCESS) {
        rv = forget(context, session, cache, numbers);
    }
    return rv == APR_SUCCESS ? tseed_books_note_set(session->state, TSEED_USAGE_FORGET, "") : rv;
}

apr_status_t tseed_lapsed_hear(const tseed_context_t *context, const tseed_session_t *session,
                               const tseed_cache_t *cache)
{
    const char *numbers;
    apr_status_t rv =
        tseed_books_note_get(session->state, &numbers, TSEED_USAGE_FORGET, context->scratch);

    if (rv != APR_SUCCESS || !*numbers) {
        return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
    }
    rv = tseed_state_begin(session->state);
    if (rv == APR_SUCCESS) {
        rv = forget_noted(context, session, cache);
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(session->state);
    }
    tseed_state_rollback(session->state);
    return rv;
}

apr_status_t tseed_lapsed_look(const tseed_context_t *context, const tseed_session_t *session,
                               const tseed_cache_t *cache)
{
    return forget(context, session, cache, NULL);
}
