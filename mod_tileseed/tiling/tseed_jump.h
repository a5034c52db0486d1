/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jumps: runs of positions that lie below findings, so that a task passes them in one step.
 *
 * Positions go by rows of blocks, blocks, rows of metatiles (tseed_positions.h). What lies below a
 * finding is a rectangle of metatiles at each level. A jump takes as many positions as it can: a
 * row of metatiles in a block, then whole blocks, then whole rows of blocks. So the time of a jump
 * does not depend on how many positions it passes. Several findings side by side are one run.
 *
 * Some metatiles below a finding are looked at all the same: they are no part of a run. A hash
 * chooses them, the same ones each time: `share` percent of the metatiles of each level below the
 * finding, TSEED_LOOKS_MOST at most.
 *
 * A broad finding decides over an eighth of a level or more. It is not believed for what one answer
 * showed: all metatiles at the first level below it are looked at, TSEED_LOOKS_MOST at most.
 *
 * Pure functions.
 */
#ifndef TSEED_JUMP_H
#define TSEED_JUMP_H

#include "tiling/tseed_findings.h"

#define TSEED_LOOKS_MOST 16

/* Says of a finding that decides: 0: not for this task; else a class. A run has findings of one
 * class. */
typedef int tseed_jump_class_t(void *baton, const tseed_finding_t *finding);

typedef struct {
    const tseed_findings_t *findings;
    const tseed_positions_t *positions;
    tseed_jump_class_t *class_of;
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
    int64_t end;                    /* of the run: the first position behind it, */
    int64_t tiles;                  /* and the wanted tiles in it */
} tseed_landing_t;

/* What begins at a position, 0 <= position < count. A run ends after `steps` steps at the latest:
 * the next call goes on. */
void tseed_jump_from(tseed_landing_t *landing, const tseed_jump_t *jump, int64_t position,
                     int steps);

#endif
