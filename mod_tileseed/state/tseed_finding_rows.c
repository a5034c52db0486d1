/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Findings and shades as rows. */
#include "state/tseed_finding_rows.h"

#include <apr_strings.h>

#include "state/tseed_work.h"

typedef struct {
    int64_t tileset, most;
    const tseed_finding_t *finding; /* after which to load, or which to save or delete */
    const tseed_shade_row_t *shade;
    apr_array_header_t *loaded;
} findings_t;

/* ---- findings ---- */

static void load_row(tseed_finding_t *finding, tseed_rows_t *rows)
{
    *finding = (tseed_finding_t){.is_saved = 1};
    finding->range.z = tseed_rows_int(rows);
    finding->x = tseed_rows_int64(rows);
    finding->y = tseed_rows_int64(rows);
    finding->range.minx = tseed_rows_int64(rows);
    finding->range.miny = tseed_rows_int64(rows);
    finding->range.maxx = tseed_rows_int64(rows);
    finding->range.maxy = tseed_rows_int64(rows);
    finding->shade = (uint32_t)tseed_rows_int64(rows);
    finding->depth = tseed_rows_int(rows);
    finding->is_hole = tseed_rows_int(rows);
    finding->is_clean = tseed_rows_int(rows);
    finding->task = tseed_rows_int64(rows);
}

static apr_status_t load(tseed_state_t *state, void *baton)
{
    static const tseed_finding_t before_all = {.range = {.z = -1}, .x = -1, .y = -1};
    const findings_t *call = baton;
    const tseed_finding_t *after = call->finding ? call->finding : &before_all;
    const void *args[] = {&call->tileset, &after->range.z, &after->x, &after->y, &call->most};
    tseed_rows_t rows;
    apr_status_t rv =
        tseed_database_select(&rows, &state->db, TSEED_SQL_FINDINGS, args, state->scratch);

    apr_array_clear(call->loaded);
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        load_row(apr_array_push(call->loaded), &rows);
    }
    return rv;
}

apr_status_t tseed_finding_rows_load(tseed_state_t *state, apr_array_header_t **found,
                                     int64_t tileset, const tseed_finding_t *after, int64_t most,
                                     apr_pool_t *pool)
{
    findings_t call = {.tileset = tileset,
                       .most = most,
                       .finding = after,
                       .loaded = apr_array_make(pool, 64, sizeof(tseed_finding_t))};

    *found = call.loaded;
    return tseed_work_read(state, load, &call);
}

static apr_status_t save(tseed_state_t *state, void *baton)
{
    const findings_t *call = baton;
    const tseed_finding_t *finding = call->finding;
    const int64_t shade = finding->shade;
    const void *args[] = {
        &call->tileset,       &finding->range.z,    &finding->x,
        &finding->y,          &finding->range.minx, &finding->range.miny,
        &finding->range.maxx, &finding->range.maxy, &shade,
        &finding->depth,      &finding->is_hole,    &finding->is_clean,
        &finding->task,
    };

    return tseed_database_change(&state->db, NULL, TSEED_SQL_FINDING_SAVE, args);
}

apr_status_t tseed_finding_rows_save(tseed_state_t *state, int64_t tileset,
                                     const tseed_finding_t *finding)
{
    return tseed_work_write(state, save, &(findings_t){.tileset = tileset, .finding = finding});
}

static apr_status_t delete_one(tseed_state_t *state, void *baton)
{
    const findings_t *call = baton;
    const tseed_finding_t *finding = call->finding;
    const void *args[] = {&call->tileset, &finding->range.z, &finding->x, &finding->y};

    return tseed_database_change(&state->db, NULL, TSEED_SQL_FINDING_DELETE, args);
}

apr_status_t tseed_finding_rows_delete(tseed_state_t *state, int64_t tileset,
                                       const tseed_finding_t *finding)
{
    return tseed_work_write(state, delete_one,
                            &(findings_t){.tileset = tileset, .finding = finding});
}

static apr_status_t forget(tseed_state_t *state, void *baton)
{
    const findings_t *call = baton;
    const void *args[] = {&call->tileset};
    apr_status_t rv = tseed_database_change(&state->db, NULL, TSEED_SQL_FINDINGS_DELETE, args);

    return rv == APR_SUCCESS
               ? tseed_database_change(&state->db, NULL, TSEED_SQL_SHADES_DELETE, args)
               : rv;
}

apr_status_t tseed_finding_rows_forget(tseed_state_t *state, int64_t tileset)
{
    return tseed_work_write(state, forget, &(findings_t){.tileset = tileset});
}

/* ---- shades ---- */

static apr_status_t load_shades(tseed_state_t *state, void *baton)
{
    const findings_t *call = baton;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(&rows, &state->db, TSEED_SQL_SHADES,
                                            (const void *[]){&call->tileset}, state->scratch);

    apr_array_clear(call->loaded);
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        tseed_shade_row_t *row = apr_array_push(call->loaded);

        row->number = tseed_rows_int64(&rows);
        row->digits = apr_pstrdup(call->loaded->pool, tseed_rows_text(&rows));
    }
    return rv;
}

apr_status_t tseed_finding_rows_shades(tseed_state_t *state, apr_array_header_t **shades,
                                       int64_t tileset, apr_pool_t *pool)
{
    findings_t call = {.tileset = tileset,
                       .loaded = apr_array_make(pool, 4, sizeof(tseed_shade_row_t))};

    *shades = call.loaded;
    return tseed_work_read(state, load_shades, &call);
}

static apr_status_t save_shade(tseed_state_t *state, void *baton)
{
    const findings_t *call = baton;

    return tseed_database_change(
        &state->db, NULL, TSEED_SQL_SHADE_SAVE,
        (const void *[]){&call->tileset, &call->shade->number, call->shade->digits});
}

apr_status_t tseed_finding_rows_shade_save(tseed_state_t *state, int64_t tileset,
                                           const tseed_shade_row_t *shade)
{
    return tseed_work_write(state, save_shade, &(findings_t){.tileset = tileset, .shade = shade});
}
