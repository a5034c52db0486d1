/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What a WMS says that it offers, and what a layer wants of it.
 *
 * Standards: OGC 01-068r3 (WMS 1.1.1, 7.1) and 06-042 (1.3.0, 7.2). Layers inherit reference
 * systems and bounds from those around them. No network: the document has been fetched.
 *
 * Any thread.
 */
#ifndef TSEED_CAPABILITIES_H
#define TSEED_CAPABILITIES_H

#include "layer/tseed_layer.h"

typedef struct tseed_capabilities_t tseed_capabilities_t;

/* Reads a capabilities document into `pool`, in which it stays until that is cleared. NULL: it is
 * none. External entities and DTDs are not loaded. The process has called tseed_document_init or
 * has one thread that reads XML. */
tseed_capabilities_t *tseed_capabilities_read(const void *body, size_t length, apr_pool_t *pool);

/* What a WMS layer of the configuration asks for and the service does not offer: layer names,
 * reference systems, formats, extents that lie wholly outside of what is drawn. A sentence each,
 * array of const char * in `pool`, empty when all is there. */
apr_array_header_t *tseed_capabilities_lacks(const tseed_capabilities_t *offered,
                                             const tseed_layer_t *layer, apr_pool_t *pool);

#endif
