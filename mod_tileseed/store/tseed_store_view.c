/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Views: opening one, a tile's file, remembered folders, shared inodes, the effects it counts. */
#include "store/tseed_store_view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <apr_strings.h>

#include "base/tseed_digest.h"
#include "store/tseed_names.h"

/* The inodes of a tile set's masters, as a view knows them: read once, then kept up to date by the
 * process's log of changes. */

/* The number of masters made and removed so far, and the last of them. A thread that holds the lock
 * alone writes them. Others read without the lock; the number tells them whether an entry was
 * overwritten meanwhile. */
#define LOGGED 1024U
typedef struct {
    _Atomic uint64_t set, device, inode; /* `set`: of tile sets, see shared_set */
    _Atomic int gone;
} change_t;
static change_t changed[LOGGED];
static _Atomic unsigned changes;

void tseed_view_shared_changed_locked(const tseed_store_t *store, const struct stat *st, int gone)
{
    change_t *change = &changed[changes % LOGGED];

    change->set = store->shared_set;
    change->device = st->st_dev;
    change->inode = st->st_ino;
    change->gone = gone;
    changes++;
}

/* The entry that is written next stays the same. */
void tseed_store_shared_forget(void)
{
    changes += LOGGED;
}

static void note_inode(tseed_store_t *store, ino_t inode)
{
    ino_t *key = apr_pmemdup(store->shared_pool, &inode, sizeof(inode));

    apr_hash_set(store->shared_inodes, key, sizeof(*key), key);
}

/* The device is a file's: on an overlay of two file systems the directory has another one. */
static apr_status_t read_names(tseed_store_t *store, DIR *stream)
{
    const struct dirent *entry;
    struct stat st;
    int has_device = 0;

    while ((errno = 0, entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] != '.') {
            note_inode(store, entry->d_ino);
            has_device =
                has_device || fstatat(dirfd(stream), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0;
        }
    }
    store->shared_device = has_device ? st.st_dev : 0;
    return APR_FROM_OS_ERROR(errno);
}

/* Reads all of them. The number first: what is made from now on is caught up on. */
static apr_status_t read_inodes(tseed_store_t *store)
{
    unsigned begun = changes;
    int links;
    DIR *stream;
    apr_status_t rv =
        tseed_folders_find(&links, &store->folders, store->links, strlen(store->links));

    apr_pool_clear(store->shared_pool);
    store->shared_inodes = apr_hash_make(store->shared_pool);
    if (rv == APR_SUCCESS) {
        stream = tseed_folders_stream(links);
        rv = stream ? read_names(store, stream) : APR_FROM_OS_ERROR(errno);
        if (stream) {
            closedir(stream);
        }
    }
    store->shared_is_read = rv == APR_SUCCESS || APR_STATUS_IS_ENOENT(rv);
    store->shared_changes = begun;
    return store->shared_is_read ? APR_SUCCESS : rv;
}

/* Takes over what has changed since; 0: that is more than the log keeps. */
static int catch_up(tseed_store_t *store)
{
    const unsigned begun = store->shared_changes, now = changes;

    for (unsigned i = begun; i != now && now - begun < LOGGED; i++) {
        const change_t *change = &changed[i % LOGGED];
        ino_t inode = (ino_t)change->inode;

        if (change->set == store->shared_set && change->gone) {
            apr_hash_set(store->shared_inodes, &inode, sizeof(inode), NULL);
        } else if (change->set == store->shared_set) {
            note_inode(store, inode);
            store->shared_device = (dev_t)change->device;
        }
    }
    store->shared_changes = now;
    return changes - begun < LOGGED;
}

static apr_status_t know_inodes(tseed_store_t *store)
{
    if (!store->shared_pool) {
        apr_pool_create(&store->shared_pool, store->pool);
    }
    if (store->shared_is_read && (store->shared_changes == changes || catch_up(store))) {
        return APR_SUCCESS;
    }
    return read_inodes(store);
}

apr_status_t tseed_view_is_shared(int *is_shared, tseed_store_t *store, const struct stat *st)
{
    apr_status_t rv = know_inodes(store);

    if (rv != APR_SUCCESS) {
        tseed_view_blame(store, store->links, strlen(store->links), 0);
    }
    *is_shared = rv == APR_SUCCESS && st->st_dev == store->shared_device &&
                 apr_hash_get(store->shared_inodes, &st->st_ino, sizeof(st->st_ino)) != NULL;
    return rv;
}

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
    made->longest_folder = strlen(made->links) + sizeof("/");
    made->longest_folder =
        made->longest_folder > made->longest ? made->longest_folder : made->longest;
    made->path = apr_pcalloc(own, made->longest_folder);
    made->other_path = apr_pcalloc(own, made->longest_folder);
    made->place = apr_palloc(own, strlen(made->config->root) + 1 + made->longest_folder);
    made->names = apr_palloc(own, made->longest * (size_t)tseed_layout_depth(made->pattern));
    tseed_leftover_name(made->leftover, id);
    made->block = 1;
    made->detachments = tseed_names_detachments;
    tseed_folders_init(&made->folders, made->config, made->longest_folder, own);
    apr_pool_cleanup_register(own, made, forget, apr_pool_cleanup_null);
    *store = made;
    return APR_SUCCESS;
}

void tseed_store_close(tseed_store_t *store)
{
    apr_pool_destroy(store->pool);
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
    store->blamed = NULL;
    forget_folders(store);
    return 1;
}

void tseed_view_begin(tseed_store_t *store)
{
    store->blamed = NULL;
    if (tseed_view_is_stale(store)) {
        forget_folders(store);
    }
}

void tseed_view_path(tseed_store_t *store, const tseed_tile_t *tile, int depth)
{
    char *out = store->path;

    for (int i = 0; i <= depth; i++) {
        if (i > 0) {
            *out++ = '/';
        }
        out += tseed_layout_name(out, store->pattern, i, tile->z, tile->x, tile->y);
    }
}

int tseed_view_is_stopped(const tseed_stop_t *stop)
{
    return tseed_store_is_over() || (stop && stop->ask(stop->baton));
}

void tseed_view_drop_empty(tseed_store_t *store, const char *path)
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
