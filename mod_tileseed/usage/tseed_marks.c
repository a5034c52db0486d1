/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Marks of work that upkeep does. */
#include "usage/tseed_marks.h"

tseed_marks_t *tseed_marks_create(apr_pool_t *pool)
{
    tseed_marks_t *marks = apr_pcalloc(pool, sizeof(*marks));

    marks->to_count = apr_array_make(pool, 16, sizeof(tseed_count_mark_t));
    marks->to_purge = apr_array_make(pool, 4, sizeof(const char *));
    return marks;
}

void tseed_marks_count_page(tseed_marks_t *marks, tseed_book_tileset_t *booked,
                            const tseed_page_t *page)
{
    APR_ARRAY_PUSH(marks->to_count, tseed_count_mark_t) = (tseed_count_mark_t){booked, *page};
}

void tseed_marks_doubt_shared(tseed_marks_t *marks, tseed_book_tileset_t *booked)
{
    marks->shared_due += !booked->shared_due;
    booked->shared_due = 1;
}

void tseed_marks_count_shared(tseed_marks_t *marks, tseed_book_tileset_t *booked)
{
    tseed_marks_doubt_shared(marks, booked);
    tseed_marks_count_page(marks, booked, &(tseed_page_t){.z = -1});
}

void tseed_marks_purge(tseed_marks_t *marks, const char *root)
{
    APR_ARRAY_PUSH(marks->to_purge, const char *) = root;
}
