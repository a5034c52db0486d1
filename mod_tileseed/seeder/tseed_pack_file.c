/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Files of packs. */
#include "seeder/tseed_pack_file.h"

#include <apr_strings.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "store/tseed_layout.h"

#define FOLDER      "/" TSEED_PACKS "/"
#define ROOTS_MOST  64
#define CLEAN_EVERY (60 * APR_USEC_PER_SEC)
#define OLD_SECONDS 600

/* Both directories are there already, or this host can't make them: then opening the file fails. */
static int create(const tseed_store_config_t *store, const char *path, apr_pool_t *pool)
{
    mkdir(apr_pstrcat(pool, store->root, "/" TSEED_HIDDEN, NULL), (mode_t)store->dirmode);
    mkdir(apr_pstrcat(pool, store->root, "/" TSEED_PACKS, NULL), (mode_t)store->dirmode);
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
}

const char *tseed_pack_file_write(const tseed_store_config_t *store, const char *name,
                                  const unsigned char *bytes, size_t length, apr_pool_t *pool)
{
    const char *path = apr_pstrcat(pool, store->root, FOLDER, name, NULL);
    const int file = create(store, path, pool);
    int is_written;

    if (file < 0) {
        return "";
    }
    is_written = write(file, bytes, length) == (ssize_t)length;
    is_written = close(file) == 0 && is_written;
    if (!is_written) {
        unlink(path);
    }
    return is_written ? path : "";
}

static int read_file(tseed_transfer_t *transfer, int file)
{
    struct stat st;
    unsigned char *body;

    if (fstat(file, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
        (size_t)st.st_size > transfer->most) {
        return 0;
    }
    body = realloc(transfer->body, (size_t)st.st_size);
    if (!body) {
        return 0;
    }
    transfer->body = body;
    transfer->capacity = transfer->length = (size_t)st.st_size;
    return read(file, body, transfer->length) == (ssize_t)transfer->length;
}

/* Whether a path is of a pack of one of this host's stores. Another host has sent it. */
static int is_pack(const char *path, const tseed_catalog_t *catalog)
{
    const char *roots[ROOTS_MOST];
    const unsigned count = tseed_catalog_roots(catalog, roots, ROOTS_MOST);

    for (unsigned i = 0; i < count && i < ROOTS_MOST; i++) {
        const size_t length = strlen(roots[i]);

        if (strncmp(path, roots[i], length) == 0 &&
            strncmp(path + length, FOLDER, strlen(FOLDER)) == 0 &&
            !strchr(path + length + strlen(FOLDER), '/')) {
            return 1;
        }
    }
    return 0;
}

int tseed_pack_file_read(tseed_transfer_t *transfer, const char *path,
                         const tseed_catalog_t *catalog)
{
    const int file = is_pack(path, catalog) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    int is_read;

    if (file < 0) {
        return 0;
    }
    is_read = read_file(transfer, file);
    close(file);
    unlink(path);
    return is_read;
}

void tseed_pack_file_remove(const char *path, const tseed_catalog_t *catalog)
{
    if (is_pack(path, catalog)) {
        unlink(path);
    }
}

/* ---- files that nobody wants ---- */

static void clean_folder(DIR *folder, int64_t giver)
{
    const time_t oldest = time(NULL) - OLD_SECONDS;
    const struct dirent *entry;
    struct stat st;

    while ((entry = readdir(folder))) {
        if (fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && (apr_atoi64(entry->d_name) < giver || st.st_mtime < oldest)) {
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
}

void tseed_pack_files_clean(apr_time_t *at, int64_t giver, const tseed_catalog_t *catalog,
                            apr_pool_t *pool)
{
    const char *roots[ROOTS_MOST];
    const apr_time_t now = tseed_clock_monotonic();
    unsigned count;

    if (now < *at) {
        return;
    }
    *at = now + CLEAN_EVERY;
    count = tseed_catalog_roots(catalog, roots, ROOTS_MOST);
    for (unsigned i = 0; i < count && i < ROOTS_MOST; i++) {
        DIR *folder = opendir(apr_pstrcat(pool, roots[i], "/" TSEED_PACKS, NULL));

        if (folder) {
            clean_folder(folder, giver);
            closedir(folder);
        }
    }
}
