/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Which directory a failed write is about, for the log. */
#include <apr_strings.h>
#include <string.h>
#include <unistd.h>

#include "store/tseed_store.h"

const char *tseed_store_obstacle(const tseed_tileset_t *tileset, const tseed_tile_t *tile,
                                 apr_pool_t *pool)
{
    const char *root = tileset->layer->store.root;
    char *path = apr_pstrcat(pool, root, "/",
                             tseed_store_path(tileset, tile->z, tile->x, tile->y, pool), NULL);
    char *slash = path + strlen(root);
    const char *deepest = root;

    for (; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (access(path, F_OK) != 0) {
            return deepest;
        }
        deepest = apr_pstrdup(pool, path);
        *slash = '/';
    }
    return deepest;
}
