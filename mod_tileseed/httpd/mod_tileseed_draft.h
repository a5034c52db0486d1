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
    apr_hash_t *said;            /* name of a directive -> const ap_directive_t *, its first */
    apr_array_header_t *grids;   /* of tseed_grid_choice_t */
    tseed_layer_t layer;         /* subsets and the source's upstream are not there yet */
} tseed_draft_t;

/* The draft of a <TileSeedGridSet> block; nothing of it is left when the block ends. */
typedef struct tseed_gridset_draft_t tseed_gridset_draft_t;

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

/* A draft with the defaults of the rules. `where`: the block of the layer `name`. */
tseed_draft_t *tseed_draft_create(const ap_directive_t *where, const char *name, apr_pool_t *pool);

/* Where a draft says something by the directive of that name; NULL: it does not. */
static inline const ap_directive_t *tseed_draft_said(const tseed_draft_t *draft, const char *name)
{
    return apr_hash_get(draft->said, name, APR_HASH_KEY_STRING);
}

/* Finds the draft of a directive: its block's draft, or the defaults. Notes that the draft has said
 * what the directive is about. Returns NULL, or a sentence when the draft has said it before,
 * unless the directive may be there several times. */
const char *tseed_draft_say(tseed_draft_t **draft, const cmd_parms *cmd, int may_repeat);

#define TSEED_IN_LAYERS (TSEED_IN_LAYER | TSEED_IN_SERVER)

/* Members of a layer that stand one behind the other: what a rule has a layer inherit. */
#define TSEED_MEMBERS(first, last)                                                                 \
    .value.offset = offsetof(tseed_layer_t, first),                                                \
    .size = offsetof(tseed_layer_t, last) + sizeof(((tseed_layer_t *)NULL)->last) -                \
            offsetof(tseed_layer_t, first)

/* The rule of a directive that a function reads, and another one dumps. */
#define TSEED_LAYER_OWN(first, last, fewest, most_, reader, shower)                                \
    TSEED_VALUED(TSEED_IN_LAYERS, fewest, most_, reader, .show = shower, TSEED_MEMBERS(first, last))

#endif
