/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The directories that httpd makes for User.
 *
 * A directory that exists stays as it is: an administrator has made it and has decided about owner
 * and mode.
 *
 * httpd makes directories with root's rights, and a directory may lie in another that belongs to
 * User. So no link is followed in a directory to which others than root may write. */
#include "mod_tileseed_dirs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <httpd.h>
#include <unixd.h>

#include <apr_hash.h>
#include <apr_strings.h>
#include <http_log.h>

#include "mod_tileseed.h"
#include "mod_tileseed_config.h"

APLOG_USE_MODULE(tileseed);

#define STATE_MODE 0700
#define ABOVE_MODE 0755
#define DIR_FLAGS  (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* Whether nobody but root may put a link into a directory that root is about to go through. Without
 * root's rights a link leads nowhere that its maker could not go. */
static int is_trusted(int dir)
{
    struct stat st;

    return geteuid() != 0 ||
           (fstat(dir, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)));
}

static int make_one(int above, const char *name)
{
    int dir;

    if (mkdirat(above, name, ABOVE_MODE) != 0) {
        return -1;
    }
    dir = openat(above, name, DIR_FLAGS | O_NOFOLLOW);
    if (dir >= 0) {
        fchmod(dir, ABOVE_MODE); /* whatever the umask */
    }
    return dir;
}

/* Closes `above` and returns the directory of that name in it. Another process that makes the
 * directory at the same time makes it for the same purpose. */
static int descend(int above, const char *name, int *is_new)
{
    const int flags = DIR_FLAGS | (is_trusted(above) ? 0 : O_NOFOLLOW);
    int dir = openat(above, name, flags), reason;

    *is_new = 0;
    if (dir < 0 && errno == ENOENT) {
        dir = make_one(above, name);
        *is_new = dir >= 0;
        dir = dir < 0 && errno == EEXIST ? openat(above, name, flags) : dir;
    }
    reason = errno;
    close(above);
    errno = reason;
    return dir;
}

/* By descriptor, so that nobody who may write above can have root give something else away. */
static apr_status_t hand_over(int dir, mode_t mode)
{
    if (geteuid() == 0 && fchown(dir, ap_unixd_config.user_id, ap_unixd_config.group_id) != 0) {
        return errno;
    }
    return fchmod(dir, mode) == 0 ? APR_SUCCESS : errno; /* whatever the umask */
}

/* Directories above the last one stay root's, and readable, so that User can get through. With
 * ChrootDir it is made where seeder and children will see it. */
static apr_status_t make(const char *place, mode_t mode, apr_pool_t *pool)
{
    const char *root = ap_unixd_config.chroot_dir;
    const char *path = root ? apr_pstrcat(pool, root, place, NULL) : place;
    struct stat there;
    char *rest, *name;
    int dir, is_new = 0;
    apr_status_t rv = APR_SUCCESS;

    if (stat(path, &there) == 0) {
        return APR_SUCCESS;
    }
    dir = open(*path == '/' ? "/" : ".", DIR_FLAGS);
    name = apr_strtok(apr_pstrdup(pool, path), "/", &rest);
    for (; dir >= 0 && name; name = apr_strtok(NULL, "/", &rest)) {
        dir = descend(dir, name, &is_new);
    }
    if (dir < 0) {
        return errno;
    }
    if (is_new) {
        rv = hand_over(dir, mode);
    }
    close(dir);
    return rv;
}

/* The stores of all layers, each root once: root -> tseed_store_config_t. */
static apr_hash_t *stores_of(const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    apr_hash_t *stores = apr_hash_make(pool);

    for (int i = 0; i < catalog->order->nelts; i++) {
        const tseed_store_config_t *store =
            &APR_ARRAY_IDX(catalog->order, i, tseed_layer_t *)->store;

        apr_hash_set(stores, store->root, APR_HASH_KEY_STRING, store);
    }
    return stores;
}

/* Makes those that are missing. A failure is logged, and no reason not to start. */
static void make_dirs(server_rec *server, apr_pool_t *pool, apr_pool_t *ptemp)
{
    const tseed_settings_t *settings = &tseed_conf_get(server)->settings;
    const tseed_catalog_t *catalog = tseed_conf_get(server)->catalog;
    apr_hash_t *stores = stores_of(catalog, pool);
    apr_status_t rv = make(settings->state_dir, STATE_MODE, pool);

    (void)ptemp;
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, server,
                     "TS0003: can't make TileSeedStateDir %s; tasks can't be recorded until it "
                     "exists and belongs to User",
                     settings->state_dir);
    }
    for (apr_hash_index_t *i = apr_hash_first(pool, stores); i; i = apr_hash_next(i)) {
        const tseed_store_config_t *store = apr_hash_this_val(i);

        rv = make(store->root, (mode_t)store->dirmode, pool);
        if (rv != APR_SUCCESS) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, rv, server,
                         "TS0004: can't make the store %s; tasks of its layers wait until it "
                         "exists and User may write to it",
                         store->root);
        }
    }
}

const tseed_module_part_t tseed_dirs_part = {.start = make_dirs};

void tseed_dirs_check(const tseed_catalog_t *catalog, server_rec *server, apr_pool_t *pool)
{
    apr_hash_t *stores = stores_of(catalog, pool);

    for (apr_hash_index_t *i = apr_hash_first(pool, stores); i; i = apr_hash_next(i)) {
        const tseed_store_config_t *store = apr_hash_this_val(i);

        if (access(store->root, W_OK | X_OK) != 0 && errno != ENOENT) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, errno, server,
                         "TS0005: the store %s can't be written by User; tasks of its layers wait "
                         "until it can",
                         store->root);
        }
    }
}
