/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The book: marks, and what the database must be told. */
#include "quota/tseed_book_body.h"

/* ---- holds ---- */

static unsigned hindrance(const tseed_cell_t *cell)
{
    return (cell->flags & TSEED_CELL_MARKED ? 0 : TSEED_PAGE_UNMARKED) |
           (cell->flags & TSEED_CELL_IN_DOUBT ? TSEED_PAGE_IN_DOUBT : 0);
}

static void want_mark(tseed_book_t *book, uint32_t number)
{
    tseed_cell_t *cell = tseed_cells_get(&book->cells, number);

    tseed_book_note(book, number);
    if (!(cell->flags & TSEED_CELL_WANTED)) {
        cell->flags |= TSEED_CELL_WANTED;
        book->wanted++;
    }
}

unsigned tseed_book_hold(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    uint32_t number = tseed_book_cell_get(book, booked, page);
    tseed_cell_t *cell = tseed_cells_get(&book->cells, number);

    cell->holds++;
    cell->flags |= TSEED_CELL_LINGERS;
    if (!(cell->flags & TSEED_CELL_MARKED)) {
        want_mark(book, number);
        booked->changed = 1;
    }
    return hindrance(cell);
}

unsigned tseed_book_ask(const tseed_book_t *book, const tseed_book_tileset_t *booked,
                        const tseed_page_t *page)
{
    return hindrance(tseed_cells_get(&book->cells, tseed_book_cell(book, booked, page)));
}

static int is_empty(const tseed_book_t *book, const tseed_cell_t *cell)
{
    return cell->names == 0 && cell->holds == 0 && !(cell->flags & TSEED_CELL_IN_DOUBT) &&
           !(cell->flags & TSEED_CELL_LINGERS && tseed_book_tileset_of(book, cell)->keeps_empty);
}

void tseed_book_drop(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    uint32_t number = tseed_book_cell(book, booked, page);
    tseed_cell_t *cell = tseed_cells_get(&book->cells, number);

    cell->holds--;
    cell->flags |= TSEED_CELL_RECENT;
    if (is_empty(book, cell)) {
        tseed_book_note(book, number);
    }
}

void tseed_book_pin(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    book->pinned += tseed_cells_get(&book->cells, tseed_book_cell(book, booked, page))->pins++ == 0;
}

void tseed_book_unpin(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    book->pinned -= --tseed_cells_get(&book->cells, tseed_book_cell(book, booked, page))->pins == 0;
}

int tseed_book_has_pins(const tseed_book_t *book)
{
    return book->pinned > 0;
}

int tseed_book_sweep(tseed_book_t *book)
{
    int lingers = 0;

    for (uint32_t i = 0; i < book->cells.end; i++) {
        tseed_cell_t *cell = tseed_cells_get(&book->cells, i);

        if (!(cell->flags & TSEED_CELL_LINGERS)) {
            continue;
        }
        lingers = 1;
        if (cell->holds > 0 || tseed_book_tileset_of(book, cell)->is_unsafe) {
            continue;
        }
        if (!(cell->flags & TSEED_CELL_RECENT)) {
            cell->flags &= (uint8_t)~TSEED_CELL_LINGERS;
            tseed_book_note(book, i);
        }
        cell->flags &= (uint8_t)~TSEED_CELL_RECENT;
    }
    return lingers;
}

/* ---- saving ---- */

/* Held pages linger, too. */
static int is_dirty(const tseed_cell_t *cell)
{
    return (cell->flags & (TSEED_CELL_LINGERS | TSEED_CELL_IN_DOUBT)) != 0;
}

static int is_asked_for(const tseed_cell_t *cell, tseed_save_t save)
{
    return save == TSEED_SAVE_ALL || cell->flags & TSEED_CELL_WANTED;
}

size_t tseed_book_changes(const tseed_book_t *book, tseed_save_t save)
{
    return save == TSEED_SAVE_ALL ? book->changed_count : book->wanted;
}

static tseed_page_record_t record_of(const tseed_book_t *book, const tseed_cell_t *cell)
{
    return (tseed_page_record_t){.tileset = tseed_book_tileset_of(book, cell)->record.id,
                                 .page = {cell->z, cell->x, cell->y},
                                 .usage = tseed_cell_usage(cell),
                                 .accessed = cell->accessed,
                                 .heat = cell->heat,
                                 .dirty = is_dirty(cell)};
}

int tseed_book_change(const tseed_book_t *book, tseed_page_record_t *record, int *gone,
                      tseed_save_t save, size_t *cursor)
{
    while (*cursor < book->changed_count) {
        const tseed_cell_t *cell = tseed_cells_get(&book->cells, book->changed[(*cursor)++]);

        if (is_asked_for(cell, save)) {
            *record = record_of(book, cell);
            *gone = is_empty(book, cell);
            return 1;
        }
    }
    return 0;
}

static void settle(tseed_book_t *book, uint32_t number)
{
    tseed_cell_t *cell = tseed_cells_get(&book->cells, number);

    book->wanted -= (cell->flags & TSEED_CELL_WANTED) != 0;
    if (is_empty(book, cell)) {
        tseed_ghosts_put(&book->ghosts, book->cells.print_of(book, cell), cell->heat);
        tseed_cells_remove(&book->cells, number);
        return;
    }
    cell->flags &= (uint8_t) ~(TSEED_CELL_CHANGED | TSEED_CELL_WANTED | TSEED_CELL_MARKED);
    cell->flags |= is_dirty(cell) ? TSEED_CELL_MARKED : 0;
}

void tseed_book_saved(tseed_book_t *book, tseed_save_t save)
{
    size_t left = 0;
    tseed_book_tileset_t *booked;

    for (size_t i = 0; i < book->changed_count; i++) {
        uint32_t number = book->changed[i];

        if (is_asked_for(tseed_cells_get(&book->cells, number), save)) {
            settle(book, number);
        } else {
            book->changed[left++] = number;
        }
    }
    book->changed_count = left;
    for (unsigned i = 0; (booked = tseed_book_tileset(book, i)) != NULL; i++) {
        booked->marked = booked->changed ? booked->record.doubtful : booked->marked;
        booked->changed = booked->recipe_changed = 0;
    }
}

void tseed_book_resave(tseed_book_t *book)
{
    tseed_book_tileset_t *booked;

    for (uint32_t i = 0; i < book->cells.end; i++) {
        tseed_cell_t *cell = tseed_cells_get(&book->cells, i);

        if (cell->flags & TSEED_CELL_USED) {
            cell->flags &= (uint8_t)~TSEED_CELL_MARKED;
            tseed_book_note(book, i);
            if (cell->holds > 0) {
                want_mark(book, i);
            }
        }
    }
    for (unsigned i = 0; (booked = tseed_book_tileset(book, i)) != NULL; i++) {
        booked->marked = 0;
        booked->changed = 1;
    }
}
