/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The disk quota configuration: the document of the REST interface, read, merged and written. Any
 * thread; texts live in the pool that a call takes. */
#ifndef TSEED_QUOTA_CONFIG_H
#define TSEED_QUOTA_CONFIG_H

#include "layer/tseed_layer.h"
#include "protocol/tseed_document.h"

/* Which page goes first: the one whose last use is the longest ago, or that is used least. */
typedef enum { TSEED_POLICY_LRU, TSEED_POLICY_LFU, TSEED_POLICIES } tseed_policy_t;

/* Their names, and NULL behind them. */
extern const char *const tseed_policy_names[TSEED_POLICIES + 1];

typedef struct {
    int64_t bytes;     /* what is enforced */
    const char *value; /* what is shown: the number as it was given */
    const char *units; /* B, KiB, MiB, GiB, TiB */
} tseed_quota_t;

typedef struct {
    const char *layer;
    int has_policy;
    tseed_policy_t policy;
    tseed_quota_t quota;
} tseed_layer_quota_t;

typedef struct {
    int enabled;
    int64_t block_size;          /* bytes */
    int64_t frequency;           /* of clean-ups, in units; 0: only when a write needs room */
    const char *frequency_units; /* NANOSECONDS … DAYS */
    int64_t concurrent_cleanups;
    tseed_policy_t policy;
    tseed_quota_t quota;
    apr_array_header_t *layers; /* of tseed_layer_quota_t, may be empty; replaced, never changed */
} tseed_quota_config_t;

/* Defaults of the contract: false, file system's block size as given, 10 SECONDS, 2, LFU, 500 MiB.
 */
void tseed_quota_config_init(tseed_quota_config_t *config, int64_t block_size, apr_pool_t *pool);

/* A change by a PUT. */
typedef struct {
    tseed_quota_config_t config;    /* before and, if all went well, after */
    const apr_array_header_t *only; /* in: layers (const char *) that the client sees; NULL: all */
    const char *forbidden; /* out: the member that is not this client's to change, or NULL */
    const char *root;      /* out: the root's name, to be used in the answer */
    const char *ignored;   /* out: the unknown members, one a line, or NULL */
} tseed_quota_change_t;

/* Reads the body, checks every member, and only then changes anything. NULL, or the whole body of
 * the refusal, which may have several lines: a 403 when change->forbidden is set, else a 400.
 * `catalog` has the layers that the body may name; NULL: any. With change->only the body replaces
 * the quotas of these layers; the quotas of other layers stay, and every other member must repeat
 * its present value. */
const char *tseed_quota_config_merge(tseed_quota_change_t *change, tseed_format_of_body_t format,
                                     const char *body, size_t length,
                                     const tseed_catalog_t *catalog, apr_pool_t *pool);

/* Leaves out the quotas of layers that the client does not see. `only` has the layers that it sees;
 * NULL: all layers. */
void tseed_quota_config_limit(tseed_quota_config_t *config, const apr_array_header_t *only,
                              apr_pool_t *pool);

/* The document, pure ASCII. `after_put` keeps an empty layerQuotas in JSON as []. */
const char *tseed_quota_config_write(const tseed_quota_config_t *config, const char *root,
                                     tseed_format_of_body_t format, int after_put,
                                     apr_pool_t *pool);

/* save: the text that the database keeps, JSON with every member. load: reads such a text into
 * `config`, which need not be initialised; NULL or a sentence. */
const char *tseed_quota_config_save(const tseed_quota_config_t *config, apr_pool_t *pool);
const char *tseed_quota_config_load(tseed_quota_config_t *config, const char *saved,
                                    apr_pool_t *pool);

/* "LRU" or "LFU". */
const char *tseed_policy_name(tseed_policy_t policy);

#endif
