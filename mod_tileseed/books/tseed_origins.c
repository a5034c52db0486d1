/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The origins: which answer of the upstream each metatile in the cache came from.
 *
 * An origin is the digest of an answer, and the condition that the upstream offered with it: a
 * request with that condition is answered in full only if something has changed. The origin says
 * that all existing tiles of this metatile were made of that answer. It does not say which tiles
 * exist. These rules keep it true:
 *
 *      who writes         One job at a time writes a metatile. When the job comes back from its
 *                         worker, the new origin replaces the old one if all tiles are of the
 *                         answer now, or equal to what would be made of it. If the tiles may be of
 *                         several answers, the origin is forgotten.
 *      which request      An answer for several metatiles is the origin of each of them. The origin
 *                         keeps the shape of their cell, so that a reseed can ask by the same
 *                         request, whose answer can be compared.
 *      how many           The digest begins with the tiles that were wanted: a job that made only
 *                         part of the metatile says nothing about the rest.
 *      by which recipe    The recipe is everything that decides what tiles look like, except the
 *                         answer. A tile set has one recipe. A job with another recipe forgets all
 *                         origins of the tile set, so metatiles that have an origin never overlap.
 *      failed writes      Where the file system has lost what was written, all origins of the tile
 *                         set are forgotten; where a tile is found to be broken, its own is. So a
 *                         reseed makes the tiles anew, which those who find the damage advise.
 *      crashes            Origins are saved with the book, in one transaction, by the page of their
 *                         first tile. A page is marked before a tile in it is changed, and until
 *                         everything about it is saved. A seeder that begins forgets the origins
 *                         of marked pages, and of pages whose metatiles may reach into them.
 *
 * An origin page is read when one of its metatiles is about to be fetched. It leaves the memory
 * when it is saved and nobody has used it for a while.
 */
#include "books/tseed_origins.h"

#include <apr_hash.h>
#include <apr_strings.h>

#include "base/tseed_digest.h"
#include "base/tseed_memory.h"
#include "books/tseed_origin_page.h"
#include "state/tseed_origin_rows.h"

#define RECIPE_VERSION 1    /* raised when the same answer becomes other tiles */
#define PAGES_MOST     4096 /* in memory after a save */
#define IDLE_TICKS     10

struct tseed_origins_t {
    const tseed_context_t *context;
    const tseed_session_t *session;
    const tseed_cache_t *cache;
    apr_hash_t *pages; /* entry_key_t -> entry_t */
};

typedef struct {
    int64_t tileset, z, x, y;
} entry_key_t;

/* A page in memory; malloc'd. */
typedef struct {
    entry_key_t key;
    tseed_book_tileset_t *booked;
    tseed_page_t page;
    tseed_origin_page_t origins;
    int changed;   /* not saved yet */
    unsigned used; /* tick of the last use */
} entry_t;

tseed_origins_t *tseed_origins_create(const tseed_context_t *context,
                                      const tseed_session_t *session, const tseed_cache_t *cache)
{
    tseed_origins_t *origins = apr_pcalloc(context->pool, sizeof(*origins));

    origins->context = context;
    origins->session = session;
    origins->cache = cache;
    origins->pages = apr_hash_make(context->pool);
    return origins;
}

/* ---- recipes ---- */

/* The links, modes and permissions of files are part of what a reseed is expected to renew. */
uint64_t tseed_origins_recipe(const tseed_task_t *task, const tseed_tileset_t *tileset,
                              apr_pool_t *scratch)
{
    const tseed_format_t *format = tileset->format;
    const tseed_store_config_t *store = &tileset->layer->store;
    const char *text = apr_psprintf(
        scratch, "%d\n%s\n%s %d %d %d %d\n%dx%d+%d%s\n%d %o %o", RECIPE_VERSION,
        tseed_gridset_print(tileset->subset->gridset, scratch), format->mime, format->quality,
        format->level, format->lossless, (int)format->palette, task->meta_width, task->meta_height,
        task->gutter, task->gutter && !tileset->layer->gutter_beyond ? " cut" : "",
        store->link_uniform, (unsigned)store->mode, (unsigned)store->dirmode);
    uint64_t recipe = tseed_digest(text, strlen(text), 0);

    return recipe ? recipe : 1;
}

static void entry_free(tseed_origins_t *origins, entry_t *entry)
{
    apr_hash_set(origins->pages, &entry->key, sizeof(entry->key), NULL);
    tseed_origin_page_clear(&entry->origins);
    free(entry);
}

typedef int choice_t(const tseed_origins_t *origins, const entry_t *entry, const void *data);

static void forget_entries(tseed_origins_t *origins, choice_t *choice, const void *data)
{
    apr_hash_index_t *index = apr_hash_first(origins->context->scratch, origins->pages);

    for (; index; index = apr_hash_next(index)) {
        entry_t *entry = apr_hash_this_val(index);

        if (choice(origins, entry, data)) {
            entry_free(origins, entry);
        }
    }
}

static int is_of(const tseed_origins_t *origins, const entry_t *entry, const void *booked)
{
    (void)origins;
    return entry->booked == booked;
}

/* The database forgets with the next save of the tile set. */
void tseed_origins_forget_all(tseed_origins_t *origins, tseed_book_tileset_t *booked)
{
    forget_entries(origins, is_of, booked);
    booked->recipe_changed = booked->changed = 1;
}

void tseed_origins_follow(tseed_origins_t *origins, tseed_run_t *run)
{
    if (!run->recipe) {
        run->recipe = tseed_origins_recipe(run->task, &run->tileset, origins->context->scratch);
    }
    if (run->booked->record.recipe != run->recipe) {
        tseed_origins_forget_all(origins, run->booked);
        run->booked->record.recipe = run->recipe;
    }
}

void tseed_origins_leave(tseed_origins_t *origins, const tseed_book_tileset_t *booked)
{
    forget_entries(origins, is_of, booked);
}

/* ---- pages ---- */

/* Origins that can't be read count as unknown, and are saved as such. */
static void entry_load(tseed_origins_t *origins, entry_t *entry)
{
    const char *text;

    if (entry->booked->recipe_changed) {
        return;
    }
    if (origins->cache->is_loading) { /* its page may be marked */
        entry->changed = 1;
        return;
    }
    if (tseed_origin_rows_load(origins->session->state, &text, entry->booked->record.id,
                               &entry->page, origins->context->scratch) == APR_SUCCESS) {
        tseed_origin_page_load(&entry->origins, text);
    } else {
        entry->changed = 1;
    }
}

/* The page of a metatile, and where in the page the metatile stands. */
static entry_t *entry_of(tseed_origins_t *origins, tseed_run_t *run, const tseed_range_t *whole,
                         int *at)
{
    const tseed_page_t page = {whole->z, whole->minx / TSEED_PAGE_SIDE,
                               whole->miny / TSEED_PAGE_SIDE};
    const entry_key_t key = {run->booked->number, page.z, page.x, page.y};
    entry_t *entry;

    tseed_origins_follow(origins, run);
    entry = apr_hash_get(origins->pages, &key, sizeof(key));
    if (!entry) {
        entry = tseed_memory_get(sizeof(*entry));
        entry->key = key;
        entry->booked = run->booked;
        entry->page = page;
        entry_load(origins, entry);
        apr_hash_set(origins->pages, &entry->key, sizeof(entry->key), entry);
    }
    entry->used = origins->context->ticks;
    *at = (int)(whole->miny % TSEED_PAGE_SIDE * TSEED_PAGE_SIDE + whole->minx % TSEED_PAGE_SIDE);
    return entry;
}

/* ---- jobs ---- */

static uint64_t digest_of_wanted(const tseed_range_t *wanted)
{
    const int64_t corners[] = {wanted->minx, wanted->miny, wanted->maxx, wanted->maxy};

    return tseed_digest(corners, sizeof(corners), (uint64_t)wanted->z);
}

tseed_cell_shape_t tseed_origins_cell(tseed_origins_t *origins, tseed_run_t *run,
                                      const tseed_metatile_t *metatile)
{
    int at;
    const entry_t *entry = entry_of(origins, run, &metatile->whole, &at);
    const tseed_origin_t *known = tseed_origin_page_find(&entry->origins, at);

    if (!known) {
        return (tseed_cell_shape_t){0, 0};
    }
    return known->columns > 0 ? (tseed_cell_shape_t){known->columns, known->rows}
                              : (tseed_cell_shape_t){1, 1};
}

/* Sets what the answer to a job is to be compared with. The condition by which a change may be
 * asked for goes to the accounts, and so to the transfer; "": there is none. */
static void ask(tseed_origins_t *origins, tseed_job_t *job, const char *address)
{
    int at;
    const entry_t *entry = entry_of(origins, job->run, &job->metatile.whole, &at);
    const tseed_origin_t *known = tseed_origin_page_find(&entry->origins, at);

    job->accounts.seed = digest_of_wanted(&job->metatile.wanted);
    job->accounts.request = tseed_digest(address, strlen(address), job->accounts.seed);
    job->accounts.known = known ? known->digest : 0;
    job->accounts.condition[0] = '\0';
    if (known && known->request == job->accounts.request && !tseed_job_must_fetch(job) &&
        tseed_run_leaves_unchanged(job->run)) {
        apr_cpystrn(job->accounts.condition, known->condition, sizeof(job->accounts.condition));
    }
}

void tseed_origins_ask(tseed_origins_t *origins, tseed_job_t *leader, const char *address)
{
    int may_ask = 1;

    for (tseed_job_t *job = leader; job; job = job->savings.joined) {
        ask(origins, job, address);
        may_ask &= *job->accounts.condition &&
                   strcmp(job->accounts.condition, leader->accounts.condition) == 0;
    }
    if (!may_ask) {
        leader->accounts.condition[0] = '\0';
    }
}

/* Forgets the origin of the metatile that begins with the first tile of a range. */
static void forget(tseed_origins_t *origins, tseed_run_t *run, const tseed_range_t *whole)
{
    int at;
    entry_t *entry = entry_of(origins, run, whole, &at);

    if (tseed_origin_page_forget(&entry->origins, at)) {
        entry->changed = 1;
    }
}

void tseed_origins_forget(tseed_origins_t *origins, tseed_job_t *job)
{
    forget(origins, job->run, &job->metatile.whole);
}

void tseed_origins_forget_tiles(tseed_origins_t *origins, tseed_run_t *run,
                                const tseed_range_t *tiles)
{
    const int width = run->task->meta_width, height = run->task->meta_height;
    tseed_range_t whole = {.z = tiles->z};

    for (int64_t y = tiles->miny > 0 ? tiles->miny / height : 0; y <= tiles->maxy / height; y++) {
        for (int64_t x = tiles->minx > 0 ? tiles->minx / width : 0; x <= tiles->maxx / width; x++) {
            whole.minx = x * width;
            whole.miny = y * height;
            forget(origins, run, &whole);
        }
    }
}

void tseed_origins_take(tseed_origins_t *origins, tseed_job_t *job)
{
    const tseed_job_t *leader = tseed_job_leader(job);
    const tseed_transfer_t *transfer = &leader->request.transfer;
    entry_t *entry;
    int at;

    if (!job->savings.is_made_of_shade && tseed_job_is_unchanged(job)) {
        return;
    }
    if (job->result.outcome == TSEED_JOB_OK && !job->savings.is_made_of_shade &&
        (job->result.digest == job->accounts.known ||
         tseed_job_present(job) == job->result.equal)) {
        const tseed_cell_shape_t cell =
            tseed_cells_around(&job->run->positions.shape, &leader->savings.asked);

        entry = entry_of(origins, job->run, &job->metatile.whole, &at);
        tseed_origin_page_put(&entry->origins,
                              &(tseed_origin_t){.at = at,
                                                .columns = cell.columns,
                                                .rows = cell.rows,
                                                .digest = job->result.digest,
                                                .request = job->accounts.request,
                                                .condition = transfer->next_condition});
        entry->changed = 1;
    } else {
        tseed_origins_forget(origins, job);
    }
}

/* ---- saving ---- */

apr_status_t tseed_origins_write(const tseed_origins_t *origins)
{
    apr_hash_index_t *index = apr_hash_first(origins->context->scratch, origins->pages);
    apr_status_t rv = APR_SUCCESS;

    for (; rv == APR_SUCCESS && index; index = apr_hash_next(index)) {
        const entry_t *entry = apr_hash_this_val(index);

        if (entry->changed) {
            rv = tseed_origin_rows_save(
                origins->session->state, entry->booked->record.id, &entry->page,
                tseed_origin_page_save(&entry->origins, origins->context->scratch));
        }
    }
    return rv;
}

static int is_idle(const tseed_origins_t *origins, const entry_t *entry, const void *idle)
{
    return origins->context->ticks - entry->used >= *(const unsigned *)idle;
}

void tseed_origins_saved(tseed_origins_t *origins)
{
    unsigned idle = apr_hash_count(origins->pages) > PAGES_MOST ? 1 : IDLE_TICKS;
    apr_hash_index_t *index = apr_hash_first(origins->context->scratch, origins->pages);

    for (; index; index = apr_hash_next(index)) {
        ((entry_t *)apr_hash_this_val(index))->changed = 0;
    }
    forget_entries(origins, is_idle, &idle);
}
