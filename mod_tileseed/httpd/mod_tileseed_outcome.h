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

/* A note: for how many ms the upstream was asked. It is there before the outcome, which depends on
 * it, or the upstream was not asked. */
#define TSEED_UPSTREAM_NOTE "tileseed-upstream-ms"

/* Says the outcome, once a request and before the answer is sent. */
void tseed_outcome_say(request_rec *r, const tseed_dir_conf_t *dir, const tseed_wanted_t *wanted,
                       tseed_tile_outcome_t outcome);

#endif
