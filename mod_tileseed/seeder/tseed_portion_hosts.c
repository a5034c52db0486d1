/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The hosts that stand by. */
#include "seeder/tseed_portion_hosts.h"

#include <apr_strings.h>
#include <limits.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "state/tseed_portion_rows.h"

#define LOOK_EVERY    APR_USEC_PER_SEC
#define SHUNNED       (60 * APR_USEC_PER_SEC) /* at least */
#define SHUNNED_MOST  (10 * SHUNNED)
#define FAILURES_MOST 8 /* in a row */

typedef struct {
    int64_t epoch;
    const char *name;
    int failures;             /* in a row */
    apr_time_t shunned_until; /* monotonic; 0: it is not */
} host_t;

struct tseed_portion_hosts_t {
    apr_pool_t *pool, *list_pool; /* list_pool: of the list */
    apr_array_header_t *list;     /* of host_t */
    apr_time_t looked;            /* monotonic; 0: the list is not to be believed */
};

static apr_array_header_t *empty_list(apr_pool_t *pool, int size)
{
    return apr_array_make(pool, size + 1, sizeof(host_t));
}

tseed_portion_hosts_t *tseed_portion_hosts_create(apr_pool_t *pool)
{
    tseed_portion_hosts_t *hosts = apr_pcalloc(pool, sizeof(*hosts));

    hosts->pool = pool;
    apr_pool_create(&hosts->list_pool, pool);
    hosts->list = empty_list(hosts->list_pool, 0);
    return hosts;
}

static host_t *host_of(const tseed_portion_hosts_t *hosts, int64_t epoch)
{
    for (int i = 0; i < hosts->list->nelts; i++) {
        host_t *host = &APR_ARRAY_IDX(hosts->list, i, host_t);

        if (host->epoch == epoch) {
            return host;
        }
    }
    return NULL;
}

/* Whether a list has a host of that name. Its seeder may have begun anew, with another epoch. */
static int has_name(const apr_array_header_t *list, const char *name)
{
    int i = 0;

    while (i < list->nelts && strcmp(APR_ARRAY_IDX(list, i, host_t).name, name) != 0) {
        i++;
    }
    return i < list->nelts;
}

static int is_open(const host_t *host)
{
    return !host->shunned_until;
}

/* ---- looking ---- */

static void tell_gone(const apr_array_header_t *before, const apr_array_header_t *now)
{
    for (int i = 0; i < before->nelts; i++) {
        const host_t *host = &APR_ARRAY_IDX(before, i, host_t);

        if (!has_name(now, host->name)) {
            tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                      "TS0093: host '%s' stands by no longer: it was stopped, it drains, or it has "
                      "not renewed its lease",
                      host->name);
        }
    }
}

static void tell_new(const apr_array_header_t *before, const apr_array_header_t *now)
{
    for (int i = 0; i < now->nelts; i++) {
        const host_t *host = &APR_ARRAY_IDX(now, i, host_t);

        if (!has_name(before, host->name)) {
            tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "TS0094: host '%s' stands by", host->name);
        }
    }
}

static void take(tseed_portion_hosts_t *hosts, const apr_array_header_t *found)
{
    const apr_time_t now = tseed_clock_monotonic();
    apr_pool_t *pool;
    apr_array_header_t *list;

    apr_pool_create(&pool, hosts->pool);
    list = empty_list(pool, found->nelts);
    for (int i = 0; i < found->nelts; i++) {
        const tseed_portion_host_t *one = &APR_ARRAY_IDX(found, i, tseed_portion_host_t);
        const host_t *before = host_of(hosts, one->epoch);
        host_t *host = apr_array_push(list);

        *host = (host_t){.epoch = one->epoch, .name = apr_pstrdup(pool, one->name)};
        if (before) {
            host->failures = before->failures;
            host->shunned_until = before->shunned_until > now ? before->shunned_until : 0;
        }
    }
    tell_gone(hosts->list, list);
    tell_new(hosts->list, list);
    apr_pool_destroy(hosts->list_pool);
    hosts->list_pool = pool;
    hosts->list = list;
}

apr_status_t tseed_portion_hosts_look(tseed_portion_hosts_t *hosts, tseed_state_t *state,
                                      const char *name, apr_pool_t *scratch)
{
    const apr_time_t now = tseed_clock_monotonic();
    apr_array_header_t *found;
    apr_status_t rv;

    if (hosts->looked && now < hosts->looked + LOOK_EVERY) {
        return APR_SUCCESS;
    }
    rv = tseed_portion_rows_hosts(state, &found, name, scratch);
    if (rv == APR_SUCCESS) {
        hosts->looked = now;
        take(hosts, found);
    }
    return rv;
}

void tseed_portion_hosts_lose(tseed_portion_hosts_t *hosts)
{
    hosts->looked = 0;
}

/* ---- asking ---- */

int tseed_portion_hosts_count_open(const tseed_portion_hosts_t *hosts)
{
    int count = 0;

    for (int i = 0; hosts->looked && i < hosts->list->nelts; i++) {
        count += is_open(&APR_ARRAY_IDX(hosts->list, i, host_t));
    }
    return count;
}

int tseed_portion_hosts_has(const tseed_portion_hosts_t *hosts, int64_t epoch)
{
    return hosts->looked && host_of(hosts, epoch);
}

int64_t tseed_portion_hosts_idlest(const tseed_portion_hosts_t *hosts,
                                   tseed_portions_in_hand_t *in_hand, const void *baton)
{
    int64_t found = 0;
    int fewest = INT_MAX;

    for (int i = 0; i < hosts->list->nelts; i++) {
        const host_t *host = &APR_ARRAY_IDX(hosts->list, i, host_t);
        const int count = in_hand(baton, host->epoch);

        if (is_open(host) && count < fewest) {
            found = host->epoch;
            fewest = count;
        }
    }
    return found;
}

/* ---- judging ---- */

void tseed_portion_hosts_shun(tseed_portion_hosts_t *hosts, int64_t epoch, const char *reason,
                              apr_interval_time_t pause)
{
    host_t *host = host_of(hosts, epoch);
    const apr_interval_time_t least = pause > SHUNNED ? pause : SHUNNED;
    const apr_interval_time_t length = least < SHUNNED_MOST ? least : SHUNNED_MOST;

    if (host && is_open(host)) {
        host->shunned_until = tseed_clock_monotonic() + length;
        host->failures = 0;
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0089: host '%s' gets no more requests of this host for %d s: %s", host->name,
                  (int)apr_time_sec(length), reason);
    }
}

void tseed_portion_hosts_succeeded(tseed_portion_hosts_t *hosts, int64_t epoch)
{
    host_t *host = host_of(hosts, epoch);

    if (host) {
        host->failures = 0;
    }
}

void tseed_portion_hosts_failed(tseed_portion_hosts_t *hosts, int64_t epoch, const char *cause,
                                apr_pool_t *scratch)
{
    host_t *host = host_of(hosts, epoch);

    if (host && ++host->failures >= FAILURES_MOST) {
        tseed_portion_hosts_shun(hosts, epoch,
                                 apr_psprintf(scratch, "its requests fail (%s)", cause), 0);
    }
}
