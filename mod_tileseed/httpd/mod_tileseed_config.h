/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The configuration: the records that directives fill, and when they are judged.
 *
 *      pre_config      a fresh tseed_server_conf_t, with every default
 *      directives      each checks itself; layers are kept as drafts, because they may use grid
 *                      sets and upstreams that stand further down
 *      check_config    drafts become layers of the catalog; finds mistakes that need the whole
 *                      configuration
 *
 * Everything lives in pconf and is immutable once check_config has returned OK.
 *
 * The parent calls the functions for directives and hooks. Any process and thread calls those that
 * ask.
 */
#ifndef MOD_TILESEED_CONFIG_H
#define MOD_TILESEED_CONFIG_H

#include <httpd.h>

#include <http_config.h>

#include "mod_tileseed.h"
#include "protocol/tseed_settings.h"
#include "store/tseed_atlas.h"

typedef struct tseed_drafts_t tseed_drafts_t;

/* One a process, shared by all virtual hosts. */
typedef struct {
    tseed_settings_t settings;
    tseed_catalog_t *catalog;
    const tseed_atlas_t *atlas; /* of the catalog, from post_config on; NULL: no layer */
    tseed_drafts_t *drafts;     /* the directives' own, see mod_tileseed_draft.h */
    const tseed_module_part_t *const
        *parts;                /* of the module, NULL at the end; from post_config on */
    const char *open_password; /* a file that shows anybody the password of the state database */
} tseed_server_conf_t;

typedef enum { TSEED_UNSET = -1, TSEED_OFF, TSEED_ON } tseed_switch_t;

typedef enum {
    TSEED_TILES_UNSET = -1,
    TSEED_TILES_OFF,
    TSEED_TILES_ON,
    TSEED_TILES_COUNT
} tseed_tiles_t;

typedef enum {
    TSEED_DIALECT_UNSET = -1, /* as good as document */
    TSEED_DIALECT_DOCUMENT,
    TSEED_DIALECT_GEOWEBCACHE
} tseed_dialect_t;

/* The configuration of a <Location>. */
typedef struct {
    tseed_switch_t rest;
    const char *base;       /* path of the section that says TileSeedRest, no slash at its end */
    tseed_switch_t page;    /* unset is as good as on */
    const char *page_dir;   /* NULL: where the page was installed */
    tseed_tiles_t tiles;    /* count: of a <Directory> */
    const char *tiles_base; /* the same of the section that says TileSeedTiles */
    tseed_dialect_t dialect;
    tseed_switch_t metrics;
    const apr_array_header_t *layers;  /* of const char *; NULL: all */
    tseed_switch_t check_origin;       /* unset is as good as on */
    const apr_array_header_t *origins; /* of const char *, allowed besides our own; NULL: none */
    const char *public_url;            /* without slash at its end; NULL: as the client calls us */
    const char *public_base;           /* path of the section that says it, as `base` */
} tseed_dir_conf_t;

/* The configuration of any server_rec, from check_config on. */
tseed_server_conf_t *tseed_conf_get(const server_rec *server);

/* The same while directives are read, when virtual hosts don't share it yet. */
tseed_server_conf_t *tseed_conf_main(void);

/* Whether this location may see the layer (TileSeedLayers). */
int tseed_dir_conf_sees(const tseed_dir_conf_t *dir, const char *layer);

/* ---- TileSeedPublicURL: where a proxy in front of httpd has another name, scheme or path ---- */

/* The path by which clients know the path `base`, escaped, in `pool`: below the public address if
 * there is one, else `base` itself. */
const char *tseed_public_path(const tseed_dir_conf_t *dir, const char *base, apr_pool_t *pool);

#endif
