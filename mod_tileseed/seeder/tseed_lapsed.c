/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tile sets that are configured no more, or lie elsewhere now.
 *
 * Nothing of them is counted or removed, but their rows stay: a layer that comes back has its
 * number, and clients see what still takes room. They are forgotten when somebody says so, or when
 * a reconcile finds that the directory of their store is gone. No file is touched.
 */
#include <apr_file_info.h>
#include <stdlib.h>

#include "base/tseed_log.h"
#include "seeder/tseed_house.h"
#include "state/tseed_books.h"

/* In a text of numbers, each behind a blank. */
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

/* `numbers`: these; NULL: those without a directory. */
static apr_status_t forget(tseed_seeder_t *seeder, const char *numbers)
{
    apr_array_header_t *records;
    apr_status_t rv =
        tseed_books_tilesets(seeder->session->state, &records, seeder->context->scratch);

    for (int i = 0; rv == APR_SUCCESS && i < records->nelts; i++) {
        const tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        if (tseed_book_find(seeder->cache->book, record->print) ||
            !(numbers ? is_listed(numbers, record->id)
                      : is_gone(record->root, seeder->context->scratch))) {
            continue;
        }
        rv = tseed_books_forget(seeder->session->state, record->print);
        tseed_log(TSEED_LOG_NOTICE, rv,
                  "tile set %" APR_INT64_T_FMT " of layer '%s' below %s, which is not configured, "
                  "leaves the books: %s",
                  record->id, record->layer, record->root,
                  numbers ? "somebody wants it" : "the directory is gone");
    }
    return rv;
}

/* What was asked for meanwhile is in the note when the transaction has begun. */
static apr_status_t forget_noted(tseed_seeder_t *seeder)
{
    const char *numbers;
    apr_status_t rv = tseed_books_note_get(seeder->session->state, &numbers, TSEED_USAGE_FORGET,
                                           seeder->context->scratch);

    if (rv == APR_SUCCESS) {
        rv = forget(seeder, numbers);
    }
    return rv == APR_SUCCESS ? tseed_books_note_set(seeder->session->state, TSEED_USAGE_FORGET, "")
                             : rv;
}

apr_status_t tseed_lapsed_hear(tseed_seeder_t *seeder)
{
    const char *numbers;
    apr_status_t rv = tseed_books_note_get(seeder->session->state, &numbers, TSEED_USAGE_FORGET,
                                           seeder->context->scratch);

    if (rv != APR_SUCCESS || !*numbers) {
        return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
    }
    rv = tseed_state_begin(seeder->session->state);
    if (rv == APR_SUCCESS) {
        rv = forget_noted(seeder);
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(seeder->session->state);
    }
    tseed_state_rollback(seeder->session->state);
    return rv;
}

apr_status_t tseed_lapsed_look(tseed_seeder_t *seeder)
{
    return forget(seeder, NULL);
}
