/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The address by which clients call a location: TileSeedPublicURL, where a proxy in front of httpd
 * has another name, scheme or path. Request threads; results live in `pool`. */
#ifndef MOD_TILESEED_PUBLIC_H
#define MOD_TILESEED_PUBLIC_H

#include "mod_tileseed_config.h"

/* The path by which clients know the path `base`, escaped, in `pool`: below the public address if
 * there is one, else `base` itself. */
const char *tseed_public_path(const tseed_dir_conf_t *dir, const char *base, apr_pool_t *pool);

/* The same as a whole address with scheme and host. */
const char *tseed_public_url(request_rec *r, const tseed_dir_conf_t *dir, const char *base);

/* "https://host:port" of the public address as a browser writes it; NULL without the directive. */
const char *tseed_public_origin(const tseed_dir_conf_t *dir, apr_pool_t *pool);

#endif
