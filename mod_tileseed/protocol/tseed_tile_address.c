/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Addresses of tiles: one row a form, a reader for each of its segments. */
#include "protocol/tseed_service.h"

#include <string.h>

#define SEGMENTS_MAX 7
#define DIGITS_MAX   18

/* 0: the piece can't stand in that segment. */
typedef int read_t(tseed_tile_address_t *address, tseed_piece_t piece);

/* Digits alone, as many as surely fit. */
static int read_number(int64_t *value, tseed_piece_t piece)
{
    *value = 0;
    for (size_t i = 0; i < piece.length && i < DIGITS_MAX; i++) {
        if (piece.text[i] < '0' || piece.text[i] > '9') {
            return 0;
        }
        *value = *value * 10 + (piece.text[i] - '0');
    }
    return piece.length > 0 && piece.length <= DIGITS_MAX;
}

static int read_layer(tseed_tile_address_t *address, tseed_piece_t piece)
{
    address->layer = piece;
    return piece.length > 0;
}

static int read_gridset(tseed_tile_address_t *address, tseed_piece_t piece)
{
    address->gridset = piece;
    return piece.length > 0;
}

static int read_z(tseed_tile_address_t *address, tseed_piece_t piece)
{
    return read_number(&address->z, piece);
}

static int read_x(tseed_tile_address_t *address, tseed_piece_t piece)
{
    return read_number(&address->x, piece);
}

/* The last segment of a tile: a number and a file extension. */
static int read_y(tseed_tile_address_t *address, tseed_piece_t piece)
{
    const char *dot = memchr(piece.text, '.', piece.length);

    if (!dot) {
        return 0;
    }
    address->format = (tseed_piece_t){dot + 1, (size_t)(piece.text + piece.length - dot) - 1};
    piece.length = (size_t)(dot - piece.text);
    return read_number(&address->y, piece);
}

static int read_style(tseed_tile_address_t *address, tseed_piece_t piece)
{
    address->style = piece;
    return piece.length > 0;
}

/* Whether a level's name begins with the `length` bytes of the grid set's and a colon. */
static int has_front(tseed_piece_t piece, const tseed_tile_address_t *address, size_t length)
{
    return length > 0 && piece.length > length && piece.text[length] == ':' &&
           memcmp(piece.text, address->gridset.text, length) == 0;
}

/* "EPSG:4326:7" of the grid set EPSG:4326, as GeoWebCache calls its levels, or "7". The levels of
 * "EPSG:4326@0-12" are called so as well. */
static int read_matrix(tseed_tile_address_t *address, tseed_piece_t piece)
{
    const tseed_piece_t gridset = address->gridset;
    const char *at = gridset.length ? memrchr(gridset.text, '@', gridset.length) : NULL;
    const size_t lengths[] = {gridset.length, at ? (size_t)(at - gridset.text) : 0};

    for (int i = 0; i < 2; i++) {
        if (has_front(piece, address, lengths[i])) {
            piece.text += lengths[i] + 1;
            piece.length -= lengths[i] + 1;
            break;
        }
    }
    return read_number(&address->z, piece);
}

static int read_row(tseed_tile_address_t *address, tseed_piece_t piece)
{
    return read_number(&address->y, piece);
}

/* The last segment of a tile of WMTS, with an extension or without. */
static int read_column(tseed_tile_address_t *address, tseed_piece_t piece)
{
    const char *dot = memchr(piece.text, '.', piece.length);

    if (dot) {
        address->format = (tseed_piece_t){dot + 1, (size_t)(piece.text + piece.length - dot) - 1};
        piece.length = (size_t)(dot - piece.text);
    }
    return read_number(&address->x, piece) && (!dot || address->format.length > 0);
}

/* Cuts off what follows the last '@'. */
static tseed_piece_t cut_last(tseed_piece_t *piece)
{
    const char *at = memrchr(piece->text, '@', piece->length);
    tseed_piece_t last = {at ? at + 1 : piece->text, 0};

    if (!at) {
        return last;
    }
    last.length = (size_t)(piece->text + piece->length - last.text);
    piece->length = (size_t)(at - piece->text);
    return last;
}

/* GeoWebCache's layer@gridset@extension, or a layer alone. */
static int read_tile_map(tseed_tile_address_t *address, tseed_piece_t piece)
{
    address->format = cut_last(&piece);
    address->gridset = cut_last(&piece);
    address->layer = piece;
    return piece.length > 0 && (address->format.length > 0) == (address->gridset.length > 0);
}

typedef struct {
    tseed_address_kind_t kind;
    int from_top;
    const char *prefix;
    read_t *readers[SEGMENTS_MAX]; /* NULL at the end */
} row_t;

static const row_t rows[] = {
    {TSEED_ADDRESS_TILE, 1, "/", {read_layer, read_gridset, read_z, read_x, read_y}},
    {TSEED_ADDRESS_TILE, 0, "/tms/1.0.0/", {read_tile_map, read_z, read_x, read_y}},
    {TSEED_ADDRESS_TILE, 0, "/tms/", {read_layer, read_gridset, read_z, read_x, read_y}},
    {TSEED_ADDRESS_TMS_SERVICE, 0, "/tms/1.0.0", {NULL}},
    {TSEED_ADDRESS_TMS_SERVICE, 0, "/tms/1.0.0/", {NULL}},
    {TSEED_ADDRESS_TMS_MAP, 0, "/tms/1.0.0/", {read_tile_map}},
    {TSEED_ADDRESS_WMTS, 1, "/wmts", {NULL}},
    {TSEED_ADDRESS_WMTS_CAPABILITIES, 1, "/wmts/WMTSCapabilities.xml", {NULL}},
    {TSEED_ADDRESS_WMTS_CAPABILITIES, 1, "/wmts/1.0.0/WMTSCapabilities.xml", {NULL}},
    {TSEED_ADDRESS_WMTS_TILE,
     1,
     "/wmts/",
     {read_layer, read_style, read_gridset, read_matrix, read_row, read_column}},
    {TSEED_ADDRESS_WMTS_TILE,
     1,
     "/wmts/",
     {read_layer, read_gridset, read_matrix, read_row, read_column}},
    {TSEED_ADDRESS_WMS, 0, "/wms", {NULL}},
};

/* Reads segment after segment; the path must end with the last. */
static int fits(tseed_tile_address_t *address, const row_t *row, const char *path)
{
    const size_t prefix = strlen(row->prefix);

    if (strncmp(path, row->prefix, prefix) != 0) {
        return 0;
    }
    path += prefix;
    for (int i = 0; row->readers[i]; i++) {
        tseed_piece_t piece = {path, strcspn(path, "/")};

        if (!row->readers[i](address, piece)) {
            return 0;
        }
        path += piece.length;
        if (row->readers[i + 1] && *path++ != '/') {
            return 0;
        }
    }
    return !*path;
}

static tseed_tile_address_t find(const char *path)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tseed_tile_address_t address = {.kind = rows[i].kind, .from_top = rows[i].from_top};

        if (fits(&address, &rows[i], path)) {
            return address;
        }
    }
    return (tseed_tile_address_t){.kind = TSEED_ADDRESS_NONE};
}

tseed_tile_address_t tseed_tile_address(const char *path)
{
    static const char *const fronts[] = {"/service", "/rest"};
    tseed_tile_address_t address = find(path);

    for (size_t i = 0; address.kind == TSEED_ADDRESS_NONE && i < 2; i++) {
        size_t length = strlen(fronts[i]);

        if (strncmp(path, fronts[i], length) == 0) {
            address = find(path + length);
        }
    }
    return address;
}

tseed_query_problem_t tseed_tile_address_query(tseed_tile_address_t *address,
                                               const apr_table_t *query)
{
    static const struct {
        const char *name;
        read_t *read;
    } parameters[] = {
        {"LAYER", read_layer},       {"TILEMATRIXSET", read_gridset},
        {"TILEMATRIX", read_matrix}, {"TILEROW", read_row},
        {"TILECOL", read_x},
    };
    const char *values[sizeof(parameters) / sizeof(parameters[0])];
    const char *style = apr_table_get(query, "STYLE");

    *address = (tseed_tile_address_t){.kind = TSEED_ADDRESS_WMTS_TILE, .from_top = 1};
    if (style) {
        address->style = (tseed_piece_t){style, strlen(style)};
    }
    for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
        values[i] = apr_table_get(query, parameters[i].name);
        if (!values[i] || !*values[i]) {
            return (tseed_query_problem_t){"MissingParameterValue", parameters[i].name};
        }
    }
    for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
        if (!parameters[i].read(address, (tseed_piece_t){values[i], strlen(values[i])})) {
            return (tseed_query_problem_t){"InvalidParameterValue", parameters[i].name};
        }
    }
    return (tseed_query_problem_t){NULL, NULL};
}
