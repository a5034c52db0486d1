/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A portion: what another host needs to know to send a request in the place of this one, and to cut
 * the answer. Portions travel as one line of text, fields separated by blanks:
 *
 *      version, layer, grid set, format, parameters, address of the source, print, gutter,
 *      condition, weight, level, range asked for (4), then of each metatile: its wanted tiles (4)
 *      and the seed of its digest
 *
 * Strings are percent-encoded, and "-" where they are empty. The print says by which configuration
 * the sender makes tiles: a host with another configuration refuses the portion. Any thread.
 */
#ifndef TSEED_PORTION_H
#define TSEED_PORTION_H

#include "layer/tseed_tileset.h"
#include "work/tseed_job.h"

/* One of the joined metatiles. */
typedef struct {
    tseed_range_t wanted;
    uint64_t seed;
} tseed_portion_part_t;

typedef struct {
    tseed_tileset_t tileset;
    int address; /* of the layer's source */
    int gutter;
    tseed_range_t asked;
    int width, height; /* pixels of the answer that is expected */
    const char *url;
    const char *condition;     /* NULL: none */
    double weight;             /* see tseed_transfer_t */
    apr_array_header_t *parts; /* of tseed_portion_part_t */
} tseed_portion_t;

/* The portion of a job that leads, whose transfer is prepared and whose address of the source is
 * `address`. In `pool`. */
const char *tseed_portion_write(const tseed_job_t *leader, int address, apr_pool_t *pool);

/* Reads a portion by this host's configuration; all in `pool`. NULL, or a sentence that says why
 * this host can't do it. */
const char *tseed_portion_read(tseed_portion_t *portion, const char *text,
                               const tseed_catalog_t *catalog, apr_pool_t *pool);

/* A field of such a line, and back. In `pool`. */
const char *tseed_portion_field(const char *text, apr_pool_t *pool);
const char *tseed_portion_text(const char *field, apr_pool_t *pool);

#endif
