/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Addresses of tiles: one row a form, a reader for each of its segments. */
#include "protocol/tseed_tile_address.h"

#include <string.h>

#define SEGMENTS_MAX 7

/* 0: the piece can't stand in that segment. */
typedef int read_t(tseed_tile_address_t *address, tseed_piece_t piece);

/* Digits alone, as many as surely fit. */
static int read_number(int64_t *value, tseed_piece_t piece)
{
    *value = 0;
    for (size_t i = 0; i < piece.length; i++) {
        if (piece.text[i] < '0' || piece.text[i] > '9') {
            return 0;
        }
        *value = *value * 10 + (piece.text[i] - '0');
    }
    return piece.length > 0 && piece.length <= 18;
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

typedef struct {
    tseed_address_kind_t kind;
    int from_top;
    const char *prefix;
    read_t *readers[SEGMENTS_MAX]; /* NULL at the end */
} row_t;

static const row_t rows[] = {
    {TSEED_ADDRESS_TILE, 1, "/", {read_layer, read_gridset, read_z, read_x, read_y}},
    {TSEED_ADDRESS_TILE, 0, "/tms/", {read_layer, read_gridset, read_z, read_x, read_y}},
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

tseed_tile_address_t tseed_tile_address(const char *path)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tseed_tile_address_t address = {.kind = rows[i].kind, .from_top = rows[i].from_top};

        if (fits(&address, &rows[i], path)) {
            return address;
        }
    }
    return (tseed_tile_address_t){.kind = TSEED_ADDRESS_NONE};
}
