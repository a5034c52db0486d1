/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Errands: requests that other hosts carry out, which hosts get some, and their results. Their list
 * is walked: the seeder never has more transfers in hand than threads. */
#include "fleet/tseed_errands.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <apr_strings.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "fleet/tseed_fleet_rows.h"
#include "fleet/tseed_hosts.h"
#include "fleet/tseed_portion.h"

/* The hosts that stand by. */

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
        const tseed_standby_t *one = &APR_ARRAY_IDX(found, i, tseed_standby_t);
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
    rv = tseed_hosts_standby(state, &found, name, scratch);
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

/* Results of portions as text. */

static const char *const words[] = {"ok", "unchanged", "failed", "undone", "refused"};

#define OUTCOMES ((int)(sizeof(words) / sizeof(words[0])))
#define DAY      (24 * 3600 * APR_USEC_PER_SEC)

/* The numbers of a line and the most of each. */
static const int64_t number_most[] = {999, 1, DAY, DAY, DAY, INT32_MAX};

#define NUMBERS ((int)(sizeof(number_most) / sizeof(number_most[0])))
#define FIELDS  (NUMBERS + 2)

/* What was cancelled has not ended. */
static apr_interval_time_t age_of(const tseed_transfer_t *transfer, apr_time_t now)
{
    return transfer->ended > 0 && transfer->ended < now ? now - transfer->ended : 0;
}

const char *tseed_portion_result_write(tseed_portion_outcome_t outcome,
                                       const tseed_transfer_t *transfer, apr_time_t now,
                                       apr_pool_t *pool)
{
    if (outcome == TSEED_PORTION_REFUSED) {
        return apr_pstrcat(pool, words[outcome], " ", tseed_portion_field(transfer->cause, pool),
                           NULL);
    }
    return apr_psprintf(pool,
                        "%s %d %d %" APR_TIME_T_FMT " %" APR_TIME_T_FMT " %" APR_TIME_T_FMT
                        " %" APR_SIZE_T_FMT " %s %s",
                        words[outcome], transfer->http_status, transfer->sent, transfer->took,
                        age_of(transfer, now), transfer->retry_after, transfer->received,
                        tseed_portion_field(transfer->next_condition, pool),
                        tseed_portion_field(transfer->cause, pool));
}

/* The number of a line's outcome, or -1. */
static int outcome_of(const char *word)
{
    int outcome = OUTCOMES - 1;

    while (outcome >= 0 && strcmp(words[outcome], word) != 0) {
        outcome--;
    }
    return outcome;
}

static int read_numbers(int64_t *numbers, char **fields)
{
    for (int i = 0; i < NUMBERS; i++) {
        if (tseed_text_int64(&numbers[i], fields[i], 0, number_most[i]) != 0) {
            return 0;
        }
    }
    return 1;
}

static int read_cause(tseed_portion_result_t *result, const char *field, apr_pool_t *pool)
{
    const char *cause = tseed_portion_text(field, pool);

    result->cause = cause ? tseed_text_quote(cause, TSEED_CAUSE_SIZE - 1, pool) : "";
    return cause != NULL;
}

static int read_fields(tseed_portion_result_t *result, char **fields, apr_pool_t *pool)
{
    const char *condition = tseed_portion_condition(fields[NUMBERS], pool);
    int64_t numbers[NUMBERS];

    if (!read_numbers(numbers, fields) || !read_cause(result, fields[NUMBERS + 1], pool)) {
        return 0;
    }
    result->http_status = (int)numbers[0];
    result->sent = (int)numbers[1];
    result->took = numbers[2];
    result->age = numbers[3];
    result->retry_after = numbers[4];
    result->received = (size_t)numbers[5];
    result->next_condition = condition ? condition : "";
    return 1;
}

int tseed_portion_result_read(tseed_portion_result_t *result, char *line, apr_pool_t *pool)
{
    char *fields[FIELDS], *last = NULL, *word = apr_strtok(line, " ", &last);
    const int outcome = word ? outcome_of(word) : -1;
    int count = 0;

    *result = (tseed_portion_result_t){.outcome = (tseed_portion_outcome_t)outcome};
    if (outcome < 0) {
        return 0;
    }
    for (char *field = apr_strtok(NULL, " ", &last); field; field = apr_strtok(NULL, " ", &last)) {
        if (count < FIELDS) {
            fields[count] = field;
        }
        count++;
    }
    return outcome == TSEED_PORTION_REFUSED ? count == 1 && read_cause(result, fields[0], pool)
                                            : count == FIELDS && read_fields(result, fields, pool);
}

void tseed_portion_result_put(tseed_transfer_t *transfer, const tseed_portion_result_t *result)
{
    transfer->result = result->outcome == TSEED_PORTION_OK ? TSEED_FETCH_OK : TSEED_FETCH_UNCHANGED;
    transfer->http_status = result->http_status;
    transfer->sent = result->sent;
    transfer->took = result->took;
    transfer->ended = tseed_clock_monotonic() - result->age;
    transfer->received = result->received;
    transfer->length = 0;
    apr_cpystrn(transfer->next_condition, result->next_condition, sizeof(transfer->next_condition));
}

void tseed_errands_init(tseed_errands_t *errands)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&errands->lock, NULL);
    pthread_cond_init(&errands->has_more, &attributes);
    pthread_condattr_destroy(&attributes);
    errands->first = NULL;
    errands->end = &errands->first;
}

void tseed_errands_add(tseed_errands_t *errands, tseed_transfer_t *transfer)
{
    tseed_errand_t *errand = tseed_memory_get(sizeof(*errand));

    *errand = (tseed_errand_t){.transfer = transfer};
    pthread_mutex_lock(&errands->lock);
    *errands->end = errand;
    errands->end = &errand->next;
    pthread_cond_signal(&errands->has_more);
    pthread_mutex_unlock(&errands->lock);
}

/* Under lock. */
static tseed_errand_t *take_out(tseed_errands_t *errands, tseed_errand_t **link)
{
    tseed_errand_t *errand = *link;

    *link = errand->next;
    errands->end = *link ? errands->end : link;
    return errand;
}

int tseed_errands_recall(tseed_errands_t *errands, const tseed_transfer_t *transfer)
{
    tseed_errand_t **link, *found;

    pthread_mutex_lock(&errands->lock);
    link = &errands->first;
    while (*link && (*link)->transfer != transfer) {
        link = &(*link)->next;
    }
    found = *link;
    if (found && found->epoch) {
        found->transfer = NULL;
    } else if (found) {
        free(take_out(errands, link));
    }
    pthread_mutex_unlock(&errands->lock);
    return found != NULL;
}

tseed_errand_t *tseed_errands_take(tseed_errands_t *errands, tseed_errand_choice_t *choice,
                                   const void *data)
{
    tseed_errand_t **link, *found;

    pthread_mutex_lock(&errands->lock);
    link = &errands->first;
    while (*link && !choice(errands, *link, data)) {
        link = &(*link)->next;
    }
    found = *link ? take_out(errands, link) : NULL;
    pthread_mutex_unlock(&errands->lock);
    return found;
}

int tseed_errands_wait(tseed_errands_t *errands, apr_interval_time_t most)
{
    const apr_time_t until = tseed_clock_monotonic() + most;
    const struct timespec end = {until / APR_USEC_PER_SEC, until % APR_USEC_PER_SEC * 1000};
    int has_some, rv = 0;

    pthread_mutex_lock(&errands->lock);
    while (!errands->first && most > 0 && rv == 0) {
        rv = pthread_cond_timedwait(&errands->has_more, &errands->lock, &end);
    }
    has_some = errands->first != NULL;
    pthread_mutex_unlock(&errands->lock);
    return has_some;
}

int tseed_errands_in_hand(const tseed_errands_t *errands, int64_t epoch)
{
    int count = 0;

    for (const tseed_errand_t *errand = errands->first; errand; errand = errand->next) {
        count += errand->epoch == epoch;
    }
    return count;
}

void tseed_errands_each(tseed_errands_t *errands, tseed_errand_visit_t *visit, void *baton)
{
    pthread_mutex_lock(&errands->lock);
    for (tseed_errand_t *errand = errands->first; errand; errand = errand->next) {
        visit(baton, errand);
    }
    pthread_mutex_unlock(&errands->lock);
}

void tseed_errands_settle(tseed_errands_t *errands, int is_given)
{
    tseed_errand_t **link = &errands->first;

    pthread_mutex_lock(&errands->lock);
    while (*link) {
        tseed_errand_t *errand = *link;

        errand->is_given = errand->is_given || (errand->epoch && is_given);
        errand->epoch = errand->is_given ? errand->epoch : 0;
        if (errand->epoch || errand->transfer) {
            link = &errand->next;
        } else {
            free(take_out(errands, link));
        }
    }
    pthread_mutex_unlock(&errands->lock);
}

int tseed_errands_lines(tseed_errands_t *errands, int64_t number)
{
    int lines = 0;

    pthread_mutex_lock(&errands->lock);
    for (const tseed_errand_t *errand = errands->first; errand; errand = errand->next) {
        if (errand->is_given && errand->number == number && errand->index >= lines) {
            lines = errand->index + 1;
        }
    }
    pthread_mutex_unlock(&errands->lock);
    return lines;
}
