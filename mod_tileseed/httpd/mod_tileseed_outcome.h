/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What became of a request for a tile, said in one place: to the access log in notes and the
 * environment, to the client in Cache-Status (RFC 9211) and GeoWebCache's headers, to the metrics
 * in counters on the board. Request threads. */
#ifndef MOD_TILESEED_OUTCOME_H
#define MOD_TILESEED_OUTCOME_H

#include <httpd.h>

#include "mod_tileseed_config.h"
#include "mod_tileseed_wanted.h"
#include "protocol/tseed_metrics.h"

/* Says the outcome, once a request and before the answer is sent. */
void tseed_outcome_say(request_rec *r, const tseed_dir_conf_t *dir, const tseed_wanted_t *wanted,
                       tseed_tile_outcome_t outcome);

/* How long the request waited for a missing tile, and for how many ms of that the upstream was
 * asked; 0: it was not asked. Comes before the outcome, which depends on it. */
void tseed_outcome_wait(request_rec *r, apr_interval_time_t waited, int upstream);

#endif
