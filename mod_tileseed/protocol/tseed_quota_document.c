/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The disk quota configuration as a document: one walk, two formats. */
#include <apr_strings.h>
#include <string.h>

#include "protocol/tseed_quota_config.h"

typedef struct {
    tseed_format_of_body_t format;
    int depth;    /* XML: of indentation */
    int is_first; /* JSON: no comma before the next member */
    apr_array_header_t *pieces;
} writer_t;

static void put(writer_t *writer, const char *piece)
{
    APR_ARRAY_PUSH(writer->pieces, const char *) = piece;
}

static void indent(writer_t *writer)
{
    for (int i = 0; i < writer->depth; i++) {
        put(writer, "  ");
    }
}

/* JSON: the comma before a member, and its name (NULL: an entry of a list). */
static void put_name(writer_t *writer, const char *name)
{
    put(writer, writer->is_first ? "" : ",");
    writer->is_first = 0;
    if (name) {
        put(writer, apr_pstrcat(writer->pieces->pool, "\"", name, "\":", NULL));
    }
}

static void open_element(writer_t *writer, const char *name)
{
    indent(writer);
    put(writer, apr_pstrcat(writer->pieces->pool, "<", name, ">\n", NULL));
    writer->depth++;
}

static void close_element(writer_t *writer, const char *name)
{
    writer->depth--;
    indent(writer);
    put(writer, apr_pstrcat(writer->pieces->pool, "</", name, ">\n", NULL));
}

static void open_object(writer_t *writer, const char *name, const char *json_name)
{
    if (writer->format == TSEED_BODY_XML) {
        open_element(writer, name);
        return;
    }
    put_name(writer, json_name);
    put(writer, "{");
    writer->is_first = 1;
}

static void close_object(writer_t *writer, const char *name)
{
    if (writer->format == TSEED_BODY_XML) {
        close_element(writer, name);
        return;
    }
    put(writer, "}");
    writer->is_first = 0;
}

/* A member whose text is already what the format wants. */
static void put_member(writer_t *writer, const char *name, const char *text)
{
    if (writer->format == TSEED_BODY_JSON) {
        put_name(writer, name);
        put(writer, text);
        return;
    }
    indent(writer);
    put(writer, apr_pstrcat(writer->pieces->pool, "<", name, ">", text, "</", name, ">\n", NULL));
}

static void put_text(writer_t *writer, const char *name, const char *text)
{
    apr_pool_t *pool = writer->pieces->pool;

    put_member(writer, name,
               writer->format == TSEED_BODY_JSON ? tseed_escape_json(text, pool)
                                                 : tseed_escape_xml(text, pool));
}

static void put_number(writer_t *writer, const char *name, int64_t number)
{
    put_member(writer, name, apr_psprintf(writer->pieces->pool, "%" APR_INT64_T_FMT, number));
}

static void put_quota(writer_t *writer, const char *name, const tseed_quota_t *quota)
{
    open_object(writer, name, name);
    put_text(writer, "value", quota->value);
    put_text(writer, "units", quota->units);
    close_object(writer, name);
}

static void put_layer_quota(writer_t *writer, const tseed_layer_quota_t *entry)
{
    open_object(writer, "LayerQuota", NULL);
    put_text(writer, "layer", entry->layer);
    if (entry->has_policy) {
        put_text(writer, "expirationPolicyName", tseed_policy_name(entry->policy));
    }
    put_quota(writer, "quota", &entry->quota);
    close_object(writer, "LayerQuota");
}

static void put_layer_quotas(writer_t *writer, const apr_array_header_t *layers)
{
    static const char name[] = "layerQuotas";

    if (writer->format == TSEED_BODY_XML) {
        open_element(writer, name);
    } else {
        put_name(writer, name);
        put(writer, "[");
        writer->is_first = 1;
    }
    for (int i = 0; i < layers->nelts; i++) {
        put_layer_quota(writer, &APR_ARRAY_IDX(layers, i, tseed_layer_quota_t));
    }
    if (writer->format == TSEED_BODY_XML) {
        close_element(writer, name);
    } else {
        put(writer, "]");
        writer->is_first = 0;
    }
}

/* An empty list: always there in XML, in JSON only if somebody wants to see that it is empty. */
static void put_no_layer_quotas(writer_t *writer, int after_put)
{
    if (writer->format == TSEED_BODY_XML) {
        indent(writer);
        put(writer, "<layerQuotas/>\n");
    } else if (after_put) {
        put_member(writer, "layerQuotas", "[]");
    }
}

const char *tseed_quota_config_write(const tseed_quota_config_t *config, const char *root,
                                     tseed_format_of_body_t format, int after_put, apr_pool_t *pool)
{
    writer_t writer = {
        .format = format, .is_first = 1, .pieces = apr_array_make(pool, 64, sizeof(const char *))};

    put(&writer, format == TSEED_BODY_JSON ? "{" : "");
    open_object(&writer, root, root);
    put_member(&writer, "enabled", config->enabled ? "true" : "false");
    put_number(&writer, "diskBlockSize", config->block_size);
    put_number(&writer, "cacheCleanUpFrequency", config->frequency);
    put_text(&writer, "cacheCleanUpUnits", config->frequency_units);
    put_number(&writer, "maxConcurrentCleanUps", config->concurrent_cleanups);
    put_text(&writer, "globalExpirationPolicyName", tseed_policy_name(config->policy));
    put_quota(&writer, "globalQuota", &config->quota);
    if (config->layers->nelts > 0) {
        put_layer_quotas(&writer, config->layers);
    } else {
        put_no_layer_quotas(&writer, after_put);
    }
    close_object(&writer, root);
    put(&writer, format == TSEED_BODY_JSON ? "}" : "");
    return apr_array_pstrcat(pool, writer.pieces, '\0');
}

const char *tseed_quota_config_save(const tseed_quota_config_t *config, apr_pool_t *pool)
{
    return tseed_quota_config_write(config, "cacheQuotaConfiguration", TSEED_BODY_JSON, 1, pool);
}

const char *tseed_quota_config_load(tseed_quota_config_t *config, const char *saved,
                                    apr_pool_t *pool)
{
    tseed_quota_change_t change = {.only = NULL};
    const char *problem;

    tseed_quota_config_init(&change.config, 1, pool); /* what was saved has every member */
    problem = tseed_quota_config_merge(&change, TSEED_BODY_JSON, saved, strlen(saved), NULL, pool);
    *config = change.config;
    return problem;
}
