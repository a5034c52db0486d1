/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The hosts that stand by, as the host that works sees them: which of them get portions. A host
 * that does not carry them out is shunned for a while: it keeps what it has in hand, and gets no
 * more. The error log says why (TS0089), and who comes and goes. One thread.
 */
#ifndef TSEED_PORTION_HOSTS_H
#define TSEED_PORTION_HOSTS_H

#include <apr_pools.h>
#include <apr_time.h>

#include "state/tseed_state.h"

typedef struct tseed_portion_hosts_t tseed_portion_hosts_t;

/* No hosts. Lives in `pool`. */
tseed_portion_hosts_t *tseed_portion_hosts_create(apr_pool_t *pool);

/* Looks up who stands by, once a second at most. `name` is that of the host that works. Scratch
 * memory in `scratch`. A host that is shunned stays so. */
apr_status_t tseed_portion_hosts_look(tseed_portion_hosts_t *hosts, tseed_state_t *state,
                                      const char *name, apr_pool_t *scratch);
/* Nobody knows who stands by until the next look: no host does. */
void tseed_portion_hosts_lose(tseed_portion_hosts_t *hosts);

/* How many of them get portions. */
int tseed_portion_hosts_count_open(const tseed_portion_hosts_t *hosts);
/* Whether the host of an epoch stands by. */
int tseed_portion_hosts_has(const tseed_portion_hosts_t *hosts, int64_t epoch);

/* The epoch of the host that gets portions and has the fewest in hand; 0: no host gets any. */
typedef int tseed_portions_in_hand_t(const void *baton, int64_t epoch);
int64_t tseed_portion_hosts_idlest(const tseed_portion_hosts_t *hosts,
                                   tseed_portions_in_hand_t *in_hand, const void *baton);

/* Shuns a host for a minute, or for a longer pause, but for ten minutes at most. `reason` is a
 * clause. */
void tseed_portion_hosts_shun(tseed_portion_hosts_t *hosts, int64_t epoch, const char *reason,
                              apr_interval_time_t pause);

/* Notes that a host has carried out a request, or that the request failed there. A host with
 * several failures in a row is shunned, for which `scratch` has scratch memory. */
void tseed_portion_hosts_succeeded(tseed_portion_hosts_t *hosts, int64_t epoch);
void tseed_portion_hosts_failed(tseed_portion_hosts_t *hosts, int64_t epoch, const char *cause,
                                apr_pool_t *scratch);

#endif
