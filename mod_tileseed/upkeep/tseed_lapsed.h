/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Lapsed tile sets: the database has them, the configuration does not. Main thread only. */
#ifndef TSEED_LAPSED_H
#define TSEED_LAPSED_H

#include "usage/tseed_cache.h"
#include "work/tseed_context.h"
#include "work/tseed_session.h"

/* Forgets the lapsed tile sets that a client wants forgotten. Fails when the database does. */
apr_status_t tseed_lapsed_hear(const tseed_context_t *context, const tseed_session_t *session,
                               const tseed_cache_t *cache);

/* Forgets the lapsed tile sets whose store root is gone. Fails when the database does. */
apr_status_t tseed_lapsed_look(const tseed_context_t *context, const tseed_session_t *session,
                               const tseed_cache_t *cache);

#endif
