/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Findings and shades as rows. */
#include "state/tseed_finding_rows.h"

#include <apr_strings.h>

#include "state/tseed_work.h"

/* ---- findings ---- */

static void load_finding(void *row, tseed_rows_t *rows)
{
    tseed_finding_t *finding = row;

    *finding = (tseed_finding_t){.is_saved = 1};
    tseed_rows_scan(rows, &finding->range.z, &finding->x, &finding->y, &finding->range.minx,
                    &finding->range.miny, &finding->range.maxx, &finding->range.maxy,
                    &finding->shade, &finding->depth, &finding->is_hole, &finding->is_clean,
                    &finding->task);
}

apr_status_t tseed_finding_rows_load(tseed_state_t *state, apr_array_header_t **found,
                                     int64_t tileset, const tseed_finding_t *after, int64_t most,
                                     apr_pool_t *pool)
{
    static const tseed_finding_t before_all = {.range = {.z = -1}, .x = -1, .y = -1};
    const tseed_finding_t *from = after ? after : &before_all;
    const void *args[] = {&tileset, &from->range.z, &from->x, &from->y, &most};

    *found = apr_array_make(pool, 64, sizeof(tseed_finding_t));
    return tseed_work_list(state, *found, load_finding, TSEED_SQL_FINDINGS, args);
}

apr_status_t tseed_finding_rows_save(tseed_state_t *state, int64_t tileset,
                                     const tseed_finding_t *finding)
{
    const tseed_range_t *range = &finding->range;
    const int64_t shade = finding->shade;
    const tseed_sql_t sql = finding->is_gone ? TSEED_SQL_FINDING_DELETE : TSEED_SQL_FINDING_SAVE;

    return tseed_work_change(
        state, NULL, sql,
        (const void *[]){&tileset, &range->z, &finding->x, &finding->y, &range->minx, &range->miny,
                         &range->maxx, &range->maxy, &shade, &finding->depth, &finding->is_hole,
                         &finding->is_clean, &finding->task});
}

static apr_status_t forget(tseed_state_t *state, void *tileset)
{
    static const tseed_sql_t sqls[] = {TSEED_SQL_FINDINGS_DELETE, TSEED_SQL_SHADES_DELETE};

    return tseed_database_change_all(&state->db, sqls, 2, (const void *[]){tileset});
}

apr_status_t tseed_finding_rows_forget(tseed_state_t *state, int64_t tileset)
{
    return tseed_work_write(state, forget, &tileset);
}

apr_status_t tseed_finding_rows_doubt(tseed_state_t *state, int64_t tileset, int z)
{
    return tseed_work_change(state, NULL, TSEED_SQL_FINDINGS_DOUBT, (const void *[]){&tileset, &z});
}

/* ---- shades ---- */

static void load_shade(void *row, tseed_rows_t *rows)
{
    tseed_shade_row_t *shade = row;

    tseed_rows_scan(rows, &shade->number, &shade->digits);
}

apr_status_t tseed_finding_rows_shades(tseed_state_t *state, apr_array_header_t **shades,
                                       int64_t tileset, apr_pool_t *pool)
{
    *shades = apr_array_make(pool, 4, sizeof(tseed_shade_row_t));
    return tseed_work_list(state, *shades, load_shade, TSEED_SQL_SHADES,
                           (const void *[]){&tileset});
}

apr_status_t tseed_finding_rows_shade_save(tseed_state_t *state, int64_t tileset,
                                           const tseed_shade_row_t *shade)
{
    return tseed_work_change(state, NULL, TSEED_SQL_SHADE_SAVE,
                             (const void *[]){&tileset, &shade->number, shade->digits});
}
