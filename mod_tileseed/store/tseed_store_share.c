/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Files that uniform tiles share.
 *
 *      <root>/.tileseed/links/topp_states/EPSG_900913/png/<digest>         the master
 *      <root>/topp_states/EPSG_900913_12/007_007/0001000_0001002.png       another name of it
 *
 * The master is a name of the file, too. So a tile owns its file unless the file has several names
 * and one of them is a master: the inode tells what a tile costs, whoever removes it and when.
 * Names elsewhere, in a backup for example, change nothing. A master that is the only name of its
 * file has no tiles any more, and goes with the next sweep.
 *
 * Somebody may remove a master, or move a cache without its hidden directory. A count that meets
 * two names of one file in a page then makes one of them a master's name again.
 *
 * A link costs one system call once the master is known, and two if the tile is a link already.
 */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_text.h"
#include "store/tseed_store_view.h"

/* Masters removed so far; what is remembered from before is doubtful. Under the lock of names: no
 * tile is linked to a master between a sweep's look at it and its removal. */
static unsigned sweeps;

static apr_status_t status_of(int rc)
{
    return rc == 0 ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
}

/* Masters */

/* Without an extension: programs that look for tiles below the root must not take it for one. */
static void master_name(tseed_master_t *master, int number)
{
    master->number = number;
    master->known = 0;
    apr_snprintf(master->name, sizeof(master->name), number ? "%s-%d" : "%s", master->digest,
                 number);
}

/* The one of this content, remembered or newly so; NULL when it is not worth sharing. */
static tseed_master_t *master_get(tseed_store_t *store, const void *data, size_t length)
{
    tseed_master_t *master = store->masters;

    if (length == 0 || length > TSEED_MASTER_LONGEST) {
        return NULL;
    }
    for (; master < store->masters + TSEED_MASTERS_MAX; master++) {
        if (master->length == length && memcmp(master->data, data, length) == 0) {
            return master;
        }
    }
    master = &store->masters[store->next_master++ % TSEED_MASTERS_MAX];
    if (!master->data) {
        master->data = apr_palloc(store->pool, TSEED_MASTER_LONGEST);
    }
    memcpy(master->data, data, length);
    master->length = length;
    tseed_text_sha1(master->digest, data, length);
    master_name(master, 0);
    return master;
}

static void blame_links(tseed_store_t *store)
{
    tseed_view_blame(store, store->links, strlen(store->links), 0);
}

static apr_status_t open_links(int *folder, tseed_store_t *store)
{
    apr_status_t rv =
        tseed_folders_make(folder, &store->folders, store->links, strlen(store->links));

    if (rv != APR_SUCCESS) {
        blame_links(store);
    }
    return rv;
}

/* Whether the file that has a master's name has its content. */
static int has_content(int links, const tseed_master_t *master)
{
    unsigned char data[TSEED_MASTER_LONGEST];
    const int file =
        tseed_folders_openat(links, master->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t length;

    if (file < 0) {
        return 0;
    }
    length = read(file, data, sizeof(data));
    close(file);
    return length == (ssize_t)master->length && memcmp(data, master->data, master->length) == 0;
}

/* A crash of the machine, or a disk that fails, can leave a master without its content, or with
 * zeros of the same length. Then the next number takes its place, as for one that has all the names
 * it may have. */
static apr_status_t know_master_locked(int links, tseed_master_t *master)
{
    struct stat st;

    if (master->known && master->sweeps == sweeps) {
        return APR_SUCCESS;
    }
    while (fstatat(links, master->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISREG(st.st_mode) && (size_t)st.st_size == master->length &&
            has_content(links, master)) {
            master->known = 1;
            master->sweeps = sweeps;
            master->device = st.st_dev;
            master->inode = st.st_ino;
            return APR_SUCCESS;
        }
        master_name(master, master->number + 1);
    }
    return errno == ENOENT ? APR_NOTFOUND : APR_FROM_OS_ERROR(errno);
}

/* Linking */

/* The only way to a new name of a master. */
static apr_status_t name_master(tseed_store_t *store, tseed_master_t *master, int folder,
                                const char *name)
{
    int links;
    apr_status_t rv = open_links(&links, store);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    tseed_names_hold();
    rv = tseed_view_is_stale(store) ? ESTALE : know_master_locked(links, master);
    while (rv == APR_SUCCESS &&
           (rv = status_of(linkat(links, master->name, folder, name, 0))) == EMLINK) {
        master_name(master, master->number + 1);
        rv = know_master_locked(links, master);
    }
    if (rv == APR_SUCCESS) {
        tseed_watch_tell_locked(folder);
    }
    tseed_names_release();
    if (APR_STATUS_IS_ENOENT(rv)) {
        master->known = 0;
    }
    return rv;
}

static apr_status_t replace(tseed_effect_t *lost, tseed_store_t *store, tseed_master_t *master,
                            int folder, const char *name, const tseed_stop_t *stop)
{
    apr_status_t rv = name_master(store, master, folder, store->leftover);

    if (APR_STATUS_IS_EEXIST(rv) && unlinkat(folder, store->leftover, 0) == 0) {
        rv = name_master(store, master, folder, store->leftover);
    }
    if (rv == APR_SUCCESS) {
        store->replacing = 1;
        rv = tseed_view_finish(lost, store, folder, name, stop);
    }
    return rv;
}

static int is_master(const tseed_master_t *master, int folder, const char *name)
{
    struct stat st;

    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == master->inode &&
           st.st_dev == master->device;
}

static apr_status_t link_once(tseed_effect_t *effect, tseed_store_t *store,
                              const tseed_tile_file_t *file, tseed_master_t *master,
                              const tseed_stop_t *stop)
{
    tseed_effect_t lost = {0};
    int folder;
    apr_status_t rv = tseed_view_is_stopped(stop)
                          ? APR_EINTR
                          : tseed_folders_make(&folder, &store->folders, file->path, file->length);

    if (rv == APR_SUCCESS) {
        rv = name_master(store, master, folder, file->name);
    }
    if (APR_STATUS_IS_EEXIST(rv)) {
        if (is_master(master, folder, file->name)) {
            return APR_SUCCESS;
        }
        rv = replace(&lost, store, master, folder, file->name, stop);
    }
    if (rv == APR_SUCCESS) {
        *effect = (tseed_effect_t){.names = 1};
        tseed_effect_add(effect, &lost);
    }
    return rv;
}

/* Errors with which a tile becomes a copy instead of a link. EXDEV concerns some directories alone,
 * those on another file system. An error about what has the tile's name says nothing of links. */
static apr_status_t judge(tseed_store_t *store, apr_status_t rv)
{
    if (store->blamed && store->blames_tile) {
        return rv;
    }
    store->never_links |= rv == EPERM || rv == ENOTSUP || rv == EOPNOTSUPP || rv == ENOSYS;
    return store->never_links || rv == EXDEV ? APR_ENOTIMPL : rv;
}

apr_status_t tseed_store_link(tseed_effect_t *effect, tseed_store_t *store,
                              const tseed_tile_t *tile, const void *data, size_t length,
                              const tseed_stop_t *stop)
{
    tseed_tile_file_t file = tseed_view_file(store, store->path, tile);
    tseed_master_t *master = master_get(store, data, length);
    int attempts = 0;
    apr_status_t rv;

    *effect = (tseed_effect_t){0};
    if (!master || store->never_links) {
        return APR_ENOTIMPL;
    }
    tseed_view_begin(store);
    do {
        rv = link_once(effect, store, &file, master, stop);
    } while (tseed_view_begin_again(store, rv, &attempts));
    if (rv != APR_SUCCESS) {
        tseed_view_blame(store, file.path, file.length, 0);
    }
    return judge(store, rv);
}

/* Never replaces a master: those that are names of it would belong to nobody. Alone, so that nobody
 * has linked a tile to it before views can know that their inodes are not all. */
static apr_status_t make_master(tseed_store_t *store, const tseed_master_t *master, int links)
{
    struct stat st;
    apr_status_t rv;

    tseed_names_hold_alone();
    rv = status_of(fstatat(links, store->leftover, &st, AT_SYMLINK_NOFOLLOW));
    if (rv == APR_SUCCESS) {
        rv = status_of(linkat(links, store->leftover, links, master->name, 0));
    }
    if (rv == APR_SUCCESS) {
        tseed_view_shared_changed_locked(store, &st, 0);
    }
    tseed_names_release();
    tseed_view_discard(store, links);
    return rv;
}

static apr_status_t share_once(tseed_store_t *store, const tseed_master_t *master)
{
    int links;
    apr_status_t rv = tseed_view_is_stopped(NULL) ? APR_EINTR : open_links(&links, store);

    if (rv == APR_SUCCESS) {
        rv = tseed_view_write(store, links, master->data, master->length);
    }
    if (rv == APR_SUCCESS) {
        rv = make_master(store, master, links);
    }
    return rv;
}

apr_status_t tseed_store_share(tseed_effect_t *effect, tseed_store_t *store, const void *data,
                               size_t length)
{
    const tseed_master_t *master = master_get(store, data, length);
    int attempts = 0;
    apr_status_t rv;

    *effect = (tseed_effect_t){0};
    if (!master || store->never_links) {
        return APR_ENOTIMPL;
    }
    tseed_view_begin(store);
    do {
        rv = share_once(store, master);
    } while (tseed_view_begin_again(store, rv, &attempts));
    if (APR_STATUS_IS_EEXIST(rv)) {
        return APR_SUCCESS;
    }
    if (rv == APR_SUCCESS) {
        *effect = tseed_store_gain(store, length);
        effect->names = 0;
    } else {
        blame_links(store);
    }
    return judge(store, rv);
}

/* Lost masters */

/* Whether a name still is of that file, and a master's name of it could be made. */
static int name_again_locked(int folder, const char *name, const struct stat *st, int links,
                             tseed_master_t *master)
{
    struct stat now;

    if (fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) != 0 || now.st_ino != st->st_ino ||
        now.st_size != st->st_size) {
        return 0;
    }
    while (linkat(folder, name, links, master->name, 0) != 0) {
        if (errno != EEXIST) {
            return 0;
        }
        if (fstatat(links, master->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
            now.st_ino == st->st_ino) {
            return 1; /* another thread was faster */
        }
        master_name(master, master->number + 1);
    }
    return 1;
}

int tseed_view_adopt(tseed_store_t *store, int folder, const char *name, const struct stat *st)
{
    unsigned char data[TSEED_MASTER_LONGEST];
    tseed_master_t master = {0};
    int links, file, is_named;
    ssize_t length;

    if (!store->config->link_uniform || st->st_size > TSEED_MASTER_LONGEST ||
        tseed_folders_make(&links, &store->folders, store->links, strlen(store->links)) !=
            APR_SUCCESS) {
        return 0;
    }
    file = tseed_folders_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    length = file < 0 ? 0 : read(file, data, sizeof(data));
    if (file >= 0) {
        close(file);
    }
    if (length <= 0 || length != st->st_size) {
        return 0;
    }
    tseed_text_sha1(master.digest, data, (size_t)length);
    master_name(&master, 0);
    tseed_names_hold_alone();
    is_named = name_again_locked(folder, name, st, links, &master);
    if (is_named) {
        tseed_view_shared_changed_locked(store, st, 0);
    }
    tseed_names_release();
    store->adopted += is_named;
    return is_named;
}

int tseed_store_adopted_take(tseed_store_t *store)
{
    const int adopted = store->adopted;

    store->adopted = 0;
    return adopted > 0;
}

/* All masters of a tile set */

/* Calls for each name in the directory of masters. Nothing there is success. */
static apr_status_t each_master(tseed_store_t *store,
                                void (*visit)(tseed_effect_t *sum, tseed_store_t *store, int links,
                                              const char *name),
                                tseed_effect_t *sum)
{
    const struct dirent *entry;
    int links;
    DIR *stream;
    apr_status_t rv;

    tseed_view_begin(store);
    blame_links(store); /* if it fails, it fails there */
    *sum = (tseed_effect_t){0};
    rv = tseed_folders_find(&links, &store->folders, store->links, strlen(store->links));
    if (rv != APR_SUCCESS) {
        return APR_STATUS_IS_ENOENT(rv) ? APR_SUCCESS : rv;
    }
    stream = tseed_folders_stream(links);
    if (!stream) {
        return APR_FROM_OS_ERROR(errno);
    }
    while (rv == APR_SUCCESS && (errno = 0, entry = readdir(stream)) != NULL) {
        if (tseed_view_is_stopped(NULL)) {
            rv = APR_EINTR;
        } else {
            visit(sum, store, links, entry->d_name);
        }
    }
    if (rv == APR_SUCCESS) {
        rv = APR_FROM_OS_ERROR(errno);
    }
    closedir(stream);
    return rv;
}

static int stat_master(struct stat *st, int links, const char *name)
{
    return name[0] != '.' && fstatat(links, name, st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st->st_mode);
}

static void count_master(tseed_effect_t *sum, tseed_store_t *store, int links, const char *name)
{
    struct stat st;

    if (stat_master(&st, links, name)) {
        tseed_effect_t file = tseed_store_gain(store, (size_t)st.st_size);

        file.names = 0;
        tseed_effect_add(sum, &file);
    }
}

static void count_master_or_drop(tseed_effect_t *sum, tseed_store_t *store, int links,
                                 const char *name)
{
    tseed_view_note_unremoved(store, links, name, tseed_leftover_drop(links, name, INT64_MAX));
    count_master(sum, store, links, name);
}

static void sweep_master(tseed_effect_t *sum, tseed_store_t *store, int links, const char *name)
{
    struct stat st;

    if (!stat_master(&st, links, name) || st.st_nlink > 1) {
        tseed_leftover_drop(links, name, tseed_leftover_before());
        return;
    }
    tseed_names_hold_alone();
    if (stat_master(&st, links, name) && st.st_nlink == 1 && unlinkat(links, name, 0) == 0) {
        tseed_effect_t file = tseed_store_gain(store, (size_t)st.st_size);

        sweeps++;
        tseed_view_shared_changed_locked(store, &st, 1);
        file = (tseed_effect_t){0, -file.files, -file.bytes, -file.allocated};
        tseed_effect_add(sum, &file);
    }
    tseed_names_release();
}

apr_status_t tseed_store_shared_count(tseed_effect_t *sum, tseed_store_t *store, int drop_leftovers)
{
    return each_master(store, drop_leftovers ? count_master_or_drop : count_master, sum);
}

apr_status_t tseed_store_shared_sweep(tseed_effect_t *effect, tseed_store_t *store)
{
    apr_status_t rv = each_master(store, sweep_master, effect);

    if (effect->files < 0) {
        tseed_view_drop_empty(store, store->links);
    }
    return rv;
}
