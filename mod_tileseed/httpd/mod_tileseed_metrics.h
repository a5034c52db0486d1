/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The metrics, where TileSeedMetrics has them: below a location of the REST interface, and by the
 * handler `tileseed-metrics`, so that who reads metrics needs no right to seed. */
#ifndef MOD_TILESEED_METRICS_H
#define MOD_TILESEED_METRICS_H

#include <httpd.h>

/* Handler hook. */
int tseed_metrics_handler(request_rec *r);

#endif
