/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Layouts: from names to tiles. */
#include <limits.h>
#include <string.h>

#include "store/tseed_layout_body.h"

static int digit_value(char c, int base)
{
    const char *digits = "0123456789abcdef";
    const char *found = c ? strchr(digits, c) : NULL;

    return found && found - digits < base ? (int)(found - digits) : -1;
}

/* Reads digits up to the first other character. 0: none there, or more than fit. */
static int read_number(int64_t *value, const char **at, int base)
{
    const char *start = *at;

    *value = 0;
    for (int digit; (digit = digit_value(**at, base)) >= 0; (*at)++) {
        if (*value > (INT64_MAX - digit) / base) {
            return 0;
        }
        *value = *value * base + digit;
    }
    return *at > start;
}

static void narrow_axis(int64_t *lowest, int64_t *highest, int64_t from, int64_t to)
{
    *lowest = from > *lowest ? from : *lowest;
    *highest = to < *highest ? to : *highest;
}

/* The coordinates that give `value`: one run of them, since the digits before a modulus are known.
 */
static void narrow_field(int64_t *lowest, int64_t *highest, const tseed_field_t *field, int z,
                         int64_t value)
{
    int64_t divisor = tseed_field_divisor(field, z);
    int64_t base = field->modulus ? *lowest - *lowest % (divisor * field->modulus) : 0;

    if (value > (INT64_MAX - base) / divisor - 1) {
        *highest = *lowest - 1;
        return;
    }
    narrow_axis(lowest, highest, base + value * divisor, base + (value + 1) * divisor - 1);
}

static int narrow_number(tseed_range_t *range, const tseed_pattern_t *pattern,
                         const tseed_field_t *field, const char **at)
{
    const char *start = *at;
    char printed[TSEED_FIELD_LONGEST + 1];
    int64_t value;

    if (!read_number(&value, at, field->style == TSEED_HEXADECIMAL ? 16 : 10)) {
        return 0;
    }
    if (tseed_field_print(printed, field, range->z, value) != (size_t)(*at - start)) {
        return 0; /* not as many zeros as the layout has: somebody else's file */
    }
    switch (field->axis) {
    case TSEED_AXIS_X:
        narrow_field(&range->minx, &range->maxx, field, range->z, value);
        break;
    case TSEED_AXIS_TOP:
        value = tseed_field_turn_row(pattern->gridset, range->z, value);
        narrow_axis(&range->miny, &range->maxy, value, value);
        break;
    case TSEED_AXIS_BOTTOM:
        narrow_field(&range->miny, &range->maxy, field, range->z, value);
        break;
    default:
        return value == range->z;
    }
    return 1;
}

static int narrow_quadkey(tseed_range_t *range, const tseed_pattern_t *pattern, const char **at)
{
    int64_t column = 0, row = 0;

    for (int level = 0; level < range->z; level++) {
        int digit = digit_value(**at, 4);

        if (digit < 0) {
            return 0;
        }
        column = column << 1 | (digit & 1);
        row = row << 1 | digit >> 1;
        (*at)++;
    }
    row = tseed_field_turn_row(pattern->gridset, range->z, row);
    narrow_axis(&range->minx, &range->maxx, column, column);
    narrow_axis(&range->miny, &range->maxy, row, row);
    return 1;
}

static int narrow_part(tseed_range_t *range, const tseed_pattern_t *pattern,
                       const tseed_part_t *part, const char **at)
{
    if (part->field) {
        return part->field->axis == TSEED_AXIS_QUADKEY
                   ? narrow_quadkey(range, pattern, at)
                   : narrow_number(range, pattern, part->field, at);
    }
    if (strncmp(*at, part->text, part->length) != 0) {
        return 0;
    }
    *at += part->length;
    return 1;
}

int tseed_layout_narrow(tseed_range_t *range, const tseed_pattern_t *pattern, int depth,
                        const char *name)
{
    const tseed_part_t *end = tseed_layout_parts(pattern, depth + 1);

    for (const tseed_part_t *part = tseed_layout_parts(pattern, depth); part < end; part++) {
        if (!narrow_part(range, pattern, part, &name)) {
            return 0;
        }
    }
    return !*name && range->minx <= range->maxx && range->miny <= range->maxy;
}

void tseed_layout_cell(int64_t *columns, int64_t *rows, const tseed_pattern_t *pattern, int depth,
                       int z)
{
    const tseed_part_t *end = tseed_layout_parts(pattern, depth + 1);

    *columns = *rows = INT64_MAX;
    for (const tseed_part_t *part = tseed_layout_parts(pattern, 0); part < end; part++) {
        if (part->field && part->field->axis != TSEED_AXIS_Z) {
            int64_t divisor = tseed_field_divisor(part->field, z);
            int both = part->field->axis == TSEED_AXIS_QUADKEY;

            if ((both || part->field->axis == TSEED_AXIS_X) && divisor < *columns) {
                *columns = divisor;
            }
            if ((both || part->field->axis != TSEED_AXIS_X) && divisor < *rows) {
                *rows = divisor;
            }
        }
    }
}

/* Narrows a whole level down to the tile of that path, component by component. */
static int narrow_path(tseed_range_t *range, const tseed_pattern_t *pattern, const char *path)
{
    char name[NAME_MAX + 1];
    int depths = tseed_layout_depth(pattern);

    for (int depth = 0; depth < depths; depth++) {
        size_t length = strcspn(path, "/");

        if (length > NAME_MAX || path[length] != (depth + 1 < depths ? '/' : '\0')) {
            return 0;
        }
        memcpy(name, path, length);
        name[length] = '\0';
        if (!tseed_layout_narrow(range, pattern, depth, name)) {
            return 0;
        }
        path += length + 1;
    }
    return 1;
}

/* The level may come late in a path, and all else depends on it: levels are few enough to try each.
 */
int tseed_layout_tile(int *z, int64_t *x, int64_t *y, const tseed_pattern_t *pattern,
                      const char *path)
{
    for (int level = 0; level < pattern->gridset->levels; level++) {
        tseed_range_t range = tseed_layout_level(pattern, level);

        if (narrow_path(&range, pattern, path)) {
            *z = level;
            *x = range.minx;
            *y = range.miny;
            return 1;
        }
    }
    return 0;
}
