/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tile sets that a cache holds, as far as the names of directories tell.
 *
 *      topp_states/EPSG_4326_10_f0023dc7bc347fee7a3a04dc797f2223f74e3448
 *
 * Any 40 digits of a name there may be a hash; they are one if a directory of that tile set is
 * called so.
 */
#include <apr_hash.h>
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/tseed_store.h"
#include "store/tseed_store_view.h"

#define HASH_LENGTH 40
#define FILE_MAX    16384

/* Borrowed for one call. */
typedef struct {
    tseed_tileset_t tileset; /* of the hash that is tried */
    int depth;               /* of the directories with hashes in their names */
    apr_hash_t *tried;
    apr_array_header_t *hashes;
    apr_pool_t *pool;
} search_t;

static const char *name_of(const tseed_tileset_t *tileset, const char *hash, int depth,
                           apr_pool_t *pool)
{
    tseed_tileset_t other = *tileset;
    tseed_pattern_t *pattern;
    char *name;

    other.hash = hash;
    pattern = tseed_layout_compile(&other, pool);
    name = apr_palloc(pool, tseed_layout_longest(pattern));
    tseed_layout_name(name, pattern, depth, 0, 0, 0);
    return name;
}

/* The first component that depends on the hash; -1 when it is no directory, or not the same for all
 * levels and tiles above. */
static int hash_depth(const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    const tseed_pattern_t *pattern = tseed_layout_compile(tileset, pool);
    int last = tseed_layout_depth(pattern) - 1;

    for (int depth = 0; depth < last; depth++) {
        if (strcmp(name_of(tileset, "a", depth, pool), name_of(tileset, "b", depth, pool)) != 0) {
            return depth;
        }
        if (tseed_layout_component_varies(pattern, depth)) {
            return -1;
        }
    }
    return -1;
}

static int names_a_level(const tseed_tileset_t *tileset, int depth, const char *name,
                         apr_pool_t *pool)
{
    const tseed_pattern_t *pattern = tseed_layout_compile(tileset, pool);

    for (int z = 0; z < tileset->subset->gridset->levels; z++) {
        tseed_range_t range = tseed_layout_level(pattern, z);

        if (tseed_layout_narrow(&range, pattern, depth, name)) {
            return 1;
        }
    }
    return 0;
}

static void try_hash(search_t *search, const char *name, const char *at)
{
    char *hash = apr_pstrndup(search->pool, at, HASH_LENGTH);

    search->tileset.hash = hash;
    if (!apr_hash_get(search->tried, hash, HASH_LENGTH) &&
        names_a_level(&search->tileset, search->depth, name, search->pool)) {
        apr_hash_set(search->tried, hash, HASH_LENGTH, hash);
        APR_ARRAY_PUSH(search->hashes, const char *) = hash;
    }
}

static void try_name(search_t *search, const char *name)
{
    for (const char *at = name; *at; at++) {
        if (strspn(at, "0123456789abcdef") >= HASH_LENGTH) {
            try_hash(search, name, at);
        }
    }
}

static apr_status_t read_folder(search_t *search, const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = folder >= 0 ? fdopendir(folder) : NULL;
    const struct dirent *entry;
    apr_status_t rv;

    if (!stream) {
        rv = errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
        if (folder >= 0) {
            close(folder);
        }
        return rv;
    }
    while ((errno = 0, entry = readdir(stream)) != NULL) {
        try_name(search, entry->d_name);
    }
    rv = APR_FROM_OS_ERROR(errno);
    closedir(stream);
    return rv;
}

apr_status_t tseed_store_hashes(apr_array_header_t **hashes, const tseed_tileset_t *tileset,
                                apr_pool_t *pool)
{
    search_t search = {.tileset = *tileset,
                       .depth = hash_depth(tileset, pool),
                       .tried = apr_hash_make(pool),
                       .hashes = apr_array_make(pool, 4, sizeof(const char *)),
                       .pool = pool};
    const char *path = tileset->layer->store.root;

    *hashes = search.hashes;
    if (search.depth < 0) {
        return APR_ENOTIMPL;
    }
    for (int depth = 0; depth < search.depth; depth++) {
        path = apr_pstrcat(pool, path, "/", name_of(tileset, NULL, depth, pool), NULL);
    }
    return read_folder(&search, path);
}

static const char *read_file(const char *path, apr_pool_t *pool)
{
    char text[FILE_MAX];
    struct stat found;
    ssize_t length;
    int fd;

    if (tseed_store_open_file(&fd, &found, AT_FDCWD, path) != APR_SUCCESS) {
        return NULL;
    }
    length = read(fd, text, sizeof(text));
    close(fd);
    return length >= 0 && (size_t)length < sizeof(text)
               ? apr_pstrmemdup(pool, text, (apr_size_t)length)
               : NULL;
}

/* In the directory that the layout names, or else of the layer's very name. */
const char *tseed_store_hash_file(const tseed_tileset_t *tileset, const char *hash,
                                  apr_pool_t *pool)
{
    const char *name = tileset->layer->name, *root = tileset->layer->store.root, *text;

    if (tileset->layer->store.layout != TSEED_LAYOUT_GEOWEBCACHE) {
        return NULL;
    }
    text = read_file(apr_pstrcat(pool, root, "/", name_of(tileset, NULL, 0, pool), "/parameters-",
                                 hash, ".properties", NULL),
                     pool);
    if (text || *name == '.' || strchr(name, '/')) {
        return text;
    }
    return read_file(apr_pstrcat(pool, root, "/", name, "/parameters-", hash, ".properties", NULL),
                     pool);
}
