/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reads a tile back. A file that has a tile's name never changes: another tile is another file. So
 * its length and its bytes belong together. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/tseed_store.h"
#include "store/tseed_store_view.h"

#define LONGEST (64 << 20) /* the longest answer that is taken is no longer */

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

    *fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
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

apr_status_t tseed_store_read(const unsigned char **data, size_t *length, tseed_store_t *store,
                              const tseed_tile_t *tile, apr_pool_t *pool)
{
    const tseed_tile_file_t file = tseed_view_file(store, store->path, tile);
    int folder, attempts = 0;
    apr_status_t rv;

    tseed_view_refresh(store);
    do {
        rv = tseed_folders_find(&folder, &store->folders, file.path, file.length);
        if (rv == APR_SUCCESS) {
            rv = read_file(data, length, folder, file.name, pool);
        }
    } while (tseed_view_begin_again(store, rv, &attempts));
    return APR_STATUS_IS_ENOTDIR(rv) ? APR_ENOENT : rv;
}
