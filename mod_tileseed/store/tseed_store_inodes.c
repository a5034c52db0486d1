/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The inodes of a tile set's masters, as a view knows them: read once, then kept up to date by the
 * process's log of changes. */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "store/tseed_store_view.h"

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

    *is_shared = rv == APR_SUCCESS && st->st_dev == store->shared_device &&
                 apr_hash_get(store->shared_inodes, &st->st_ino, sizeof(st->st_ino)) != NULL;
    return rv;
}
