/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Layouts: one printer and one reader over a table of fields, for every layout there is. */
#include "store/tseed_layout.h"

#include <apr_strings.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "store/tseed_template.h"

/* Upper bound of what a field prints: quadkeys have a digit a level. */
#define FIELD_LONGEST TSEED_LEVELS_MAX

typedef enum { AXIS_Z, AXIS_X, AXIS_BOTTOM, AXIS_TOP, AXIS_QUADKEY } axis_t;

typedef enum { DECIMAL, HEXADECIMAL, GEOWEBCACHE } style_t;

/* Prints coordinate / divisor % modulus. Where rows are counted from the top the divisor is 1. */
typedef struct {
    const char *name;
    axis_t axis;
    int64_t divisor; /* 0: GeoWebCache's half of the level */
    int64_t modulus; /* 0: none; else a field above has told the digits before */
    style_t style;
    int width; /* least digits; in GeoWebCache's style multiples of its digits of the level */
} field_t;

/* Names that begin with a dot are for the layouts below, not for administrators. */
static const field_t fields[] = {
    {"z", AXIS_Z, 1, 0, DECIMAL, 1},
    {"x", AXIS_X, 1, 0, DECIMAL, 1},
    {"y", AXIS_TOP, 1, 0, DECIMAL, 1},
    {"-y", AXIS_BOTTOM, 1, 0, DECIMAL, 1},
    {"quadkey", AXIS_QUADKEY, 1, 0, DECIMAL, 0},
    {".z", AXIS_Z, 1, 0, DECIMAL, 2},
    {".half-x", AXIS_X, 0, 0, GEOWEBCACHE, 1},
    {".half-y", AXIS_BOTTOM, 0, 0, GEOWEBCACHE, 1},
    {".x", AXIS_X, 1, 0, GEOWEBCACHE, 2},
    {".y", AXIS_BOTTOM, 1, 0, GEOWEBCACHE, 2},
    {".column", AXIS_X, 1, 0, HEXADECIMAL, 8},
    {".row", AXIS_TOP, 1, 0, HEXADECIMAL, 8},
    {".x-6", AXIS_X, 1000000, 0, DECIMAL, 3},
    {".x-3", AXIS_X, 1000, 1000, DECIMAL, 3},
    {".x-0", AXIS_X, 1, 1000, DECIMAL, 3},
    {".y-6", AXIS_BOTTOM, 1000000, 0, DECIMAL, 3},
    {".y-3", AXIS_BOTTOM, 1000, 1000, DECIMAL, 3},
    {".y-0", AXIS_BOTTOM, 1, 1000, DECIMAL, 3},
};

/* {.hash} is "_" and the hash, or nothing. */
static const char *const templates[] = {
    [TSEED_LAYOUT_GEOWEBCACHE] =
        "{layer}/{gridset}_{.z}{.hash}/{.half-x}_{.half-y}/{.x}_{.y}.{ext}",
    [TSEED_LAYOUT_XYZ] = "{layer}/{gridset}{.hash}/{z}/{x}/{y}.{ext}",
    [TSEED_LAYOUT_TMS] = "{layer}/{gridset}{.hash}/{z}/{x}/{-y}.{ext}",
    [TSEED_LAYOUT_ARCGIS] = "{layer}/{gridset}{.hash}/L{.z}/R{.row}/C{.column}.{ext}",
    [TSEED_LAYOUT_QUADKEY] = "{layer}/{gridset}{.hash}/{quadkey}.{ext}",
    [TSEED_LAYOUT_TILECACHE] =
        "{layer}/{gridset}{.hash}/{.z}/{.x-6}/{.x-3}/{.x-0}/{.y-6}/{.y-3}/{.y-0}.{ext}",
};

typedef struct {
    const field_t *field; /* NULL: text */
    const char *text;
    size_t length;
} part_t;

/* Lives in the pool of its compilation, immutable. */
struct tseed_pattern_t {
    const tseed_gridset_t *gridset;
    apr_array_header_t *parts; /* of part_t */
    apr_array_header_t *ends;  /* of int: component i is the parts before ends[i] */
    size_t longest;
};

/* Names */

static const char *safe_name(const char *name, apr_pool_t *pool)
{
    char *safe = apr_palloc(pool, 3 * strlen(name) + 1);
    char *out = safe;

    for (const char *in = name; *in; in++) {
        if (*in == '/' || (*in == '.' && in == name)) {
            memcpy(out, *in == '/' ? "%2F" : "%2E", 3);
            out += 3;
        } else {
            *out++ = *in == ':' || *in == ' ' ? '_' : *in;
        }
    }
    *out = '\0';
    return safe;
}

static const char *resolve(const tseed_token_t *token, const tseed_tileset_t *tileset,
                           apr_pool_t *pool)
{
    if (tseed_token_is(token, "layer")) {
        return safe_name(tileset->layer->name, pool);
    }
    if (tseed_token_is(token, "gridset")) {
        return safe_name(tileset->subset->gridset->name, pool);
    }
    if (tseed_token_is(token, "ext")) {
        return safe_name(tileset->format->extension, pool);
    }
    if (tseed_token_is(token, "hash")) {
        return tileset->hash ? tileset->hash : "default";
    }
    return tileset->hash ? apr_pstrcat(pool, "_", tileset->hash, NULL) : "";
}

const char *tseed_layout_links(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    return apr_pstrcat(pool, TSEED_HIDDEN "/links/", safe_name(tileset->layer->name, pool), "/",
                       safe_name(tileset->subset->gridset->name, pool), tileset->hash ? "_" : "",
                       tileset->hash ? tileset->hash : "", "/",
                       safe_name(tileset->format->extension, pool), NULL);
}

static const field_t *find_field(const tseed_token_t *token)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (tseed_token_is(token, fields[i].name)) {
            return &fields[i];
        }
    }
    return NULL;
}

static part_t part_of(const tseed_token_t *token, const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    part_t part = {NULL, token->text, token->length};

    if (token->kind == TSEED_TOKEN_PLACEHOLDER) {
        part.field = find_field(token);
        part.text = part.field ? "" : resolve(token, tileset, pool);
        part.length = strlen(part.text);
    }
    return part;
}

tseed_pattern_t *tseed_layout_compile(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    const tseed_store_config_t *config = &tileset->layer->store;
    const char *at =
        config->layout == TSEED_LAYOUT_TEMPLATE ? config->path_template : templates[config->layout];
    tseed_pattern_t *pattern = apr_pcalloc(pool, sizeof(*pattern));
    tseed_token_t token;

    pattern->gridset = tileset->subset->gridset;
    pattern->parts = apr_array_make(pool, 16, sizeof(part_t));
    pattern->ends = apr_array_make(pool, 8, sizeof(int));
    do {
        token = tseed_template_next(&at);
        if (token.kind == TSEED_TOKEN_SLASH || token.kind == TSEED_TOKEN_END) {
            APR_ARRAY_PUSH(pattern->ends, int) = pattern->parts->nelts;
            pattern->longest++;
        } else {
            part_t part = part_of(&token, tileset, pool);

            APR_ARRAY_PUSH(pattern->parts, part_t) = part;
            pattern->longest += part.field ? FIELD_LONGEST : part.length;
        }
    } while (token.kind != TSEED_TOKEN_END);
    return pattern;
}

tseed_range_t tseed_layout_level(const tseed_pattern_t *pattern, int z)
{
    return (tseed_range_t){z, 0, 0, pattern->gridset->columns[z] - 1,
                           pattern->gridset->rows[z] - 1};
}

const char *tseed_layout_prefix(const tseed_pattern_t *pattern, apr_pool_t *pool)
{
    const char *prefix = "";
    int depth = 0;

    for (int i = 0; i < pattern->parts->nelts; i++) {
        const part_t *part = &APR_ARRAY_IDX(pattern->parts, i, part_t);

        if (i == APR_ARRAY_IDX(pattern->ends, depth, int)) {
            prefix = apr_pstrcat(pool, prefix, "/", NULL);
            depth++;
        }
        if (part->field) {
            break;
        }
        prefix = apr_pstrcat(pool, prefix, apr_pstrmemdup(pool, part->text, part->length), NULL);
    }
    return prefix;
}

int tseed_layout_depth(const tseed_pattern_t *pattern)
{
    return pattern->ends->nelts;
}

size_t tseed_layout_longest(const tseed_pattern_t *pattern)
{
    return pattern->longest;
}

static const part_t *parts_begin(const tseed_pattern_t *pattern, int depth)
{
    int first = depth > 0 ? APR_ARRAY_IDX(pattern->ends, depth - 1, int) : 0;

    return &APR_ARRAY_IDX(pattern->parts, first, part_t);
}

static const part_t *parts_end(const tseed_pattern_t *pattern, int depth)
{
    return parts_begin(pattern, depth + 1);
}

static int component_holds(const tseed_pattern_t *pattern, int depth, int level)
{
    const part_t *end = parts_end(pattern, depth);

    for (const part_t *part = parts_begin(pattern, depth); part < end; part++) {
        if (part->field && (part->field->axis == AXIS_Z) == level) {
            return 1;
        }
    }
    return 0;
}

int tseed_layout_component_varies(const tseed_pattern_t *pattern, int depth)
{
    return component_holds(pattern, depth, 0) || component_holds(pattern, depth, 1);
}

int tseed_layout_level_depth(const tseed_pattern_t *pattern)
{
    int depth = 0, has_level = 0;

    while (!component_holds(pattern, depth, 0)) {
        has_level |= component_holds(pattern, depth, 1);
        depth++;
    }
    return has_level ? depth - 1 : -1;
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

/* Tile to name */

static int64_t divisor_of(const field_t *field, int z)
{
    return field->divisor ? field->divisor : level_half(z);
}

static int64_t rows_below_top(const tseed_pattern_t *pattern, int z, int64_t y)
{
    return pattern->gridset->rows[z] - 1 - y;
}

static int64_t value_of(const tseed_pattern_t *pattern, const field_t *field, int z, int64_t x,
                        int64_t y)
{
    const int64_t coordinates[] = {
        [AXIS_Z] = z, [AXIS_X] = x, [AXIS_BOTTOM] = y, [AXIS_TOP] = rows_below_top(pattern, z, y)};
    int64_t value = coordinates[field->axis] / divisor_of(field, z);

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

static size_t print_number(char *out, const field_t *field, int z, int64_t value)
{
    int zeros;

    if (field->style == HEXADECIMAL) {
        return print_digits(out, field->width, value, 16);
    }
    if (field->style == DECIMAL) {
        return print_digits(out, field->width, value, 10);
    }
    zeros = field->width * level_digits(z) - estimated_digits(value);
    zeros = zeros > 0 ? zeros : 0;
    memset(out, '0', (size_t)zeros);
    return (size_t)zeros + print_digits(out + zeros, 1, value, 10);
}

/* Bing's: a digit a level from the coarsest on, bit 0 the column's, bit 1 the row's from the top.
 */
static size_t print_quadkey(char *out, int z, int64_t column, int64_t row)
{
    for (int level = 0; level < z; level++) {
        int bit = z - 1 - level;

        out[level] = (char)('0' + (column >> bit & 1) + 2 * (row >> bit & 1));
    }
    out[z] = '\0';
    return (size_t)z;
}

size_t tseed_layout_name(char *name, const tseed_pattern_t *pattern, int depth, int z, int64_t x,
                         int64_t y)
{
    const part_t *end = parts_end(pattern, depth);
    char *out = name;

    for (const part_t *part = parts_begin(pattern, depth); part < end; part++) {
        if (!part->field) {
            memcpy(out, part->text, part->length);
            out += part->length;
        } else if (part->field->axis == AXIS_QUADKEY) {
            out += print_quadkey(out, z, x, rows_below_top(pattern, z, y));
        } else {
            out += print_number(out, part->field, z, value_of(pattern, part->field, z, x, y));
        }
    }
    *out = '\0';
    return (size_t)(out - name);
}

size_t tseed_layout_path(char *path, const tseed_pattern_t *pattern, int z, int64_t x, int64_t y)
{
    char *out = path;

    for (int depth = 0; depth < pattern->ends->nelts; depth++) {
        if (depth > 0) {
            *out++ = '/';
        }
        out += tseed_layout_name(out, pattern, depth, z, x, y);
    }
    return (size_t)(out - path);
}

/* Name to tile */

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
static void narrow_field(int64_t *lowest, int64_t *highest, const field_t *field, int z,
                         int64_t value)
{
    int64_t divisor = divisor_of(field, z);
    int64_t base = field->modulus ? *lowest - *lowest % (divisor * field->modulus) : 0;

    if (value > (INT64_MAX - base) / divisor - 1) {
        *highest = *lowest - 1;
        return;
    }
    narrow_axis(lowest, highest, base + value * divisor, base + (value + 1) * divisor - 1);
}

static int narrow_number(tseed_range_t *range, const tseed_pattern_t *pattern, const field_t *field,
                         const char **at)
{
    const char *start = *at;
    char printed[FIELD_LONGEST + 1];
    int64_t value;

    if (!read_number(&value, at, field->style == HEXADECIMAL ? 16 : 10)) {
        return 0;
    }
    if (print_number(printed, field, range->z, value) != (size_t)(*at - start)) {
        return 0; /* not as many zeros as the layout has: somebody else's file */
    }
    switch (field->axis) {
    case AXIS_X:
        narrow_field(&range->minx, &range->maxx, field, range->z, value);
        break;
    case AXIS_TOP:
        value = rows_below_top(pattern, range->z, value);
        narrow_axis(&range->miny, &range->maxy, value, value);
        break;
    case AXIS_BOTTOM:
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
    row = rows_below_top(pattern, range->z, row);
    narrow_axis(&range->minx, &range->maxx, column, column);
    narrow_axis(&range->miny, &range->maxy, row, row);
    return 1;
}

static int narrow_part(tseed_range_t *range, const tseed_pattern_t *pattern, const part_t *part,
                       const char **at)
{
    if (part->field) {
        return part->field->axis == AXIS_QUADKEY ? narrow_quadkey(range, pattern, at)
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
    const part_t *end = parts_end(pattern, depth);

    for (const part_t *part = parts_begin(pattern, depth); part < end; part++) {
        if (!narrow_part(range, pattern, part, &name)) {
            return 0;
        }
    }
    return !*name && range->minx <= range->maxx && range->miny <= range->maxy;
}

void tseed_layout_cell(int64_t *columns, int64_t *rows, const tseed_pattern_t *pattern, int depth,
                       int z)
{
    const part_t *end = parts_end(pattern, depth);

    *columns = *rows = INT64_MAX;
    for (const part_t *part = parts_begin(pattern, 0); part < end; part++) {
        if (part->field && part->field->axis != AXIS_Z) {
            int64_t divisor = divisor_of(part->field, z);
            int both = part->field->axis == AXIS_QUADKEY;

            if ((both || part->field->axis == AXIS_X) && divisor < *columns) {
                *columns = divisor;
            }
            if ((both || part->field->axis != AXIS_X) && divisor < *rows) {
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
