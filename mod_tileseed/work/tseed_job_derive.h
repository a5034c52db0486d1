/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs that derive: a worker makes the picture of a metatile from other tiles of the tile set, as
 * the saving says that has chosen that (job->savings.draw). The picture then takes the place of an
 * upstream's answer: CUT cuts and encodes it as it would an answer. The worker that has the job
 * calls these; its `scratch` pool gets what is needed until the job is over. */
#ifndef TSEED_JOB_DERIVE_H
#define TSEED_JOB_DERIVE_H

#include "image/tseed_cutter.h"
#include "work/tseed_run.h"

/* Makes the picture of the wanted tiles, in job->result. A seed leaves out tiles that are there
 * already. result.below becomes the digest of the tiles that were read. If a reseed finds the
 * digest as it was, nothing is decoded: it is unchanged. If a tile can't be made, result.lacking
 * says so. The outcome is TSEED_JOB_LACKS if no tile can be made. */
void tseed_job_derive(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                      apr_pool_t *scratch);

/* The picture that DERIVE has made: view of the body. */
tseed_picture_t tseed_job_derived(const tseed_job_t *job);

/* Where a wanted tile lies in that picture, whose first row is the uppermost. */
tseed_region_t tseed_job_derived_region(const tseed_job_t *job, const tseed_tile_t *tile);

/* ---- for those who draw ---- */

#define TSEED_PIXEL 4 /* bytes of RGBA */

typedef struct tseed_derive_t {
    tseed_cutter_t *cutter;
    tseed_store_t *store;
    tseed_job_t *job;
    uint64_t digest;     /* of the tiles read so far */
    int only_digest;     /* tiles are read, and nothing is decoded */
    int made;            /* tiles */
    unsigned char *rgba; /* of a tile */
    apr_pool_t *once;    /* cleared before each tile that is read */
    /* who draws writes this */
    int is_opaque; /* all of the picture that was made so far */
} tseed_derive_t;

/* Reads a tile of the tile set. Returns 1; 0: it is not there, or *error says why it can't be read;
 * -1: the job can't go on. The answer lasts until the next one is read. */
int tseed_derive_read(tseed_answer_t *answer, const char **error, tseed_derive_t *derive,
                      const tseed_tile_t *tile);

/* Decodes a tile to RGBA. NULL or a sentence. */
const char *tseed_derive_decode(tseed_picture_t *picture, tseed_derive_t *derive,
                                const tseed_answer_t *answer);

/* The first of the pixels of the picture that are to become a tile: RGBA, transparent until they
 * are drawn. *stride: bytes from row to row. */
unsigned char *tseed_derive_pixels(size_t *stride, const tseed_derive_t *derive,
                                   const tseed_tile_t *tile);

/* Notes that a tile can't be made, and why; is_broken: because another tile is broken. */
void tseed_derive_lack(tseed_derive_t *derive, const tseed_tile_t *tile, int is_broken,
                       const char *cause);

#endif
