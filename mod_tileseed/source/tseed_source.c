/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where a layer's pictures come from: the kinds of sources, and the addresses of WMTS and xyz. */
#include "source/tseed_source.h"

#include <string.h>

#include <apr_cstr.h>
#include <apr_strings.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "source/tseed_address.h"
#include "source/tseed_wms.h"

/* ---- templates ---- */

/* Returns the text that replaces a placeholder, as it is to stand in the address; NULL: there is no
 * such placeholder. */
typedef const char *fill_t(void *baton, const char *name, apr_pool_t *pool);

/* Fills a template's placeholders, "{name}". NULL: an unknown one, or a brace without its partner;
 * then `*wrong` has its name, or "". */
static const char *address_expand(const char *url, fill_t *fill, void *baton, const char **wrong,
                                  apr_pool_t *pool)
{
    const char *filled = "";

    while (*url) {
        size_t text = strcspn(url, "{}");
        size_t name = url[text] == '{' ? strcspn(url + text + 1, "{}") : 0;
        const char *value = "";

        filled = apr_pstrcat(pool, filled, apr_pstrmemdup(pool, url, text), NULL);
        url += text;
        if (!*url) {
            break;
        }
        *wrong = apr_pstrmemdup(pool, url + 1, name);
        if (*url != '{' || url[1 + name] != '}' || !(value = fill(baton, *wrong, pool))) {
            return NULL;
        }
        filled = apr_pstrcat(pool, filled, value, NULL);
        url += name + 2;
    }
    return filled;
}

/* Column and row of the single tile that is asked for as decimals, the row from the top. */
static const char *address_column(const tseed_ask_t *ask, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%" APR_INT64_T_FMT, ask->whole->minx);
}

static const char *address_row(const tseed_ask_t *ask, apr_pool_t *pool)
{
    int64_t rows = ask->tileset->subset->gridset->rows[ask->whole->z];

    return apr_psprintf(pool, "%" APR_INT64_T_FMT, rows - 1 - ask->whole->miny);
}

/* The level as a placeholder wants it: "z"; "z-1" or "z+2", where the upstream counts from another
 * one; "z:02" with so many digits at least; "z-1:02". NULL: it is no such placeholder. */
static const char *address_level(const char *placeholder, int z, apr_pool_t *pool)
{
    const char *at = placeholder + 1;
    int digits = 1;

    if (*placeholder != 'z') {
        return NULL;
    }
    if ((*at == '-' || *at == '+') && tseed_ascii_is_digit(at[1])) {
        z += *at == '-' ? -(at[1] - '0') : at[1] - '0';
        at += 2;
    }
    if (at[0] == ':' && at[1] == '0' && tseed_ascii_is_digit(at[2])) {
        digits = at[2] - '0';
        at += 3;
    }
    return *at ? NULL : apr_psprintf(pool, "%0*d", digits, z);
}

/* WMTS as a source: the GetTile request of each tile. Pure text, no network, any thread.
 *
 * Standard: OGC 07-057r7 (WMTS 1.0.0), key-value pairs (8.2) and resource templates (10.2.1). Rows
 * are counted from the top. An address with braces is a resource template; {TileMatrixSet}
 * {TileMatrix} {TileRow} {TileCol} {Style} {Layer}, and any other key of the source or filter of
 * the layer, are its placeholders, in any case. An address without braces is a service.
 *
 * Results and sentences live in the pool that a call takes.
 */

/* WMTS as a source. The request is a table of parameters, whose keys ignore case as WMTS does; they
 * become a query or fill a template. */

#define QUOTE_MAX 60

/* ---- the request ---- */

static const char *fill_name(void *baton, const char *name, apr_pool_t *pool)
{
    const tseed_ask_t *ask = baton;

    if (strcmp(name, "gridset") == 0) {
        return ask->tileset->subset->gridset->name;
    }
    return address_level(name, ask->whole->z, pool);
}

/* The check has let no other placeholder through. */
static void expand_value(apr_table_t *query, const char *key, tseed_ask_t *ask, apr_pool_t *pool)
{
    const char *wrong;

    apr_table_setn(query, key,
                   address_expand(apr_table_get(query, key), fill_name, ask, &wrong, pool));
}

static apr_table_t *query_of(const tseed_ask_t *ask, apr_pool_t *pool)
{
    apr_table_t *query = apr_table_make(pool, 16);
    tseed_ask_t copy = *ask;

    apr_table_setn(query, "SERVICE", "WMTS");
    apr_table_setn(query, "REQUEST", "GetTile");
    apr_table_setn(query, "VERSION", "1.0.0");
    apr_table_setn(query, "LAYER", "");
    apr_table_setn(query, "STYLE", "");
    apr_table_setn(query, "FORMAT", ask->tileset->format->from);
    apr_table_setn(query, "TILEMATRIXSET", "{gridset}");
    apr_table_setn(query, "TILEMATRIX", "{z}");
    tseed_address_override(query, ask->tileset->layer->source.parameters);
    expand_value(query, "TILEMATRIXSET", &copy, pool);
    expand_value(query, "TILEMATRIX", &copy, pool);
    tseed_address_override(query, ask->tileset->parameters);
    apr_table_setn(query, "TILEROW", address_row(ask, pool));
    apr_table_setn(query, "TILECOL", address_column(ask, pool));
    return query;
}

static const char *fill(void *baton, const char *name, apr_pool_t *pool)
{
    const char *value = apr_table_get(baton, name);

    return value ? tseed_address_encode(value, ":", pool) : NULL;
}

/* The address of a single tile. The key TILEMATRIXSET defaults to the grid set's name, TILEMATRIX
 * to the level; {gridset} and {z} in their values stand for these. In `pool`. */
static const char *wmts_url(const tseed_ask_t *ask, apr_pool_t *pool)
{
    apr_table_t *query = query_of(ask, pool);
    const char *wrong;

    return strchr(ask->url, '{') ? address_expand(ask->url, fill, query, &wrong, pool)
                                 : tseed_address_join(ask->url, query, pool);
}

/* ---- what an administrator may write ---- */

static const char *const decided[] = {"SERVICE", "REQUEST", "VERSION",
                                      "FORMAT",  "TILEROW", "TILECOL"};

static const char *check_keys(const apr_table_t *parameters, apr_pool_t *pool)
{
    for (size_t i = 0; i < sizeof(decided) / sizeof(decided[0]); i++) {
        if (apr_table_get(parameters, decided[i])) {
            return apr_psprintf(pool, "%s can't be set: each request brings its own", decided[i]);
        }
    }
    return NULL;
}

static const char *check_name(const char *key, const apr_table_t *parameters, apr_pool_t *pool)
{
    static const tseed_gridset_t gridset = {.name = ""};
    static const tseed_subset_t subset = {.gridset = &gridset};
    static const tseed_tileset_t tileset = {.subset = &subset};
    static const tseed_range_t level;
    tseed_ask_t ask = {.tileset = &tileset, .whole = &level};
    const char *value = apr_table_get(parameters, key);
    const char *wrong = NULL;

    if (!value || address_expand(value, fill_name, &ask, &wrong, pool)) {
        return NULL;
    }
    return apr_psprintf(pool, "{%s} in %s= is unknown, {gridset}, {z}, {z:02} or {z-1} is expected",
                        tseed_text_quote(wrong, QUOTE_MAX, pool), key);
}

/* The placeholders that a template has, each once. */
typedef struct {
    const tseed_layer_t *layer;
    int matrix, row, column;
} draft_t;

static const char *try_fill(void *baton, const char *name, apr_pool_t *pool)
{
    static const char *const others[] = {"TileMatrixSet", "Style", "Layer"};
    draft_t *draft = baton;

    (void)pool;
    draft->matrix |= apr_cstr_casecmp(name, "TileMatrix") == 0;
    draft->row |= apr_cstr_casecmp(name, "TileRow") == 0;
    draft->column |= apr_cstr_casecmp(name, "TileCol") == 0;
    if (apr_cstr_casecmpn(name, "Tile", 4) == 0 &&
        (apr_cstr_casecmp(name + 4, "Matrix") == 0 || apr_cstr_casecmp(name + 4, "Row") == 0 ||
         apr_cstr_casecmp(name + 4, "Col") == 0)) {
        return "";
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (apr_cstr_casecmp(name, others[i]) == 0) {
            return "";
        }
    }
    return apr_table_get(draft->layer->source.parameters, name) ||
                   tseed_layer_find_filter(draft->layer, name)
               ? ""
               : NULL;
}

/* What a request brings of its own must not stand in the address too. */
static const char *check_query(const char *url, const apr_table_t *parameters, apr_pool_t *pool)
{
    static const char *const written[] = {"LAYER", "STYLE", "TILEMATRIXSET", "TILEMATRIX"};
    const apr_array_header_t *keys = tseed_address_keys(url, pool);

    for (int i = 0; i < keys->nelts; i++) {
        const char *key = APR_ARRAY_IDX(keys, i, const char *);
        int is_written = apr_table_get(parameters, key) != NULL;

        for (size_t k = 0; k < sizeof(decided) / sizeof(decided[0]); k++) {
            if (apr_cstr_casecmp(decided[k], key) == 0) {
                return apr_psprintf(pool,
                                    "the address has %s in its query: leave it out, each request "
                                    "brings its own",
                                    key);
            }
        }
        for (size_t k = 0; k < sizeof(written) / sizeof(written[0]); k++) {
            is_written |= apr_cstr_casecmp(written[k], key) == 0;
        }
        if (is_written) {
            return apr_psprintf(pool,
                                "the address has %s in its query: leave it out there and write it "
                                "behind the address as %s=VALUE",
                                key, key);
        }
    }
    return NULL;
}

static const char *check_address(const char *url, const tseed_layer_t *layer, apr_pool_t *pool)
{
    const apr_table_t *parameters = layer->source.parameters;
    draft_t draft = {.layer = layer};
    const char *wrong = NULL;
    const char *problem = tseed_address_check(url, 1, pool);

    if (problem) {
        return problem;
    }
    if (!strpbrk(url, "{}")) {
        return apr_table_get(parameters, "LAYER")
                   ? check_query(url, parameters, pool)
                   : "layer= is missing: it names the layer of the WMTS";
    }
    if (!address_expand(url, try_fill, &draft, &wrong, pool)) {
        return apr_psprintf(pool,
                            "{%s} in the address is unknown, {TileMatrixSet} {TileMatrix} "
                            "{TileRow} {TileCol} {Style} {Layer}, NAME= behind the address or a "
                            "TileSeedParameter of the layer are expected",
                            tseed_text_quote(wrong, QUOTE_MAX, pool));
    }
    return draft.matrix && draft.row && draft.column
               ? NULL
               : "the address does not say which tile: it needs {TileMatrix}, {TileRow} and "
                 "{TileCol}";
}

/* Checks addresses and keys of a layer's source; the filters are there already. NULL or a sentence.
 * Configuration phase. */
static const char *wmts_check(const tseed_layer_t *layer, apr_pool_t *pool)
{
    const tseed_source_t *source = &layer->source;
    const char *problem = check_keys(source->parameters, pool);

    if (!problem) {
        problem = check_name("TILEMATRIXSET", source->parameters, pool);
    }
    if (!problem) {
        problem = check_name("TILEMATRIX", source->parameters, pool);
    }
    for (int i = 0; !problem && i < source->count; i++) {
        problem = check_address(source->addresses[i].url, layer, pool);
    }
    return problem;
}

/* XYZ as a source: the address of each tile by a template. Pure text, no network, any thread.
 *
 *      {z} {x}         level and column
 *      {y} {-y}        row from the top, as map services on the web count, and from the bottom, as
 *                      TMS (OSGeo Tile Map Service 1.0.0) does
 *      {quadkey}       level, column and row as Bing Maps writes them
 *      {bbox}          minx,miny,maxx,maxy in the grid set's units
 *      {layer}         the layer's name
 *      {param:NAME}    the value of a parameter filter of the layer
 *
 * Results and sentences live in the pool that a call takes.
 */

/* XYZ as a source. */

#define xyz_QUOTE_MAX 60
#define PARAM         "param:"
#define KNOWN         "{z} {z:02} {z-1} {x} {y} {-y} {quadkey} {bbox} {layer} {param:NAME}"

static const char *bbox(const tseed_ask_t *ask, apr_pool_t *pool)
{
    return tseed_address_bbox(ask, 0, pool);
}

static const char *row_from_bottom(const tseed_ask_t *ask, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%" APR_INT64_T_FMT, ask->whole->miny);
}

/* One digit a level, from the first: 1 for the right half, 2 for the lower one. */
static const char *quadkey(const tseed_ask_t *ask, apr_pool_t *pool)
{
    int z = ask->whole->z;
    int64_t x = ask->whole->minx;
    int64_t y = ask->tileset->subset->gridset->rows[z] - 1 - ask->whole->miny;
    char *key = apr_pcalloc(pool, (apr_size_t)z + 1);

    for (int i = 0; i < z; i++) {
        int bit = z - 1 - i;

        key[i] = (char)('0' + (x >> bit & 1) + 2 * (y >> bit & 1));
    }
    return key;
}

static const char *layer_name(const tseed_ask_t *ask, apr_pool_t *pool)
{
    return tseed_address_encode(ask->tileset->layer->name, ":", pool);
}

/* The placeholders that a template needs so that each tile has an address of its own. */
enum { HAS_Z = 1, HAS_X = 2, HAS_Y = 4, HAS_TILE = 7 };

typedef struct {
    const char *name;
    int has;
    const char *(*write)(const tseed_ask_t *ask, apr_pool_t *pool);
} placeholder_t;

static const placeholder_t placeholders[] = {
    {"x", HAS_X, address_column},   {"y", HAS_Y, address_row}, {"-y", HAS_Y, row_from_bottom},
    {"quadkey", HAS_TILE, quadkey}, {"bbox", HAS_TILE, bbox},  {"layer", 0, layer_name},
};

static const placeholder_t *find(const char *name)
{
    for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++) {
        if (strcmp(placeholders[i].name, name) == 0) {
            return &placeholders[i];
        }
    }
    return NULL;
}

/* ---- the request ---- */

static const char *xyz_fill(void *baton, const char *name, apr_pool_t *pool)
{
    const tseed_ask_t *ask = baton;
    const placeholder_t *placeholder = find(name);
    const char *value = address_level(name, ask->whole->z, pool);

    if (placeholder || value) {
        return placeholder ? placeholder->write(ask, pool) : value;
    }
    value = apr_table_get(ask->tileset->parameters, name + strlen(PARAM));
    return tseed_address_encode(value ? value : "", "", pool);
}

/* The address of a single tile. In `pool`. */
static const char *xyz_url(const tseed_ask_t *ask, apr_pool_t *pool)
{
    tseed_ask_t copy = *ask;
    const char *wrong;

    return address_expand(ask->url, xyz_fill, &copy, &wrong, pool);
}

/* ---- what an administrator may write ---- */

typedef struct {
    const tseed_layer_t *layer;
    int has;
} xyz_draft_t;

static const char *xyz_try_fill(void *baton, const char *name, apr_pool_t *pool)
{
    xyz_draft_t *draft = baton;
    const placeholder_t *placeholder = find(name);

    if (placeholder || address_level(name, 0, pool)) {
        draft->has |= placeholder ? placeholder->has : HAS_Z;
        return "";
    }
    return strncmp(name, PARAM, strlen(PARAM)) == 0 &&
                   tseed_layer_find_filter(draft->layer, name + strlen(PARAM))
               ? ""
               : NULL;
}

static const char *check_template(const char *url, const tseed_layer_t *layer, apr_pool_t *pool)
{
    xyz_draft_t draft = {.layer = layer};
    const char *wrong = NULL;
    const char *problem = tseed_address_check(url, 1, pool);

    if (strstr(url, "${")) {
        return "a placeholder in the address is written {z}, without the $ of a script";
    }
    if (problem) {
        return problem;
    }
    if (!address_expand(url, xyz_try_fill, &draft, &wrong, pool)) {
        return apr_psprintf(pool,
                            "{%s} in the address is unknown, " KNOWN
                            " are expected, NAME being a TileSeedParameter of the layer",
                            tseed_text_quote(wrong, xyz_QUOTE_MAX, pool));
    }
    return draft.has == HAS_TILE
               ? NULL
               : "the address does not say which tile: it needs {z}, {x} and one of {y} {-y}, or "
                 "{quadkey}, or {bbox}";
}

/* Checks the templates of a layer, whose filters are there already. NULL or a sentence.
 * Configuration phase. */
static const char *xyz_check(const tseed_layer_t *layer, apr_pool_t *pool)
{
    const tseed_source_t *source = &layer->source;
    const char *problem = NULL;

    if (apr_table_elts(source->parameters)->nelts > 0) {
        return "a source xyz has no NAME=VALUE but mode= and missing=, write it into the address";
    }
    for (int i = 0; !problem && i < source->count; i++) {
        problem = check_template(source->addresses[i].url, layer, pool);
    }
    return problem;
}

#define PIXEL_MOST  8 /* bytes: 16 bits for each of four channels, not compressed */
#define BESIDE_MOST (1 << 20)
#define ANSWER_MOST (64 << 20)

static const char *check_wms(const tseed_layer_t *layer, apr_pool_t *pool)
{
    return tseed_wms_check(&layer->source, pool);
}

static const struct {
    int is_tiled;
    const char *(*check)(const tseed_layer_t *layer, apr_pool_t *pool);
    const char *(*url)(const tseed_ask_t *ask, apr_pool_t *pool);
} kinds[] = {
    [TSEED_SOURCE_WMS] = {0, check_wms, tseed_wms_url},
    [TSEED_SOURCE_XYZ] = {1, xyz_check, xyz_url},
    [TSEED_SOURCE_WMTS] = {1, wmts_check, wmts_url},
};

int tseed_source_is_tiled(const tseed_source_t *source)
{
    return kinds[source->kind].is_tiled;
}

const char *tseed_source_check(const tseed_layer_t *layer, apr_pool_t *pool)
{
    return kinds[layer->source.kind].check(layer, pool);
}

const char *tseed_source_url(tseed_ask_t *ask, int address, apr_pool_t *pool)
{
    const tseed_source_t *source = &ask->tileset->layer->source;
    const tseed_gridset_t *gridset = ask->tileset->subset->gridset;
    const tseed_range_t *whole = ask->whole;
    const char *url;

    ask->width = (int)(whole->maxx - whole->minx + 1) * gridset->tile_width;
    ask->height = (int)(whole->maxy - whole->miny + 1) * gridset->tile_height;
    ask->margin = tseed_margin_of(gridset, whole, ask->gutter, !ask->tileset->layer->gutter_beyond);
    ask->width += ask->margin.left + ask->margin.right;
    ask->height += ask->margin.top + ask->margin.bottom;
    ask->url = source->addresses[address].url;
    url = kinds[source->kind].url(ask, pool);
    return tseed_address_has_dots(url) ? "" : url;
}

size_t tseed_source_most(int width, int height)
{
    const int64_t most = (int64_t)width * height * PIXEL_MOST + BESIDE_MOST;

    return (size_t)(most < ANSWER_MOST ? most : ANSWER_MOST);
}

/* OGC 01-065 and 06-042, table E.1: what a GetMap names that is the same in all of a task's. */
static int names_what_is_not_there(const char *exception)
{
    static const char *const codes[] = {"LayerNotDefined", "StyleNotDefined", "InvalidSRS",
                                        "InvalidCRS", "InvalidFormat"};
    size_t i = 0;

    while (i < sizeof(codes) / sizeof(*codes) && strcmp(codes[i], exception) != 0) {
        i++;
    }
    return i < sizeof(codes) / sizeof(*codes);
}

tseed_refusal_t tseed_source_refusal(const tseed_source_t *source, const tseed_transfer_t *transfer)
{
    const int status = transfer->http_status;

    if (transfer->result != TSEED_FETCH_FAILED) {
        return TSEED_REFUSES_NOTHING;
    }
    if (status == 401 || status == 403 || status == 407) {
        return TSEED_REFUSES_LOGIN;
    }
    return source->kind == TSEED_SOURCE_WMS && names_what_is_not_there(transfer->exception)
               ? TSEED_REFUSES_LAYER
               : TSEED_REFUSES_NOTHING;
}

const char *tseed_source_missing(const tseed_source_t *source, apr_pool_t *pool)
{
    return source->missing ? apr_array_pstrcat(pool, source->missing, ',') : "";
}

static int is_missing(const tseed_source_t *source, const tseed_transfer_t *transfer)
{
    char status[12];

    apr_snprintf(status, sizeof(status), "%d", transfer->http_status);
    for (int i = 0; source->missing && i < source->missing->nelts; i++) {
        const char *word = APR_ARRAY_IDX(source->missing, i, const char *);

        if (strcmp(word, status) == 0 || strcmp(word, transfer->exception) == 0 ||
            (strcmp(word, TSEED_MISSING_EMPTY_BODY) == 0 && transfer->http_status == 200 &&
             transfer->received == 0)) {
            return 1;
        }
    }
    return 0;
}

void tseed_source_settle(const tseed_source_t *source, tseed_transfer_t *transfer)
{
    if (transfer->result == TSEED_FETCH_FAILED && is_missing(source, transfer)) {
        transfer->result = TSEED_FETCH_OK;
        transfer->length = 0;
        transfer->next_condition[0] = '\0';
    }
}
