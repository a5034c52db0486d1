/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The document of layers.json: what a request may name. */
#ifndef TSEED_LAYERS_DOCUMENT_H
#define TSEED_LAYERS_DOCUMENT_H

#include "layer/tseed_layer.h"

/* The layers (of const tseed_layer_t *) in their order, with what a seed request may choose. Pure
 * ASCII, in `pool`. Any thread. */
const char *tseed_layers_document(const apr_array_header_t *layers, apr_pool_t *pool);

#endif
