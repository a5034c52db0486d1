/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The exchange: what goes between the list of errands and the table portion. It gives errands to
 * hosts, takes over what the hosts bring, and takes back what they do not bring. The thread of the
 * portions only.
 */
#ifndef TSEED_EXCHANGE_H
#define TSEED_EXCHANGE_H

#include "layer/tseed_layer.h"
#include "seeder/tseed_errands.h"
#include "seeder/tseed_portion_hosts.h"
#include "state/tseed_portion_rows.h"

/* Who has what; all of it outlives the exchange. */
typedef struct {
    tseed_errands_t *errands;
    tseed_portion_hosts_t *hosts;
    tseed_fetcher_t *fetcher;
    const tseed_catalog_t *catalog;
    tseed_state_t *state; /* NULL: not open yet */
    int64_t giver;        /* this host's epoch */
    int64_t last;         /* number of a row */
    apr_pool_t *scratch;
} tseed_exchange_t;

/* Gives the errands that have no host to hosts, if one is open and this process has the role.
 * Statuses of this one and the next as in tseed_state.h: errands stay what they were. */
apr_status_t tseed_exchange_give(tseed_exchange_t *exchange);
/* Takes over what hosts have written down, takes back what is lost or was recalled, and deletes the
 * rows of both. */
apr_status_t tseed_exchange_collect(tseed_exchange_t *exchange);

/* Takes back the errands whose host has gone or is late, and those that no host is there for. Adds
 * the rows that are nobody's then to `rows` (tseed_portion_row_t). */
void tseed_exchange_take_back(tseed_exchange_t *exchange, apr_array_header_t *rows);

/* Adds a row that this host has given to the host of an epoch, as one that is to be deleted. */
void tseed_exchange_add_row(apr_array_header_t *rows, const tseed_exchange_t *exchange,
                            int64_t epoch, int64_t number);

#endif
