/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The store: looks whether tiles are there and puts them.
 *
 * System calls a tile once the directory is known: 4 for a put where nothing was (open, write,
 * close, rename), one more where a tile was; 1 for a look.
 */
#include "store/tseed_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/tseed_store_view.h"

/* Looking */

static int same_folder(const tseed_tile_file_t *a, const tseed_tile_file_t *b)
{
    return a->length == b->length && memcmp(a->path, b->path, a->length) == 0;
}

typedef struct {
    tseed_tile_file_t last;
    int folder;      /* of last */
    apr_status_t rv; /* what finding that folder came to */
} look_t;

static apr_status_t look_at(int *present, look_t *look, tseed_store_t *store,
                            const tseed_tile_file_t *file)
{
    struct stat st;
    apr_status_t rv;

    if (!same_folder(&look->last, file)) {
        look->rv = tseed_folders_find(&look->folder, &store->folders, file->path, file->length);
    }
    look->last = *file;
    rv = look->rv;
    *present = 0;
    if (rv == APR_SUCCESS && fstatat(look->folder, file->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        rv = APR_FROM_OS_ERROR(errno);
    } else if (rv == APR_SUCCESS) { /* a link is none, wherever it leads */
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
            tseed_tile_file_t file =
                tseed_view_file(store, buffer, &(tseed_tile_t){range->z, x, y});
            int present;
            apr_status_t rv = look_at(&present, &look, store, &file);

            if (rv != APR_SUCCESS) {
                tseed_view_blame(store, file.path, file.length, 0);
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
    tseed_view_begin(store);
    do {
        memset(bits, 0, words * sizeof(*bits));
        rv = look_all(store, range, bits);
    } while (tseed_view_begin_again(store, rv, &attempts));
    return rv;
}

/* Putting */

typedef struct {
    const void *data;
    size_t length;
} bytes_t;

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

/* Checks close, because network file systems report a full disk there. */
apr_status_t tseed_view_write(tseed_store_t *store, int folder, const void *data, size_t length)
{
    int fd = create_leftover(store, folder);
    apr_status_t rv;

    if (fd < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    store->written = length;
    rv = write_all(fd, data, length);
    if (rv == APR_SUCCESS && set_mode(store, fd) != 0) {
        rv = APR_FROM_OS_ERROR(errno);
    }
    if (close(fd) != 0 && rv == APR_SUCCESS && errno != EINTR) {
        rv = APR_FROM_OS_ERROR(errno);
    }
    if (rv != APR_SUCCESS) {
        tseed_view_discard(store, folder);
    }
    return rv;
}

apr_status_t tseed_store_loss(tseed_effect_t *loss, tseed_store_t *store, const struct stat *st)
{
    tseed_effect_t own = {0};
    int is_shared = 0;
    apr_status_t rv;

    *loss = own;
    if (!S_ISREG(st->st_mode)) {
        return APR_SUCCESS;
    }
    rv = st->st_nlink > 1 ? tseed_view_is_shared(&is_shared, store, st) : APR_SUCCESS;
    if (!is_shared) {
        own = tseed_store_gain(store, (size_t)st->st_size);
    }
    *loss = (tseed_effect_t){-1, -own.files, -own.bytes, -own.allocated};
    return rv;
}

static int is_gone(int folder, const char *name)
{
    struct stat st;

    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

/* The inode of a file; 0: it can't be opened. To open a file makes NFS ask its server, where a
 * status may be seconds old. */
static ino_t inode_of(int folder, const char *name)
{
    struct stat st = {.st_ino = 0};
    const int fd =
        tseed_folders_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0) {
        if (fstat(fd, &st) != 0) {
            st.st_ino = 0;
        }
        close(fd);
    }
    return st.st_ino;
}

/* The status of a rename that failed. NFS may carry out a rename whose answer gets lost, and answer
 * ENOENT when it is sent again: the hidden file has gone, and another one than `before` (0: none)
 * has the name. No other thread or process that may still write removes or names this file. */
static apr_status_t failed_rename(const tseed_store_t *store, int folder, const char *name,
                                  ino_t before)
{
    const int error = errno;

    if (error == ENOENT && is_gone(folder, store->leftover)) {
        const ino_t now = inode_of(folder, name);

        if (now != 0 && now != before) {
            return APR_SUCCESS;
        }
    }
    return APR_FROM_OS_ERROR(error);
}

/* Renames the hidden file over what may be there, and says what goes by that. */
static apr_status_t rename_over(tseed_effect_t *lost, tseed_store_t *store, int folder,
                                const char *name)
{
    struct stat st = {.st_ino = 0};
    apr_status_t rv = APR_SUCCESS;

    store->replacing = fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (store->replacing) {
        rv = tseed_store_loss(lost, store, &st);
    } else if (errno != ENOENT) {
        return APR_FROM_OS_ERROR(errno);
    }
    if (rv == APR_SUCCESS && renameat(folder, store->leftover, folder, name) != 0) {
        rv = failed_rename(store, folder, name, st.st_ino);
        if (store->replacing) {
            tseed_view_blame_tile(store, rv);
        }
    }
    return rv;
}

/* A rename that refuses to replace spares a seed the question what is there. NFS knows no such
 * rename (EINVAL). */
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
        tseed_names_hold();
        rv = tseed_view_is_stale(store) ? ESTALE : rename_leftover(lost, store, folder, name);
        if (rv == APR_SUCCESS) {
            tseed_watch_tell_locked(folder);
        }
        tseed_names_release();
    }
    if (rv != APR_SUCCESS) {
        tseed_view_discard(store, folder);
    }
    return rv;
}

/* Asks `stop` before the hidden file is made, and again before it gets its name. */
static apr_status_t put_once(tseed_effect_t *lost, tseed_store_t *store,
                             const tseed_tile_file_t *file, const bytes_t *bytes,
                             const tseed_stop_t *stop)
{
    int folder;
    apr_status_t rv = tseed_view_is_stopped(stop)
                          ? APR_EINTR
                          : tseed_folders_make(&folder, &store->folders, file->path, file->length);

    if (rv == APR_SUCCESS) {
        rv = tseed_view_write(store, folder, bytes->data, bytes->length);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_view_finish(lost, store, folder, file->name, stop);
    }
    return rv;
}

apr_status_t tseed_store_put(tseed_effect_t *effect, tseed_store_t *store, const tseed_tile_t *tile,
                             const void *data, size_t length, const tseed_stop_t *stop)
{
    tseed_tile_file_t file = tseed_view_file(store, store->path, tile);
    int attempts = 0;
    tseed_effect_t lost;
    apr_status_t rv;

    tseed_view_begin(store);
    do {
        lost = (tseed_effect_t){0};
        rv = put_once(&lost, store, &file, &(bytes_t){data, length}, stop);
    } while (tseed_view_begin_again(store, rv, &attempts));
    *effect = (tseed_effect_t){0};
    if (rv == APR_SUCCESS) {
        *effect = tseed_store_gain(store, length);
        tseed_effect_add(effect, &lost);
    } else {
        tseed_view_blame(store, file.path, file.length, 0);
    }
    return rv;
}
