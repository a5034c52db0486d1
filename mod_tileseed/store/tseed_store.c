/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The store: looks whether tiles are there and puts them.
 *
 * System calls a tile once the directory is known: 4 for a put where nothing was (open, write,
 * close, rename), one more where a tile was; 1 for a look.
 */
#include "store/tseed_store.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_digest.h"
#include "store/tseed_store_view.h"
#include "store/tseed_watch.h"

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

static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
_Atomic unsigned tseed_view_detachments;

void tseed_view_hold(void)
{
    pthread_rwlock_rdlock(&lock);
}

void tseed_view_hold_alone(void)
{
    pthread_rwlock_wrlock(&lock);
}

void tseed_view_release(void)
{
    pthread_rwlock_unlock(&lock);
}

static apr_status_t forget(void *store)
{
    tseed_folders_forget(&((tseed_store_t *)store)->folders);
    return APR_SUCCESS;
}

/* With a '-' behind it, or "". */
static char instance[TSEED_INSTANCE_LONGEST + 2];

void tseed_store_instance_set(const char *name)
{
    apr_snprintf(instance, sizeof(instance), "%s%s", name, *name ? "-" : "");
}

void tseed_view_leftover(char name[TSEED_LEFTOVER_SIZE], unsigned id)
{
    apr_snprintf(name, TSEED_LEFTOVER_SIZE, TSEED_LEFTOVER_PREFIX "%s%u" TSEED_LEFTOVER_SUFFIX,
                 instance, id);
}

int tseed_view_is_own_leftover(const char *name)
{
    char prefix[TSEED_LEFTOVER_SIZE];

    apr_snprintf(prefix, sizeof(prefix), TSEED_LEFTOVER_PREFIX "%s", instance);
    return strncmp(name, prefix, strlen(prefix)) == 0;
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
    tseed_view_leftover(made->leftover, id);
    made->block = 1;
    made->detachments = tseed_view_detachments;
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

apr_status_t tseed_store_loss(tseed_effect_t *loss, tseed_store_t *store, const struct stat *st)
{
    tseed_effect_t own = {0};
    int is_shared = 0;
    apr_status_t rv = st->st_nlink > 1 ? tseed_view_is_shared(&is_shared, store, st) : APR_SUCCESS;

    if (S_ISREG(st->st_mode) && !is_shared) {
        own = tseed_store_gain(store, (size_t)st->st_size);
    }
    *loss = (tseed_effect_t){-1, -own.files, -own.bytes, -own.allocated};
    return rv;
}

tseed_place_t tseed_view_place(const tseed_store_t *store, char *path, const tseed_tile_t *tile)
{
    char *slash;

    tseed_layout_path(path, store->pattern, tile->z, tile->x, tile->y);
    slash = strrchr(path, '/');
    return (tseed_place_t){path, slash ? (size_t)(slash - path) : 0, slash ? slash + 1 : path};
}

static int same_folder(const tseed_place_t *a, const tseed_place_t *b)
{
    return a->length == b->length && memcmp(a->path, b->path, a->length) == 0;
}

/* The number first: what is detached from now on makes it stale again. */
static void forget_folders(tseed_store_t *store)
{
    store->detachments = tseed_view_detachments;
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

/* Looking */

typedef struct {
    tseed_place_t last;
    int folder;      /* of last */
    apr_status_t rv; /* what finding that folder came to */
} look_t;

static apr_status_t look_at(int *present, look_t *look, tseed_store_t *store,
                            const tseed_place_t *place)
{
    struct stat st;
    apr_status_t rv;

    if (!same_folder(&look->last, place)) {
        look->rv = tseed_folders_find(&look->folder, &store->folders, place->path, place->length);
    }
    look->last = *place;
    rv = look->rv;
    *present = 0;
    if (rv == APR_SUCCESS && fstatat(look->folder, place->name, &st, 0) != 0) {
        rv = APR_FROM_OS_ERROR(errno);
    } else if (rv == APR_SUCCESS) {
        *present = S_ISREG(st.st_mode) && st.st_size > 0;
    }
    return APR_STATUS_IS_ENOENT(rv) || APR_STATUS_IS_ENOTDIR(rv) ? APR_SUCCESS : rv;
}

/* Column by column: neighbours above each other share a directory in nearly every layout, so that
 * one question about the directory serves them all. */
static apr_status_t look_all(tseed_store_t *store, const tseed_range_t *range, uint64_t *bits)
{
    int64_t width = range->maxx - range->minx + 1;
    look_t look = {.last = {"", SIZE_MAX, ""}};
    char *buffer = store->path;

    for (int64_t x = range->minx; x <= range->maxx; x++) {
        for (int64_t y = range->miny; y <= range->maxy; y++) {
            int64_t i = (y - range->miny) * width + (x - range->minx);
            tseed_place_t place = tseed_view_place(store, buffer, &(tseed_tile_t){range->z, x, y});
            int present;
            apr_status_t rv = look_at(&present, &look, store, &place);

            if (rv != APR_SUCCESS) {
                return rv;
            }
            bits[i / 64] |= (uint64_t)present << (i % 64);
            buffer = buffer == store->path ? store->other_path : store->path;
        }
    }
    return APR_SUCCESS;
}

apr_status_t tseed_store_present(tseed_store_t *store, const tseed_range_t *range, uint64_t *bits,
                                 unsigned words)
{
    int64_t most = 64 * (int64_t)words;
    int64_t width = range->maxx - range->minx + 1, height = range->maxy - range->miny + 1;
    int attempts = 0;
    apr_status_t rv;

    if (width > most || height > most || width * height > most) {
        return APR_EINVAL;
    }
    tseed_view_refresh(store);
    do {
        memset(bits, 0, words * sizeof(*bits));
        rv = look_all(store, range, bits);
    } while (tseed_view_begin_again(store, rv, &attempts));
    return rv;
}

/* Putting */

static apr_status_t write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, data, length);

        if (written < 0 && errno != EINTR) {
            return APR_FROM_OS_ERROR(errno);
        }
        if (written > 0) {
            data += written;
            length -= (size_t)written;
        }
    }
    return APR_SUCCESS;
}

/* Never opens what a crash has left: it may be another name of a good tile. */
static int create_leftover(tseed_store_t *store, int folder)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    mode_t mode = (mode_t)store->config->mode;
    int fd = openat(folder, store->leftover, flags, mode);

    if (fd < 0 && errno == EEXIST && unlinkat(folder, store->leftover, 0) == 0) {
        fd = openat(folder, store->leftover, flags, mode);
    }
    return fd;
}

/* The umask may take away what the administrator gave. It is the process's, and asking for it would
 * change it under other threads; so a view's first file tells whether chmod is needed. */
static int set_mode(tseed_store_t *store, int fd)
{
    mode_t mode = (mode_t)store->config->mode;
    struct stat st;

    if (store->mode == TSEED_MODE_UNKNOWN && fstat(fd, &st) == 0) {
        store->mode = (st.st_mode & 07777) == mode ? TSEED_MODE_RIGHT : TSEED_MODE_WRONG;
    }
    return store->mode == TSEED_MODE_RIGHT ? 0 : fchmod(fd, mode);
}

/* What close says counts: network file systems report a full disk there. */
apr_status_t tseed_view_write(tseed_store_t *store, int folder, const void *data, size_t length)
{
    int fd = create_leftover(store, folder);
    apr_status_t rv;

    if (fd < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    rv = write_all(fd, data, length);
    if (rv == APR_SUCCESS && set_mode(store, fd) != 0) {
        rv = APR_FROM_OS_ERROR(errno);
    }
    if (close(fd) != 0 && rv == APR_SUCCESS && errno != EINTR) {
        rv = APR_FROM_OS_ERROR(errno);
    }
    if (rv != APR_SUCCESS) {
        unlinkat(folder, store->leftover, 0);
    }
    return rv;
}

int tseed_view_is_stopped(const tseed_stop_t *stop)
{
    return stop && stop->ask(stop->baton);
}

/* Renames the hidden file over what may be there, and says what goes by that. */
static apr_status_t rename_over(tseed_effect_t *lost, tseed_store_t *store, int folder,
                                const char *name)
{
    struct stat st;
    apr_status_t rv = APR_SUCCESS;

    store->replacing = fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (store->replacing) {
        rv = tseed_store_loss(lost, store, &st);
    } else if (errno != ENOENT) {
        return APR_FROM_OS_ERROR(errno);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    return renameat(folder, store->leftover, folder, name) == 0 ? APR_SUCCESS
                                                                : APR_FROM_OS_ERROR(errno);
}

/* A rename that refuses to replace spares a seed the question what is there. */
static apr_status_t rename_leftover(tseed_effect_t *lost, tseed_store_t *store, int folder,
                                    const char *name)
{
    if (!store->replacing && !store->never_refuses) {
        if (renameat2(folder, store->leftover, folder, name, RENAME_NOREPLACE) == 0) {
            return APR_SUCCESS;
        }
        if (errno == EINVAL || errno == ENOSYS) {
            store->never_refuses = 1;
        } else if (errno != EEXIST) {
            return APR_FROM_OS_ERROR(errno);
        }
    }
    return rename_over(lost, store, folder, name);
}

apr_status_t tseed_view_finish(tseed_effect_t *lost, tseed_store_t *store, int folder,
                               const char *name, const tseed_stop_t *stop)
{
    apr_status_t rv = APR_EINTR;

    if (!tseed_view_is_stopped(stop)) {
        tseed_view_hold();
        rv = tseed_view_is_stale(store) ? ESTALE : rename_leftover(lost, store, folder, name);
        if (rv == APR_SUCCESS) {
            tseed_watch_tell_locked(folder);
        }
        tseed_view_release();
    }
    if (rv != APR_SUCCESS) {
        unlinkat(folder, store->leftover, 0);
    }
    return rv;
}

apr_status_t tseed_store_put(tseed_effect_t *effect, tseed_store_t *store, const tseed_tile_t *tile,
                             const void *data, size_t length, const tseed_stop_t *stop)
{
    tseed_place_t place = tseed_view_place(store, store->path, tile);
    int attempts = 0, folder;
    tseed_effect_t lost;
    apr_status_t rv;

    tseed_view_refresh(store);
    do {
        lost = (tseed_effect_t){0};
        rv = tseed_folders_make(&folder, &store->folders, place.path, place.length);
        if (rv == APR_SUCCESS) {
            rv = tseed_view_write(store, folder, data, length);
        }
        if (rv == APR_SUCCESS) {
            rv = tseed_view_finish(&lost, store, folder, place.name, stop);
        }
    } while (tseed_view_begin_again(store, rv, &attempts));
    *effect = (tseed_effect_t){0};
    if (rv == APR_SUCCESS) {
        *effect = tseed_store_gain(store, length);
        tseed_effect_add(effect, &lost);
    }
    return rv;
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
