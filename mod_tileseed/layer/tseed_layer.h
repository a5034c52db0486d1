/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The configured layers, with grid subsets, formats, filters, source and store.
 *
 * Plain data that the configuration phase fills in the configuration's pool; immutable afterwards,
 * so every process and thread reads it without a lock.
 */
#ifndef TSEED_LAYER_H
#define TSEED_LAYER_H

#include <apr_hash.h>
#include <apr_tables.h>
#include <apr_time.h>

#include "layer/tseed_filter.h"
#include "tiling/tseed_positions.h"

/* Longest layer, grid set and upstream name in bytes: records on the board hold them. */
#define TSEED_NAME_MAX 191

/* Longest side of a picture that is asked of an upstream, in pixels. */
#define TSEED_PICTURE_SIDE_MAX 16384
/* 32x32 tiles of 256x256 pixels with a gutter; a worker decodes it to 4 bytes a pixel. */
#define TSEED_PICTURE_PIXELS_MAX (8704 * 8704)

/* A layer's part of a grid set. */
typedef struct {
    const tseed_gridset_t *gridset;
    int zoom_first, zoom_last; /* within the grid set's levels */
    tseed_bounds_t extent;     /* within the grid set's extent */
    const char *srs;           /* what the upstream is asked for: "EPSG:4326" */
    int is_turned;             /* srs has another order of axes than the grid set */
} tseed_subset_t;

/* Whether the system that the upstream is asked for orders its axes north, east. */
static inline int tseed_subset_north_east(const tseed_subset_t *subset)
{
    return (subset->gridset->north_east != 0) != (subset->is_turned != 0);
}

/* The formats of tiles: name of the codec, whose row stands in image/tseed_cutter.c, MIME type, the
 * file's extension as GeoWebCache has it, type of a served tile (NULL: as its file begins), and the
 * MIME type that the upstream is asked for. Of the last two, a tile that lets nothing shine through
 * is a JPEG, and another one is a PNG or PNG8. */
#define TSEED_FORMATS(X)                                                                           \
    X(PNG, "image/png", "png", "image/png", "image/png")                                           \
    X(PNG8, "image/png8", "png8", "image/png", "image/png8")                                       \
    X(JPEG, "image/jpeg", "jpeg", "image/jpeg", "image/jpeg")                                      \
    X(WEBP, "image/webp", "webp", "image/webp", "image/png")                                       \
    X(JPEG_PNG, "image/vnd.jpeg-png", "jpeg-png", NULL, "image/png")                               \
    X(JPEG_PNG8, "image/vnd.jpeg-png8", "jpeg-png8", NULL, "image/png")

#define TSEED_FORMAT_CODEC(codec, mime, extension, type, from) TSEED_CODEC_##codec,
typedef enum { TSEED_FORMATS(TSEED_FORMAT_CODEC) TSEED_CODECS } tseed_codec_t;

typedef enum {
    TSEED_PALETTE_KEEP, /* a palette stays one, true colour stays true colour */
    TSEED_PALETTE_AUTO, /* also: a true-colour tile of at most 256 colours gets one */
    TSEED_PALETTE_NONE  /* always true colour */
} tseed_palette_t;

typedef struct {
    const char *mime;         /* "image/png" */
    const char *extension;    /* of the file, GeoWebCache's: png, png8, jpeg, jpeg-png, … */
    const char *content_type; /* of a served tile; NULL: as its file begins */
    tseed_codec_t codec;
    const char *from; /* MIME type that the upstream is asked for */
    int quality;      /* of JPEG and lossy WebP, 1..100 */
    int level;        /* 1..12: the fastest to the smallest; libdeflate's level of PNG */
    int lossless;     /* WebP that equals the source pixel for pixel */
    tseed_palette_t palette;
} tseed_format_t;

/* Sets a format's fields from its MIME type, in any case, and every default: quality 85, level 1,
 * palette auto. The upstream is asked for the same MIME type; for WebP and the mixed formats it is
 * asked for PNG, which every WMS has. NULL, or a sentence that names the formats there are. The
 * format keeps nothing of `mime`. */
const char *tseed_format_init(tseed_format_t *format, const char *mime, apr_pool_t *pool);

/* An upstream server and the politeness towards it; shared by the layers that name it. */
typedef struct {
    const char *name; /* as configured, or "host" or "host:port" of a source without one */
    const char *url;
    int connections;              /* most requests at once */
    apr_interval_time_t interval; /* between two requests; 0: none */
    apr_interval_time_t timeout;  /* of a whole transfer */
    apr_interval_time_t connect_timeout;
    apr_interval_time_t first_byte_timeout; /* from the request to the answer's beginning */
    const char *auth;                       /* the file that has the credentials, or NULL */
    const char *credentials; /* "user:password" read from that file, or NULL; never logged */
    const apr_array_header_t *headers;      /* of const char *: "Key: value"; whoever adds what
                                             * decides answers adds it to upstream_print as well */
    const apr_array_header_t *said_headers; /* those that the configuration itself says */
    const char *header_file;                /* the file that has the others, or NULL */
    const apr_array_header_t *redirects; /* of const char *: hosts that it may lead to, or "host" */
    const char *ca;                      /* PEM file, or NULL for the system's */
    const char *proxy;                   /* URL, or NULL */
    apr_array_header_t *secrets;         /* of char *: what httpd's children forget, all that may
                                          * hold a password */
    unsigned counted; /* its number among the counters of the board; 0: none of its own */
} tseed_upstream_t;

typedef enum {
    TSEED_SOURCE_WMS, /* draws any block of tiles */
    TSEED_SOURCE_XYZ, /* the other two have tiles, one at a time */
    TSEED_SOURCE_WMTS
} tseed_source_kind_t;

/* How a source chooses among several addresses. */
typedef enum {
    TSEED_SOURCE_FALLBACK, /* the first, unless it fails */
    TSEED_SOURCE_SHARE     /* all in turn */
} tseed_source_mode_t;

typedef struct {
    const char *url; /* of the service, with its own query if it has one, or a template */
    const tseed_upstream_t *upstream; /* never NULL once the configuration is through */
} tseed_address_t;

#define TSEED_ADDRESSES_MAX 8
#define TSEED_GUTTER_MAX    1024 /* pixels */

typedef struct {
    tseed_source_kind_t kind;
    tseed_source_mode_t mode;
    tseed_address_t addresses[TSEED_ADDRESSES_MAX];
    int count;                         /* of the addresses, at least 1 */
    const apr_array_header_t *missing; /* of const char *: the answers that say that there is no
                                        * tile, of which empty tiles are made. Statuses ("404"),
                                        * "empty-body", and codes of OGC exceptions. NULL: none */
    const apr_table_t *parameters; /* of the requests, keys in upper case: LAYERS, STYLES, … */
} tseed_source_t;

/* Most requests at once that a source allows: its first upstream's, or all together if they share.
 */
int tseed_source_connections(const tseed_source_t *source);

typedef enum {
    TSEED_LAYOUT_GEOWEBCACHE,
    TSEED_LAYOUT_XYZ,
    TSEED_LAYOUT_TMS,
    TSEED_LAYOUT_ARCGIS,
    TSEED_LAYOUT_QUADKEY,
    TSEED_LAYOUT_TILECACHE,
    TSEED_LAYOUT_TEMPLATE
} tseed_layout_t;

/* Their names in the configuration, NULL at the end; that of a template says what one is. */
extern const char *const tseed_layout_words[];

typedef struct {
    const char *root; /* absolute path */
    tseed_layout_t layout;
    const char *path_template; /* of TSEED_LAYOUT_TEMPLATE, relative to root */
    int link_uniform;          /* uniform tiles of one content are hard links to one file */
    int mode, dirmode;         /* permission bits, applied whatever the umask */
} tseed_store_config_t;

/* Whether what lies below metatiles of one colour is taken to be of that colour. */
typedef struct {
    int is_on;
    int depth;    /* levels above such a metatile that are of its colour as well */
    int sparse;   /* no tile is ever written there */
    double share; /* percent of the metatiles there that are looked at all the same */
} tseed_uniform_config_t;

typedef enum { TSEED_ON_MISS_FETCH, TSEED_ON_MISS_404, TSEED_ON_MISS_EMPTY } tseed_on_miss_t;

typedef struct tseed_layer_t {
    const char *name;
    apr_array_header_t *subsets; /* of tseed_subset_t, at least one, the first is the default */
    apr_array_header_t *formats; /* of tseed_format_t, likewise */
    apr_array_header_t *filters; /* of tseed_filter_t, sorted by name, may be empty */
    int meta_width, meta_height; /* tiles */
    int most_width, most_height; /* tiles of a request for several metatiles; 0: there is none */
    int gutter;                  /* pixels on each side of a metatile */
    int gutter_beyond;           /* it is asked for beyond the grid set's edges, too */
    tseed_derived_t derived;     /* levels that are made of the tiles below them */
    tseed_source_t source;
    tseed_store_config_t store;
    int reseed_all; /* make tiles again though their answer is as before */
    tseed_uniform_config_t uniform;
    int retries;                   /* of a metatile */
    int failure_is_share;          /* failure_limit is a percentage of a task's metatiles */
    int64_t failure_limit;         /* failed metatiles before a task is aborted */
    apr_interval_time_t expires;   /* of served tiles, -1: nothing is said */
    tseed_on_miss_t on_miss;       /* what is served where there is no tile */
    int tilesets_most;             /* made by requests for tiles, with values that are not listed */
    uint64_t kept;                 /* bit z: the disk quota never removes tiles of that level */
    const tseed_bounds_t *degrees; /* its ground in degrees, longitude first; NULL: unknown */
    unsigned counted; /* its number among the counters of the board; 0: none of its own */
} tseed_layer_t;

/* Find a grid set by its exact name, a format by its MIME type in any case, a filter by its key in
 * any case. Parameters of a MIME type ("; mode=8bit") count. NULL when the layer has none of that
 * name. */
const tseed_subset_t *tseed_layer_find_subset(const tseed_layer_t *layer, const char *gridset);
const tseed_format_t *tseed_layer_find_format(const tseed_layer_t *layer, const char *mime);
const tseed_filter_t *tseed_layer_find_filter(const tseed_layer_t *layer, const char *key);

/* The name in documents of a grid set that has the layer's levels alone: "EPSG:3857@0-12". In
 * `pool`. */
const char *tseed_subset_name(const tseed_subset_t *subset, apr_pool_t *pool);

/* Lower-case SHA-1 of root, layout and template, which decide into which files a layer's tiles go.
 * In `pool`. */
const char *tseed_store_print(const tseed_store_config_t *store, apr_pool_t *pool);

/* Lower-case SHA-1 of layout and template alone: a store that was moved to another root keeps this
 * print. A task that was accepted for another layout has another print than its layer's store. In
 * `pool`. */
const char *tseed_store_layout_print(const tseed_store_config_t *store, apr_pool_t *pool);

/* All layers of a server. */
typedef struct {
    apr_array_header_t *order; /* of tseed_layer_t *, as configured */
    apr_hash_t *layers;        /* name -> tseed_layer_t * */
    apr_hash_t *gridsets;      /* name -> tseed_gridset_t *, the administrator's own */
    apr_hash_t *upstreams;     /* name -> tseed_upstream_t * */
} tseed_catalog_t;

/* Sets `roots` to the first store roots of the configuration, each once, `most` at most; returns
 * how many there are. */
unsigned tseed_catalog_roots(const tseed_catalog_t *catalog, const char **roots, unsigned most);

/* An empty one; everything in it lives in `pool` too. */
tseed_catalog_t *tseed_catalog_create(apr_pool_t *pool);

/* NULL when there is none of that name. The administrator's grid sets go before the built-in ones.
 */
const tseed_layer_t *tseed_catalog_find_layer(const tseed_catalog_t *catalog, const char *name);
const tseed_gridset_t *tseed_catalog_find_gridset(const tseed_catalog_t *catalog, const char *name);

#endif
