/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The cleaner's judgement. */
#include "quota/tseed_cleaner.h"

#include <apr_strings.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"

#define A_LARGE_PART 5 /* one over this is what must not go unannounced */
#define COARSE       apr_time_from_sec(10)
#define A_JUMP       apr_time_from_sec(1) /* of the wall clock; less than that is its drift */

/* An account with what it is judged by. */
typedef struct {
    tseed_account_t *account;
    const char *name; /* of the layer, the root's path */
    tseed_policy_t policy;
} entry_t;

struct tseed_cleaner_t {
    apr_pool_t *pool;
    int64_t most_files, min_free;
    apr_interval_time_t grace;
    apr_array_header_t *layers, *roots; /* of entry_t */
    entry_t global;

    int is_known; /* all that was there at the start is booked */
    apr_interval_time_t period;
    int64_t workers;
    int has_begun;     /* a periodic clean-up: … */
    apr_time_t last;   /* … the last one did then, by the monotonic clock */
    int is_wanted;     /* one is to begin now */
    apr_time_t looked; /* when the time of grace was last looked at, monotonic; 0: never */
    apr_time_t until;  /* its end as people read it, wall time */

    int enabled;     /* remembered: … */
    int has_removed; /* … something was removed since it was switched on, or may be at once */
    apr_interval_time_t left; /* … of the time of grace; 0: none is running */
};

static apr_status_t free_account(void *account)
{
    free(account);
    return APR_SUCCESS;
}

static entry_t entry_create(const char *name, apr_pool_t *pool)
{
    entry_t entry = {.name = apr_pstrdup(pool, name), .account = tseed_account_create()};

    apr_pool_cleanup_register(pool, entry.account, free_account, apr_pool_cleanup_null);
    return entry;
}

tseed_cleaner_t *tseed_cleaner_create(const tseed_settings_t *settings, apr_pool_t *pool)
{
    tseed_cleaner_t *cleaner = apr_pcalloc(pool, sizeof(*cleaner));

    cleaner->pool = pool;
    cleaner->most_files = settings->quota_files;
    cleaner->min_free = settings->min_free;
    cleaner->grace = settings->quota_grace;
    cleaner->layers = apr_array_make(pool, 16, sizeof(entry_t));
    cleaner->roots = apr_array_make(pool, 4, sizeof(entry_t));
    cleaner->global = entry_create("all layers", pool);
    return cleaner;
}

/* ---- accounts ---- */

static entry_t *find(const apr_array_header_t *entries, const char *name)
{
    for (int i = 0; i < entries->nelts; i++) {
        entry_t *entry = &APR_ARRAY_IDX(entries, i, entry_t);

        if (strcmp(entry->name, name) == 0) {
            return entry;
        }
    }
    return NULL;
}

static tseed_account_t *get(apr_array_header_t *entries, const char *name)
{
    entry_t *entry = find(entries, name);

    if (!entry) {
        entry = apr_array_push(entries);
        *entry = entry_create(name, entries->pool);
    }
    return entry->account;
}

static tseed_account_t *get_root(tseed_cleaner_t *cleaner, const char *path)
{
    const int is_new = !find(cleaner->roots, path);
    tseed_account_t *account = get(cleaner->roots, path);

    if (is_new && cleaner->min_free > 0) {
        tseed_account_limit_set(account, (tseed_amount_t){TSEED_LIMIT_UNKNOWN, TSEED_NO_LIMIT});
    }
    return account;
}

tseed_chain_t tseed_cleaner_chain(tseed_cleaner_t *cleaner, const char *layer, const char *root)
{
    return (tseed_chain_t){.layer = get(cleaner->layers, layer),
                           .root = get_root(cleaner, root),
                           .global = cleaner->global.account};
}

const char *tseed_cleaner_root(const tseed_cleaner_t *cleaner, unsigned number)
{
    return number < (unsigned)cleaner->roots->nelts
               ? APR_ARRAY_IDX(cleaner->roots, (int)number, entry_t).name
               : NULL;
}

tseed_amount_t tseed_cleaner_sum(const tseed_cleaner_t *cleaner)
{
    return tseed_account_used(cleaner->global.account);
}

/* ---- limits ---- */

static void limit_set(const entry_t *entry, int64_t bytes, int64_t files)
{
    tseed_account_limit_set(entry->account, (tseed_amount_t){bytes, files});
}

static apr_interval_time_t period_of(const tseed_quota_config_t *config)
{
    static const struct {
        const char *name;
        double microseconds;
    } units[] = {
        {"NANOSECONDS", 1e-3}, {"MICROSECONDS", 1}, {"MILLISECONDS", 1e3}, {"SECONDS", 1e6},
        {"MINUTES", 60e6},     {"HOURS", 3600e6},   {"DAYS", 86400e6},
    };
    double period = 0;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(units[i].name, config->frequency_units) == 0) {
            period = (double)config->frequency * units[i].microseconds;
        }
    }
    if (period >= 4e18) {
        return INT64_C(4000000000000000000); /* a hundred thousand years */
    }
    return period > 0 && period < 1 ? 1 : (apr_interval_time_t)period;
}

static void limit_layer(const tseed_cleaner_t *cleaner, entry_t *entry,
                        const tseed_quota_config_t *config)
{
    int64_t bytes = TSEED_NO_LIMIT;

    entry->policy = config->policy;
    for (int i = 0; i < config->layers->nelts; i++) {
        const tseed_layer_quota_t *quota = &APR_ARRAY_IDX(config->layers, i, tseed_layer_quota_t);

        if (strcmp(quota->layer, entry->name) == 0) {
            bytes = quota->quota.bytes;
            entry->policy = quota->has_policy ? quota->policy : config->policy;
        }
    }
    limit_set(entry, cleaner->enabled ? bytes : TSEED_NO_LIMIT, TSEED_NO_LIMIT);
}

/* When the quota is switched off the cleaner forgets what it has removed and announced. */
static void remember(tseed_cleaner_t *cleaner, int enabled)
{
    if (!enabled || !cleaner->enabled) {
        cleaner->has_removed = 0;
        cleaner->left = 0;
        cleaner->is_wanted = 0;
    }
    cleaner->enabled = enabled;
}

void tseed_cleaner_configure(tseed_cleaner_t *cleaner, const tseed_quota_config_t *config,
                             int known)
{
    remember(cleaner, config->enabled);
    cleaner->is_known = known;
    cleaner->period = period_of(config);
    cleaner->workers = config->concurrent_cleanups;
    for (int i = 0; i < cleaner->layers->nelts; i++) {
        limit_layer(cleaner, &APR_ARRAY_IDX(cleaner->layers, i, entry_t), config);
    }
    for (int i = 0; i < cleaner->roots->nelts; i++) {
        APR_ARRAY_IDX(cleaner->roots, i, entry_t).policy = config->policy;
    }
    cleaner->global.policy = config->policy;
    if (cleaner->enabled) {
        limit_set(&cleaner->global, config->quota.bytes, cleaner->most_files);
    } else {
        limit_set(&cleaner->global, TSEED_NO_LIMIT, TSEED_NO_LIMIT);
    }
}

int64_t tseed_cleaner_used(const tseed_cleaner_t *cleaner, const char *root)
{
    const entry_t *entry = find(cleaner->roots, root);

    return entry ? tseed_account_used(entry->account).bytes : 0;
}

static int64_t floor_of(const tseed_cleaner_t *cleaner, int64_t bytes, int64_t used)
{
    const int64_t limit = used + bytes - cleaner->min_free;

    return limit > 0 ? limit : 0;
}

void tseed_cleaner_free_set(tseed_cleaner_t *cleaner, const char *root, int64_t bytes, int64_t used)
{
    const entry_t *entry = find(cleaner->roots, root);

    if (!entry || cleaner->min_free == 0) {
        return;
    }
    if (bytes < INT64_MAX) {
        limit_set(entry, floor_of(cleaner, bytes, used), TSEED_NO_LIMIT);
    } else if (tseed_account_limit(entry->account).bytes == TSEED_LIMIT_UNKNOWN) {
        limit_set(entry, TSEED_NO_LIMIT, TSEED_NO_LIMIT);
    }
}

/* ---- what must go ---- */

static int is_over(tseed_duty_t *duty, const entry_t *entry, unsigned number)
{
    *duty =
        (tseed_duty_t){entry->account, entry->policy, tseed_account_excess(entry->account), number};
    return duty->excess.bytes > 0 || duty->excess.files > 0;
}

/* Layers, roots, the global one; NULL behind it. */
static const entry_t *entry_at(const tseed_cleaner_t *cleaner, unsigned number)
{
    const unsigned layers = (unsigned)cleaner->layers->nelts,
                   roots = (unsigned)cleaner->roots->nelts;

    if (number < layers) {
        return &APR_ARRAY_IDX(cleaner->layers, number, entry_t);
    }
    if (number < layers + roots) {
        return &APR_ARRAY_IDX(cleaner->roots, number - layers, entry_t);
    }
    return number == layers + roots ? &cleaner->global : NULL;
}

int tseed_cleaner_next(const tseed_cleaner_t *cleaner, tseed_duty_t *duty, unsigned skip)
{
    const entry_t *entry;

    for (unsigned i = skip; cleaner->enabled && (entry = entry_at(cleaner, i)) != NULL; i++) {
        if (is_over(duty, entry, i)) {
            return 1;
        }
    }
    return 0;
}

tseed_policy_t tseed_cleaner_policy(const tseed_cleaner_t *cleaner, const tseed_account_t *account)
{
    for (int i = 0; i < cleaner->layers->nelts; i++) {
        const entry_t *entry = &APR_ARRAY_IDX(cleaner->layers, i, entry_t);

        if (entry->account == account) {
            return entry->policy;
        }
    }
    return cleaner->global.policy;
}

int64_t tseed_cleaner_workers(const tseed_cleaner_t *cleaner)
{
    return cleaner->workers;
}

/* ---- the time of grace ---- */

/* Layers and roots have limits of bytes alone. */
static int64_t excess_of(const apr_array_header_t *entries)
{
    int64_t sum = 0;

    for (int i = 0; i < entries->nelts; i++) {
        sum += tseed_account_excess(APR_ARRAY_IDX(entries, i, entry_t).account).bytes;
    }
    return sum;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The least that would go: pages that are removed for a layer make room in the other accounts, too.
 */
static tseed_amount_t removal_of(const tseed_cleaner_t *cleaner)
{
    const int64_t parts = greater(excess_of(cleaner->layers), excess_of(cleaner->roots));
    tseed_amount_t removal = tseed_account_excess(cleaner->global.account);

    removal.bytes = greater(removal.bytes, parts);
    return removal;
}

/* "3.1 MiB", "12 files", or both. */
static const char *say_removal(tseed_amount_t removal, apr_pool_t *pool)
{
    const char *bytes = tseed_text_amount(removal.bytes, pool);
    const char *files = apr_psprintf(pool, "%" APR_INT64_T_FMT " files", removal.files);

    if (removal.files == 0) {
        return bytes;
    }
    return removal.bytes == 0 ? files : apr_pstrcat(pool, bytes, " and ", files, NULL);
}

static const char *say_grace(const tseed_cleaner_t *cleaner, apr_pool_t *pool)
{
    const tseed_amount_t removal = removal_of(cleaner);
    const tseed_amount_t used = tseed_account_used(cleaner->global.account);

    return apr_psprintf(
        pool,
        "the disk quota is on and would remove a large part of the cache: it has %s in "
        "%" APR_INT64_T_FMT " files, and at least %s of that go from %s on, when "
        "TileSeedDiskQuotaGrace is over; raise the limit or switch the quota off before, or have "
        "it done now with POST diskquota/cleanup",
        tseed_text_amount(used.bytes, pool), used.files, say_removal(removal, pool),
        tseed_text_rfc3339(cleaner->until, pool));
}

/* Whether so much would go that it must not go unannounced. */
static int is_large(const tseed_cleaner_t *cleaner)
{
    const tseed_amount_t removal = removal_of(cleaner);
    const tseed_amount_t used = tseed_account_used(cleaner->global.account);

    return removal.bytes > used.bytes / A_LARGE_PART || removal.files > used.files / A_LARGE_PART;
}

/* A time of grace has so much left. */
static void leave(tseed_cleaner_t *cleaner, apr_interval_time_t left, tseed_moment_t now)
{
    cleaner->left = left;
    cleaner->until = now.wall + left;
}

/* Whether the accounts say how much would go. They do not before all of the cache is booked, and
 * before each root is measured that has a floor. */
static int is_judged(const tseed_cleaner_t *cleaner)
{
    for (int i = 0; i < cleaner->roots->nelts; i++) {
        const entry_t *root = &APR_ARRAY_IDX(cleaner->roots, i, entry_t);

        if (tseed_account_limit(root->account).bytes == TSEED_LIMIT_UNKNOWN) {
            return 0;
        }
    }
    return cleaner->is_known;
}

/* Time passes for a time of grace that is running. One that is over has a microsecond left: it ends
 * when something is removed. It also ends when the removal is not large any more, as after a limit
 * was raised: the next large removal is announced again. */
static void pass_time(tseed_cleaner_t *cleaner, tseed_moment_t now)
{
    const apr_interval_time_t passed = cleaner->looked ? now.monotonic - cleaner->looked : 0;
    const apr_time_t until = now.wall + cleaner->left - passed;

    cleaner->looked = now.monotonic;
    if (cleaner->left > 0) {
        cleaner->left = passed < cleaner->left ? cleaner->left - passed : 1;
    }
    if (until > cleaner->until + A_JUMP || until < cleaner->until - A_JUMP) {
        cleaner->until = until;
    }
    if (is_judged(cleaner) && !is_large(cleaner)) {
        cleaner->left = 0;
    }
}

int tseed_cleaner_due(tseed_cleaner_t *cleaner, tseed_moment_t now)
{
    int waits = cleaner->has_begun && now.monotonic - cleaner->last < cleaner->period;

    pass_time(cleaner, now);
    if (!cleaner->enabled || (!cleaner->is_wanted && (cleaner->period == 0 || waits))) {
        return 0;
    }
    cleaner->is_wanted = 0;
    cleaner->has_begun = 1;
    cleaner->last = now.monotonic;
    return 1;
}

tseed_clean_t tseed_cleaner_ask(tseed_cleaner_t *cleaner, const char **sentence, tseed_moment_t now,
                                apr_pool_t *pool)
{
    *sentence = NULL;
    if (!cleaner->enabled) {
        return TSEED_CLEAN_NEVER;
    }
    if (!cleaner->has_removed && !cleaner->is_known) {
        return TSEED_CLEAN_UNKNOWN;
    }
    pass_time(cleaner, now);
    if (!cleaner->has_removed && is_large(cleaner)) {
        if (cleaner->left == 0 && cleaner->grace > 0) {
            leave(cleaner, cleaner->grace, now);
            *sentence = say_grace(cleaner, pool);
        }
        if (cleaner->left > cleaner->grace) { /* the directive is shorter than it was */
            leave(cleaner, cleaner->grace, now);
        }
        if (cleaner->left > 1) {
            return TSEED_CLEAN_LATER;
        }
    }
    cleaner->has_removed = 1;
    cleaner->left = 0;
    return TSEED_CLEAN_NOW;
}

void tseed_cleaner_hurry(tseed_cleaner_t *cleaner)
{
    cleaner->is_wanted = 1;
    cleaner->has_removed = 1;
    cleaner->left = 0;
}

apr_time_t tseed_cleaner_grace(const tseed_cleaner_t *cleaner)
{
    return cleaner->left > 0 ? cleaner->until : 0;
}

/* ---- memory ---- */

const char *tseed_cleaner_save(const tseed_cleaner_t *cleaner, apr_pool_t *pool)
{
    const apr_interval_time_t left = (cleaner->left + COARSE - 1) / COARSE * COARSE;

    return apr_psprintf(pool, "enabled=%d removed=%d left=%" APR_TIME_T_FMT, cleaner->enabled,
                        cleaner->has_removed, apr_time_sec(left));
}

void tseed_cleaner_load(tseed_cleaner_t *cleaner, const char *saved)
{
    int enabled, removed;
    unsigned left = 0; /* an older version did not save it: then it begins anew */

    if (sscanf(saved, "enabled=%d removed=%d left=%u", &enabled, &removed, &left) >= 2) {
        cleaner->enabled = enabled;
        cleaner->has_removed = removed;
        cleaner->left = apr_time_from_sec((apr_interval_time_t)left);
    }
}
