/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The book: pages one after the other, victims, cells, the validator. */
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_memory.h"
#include "quota/tseed_book_body.h"

static int is_writing(const tseed_book_t *book, const tseed_page_entry_t *entry)
{
    return (int)(book->writing[entry->writer / 64] >> (entry->writer % 64) & 1);
}

static void look(tseed_book_page_t *found, const tseed_book_t *book,
                 const tseed_page_entry_t *entry)
{
    *found = (tseed_book_page_t){.booked = tseed_book_tileset_of(book, entry),
                                 .page = {entry->z, entry->x, entry->y},
                                 .usage = tseed_entry_usage(entry),
                                 .accessed = entry->accessed,
                                 .written = entry->written,
                                 .heat = entry->heat,
                                 .writing = is_writing(book, entry),
                                 .held = entry->holds > 0,
                                 .pinned = entry->pins > 0,
                                 .in_doubt = (entry->flags & TSEED_ENTRY_IN_DOUBT) != 0};
}

int tseed_book_page(tseed_book_page_t *found, const tseed_book_t *book,
                    const tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    uint32_t number = tseed_book_entry(book, booked, page);

    if (number == TSEED_NO_PAGE) {
        return 0;
    }
    look(found, book, tseed_page_table_get(&book->table, number));
    return 1;
}

int tseed_book_next_in_doubt(tseed_book_page_t *found, const tseed_book_t *book, size_t *cursor,
                             size_t *looks)
{
    while (*looks > 0 && *cursor < book->table.end) {
        const tseed_page_entry_t *entry = tseed_page_table_get(&book->table, (uint32_t)(*cursor)++);

        (*looks)--;
        if (entry->flags & TSEED_ENTRY_IN_DOUBT) {
            look(found, book, entry);
            return 1;
        }
    }
    return 0;
}

void tseed_book_cells(tseed_cell_t *cells, const tseed_book_t *book,
                      const tseed_book_tileset_t *booked, const tseed_window_t *window, int row,
                      int rows)
{
    memset(cells, 0, (size_t)rows * (size_t)window->columns * sizeof(*cells));
    if (booked->trees) {
        tseed_squares_look(cells, &book->squares, booked->trees[window->level.z], window, row,
                           rows);
    }
}

/* ---- victims ---- */

/* A candidate; the lowest rank goes first. */
typedef struct {
    uint64_t rank;
    uint32_t number;
} candidate_t;

/* The best so far as a heap whose first is the worst of them. */
typedef struct {
    candidate_t *items;
    size_t count, most;
} heap_t;

static void sink(heap_t *heap, size_t at, candidate_t item)
{
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && heap->items[child + 1].rank > heap->items[child].rank) {
            child++;
        }
        if (heap->items[child].rank <= item.rank) {
            break;
        }
        heap->items[at] = heap->items[child];
    }
    heap->items[at] = item;
}

static void lift(heap_t *heap, candidate_t item)
{
    size_t at = heap->count++;

    for (; at > 0 && heap->items[(at - 1) / 2].rank < item.rank; at = (at - 1) / 2) {
        heap->items[at] = heap->items[(at - 1) / 2];
    }
    heap->items[at] = item;
}

static void offer(heap_t *heap, candidate_t item)
{
    if (heap->count < heap->most) {
        lift(heap, item);
    } else if (item.rank < heap->items[0].rank) {
        sink(heap, 0, item);
    }
}

static candidate_t take_worst(heap_t *heap)
{
    candidate_t worst = heap->items[0];

    if (--heap->count > 0) {
        sink(heap, 0, heap->items[heap->count]);
    }
    return worst;
}

/* Whether something is charged for a page. The tiles of a page may be links to shared files alone,
 * which are charged to the tile set: such a file goes with the last of its names. */
static int is_charged(const tseed_book_tileset_t *booked, int64_t names, int64_t files)
{
    return files > 0 || (names > 0 && booked->record.shared.files > 0);
}

/* Whether the removal of a page will probably free nothing: it has no file, and there are fewer
 * shared files than pages that may have names of them, as in a sea. */
static int is_poor(const tseed_book_tileset_t *booked, const tseed_page_entry_t *entry)
{
    return entry->files == 0 && booked->record.shared.files < booked->record.pages;
}

static int may_go(const tseed_book_tileset_t *booked, const tseed_page_entry_t *entry,
                  const tseed_account_t *account)
{
    const tseed_chain_t *chain = &booked->chain;

    return is_charged(booked, entry->names, entry->files) && entry->pins == 0 &&
           booked->record.complete && !booked->spared && !(booked->kept >> entry->z & 1) &&
           (chain->global == account || chain->layer == account || chain->root == account);
}

/* A number that orders victims. Pages that jobs hold come last. Pages that a running task has
 * written come right before those, and before these the pages whose removal will free nothing.
 * Within each group the policy's measure decides, then the other measure with three bits less. */
static uint64_t rank_of(const tseed_book_t *book, const tseed_page_entry_t *entry,
                        tseed_policy_t policy)
{
    const uint64_t measures[TSEED_POLICIES] = {
        [TSEED_POLICY_LRU] = entry->accessed,
        [TSEED_POLICY_LFU] = entry->heat,
    };
    const uint64_t first = measures[policy];
    const uint64_t second =
        measures[policy == TSEED_POLICY_LRU ? TSEED_POLICY_LFU : TSEED_POLICY_LRU];

    return (uint64_t)(entry->holds > 0) << 63 | (uint64_t)is_writing(book, entry) << 62 |
           (uint64_t)is_poor(tseed_book_tileset_of(book, entry), entry) << 61 | first << 29 |
           second >> 3;
}

size_t tseed_book_victims(tseed_book_page_t *victims, size_t most, tseed_book_t *book,
                          const tseed_account_t *account, tseed_policy_t policy)
{
    candidate_t items[TSEED_VICTIMS_MAX];
    heap_t heap = {.items = items, .most = most < TSEED_VICTIMS_MAX ? most : TSEED_VICTIMS_MAX};
    size_t count;

    for (uint32_t i = 0; i < book->table.end; i++) {
        const tseed_page_entry_t *entry = tseed_page_table_get(&book->table, i);

        if (entry->flags & TSEED_ENTRY_USED &&
            may_go(tseed_book_tileset_of(book, entry), entry, account)) {
            offer(&heap, (candidate_t){rank_of(book, entry, policy), i});
        }
    }
    count = heap.count;
    while (heap.count > 0) {
        size_t last = heap.count - 1;

        look(&victims[last], book, tseed_page_table_get(&book->table, take_worst(&heap).number));
    }
    return count;
}

tseed_book_tileset_t *tseed_book_least_used(const tseed_book_t *book,
                                            int (*is_chosen)(const tseed_book_tileset_t *booked,
                                                             const void *baton),
                                            const void *baton)
{
    uint32_t *used = tseed_memory_get((size_t)book->tilesets->nelts * sizeof(*used) + 1);
    tseed_book_tileset_t *booked, *least = NULL;

    for (uint32_t i = 0; i < book->table.end; i++) {
        const tseed_page_entry_t *entry = tseed_page_table_get(&book->table, i);

        if (entry->flags & TSEED_ENTRY_USED && entry->accessed > used[entry->tileset]) {
            used[entry->tileset] = entry->accessed;
        }
    }
    for (unsigned i = 0; (booked = tseed_book_next(book, &i)) != NULL; i++) {
        if (is_chosen(booked, baton) && (!least || used[booked->number] < used[least->number])) {
            least = booked;
        }
    }
    free(used);
    return least;
}

static int is_leaver(const tseed_book_t *book, const tseed_page_entry_t *entry)
{
    return entry->flags & TSEED_ENTRY_USED && entry->names > 0 && entry->holds == 0 &&
           tseed_book_tileset_of(book, entry)->is_leaving &&
           !tseed_book_tileset_of(book, entry)->spared;
}

int tseed_book_has_leavers(const tseed_book_t *book)
{
    return book->leaving > 0;
}

size_t tseed_book_leavers(tseed_book_page_t *leavers, size_t most, tseed_book_t *book)
{
    const uint32_t end = book->table.end;
    size_t count = 0;

    for (uint32_t seen = 0; seen < end && count < most; seen++) {
        const tseed_page_entry_t *entry;

        book->next_leaver = book->next_leaver < end ? book->next_leaver : 0;
        entry = tseed_page_table_get(&book->table, book->next_leaver++);
        if (is_leaver(book, entry)) {
            look(&leavers[count++], book, entry);
        }
    }
    return count;
}

int tseed_book_is_victim(const tseed_book_t *book, const tseed_book_page_t *victim)
{
    tseed_book_page_t now;

    return !victim->booked->spared && tseed_book_page(&now, book, victim->booked, &victim->page) &&
           !now.pinned && is_charged(victim->booked, now.usage.names, now.usage.files) &&
           now.accessed == victim->accessed && now.heat == victim->heat;
}

/* ---- validator ---- */

typedef struct {
    tseed_effect_t paged;
    int64_t pages, in_doubt;
} tally_t;

static int agrees(const tseed_book_tileset_t *booked, const tally_t *tally)
{
    const tseed_effect_t *a = &booked->record.paged, *b = &tally->paged;

    return a->names == b->names && a->files == b->files && a->bytes == b->bytes &&
           a->allocated == b->allocated && booked->record.pages == tally->pages &&
           booked->in_doubt == tally->in_doubt;
}

/* Whether the squares of a tile set have all its pages. */
static int squares_agree(const tseed_book_t *book, const tseed_book_tileset_t *booked)
{
    int64_t pages = 0, tiles = 0;

    for (int z = 0; z < TSEED_LEVELS_MAX && booked->trees; z++) {
        if (!tseed_squares_validate(&pages, &tiles, &book->squares, booked->trees[z])) {
            return 0;
        }
    }
    return pages == booked->record.pages && tiles == booked->record.paged.names;
}

const char *tseed_book_validate(const tseed_book_t *book, apr_pool_t *pool)
{
    tally_t *tallies = apr_pcalloc(pool, (size_t)(book->tilesets->nelts + 1) * sizeof(*tallies));
    int64_t pages = 0, in_doubt = 0;
    uint32_t count = 0, changed = 0;

    for (uint32_t i = 0; i < book->table.end; i++) {
        const tseed_page_entry_t *entry = tseed_page_table_get(&book->table, i);
        const tseed_effect_t usage = tseed_entry_usage(entry);
        tally_t *tally = &tallies[entry->tileset];

        if (entry->flags & TSEED_ENTRY_USED) {
            const tseed_page_t page = {entry->z, entry->x, entry->y};

            if (tseed_book_entry(book, tseed_book_tileset_of(book, entry), &page) != i) {
                return apr_psprintf(pool, "page %u is not found", i);
            }
            tseed_effect_add(&tally->paged, &usage);
            tally->pages += usage.names > 0;
            pages += usage.names > 0;
            in_doubt += (entry->flags & TSEED_ENTRY_IN_DOUBT) != 0;
            tally->in_doubt += (entry->flags & TSEED_ENTRY_IN_DOUBT) != 0;
            changed += (entry->flags & TSEED_ENTRY_CHANGED) != 0;
            count++;
        }
    }
    if (book->pages != pages || book->in_doubt != in_doubt) {
        return "the sums of all tile sets do not agree";
    }
    if (count != book->table.count || changed != book->changed_count) {
        return "the number of pages or of changes does not agree";
    }
    for (int i = 0; i < book->tilesets->nelts; i++) {
        const tseed_book_tileset_t *booked =
            APR_ARRAY_IDX(book->tilesets, i, tseed_book_tileset_t *);

        if (booked && !agrees(booked, &tallies[i])) {
            return apr_psprintf(pool, "the sums of tile set %s do not agree", booked->record.key);
        }
        if (booked && !squares_agree(book, booked)) {
            return apr_psprintf(pool, "the squares of tile set %s do not agree",
                                booked->record.key);
        }
    }
    return NULL;
}
