/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The findings of a tile set, and their way into the database and out of it. */
#include "savings/tseed_finding_set.h"

#include <string.h>

#include "base/tseed_memory.h"
#include "state/tseed_finding_rows.h"

#define PORTION 4096 /* findings that are read at once */

tseed_finding_set_t *tseed_finding_set_create(const tseed_book_tileset_t *booked, int meta_width,
                                            int meta_height, int depth)
{
    tseed_finding_set_t *set = tseed_memory_get(sizeof(*set));

    set->booked = booked;
    set->recipe = booked->record.recipe;
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
    free(set->changed);
    free(set);
}

void tseed_finding_set_clear(tseed_finding_set_t *set, int meta_width, int meta_height, int depth)
{
    tseed_findings_destroy(set->findings);
    set->findings = tseed_findings_create(meta_width, meta_height, depth);
    set->changed_count = 0;
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

static const char *digits_of(const tseed_shade_t *shade, apr_pool_t *pool)
{
    static const char digits[] = "0123456789abcdef";
    char *text = apr_palloc(pool, 2 * shade->length + 1);

    for (size_t i = 0; i < shade->length; i++) {
        text[2 * i] = digits[shade->data[i] >> 4];
        text[2 * i + 1] = digits[shade->data[i] & 15];
    }
    text[2 * shade->length] = '\0';
    return text;
}

static int value_of(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = digit ? strchr(digits, digit) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Returns how many bytes the digits are, up to `most`; 0: they are none. */
static size_t bytes_of(unsigned char *data, size_t most, const char *digits)
{
    size_t length = 0;

    for (; digits[2 * length]; length++) {
        const int high = value_of(digits[2 * length]), low = value_of(digits[2 * length + 1]);

        if (high < 0 || low < 0 || length == most) {
            return 0;
        }
        data[length] = (unsigned char)(high << 4 | low);
    }
    return length;
}

/* ---- loading ---- */

/* A shade that can't be read, or a gap in the numbers, makes the findings worthless: returns 0. */
static int take_shades(tseed_finding_set_t *set, const apr_array_header_t *rows)
{
    unsigned char data[TSEED_SHADE_LONGEST];

    for (int i = 0; i < rows->nelts; i++) {
        const tseed_shade_row_t *row = &APR_ARRAY_IDX(rows, i, tseed_shade_row_t);
        const size_t length = bytes_of(data, sizeof(data), row->digits);

        if (length == 0 || tseed_finding_set_number(set, data, length) != row->number) {
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

static void take_row(tseed_finding_set_t *set, const tseed_finding_t *row)
{
    tseed_finding_t *finding;

    if (is_sound(set, row)) {
        finding = tseed_findings_get(set->findings, row->range.z, row->x, row->y);
        *finding = *row;
        finding->is_hole = 0;
        tseed_findings_set_hole(set->findings, finding, row->is_hole);
    }
}

static apr_status_t load_findings(tseed_finding_set_t *set, tseed_state_t *state, int64_t most,
                                  apr_pool_t *scratch)
{
    const tseed_finding_t *after = NULL;
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
    if (finding->is_changed) {
        return;
    }
    finding->is_changed = 1;
    if (set->changed_count == set->changed_room) {
        set->changed_room = set->changed_room ? 2 * set->changed_room : 256;
        set->changed = realloc(set->changed, set->changed_room * sizeof(finding));
        if (!set->changed) {
            abort();
        }
    }
    set->changed[set->changed_count++] = finding;
}

/* Another database is in the place of ours, or the tile set was entered anew. */
static int is_elsewhere(const tseed_finding_set_t *set)
{
    return set->saved_as != 0 && set->saved_as != set->booked->record.id;
}

int tseed_finding_set_has_changes(const tseed_finding_set_t *set)
{
    return set->changed_count > 0 || set->must_drop || is_elsewhere(set);
}

/* All is to be saved, under another number. */
static void save_anew(tseed_finding_set_t *set)
{
    size_t cursor = 0;
    tseed_finding_t *finding;

    while ((finding = tseed_findings_next(set->findings, &cursor)) != NULL) {
        tseed_finding_set_change(set, finding);
    }
    set->shades_saved = 0;
    set->must_drop = 1;
    set->saved_as = set->booked->record.id;
}

static apr_status_t write_shades(const tseed_finding_set_t *set, tseed_state_t *state,
                                 apr_pool_t *scratch)
{
    apr_status_t rv = APR_SUCCESS;

    for (uint32_t i = set->shades_saved; rv == APR_SUCCESS && i < set->shade_count; i++) {
        const tseed_shade_row_t row = {i + 1, digits_of(set->shades[i], scratch)};

        rv = tseed_finding_rows_shade_save(state, set->booked->record.id, &row);
    }
    return rv;
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
    if (rv == APR_SUCCESS) {
        rv = write_shades(set, state, scratch);
    }
    for (size_t i = 0; rv == APR_SUCCESS && i < set->changed_count; i++) {
        const tseed_finding_t *finding = set->changed[i];

        rv = finding->is_gone ? tseed_finding_rows_delete(state, id, finding)
                              : tseed_finding_rows_save(state, id, finding);
    }
    return rv;
}

void tseed_finding_set_saved(tseed_finding_set_t *set)
{
    for (size_t i = 0; i < set->changed_count; i++) {
        tseed_finding_t *finding = set->changed[i];

        finding->is_changed = 0;
        finding->is_saved = 1;
        if (finding->is_gone) {
            tseed_findings_drop(set->findings, finding);
        }
    }
    set->changed_count = 0;
    set->shades_saved = set->shade_count;
    set->must_drop = 0;
    set->saved_as = set->booked->record.id;
}
