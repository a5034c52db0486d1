/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Cells. Prints are computed again where they are needed: that costs less than to keep them. */
#include "quota/tseed_cells.h"

#include <assert.h>

#include "base/tseed_memory.h"

#define SLAB         1024u
#define PLACES_FIRST 1024u
#define SLOTS_MOST   (UINT32_C(1) << 26) /* that are reserved: of 256 MB, used only as they fill */

static_assert(sizeof(tseed_cell_t) == 56, "what a page costs is promised");

void tseed_cells_init(tseed_cells_t *cells,
                      uint64_t (*print_of)(const void *baton, const tseed_cell_t *cell),
                      const void *baton)
{
    *cells = (tseed_cells_t){.free = TSEED_NO_CELL,
                             .table = tseed_memory_get(PLACES_FIRST * sizeof(*cells->table)),
                             .mask = PLACES_FIRST - 1,
                             .print_of = print_of,
                             .baton = baton};
}

void tseed_cells_destroy(tseed_cells_t *cells)
{
    for (uint32_t i = 0; i < cells->slab_count; i++) {
        free(cells->slabs[i]);
    }
    free(cells->slabs);
    free(cells->table);
}

tseed_cell_t *tseed_cells_get(const tseed_cells_t *cells, uint32_t number)
{
    return &cells->slabs[number / SLAB][number % SLAB];
}

static uint64_t print_at(const tseed_cells_t *cells, uint32_t slot)
{
    return cells->print_of(cells->baton, tseed_cells_get(cells, cells->table[slot] - 1));
}

/* ---- finding ---- */

static int is_page(const tseed_cell_t *cell, const tseed_cell_key_t *key)
{
    return cell->x == key->page.x && cell->y == key->page.y && cell->z == key->page.z &&
           cell->tileset == key->tileset;
}

uint32_t tseed_cells_find(const tseed_cells_t *cells, const tseed_cell_key_t *key)
{
    uint32_t slot = (uint32_t)key->print & cells->mask;

    for (; cells->table[slot]; slot = (slot + 1) & cells->mask) {
        if (is_page(tseed_cells_get(cells, cells->table[slot] - 1), key)) {
            return cells->table[slot] - 1;
        }
    }
    return TSEED_NO_CELL;
}

uint32_t tseed_cells_find_print(const tseed_cells_t *cells, uint64_t print)
{
    uint32_t slot = (uint32_t)print & cells->mask;

    for (; cells->table[slot]; slot = (slot + 1) & cells->mask) {
        if (print_at(cells, slot) == print) {
            return cells->table[slot] - 1;
        }
    }
    return TSEED_NO_CELL;
}

/* ---- adding ---- */

static void put(tseed_cells_t *cells, uint64_t print, uint32_t number)
{
    uint32_t slot = (uint32_t)print & cells->mask;

    while (cells->table[slot]) {
        slot = (slot + 1) & cells->mask;
    }
    cells->table[slot] = number + 1;
}

/* How many pages a table takes before it grows. */
static uint32_t room_of(uint32_t slots)
{
    return (slots - 1) / 4 * 3;
}

static void resize_table(tseed_cells_t *cells, uint32_t slots)
{
    free(cells->table);
    cells->table = tseed_memory_get(slots * sizeof(*cells->table));
    cells->mask = slots - 1;
    for (uint32_t i = 0; i < cells->end; i++) {
        const tseed_cell_t *cell = tseed_cells_get(cells, i);

        if (cell->flags & TSEED_CELL_USED) {
            put(cells, cells->print_of(cells->baton, cell), i);
        }
    }
}

void tseed_cells_reserve(tseed_cells_t *cells, int64_t pages)
{
    uint32_t slots = cells->mask + 1;

    while (slots < SLOTS_MOST && pages > (int64_t)room_of(slots) - cells->count) {
        slots *= 2;
    }
    if (slots > cells->mask + 1) {
        resize_table(cells, slots);
    }
}

static void add_slab(tseed_cells_t *cells)
{
    tseed_cell_t **slabs = realloc(cells->slabs, (cells->slab_count + 1) * sizeof(*slabs));

    if (!slabs) {
        abort();
    }
    slabs[cells->slab_count++] = tseed_memory_get(SLAB * sizeof(tseed_cell_t));
    cells->slabs = slabs;
}

static uint32_t take(tseed_cells_t *cells)
{
    uint32_t number = cells->free;

    if (number != TSEED_NO_CELL) {
        cells->free = (uint32_t)tseed_cells_get(cells, number)->x;
        return number;
    }
    if (cells->end == cells->slab_count * SLAB) {
        add_slab(cells);
    }
    return cells->end++;
}

uint32_t tseed_cells_add(tseed_cells_t *cells, const tseed_cell_key_t *key)
{
    uint32_t number;

    if (++cells->count > room_of(cells->mask + 1)) {
        resize_table(cells, 2 * (cells->mask + 1));
    }
    number = take(cells);
    *tseed_cells_get(cells, number) = (tseed_cell_t){.x = key->page.x,
                                                     .y = key->page.y,
                                                     .z = (uint8_t)key->page.z,
                                                     .tileset = key->tileset,
                                                     .flags = TSEED_CELL_USED};
    put(cells, key->print, number);
    return number;
}

/* ---- removing ---- */

/* Whoever was pushed on over the free slot by its neighbours moves back into it (Knuth, The Art of
 * Computer Programming 6.4, algorithm R). */
static void close_gap(tseed_cells_t *cells, uint32_t gap)
{
    for (uint32_t slot = (gap + 1) & cells->mask; cells->table[slot];
         slot = (slot + 1) & cells->mask) {
        uint32_t home = (uint32_t)print_at(cells, slot) & cells->mask;

        if (((slot - home) & cells->mask) >= ((slot - gap) & cells->mask)) {
            cells->table[gap] = cells->table[slot];
            cells->table[slot] = 0;
            gap = slot;
        }
    }
}

void tseed_cells_remove(tseed_cells_t *cells, uint32_t number)
{
    tseed_cell_t *cell = tseed_cells_get(cells, number);
    uint32_t slot = (uint32_t)cells->print_of(cells->baton, cell) & cells->mask;

    while (cells->table[slot] != number + 1) {
        slot = (slot + 1) & cells->mask;
    }
    cells->table[slot] = 0;
    close_gap(cells, slot);
    *cell = (tseed_cell_t){.x = cells->free};
    cells->free = number;
    cells->count--;
}
