/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Layouts: which file a tile goes to, and which tile a file is. Pure functions, no file system
 * access.
 *
 * Each layout is a template: text, names (layer, grid set, parameter hash, extension) and fields
 * (parts of a tile's address). A pattern is a template with one tile set's names filled in, cut at
 * its slashes into components: depth 0 is the first directory below the root, the last depth is the
 * file.
 *
 *      topp_states / EPSG_4326_10 / 02_09 / 0168_0611.jpeg
 *      depth 0       depth 1        2       3
 *
 * A component divides the tiles below its directory into cells: a cell is a block of columns and
 * rows whose tiles share the component's name. Cells nest, and a cell of the last depth holds one
 * tile. So a walk narrows a range down name by name.
 *
 * In names ':' and ' ' become '_', as in GeoWebCache. '/' becomes "%2F" and a leading '.' becomes
 * "%2E", so that no name can leave the root. All other bytes stay, UTF-8 among them.
 *
 * Rows are counted from the top by xyz, arcgis, quadkey and {y}; from the bottom by geowebcache,
 * tms, tilecache and {-y}.
 */
#ifndef TSEED_LAYOUT_H
#define TSEED_LAYOUT_H

#include <apr_pools.h>
#include <apr_tables.h>
#include <stddef.h>

#include "layer/tseed_tileset.h"
#include "tiling/tseed_range.h"

/* Files that are being written begin and end so; no layout makes such a name. */
#define TSEED_LEFTOVER_PREFIX ".tseed-"
#define TSEED_LEFTOVER_SUFFIX ".tmp"

/* The store's own files, which are no tiles, stand below this directory of the root. */
#define TSEED_HIDDEN ".tileseed"

/* Levels that were renamed away (tseed_store_detach.c) stand below this one. */
#define TSEED_REMOVED TSEED_HIDDEN "/removed"
/* Tiles on their way from one host to another (fleet/tseed_portions.h). */
#define TSEED_PACKS TSEED_HIDDEN "/packs"

typedef struct tseed_pattern_t tseed_pattern_t;

/* The pattern of a tile set whose configuration has been checked. In `pool`; `tileset` outlives
 * it. */
tseed_pattern_t *tseed_layout_compile(const tseed_tileset_t *tileset, apr_pool_t *pool);

/* All tiles of a level. */
tseed_range_t tseed_layout_level(const tseed_pattern_t *pattern, int z);

/* The text that every path of the pattern begins with; may be empty. In `pool`. */
const char *tseed_layout_prefix(const tseed_pattern_t *pattern, apr_pool_t *pool);

/* Number of components. */
int tseed_layout_depth(const tseed_pattern_t *pattern);

/* Whether a component is not the same for all tiles of the tile set. */
int tseed_layout_component_varies(const tseed_pattern_t *pattern, int depth);

/* Depth of the deepest directory that all tiles of a level share with no tile of another level, or
 * -1 when there is none. */
int tseed_layout_level_depth(const tseed_pattern_t *pattern);

/* Bytes that hold any path of the pattern and its NUL. */
size_t tseed_layout_longest(const tseed_pattern_t *pattern);

/* Writes a tile's component, or its whole relative path, and returns the length without the NUL. */
size_t tseed_layout_name(char *name, const tseed_pattern_t *pattern, int depth, int z, int64_t x,
                         int64_t y);
size_t tseed_layout_path(char *path, const tseed_pattern_t *pattern, int z, int64_t x, int64_t y);

/* Whether some tile of the range has exactly `name` at that depth; then narrows the range to the
 * tiles that have it. The caller has narrowed the range by the names above. */
int tseed_layout_narrow(tseed_range_t *range, const tseed_pattern_t *pattern, int depth,
                        const char *name);

/* Columns and rows of a cell; cells are aligned to the bottom-left. INT64_MAX: not divided. */
void tseed_layout_cell(int64_t *columns, int64_t *rows, const tseed_pattern_t *pattern, int depth,
                       int z);

/* The tile whose path this is exactly; 0 when it is none of the tile set's. */
int tseed_layout_tile(int *z, int64_t *x, int64_t *y, const tseed_pattern_t *pattern,
                      const char *path);

/* The directory, below the root, of the files that a tile set's uniform tiles share. In `pool`. */
const char *tseed_layout_links(const tseed_tileset_t *tileset, apr_pool_t *pool);

/* Lives in the pool of its compilation, immutable. */
struct tseed_pattern_t {
    const tseed_gridset_t *gridset;
    apr_array_header_t *parts; /* of tseed_part_t */
    apr_array_header_t *ends;  /* of int: component i is the parts before ends[i] */
    size_t longest;
};

/* Whether {name} occurs in the template. */
int tseed_template_holds(const char *path_template, const char *name);

/* Judges an administrator's template: relative, no component that is empty, "." or "..", known
 * placeholders only, and enough of them, kept apart, that no two tiles of a tile set share a file.
 * NULL or a sentence. */
const char *tseed_template_check(const char *path_template, apr_pool_t *pool);

#endif
