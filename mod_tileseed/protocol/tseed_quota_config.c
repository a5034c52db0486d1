/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The disk quota configuration: defaults, its documents, and how a document changes it. */
#include "protocol/tseed_quota_config.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include <apr_cstr.h>
#include <apr_strings.h>

#include "base/tseed_text.h"
#include "protocol/tseed_write.h"
#include "protocol/tseed_members.h"

#define QUOTE_MAX 200 /* of a submitted value in a message */

/* ---- words ---- */

const char *const tseed_policy_names[TSEED_POLICIES + 1] = {
    [TSEED_POLICY_LRU] = "LRU",
    [TSEED_POLICY_LFU] = "LFU",
};
static const char *const times[] = {"NANOSECONDS", "MICROSECONDS", "MILLISECONDS", "SECONDS",
                                    "MINUTES",     "HOURS",        "DAYS",         NULL};
/* Each 1024 of the one before. */
static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};

/* Place of a word in its list, case counts; -1: it is none of them. */
static int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

static const char *join_words(const char *const *words, apr_pool_t *pool)
{
    const char *joined = words[0];

    for (int i = 1; words[i]; i++) {
        joined = apr_pstrcat(pool, joined, "|", words[i], NULL);
    }
    return joined;
}

const char *tseed_policy_name(tseed_policy_t policy)
{
    return tseed_policy_names[policy];
}

void tseed_quota_config_init(tseed_quota_config_t *config, int64_t block_size, apr_pool_t *pool)
{
    *config = (tseed_quota_config_t){
        .enabled = 0,
        .block_size = block_size,
        .frequency = 10,
        .frequency_units = "SECONDS",
        .concurrent_cleanups = 2,
        .policy = TSEED_POLICY_LFU,
        .quota = {INT64_C(500) << 20, "500", "MiB"},
        .layers = apr_array_make(pool, 1, sizeof(tseed_layer_quota_t)),
    };
}

/* ---- members ---- */

typedef enum { FLAG, INTEGER, TIMES, POLICY, QUOTA, LAYERS } kind_t;

/* In the order of the document. */
static const struct {
    const char *name;
    kind_t kind;
    size_t offset;
    int lowest; /* INTEGER */
} members[] = {
    {"enabled", FLAG, offsetof(tseed_quota_config_t, enabled), 0},
    {"diskBlockSize", INTEGER, offsetof(tseed_quota_config_t, block_size), 1},
    {"cacheCleanUpFrequency", INTEGER, offsetof(tseed_quota_config_t, frequency), 0},
    {"cacheCleanUpUnits", TIMES, offsetof(tseed_quota_config_t, frequency_units), 0},
    {"maxConcurrentCleanUps", INTEGER, offsetof(tseed_quota_config_t, concurrent_cleanups), 1},
    {"globalExpirationPolicyName", POLICY, offsetof(tseed_quota_config_t, policy), 0},
    {"globalQuota", QUOTA, offsetof(tseed_quota_config_t, quota), 0},
    {"layerQuotas", LAYERS, offsetof(tseed_quota_config_t, layers), 0},
};
#define MEMBERS (sizeof(members) / sizeof(members[0]))

/* ---- the document ---- */

static void put_quota(tseed_either_t *writer, const char *name, const tseed_quota_t *quota)
{
    tseed_either_open(writer, name, name, '{');
    tseed_either_text(writer, "value", quota->value);
    tseed_either_text(writer, "units", quota->units);
    tseed_either_close(writer, name, '}');
}

static void put_layer_quota(tseed_either_t *writer, const tseed_layer_quota_t *entry)
{
    tseed_either_open(writer, "LayerQuota", NULL, '{');
    tseed_either_text(writer, "layer", entry->layer);
    if (entry->has_policy) {
        tseed_either_text(writer, "expirationPolicyName", tseed_policy_name(entry->policy));
    }
    put_quota(writer, "quota", &entry->quota);
    tseed_either_close(writer, "LayerQuota", '}');
}

/* An empty list is always there in XML, in JSON only if somebody wants to see that it is empty. */
static void put_layer_quotas(tseed_either_t *writer, const char *name,
                             const apr_array_header_t *layers, int after_put)
{
    if (layers->nelts > 0) {
        tseed_either_open(writer, name, name, '[');
        for (int i = 0; i < layers->nelts; i++) {
            put_layer_quota(writer, &APR_ARRAY_IDX(layers, i, tseed_layer_quota_t));
        }
        tseed_either_close(writer, name, ']');
    } else if (writer->format == TSEED_BODY_XML) {
        tseed_either_raw(writer, name, NULL);
    } else if (after_put) {
        tseed_either_raw(writer, name, "[]");
    }
}

const char *tseed_quota_config_write(const tseed_quota_config_t *config, const char *root,
                                     tseed_format_of_body_t format, int after_put, apr_pool_t *pool)
{
    tseed_either_t writer = tseed_either_begin(format, pool);

    tseed_either_open(&writer, root, root, '{');
    for (size_t i = 0; i < MEMBERS; i++) {
        const void *from = (const char *)config + members[i].offset;
        const char *name = members[i].name;

        switch (members[i].kind) {
        case FLAG:
            tseed_either_raw(&writer, name, *(const int *)from ? "true" : "false");
            break;
        case INTEGER:
            tseed_either_raw(&writer, name,
                             apr_psprintf(pool, "%" APR_INT64_T_FMT, *(const int64_t *)from));
            break;
        case TIMES:
            tseed_either_text(&writer, name, *(const char *const *)from);
            break;
        case POLICY:
            tseed_either_text(&writer, name, tseed_policy_name(*(const tseed_policy_t *)from));
            break;
        case QUOTA:
            put_quota(&writer, name, from);
            break;
        case LAYERS:
            put_layer_quotas(&writer, name, config->layers, after_put);
        }
    }
    tseed_either_close(&writer, root, '}');
    return tseed_either_end(&writer);
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

/* ---- values ---- */

/* A document on its way into the configuration. */
typedef struct {
    tseed_quota_config_t *config;
    const tseed_catalog_t *catalog;
    const apr_array_header_t *only;
    const char *forbidden; /* as in tseed_quota_change_t */
    tseed_unknown_t unknown;
    apr_pool_t *pool;
} merge_t;

/* The value as it may stand in a message: `null` is what was sent, and a character is one. */
static const char *shown(const tseed_node_t *node, apr_pool_t *pool)
{
    return tseed_text_quote(tseed_escape_plain(node->text, pool), QUOTE_MAX, pool);
}

static const char *read_integer(int64_t *value, const tseed_node_t *node, int lowest,
                                apr_pool_t *pool)
{
    if (tseed_text_int64(value, tseed_node_trimmed(node, pool), lowest, INT_MAX) == 0) {
        return NULL;
    }
    return apr_psprintf(pool, "%s shall be a positive integer: %s", node->name, shown(node, pool));
}

static const char *read_word(int *place, const tseed_node_t *node, const char *const *words,
                             apr_pool_t *pool)
{
    *place = find_word(words, tseed_node_trimmed(node, pool));
    return *place >= 0 ? NULL
                       : apr_psprintf(pool, "Unknown %s: '%s'. One of %s is expected", node->name,
                                      shown(node, pool), join_words(words, pool));
}

static const char *read_policy(tseed_policy_t *policy, const tseed_node_t *node, apr_pool_t *pool)
{
    int place;
    const char *problem = read_word(&place, node, tseed_policy_names, pool);

    if (!problem) {
        *policy = place;
    }
    return problem;
}

/* GeoWebCache's users know this block: their tools look for its lines. */
static const char *unknown_unit(const tseed_node_t *node, apr_pool_t *pool)
{
    const char *names[] = {"message", "cause-exception", "cause-message",
                           "class",   "required-type",   "line number"};
    const char *what = apr_psprintf(pool, "Unknown unit: '%s'. One of %s is expected",
                                    shown(node, pool), join_words(units, pool));
    const char *values[] = {what,    "unknown unit", shown(node, pool),
                            "quota", "unit",         apr_itoa(pool, node->line)};
    const char *body = apr_pstrcat(pool, what, "\n---- Debugging information ----\n", NULL);

    for (int i = 0; i < 6; i++) {
        body = apr_psprintf(pool, "%s%-20s: %s\n", body, names[i], values[i]);
    }
    return apr_pstrcat(pool, body, "-------------------------------", NULL);
}

/* Whole bytes of value x factor, rounded down. Returns 0, or -1: no number from 0 on, or more than
 * 2^63-1. Whole values are computed exactly, whatever their size. */
static int count_bytes(int64_t *bytes, const char *value, int64_t factor)
{
    int64_t whole;
    double number;

    if (*value == '-') {
        return -1;
    }
    if (tseed_text_int64(&whole, value, 0, INT64_MAX) == 0) {
        return __builtin_mul_overflow(whole, factor, bytes) ? -1 : 0;
    }
    if (tseed_text_double(&number, value) != 0 || number * (double)factor >= 0x1p63) {
        return -1;
    }
    *bytes = (int64_t)(number * (double)factor);
    return 0;
}

static const char *stands_twice(const tseed_node_t *node, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%s stands twice, again in line %d", node->name, node->line);
}

/* Members that are absent keep their values: an unknown one is refused only if it is misspelt, be
 * it empty: an empty list removes quotas. */
static const char *merge_unknown(merge_t *merge, const char *part, const tseed_node_t *node,
                                 const char *const *known)
{
    const tseed_members_t spelt = {.known = known};

    return tseed_member_judge(&merge->unknown, &spelt, part, node->name, TSEED_CONTENT_PLAIN,
                              merge->pool);
}

/* Whether each member of a part stands once and is spelt right; those that are none of `known` are
 * noted. */
static const char *check_members(merge_t *merge, const tseed_node_t *part, const char *const *known)
{
    const char *problem = NULL;
    unsigned seen = 0;

    for (const tseed_node_t *node = part->children; node && !problem; node = node->next) {
        int place = find_word(known, node->name);

        if (place < 0) {
            problem = merge_unknown(merge, part->name, node, known);
        } else if (seen & 1u << place) {
            problem = stands_twice(node, merge->pool);
        } else {
            seen |= 1u << place;
        }
    }
    return problem;
}

/* value and units; `whose` names them in messages: "globalQuota". */
static const char *read_quota(merge_t *merge, tseed_quota_t *quota, const tseed_node_t *node,
                              const char *whose)
{
    static const char *const known[] = {"value", "units", NULL};
    const tseed_node_t *value = node ? tseed_node_find(node, "value") : NULL;
    const tseed_node_t *unit = node ? tseed_node_find(node, "units") : NULL;
    apr_pool_t *pool = merge->pool;
    const char *problem = node ? check_members(merge, node, known) : NULL;
    int power;

    if (problem) {
        return problem;
    }
    if (!value || !unit || tseed_node_is_empty(value) || tseed_node_is_empty(unit)) {
        return apr_psprintf(pool, "%s needs value and units", whose);
    }
    power = find_word(units, tseed_node_trimmed(unit, pool));
    if (power < 0) {
        return unknown_unit(unit, pool);
    }
    quota->units = units[power];
    quota->value = tseed_node_trimmed(value, pool);
    if (count_bytes(&quota->bytes, quota->value, INT64_C(1) << (10 * power)) != 0 ||
        strlen(quota->value) > 64) {
        return apr_psprintf(pool,
                            "%s: value must be a number from 0 on, at most 2^63-1 bytes in "
                            "all, not %s %s",
                            whose, shown(value, pool), quota->units);
    }
    return NULL;
}

static int is_one_of(const apr_array_header_t *names, const char *name)
{
    int i = 0;

    while (i < names->nelts && strcmp(APR_ARRAY_IDX(names, i, const char *), name) != 0) {
        i++;
    }
    return i < names->nelts;
}

/* Quotas of layers that are among `names`, or of those that are not. */
static apr_array_header_t *select_layers(const apr_array_header_t *layers,
                                         const apr_array_header_t *names, int among,
                                         apr_pool_t *pool)
{
    apr_array_header_t *some = apr_array_make(pool, 4, sizeof(tseed_layer_quota_t));

    for (int i = 0; names && i < layers->nelts; i++) {
        const tseed_layer_quota_t *entry = &APR_ARRAY_IDX(layers, i, tseed_layer_quota_t);

        if (is_one_of(names, entry->layer) == among) {
            APR_ARRAY_PUSH(some, tseed_layer_quota_t) = *entry;
        }
    }
    return some;
}

void tseed_quota_config_limit(tseed_quota_config_t *config, const apr_array_header_t *only,
                              apr_pool_t *pool)
{
    if (only) {
        config->layers = select_layers(config->layers, only, 1, pool);
    }
}

static const char *check_layer(const merge_t *merge, const char *layer)
{
    const apr_array_header_t *layers = merge->config->layers;

    if ((merge->catalog && !tseed_catalog_find_layer(merge->catalog, layer)) ||
        (merge->only && !is_one_of(merge->only, layer))) {
        return apr_psprintf(merge->pool, "Unknown layer: %s",
                            tseed_text_quote(layer, QUOTE_MAX, merge->pool));
    }
    for (int i = 0; i < layers->nelts; i++) {
        if (strcmp(APR_ARRAY_IDX(layers, i, tseed_layer_quota_t).layer, layer) == 0) {
            return apr_psprintf(merge->pool, "layerQuotas names the layer %s twice", layer);
        }
    }
    return NULL;
}

static const char *read_layer_quota(merge_t *merge, const tseed_node_t *node)
{
    static const char *const known[] = {"layer", "expirationPolicyName", "quota", NULL};
    const tseed_node_t *layer = tseed_node_find(node, "layer");
    const tseed_node_t *policy = tseed_node_find(node, "expirationPolicyName");
    tseed_layer_quota_t entry = {.has_policy = policy && !tseed_node_is_empty(policy)};
    const char *problem = check_members(merge, node, known);

    if (problem) {
        return problem;
    }
    if (!layer || tseed_node_is_empty(layer)) {
        return apr_psprintf(merge->pool, "A LayerQuota needs layer, that of line %d has none",
                            node->line);
    }
    entry.layer = tseed_node_trimmed(layer, merge->pool);
    problem = check_layer(merge, entry.layer);
    if (!problem && entry.has_policy) {
        problem = read_policy(&entry.policy, policy, merge->pool);
    }
    if (!problem) {
        problem = read_quota(merge, &entry.quota, tseed_node_find(node, "quota"),
                             apr_psprintf(merge->pool, "quota of layer %s", entry.layer));
    }
    if (!problem) {
        APR_ARRAY_PUSH(merge->config->layers, tseed_layer_quota_t) = entry;
    }
    return problem;
}

/* Members <LayerQuota>, or one entry itself: an array of JSON comes as siblings. */
static const char *merge_layer_quotas(merge_t *merge, const tseed_node_t *node)
{
    static const char *const known[] = {"LayerQuota", NULL};
    const char *problem = NULL;

    if (tseed_node_is_empty(node)) {
        return NULL;
    }
    if (!tseed_node_find(node, "LayerQuota") &&
        !tseed_name_meant(node->children ? node->children->name : "", known)) {
        return read_layer_quota(merge, node);
    }
    for (const tseed_node_t *entry = node->children; entry && !problem; entry = entry->next) {
        const int is_entry = strcmp(entry->name, "LayerQuota") == 0;

        if (is_entry && tseed_node_is_blank(entry) && !entry->children && !entry->next &&
            entry == node->children) {
            return NULL; /* the list of an encoder that keeps the wrapper: none */
        }
        if (is_entry) {
            problem = read_layer_quota(merge, entry);
        } else {
            problem = merge_unknown(merge, node->name, entry, known);
        }
    }
    return problem;
}

/* ---- the whole ---- */

static const char *const roots[] = {"cacheQuotaConfiguration", "gwcQuotaConfiguration",
                                    "org.geowebcache.diskquota.DiskQuotaConfig", NULL};

/* In any case, as Python and .NET write them too. */
static const char *read_flag(int *flag, const tseed_node_t *node, apr_pool_t *pool)
{
    static const char *const words[] = {"false", "true", NULL};
    const char *text = tseed_node_trimmed(node, pool);

    *flag = apr_cstr_casecmp(text, "true") == 0;
    return *flag || apr_cstr_casecmp(text, "false") == 0 ? NULL
                                                         : read_word(flag, node, words, pool);
}

static const char *read_member(merge_t *merge, size_t i, const tseed_node_t *node)
{
    void *to = (char *)merge->config + members[i].offset;
    const char *problem;
    int place;

    switch (members[i].kind) {
    case FLAG:
        return read_flag(to, node, merge->pool);
    case INTEGER:
        return read_integer(to, node, members[i].lowest, merge->pool);
    case TIMES:
        problem = read_word(&place, node, times, merge->pool);
        *(const char **)to = problem ? NULL : times[place];
        return problem;
    case POLICY:
        return read_policy(to, node, merge->pool);
    case QUOTA:
        return read_quota(merge, to, node, node->name);
    default:
        return merge_layer_quotas(merge, node);
    }
}

/* Whether all but the quotas of layers is the same. */
static int is_same(const tseed_quota_config_t *a, const tseed_quota_config_t *b)
{
    return a->enabled == b->enabled && a->block_size == b->block_size &&
           a->frequency == b->frequency && strcmp(a->frequency_units, b->frequency_units) == 0 &&
           a->concurrent_cleanups == b->concurrent_cleanups && a->policy == b->policy &&
           strcmp(a->quota.value, b->quota.value) == 0 &&
           strcmp(a->quota.units, b->quota.units) == 0;
}

/* A client that sees only some layers may send the present values, as a GET gave them, and must not
 * change them. */
static const char *check_right(merge_t *merge, const tseed_quota_config_t *before,
                               const tseed_node_t *node)
{
    if (!merge->only || is_same(before, merge->config)) {
        return NULL;
    }
    merge->forbidden = node->name;
    return apr_psprintf(merge->pool,
                        "%s is about all layers and can't be changed here: TileSeedLayers lets "
                        "this location change layerQuotas of its own layers alone",
                        node->name);
}

static const char *merge_member(merge_t *merge, const tseed_node_t *node, unsigned *seen)
{
    const tseed_quota_config_t before = *merge->config;
    const char *problem;
    size_t i = 0;

    while (i < MEMBERS && strcmp(members[i].name, node->name) != 0) {
        i++;
    }
    if (i == MEMBERS) {
        const char *known[MEMBERS + 1] = {NULL};

        for (i = 0; i < MEMBERS; i++) {
            known[i] = members[i].name;
        }
        return merge_unknown(merge, "", node, known);
    }
    problem = tseed_member_hollow(node, merge->pool);
    if (problem) {
        return problem;
    }
    if (members[i].kind != LAYERS && *seen & 1u << i) {
        return stands_twice(node, merge->pool);
    }
    if (members[i].kind == LAYERS && !(*seen & 1u << i)) {
        merge->config->layers = select_layers(before.layers, merge->only, 0, merge->pool);
    }
    *seen |= 1u << i;
    problem = read_member(merge, i, node);
    return problem ? problem : check_right(merge, &before, node);
}

const char *tseed_quota_config_merge(tseed_quota_change_t *change, tseed_format_of_body_t format,
                                     const char *body, size_t length,
                                     const tseed_catalog_t *catalog, apr_pool_t *pool)
{
    tseed_quota_config_t next = change->config;
    merge_t merge = {.config = &next, .catalog = catalog, .only = change->only, .pool = pool};
    unsigned seen = 0;
    tseed_node_t *top;
    const char *problem = tseed_document_read(&top, format, body, length, pool);
    const char *misnamed = tseed_document_check_root(top, format, roots, pool);

    if (misnamed || problem) {
        return misnamed ? misnamed : problem;
    }
    if (!top->children && !tseed_node_is_empty(top)) {
        return apr_psprintf(pool, "%s must hold elements, not a text", top->name);
    }
    for (const tseed_node_t *node = top->children; node && !problem; node = node->next) {
        problem = merge_member(&merge, node, &seen);
    }
    change->forbidden = merge.forbidden;
    if (!problem) {
        change->config = next;
        change->root = top->name;
        change->ignored = merge.unknown.ignored;
    }
    return problem;
}
