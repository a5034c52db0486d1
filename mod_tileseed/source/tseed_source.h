/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where a layer's pictures come from, whatever kind of source it is. Pure text, any thread. Results
 * and sentences live in the pool that a call takes. */
#ifndef TSEED_SOURCE_H
#define TSEED_SOURCE_H

#include "source/tseed_address.h"
#include "source/tseed_fetcher.h"

#define TSEED_MISSING_EMPTY_BODY "empty-body" /* a word of missing=: a 200 without a body */

/* Whether a source has tiles, one at a time, rather than drawing any block of them. */
int tseed_source_is_tiled(const tseed_source_t *source);

/* Checks what the administrator wrote of a layer's source; its filters are there already. NULL or a
 * sentence. Configuration phase. */
const char *tseed_source_check(const tseed_layer_t *layer, apr_pool_t *pool);

/* Takes tile set, range and gutter of a block of tiles, fills its width and height in pixels, and
 * returns the URL of its picture at one of the source's addresses. In `pool`. "": there is none,
 * because a parameter of the tile set would lead out of the template's path. */
const char *tseed_source_url(tseed_ask_t *ask, int address, apr_pool_t *pool);

/* The longest answer that is taken for a picture of that size in pixels, bytes: what any picture of
 * so many pixels may take, and 1 MiB for what it may have beside them; at most 64 MiB. */
size_t tseed_source_most(int width, int height);

/* The answers of missing= by which a source says that there is no tile, as one word: "404,204", or
 * "" if there are none. In `pool`. */
const char *tseed_source_missing(const tseed_source_t *source, apr_pool_t *pool);

/* Settles what an answer means: where the upstream has no tile and the source says so (missing=),
 * the answer becomes one without a body, from which empty tiles are made. */
void tseed_source_settle(const tseed_source_t *source, tseed_transfer_t *transfer);

/* What an answer refuses that no other request of the same tile set would be granted. */
typedef enum {
    TSEED_REFUSES_NOTHING,
    TSEED_REFUSES_LOGIN, /* the credentials, or that there are none: 401, 403, 407 */
    TSEED_REFUSES_LAYER  /* a WMS has no such layer, style, system or format */
} tseed_refusal_t;

/* What an answer that has been settled refuses. A 403 may be about single pictures: the caller
 * knows whether there were any. */
tseed_refusal_t tseed_source_refusal(const tseed_source_t *source,
                                     const tseed_transfer_t *transfer);

#endif
