/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The list of errands. It is walked: the seeder never has more transfers in hand than threads. */
#include "seeder/tseed_errands.h"

#include <stdlib.h>
#include <time.h>

#include "base/tseed_clock.h"
#include "base/tseed_memory.h"

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
