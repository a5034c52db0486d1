/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Whole levels: renamed away at once, then removed at the disk's pace.
 *
 *      <root>/topp_states/EPSG_900913_12  ->  <root>/.tileseed/removed/12-…
 *
 * All names below the directory are read before: it may go as a whole only if a truncate would
 * remove each of them. Reading takes a small part of the time that removing takes.
 */
#include <apr_strings.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/tseed_store_view.h"

/* Remnants: levels that were renamed away and not removed yet.
 *
 *      <root>/.tileseed/removed/12-00c0ffee00c0ffee-7-1089-1024-98765432-99614720-0
 *                               |  tile set         | |    |    |        |        number
 *                               level            task tiles files bytes  allocated
 *
 * The name is a note: rename moves the directory and writes the note in one step. So a process that
 * finds the directory after a crash knows which tile set and task it belongs to, and how much is
 * booked.
 *
 * Any process and thread.
 */

#define REMNANT_NAME_SIZE 160

/* The name of a remnant; `number` tells it from others of the same. */
static void remnant_name(char name[REMNANT_NAME_SIZE], const tseed_remnant_t *remnant, int number)
{
    const tseed_effect_t *usage = &remnant->usage;

    snprintf(name, REMNANT_NAME_SIZE,
             "%d-%016" PRIx64 "-%" PRId64 "-%" PRId64 "-%" PRId64 "-%" PRId64 "-%" PRId64 "-%d",
             remnant->z, remnant->print, remnant->task, usage->names, usage->files, usage->bytes,
             usage->allocated, number);
}

/* 0: the name is none of a remnant's. A name is right if it is what its numbers make. */
static int read_name(tseed_remnant_t *remnant, const char *name)
{
    tseed_effect_t *usage = &remnant->usage;
    char again[REMNANT_NAME_SIZE];
    int number;

    if (sscanf(name,
               "%d-%" SCNx64 "-%" SCNd64 "-%" SCNd64 "-%" SCNd64 "-%" SCNd64 "-%" SCNd64 "-%d",
               &remnant->z, &remnant->print, &remnant->task, &usage->names, &usage->files,
               &usage->bytes, &usage->allocated, &number) != 8) {
        return 0;
    }
    remnant_name(again, remnant, number);
    return strcmp(again, name) == 0 && remnant->z >= 0 && remnant->z < TSEED_LEVELS_MAX &&
           usage->names >= 0 && usage->files >= 0 && usage->bytes >= 0 && usage->allocated >= 0;
}

apr_status_t tseed_remnant_list(apr_array_header_t **remnants, const char *root, apr_pool_t *pool)
{
    DIR *stream = opendir(apr_pstrcat(pool, root, "/" TSEED_REMOVED, NULL));
    const struct dirent *entry;
    apr_status_t rv;

    *remnants = apr_array_make(pool, 4, sizeof(tseed_remnant_t));
    if (!stream) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    while ((errno = 0, entry = readdir(stream)) != NULL) {
        tseed_remnant_t remnant;

        if (read_name(&remnant, entry->d_name)) {
            APR_ARRAY_PUSH(*remnants, tseed_remnant_t) = remnant;
        }
    }
    rv = APR_FROM_OS_ERROR(errno);
    closedir(stream);
    return rv;
}

/* Watches: whether somebody gives a tile a name below a directory while a thread reads it.
 *
 * Tile sets may share a directory: those of other formats or parameters, and those of layers whose
 * templates begin alike. So a watch identifies the directory by its inode, whichever store root and
 * path leads there. While there is no watch, putting a tile costs nothing more.
 *
 * The lock of names (tseed_names.h) guards all watches. For the files of this room.
 *
 * Threads of the seeder.
 */

/* The caller's memory, from begin to end. */
typedef struct watch_t {
    dev_t device;
    ino_t inode;
    _Atomic int disturbed; /* a name was given since it began */
    struct watch_t *next;
} watch_t;

static watch_t *watches; /* changed by whoever holds the lock alone */

/* Begins to watch an open directory: 0, or -1 with errno. Takes the lock alone. So a reader that
 * begins afterwards sees all names that were given before. */
static int watch_begin(watch_t *watch, int folder)
{
    struct stat st;

    if (fstat(folder, &st) != 0) {
        return -1;
    }
    watch->device = st.st_dev;
    watch->inode = st.st_ino;
    watch->disturbed = 0;
    tseed_names_hold_alone();
    watch->next = watches;
    watches = watch;
    tseed_names_release();
    return 0;
}

static void watch_end(watch_t *watch)
{
    watch_t **link = &watches;

    tseed_names_hold_alone();
    while (*link != watch) {
        link = &(*link)->next;
    }
    *link = watch->next;
    tseed_names_release();
}

static int same(const watch_t *watch, const struct stat *st)
{
    return watch->inode == st->st_ino && watch->device == st->st_dev;
}

static void disturb(const struct stat *st)
{
    for (watch_t *watch = watches; watch; watch = watch->next) {
        if (same(watch, st)) {
            watch->disturbed = 1;
        }
    }
}

/* All watches, where nobody knows which. */
static void disturb_all(void)
{
    for (watch_t *watch = watches; watch; watch = watch->next) {
        watch->disturbed = 1;
    }
}

/* The directory above, instead of `folder`, which is closed; -1: there is none. */
static int go_up(int folder, struct stat *st)
{
    const struct stat below = *st;
    int above = tseed_folders_openat(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

    close(folder);
    if (above < 0 || fstat(above, st) != 0) {
        disturb_all();
    } else if (st->st_ino != below.st_ino || st->st_dev != below.st_dev) {
        return above;
    }
    if (above >= 0) {
        close(above);
    }
    return -1;
}

void tseed_watch_tell_locked(int folder)
{
    struct stat st;
    int at;

    if (!watches) {
        return;
    }
    at = fstat(folder, &st) == 0
             ? tseed_folders_openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)
             : -1;
    if (at < 0) {
        disturb_all();
    }
    while (at >= 0) {
        disturb(&st);
        at = go_up(at, &st);
    }
}

/* Whether the path below `base` still leads to the watched directory, and nobody has given a name
 * below it. The caller holds the lock alone. */
static int watch_is_quiet_locked(const watch_t *watch, int base, const char *path)
{
    struct stat st;

    return !watch->disturbed && fstatat(base, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           same(watch, &st);
}

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Detaching */

/* Borrowed for one call. */
typedef struct {
    tseed_store_t *store;
    const tseed_stop_t *stop;
    int last; /* depth of the files */
    int64_t tiles;
} survey_t;

static apr_status_t survey_folder(survey_t *survey, int folder, int depth,
                                  const tseed_range_t *range);

/* A name must be what a removal of the range would remove; where the file system does not tell a
 * directory from a file it is not worth asking. */
static apr_status_t survey_name(survey_t *survey, int folder, int depth, const tseed_range_t *range,
                                const struct dirent *entry)
{
    tseed_range_t narrow = *range;
    apr_status_t rv;
    int below;

    if (depth == survey->last && tseed_leftover_is(entry->d_name)) {
        return APR_SUCCESS;
    }
    if (!tseed_layout_narrow(&narrow, survey->store->pattern, depth, entry->d_name)) {
        return APR_ENOTIMPL;
    }
    if (depth == survey->last) {
        survey->tiles += entry->d_type == DT_REG;
        return entry->d_type == DT_REG || entry->d_type == DT_LNK ? APR_SUCCESS : APR_ENOTIMPL;
    }
    below = tseed_folders_openat(folder, entry->d_name, FOLDER_FLAGS);
    if (below < 0) {
        return APR_ENOTIMPL;
    }
    rv = survey_folder(survey, below, depth + 1, &narrow);
    close(below);
    return rv;
}

static apr_status_t survey_folder(survey_t *survey, int folder, int depth,
                                  const tseed_range_t *range)
{
    DIR *stream = tseed_folders_stream(folder);
    const struct dirent *entry;
    apr_status_t rv = APR_SUCCESS;

    if (!stream) {
        return APR_FROM_OS_ERROR(errno);
    }
    while (rv == APR_SUCCESS && (errno = 0, entry = readdir(stream)) != NULL) {
        if (tseed_view_is_stopped(survey->stop)) {
            rv = APR_EINTR;
        } else if (!is_dots(entry->d_name)) {
            rv = survey_name(survey, folder, depth, range, entry);
        }
    }
    if (rv == APR_SUCCESS && errno != 0) {
        rv = APR_FROM_OS_ERROR(errno);
    }
    closedir(stream);
    return rv;
}

static int is_same(int folder, int parent, const char *name)
{
    struct stat one, other;

    return fstat(folder, &one) == 0 && fstatat(parent, name, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* Names of earlier ones that are not purged yet are passed over. The deadline may have passed since
 * the level, an open directory, was surveyed. NFS may carry out a rename whose answer gets lost,
 * and answer ENOENT when it is sent again. */
static apr_status_t rename_away(int root, const char *path, int level, int removed,
                                const tseed_remnant_t *remnant)
{
    char name[REMNANT_NAME_SIZE];
    int rc = -1;

    if (tseed_store_is_over()) {
        return APR_EINTR;
    }
    for (int i = 0; rc != 0 && i < INT_MAX; i++) {
        remnant_name(name, remnant, i);
        rc = renameat(root, path, removed, name);
        if (rc != 0 && errno == ENOENT && is_same(level, removed, name)) {
            rc = 0;
        } else if (rc != 0 && errno != EEXIST && errno != ENOTEMPTY) {
            break;
        }
    }
    tseed_names_detachments += rc == 0;
    return rc == 0 ? APR_SUCCESS : APR_ENOTIMPL;
}

static void drop_empty_above(tseed_store_t *store)
{
    char *slash = strrchr(store->path, '/');

    if (slash) {
        *slash = '\0';
        tseed_view_drop_empty(store, store->path);
    }
}

/* A purge that ends removes the directory to which this one is moved, but not while the move goes
 * on. Files that others have put below since the survey began must not go with it. */
static apr_status_t move(tseed_store_t *store, int root, int level, const tseed_remnant_t *remnant,
                         const watch_t *watch)
{
    int removed;
    apr_status_t rv;

    tseed_names_hold_alone();
    rv = tseed_folders_make(&removed, &store->folders, TSEED_REMOVED, strlen(TSEED_REMOVED));
    if (rv != APR_SUCCESS) {
        tseed_view_blame(store, TSEED_REMOVED, strlen(TSEED_REMOVED), 0);
    }
    if (rv == APR_SUCCESS && !watch_is_quiet_locked(watch, root, store->path)) {
        rv = APR_ENOTIMPL;
    }
    if (rv == APR_SUCCESS) {
        rv = rename_away(root, store->path, level, removed, remnant);
    }
    tseed_names_release();
    return rv;
}

static apr_status_t detach_folder(tseed_remnant_t *remnant, survey_t *survey, int root, int level,
                                  const tseed_range_t *range)
{
    tseed_store_t *store = survey->store;
    watch_t watch;
    apr_status_t rv;

    if (watch_begin(&watch, level) != 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    rv = survey_folder(survey, level, tseed_layout_level_depth(store->pattern) + 1, range);
    remnant->usage.names = survey->tiles;
    if (rv == APR_SUCCESS) {
        rv = move(store, root, level, remnant, &watch);
    }
    watch_end(&watch);
    if (rv == APR_SUCCESS) {
        drop_empty_above(store);
    }
    return rv;
}

apr_status_t tseed_store_detach(tseed_remnant_t *remnant, tseed_store_t *store,
                                const tseed_range_t *range, const tseed_stop_t *stop)
{
    survey_t survey = {
        .store = store, .stop = stop, .last = tseed_layout_depth(store->pattern) - 1};
    int depth = tseed_layout_level_depth(store->pattern);
    int root, level;
    apr_status_t rv;

    remnant->z = range->z;
    remnant->usage.names = 0;
    if (depth < 0) {
        return APR_ENOTIMPL;
    }
    tseed_view_begin(store);
    rv = tseed_folders_find(&root, &store->folders, "", 0);
    if (rv != APR_SUCCESS) {
        return APR_STATUS_IS_ENOENT(rv) ? APR_SUCCESS : rv;
    }
    tseed_view_path(store, &(tseed_tile_t){.z = range->z}, depth); /* the same for all tiles */
    level = tseed_folders_openat(root, store->path, FOLDER_FLAGS);
    if (level < 0) {
        return errno == ENOENT ? APR_SUCCESS : APR_ENOTIMPL;
    }
    rv = detach_folder(remnant, &survey, root, level, range);
    if (rv != APR_SUCCESS) {
        tseed_view_blame(store, store->path, strlen(store->path), 0);
    }
    close(level);
    return rv;
}

/* Purging */

/* Borrowed for one call. */
typedef struct {
    _Atomic int64_t *removed;
    unsigned part, parts;
    const tseed_stop_t *stop;
} purge_t;

static int is_mine(const purge_t *purge, int folder)
{
    struct stat st;
    uint64_t mixed;

    if (fstat(folder, &st) != 0) {
        return 1;
    }
    mixed = (uint64_t)st.st_ino * UINT64_C(0x9e3779b97f4a7c15); /* inodes come at regular steps */
    return (mixed >> 32) % purge->parts == purge->part;
}

static apr_status_t purge_folder(purge_t *purge, int folder);

/* Another thread may be faster: what is gone is no failure. The last one to leave a directory finds
 * it empty. */
static apr_status_t purge_below(purge_t *purge, int folder, const char *name)
{
    int below = tseed_folders_openat(folder, name, FOLDER_FLAGS);
    apr_status_t rv;

    if (below < 0) {
        return errno == ENOENT || errno == ENOTDIR ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    rv = purge_folder(purge, below);
    close(below);
    if (rv == APR_SUCCESS) {
        unlinkat(folder, name, AT_REMOVEDIR);
    }
    return rv;
}

static apr_status_t purge_name(purge_t *purge, int folder, int mine, const struct dirent *entry)
{
    if (!mine && entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) {
        return APR_SUCCESS;
    }
    if (mine && entry->d_type != DT_DIR) {
        if (unlinkat(folder, entry->d_name, 0) == 0) {
            atomic_fetch_add(purge->removed,
                             entry->d_type != DT_LNK && !tseed_leftover_is(entry->d_name));
            return APR_SUCCESS;
        }
        if (errno != EISDIR) {
            return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
        }
    }
    return purge_below(purge, folder, entry->d_name);
}

static apr_status_t purge_folder(purge_t *purge, int folder)
{
    DIR *stream = tseed_folders_stream(folder);
    const struct dirent *entry;
    int mine = is_mine(purge, folder);
    apr_status_t rv = APR_SUCCESS;

    if (!stream) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    while (rv == APR_SUCCESS && (errno = 0, entry = readdir(stream)) != NULL) {
        if (tseed_view_is_stopped(purge->stop)) {
            rv = APR_EINTR;
        } else if (!is_dots(entry->d_name)) {
            rv = purge_name(purge, folder, mine, entry);
        }
    }
    if (rv == APR_SUCCESS && errno != 0 && errno != ENOENT) {
        rv = APR_FROM_OS_ERROR(errno);
    }
    closedir(stream);
    return rv;
}

static apr_status_t purge_all(purge_t *purge, int top)
{
    int folder = tseed_folders_openat(top, TSEED_REMOVED, FOLDER_FLAGS);
    apr_status_t rv;

    if (folder < 0) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    rv = purge_folder(purge, folder);
    close(folder);
    return rv;
}

/* Removes the hidden directories below the root if they are empty. */
static void remove_hidden(int top)
{
    tseed_names_hold_alone();
    unlinkat(top, TSEED_REMOVED, AT_REMOVEDIR);
    unlinkat(top, TSEED_HIDDEN, AT_REMOVEDIR);
    tseed_names_release();
}

apr_status_t tseed_store_purge(_Atomic int64_t *removed, const char *root, unsigned part,
                               unsigned parts, const tseed_stop_t *stop)
{
    purge_t purge = {removed, part, parts, stop};
    int top = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    apr_status_t rv;

    if (top < 0) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    rv = purge_all(&purge, top);
    if (rv == APR_SUCCESS) {
        remove_hidden(top);
    }
    close(top);
    return rv;
}
