/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* <TileSeedGridSet> and what stands in it. Its directives may come in any order, so they are only
 * noted; the end of the block works out origin and levels and has the grid set checked. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <httpd.h>
#include <http_log.h>
#include <math.h>
#include <string.h>

#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_draft.h"
#include "mod_tileseed_dump.h"
#include "tiling/tseed_range.h"
#include "tiling/tseed_systems.h"

APLOG_USE_MODULE(tileseed);

#define TILE_SIDE_MAX 4096

/* Twice round the earth: what lies beyond is not in degrees. */
#define DEGREES_MOST 360

/* By this part PROJ and the configuration may differ about a unit. */
#define UNIT_SLACK 1e-5

struct tseed_gridset_draft_t {
    tseed_gridset_t *gridset;
    int has_extent, has_origin;
    const char *levels_by; /* the directive that gave the levels; NULL: none yet */
    int levels;            /* of TileSeedLevels, else 0 */
    int are_scales;        /* resolution[] holds scale denominators until the block ends */
    int north_east;        /* -1: not said */
};

typedef tseed_gridset_draft_t draft_t;

static draft_t *current(void)
{
    return tseed_conf_main()->drafts->gridset;
}

static const char *word(const apr_array_header_t *words, int index)
{
    return APR_ARRAY_IDX(words, index, const char *);
}

/* ---- inside ---- */

static const char *set_srs(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t range = {.lowest = 1, .highest = INT32_MAX};
    const char *code = word(words, 0);

    (void)dir;
    if (apr_cstr_casecmpn(code, "EPSG:", 5) == 0) {
        code += 5;
    }
    return tseed_read_int(&current()->gridset->srs, &range, code, cmd->pool);
}

static const char *set_extent(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_bounds_t *extent = &current()->gridset->extent;
    double *const numbers[] = {&extent->minx, &extent->miny, &extent->maxx, &extent->maxy};

    (void)dir;
    for (int i = 0; i < 4; i++) {
        if (tseed_text_double(numbers[i], word(words, i)) != 0) {
            return apr_psprintf(cmd->pool, "'%s' is not possible, a number is expected",
                                word(words, i));
        }
    }
    current()->has_extent = 1;
    return NULL;
}

static const char *set_origin(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const char *const corners[] = {"bottom-left", "top-left", NULL};
    static const tseed_option_t option = {.words = corners};
    tseed_gridset_t *gridset = current()->gridset;
    const char *error = tseed_read_word(&gridset->top_left, &option, word(words, 0), cmd->pool);

    (void)dir;
    if (error || words->nelts == 1) {
        return error;
    }
    if (words->nelts == 2 || tseed_text_double(&gridset->origin_x, word(words, 1)) != 0 ||
        tseed_text_double(&gridset->origin_y, word(words, 2)) != 0) {
        return "behind the corner two numbers x y are expected, or nothing";
    }
    current()->has_origin = 1;
    return NULL;
}

/* There are three ways to give the levels, and a grid set uses one. */
static const char *take_levels(const cmd_parms *cmd)
{
    const char **by = &current()->levels_by;

    if (*by) {
        return apr_psprintf(cmd->pool, "%s has given the levels already", *by);
    }
    *by = cmd->cmd->name;
    return NULL;
}

static const char *read_levels(double *values, const apr_array_header_t *words, apr_pool_t *pool)
{
    if (words->nelts > TSEED_LEVELS_MAX) {
        return apr_psprintf(pool, "%d levels are not possible, 1 to %d are", words->nelts,
                            TSEED_LEVELS_MAX);
    }
    for (int i = 0; i < words->nelts; i++) {
        if (tseed_text_double(&values[i], word(words, i)) != 0) {
            return apr_psprintf(pool, "'%s' is not possible, a number is expected", word(words, i));
        }
    }
    return NULL;
}

static const char *set_resolutions(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_gridset_t *gridset = current()->gridset;
    const char *error = take_levels(cmd);

    (void)dir;
    gridset->levels = words->nelts;
    return error ? error : read_levels(gridset->resolution, words, cmd->pool);
}

/* The scales themselves for the time being: what a metre is may stand further down. */
static const char *set_scales(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const char *error = set_resolutions(cmd, dir, words);

    current()->are_scales = 1;
    return error;
}

static const char *set_levels(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t range = {.lowest = 1, .highest = TSEED_LEVELS_MAX};
    const char *error = take_levels(cmd);

    (void)dir;
    return error ? error : tseed_read_int(&current()->levels, &range, word(words, 0), cmd->pool);
}

static const char *set_tile_size(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_gridset_t *gridset = current()->gridset;

    (void)dir;
    return tseed_read_pair(&gridset->tile_width, &gridset->tile_height, word(words, 0),
                           TILE_SIDE_MAX, cmd->pool);
}

static const char *set_meters_per_unit(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    double *meters = &current()->gridset->meters_per_unit;

    (void)dir;
    if (tseed_text_double(meters, word(words, 0)) != 0 || *meters <= 0) {
        return apr_psprintf(cmd->pool, "'%s' is not possible, a number above 0 is expected",
                            word(words, 0));
    }
    return NULL;
}

static const char *set_axis_order(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const char *const orders[] = {"en", "ne", NULL};
    static const tseed_option_t option = {.words = orders};

    (void)dir;
    return tseed_read_word(&current()->north_east, &option, word(words, 0), cmd->pool);
}

/* ---- the block ---- */

static const char *check_new(const tseed_catalog_t *catalog, const char *name, apr_pool_t *pool)
{
    const char *error = tseed_name_check("a grid set", name, pool);

    if (!error && apr_hash_get(catalog->gridsets, name, APR_HASH_KEY_STRING)) {
        error = apr_psprintf(pool, "there is a grid set '%s' already", name);
    }
    return error;
}

/* Sets the members that the block has not set. Where PROJ does not know the unit it is taken for a
 * metre, and place_layers says so. */
static void fill_defaults(draft_t *draft, const tseed_system_t *system)
{
    tseed_gridset_t *gridset = draft->gridset;

    if (!draft->has_origin) {
        gridset->origin_x = gridset->extent.minx;
        gridset->origin_y = gridset->top_left ? gridset->extent.maxy : gridset->extent.miny;
    }
    gridset->is_unit_stated = gridset->meters_per_unit > 0;
    if (!gridset->is_unit_stated) {
        gridset->meters_per_unit = system->meters_per_unit > 0 ? system->meters_per_unit : 1;
    }
    gridset->north_east = draft->north_east < 0 ? gridset->srs == 4326 : draft->north_east;
}

static const char *check_degrees(const tseed_bounds_t *extent, int srs, apr_pool_t *pool)
{
    return fmin(extent->minx, extent->miny) >= -DEGREES_MOST &&
                   fmax(extent->maxx, extent->maxy) <= DEGREES_MOST
               ? NULL
               : apr_psprintf(
                     pool,
                     "the extent reaches beyond %d, and EPSG:%d is in degrees: write it in "
                     "degrees, or the TileSeedSRS that it is of",
                     DEGREES_MOST, srs);
}

static const char *finish(draft_t *draft, apr_pool_t *pool)
{
    tseed_gridset_t *gridset = draft->gridset;
    const tseed_system_t *system;
    const char *error;

    if (gridset->srs == 0) {
        return "TileSeedSRS is missing inside";
    }
    if (!draft->has_extent) {
        return "TileSeedExtent is missing inside";
    }
    if (!draft->levels_by) {
        return "TileSeedLevels, TileSeedResolutions or TileSeedScaleDenominators is missing inside";
    }
    tseed_systems_find_epsg(&system, tseed_conf_main()->drafts->systems, gridset->srs);
    error = system->is_angular ? check_degrees(&gridset->extent, gridset->srs, pool) : NULL;
    if (error) {
        return error;
    }
    fill_defaults(draft, system);
    if (draft->levels) {
        tseed_gridset_levels(gridset, draft->levels);
    }
    for (int z = 0; draft->are_scales && z < gridset->levels; z++) {
        gridset->resolution[z] = tseed_gridset_resolution_of_scale(gridset, gridset->resolution[z]);
    }
    return tseed_gridset_finish(gridset, pool);
}

static const char *set_gridset(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_server_conf_t *conf = tseed_conf_main();
    draft_t draft = {.north_east = -1};
    const char *name = word(words, 0);
    const char *error = check_new(conf->catalog, name, cmd->pool);

    (void)dir;
    if (error) {
        return error;
    }
    draft.gridset = apr_pcalloc(cmd->pool, sizeof(*draft.gridset));
    draft.gridset->name = name;
    draft.gridset->tile_width = draft.gridset->tile_height = 256;
    conf->drafts->gridset = &draft;
    error = tseed_section_walk(cmd);
    conf->drafts->gridset = NULL;
    if (!error) {
        error = finish(&draft, cmd->pool);
    }
    if (!error) {
        apr_hash_set(conf->catalog->gridsets, name, APR_HASH_KEY_STRING, draft.gridset);
    }
    return error;
}

static const char *numbers(const double *values, int count, const char *glue, apr_pool_t *pool)
{
    const char *text = "";

    for (int i = 0; i < count; i++) {
        text = apr_pstrcat(pool, text, i ? glue : "", tseed_text_number(values[i], pool), NULL);
    }
    return text;
}

static void dump_degrees(const tseed_dump_t *dump, const tseed_bounds_t *degrees)
{
    if (degrees) {
        tseed_dump_line(dump, "TileSeedWGS84Box %s", tseed_show_box(degrees, " ", dump->pool));
    }
}

static void dump_gridset(const tseed_dump_t *of, const tseed_gridset_t *gridset)
{
    const tseed_dump_t inside = {.to = of->to, .indent = "    ", .pool = of->pool};
    const tseed_dump_t *dump = &inside;
    apr_pool_t *pool = dump->pool;
    const double origin[] = {gridset->origin_x, gridset->origin_y};

    tseed_dump_line(of, "<TileSeedGridSet %s>", tseed_show_word(gridset->name, pool));
    tseed_dump_line(dump, "TileSeedSRS %d", gridset->srs);
    tseed_dump_line(dump, "TileSeedExtent %s", tseed_show_box(&gridset->extent, " ", pool));
    tseed_dump_line(dump, "TileSeedOrigin %s %s", gridset->top_left ? "top-left" : "bottom-left",
                    numbers(origin, 2, " ", pool));
    tseed_dump_line(dump, "TileSeedResolutions %s",
                    numbers(gridset->resolution, gridset->levels, " ", pool));
    tseed_dump_line(dump, "TileSeedTileSize %dx%d", gridset->tile_width, gridset->tile_height);
    tseed_dump_line(dump, "TileSeedMetersPerUnit %s",
                    tseed_text_number(gridset->meters_per_unit, pool));
    tseed_dump_line(dump, "TileSeedAxisOrder %s", gridset->north_east ? "ne" : "en");
    dump_degrees(dump, gridset->degrees);
    tseed_dump_line(of, "</TileSeedGridSet>");
}

static void show_gridsets(const tseed_dump_t *dump, const void *conf)
{
    const apr_array_header_t *names = tseed_dump_names(dump, dump->catalog->gridsets);

    (void)conf;
    for (int i = 0; i < names->nelts; i++) {
        dump_gridset(dump,
                     apr_hash_get(dump->catalog->gridsets, APR_ARRAY_IDX(names, i, const char *),
                                  APR_HASH_KEY_STRING));
    }
}

static const command_rec directives[] = {
    TSEED_DIRECTIVE("<TileSeedGridSet",
                    TSEED_SHOWN(TSEED_IN_SERVER, 1, 1, set_gridset, show_gridsets),
                    "NAME, a grid set of your own"),
    TSEED_DIRECTIVE("TileSeedSRS", TSEED_RULE(TSEED_IN_GRIDSET, 1, 1, set_srs),
                    "N, EPSG code of the reference system"),
    TSEED_DIRECTIVE("TileSeedExtent", TSEED_RULE(TSEED_IN_GRIDSET, 4, 4, set_extent),
                    "minx miny maxx maxy, in units of the reference system"),
    TSEED_DIRECTIVE("TileSeedOrigin", TSEED_RULE(TSEED_IN_GRIDSET, 1, 3, set_origin),
                    "bottom-left|top-left [x y], the corner that tiles are aligned to"),
    TSEED_DIRECTIVE("TileSeedResolutions", TSEED_RULE(TSEED_IN_GRIDSET, 1, -1, set_resolutions),
                    "R0 R1 ..., units a pixel, from coarse to fine"),
    TSEED_DIRECTIVE("TileSeedScaleDenominators", TSEED_RULE(TSEED_IN_GRIDSET, 1, -1, set_scales),
                    "D0 D1 ..., of pixels of 0.28 mm, from coarse to fine"),
    TSEED_DIRECTIVE("TileSeedLevels", TSEED_RULE(TSEED_IN_GRIDSET, 1, 1, set_levels),
                    "N, that many levels, each twice as fine as the one before"),
    TSEED_DIRECTIVE("TileSeedTileSize", TSEED_RULE(TSEED_IN_GRIDSET, 1, 1, set_tile_size),
                    "WIDTHxHEIGHT, pixels"),
    TSEED_DIRECTIVE("TileSeedMetersPerUnit",
                    TSEED_RULE(TSEED_IN_GRIDSET, 1, 1, set_meters_per_unit),
                    "F, for scale denominators"),
    TSEED_DIRECTIVE("TileSeedAxisOrder", TSEED_RULE(TSEED_IN_GRIDSET, 1, 1, set_axis_order),
                    "en|ne, the reference system's own order of axes"),
    {.name = NULL},
};

const tseed_module_part_t tseed_config_gridset_part = {.directives = directives};

/* ---- TileSeedWGS84Box ----
 *
 * Where on the earth layers lie, in degrees: the directive says it, or PROJ works it out once when
 * httpd starts. The services' documents tell it to clients.
 */

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

static const char *set_wgs84_box(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const tseed_drafts_t *drafts = tseed_conf_main()->drafts;
    tseed_bounds_t *box = apr_palloc(cmd->pool, sizeof(*box));
    const tseed_bounds_t **member =
        drafts->current ? &drafts->current->layer.degrees : &current()->gridset->degrees;

    (void)dir;
    if (*member) {
        return "it is there twice, once is expected";
    }
    *member = box;
    return read_box(box, words, cmd->pool);
}

static void show_wgs84_box(const tseed_dump_t *dump, const void *layer)
{
    dump_degrees(dump, ((const tseed_layer_t *)layer)->degrees);
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

static void widen(tseed_bounds_t *all, const tseed_bounds_t *box)
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
        widen(&all, locate(survey, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t)));
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

static void place_layers(server_rec *server, apr_pool_t *pconf, apr_pool_t *ptemp)
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

static const command_rec box_directives[] = {
    TSEED_DIRECTIVE(
        "TileSeedWGS84Box",
        TSEED_SHOWN(TSEED_IN_GRIDSET | TSEED_IN_LAYER, 4, 4, set_wgs84_box, show_wgs84_box),
        "west south east north, degrees, of the grid set's extent or of the layer"),
    {.name = NULL},
};

const tseed_module_part_t tseed_config_boxes_part = {.directives = box_directives,
                                                     .start = place_layers};
