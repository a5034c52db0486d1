/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Outages: tasks whose upstream is away, or refuses them, stay RUNNING, say why, and lend their
 * threads. They go on by themselves, or end when that has lasted for too long; soon, if the
 * upstream does not have their layer. Main thread only.
 *
 * The record of a task says since when its upstream is away, so a restart does not begin the count
 * anew. The wall clock is read once for that record. From then on the monotonic clock counts.
 */
#ifndef TSEED_OUTAGE_H
#define TSEED_OUTAGE_H

#include "pipeline/tseed_ends.h"

typedef struct tseed_outage_t tseed_outage_t;

/* Makes the module for the tasks' runs, in context->pool. */
tseed_outage_t *tseed_outage_create(const tseed_context_t *context, const tseed_runs_t *runs,
                                    tseed_ends_t *ends, const tseed_display_t *display);

/* The record of the client that looks at the upstreams once a tick. It is the module's. */
tseed_client_t *tseed_outage_client(tseed_outage_t *outage);

/* Takes in how the best upstream of a run is doing. The run then waits, goes on or ends, and says
 * so. name: the upstream, if it is away or silent. outlook: all zero if the run needs no upstream.
 * now: monotonic. */
void tseed_outage_look(tseed_outage_t *outage, tseed_run_t *run, const char *name,
                       const tseed_outlook_t *outlook, apr_time_t now);

#endif
