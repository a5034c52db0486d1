/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The findings of a tile set, and their way into the database and out of it. */
#include "savings/tseed_finding_set.h"

#include <apr_escape.h>

#include "base/tseed_memory.h"
#include "books/tseed_origins.h"
#include "state/tseed_books.h"
#include "state/tseed_finding_rows.h"

#define PORTION 4096 /* findings that are read at once */

tseed_finding_set_t *tseed_finding_set_create(const tseed_book_tileset_t *booked, int meta_width,
                                              int meta_height, int depth)
{
    tseed_finding_set_t *set = tseed_memory_get(sizeof(*set));

    set->booked = booked;
    set->recipe = booked->record.recipe;
    set->depth = depth;
    set->findings = tseed_findings_create(meta_width, meta_height, depth);
    return set;
}

void tseed_finding_set_free(tseed_finding_set_t *set)
{
    for (uint32_t i = 0; i < set->shade_count; i++) {
        free(set->shades[i]);
    }
    free(set->shades);
    tseed_findings_destroy(set->findings);
    free(set);
}

void tseed_finding_set_clear(tseed_finding_set_t *set, int meta_width, int meta_height, int depth)
{
    tseed_findings_destroy(set->findings);
    set->findings = tseed_findings_create(meta_width, meta_height, depth);
    set->depth = depth;
    set->changed = NULL;
    set->shades_saved = 0;
    set->must_drop = 1;
}

/* ---- shades ---- */

const tseed_shade_t *tseed_finding_set_shade(const tseed_finding_set_t *set, uint32_t number)
{
    return number > 0 && number <= set->shade_count ? set->shades[number - 1] : NULL;
}

uint32_t tseed_finding_set_number(tseed_finding_set_t *set, const unsigned char *data,
                                  size_t length)
{
    tseed_shade_t *shade;

    for (uint32_t i = 0; i < set->shade_count; i++) {
        if (set->shades[i]->length == length && memcmp(set->shades[i]->data, data, length) == 0) {
            return i + 1;
        }
    }
    if (set->shade_count == TSEED_SHADES_MOST) {
        return 0;
    }
    if (!set->shades) {
        set->shades = tseed_memory_get(TSEED_SHADES_MOST * sizeof(tseed_shade_t *));
    }
    shade = tseed_memory_get(sizeof(*shade) + length);
    shade->length = length;
    memcpy(shade->data, data, length);
    set->shades[set->shade_count++] = shade;
    return set->shade_count;
}

/* ---- loading ---- */

/* A shade that can't be read, or a gap in the numbers, makes the findings worthless: returns 0. */
static int take_shades(tseed_finding_set_t *set, const apr_array_header_t *rows)
{
    for (int i = 0; i < rows->nelts; i++) {
        const tseed_shade_row_t *row = &APR_ARRAY_IDX(rows, i, tseed_shade_row_t);
        apr_size_t length = 0;
        const void *data = apr_punescape_hex(rows->pool, row->digits, 0, &length);

        if (!data || length == 0 || length > TSEED_SHADE_LONGEST ||
            tseed_finding_set_number(set, data, length) != row->number) {
            return 0;
        }
    }
    set->shades_saved = set->shade_count;
    return 1;
}

/* A row may say anything. */
static int is_sound(const tseed_finding_set_t *set, const tseed_finding_t *row)
{
    return row->range.z >= 0 && row->range.z < TSEED_LEVELS_MAX && row->x >= 0 && row->y >= 0 &&
           row->range.minx >= 0 && row->range.miny >= 0 && tseed_range_count(&row->range) > 0 &&
           row->shade <= set->shade_count;
}

/* A finding whose depth was not enough is older than what may have been made below since: it prunes
 * nothing, however few levels TileSeedPrune asks for later. Its depth is saved less this. */
#define NOT_ENOUGH 100

static void take_row(tseed_finding_set_t *set, tseed_finding_t *row)
{
    const int is_hole = row->is_hole, was_enough = row->depth >= 0;
    tseed_finding_t *finding;

    row->depth += was_enough ? 0 : NOT_ENOUGH;
    if (is_sound(set, row)) {
        finding = tseed_findings_get(set->findings, row->range.z, row->x, row->y);
        row->next = finding->next;
        row->is_hole = 0;
        *finding = *row;
        tseed_findings_set_hole(set->findings, finding, is_hole);
        if (tseed_finding_prunes(set->findings, finding) != was_enough) {
            finding->depth = was_enough ? finding->depth : set->depth - 1;
            tseed_finding_set_change(set, finding);
        }
    }
}

static apr_status_t load_findings(tseed_finding_set_t *set, tseed_state_t *state, int64_t most,
                                  apr_pool_t *scratch)
{
    tseed_finding_t *after = NULL;
    apr_array_header_t *rows;
    int64_t read = 0;
    apr_status_t rv;

    do {
        rv = tseed_finding_rows_load(state, &rows, set->booked->record.id, after, PORTION, scratch);
        for (int i = 0; rv == APR_SUCCESS && i < rows->nelts; i++) {
            after = &APR_ARRAY_IDX(rows, i, tseed_finding_t);
            take_row(set, after);
        }
        read += PORTION;
    } while (rv == APR_SUCCESS && rows->nelts == PORTION && read < most);
    return rv;
}

apr_status_t tseed_finding_set_load(tseed_finding_set_t *set, tseed_state_t *state, int64_t most,
                                    apr_pool_t *scratch)
{
    apr_array_header_t *shades;
    apr_status_t rv = tseed_finding_rows_shades(state, &shades, set->booked->record.id, scratch);

    set->saved_as = set->booked->record.id;
    if (rv == APR_SUCCESS && !take_shades(set, shades)) {
        set->must_drop = 1;
        return APR_SUCCESS;
    }
    return rv == APR_SUCCESS ? load_findings(set, state, most, scratch) : rv;
}

/* ---- saving ---- */

void tseed_finding_set_change(tseed_finding_set_t *set, tseed_finding_t *finding)
{
    if (!finding->is_changed) {
        finding->is_changed = 1;
        finding->next_changed = set->changed;
        set->changed = finding;
    }
}

void tseed_finding_set_forget(tseed_finding_set_t *set, tseed_finding_t *finding)
{
    tseed_findings_forget(set->findings, finding);
    tseed_finding_set_change(set, finding);
}

/* Another database is in the place of ours, or the tile set was entered anew. */
static int is_elsewhere(const tseed_finding_set_t *set)
{
    return set->saved_as != 0 && set->saved_as != set->booked->record.id;
}

int tseed_finding_set_has_changes(const tseed_finding_set_t *set)
{
    return set->changed || set->must_drop || is_elsewhere(set);
}

/* All is to be saved, under another number. */
static void save_anew(tseed_finding_set_t *set)
{
    tseed_finding_t *at = NULL;

    while ((at = tseed_findings_next(set->findings, at)) != NULL) {
        tseed_finding_set_change(set, at);
    }
    set->shades_saved = 0;
    set->must_drop = 1;
    set->saved_as = set->booked->record.id;
}

apr_status_t tseed_finding_set_write(tseed_finding_set_t *set, tseed_state_t *state,
                                     apr_pool_t *scratch)
{
    const int64_t id = set->booked->record.id;
    apr_status_t rv = APR_SUCCESS;

    if (is_elsewhere(set)) {
        save_anew(set);
    }
    if (set->must_drop) {
        rv = tseed_finding_rows_forget(state, id);
    }
    for (uint32_t i = set->shades_saved; rv == APR_SUCCESS && i < set->shade_count; i++) {
        const tseed_shade_t *shade = set->shades[i];
        const char *digits = apr_pescape_hex(scratch, shade->data, shade->length, 0);

        rv = tseed_finding_rows_shade_save(state, id, &(tseed_shade_row_t){i + 1, digits});
    }
    for (tseed_finding_t *at = set->changed; rv == APR_SUCCESS && at; at = at->next_changed) {
        tseed_finding_t row = *at;

        row.depth -= tseed_finding_prunes(set->findings, at) ? 0 : NOT_ENOUGH;
        rv = tseed_finding_rows_save(state, id, &row);
    }
    return rv;
}

void tseed_finding_set_saved(tseed_finding_set_t *set)
{
    for (tseed_finding_t *at = set->changed, *next; at; at = next) {
        next = at->next_changed;
        at->is_changed = 0;
        at->is_saved = 1;
        if (at->is_gone) {
            tseed_findings_drop(set->findings, at);
        }
    }
    set->changed = NULL;
    set->shades_saved = set->shade_count;
    set->must_drop = 0;
    set->saved_as = set->booked->record.id;
}

/* ---- what other processes know ---- */

#define FINDINGS_MOST (1 << 15) /* a fifth of a second */

struct tseed_known_t {
    const tseed_task_t *task;
    tseed_book_tileset_t booked; /* its record alone */
    tseed_finding_set_t *set;    /* NULL: nothing is known */
};

static apr_status_t free_set(void *set)
{
    tseed_finding_set_free(set);
    return APR_SUCCESS;
}

apr_status_t tseed_known_load(tseed_known_t **known, tseed_state_t *state, const tseed_task_t *task,
                              const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    const uint64_t print = tseed_tileset_print(tileset, pool);
    tseed_known_t *all = *known = apr_pcalloc(pool, sizeof(*all));
    apr_array_header_t *records;
    apr_status_t rv;

    all->task = task;
    if (!tileset->layer->uniform.is_on) {
        return APR_SUCCESS;
    }
    rv = tseed_books_tilesets(state, &records, pool);
    for (int i = 0; rv == APR_SUCCESS && i < records->nelts; i++) {
        if (APR_ARRAY_IDX(records, i, tseed_tileset_record_t).print == print) {
            all->booked.record = APR_ARRAY_IDX(records, i, tseed_tileset_record_t);
        }
    }
    if (rv != APR_SUCCESS ||
        all->booked.record.recipe != tseed_origins_recipe(task, tileset, pool)) {
        return rv;
    }
    all->set = tseed_finding_set_create(&all->booked, task->meta_width, task->meta_height,
                                        tileset->layer->uniform.depth);
    apr_pool_cleanup_register(pool, all->set, free_set, apr_pool_cleanup_null);
    return tseed_finding_set_load(all->set, state, FINDINGS_MOST, pool);
}

/* Whether the task will rely on a finding. */
static int is_relied_on(void *baton, const tseed_finding_t *finding)
{
    const tseed_task_t *task = baton;

    return task->type != TSEED_RESEED ||
           (finding->is_clean && finding->range.z >= task->zoom_start);
}

int tseed_known_has(const tseed_known_t *known, const tseed_positions_t *positions,
                    int64_t position)
{
    const tseed_range_t wanted = tseed_positions_at(positions, position).wanted;

    return known->set && tseed_findings_above(known->set->findings, positions->gridset, &wanted, 0,
                                              is_relied_on, (void *)known->task) != NULL;
}
