/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Accounts.
 *
 * The numbers stand for themselves: nothing else is published through them, so relaxed order is
 * enough. A compare-and-swap makes comparison with the limit and reservation one step.
 */
#include "quota/tseed_account.h"

#include <stdatomic.h>

#include "base/tseed_memory.h"

/* The amount that is used and its limit; bytes or files. */
typedef struct {
    _Atomic int64_t used, limit;
} gauge_t;

struct tseed_account_t {
    gauge_t bytes, files;
};

static int64_t load(const _Atomic int64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

tseed_account_t *tseed_account_create(void)
{
    tseed_account_t *account = tseed_memory_get(sizeof(*account));

    tseed_account_limit_set(account, (tseed_amount_t){TSEED_NO_LIMIT, TSEED_NO_LIMIT});
    return account;
}

tseed_amount_t tseed_account_used(const tseed_account_t *account)
{
    return (tseed_amount_t){load(&account->bytes.used), load(&account->files.used)};
}

tseed_amount_t tseed_account_limit(const tseed_account_t *account)
{
    return (tseed_amount_t){load(&account->bytes.limit), load(&account->files.limit)};
}

void tseed_account_limit_set(tseed_account_t *account, tseed_amount_t limit)
{
    atomic_store_explicit(&account->bytes.limit, limit.bytes, memory_order_relaxed);
    atomic_store_explicit(&account->files.limit, limit.files, memory_order_relaxed);
}

static int64_t beyond(const gauge_t *gauge)
{
    int64_t used = load(&gauge->used), limit = load(&gauge->limit);

    return limit != TSEED_LIMIT_UNKNOWN && used > limit ? used - limit : 0;
}

tseed_amount_t tseed_account_excess(const tseed_account_t *account)
{
    return (tseed_amount_t){beyond(&account->bytes), beyond(&account->files)};
}

/* ---- charging ---- */

static void add(gauge_t *gauge, int64_t amount)
{
    atomic_fetch_add_explicit(&gauge->used, amount, memory_order_relaxed);
}

static int reserve(gauge_t *gauge, int64_t amount)
{
    int64_t used = load(&gauge->used);

    do {
        const int64_t limit = load(&gauge->limit);

        if (limit == TSEED_LIMIT_UNKNOWN || used > limit - amount) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak_explicit(&gauge->used, &used, used + amount,
                                                    memory_order_relaxed, memory_order_relaxed));
    return 1;
}

/* Reserves bytes and files, or neither; both are at least 0. An amount of 0 is not asked for: it
 * may be had even when the account is over its limit. */
static int reserve_both(tseed_account_t *account, tseed_amount_t rise)
{
    if (rise.bytes > 0 && !reserve(&account->bytes, rise.bytes)) {
        return 0;
    }
    if (rise.files > 0 && !reserve(&account->files, rise.files)) {
        add(&account->bytes, -rise.bytes);
        return 0;
    }
    return 1;
}

/* The part of an amount that must be reserved. */
static tseed_amount_t rise_of(tseed_amount_t amount)
{
    return (tseed_amount_t){amount.bytes > 0 ? amount.bytes : 0,
                            amount.files > 0 ? amount.files : 0};
}

static tseed_amount_t minus(tseed_amount_t a, tseed_amount_t b)
{
    return (tseed_amount_t){a.bytes - b.bytes, a.files - b.files};
}

static int try_one(tseed_account_t *account, tseed_amount_t rise)
{
    return !account || reserve_both(account, rise);
}

/* From the broadest on: it is the one that is usually full. */
tseed_account_t *tseed_account_charge(const tseed_chain_t *chain, tseed_amount_t amount)
{
    const tseed_amount_t rise = rise_of(amount);

    if (!try_one(chain->global, rise)) {
        return chain->global;
    }
    if (!try_one(chain->root, rise)) {
        tseed_account_release(&(tseed_chain_t){.global = chain->global}, rise);
        return chain->root;
    }
    if (!try_one(chain->layer, rise)) {
        tseed_account_release(&(tseed_chain_t){.global = chain->global, .root = chain->root}, rise);
        return chain->layer;
    }
    tseed_account_correct(chain, minus(amount, rise)); /* what falls */
    return NULL;
}

void tseed_account_release(const tseed_chain_t *chain, tseed_amount_t amount)
{
    tseed_account_correct(chain, minus((tseed_amount_t){0, 0}, amount));
}

void tseed_account_correct(const tseed_chain_t *chain, tseed_amount_t amount)
{
    tseed_account_t *const links[] = {chain->global, chain->root, chain->layer};

    for (int i = 0; i < 3; i++) {
        if (links[i]) {
            add(&links[i]->bytes, amount.bytes);
            add(&links[i]->files, amount.files);
        }
    }
}
