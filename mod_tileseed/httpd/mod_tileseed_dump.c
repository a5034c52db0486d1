/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dump of the configuration: the server's settings, upstreams, locations. */
#include "mod_tileseed_dump.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"
#include "mod_tileseed_draft.h"
#include "mod_tileseed_dump_layer.h"
#include "state/tseed_conninfo.h"

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
            tseed_dump_line(dump, "%s %s", command->name,
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
        tseed_dump_line(dump, "TileSeedMissWaiters %d%s%s", settings->miss_waiters,
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
        tseed_dump_line(dump, "TileSeedDiskQuota %s", args);
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
    tseed_dump_line(dump, "TileSeedStateDir %s", tseed_show_word(settings->state_dir, dump->pool));
    tseed_dump_line(dump, "TileSeedDatabase %s%s", settings->db_driver,
                    show_params(dump, settings));
    tseed_dump_line(dump, "TileSeedHost %s", tseed_show_word(settings->host, dump->pool));
    tseed_dump_line(dump, "TileSeedHistory %" APR_INT64_T_FMT " %s", settings->history_most,
                    tseed_show_duration(settings->history_age, dump->pool));
    tseed_dump_line(dump, "TileSeedSync %s", settings->sync ? "on" : "off");
    tseed_dump_line(dump, "TileSeedServerStatus %s", settings->server_status ? "on" : "off");
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
                            tseed_dump_option(dump, name, APR_ARRAY_IDX(values, i, const char *)),
                            NULL);
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

    tseed_dump_line(
        dump,
        "TileSeedUpstream %s %s connections=%d timeout=%s connect-timeout=%s "
        "first-byte-timeout=%s%s%s%s%s%s%s",
        tseed_show_word(upstream->name, pool), tseed_show_word(upstream->url, pool),
        upstream->connections, tseed_show_duration(upstream->timeout, pool),
        tseed_show_duration(upstream->connect_timeout, pool),
        tseed_show_duration(upstream->first_byte_timeout, pool), rate(upstream, pool),
        tseed_dump_option(dump, "auth", upstream->auth), list(dump, "header", upstream->headers),
        list(dump, "redirect", upstream->redirects), tseed_dump_option(dump, "ca", upstream->ca),
        tseed_dump_option(dump, "proxy", upstream->proxy));
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
            tseed_dump_line(dump, "%s%s %s", indent, directive->directive, directive->args);
        } else if (has_ours(directive->first_child) &&
                   apr_cstr_casecmpn(directive->directive, "<TileSeed", strlen("<TileSeed")) != 0) {
            tseed_dump_line(dump, "%s%s %s", indent, directive->directive, directive->args);
            dump_sections(dump, directive->first_child,
                          apr_pstrcat(dump->pool, indent, INDENT, NULL));
            tseed_dump_line(dump, "%s</%s>", indent, directive->directive + 1);
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
        tseed_dump_gridset(dump,
                           apr_hash_get(catalog->gridsets, APR_ARRAY_IDX(gridsets, i, const char *),
                                        APR_HASH_KEY_STRING));
    }
    for (int i = 0; i < catalog->order->nelts; i++) {
        tseed_dump_layer(dump, APR_ARRAY_IDX(catalog->order, i, tseed_layer_t *), catalog);
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
    tseed_dump_line(&dump, "# The configuration of mod_tileseed in force, with every default.");
    tseed_dump_line(&dump, "# Directives of other modules, Require for example, are not in it.");
    dump_server(&dump, &conf->settings);
    dump_catalog(&dump, conf->catalog);
    dump_sections(&dump, ap_conftree, "");
}
