/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* check_config: drafts become layers, with defaults filled in, names resolved, and what only a
 * whole layer shows; then what only the whole configuration shows. Every mistake is reported with
 * file and line; nothing is touched, and nothing but the configuration is read. */
#include <httpd.h>
#include <ap_mpm.h>
#include <apr_cstr.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unixd.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_config_upstream.h"
#include "mod_tileseed_draft.h"
#include "savings/tseed_together.h"
#include "source/tseed_source.h"
#include "store/tseed_store.h"
#include "tiling/tseed_range.h"

APLOG_USE_MODULE(tileseed);

#define BLOCK_SIZE_USUAL 4096

/* How far a configured extent may reach out of the extent of its grid set, as a part of the side:
 * people write the same extent with more or fewer digits. */
#define EXTENT_SLACK 1e-6

/* A mistake: what is wrong with which directive. The sentence is NULL when all is fine. */
typedef struct {
    const ap_directive_t *where;
    const char *sentence;
} mistake_t;

static void report(const ap_directive_t *where, const char *sentence, apr_pool_t *pool)
{
    ap_log_perror(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, pool,
                  "Syntax error on line %d of %s:", where->line_num, where->filename);
    ap_log_perror(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, pool, "%s%s: %s", where->directive,
                  *where->directive == '<' ? ">" : "", sentence);
}

/* ---- defaults ---- */

#define GRID     "TileSeedGrid"
#define METATILE "TileSeedMetatile"

/* A source that has single tiles gets no metatiles from the defaults: those are for sources that
 * draw. The layer's source is known before. */
static void drop_metatile(tseed_draft_t *draft, const tseed_draft_t *defaults)
{
    tseed_layer_t *layer = &draft->layer;

    if (tseed_source_is_tiled(&layer->source) &&
        tseed_draft_said(draft, METATILE) == tseed_draft_said(defaults, METATILE)) {
        apr_hash_set(draft->said, METATILE, APR_HASH_KEY_STRING, NULL);
        layer->meta_width = layer->meta_height = 1;
        layer->most_width = layer->most_height = 0;
        layer->gutter = layer->gutter_beyond = 0;
    }
}

/* What a layer does not say itself, the defaults say for it. */
static void inherit(tseed_draft_t *draft, const tseed_draft_t *defaults)
{
    if (!tseed_draft_said(draft, GRID) && tseed_draft_said(defaults, GRID)) {
        draft->grids = defaults->grids;
    }
    for (const command_rec *command = tileseed_module.cmds; command->name; command++) {
        const tseed_rule_t *rule = command->cmd_data;
        const ap_directive_t *where = tseed_draft_said(defaults, command->name);

        if (where && !tseed_draft_said(draft, command->name)) {
            apr_hash_set(draft->said, command->name, APR_HASH_KEY_STRING, where);
            memcpy((char *)&draft->layer + rule->value.offset,
                   (const char *)&defaults->layer + rule->value.offset, rule->size);
        }
    }
    drop_metatile(draft, defaults);
}

/* ---- source ---- */

/* Gives an address its upstream: the named one, whose address it is then, or that of its host. */
static const char *finish_address(tseed_address_t *address, tseed_catalog_t *catalog,
                                  apr_pool_t *pool)
{
    const char *name = address->url + strlen(UPSTREAM_PREFIX);

    if (strncmp(address->url, UPSTREAM_PREFIX, strlen(UPSTREAM_PREFIX)) != 0) {
        return NULL;
    }
    address->upstream = apr_hash_get(catalog->upstreams, name, APR_HASH_KEY_STRING);
    if (!address->upstream) {
        return apr_psprintf(pool,
                            "the upstream '%s' is unknown, the name of a TileSeedUpstream is "
                            "expected",
                            name);
    }
    address->url = address->upstream->url;
    return NULL;
}

static mistake_t finish_source(tseed_draft_t *draft, tseed_catalog_t *catalog, apr_pool_t *pool)
{
    tseed_layer_t *layer = &draft->layer;
    tseed_source_t *source = &layer->source;
    mistake_t mistake = {.where = tseed_draft_said(draft, "TileSeedSource")};

    for (int i = 0; !mistake.sentence && i < source->count; i++) {
        mistake.sentence = finish_address(&source->addresses[i], catalog, pool);
    }
    if (!mistake.sentence) {
        mistake.sentence = tseed_source_check(layer, pool);
    }
    for (int i = 0; !mistake.sentence && i < source->count; i++) {
        tseed_address_t *address = &source->addresses[i];

        if (!address->upstream) {
            address->upstream = tseed_upstream_of_url(catalog, address->url, pool);
        }
    }
    if (!mistake.sentence && tseed_source_is_tiled(source) &&
        (layer->meta_width > 1 || layer->meta_height > 1 || layer->gutter > 0)) {
        mistake.where = tseed_draft_said(draft, METATILE);
        mistake.sentence = "a source of single tiles can't draw metatiles or a gutter, 1x1 is "
                           "expected";
    }
    return mistake;
}

/* ---- grid sets ---- */

static const char *unknown_gridset(const tseed_catalog_t *catalog, const char *name,
                                   apr_pool_t *pool)
{
    const char *own = "";

    for (apr_hash_index_t *i = apr_hash_first(pool, catalog->gridsets); i; i = apr_hash_next(i)) {
        own = apr_pstrcat(pool, own, ", ", apr_hash_this_key(i), NULL);
    }
    return apr_psprintf(pool,
                        "the grid set '%s' is unknown, one of EPSG:3857, EPSG:900913, "
                        "EPSG:4326%s is expected",
                        name, own);
}

static const char *read_zoom(tseed_subset_t *subset, const char *text, apr_pool_t *pool)
{
    int last = subset->gridset->levels - 1;

    if (tseed_read_levels(&subset->zoom_first, &subset->zoom_last, text, last, pool) != 0) {
        return apr_psprintf(pool,
                            "zoom=%s is not possible, FIRST-LAST within the levels 0 to %d of "
                            "'%s' is expected",
                            text, last, subset->gridset->name);
    }
    return NULL;
}

/* Whether an extent lies within the grid set's; cuts off what little it reaches over. */
static int fit_extent(tseed_bounds_t *extent, const tseed_bounds_t *whole)
{
    double x = (whole->maxx - whole->minx) * EXTENT_SLACK;
    double y = (whole->maxy - whole->miny) * EXTENT_SLACK;

    if (extent->minx >= extent->maxx || extent->miny >= extent->maxy ||
        extent->minx < whole->minx - x || extent->maxx > whole->maxx + x ||
        extent->miny < whole->miny - y || extent->maxy > whole->maxy + y) {
        return 0;
    }
    extent->minx = fmax(extent->minx, whole->minx);
    extent->miny = fmax(extent->miny, whole->miny);
    extent->maxx = fmin(extent->maxx, whole->maxx);
    extent->maxy = fmin(extent->maxy, whole->maxy);
    return 1;
}

static const char *read_extent(tseed_subset_t *subset, const char *text, apr_pool_t *pool)
{
    const tseed_bounds_t *whole = &subset->gridset->extent;
    double numbers[4];

    if (tseed_text_doubles(numbers, 4, text, ",", pool) == 0) {
        subset->extent = (tseed_bounds_t){numbers[0], numbers[1], numbers[2], numbers[3]};
        if (fit_extent(&subset->extent, whole)) {
            return NULL;
        }
    }
    return apr_psprintf(pool,
                        "extent=%s is not possible, minx,miny,maxx,maxy within "
                        "%s,%s,%s,%s of '%s' is expected",
                        text, tseed_text_number(whole->minx, pool),
                        tseed_text_number(whole->miny, pool), tseed_text_number(whole->maxx, pool),
                        tseed_text_number(whole->maxy, pool), subset->gridset->name);
}

/* "EPSG:4326", "CRS:84" */
static const char *check_srs(const char *srs, apr_pool_t *pool)
{
    size_t authority = strcspn(srs, ":");
    size_t length =
        strspn(srs, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:-_.");

    if (authority > 0 && srs[authority] && srs[authority + 1] && !srs[length]) {
        return NULL;
    }
    return apr_psprintf(pool, "srs=%s is not possible, a name such as EPSG:4326 is expected", srs);
}

/* An upstream renders a whole metatile as one picture. */
static const char *check_picture(const tseed_layer_t *layer, const tseed_gridset_t *gridset,
                                 apr_pool_t *pool)
{
    int width = layer->meta_width * gridset->tile_width + 2 * layer->gutter;
    int height = layer->meta_height * gridset->tile_height + 2 * layer->gutter;

    if (width <= TSEED_PICTURE_SIDE_MAX && height <= TSEED_PICTURE_SIDE_MAX &&
        (int64_t)width * height <= TSEED_PICTURE_PIXELS_MAX) {
        return NULL;
    }
    return apr_psprintf(pool,
                        "metatiles of %dx%d tiles with gutter %d would be pictures of %dx%d "
                        "pixels in '%s', at most %d on a side and %d in all are possible",
                        layer->meta_width, layer->meta_height, layer->gutter, width, height,
                        gridset->name, TSEED_PICTURE_SIDE_MAX, TSEED_PICTURE_PIXELS_MAX);
}

/* Whether what the upstream is asked for has another order of axes than the grid set. A system that
 * is not known has the same. */
static int is_turned(const tseed_subset_t *subset, tseed_systems_t *systems)
{
    const tseed_gridset_t *gridset = subset->gridset;
    const char *srs = subset->srs;
    const tseed_system_t *system;
    int64_t code;

    if (tseed_srs_is_crs84(srs) || apr_cstr_casecmpn(srs, "CRS:", 4) == 0) {
        return gridset->north_east;
    }
    if (apr_cstr_casecmpn(srs, "EPSG:", 5) == 0 &&
        tseed_text_int64(&code, srs + 5, 1, INT32_MAX) == 0) {
        if (tseed_srs_same(code, gridset->srs)) {
            return 0; /* as TileSeedAxisOrder has it */
        }
        tseed_systems_find_epsg(&system, systems, (int)code);
    } else {
        tseed_systems_find(&system, systems, srs);
    }
    return system->north_east >= 0 && system->north_east != gridset->north_east;
}

static const char *finish_subset(tseed_subset_t *subset, const tseed_grid_choice_t *choice,
                                 const tseed_server_conf_t *conf, apr_pool_t *pool)
{
    const tseed_catalog_t *catalog = conf->catalog;
    const tseed_gridset_t *gridset = tseed_catalog_find_gridset(catalog, choice->gridset);
    const char *error = NULL;

    if (!gridset) {
        return unknown_gridset(catalog, choice->gridset, pool);
    }
    subset->gridset = gridset;
    subset->zoom_first = 0;
    subset->zoom_last = gridset->levels - 1;
    subset->extent = gridset->extent;
    subset->srs = choice->srs ? choice->srs : apr_psprintf(pool, "EPSG:%d", gridset->srs);
    if (choice->zoom) {
        error = read_zoom(subset, choice->zoom, pool);
    }
    if (!error && choice->extent) {
        error = read_extent(subset, choice->extent, pool);
    }
    if (!error) {
        error = check_srs(subset->srs, pool);
    }
    subset->is_turned = !error && choice->srs && is_turned(subset, conf->drafts->systems);
    return error;
}

static mistake_t finish_grids(tseed_draft_t *draft, const tseed_server_conf_t *conf,
                              apr_pool_t *pool)
{
    tseed_layer_t *layer = &draft->layer;
    mistake_t mistake = {.where = draft->where};

    if (draft->grids->nelts == 0) {
        tseed_grid_choice_t choice = {.where = draft->where, .gridset = "EPSG:3857"};

        APR_ARRAY_PUSH(draft->grids, tseed_grid_choice_t) = choice;
    }
    for (int i = 0; !mistake.sentence && i < draft->grids->nelts; i++) {
        const tseed_grid_choice_t *choice = &APR_ARRAY_IDX(draft->grids, i, tseed_grid_choice_t);
        tseed_subset_t *subset = apr_array_push(layer->subsets);

        mistake.where = choice->where;
        mistake.sentence = finish_subset(subset, choice, conf, pool);
        if (!mistake.sentence) {
            mistake.sentence = check_picture(layer, subset->gridset, pool);
        }
    }
    return mistake;
}

/* ---- derived levels ---- */

/* Why the derived levels that a subset has can't be derived in it; NULL: they can. */
static const char *check_derived(const tseed_derived_t *derived, const tseed_subset_t *subset,
                                 apr_pool_t *pool)
{
    const char *error = NULL;

    for (int z = subset->zoom_first; !error && z <= subset->zoom_last; z++) {
        if (tseed_derived_has(derived, z) && z == subset->zoom_last) {
            return apr_psprintf(pool,
                                "level %d can't be derived, because it is the last one that the "
                                "layer has in '%s': levels below %d are expected",
                                z, subset->gridset->name, z);
        }
        if (tseed_derived_has(derived, z)) {
            error = tseed_halving_check(subset->gridset, z, pool);
        }
    }
    return error ? apr_psprintf(pool, "a tile must be made of four: %s", error) : NULL;
}

static mistake_t finish_derived(const tseed_draft_t *draft, apr_pool_t *pool)
{
    const tseed_layer_t *layer = &draft->layer;
    mistake_t mistake = {.where = tseed_draft_said(draft, "TileSeedDerive")};
    tseed_saving_kind_t other;
    const char *problem = tseed_together_problem(layer, &other);

    if (problem) {
        mistake.sentence = apr_psprintf(pool, "%s: %s is expected in this layer", problem,
                                        tseed_together_off(other));
    }
    for (int i = 0; !mistake.sentence && i < layer->subsets->nelts; i++) {
        mistake.sentence =
            check_derived(&layer->derived, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t), pool);
    }
    return mistake;
}

/* ---- layers ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tseed_filter_t *)a)->name, ((const tseed_filter_t *)b)->name);
}

static mistake_t check_complete(const tseed_draft_t *draft)
{
    mistake_t mistake = {.where = draft->where};

    if (!tseed_draft_said(draft, "TileSeedSource")) {
        mistake.sentence = "the layer has no source, such as "
                           "TileSeedSource wms http://HOST/PATH layers=NAME";
    } else if (!tseed_draft_said(draft, "TileSeedStore")) {
        mistake.sentence = "the layer has no store, such as TileSeedStore file /var/cache/tiles";
    }
    return mistake;
}

static mistake_t finish_layer(tseed_draft_t *draft, const tseed_server_conf_t *conf,
                              apr_pool_t *pool)
{
    tseed_layer_t *layer = &draft->layer;
    mistake_t mistake = check_complete(draft);

    if (layer->formats->nelts == 0) {
        tseed_format_init(apr_array_push(layer->formats), "image/png", pool);
    }
    qsort(layer->filters->elts, (size_t)layer->filters->nelts, sizeof(tseed_filter_t), by_name);
    if (!mistake.sentence) {
        mistake = finish_source(draft, conf->catalog, pool);
    }
    if (!mistake.sentence) {
        mistake = finish_grids(draft, conf, pool);
    }
    if (!mistake.sentence) {
        mistake = finish_derived(draft, pool);
    }
    if (!mistake.sentence) {
        mistake.where = tseed_draft_said(draft, "TileSeedStore");
        mistake.sentence = tseed_store_check_layer(layer, pool);
    }
    return mistake;
}

/* Two tile sets in one file would overwrite each other, so each claims one tile's path a level. */
static const char *claim_levels(apr_hash_t *claims, const tseed_tileset_t *tileset,
                                apr_pool_t *pool)
{
    const tseed_layer_t *layer = tileset->layer;

    for (int z = tileset->subset->zoom_first; z <= tileset->subset->zoom_last; z++) {
        const char *path = apr_pstrcat(pool, layer->store.root, "/",
                                       tseed_store_path(tileset, z, 0, 0, pool), NULL);
        const tseed_layer_t *other = apr_hash_get(claims, path, APR_HASH_KEY_STRING);

        if (other) {
            return apr_psprintf(pool,
                                "layer '%s' would write the files of layer '%s', such as %s: give "
                                "it another directory or name",
                                layer->name, other->name, path);
        }
        apr_hash_set(claims, path, APR_HASH_KEY_STRING, layer);
    }
    return NULL;
}

static const char *claim_files(apr_hash_t *claims, const tseed_layer_t *layer, apr_pool_t *pool)
{
    const char *error = NULL;

    for (int i = 0; !error && i < layer->subsets->nelts; i++) {
        for (int k = 0; !error && k < layer->formats->nelts; k++) {
            tseed_tileset_t tileset;

            error = tseed_tileset_init(
                &tileset, layer, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t),
                &APR_ARRAY_IDX(layer->formats, k, tseed_format_t), NULL, pool);
            if (!error) {
                error = claim_levels(claims, &tileset, pool);
            }
        }
    }
    return error;
}

static int check_references(const tseed_server_conf_t *conf, apr_pool_t *pool)
{
    const apr_array_header_t *references = conf->drafts->references;
    int mistakes = 0;

    for (int i = 0; i < references->nelts; i++) {
        const tseed_layer_reference_t *reference =
            &APR_ARRAY_IDX(references, i, tseed_layer_reference_t);

        if (!tseed_catalog_find_layer(conf->catalog, reference->layer)) {
            report(reference->where,
                   apr_psprintf(pool,
                                "the layer '%s' is unknown, the name of a <TileSeedLayer> is "
                                "expected",
                                reference->layer),
                   pool);
            mistakes++;
        }
    }
    return mistakes;
}

static int finish_drafts(tseed_server_conf_t *conf, apr_pool_t *pool)
{
    const apr_array_header_t *drafts = conf->drafts->layers;
    apr_hash_t *claims = apr_hash_make(pool);
    int mistakes = 0;

    for (int i = 0; i < drafts->nelts; i++) {
        tseed_draft_t *draft = APR_ARRAY_IDX(drafts, i, tseed_draft_t *);
        tseed_layer_t *layer = &draft->layer;
        mistake_t mistake;

        inherit(draft, conf->drafts->defaults);
        mistake = finish_layer(draft, conf, pool);
        if (!mistake.sentence) {
            mistake.sentence = claim_files(claims, layer, pool);
        }
        if (mistake.sentence) {
            report(mistake.where, mistake.sentence, pool);
            mistakes++;
        }
        APR_ARRAY_PUSH(conf->catalog->order, tseed_layer_t *) = layer;
        apr_hash_set(conf->catalog->layers, layer->name, APR_HASH_KEY_STRING, layer);
    }
    apr_pool_destroy(conf->drafts->systems_pool); /* others may fork from here on */
    conf->drafts->systems = NULL;
    return mistakes + check_references(conf, pool);
}

/* ---- the whole configuration ---- */

/* Block size of the file system that has `path`, or will have it when it is made. */
static int64_t block_size_of(const char *path, apr_pool_t *pool)
{
    char *ancestor = apr_pstrdup(pool, path);
    struct statvfs found;

    while (statvfs(*ancestor ? ancestor : "/", &found) != 0) {
        char *slash = strrchr(ancestor, '/');

        if (!slash) {
            return BLOCK_SIZE_USUAL;
        }
        *slash = '\0';
    }
    return (int64_t)found.f_frsize;
}

/* The quota's default block size is that of the first store. */
static void settle_block_size(tseed_server_conf_t *conf, apr_pool_t *pool)
{
    const apr_array_header_t *layers = conf->catalog->order;

    if (conf->settings.quota.block_size == 0) {
        const char *path = layers->nelts ? APR_ARRAY_IDX(layers, 0, tseed_layer_t *)->store.root
                                         : conf->settings.state_dir;

        conf->settings.quota.block_size = block_size_of(path, pool);
    }
}

static int mpm_forks(void)
{
    int forks;

    return ap_mpm_query(AP_MPMQ_IS_FORKED, &forks) == APR_SUCCESS && forks != AP_MPMQ_NOT_SUPPORTED;
}

/* Seeder and children change their root before they open anything. */
static void warn_of_chroot(const tseed_server_conf_t *conf, const server_rec *server)
{
    if (ap_unixd_config.chroot_dir && conf->catalog->order->nelts > 0 &&
        ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, server,
                     "TS0002: ChrootDir %s: TileSeedStateDir and the stores lie below it, and so "
                     "must what is loaded and read later: APR's database driver with its library, "
                     "what finds hosts by name, certificates of authorities",
                     ap_unixd_config.chroot_dir);
    }
}

static void warn_of_password(const tseed_server_conf_t *conf, const server_rec *server)
{
    if (conf->open_password && ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, server,
                     "TS0079: %s has the password of TileSeedDatabase, and anybody on this machine "
                     "may read the file; put the password into a file of httpd's User with the "
                     "mode 0600 and name that file by passfile=",
                     conf->open_password);
    }
}

static int check(apr_pool_t *pconf, apr_pool_t *ptemp, server_rec *server)
{
    tseed_server_conf_t *conf = tseed_conf_get(server);
    int mistakes = finish_drafts(conf, pconf);

    if (conf->catalog->order->nelts > 0 && !mpm_forks()) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, server,
                     "TS0001: this MPM can't have a process beside its own, event, worker or "
                     "prefork is needed");
        mistakes++;
    }
    if (mistakes) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    warn_of_chroot(conf, server);
    warn_of_password(conf, server);
    settle_block_size(conf, ptemp);
    return OK;
}

static int check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *server)
{
    const locale_t before = tseed_ascii_enter();
    int status = check(pconf, ptemp, server);

    (void)plog;
    tseed_ascii_leave(before);
    return status;
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_check_config(check_config, NULL, NULL, APR_HOOK_MIDDLE);
}

const tseed_module_part_t tseed_config_check_part = {.hook = register_hooks};
