/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The steward: keeps the books of the cache beside the work.
 *
 * A job holds the pages of its metatile from its beginning to its end. Its tiles are written when
 * the marks of these pages are durable, pages in doubt have been counted, and nobody removes
 * there; what it has changed is booked when it comes back. Marks and changes are saved in the
 * transactions of the ledger.
 *
 * Only one kind of work at a time goes on in a page: cutting, or counting, or removing. That is
 * what keeps the effects of files that are replaced or removed exact.
 */
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "board/tseed_hits.h"
#include "protocol/tseed_answer.h"
#include "seeder/tseed_house.h"
#include "state/tseed_answers.h"
#include "state/tseed_books.h"

#define PAGES_AT_ONCE 4096
#define SWEEP_EVERY   30 /* ticks */
#define CLEANER_NOTE  "cleaner"
#define BLOCK_NOTE    "block"

/* ---- tile sets ---- */

static tseed_chain_t chain_of(tseed_seeder_t *seeder, const tseed_layer_t *layer)
{
    return tseed_cleaner_chain(seeder->cleaner, layer->name, layer->store.root);
}

/* Files of a tile set that was known under other names (a parameter's default has changed, say) are
 * taken in as those of any other program. */
static apr_status_t forget_aside(tseed_seeder_t *seeder, uint64_t print)
{
    const int64_t *id = apr_hash_get(seeder->aside, &print, sizeof(print));
    apr_status_t rv = id ? tseed_books_forget(seeder->state, *id) : APR_SUCCESS;

    if (rv == APR_SUCCESS) {
        apr_hash_set(seeder->aside, &print, sizeof(print), NULL);
    }
    return rv;
}

static apr_status_t shelve_new(tseed_shelf_t **shelf, tseed_seeder_t *seeder,
                               const tseed_tileset_t *tileset, uint64_t print)
{
    tseed_chain_t chain = chain_of(seeder, tileset->layer);
    tseed_holding_t holding = {
        .print = print,
        .key = tileset->key,
        .layer = tileset->layer->name,
        .gridset = tileset->subset->gridset->name,
        .format = tileset->format->mime,
        .parameters = tseed_parameters_save(tileset->parameters, seeder->scratch),
        .root = tileset->layer->store.root,
    };
    apr_status_t rv = forget_aside(seeder, print);

    if (rv == APR_SUCCESS) {
        rv = tseed_books_add(seeder->state, &holding);
    }
    if (rv == APR_SUCCESS) {
        *shelf = tseed_book_shelve(seeder->book, &holding, &chain, tileset->layer->kept);
    }
    return rv;
}

apr_status_t tseed_steward_shelf(tseed_shelf_t **shelf, tseed_seeder_t *seeder,
                                 const tseed_tileset_t *tileset)
{
    uint64_t print = tseed_tileset_print(tileset, seeder->scratch);

    *shelf = tseed_book_find(seeder->book, print);
    return *shelf ? APR_SUCCESS : shelve_new(shelf, seeder, tileset, print);
}

/* ---- at the start ---- */

/* Pages in doubt are added to `doubts`. */
static apr_status_t load_pages(tseed_seeder_t *seeder, tseed_shelf_t *shelf,
                               apr_array_header_t *doubts)
{
    tseed_place_t last;
    int count = 0;
    apr_pool_t *pool;
    apr_status_t rv;

    apr_pool_create(&pool, seeder->scratch);
    do {
        apr_array_header_t *pages;

        rv = tseed_books_pages(seeder->state, &pages, shelf->holding.id, count ? &last : NULL,
                               PAGES_AT_ONCE, pool);
        count = rv == APR_SUCCESS ? pages->nelts : 0;
        for (int i = 0; i < count; i++) {
            const tseed_page_t *page = &APR_ARRAY_IDX(pages, i, tseed_page_t);

            tseed_book_load(seeder->book, shelf, page);
            last = page->place;
            if (page->dirty) {
                APR_ARRAY_PUSH(doubts, tseed_page_t) = *page;
            }
        }
        apr_pool_clear(pool);
    } while (count == PAGES_AT_ONCE);
    apr_pool_destroy(pool);
    return rv;
}

/* A tile set that is not configured (any more) is not ours to limit or to remove. When it comes
 * back it is counted anew: somebody may have tidied up. */
static apr_status_t leave_aside(tseed_seeder_t *seeder, tseed_holding_t *holding)
{
    apr_status_t rv = tseed_answers_doubt_levels(seeder->state, holding->id, UINT64_MAX);
    apr_pool_t *pool = apr_hash_pool_get(seeder->aside);

    apr_hash_set(seeder->aside, apr_pmemdup(pool, &holding->print, sizeof(holding->print)),
                 sizeof(holding->print), apr_pmemdup(pool, &holding->id, sizeof(holding->id)));
    if (rv != APR_SUCCESS || !holding->complete) {
        return rv;
    }
    holding->complete = 0;
    holding->doubtful = UINT64_MAX;
    return tseed_books_save(seeder->state, holding);
}

static apr_status_t load_tileset(tseed_seeder_t *seeder, tseed_holding_t *holding,
                                 apr_array_header_t *doubts)
{
    tseed_tileset_t tileset;
    tseed_chain_t chain;
    apr_status_t rv;

    if (tseed_usage_resolve(&tileset, holding, seeder->setup->catalog, seeder->scratch)) {
        return leave_aside(seeder, holding);
    }
    chain = chain_of(seeder, tileset.layer);
    rv = load_pages(seeder, tseed_book_shelve(seeder->book, holding, &chain, tileset.layer->kept),
                    doubts);
    return rv == APR_SUCCESS && holding->doubtful
               ? tseed_answers_doubt_levels(seeder->state, holding->id, holding->doubtful)
               : rv;
}

/* Of what pages in doubt came from nothing is known any more. */
static apr_status_t forget_answers(tseed_seeder_t *seeder, const apr_array_header_t *doubts)
{
    apr_status_t rv = doubts->nelts ? tseed_state_begin(seeder->state) : APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < doubts->nelts; i++) {
        const tseed_page_t *page = &APR_ARRAY_IDX(doubts, i, tseed_page_t);

        rv = tseed_answers_doubt(seeder->state, page->tileset, &page->place);
    }
    if (doubts->nelts == 0) {
        return rv;
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(seeder->state);
    }
    tseed_state_rollback(seeder->state);
    return rv;
}

/* Every tile set with default parameters: what earlier programs have left there counts as well. */
static apr_status_t shelve_configured(tseed_seeder_t *seeder)
{
    const apr_array_header_t *layers = seeder->setup->catalog->order;
    tseed_tileset_t tileset;
    tseed_shelf_t *shelf;
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; i < layers->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, tseed_layer_t *);

        for (int s = 0; s < layer->subsets->nelts; s++) {
            for (int f = 0; rv == APR_SUCCESS && f < layer->formats->nelts; f++) {
                tseed_tileset_init(
                    &tileset, layer, &APR_ARRAY_IDX(layer->subsets, s, tseed_subset_t),
                    &APR_ARRAY_IDX(layer->formats, f, tseed_format_t), NULL, seeder->scratch);
                rv = tseed_steward_shelf(&shelf, seeder, &tileset);
            }
        }
    }
    return rv;
}

/* *value: "" when there is none. */
static apr_status_t load_note(tseed_seeder_t *seeder, const char **value, const char *name)
{
    apr_status_t rv = tseed_books_note_get(seeder->state, value, name, seeder->scratch);

    if (rv == APR_NOTFOUND) {
        *value = "";
        rv = APR_SUCCESS;
    }
    return rv;
}

static apr_status_t load_notes(tseed_seeder_t *seeder)
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
        tseed_usage_load(&seeder->status, status);
        seeder->status.walked = seeder->status.block = 0;
        tseed_cleaner_load(seeder->cleaner, cleaner);
        seeder->block = seeder->block_saved = apr_atoi64(block);
    }
    return rv;
}

apr_status_t tseed_steward_begin(tseed_seeder_t *seeder)
{
    apr_array_header_t *holdings,
        *doubts = apr_array_make(seeder->scratch, 16, sizeof(tseed_page_t));
    apr_pool_t *pool;
    apr_status_t rv;

    if (seeder->book) {
        return APR_SUCCESS;
    }
    apr_pool_create(&pool, seeder->pool);
    seeder->book = tseed_book_create(pool);
    seeder->aside = apr_hash_make(pool);
    seeder->leaves = apr_hash_make(pool);
    seeder->cleaner = tseed_cleaner_create(seeder->settings, pool);
    rv = tseed_books_tilesets(seeder->state, &holdings, seeder->scratch);
    for (int i = 0; rv == APR_SUCCESS && i < holdings->nelts; i++) {
        rv = load_tileset(seeder, &APR_ARRAY_IDX(holdings, i, tseed_holding_t), doubts);
    }
    if (rv == APR_SUCCESS) {
        rv = forget_answers(seeder, doubts);
    }
    if (rv == APR_SUCCESS) {
        rv = shelve_configured(seeder);
    }
    if (rv == APR_SUCCESS) {
        rv = load_notes(seeder);
    }
    if (rv != APR_SUCCESS) {
        seeder->book = NULL;
        apr_pool_destroy(pool);
    }
    return rv;
}

/* ---- the pages of a job ---- */

typedef unsigned page_call_t(tseed_seeder_t *seeder, tseed_shelf_t *shelf,
                             const tseed_place_t *place);

static unsigned hold(tseed_seeder_t *seeder, tseed_shelf_t *shelf, const tseed_place_t *place)
{
    return tseed_book_hold(seeder->book, shelf, place);
}

static unsigned ask(tseed_seeder_t *seeder, tseed_shelf_t *shelf, const tseed_place_t *place)
{
    unsigned obstacles = tseed_book_ask(seeder->book, shelf, place);

    if (obstacles & TSEED_PAGE_IN_DOUBT) {
        tseed_chores_count(seeder, shelf, place);
    }
    return obstacles;
}

static unsigned drop(tseed_seeder_t *seeder, tseed_shelf_t *shelf, const tseed_place_t *place)
{
    tseed_book_drop(seeder->book, shelf, place);
    return 0;
}

/* Calls for each page that a job's tiles lie in, at most four for a metatile. */
static unsigned for_pages(tseed_seeder_t *seeder, const tseed_job_t *job, page_call_t *call)
{
    const tseed_range_t *tiles = &job->metatile.wanted;
    unsigned sum = 0;

    for (int64_t y = tiles->miny / TSEED_PAGE_SIDE; y <= tiles->maxy / TSEED_PAGE_SIDE; y++) {
        for (int64_t x = tiles->minx / TSEED_PAGE_SIDE; x <= tiles->maxx / TSEED_PAGE_SIDE; x++) {
            const tseed_place_t place = {tiles->z, x, y};

            sum |= call(seeder, job->run->shelf, &place);
        }
    }
    return sum;
}

void tseed_steward_hold(tseed_seeder_t *seeder, tseed_job_t *job)
{
    job->holds = 1;
    if (for_pages(seeder, job, hold) & TSEED_PAGE_UNMARKED) {
        seeder->must_record = 1;
    }
}

void tseed_steward_mark_level(tseed_seeder_t *seeder, tseed_job_t *job)
{
    job->levels = UINT64_C(1) << job->metatile.wanted.z;
    tseed_book_mark_levels(job->run->shelf, job->levels);
    seeder->must_record = 1;
}

/* The levels that jobs of a tile set have marked; `job` (may be NULL) is not asked. */
static uint64_t marked_by_others(const tseed_seeder_t *seeder, const tseed_shelf_t *shelf,
                                 const tseed_job_t *job)
{
    uint64_t levels = 0;

    for (const tseed_run_t *run = seeder->runs; run; run = run->next_run) {
        const tseed_job_t *other = run->shelf == shelf ? run->jobs : NULL;

        for (; other; other = other->sibling) {
            levels |= other != job ? other->levels : 0;
        }
    }
    return levels;
}

static void unmark(tseed_seeder_t *seeder, tseed_shelf_t *shelf, uint64_t levels)
{
    tseed_book_unmark_levels(shelf, levels);
    seeder->must_save = 1;
}

void tseed_steward_drop(tseed_seeder_t *seeder, tseed_job_t *job)
{
    if (job->holds) {
        for_pages(seeder, job, drop);
        job->holds = 0;
    }
    if (job->levels) {
        unmark(seeder, job->run->shelf,
               job->levels & ~marked_by_others(seeder, job->run->shelf, job));
        job->levels = 0;
    }
}

/* Shared files are everywhere in a tile set. */
static int share_tiles(const tseed_job_t *a, const tseed_job_t *b)
{
    tseed_range_t common = tseed_range_intersect(&a->metatile.wanted, &b->metatile.wanted);

    return a->stage == TSEED_STAGE_COUNT_SHARED || b->stage == TSEED_STAGE_COUNT_SHARED ||
           tseed_range_count(&common) > 0;
}

/* Whether one of these runs has a job that keeps this one from being begun. */
static int is_busy(const tseed_run_t *runs, const tseed_job_t *job)
{
    for (const tseed_run_t *run = runs; run; run = run->next_run) {
        const tseed_job_t *other = run->shelf == job->run->shelf ? run->jobs : NULL;

        for (; other; other = other->sibling) {
            if (other != job && share_tiles(other, job) && tseed_job_excludes(other, job)) {
                return 1;
            }
        }
    }
    return 0;
}

int tseed_steward_may_work(tseed_seeder_t *seeder, tseed_job_t *job)
{
    if (job->stage == TSEED_STAGE_CUT && seeder->recounts > 0) {
        return 0;
    }
    if (job->holds && job->stage != TSEED_STAGE_COUNT && for_pages(seeder, job, ask)) {
        return 0;
    }
    if (job->levels & ~job->run->shelf->marked) {
        return 0;
    }
    return !is_busy(seeder->runs, job) && !is_busy(seeder->standing, job);
}

static void complain(const tseed_job_t *job)
{
    tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
              "what was changed in the cache of layer '%s' does not agree with its books; the "
              "tiles concerned are counted again",
              job->run->task->layer);
}

static void book_detached(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_shelf_t *shelf = job->run->shelf;
    tseed_effect_t moved;

    tseed_book_detach(&moved, seeder->book, shelf, job->metatile.wanted.z);
    tseed_purge_want(seeder, shelf->holding.root);
    job->is_detached = 0;
}

void tseed_steward_book(tseed_seeder_t *seeder, tseed_job_t *job)
{
    const tseed_writer_t writer = {job->run->task->id, apr_time_sec(apr_time_now())};
    const tseed_line_t *line;
    unsigned cursor = 0;
    apr_status_t rv;

    while ((line = tseed_tally_next(&job->tally, &cursor)) != NULL) {
        rv = tseed_book_apply(seeder->book, job->run->shelf, &line->place, &line->effect,
                              job->stage == TSEED_STAGE_CUT ? &writer : NULL);
        if (rv != APR_SUCCESS) {
            complain(job);
        }
    }
    rv = tseed_book_share(seeder->book, job->run->shelf, &job->shared);
    if (rv != APR_SUCCESS) {
        complain(job);
        tseed_chores_count_shared(seeder, job->run->shelf);
    }
    if (job->is_detached) {
        book_detached(seeder, job);
    }
    if (job->stage == TSEED_STAGE_CUT) {
        tseed_archive_take(seeder, job);
    }
    tseed_tally_clear(&job->tally);
    job->shared = (tseed_effect_t){0};
}

int tseed_steward_is_doubtful(const tseed_seeder_t *seeder)
{
    const tseed_shelf_t *shelf;

    for (unsigned i = 0; (shelf = tseed_book_shelf(seeder->book, i)) != NULL; i++) {
        if (shelf->in_doubt > 0) {
            return 1;
        }
    }
    return 0;
}

/* ---- saving ---- */

/* What the database is to say of the block size that sizes in the books are rounded up to. */
static int64_t block_to_save(const tseed_seeder_t *seeder)
{
    if (seeder->block == seeder->block_saved || !tseed_steward_is_doubtful(seeder)) {
        return seeder->block;
    }
    return seeder->block_saved ? TSEED_BLOCK_MIXED : 0;
}

static int block_has_changed(const tseed_seeder_t *seeder)
{
    return block_to_save(seeder) != seeder->block_saved;
}

static int cleaner_has_changed(const tseed_seeder_t *seeder)
{
    return strcmp(tseed_cleaner_save(seeder->cleaner, seeder->scratch), seeder->cleaner_saved) != 0;
}

static int status_has_changed(const tseed_seeder_t *seeder)
{
    return strcmp(tseed_audit_status(seeder), seeder->status_saved) != 0;
}

static apr_status_t write_notes(tseed_seeder_t *seeder)
{
    apr_status_t rv = APR_SUCCESS;

    if (cleaner_has_changed(seeder)) {
        rv = tseed_books_note_set(seeder->state, CLEANER_NOTE,
                                  tseed_cleaner_save(seeder->cleaner, seeder->scratch));
    }
    if (rv == APR_SUCCESS && status_has_changed(seeder)) {
        rv = tseed_books_note_set(seeder->state, TSEED_USAGE_STATUS, tseed_audit_status(seeder));
    }
    if (rv == APR_SUCCESS && block_has_changed(seeder)) {
        rv = tseed_books_note_set(
            seeder->state, BLOCK_NOTE,
            apr_psprintf(seeder->scratch, "%" APR_INT64_T_FMT, block_to_save(seeder)));
    }
    return rv;
}

/* Nothing has changed since they were written. */
static void notes_saved(tseed_seeder_t *seeder)
{
    apr_cpystrn(seeder->cleaner_saved, tseed_cleaner_save(seeder->cleaner, seeder->scratch),
                sizeof(seeder->cleaner_saved));
    apr_cpystrn(seeder->status_saved, tseed_audit_status(seeder), sizeof(seeder->status_saved));
    seeder->block_saved = block_to_save(seeder);
}

int tseed_steward_has_changes(const tseed_seeder_t *seeder, tseed_save_t save)
{
    const tseed_shelf_t *shelf;
    int changed = tseed_book_changes(seeder->book, save) > 0;

    for (unsigned i = 0;
         save == TSEED_SAVE_ALL && !changed && (shelf = tseed_book_shelf(seeder->book, i)) != NULL;
         i++) {
        changed = shelf->changed;
    }
    return changed ||
           (save == TSEED_SAVE_ALL && (block_has_changed(seeder) || cleaner_has_changed(seeder) ||
                                       status_has_changed(seeder)));
}

/* A database in the place of ours knows nothing of the books: it gets them whole. */
static apr_status_t save_tileset(tseed_seeder_t *seeder, tseed_shelf_t *shelf)
{
    apr_status_t rv = tseed_books_save(seeder->state, &shelf->holding);

    if (rv == APR_NOTFOUND) {
        rv = tseed_books_add(seeder->state, &shelf->holding);
        tseed_book_resave(seeder->book);
        seeder->cleaner_saved[0] = seeder->status_saved[0] = '\0';
        seeder->block_saved = 0;
    }
    return rv;
}

apr_status_t tseed_steward_write(tseed_seeder_t *seeder, tseed_save_t save)
{
    tseed_shelf_t *shelf;
    tseed_page_t page;
    size_t cursor = 0;
    int gone;
    apr_status_t rv = APR_SUCCESS;

    for (unsigned i = 0; rv == APR_SUCCESS && (shelf = tseed_book_shelf(seeder->book, i)); i++) {
        rv = shelf->changed ? save_tileset(seeder, shelf) : APR_SUCCESS;
    }
    while (rv == APR_SUCCESS && tseed_book_change(seeder->book, &page, &gone, save, &cursor)) {
        rv = gone ? tseed_books_page_delete(seeder->state, &page)
                  : tseed_books_page_save(seeder->state, &page);
    }
    return rv == APR_SUCCESS && save == TSEED_SAVE_ALL ? write_notes(seeder) : rv;
}

void tseed_steward_saved(tseed_seeder_t *seeder, tseed_save_t save)
{
    if (save == TSEED_SAVE_ALL) {
        notes_saved(seeder);
    }
    tseed_book_saved(seeder->book, save);
}

static void hit(void *data, uint64_t page_print, uint64_t hits)
{
    tseed_book_hit(((tseed_seeder_t *)data)->book, page_print, (int64_t)hits,
                   apr_time_sec(apr_time_now()));
}

/* Marks of levels that an earlier seeder has left have served when all they put in doubt has been
 * counted. */
static void unmark_counted(tseed_seeder_t *seeder)
{
    tseed_shelf_t *shelf;

    for (unsigned i = 0; (shelf = tseed_book_shelf(seeder->book, i)) != NULL; i++) {
        uint64_t levels = shelf->in_doubt == 0 ? shelf->holding.doubtful : 0;

        levels &= levels ? ~marked_by_others(seeder, shelf, NULL) : 0;
        if (levels) {
            unmark(seeder, shelf, levels);
        }
    }
}

void tseed_steward_tick(tseed_seeder_t *seeder)
{
    unmark_counted(seeder);
    tseed_hits_drain(seeder->board, hit, seeder);
    if (seeder->ticks % SWEEP_EVERY == 0) {
        tseed_book_sweep(seeder->book);
    }
}
