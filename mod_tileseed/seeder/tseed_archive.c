/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The archive: which answer of the upstream each metatile in the cache came from, so that a reseed
 * leaves alone what did not change.
 *
 * What is kept of an answer is a digest and what the upstream offered to ask by. It says: all tiles
 * of this metatile that are there were made of that answer. Nothing else is claimed; whether they
 * are there is looked up when it matters. It stays true because of this:
 *
 *      who writes         A metatile is written by one job at a time. When the job comes back from
 *                         its worker, what is known is replaced if all tiles are of its answer now,
 *                         and forgotten if they may be of several.
 *      how many           The digest begins with the tiles that were wanted: a job that made but a
 *                         part of the metatile says nothing about the rest.
 *      by which recipe    Everything but the answer that decides what the tiles look like makes up
 *                         the recipe. A tile set has one; a job with another forgets all that is
 *                         known of the tile set. So the metatiles that are known never overlap.
 *      crashes            Known metatiles are saved with the books, in one transaction, by the page
 *                         of their first tile. A page is marked before a tile in it is changed and
 *                         until everything about it is saved: of pages that are marked when a
 *                         seeder begins nothing is known, nor of those whose metatiles may reach
 *                         into them.
 *
 * Sheets are read when a metatile of their page is about to be fetched and forgotten when they are
 * saved and nobody has asked for a while.
 */
#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_digest.h"
#include "seeder/tseed_house.h"
#include "seeder/tseed_sheet.h"
#include "state/tseed_answers.h"

#define RECIPE_VERSION 1    /* raised when the same answer becomes other tiles */
#define LEAVES_MOST    4096 /* in memory after a save */
#define IDLE_TICKS     10

typedef struct {
    int64_t tileset, z, x, y;
} leaf_key_t;

/* The sheet of a page; malloc'd. */
typedef struct {
    leaf_key_t key;
    tseed_book_tileset_t *booked;
    tseed_page_t page;
    tseed_sheet_t sheet;
    int changed;    /* not saved yet */
    unsigned asked; /* tick */
} leaf_t;

/* ---- recipes ---- */

/* The links, modes and permissions of files are part of what a reseed is expected to renew. */
static uint64_t recipe_of(const tseed_run_t *run, apr_pool_t *scratch)
{
    const tseed_format_t *format = run->tileset.format;
    const tseed_store_config_t *store = &run->tileset.layer->store;
    const char *text =
        apr_psprintf(scratch, "%d\n%s\n%s %d %d %d %d\n%dx%d+%d%s\n%d %o %o", RECIPE_VERSION,
                     tseed_gridset_print(run->tileset.subset->gridset, scratch), format->mime,
                     format->quality, format->level, format->lossless, (int)format->palette,
                     run->task->meta_width, run->task->meta_height, run->task->gutter,
                     run->task->gutter && !run->tileset.layer->gutter_beyond ? " cut" : "",
                     store->link_uniform, (unsigned)store->mode, (unsigned)store->dirmode);
    uint64_t recipe = tseed_digest(text, strlen(text), 0);

    return recipe ? recipe : 1;
}

static void leaf_free(tseed_seeder_t *seeder, leaf_t *leaf)
{
    apr_hash_set(seeder->leaves, &leaf->key, sizeof(leaf->key), NULL);
    tseed_sheet_clear(&leaf->sheet);
    free(leaf);
}

typedef int choice_t(const tseed_seeder_t *seeder, const leaf_t *leaf, const void *data);

static void forget_leaves(tseed_seeder_t *seeder, choice_t *choice, const void *data)
{
    apr_hash_index_t *index = apr_hash_first(seeder->context->scratch, seeder->leaves);

    for (; index; index = apr_hash_next(index)) {
        leaf_t *leaf = apr_hash_this_val(index);

        if (choice(seeder, leaf, data)) {
            leaf_free(seeder, leaf);
        }
    }
}

static int is_of(const tseed_seeder_t *seeder, const leaf_t *leaf, const void *booked)
{
    (void)seeder;
    return leaf->booked == booked;
}

/* The database forgets with the next save of the tile set. */
static void follow_recipe(tseed_seeder_t *seeder, tseed_run_t *run)
{
    if (!run->recipe) {
        run->recipe = recipe_of(run, seeder->context->scratch);
    }
    if (run->booked->record.recipe != run->recipe) {
        forget_leaves(seeder, is_of, run->booked);
        run->booked->record.recipe = run->recipe;
        run->booked->recipe_changed = run->booked->changed = 1;
    }
}

/* ---- leaves ---- */

/* What can't be read counts as unknown, and is saved as such. */
static void leaf_load(tseed_seeder_t *seeder, leaf_t *leaf)
{
    const char *text;

    if (leaf->booked->recipe_changed) {
        return;
    }
    if (seeder->cache->is_loading) { /* its page may be marked */
        leaf->changed = 1;
        return;
    }
    if (tseed_answers_load(seeder->session->state, &text, leaf->booked->record.id, &leaf->page,
                           seeder->context->scratch) == APR_SUCCESS) {
        tseed_sheet_load(&leaf->sheet, text);
    } else {
        leaf->changed = 1;
    }
}

/* Where what is known of the job's metatile stands. */
static leaf_t *leaf_of(tseed_seeder_t *seeder, const tseed_job_t *job, int *at)
{
    const tseed_range_t *whole = &job->metatile.whole;
    const tseed_page_t page = {whole->z, whole->minx / TSEED_PAGE_SIDE,
                               whole->miny / TSEED_PAGE_SIDE};
    const leaf_key_t key = {job->run->booked->number, page.z, page.x, page.y};
    leaf_t *leaf;

    follow_recipe(seeder, job->run);
    leaf = apr_hash_get(seeder->leaves, &key, sizeof(key));
    if (!leaf) {
        leaf = tseed_memory_get(sizeof(*leaf));
        leaf->key = key;
        leaf->booked = job->run->booked;
        leaf->page = page;
        leaf_load(seeder, leaf);
        apr_hash_set(seeder->leaves, &leaf->key, sizeof(leaf->key), leaf);
    }
    leaf->asked = seeder->context->ticks;
    *at = (int)(whole->miny % TSEED_PAGE_SIDE * TSEED_PAGE_SIDE + whole->minx % TSEED_PAGE_SIDE);
    return leaf;
}

/* ---- jobs ---- */

static uint64_t print_of_wanted(const tseed_range_t *wanted)
{
    const int64_t corners[] = {wanted->minx, wanted->miny, wanted->maxx, wanted->maxy};

    return tseed_digest(corners, sizeof(corners), (uint64_t)wanted->z);
}

void tseed_archive_ask(tseed_seeder_t *seeder, tseed_job_t *job)
{
    int at;
    const leaf_t *leaf = leaf_of(seeder, job, &at);
    const tseed_known_t *known = tseed_sheet_find(&leaf->sheet, at);

    job->seed = print_of_wanted(&job->metatile.wanted);
    job->asked = tseed_digest(job->url, strlen(job->url), job->seed);
    job->known = known ? known->digest : 0;
    job->transfer.condition = NULL;
    if (known && known->asked == job->asked && *known->condition && !job->must_fetch &&
        tseed_run_leaves_unchanged(job->run)) {
        apr_cpystrn(job->condition, known->condition, sizeof(job->condition));
        job->transfer.condition = job->condition;
    }
}

void tseed_archive_take(tseed_seeder_t *seeder, const tseed_job_t *job)
{
    int at;
    leaf_t *leaf = leaf_of(seeder, job, &at);

    if (job->transfer.result == TSEED_FETCH_UNCHANGED) {
        return;
    }
    if (job->outcome == TSEED_JOB_OK &&
        (job->digest == job->known || tseed_job_present(job) == 0)) {
        tseed_sheet_put(&leaf->sheet, &(tseed_known_t){.at = at,
                                                       .digest = job->digest,
                                                       .asked = job->asked,
                                                       .condition = job->transfer.validator});
        leaf->changed = 1;
    } else if (tseed_sheet_forget(&leaf->sheet, at)) {
        leaf->changed = 1;
    }
}

/* ---- saving ---- */

apr_status_t tseed_archive_write(tseed_seeder_t *seeder)
{
    apr_hash_index_t *index = apr_hash_first(seeder->context->scratch, seeder->leaves);
    apr_status_t rv = APR_SUCCESS;

    for (; rv == APR_SUCCESS && index; index = apr_hash_next(index)) {
        const leaf_t *leaf = apr_hash_this_val(index);

        if (leaf->changed) {
            rv = tseed_answers_save(seeder->session->state, leaf->booked->record.id, &leaf->page,
                                    tseed_sheet_save(&leaf->sheet, seeder->context->scratch));
        }
    }
    return rv;
}

static int is_idle(const tseed_seeder_t *seeder, const leaf_t *leaf, const void *idle)
{
    return seeder->context->ticks - leaf->asked >= *(const unsigned *)idle;
}

void tseed_archive_saved(tseed_seeder_t *seeder)
{
    unsigned idle = apr_hash_count(seeder->leaves) > LEAVES_MOST ? 1 : IDLE_TICKS;
    apr_hash_index_t *index = apr_hash_first(seeder->context->scratch, seeder->leaves);

    for (; index; index = apr_hash_next(index)) {
        ((leaf_t *)apr_hash_this_val(index))->changed = 0;
    }
    forget_leaves(seeder, is_idle, &idle);
}
