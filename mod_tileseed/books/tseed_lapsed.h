/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Lapsed tile sets: the database has them, the configuration does not. Main thread only. */
#ifndef TSEED_LAPSED_H
#define TSEED_LAPSED_H

#include "books/tseed_cache.h"
#include "books/tseed_count.h"
#include "work/tseed_context.h"
#include "work/tseed_session.h"

typedef struct tseed_lapsed_t tseed_lapsed_t;

/* Makes the module in the context's pool. */
tseed_lapsed_t *tseed_lapsed_create(const tseed_context_t *context, const tseed_session_t *session,
                                    const tseed_cache_t *cache, tseed_count_t *count);

/* Forgets the lapsed tile sets that a client wants forgotten (the note TSEED_USAGE_FORGET), and has
 * the tiles removed of those that it wants removed (TSEED_USAGE_REMOVE); they are forgotten when
 * the last tile is gone. Called about once a second. Fails when the database does. */
apr_status_t tseed_lapsed_hear(tseed_lapsed_t *lapsed);

/* Forgets the lapsed tile sets whose store root is gone. Fails when the database does. */
apr_status_t tseed_lapsed_look(const tseed_context_t *context, const tseed_session_t *session,
                               const tseed_cache_t *cache);

#endif
