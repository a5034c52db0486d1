/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Removal: down the tree from the root, in each directory either by asking for the names that the
 * range could have there or by reading those that exist, whichever is less. So ten tiles of 10^12
 * possible ones are found in the ten directories that hold them, and sixteen tiles are not looked
 * for among a million others.
 *
 * Memory is a name and a directory stream a depth, whatever the range.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/tseed_store_view.h"

/* Asking for one name costs as much as reading some 64 bytes of a directory's entries; a
 * directory's size is about that of its entries on the usual file systems, elsewhere it is no worse
 * a guess than another. */
#define BYTES_A_NAME 64
#define FEW_NAMES    16

/* An unfinished file that is older belongs to nobody any more. */
#define LEFTOVER_SECONDS 3600

/* Borrowed for one call; used by its thread. */
typedef struct {
    tseed_store_t *store;
    int last; /* depth of the files */
    _Atomic int64_t *removed;
    const tseed_stop_t *stop;
    time_t now;
} walk_t;

/* One directory of the walk: the part of the range that may lie in it. */
typedef struct {
    int fd;
    int depth; /* of the names in it */
    tseed_range_t range;
    int emptied; /* something was removed from it */
} folder_t;

static int is_leftover(const char *name)
{
    size_t prefix = strlen(TSEED_LEFTOVER_PREFIX), suffix = strlen(TSEED_LEFTOVER_SUFFIX);
    size_t length = strlen(name);

    return length > prefix + suffix && memcmp(name, TSEED_LEFTOVER_PREFIX, prefix) == 0 &&
           strcmp(name + length - suffix, TSEED_LEFTOVER_SUFFIX) == 0;
}

static int drop_leftover(const walk_t *walk, int fd, const char *name)
{
    struct stat st;

    return is_leftover(name) && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_mtime < walk->now - LEFTOVER_SECONDS && unlinkat(fd, name, 0) == 0;
}

/* Drops old leftovers when they are all that a directory holds. Stops at the first other name. */
static int drop_leftovers(const walk_t *walk, int fd)
{
    DIR *stream = tseed_folders_stream(fd);
    const struct dirent *entry;
    int alone = stream != NULL;

    while (alone && (entry = readdir(stream)) != NULL) {
        alone = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                drop_leftover(walk, fd, entry->d_name);
    }
    if (stream) {
        closedir(stream);
    }
    return alone;
}

static apr_status_t remove_file(walk_t *walk, folder_t *folder, const char *name)
{
    if (unlinkat(folder->fd, name, 0) == 0) {
        atomic_fetch_add(walk->removed, 1);
        folder->emptied = 1;
    } else if (errno != ENOENT && errno != EISDIR && errno != ENAMETOOLONG) {
        return APR_FROM_OS_ERROR(errno);
    }
    return APR_SUCCESS;
}

/* Somebody else may have put a file there or removed it before us: both are fine. */
static void remove_if_empty(const walk_t *walk, folder_t *parent, const folder_t *folder,
                            const char *name)
{
    int rc = unlinkat(parent->fd, name, AT_REMOVEDIR);

    if (rc != 0 && folder->depth == walk->last && drop_leftovers(walk, folder->fd)) {
        rc = unlinkat(parent->fd, name, AT_REMOVEDIR);
    }
    parent->emptied |= rc == 0;
}

static apr_status_t walk_folder(walk_t *walk, folder_t *folder);

static apr_status_t enter_folder(walk_t *walk, folder_t *parent, const char *name,
                                 const tseed_range_t *range)
{
    folder_t folder = {.depth = parent->depth + 1, .range = *range};
    apr_status_t rv;

    folder.fd = openat(parent->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder.fd < 0) {
        int nothing =
            errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG;

        return nothing ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    rv = walk_folder(walk, &folder);
    if (folder.emptied) {
        remove_if_empty(walk, parent, &folder, name);
    }
    close(folder.fd);
    return rv;
}

/* One name that is a cell of the range. */
static apr_status_t visit(walk_t *walk, folder_t *folder, const char *name,
                          const tseed_range_t *range)
{
    return folder->depth == walk->last ? remove_file(walk, folder, name)
                                       : enter_folder(walk, folder, name, range);
}

static int stopped(const walk_t *walk)
{
    return walk->stop && walk->stop->ask(walk->stop->baton);
}

static apr_status_t read_names(walk_t *walk, folder_t *folder)
{
    DIR *stream = tseed_folders_stream(folder->fd);
    const struct dirent *entry;
    apr_status_t rv = APR_SUCCESS;

    if (!stream) {
        return APR_FROM_OS_ERROR(errno);
    }
    while (rv == APR_SUCCESS && (errno = 0, entry = readdir(stream)) != NULL) {
        tseed_range_t range = folder->range;

        if (stopped(walk)) {
            rv = APR_EINTR;
        } else if (tseed_layout_narrow(&range, walk->store->pattern, folder->depth,
                                       entry->d_name)) {
            rv = visit(walk, folder, entry->d_name, &range);
        } else if (folder->depth == walk->last) {
            folder->emptied |= drop_leftover(walk, folder->fd, entry->d_name);
        }
    }
    if (rv == APR_SUCCESS && errno != 0) {
        rv = APR_FROM_OS_ERROR(errno);
    }
    closedir(stream);
    return rv;
}

/* The cells of a directory that the range touches. */
typedef struct {
    int64_t columns, rows;          /* of a cell */
    int64_t minx, miny, maxx, maxy; /* in cells */
} cells_t;

static cells_t cells_of(const walk_t *walk, const folder_t *folder)
{
    const tseed_range_t *range = &folder->range;
    cells_t cells;

    tseed_layout_cell(&cells.columns, &cells.rows, walk->store->pattern, folder->depth, range->z);
    cells.minx = range->minx / cells.columns;
    cells.maxx = range->maxx / cells.columns;
    cells.miny = range->miny / cells.rows;
    cells.maxy = range->maxy / cells.rows;
    return cells;
}

/* The part of the range inside the cell of (x, y). */
static tseed_range_t cell_range(const cells_t *cells, int64_t x, int64_t y,
                                const tseed_range_t *range)
{
    int64_t minx = x * cells->columns, maxx = minx + (cells->columns - 1);
    int64_t miny = y * cells->rows, maxy = miny + (cells->rows - 1);

    return (tseed_range_t){
        range->z, minx > range->minx ? minx : range->minx, miny > range->miny ? miny : range->miny,
        maxx < range->maxx ? maxx : range->maxx, maxy < range->maxy ? maxy : range->maxy};
}

static apr_status_t ask_names(walk_t *walk, folder_t *folder, const cells_t *cells)
{
    char *name = walk->store->names + (size_t)folder->depth * walk->store->longest;
    apr_status_t rv = APR_SUCCESS;

    for (int64_t y = cells->miny; y <= cells->maxy && rv == APR_SUCCESS; y++) {
        for (int64_t x = cells->minx; x <= cells->maxx && rv == APR_SUCCESS; x++) {
            tseed_range_t range = cell_range(cells, x, y, &folder->range);

            if (stopped(walk)) {
                return APR_EINTR;
            }
            tseed_layout_name(name, walk->store->pattern, folder->depth, range.z, range.minx,
                              range.miny);
            rv = visit(walk, folder, name, &range);
        }
    }
    return rv;
}

static apr_status_t walk_folder(walk_t *walk, folder_t *folder)
{
    cells_t cells = cells_of(walk, folder);
    int64_t count = (cells.maxx - cells.minx + 1) * (cells.maxy - cells.miny + 1);
    struct stat st;

    if (count > FEW_NAMES) {
        if (fstat(folder->fd, &st) != 0) {
            return APR_FROM_OS_ERROR(errno);
        }
        if (count > st.st_size / BYTES_A_NAME) {
            return read_names(walk, folder);
        }
    }
    return ask_names(walk, folder, &cells);
}

apr_status_t tseed_store_remove(tseed_store_t *store, const tseed_range_t *range,
                                _Atomic int64_t *removed, const tseed_stop_t *stop)
{
    walk_t walk = {.store = store,
                   .last = tseed_layout_depth(store->pattern) - 1,
                   .removed = removed,
                   .stop = stop,
                   .now = time(NULL)};
    folder_t root = {.range = *range};
    apr_status_t rv;

    if (range->minx > range->maxx || range->miny > range->maxy) {
        return APR_SUCCESS;
    }
    root.fd = open(store->config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root.fd < 0) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    rv = walk_folder(&walk, &root);
    close(root.fd);
    return rv;
}
