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
    apr_hash_t *named;  /* const tseed_gridset_t *: grid sets that the log has named */
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

/* ---- axes ---- */

/* Clients read coordinates as the system's definition orders them, whatever is configured. */
static void judge_axes(const survey_t *survey, const tseed_gridset_t *gridset)
{
    int north = tseed_systems_north_east(survey->systems, gridset->srs);

    if (north >= 0 && north != gridset->north_east && is_new(survey, gridset)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, survey->server,
                     "TS0016: grid set %s: the first axis of EPSG:%d goes %s, and documents and "
                     "WMS 1.3.0 have it go %s: TileSeedAxisOrder %s is expected",
                     gridset->name, gridset->srs, north ? "north" : "east",
                     north ? "east" : "north", north ? "ne" : "en");
    }
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
    survey.named = apr_hash_make(survey.pool);
    survey.placed = apr_hash_make(survey.pool);
    for (int i = 0; i < layers->nelts; i++) {
        tseed_layer_t *layer = APR_ARRAY_IDX(layers, i, tseed_layer_t *);

        for (int k = 0; k < layer->subsets->nelts; k++) {
            const tseed_subset_t *subset = &APR_ARRAY_IDX(layer->subsets, k, tseed_subset_t);

            judge_axes(&survey, subset->gridset);
            judge_extent(server, layer, subset);
        }
        if (!layer->degrees) {
            locate_layer(&survey, layer, pconf);
        }
    }
    apr_pool_destroy(survey.pool); /* closes what PROJ has opened before anything is forked */
}
