/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The adoption of the quota: brings the quota configuration of the database, the directive and the
 * board together. Main thread only. */
#ifndef TSEED_QUOTA_ADOPTION_H
#define TSEED_QUOTA_ADOPTION_H

#include "books/tseed_evict.h"

typedef struct tseed_quota_adoption_t tseed_quota_adoption_t;

/* What the adoption uses. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    tseed_cache_t *cache;
    tseed_evict_t *evict;
} tseed_quota_adoption_uses_t;

/* Makes the module, in the context's pool; nothing has been read yet. */
tseed_quota_adoption_t *tseed_quota_adoption_create(const tseed_quota_adoption_uses_t *uses);

/* Reads the quota configuration, and puts a new one into effect and on the board. Fails when the
 * database does. */
apr_status_t tseed_quota_adoption_hear(tseed_quota_adoption_t *adoption);
/* Whether the quota configuration has been read. */
int tseed_quota_adoption_is_known(const tseed_quota_adoption_t *adoption);

#endif
