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

static apr_status_t read_file(const unsigned char **data, size_t *length, int fd, apr_pool_t *pool)
{
    unsigned char *bytes;
    struct stat st;

    if (fstat(fd, &st) != 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    if (!S_ISREG(st.st_mode) || st.st_size == 0) {
        return APR_ENOENT;
    }
    if (st.st_size > LONGEST) {
        return APR_FROM_OS_ERROR(EFBIG);
    }
    *length = (size_t)st.st_size;
    *data = bytes = apr_palloc(pool, *length);
    return read_all(bytes, fd, *length);
}

apr_status_t tseed_store_read(const unsigned char **data, size_t *length, tseed_store_t *store,
                              const tseed_tile_t *tile, apr_pool_t *pool)
{
    const tseed_tile_file_t file = tseed_view_file(store, store->path, tile);
    int folder, fd, attempts = 0;
    apr_status_t rv;

    tseed_view_refresh(store);
    do {
        rv = tseed_folders_find(&folder, &store->folders, file.path, file.length);
        if (rv == APR_SUCCESS) {
            fd = openat(folder, file.name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
            rv = fd < 0 ? APR_FROM_OS_ERROR(errno) : read_file(data, length, fd, pool);
            if (fd >= 0) {
                close(fd);
            }
        }
    } while (tseed_view_begin_again(store, rv, &attempts));
    return APR_STATUS_IS_ENOTDIR(rv) ? APR_ENOENT : rv;
}
