/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The book: marks, and what the database must be told. */
#include "quota/tseed_book_body.h"

/* ---- holds ---- */

static unsigned reasons_to_wait(const tseed_page_entry_t *entry)
{
    return (entry->flags & TSEED_ENTRY_MARKED ? 0 : TSEED_PAGE_UNMARKED) |
           (entry->flags & TSEED_ENTRY_IN_DOUBT ? TSEED_PAGE_IN_DOUBT : 0);
}

static void want_mark(tseed_book_t *book, uint32_t number)
{
    tseed_page_entry_t *entry = tseed_page_table_get(&book->table, number);

    tseed_book_note(book, number);
    if (!(entry->flags & TSEED_ENTRY_WANTED)) {
        entry->flags |= TSEED_ENTRY_WANTED;
        book->wanted++;
    }
}

unsigned tseed_book_hold(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    uint32_t number = tseed_book_entry_get(book, booked, page);
    tseed_page_entry_t *entry = tseed_page_table_get(&book->table, number);

    entry->holds++;
    entry->flags |= TSEED_ENTRY_LINGERS;
    if (!(entry->flags & TSEED_ENTRY_MARKED)) {
        want_mark(book, number);
        booked->changed = 1;
    }
    return reasons_to_wait(entry);
}

unsigned tseed_book_ask(const tseed_book_t *book, const tseed_book_tileset_t *booked,
                        const tseed_page_t *page)
{
    return reasons_to_wait(
        tseed_page_table_get(&book->table, tseed_book_entry(book, booked, page)));
}

/* Tiles that were removed may come back when the machine dies, before the file system has written
 * that they are gone. */
static int may_come_back(const tseed_book_t *book, const tseed_page_entry_t *entry)
{
    const unsigned both = TSEED_ENTRY_LINGERS | TSEED_ENTRY_TOUCHED;

    return (entry->flags & both) == both && tseed_book_tileset_of(book, entry)->keeps_empty;
}

static int is_empty(const tseed_book_t *book, const tseed_page_entry_t *entry)
{
    return entry->names == 0 && entry->holds == 0 && !(entry->flags & TSEED_ENTRY_IN_DOUBT) &&
           !may_come_back(book, entry);
}

void tseed_book_drop(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    uint32_t number = tseed_book_entry(book, booked, page);
    tseed_page_entry_t *entry = tseed_page_table_get(&book->table, number);

    entry->holds--;
    entry->flags |= TSEED_ENTRY_RECENT;
    if (is_empty(book, entry)) {
        tseed_book_note(book, number);
    }
}

void tseed_book_pin(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    book->pinned +=
        tseed_page_table_get(&book->table, tseed_book_entry(book, booked, page))->pins++ == 0;
}

void tseed_book_unpin(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page)
{
    book->pinned -=
        --tseed_page_table_get(&book->table, tseed_book_entry(book, booked, page))->pins == 0;
}

int tseed_book_has_pins(const tseed_book_t *book)
{
    return book->pinned > 0;
}

int tseed_book_sweep(tseed_book_t *book)
{
    int lingers = 0;

    for (uint32_t i = 0; i < book->table.end; i++) {
        tseed_page_entry_t *entry = tseed_page_table_get(&book->table, i);

        if (!(entry->flags & TSEED_ENTRY_LINGERS)) {
            continue;
        }
        lingers = 1;
        if (entry->holds > 0 || tseed_book_tileset_of(book, entry)->is_unsafe) {
            continue;
        }
        if (!(entry->flags & TSEED_ENTRY_RECENT)) {
            entry->flags &= (uint8_t)~TSEED_ENTRY_LINGERS;
            tseed_book_note(book, i);
        }
        entry->flags &= (uint8_t)~TSEED_ENTRY_RECENT;
    }
    return lingers;
}

/* ---- saving ---- */

/* Held pages linger, too. */
static int is_dirty(const tseed_page_entry_t *entry)
{
    return (entry->flags & (TSEED_ENTRY_LINGERS | TSEED_ENTRY_IN_DOUBT)) != 0;
}

static int is_asked_for(const tseed_page_entry_t *entry, tseed_save_t save)
{
    return save == TSEED_SAVE_ALL || entry->flags & TSEED_ENTRY_WANTED;
}

size_t tseed_book_changes(const tseed_book_t *book, tseed_save_t save)
{
    return save == TSEED_SAVE_ALL ? book->changed_count : book->wanted;
}

static tseed_page_record_t record_of(const tseed_book_t *book, const tseed_page_entry_t *entry)
{
    return (tseed_page_record_t){.tileset = tseed_book_tileset_of(book, entry)->record.id,
                                 .page = {entry->z, entry->x, entry->y},
                                 .usage = tseed_entry_usage(entry),
                                 .accessed = entry->accessed,
                                 .heat = entry->heat,
                                 .written = entry->written,
                                 .dirty = is_dirty(entry)};
}

int tseed_book_change(const tseed_book_t *book, tseed_page_record_t *record, int *gone,
                      tseed_save_t save, size_t *cursor)
{
    while (*cursor < book->changed_count) {
        const tseed_page_entry_t *entry =
            tseed_page_table_get(&book->table, book->changed[(*cursor)++]);

        if (is_asked_for(entry, save)) {
            *record = record_of(book, entry);
            *gone = is_empty(book, entry);
            return 1;
        }
    }
    return 0;
}

static void settle(tseed_book_t *book, uint32_t number)
{
    tseed_page_entry_t *entry = tseed_page_table_get(&book->table, number);

    book->wanted -= (entry->flags & TSEED_ENTRY_WANTED) != 0;
    if (is_empty(book, entry)) {
        tseed_ghosts_put(&book->ghosts, book->table.print_of(book, entry), entry->heat);
        tseed_book_tileset_of(book, entry)->entries--;
        tseed_page_table_remove(&book->table, number);
        return;
    }
    entry->flags &= (uint8_t) ~(TSEED_ENTRY_CHANGED | TSEED_ENTRY_WANTED | TSEED_ENTRY_MARKED);
    entry->flags |= is_dirty(entry) ? TSEED_ENTRY_MARKED : 0;
}

void tseed_book_saved(tseed_book_t *book, tseed_save_t save)
{
    size_t left = 0;
    tseed_book_tileset_t *booked;

    for (size_t i = 0; i < book->changed_count; i++) {
        uint32_t number = book->changed[i];

        if (is_asked_for(tseed_page_table_get(&book->table, number), save)) {
            settle(book, number);
        } else {
            book->changed[left++] = number;
        }
    }
    book->changed_count = left;
    for (unsigned i = 0; (booked = tseed_book_next(book, &i)) != NULL; i++) {
        booked->marked = booked->changed ? booked->record.doubtful : booked->marked;
        booked->changed = booked->recipe_changed = 0;
    }
}

void tseed_book_resave(tseed_book_t *book)
{
    tseed_book_tileset_t *booked;

    for (uint32_t i = 0; i < book->table.end; i++) {
        tseed_page_entry_t *entry = tseed_page_table_get(&book->table, i);

        if (entry->flags & TSEED_ENTRY_USED) {
            entry->flags &= (uint8_t)~TSEED_ENTRY_MARKED;
            tseed_book_note(book, i);
            if (entry->holds > 0) {
                want_mark(book, i);
            }
        }
    }
    for (unsigned i = 0; (booked = tseed_book_next(book, &i)) != NULL; i++) {
        booked->marked = 0;
        booked->changed = 1;
    }
}
