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
 * Jumps are runs of positions that lie below findings: a task passes them in one step. Positions go
 * by rows of blocks, blocks, rows of metatiles (tseed_positions.h). What lies below a finding is a
 * rectangle of metatiles at each level. A jump takes as many positions as it can: a row of
 * metatiles in a block, then whole blocks, then whole rows of blocks. So the time of a jump does
 * not depend on how many positions it passes. Several findings side by side are one run.
 *
 * Some metatiles below a finding are looked at all the same: they are no part of a run. A hash
 * chooses them, the same ones each time: `share` percent of the metatiles of each level below the
 * finding, TSEED_LOOKS_MOST at most.
 *
 * A broad finding decides over an eighth of a level or more. It is not believed for what one answer
 * showed: all metatiles at the first level below it are looked at, TSEED_LOOKS_MOST at most.
 *
 * Findings lie on the heap until the set is destroyed or they are dropped. One thread at a time.
 */
#ifndef TSEED_FINDINGS_H
#define TSEED_FINDINGS_H

#include "tiling/tseed_positions.h"

typedef struct tseed_finding_t {
    int64_t x, y;        /* column and row of its metatile */
    tseed_range_t range; /* the tiles of the metatile that the layer has; earlier versions saved
                          * those that a task wanted */
    int64_t task;        /* who found it last; 0: nobody who may rely on it */
    uint32_t shade;      /* which colour, from 1; 0: several */
    int depth;
    int is_hole;
    int is_clean; /* nothing of another colour lies below, as far as its finder knows */
    /* for those who keep the set */
    int is_saved, is_changed;
    int is_gone; /* only to be deleted where it is saved; no call finds it */
    /* the lists that it is in: of the set, of holes, of what its keeper has changed */
    struct tseed_finding_t *next, *next_hole, *next_changed;
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

/* The finding behind `at` (NULL: the first), gone ones too: each once, if nothing is added or
 * dropped meanwhile. NULL: there are no more. */
tseed_finding_t *tseed_findings_next(const tseed_findings_t *findings, const tseed_finding_t *at);

/* Whether what lies below is taken to be of its colour. */
int tseed_finding_prunes(const tseed_findings_t *findings, const tseed_finding_t *finding);

/* Says of a finding that prunes: 0: it does not count as one; else a class. */
typedef int tseed_finding_class_t(void *baton, const tseed_finding_t *finding);

/* The highest finding that prunes a metatile's wanted tiles, or NULL. With `is_anew` the metatile
 * itself counts as no hole: it is being looked at again. `class_of` NULL: all count. */
const tseed_finding_t *tseed_findings_above(const tseed_findings_t *findings,
                                            const tseed_gridset_t *gridset,
                                            const tseed_range_t *wanted, int is_anew,
                                            tseed_finding_class_t *class_of, void *baton);

/* Calls `visit` with each finding that has some of these tiles. `visit` may forget what it is
 * called with; it adds and drops nothing. */
typedef void tseed_findings_visit_t(void *baton, tseed_finding_t *finding);
void tseed_findings_each(const tseed_findings_t *findings, const tseed_range_t *tiles,
                         tseed_findings_visit_t *visit, void *baton);

/* Calls `visit` with each finding at a deeper level that has ground in common with a finding,
 * likewise. */
void tseed_findings_each_below(const tseed_findings_t *findings, const tseed_gridset_t *gridset,
                               const tseed_finding_t *finding, tseed_findings_visit_t *visit,
                               void *baton);

/* ---- jumps ---- */

#define TSEED_LOOKS_MOST 16

/* A run has findings of one class. */
typedef struct {
    const tseed_findings_t *findings;
    const tseed_positions_t *positions;
    tseed_finding_class_t *class_of;
    void *baton;
    int looked;    /* the class below whose findings metatiles are looked at */
    double share;  /* percent; 0: none is looked at */
    int asks;      /* whether more is looked at below broad findings, of every class */
    uint64_t seed; /* of the hash */
} tseed_jump_t;

typedef struct {
    const tseed_finding_t *finding; /* above the position; NULL: none */
    int class_of;                   /* of it */
    int is_look;                    /* the position is to be looked at: no run begins with it */
    int is_broad;                   /* the finding is: its looks tell whether it is believed */
    int asks;                       /* the position is one of these looks */
    int64_t end;                    /* of the run: the first position behind it */
} tseed_landing_t;

/* What begins at a position, 0 <= position < count. A run ends after `steps` steps (> 0) at the
 * latest: the next call goes on. */
void tseed_jump_from(tseed_landing_t *landing, const tseed_jump_t *jump, int64_t position,
                     int steps);

#endif
