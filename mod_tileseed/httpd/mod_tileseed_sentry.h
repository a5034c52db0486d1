/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The sentry ends a request's wait for a missing tile before there is an answer: when its client
 * has gone, no seeder is at work, or httpd needs the process. */
#ifndef MOD_TILESEED_SENTRY_H
#define MOD_TILESEED_SENTRY_H

#include <httpd.h>

#include "seeder/tseed_miss.h"

typedef struct {
    request_rec *request;
    apr_time_t seeder_missed; /* monotonic: since then none is at work; 0: one is */
    apr_time_t alone;         /* likewise: only processes that are ending are left of httpd */
} tseed_sentry_t;

/* Lives as long as *sentry. The thread of the request. */
tseed_vigil_t tseed_sentry_begin(tseed_sentry_t *sentry, request_rec *r);

#endif
