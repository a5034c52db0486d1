/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A portion: what another host needs to know to send a request in the place of this one, and to cut
 * the answer. Portions travel as one line of text, fields separated by blanks:
 *
 *      version, layer, grid set, format, parameters, address of the source, print, gutter,
 *      condition, weight, level, range asked for (4), then of each metatile: its wanted tiles (4)
 *      and the seed of its digest
 *
 * Strings are percent-encoded, and "-" where they are empty; the text "-" itself is "%2d". The
 * version is the version of the module. It stands for the forms of portion, result and pack: a host
 * with another version refuses the portion. The print says by which configuration the sender makes
 * tiles: a host with another configuration refuses the portion.
 *
 * Hosts read these texts from a database that other hosts write. A host may be damaged or hostile.
 * So the reader judges every field before the reader uses any. Any thread.
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
    tseed_range_t asked; /* within the grid set; holds what the parts want */
    int width, height;   /* pixels of the answer that is expected */
    const char *url;
    const char *condition;     /* NULL: none */
    double weight;             /* see tseed_transfer_t */
    apr_array_header_t *parts; /* of tseed_portion_part_t */
} tseed_portion_t;

/* The portion of a job that leads, whose transfer is prepared and whose address of the source is
 * `address`. A condition that is not sound is left out: the answer is then whole. In `pool`. */
const char *tseed_portion_write(const tseed_job_t *leader, int address, apr_pool_t *pool);

/* Reads a portion by this host's configuration; all in `pool`. NULL, or a sentence that says why
 * this host can't do the portion; then nothing in *portion holds. */
const char *tseed_portion_read(tseed_portion_t *portion, const char *text,
                               const tseed_catalog_t *catalog, apr_pool_t *pool);

/* The layer that the text of a portion names, whatever else the text says. NULL: it names none of
 * the catalog. `pool` is for scratch. */
const tseed_layer_t *tseed_portion_layer(const char *portion, const tseed_catalog_t *catalog,
                                         apr_pool_t *pool);

/* A field of such a line. In `pool`. */
const char *tseed_portion_field(const char *text, apr_pool_t *pool);

/* The text of a field, in `pool`. NULL: no text has such a field. */
const char *tseed_portion_text(const char *field, apr_pool_t *pool);

/* The condition of a field, in `pool`: a header line as a transfer has it. "": there is none. NULL:
 * the condition is not sound and must not become a header. A sound condition has the name of one of
 * the two headers that transfers offer, and a value behind the name. A sound condition is shorter
 * than TSEED_CONDITION_SIZE and has no control character. */
const char *tseed_portion_condition(const char *field, apr_pool_t *pool);

/* How many lines a text of portions or results has: the line breaks in it. */
int tseed_portion_lines(const char *text);

#endif
