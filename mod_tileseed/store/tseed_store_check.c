/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Stores as administrators configure them: what would let two tiles share a file is refused; free
 * space; what a call has failed at. */
#include "store/tseed_store.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include <apr_strings.h>

#include "store/tseed_store_view.h"
#include "store/tseed_layout.h"

/* The free space of the file system that a store root is on. */

int64_t tseed_store_free(const char *root, apr_pool_t *scratch)
{
    char *path = apr_pstrdup(scratch, root);
    struct statvfs info;

    while (statvfs(path, &info) != 0) {
        const int is_absent = errno == ENOENT || errno == ENOTDIR;
        char *slash = strrchr(path, '/');

        if (!is_absent || !slash || slash == path) {
            return INT64_MAX;
        }
        *slash = '\0';
    }
    return (int64_t)info.f_bavail * (int64_t)info.f_frsize;
}

/* What a call has failed at: one tile, or a directory, which other tiles need as well. */

void tseed_view_blame(tseed_store_t *store, const char *path, size_t length, int is_tile)
{
    if (!store->blamed) {
        store->blamed = path;
        store->blamed_length = length;
        store->blames_tile = is_tile;
    }
}

/* Errors about a whole file system, or about the process, are not about one tile. */
void tseed_view_blame_tile(tseed_store_t *store, apr_status_t rv)
{
    if (rv == EISDIR || rv == ENOTDIR || rv == EEXIST || rv == ENOTEMPTY || rv == EBUSY ||
        rv == EACCES || rv == EPERM || rv == ELOOP || rv == EFBIG) {
        tseed_view_blame(store, store->path, strlen(store->path), 1);
    }
}

const char *tseed_store_obstacle(int *is_tile, tseed_store_t *store)
{
    const size_t root = strlen(store->config->root);
    const size_t length = store->blamed ? store->blamed_length : 0;
    char *place = store->place, *slash = place + root;
    struct stat st;

    apr_snprintf(place, root + 1 + store->longest_folder, "%s%s%.*s", store->config->root,
                 length ? "/" : "", (int)length, length ? store->blamed : "");
    *is_tile = store->blamed && store->blames_tile;
    for (char *next, end; !*is_tile && *slash == '/'; slash = next) {
        next = slash + 1 + strcspn(slash + 1, "/");
        end = *next;
        *next = '\0';
        if (lstat(place, &st) != 0) {
            *slash = '\0';
            break;
        }
        if (S_ISLNK(st.st_mode)) {
            break;
        }
        *next = end;
    }
    return place;
}

const char *tseed_store_check(const tseed_store_config_t *config, apr_pool_t *pool)
{
    if (!config->root || config->root[0] != '/') {
        return apr_psprintf(pool, "the store's directory '%s' must be an absolute path",
                            config->root ? config->root : "");
    }
    if (config->layout != TSEED_LAYOUT_TEMPLATE) {
        return NULL;
    }
    return tseed_template_check(config->path_template ? config->path_template : "", pool);
}

/* If a layer has several grid sets, formats or parameters, its template must name them. */
static const char *check_names(const tseed_layer_t *layer, apr_pool_t *pool)
{
    const struct {
        const char *placeholder, *what;
        int needed;
    } names[] = {
        {"gridset", "several grid sets", layer->subsets->nelts > 1},
        {"ext", "several formats", layer->formats->nelts > 1},
        {"hash", "parameters", layer->filters->nelts > 0},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].needed &&
            !tseed_template_holds(layer->store.path_template, names[i].placeholder)) {
            return apr_psprintf(pool,
                                "layer '%s' has %s, so its path template '%s' needs {%s} to keep "
                                "their tiles apart",
                                layer->name, names[i].what, layer->store.path_template,
                                names[i].placeholder);
        }
    }
    return NULL;
}

/* A quadkey has one binary digit a level for the column and one for the row. */
static const char *check_quadkey(const tseed_layer_t *layer, apr_pool_t *pool)
{
    for (int i = 0; i < layer->subsets->nelts; i++) {
        const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t);
        const tseed_gridset_t *gridset = subset->gridset;

        for (int z = subset->zoom_first; z <= subset->zoom_last && z < 63; z++) {
            if (gridset->columns[z] > INT64_C(1) << z || gridset->rows[z] > INT64_C(1) << z) {
                return apr_psprintf(pool,
                                    "layer '%s' can't use quadkeys with grid set '%s': level %d "
                                    "has %" APR_INT64_T_FMT " x %" APR_INT64_T_FMT
                                    " tiles, quadkeys tell at most 2^%d x 2^%d apart",
                                    layer->name, gridset->name, z, gridset->columns[z],
                                    gridset->rows[z], z, z);
            }
        }
    }
    return NULL;
}

const char *tseed_store_check_layer(const tseed_layer_t *layer, apr_pool_t *pool)
{
    const tseed_store_config_t *store = &layer->store;
    const char *error = NULL;

    if (store->layout == TSEED_LAYOUT_QUADKEY) {
        return check_quadkey(layer, pool);
    }
    if (store->layout == TSEED_LAYOUT_TEMPLATE) {
        error = check_names(layer, pool);
        if (!error && tseed_template_holds(store->path_template, "quadkey")) {
            error = check_quadkey(layer, pool);
        }
    }
    return error;
}
