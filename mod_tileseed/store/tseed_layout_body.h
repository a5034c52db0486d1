/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The body of a pattern. Private to the files of layouts.
 *
 *      tseed_layout.c        templates, patterns, and from tiles to names
 *      tseed_layout_read.c   from names to tiles
 *      tseed_layout_field.c  the numbers in names
 *
 * Any thread.
 */
#ifndef TSEED_LAYOUT_BODY_H
#define TSEED_LAYOUT_BODY_H

#include <apr_tables.h>

#include "store/tseed_layout.h"
#include "store/tseed_layout_field.h"

typedef struct {
    const tseed_field_t *field; /* NULL: text */
    const char *text;
    size_t length;
} tseed_part_t;

/* Lives in the pool of its compilation, immutable. */
struct tseed_pattern_t {
    const tseed_gridset_t *gridset;
    apr_array_header_t *parts; /* of tseed_part_t */
    apr_array_header_t *ends;  /* of int: component i is the parts before ends[i] */
    size_t longest;
};

/* The first part of a component; the parts of the component before it end there. */
static inline const tseed_part_t *tseed_layout_parts(const tseed_pattern_t *pattern, int depth)
{
    int first = depth > 0 ? APR_ARRAY_IDX(pattern->ends, depth - 1, int) : 0;

    return &APR_ARRAY_IDX(pattern->parts, first, tseed_part_t);
}

#endif
