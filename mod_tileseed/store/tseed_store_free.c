/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The free space of the file system that a store root is on. */
#include "store/tseed_store_free.h"

#include <apr_strings.h>
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

int64_t tseed_store_free(const char *root, apr_pool_t *scratch)
{
    char *path = apr_pstrdup(scratch, root);
    struct statvfs info;

    while (statvfs(path, &info) != 0) {
        const int is_absent = errno == ENOENT || errno == ENOTDIR;
        char *slash = strrchr(path, '/');

        if (!is_absent || !slash || slash == path) {
            return INT64_MAX;
        }
        *slash = '\0';
    }
    return (int64_t)info.f_bavail * (int64_t)info.f_frsize;
}
