/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The purposes of scans: removing tiles, counting them, finding them. */
#include <errno.h>
#include <unistd.h>

#include "store/tseed_scan.h"

static apr_status_t remove_file(tseed_scan_t *scan, tseed_scan_folder_t *folder, const char *name,
                                const struct stat *st, const tseed_tile_t *tile)
{
    const tseed_visitor_t *visitor = scan->baton;
    tseed_effect_t effect;
    apr_status_t rv = tseed_store_loss(&effect, scan->store, st);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (visitor->warn) {
        visitor->warn(visitor->baton, tile);
    }
    if (unlinkat(folder->fd, name, 0) != 0) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    folder->emptied = 1;
    visitor->tell(visitor->baton, tile, &effect);
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

    return tseed_scan_run(&scan, range);
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
} count_t;

static apr_status_t count_file(tseed_scan_t *scan, tseed_scan_folder_t *folder, const char *name,
                               const struct stat *st, const tseed_tile_t *tile)
{
    count_t *count = scan->baton;
    tseed_effect_t effect;
    apr_status_t rv = value(&effect, scan->store, st);

    (void)folder;
    (void)name;
    (void)tile;
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
    count_t count = {sum, INT64_MAX};
    tseed_scan_t scan = {.store = store,
                         .file = count_file,
                         .baton = &count,
                         .leftovers_before = drop_leftovers ? INT64_MAX : 0,
                         .drops_all = drop_leftovers};
    apr_status_t rv;

    *sum = (tseed_effect_t){0};
    rv = tseed_scan_run(&scan, range);
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
    if (rv == APR_SUCCESS) {
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

        rv = tseed_scan_run(&scan, &level);
    }
    return rv;
}
