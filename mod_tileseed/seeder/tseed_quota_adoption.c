/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The adoption of the quota: which of database, directive and board has the last word. */
#include "seeder/tseed_quota_adoption.h"

#include <string.h>

#include "base/tseed_log.h"
#include "board/tseed_gauges.h"
#include "protocol/tseed_quota_config.h"

struct tseed_quota_adoption_t {
    tseed_quota_adoption_uses_t uses;
    apr_pool_t *pool; /* where the texts of the quota in effect live; NULL: with the settings */
    int64_t version;  /* of the quota configuration that was read; 0: none was */
};

tseed_quota_adoption_t *tseed_quota_adoption_create(const tseed_quota_adoption_uses_t *uses)
{
    tseed_quota_adoption_t *adoption = apr_pcalloc(uses->context->pool, sizeof(*adoption));

    adoption->uses = *uses;
    return adoption;
}

int tseed_quota_adoption_is_known(const tseed_quota_adoption_t *adoption)
{
    return adoption->version != 0;
}

/* What stands when the database has nothing: after its loss what was in force before, which the
 * board has. */
static const char *in_force(const tseed_quota_adoption_t *adoption)
{
    apr_pool_t *pool = adoption->uses.context->scratch;
    int64_t version;
    const char *shown = tseed_board_quota_get(adoption->uses.context->board, &version, pool);

    return shown && *shown
               ? shown
               : tseed_quota_config_save(&adoption->uses.context->settings->quota, pool);
}

/* The directive has a new value, or there is nothing in the database yet: the directive's value
 * stands. */
static apr_status_t adopt_directive(tseed_quota_adoption_t *adoption, const char *old,
                                    int64_t version)
{
    const char *saved = version > 0
                            ? tseed_quota_config_save(&adoption->uses.context->settings->quota,
                                                      adoption->uses.context->scratch)
                            : in_force(adoption);
    apr_status_t rv =
        tseed_state_quota_set(adoption->uses.session->state, saved,
                              adoption->uses.context->settings->quota_directive, version);

    if (rv == APR_SUCCESS && version > 0) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "TS0060: TileSeedDiskQuota was changed from '%s' to '%s': it replaces what was "
                  "set over REST",
                  old, adoption->uses.context->settings->quota_directive);
    }
    return rv;
}

/* A seeder that is being replaced must not bring back the directive that it was started with. */
static int is_newest(const tseed_quota_adoption_t *adoption)
{
    return adoption->uses.context->generation ==
           tseed_board_generation(adoption->uses.context->board);
}

/* Puts what the database has into effect. */
static void adopt(tseed_quota_adoption_t *adoption, const char *saved)
{
    const char *problem;
    tseed_quota_config_t config = {0};
    apr_pool_t *pool;

    apr_pool_create(&pool, adoption->uses.context->pool);
    problem = tseed_quota_config_load(&config, saved, pool);
    if (problem) {
        tseed_log(
            TSEED_LOG_ERROR, APR_SUCCESS,
            "TS0039: the disk quota in the state database can't be read, the last one stays: %s",
            problem);
        apr_pool_destroy(pool);
        tseed_evict_configure(
            adoption->uses.evict); /* it may be the directive's, and not in effect yet */
        return;
    }
    if (adoption->pool) {
        apr_pool_destroy(adoption->pool);
    }
    adoption->uses.cache->quota = config;
    adoption->pool = pool;
    tseed_gauges_rule_set(adoption->uses.context->board,
                          &(tseed_quota_rule_t){config.enabled, config.policy, config.quota.bytes});
    tseed_evict_configure(adoption->uses.evict);
}

apr_status_t tseed_quota_adoption_hear(tseed_quota_adoption_t *adoption)
{
    const char *saved, *directive = "";
    int64_t version = 0;
    apr_status_t rv;

    rv = tseed_state_quota_get(adoption->uses.session->state, &saved, &directive, &version,
                               adoption->uses.context->scratch);
    if (rv == APR_NOTFOUND ||
        (rv == APR_SUCCESS && is_newest(adoption) &&
         strcmp(directive, adoption->uses.context->settings->quota_directive) != 0)) {
        rv = adopt_directive(adoption, directive, version);
        if (rv == APR_SUCCESS) {
            rv = tseed_state_quota_get(adoption->uses.session->state, &saved, &directive, &version,
                                       adoption->uses.context->scratch);
        }
    }
    if (rv == APR_SUCCESS && version != adoption->version) {
        adopt(adoption, saved);
        if (tseed_board_quota_set(adoption->uses.context->board, saved, version) != APR_SUCCESS) {
            tseed_board_quota_set(adoption->uses.context->board, "",
                                  version); /* too long: the database has it */
        }
        adoption->version = version;
    }
    return APR_STATUS_IS_EAGAIN(rv) ? APR_SUCCESS : rv;
}
