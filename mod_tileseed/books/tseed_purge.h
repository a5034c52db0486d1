/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Purges: what truncates have renamed away is removed from the disk in the background. Main thread
 * only. */
#ifndef TSEED_PURGE_H
#define TSEED_PURGE_H

#include "books/tseed_count.h"
#include "work/tseed_context.h"

typedef struct tseed_purge_t tseed_purge_t;

/* Makes the module in the context's pool. */
tseed_purge_t *tseed_purge_create(const tseed_context_t *context, const tseed_session_t *session,
                                  const tseed_cache_t *cache, tseed_marks_t *marks,
                                  tseed_count_t *count);

/* The client that removes, and gives back to the accounts what is gone. It is the module's. */
tseed_client_t *tseed_purge_client(tseed_purge_t *purge);

/* Notes that something may have been renamed away below each store root. */
void tseed_purge_want_all(tseed_purge_t *purge);

#endif
