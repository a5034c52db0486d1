/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Addresses of upstreams: what all kinds of sources have in common. Pure text, any thread. Results
 * and sentences live in the pool that a call takes. */
#ifndef TSEED_ADDRESS_H
#define TSEED_ADDRESS_H

#include "layer/tseed_tileset.h"
#include "tiling/tseed_range.h"

/* A block of tiles that is wanted, and where it is asked for. */
typedef struct {
    const tseed_tileset_t *tileset;
    const tseed_range_t *whole;
    int gutter;            /* pixels around it, as configured */
    tseed_margin_t margin; /* those that are asked for */
    int width, height;     /* pixels, margin included */
    const char *url;       /* of a service, or a template */
} tseed_ask_t;

/* Checks scheme, host and characters of an address; one that is a template may have braces. NULL or
 * a sentence that does not quote it: it may hold a password. */
const char *tseed_address_check(const char *url, int is_template, apr_pool_t *pool);

/* Whether a part of the path is "." or "..", encoded or not: servers take it, and the part in front
 * of it, away (RFC 3986, 5.2.4). */
int tseed_address_has_dots(const char *url);

/* RFC 3986 2.1. All but its unreserved characters and those in `allowed` are encoded. */
const char *tseed_address_encode(const char *text, const char *allowed, apr_pool_t *pool);

/* "minx,miny,maxx,maxy" of the block with its margin, the shortest decimals that read back as the
 * very doubles computed; `swapped`: "miny,minx,maxy,maxx". */
const char *tseed_address_bbox(const tseed_ask_t *ask, int swapped, apr_pool_t *pool);

/* Appends the parameters to an address that may have a query already. Empty ones are left out, but
 * for those named STYLES or STYLE, which must be there. */
const char *tseed_address_join(const char *url, const apr_table_t *query, apr_pool_t *pool);

/* The keys in the query of an address, as they are written: const char *. */
apr_array_header_t *tseed_address_keys(const char *url, apr_pool_t *pool);

/* Sets all of `values` in `query`. */
void tseed_address_override(apr_table_t *query, const apr_table_t *values);

#endif
