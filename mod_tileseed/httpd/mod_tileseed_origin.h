/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Whether a request was sent by a page of another site: TileSeedCheckOrigin. */
#ifndef MOD_TILESEED_ORIGIN_H
#define MOD_TILESEED_ORIGIN_H

#include "mod_tileseed_config.h"

/* Why a request that changes something is not let in, a sentence in the request's pool; NULL: it is
 * no request of another site's page. Request thread. */
const char *tseed_origin_refusal(request_rec *r, const tseed_dir_conf_t *dir);

#endif
