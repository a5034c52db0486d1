/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What was found of a tile set's metatiles, with the shades: loaded from the database, and saved
 * there with the checkpoints. On the heap. The seeder's main thread only; workers may read a shade.
 * Other processes, which estimate what a task will do, know what the database has. */
#ifndef TSEED_FINDING_SET_H
#define TSEED_FINDING_SET_H

#include "quota/tseed_book.h"
#include "state/tseed_state.h"
#include "tiling/tseed_findings.h"
#include "work/tseed_job.h"

/* Most findings of a tile set, for each takes some 150 bytes; and most shades. */
#define TSEED_FINDINGS_MOST (1 << 20)
#define TSEED_SHADES_MOST   1024

typedef struct {
    const tseed_book_tileset_t *booked;
    tseed_findings_t *findings;
    uint64_t recipe; /* of the tiles that were looked at */
    /* private */
    int depth;
    tseed_shade_t **shades; /* by number - 1; each is freed with the set alone: jobs have them */
    uint32_t shade_count, shades_saved;
    tseed_finding_t *changed; /* by next_changed */
    int64_t saved_as; /* the tile set's number in the database when it was saved; 0: never */
    int must_drop;    /* what the database has is out of date, all of it */
} tseed_finding_set_t;

/* An empty set about metatiles of that shape. `depth`: tiling/tseed_findings.h. */
tseed_finding_set_t *tseed_finding_set_create(const tseed_book_tileset_t *booked, int meta_width,
                                              int meta_height, int depth);

/* Loads an empty set, the upper levels first, until there are about `most` findings. Fails when the
 * database does: the set is to be freed then. */
apr_status_t tseed_finding_set_load(tseed_finding_set_t *set, tseed_state_t *state, int64_t most,
                                    apr_pool_t *scratch);
void tseed_finding_set_free(tseed_finding_set_t *set);

/* Forgets all findings, here and with the next save; from then on they are about that shape. */
void tseed_finding_set_clear(tseed_finding_set_t *set, int meta_width, int meta_height, int depth);

/* The shade of a number; NULL: there is none. The number of a tile's shade; 0: there are too many.
 */
const tseed_shade_t *tseed_finding_set_shade(const tseed_finding_set_t *set, uint32_t number);
uint32_t tseed_finding_set_number(tseed_finding_set_t *set, const unsigned char *data,
                                  size_t length);

/* Notes that a finding must be saved, or deleted if it is gone. */
void tseed_finding_set_change(tseed_finding_set_t *set, tseed_finding_t *finding);

/* Forgets a finding, here and with the next save. */
void tseed_finding_set_forget(tseed_finding_set_t *set, tseed_finding_t *finding);

/* Whether there is something to save. Write writes it into the open transaction, and fails when the
 * database does: then all is written again the next time. Saved notes that the transaction is
 * committed. */
int tseed_finding_set_has_changes(const tseed_finding_set_t *set);
apr_status_t tseed_finding_set_write(tseed_finding_set_t *set, tseed_state_t *state,
                                     apr_pool_t *scratch);
void tseed_finding_set_saved(tseed_finding_set_t *set);

/* ---- what other processes know ---- */

typedef struct tseed_known_t tseed_known_t;

/* Loads the findings of a tile set that a task may rely on, in `pool`: none if the layer does not
 * rely on any, or if the tiles are made by another recipe now. The task must outlive the result. Of
 * very many findings it loads those of the upper levels. Fails when the database does. Any process;
 * the thread that has the connection. */
apr_status_t tseed_known_load(tseed_known_t **known, tseed_state_t *state, const tseed_task_t *task,
                              const tseed_tileset_t *tileset, apr_pool_t *pool);

/* Whether the task will take the metatile at a position to be of the colour above it, as far as is
 * known now. A reseed will if it meets the metatile above again, and that is as it was. */
int tseed_known_has(const tseed_known_t *known, const tseed_positions_t *positions,
                    int64_t position);

#endif
