/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Ends the wait of a request for a missing tile before there is an answer: when the client of the
 * request has gone, no seeder is at work, or httpd needs the process. */
#ifndef MOD_TILESEED_WAIT_H
#define MOD_TILESEED_WAIT_H

#include <httpd.h>

#include "work/tseed_miss.h"

typedef struct {
    request_rec *request;
    int is_short;             /* a seeder that gives no sign of life is not waited for */
    apr_time_t seeder_missed; /* monotonic: since then none is at work; 0: one is */
    apr_time_t alone;         /* likewise: only processes that are ending are left of httpd */
} tseed_wait_t;

/* Lives as long as *wait. The thread of the request. */
tseed_cancel_t tseed_wait_begin(tseed_wait_t *wait, request_rec *r);

#endif
