/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The gutter, cut at the grid set's edges. */
#include "tiling/tseed_margin.h"

/* No more than the pixels of so many tiles; tiles are at least a pixel wide. */
static int within(int gutter, int64_t tiles, int tile_pixels)
{
    return tiles >= gutter || tiles * tile_pixels >= gutter ? gutter : (int)(tiles * tile_pixels);
}

tseed_margin_t tseed_margin_of(const tseed_gridset_t *gridset, const tseed_range_t *whole,
                               int gutter, int is_cut)
{
    const int width = gridset->tile_width, height = gridset->tile_height;

    if (!is_cut || gutter == 0) {
        return (tseed_margin_t){gutter, gutter, gutter, gutter};
    }
    return (tseed_margin_t){
        .left = within(gutter, whole->minx, width),
        .right = within(gutter, gridset->columns[whole->z] - 1 - whole->maxx, width),
        .bottom = within(gutter, whole->miny, height),
        .top = within(gutter, gridset->rows[whole->z] - 1 - whole->maxy, height),
    };
}
