/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The tile matrix sets of a WMTS document, and how layers refer to them. Private to the document.
 *
 * A set has the levels of its grid set that some layer has tiles of. A layer that has fewer refers
 * to a set of its own levels first (tseed_subset_name): GDAL takes the finest level of a set for
 * the layer's, whatever limits say. It also refers to the full set, with limits.
 *
 * Limits are needed rarely, and that is well: the schema's type forbids row and column 0 in them,
 * which its own documentation and the text of OGC 07-057r7 have them begin with, and so does
 * whoever reads or writes them. Without limits clients would ask for tiles that the layer has not.
 *
 * Any thread.
 */
#ifndef TSEED_WMTS_MATRICES_H
#define TSEED_WMTS_MATRICES_H

#include <apr_hash.h>

#include "protocol/tseed_xml_write.h"

/* What is told of the grid sets of these layers, an array of const tseed_layer_t *. In `pool`. */
apr_hash_t *tseed_wmts_matrices(const apr_array_header_t *layers, apr_pool_t *pool);

/* What a layer says of a grid set: one link or two. */
void tseed_wmts_put_links(const tseed_xml_t *xml, const tseed_subset_t *subset,
                          apr_hash_t *matrices);

/* The sets that the layers refer to, each once. */
void tseed_wmts_put_matrices(const tseed_xml_t *xml, const apr_array_header_t *layers,
                             apr_hash_t *matrices);

#endif
