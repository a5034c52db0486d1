/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The upstreams of sources that have only an address. Parent, while it reads the configuration. */
#ifndef MOD_TILESEED_CONFIG_UPSTREAM_H
#define MOD_TILESEED_CONFIG_UPSTREAM_H

#include "layer/tseed_layer.h"

/* The upstream with the default politeness that all sources at this scheme, host and port share;
 * `url` has passed tseed_wms_check. Its key in the catalog has slashes, as no configured name. */
const tseed_upstream_t *tseed_upstream_of_url(tseed_catalog_t *catalog, const char *url,
                                              apr_pool_t *pool);

#endif
