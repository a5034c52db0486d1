/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What is sent: the seed request that options describe, as XML, which every GeoWebCache reads, and
 * as a query, which asks for an estimate. Pure functions; results live in `pool`. */
#ifndef TSEED_CTL_REQUEST_H
#define TSEED_CTL_REQUEST_H

#include "ctl/tseed_ctl_options.h"

/* The document. The box of the options is in units of the grid set. */
const char *tseed_ctl_seed_xml(const tseed_ctl_options_t *options, apr_pool_t *pool);

/* What stands behind the question mark. */
const char *tseed_ctl_seed_query(const tseed_ctl_options_t *options, apr_pool_t *pool);

/* A box in degrees as a box of a system that is longitude and latitude or web mercator. NULL, or
 * a sentence. In `pool`. */
const char *tseed_ctl_project(tseed_bounds_t *box, int64_t srs, const tseed_bounds_t *degrees,
                              apr_pool_t *pool);

/* The reverse: a box of that system in degrees. 0, or -1: the system is another one. */
int tseed_ctl_unproject(tseed_bounds_t *degrees, int64_t srs, const tseed_bounds_t *box);

#endif
