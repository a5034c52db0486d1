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
    tseed_rows_scan(rows, &effect->names, &effect->files, &effect->bytes, &effect->allocated);
}

/* Reads TSEED_HOLDING_COLUMNS. */
static void load_record(void *row, tseed_rows_t *rows)
{
    tseed_tileset_record_t *record = row;

    tseed_rows_scan(rows, &record->id, &record->print, &record->key, &record->layer,
                    &record->gridset, &record->format, &record->parameters, &record->root,
                    &record->place, &record->pages);
    load_effect(&record->paged, rows);
    load_effect(&record->shared, rows);
    load_effect(&record->detached, rows);
    tseed_rows_scan(rows, &record->complete, &record->doubtful, &record->recipe,
                    &record->by_reading);
}

apr_status_t tseed_books_tilesets(tseed_state_t *state, apr_array_header_t **records,
                                  apr_pool_t *pool)
{
    *records = apr_array_make(pool, 16, sizeof(tseed_tileset_record_t));
    return tseed_work_list(state, *records, load_record, TSEED_SQL_TILESETS, NULL);
}

static apr_status_t save_tileset(tseed_state_t *state, void *baton)
{
    const tseed_tileset_record_t *record = baton;
    const tseed_effect_t *paged = &record->paged, *shared = &record->shared,
                         *detached = &record->detached;
    const int64_t doubtful = (int64_t)record->doubtful, recipe = (int64_t)record->recipe,
                  print = (int64_t)record->print;
    const void *args[] = {
        &record->pages,       &paged->names,     &paged->files,    &paged->bytes,
        &paged->allocated,    &shared->names,    &shared->files,   &shared->bytes,
        &shared->allocated,   &detached->names,  &detached->files, &detached->bytes,
        &detached->allocated, &record->complete, &doubtful,        &recipe,
        &record->by_reading,  &record->id,       &print,
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
    static const tseed_sql_t sqls[] = {TSEED_SQL_PAGES_DELETE, TSEED_SQL_ORIGINS_DELETE_TILESET,
                                       TSEED_SQL_FINDINGS_DELETE, TSEED_SQL_SHADES_DELETE,
                                       TSEED_SQL_TILESET_DELETE};
    int64_t id;
    apr_status_t rv =
        tseed_work_number(state, &id, TSEED_SQL_TILESET_FIND, (const void *[]){&print});

    if (rv == APR_SUCCESS) {
        rv = tseed_work_patience(state);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change_all(&state->db, sqls, 5, (const void *[]){&id});
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
    const void *args[] = {&record->id,        &print,          record->key,
                          record->layer,      record->gridset, record->format,
                          record->parameters, record->root,    record->place};
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

apr_status_t tseed_books_place(tseed_state_t *state, const tseed_tileset_record_t *record)
{
    return tseed_work_change(state, NULL, TSEED_SQL_TILESET_PLACE,
                             (const void *[]){record->place, &record->id});
}

/* ---- pages ---- */

static void load_page(void *row, tseed_rows_t *rows)
{
    tseed_page_record_t *record = row;

    tseed_rows_scan(rows, &record->tileset, &record->page.z, &record->page.x, &record->page.y);
    load_effect(&record->usage, rows);
    tseed_rows_scan(rows, &record->accessed, &record->heat, &record->written, &record->dirty);
}

apr_status_t tseed_books_pages(tseed_state_t *state, apr_array_header_t **pages, int64_t tileset,
                               const tseed_page_t *after, int64_t most, apr_pool_t *pool)
{
    static const tseed_page_t before_all = {-1, -1, -1};
    const tseed_page_t *from = after ? after : &before_all;
    const void *args[] = {&tileset, &from->z, &from->x, &from->y, &most};

    *pages = apr_array_make(pool, 64, sizeof(tseed_page_record_t));
    return tseed_work_list(state, *pages, load_page, TSEED_SQL_PAGES, args);
}

typedef struct {
    apr_array_header_t *levels;
    int64_t tileset;
} levels_t;

static void load_level(void *row, tseed_rows_t *rows)
{
    tseed_usage_level_t *level = row;

    tseed_rows_scan(rows, &level->tileset, &level->z);
    load_effect(&level->usage, rows);
}

static apr_status_t load_levels(tseed_state_t *state, void *baton)
{
    const levels_t *call = baton;

    apr_array_clear(call->levels);
    return tseed_work_add_rows(state, call->levels, load_level,
                               call->tileset ? TSEED_SQL_PAGES_BY_LEVEL
                                             : TSEED_SQL_PAGES_BY_LEVEL_OF_ALL,
                               (const void *[]){&call->tileset});
}

apr_status_t tseed_books_levels(tseed_state_t *state, apr_array_header_t **levels, int64_t tileset,
                                apr_pool_t *pool)
{
    levels_t call = {apr_array_make(pool, 16, sizeof(tseed_usage_level_t)), tileset};

    *levels = call.levels;
    return tseed_work_read_long(state, load_levels, &call);
}

apr_status_t tseed_books_page_save(tseed_state_t *state, const tseed_page_record_t *record)
{
    const tseed_effect_t *usage = &record->usage;
    const void *args[] = {&record->tileset,  &record->page.z, &record->page.x,  &record->page.y,
                          &usage->names,     &usage->files,   &usage->bytes,    &usage->allocated,
                          &record->accessed, &record->heat,   &record->written, &record->dirty};

    return tseed_work_change(state, NULL, TSEED_SQL_PAGE_SAVE, args);
}

static apr_status_t delete_page(tseed_state_t *state, void *baton)
{
    static const tseed_sql_t sqls[] = {TSEED_SQL_PAGE_DELETE, TSEED_SQL_ORIGINS_DELETE};
    const tseed_page_record_t *record = baton;
    const void *args[] = {&record->tileset, &record->page.z, &record->page.x, &record->page.y};

    return tseed_database_change_all(&state->db, sqls, 2, args);
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
    apr_status_t rv = tseed_database_first(&rows, &state->db, TSEED_SQL_NOTE_GET,
                                           (const void *[]){call->name}, state->scratch);

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

apr_status_t tseed_books_note_set(tseed_state_t *state, const char *name, const char *value)
{
    return tseed_work_change(state, NULL, TSEED_SQL_NOTE_SET, (const void *[]){name, value});
}

/* A transaction of SQLite keeps others from writing at all, one of PostgreSQL from changing the
 * rows that it has changed itself. */
static apr_status_t hold_note(tseed_state_t *state, void *baton)
{
    note_t *note = baton;
    apr_status_t rv = tseed_database_change(&state->db, NULL, TSEED_SQL_NOTE_APPEND,
                                            (const void *[]){note->name, ""});

    return rv == APR_SUCCESS ? get_note(state, note) : rv;
}

apr_status_t tseed_books_note_hold(tseed_state_t *state, const char **value, const char *name,
                                   apr_pool_t *pool)
{
    note_t call = {.name = name, .pool = pool};
    apr_status_t rv = tseed_work_write(state, hold_note, &call);

    *value = call.value;
    return rv;
}

apr_status_t tseed_books_note_append(tseed_state_t *state, const char *name, const char *more)
{
    return tseed_work_change(state, NULL, TSEED_SQL_NOTE_APPEND, (const void *[]){name, more});
}
