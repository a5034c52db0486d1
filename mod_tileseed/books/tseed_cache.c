/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cache: loads the book from the database and saves it.
 *
 * The page loader reads the pages. The transactions of the checkpoint write the changes. The mark
 * of a page is written before a tile in the page is.
 */
#include "books/tseed_cache.h"

#include <apr_strings.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "layer/tseed_place.h"
#include "protocol/tseed_parameters.h"
#include "state/tseed_books.h"
#include "state/tseed_origin_rows.h"
#include "store/tseed_store.h"

#define CLEANER_NOTE  "cleaner"
#define BLOCK_NOTE    "block"
#define INSTANCE_NOTE "instance"

tseed_cache_t *tseed_cache_create(const tseed_context_t *context, const tseed_session_t *session)
{
    tseed_cache_t *cache = apr_pcalloc(context->pool, sizeof(*cache));

    cache->context = context;
    cache->session = session;
    cache->quota = context->settings->quota;
    return cache;
}

/* ---- tile sets ---- */

static tseed_chain_t chain_of(tseed_cache_t *cache, const tseed_layer_t *layer)
{
    return tseed_cleaner_chain(cache->cleaner, layer->name, layer->store.root);
}

static tseed_book_tileset_t *enter(tseed_cache_t *cache, const tseed_tileset_t *tileset,
                                   const tseed_tileset_record_t *record)
{
    const tseed_layer_t *layer = tileset->layer;
    const tseed_chain_t chain = chain_of(cache, layer);
    tseed_book_tileset_t *booked = tseed_book_add(cache->book, record, &chain, layer->kept);

    booked->is_open = tseed_tileset_is_open(tileset, cache->context->scratch);
    return booked;
}

/* Enters a new tile set. If the disk has nothing of the tile set, the book knows it completely.
 *
 * The database may have the same print by other names, because a parameter's default has changed,
 * say. The new row replaces that row. The files are then taken in like files of any other program.
 */
static apr_status_t enter_new(tseed_book_tileset_t **booked, tseed_cache_t *cache,
                              const tseed_tileset_t *tileset, uint64_t print)
{
    tseed_tileset_record_t record = {
        .print = print,
        .key = tileset->key,
        .layer = tileset->layer->name,
        .gridset = tileset->subset->gridset->name,
        .format = tileset->format->mime,
        .parameters = tseed_parameters_save(tileset->parameters, cache->context->scratch),
        .root = tileset->layer->store.root,
        .place = tseed_place_text(tileset, cache->context->scratch),
        .complete = tseed_store_is_absent(tileset, cache->context->scratch),
    };
    apr_status_t rv = tseed_books_add(cache->session->state, &record);

    if (rv == APR_SUCCESS) {
        *booked = enter(cache, tileset, &record);
        (*booked)->loaded = 1; /* there was no page to load */
    }
    return rv;
}

apr_status_t tseed_cache_tileset(tseed_book_tileset_t **booked, tseed_cache_t *cache,
                                 const tseed_tileset_t *tileset)
{
    uint64_t print = tseed_tileset_print(tileset, cache->context->scratch);

    *booked = tseed_book_find(cache->book, print);
    return *booked ? APR_SUCCESS : enter_new(booked, cache, tileset, print);
}

void tseed_cache_keep(tseed_cache_t *cache, tseed_book_tileset_t *booked)
{
    if (booked->record.by_reading || booked->is_leaving) {
        tseed_book_set_leaving(cache->book, booked, 0);
        booked->record.by_reading = 0;
        booked->changed = 1;
    }
}

/* ---- at the start ---- */

/* Leaves a tile set alone that is not configured (any more): the seeder neither limits nor removes
 * it. The tile set is counted anew when it comes back, because somebody may have tidied up. */
static apr_status_t leave_aside(tseed_cache_t *cache, tseed_tileset_record_t *record)
{
    apr_status_t rv = tseed_origin_rows_doubt_levels(cache->session->state, record->id, UINT64_MAX);

    if (rv != APR_SUCCESS || !record->complete) {
        return rv;
    }
    record->complete = 0;
    record->doubtful = UINT64_MAX;
    return tseed_books_save(cache->session->state, record);
}

/* Whether a row says only that somebody has asked for the tile set once. */
static apr_status_t is_empty(int *empty, tseed_cache_t *cache, const tseed_tileset_t *tileset,
                             const tseed_tileset_record_t *record)
{
    apr_array_header_t *pages;
    apr_status_t rv;

    *empty = tileset->hash && record->complete && !record->doubtful && record->pages == 0 &&
             record->shared.files == 0 && record->detached.names == 0;
    if (!*empty) {
        return APR_SUCCESS;
    }
    rv = tseed_books_pages(cache->session->state, &pages, record->id, NULL, 1,
                           cache->context->scratch);
    *empty = rv == APR_SUCCESS && pages->nelts == 0;
    return rv;
}

/* Deletes the rows of empty tile sets. */
static apr_status_t drop_empty(tseed_cache_t *cache, const apr_array_header_t *prints)
{
    apr_status_t rv = prints->nelts ? tseed_state_begin(cache->session->state) : APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < prints->nelts; i++) {
        rv = tseed_books_forget(cache->session->state, APR_ARRAY_IDX(prints, i, uint64_t));
    }
    if (rv == APR_SUCCESS && prints->nelts) {
        return tseed_state_commit(cache->session->state);
    }
    if (prints->nelts) {
        tseed_state_rollback(cache->session->state);
    }
    return rv;
}

apr_status_t tseed_cache_remove(tseed_cache_t *cache, const apr_array_header_t *bare)
{
    apr_array_header_t *prints =
        apr_array_make(cache->context->scratch, bare->nelts, sizeof(uint64_t));
    apr_status_t rv;

    for (int i = 0; i < bare->nelts; i++) {
        APR_ARRAY_PUSH(prints, uint64_t) =
            APR_ARRAY_IDX(bare, i, tseed_book_tileset_t *)->record.print;
    }
    rv = drop_empty(cache, prints);
    for (int i = 0; rv == APR_SUCCESS && i < bare->nelts; i++) {
        tseed_book_remove(cache->book, APR_ARRAY_IDX(bare, i, tseed_book_tileset_t *));
    }
    return rv;
}

/* A row may say any number. */
static void expect(tseed_cache_t *cache, int64_t pages)
{
    if (pages > 0 && pages < INT64_MAX - cache->expected) {
        cache->expected += pages;
    }
}

/* Keeps what decides which files are its tiles for the time when it is configured no more. */
static apr_status_t update_place(tseed_cache_t *cache, tseed_tileset_record_t *record,
                                 const tseed_tileset_t *tileset)
{
    const char *place = tseed_place_text(tileset, cache->context->scratch);

    if (strcmp(record->place, place) == 0) {
        return APR_SUCCESS;
    }
    record->place = place;
    return tseed_books_place(cache->session->state, record);
}

/* Loads a tile set without its pages. */
static apr_status_t load_tileset(tseed_cache_t *cache, tseed_tileset_record_t *record,
                                 apr_array_header_t *empties)
{
    tseed_tileset_t tileset;
    apr_status_t rv;
    int empty;

    if (tseed_usage_resolve(&tileset, record, cache->context->catalog, cache->context->scratch)) {
        return leave_aside(cache, record);
    }
    rv = is_empty(&empty, cache, &tileset, record);
    if (rv != APR_SUCCESS || empty) {
        APR_ARRAY_PUSH(empties, uint64_t) = record->print;
        return rv;
    }
    rv = update_place(cache, record, &tileset);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    enter(cache, &tileset, record);
    expect(cache, record->pages);
    return record->doubtful
               ? tseed_origin_rows_doubt_levels(cache->session->state, record->id, record->doubtful)
               : APR_SUCCESS;
}

/* Enters every tile set with default parameters: files of earlier programs count there as well. */
static apr_status_t enter_configured(tseed_cache_t *cache)
{
    const apr_array_header_t *layers = cache->context->catalog->order;
    tseed_tileset_t tileset;
    tseed_book_tileset_t *booked;
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; i < layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, tseed_layer_t *);

        for (int s = 0; s < layer->subsets->nelts; s++) {
            for (int f = 0; rv == APR_SUCCESS && f < layer->formats->nelts; f++) {
                tseed_tileset_init(&tileset, layer,
                                   &APR_ARRAY_IDX(layer->subsets, s, tseed_subset_t),
                                   &APR_ARRAY_IDX(layer->formats, f, tseed_format_t), NULL,
                                   cache->context->scratch);
                rv = tseed_cache_tileset(&booked, cache, &tileset);
            }
        }
    }
    return rv;
}

/* *value: "" when there is none. */
static apr_status_t load_note(tseed_cache_t *cache, const char **value, const char *name)
{
    apr_status_t rv =
        tseed_books_note_get(cache->session->state, value, name, cache->context->scratch);

    if (rv == APR_NOTFOUND) {
        *value = "";
        rv = APR_SUCCESS;
    }
    return rv;
}

/* The number that tells our unfinished files from those of another httpd. It is drawn once for a
 * state directory, so that a seeder finds files that its predecessor has left. */
static apr_status_t load_instance(tseed_cache_t *cache)
{
    const char *instance;
    uint64_t drawn;
    apr_status_t rv = load_note(cache, &instance, INSTANCE_NOTE);

    if (rv == APR_SUCCESS && !*instance) {
        if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn)) {
            return APR_EGENERAL;
        }
        instance = apr_psprintf(cache->context->scratch, "%016" PRIx64, drawn);
        rv = tseed_books_note_set(cache->session->state, INSTANCE_NOTE, instance);
    }
    if (rv == APR_SUCCESS) {
        tseed_store_instance_set(instance);
    }
    return rv;
}

apr_status_t tseed_cache_load_notes(tseed_cache_t *cache)
{
    const char *cleaner, *block, *status;
    apr_status_t rv = load_note(cache, &cleaner, CLEANER_NOTE);

    if (rv == APR_SUCCESS) {
        rv = load_note(cache, &block, BLOCK_NOTE);
    }
    if (rv == APR_SUCCESS) {
        rv = load_note(cache, &status, TSEED_USAGE_STATUS);
    }
    if (rv == APR_SUCCESS) {
        tseed_usage_load(&cache->status, status);
        cache->status.walked = cache->status.block = 0;
        tseed_cleaner_load(cache->cleaner, cleaner);
        cache->block = cache->block_saved = apr_atoi64(block);
        if (cache->block > 0) {
            cache->quota.block_size = cache->block;
        }
        tseed_workers_block_set(cache->context->workers, cache->quota.block_size);
    }
    return rv;
}

apr_status_t tseed_cache_load(tseed_cache_t *cache)
{
    apr_array_header_t *records,
        *empties = apr_array_make(cache->context->scratch, 16, sizeof(uint64_t));
    apr_pool_t *pool;
    apr_status_t rv;

    apr_pool_create(&pool, cache->context->pool);
    cache->pool = pool;
    cache->book = tseed_book_create(pool);
    cache->cleaner = tseed_cleaner_create(cache->context->settings, pool);
    cache->expected = 0;
    rv = load_instance(cache);
    if (rv == APR_SUCCESS) {
        rv = tseed_books_tilesets(cache->session->state, &records, cache->context->scratch);
    }
    for (int i = 0; rv == APR_SUCCESS && i < records->nelts; i++) {
        rv = load_tileset(cache, &APR_ARRAY_IDX(records, i, tseed_tileset_record_t), empties);
    }
    if (rv == APR_SUCCESS) {
        rv = drop_empty(cache, empties);
    }
    return rv == APR_SUCCESS ? enter_configured(cache) : rv;
}

void tseed_cache_undo(tseed_cache_t *cache)
{
    cache->book = NULL;
    cache->cleaner = NULL;
    apr_pool_destroy(cache->pool);
}

/* ---- saving ---- */

/* The block size to save. Sizes in the book are rounded up to it, unless a recount is under way. */
static int64_t block_to_save(const tseed_cache_t *cache)
{
    if (cache->block == cache->block_saved || tseed_book_in_doubt(cache->book) == 0) {
        return cache->block;
    }
    return cache->block_saved ? TSEED_BLOCK_MIXED : 0;
}

static int block_has_changed(const tseed_cache_t *cache)
{
    return block_to_save(cache) != cache->block_saved;
}

static int cleaner_has_changed(const tseed_cache_t *cache)
{
    return strcmp(tseed_cleaner_save(cache->cleaner, cache->context->scratch),
                  cache->cleaner_saved) != 0;
}

/* ---- the status: what clients are told of the cache beside its numbers ---- */

static void add_parts(int64_t *found, int64_t *lost, int64_t difference)
{
    *found += difference > 0 ? difference : 0;
    *lost -= difference < 0 ? difference : 0;
}

static void compare(tseed_reconcile_t *reconcile, const tseed_effect_t *difference)
{
    tseed_effect_t *found = &reconcile->found, *lost = &reconcile->lost;

    add_parts(&found->names, &lost->names, difference->names);
    add_parts(&found->files, &lost->files, difference->files);
    add_parts(&found->bytes, &lost->bytes, difference->bytes);
    add_parts(&found->allocated, &lost->allocated, difference->allocated);
}

void tseed_cache_counted(tseed_cache_t *cache, int is_page, const tseed_effect_t *difference)
{
    tseed_reconcile_t *reconcile = &cache->status.reconcile;

    if (!cache->is_reconciling) {
        return;
    }
    if (is_page) {
        reconcile->counted++;
        reconcile->differing +=
            difference->names || difference->files || difference->bytes || difference->allocated;
    }
    compare(reconcile, difference);
}

/* The status as the database keeps it. */
static const char *status_text(const tseed_cache_t *cache)
{
    tseed_usage_status_t status = cache->status;

    status.in_doubt = tseed_book_in_doubt(cache->book);
    status.grace = tseed_cleaner_grace(cache->cleaner);
    if (cache->block_saved != 0 && cache->block != cache->block_saved && status.in_doubt > 0) {
        status.block = cache->block;
    }
    return tseed_usage_save(&status, cache->context->scratch);
}

static int status_has_changed(const tseed_cache_t *cache)
{
    return strcmp(status_text(cache), cache->status_saved) != 0;
}

static apr_status_t write_notes(tseed_cache_t *cache)
{
    apr_status_t rv = APR_SUCCESS;

    if (cleaner_has_changed(cache)) {
        rv = tseed_books_note_set(cache->session->state, CLEANER_NOTE,
                                  tseed_cleaner_save(cache->cleaner, cache->context->scratch));
    }
    if (rv == APR_SUCCESS && status_has_changed(cache)) {
        rv = tseed_books_note_set(cache->session->state, TSEED_USAGE_STATUS, status_text(cache));
    }
    if (rv == APR_SUCCESS && block_has_changed(cache)) {
        rv = tseed_books_note_set(
            cache->session->state, BLOCK_NOTE,
            apr_psprintf(cache->context->scratch, "%" APR_INT64_T_FMT, block_to_save(cache)));
    }
    return rv;
}

/* Remembers the notes as they were written: nothing has changed since. */
static void notes_saved(tseed_cache_t *cache)
{
    apr_cpystrn(cache->cleaner_saved, tseed_cleaner_save(cache->cleaner, cache->context->scratch),
                sizeof(cache->cleaner_saved));
    apr_cpystrn(cache->status_saved, status_text(cache), sizeof(cache->status_saved));
    cache->block_saved = block_to_save(cache);
}

int tseed_cache_has_changes(const tseed_cache_t *cache, tseed_save_t save)
{
    unsigned first = 0;

    if (cache->is_loading) {
        return 0;
    }
    if (save == TSEED_SAVE_MARKS) {
        return tseed_book_changes(cache->book, save) > 0;
    }
    return tseed_book_changes(cache->book, save) > 0 ||
           tseed_book_next_changed(cache->book, &first) || block_has_changed(cache) ||
           cleaner_has_changed(cache) || status_has_changed(cache);
}

/* Saves a tile set. If its recipe has changed, all its saved origins are forgotten, even if the
 * recipe is the saved one again: another recipe has made tiles meanwhile. APR_NOTFOUND: another
 * database is in the place of ours. */
static apr_status_t save_tileset(tseed_cache_t *cache, const tseed_book_tileset_t *booked)
{
    const tseed_tileset_record_t *record = &booked->record;
    apr_status_t rv = APR_SUCCESS;

    if (booked->recipe_changed) {
        rv = tseed_origin_rows_doubt_levels(cache->session->state, record->id, UINT64_MAX);
    }
    return rv == APR_SUCCESS ? tseed_books_save(cache->session->state, record) : rv;
}

static apr_status_t save_changed(tseed_cache_t *cache)
{
    const tseed_book_tileset_t *booked;
    apr_status_t rv = APR_SUCCESS;

    for (unsigned i = 0; rv == APR_SUCCESS && (booked = tseed_book_next_changed(cache->book, &i));
         i++) {
        rv = save_tileset(cache, booked);
    }
    return rv;
}

/* Begins to write the whole book into a database that is in the place of ours, and has nothing of
 * the book, or nothing reliable. Adds all tile sets, because pages are saved under the number of
 * their tile set. The book then gives all its pages to be saved. */
static apr_status_t save_anew(tseed_cache_t *cache)
{
    tseed_book_tileset_t *booked;
    apr_status_t rv = APR_SUCCESS;

    tseed_book_resave(cache->book);
    cache->cleaner_saved[0] = cache->status_saved[0] = '\0';
    cache->block_saved = 0;
    for (unsigned i = 0; rv == APR_SUCCESS && (booked = tseed_book_next(cache->book, &i)); i++) {
        rv = tseed_books_add(cache->session->state, &booked->record);
    }
    return rv;
}

apr_status_t tseed_cache_write(tseed_cache_t *cache, tseed_save_t save)
{
    tseed_page_record_t record;
    size_t cursor = 0;
    int gone;
    apr_status_t rv;

    if (cache->is_loading) {
        return APR_SUCCESS;
    }
    rv = save_changed(cache);
    rv = rv == APR_NOTFOUND ? save_anew(cache) : rv;
    while (rv == APR_SUCCESS && tseed_book_change(cache->book, &record, &gone, save, &cursor)) {
        rv = gone ? tseed_books_page_delete(cache->session->state, &record)
                  : tseed_books_page_save(cache->session->state, &record);
    }
    return rv == APR_SUCCESS && save == TSEED_SAVE_ALL ? write_notes(cache) : rv;
}

void tseed_cache_saved(tseed_cache_t *cache, tseed_save_t save)
{
    if (cache->is_loading) {
        return;
    }
    if (save == TSEED_SAVE_ALL) {
        notes_saved(cache);
    }
    tseed_book_saved(cache->book, save);
}
