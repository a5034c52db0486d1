/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Files of packs. */
#include "seeder/tseed_pack_file.h"

#include <apr_strings.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_deadline.h"
#include "image/tseed_pack.h"
#include "store/tseed_layout.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define PACKS        (&TSEED_PACKS[sizeof(TSEED_HIDDEN)]) /* the last part of that path */

/* ---- folders and names ---- */

/* The umask must not take away what the administrator gave; a group that directories inherit stays
 * inherited. */
static int make_below(int above, const char *name, mode_t mode)
{
    const int is_made = mkdirat(above, name, mode) == 0;
    const int folder =
        is_made || errno == EEXIST ? openat(above, name, FOLDER_FLAGS | O_NOFOLLOW) : -1;
    struct stat st;

    if (is_made && folder >= 0 && fstat(folder, &st) == 0) {
        fchmod(folder, mode | (st.st_mode & S_ISGID));
    }
    return folder;
}

/* Opens one directory below another. `mode` 0: does not make it when it is missing. */
static apr_status_t open_below(int *folder, int above, const char *name, mode_t mode)
{
    *folder = openat(above, name, FOLDER_FLAGS | O_NOFOLLOW);
    if (*folder < 0 && errno == ENOENT && mode) {
        *folder = make_below(above, name, mode);
    }
    return *folder < 0 ? APR_FROM_OS_ERROR(errno) : APR_SUCCESS;
}

/* Opens the folder of the packs. The path is walked by hand: each directory is made and opened
 * below an open one, so nobody can put a link in between. */
static apr_status_t open_packs(int *packs, const char *root, mode_t mode)
{
    const int top = open(root, FOLDER_FLAGS);
    apr_status_t rv;
    int hidden;

    if (top < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    rv = open_below(&hidden, top, TSEED_HIDDEN, mode);
    close(top);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = open_below(packs, hidden, PACKS, mode);
    close(hidden);
    return rv;
}

static const char *text_of(const tseed_pack_name_t *name, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%" APR_INT64_T_FMT "-%" APR_INT64_T_FMT "-%d", name->giver,
                        name->number, name->index);
}

/* Whether a text is the name of a pack: exactly what text_of writes. */
static int read_name(tseed_pack_name_t *name, const char *text, apr_pool_t *pool)
{
    char *end;

    name->giver = strtoll(text, &end, 10);
    name->number = strtoll(*end ? end + 1 : end, &end, 10);
    name->index = (int)strtoll(*end ? end + 1 : end, NULL, 10);
    return name->giver >= 0 && name->number >= 0 && name->index >= 0 &&
           strcmp(text_of(name, pool), text) == 0;
}

/* ---- writing ---- */

/* A file that has the name already is of no use: a host has died amid it, or somebody else has put
 * it there. */
static int create(int folder, const char *name)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int file = openat(folder, name, flags, 0600);

    if (file < 0 && errno == EEXIST) {
        unlinkat(folder, name, 0);
        file = openat(folder, name, flags, 0600);
    }
    return file;
}

/* A full disk writes a part; only the call for the rest tells why. */
static apr_status_t write_all(int file, const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(file, bytes, length);

        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            return APR_FROM_OS_ERROR(written == 0 ? ENOSPC : errno);
        }
    }
    return APR_SUCCESS;
}

static apr_status_t write_file(int folder, const char *name, const unsigned char *bytes,
                               size_t length)
{
    const int file = create(folder, name);
    apr_status_t rv;

    if (file < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    rv = write_all(file, bytes, length);
    if (close(file) != 0 && rv == APR_SUCCESS) {
        rv = APR_FROM_OS_ERROR(errno); /* a file server may tell only now that it is full */
    }
    if (rv != APR_SUCCESS) {
        unlinkat(folder, name, 0);
    }
    return rv;
}

apr_status_t tseed_pack_file_write(const tseed_store_config_t *store, const tseed_pack_name_t *name,
                                   const unsigned char *bytes, size_t length, apr_pool_t *pool)
{
    apr_status_t rv;
    int folder;

    if (length > TSEED_PACK_MOST) {
        return APR_FROM_OS_ERROR(EFBIG);
    }
    rv = open_packs(&folder, store->root, (mode_t)store->dirmode);
    if (rv == APR_SUCCESS) {
        rv = write_file(folder, text_of(name, pool), bytes, length);
        close(folder);
    }
    return rv;
}

/* ---- reading ---- */

static apr_status_t read_all(int file, unsigned char *to, size_t size)
{
    while (size > 0) {
        const ssize_t got = read(file, to, size);

        if (got > 0) {
            to += got;
            size -= (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            return got == 0 ? APR_EOF : APR_FROM_OS_ERROR(errno);
        }
    }
    return APR_SUCCESS;
}

/* Sets the size of a file that may be read. */
static apr_status_t measure(size_t *size, int file)
{
    struct stat st;

    if (fstat(file, &st) != 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    if (!S_ISREG(st.st_mode)) {
        return APR_FROM_OS_ERROR(EINVAL);
    }
    *size = (size_t)st.st_size;
    if (*size > TSEED_PACK_MOST) {
        return APR_FROM_OS_ERROR(EFBIG);
    }
    return *size > 0 ? APR_SUCCESS : APR_EOF;
}

static apr_status_t make_room(tseed_transfer_t *transfer, size_t size)
{
    unsigned char *body;

    if (size <= transfer->capacity) {
        return APR_SUCCESS;
    }
    body = realloc(transfer->body, size);
    if (!body) {
        return APR_ENOMEM;
    }
    transfer->body = body;
    transfer->capacity = size;
    return APR_SUCCESS;
}

static apr_status_t read_body(tseed_transfer_t *transfer, int file)
{
    size_t size = 0;
    apr_status_t rv = measure(&size, file);

    if (rv == APR_SUCCESS) {
        rv = make_room(transfer, size);
    }
    if (rv == APR_SUCCESS) {
        rv = read_all(file, transfer->body, size);
    }
    if (rv == APR_SUCCESS) {
        transfer->length = size;
    }
    return rv;
}

/* Without O_NONBLOCK the call would wait for the writer of a pipe. */
static apr_status_t read_file(tseed_transfer_t *transfer, int folder, const char *name)
{
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    apr_status_t rv;

    if (file < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    rv = read_body(transfer, file);
    close(file);
    if (rv == APR_SUCCESS) {
        unlinkat(folder, name, 0);
    }
    return rv;
}

apr_status_t tseed_pack_file_read(tseed_transfer_t *transfer, const tseed_store_config_t *store,
                                  const tseed_pack_name_t *name, apr_pool_t *pool)
{
    int folder;
    apr_status_t rv = open_packs(&folder, store->root, 0);

    transfer->length = 0;
    if (rv == APR_SUCCESS) {
        rv = read_file(transfer, folder, text_of(name, pool));
        close(folder);
    }
    return rv;
}

/* ---- removing ---- */

int tseed_pack_file_is_there(const tseed_store_config_t *store, const tseed_pack_name_t *name,
                             apr_pool_t *pool)
{
    struct stat st;
    int folder, is_there;

    if (open_packs(&folder, store->root, 0) != APR_SUCCESS) {
        return 0;
    }
    is_there = fstatat(folder, text_of(name, pool), &st, AT_SYMLINK_NOFOLLOW) == 0;
    close(folder);
    return is_there;
}

void tseed_pack_file_remove(const tseed_store_config_t *store, const tseed_pack_name_t *name,
                            apr_pool_t *pool)
{
    int folder;

    if (open_packs(&folder, store->root, 0) == APR_SUCCESS) {
        unlinkat(folder, text_of(name, pool), 0);
        close(folder);
    }
}

static int is_file(int folder, const char *name)
{
    struct stat st;

    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static void clean_folder(DIR *stream, tseed_pack_wanted_t *is_wanted, void *baton, apr_pool_t *pool)
{
    const struct dirent *entry;
    tseed_pack_name_t name;

    while (!tseed_deadline_has_passed() && (entry = readdir(stream))) {
        if (read_name(&name, entry->d_name, pool) && is_file(dirfd(stream), entry->d_name) &&
            !is_wanted(baton, &name) && !tseed_deadline_has_passed()) {
            unlinkat(dirfd(stream), entry->d_name, 0);
        }
    }
}

/* A stream over the names of a store's packs, or NULL. */
static DIR *open_stream(const char *root)
{
    int folder;
    DIR *stream;

    if (open_packs(&folder, root, 0) != APR_SUCCESS) {
        return NULL;
    }
    stream = fdopendir(folder);
    if (!stream) {
        close(folder);
    }
    return stream;
}

void tseed_pack_files_clean(const tseed_catalog_t *catalog, tseed_pack_wanted_t *is_wanted,
                            void *baton, apr_pool_t *pool)
{
    const unsigned most = (unsigned)catalog->order->nelts; /* each layer has one root */
    const char **roots = apr_palloc(pool, most * sizeof(*roots));
    const unsigned count = tseed_catalog_roots(catalog, roots, most);

    for (unsigned i = 0; i < count; i++) {
        DIR *stream = open_stream(roots[i]);

        if (stream) {
            clean_folder(stream, is_wanted, baton, pool);
            closedir(stream);
        }
    }
}
