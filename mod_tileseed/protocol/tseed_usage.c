/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The status as a text, and the document that is made of it and of the rows. */
#include "protocol/tseed_usage.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_parameters.h"
#include "protocol/tseed_form.h"
#include "protocol/tseed_write.h"
#include "tiling/tseed_range.h"

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
            APR_ARRAY_PUSH(pieces, const char *) =
                apr_psprintf(pool, "%s=%" APR_INT64_T_FMT, numbers[i].name, *number);
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

int tseed_usage_lists(const char *list, int64_t number)
{
    char *end;

    for (int64_t one; *list; list = end) {
        one = strtoll(list, &end, 10);
        if (one == number || end == list) {
            return one == number;
        }
    }
    return 0;
}

const char *tseed_usage_resolve(tseed_tileset_t *tileset, const tseed_tileset_record_t *record,
                                const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    const tseed_names_t names = {record->layer, record->gridset, record->format,
                                 tseed_parameters_load(record->parameters, pool)};
    const char *problem = names.parameters ? tseed_tileset_find(tileset, catalog, &names, pool)
                                           : "its parameters can't be read";

    if (!problem && tseed_tileset_print(tileset, pool) != record->print) {
        problem = "its store is another one now";
    }
    return problem;
}

static int by_layer(const void *a, const void *b)
{
    const tseed_tileset_record_t *first = &((const tseed_usage_row_t *)a)->record;
    const tseed_tileset_record_t *second = &((const tseed_usage_row_t *)b)->record;
    int order = strcmp(first->layer, second->layer);

    return order ? order : (first->id > second->id) - (first->id < second->id);
}

/* All that a tile set takes. */
static tseed_effect_t sum_of(const tseed_tileset_record_t *record)
{
    tseed_effect_t sum = record->paged;

    tseed_effect_add(&sum, &record->shared);
    tseed_effect_add(&sum, &record->detached);
    return sum;
}

static void add_effect(tseed_json_t *json, const tseed_effect_t *effect)
{
    tseed_json_number(json, "bytes", effect->allocated);
    tseed_json_number(json, "files", effect->files);
    tseed_json_number(json, "tiles", effect->names);
}

/* Adds files that are in no page: shared or detached ones. */
static void add_rest(tseed_json_t *json, const char *name, const tseed_effect_t *effect)
{
    tseed_json_open(json, name, '{');
    tseed_json_number(json, "bytes", effect->allocated);
    tseed_json_number(json, "files", effect->files);
    tseed_json_close(json, '}');
}

/* How many tiles the tile set can have at a level; -1: it is not configured to have any. */
static int64_t possible_at(const tseed_usage_row_t *row, int z)
{
    const tseed_subset_t *subset = row->is_configured ? row->subset : NULL;
    tseed_range_t range;

    if (!subset || z < subset->zoom_first || z > subset->zoom_last) {
        return -1;
    }
    range = tseed_range_of(subset->gridset, z, &subset->extent);
    return tseed_range_count(&range);
}

static void add_levels(tseed_json_t *json, const tseed_usage_row_t *row)
{
    if (!row->levels) {
        tseed_json_raw(json, "levels", NULL);
        return;
    }
    tseed_json_open(json, "levels", '[');
    for (int i = 0; i < row->levels->nelts; i++) {
        const tseed_usage_level_t *level = &APR_ARRAY_IDX(row->levels, i, tseed_usage_level_t);
        const int64_t possible = possible_at(row, level->z);

        tseed_json_open(json, NULL, '{');
        tseed_json_number(json, "z", level->z);
        add_effect(json, &level->usage);
        tseed_json_known(json, "possible", possible >= 0, possible);
        tseed_json_close(json, '}');
    }
    tseed_json_close(json, ']');
}

static void add_tileset(tseed_json_t *json, const char *name, const tseed_usage_row_t *row)
{
    const tseed_tileset_record_t *record = &row->record;
    const tseed_effect_t sum = sum_of(record);

    tseed_json_open(json, name, '{');
    tseed_json_number(json, "id", record->id);
    tseed_json_words(json, "layer", record->layer);
    tseed_json_words(json, "gridSetId", record->gridset);
    tseed_json_words(json, "format", record->format);
    tseed_json_raw(json, "parameters", record->parameters);
    tseed_json_words(json, "store", record->root);
    tseed_json_flag(json, "configured", row->is_configured);
    tseed_json_flag(json, "removing", row->is_leaving);
    tseed_json_flag(json, "complete", record->complete);
    add_effect(json, &sum);
    tseed_json_number(json, "contentBytes", sum.bytes);
    tseed_json_number(json, "pages", record->pages);
    add_rest(json, "shared", &record->shared);
    add_rest(json, "detached", &record->detached);
    add_levels(json, row);
    tseed_json_close(json, '}');
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

/* The sum of the configured tile sets among the rows from..to-1. */
static tseed_effect_t sum_of_rows(const tseed_usage_t *usage, int from, int to)
{
    tseed_effect_t sum = {0, 0, 0, 0};

    for (int i = from; i < to; i++) {
        const tseed_usage_row_t *row = row_at(usage, i);
        const tseed_effect_t own = sum_of(&row->record);

        if (row->is_configured) {
            tseed_effect_add(&sum, &own);
        }
    }
    return sum;
}

tseed_effect_t tseed_usage_sum(const tseed_usage_t *usage)
{
    return sum_of_rows(usage, 0, usage->rows->nelts);
}

static void add_layer(tseed_json_t *json, const tseed_usage_t *usage, int from, int to)
{
    const char *layer = row_at(usage, from)->record.layer;
    const tseed_layer_quota_t *quota = quota_of(usage, layer);
    const tseed_effect_t sum = sum_of_rows(usage, from, to);
    const tseed_policy_t policy =
        quota && quota->has_policy ? quota->policy : usage->config->policy;

    tseed_json_open(json, NULL, '{');
    tseed_json_text(json, "layer", layer);
    add_effect(json, &sum);
    tseed_json_known(json, "limit", quota != NULL, quota ? quota->quota.bytes : 0);
    tseed_json_words(json, "policy", tseed_policy_name(policy));
    tseed_json_open(json, "tilesets", '[');
    for (int i = from; i < to; i++) {
        add_tileset(json, NULL, row_at(usage, i));
    }
    tseed_json_close(json, ']');
    tseed_json_close(json, '}');
}

static void add_layers(tseed_json_t *json, const tseed_usage_t *usage)
{
    const tseed_usage_row_t *row;
    int to;

    tseed_json_open(json, "layers", '[');
    for (int from = 0; (row = row_at(usage, from)) != NULL; from = to) {
        const tseed_usage_row_t *other = row;

        for (to = from; other && strcmp(other->record.layer, row->record.layer) == 0;) {
            other = row_at(usage, ++to);
        }
        add_layer(json, usage, from, to);
    }
    tseed_json_close(json, ']');
}

/* ---- what goes on ---- */

static void add_limit(tseed_json_t *json, const tseed_usage_t *usage)
{
    const tseed_settings_t *settings = usage->settings;

    tseed_json_open(json, "limit", '{');
    tseed_json_number(json, "bytes", usage->config->quota.bytes);
    tseed_json_known(json, "files", settings->quota_files < INT64_MAX, settings->quota_files);
    tseed_json_number(json, "minFree", settings->min_free);
    tseed_json_close(json, '}');
}

/* Whether the sums of all configured tile sets are known. */
static int is_complete(const tseed_usage_t *usage)
{
    const tseed_usage_row_t *row;

    for (int i = 0; (row = row_at(usage, i)) != NULL; i++) {
        if (row->is_configured && !row->record.complete) {
            return 0;
        }
    }
    return 1;
}

static void add_recount(tseed_json_t *json, const tseed_usage_status_t *status)
{
    if (!status->block) {
        tseed_json_raw(json, "recount", NULL);
        return;
    }
    tseed_json_open(json, "recount", '{');
    tseed_json_number(json, "diskBlockSize", status->block);
    tseed_json_number(json, "pagesLeft", status->in_doubt);
    tseed_json_close(json, '}');
}

/* A walk in a tile set that is not shown is none. */
static void add_walk(tseed_json_t *json, const tseed_usage_t *usage)
{
    const tseed_usage_row_t *row, *walked = NULL;

    for (int i = 0; (row = row_at(usage, i)) != NULL; i++) {
        walked = row->record.id == usage->status.walked ? row : walked;
    }
    if (!walked) {
        tseed_json_raw(json, "walk", NULL);
        return;
    }
    tseed_json_open(json, "walk", '{');
    tseed_json_number(json, "tileset", walked->record.id);
    tseed_json_words(json, "layer", walked->record.layer);
    tseed_json_number(json, "zoom", usage->status.walked_level);
    tseed_json_number(json, "tiles", walked->record.paged.names);
    tseed_json_close(json, '}');
}

static void add_clean(tseed_json_t *json, const tseed_cleanup_t *clean)
{
    if (!clean->started) {
        tseed_json_raw(json, "lastCleanUp", NULL);
        return;
    }
    tseed_json_open(json, "lastCleanUp", '{');
    tseed_json_number(json, "pages", clean->pages);
    add_effect(json, &clean->gone);
    tseed_json_time(json, "started", clean->started);
    tseed_json_time(json, "finished", clean->last);
    tseed_json_close(json, '}');
}

static void add_difference(tseed_json_t *json, const char *name, const tseed_effect_t *effect)
{
    tseed_json_open(json, name, '{');
    add_effect(json, effect);
    tseed_json_close(json, '}');
}

/* Writes the reconcile that was asked for and has not begun, or else the last one. */
static void add_reconcile(tseed_json_t *json, const tseed_usage_t *usage)
{
    const tseed_reconcile_t *done = &usage->status.reconcile;
    const tseed_reconcile_t waiting = {.requested = usage->requested};
    const tseed_reconcile_t *shown = usage->requested && usage->requested != done->requested &&
                                             (done->finished || !done->started)
                                         ? &waiting
                                         : done;
    const char *state = shown->finished ? "done" : shown->started ? "running" : "waiting";

    if (!shown->requested) {
        tseed_json_raw(json, "reconcile", NULL);
        return;
    }
    tseed_json_open(json, "reconcile", '{');
    tseed_json_text(json, "state", state);
    tseed_json_time(json, "requested", shown->requested);
    tseed_json_time(json, "started", shown->started);
    tseed_json_time(json, "finished", shown->finished);
    tseed_json_number(json, "pagesCounted", shown->counted);
    tseed_json_number(json, "pagesLeft", shown->finished ? 0 : usage->status.in_doubt);
    tseed_json_number(json, "pagesDiffering", shown->differing);
    add_difference(json, "found", &shown->found);
    add_difference(json, "lost", &shown->lost);
    tseed_json_close(json, '}');
}

/* A client that sees only some layers gets null for figures about all layers, but for the time at
 * which removing begins. */
static void add_work(tseed_json_t *json, const tseed_usage_t *usage)
{
    if (usage->is_part) {
        tseed_json_raw(json, "pagesInDoubt", NULL);
        tseed_json_raw(json, "recount", NULL);
        add_walk(json, usage);
        tseed_json_time(json, "grace", usage->status.grace);
        tseed_json_raw(json, "lastCleanUp", NULL);
        tseed_json_raw(json, "reconcile", NULL);
        return;
    }
    tseed_json_number(json, "pagesInDoubt", usage->status.in_doubt);
    add_recount(json, &usage->status);
    add_walk(json, usage);
    tseed_json_time(json, "grace", usage->status.grace);
    add_clean(json, &usage->status.clean);
    add_reconcile(json, usage);
}

const char *tseed_usage_document(const tseed_usage_t *usage, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);
    const tseed_effect_t sum = sum_of_rows(usage, 0, usage->rows->nelts);
    int complete = is_complete(usage);

    qsort(usage->rows->elts, (size_t)usage->rows->nelts, sizeof(tseed_usage_row_t), by_layer);
    tseed_json_flag(&json, "enabled", usage->config->enabled);
    tseed_json_flag(&json, "enforced", usage->config->enabled);
    tseed_json_flag(&json, "complete", complete);
    add_effect(&json, &sum);
    add_limit(&json, usage);
    tseed_json_words(&json, "policy", tseed_policy_name(usage->config->policy));
    tseed_json_number(&json, "diskBlockSize", usage->config->block_size);
    tseed_json_known(&json, "diskFree", usage->disk_free >= 0 && !usage->is_part, usage->disk_free);
    add_work(&json, usage);
    add_layers(&json, usage);
    return tseed_json_end(&json);
}

/* ---- pages ---- */

static void add_page(tseed_json_t *json, const tseed_page_record_t *record)
{
    tseed_json_open(json, NULL, '{');
    tseed_json_number(json, "z", record->page.z);
    tseed_json_number(json, "x", record->page.x * TSEED_PAGE_SIDE);
    tseed_json_number(json, "y", record->page.y * TSEED_PAGE_SIDE);
    add_effect(json, &record->usage);
    tseed_json_number(json, "contentBytes", record->usage.bytes);
    tseed_json_time(json, "accessed", apr_time_from_sec(record->accessed));
    tseed_json_close(json, '}');
}

const char *tseed_usage_pages(const tseed_usage_row_t *row, const apr_array_header_t *pages,
                              const char *next, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    add_tileset(&json, "tileset", row);
    tseed_json_open(&json, "pages", '[');
    for (int i = 0; i < pages->nelts; i++) {
        add_page(&json, &APR_ARRAY_IDX(pages, i, tseed_page_record_t));
    }
    tseed_json_close(&json, ']');
    tseed_json_words(&json, "next", next);
    return tseed_json_end(&json);
}

const char *tseed_forget_query_read(int *removes, const char *text, apr_pool_t *pool)
{
    const apr_table_t *form = tseed_form_read(text ? text : "", text ? strlen(text) : 0, pool);
    const apr_array_header_t *entries = apr_table_elts(form);
    const char *tiles = NULL;

    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);
        const int is_tiles = apr_cstr_casecmp(entry->key, "tiles") == 0;

        if (is_tiles && tiles) {
            return "tiles is there twice, once is expected";
        }
        tiles = is_tiles ? entry->val : tiles;
    }
    *removes = tiles && strcmp(tiles, "remove") == 0;
    return !tiles || *removes || strcmp(tiles, "keep") == 0
               ? NULL
               : apr_psprintf(pool, "tiles must be keep or remove, not '%s'",
                              tseed_text_quote(tiles, 100, pool));
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
