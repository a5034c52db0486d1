/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A layer and its tile set for the tests of store/, made by hand. */
#ifndef TILESET_FIXTURE_H
#define TILESET_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "layer/tseed_tileset.h"

typedef struct {
    tseed_gridset_t gridset;
    tseed_subset_t subset;
    tseed_format_t format;
    tseed_layer_t layer;
    tseed_tileset_t tileset;
} tileset_fixture_t;

/* Level z has `across` x 2^z columns and 2^z rows. */
static inline void tileset_fixture_gridset(tileset_fixture_t *fixture, const char *name, int levels,
                                           int64_t across)
{
    tseed_gridset_t *gridset = &fixture->gridset;

    gridset->name = name;
    gridset->levels = levels;
    for (int z = 0; z < levels; z++) {
        gridset->columns[z] = across << z;
        gridset->rows[z] = INT64_C(1) << z;
    }
    fixture->subset.gridset = gridset;
    fixture->subset.zoom_last = levels - 1;
}

/* Layer topp:states in web mercator, PNG, without parameters. */
static inline void tileset_fixture_init(tileset_fixture_t *fixture, const char *root,
                                        tseed_layout_t layout)
{
    *fixture = (tileset_fixture_t){0};
    tileset_fixture_gridset(fixture, "EPSG:900913", 31, 1);
    fixture->format.mime = "image/png";
    fixture->format.extension = "png";
    fixture->layer.name = "topp:states";
    fixture->layer.store.root = root;
    fixture->layer.store.layout = layout;
    fixture->layer.store.mode = 0644;
    fixture->layer.store.dirmode = 0755;
    fixture->tileset.layer = &fixture->layer;
    fixture->tileset.subset = &fixture->subset;
    fixture->tileset.format = &fixture->format;
}

#endif
