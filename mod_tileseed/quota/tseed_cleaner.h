/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cleaner's judgement: which limits hold, what must go, and when removing may begin.
 *
 * The cleaner has the accounts: one for each layer and each store root, and the global one. It
 * removes nothing. The part of the seeder that removes asks the cleaner which account is over its
 * limit, takes a bounded number of victims from the book, and asks again.
 *
 * Owned by the seeder's main thread; workers use the accounts. Periods and the time of grace go by
 * the monotonic clock, so setting the wall clock neither ends nor prolongs them. The rest of the
 * time of grace outlives the process. People read its end as wall time.
 *
 * Texts go into the pool that a call takes.
 */
#ifndef TSEED_CLEANER_H
#define TSEED_CLEANER_H

#include <apr_time.h>

#include "protocol/tseed_settings.h"
#include "quota/tseed_account.h"

typedef struct tseed_cleaner_t tseed_cleaner_t;

/* One moment by both clocks of base/tseed_clock.h. */
typedef struct {
    apr_time_t monotonic, wall;
} tseed_moment_t;

/* A cleaner that keeps quota_files, min_free and quota_grace of the settings. Everything lives in
 * `pool`. Before tseed_cleaner_configure nothing is limited. */
tseed_cleaner_t *tseed_cleaner_create(const tseed_settings_t *settings, apr_pool_t *pool);

/* Returns the accounts of a tile set, and makes those that are new. They live as long as the
 * cleaner. The next tseed_cleaner_configure sets their limits. With TileSeedMinFree the account of
 * a store root has TSEED_LIMIT_UNKNOWN until tseed_cleaner_free_set is called. */
tseed_chain_t tseed_cleaner_chain(tseed_cleaner_t *cleaner, const char *layer, const char *root);

/* Puts a configuration into effect. Call it after a PUT, when there are new tile sets, and when
 * `known` has changed: whether the book has everything that was there at the start. The limits hold
 * by what the book has, even if that is not everything. While the quota is off only
 * TileSeedMinFree holds. */
void tseed_cleaner_configure(tseed_cleaner_t *cleaner, const tseed_quota_config_t *config,
                             int known);

/* The store roots: number 0, 1, …, NULL behind the last. */
const char *tseed_cleaner_root(const tseed_cleaner_t *cleaner, unsigned number);

/* Bytes in the account of a root. */
int64_t tseed_cleaner_used(const tseed_cleaner_t *cleaner, const char *root);

/* What is used of all configured layers together, by the global account. */
tseed_amount_t tseed_cleaner_sum(const tseed_cleaner_t *cleaner);

/* Tells the cleaner how many bytes are free below a root for processes without privileges, and how
 * many bytes were in the root's account when this was measured. Call it about once a second. The
 * root's account may grow until TileSeedMinFree is left; without TileSeedMinFree the account has no
 * limit. INT64_MAX: the root can't be measured. Then the account keeps the limit of the last
 * measure, or has no limit if there was none. */
void tseed_cleaner_free_set(tseed_cleaner_t *cleaner, const char *root, int64_t bytes,
                            int64_t used);

/* ---- what must go ---- */

typedef struct {
    tseed_account_t *account; /* the victims' */
    tseed_policy_t policy;
    tseed_amount_t excess;
    unsigned number; /* of the account among all of them */
} tseed_duty_t;

/* Finds an account that is over its limit: layers first, then store roots, then the global one; the
 * first `skip` accounts are passed over. Returns 0 when there is none, or when nothing may be
 * removed because the quota is off. */
int tseed_cleaner_next(const tseed_cleaner_t *cleaner, tseed_duty_t *duty, unsigned skip);

/* By which policy room is made in an account that refused a charge. */
tseed_policy_t tseed_cleaner_policy(const tseed_cleaner_t *cleaner, const tseed_account_t *account);

/* Tells the cleaner the time, about once a second. Returns whether the periodic clean-up begins
 * now: once in each cacheCleanUpFrequency, and after tseed_cleaner_hurry. */
int tseed_cleaner_due(tseed_cleaner_t *cleaner, tseed_moment_t now);

/* How many clean-ups may run at once. */
int64_t tseed_cleaner_workers(const tseed_cleaner_t *cleaner);

typedef enum {
    TSEED_CLEAN_NEVER,   /* the quota is off */
    TSEED_CLEAN_UNKNOWN, /* the book is not complete, so nobody knows how much the first removal
                          * would take */
    TSEED_CLEAN_LATER,   /* not before the time of grace is over */
    TSEED_CLEAN_NOW
} tseed_clean_t;

/* Returns whether a removal for the quota may begin. Ask before each removal. The first removal
 * since the quota was switched on waits for TileSeedDiskQuotaGrace if it would take more than a
 * fifth of the usage. When this wait begins, *sentence is an error for the log, in `pool`. At all
 * other calls *sentence is NULL. The wait ends, and nothing of it is remembered, when the removal
 * would take a fifth or less. */
tseed_clean_t tseed_cleaner_ask(tseed_cleaner_t *cleaner, const char **sentence, tseed_moment_t now,
                                apr_pool_t *pool);

/* Asks for a clean-up now, whatever the period and the time of grace say. The clean-up begins as
 * soon as something may be removed. The request is forgotten when the quota is off. */
void tseed_cleaner_hurry(tseed_cleaner_t *cleaner);

/* When the time of grace is over by the wall clock as it goes now, 0: none is running. */
apr_time_t tseed_cleaner_grace(const tseed_cleaner_t *cleaner);

/* save: the state that must outlive the process, as a short text in `pool`; the caller saves it
 * when it has changed. load: takes such a text, before the first tseed_cleaner_configure; a text
 * that it can't understand counts as none. The text has the rest of the time of grace rounded up to
 * ten seconds, so it changes every ten seconds at most. */
const char *tseed_cleaner_save(const tseed_cleaner_t *cleaner, apr_pool_t *pool);
void tseed_cleaner_load(tseed_cleaner_t *cleaner, const char *saved);

#endif
