/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The capabilities check: after the start each WMS is asked once for its capabilities. The check
 * compares them with the layers' configuration. The log and the layers' tasks say what the WMS
 * lacks, and the sizing keeps to its largest picture. Capabilities may be wrong, so little else
 * follows: a WMS that also refuses the layer in its answers is believed at once. If a WMS is away,
 * it is asked again when it has answered other requests. Main thread only. */
#ifndef TSEED_CAPABILITIES_CHECK_H
#define TSEED_CAPABILITIES_CHECK_H

#include "books/tseed_marks.h"
#include "savings/tseed_savings.h"

typedef struct tseed_capabilities_check_t tseed_capabilities_check_t;

/* Makes the check, in the context's pool; it asks nothing yet. */
tseed_capabilities_check_t *tseed_capabilities_check_create(const tseed_context_t *context,
                                                            const tseed_runs_t *runs,
                                                            const tseed_display_t *display,
                                                            tseed_savings_t *savings);
/* Returns the record to enter among the clients; it lives as long as the check. */
tseed_client_t *tseed_capabilities_check_client(tseed_capabilities_check_t *check);

/* Asks each WMS. Once, when the fetcher is there. */
void tseed_capabilities_check_begin(tseed_capabilities_check_t *check);
/* Tells a run what the upstream of its layer lacks, as far as it is known: a sentence that lives as
 * long as the process, and whether that is a layer. */
void tseed_capabilities_check_warn(const tseed_capabilities_check_t *check, tseed_run_t *run);

#endif
