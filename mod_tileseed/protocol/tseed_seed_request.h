/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seed request: an XML or JSON document, judged against its layer, becomes a task. Any thread.
 * Results and sentences live in the pool that a call takes. */
#ifndef TSEED_SEED_REQUEST_H
#define TSEED_SEED_REQUEST_H

#include "layer/tseed_tileset.h"
#include "protocol/tseed_document.h"
#include "protocol/tseed_members.h"
#include "protocol/tseed_task.h"

/* The members of a request, as a document, a form or a query has them; no layer has judged them
 * yet. Texts are trimmed, but for values of parameters; NULL: absent or empty. */
typedef struct {
    const char *name; /* the address decides; kept for a warning */
    const char *gridset;
    const char *srs;
    const char *bounds_srs; /* must be the grid set's own system */
    const char *format;
    const char *type; /* "" when the element is there and empty */
    const char *zoom_start, *zoom_stop, *thread_count;
    const char *retry_count, *retry_wait, *failure_limit;
    apr_array_header_t *coords; /* of const char *; NULL: no bounds */
    apr_table_t *parameters;    /* NULL: none; a key may be there twice */
    tseed_unknown_t unknown;
} tseed_seed_document_t;

/* Reads a document. NULL or a sentence (always 400). Everything lands in `pool`. Any thread. */
const char *tseed_seed_document_read(tseed_seed_document_t *document, tseed_format_of_body_t format,
                                     const char *body, size_t length, apr_pool_t *pool);

/* Judges the document against the layer and fills `task` (but id, requested_by and created) and
 * `tileset`. A truncate is refused if any unknown member was dropped. Levels are refused when the
 * layer has none of them, but of a truncate those above its last one. These, and bounds that share
 * nothing with the layer's extent, make a task of 0 tiles. NULL or a sentence (always 400). */
const char *tseed_seed_document_resolve(tseed_task_t *task, tseed_tileset_t *tileset,
                                        const tseed_seed_document_t *document,
                                        const tseed_layer_t *layer, apr_pool_t *pool);

/* A warning about a request that was resolved: members or a name that were ignored, bounds that
 * reach out of the layer's extent, levels that the layer lacks, more tiles than anybody seeds, tile
 * sets that a truncate leaves. One line in UTF-8; NULL: there is nothing to warn of. `tileset` is
 * the task's. */
const char *tseed_seed_document_warning(const tseed_seed_document_t *document,
                                        const tseed_task_t *task, const tseed_tileset_t *tileset,
                                        apr_pool_t *pool);

#endif
