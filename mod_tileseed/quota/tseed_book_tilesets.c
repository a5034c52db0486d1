/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The book: questions about its tile sets, and what is changed in many of them at once. */
#include <string.h>

#include "quota/tseed_book_body.h"

unsigned tseed_book_tilesets(const tseed_book_t *book)
{
    return (unsigned)(book->tilesets->nelts - book->spare->nelts);
}

/* ---- which are next ---- */

typedef int choice_t(const tseed_book_tileset_t *booked, const char *root);

static tseed_book_tileset_t *next(const tseed_book_t *book, unsigned *number, choice_t *is_chosen,
                                  const char *root)
{
    for (; *number < (unsigned)book->tilesets->nelts; (*number)++) {
        tseed_book_tileset_t *booked =
            APR_ARRAY_IDX(book->tilesets, *number, tseed_book_tileset_t *);

        if (booked && is_chosen(booked, root)) {
            return booked;
        }
    }
    return NULL;
}

static int is_any(const tseed_book_tileset_t *booked, const char *root)
{
    (void)booked;
    (void)root;
    return 1;
}

static int is_incomplete(const tseed_book_tileset_t *booked, const char *root)
{
    (void)root;
    return !booked->record.complete;
}

static int is_unloaded(const tseed_book_tileset_t *booked, const char *root)
{
    (void)root;
    return !booked->loaded;
}

static int has_changed(const tseed_book_tileset_t *booked, const char *root)
{
    (void)root;
    return booked->changed;
}

static int is_due(const tseed_book_tileset_t *booked, const char *root)
{
    (void)root;
    return booked->shared_due || booked->sweep_due;
}

static int is_detached(const tseed_book_tileset_t *booked, const char *root)
{
    return (booked->record.detached.names > 0 || booked->record.detached.files > 0) &&
           strcmp(booked->record.root, root) == 0;
}

static int is_shared(const tseed_book_tileset_t *booked, const char *root)
{
    return booked->record.shared.files > 0 && strcmp(booked->record.root, root) == 0;
}

static int is_unknown(const tseed_book_tileset_t *booked, const char *root)
{
    (void)root;
    return !booked->record.complete && !booked->unread;
}

tseed_book_tileset_t *tseed_book_next(const tseed_book_t *book, unsigned *number)
{
    return next(book, number, is_any, NULL);
}

tseed_book_tileset_t *tseed_book_next_incomplete(const tseed_book_t *book, unsigned *number)
{
    return next(book, number, is_incomplete, NULL);
}

tseed_book_tileset_t *tseed_book_next_unloaded(const tseed_book_t *book, unsigned *number)
{
    return next(book, number, is_unloaded, NULL);
}

tseed_book_tileset_t *tseed_book_next_changed(const tseed_book_t *book, unsigned *number)
{
    return next(book, number, has_changed, NULL);
}

tseed_book_tileset_t *tseed_book_next_due(const tseed_book_t *book, unsigned *number)
{
    return next(book, number, is_due, NULL);
}

tseed_book_tileset_t *tseed_book_next_detached(const tseed_book_t *book, unsigned *number,
                                               const char *root)
{
    return next(book, number, is_detached, root);
}

/* ---- all of them ---- */

int tseed_book_is_known(const tseed_book_t *book)
{
    unsigned number = 0;

    return book->incomplete == 0 || !next(book, &number, is_unknown, NULL);
}

void tseed_book_spare_none(tseed_book_t *book)
{
    tseed_book_tileset_t *booked;

    for (unsigned i = 0; (booked = tseed_book_next(book, &i)) != NULL; i++) {
        booked->spared = 0;
    }
}

unsigned tseed_book_make_shared_due(tseed_book_t *book)
{
    tseed_book_tileset_t *booked;
    unsigned due = 0;

    for (unsigned i = 0; (booked = tseed_book_next(book, &i)) != NULL; i++) {
        booked->shared_due = booked->record.shared.files > 0 || booked->in_doubt > 0;
        due += booked->shared_due != 0;
    }
    return due;
}

/* ---- a store root ---- */

tseed_book_tileset_t *tseed_book_only_detached(const tseed_book_t *book, const char *root)
{
    unsigned number = 0;
    tseed_book_tileset_t *booked = tseed_book_next_detached(book, &number, root);

    number++;
    return booked && !tseed_book_next_detached(book, &number, root) ? booked : NULL;
}

void tseed_book_purge_root(tseed_book_t *book, const char *root)
{
    tseed_book_tileset_t *booked;

    for (unsigned i = 0; (booked = tseed_book_next_detached(book, &i, root)) != NULL; i++) {
        tseed_book_purge(book, booked, NULL);
    }
}

unsigned tseed_book_sweep_root(tseed_book_t *book, const char *root)
{
    tseed_book_tileset_t *booked;
    unsigned due = 0;

    for (unsigned i = 0; (booked = next(book, &i, is_shared, root)) != NULL; i++) {
        due += !booked->sweep_due;
        booked->sweep_due = 1;
    }
    return due;
}
