/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Halving: tiles and the four tiles that cover each of them. */
#include "tiling/tseed_halving.h"

#include <apr_strings.h>
#include <math.h>

#define SLACK 0.01 /* of a pixel, over the whole level */

const char *tseed_halving_check(const tseed_gridset_t *gridset, int z, apr_pool_t *pool)
{
    double columns, rows, pixels, off;

    if (z < 0 || z + 1 >= gridset->levels) {
        return apr_psprintf(pool, "grid set '%s' has no level %d below level %d", gridset->name,
                            z + 1, z);
    }
    if (gridset->tile_width % 2 || gridset->tile_height % 2) {
        return apr_psprintf(pool,
                            "tiles of grid set '%s' have %dx%d pixels, even numbers are expected",
                            gridset->name, gridset->tile_width, gridset->tile_height);
    }
    columns = (double)gridset->columns[z] * gridset->tile_width;
    rows = (double)gridset->rows[z] * gridset->tile_height;
    pixels = columns > rows ? columns : rows;
    off = fabs(2 * gridset->resolution[z + 1] / gridset->resolution[z] - 1) * pixels;
    return off <= SLACK ? NULL
                        : apr_psprintf(pool,
                                       "the resolution of grid set '%s' does not halve from level "
                                       "%d to level %d",
                                       gridset->name, z, z + 1);
}

tseed_range_t tseed_halving_below(const tseed_gridset_t *gridset, const tseed_range_t *range)
{
    /* Rows are counted from the bottom. Where tiles are aligned to the top, the lowest row of the
     * next level may be missing, because it would lie below the extent. */
    const int64_t shift =
        gridset->top_left ? gridset->rows[range->z + 1] - 2 * gridset->rows[range->z] : 0;

    return (tseed_range_t){
        .z = range->z + 1,
        .minx = 2 * range->minx,
        .miny = 2 * range->miny + shift,
        .maxx = 2 * range->maxx + 1,
        .maxy = 2 * range->maxy + 1 + shift,
    };
}
