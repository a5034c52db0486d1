/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs that derive: a worker makes the picture of a metatile from the tiles of the level below, by
 * halving (image/tseed_average.h). The picture then takes the place of an upstream's answer: CUT
 * cuts and encodes it as it would an answer. The worker that has the job calls these; its `scratch`
 * pool gets what is needed until the job is over. */
#ifndef TSEED_JOB_DERIVE_H
#define TSEED_JOB_DERIVE_H

#include "image/tseed_cutter.h"
#include "work/tseed_run.h"

/* Makes the picture of the wanted tiles, in job->result. A seed leaves out tiles that are there
 * already. result.below becomes the digest of the tiles below. If a reseed finds the digest as it
 * was, nothing is decoded: it is unchanged.
 *
 * Where the layer can have no tile below, the picture is transparent. If a tile below is missing or
 * broken, the tile above it can't be made, and result.lacking says so. The outcome is
 * TSEED_JOB_LACKS if no tile can be made. */
void tseed_job_derive(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                      apr_pool_t *scratch);

/* The picture that DERIVE has made: view of the body. */
tseed_picture_t tseed_job_derived(const tseed_job_t *job);

/* Where a wanted tile lies in that picture, whose first row is the uppermost. */
tseed_region_t tseed_job_derived_region(const tseed_job_t *job, const tseed_tile_t *tile);

#endif
