/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The page table. Entries have no prints: computing a print again costs less than keeping it. */
#include "quota/tseed_page_table.h"

#include <assert.h>

#include "base/tseed_memory.h"

#define SLAB        1024u
#define SLOTS_FIRST 1024u
#define SLOTS_MOST  (UINT32_C(1) << 26) /* that are reserved: of 256 MB, used only as they fill */

static_assert(sizeof(tseed_page_entry_t) == 64, "what a page costs is promised");

void tseed_page_table_init(tseed_page_table_t *table,
                           uint64_t (*print_of)(const void *baton, const tseed_page_entry_t *entry),
                           const void *baton)
{
    *table = (tseed_page_table_t){.free = TSEED_NO_PAGE,
                                  .slots = tseed_memory_get(SLOTS_FIRST * sizeof(*table->slots)),
                                  .mask = SLOTS_FIRST - 1,
                                  .print_of = print_of,
                                  .baton = baton};
}

void tseed_page_table_destroy(tseed_page_table_t *table)
{
    for (uint32_t i = 0; i < table->slab_count; i++) {
        free(table->slabs[i]);
    }
    free(table->slabs);
    free(table->slots);
}

tseed_page_entry_t *tseed_page_table_get(const tseed_page_table_t *table, uint32_t number)
{
    return &table->slabs[number / SLAB][number % SLAB];
}

static uint64_t print_at(const tseed_page_table_t *table, uint32_t slot)
{
    return table->print_of(table->baton, tseed_page_table_get(table, table->slots[slot] - 1));
}

/* ---- finding ---- */

static int is_page(const tseed_page_entry_t *entry, const tseed_page_key_t *key)
{
    return entry->x == key->page.x && entry->y == key->page.y && entry->z == key->page.z &&
           entry->tileset == key->tileset;
}

uint32_t tseed_page_table_find(const tseed_page_table_t *table, const tseed_page_key_t *key)
{
    uint32_t slot = (uint32_t)key->print & table->mask;

    for (; table->slots[slot]; slot = (slot + 1) & table->mask) {
        if (is_page(tseed_page_table_get(table, table->slots[slot] - 1), key)) {
            return table->slots[slot] - 1;
        }
    }
    return TSEED_NO_PAGE;
}

uint32_t tseed_page_table_find_print(const tseed_page_table_t *table, uint64_t print)
{
    uint32_t slot = (uint32_t)print & table->mask;

    for (; table->slots[slot]; slot = (slot + 1) & table->mask) {
        if (print_at(table, slot) == print) {
            return table->slots[slot] - 1;
        }
    }
    return TSEED_NO_PAGE;
}

/* ---- adding ---- */

static void put(tseed_page_table_t *table, uint64_t print, uint32_t number)
{
    uint32_t slot = (uint32_t)print & table->mask;

    while (table->slots[slot]) {
        slot = (slot + 1) & table->mask;
    }
    table->slots[slot] = number + 1;
}

/* How many pages a table takes before it grows. */
static uint32_t room_of(uint32_t slots)
{
    return (slots - 1) / 4 * 3;
}

static void resize_table(tseed_page_table_t *table, uint32_t slots)
{
    free(table->slots);
    table->slots = tseed_memory_get(slots * sizeof(*table->slots));
    table->mask = slots - 1;
    for (uint32_t i = 0; i < table->end; i++) {
        const tseed_page_entry_t *entry = tseed_page_table_get(table, i);

        if (entry->flags & TSEED_ENTRY_USED) {
            put(table, table->print_of(table->baton, entry), i);
        }
    }
}

void tseed_page_table_reserve(tseed_page_table_t *table, int64_t pages)
{
    uint32_t slots = table->mask + 1;

    while (slots < SLOTS_MOST && pages > (int64_t)room_of(slots) - table->count) {
        slots *= 2;
    }
    if (slots > table->mask + 1) {
        resize_table(table, slots);
    }
}

static void add_slab(tseed_page_table_t *table)
{
    tseed_page_entry_t **slabs = realloc(table->slabs, (table->slab_count + 1) * sizeof(*slabs));

    if (!slabs) {
        abort();
    }
    slabs[table->slab_count++] = tseed_memory_get(SLAB * sizeof(tseed_page_entry_t));
    table->slabs = slabs;
}

static uint32_t take(tseed_page_table_t *table)
{
    uint32_t number = table->free;

    if (number != TSEED_NO_PAGE) {
        table->free = (uint32_t)tseed_page_table_get(table, number)->x;
        return number;
    }
    if (table->end == table->slab_count * SLAB) {
        add_slab(table);
    }
    return table->end++;
}

uint32_t tseed_page_table_add(tseed_page_table_t *table, const tseed_page_key_t *key)
{
    uint32_t number;

    if (++table->count > room_of(table->mask + 1)) {
        resize_table(table, 2 * (table->mask + 1));
    }
    number = take(table);
    *tseed_page_table_get(table, number) = (tseed_page_entry_t){.x = key->page.x,
                                                                .y = key->page.y,
                                                                .z = (uint8_t)key->page.z,
                                                                .tileset = key->tileset,
                                                                .flags = TSEED_ENTRY_USED};
    put(table, key->print, number);
    return number;
}

/* ---- removing ---- */

/* Moves entries that their neighbours had pushed beyond the free slot back into it (Knuth, The Art
 * of Computer Programming 6.4, algorithm R). */
static void close_gap(tseed_page_table_t *table, uint32_t gap)
{
    for (uint32_t slot = (gap + 1) & table->mask; table->slots[slot];
         slot = (slot + 1) & table->mask) {
        uint32_t home = (uint32_t)print_at(table, slot) & table->mask;

        if (((slot - home) & table->mask) >= ((slot - gap) & table->mask)) {
            table->slots[gap] = table->slots[slot];
            table->slots[slot] = 0;
            gap = slot;
        }
    }
}

void tseed_page_table_remove(tseed_page_table_t *table, uint32_t number)
{
    tseed_page_entry_t *entry = tseed_page_table_get(table, number);
    uint32_t slot = (uint32_t)table->print_of(table->baton, entry) & table->mask;

    while (table->slots[slot] != number + 1) {
        slot = (slot + 1) & table->mask;
    }
    table->slots[slot] = 0;
    close_gap(table, slot);
    *entry = (tseed_page_entry_t){.x = table->free};
    table->free = number;
    table->count--;
}
