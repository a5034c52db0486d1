/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reads a tile back. A file that has a tile's name never changes: another tile is another file. So
 * its length and its bytes belong together. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/tseed_store.h"
#include "store/tseed_store_view.h"

#define LONGEST (64 << 20) /* the longest answer that is taken is no longer */
#define PART    16384

static apr_status_t read_all(unsigned char *data, int fd, size_t length)
{
    while (length > 0) {
        ssize_t got = read(fd, data, length);

        if (got == 0) {
            return APR_FROM_OS_ERROR(EIO); /* somebody else cuts files short */
        }
        if (got < 0 && errno != EINTR) {
            return APR_FROM_OS_ERROR(errno);
        }
        if (got > 0) {
            data += got;
            length -= (size_t)got;
        }
    }
    return APR_SUCCESS;
}

static apr_status_t read_file(const unsigned char **data, size_t *length, int folder,
                              const char *name, apr_pool_t *pool)
{
    unsigned char *bytes;
    struct stat st;
    int fd;
    apr_status_t rv = tseed_store_open_file(&fd, &st, folder, name);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (st.st_size == 0 || st.st_size > LONGEST) {
        rv = st.st_size == 0 ? APR_ENOENT : APR_FROM_OS_ERROR(EFBIG);
    } else {
        *length = (size_t)st.st_size;
        *data = bytes = apr_palloc(pool, *length);
        rv = read_all(bytes, fd, *length);
    }
    close(fd);
    return rv;
}

/* Without O_NONBLOCK the call would wait for the writer of a pipe. ENXIO: a socket. */
apr_status_t tseed_store_open_file(int *fd, struct stat *found, int folder, const char *name)
{
    apr_status_t rv = APR_ENOENT;

    *fd = tseed_folders_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0) {
        return errno == ELOOP || errno == ENXIO ? APR_ENOENT : APR_FROM_OS_ERROR(errno);
    }
    if (fstat(*fd, found) != 0) {
        rv = APR_FROM_OS_ERROR(errno);
    } else if (S_ISREG(found->st_mode)) {
        return APR_SUCCESS;
    }
    close(*fd);
    *fd = -1;
    return rv;
}

/* Looks for the directory of a tile's file. `name` is valid until the next call. */
static apr_status_t find(int *folder, const char **name, tseed_store_t *store,
                         const tseed_tile_t *tile)
{
    const tseed_tile_file_t file = tseed_view_file(store, store->path, tile);

    *name = file.name;
    return tseed_folders_find(folder, &store->folders, file.path, file.length);
}

/* A directory that can't be searched does not even say that there is a tile. */
static void blame(tseed_store_t *store, apr_status_t rv, int folder, const char *name)
{
    struct stat st;

    if (rv != APR_SUCCESS && !APR_STATUS_IS_ENOENT(rv) &&
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        tseed_view_blame_tile(store, rv);
    }
}

apr_status_t tseed_store_read(const unsigned char **data, size_t *length, tseed_store_t *store,
                              const tseed_tile_t *tile, apr_pool_t *pool)
{
    int folder, attempts = 0;
    const char *name;
    apr_status_t rv;

    tseed_view_begin(store);
    do {
        rv = find(&folder, &name, store, tile);
        if (rv == APR_SUCCESS) {
            rv = read_file(data, length, folder, name, pool);
            blame(store, rv, folder, name);
        }
    } while (tseed_view_begin_again(store, rv, &attempts));
    if (rv != APR_SUCCESS) {
        tseed_view_blame(store, store->path,
                         name > store->path ? (size_t)(name - store->path - 1) : 0, 0);
    }
    return APR_STATUS_IS_ENOTDIR(rv) ? APR_ENOENT : rv;
}

/* Compares part by part, so that no more is read of a file than is alike. */
static int has_bytes(int fd, const unsigned char *data, size_t length)
{
    unsigned char part[PART];

    while (length > 0) {
        const size_t next = length < PART ? length : PART;

        if (read_all(part, fd, next) != APR_SUCCESS || memcmp(part, data, next) != 0) {
            return 0;
        }
        data += next;
        length -= next;
    }
    return 1;
}

int tseed_store_has(tseed_store_t *store, const tseed_tile_t *tile, const void *data, size_t length)
{
    int folder, fd, has = 0;
    const char *name;
    struct stat st;

    tseed_view_begin(store);
    if (find(&folder, &name, store, tile) == APR_SUCCESS &&
        tseed_store_open_file(&fd, &st, folder, name) == APR_SUCCESS) {
        has = st.st_size == (off_t)length && has_bytes(fd, data, length);
        close(fd);
    }
    return has;
}
