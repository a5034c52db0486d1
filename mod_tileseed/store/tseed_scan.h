/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Scans: what exists of a range of tiles, one name after the other. For the files of this room.
 * Threads of the seeder. */
#ifndef TSEED_SCAN_H
#define TSEED_SCAN_H

#include <time.h>

#include "store/tseed_store_view.h"

/* One directory of a scan, and the part of the range that may lie in it. */
typedef struct {
    int fd;
    int depth; /* of the names in it */
    tseed_range_t range;
    int emptied; /* something was removed from it: it goes too when nothing is left */
} tseed_scan_folder_t;

/* In the caller's memory, for one scan in its thread. */
typedef struct tseed_scan_t {
    tseed_store_t *store;
    const tseed_stop_t *stop; /* asked for every name that is examined; may be NULL */
    /* Called for a tile that exists, be it a file, a symbolic link or something odd. */
    apr_status_t (*file)(struct tseed_scan_t *scan, tseed_scan_folder_t *folder, const char *name,
                         const struct stat *st, const tseed_tile_t *tile);
    void *baton;
    time_t leftovers_before; /* unfinished files that are older are dropped; 0: none */
    int drops_all;           /* in every directory of files, even where none of them is read */
    int last;                /* depth of the files, set by the scan */
} tseed_scan_t;

/* Symbolic links to directories are not followed. APR_EINTR: `stop` said so. */
apr_status_t tseed_scan_run(tseed_scan_t *scan, const tseed_range_t *range);

#endif
