/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Addresses of tiles and of the documents that describe them. Pure functions over a table.
 *
 * Nothing is copied or decoded: the parts of an address are pieces of it. Whether a layer, a grid
 * set or a tile of that name exists is not looked at; a name is whatever stands in its segment.
 */
#ifndef TSEED_TILE_ADDRESS_H
#define TSEED_TILE_ADDRESS_H

#include <apr_tables.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    TSEED_ADDRESS_NONE, /* there is nothing at this address */
    TSEED_ADDRESS_TILE, /* a tile by numbers: xyz or TMS */
} tseed_address_kind_t;

typedef struct {
    const char *text; /* not terminated */
    size_t length;
} tseed_piece_t;

typedef struct {
    tseed_address_kind_t kind;
    tseed_piece_t layer, gridset; /* a grid set without length: the layer's first */
    tseed_piece_t format;         /* file extension */
    int64_t z, x, y;
    int from_top; /* the row is counted from the top */
} tseed_tile_address_t;

/* `path` is what follows the location, beginning with "/" or empty, decoded, without query. */
tseed_tile_address_t tseed_tile_address(const char *path);

#endif
