/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The disk quota configuration as a document: one walk, two formats. */
#include <apr_strings.h>
#include <string.h>

#include "protocol/tseed_json_write.h"
#include "protocol/tseed_quota_config.h"
#include "protocol/tseed_xml_write.h"

typedef struct {
    tseed_format_of_body_t format;
    int depth; /* XML: of indentation */
    tseed_json_t json;
    tseed_xml_t xml;
} writer_t;

/* A line of XML, indented. */
static void put_line(writer_t *writer, const char *line)
{
    tseed_xml_put(&writer->xml, "%*s%s\n", 2 * writer->depth, "", line);
}

/* Opens an element that is an object or a list in JSON, with the name `json_name` (NULL: an entry
 * of a list). */
static void open_part(writer_t *writer, const char *name, const char *json_name, char mark)
{
    if (writer->format == TSEED_BODY_JSON) {
        tseed_json_open(&writer->json, json_name, mark);
        return;
    }
    put_line(writer, apr_pstrcat(writer->xml.pool, "<", name, ">", NULL));
    writer->depth++;
}

static void close_part(writer_t *writer, const char *name, char mark)
{
    if (writer->format == TSEED_BODY_JSON) {
        tseed_json_close(&writer->json, mark);
        return;
    }
    writer->depth--;
    put_line(writer, apr_pstrcat(writer->xml.pool, "</", name, ">", NULL));
}

/* A member whose text is already what the format wants. */
static void put_member(writer_t *writer, const char *name, const char *text)
{
    if (writer->format == TSEED_BODY_JSON) {
        tseed_json_raw(&writer->json, name, text);
        return;
    }
    put_line(writer, apr_pstrcat(writer->xml.pool, "<", name, ">", text, "</", name, ">", NULL));
}

static void put_text(writer_t *writer, const char *name, const char *text)
{
    put_member(writer, name,
               writer->format == TSEED_BODY_JSON ? tseed_escape_json(text, writer->json.pool)
                                                 : tseed_escape_xml(text, writer->xml.pool));
}

static void put_number(writer_t *writer, const char *name, int64_t number)
{
    put_member(writer, name, apr_psprintf(writer->json.pool, "%" APR_INT64_T_FMT, number));
}

static void put_quota(writer_t *writer, const char *name, const tseed_quota_t *quota)
{
    open_part(writer, name, name, '{');
    put_text(writer, "value", quota->value);
    put_text(writer, "units", quota->units);
    close_part(writer, name, '}');
}

static void put_layer_quota(writer_t *writer, const tseed_layer_quota_t *entry)
{
    open_part(writer, "LayerQuota", NULL, '{');
    put_text(writer, "layer", entry->layer);
    if (entry->has_policy) {
        put_text(writer, "expirationPolicyName", tseed_policy_name(entry->policy));
    }
    put_quota(writer, "quota", &entry->quota);
    close_part(writer, "LayerQuota", '}');
}

static void put_layer_quotas(writer_t *writer, const apr_array_header_t *layers)
{
    open_part(writer, "layerQuotas", "layerQuotas", '[');
    for (int i = 0; i < layers->nelts; i++) {
        put_layer_quota(writer, &APR_ARRAY_IDX(layers, i, tseed_layer_quota_t));
    }
    close_part(writer, "layerQuotas", ']');
}

/* An empty list: always there in XML, in JSON only if somebody wants to see that it is empty. */
static void put_no_layer_quotas(writer_t *writer, int after_put)
{
    if (writer->format == TSEED_BODY_XML) {
        put_line(writer, "<layerQuotas/>");
    } else if (after_put) {
        put_member(writer, "layerQuotas", "[]");
    }
}

const char *tseed_quota_config_write(const tseed_quota_config_t *config, const char *root,
                                     tseed_format_of_body_t format, int after_put, apr_pool_t *pool)
{
    writer_t writer = {format, 0, tseed_json_begin(pool), tseed_xml_begin(pool)};

    if (format == TSEED_BODY_JSON) {
        tseed_json_open(&writer.json, NULL, '{');
    }
    open_part(&writer, root, root, '{');
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
    close_part(&writer, root, '}');
    if (format == TSEED_BODY_XML) {
        return tseed_xml_end(&writer.xml);
    }
    tseed_json_close(&writer.json, '}');
    return tseed_json_end(&writer.json);
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
