/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The two readers behind tseed_document_read. Not for other rooms. Any thread. Results and
 * sentences live in the pool that a call takes. */
#ifndef TSEED_READER_H
#define TSEED_READER_H

#include "protocol/tseed_document.h"

/* Each as tseed_document_read. */
const char *tseed_xml_read(tseed_node_t **root, const char *body, size_t length, apr_pool_t *pool);
const char *tseed_json_read(tseed_node_t **root, const char *body, size_t length, apr_pool_t *pool);

#endif
