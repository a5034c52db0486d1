/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The plan of evictions: which page goes next, and what for. The plan removes nothing itself. Main
 * thread only. */
#ifndef TSEED_EVICT_PLAN_H
#define TSEED_EVICT_PLAN_H

#include "books/tseed_cache.h"
#include "books/tseed_quota_wait.h"

typedef struct tseed_evict_plan_t tseed_evict_plan_t;

/* Makes a plan for the cache in `pool`. No clean-up is due and no page is leaving. */
tseed_evict_plan_t *tseed_evict_plan_create(const tseed_cache_t *cache, apr_pool_t *pool);

/* The periodic clean-up is due. It goes on until nothing is over its limit, or nothing more may go.
 */
void tseed_evict_plan_clean_up(tseed_evict_plan_t *plan);

/* Sets which account is to get room. The account of a refused write (`want`; NULL: no write was
 * refused) comes before the accounts of the clean-up. Returns 0 when there is nothing to do, or
 * when the pages that are being removed are enough. */
int tseed_evict_plan_duty(tseed_duty_t *duty, tseed_evict_plan_t *plan, const tseed_want_t *want);

/* The next page to go for a duty. Returns 0 when no page may go. */
int tseed_evict_plan_victim(tseed_book_page_t *victim, tseed_evict_plan_t *plan,
                            const tseed_duty_t *duty);

/* No page may go for a duty of the clean-up. The rest of the clean-up passes over the account of
 * the duty and the accounts before it. */
void tseed_evict_plan_skip(tseed_evict_plan_t *plan, const tseed_duty_t *duty);

/* begin: the removal of a page begins; `held` is what the page holds. end: the removal is over,
 * whether it has removed the page or not; `held` is the same as at the begin. */
void tseed_evict_plan_begin(tseed_evict_plan_t *plan, const tseed_effect_t *held);
void tseed_evict_plan_end(tseed_evict_plan_t *plan, const tseed_effect_t *held);

/* How many pages are being removed. */
int tseed_evict_plan_leaving(const tseed_evict_plan_t *plan);

#endif
