/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The directories that httpd makes for User. What exists is left as it is: an administrator who
 * made it has decided about owner and mode. */
#include "mod_tileseed_dirs.h"

#include <apr_file_io.h>
#include <apr_hash.h>
#include <apr_strings.h>
#include <fcntl.h>
#include <http_log.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unixd.h>

#include "mod_tileseed.h"

#define STATE_MODE 0700

APLOG_USE_MODULE(tileseed);

/* Directories above the last one stay root's, and readable, so that User can get through. */
static apr_status_t make_above(const char *path, apr_pool_t *pool)
{
    const char *above = ap_make_dirstr_parent(pool, path);
    apr_fileperms_t readable = APR_FPROT_UREAD | APR_FPROT_UWRITE | APR_FPROT_UEXECUTE |
                               APR_FPROT_GREAD | APR_FPROT_GEXECUTE | APR_FPROT_WREAD |
                               APR_FPROT_WEXECUTE;

    return apr_dir_make_recursive(above, readable, pool);
}

/* By descriptor, so that nobody who may write above can have root give something else away. */
static apr_status_t hand_over(const char *path, mode_t mode)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    apr_status_t rv = APR_SUCCESS;

    if (dir < 0) {
        return errno;
    }
    if (geteuid() == 0 && fchown(dir, ap_unixd_config.user_id, ap_unixd_config.group_id) != 0) {
        rv = errno;
    } else if (fchmod(dir, mode) != 0) { /* whatever the umask */
        rv = errno;
    }
    close(dir);
    return rv;
}

/* Whoever made it in the same moment has made it for the same purpose. With ChrootDir it is made
 * where seeder and children will see it. */
static apr_status_t make(const char *name, mode_t mode, apr_pool_t *pool)
{
    const char *root = ap_unixd_config.chroot_dir;
    const char *path = root ? apr_pstrcat(pool, root, name, NULL) : name;
    struct stat there;
    apr_status_t rv;

    if (stat(path, &there) == 0) {
        return APR_SUCCESS;
    }
    rv = make_above(path, pool);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (mkdir(path, mode) != 0) {
        return errno == EEXIST ? APR_SUCCESS : errno;
    }
    return hand_over(path, mode);
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

void tseed_dirs_make(const tseed_settings_t *settings, const tseed_catalog_t *catalog,
                     server_rec *server, apr_pool_t *pool)
{
    apr_hash_t *stores = stores_of(catalog, pool);
    apr_status_t rv = make(settings->state_dir, STATE_MODE, pool);

    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, server,
                     "tileseed: can't make TileSeedStateDir %s; tasks can't be recorded until it "
                     "exists and belongs to User",
                     settings->state_dir);
    }
    for (apr_hash_index_t *i = apr_hash_first(pool, stores); i; i = apr_hash_next(i)) {
        const tseed_store_config_t *store = apr_hash_this_val(i);

        rv = make(store->root, (mode_t)store->dirmode, pool);
        if (rv != APR_SUCCESS) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, rv, server,
                         "tileseed: can't make the store %s; tasks of its layers wait until it "
                         "exists and User may write to it",
                         store->root);
        }
    }
}

void tseed_dirs_check(const tseed_catalog_t *catalog, server_rec *server, apr_pool_t *pool)
{
    apr_hash_t *stores = stores_of(catalog, pool);

    for (apr_hash_index_t *i = apr_hash_first(pool, stores); i; i = apr_hash_next(i)) {
        const tseed_store_config_t *store = apr_hash_this_val(i);

        if (access(store->root, W_OK | X_OK) != 0 && errno != ENOENT) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, errno, server,
                         "tileseed: the store %s can't be written by User; tasks of its layers "
                         "wait until it can",
                         store->root);
        }
    }
}
