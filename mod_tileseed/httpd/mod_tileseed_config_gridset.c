/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* <TileSeedGridSet> and what stands in it. Its directives may come in any order, so they are only
 * noted; the end of the block works out origin and levels and has the grid set checked. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <math.h>
#include <string.h>

#include "base/tseed_text.h"
#include "mod_tileseed_draft.h"

#define TILE_SIDE_MAX 4096

/* Twice round the earth: what lies beyond is not in degrees. */
#define DEGREES_MOST 360

struct tseed_gridset_draft_t {
    tseed_gridset_t *gridset;
    int has_extent, has_origin;
    const char *levels_by; /* the directive that gave the levels; NULL: none yet */
    int levels;            /* of TileSeedLevels, else 0 */
    int are_scales;        /* resolution[] holds scale denominators until the block ends */
    int north_east;        /* -1: not said */
};

static tseed_gridset_draft_t *current(void)
{
    return tseed_conf_main()->drafts->gridset;
}

const tseed_bounds_t **tseed_gridset_draft_degrees(tseed_gridset_draft_t *draft)
{
    return &draft->gridset->degrees;
}

static const char *word(const apr_array_header_t *words, int index)
{
    return APR_ARRAY_IDX(words, index, const char *);
}

/* ---- inside ---- */

const char *tseed_set_srs(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t range = {.lowest = 1, .highest = INT32_MAX};
    const char *code = word(words, 0);

    (void)dir;
    if (apr_cstr_casecmpn(code, "EPSG:", 5) == 0) {
        code += 5;
    }
    return tseed_read_int(&current()->gridset->srs, &range, code, cmd->pool);
}

const char *tseed_set_extent(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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

const char *tseed_set_origin(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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

const char *tseed_set_resolutions(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_gridset_t *gridset = current()->gridset;
    const char *error = take_levels(cmd);

    (void)dir;
    gridset->levels = words->nelts;
    return error ? error : read_levels(gridset->resolution, words, cmd->pool);
}

/* The scales themselves for the time being: what a metre is may stand further down. */
const char *tseed_set_scales(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const char *error = tseed_set_resolutions(cmd, dir, words);

    current()->are_scales = 1;
    return error;
}

const char *tseed_set_levels(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t range = {.lowest = 1, .highest = TSEED_LEVELS_MAX};
    const char *error = take_levels(cmd);

    (void)dir;
    return error ? error : tseed_read_int(&current()->levels, &range, word(words, 0), cmd->pool);
}

const char *tseed_set_tile_size(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_gridset_t *gridset = current()->gridset;

    (void)dir;
    return tseed_read_pair(&gridset->tile_width, &gridset->tile_height, word(words, 0),
                           TILE_SIDE_MAX, cmd->pool);
}

const char *tseed_set_meters_per_unit(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    double *meters = &current()->gridset->meters_per_unit;

    (void)dir;
    if (tseed_text_double(meters, word(words, 0)) != 0 || *meters <= 0) {
        return apr_psprintf(cmd->pool, "'%s' is not possible, a number above 0 is expected",
                            word(words, 0));
    }
    return NULL;
}

const char *tseed_set_axis_order(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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
 * metre, and tseed_config_boxes says so. */
static void fill_defaults(tseed_gridset_draft_t *draft, const tseed_system_t *system)
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

static const char *finish(tseed_gridset_draft_t *draft, apr_pool_t *pool)
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

const char *tseed_set_gridset(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_server_conf_t *conf = tseed_conf_main();
    tseed_gridset_draft_t draft = {.north_east = -1};
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
