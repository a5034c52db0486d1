/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Folders: least recently used descriptors, and directories made on the way. */
#include "store/tseed_folders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define STALE_MAX    16 /* answers that a handle is stale, one after the other */

void tseed_folders_init(tseed_folders_t *folders, const tseed_store_config_t *config,
                        size_t longest, apr_pool_t *pool)
{
    *folders = (tseed_folders_t){.root = config->root, .dirmode = config->dirmode, .root_fd = -1};
    for (int i = 0; i < TSEED_FOLDERS_MAX; i++) {
        folders->slots[i].fd = -1;
        folders->slots[i].path = apr_palloc(pool, longest);
    }
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

void tseed_folders_forget(tseed_folders_t *folders)
{
    close_fd(&folders->root_fd);
    for (int i = 0; i < TSEED_FOLDERS_MAX; i++) {
        close_fd(&folders->slots[i].fd);
    }
}

/* Closes a descriptor whose directory has been removed. */
static void close_if_removed(int *fd)
{
    struct stat st;

    if (*fd >= 0 && (fstat(*fd, &st) != 0 || st.st_nlink == 0)) {
        close_fd(fd);
    }
}

/* mkdir. The umask must not take away what the administrator gave; a group that directories inherit
 * stays inherited. */
static int make_one(int base, const char *path, mode_t mode)
{
    struct stat st;

    if (mkdirat(base, path, mode) != 0 || fstatat(base, path, &st, 0) != 0) {
        return -1;
    }
    mode |= st.st_mode & S_ISGID;
    return (st.st_mode & 07777) == mode ? 0 : fchmodat(base, path, mode, 0);
}

/* mkdir -p; `path` is written to and restored. */
static int make_path(int base, char *path, mode_t mode)
{
    char *slash = strrchr(path, '/');
    int rc = make_one(base, path, mode);

    if (rc != 0 && errno == ENOENT && slash && slash > path) {
        *slash = '\0';
        rc = make_path(base, path, mode);
        *slash = '/';
        if (rc == 0) {
            rc = make_one(base, path, mode);
        }
    }
    return rc == 0 || errno == EEXIST ? 0 : -1;
}

int tseed_folders_openat(int folder, const char *name, int flags)
{
    int fd, attempts = 0;

    do {
        fd = openat(folder, name, flags);
    } while (fd < 0 && errno == ESTALE && ++attempts < STALE_MAX);
    return fd;
}

typedef int opener_t(int base, const char *path);

/* The administrator says where the root is, by links or without. */
static int open_root(int base, const char *path)
{
    return tseed_folders_openat(base, path, FOLDER_FLAGS);
}

/* Opens one directory below another. A link is ELOOP. */
static int open_one(int base, const char *name)
{
    struct stat st;
    int fd = tseed_folders_openat(base, name, FOLDER_FLAGS | O_NOFOLLOW);

    if (fd < 0 && errno == ENOTDIR && fstatat(base, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
    }
    return fd;
}

/* For kernels before 5.6, and where openat2 is forbidden: one directory after the other. */
static int walk_below(int base, const char *path)
{
    char name[NAME_MAX + 1];
    const char *slash = strchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : strlen(path);
    int fd, below, reason;

    if (length >= sizeof(name)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name, path, length);
    name[length] = '\0';
    fd = open_one(base, name);
    if (fd < 0 || !slash) {
        return fd;
    }
    below = walk_below(fd, slash + 1);
    reason = errno;
    close(fd);
    errno = reason;
    return below;
}

/* Below the root no link is followed: a truncate does not, and would leave what a seed has put
 * behind one. */
static int open_below(int base, const char *path)
{
    const struct open_how how = {.flags = FOLDER_FLAGS, .resolve = RESOLVE_NO_SYMLINKS};
    int fd = (int)syscall(SYS_openat2, base, path, &how, sizeof(how));

    return fd < 0 && (errno == ENOSYS || errno == EPERM) ? walk_below(base, path) : fd;
}

/* Opens a directory; `make`: makes it when it is missing. */
static int open_path(opener_t *opener, int base, const char *path, int make, mode_t mode)
{
    char copy[PATH_MAX];
    int fd = opener(base, path);

    if (fd >= 0 || errno != ENOENT || !make) {
        return fd;
    }
    if (strlen(path) >= sizeof(copy)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (make_path(base, strcpy(copy, path), mode) != 0) {
        return -1;
    }
    return opener(base, path);
}

static apr_status_t root_get(int *fd, tseed_folders_t *folders, int make)
{
    if (!make) {
        close_if_removed(&folders->root_fd);
    }
    if (folders->root_fd < 0) {
        folders->root_fd =
            open_path(open_root, AT_FDCWD, folders->root, make, (mode_t)folders->dirmode);
    }
    *fd = folders->root_fd;
    return *fd < 0 ? APR_FROM_OS_ERROR(errno) : APR_SUCCESS;
}

static uint64_t last_use(const tseed_folder_t *slot)
{
    return slot->fd < 0 ? 0 : slot->used;
}

/* The slot of that path, or the one to give up for it, which is then closed. */
static tseed_folder_t *choose_slot(tseed_folders_t *folders, const char *path, size_t length)
{
    tseed_folder_t *oldest = &folders->slots[0];

    for (int i = 0; i < TSEED_FOLDERS_MAX; i++) {
        tseed_folder_t *slot = &folders->slots[i];

        if (slot->fd >= 0 && slot->length == length && memcmp(slot->path, path, length) == 0) {
            return slot;
        }
        if (last_use(slot) < last_use(oldest)) {
            oldest = slot;
        }
    }
    close_fd(&oldest->fd);
    memcpy(oldest->path, path, length);
    oldest->path[length] = '\0';
    oldest->length = length;
    return oldest;
}

static apr_status_t slot_get(int *fd, tseed_folders_t *folders, const char *path, size_t length,
                             int make)
{
    tseed_folder_t *slot = choose_slot(folders, path, length);
    apr_status_t rv;
    int root;

    slot->used = ++folders->clock;
    if (!make) {
        close_if_removed(&slot->fd);
    }
    if (slot->fd < 0) {
        rv = root_get(&root, folders, make);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        slot->fd = open_path(open_below, root, slot->path, make, (mode_t)folders->dirmode);
    }
    *fd = slot->fd;
    return *fd < 0 ? APR_FROM_OS_ERROR(errno) : APR_SUCCESS;
}

static apr_status_t get(int *fd, tseed_folders_t *folders, const char *path, size_t length,
                        int make)
{
    return length > 0 ? slot_get(fd, folders, path, length, make) : root_get(fd, folders, make);
}

apr_status_t tseed_folders_find(int *fd, tseed_folders_t *folders, const char *path, size_t length)
{
    return get(fd, folders, path, length, 0);
}

apr_status_t tseed_folders_make(int *fd, tseed_folders_t *folders, const char *path, size_t length)
{
    return get(fd, folders, path, length, 1);
}

DIR *tseed_folders_stream(int fd)
{
    int own = tseed_folders_openat(fd, ".", FOLDER_FLAGS);
    DIR *stream = own >= 0 ? fdopendir(own) : NULL;

    if (!stream && own >= 0) {
        close(own);
    }
    return stream;
}
