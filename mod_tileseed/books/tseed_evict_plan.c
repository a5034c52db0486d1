/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cleaner says which accounts are over their limits; the book says which pages are used least.
 * Each question to the book goes over all pages. So the plan asks for several pages at once and
 * uses them one by one. */
#include "books/tseed_evict_plan.h"

#define VICTIMS 64 /* chosen at once */

struct tseed_evict_plan_t {
    const tseed_cache_t *cache;
    int is_due;                       /* the clean-up goes on */
    unsigned skip;                    /* duties of this clean-up for which no page may go */
    int leaving;                      /* pages that are being removed, */
    tseed_amount_t amount;            /* and what they hold */
    tseed_book_page_t found[VICTIMS]; /* victims that the book has chosen */
    size_t next, count;               /* of `found` */
    const tseed_account_t *found_for;
};

tseed_evict_plan_t *tseed_evict_plan_create(const tseed_cache_t *cache, apr_pool_t *pool)
{
    tseed_evict_plan_t *plan = apr_pcalloc(pool, sizeof(*plan));

    plan->cache = cache;
    return plan;
}

void tseed_evict_plan_clean_up(tseed_evict_plan_t *plan)
{
    plan->is_due = 1;
    plan->skip = 0;
}

/* ---- duties ---- */

/* Whether what is leaving already is enough. */
static int is_covered(const tseed_evict_plan_t *plan, const tseed_duty_t *duty)
{
    return plan->leaving > 0 && duty->excess.bytes <= plan->amount.bytes &&
           duty->excess.files <= plan->amount.files;
}

int tseed_evict_plan_duty(tseed_duty_t *duty, tseed_evict_plan_t *plan, const tseed_want_t *want)
{
    const tseed_cleaner_t *cleaner = plan->cache->cleaner;

    if (want && plan->leaving > 0 &&
        tseed_quota_wait_has_room(want->account, want->amount, plan->amount)) {
        return 0;
    }
    if (want) {
        *duty = (tseed_duty_t){.account = want->account,
                               .policy = tseed_cleaner_policy(cleaner, want->account)};
        return 1;
    }
    plan->is_due = plan->is_due && tseed_cleaner_next(cleaner, duty, plan->skip);
    return plan->is_due && !is_covered(plan, duty);
}

void tseed_evict_plan_skip(tseed_evict_plan_t *plan, const tseed_duty_t *duty)
{
    plan->skip = duty->number + 1;
}

/* ---- victims ---- */

/* How many victims to choose at once. A page that becomes a better victim later is not among them,
 * so they must be a small part of all pages. */
static size_t portion_of(const tseed_book_t *book)
{
    const int64_t pages = tseed_book_pages(book);

    return pages < VICTIMS * VICTIMS ? (size_t)(1 + pages / VICTIMS) : VICTIMS;
}

/* Takes the next chosen page that may still go. Returns 0 when there is none. */
static int next_found(tseed_book_page_t *victim, tseed_evict_plan_t *plan)
{
    while (plan->next < plan->count) {
        *victim = plan->found[plan->next++];
        if (tseed_book_is_victim(plan->cache->book, victim)) {
            return 1;
        }
    }
    return 0;
}

int tseed_evict_plan_victim(tseed_book_page_t *victim, tseed_evict_plan_t *plan,
                            const tseed_duty_t *duty)
{
    tseed_book_t *book = plan->cache->book;

    if (plan->found_for == duty->account && next_found(victim, plan)) {
        return 1;
    }
    plan->found_for = duty->account;
    plan->next = 0;
    plan->count =
        tseed_book_victims(plan->found, portion_of(book), book, duty->account, duty->policy);
    return next_found(victim, plan);
}

/* ---- what leaves ---- */

void tseed_evict_plan_begin(tseed_evict_plan_t *plan, const tseed_effect_t *held)
{
    plan->leaving++;
    plan->amount.bytes += held->allocated;
    plan->amount.files += held->files;
}

void tseed_evict_plan_end(tseed_evict_plan_t *plan, const tseed_effect_t *held)
{
    plan->leaving--;
    plan->amount.bytes -= held->allocated;
    plan->amount.files -= held->files;
}

int tseed_evict_plan_leaving(const tseed_evict_plan_t *plan)
{
    return plan->leaving;
}
