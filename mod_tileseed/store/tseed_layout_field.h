/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fields of layouts: the numbers in a tile's path. Private to the files of layouts.
 *
 * Pure functions; any thread.
 */
#ifndef TSEED_LAYOUT_FIELD_H
#define TSEED_LAYOUT_FIELD_H

#include "store/tseed_template.h"
#include "tiling/tseed_range.h"

/* Upper bound of what a field prints: quadkeys have a digit a level. */
#define TSEED_FIELD_LONGEST TSEED_LEVELS_MAX

typedef enum {
    TSEED_AXIS_Z,
    TSEED_AXIS_X,
    TSEED_AXIS_BOTTOM,
    TSEED_AXIS_TOP,
    TSEED_AXIS_QUADKEY
} tseed_axis_t;

typedef enum { TSEED_DECIMAL, TSEED_HEXADECIMAL, TSEED_GEOWEBCACHE } tseed_style_t;

/* Prints coordinate / divisor % modulus. Where rows are counted from the top the divisor is 1. */
typedef struct {
    const char *name;
    tseed_axis_t axis;
    int64_t divisor; /* 0: GeoWebCache's half of the level */
    int64_t modulus; /* 0: none; else an earlier field of the path prints the higher digits */
    tseed_style_t style;
    int width; /* least digits; in GeoWebCache's style multiples of its digits of the level */
} tseed_field_t;

/* The field of that name; NULL: the placeholder is no field. Static storage. */
const tseed_field_t *tseed_field_find(const tseed_token_t *token);

/* How many neighbours of a coordinate the field prints alike, at a level. */
int64_t tseed_field_divisor(const tseed_field_t *field, int z);

/* The number that a field prints of a tile; `y` from the bottom. Not of a quadkey. */
int64_t tseed_field_value(const tseed_field_t *field, const tseed_gridset_t *gridset, int z,
                          int64_t x, int64_t y);

/* Writes such a number as the field does, at most TSEED_FIELD_LONGEST digits and a NUL. Returns the
 * length without the NUL. */
size_t tseed_field_print(char *out, const tseed_field_t *field, int z, int64_t value);

/* Writes a tile's quadkey, likewise; `row` from the top. */
size_t tseed_field_print_quadkey(char *out, int z, int64_t column, int64_t row);

/* Turns a row over: from the bottom to from the top, or back. */
int64_t tseed_field_turn_row(const tseed_gridset_t *gridset, int z, int64_t y);

#endif
