/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Jobs that cut: what a worker does with an answer. The worker that has the job calls these; its
 * `scratch` pool gets what is needed until the job is over. */
#ifndef TSEED_JOB_CUT_H
#define TSEED_JOB_CUT_H

#include "image/tseed_cutter.h"
#include "work/tseed_run.h"

/* How tiles are found in the body of a transfer that another host has cut. Any thread, as long as
 * nobody changes the body. */
typedef struct tseed_packed_t {
    /* Judges the body. NULL, or a sentence that it is damaged. */
    const char *(*check)(const unsigned char *data, size_t length);
    /* Each returns 0 if the body has none: the tile of a column and row, whose bytes are those of
     * the body; the digest that the answer has by a seed. Safe also before the check. */
    int (*find)(tseed_encoded_t *tile, const unsigned char *data, size_t length, int64_t x,
                int64_t y);
    int (*digest_of)(uint64_t *digest, const unsigned char *data, size_t length, uint64_t seed);
} tseed_packed_t;

/* Where the tile in column `x` and row `y` lies in an answer that has the tiles `asked` and the
 * gutter around them. The answer's first row of pixels belongs to the uppermost tiles. */
tseed_region_t tseed_job_region(const tseed_tileset_t *tileset, const tseed_range_t *asked,
                                int gutter, int64_t x, int64_t y);

/* Opens an answer as tseed_cutter_open does. An answer of no bytes stands for tiles that the
 * upstream does not have: the cutter gets a blank picture, in `scratch`. NULL or a sentence. */
const char *tseed_job_open(tseed_cutter_t *cutter, tseed_answer_t answer,
                           const tseed_format_t *format, apr_pool_t *scratch);

/* Cuts the answer into tiles and stores the tiles that are missing or have changed. Tiles that
 * can't be stored are kept for the requests that wait for them. */
void tseed_job_cut(tseed_cutter_t *cutter, tseed_store_t *store, tseed_job_t *job,
                   apr_pool_t *scratch);

/* Keeps the tiles for the requests that wait for them, and stores nothing. */
void tseed_job_pass(tseed_cutter_t *cutter, tseed_job_t *job, apr_pool_t *scratch);

#endif
