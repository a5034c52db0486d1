/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Scans of directories, and their purposes: removing tiles, counting them, finding them. */
#include "store/tseed_store.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/tseed_store_view.h"

/* Scans: what exists of a range of tiles, one name after the other. For the files of this room.
 * Threads of the seeder. */

/* Scans: a scan goes down the tree from the root. In each directory it asks for the names that the
 * range could have there, or reads the names that exist, whichever are fewer. So it finds ten tiles
 * of 10^12 possible ones by reading ten directories, and does not read a million names to find
 * sixteen tiles.
 *
 * Memory is a name and a directory stream for each depth, whatever the range.
 */

/* One directory of a scan, and the part of the range that may lie in it. */
typedef struct {
    int fd;
    int depth; /* of the names in it */
    tseed_range_t range;
    int emptied; /* something was removed from it: it goes too when nothing is left */
} tseed_scan_folder_t;

/* In the caller's memory, for one scan in its thread. */
typedef struct tseed_scan_t {
    tseed_store_t *store;
    const tseed_stop_t *stop; /* asked for every name that is examined; may be NULL */
    /* Called for what has a tile's name and is no directory: a file, a symbolic link, a pipe. */
    apr_status_t (*file)(struct tseed_scan_t *scan, tseed_scan_folder_t *folder, const char *name,
                         const struct stat *st, const tseed_tile_t *tile);
    void *baton;
    time_t leftovers_before; /* unfinished files that are older are dropped; 0: none */
    int drops_all;           /* in every directory of files, even where none of them is read */
    int last;                /* depth of the files, set by the scan */
} tseed_scan_t;

/* Asking for one name costs as much as reading some 64 bytes of a directory's entries; a
 * directory's size is about that of its entries on the usual file systems, elsewhere it is no worse
 * a guess than another. */
#define BYTES_A_NAME 64
#define FEW_NAMES    16

/* Drops the leftovers that a directory holds. */
static apr_status_t drop_found(const tseed_scan_t *scan, int fd)
{
    DIR *stream = tseed_folders_stream(fd);
    const struct dirent *entry;
    apr_status_t rv;

    if (!stream) {
        return APR_FROM_OS_ERROR(errno);
    }
    while ((errno = 0, entry = readdir(stream)) != NULL) {
        tseed_view_note_unremoved(scan->store, fd, entry->d_name,
                                  tseed_leftover_drop(fd, entry->d_name, scan->leftovers_before));
    }
    rv = errno == 0 ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    closedir(stream);
    return rv;
}

static void discard(const tseed_scan_t *scan, int fd, const char *name)
{
    tseed_view_note_unremoved(scan->store, fd, name, tseed_leftover_discard(fd, name));
}

/* Drops the leftovers that a directory holds as long as there is nothing else in it. Returns
 * whether it is empty now. */
static int has_only_leftovers(const tseed_scan_t *scan, int fd)
{
    DIR *stream = tseed_folders_stream(fd);
    const struct dirent *entry;
    int empty = stream != NULL;

    while (empty && (entry = readdir(stream)) != NULL) {
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                tseed_leftover_drop(fd, entry->d_name, scan->leftovers_before) == APR_SUCCESS;
    }
    if (stream) {
        closedir(stream);
    }
    return empty;
}

/* All leftovers there can be, by reading the directory or by their names, whichever is less. */
static apr_status_t drop_all(const tseed_scan_t *scan, const tseed_scan_folder_t *folder)
{
    char name[TSEED_LEFTOVER_SIZE];
    struct stat st;

    if (fstat(folder->fd, &st) == 0 && st.st_size / BYTES_A_NAME <= TSEED_STORE_IDS) {
        return drop_found(scan, folder->fd);
    }
    for (unsigned id = 0; id < TSEED_STORE_IDS; id++) {
        tseed_leftover_name(name, id);
        discard(scan, folder->fd, name);
        if (tseed_leftover_former_name(name, id)) {
            discard(scan, folder->fd, name);
        }
    }
    return APR_SUCCESS;
}

/* Somebody else may have put a file there or removed it before us: both are fine. */
static void remove_if_empty(const tseed_scan_t *scan, tseed_scan_folder_t *parent,
                            const tseed_scan_folder_t *folder, const char *name)
{
    int rc = unlinkat(parent->fd, name, AT_REMOVEDIR);

    if (rc != 0 && folder->depth == scan->last && has_only_leftovers(scan, folder->fd)) {
        rc = unlinkat(parent->fd, name, AT_REMOVEDIR);
    }
    parent->emptied |= rc == 0;
}

static apr_status_t walk_folder(tseed_scan_t *scan, tseed_scan_folder_t *folder);

static apr_status_t enter_folder(tseed_scan_t *scan, tseed_scan_folder_t *parent, const char *name,
                                 const tseed_range_t *range)
{
    tseed_scan_folder_t folder = {.depth = parent->depth + 1, .range = *range};
    apr_status_t rv;

    folder.fd =
        tseed_folders_openat(parent->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder.fd < 0) {
        int nothing =
            errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG;

        return nothing ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    rv = walk_folder(scan, &folder);
    if (scan->drops_all && folder.depth == scan->last) {
        apr_status_t dropped = drop_all(scan, &folder);

        rv = rv != APR_SUCCESS ? rv : dropped;
    }
    if (folder.emptied) {
        remove_if_empty(scan, parent, &folder, name);
    }
    close(folder.fd);
    return rv;
}

/* A directory that bears a tile's name is no tile. */
static apr_status_t meet_file(tseed_scan_t *scan, tseed_scan_folder_t *folder, const char *name,
                              const tseed_range_t *range)
{
    struct stat st;

    if (fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT || errno == ENAMETOOLONG ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    return S_ISDIR(st.st_mode) ? APR_SUCCESS
                               : scan->file(scan, folder, name, &st,
                                            &(tseed_tile_t){range->z, range->minx, range->miny});
}

/* One name that is a cell of the range. The deepest one that fails is to blame. Only a file that
 * must stay is itself the obstacle; else its directory is. */
static apr_status_t visit(tseed_scan_t *scan, tseed_scan_folder_t *folder, const char *name,
                          const tseed_range_t *range)
{
    tseed_store_t *store = scan->store;
    const int is_file = folder->depth == scan->last;
    const apr_status_t rv =
        is_file ? meet_file(scan, folder, name, range) : enter_folder(scan, folder, name, range);

    if (rv != APR_SUCCESS && !store->blamed) {
        const int depth = folder->depth - (is_file && rv != EPERM);

        tseed_view_path(store, &(tseed_tile_t){range->z, range->minx, range->miny}, depth);
        tseed_view_blame(store, store->path, depth < 0 ? 0 : strlen(store->path),
                         is_file && rv == EPERM);
    }
    return rv;
}

static apr_status_t read_names(tseed_scan_t *scan, tseed_scan_folder_t *folder)
{
    DIR *stream = tseed_folders_stream(folder->fd);
    const struct dirent *entry;
    apr_status_t rv = APR_SUCCESS;

    if (!stream) {
        return APR_FROM_OS_ERROR(errno);
    }
    while (rv == APR_SUCCESS && (errno = 0, entry = readdir(stream)) != NULL) {
        tseed_range_t range = folder->range;

        if (tseed_view_is_stopped(scan->stop)) {
            rv = APR_EINTR;
        } else if (tseed_layout_narrow(&range, scan->store->pattern, folder->depth,
                                       entry->d_name)) {
            rv = visit(scan, folder, entry->d_name, &range);
        } else if (folder->depth == scan->last) {
            folder->emptied |= tseed_leftover_drop(folder->fd, entry->d_name,
                                                   scan->leftovers_before) == APR_SUCCESS;
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

static cells_t cells_of(const tseed_scan_t *scan, const tseed_scan_folder_t *folder)
{
    const tseed_range_t *range = &folder->range;
    cells_t cells;

    tseed_layout_cell(&cells.columns, &cells.rows, scan->store->pattern, folder->depth, range->z);
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

static apr_status_t ask_names(tseed_scan_t *scan, tseed_scan_folder_t *folder, const cells_t *cells)
{
    char *name = scan->store->names + (size_t)folder->depth * scan->store->longest;
    apr_status_t rv = APR_SUCCESS;

    for (int64_t y = cells->miny; y <= cells->maxy && rv == APR_SUCCESS; y++) {
        for (int64_t x = cells->minx; x <= cells->maxx && rv == APR_SUCCESS; x++) {
            tseed_range_t range = cell_range(cells, x, y, &folder->range);

            if (tseed_view_is_stopped(scan->stop)) {
                return APR_EINTR;
            }
            tseed_layout_name(name, scan->store->pattern, folder->depth, range.z, range.minx,
                              range.miny);
            rv = visit(scan, folder, name, &range);
        }
    }
    return rv;
}

static apr_status_t walk_folder(tseed_scan_t *scan, tseed_scan_folder_t *folder)
{
    cells_t cells = cells_of(scan, folder);
    int64_t count = (cells.maxx - cells.minx + 1) * (cells.maxy - cells.miny + 1);
    struct stat st;

    if (count > FEW_NAMES) {
        if (fstat(folder->fd, &st) != 0) {
            return APR_FROM_OS_ERROR(errno);
        }
        if (count > st.st_size / BYTES_A_NAME) {
            return read_names(scan, folder);
        }
    }
    return ask_names(scan, folder, &cells);
}

/* Symbolic links to directories are not followed. APR_EINTR: `stop` said so. */
static apr_status_t scan_run(tseed_scan_t *scan, const tseed_range_t *range)
{
    tseed_scan_folder_t root = {.range = *range};
    apr_status_t rv;

    tseed_view_begin(scan->store);
    scan->last = tseed_layout_depth(scan->store->pattern) - 1;
    if (range->minx > range->maxx || range->miny > range->maxy) {
        return APR_SUCCESS;
    }
    root.fd = open(scan->store->config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root.fd < 0) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    rv = walk_folder(scan, &root);
    close(root.fd);
    return rv;
}

/* The store: a glance at the directories of a tile set that is new. */

#define NAMES_OF_GLANCE 1024

/* What a look has found: names that it has examined, at most NAMES_OF_GLANCE, and tiles. */
typedef struct {
    int names, tiles;
} glance_t;

static int has_seen_enough(void *data)
{
    glance_t *glance = data;

    return glance->tiles > 0 || ++glance->names > NAMES_OF_GLANCE;
}

static void seen(void *data, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    (void)tile;
    (void)effect;
    ((glance_t *)data)->tiles++;
}

int tseed_store_is_absent(const tseed_tileset_t *tileset, apr_pool_t *scratch)
{
    const tseed_subset_t *subset = tileset->subset;
    glance_t glance = {0, 0};
    const tseed_visitor_t visitor = {seen, &glance, NULL, NULL};
    const tseed_stop_t stop = {has_seen_enough, &glance};
    tseed_effect_t shared = {0};
    tseed_store_t *store;
    apr_status_t rv = tseed_store_open(&store, tileset, TSEED_STORE_IDS - 1, scratch);

    if (rv != APR_SUCCESS) {
        return 0;
    }
    rv = tseed_store_walk(store, subset->zoom_first, subset->zoom_last, &visitor, &stop);
    if (rv == APR_SUCCESS) {
        rv = tseed_store_shared_count(&shared, store, 0);
    }
    tseed_store_close(store);
    return rv == APR_SUCCESS && glance.tiles == 0 && shared.files == 0;
}

/* What has a tile's name and is none goes as well, and nobody is told. */
static apr_status_t remove_file(tseed_scan_t *scan, tseed_scan_folder_t *folder, const char *name,
                                const struct stat *st, const tseed_tile_t *tile)
{
    const tseed_visitor_t *visitor = scan->baton;
    tseed_effect_t effect;
    apr_status_t rv;

    if (visitor->spares && visitor->spares(visitor->baton, tile)) {
        return APR_SUCCESS;
    }
    rv = tseed_store_loss(&effect, scan->store, st);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (visitor->warn && effect.names) {
        visitor->warn(visitor->baton, tile);
    }
    if (unlinkat(folder->fd, name, 0) != 0) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    folder->emptied = 1;
    if (effect.names) {
        visitor->tell(visitor->baton, tile, &effect);
    }
    return APR_SUCCESS;
}

apr_status_t tseed_store_remove(tseed_store_t *store, const tseed_range_t *range,
                                const tseed_visitor_t *visitor, const tseed_stop_t *stop)
{
    tseed_scan_t scan = {.store = store,
                         .stop = stop,
                         .file = remove_file,
                         .baton = (void *)visitor,
                         .leftovers_before = tseed_leftover_before()};

    return scan_run(&scan, range);
}

/* The effect that a tile has by being there: the opposite of its loss. */
static apr_status_t value(tseed_effect_t *worth, tseed_store_t *store, const struct stat *st)
{
    tseed_effect_t loss;
    apr_status_t rv = tseed_store_loss(&loss, store, st);

    *worth = (tseed_effect_t){-loss.names, -loss.files, -loss.bytes, -loss.allocated};
    return rv;
}

typedef struct {
    tseed_effect_t *sum;
    int64_t oldest;
    apr_pool_t *pool; /* of the next one; NULL: no tile's own file has other names */
    apr_hash_t *seen; /* ino_t -> "": own files that have other names, somewhere */
} count_t;

/* Whether a tile's own file has another name among the tiles that were counted. */
static int is_seen(count_t *count, tseed_store_t *store, const struct stat *st)
{
    if (!count->seen) {
        apr_pool_create(&count->pool, store->pool);
        count->seen = apr_hash_make(count->pool);
    }
    if (apr_hash_get(count->seen, &st->st_ino, sizeof(st->st_ino))) {
        return 1;
    }
    apr_hash_set(count->seen, apr_pmemdup(count->pool, &st->st_ino, sizeof(st->st_ino)),
                 sizeof(st->st_ino), "");
    return 0;
}

static apr_status_t count_file(tseed_scan_t *scan, tseed_scan_folder_t *folder, const char *name,
                               const struct stat *st, const tseed_tile_t *tile)
{
    count_t *count = scan->baton;
    tseed_effect_t effect;
    apr_status_t rv = value(&effect, scan->store, st);

    (void)tile;
    if (rv == APR_SUCCESS && effect.files && st->st_nlink > 1 && is_seen(count, scan->store, st) &&
        tseed_view_adopt(scan->store, folder->fd, name, st)) {
        effect = (tseed_effect_t){1, -effect.files, -effect.bytes, -effect.allocated};
    }
    if (rv == APR_SUCCESS) {
        tseed_effect_add(count->sum, &effect);
    }
    if (rv == APR_SUCCESS && effect.names > 0 && st->st_mtime < count->oldest) {
        count->oldest = st->st_mtime;
    }
    return rv;
}

apr_status_t tseed_store_count(tseed_effect_t *sum, int64_t *oldest, tseed_store_t *store,
                               const tseed_range_t *range, int drop_leftovers)
{
    count_t count = {.sum = sum, .oldest = INT64_MAX};
    tseed_scan_t scan = {.store = store,
                         .file = count_file,
                         .baton = &count,
                         .leftovers_before = drop_leftovers ? INT64_MAX : 0,
                         .drops_all = drop_leftovers};
    apr_status_t rv;

    *sum = (tseed_effect_t){0};
    rv = scan_run(&scan, range);
    if (count.pool) {
        apr_pool_destroy(count.pool);
    }
    if (oldest) {
        *oldest = count.oldest;
    }
    return rv;
}

static apr_status_t find_file(tseed_scan_t *scan, tseed_scan_folder_t *folder, const char *name,
                              const struct stat *st, const tseed_tile_t *tile)
{
    const tseed_visitor_t *visitor = scan->baton;
    tseed_effect_t effect;
    apr_status_t rv = value(&effect, scan->store, st);

    (void)folder;
    (void)name;
    if (rv == APR_SUCCESS && effect.names) {
        visitor->tell(visitor->baton, tile, &effect);
    }
    return rv;
}

apr_status_t tseed_store_walk(tseed_store_t *store, int first, int last,
                              const tseed_visitor_t *visitor, const tseed_stop_t *stop)
{
    tseed_scan_t scan = {.store = store, .stop = stop, .file = find_file, .baton = (void *)visitor};
    apr_status_t rv = APR_SUCCESS;

    for (int z = first; z <= last && rv == APR_SUCCESS; z++) {
        tseed_range_t level = tseed_layout_level(store->pattern, z);

        rv = scan_run(&scan, &level);
    }
    return rv;
}
