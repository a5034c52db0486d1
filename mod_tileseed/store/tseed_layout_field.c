/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Fields of layouts: a table of them, and how each prints its number. */
#include "store/tseed_layout_field.h"

#include <math.h>
#include <string.h>

/* Names that begin with a dot are for the layouts below, not for administrators. */
static const tseed_field_t fields[] = {
    {"z", TSEED_AXIS_Z, 1, 0, TSEED_DECIMAL, 1},
    {"x", TSEED_AXIS_X, 1, 0, TSEED_DECIMAL, 1},
    {"y", TSEED_AXIS_TOP, 1, 0, TSEED_DECIMAL, 1},
    {"-y", TSEED_AXIS_BOTTOM, 1, 0, TSEED_DECIMAL, 1},
    {"quadkey", TSEED_AXIS_QUADKEY, 1, 0, TSEED_DECIMAL, 0},
    {".z", TSEED_AXIS_Z, 1, 0, TSEED_DECIMAL, 2},
    {".half-x", TSEED_AXIS_X, 0, 0, TSEED_GEOWEBCACHE, 1},
    {".half-y", TSEED_AXIS_BOTTOM, 0, 0, TSEED_GEOWEBCACHE, 1},
    {".x", TSEED_AXIS_X, 1, 0, TSEED_GEOWEBCACHE, 2},
    {".y", TSEED_AXIS_BOTTOM, 1, 0, TSEED_GEOWEBCACHE, 2},
    {".column", TSEED_AXIS_X, 1, 0, TSEED_HEXADECIMAL, 8},
    {".row", TSEED_AXIS_TOP, 1, 0, TSEED_HEXADECIMAL, 8},
    {".x-6", TSEED_AXIS_X, 1000000, 0, TSEED_DECIMAL, 3},
    {".x-3", TSEED_AXIS_X, 1000, 1000, TSEED_DECIMAL, 3},
    {".x-0", TSEED_AXIS_X, 1, 1000, TSEED_DECIMAL, 3},
    {".y-6", TSEED_AXIS_BOTTOM, 1000000, 0, TSEED_DECIMAL, 3},
    {".y-3", TSEED_AXIS_BOTTOM, 1000, 1000, TSEED_DECIMAL, 3},
    {".y-0", TSEED_AXIS_BOTTOM, 1, 1000, TSEED_DECIMAL, 3},
};

const tseed_field_t *tseed_field_find(const tseed_token_t *token)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (tseed_token_is(token, fields[i].name)) {
            return &fields[i];
        }
    }
    return NULL;
}

/* GeoWebCache's numbers (LAYOUTS: GeoWebCache, DefaultFilePathGenerator) */

static int64_t level_half(int z)
{
    return INT64_C(2) << (z / 2);
}

static int level_digits(int z)
{
    int digits = 1;

    for (int64_t limit = 10; level_half(z) > limit; limit *= 10) {
        digits++;
    }
    return digits;
}

/* GeoWebCache estimates how many digits a number has, and is one short right above 100, 1000 and so
 * on. Its files bear the surplus zero, so ours do. */
static int estimated_digits(int64_t value)
{
    if (value < 12) {
        return value < 10 ? 1 : 2;
    }
    return (int)ceil(log10((double)value) - 0.001);
}

/* Values and digits */

int64_t tseed_field_divisor(const tseed_field_t *field, int z)
{
    return field->divisor ? field->divisor : level_half(z);
}

int64_t tseed_field_turn_row(const tseed_gridset_t *gridset, int z, int64_t y)
{
    return gridset->rows[z] - 1 - y;
}

int64_t tseed_field_value(const tseed_field_t *field, const tseed_gridset_t *gridset, int z,
                          int64_t x, int64_t y)
{
    const int64_t coordinates[] = {[TSEED_AXIS_Z] = z,
                                   [TSEED_AXIS_X] = x,
                                   [TSEED_AXIS_BOTTOM] = y,
                                   [TSEED_AXIS_TOP] = tseed_field_turn_row(gridset, z, y)};
    int64_t value = coordinates[field->axis] / tseed_field_divisor(field, z);

    return field->modulus ? value % field->modulus : value;
}

/* With zeros in front up to the width. */
static size_t print_digits(char *out, int width, int64_t value, int base)
{
    int64_t rest = value / base;
    int count = 1;

    for (; rest > 0 || count < width; rest /= base) {
        count++;
    }
    for (int i = count - 1; i >= 0; i--, value /= base) {
        out[i] = "0123456789abcdef"[value % base];
    }
    out[count] = '\0';
    return (size_t)count;
}

size_t tseed_field_print(char *out, const tseed_field_t *field, int z, int64_t value)
{
    int zeros;

    if (field->style == TSEED_HEXADECIMAL) {
        return print_digits(out, field->width, value, 16);
    }
    if (field->style == TSEED_DECIMAL) {
        return print_digits(out, field->width, value, 10);
    }
    zeros = field->width * level_digits(z) - estimated_digits(value);
    zeros = zeros > 0 ? zeros : 0;
    memset(out, '0', (size_t)zeros);
    return (size_t)zeros + print_digits(out + zeros, 1, value, 10);
}

/* Bing's: a digit a level from the coarsest on, bit 0 the column's, bit 1 the row's from the top.
 */
size_t tseed_field_print_quadkey(char *out, int z, int64_t column, int64_t row)
{
    for (int level = 0; level < z; level++) {
        int bit = z - 1 - level;

        out[level] = (char)('0' + (column >> bit & 1) + 2 * (row >> bit & 1));
    }
    out[z] = '\0';
    return (size_t)z;
}
