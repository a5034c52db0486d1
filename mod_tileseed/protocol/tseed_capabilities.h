/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The capabilities of a WMS, and what a configured layer wants that they lack.
 *
 * Standards: OGC 01-068r3 (WMS 1.1.1, 7.1) and 06-042 (1.3.0, 7.2). A layer of the document
 * inherits reference systems and bounds from the layers around it. No network: the caller has
 * fetched the document.
 *
 * Any thread.
 */
#ifndef TSEED_CAPABILITIES_H
#define TSEED_CAPABILITIES_H

#include "layer/tseed_layer.h"

typedef struct tseed_capabilities_t tseed_capabilities_t;

/* Reads a capabilities document into `pool`. NULL: the body is no capabilities document. External
 * entities and DTDs are not loaded. The process has called tseed_document_init, or only one of its
 * threads reads XML. */
tseed_capabilities_t *tseed_capabilities_read(const void *body, size_t length, apr_pool_t *pool);

/* The most pixels of a picture along each side (06-042, 7.2.4.3); 0: the service does not say. */
void tseed_capabilities_most(const tseed_capabilities_t *offered, int *width, int *height);

/* Sentences about everything that a configured layer asks for and the service does not offer: layer
 * names, reference systems, formats, extents that lie wholly outside of the service's bounds. An
 * array of const char * in `pool`, empty when nothing is lacking. Sets *lacks_layer to whether a
 * layer name is among them. */
apr_array_header_t *tseed_capabilities_lacks(int *lacks_layer, const tseed_capabilities_t *offered,
                                             const tseed_layer_t *layer, apr_pool_t *pool);

#endif
