/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Findings: which metatiles of a tile set are of one colour, and what lies pruned below them.
 *
 * A finding is about one metatile. It says the one colour of the metatile's tiles, as the number of
 * a shade, and its depth: how many levels above it were found to be of the same colour. A finding
 * whose depth has reached the set's `depth` prunes: all that lies below it is taken to be of its
 * colour. A finding that is a hole ends that: what lies below the hole is as it is.
 *
 *      level 4        [ shade 1, depth 3: prunes ]
 *                      |                        |
 *      level 5        [ pruned      ][ pruned   ]
 *      level 6        [ pr. ][ pr.  ][ hole][ pr]     a look has found an island there
 *      level 7        [][][][][][][][ made  ][][]
 *
 * Of several findings that prune a metatile the highest one counts, but none above a hole. A hole
 * of one colour may prune itself. Findings prune a metatile that lies below them as a whole. A hole
 * ends that for each metatile that has ground in common with it: a task that wants a part of a
 * metatile may have looked at another part of it than a request for all of it asks about. Metatiles
 * count from the left and the bottom of the grid. All findings of a set are about metatiles of one
 * shape.
 *
 * Findings lie on the heap until the set is destroyed or they are dropped. One thread at a time.
 */
#ifndef TSEED_FINDINGS_H
#define TSEED_FINDINGS_H

#include "tiling/tseed_positions.h"

typedef struct {
    int64_t x, y;        /* column and row of its metatile */
    tseed_range_t range; /* the tiles that were looked at, all of the metatile or the wanted ones */
    int64_t task;        /* who found it last; 0: nobody who may rely on it */
    uint32_t shade;      /* which colour, from 1; 0: several */
    int depth;
    int is_hole;
    int is_clean; /* nothing of another colour lies below, as far as its finder knows */
    /* for those who keep the set */
    int is_saved, is_changed;
    int is_gone; /* only to be deleted where it is saved; no call finds it */
} tseed_finding_t;

typedef struct tseed_findings_t tseed_findings_t;

/* A set without findings, about metatiles of that shape. `depth`: see above. */
tseed_findings_t *tseed_findings_create(int meta_width, int meta_height, int depth);
void tseed_findings_destroy(tseed_findings_t *findings);

/* How many there are, gone ones too. */
int64_t tseed_findings_count(const tseed_findings_t *findings);

/* The finding of a metatile; NULL: there is none. */
tseed_finding_t *tseed_findings_find(const tseed_findings_t *findings, int z, int64_t x, int64_t y);

/* The entry of a metatile, which is made zeroed if there is none, or was gone. It has its level in
 * range.z, column and row. */
tseed_finding_t *tseed_findings_get(tseed_findings_t *findings, int z, int64_t x, int64_t y);

/* Makes a finding a hole, or no hole any more. */
void tseed_findings_set_hole(tseed_findings_t *findings, tseed_finding_t *finding, int is_hole);

/* No call finds the finding any more but next and drop. */
void tseed_findings_forget(tseed_findings_t *findings, tseed_finding_t *finding);

/* Frees a finding. */
void tseed_findings_drop(tseed_findings_t *findings, tseed_finding_t *finding);

/* Each finding once, gone ones too, if nothing is added or dropped meanwhile; *cursor is 0 at
 * first. NULL: there are no more. */
tseed_finding_t *tseed_findings_next(const tseed_findings_t *findings, size_t *cursor);

/* Whether what lies below is taken to be of its colour. */
int tseed_finding_prunes(const tseed_findings_t *findings, const tseed_finding_t *finding);

/* Asked of a finding that prunes: 0 if it is not to count as one. */
typedef int tseed_finding_counts_t(void *baton, const tseed_finding_t *finding);

/* A metatile of a sequence: its level, column and row. */
typedef struct {
    const tseed_positions_t *positions;
    int z;
    int64_t x, y;
    int is_anew; /* the metatile itself counts as no hole: it is being looked at again */
} tseed_spot_t;

/* The highest finding that prunes a metatile, or NULL. `counts` NULL: all count. */
const tseed_finding_t *tseed_findings_above(const tseed_findings_t *findings,
                                            const tseed_spot_t *spot,
                                            tseed_finding_counts_t *counts, void *baton);

/* Calls `visit` with each finding at a deeper level that has ground in common with a finding.
 * `visit` may forget what it is called with; it adds and drops nothing. */
typedef void tseed_findings_visit_t(void *baton, tseed_finding_t *below);
void tseed_findings_each_below(const tseed_findings_t *findings, const tseed_gridset_t *gridset,
                               const tseed_finding_t *finding, tseed_findings_visit_t *visit,
                               void *baton);

/* The metatiles of a sequence at a deeper level, or at its own, all of whose wanted tiles lie below
 * a finding. Empty (maxx < minx): there are none. */
tseed_metatiles_t tseed_findings_below(const tseed_finding_t *finding,
                                       const tseed_positions_t *positions, int z);

/* Those at that level that have ground in common with a finding. */
tseed_metatiles_t tseed_findings_touched(const tseed_finding_t *finding,
                                         const tseed_positions_t *positions, int z);

/* The holes in the order in which they were made: the i-th, NULL behind the last one. */
const tseed_finding_t *tseed_findings_hole(const tseed_findings_t *findings, unsigned i);

/* Whether a rectangle has metatiles, or shares some with another one, which is left in *common. */
int tseed_metatiles_any(const tseed_metatiles_t *metatiles);
int tseed_metatiles_share(tseed_metatiles_t *common, const tseed_metatiles_t *a,
                          const tseed_metatiles_t *b);

#endif
