/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dump of grid sets and layers. Parent, while it tests the configuration. */
#ifndef MOD_TILESEED_DUMP_LAYER_H
#define MOD_TILESEED_DUMP_LAYER_H

#include "layer/tseed_layer.h"
#include "mod_tileseed_dump_text.h"

/* Write the section of a grid set, of a layer. The catalog says which upstreams have a directive.
 */
void tseed_dump_gridset(const tseed_dump_t *dump, const tseed_gridset_t *gridset);
void tseed_dump_layer(const tseed_dump_t *dump, const tseed_layer_t *layer,
                      const tseed_catalog_t *catalog);

#endif
