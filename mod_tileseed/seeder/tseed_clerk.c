/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The clerk: the books out of the database and into it.
 *
 * Pages are read by the loader. What has changed is written in the transactions of the ledger,
 * marks of pages before their tiles.
 */
#include <apr_strings.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "protocol/tseed_answer.h"
#include "seeder/tseed_house.h"
#include "state/tseed_answers.h"
#include "state/tseed_books.h"
#include "usage/tseed_usage_status.h"

#define CLEANER_NOTE  "cleaner"
#define BLOCK_NOTE    "block"
#define INSTANCE_NOTE "instance"

/* ---- tile sets ---- */

static tseed_chain_t chain_of(tseed_seeder_t *seeder, const tseed_layer_t *layer)
{
    return tseed_cleaner_chain(seeder->cache->cleaner, layer->name, layer->store.root);
}

/* How many tile sets of a layer the book has whose values are not listed: layer -> int *. */
static int *open_of(const tseed_seeder_t *seeder, const tseed_layer_t *layer)
{
    int *count = apr_hash_get(seeder->open, layer->name, APR_HASH_KEY_STRING);

    if (!count) {
        count = apr_pcalloc(apr_hash_pool_get(seeder->open), sizeof(*count));
        apr_hash_set(seeder->open, layer->name, APR_HASH_KEY_STRING, count);
    }
    return count;
}

int tseed_clerk_is_full(const tseed_seeder_t *seeder, const tseed_tileset_t *tileset)
{
    return *open_of(seeder, tileset->layer) >= tileset->layer->tilesets_most &&
           tseed_tileset_is_open(tileset, seeder->context->scratch);
}

static tseed_book_tileset_t *enter(tseed_seeder_t *seeder, const tseed_tileset_t *tileset,
                                   const tseed_tileset_record_t *record)
{
    const tseed_layer_t *layer = tileset->layer;
    const tseed_chain_t chain = chain_of(seeder, layer);

    *open_of(seeder, layer) += tseed_tileset_is_open(tileset, seeder->context->scratch);
    return tseed_book_add(seeder->cache->book, record, &chain, layer->kept);
}

/* A tile set that the disk has nothing of is known at once.
 *
 * What is recorded by other names (a parameter's default has changed, say) is forgotten by that:
 * its files are taken in as those of any other program. */
static apr_status_t enter_new(tseed_book_tileset_t **booked, tseed_seeder_t *seeder,
                              const tseed_tileset_t *tileset, uint64_t print)
{
    tseed_tileset_record_t record = {
        .print = print,
        .key = tileset->key,
        .layer = tileset->layer->name,
        .gridset = tileset->subset->gridset->name,
        .format = tileset->format->mime,
        .parameters = tseed_parameters_save(tileset->parameters, seeder->context->scratch),
        .root = tileset->layer->store.root,
        .complete = tseed_store_is_absent(tileset, seeder->context->scratch),
    };
    apr_status_t rv = tseed_books_add(seeder->session->state, &record);

    if (rv == APR_SUCCESS) {
        *booked = enter(seeder, tileset, &record);
    }
    return rv;
}

apr_status_t tseed_clerk_tileset(tseed_book_tileset_t **booked, tseed_seeder_t *seeder,
                                 const tseed_tileset_t *tileset)
{
    uint64_t print = tseed_tileset_print(tileset, seeder->context->scratch);

    *booked = tseed_book_find(seeder->cache->book, print);
    return *booked ? APR_SUCCESS : enter_new(booked, seeder, tileset, print);
}

/* ---- at the start ---- */

/* A tile set that is not configured (any more) is not ours to limit or to remove. When it comes
 * back it is counted anew: somebody may have tidied up. */
static apr_status_t leave_aside(tseed_seeder_t *seeder, tseed_tileset_record_t *record)
{
    apr_status_t rv = tseed_answers_doubt_levels(seeder->session->state, record->id, UINT64_MAX);

    if (rv != APR_SUCCESS || !record->complete) {
        return rv;
    }
    record->complete = 0;
    record->doubtful = UINT64_MAX;
    return tseed_books_save(seeder->session->state, record);
}

/* Whether nothing is known of a tile set but that somebody asked for it once. */
static apr_status_t is_empty(int *empty, tseed_seeder_t *seeder, const tseed_tileset_t *tileset,
                             const tseed_tileset_record_t *record)
{
    apr_array_header_t *pages;
    apr_status_t rv;

    *empty = tileset->hash && record->complete && !record->doubtful && record->pages == 0 &&
             record->shared.files == 0 && record->detached.names == 0;
    if (!*empty) {
        return APR_SUCCESS;
    }
    rv = tseed_books_pages(seeder->session->state, &pages, record->id, NULL, 1,
                           seeder->context->scratch);
    *empty = rv == APR_SUCCESS && pages->nelts == 0;
    return rv;
}

/* Its row goes. */
static apr_status_t drop_empty(tseed_seeder_t *seeder, const apr_array_header_t *prints)
{
    apr_status_t rv = prints->nelts ? tseed_state_begin(seeder->session->state) : APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < prints->nelts; i++) {
        rv = tseed_books_forget(seeder->session->state, APR_ARRAY_IDX(prints, i, uint64_t));
    }
    if (rv == APR_SUCCESS && prints->nelts) {
        return tseed_state_commit(seeder->session->state);
    }
    if (prints->nelts) {
        tseed_state_rollback(seeder->session->state);
    }
    return rv;
}

/* Its pages come later. */
static apr_status_t load_tileset(tseed_seeder_t *seeder, tseed_tileset_record_t *record,
                                 apr_array_header_t *empties)
{
    tseed_tileset_t tileset;
    apr_status_t rv;
    int empty;

    if (tseed_usage_resolve(&tileset, record, seeder->context->catalog, seeder->context->scratch)) {
        return leave_aside(seeder, record);
    }
    rv = is_empty(&empty, seeder, &tileset, record);
    if (rv != APR_SUCCESS || empty) {
        APR_ARRAY_PUSH(empties, uint64_t) = record->print;
        return rv;
    }
    enter(seeder, &tileset, record);
    tseed_loader_expect(seeder, record->pages);
    return record->doubtful
               ? tseed_answers_doubt_levels(seeder->session->state, record->id, record->doubtful)
               : APR_SUCCESS;
}

/* Every tile set with default parameters: what earlier programs have left there counts as well. */
static apr_status_t enter_configured(tseed_seeder_t *seeder)
{
    const apr_array_header_t *layers = seeder->context->catalog->order;
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
                                   seeder->context->scratch);
                rv = tseed_clerk_tileset(&booked, seeder, &tileset);
            }
        }
    }
    return rv;
}

/* *value: "" when there is none. */
static apr_status_t load_note(tseed_seeder_t *seeder, const char **value, const char *name)
{
    apr_status_t rv =
        tseed_books_note_get(seeder->session->state, value, name, seeder->context->scratch);

    if (rv == APR_NOTFOUND) {
        *value = "";
        rv = APR_SUCCESS;
    }
    return rv;
}

/* What tells our unfinished files from those of another httpd: drawn once for a state directory, so
 * that a seeder finds what its predecessor has left. */
static apr_status_t load_instance(tseed_seeder_t *seeder)
{
    const char *instance;
    uint64_t drawn;
    apr_status_t rv = load_note(seeder, &instance, INSTANCE_NOTE);

    if (rv == APR_SUCCESS && !*instance) {
        if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn)) {
            return APR_EGENERAL;
        }
        instance = apr_psprintf(seeder->context->scratch, "%016" PRIx64, drawn);
        rv = tseed_books_note_set(seeder->session->state, INSTANCE_NOTE, instance);
    }
    if (rv == APR_SUCCESS) {
        tseed_store_instance_set(instance);
    }
    return rv;
}

apr_status_t tseed_clerk_load_notes(tseed_seeder_t *seeder)
{
    const char *cleaner, *block, *status;
    apr_status_t rv = load_note(seeder, &cleaner, CLEANER_NOTE);

    if (rv == APR_SUCCESS) {
        rv = load_note(seeder, &block, BLOCK_NOTE);
    }
    if (rv == APR_SUCCESS) {
        rv = load_note(seeder, &status, TSEED_USAGE_STATUS);
    }
    if (rv == APR_SUCCESS) {
        tseed_usage_load(&seeder->cache->status, status);
        seeder->cache->status.walked = seeder->cache->status.block = 0;
        tseed_cleaner_load(seeder->cache->cleaner, cleaner);
        seeder->cache->block = seeder->cache->block_saved = apr_atoi64(block);
        if (seeder->cache->block > 0) {
            seeder->cache->quota.block_size = seeder->cache->block;
        }
        tseed_workers_block_set(seeder->context->workers, seeder->cache->quota.block_size);
    }
    return rv;
}

apr_status_t tseed_clerk_begin(tseed_seeder_t *seeder)
{
    apr_array_header_t *records,
        *empties = apr_array_make(seeder->context->scratch, 16, sizeof(uint64_t));
    apr_pool_t *pool;
    apr_status_t rv;

    apr_pool_create(&pool, seeder->context->pool);
    seeder->book_pool = pool;
    seeder->cache->book = tseed_book_create(pool);
    seeder->open = apr_hash_make(pool);
    seeder->cache->cleaner = tseed_cleaner_create(seeder->context->settings, pool);
    tseed_loader_begin(seeder, pool);
    rv = load_instance(seeder);
    if (rv == APR_SUCCESS) {
        rv = tseed_books_tilesets(seeder->session->state, &records, seeder->context->scratch);
    }
    for (int i = 0; rv == APR_SUCCESS && i < records->nelts; i++) {
        rv = load_tileset(seeder, &APR_ARRAY_IDX(records, i, tseed_tileset_record_t), empties);
    }
    if (rv == APR_SUCCESS) {
        rv = drop_empty(seeder, empties);
    }
    return rv == APR_SUCCESS ? enter_configured(seeder) : rv;
}

void tseed_clerk_undo(tseed_seeder_t *seeder)
{
    seeder->cache->book = NULL;
    apr_pool_destroy(seeder->book_pool);
}

/* ---- saving ---- */

/* What the database is to say of the block size that sizes in the books are rounded up to. */
static int64_t block_to_save(const tseed_seeder_t *seeder)
{
    if (seeder->cache->block == seeder->cache->block_saved ||
        tseed_book_in_doubt(seeder->cache->book) == 0) {
        return seeder->cache->block;
    }
    return seeder->cache->block_saved ? TSEED_BLOCK_MIXED : 0;
}

static int block_has_changed(const tseed_seeder_t *seeder)
{
    return block_to_save(seeder) != seeder->cache->block_saved;
}

static int cleaner_has_changed(const tseed_seeder_t *seeder)
{
    return strcmp(tseed_cleaner_save(seeder->cache->cleaner, seeder->context->scratch),
                  seeder->cleaner_saved) != 0;
}

static int status_has_changed(const tseed_seeder_t *seeder)
{
    return strcmp(tseed_usage_status_text(seeder->cache, seeder->context->scratch),
                  seeder->status_saved) != 0;
}

static apr_status_t write_notes(tseed_seeder_t *seeder)
{
    apr_status_t rv = APR_SUCCESS;

    if (cleaner_has_changed(seeder)) {
        rv = tseed_books_note_set(
            seeder->session->state, CLEANER_NOTE,
            tseed_cleaner_save(seeder->cache->cleaner, seeder->context->scratch));
    }
    if (rv == APR_SUCCESS && status_has_changed(seeder)) {
        rv = tseed_books_note_set(seeder->session->state, TSEED_USAGE_STATUS,
                                  tseed_usage_status_text(seeder->cache, seeder->context->scratch));
    }
    if (rv == APR_SUCCESS && block_has_changed(seeder)) {
        rv = tseed_books_note_set(
            seeder->session->state, BLOCK_NOTE,
            apr_psprintf(seeder->context->scratch, "%" APR_INT64_T_FMT, block_to_save(seeder)));
    }
    return rv;
}

/* Nothing has changed since they were written. */
static void notes_saved(tseed_seeder_t *seeder)
{
    apr_cpystrn(seeder->cleaner_saved,
                tseed_cleaner_save(seeder->cache->cleaner, seeder->context->scratch),
                sizeof(seeder->cleaner_saved));
    apr_cpystrn(seeder->status_saved,
                tseed_usage_status_text(seeder->cache, seeder->context->scratch),
                sizeof(seeder->status_saved));
    seeder->cache->block_saved = block_to_save(seeder);
}

int tseed_clerk_has_changes(const tseed_seeder_t *seeder, tseed_save_t save)
{
    const tseed_book_tileset_t *booked;
    int changed = tseed_book_changes(seeder->cache->book, save) > 0;

    if (seeder->cache->is_loading) {
        return 0;
    }
    for (unsigned i = 0; save == TSEED_SAVE_ALL && !changed &&
                         (booked = tseed_book_tileset(seeder->cache->book, i)) != NULL;
         i++) {
        changed = booked->changed;
    }
    return changed ||
           (save == TSEED_SAVE_ALL && (block_has_changed(seeder) || cleaner_has_changed(seeder) ||
                                       status_has_changed(seeder)));
}

/* The recipe may be the saved one again: what was written by the other is not known by its answers.
 * APR_NOTFOUND: another database is in the place of ours. */
static apr_status_t save_tileset(tseed_seeder_t *seeder, const tseed_book_tileset_t *booked)
{
    const tseed_tileset_record_t *record = &booked->record;
    apr_status_t rv = APR_SUCCESS;

    if (booked->recipe_changed) {
        rv = tseed_answers_doubt_levels(seeder->session->state, record->id, UINT64_MAX);
    }
    return rv == APR_SUCCESS ? tseed_books_save(seeder->session->state, record) : rv;
}

static apr_status_t save_changed(tseed_seeder_t *seeder)
{
    const tseed_book_tileset_t *booked;
    apr_status_t rv = APR_SUCCESS;

    for (unsigned i = 0; rv == APR_SUCCESS && (booked = tseed_book_tileset(seeder->cache->book, i));
         i++) {
        rv = booked->changed ? save_tileset(seeder, booked) : APR_SUCCESS;
    }
    return rv;
}

/* That one knows nothing of the books, or nothing that can be relied upon, and gets them whole:
 * each tile set before any of the pages, which are saved under its number. */
static apr_status_t save_anew(tseed_seeder_t *seeder)
{
    tseed_book_tileset_t *booked;
    apr_status_t rv = APR_SUCCESS;

    tseed_book_resave(seeder->cache->book);
    seeder->cleaner_saved[0] = seeder->status_saved[0] = '\0';
    seeder->cache->block_saved = 0;
    for (unsigned i = 0; rv == APR_SUCCESS && (booked = tseed_book_tileset(seeder->cache->book, i));
         i++) {
        rv = tseed_books_add(seeder->session->state, &booked->record);
    }
    return rv;
}

apr_status_t tseed_clerk_write(tseed_seeder_t *seeder, tseed_save_t save)
{
    tseed_page_record_t record;
    size_t cursor = 0;
    int gone;
    apr_status_t rv;

    if (seeder->cache->is_loading) {
        return APR_SUCCESS;
    }
    rv = save_changed(seeder);
    rv = rv == APR_NOTFOUND ? save_anew(seeder) : rv;
    while (rv == APR_SUCCESS &&
           tseed_book_change(seeder->cache->book, &record, &gone, save, &cursor)) {
        rv = gone ? tseed_books_page_delete(seeder->session->state, &record)
                  : tseed_books_page_save(seeder->session->state, &record);
    }
    return rv == APR_SUCCESS && save == TSEED_SAVE_ALL ? write_notes(seeder) : rv;
}

void tseed_clerk_saved(tseed_seeder_t *seeder, tseed_save_t save)
{
    if (seeder->cache->is_loading) {
        return;
    }
    if (save == TSEED_SAVE_ALL) {
        notes_saved(seeder);
    }
    tseed_book_saved(seeder->cache->book, save);
}
