/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Owners: the paths of a tile set, read by the patterns of all that is configured near its root. */
#include "store/tseed_owners.h"

#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "layer/tseed_place.h"
#include "protocol/tseed_parameters.h"
#include "store/tseed_layout.h"
#include "store/tseed_store.h"

/* A configured tile set. */
typedef struct {
    tseed_tileset_t tileset;
    const tseed_pattern_t *pattern; /* NULL: any file may be its tile */
    const char *real;               /* its root without symbolic links */
} owner_t;

struct tseed_owners_t {
    const tseed_tileset_t *tileset;
    const tseed_pattern_t *pattern;
    const char *real;         /* the root of the tile set without symbolic links */
    apr_array_header_t *list; /* of owner_t */
    char *path;               /* room for an absolute path, which begins with `real` and a slash */
    size_t begin;             /* of what is behind them */
    apr_pool_t *pool;
};

const char *tseed_owners_restore(tseed_tileset_t *tileset, const tseed_tileset_record_t *record,
                                 apr_pool_t *pool)
{
    const char *problem = tseed_place_restore(tileset, record, pool);

    if (!problem) {
        tileset->parameters = tseed_parameters_load(record->parameters, pool);
        problem = tileset->parameters ? tseed_store_check(&tileset->layer->store, pool)
                                      : "its parameters can't be read";
    }
    return problem;
}

/* *real: the path itself when there is no such directory; without slashes at its end. */
static apr_status_t real_path(const char **real, const char *path, apr_pool_t *pool)
{
    char *found = realpath(path, NULL);
    const apr_status_t rv =
        found || errno == ENOENT || errno == ENOTDIR ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    char *copy = apr_pstrdup(pool, found ? found : path);
    size_t length = strlen(copy);

    while (length > 0 && copy[length - 1] == '/') {
        copy[--length] = '\0';
    }
    free(found);
    *real = copy;
    return rv;
}

/* One directory may have several paths without links, by mounts. */
static int is_one(const char *path, const char *other)
{
    struct stat a, b;

    return strcmp(path, other) == 0 || (stat(path, &a) == 0 && stat(other, &b) == 0 &&
                                        a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* The part of the path behind the directory; NULL: the path is not below it. */
static const char *below(const char *directory, const char *path)
{
    const size_t length = strlen(directory);

    return strncmp(path, directory, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

static void add(tseed_owners_t *owners, const tseed_tileset_t *tileset, const char *real)
{
    owner_t *owner = apr_array_push(owners->list);

    owner->tileset = *tileset;
    owner->pattern = tseed_layout_compile(tileset, owners->pool);
    owner->real = real;
}

/* The tile set with default parameters, and the one with the parameters that the files are of. */
static void add_both(tseed_owners_t *owners, const tseed_layer_t *layer,
                     const tseed_subset_t *subset, const tseed_format_t *format, const char *real)
{
    const char *hash = owners->tileset->hash;
    tseed_tileset_t tileset;

    if (!tseed_tileset_init(&tileset, layer, subset, format, NULL, owners->pool)) {
        add(owners, &tileset, real);
    }
    if (hash &&
        !tseed_tileset_init(&tileset, layer, subset, format, owners->tileset->parameters,
                            owners->pool) &&
        tileset.hash && strcmp(tileset.hash, hash) == 0) {
        add(owners, &tileset, real);
    }
}

/* Whether a tile set of the layer with some other values of its parameters may have the files: its
 * hash may stand in the old template, or in the old root, as a name. */
static int may_print_any_hash(const tseed_owners_t *owners, const tseed_layer_t *layer,
                              const char *real)
{
    return layer->filters->nelts > 0 &&
           (owners->tileset->layer->store.layout == TSEED_LAYOUT_TEMPLATE ||
            strcmp(real, owners->real) != 0);
}

static apr_status_t add_layer(tseed_owners_t *owners, const tseed_layer_t *layer)
{
    const char *real;
    const apr_status_t rv = real_path(&real, layer->store.root, owners->pool);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (is_one(real, owners->real)) {
        real = owners->real;
    } else if (!below(real, owners->real) && !below(owners->real, real)) {
        return APR_SUCCESS;
    }
    if (may_print_any_hash(owners, layer, real)) {
        *(owner_t *)apr_array_push(owners->list) =
            (owner_t){.tileset.layer = layer, .pattern = NULL, .real = real};
        return APR_SUCCESS;
    }
    for (int s = 0; s < layer->subsets->nelts; s++) {
        for (int f = 0; f < layer->formats->nelts; f++) {
            add_both(owners, layer, &APR_ARRAY_IDX(layer->subsets, s, tseed_subset_t),
                     &APR_ARRAY_IDX(layer->formats, f, tseed_format_t), real);
        }
    }
    return APR_SUCCESS;
}

apr_status_t tseed_owners_create(tseed_owners_t **made, const char **obstacle,
                                 const tseed_tileset_t *tileset, const tseed_catalog_t *catalog,
                                 apr_pool_t *pool)
{
    tseed_owners_t *owners = *made = apr_pcalloc(pool, sizeof(*owners));
    apr_status_t rv = real_path(&owners->real, tileset->layer->store.root, pool);

    *obstacle = tileset->layer->store.root;
    owners->pool = pool;
    owners->tileset = tileset;
    owners->pattern = tseed_layout_compile(tileset, pool);
    owners->list = apr_array_make(pool, 4, sizeof(owner_t));
    owners->begin = strlen(owners->real) + 1;
    owners->path = apr_palloc(pool, owners->begin + tseed_layout_longest(owners->pattern));
    memcpy(owners->path, owners->real, owners->begin - 1);
    owners->path[owners->begin - 1] = '/';
    for (int i = 0; rv == APR_SUCCESS && i < catalog->order->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(catalog->order, i, const tseed_layer_t *);

        *obstacle = layer->store.root;
        rv = add_layer(owners, layer);
    }
    return rv;
}

const char *tseed_owners_of(tseed_owners_t *owners, const tseed_tile_t *tile)
{
    const char *name = NULL;

    tseed_layout_path(owners->path + owners->begin, owners->pattern, tile->z, tile->x, tile->y);
    for (int i = 0; !name && i < owners->list->nelts; i++) {
        const owner_t *owner = &APR_ARRAY_IDX(owners->list, i, owner_t);
        const char *path = below(owner->real, owners->path);
        tseed_tile_t other;

        if (!owner->pattern ||
            (path && tseed_layout_tile(&other.z, &other.x, &other.y, owner->pattern, path))) {
            name = owner->tileset.layer->name;
        }
    }
    return name;
}

const char *tseed_owners_of_any(tseed_owners_t *owners)
{
    const tseed_gridset_t *gridset = owners->tileset->subset->gridset;
    const char *name = NULL;

    for (int z = 0; !name && z < gridset->levels; z++) {
        name = tseed_owners_of(owners, &(tseed_tile_t){z, 0, 0});
        if (!name) {
            name = tseed_owners_of(owners, &(tseed_tile_t){z, 0, gridset->rows[z] - 1});
        }
    }
    return name;
}

int tseed_owners_use(const tseed_owners_t *owners, int *is_shared)
{
    const char *links = tseed_layout_links(owners->tileset, owners->pool);
    int is_used = 0;

    *is_shared = 0;
    for (int i = 0; i < owners->list->nelts; i++) {
        const owner_t *owner = &APR_ARRAY_IDX(owners->list, i, owner_t);

        if (strcmp(owner->real, owners->real) == 0) {
            is_used = 1;
            *is_shared |= !owner->pattern ||
                          strcmp(tseed_layout_links(&owner->tileset, owners->pool), links) == 0;
        }
    }
    return is_used;
}
