/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The saved findings: which metatiles of a tile set are of one colour, and the tiles of these
 * colours.
 *
 * Only the seeder's main thread writes; any process reads. A write joins the transaction that
 * tseed_state_begin began, or is a transaction of its own. Findings go with their tile set.
 * Statuses as in tseed_state.h.
 */
#ifndef TSEED_FINDING_ROWS_H
#define TSEED_FINDING_ROWS_H

#include "state/tseed_state.h"
#include "tiling/tseed_findings.h"

/* At most `most` findings (tseed_finding_t) of a tile set behind the finding `after` (NULL: from
 * the first on), by level, column and row, in `pool`. */
apr_status_t tseed_finding_rows_load(tseed_state_t *state, apr_array_header_t **found,
                                     int64_t tileset, const tseed_finding_t *after, int64_t most,
                                     apr_pool_t *pool);

/* Saves a finding, whether there was one or not, or deletes it if it is gone. */
apr_status_t tseed_finding_rows_save(tseed_state_t *state, int64_t tileset,
                                     const tseed_finding_t *finding);

/* Nobody knows any more of what colour tiles of level z are: no finding above is clean. */
apr_status_t tseed_finding_rows_doubt(tseed_state_t *state, int64_t tileset, int z);

/* Deletes all of a tile set, with its shades. */
apr_status_t tseed_finding_rows_forget(tseed_state_t *state, int64_t tileset);

/* A shade: its number, from 1, and its tile as hexadecimal digits. */
typedef struct {
    int64_t number;
    const char *digits;
} tseed_shade_row_t;

/* All shades (tseed_shade_row_t) of a tile set by number, in `pool`; saves one. */
apr_status_t tseed_finding_rows_shades(tseed_state_t *state, apr_array_header_t **shades,
                                       int64_t tileset, apr_pool_t *pool);
apr_status_t tseed_finding_rows_shade_save(tseed_state_t *state, int64_t tileset,
                                           const tseed_shade_row_t *shade);

#endif
