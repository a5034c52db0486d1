/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Layouts: templates, patterns, and from tiles to names: one printer for every layout there is. */
#include "store/tseed_layout.h"

#include <apr_strings.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "tiling/tseed_range.h"

/* Path templates: how they are read, and which ones an administrator may use. Pure functions.
 * Sentences live in the pool that a call takes. */

typedef enum {
    TOKEN_END,
    TOKEN_TEXT,        /* stands for itself, holds no slash */
    TOKEN_SLASH,       /* ends a component of the path */
    TOKEN_PLACEHOLDER, /* text is what stands between the braces */
    TOKEN_BAD          /* a brace without its partner */
} token_kind_t;

typedef struct {
    token_kind_t kind;
    const char *text; /* inside the template, not terminated */
    size_t length;
} token_t;

enum { HOLDS_Z = 1, HOLDS_X = 2, HOLDS_Y = 4, HOLDS_TILE = HOLDS_Z | HOLDS_X | HOLDS_Y };

typedef struct {
    const char *name;
    int holds; /* which parts of a tile's address; 0: a name, the same for all tiles */
} placeholder_t;

static const placeholder_t placeholders[] = {
    {"layer", 0},   {"gridset", 0},  {"hash", 0},
    {"ext", 0},     {"z", HOLDS_Z},  {"x", HOLDS_X},
    {"y", HOLDS_Y}, {"-y", HOLDS_Y}, {"quadkey", HOLDS_TILE},
};

#define KNOWN "{layer} {gridset} {hash} {ext} {z} {x} {y} {-y} {quadkey}"

/* Reads the token at *at and moves *at behind it. */
static token_t template_next(const char **at)
{
    const char *start = *at;
    token_t token = {TOKEN_END, start, 0};

    if (*start == '/') {
        token.kind = TOKEN_SLASH;
        token.length = 1;
        *at = start + 1;
    } else if (*start == '{') {
        token.text = start + 1;
        token.length = strcspn(token.text, "{}");
        *at = token.text + token.length;
        token.kind = **at == '}' ? TOKEN_PLACEHOLDER : TOKEN_BAD;
        *at += **at == '}';
    } else if (*start == '}') {
        token.kind = TOKEN_BAD;
        *at = start + 1;
    } else if (*start) {
        token.kind = TOKEN_TEXT;
        token.length = strcspn(start, "/{}");
        *at = start + token.length;
    }
    return token;
}

/* Whether a token is the placeholder of that name. */
static int token_is(const token_t *token, const char *name)
{
    return token->kind == TOKEN_PLACEHOLDER && strlen(name) == token->length &&
           memcmp(token->text, name, token->length) == 0;
}

int tseed_template_holds(const char *path_template, const char *name)
{
    const char *at = path_template;
    token_t token;

    do {
        token = template_next(&at);
    } while (token.kind != TOKEN_END && !token_is(&token, name));
    return token.kind != TOKEN_END;
}

static const placeholder_t *find(const token_t *token)
{
    for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++) {
        if (token_is(token, placeholders[i].name)) {
            return &placeholders[i];
        }
    }
    return NULL;
}

/* Names that the store keeps for itself. */
static int is_ours(const char *name, size_t length)
{
    return strncmp(name, TSEED_LEFTOVER_PREFIX, strlen(TSEED_LEFTOVER_PREFIX)) == 0 ||
           (length == strlen(TSEED_HIDDEN) && memcmp(name, TSEED_HIDDEN, length) == 0);
}

/* Names never begin with a dot where a path is made of them, so the text alone decides. */
static const char *check_components(const char *path_template, apr_pool_t *pool)
{
    const char *start = path_template;

    for (;;) {
        size_t length = strcspn(start, "/");

        if (length == 0 || (length == 1 && *start == '.') ||
            (length == 2 && memcmp(start, "..", 2) == 0)) {
            return apr_psprintf(pool,
                                "the path template '%s' must be relative to the store's directory, "
                                "without empty parts, '.' and '..'",
                                path_template);
        }
        if (is_ours(start, length)) {
            return apr_psprintf(pool,
                                "the path template '%s' must not use the name '" TSEED_HIDDEN
                                "' nor names that begin with '" TSEED_LEFTOVER_PREFIX
                                "': the store's own files are called so",
                                path_template);
        }
        if (!start[length]) {
            return NULL;
        }
        start += length + 1;
    }
}

/* One placeholder; `next` is what follows it. Two numbers in a row, or a number and a digit, could
 * be read in two ways: two tiles might share a file. */
static const char *check_placeholder(int *holds, const char *path_template, const token_t *token,
                                     const char *next, apr_pool_t *pool)
{
    const placeholder_t *known = find(token);

    if (!known) {
        return apr_psprintf(
            pool, "the path template '%s' has the unknown placeholder {%.*s}; there are " KNOWN,
            path_template, (int)token->length, token->text);
    }
    if (*next == '{' || (known->holds && tseed_ascii_is_digit(*next))) {
        return apr_psprintf(pool,
                            "the path template '%s' needs a character that is no digit between "
                            "{%s} and what follows it, such as '/', '_' or '.'",
                            path_template, known->name);
    }
    *holds |= known->holds;
    return NULL;
}

const char *tseed_template_check(const char *path_template, apr_pool_t *pool)
{
    const char *at = path_template;
    const char *error = check_components(path_template, pool);
    int holds = 0;

    while (!error) {
        token_t token = template_next(&at);

        if (token.kind == TOKEN_END) {
            break;
        }
        if (token.kind == TOKEN_BAD) {
            return apr_psprintf(pool, "the path template '%s' has a brace without its partner",
                                path_template);
        }
        if (token.kind == TOKEN_PLACEHOLDER) {
            error = check_placeholder(&holds, path_template, &token, at, pool);
        }
    }
    if (!error && holds != HOLDS_TILE) {
        error = apr_psprintf(pool,
                             "the path template '%s' does not give each tile a file of its own: it "
                             "needs {z}, {x} and one of {y} {-y}, or {quadkey}",
                             path_template);
    }
    return error;
}

/* Fields of layouts: the numbers in a tile's path. Private to the files of layouts.
 *
 * Pure functions; any thread.
 */

/* Fields of layouts: a table of them, and how each prints its number. */

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

/* The field of that name; NULL: the placeholder is no field. Static storage. */
static const tseed_field_t *field_find(const token_t *token)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (token_is(token, fields[i].name)) {
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

/* How many neighbours of a coordinate the field prints alike, at a level. */
static int64_t field_divisor(const tseed_field_t *field, int z)
{
    return field->divisor ? field->divisor : level_half(z);
}

/* Turns a row over: from the bottom to from the top, or back. */
static int64_t field_turn_row(const tseed_gridset_t *gridset, int z, int64_t y)
{
    return gridset->rows[z] - 1 - y;
}

/* The number that a field prints of a tile; `y` from the bottom. Not of a quadkey. */
static int64_t field_value(const tseed_field_t *field, const tseed_gridset_t *gridset, int z,
                           int64_t x, int64_t y)
{
    const int64_t coordinates[] = {[TSEED_AXIS_Z] = z,
                                   [TSEED_AXIS_X] = x,
                                   [TSEED_AXIS_BOTTOM] = y,
                                   [TSEED_AXIS_TOP] = field_turn_row(gridset, z, y)};
    int64_t value = coordinates[field->axis] / field_divisor(field, z);

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

/* Writes such a number as the field does, at most TSEED_FIELD_LONGEST digits and a NUL. Returns the
 * length without the NUL. */
static size_t field_print(char *out, const tseed_field_t *field, int z, int64_t value)
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

/* Writes a tile's quadkey, likewise; `row` from the top. */
/* Bing's: a digit a level from the coarsest on, bit 0 the column's, bit 1 the row's from the top.
 */
static size_t field_print_quadkey(char *out, int z, int64_t column, int64_t row)
{
    for (int level = 0; level < z; level++) {
        int bit = z - 1 - level;

        out[level] = (char)('0' + (column >> bit & 1) + 2 * (row >> bit & 1));
    }
    out[z] = '\0';
    return (size_t)z;
}

typedef struct {
    const tseed_field_t *field; /* NULL: text */
    const char *text;
    size_t length;
} tseed_part_t;

/* The first part of a component; the parts of the component before it end there. */
static inline const tseed_part_t *layout_parts(const tseed_pattern_t *pattern, int depth)
{
    int first = depth > 0 ? APR_ARRAY_IDX(pattern->ends, depth - 1, int) : 0;

    return &APR_ARRAY_IDX(pattern->parts, first, tseed_part_t);
}

/* Layouts: from names to tiles. */

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
    int64_t divisor = field_divisor(field, z);
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
    if (field_print(printed, field, range->z, value) != (size_t)(*at - start)) {
        return 0; /* not as many zeros as the layout has: somebody else's file */
    }
    switch (field->axis) {
    case TSEED_AXIS_X:
        narrow_field(&range->minx, &range->maxx, field, range->z, value);
        break;
    case TSEED_AXIS_TOP:
        value = field_turn_row(pattern->gridset, range->z, value);
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
    row = field_turn_row(pattern->gridset, range->z, row);
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
    const tseed_part_t *end = layout_parts(pattern, depth + 1);

    for (const tseed_part_t *part = layout_parts(pattern, depth); part < end; part++) {
        if (!narrow_part(range, pattern, part, &name)) {
            return 0;
        }
    }
    return !*name && range->minx <= range->maxx && range->miny <= range->maxy;
}

void tseed_layout_cell(int64_t *columns, int64_t *rows, const tseed_pattern_t *pattern, int depth,
                       int z)
{
    const tseed_part_t *end = layout_parts(pattern, depth + 1);

    *columns = *rows = INT64_MAX;
    for (const tseed_part_t *part = layout_parts(pattern, 0); part < end; part++) {
        if (part->field && part->field->axis != TSEED_AXIS_Z) {
            int64_t divisor = field_divisor(part->field, z);
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

static const char *resolve(const token_t *token, const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    if (token_is(token, "layer")) {
        return safe_name(tileset->layer->name, pool);
    }
    if (token_is(token, "gridset")) {
        return safe_name(tileset->subset->gridset->name, pool);
    }
    if (token_is(token, "ext")) {
        return safe_name(tileset->format->extension, pool);
    }
    if (token_is(token, "hash")) {
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

static tseed_part_t part_of(const token_t *token, const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    tseed_part_t part = {NULL, token->text, token->length};

    if (token->kind == TOKEN_PLACEHOLDER) {
        part.field = field_find(token);
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
    token_t token;

    pattern->gridset = tileset->subset->gridset;
    pattern->parts = apr_array_make(pool, 16, sizeof(tseed_part_t));
    pattern->ends = apr_array_make(pool, 8, sizeof(int));
    do {
        token = template_next(&at);
        if (token.kind == TOKEN_SLASH || token.kind == TOKEN_END) {
            APR_ARRAY_PUSH(pattern->ends, int) = pattern->parts->nelts;
            pattern->longest++;
        } else {
            tseed_part_t part = part_of(&token, tileset, pool);

            APR_ARRAY_PUSH(pattern->parts, tseed_part_t) = part;
            pattern->longest += part.field ? TSEED_FIELD_LONGEST : part.length;
        }
    } while (token.kind != TOKEN_END);
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
        const tseed_part_t *part = &APR_ARRAY_IDX(pattern->parts, i, tseed_part_t);

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

static int component_holds(const tseed_pattern_t *pattern, int depth, int level)
{
    const tseed_part_t *end = layout_parts(pattern, depth + 1);

    for (const tseed_part_t *part = layout_parts(pattern, depth); part < end; part++) {
        if (part->field && (part->field->axis == TSEED_AXIS_Z) == level) {
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

/* Tile to name */

size_t tseed_layout_name(char *name, const tseed_pattern_t *pattern, int depth, int z, int64_t x,
                         int64_t y)
{
    const tseed_part_t *end = layout_parts(pattern, depth + 1);
    char *out = name;

    for (const tseed_part_t *part = layout_parts(pattern, depth); part < end; part++) {
        if (!part->field) {
            memcpy(out, part->text, part->length);
            out += part->length;
        } else if (part->field->axis == TSEED_AXIS_QUADKEY) {
            out += field_print_quadkey(out, z, x, field_turn_row(pattern->gridset, z, y));
        } else {
            out += field_print(out, part->field, z,
                               field_value(part->field, pattern->gridset, z, x, y));
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
