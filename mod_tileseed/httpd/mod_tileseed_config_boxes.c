/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where on the earth layers lie, in degrees: TileSeedWGS84Box says it, or PROJ works it out once
 * when httpd starts. The services' documents tell it to clients. */
#include "mod_tileseed_draft.h"

#include <apr_strings.h>
#include <http_log.h>
#include <math.h>

#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "tiling/tseed_range.h"
#include "tiling/tseed_systems.h"

APLOG_USE_MODULE(tileseed);

#define UNIT_SLACK 1e-5

/* ---- the directive ---- */

static int is_box(const tseed_bounds_t *box)
{
    return box->minx >= -180 && box->minx < box->maxx && box->maxx <= 180 && box->miny >= -90 &&
           box->miny < box->maxy && box->maxy <= 90;
}

static const char *read_box(tseed_bounds_t *box, const apr_array_header_t *words, apr_pool_t *pool)
{
    double *const numbers[] = {&box->minx, &box->miny, &box->maxx, &box->maxy};
    int is_read = 1;

    for (int i = 0; i < 4 && is_read; i++) {
        is_read = tseed_text_double(numbers[i], APR_ARRAY_IDX(words, i, const char *)) == 0;
    }
    return is_read && is_box(box)
               ? NULL
               : apr_psprintf(pool,
                              "'%s' is not possible, west south east north in degrees with west < "
                              "east within -180 to 180 and south < north within -90 to 90 is "
                              "expected",
                              apr_array_pstrcat(pool, words, ' '));
}

const char *tseed_set_wgs84_box(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const tseed_drafts_t *drafts = tseed_conf_main()->drafts;
    tseed_bounds_t *box = apr_palloc(cmd->pool, sizeof(*box));
    const tseed_bounds_t **member = drafts->current ? &drafts->current->layer.degrees
                                                    : tseed_gridset_draft_degrees(drafts->gridset);

    (void)dir;
    if (*member) {
        return "it is there twice, once is expected";
    }
    *member = box;
    return read_box(box, words, cmd->pool);
}

/* ---- what is not stated ---- */

static const tseed_bounds_t nowhere = {INFINITY, INFINITY, -INFINITY, -INFINITY};

typedef struct {
    const server_rec *server;
    apr_pool_t *pool;
    tseed_systems_t *systems;
    apr_hash_t *judged; /* const tseed_gridset_t * */
    apr_hash_t *named;  /* const tseed_gridset_t *: grid sets that lie nobody knows where */
    apr_hash_t *placed; /* place_t -> tseed_bounds_t *: many layers have the same extent */
} survey_t;

typedef struct {
    const tseed_gridset_t *gridset;
    tseed_bounds_t extent;
} place_t;

/* Once for each grid set. */
static int is_new(const survey_t *survey, const tseed_gridset_t *gridset)
{
    if (apr_hash_get(survey->named, &gridset, sizeof(gridset))) {
        return 0;
    }
    apr_hash_set(survey->named, apr_pmemdup(survey->pool, &gridset, sizeof(gridset)),
                 sizeof(gridset), gridset);
    return 1;
}

static void ask(tseed_bounds_t *box, const survey_t *survey, const place_t *place)
{
    const char *problem =
        tseed_systems_degrees(box, survey->systems, place->gridset->srs, &place->extent);

    if (!problem) {
        return;
    }
    *box = nowhere;
    if (is_new(survey, place->gridset)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, survey->server,
                     "TS0015: grid set %s: %s. Clients are not told where its layers lie; "
                     "TileSeedWGS84Box can say it",
                     place->gridset->name, problem);
    }
}

/* In degrees, or nowhere. */
static const tseed_bounds_t *locate(const survey_t *survey, const tseed_subset_t *subset)
{
    const tseed_gridset_t *gridset = subset->gridset;
    const place_t place = {gridset, subset->extent};
    tseed_bounds_t *box;

    if (gridset->degrees) {
        return gridset->degrees;
    }
    box = apr_hash_get(survey->placed, &place, sizeof(place));
    if (!box) {
        box = apr_palloc(survey->pool, sizeof(*box));
        ask(box, survey, &place);
        apr_hash_set(survey->placed, apr_pmemdup(survey->pool, &place, sizeof(place)),
                     sizeof(place), box);
    }
    return box;
}

static void add(tseed_bounds_t *all, const tseed_bounds_t *box)
{
    all->minx = fmin(all->minx, box->minx);
    all->miny = fmin(all->miny, box->miny);
    all->maxx = fmax(all->maxx, box->maxx);
    all->maxy = fmax(all->maxy, box->maxy);
}

/* A box around all grid sets of the layer. */
static void locate_layer(const survey_t *survey, tseed_layer_t *layer, apr_pool_t *pool)
{
    tseed_bounds_t all = nowhere;

    for (int i = 0; i < layer->subsets->nelts; i++) {
        add(&all, locate(survey, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t)));
    }
    if (all.minx < all.maxx) {
        layer->degrees = apr_pmemdup(pool, &all, sizeof(all));
    }
}

/* ---- what PROJ knows better ---- */

/* Clients read coordinates as the system's definition orders them, whatever is configured. */
static void judge_axes(const survey_t *survey, const tseed_gridset_t *gridset,
                       const tseed_system_t *system)
{
    int north = system->north_east;

    if (north >= 0 && north != gridset->north_east) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, survey->server,
                     "TS0016: grid set %s: the first axis of EPSG:%d goes %s, and documents and "
                     "WMS 1.3.0 have it go %s: TileSeedAxisOrder %s is expected",
                     gridset->name, gridset->srs, north ? "north" : "east",
                     north ? "east" : "north", north ? "ne" : "en");
    }
}

/* Clients work scales out of it. Feet of two kinds differ by less. */
static void judge_unit(const survey_t *survey, const tseed_gridset_t *gridset,
                       const tseed_system_t *system)
{
    const double known = system->meters_per_unit;

    if (known > 0 && fabs(gridset->meters_per_unit / known - 1) > UNIT_SLACK) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, survey->server,
                     "TS0097: grid set %s: a unit of EPSG:%d is %s metres, and documents have "
                     "scales that follow from %s: leave TileSeedMetersPerUnit out",
                     gridset->name, gridset->srs, tseed_text_number(known, survey->pool),
                     tseed_text_number(gridset->meters_per_unit, survey->pool));
    } else if (known <= 0 && !gridset->is_unit_stated) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, survey->server,
                     "TS0098: grid set %s: PROJ does not know a unit of EPSG:%d, which is taken "
                     "for a metre: TileSeedMetersPerUnit can say it",
                     gridset->name, gridset->srs);
    }
}

/* An extent with its axes swapped, in degrees, or in another system lies elsewhere: some metres
 * around the origin, or where nobody uses the system. */
static void judge_place(const survey_t *survey, const tseed_gridset_t *gridset,
                        const tseed_system_t *system)
{
    const tseed_bounds_t *extent = &gridset->extent, *area = &system->area;
    const int is_tiny = system->meters_per_unit > 0 && !system->is_angular &&
                        extent->minx >= -180 && extent->maxx <= 180 && extent->miny >= -90 &&
                        extent->maxy <= 90;
    tseed_bounds_t box;

    if (tseed_systems_degrees(&box, survey->systems, gridset->srs, extent) == NULL &&
        (is_tiny || !tseed_systems_is_near(system, &box))) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, survey->server,
                     "TS0099: grid set %s: its TileSeedExtent lies at %.1f %.1f %.1f %.1f degrees, "
                     "and EPSG:%d is made for %.1f %.1f %.1f %.1f: is it x before y, in units of "
                     "EPSG:%d?",
                     gridset->name, box.minx, box.miny, box.maxx, box.maxy, gridset->srs,
                     area->minx, area->miny, area->maxx, area->maxy, gridset->srs);
    }
}

/* Once for each grid set. */
static void judge_gridset(const survey_t *survey, const tseed_gridset_t *gridset)
{
    const tseed_system_t *system;

    if (apr_hash_get(survey->judged, &gridset, sizeof(gridset))) {
        return;
    }
    apr_hash_set(survey->judged, apr_pmemdup(survey->pool, &gridset, sizeof(gridset)),
                 sizeof(gridset), gridset);
    tseed_systems_find_epsg(&system, survey->systems, gridset->srs);
    judge_axes(survey, gridset, system);
    judge_unit(survey, gridset, system);
    judge_place(survey, gridset, system);
}

/* ---- degrees ---- */

static void judge_extent(const server_rec *server, const tseed_layer_t *layer,
                         const tseed_subset_t *subset)
{
    if (tseed_bounds_in_degrees(&subset->extent, &subset->gridset->extent)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, server,
                     "TS0017: layer %s: extent= of TileSeedGrid %s looks like degrees, the grid "
                     "set has other units",
                     layer->name, subset->gridset->name);
    }
}

void tseed_config_boxes(const server_rec *server, apr_pool_t *pconf, apr_pool_t *ptemp)
{
    const apr_array_header_t *layers = tseed_conf_get(server)->catalog->order;
    survey_t survey = {.server = server};

    apr_pool_create(&survey.pool, ptemp);
    survey.systems = tseed_systems_create(survey.pool);
    survey.judged = apr_hash_make(survey.pool);
    survey.named = apr_hash_make(survey.pool);
    survey.placed = apr_hash_make(survey.pool);
    for (int i = 0; i < layers->nelts; i++) {
        tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, tseed_layer_t *);

        for (int k = 0; k < layer->subsets->nelts; k++) {
            const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, k, tseed_subset_t);

            judge_gridset(&survey, subset->gridset);
            judge_extent(server, layer, subset);
        }
        if (!layer->degrees) {
            locate_layer(&survey, layer, pconf);
        }
    }
    apr_pool_destroy(survey.pool); /* closes what PROJ has opened before anything is forked */
}
