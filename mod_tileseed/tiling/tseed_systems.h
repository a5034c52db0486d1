/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Reference systems: where on the earth something lies, as PROJ and its EPSG database know it.
 *
 * For the configuration phase. Opening the database of PROJ costs a few milliseconds and the first
 * use of a system some more; PROJ never asks the network here. An object belongs to one thread.
 */
#ifndef TSEED_SYSTEMS_H
#define TSEED_SYSTEMS_H

#include "tiling/tseed_gridset.h"

typedef struct tseed_systems_t tseed_systems_t;

/* Asks PROJ for nothing yet. Whatever it opens later is closed with `pool`. */
tseed_systems_t *tseed_systems_create(apr_pool_t *pool);

/* The smallest box in degrees of WGS 84 around `bounds` of the EPSG system `srs`, longitude first.
 * A box that crosses the antimeridian becomes a box around the whole earth. The systems of the
 * built-in grid sets need no PROJ. NULL, or a sentence why the box is not known, in the pool of the
 * object. */
const char *tseed_systems_degrees(tseed_bounds_t *degrees, tseed_systems_t *systems, int srs,
                                  const tseed_bounds_t *bounds);

/* What is known of a system. */
typedef struct {
    int north_east; /* whether the order of its axes is north, east: 1, 0, or -1: it is not known */
    double meters_per_unit; /* a degree: on the equator of WGS 84; 0: not known */
    int is_angular;         /* its units are parts of a circle */
    tseed_bounds_t area;    /* of use, in degrees; it may go over the antimeridian: west > east */
} tseed_system_t;

/* Finds a system by its name: "EPSG:4258", "OGC:CRS84", "urn:ogc:def:crs:EPSG::4258". EPSG:4326 and
 * web mercator need no PROJ. NULL, or a sentence why the system is not known, in the pool of the
 * object; then `*system` says so of each member, and its area is the earth. */
const char *tseed_systems_find(const tseed_system_t **system, tseed_systems_t *systems,
                               const char *name);

/* The same by an EPSG code. */
const char *tseed_systems_find_epsg(const tseed_system_t **system, tseed_systems_t *systems,
                                    int srs);

/* Whether a box in degrees lies within the area of use of a system, or near: the zone of a country
 * is used for all of it, and for its neighbours. */
int tseed_systems_is_near(const tseed_system_t *system, const tseed_bounds_t *degrees);

#endif
