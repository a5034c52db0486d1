/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A child's way to the state database: one connection a process, opened at the first need, used by
 * one thread at a time. */
#ifndef MOD_TILESEED_CHILD_H
#define MOD_TILESEED_CHILD_H

#include <httpd.h>

#include "protocol/tseed_settings.h"
#include "state/tseed_state.h"

/* Makes the mutex; nothing is opened. child_init hook. */
void tseed_child_init(const tseed_settings_t *settings, server_rec *server);

/* One use of the connection, on the stack of the request's thread. */
typedef struct {
    request_rec *r;
    tseed_state_t *state; /* NULL: another thread has it, or it can't be opened */
    apr_status_t rv;      /* the last status: first of the taking, then of what the user has done */
    const char *why;      /* when it has ended: what failed last, in words; in the request's pool */
} tseed_visit_t;

/* Takes the connection, and waits for it for some seconds. End the visit in any case. */
tseed_visit_t tseed_visit_begin(request_rec *r);

/* A step of a visit: a call of state/ that gives a status. It is left out when the connection was
 * not to be had, or when a step before it has failed. */
#define tseed_visit_do(visit, step)                                                                \
    ((visit)->rv = (visit)->rv == APR_SUCCESS ? (step) : (visit)->rv)

/* Gives the connection back, and returns the status of the visit. */
apr_status_t tseed_visit_end(tseed_visit_t *visit);

/* The same for what a client asked for, in words such as "list the tasks". DECLINED, or OK with the
 * refusal sent. tseed_visit_refuse sends it, for a visit that has ended. */
int tseed_visit_done(tseed_visit_t *visit, const char *what);
int tseed_visit_refuse(const tseed_visit_t *visit, const char *what);

#endif
