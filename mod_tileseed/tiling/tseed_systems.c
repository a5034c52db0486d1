/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reference systems. Web mercator is computed here, everything else by PROJ. */
#include "tiling/tseed_systems.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <malloc.h>
#include <math.h>
#include <proj.h>
#include <stdlib.h>
#include <string.h>

/* Radius of the sphere that web mercator takes the earth for, in metres (EPSG:3857). */
#define MERCATOR_RADIUS 6378137.0
#define DEGREES         (180 / 3.14159265358979323846)

/* How many points of each side of a box are projected: the sides become curves. PROJ advises this
 * number. It misses a few metres of a country; more points make a start with thousands of extents
 * slow. */
#define POINTS_A_SIDE 21

/* Lives in its pool, used by one thread. */
struct tseed_systems_t {
    apr_pool_t *pool;
    PJ_CONTEXT *context; /* NULL until PROJ is needed */
    apr_hash_t *ways;    /* int, an EPSG code -> way_t * */
    const char *words;   /* what PROJ has said last */
};

/* From a system to degrees. */
typedef struct {
    int srs;
    PJ *operation; /* NULL: there is none */
    int north;     /* tseed_systems_north_east */
    const char *problem;
} way_t;

/* ---- PROJ ---- */

static void hear(void *data, int level, const char *words)
{
    tseed_systems_t *systems = data;

    if (level == PJ_LOG_ERROR) {
        systems->words = apr_pstrdup(systems->pool, words);
    }
}

/* Clears PROJ's caches too: until then PROJ keeps databases open for contexts to come.
 *
 * Trims the heap. A child of httpd that gets SIGTERM while it starts destroys its pools in the
 * signal handler, and may abort if the signal interrupts a malloc. Fewer children abort when the
 * parent has trimmed its heap before (measured: 2 of 572 such children instead of 11 of 700).
 * Nobody knows why. */
static apr_status_t close_context(void *data)
{
    tseed_systems_t *systems = data;
    apr_hash_index_t *i;

    for (i = apr_hash_first(NULL, systems->ways); i; i = apr_hash_next(i)) {
        proj_destroy(((const way_t *)apr_hash_this_val(i))->operation);
    }
    proj_context_destroy(systems->context);
    proj_cleanup();
    malloc_trim(0);
    return APR_SUCCESS;
}

static void open_context(tseed_systems_t *systems)
{
    systems->context = proj_context_create();
    if (!systems->context) {
        abort();
    }
    proj_context_set_enable_network(systems->context, 0);
    proj_log_func(systems->context, systems, hear);
    apr_pool_cleanup_register(systems->pool, systems, close_context, apr_pool_cleanup_null);
}

tseed_systems_t *tseed_systems_create(apr_pool_t *pool)
{
    tseed_systems_t *systems = apr_pcalloc(pool, sizeof(*systems));

    systems->pool = pool;
    systems->ways = apr_hash_make(pool);
    return systems;
}

/* Easting first on both sides, whatever the systems say. */
static PJ *find_operation(const tseed_systems_t *systems, const char *name)
{
    PJ *raw = proj_create_crs_to_crs(systems->context, name, "EPSG:4326", NULL);
    PJ *operation = raw ? proj_normalize_for_visualization(systems->context, raw) : NULL;

    proj_destroy(raw);
    return operation;
}

static int first_axis_goes_north(PJ_CONTEXT *context, const char *name)
{
    PJ *system = proj_create(context, name);
    PJ *axes = system ? proj_crs_get_coordinate_system(context, system) : NULL;
    const char *direction = NULL;
    int is_known = axes && proj_cs_get_axis_info(context, axes, 0, NULL, NULL, &direction, NULL,
                                                 NULL, NULL, NULL);
    int north = is_known && direction ? strcmp(direction, "north") == 0 : -1;

    proj_destroy(axes);
    proj_destroy(system);
    return north;
}

static const way_t *find_way(tseed_systems_t *systems, int srs)
{
    way_t *way = apr_hash_get(systems->ways, &srs, sizeof(srs));
    const char *name;

    if (way) {
        return way;
    }
    name = apr_psprintf(systems->pool, "EPSG:%d", srs);
    if (!systems->context) {
        open_context(systems);
    }
    systems->words = NULL;
    way = apr_pcalloc(systems->pool, sizeof(*way));
    way->srs = srs;
    way->north = -1;
    way->operation = find_operation(systems, name);
    if (way->operation) {
        way->north = first_axis_goes_north(systems->context, name);
    } else {
        way->problem = apr_psprintf(systems->pool, "PROJ does not know %s: %s", name,
                                    systems->words ? systems->words : "it says nothing more");
    }
    apr_hash_set(systems->ways, &way->srs, sizeof(way->srs), way);
    return way;
}

/* ---- boxes ---- */

static double longitude(double x)
{
    return x / MERCATOR_RADIUS * DEGREES;
}

static double latitude(double y)
{
    return atan(sinh(y / MERCATOR_RADIUS)) * DEGREES;
}

/* PROJ gives a box that crosses the antimeridian a western side that lies east of the other. */
static int settle(tseed_bounds_t *box)
{
    if (!isfinite(box->minx) || !isfinite(box->miny) || !isfinite(box->maxx) ||
        !isfinite(box->maxy) || box->miny >= box->maxy) {
        return 0;
    }
    if (box->minx >= box->maxx || box->minx < -180 || box->maxx > 180) {
        box->minx = -180;
        box->maxx = 180;
    }
    box->miny = fmax(box->miny, -90);
    box->maxy = fmin(box->maxy, 90);
    return 1;
}

static const char *transform(tseed_bounds_t *degrees, tseed_systems_t *systems, int srs,
                             const tseed_bounds_t *bounds)
{
    const way_t *way = find_way(systems, srs);
    int is_done;

    if (way->problem) {
        return way->problem;
    }
    systems->words = NULL;
    is_done = proj_trans_bounds(systems->context, way->operation, PJ_FWD, bounds->minx,
                                bounds->miny, bounds->maxx, bounds->maxy, &degrees->minx,
                                &degrees->miny, &degrees->maxx, &degrees->maxy, POINTS_A_SIDE);
    return is_done && settle(degrees)
               ? NULL
               : apr_psprintf(systems->pool, "PROJ can't say where the extent in EPSG:%d lies: %s",
                              srs, systems->words ? systems->words : "no part of the earth");
}

const char *tseed_systems_degrees(tseed_bounds_t *degrees, tseed_systems_t *systems, int srs,
                                  const tseed_bounds_t *bounds)
{
    *degrees = *bounds;
    if (srs == 4326) {
        return NULL;
    }
    if (tseed_srs_same(srs, 3857)) {
        *degrees = (tseed_bounds_t){longitude(bounds->minx), latitude(bounds->miny),
                                    longitude(bounds->maxx), latitude(bounds->maxy)};
        return NULL;
    }
    return transform(degrees, systems, srs, bounds);
}

/* ---- axes ---- */

int tseed_systems_north_east(tseed_systems_t *systems, int srs)
{
    return srs == 4326 || tseed_srs_same(srs, 3857) ? srs == 4326 : find_way(systems, srs)->north;
}
