/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The lock of the state directory. */
#include "seeder/tseed_state_lock.h"

#include <apr_strings.h>

tseed_state_lock_t tseed_state_lock_of(const char *state_dir, apr_pool_t *pool)
{
    return (tseed_state_lock_t){.path = apr_pstrcat(pool, state_dir, "/lock", NULL)};
}

apr_status_t tseed_state_lock_take(tseed_state_lock_t *lock, apr_pool_t *pool)
{
    apr_status_t rv = APR_SUCCESS;

    if (!lock->file) {
        rv = apr_file_open(&lock->file, lock->path, APR_FOPEN_WRITE | APR_FOPEN_CREATE,
                           APR_FPROT_UREAD | APR_FPROT_UWRITE, pool);
    }
    if (rv == APR_SUCCESS) {
        rv = apr_file_lock(lock->file, APR_FLOCK_EXCLUSIVE | APR_FLOCK_NONBLOCK);
    }
    return rv;
}

/* fcntl has two words for a lock that is held. Before there is a file EACCES means what it says. */
int tseed_state_lock_is_held(const tseed_state_lock_t *lock, apr_status_t rv)
{
    return lock->file && (APR_STATUS_IS_EAGAIN(rv) || APR_STATUS_IS_EACCES(rv));
}

int tseed_state_lock_is_ours(const tseed_state_lock_t *lock, apr_pool_t *scratch)
{
    apr_finfo_t held, there;

    return apr_file_info_get(&held, APR_FINFO_IDENT, lock->file) == APR_SUCCESS &&
           apr_stat(&there, lock->path, APR_FINFO_IDENT, scratch) == APR_SUCCESS &&
           held.inode == there.inode && held.device == there.device;
}
