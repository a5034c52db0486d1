/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reference systems. Web mercator is computed here, everything else by PROJ. */
#include "tiling/tseed_systems.h"

#include <apr_cstr.h>
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

/* Degrees that a zone of UTM is wide. */
#define ZONE 6

/* How many points of each side of a box are projected: the sides become curves, and the farthest
 * point of a curve lies between two of them. There as many points are projected again, and so on:
 * kilometres that the first points miss on a continent become millimetres. */
#define POINTS_A_SIDE 21
#define ROUNDS        4

/* Lives in its pool, used by one thread. */
struct tseed_systems_t {
    apr_pool_t *pool;
    PJ_CONTEXT *context; /* NULL until PROJ is needed */
    apr_hash_t *ways;    /* the name of a system -> way_t * */
    const char *words;   /* what PROJ has said last */
};

/* A system, and the way from it to degrees. */
typedef struct {
    tseed_system_t system;
    PJ *operation; /* NULL: there is none */
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

typedef struct {
    const char *name, *direction;
    double factor; /* metres or radians in a unit */
} axis_t;

static int get_axis(axis_t *axis, PJ_CONTEXT *context, const PJ *axes, int index)
{
    return proj_cs_get_axis_info(context, axes, index, &axis->name, NULL, &axis->direction,
                                 &axis->factor, NULL, NULL, NULL) &&
           axis->name && axis->direction;
}

/* Where both axes go one way, as they do along two meridians from a pole, the name decides; so do
 * GDAL and PROJ. Elsewhere the direction does. */
static int is_north_east(const axis_t *first, const axis_t *second)
{
    if (strcmp(first->direction, second->direction) == 0) {
        return apr_cstr_casecmpn(first->name, "northing", strlen("northing")) == 0;
    }
    return strcmp(first->direction, "north") == 0;
}

static void describe_axes(tseed_system_t *system, PJ_CONTEXT *context, const PJ *crs)
{
    PJ *axes = proj_crs_get_coordinate_system(context, crs);
    axis_t first, second;

    if (axes && get_axis(&first, context, axes, 0) && get_axis(&second, context, axes, 1)) {
        const PJ_COORDINATE_SYSTEM_TYPE type = proj_cs_get_type(context, axes);

        system->north_east = is_north_east(&first, &second);
        system->is_angular = type == PJ_CS_TYPE_ELLIPSOIDAL;
        system->meters_per_unit =
            first.factor * (system->is_angular ? DEGREES * TSEED_METERS_PER_DEGREE : 1);
    }
    proj_destroy(axes);
}

static const tseed_bounds_t earth = {-180, -90, 180, 90};

static void describe(tseed_system_t *system, PJ_CONTEXT *context, const char *name)
{
    PJ *crs = proj_create(context, name);
    tseed_bounds_t *area = &system->area;

    if (crs) {
        describe_axes(system, context, crs);
        if (!proj_get_area_of_use(context, crs, &area->minx, &area->miny, &area->maxx, &area->maxy,
                                  NULL) ||
            area->miny < -90 || area->minx < -180) { /* PROJ's -1000: not known */
            *area = earth;
        }
    }
    proj_destroy(crs);
}

static const way_t *find_way(tseed_systems_t *systems, const char *name)
{
    way_t *way = apr_hash_get(systems->ways, name, APR_HASH_KEY_STRING);

    if (way) {
        return way;
    }
    name = apr_pstrdup(systems->pool, name);
    if (!systems->context) {
        open_context(systems);
    }
    systems->words = NULL;
    way = apr_pcalloc(systems->pool, sizeof(*way));
    way->system = (tseed_system_t){.north_east = -1, .area = earth};
    way->operation = find_operation(systems, name);
    if (way->operation) {
        describe(&way->system, systems->context, name);
    } else {
        way->problem = apr_psprintf(systems->pool, "PROJ does not know %s: %s", name,
                                    systems->words ? systems->words : "it says nothing more");
    }
    apr_hash_set(systems->ways, name, APR_HASH_KEY_STRING, way);
    return way;
}

static const char *name_of(const tseed_systems_t *systems, int srs)
{
    return apr_psprintf(systems->pool, "EPSG:%d", srs);
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

/* A side of a box that is projected, from one corner to another. */
typedef struct {
    const way_t *way;
    double x, y, across, up;
} side_t;

/* Longitude (0) or latitude (1) of a point of the side. */
static double degrees_at(const side_t *side, double part, int axis)
{
    const PJ_COORD point = proj_trans(
        side->way->operation, PJ_FWD,
        proj_coord(side->x + part * side->across, side->y + part * side->up, 0, HUGE_VAL));

    return point.v[axis];
}

/* The highest longitude or latitude of the side; with `sign` -1 the lowest, turned round. */
static double find_farthest(const side_t *side, int axis, double sign)
{
    double low = 0, high = 1, farthest = -INFINITY;

    for (int round = 0; round < ROUNDS; round++) {
        const double step = (high - low) / (POINTS_A_SIDE - 1);
        int best = 0;

        for (int i = 0; i < POINTS_A_SIDE; i++) {
            const double value = sign * degrees_at(side, low + i * step, axis);

            if (isfinite(value) && value > farthest) {
                farthest = value;
                best = i;
            }
        }
        if (best == 0 || best == POINTS_A_SIDE - 1) {
            break; /* it goes up or down all along, or no point is farther than the last one */
        }
        low += (best - 1) * step;
        high = low + 2 * step;
    }
    return farthest;
}

/* Moves a side of the box out to what was found, unless this is at the other end of the world. */
static void widen(double *at, double farthest, double sign)
{
    const double more = farthest - sign * *at;

    if (more > 0 && more < 1) {
        *at = sign * farthest;
    }
}

static void hold_curves(tseed_bounds_t *box, const way_t *way, const tseed_bounds_t *bounds)
{
    const double width = bounds->maxx - bounds->minx, height = bounds->maxy - bounds->miny;
    const side_t sides[] = {{way, bounds->minx, bounds->miny, width, 0},
                            {way, bounds->minx, bounds->maxy, width, 0},
                            {way, bounds->minx, bounds->miny, 0, height},
                            {way, bounds->maxx, bounds->miny, 0, height}};

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        widen(&box->minx, find_farthest(&sides[i], 0, -1), -1);
        widen(&box->miny, find_farthest(&sides[i], 1, -1), -1);
        widen(&box->maxx, find_farthest(&sides[i], 0, 1), 1);
        widen(&box->maxy, find_farthest(&sides[i], 1, 1), 1);
    }
}

static const char *transform(tseed_bounds_t *degrees, tseed_systems_t *systems, int srs,
                             const tseed_bounds_t *bounds)
{
    const way_t *way = find_way(systems, name_of(systems, srs));
    int is_done;

    if (way->problem) {
        return way->problem;
    }
    systems->words = NULL;
    is_done = proj_trans_bounds(systems->context, way->operation, PJ_FWD, bounds->minx,
                                bounds->miny, bounds->maxx, bounds->maxy, &degrees->minx,
                                &degrees->miny, &degrees->maxx, &degrees->maxy, POINTS_A_SIDE);
    if (!is_done || !settle(degrees)) {
        return apr_psprintf(systems->pool, "PROJ can't say where the extent in EPSG:%d lies: %s",
                            srs, systems->words ? systems->words : "no part of the earth");
    }
    hold_curves(degrees, way, bounds);
    return NULL;
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

/* ---- systems ---- */

const char *tseed_systems_find(const tseed_system_t **system, tseed_systems_t *systems,
                               const char *name)
{
    const way_t *way = find_way(systems, name);

    *system = &way->system;
    return way->problem;
}

const char *tseed_systems_find_epsg(const tseed_system_t **system, tseed_systems_t *systems,
                                    int srs)
{
    static const tseed_system_t degrees = {1, TSEED_METERS_PER_DEGREE, 1, {-180, -90, 180, 90}},
                                mercator = {0, 1, 0, {-180, -85.06, 180, 85.06}};

    if (srs == 4326 || tseed_srs_same(srs, 3857)) {
        *system = srs == 4326 ? &degrees : &mercator;
        return NULL;
    }
    return tseed_systems_find(system, systems, name_of(systems, srs));
}

int tseed_systems_is_near(const tseed_system_t *system, const tseed_bounds_t *degrees)
{
    const double south = system->area.miny - ZONE, north = system->area.maxy + ZONE;
    const int is_west = degrees->minx <= system->area.maxx + ZONE;
    const int is_east = degrees->maxx >= system->area.minx - ZONE;
    const int is_whole = system->area.minx <= system->area.maxx;

    return degrees->miny <= north && degrees->maxy >= south &&
           (is_whole ? is_west && is_east : is_west || is_east);
}
