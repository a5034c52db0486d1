/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The blank tiles that layers with TileSeedOnMiss empty serve. */
#ifndef MOD_TILESEED_BLANKS_H
#define MOD_TILESEED_BLANKS_H

#include <httpd.h>

#include "store/tseed_atlas.h"

/* Makes the blank tiles of an atlas, in `pool`. Where one can't be made, the log says so.
 * post_config, parent. */
void tseed_blanks_make(const tseed_atlas_t *atlas, server_rec *server, apr_pool_t *pool);

#endif
