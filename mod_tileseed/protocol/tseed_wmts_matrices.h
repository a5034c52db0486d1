/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The tile matrix sets of a WMTS document, and how layers refer to them. Private to the document.
 *
 * A set has the levels of its grid set of which some layer has tiles. A layer with fewer levels
 * refers to two sets: first to a set of its own levels (tseed_subset_name), because GDAL takes the
 * finest level of a set for the layer's, whatever limits say; then to the full set, with limits.
 *
 * Limits tell clients which tiles a layer lacks. They are rarely needed, and they are in doubt: the
 * type in the schema forbids row and column 0 in limits, but the documentation of the schema, the
 * text of OGC 07-057r7 and all programs that read or write limits begin with 0.
 *
 * Any thread.
 */
#ifndef TSEED_WMTS_MATRICES_H
#define TSEED_WMTS_MATRICES_H

#include <apr_hash.h>

#include "protocol/tseed_xml_write.h"

/* Collects what the document says about the grid sets of these layers (const tseed_layer_t *). In
 * `pool`. */
apr_hash_t *tseed_wmts_matrices(const apr_array_header_t *layers, apr_pool_t *pool);

/* Writes a layer's links to the sets of a grid set: one or two. */
void tseed_wmts_put_links(const tseed_xml_t *xml, const tseed_subset_t *subset,
                          apr_hash_t *matrices);

/* Writes the sets to which the layers refer, each once. */
void tseed_wmts_put_matrices(const tseed_xml_t *xml, const apr_array_header_t *layers,
                             apr_hash_t *matrices);

#endif
