/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The book: tile sets, changes, counts, hits. */
#include "quota/tseed_book.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_memory.h"
#include "quota/tseed_book_body.h"

static uint64_t print_of(const void *baton, const tseed_page_entry_t *entry)
{
    const tseed_book_t *book = baton;

    return tseed_page_print(tseed_book_tileset_of(book, entry)->record.print, entry->z, entry->x,
                            entry->y);
}

static apr_status_t destroy(void *data)
{
    tseed_book_t *book = data;

    for (int i = 0; i < book->tilesets->nelts; i++) {
        tseed_book_tileset_t *booked = APR_ARRAY_IDX(book->tilesets, i, tseed_book_tileset_t *);

        free(booked ? booked->texts : NULL);
    }
    tseed_squares_destroy(&book->squares);
    tseed_page_table_destroy(&book->table);
    free(book->changed);
    return APR_SUCCESS;
}

tseed_book_t *tseed_book_create(apr_pool_t *pool)
{
    tseed_book_t *book = apr_pcalloc(pool, sizeof(*book));

    book->pool = pool;
    book->tilesets = apr_array_make(pool, 16, sizeof(tseed_book_tileset_t *));
    book->prints = apr_hash_make(pool);
    book->spare = apr_array_make(pool, 0, sizeof(tseed_book_tileset_t *));
    tseed_page_table_init(&book->table, print_of, book);
    tseed_squares_init(&book->squares, &book->table);
    apr_pool_cleanup_register(pool, book, destroy, apr_pool_cleanup_null);
    return book;
}

/* ---- arithmetic ---- */

static tseed_effect_t minus(const tseed_effect_t *a, const tseed_effect_t *b)
{
    return (tseed_effect_t){a->names - b->names, a->files - b->files, a->bytes - b->bytes,
                            a->allocated - b->allocated};
}

static tseed_amount_t amount_of(const tseed_effect_t *effect)
{
    return (tseed_amount_t){effect->allocated, effect->files};
}

static int is_nothing(const tseed_effect_t *usage)
{
    return usage->names == 0 && usage->files == 0 && usage->bytes == 0 && usage->allocated == 0;
}

static int is_sound(const tseed_effect_t *usage)
{
    return usage->names >= 0 && usage->files >= 0 && usage->bytes >= 0 && usage->allocated >= 0;
}

/* Whether a page can hold that much: no more names than it has tiles, no more files than names. */
static int fits_page(const tseed_effect_t *usage)
{
    return is_sound(usage) && usage->names <= TSEED_PAGE_TILES && usage->files <= usage->names &&
           (usage->names > 0 || is_nothing(usage));
}

/* ---- tile sets ---- */

/* Copies the texts of a record into one piece of memory. */
static char *keep_texts(tseed_tileset_record_t *record)
{
    const char **const texts[] = {&record->key,    &record->layer,      &record->gridset,
                                  &record->format, &record->parameters, &record->root,
                                  &record->place};
    const size_t count = sizeof(texts) / sizeof(texts[0]);
    size_t length = 0;
    char *memory, *end;

    for (size_t i = 0; i < count; i++) {
        length += strlen(*texts[i]) + 1;
    }
    memory = end = tseed_memory_get(length);
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(*texts[i]) + 1;

        *texts[i] = memcpy(end, *texts[i], size);
        end += size;
    }
    return memory;
}

/* The place of a tile set that was removed, or a new one. */
static tseed_book_tileset_t *place_of_tileset(tseed_book_t *book)
{
    tseed_book_tileset_t **spare = apr_array_pop(book->spare);
    tseed_book_tileset_t *booked;
    unsigned number;

    if (spare) {
        number = (*spare)->number;
        **spare = (tseed_book_tileset_t){.number = number};
        return APR_ARRAY_IDX(book->tilesets, number, tseed_book_tileset_t *) = *spare;
    }
    booked = apr_pcalloc(book->pool, sizeof(*booked));
    booked->number = (unsigned)book->tilesets->nelts;
    return APR_ARRAY_PUSH(book->tilesets, tseed_book_tileset_t *) = booked;
}

tseed_book_tileset_t *tseed_book_add(tseed_book_t *book, const tseed_tileset_record_t *record,
                                     const tseed_chain_t *chain, uint64_t kept)
{
    tseed_book_tileset_t *booked = place_of_tileset(book);
    tseed_tileset_record_t *own = &booked->record;

    *own = *record;
    booked->texts = keep_texts(own);
    own->pages = 0;
    own->paged = (tseed_effect_t){0, 0, 0, 0};
    booked->chain = *chain;
    booked->kept = kept;
    booked->marked = own->doubtful;
    apr_hash_set(book->prints, &own->print, sizeof(own->print), booked);
    book->incomplete += !own->complete;
    tseed_account_correct(chain, amount_of(&own->shared));
    tseed_account_correct(chain, amount_of(&own->detached));
    return booked;
}

int tseed_book_has_files(const tseed_book_tileset_t *booked)
{
    const tseed_tileset_record_t *record = &booked->record;

    return record->pages > 0 || record->shared.files > 0 || record->detached.names > 0 ||
           record->detached.files > 0;
}

int tseed_book_is_bare(const tseed_book_tileset_t *booked)
{
    const tseed_tileset_record_t *record = &booked->record;

    return record->complete && booked->loaded && !record->doubtful && booked->entries == 0 &&
           !tseed_book_has_files(booked) && !booked->shared_due && !booked->sweep_due;
}

void tseed_book_set_leaving(tseed_book_t *book, tseed_book_tileset_t *booked, int is_leaving)
{
    book->leaving += (unsigned)(is_leaving - booked->is_leaving);
    booked->is_leaving = is_leaving;
}

void tseed_book_remove(tseed_book_t *book, tseed_book_tileset_t *booked)
{
    assert(tseed_book_is_bare(booked));
    tseed_book_set_leaving(book, booked, 0);
    apr_hash_set(book->prints, &booked->record.print, sizeof(booked->record.print), NULL);
    APR_ARRAY_IDX(book->tilesets, booked->number, tseed_book_tileset_t *) = NULL;
    free(booked->texts);
    APR_ARRAY_PUSH(book->spare, tseed_book_tileset_t *) = booked;
}

void tseed_book_complete(tseed_book_t *book, tseed_book_tileset_t *booked)
{
    book->incomplete -= !booked->record.complete;
    booked->record.complete = 1;
    booked->changed = 1;
    booked->unread = 0;
}

int64_t tseed_book_pages(const tseed_book_t *book)
{
    return book->pages;
}

int64_t tseed_book_in_doubt(const tseed_book_t *book)
{
    return book->in_doubt;
}

unsigned tseed_book_incomplete(const tseed_book_t *book)
{
    return book->incomplete;
}

tseed_book_tileset_t *tseed_book_find(const tseed_book_t *book, uint64_t print)
{
    return apr_hash_get(book->prints, &print, sizeof(print));
}

/* ---- entries ---- */

static tseed_page_key_t key_of(const tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    return (tseed_page_key_t){tseed_page_print(booked->record.print, page->z, page->x, page->y),
                              booked->number, *page};
}

uint32_t tseed_book_entry(const tseed_book_t *book, const tseed_book_tileset_t *booked,
                          const tseed_page_t *page)
{
    const tseed_page_key_t key = key_of(booked, page);

    return tseed_page_table_find(&book->table, &key);
}

static void doubt(tseed_book_t *book, tseed_book_tileset_t *booked, tseed_page_entry_t *entry)
{
    const int more = !(entry->flags & TSEED_ENTRY_IN_DOUBT);

    booked->in_doubt += more;
    book->in_doubt += more;
    entry->flags |= TSEED_ENTRY_IN_DOUBT;
}

static void trust(tseed_book_t *book, tseed_book_tileset_t *booked, tseed_page_entry_t *entry)
{
    const int less = (entry->flags & TSEED_ENTRY_IN_DOUBT) != 0;

    booked->in_doubt -= less;
    book->in_doubt -= less;
    entry->flags &= (uint8_t)~TSEED_ENTRY_IN_DOUBT;
}

uint32_t tseed_book_entry_get(tseed_book_t *book, tseed_book_tileset_t *booked,
                              const tseed_page_t *page)
{
    const tseed_page_key_t key = key_of(booked, page);
    uint32_t number = tseed_page_table_find(&book->table, &key);

    if (number == TSEED_NO_PAGE) {
        number = tseed_page_table_add(&book->table, &key);
        booked->entries++;
        tseed_page_table_get(&book->table, number)->heat =
            tseed_ghosts_take(&book->ghosts, key.print);
        if (!booked->record.complete) {
            doubt(book, booked, tseed_page_table_get(&book->table, number));
        }
    }
    return number;
}

void tseed_book_note(tseed_book_t *book, uint32_t number)
{
    tseed_page_entry_t *entry = tseed_page_table_get(&book->table, number);

    if (entry->flags & TSEED_ENTRY_CHANGED) {
        return;
    }
    entry->flags |= TSEED_ENTRY_CHANGED;
    if (book->changed_count == book->changed_room) {
        book->changed_room = book->changed_room ? 2 * book->changed_room : 256;
        book->changed = realloc(book->changed, book->changed_room * sizeof(*book->changed));
        if (!book->changed) {
            abort();
        }
    }
    book->changed[book->changed_count++] = number;
}

/* The level's tree of squares; the first page of a tile set makes the place for its trees. */
static uint32_t *tree_of(tseed_book_t *book, tseed_book_tileset_t *booked, int z)
{
    if (!booked->trees) {
        booked->trees = apr_pcalloc(book->pool, TSEED_LEVELS_MAX * sizeof(*booked->trees));
    }
    return &booked->trees[z];
}

/* Lets the squares know of a change of a page, which held `before`. */
static void sum_up(tseed_book_t *book, tseed_book_tileset_t *booked, uint32_t number,
                   const tseed_cell_t *before)
{
    const int z = tseed_page_table_get(&book->table, number)->z;

    tseed_squares_change(&book->squares, tree_of(book, booked, z), number, before);
}

/* Sets the usage of an entry, and adds the difference to its tile set. The caller sums it up. */
static tseed_effect_t set_usage(tseed_book_t *book, tseed_book_tileset_t *booked,
                                tseed_page_entry_t *entry, const tseed_effect_t *usage)
{
    const tseed_effect_t old = tseed_entry_usage(entry);
    const tseed_effect_t change = minus(usage, &old);

    tseed_effect_add(&booked->record.paged, &change);
    booked->record.pages += (usage->names > 0) - (old.names > 0);
    book->pages += (usage->names > 0) - (old.names > 0);
    booked->changed = 1;
    entry->flags |= TSEED_ENTRY_TOUCHED;
    if (usage->names == 0 || usage->names < old.names) {
        entry->renewed = 0; /* one of the tiles that were made again may be gone */
        entry->renewer = 0;
    }
    entry->written = usage->names > 0 ? entry->written : 0;
    entry->names = (uint16_t)usage->names;
    entry->files = (uint16_t)usage->files;
    entry->bytes = usage->bytes;
    entry->allocated = usage->allocated;
    return change;
}

void tseed_book_expect(tseed_book_t *book, int64_t pages)
{
    tseed_page_table_reserve(&book->table, pages);
}

/* A row that can't be right is taken for an empty page in doubt. */
void tseed_book_load(tseed_book_t *book, tseed_book_tileset_t *booked,
                     const tseed_page_record_t *record)
{
    static const tseed_effect_t nothing;
    const tseed_page_key_t key = key_of(booked, &record->page);
    int is_good = fits_page(&record->usage);
    const tseed_effect_t *usage = is_good ? &record->usage : &nothing;
    const tseed_cell_t before = {0};
    tseed_page_entry_t *entry;
    uint32_t number;

    if (record->page.z < 0 || record->page.z >= TSEED_LEVELS_MAX || record->page.x < 0 ||
        record->page.y < 0) {
        return; /* no grid set has such a page */
    }
    number = tseed_page_table_add(&book->table, &key);
    booked->entries++;
    entry = tseed_page_table_get(&book->table, number);
    entry->accessed = (uint32_t)record->accessed;
    entry->heat = (uint32_t)record->heat;
    entry->written = (uint32_t)record->written;
    set_usage(book, booked, entry, usage);
    sum_up(book, booked, number, &before);
    tseed_account_correct(&booked->chain, amount_of(usage));
    if (record->dirty) {
        entry->flags |= TSEED_ENTRY_MARKED | TSEED_ENTRY_LINGERS;
    }
    if (record->dirty || !is_good || booked->record.doubtful >> record->page.z & 1) {
        doubt(book, booked, entry);
    }
}

/* ---- changing a page ---- */

static void touch(tseed_page_entry_t *entry, int64_t now)
{
    if (now > entry->accessed) {
        entry->accessed = (uint32_t)now;
    }
}

/* A page that is written is as good as one that was read once just now, however many of its tiles
 * are written: so a fresh seed is not what goes first, and is not worth more than what people read.
 */
static void written(tseed_page_entry_t *entry, const tseed_writer_t *writer)
{
    tseed_heat_t once = tseed_heat_add(0, 1, writer->now);

    touch(entry, writer->now);
    entry->heat = once > entry->heat ? once : entry->heat;
    entry->writer = tseed_writer_of(writer->task);
}

apr_status_t tseed_book_apply(tseed_book_t *book, tseed_book_tileset_t *booked,
                              const tseed_page_t *page, const tseed_effect_t *change,
                              const tseed_writer_t *writer)
{
    uint32_t number = tseed_book_entry_get(book, booked, page);
    tseed_page_entry_t *entry = tseed_page_table_get(&book->table, number);
    const tseed_cell_t before = tseed_squares_cell(entry);
    tseed_effect_t usage = tseed_entry_usage(entry);
    int was_in_doubt = entry->flags & TSEED_ENTRY_IN_DOUBT;

    tseed_book_note(book, number);
    if (writer) {
        written(entry, writer);
    }
    tseed_effect_add(&usage, change);
    if (!was_in_doubt && fits_page(&usage)) {
        set_usage(book, booked, entry, &usage);
        if (before.tiles == 0 && usage.names > 0 && writer) {
            entry->written = (uint32_t)writer->now;
        }
        sum_up(book, booked, number, &before);
        return APR_SUCCESS;
    }
    sum_up(book, booked, number, &before);
    doubt(book, booked, entry);
    tseed_account_release(&booked->chain, amount_of(change));
    return was_in_doubt ? APR_SUCCESS : APR_EINVAL;
}

void tseed_book_count(tseed_effect_t *difference, tseed_book_t *book, tseed_book_tileset_t *booked,
                      const tseed_page_t *page, const tseed_effect_t *counted, int64_t oldest)
{
    uint32_t number = tseed_book_entry_get(book, booked, page);
    tseed_page_entry_t *entry = tseed_page_table_get(&book->table, number);
    const tseed_cell_t before = tseed_squares_cell(entry);

    assert(fits_page(counted));
    *difference = set_usage(book, booked, entry, counted);
    entry->written = counted->names > 0 ? (uint32_t)oldest : 0;
    entry->renewed = entry->renewer = 0;
    sum_up(book, booked, number, &before);
    tseed_account_correct(&booked->chain, amount_of(difference));
    trust(book, booked, entry);
    tseed_book_note(book, number);
}

void tseed_book_renew(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page,
                      int64_t task, int64_t tiles, int64_t since)
{
    uint32_t number = tseed_book_entry_get(book, booked, page);
    tseed_page_entry_t *entry = tseed_page_table_get(&book->table, number);
    const tseed_cell_t before = tseed_squares_cell(entry);

    if (entry->renewer != tseed_writer_of(task)) {
        entry->renewer = tseed_writer_of(task);
        entry->renewed = 0;
    }
    tiles += entry->renewed;
    entry->renewed = tiles < UINT16_MAX ? (uint16_t)tiles : UINT16_MAX;
    if (tiles > 0 && tiles == entry->names && since > entry->written) {
        entry->written = (uint32_t)since;
        tseed_book_note(book, number);
        sum_up(book, booked, number, &before);
    }
}

int tseed_book_hit(tseed_book_t *book, uint64_t page_print, int64_t reads, int64_t now)
{
    uint32_t number = tseed_page_table_find_print(&book->table, page_print);
    tseed_page_entry_t *entry;
    tseed_cell_t before;

    if (number == TSEED_NO_PAGE) {
        return 0;
    }
    entry = tseed_page_table_get(&book->table, number);
    before = tseed_squares_cell(entry);
    touch(entry, now);
    entry->heat = tseed_heat_add(entry->heat, reads, now);
    sum_up(book, tseed_book_tileset_of(book, entry), number, &before);
    tseed_book_note(book, number);
    return 1;
}

void tseed_book_writing(tseed_book_t *book, int64_t task, int running)
{
    uint16_t writer = tseed_writer_of(task);
    uint64_t bit = UINT64_C(1) << (writer % 64);

    if (running) {
        book->writing[writer / 64] |= bit;
    } else {
        book->writing[writer / 64] &= ~bit;
    }
}

/* ---- changing a tile set ---- */

apr_status_t tseed_book_share(tseed_book_t *book, tseed_book_tileset_t *booked,
                              const tseed_effect_t *change)
{
    tseed_effect_t shared = booked->record.shared;

    (void)book;
    tseed_effect_add(&shared, change);
    if (!is_sound(&shared)) {
        tseed_account_release(&booked->chain, amount_of(change));
        return APR_EINVAL;
    }
    booked->record.shared = shared;
    booked->changed = 1;
    return APR_SUCCESS;
}

void tseed_book_count_shared(tseed_effect_t *difference, tseed_book_t *book,
                             tseed_book_tileset_t *booked, const tseed_effect_t *counted)
{
    (void)book;
    *difference = minus(counted, &booked->record.shared);
    booked->record.shared = *counted;
    booked->changed = 1;
    tseed_account_correct(&booked->chain, amount_of(difference));
}

void tseed_book_mark_levels(tseed_book_tileset_t *booked, uint64_t levels)
{
    booked->record.doubtful |= levels;
    booked->changed = 1;
}

void tseed_book_unmark_levels(tseed_book_tileset_t *booked, uint64_t levels)
{
    booked->record.doubtful &= ~levels;
    booked->changed = 1;
}

/* Puts all pages of a level in doubt now. The caller marks the level first and takes the mark away
 * when booked->in_doubt is 0. */
static void doubt_level(tseed_book_t *book, tseed_book_tileset_t *booked, int z)
{
    for (uint32_t i = 0; i < book->table.end; i++) {
        tseed_page_entry_t *entry = tseed_page_table_get(&book->table, i);

        if (entry->flags & TSEED_ENTRY_USED && entry->tileset == booked->number && entry->z == z) {
            doubt(book, booked, entry);
        }
    }
}

void tseed_book_doubt_all(tseed_book_t *book, const tseed_book_tileset_t *booked)
{
    for (uint32_t i = 0; i < book->table.end; i++) {
        tseed_page_entry_t *entry = tseed_page_table_get(&book->table, i);

        if (entry->flags & TSEED_ENTRY_USED && (!booked || entry->tileset == booked->number)) {
            doubt(book, tseed_book_tileset_of(book, entry), entry);
        }
    }
}

static int is_of(const tseed_page_entry_t *entry, const tseed_book_tileset_t *booked, int z)
{
    return entry->flags & TSEED_ENTRY_USED && entry->tileset == booked->number && entry->z == z;
}

void tseed_book_level(tseed_effect_t *sum, const tseed_book_t *book,
                      const tseed_book_tileset_t *booked, int z)
{
    *sum = (tseed_effect_t){0};
    for (uint32_t i = 0; i < book->table.end; i++) {
        const tseed_page_entry_t *entry = tseed_page_table_get(&book->table, i);

        if (is_of(entry, booked, z)) {
            const tseed_effect_t usage = tseed_entry_usage(entry);

            tseed_effect_add(sum, &usage);
        }
    }
}

void tseed_book_detach(tseed_effect_t *moved, tseed_book_t *book, tseed_book_tileset_t *booked,
                       int z)
{
    static const tseed_effect_t nothing;
    const tseed_effect_t before = booked->record.paged;

    for (uint32_t i = 0; i < book->table.end; i++) {
        tseed_page_entry_t *entry = tseed_page_table_get(&book->table, i);

        if (is_of(entry, booked, z)) {
            const tseed_cell_t held = tseed_squares_cell(entry);

            set_usage(book, booked, entry, &nothing);
            sum_up(book, booked, i, &held);
            trust(book, booked, entry);
            tseed_book_note(book, i);
        }
    }
    *moved = minus(&before, &booked->record.paged);
    tseed_effect_add(&booked->record.detached, moved);
}

void tseed_book_inherit(tseed_book_t *book, tseed_book_tileset_t *booked, int z,
                        const tseed_effect_t *usage)
{
    tseed_effect_t moved, more;

    tseed_book_detach(&moved, book, booked, z);
    more = minus(usage, &moved);
    tseed_effect_add(&booked->record.detached, &more);
    tseed_account_correct(&booked->chain, amount_of(&more));
    doubt_level(book, booked, z);
}

/* No tile set gives back more than was moved for it. */
static int64_t at_most(int64_t amount, int64_t most)
{
    return amount < most ? amount : most;
}

void tseed_book_purge(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_effect_t *gone)
{
    const tseed_effect_t all = booked->record.detached;
    const tseed_effect_t *told = gone ? gone : &all;
    const tseed_effect_t part = {at_most(told->names, all.names), at_most(told->files, all.files),
                                 at_most(told->bytes, all.bytes),
                                 at_most(told->allocated, all.allocated)};

    (void)book;
    booked->record.detached = minus(&all, &part);
    booked->changed = 1;
    tseed_account_release(&booked->chain, amount_of(&part));
}
