/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* WMS as a source: which GetMap request fetches a metatile. Pure text, no network, any thread.
 *
 * Standards: OGC 01-068r3 (WMS 1.1.1, and 1.1.0 before it) and 06-042 (1.3.0). Two differences
 * matter here: 1.3.0 calls the reference system CRS instead of SRS, and orders BBOX by the axes of
 * that system, so that the BBOX of EPSG:4326 is miny,minx,maxy,maxx.
 *
 * Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_WMS_H
#define TSEED_WMS_H

#include "source/tseed_address.h"

/* Checks what the administrator wrote: each address's scheme, host, characters and query, VERSION
 * (1.1.0, 1.1.1, 1.3.0, or none for 1.1.1), LAYERS there, no key that is set for each request.
 * NULL or a sentence. Configuration phase. */
const char *tseed_wms_check(const tseed_source_t *source, apr_pool_t *pool);

/* Judges whether an administrator may set a GetMap parameter, for all requests or as a parameter
 * filter; its case does not matter. NULL, or a sentence that says what decides its value instead.
 */
const char *tseed_wms_check_key(const char *key, apr_pool_t *pool);

/* The GetMap address of a block of tiles. The tile set's parameters override the source's; an empty
 * value leaves a parameter out, STYLES excepted. In `pool`. */
const char *tseed_wms_url(const tseed_ask_t *ask, apr_pool_t *pool);

/* The GetCapabilities address of a service; `version` NULL: the default. In `pool`. */
const char *tseed_wms_capabilities_url(const char *url, const char *version, apr_pool_t *pool);

#endif
