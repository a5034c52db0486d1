/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Marks: work that holds have found and that upkeep does. Holds note the work here and call nobody.
 * The modules of upkeep/ read the marks when they are fed. Main thread only. */
#ifndef TSEED_MARKS_H
#define TSEED_MARKS_H

#include <apr_tables.h>

#include "quota/tseed_book.h"

/* What must be counted before a job may write: a page, or the shared files of a tile set (z -1). */
typedef struct {
    tseed_book_tileset_t *booked;
    tseed_page_t page;
} tseed_count_mark_t;

typedef struct tseed_marks_t {
    apr_array_header_t *to_count; /* of tseed_count_mark_t: found in this turn */
    apr_array_header_t *to_purge; /* of const char *: store roots where a level was renamed away */
    unsigned shared_due; /* tile sets whose shared files are to be counted, and those to sweep */
    int is_recounting;   /* pages that were marked at the start are being counted: no tile is
                          * written before all of them are */
} tseed_marks_t;

/* Makes empty marks in `pool`, where all marks live. */
tseed_marks_t *tseed_marks_create(apr_pool_t *pool);

/* Notes that a page is to be counted. */
void tseed_marks_count_page(tseed_marks_t *marks, tseed_book_tileset_t *booked,
                            const tseed_page_t *page);

/* Notes that the shared files of a tile set are to be counted, by and by. */
void tseed_marks_doubt_shared(tseed_marks_t *marks, tseed_book_tileset_t *booked);

/* Notes that the shared files of a tile set are to be counted in this turn. */
void tseed_marks_count_shared(tseed_marks_t *marks, tseed_book_tileset_t *booked);

/* Notes that something was renamed away below a store root. The root must outlive the marks. */
void tseed_marks_purge(tseed_marks_t *marks, const char *root);

#endif
