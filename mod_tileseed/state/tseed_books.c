/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The books as rows. Prints and sets of levels are 64 bits without a sign, which no column has:
 * they are kept as the signed number of the same bits. */
#include "state/tseed_books.h"

#include <apr_strings.h>

#include "state/tseed_work.h"

/* ---- tile sets ---- */

static void load_effect(tseed_effect_t *effect, tseed_rows_t *rows)
{
    effect->names = tseed_rows_int64(rows);
    effect->files = tseed_rows_int64(rows);
    effect->bytes = tseed_rows_int64(rows);
    effect->allocated = tseed_rows_int64(rows);
}

/* Reads TSEED_HOLDING_COLUMNS. */
static void load_record(tseed_tileset_record_t *record, tseed_rows_t *rows, apr_pool_t *pool)
{
    record->id = tseed_rows_int64(rows);
    record->print = (uint64_t)tseed_rows_int64(rows);
    record->key = apr_pstrdup(pool, tseed_rows_text(rows));
    record->layer = apr_pstrdup(pool, tseed_rows_text(rows));
    record->gridset = apr_pstrdup(pool, tseed_rows_text(rows));
    record->format = apr_pstrdup(pool, tseed_rows_text(rows));
    record->parameters = apr_pstrdup(pool, tseed_rows_text(rows));
    record->root = apr_pstrdup(pool, tseed_rows_text(rows));
    record->pages = tseed_rows_int64(rows);
    load_effect(&record->paged, rows);
    load_effect(&record->shared, rows);
    load_effect(&record->detached, rows);
    record->complete = tseed_rows_int(rows);
    record->doubtful = (uint64_t)tseed_rows_int64(rows);
    record->recipe = (uint64_t)tseed_rows_int64(rows);
    record->by_reading = tseed_rows_int(rows);
}

static apr_status_t load_tilesets(tseed_state_t *state, void *baton)
{
    apr_array_header_t *records = baton;
    tseed_rows_t rows;
    apr_status_t rv =
        tseed_database_select(&rows, &state->db, TSEED_SQL_TILESETS, NULL, state->scratch);

    apr_array_clear(records);
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        load_record(apr_array_push(records), &rows, records->pool);
    }
    return rv;
}

apr_status_t tseed_books_tilesets(tseed_state_t *state, apr_array_header_t **records,
                                  apr_pool_t *pool)
{
    *records = apr_array_make(pool, 16, sizeof(tseed_tileset_record_t));
    return tseed_work_read(state, load_tilesets, *records);
}

static apr_status_t save_tileset(tseed_state_t *state, void *baton)
{
    const tseed_tileset_record_t *record = baton;
    const tseed_effect_t *paged = &record->paged, *shared = &record->shared,
                         *detached = &record->detached;
    const int64_t doubtful = (int64_t)record->doubtful, recipe = (int64_t)record->recipe,
                  print = (int64_t)record->print;
    const void *args[] = {
        &record->pages,
        &paged->names,
        &paged->files,
        &paged->bytes,
        &paged->allocated,
        &shared->names,
        &shared->files,
        &shared->bytes,
        &shared->allocated,
        &detached->names,
        &detached->files,
        &detached->bytes,
        &detached->allocated,
        &record->complete,
        &doubtful,
        &recipe,
        &record->by_reading,
        &record->id,
        &print,
    };
    int rows = 0;
    apr_status_t rv = tseed_database_change(&state->db, &rows, TSEED_SQL_TILESET_SAVE, args);

    return rv == APR_SUCCESS && rows == 0 ? APR_NOTFOUND : rv;
}

apr_status_t tseed_books_save(tseed_state_t *state, const tseed_tileset_record_t *record)
{
    return tseed_work_write(state, save_tileset, (void *)record);
}

/* Forgets what there is of a tile set by that print: its pages, its origins and its findings. */
static apr_status_t forget(tseed_state_t *state, int64_t print)
{
    int64_t id;
    const void *args[] = {&id};
    apr_status_t rv =
        tseed_work_number(state, &id, TSEED_SQL_TILESET_FIND, (const void *[]){&print});

    if (rv == APR_SUCCESS) {
        rv = tseed_work_patience(state);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_PAGES_DELETE, args);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_ORIGINS_DELETE_TILESET, args);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_FINDINGS_DELETE, args);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_SHADES_DELETE, args);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_TILESET_DELETE, args);
    }
    return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
}

static apr_status_t forget_print(tseed_state_t *state, void *baton)
{
    return forget(state, (int64_t) * (const uint64_t *)baton);
}

apr_status_t tseed_books_forget(tseed_state_t *state, uint64_t print)
{
    return tseed_work_write(state, forget_print, &print);
}

static apr_status_t add_tileset(tseed_state_t *state, void *baton)
{
    tseed_tileset_record_t *record = baton;
    const int64_t print = (int64_t)record->print;
    const void *args[] = {&record->id,     &print,         record->key,        record->layer,
                          record->gridset, record->format, record->parameters, record->root};
    apr_status_t rv = forget(state, print);

    if (rv == APR_SUCCESS) {
        rv = tseed_work_number(state, &record->id, TSEED_SQL_TILESET_NEXT, NULL);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(&state->db, NULL, TSEED_SQL_TILESET_INSERT, args);
    }
    return rv == APR_SUCCESS ? save_tileset(state, record) : rv;
}

apr_status_t tseed_books_add(tseed_state_t *state, tseed_tileset_record_t *record)
{
    return tseed_work_write(state, add_tileset, record);
}

/* ---- pages ---- */

typedef struct {
    apr_array_header_t *pages;
    int64_t tileset, most;
    tseed_page_t after;
} pages_t;

static void load_page(tseed_page_record_t *record, tseed_rows_t *rows)
{
    record->page.z = tseed_rows_int(rows);
    record->page.x = tseed_rows_int64(rows);
    record->page.y = tseed_rows_int64(rows);
    load_effect(&record->usage, rows);
    record->accessed = tseed_rows_int64(rows);
    record->heat = tseed_rows_int64(rows);
    record->written = tseed_rows_int64(rows);
    record->dirty = tseed_rows_int(rows);
}

static apr_status_t load_pages(tseed_state_t *state, void *baton)
{
    pages_t *call = baton;
    const void *args[] = {&call->tileset, &call->after.z, &call->after.x, &call->after.y,
                          &call->most};
    tseed_rows_t rows;
    apr_status_t rv =
        tseed_database_select(&rows, &state->db, TSEED_SQL_PAGES, args, state->scratch);

    apr_array_clear(call->pages);
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        tseed_page_record_t *record = apr_array_push(call->pages);

        record->tileset = call->tileset;
        load_page(record, &rows);
    }
    return rv;
}

apr_status_t tseed_books_pages(tseed_state_t *state, apr_array_header_t **pages, int64_t tileset,
                               const tseed_page_t *after, int64_t most, apr_pool_t *pool)
{
    static const tseed_page_t before_all = {-1, -1, -1};
    pages_t call = {.pages = apr_array_make(pool, 64, sizeof(tseed_page_record_t)),
                    .tileset = tileset,
                    .most = most,
                    .after = after ? *after : before_all};

    *pages = call.pages;
    return tseed_work_read(state, load_pages, &call);
}

typedef struct {
    apr_array_header_t *levels;
    int64_t tileset;
} levels_t;

static apr_status_t load_levels(tseed_state_t *state, void *baton)
{
    const levels_t *call = baton;
    tseed_rows_t rows;
    apr_status_t rv =
        call->tileset ? tseed_database_select(&rows, &state->db, TSEED_SQL_PAGES_BY_LEVEL,
                                              (const void *[]){&call->tileset}, state->scratch)
                      : tseed_database_select(&rows, &state->db, TSEED_SQL_PAGES_BY_LEVEL_OF_ALL,
                                              NULL, state->scratch);

    apr_array_clear(call->levels);
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        tseed_usage_level_t *level = apr_array_push(call->levels);

        level->tileset = tseed_rows_int64(&rows);
        level->z = tseed_rows_int(&rows);
        load_effect(&level->usage, &rows);
    }
    return rv;
}

apr_status_t tseed_books_levels(tseed_state_t *state, apr_array_header_t **levels, int64_t tileset,
                                apr_pool_t *pool)
{
    levels_t call = {apr_array_make(pool, 16, sizeof(tseed_usage_level_t)), tileset};

    *levels = call.levels;
    return tseed_work_read_long(state, load_levels, &call);
}

static apr_status_t save_page(tseed_state_t *state, void *baton)
{
    const tseed_page_record_t *record = baton;
    const tseed_effect_t *usage = &record->usage;
    const void *args[] = {&record->tileset,  &record->page.z, &record->page.x,  &record->page.y,
                          &usage->names,     &usage->files,   &usage->bytes,    &usage->allocated,
                          &record->accessed, &record->heat,   &record->written, &record->dirty};

    return tseed_database_change(&state->db, NULL, TSEED_SQL_PAGE_SAVE, args);
}

apr_status_t tseed_books_page_save(tseed_state_t *state, const tseed_page_record_t *record)
{
    return tseed_work_write(state, save_page, (void *)record);
}

static apr_status_t delete_page(tseed_state_t *state, void *baton)
{
    const tseed_page_record_t *record = baton;
    const void *args[] = {&record->tileset, &record->page.z, &record->page.x, &record->page.y};
    apr_status_t rv = tseed_database_change(&state->db, NULL, TSEED_SQL_PAGE_DELETE, args);

    return rv == APR_SUCCESS
               ? tseed_database_change(&state->db, NULL, TSEED_SQL_ORIGINS_DELETE, args)
               : rv;
}

apr_status_t tseed_books_page_delete(tseed_state_t *state, const tseed_page_record_t *record)
{
    return tseed_work_write(state, delete_page, (void *)record);
}

/* ---- notes ---- */

typedef struct {
    const char *name, *value;
    apr_pool_t *pool;
} note_t;

static apr_status_t get_note(tseed_state_t *state, void *baton)
{
    note_t *call = baton;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(&rows, &state->db, TSEED_SQL_NOTE_GET,
                                            (const void *[]){call->name}, state->scratch);

    if (rv == APR_SUCCESS && !tseed_rows_next(&rows)) {
        return APR_NOTFOUND;
    }
    if (rv == APR_SUCCESS) {
        call->value = apr_pstrdup(call->pool, tseed_rows_text(&rows));
    }
    return rv;
}

apr_status_t tseed_books_note_get(tseed_state_t *state, const char **value, const char *name,
                                  apr_pool_t *pool)
{
    note_t call = {.name = name, .pool = pool};
    apr_status_t rv = tseed_work_read(state, get_note, &call);

    *value = call.value;
    return rv;
}

/* The arguments of both statements. */
static apr_status_t put_note(tseed_state_t *state, const note_t *note, tseed_sql_t sql)
{
    return tseed_database_change(&state->db, NULL, sql, (const void *[]){note->name, note->value});
}

static apr_status_t set_note(tseed_state_t *state, void *baton)
{
    return put_note(state, baton, TSEED_SQL_NOTE_SET);
}

static apr_status_t append_note(tseed_state_t *state, void *baton)
{
    return put_note(state, baton, TSEED_SQL_NOTE_APPEND);
}

apr_status_t tseed_books_note_set(tseed_state_t *state, const char *name, const char *value)
{
    return tseed_work_write(state, set_note, &(note_t){.name = name, .value = value});
}

apr_status_t tseed_books_note_append(tseed_state_t *state, const char *name, const char *more)
{
    return tseed_work_write(state, append_note, &(note_t){.name = name, .value = more});
}
