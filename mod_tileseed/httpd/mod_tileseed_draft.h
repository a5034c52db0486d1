/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Drafts: layers as far as their directives have been read.
 *
 * A layer may name grid sets and upstreams that stand further down, and takes from the defaults
 * everything that it does not say. So each <TileSeedLayer> becomes a draft, the directives outside
 * of all layers become the draft of the defaults, and check_config makes layers of the drafts.
 *
 * Parent, while it reads and checks the configuration; drafts live in pconf.
 */
#ifndef MOD_TILESEED_DRAFT_H
#define MOD_TILESEED_DRAFT_H

#include "mod_tileseed_directive.h"
#include "tiling/tseed_systems.h"

/* Where a directive takes an address or an upstream, this precedes the upstream's name. */
#define UPSTREAM_PREFIX "upstream:"

/* The subjects about which a draft may say something. */
typedef enum {
    TSEED_SAID_SOURCE,
    TSEED_SAID_GRID,
    TSEED_SAID_FORMAT,
    TSEED_SAID_METATILE,
    TSEED_SAID_PARAMETER,
    TSEED_SAID_STORE,
    TSEED_SAID_KEEP,
    TSEED_SAID_DERIVE,
    TSEED_SAID_RESEED,
    TSEED_SAID_RETRIES,
    TSEED_SAID_FAILURE_LIMIT,
    TSEED_SAID_EXPIRES,
    TSEED_SAID_ON_MISS,
    TSEED_SAID_MAX_TILESETS,
    TSEED_SAID_UNIFORM,
    TSEED_SAID_COUNT
} tseed_said_t;

/* A TileSeedGrid line. */
typedef struct {
    const ap_directive_t *where;
    const char *gridset;
    const char *zoom;   /* "0-14", NULL: all levels */
    const char *extent; /* "minx,miny,maxx,maxy", NULL: the grid set's */
    const char *srs;    /* NULL: the grid set's */
} tseed_grid_choice_t;

typedef struct {
    const ap_directive_t *where; /* the block; NULL: what stands before all layers */
    const ap_directive_t *said[TSEED_SAID_COUNT]; /* NULL: not said */
    apr_array_header_t *grids;                    /* of tseed_grid_choice_t */
    tseed_layer_t layer; /* subsets and the source's upstream are not there yet */
} tseed_draft_t;

/* The draft of a <TileSeedGridSet> block; nothing of it is left when the block ends. */
typedef struct tseed_gridset_draft_t tseed_gridset_draft_t;

/* Where its extent in degrees is noted. */
const tseed_bounds_t **tseed_gridset_draft_degrees(tseed_gridset_draft_t *draft);

/* A name that something else must have: TileSeedLayers of a location. */
typedef struct {
    const ap_directive_t *where;
    const char *layer;
} tseed_layer_reference_t;

struct tseed_drafts_t {
    tseed_draft_t *defaults;
    tseed_draft_t *current;         /* whose block is being read, or NULL */
    apr_array_header_t *layers;     /* of tseed_draft_t *, as configured */
    apr_array_header_t *references; /* of tseed_layer_reference_t */
    apr_array_header_t
        *locations,  /* of const ap_directive_t *: TileSeedRest on, TileSeedTiles on */
        *tile_bases; /* of const char *: paths of locations with TileSeedTiles on */
    tseed_gridset_draft_t *gridset; /* whose block is being read, or NULL */
    apr_pool_t *systems_pool;       /* of `systems` */
    tseed_systems_t *systems;       /* until tseed_drafts_finish is over */
};

/* No drafts yet, in `pool`; the defaults are those of the manual. */
tseed_drafts_t *tseed_drafts_create(apr_pool_t *pool);

/* Finds the draft of a directive: its block's draft, or the defaults. Notes that the draft has said
 * `what`. Returns NULL, or a sentence when the draft has said it before. */
const char *tseed_draft_say_once(tseed_draft_t **draft, tseed_said_t what, const cmd_parms *cmd);

/* Makes the drafts layers of the catalog. Every mistake is reported; returns how many. */
int tseed_drafts_finish(tseed_server_conf_t *conf, apr_pool_t *pool);

/* The words of directives that choose, by the value that each word stands for; NULL at the end. */
extern const char *const tseed_words_palette[],
    *const tseed_words_case[], *const tseed_words_on_miss[], *const tseed_words_source[],
                                                                 *const tseed_words_source_mode[];

/* Whether TileSeedFormat takes this option with the format. */
int tseed_format_takes(const tseed_format_t *format, const char *name);

/* Readers of directives, by the file that has them. */

/* mod_tileseed_config_server.c */
tseed_directive_read_t tseed_set_state_dir, tseed_set_database, tseed_set_host, tseed_set_history,
    tseed_set_quota, tseed_set_miss_waiters, tseed_set_sync, tseed_set_server_status;

/* mod_tileseed_config_upstream.c */
tseed_directive_read_t tseed_set_upstream;

/* mod_tileseed_config_gridset.c */
tseed_directive_read_t tseed_set_gridset, tseed_set_srs, tseed_set_extent, tseed_set_origin,
    tseed_set_resolutions, tseed_set_scales, tseed_set_levels, tseed_set_tile_size,
    tseed_set_meters_per_unit, tseed_set_axis_order;

/* mod_tileseed_config_boxes.c */
tseed_directive_read_t tseed_set_wgs84_box;

/* mod_tileseed_config_layer.c */
tseed_directive_read_t tseed_set_layer, tseed_set_grid, tseed_set_format, tseed_set_metatile,
    tseed_set_parameter, tseed_set_derive, tseed_set_keep, tseed_set_retries, tseed_set_reseed,
    tseed_set_failure_limit, tseed_set_expires, tseed_set_on_miss, tseed_set_max_tilesets;

/* mod_tileseed_config_metatile.c */
tseed_directive_read_t tseed_set_uniform;

/* mod_tileseed_config_upstream.c */
tseed_directive_read_t tseed_set_source;

/* mod_tileseed_config_store.c */
tseed_directive_read_t tseed_set_store;

/* mod_tileseed_config_location.c */
tseed_directive_read_t tseed_set_rest, tseed_set_page, tseed_set_tiles, tseed_set_dialect,
    tseed_set_metrics, tseed_set_layers, tseed_set_check_origin, tseed_set_public_url;

#endif
