/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Discovery: tile sets with parameters that the disk has and the book has not. Main thread only. */
#ifndef TSEED_DISCOVER_H
#define TSEED_DISCOVER_H

#include "books/tseed_cache.h"
#include "work/tseed_context.h"

/* Enters the tile sets with parameters that the disk has, if the parameters of their hashes are
 * known. Logs the other hashes. Fails when the database does. */
apr_status_t tseed_discover_look(const tseed_context_t *context, tseed_cache_t *cache);

#endif
