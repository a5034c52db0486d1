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

#include "protocol/tseed_settings.h"
#include "store/tseed_atlas.h"

typedef struct tseed_drafts_t tseed_drafts_t;

/* One a process, shared by all virtual hosts. */
typedef struct {
    tseed_settings_t settings;
    tseed_catalog_t *catalog;
    const tseed_atlas_t *atlas; /* of the catalog, from post_config on; NULL: no layer */
    tseed_drafts_t *drafts;     /* the directives' own, see mod_tileseed_draft.h */
    const char *open_password;  /* a file that shows anybody the password of the state database */
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

extern const command_rec tseed_directives[];

/* The configuration of any server_rec, from check_config on. */
tseed_server_conf_t *tseed_conf_get(const server_rec *server);

/* The same while directives are read, when virtual hosts don't share it yet. */
tseed_server_conf_t *tseed_conf_main(void);

/* Hooks of the same names. The check reports every mistake that it finds with file and line, and
 * touches nothing; it reads the configuration alone. */
int tseed_config_pre(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp);
int tseed_config_check(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *server);

/* Names in the log each location with TileSeedRest that seems open to anybody, and each that guards
 * one of a layer's many addresses. post_config. */
void tseed_config_warn(const server_rec *server, apr_pool_t *pool);

/* Works out where on the earth the layers lie, and names in the log what it can't say of their grid
 * sets. post_config. */
void tseed_config_boxes(const server_rec *server, apr_pool_t *pconf, apr_pool_t *ptemp);

/* Whether this location may see the layer (TileSeedLayers). */
int tseed_dir_conf_sees(const tseed_dir_conf_t *dir, const char *layer);

/* Members of the module record. */
void *tseed_dir_conf_create(apr_pool_t *pool, char *path);
void *tseed_dir_conf_merge(apr_pool_t *pool, void *outer, void *inner);

#endif
