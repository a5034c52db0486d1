/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Inherited levels: an earlier seeder has renamed them away and died before the database had it.
 * Main thread only. */
#ifndef TSEED_INHERITED_H
#define TSEED_INHERITED_H

#include "books/tseed_cache.h"
#include "books/tseed_page_loader.h"
#include "work/tseed_context.h"
#include "work/tseed_session.h"

/* At the start, when the tile sets are in the book: books and counts such levels. Fails when the
 * database does. */
apr_status_t tseed_inherited_take(const tseed_context_t *context, const tseed_session_t *session,
                                  tseed_cache_t *cache, tseed_page_loader_t *loader);

#endif
