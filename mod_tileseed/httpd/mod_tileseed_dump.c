/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dump of the configuration: settings, upstreams, locations, layers, and how it is written. */
#include "mod_tileseed_dump.h"

#include <stdlib.h>
#include <string.h>

#include <apr_cstr.h>
#include <apr_file_io.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>

#include "base/tseed_text.h"
#include "layer/tseed_layer.h"
#include "mod_tileseed_draft.h"
#include "mod_tileseed_options.h"
#include "source/tseed_source.h"
#include "state/tseed_conninfo.h"

/* The lines of a dump. Parent, while it tests the configuration. */

/* The lines of a dump. */

typedef struct {
    apr_file_t *to;
    apr_pool_t *pool; /* of all texts */
} tseed_dump_t;

/* Writes one line. */
static void dump_line(const tseed_dump_t *dump, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    apr_file_puts(apr_pvsprintf(dump->pool, format, args), dump->to);
    apr_file_putc('\n', dump->to);
    va_end(args);
}

/* " NAME=VALUE" with the value in quotes; "" for NULL. In the dump's pool. */
static const char *dump_option(const tseed_dump_t *dump, const char *name, const char *value)
{
    return value ? apr_pstrcat(dump->pool, " ", name, "=", tseed_show_word(value, dump->pool), NULL)
                 : "";
}

/* The dump of grid sets and layers. Parent, while it tests the configuration. */

/* The dump of the configuration: grid sets and layers. */

#define dump_layer_INDENT "    "

static const char *numbers(const double *values, int count, const char *glue, apr_pool_t *pool)
{
    const char *text = "";

    for (int i = 0; i < count; i++) {
        text = apr_pstrcat(pool, text, i ? glue : "", tseed_text_number(values[i], pool), NULL);
    }
    return text;
}

static const char *box(const tseed_bounds_t *bounds, const char *glue, apr_pool_t *pool)
{
    const double values[] = {bounds->minx, bounds->miny, bounds->maxx, bounds->maxy};

    return numbers(values, 4, glue, pool);
}

static void dump_degrees(const tseed_dump_t *dump, const tseed_bounds_t *degrees)
{
    if (degrees) {
        dump_line(dump, dump_layer_INDENT "TileSeedWGS84Box %s", box(degrees, " ", dump->pool));
    }
}

/* Write the section of a grid set, of a layer. The catalog says which upstreams have a directive.
 */
static void dump_gridset(const tseed_dump_t *dump, const tseed_gridset_t *gridset)
{
    apr_pool_t *pool = dump->pool;
    const double origin[] = {gridset->origin_x, gridset->origin_y};

    dump_line(dump, "<TileSeedGridSet %s>", tseed_show_word(gridset->name, pool));
    dump_line(dump, dump_layer_INDENT "TileSeedSRS %d", gridset->srs);
    dump_line(dump, dump_layer_INDENT "TileSeedExtent %s", box(&gridset->extent, " ", pool));
    dump_line(dump, dump_layer_INDENT "TileSeedOrigin %s %s",
              gridset->top_left ? "top-left" : "bottom-left", numbers(origin, 2, " ", pool));
    dump_line(dump, dump_layer_INDENT "TileSeedResolutions %s",
              numbers(gridset->resolution, gridset->levels, " ", pool));
    dump_line(dump, dump_layer_INDENT "TileSeedTileSize %dx%d", gridset->tile_width,
              gridset->tile_height);
    dump_line(dump, dump_layer_INDENT "TileSeedMetersPerUnit %s",
              tseed_text_number(gridset->meters_per_unit, pool));
    dump_line(dump, dump_layer_INDENT "TileSeedAxisOrder %s", gridset->north_east ? "ne" : "en");
    dump_degrees(dump, gridset->degrees);
    dump_line(dump, "</TileSeedGridSet>");
}

/* ---- source ---- */

static const char *show_address(const tseed_address_t *address, const tseed_catalog_t *catalog,
                                apr_pool_t *pool)
{
    const char *name = address->upstream->name;

    return apr_hash_get(catalog->upstreams, name, APR_HASH_KEY_STRING) == address->upstream
               ? apr_pstrcat(pool, UPSTREAM_PREFIX, name, NULL)
               : address->url;
}

static void dump_source(const tseed_dump_t *dump, const tseed_source_t *source,
                        const tseed_catalog_t *catalog)
{
    const apr_array_header_t *parameters = apr_table_elts(source->parameters);
    const char *line = tseed_words_source[source->kind];
    apr_pool_t *pool = dump->pool;

    for (int i = 0; i < source->count; i++) {
        line = apr_pstrcat(
            pool, line, " ",
            tseed_show_word(show_address(&source->addresses[i], catalog, pool), pool), NULL);
    }
    if (source->count > 1) {
        line = apr_pstrcat(pool, line, " mode=", tseed_words_source_mode[source->mode], NULL);
    }
    if (tseed_source_is_tiled(source)) {
        line = apr_pstrcat(pool, line, " missing=",
                           source->missing ? tseed_source_missing(source, pool) : "error", NULL);
    }
    for (int i = 0; i < parameters->nelts; i++) {
        const apr_table_entry_t *one = &APR_ARRAY_IDX(parameters, i, apr_table_entry_t);

        line = apr_pstrcat(pool, line, dump_option(dump, one->key, one->val), NULL);
    }
    dump_line(dump, dump_layer_INDENT "TileSeedSource %s", line);
}

/* ---- what a layer has ---- */

static void dump_subset(const tseed_dump_t *dump, const tseed_subset_t *subset)
{
    dump_line(dump, dump_layer_INDENT "TileSeedGrid %s zoom=%d-%d extent=%s%s",
              tseed_show_word(subset->gridset->name, dump->pool), subset->zoom_first,
              subset->zoom_last, box(&subset->extent, ",", dump->pool),
              dump_option(dump, "srs", subset->srs));
}

static const char *show_number(const tseed_dump_t *dump, const tseed_format_t *format,
                               const char *name, int value)
{
    return tseed_format_takes(format, name) ? apr_psprintf(dump->pool, " %s=%d", name, value) : "";
}

static void dump_format(const tseed_dump_t *dump, const tseed_format_t *format)
{
    const char *palette = tseed_words_palette[format->palette];

    dump_line(dump, dump_layer_INDENT "TileSeedFormat %s%s%s%s%s%s",
              tseed_show_word(format->mime, dump->pool), dump_option(dump, "from", format->from),
              format->lossless ? "" : show_number(dump, format, "quality", format->quality),
              show_number(dump, format, "level", format->level),
              tseed_format_takes(format, "palette") ? dump_option(dump, "palette", palette) : "",
              format->lossless ? " lossless=on" : "");
}

static void dump_filter(const tseed_dump_t *dump, const tseed_filter_t *filter)
{
    const char *values = "";

    for (int i = 0; i < filter->values->nelts; i++) {
        values = apr_pstrcat(
            dump->pool, values,
            dump_option(dump, "value", APR_ARRAY_IDX(filter->values, i, const char *)), NULL);
    }
    dump_line(dump, dump_layer_INDENT "TileSeedParameter %s%s%s%s max=%d case=%s", filter->name,
              dump_option(dump, "default", filter->default_value), values,
              dump_option(dump, "regex", filter->regex),
              filter->most > 0 ? filter->most : TSEED_FILTER_USUAL,
              tseed_words_case[filter->letter_case]);
}

static void dump_store(const tseed_dump_t *dump, const tseed_store_config_t *store)
{
    const char *layout = store->layout == TSEED_LAYOUT_TEMPLATE ? store->path_template
                                                                : tseed_layout_words[store->layout];

    dump_line(dump,
              dump_layer_INDENT "TileSeedStore file %s%s link-uniform=%s mode=%04o dirmode=%04o",
              tseed_show_word(store->root, dump->pool), dump_option(dump, "layout", layout),
              store->link_uniform ? "on" : "off", (unsigned)store->mode, (unsigned)store->dirmode);
}

/* The levels are one run: TileSeedKeep says them as FIRST-LAST. */
static void dump_kept(const tseed_dump_t *dump, uint64_t kept)
{
    int first = 0, last = TSEED_LEVELS_MAX - 1;

    if (kept == 0) {
        return;
    }
    while (!(kept >> first & 1)) {
        first++;
    }
    while (!(kept >> last & 1)) {
        last--;
    }
    dump_line(dump, dump_layer_INDENT "TileSeedKeep zoom=%d-%d", first, last);
}

static void dump_derived(const tseed_dump_t *dump, const tseed_derived_t *derived)
{
    if (derived->end > 0) {
        dump_line(dump, dump_layer_INDENT "TileSeedDerive zoom=%d-%d", derived->first,
                  derived->end - 1);
    } else {
        dump_line(dump, dump_layer_INDENT "TileSeedDerive off");
    }
}

static void dump_prune(const tseed_dump_t *dump, const tseed_uniform_config_t *prune)
{
    if (prune->is_on) {
        dump_line(dump, dump_layer_INDENT "TileSeedPrune uniform=%d sparse=%s check=%g",
                  prune->depth, prune->sparse ? "on" : "off", prune->share);
    } else {
        dump_line(dump, dump_layer_INDENT "TileSeedPrune off");
    }
}

static void dump_limits(const tseed_dump_t *dump, const tseed_layer_t *layer)
{
    dump_kept(dump, layer->kept);
    dump_line(dump, dump_layer_INDENT "TileSeedReseed %s", layer->reseed_all ? "all" : "changed");
    dump_prune(dump, &layer->uniform);
    dump_line(dump, dump_layer_INDENT "TileSeedRetries %d", layer->retries);
    dump_line(dump, dump_layer_INDENT "TileSeedFailureLimit %" APR_INT64_T_FMT "%s",
              layer->failure_limit, layer->failure_is_share ? "%" : "");
    if (layer->expires >= 0) {
        dump_line(dump, dump_layer_INDENT "TileSeedExpires %s",
                  tseed_show_duration(layer->expires, dump->pool));
    }
    dump_line(dump, dump_layer_INDENT "TileSeedMaxTileSets %d", layer->tilesets_most);
    dump_line(dump, dump_layer_INDENT "TileSeedOnMiss %s", tseed_words_on_miss[layer->on_miss]);
}

static void dump_metatile(const tseed_dump_t *dump, const tseed_layer_t *layer)
{
    const char *size = apr_psprintf(dump->pool, "%dx%d", layer->meta_width, layer->meta_height);

    if (layer->most_width > 0) {
        size = apr_psprintf(dump->pool, "auto max=%dx%d", layer->most_width, layer->most_height);
    }
    dump_line(dump, dump_layer_INDENT "TileSeedMetatile %s gutter=%d edge=%s", size, layer->gutter,
              layer->gutter_beyond ? "ask" : "cut");
}

static void dump_layer(const tseed_dump_t *dump, const tseed_layer_t *layer,
                       const tseed_catalog_t *catalog)
{
    dump_line(dump, "<TileSeedLayer %s>", tseed_show_word(layer->name, dump->pool));
    dump_source(dump, &layer->source, catalog);
    for (int i = 0; i < layer->subsets->nelts; i++) {
        dump_subset(dump, &APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t));
    }
    for (int i = 0; i < layer->formats->nelts; i++) {
        dump_format(dump, &APR_ARRAY_IDX(layer->formats, i, tseed_format_t));
    }
    dump_metatile(dump, layer);
    for (int i = 0; i < layer->filters->nelts; i++) {
        dump_filter(dump, &APR_ARRAY_IDX(layer->filters, i, tseed_filter_t));
    }
    dump_store(dump, &layer->store);
    dump_derived(dump, &layer->derived);
    dump_limits(dump, layer);
    dump_degrees(dump, layer->degrees);
    dump_line(dump, "</TileSeedLayer>");
}

#define INDENT "    "

/* ---- the server ---- */

static const char *show_setting(const tseed_option_t *option, const tseed_settings_t *settings,
                                apr_pool_t *pool)
{
    const char *member = (const char *)settings + option->offset;

    if (option->read == tseed_read_int) {
        return apr_itoa(pool, *(const int *)member);
    }
    if (option->read == tseed_read_duration) {
        return tseed_show_duration(*(const apr_interval_time_t *)member, pool);
    }
    return apr_psprintf(pool, "%" APR_INT64_T_FMT, *(const int64_t *)member);
}

/* Directives whose rule says all about them. */
static void dump_plain(const tseed_dump_t *dump, const tseed_settings_t *settings)
{
    for (const command_rec *command = tseed_directives; command->name; command++) {
        const tseed_rule_t *rule = command->cmd_data;

        if (rule->read == tseed_directive_setting) {
            dump_line(dump, "%s %s", command->name,
                      show_setting(&rule->value, settings, dump->pool));
        }
    }
}

/* Without TileSeedMissWaiters httpd's own limits give the number, when it starts. */
static void dump_waiters(const tseed_dump_t *dump, const tseed_settings_t *settings)
{
    const char *layer = apr_psprintf(dump->pool, " layer=%d", settings->miss_of_layer);
    const char *client = apr_psprintf(dump->pool, " client=%d", settings->miss_of_client);

    if (settings->miss_waiters > 0) {
        dump_line(dump, "TileSeedMissWaiters %d%s%s", settings->miss_waiters,
                  settings->miss_of_layer > 0 ? layer : "",
                  settings->miss_of_client > 0 ? client : "");
    }
}

/* The disk quota stands as it was written: a change of its words replaces what a PUT has set. Of
 * several directives the last one counts. */
static void dump_quota(const tseed_dump_t *dump)
{
    const char *args = NULL;

    for (const ap_directive_t *one = ap_conftree; one; one = one->next) {
        args = apr_cstr_casecmp(one->directive, "TileSeedDiskQuota") == 0 ? one->args : args;
    }
    if (args) {
        dump_line(dump, "TileSeedDiskQuota %s", args);
    }
}

/* The parameters of the database, without a password. */
static const char *show_params(const tseed_dump_t *dump, const tseed_settings_t *settings)
{
    const char *params = settings->db_params;
    apr_table_t *conninfo;

    if (strcmp(settings->db_driver, "pgsql") == 0 &&
        tseed_conninfo_read(&conninfo, params, dump->pool) == NULL) {
        params = tseed_conninfo_show(conninfo, dump->pool);
    }
    return params ? apr_pstrcat(dump->pool, " ", tseed_show_word(params, dump->pool), NULL) : "";
}

static void dump_server(const tseed_dump_t *dump, const tseed_settings_t *settings)
{
    dump_line(dump, "TileSeedStateDir %s", tseed_show_word(settings->state_dir, dump->pool));
    dump_line(dump, "TileSeedDatabase %s%s", settings->db_driver, show_params(dump, settings));
    dump_line(dump, "TileSeedHost %s", tseed_show_word(settings->host, dump->pool));
    dump_line(dump, "TileSeedHistory %" APR_INT64_T_FMT " %s", settings->history_most,
              tseed_show_duration(settings->history_age, dump->pool));
    dump_line(dump, "TileSeedSync %s", settings->sync ? "on" : "off");
    dump_line(dump, "TileSeedServerStatus %s", settings->server_status ? "on" : "off");
    dump_plain(dump, settings);
    dump_waiters(dump, settings);
    dump_quota(dump);
}

/* ---- upstreams ---- */

/* An upstream without a directive is known by the beginning of its address. */
static int is_named(const char *key)
{
    return strchr(key, '/') == NULL;
}

/* Every value of an option that may be repeated. */
static const char *list(const tseed_dump_t *dump, const char *name,
                        const apr_array_header_t *values)
{
    const char *shown = "";

    for (int i = 0; i < values->nelts; i++) {
        shown = apr_pstrcat(dump->pool, shown,
                            dump_option(dump, name, APR_ARRAY_IDX(values, i, const char *)), NULL);
    }
    return shown;
}

static const char *rate(const tseed_upstream_t *upstream, apr_pool_t *pool)
{
    return upstream->interval == 0
               ? ""
               : apr_pstrcat(
                     pool, " rate=",
                     tseed_text_number((double)APR_USEC_PER_SEC / (double)upstream->interval, pool),
                     "/s", NULL);
}

static void dump_upstream(const tseed_dump_t *dump, const tseed_upstream_t *upstream)
{
    apr_pool_t *pool = dump->pool;

    dump_line(dump,
              "TileSeedUpstream %s %s connections=%d timeout=%s connect-timeout=%s "
              "first-byte-timeout=%s%s%s%s%s%s%s",
              tseed_show_word(upstream->name, pool), tseed_show_word(upstream->url, pool),
              upstream->connections, tseed_show_duration(upstream->timeout, pool),
              tseed_show_duration(upstream->connect_timeout, pool),
              tseed_show_duration(upstream->first_byte_timeout, pool), rate(upstream, pool),
              dump_option(dump, "auth", upstream->auth), list(dump, "header", upstream->headers),
              list(dump, "redirect", upstream->redirects), dump_option(dump, "ca", upstream->ca),
              dump_option(dump, "proxy", upstream->proxy));
}

/* ---- locations ---- */

static int is_ours(const ap_directive_t *directive)
{
    return apr_cstr_casecmpn(directive->directive, "TileSeed", strlen("TileSeed")) == 0;
}

static int has_ours(const ap_directive_t *directive)
{
    for (; directive; directive = directive->next) {
        if (is_ours(directive) || has_ours(directive->first_child)) {
            return 1;
        }
    }
    return 0;
}

/* The sections of httpd with directives of ours, as they are written: httpd merges them for each
 * request. */
static void dump_sections(const tseed_dump_t *dump, const ap_directive_t *directive,
                          const char *indent)
{
    for (; directive; directive = directive->next) {
        if (is_ours(directive) && *indent) {
            dump_line(dump, "%s%s %s", indent, directive->directive, directive->args);
        } else if (has_ours(directive->first_child) &&
                   apr_cstr_casecmpn(directive->directive, "<TileSeed", strlen("<TileSeed")) != 0) {
            dump_line(dump, "%s%s %s", indent, directive->directive, directive->args);
            dump_sections(dump, directive->first_child,
                          apr_pstrcat(dump->pool, indent, INDENT, NULL));
            dump_line(dump, "%s</%s>", indent, directive->directive + 1);
        }
    }
}

/* ---- all ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of a hash in order: the order of the hash changes from run to run. */
static const apr_array_header_t *names_of(apr_hash_t *hash, apr_pool_t *pool)
{
    apr_array_header_t *names = apr_array_make(pool, 8, sizeof(const char *));

    for (apr_hash_index_t *i = apr_hash_first(pool, hash); i; i = apr_hash_next(i)) {
        APR_ARRAY_PUSH(names, const char *) = apr_hash_this_key(i);
    }
    qsort(names->elts, (size_t)names->nelts, (size_t)names->elt_size, by_name);
    return names;
}

static void dump_catalog(const tseed_dump_t *dump, const tseed_catalog_t *catalog)
{
    const apr_array_header_t *upstreams = names_of(catalog->upstreams, dump->pool);
    const apr_array_header_t *gridsets = names_of(catalog->gridsets, dump->pool);

    for (int i = 0; i < upstreams->nelts; i++) {
        const char *name = APR_ARRAY_IDX(upstreams, i, const char *);

        if (is_named(name)) {
            dump_upstream(dump, apr_hash_get(catalog->upstreams, name, APR_HASH_KEY_STRING));
        }
    }
    for (int i = 0; i < gridsets->nelts; i++) {
        dump_gridset(dump, apr_hash_get(catalog->gridsets, APR_ARRAY_IDX(gridsets, i, const char *),
                                        APR_HASH_KEY_STRING));
    }
    for (int i = 0; i < catalog->order->nelts; i++) {
        dump_layer(dump, APR_ARRAY_IDX(catalog->order, i, tseed_layer_t *), catalog);
    }
}

void tseed_dump(apr_pool_t *pool, server_rec *server)
{
    const tseed_server_conf_t *conf = tseed_conf_get(server);
    tseed_dump_t dump = {.pool = pool};

    if (!ap_exists_config_define("DUMP_TILESEED") ||
        apr_file_open_stdout(&dump.to, pool) != APR_SUCCESS) {
        return;
    }
    dump_line(&dump, "# The configuration of mod_tileseed in force, with every default.");
    dump_line(&dump, "# Directives of other modules, Require for example, are not in it.");
    dump_server(&dump, &conf->settings);
    dump_catalog(&dump, conf->catalog);
    dump_sections(&dump, ap_conftree, "");
}
