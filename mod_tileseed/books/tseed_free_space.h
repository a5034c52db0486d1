/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The free space below store roots, for TileSeedMinFree. Main thread only.
 *
 * A network file system does not answer while its server is away. So each root has a thread of its
 * own that measures once a tick. While such a measure is under way the root is not measured again
 * and keeps its last limit. Other roots and the main thread go on. Before its first measure the
 * account of a root refuses all charges, so that nothing is written below the root.
 */
#ifndef TSEED_FREE_SPACE_H
#define TSEED_FREE_SPACE_H

#include "books/tseed_cache.h"
#include "work/tseed_context.h"

typedef struct tseed_free_space_t tseed_free_space_t;

/* Makes the measures of the cleaner's roots, in context->pool. */
tseed_free_space_t *tseed_free_space_create(const tseed_context_t *context,
                                            const tseed_cache_t *cache);

/* The record of the client that measures once a tick. It is the module's. */
tseed_client_t *tseed_free_space_client(tseed_free_space_t *space);

/* Begins to measure all roots that are not being measured. At the start; a tick does it as well,
 * without TileSeedMinFree one in ten. */
void tseed_free_space_begin(tseed_free_space_t *space);

/* Bytes that a root had free when it was measured last; INT64_MAX: nobody knows. */
int64_t tseed_free_space_get(const tseed_free_space_t *space, const char *root);

#endif
