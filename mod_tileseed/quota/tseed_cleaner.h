/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cleaner's judgement: which limits hold, what must go, and when that may begin.
 *
 * It has the accounts: one of each layer and each store root, and the global one. Nothing is
 * removed here; whoever removes asks what is over its limit, takes victims from the book, a bounded
 * number at a time, and asks again.
 *
 * Owned by the seeder's main thread; workers use the accounts. Periods and the time of grace go by
 * the monotonic clock, so whoever sets the wall clock ends or prolongs none of them; what is left
 * of the time of grace outlives the process. Only what people read of it is wall time.
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

/* Keeps of the settings: quota_files, min_free and quota_grace. Everything lives in `pool`. Before
 * tseed_cleaner_configure nothing is limited. */
tseed_cleaner_t *tseed_cleaner_create(const tseed_settings_t *settings, apr_pool_t *pool);

/* The accounts of a tile set, made when they are first asked for; they live as long as the cleaner,
 * and what they limit is said by tseed_cleaner_configure from then on. */
tseed_chain_t tseed_cleaner_chain(tseed_cleaner_t *cleaner, const char *layer, const char *root);

/* Puts a configuration into effect: after a PUT, when tile sets have come, and when `known` has
 * changed: whether all that was there at the start is booked. The limits hold by what is booked,
 * whether it is all or not; while the quota is off only the floor of free space holds. */
void tseed_cleaner_configure(tseed_cleaner_t *cleaner, const tseed_quota_config_t *config,
                             int known);

/* The store roots: number 0, 1, …, NULL behind the last. */
const char *tseed_cleaner_root(const tseed_cleaner_t *cleaner, unsigned number);

/* Says how many bytes are free below a root, for those who may use them; to be said about once a
 * second. The root's account may grow until TileSeedMinFree is left; without that it has no limit.
 */
void tseed_cleaner_free_set(tseed_cleaner_t *cleaner, const char *root, int64_t bytes);

/* ---- what must go ---- */

typedef struct {
    tseed_account_t *account; /* the victims' */
    tseed_policy_t policy;
    tseed_amount_t excess;
    unsigned number; /* of the account among all of them */
} tseed_duty_t;

/* What is over its limit: layers first, then store roots, then all together; the first `skip`
 * accounts are passed over. 0: nothing, or nothing may be removed at all (the quota is off). */
int tseed_cleaner_next(const tseed_cleaner_t *cleaner, tseed_duty_t *duty, unsigned skip);

/* By which policy room is made in an account that refused a charge. */
tseed_policy_t tseed_cleaner_policy(const tseed_cleaner_t *cleaner, const tseed_account_t *account);

/* To be called about once a second: time passes. Returns whether the periodic clean-up begins now:
 * once each cacheCleanUpFrequency, or when somebody wants one. */
int tseed_cleaner_due(tseed_cleaner_t *cleaner, tseed_moment_t now);

/* How many clean-ups may run at once. */
int64_t tseed_cleaner_workers(const tseed_cleaner_t *cleaner);

typedef enum {
    TSEED_CLEAN_NEVER,   /* the quota is off */
    TSEED_CLEAN_UNKNOWN, /* the first time not before it can be said how much would go */
    TSEED_CLEAN_LATER,   /* not before the time of grace is over */
    TSEED_CLEAN_NOW
} tseed_clean_t;

/* Asked before anything is removed for the quota's sake. The first removal since the quota was
 * switched on waits for TileSeedDiskQuotaGrace if it would take more than a fifth of what is used;
 * an error to be logged, once, is *sentence then, in `pool`, else NULL. */
tseed_clean_t tseed_cleaner_ask(tseed_cleaner_t *cleaner, const char **sentence, tseed_moment_t now,
                                apr_pool_t *pool);

/* Somebody wants a clean-up now, whatever the period and the time of grace say. It begins as soon
 * as something may be removed, and is forgotten when the quota is off. */
void tseed_cleaner_hurry(tseed_cleaner_t *cleaner);

/* When the time of grace is over by the wall clock as it goes now, 0: none is running. */
apr_time_t tseed_cleaner_grace(const tseed_cleaner_t *cleaner);

/* What must outlive the process, as a short text; to be saved whenever it has changed, and loaded
 * before the first tseed_cleaner_configure. What can't be understood is as good as nothing. What is
 * left of the time of grace is rounded up to ten seconds, and the text changes as seldom. */
const char *tseed_cleaner_save(const tseed_cleaner_t *cleaner, apr_pool_t *pool);
void tseed_cleaner_load(tseed_cleaner_t *cleaner, const char *saved);

#endif
