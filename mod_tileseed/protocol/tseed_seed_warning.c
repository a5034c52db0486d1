/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seed request, third part: what is odd about one that is accepted. */
#include <apr_strings.h>
#include <math.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_seed_request.h"
#include "tiling/tseed_range.h"

#define QUOTE_MAX 200
#define SLACK     0.01 /* of the extent: a box this far beyond is somebody's rounding */
#define LIST_MAX  400  /* bytes after which no more names are listed */

/* Tiles of a seed that nobody waits for: some years at a hundred a second. */
#define ENDLESS APR_INT64_C(10000000000)

static const char *say_bounds(const tseed_bounds_t *bounds, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%s,%s,%s,%s", tseed_text_number(bounds->minx, pool),
                        tseed_text_number(bounds->miny, pool),
                        tseed_text_number(bounds->maxx, pool),
                        tseed_text_number(bounds->maxy, pool));
}

static int read_box(tseed_bounds_t *box, const apr_array_header_t *coords)
{
    double *const fields[] = {&box->minx, &box->miny, &box->maxx, &box->maxy};

    for (int i = 0; i < 4; i++) {
        if (!coords || coords->nelts != 4 ||
            tseed_text_double(fields[i], APR_ARRAY_IDX(coords, i, const char *)) != 0) {
            return 0;
        }
    }
    return 1;
}

static int reaches_beyond(const tseed_bounds_t *box, const tseed_bounds_t *extent)
{
    const double x = SLACK * (extent->maxx - extent->minx);
    const double y = SLACK * (extent->maxy - extent->miny);

    return box->minx < extent->minx - x || box->miny < extent->miny - y ||
           box->maxx > extent->maxx + x || box->maxy > extent->maxy + y;
}

/* Where a box lies, if that is odd. A box that reaches beyond the extent of the layer alone is
 * usual: many ask for the whole world. NULL: there is nothing to say. */
static const char *warn_of_box(const tseed_bounds_t *box, const tseed_task_t *task,
                               const tseed_subset_t *subset, apr_pool_t *pool)
{
    const tseed_gridset_t *gridset = subset->gridset;
    const char *where = apr_psprintf(pool, "bounds %s", say_bounds(box, pool));
    const char *extent = say_bounds(&gridset->extent, pool);

    if (tseed_bounds_in_degrees(box, &gridset->extent)) {
        return apr_psprintf(pool,
                            "%s look like degrees, grid set %s has other units and the extent %s",
                            where, gridset->name, extent);
    }
    if (!task->has_area) {
        return apr_psprintf(pool, "%s lie outside of layer %s in grid set %s, which has %s%s",
                            where, task->layer, gridset->name, say_bounds(&subset->extent, pool),
                            "; no tiles");
    }
    return reaches_beyond(box, &gridset->extent)
               ? apr_psprintf(pool, "%s reach beyond the extent %s of grid set %s and were cut",
                              where, extent, gridset->name)
               : NULL;
}

static const char *warn_of_name(const char *name, const tseed_task_t *task, apr_pool_t *pool)
{
    return name && strcmp(name, task->layer) != 0
               ? apr_psprintf(pool, "name %s ignored, layer is %s",
                              tseed_text_quote(name, QUOTE_MAX, pool), task->layer)
               : NULL;
}

static const char *warn_of_members(const char *ignored, apr_pool_t *pool)
{
    return *ignored ? apr_pstrcat(pool, "ignored: ", tseed_members_joined(ignored, pool), NULL)
                    : NULL;
}

/* Whether that is how the level was asked for, if it was. */
static int is_level(const char *asked, int level)
{
    int64_t number;

    return !asked ||
           (tseed_text_int64(&number, asked, INT64_MIN, INT64_MAX) == 0 && number == level);
}

/* Whether a level is above those of a task without tiles, which are the layer's last one. */
static int is_above(const char *asked, const tseed_task_t *task)
{
    int64_t number;

    return asked && !task->has_area && task->type == TSEED_TRUNCATE &&
           tseed_text_int64(&number, asked, INT64_MIN, INT64_MAX) == 0 && number > task->zoom_stop;
}

static const char *warn_of_levels_above(const char *first, const tseed_task_t *task,
                                        apr_pool_t *pool)
{
    return is_above(first, task)
               ? apr_psprintf(pool,
                              "zoomStart %s is above %d, the last level of layer %s in %s; "
                              "no tiles",
                              tseed_text_quote(first, QUOTE_MAX, pool), task->zoom_stop,
                              task->layer, task->gridset)
               : NULL;
}

/* A level that was asked for and is cut to the layer's `first` or last one. NULL: it was not. */
static const char *warn_of_level(const char *asked, int first, const tseed_task_t *task,
                                 apr_pool_t *pool)
{
    const int level = first ? task->zoom_start : task->zoom_stop;

    return is_level(asked, level) || is_above(asked, task)
               ? NULL
               : apr_psprintf(pool, "%s %s %s to %d, the %s level of layer %s in %s",
                              first ? "zoomStart" : "zoomStop",
                              tseed_text_quote(asked, QUOTE_MAX, pool),
                              first ? "raised" : "reduced", level, first ? "first" : "last",
                              task->layer, task->gridset);
}

/* Whether the task leaves out tiles of the next level that its derived tiles of level z need. */
static int leaves_out(const tseed_positions_t *positions, const tseed_subset_t *subset, int z)
{
    const tseed_range_t *range = &positions->range[z];
    tseed_range_t needed, there, known;

    if (!tseed_derived_has(&positions->derived, z) || tseed_range_count(range) == 0) {
        return 0;
    }
    needed = tseed_halving_below(subset->gridset, range);
    there = tseed_range_of(subset->gridset, z + 1, &subset->extent);
    needed = tseed_range_intersect(&needed, &there);
    known = tseed_range_intersect(&needed, &positions->range[z + 1]);
    return tseed_range_count(&known) < tseed_range_count(&needed);
}

/* The highest level that a task's derived levels need more of than the task seeds. NULL: none. */
static const char *warn_of_derived(const tseed_task_t *task, const tseed_subset_t *subset,
                                   apr_pool_t *pool)
{
    const tseed_shape_t shape = {task->zoom_start, task->zoom_stop, 1, 1};
    tseed_positions_t positions;

    if (!task->has_area) {
        return NULL;
    }
    tseed_positions_init_derived(&positions, subset->gridset, &task->bounds, &shape,
                                 &task->derived);
    for (int z = task->zoom_stop; z >= task->zoom_start; z--) {
        if (leaves_out(&positions, subset, z)) {
            return apr_psprintf(pool,
                                "level %d is made of tiles of level %d that the request does not "
                                "seed: what is missing of them fails",
                                z, z + 1);
        }
    }
    return NULL;
}

/* A seed down to the last level that nobody has named. */
static const char *warn_of_size(const tseed_seed_document_t *document, const tseed_task_t *task,
                                apr_pool_t *pool)
{
    return task->type != TSEED_TRUNCATE && !document->zoom_stop && task->tiles_total >= ENDLESS
               ? apr_psprintf(pool,
                              "%" APR_INT64_T_FMT " tiles, because zoomStop is not given and the "
                              "last level of layer %s in %s is %d: a lower zoomStop or bounds make "
                              "them fewer",
                              task->tiles_total, task->layer, task->gridset, task->zoom_stop)
               : NULL;
}

/* ---- what a truncate leaves ---- */

/* Adds a name to a list that begins with `title`. */
static void add_name(const char **list, const char *title, const char *name, apr_pool_t *pool)
{
    if (!*list) {
        *list = apr_pstrcat(pool, title, " ", name, NULL);
    } else if (strlen(*list) < LIST_MAX) {
        *list = apr_pstrcat(pool, *list, ", ", name, NULL);
    }
}

static const char *other_gridsets(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    const apr_array_header_t *subsets = tileset->layer->subsets;
    const char *list = NULL;

    for (int i = 0; i < subsets->nelts; i++) {
        const tseed_subset_t *subset = &APR_ARRAY_IDX(subsets, i, tseed_subset_t);

        if (subset != tileset->subset) {
            add_name(&list, "gridSetId", subset->gridset->name, pool);
        }
    }
    return list;
}

static const char *other_formats(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    const apr_array_header_t *formats = tileset->layer->formats;
    const char *list = NULL;

    for (int i = 0; i < formats->nelts; i++) {
        const tseed_format_t *format = &APR_ARRAY_IDX(formats, i, tseed_format_t);

        if (format != tileset->format) {
            add_name(&list, "format", format->mime, pool);
        }
    }
    return list;
}

/* Parameters that were not given and can have other values than their defaults. */
static const char *other_values(const tseed_tileset_t *tileset, const apr_table_t *given,
                                apr_pool_t *pool)
{
    const apr_array_header_t *filters = tileset->layer->filters;
    const char *list = NULL;

    for (int i = 0; i < filters->nelts; i++) {
        const tseed_filter_t *filter = &APR_ARRAY_IDX(filters, i, tseed_filter_t);

        if (!(given && apr_table_get(given, filter->name)) &&
            (tseed_filter_is_open(filter) || filter->values->nelts > 0)) {
            add_name(&list, "other values of", filter->name, pool);
        }
    }
    return list;
}

/* The tile sets that a truncate leaves, though it does not say that they are to stay. */
static const char *warn_of_tilesets(const tseed_seed_document_t *document,
                                    const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    const char *const others[] = {
        document->gridset || document->srs ? NULL : other_gridsets(tileset, pool),
        document->format ? NULL : other_formats(tileset, pool),
        other_values(tileset, document->parameters, pool),
    };
    const char *list = NULL;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (others[i]) {
            list = list ? apr_pstrcat(pool, list, "; ", others[i], NULL) : others[i];
        }
    }
    return list ? apr_psprintf(pool, "only tiles of %s, %s are removed, these stay: %s",
                               tileset->subset->gridset->name, tileset->format->mime, list)
                : NULL;
}

const char *tseed_seed_document_warning(const tseed_seed_document_t *document,
                                        const tseed_task_t *task, const tseed_tileset_t *tileset,
                                        apr_pool_t *pool)
{
    tseed_bounds_t box;
    const int has_box = !is_above(document->zoom_start, task) && read_box(&box, document->coords);
    const char *warning = NULL;
    const char *const parts[] = {
        warn_of_members(task->ignored, pool),
        warn_of_name(document->name, task, pool),
        warn_of_level(document->zoom_start, 1, task, pool),
        warn_of_level(document->zoom_stop, 0, task, pool),
        warn_of_levels_above(document->zoom_start, task, pool),
        has_box ? warn_of_box(&box, task, tileset->subset, pool) : NULL,
        warn_of_derived(task, tileset->subset, pool),
        warn_of_size(document, task, pool),
        task->type == TSEED_TRUNCATE ? warn_of_tilesets(document, tileset, pool) : NULL,
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i]) {
            warning = warning ? apr_pstrcat(pool, warning, "; ", parts[i], NULL) : parts[i];
        }
    }
    return warning;
}
