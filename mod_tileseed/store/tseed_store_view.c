/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Views: opening one, a tile's file, its remembered folders, the effects it counts. */
#include "store/tseed_store_view.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_deadline.h"
#include "base/tseed_digest.h"
#include "store/tseed_names.h"

/* How often a call begins again because a directory was removed under it. A remover that is busy
 * beside a seed can win several times in a row, yet not for ever: a directory with a file in it
 * stays. */
#define ATTEMPTS 16

const char *tseed_store_path(const tseed_tileset_t *tileset, int z, int64_t x, int64_t y,
                             apr_pool_t *pool)
{
    const tseed_pattern_t *pattern = tseed_layout_compile(tileset, pool);
    char *path = apr_palloc(pool, tseed_layout_longest(pattern));

    tseed_layout_path(path, pattern, z, x, y);
    return path;
}

static apr_status_t forget(void *store)
{
    tseed_folders_forget(&((tseed_store_t *)store)->folders);
    return APR_SUCCESS;
}

static size_t longest_folder(const tseed_store_t *store)
{
    size_t links = strlen(store->links) + sizeof("/");

    return links > store->longest ? links : store->longest;
}

apr_status_t tseed_store_open(tseed_store_t **store, const tseed_tileset_t *tileset, unsigned id,
                              apr_pool_t *pool)
{
    tseed_store_t *made;
    apr_pool_t *own;
    apr_status_t rv = apr_pool_create(&own, pool);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    made = apr_pcalloc(own, sizeof(*made));
    made->pool = own;
    made->config = &tileset->layer->store;
    made->pattern = tseed_layout_compile(tileset, own);
    made->longest = tseed_layout_longest(made->pattern);
    made->links = tseed_layout_links(tileset, own);
    made->shared_set =
        tseed_digest(made->links, strlen(made->links),
                     tseed_digest(made->config->root, strlen(made->config->root), 0));
    made->path = apr_pcalloc(own, longest_folder(made));
    made->other_path = apr_pcalloc(own, longest_folder(made));
    made->names = apr_palloc(own, made->longest * (size_t)tseed_layout_depth(made->pattern));
    tseed_leftover_name(made->leftover, id);
    made->block = 1;
    made->detachments = tseed_names_detachments;
    tseed_folders_init(&made->folders, made->config, longest_folder(made), own);
    apr_pool_cleanup_register(own, made, forget, apr_pool_cleanup_null);
    *store = made;
    return APR_SUCCESS;
}

void tseed_store_close(tseed_store_t *store)
{
    apr_pool_destroy(store->pool);
}

/* The first part of a path that is a link, in that path. */
static int cut_at_link(int root, char *path)
{
    struct stat st;

    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
            return 1;
        }
        *slash = '/';
    }
    return 0;
}

const char *tseed_store_link_met(tseed_store_t *store)
{
    int root;

    if (tseed_folders_find(&root, &store->folders, "", 0) != APR_SUCCESS) {
        return "";
    }
    if (cut_at_link(root, store->path)) {
        return store->path;
    }
    if (cut_at_link(root, store->other_path)) {
        return store->other_path;
    }
    apr_snprintf(store->other_path, longest_folder(store), "%s/", store->links);
    return cut_at_link(root, store->other_path) ? store->other_path : "";
}

/* Effects */

void tseed_store_block_set(tseed_store_t *store, int64_t block)
{
    store->block = block;
}

int64_t tseed_store_allocation(const tseed_store_t *store, size_t length)
{
    return ((int64_t)length + store->block - 1) / store->block * store->block;
}

tseed_effect_t tseed_store_gain(const tseed_store_t *store, size_t length)
{
    return (tseed_effect_t){1, 1, (int64_t)length, tseed_store_allocation(store, length)};
}

/* Whether the file was noted before. A directory is looked at again for each page in it. */
static int is_noted(tseed_store_t *store, const struct stat *st)
{
    if (!store->noted) {
        store->noted = apr_hash_make(store->pool);
    }
    if (apr_hash_get(store->noted, &st->st_ino, sizeof(st->st_ino))) {
        return 1;
    }
    apr_hash_set(store->noted, apr_pmemdup(store->pool, &st->st_ino, sizeof(st->st_ino)),
                 sizeof(st->st_ino), "");
    return 0;
}

void tseed_view_note_unremoved(tseed_store_t *store, int folder, const char *name, apr_status_t rv)
{
    struct stat st;
    tseed_effect_t file;
    int is_shared = 0;

    if (rv == APR_SUCCESS || rv == APR_INCOMPLETE) {
        return;
    }
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISREG(st.st_mode) || is_noted(store, &st) ||
            (st.st_nlink > 1 && tseed_view_is_shared(&is_shared, store, &st) == APR_SUCCESS &&
             is_shared)) {
            return;
        }
    } else if (errno == ENOENT) {
        return;
    } else {
        st.st_size = (off_t)store->written;
    }
    file = tseed_store_gain(store, (size_t)st.st_size);
    file.names = 0;
    tseed_effect_add(&store->unremoved, &file);
    store->unremoved_rv = rv;
}

void tseed_view_discard(tseed_store_t *store, int folder)
{
    tseed_view_note_unremoved(store, folder, store->leftover,
                              tseed_leftover_discard(folder, store->leftover));
}

apr_status_t tseed_store_unremoved_take(tseed_effect_t *left, tseed_store_t *store)
{
    *left = store->unremoved;
    store->unremoved = (tseed_effect_t){0};
    return left->files ? store->unremoved_rv : APR_SUCCESS;
}

tseed_tile_file_t tseed_view_file(const tseed_store_t *store, char *path, const tseed_tile_t *tile)
{
    char *slash;

    tseed_layout_path(path, store->pattern, tile->z, tile->x, tile->y);
    slash = strrchr(path, '/');
    return (tseed_tile_file_t){path, slash ? (size_t)(slash - path) : 0, slash ? slash + 1 : path};
}

/* The number first: what is detached from now on makes it stale again. */
static void forget_folders(tseed_store_t *store)
{
    store->detachments = tseed_names_detachments;
    tseed_folders_forget(&store->folders);
}

int tseed_view_begin_again(tseed_store_t *store, apr_status_t rv, int *attempts)
{
    if ((rv != ENOENT && rv != ESTALE && rv != EMFILE && rv != ENFILE) || ++*attempts >= ATTEMPTS) {
        return 0;
    }
    forget_folders(store);
    return 1;
}

void tseed_view_refresh(tseed_store_t *store)
{
    if (tseed_view_is_stale(store)) {
        forget_folders(store);
    }
}

int tseed_view_is_stopped(const tseed_stop_t *stop)
{
    return tseed_deadline_has_passed() || (stop && stop->ask(stop->baton));
}

void tseed_view_prune(tseed_store_t *store, const char *path)
{
    char *rest = strcpy(store->other_path, path);
    char *slash = rest;
    int root;

    if (tseed_folders_find(&root, &store->folders, "", 0) != APR_SUCCESS) {
        return;
    }
    while (slash && unlinkat(root, rest, AT_REMOVEDIR) == 0) {
        slash = strrchr(rest, '/');
        if (slash) {
            *slash = '\0';
        }
    }
}
