/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Origins as rows of the table `answer`, which keeps the name that it had before. */
#include "state/tseed_origin_rows.h"

#include <apr_strings.h>

#include "state/tseed_work.h"

typedef struct {
    int64_t tileset;
    const tseed_page_t *page;
    const char *text;
    uint64_t levels;
    apr_pool_t *pool;
} origins_t;

static apr_status_t load(tseed_state_t *state, void *baton)
{
    origins_t *call = baton;
    const void *args[] = {&call->tileset, &call->page->z, &call->page->x, &call->page->y};
    tseed_rows_t rows;
    apr_status_t rv =
        tseed_database_select(&rows, &state->db, TSEED_SQL_ORIGINS_GET, args, state->scratch);

    if (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        call->text = apr_pstrdup(call->pool, tseed_rows_text(&rows));
    }
    return rv;
}

apr_status_t tseed_origin_rows_load(tseed_state_t *state, const char **text, int64_t tileset,
                                    const tseed_page_t *page, apr_pool_t *pool)
{
    origins_t call = {.tileset = tileset, .page = page, .text = "", .pool = pool};
    apr_status_t rv = tseed_work_read(state, load, &call);

    *text = call.text;
    return rv;
}

apr_status_t tseed_origin_rows_save(tseed_state_t *state, int64_t tileset, const tseed_page_t *page,
                                    const char *text)
{
    return tseed_work_change(state, NULL, TSEED_SQL_ORIGINS_SAVE,
                             (const void *[]){&tileset, &page->z, &page->x, &page->y, text});
}

static apr_status_t doubt(tseed_state_t *state, void *baton)
{
    const origins_t *call = baton;
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < 4; i++) {
        const int64_t x = call->page->x - i % 2, y = call->page->y - i / 2;
        const void *args[] = {&call->tileset, &call->page->z, &x, &y};

        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_ORIGINS_DELETE, args);
    }
    return rv;
}

apr_status_t tseed_origin_rows_doubt(tseed_state_t *state, int64_t tileset,
                                     const tseed_page_t *page)
{
    origins_t call = {.tileset = tileset, .page = page};

    return tseed_work_write(state, doubt, &call);
}

static apr_status_t doubt_levels(tseed_state_t *state, void *baton)
{
    const origins_t *call = baton;
    apr_status_t rv = tseed_work_patience(state);

    for (int z = 0; rv == APR_SUCCESS && z < TSEED_LEVELS_MAX; z++) {
        if (call->levels >> z & 1) {
            rv = tseed_database_change(&state->db, NULL, TSEED_SQL_ORIGINS_DELETE_LEVEL,
                                       (const void *[]){&call->tileset, &z});
        }
    }
    return rv;
}

apr_status_t tseed_origin_rows_doubt_levels(tseed_state_t *state, int64_t tileset, uint64_t levels)
{
    origins_t call = {.tileset = tileset, .levels = levels};

    return tseed_work_write(state, doubt_levels, &call);
}
