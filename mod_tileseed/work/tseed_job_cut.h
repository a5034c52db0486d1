/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs that cut: what a worker does with an answer. The worker that has the job calls these; its
 * `scratch` pool gets what is needed until the job is over. */
#ifndef TSEED_JOB_CUT_H
#define TSEED_JOB_CUT_H

#include "image/tseed_cutter.h"
#include "work/tseed_run.h"

/* Cuts the answer into tiles and stores the tiles that are missing or have changed. Tiles that
 * can't be stored are kept for the requests that wait for them. */
void tseed_job_cut(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                   apr_pool_t *scratch);

/* Keeps the tiles for the requests that wait for them, and stores nothing. */
void tseed_job_pass(tseed_cutter_t *cutter, tseed_job_t *job, apr_pool_t *scratch);

#endif
