/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How far a task is, in one line. */
#include "ctl/tseed_ctl_progress.h"

#include <apr_strings.h>
#include <string.h>

#include "ctl/tseed_ctl_words.h"
#include "protocol/tseed_task.h"

#define GAP "  "

/* The level at which the task works: the first that is not finished. -1: not known. */
static int level_of(const tseed_node_t *task)
{
    int level = -1;

    for (const tseed_node_t *one = tseed_ctl_first(task, "levels"); one;
         one = tseed_ctl_next(one)) {
        level = (int)tseed_ctl_number(one, "z", -1);
        if (tseed_ctl_number(one, "finished", 0) < tseed_ctl_number(one, "metatiles", 0)) {
            break;
        }
    }
    return level;
}

int tseed_ctl_is_at_quota(const tseed_node_t *task)
{
    const tseed_reason_t code = tseed_reason_of(tseed_ctl_text(task, "reasonCode", ""));

    return code == TSEED_REASON_QUOTA || code == TSEED_REASON_FREE_SPACE;
}

/* "  412/s  ETA 35 min", or why it does not get on. */
static const char *pace(const tseed_node_t *task, apr_pool_t *pool)
{
    const char *reason = tseed_ctl_words(task, "reason", "", pool);
    const double rate = tseed_ctl_decimal(task, "tilesPerSecond", -1);
    const double rest = tseed_ctl_decimal(task, "secondsRemaining", -1);

    if (*reason) {
        return apr_pstrcat(pool, GAP, reason, NULL);
    }
    return apr_pstrcat(pool, rate >= 0 ? GAP : "", rate >= 0 ? tseed_ctl_rate(rate, pool) : "",
                       rest >= 0 ? GAP "ETA " : "", rest >= 0 ? tseed_ctl_seconds(rest, pool) : "",
                       NULL);
}

static const char *failed(const tseed_node_t *task, const char *cause, apr_pool_t *pool)
{
    const int64_t count = tseed_ctl_number(task, "tilesFailed", 0);

    if (count == 0) {
        return "";
    }
    return apr_pstrcat(pool, GAP "failed ", tseed_ctl_count(count, pool), cause ? " (" : "",
                       cause ? tseed_ctl_clean(cause, pool) : "", cause ? ")" : "", NULL);
}

const char *tseed_ctl_progress(const tseed_node_t *task, const char *cause, apr_pool_t *pool)
{
    const int64_t total = tseed_ctl_number(task, "tilesTotal", 0);
    const int64_t processed = tseed_ctl_number(task, "tilesProcessed", 0);
    const int level = level_of(task);

    return apr_pstrcat(pool, level >= 0 ? apr_psprintf(pool, "z%02d" GAP, level) : "",
                       tseed_ctl_share(processed, total, pool), GAP,
                       tseed_ctl_count(processed, pool), "/", tseed_ctl_count(total, pool),
                       " tiles", pace(task, pool), failed(task, cause, pool), NULL);
}

/* ", 12 skipped", or "" for none. */
static const char *part(const tseed_node_t *task, const char *member, const char *what,
                        apr_pool_t *pool)
{
    const int64_t count = tseed_ctl_number(task, member, 0);

    return count ? apr_psprintf(pool, ", %" APR_INT64_T_FMT " %s", count, what) : "";
}

const char *tseed_ctl_result(const tseed_node_t *task, apr_pool_t *pool)
{
    const int is_done = strcmp(tseed_ctl_text(task, "state", ""), "DONE") == 0;
    const char *reason = tseed_ctl_words(task, "reason", "", pool);

    return apr_pstrcat(
        pool, "task ", tseed_ctl_words(task, "id", "?", pool), is_done ? " done: " : " aborted: ",
        apr_psprintf(pool, "%" APR_INT64_T_FMT " of %" APR_INT64_T_FMT " tiles",
                     tseed_ctl_number(task, "tilesProcessed", 0),
                     tseed_ctl_number(task, "tilesTotal", 0)),
        part(task, "tilesMade", "made", pool), part(task, "tilesSkipped", "skipped", pool),
        part(task, "tilesRemoved", "removed", pool), part(task, "tilesFailed", "failed", pool),
        part(task, "tilesPruned", "pruned", pool), *reason ? "; " : "", reason, NULL);
}
