/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Open tile sets: tile sets with a value that the filters of their layer do not list, because
 * TileSeedParameter has a regex= or nothing at all. Any client can name such a tile set. So at most
 * TileSeedMaxTileSets of them have tiles in a layer, unless seed requests have made more.
 *
 *      a request names it ──► in the book ──► a tile is stored: it takes a place
 *                                 │                 │
 *                                 │     the layer has too many: the one that is used least leaves
 *                                 ▼                 ▼
 *                     nothing is stored ──► bare: out of the book and the database
 *
 * A tile set takes a place as long as it has files. Only a tile set that requests have made, and no
 * seed request, gives way to another one. A client that has made more than a quarter of them gives
 * way first, so nobody is shut out by somebody else's requests. Addresses of IPv6 count by their
 * /64.
 *
 * Rows are bounded as well: those of a layer by four times the directive, those that one client has
 * made by the directive, and some more.
 *
 * Main thread only.
 */
#ifndef TSEED_OPEN_TILESETS_H
#define TSEED_OPEN_TILESETS_H

#include "books/tseed_background.h"
#include "books/tseed_marks.h"
#include "savings/tseed_savings.h"

typedef struct tseed_open_tilesets_t tseed_open_tilesets_t;

typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    tseed_runs_t *runs;
    tseed_cache_t *cache;
    const tseed_marks_t *marks;
    tseed_savings_t *savings;
    tseed_background_t *background;
} tseed_open_tilesets_uses_t;

/* In context->pool. */
tseed_open_tilesets_t *tseed_open_tilesets_create(const tseed_open_tilesets_uses_t *uses);

/* The record of the client that takes bare tile sets out of the book. It is the module's. */
tseed_client_t *tseed_open_tilesets_client(tseed_open_tilesets_t *open);

/* Finds or makes the background run of a tile set for a request of `client`, an address as text.
 * Statuses as of tseed_background_get; besides APR_ENOSPC: the places of the layer are taken by
 * tile sets that give no way. APR_EAGAIN: the tile set is leaving, or too many are coming and
 * leaving. */
apr_status_t tseed_open_tilesets_run(tseed_run_t **run, tseed_open_tilesets_t *open,
                                     const tseed_names_t *names, const char *client);

/* Tiles were stored in a tile set: when its layer has too many, others leave. */
void tseed_open_tilesets_settle(tseed_open_tilesets_t *open, const tseed_book_tileset_t *booked);

/* Hears whether clients want the tile sets of a layer dropped that requests have made: they leave.
 * Fails when the database does. */
apr_status_t tseed_open_tilesets_hear(tseed_open_tilesets_t *open);

#endif
