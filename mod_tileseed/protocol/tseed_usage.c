/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The status as a text, and the document that is made of it and of the rows. */
#include "protocol/tseed_usage.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/tseed_answer.h"
#include "protocol/tseed_form.h"
#include "protocol/tseed_pieces.h"

/* ---- status ---- */

#define NUMBER(name, member)                                                                       \
    {                                                                                              \
        name, offsetof(tseed_usage_status_t, member)                                               \
    }
#define EFFECT(name, member)                                                                       \
    NUMBER(name "_tiles", member.names), NUMBER(name "_files", member.files),                      \
        NUMBER(name "_length", member.bytes), NUMBER(name "_bytes", member.allocated)

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    NUMBER("block", block),
    NUMBER("in_doubt", in_doubt),
    NUMBER("grace", grace),
    NUMBER("walked", walked),
    NUMBER("walked_level", walked_level),
    NUMBER("clean_started", clean.started),
    NUMBER("clean_last", clean.last),
    NUMBER("clean_pages", clean.pages),
    EFFECT("clean", clean.gone),
    NUMBER("requested", reconcile.requested),
    NUMBER("started", reconcile.started),
    NUMBER("finished", reconcile.finished),
    NUMBER("counted", reconcile.counted),
    NUMBER("differing", reconcile.differing),
    EFFECT("found", reconcile.found),
    EFFECT("lost", reconcile.lost),
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

const char *tseed_usage_save(const tseed_usage_status_t *status, apr_pool_t *pool)
{
    apr_array_header_t *pieces = apr_array_make(pool, NUMBERS, sizeof(const char *));

    for (size_t i = 0; i < NUMBERS; i++) {
        const int64_t *number = (const int64_t *)((const char *)status + numbers[i].offset);

        if (*number) {
            add(pieces, apr_psprintf(pool, "%s=%" APR_INT64_T_FMT, numbers[i].name, *number));
        }
    }
    return apr_array_pstrcat(pool, pieces, ' ');
}

/* The number behind "name=" in a text of them, or 0. */
static int64_t number_of(const char *saved, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = saved; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            return strtoll(at + length + 1, NULL, 10);
        }
    }
    return 0;
}

void tseed_usage_load(tseed_usage_status_t *status, const char *saved)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        *(int64_t *)((char *)status + numbers[i].offset) = number_of(saved, numbers[i].name);
    }
}

/* ---- tile sets ---- */

const char *tseed_usage_resolve(tseed_tileset_t *tileset, const tseed_holding_t *holding,
                                const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    const tseed_names_t names = {holding->layer, holding->gridset, holding->format,
                                 tseed_parameters_load(holding->parameters, pool)};
    const char *problem = names.parameters ? tseed_tileset_find(tileset, catalog, &names, pool)
                                           : "its parameters can't be read";

    if (!problem && tseed_tileset_print(tileset, pool) != holding->print) {
        problem = "its store is another one now";
    }
    return problem;
}

static int by_layer(const void *a, const void *b)
{
    const tseed_holding_t *first = &((const tseed_usage_row_t *)a)->holding;
    const tseed_holding_t *second = &((const tseed_usage_row_t *)b)->holding;
    int order = strcmp(first->layer, second->layer);

    return order ? order : (first->id > second->id) - (first->id < second->id);
}

/* All that a tile set takes. */
static tseed_effect_t sum_of(const tseed_holding_t *holding)
{
    tseed_effect_t sum = holding->paged;

    tseed_effect_add(&sum, &holding->shared);
    tseed_effect_add(&sum, &holding->detached);
    return sum;
}

static void add_effect(apr_array_header_t *pieces, const tseed_effect_t *effect)
{
    add_number(pieces, "bytes", effect->allocated);
    add_number(pieces, "files", effect->files);
    add_number(pieces, "tiles", effect->names);
}

static void add_flag(apr_array_header_t *pieces, const char *name, int flag)
{
    add(pieces, apr_pstrcat(pieces->pool, ",\"", name, "\":", flag ? "true" : "false", NULL));
}

/* Begins an object as the member of another; its first member has no comma. */
static void begin(apr_array_header_t *pieces, const char *name, const char *first, int64_t number)
{
    add(pieces,
        apr_psprintf(pieces->pool, ",\"%s\":{\"%s\":%" APR_INT64_T_FMT, name, first, number));
}

/* What is not in pages: no tiles of its own. */
static void add_rest(apr_array_header_t *pieces, const char *name, const tseed_effect_t *effect)
{
    begin(pieces, name, "bytes", effect->allocated);
    add_number(pieces, "files", effect->files);
    add(pieces, "}");
}

static void add_tileset(apr_array_header_t *pieces, const tseed_usage_row_t *row)
{
    const tseed_holding_t *holding = &row->holding;
    const tseed_effect_t sum = sum_of(holding);

    add(pieces, apr_psprintf(pieces->pool, "{\"id\":%" APR_INT64_T_FMT, holding->id));
    add_string(pieces, "layer", holding->layer);
    add_string(pieces, "gridSetId", holding->gridset);
    add_string(pieces, "format", holding->format);
    add(pieces, apr_pstrcat(pieces->pool, ",\"parameters\":", holding->parameters, NULL));
    add_string(pieces, "store", holding->root);
    add_flag(pieces, "configured", row->is_configured);
    add_flag(pieces, "complete", holding->complete);
    add_effect(pieces, &sum);
    add_number(pieces, "contentBytes", sum.bytes);
    add_number(pieces, "pages", holding->pages);
    add_rest(pieces, "shared", &holding->shared);
    add_rest(pieces, "detached", &holding->detached);
    add(pieces, "}");
}

/* ---- layers ---- */

static const tseed_layer_quota_t *quota_of(const tseed_usage_t *usage, const char *layer)
{
    for (int i = 0; i < usage->config->layers->nelts; i++) {
        const tseed_layer_quota_t *quota =
            &APR_ARRAY_IDX(usage->config->layers, i, tseed_layer_quota_t);

        if (strcmp(quota->layer, layer) == 0) {
            return quota;
        }
    }
    return NULL;
}

static const tseed_usage_row_t *row_at(const tseed_usage_t *usage, int i)
{
    return i < usage->rows->nelts ? &APR_ARRAY_IDX(usage->rows, i, tseed_usage_row_t) : NULL;
}

/* What the configured ones of the rows from..to-1 take together. */
static tseed_effect_t sum_of_rows(const tseed_usage_t *usage, int from, int to)
{
    tseed_effect_t sum = {0, 0, 0, 0};

    for (int i = from; i < to; i++) {
        const tseed_usage_row_t *row = row_at(usage, i);
        const tseed_effect_t own = sum_of(&row->holding);

        if (row->is_configured) {
            tseed_effect_add(&sum, &own);
        }
    }
    return sum;
}

static void add_layer(apr_array_header_t *pieces, const tseed_usage_t *usage, int from, int to)
{
    const char *layer = row_at(usage, from)->holding.layer;
    const tseed_layer_quota_t *quota = quota_of(usage, layer);
    const tseed_effect_t sum = sum_of_rows(usage, from, to);
    const tseed_policy_t policy =
        quota && quota->has_policy ? quota->policy : usage->config->policy;

    add(pieces, apr_pstrcat(pieces->pool, from ? "," : "",
                            "{\"layer\":", tseed_escape_json(layer, pieces->pool), NULL));
    add_effect(pieces, &sum);
    if (quota) {
        add_number(pieces, "limit", quota->quota.bytes);
    } else {
        add(pieces, ",\"limit\":null");
    }
    add_string(pieces, "policy", tseed_policy_name(policy));
    add(pieces, ",\"tilesets\":[");
    for (int i = from; i < to; i++) {
        add(pieces, i > from ? "," : "");
        add_tileset(pieces, row_at(usage, i));
    }
    add(pieces, "]}");
}

static void add_layers(apr_array_header_t *pieces, const tseed_usage_t *usage)
{
    const tseed_usage_row_t *row;
    int to;

    add(pieces, ",\"layers\":[");
    for (int from = 0; (row = row_at(usage, from)) != NULL; from = to) {
        const tseed_usage_row_t *other = row;

        for (to = from; other && strcmp(other->holding.layer, row->holding.layer) == 0;) {
            other = row_at(usage, ++to);
        }
        add_layer(pieces, usage, from, to);
    }
    add(pieces, "]");
}

/* ---- what goes on ---- */

static void add_limit(apr_array_header_t *pieces, const tseed_usage_t *usage)
{
    const tseed_settings_t *settings = usage->settings;

    begin(pieces, "limit", "bytes", usage->config->quota.bytes);
    if (settings->quota_files < INT64_MAX) {
        add_number(pieces, "files", settings->quota_files);
    } else {
        add(pieces, ",\"files\":null");
    }
    add_number(pieces, "minFree", settings->min_free);
    add(pieces, "}");
}

/* Whether the sums of all configured tile sets are known. */
static int is_complete(const tseed_usage_t *usage)
{
    const tseed_usage_row_t *row;

    for (int i = 0; (row = row_at(usage, i)) != NULL; i++) {
        if (row->is_configured && !row->holding.complete) {
            return 0;
        }
    }
    return 1;
}

static void add_recount(apr_array_header_t *pieces, const tseed_usage_status_t *status)
{
    if (!status->block) {
        add(pieces, ",\"recount\":null");
        return;
    }
    begin(pieces, "recount", "diskBlockSize", status->block);
    add_number(pieces, "pagesLeft", status->in_doubt);
    add(pieces, "}");
}

/* A walk in a tile set that is not shown is none. */
static void add_walk(apr_array_header_t *pieces, const tseed_usage_t *usage)
{
    const tseed_usage_row_t *row, *walked = NULL;

    for (int i = 0; (row = row_at(usage, i)) != NULL; i++) {
        walked = row->holding.id == usage->status.walked ? row : walked;
    }
    if (!walked) {
        add(pieces, ",\"walk\":null");
        return;
    }
    begin(pieces, "walk", "tileset", walked->holding.id);
    add_string(pieces, "layer", walked->holding.layer);
    add_number(pieces, "zoom", usage->status.walked_level);
    add_number(pieces, "tiles", walked->holding.paged.names);
    add(pieces, "}");
}

static void add_clean(apr_array_header_t *pieces, const tseed_cleanup_t *clean)
{
    if (!clean->started) {
        add(pieces, ",\"lastCleanUp\":null");
        return;
    }
    begin(pieces, "lastCleanUp", "pages", clean->pages);
    add_effect(pieces, &clean->gone);
    add_time(pieces, "started", clean->started);
    add_time(pieces, "finished", clean->last);
    add(pieces, "}");
}

static void add_difference(apr_array_header_t *pieces, const char *name,
                           const tseed_effect_t *effect)
{
    begin(pieces, name, "bytes", effect->allocated);
    add_number(pieces, "files", effect->files);
    add_number(pieces, "tiles", effect->names);
    add(pieces, "}");
}

/* One that was asked for and not begun is of more interest than the last one. */
static void add_reconcile(apr_array_header_t *pieces, const tseed_usage_t *usage)
{
    const tseed_reconcile_t *done = &usage->status.reconcile;
    const tseed_reconcile_t waiting = {.requested = usage->requested};
    const tseed_reconcile_t *shown = usage->requested && usage->requested != done->requested &&
                                             (done->finished || !done->started)
                                         ? &waiting
                                         : done;
    const char *state = shown->finished ? "done" : shown->started ? "running" : "waiting";

    if (!shown->requested) {
        add(pieces, ",\"reconcile\":null");
        return;
    }
    add(pieces, apr_pstrcat(pieces->pool, ",\"reconcile\":{\"state\":\"", state, "\"", NULL));
    add_time(pieces, "requested", shown->requested);
    add_time(pieces, "started", shown->started);
    add_time(pieces, "finished", shown->finished);
    add_number(pieces, "pagesCounted", shown->counted);
    add_number(pieces, "pagesLeft", shown->finished ? 0 : usage->status.in_doubt);
    add_number(pieces, "pagesDiffering", shown->differing);
    add_difference(pieces, "found", &shown->found);
    add_difference(pieces, "lost", &shown->lost);
    add(pieces, "}");
}

/* Of that which is about all layers a client that sees some learns when removing begins alone. */
static void add_work(apr_array_header_t *pieces, const tseed_usage_t *usage)
{
    if (usage->is_part) {
        add(pieces, ",\"pagesInDoubt\":null,\"recount\":null");
        add_walk(pieces, usage);
        add_time(pieces, "grace", usage->status.grace);
        add(pieces, ",\"lastCleanUp\":null,\"reconcile\":null");
        return;
    }
    add_number(pieces, "pagesInDoubt", usage->status.in_doubt);
    add_recount(pieces, &usage->status);
    add_walk(pieces, usage);
    add_time(pieces, "grace", usage->status.grace);
    add_clean(pieces, &usage->status.clean);
    add_reconcile(pieces, usage);
}

const char *tseed_usage_document(const tseed_usage_t *usage, apr_pool_t *pool)
{
    apr_array_header_t *pieces = apr_array_make(pool, 64, sizeof(const char *));
    const tseed_effect_t sum = sum_of_rows(usage, 0, usage->rows->nelts);
    int complete = is_complete(usage);

    qsort(usage->rows->elts, (size_t)usage->rows->nelts, sizeof(tseed_usage_row_t), by_layer);
    add(pieces, usage->config->enabled ? "{\"enabled\":true" : "{\"enabled\":false");
    add_flag(pieces, "enforced", usage->config->enabled);
    add_flag(pieces, "complete", complete);
    add_effect(pieces, &sum);
    add_limit(pieces, usage);
    add_string(pieces, "policy", tseed_policy_name(usage->config->policy));
    add_number(pieces, "diskBlockSize", usage->config->block_size);
    add_work(pieces, usage);
    add_layers(pieces, usage);
    add(pieces, "}");
    return apr_array_pstrcat(pool, pieces, '\0');
}

/* ---- pages ---- */

static void add_page(apr_array_header_t *pieces, const tseed_page_t *page)
{
    add(pieces, apr_psprintf(pieces->pool, "{\"z\":%d", page->place.z));
    add_number(pieces, "x", page->place.x * TSEED_PAGE_SIDE);
    add_number(pieces, "y", page->place.y * TSEED_PAGE_SIDE);
    add_effect(pieces, &page->usage);
    add_number(pieces, "contentBytes", page->usage.bytes);
    add_time(pieces, "accessed", apr_time_from_sec(page->accessed));
    add(pieces, "}");
}

const char *tseed_usage_pages(const tseed_usage_row_t *row, const apr_array_header_t *pages,
                              const char *next, apr_pool_t *pool)
{
    apr_array_header_t *pieces = apr_array_make(pool, 8 * pages->nelts + 32, sizeof(const char *));

    add(pieces, "{\"tileset\":");
    add_tileset(pieces, row);
    add(pieces, ",\"pages\":[");
    for (int i = 0; i < pages->nelts; i++) {
        add(pieces, i ? "," : "");
        add_page(pieces, &APR_ARRAY_IDX(pages, i, tseed_page_t));
    }
    add(pieces, "]");
    add_string(pieces, "next", next);
    add(pieces, "}");
    return apr_array_pstrcat(pool, pieces, '\0');
}

const char *tseed_usage_query_read(tseed_usage_query_t *query, const char *text, apr_pool_t *pool)
{
    const apr_table_t *form = tseed_form_read(text ? text : "", text ? strlen(text) : 0, pool);
    const char *tileset = apr_table_get(form, "tileset");

    query->tileset = 0;
    if (tileset && tseed_text_int64(&query->tileset, tileset, 1, INT64_MAX) != 0) {
        return apr_psprintf(pool, "tileset must be the id of a tile set, not '%s'",
                            tseed_text_quote(tileset, 100, pool));
    }
    return tseed_failure_query_read(&query->from, text, pool);
}
