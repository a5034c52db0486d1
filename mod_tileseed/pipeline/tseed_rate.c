/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The rate of a run. */
#include "pipeline/tseed_rate.h"

#define RATES 20

static int waits(const tseed_run_t *run, apr_time_t now)
{
    return run->waits_since || run->is_silent || run->is_behind || run->short_of ||
           now < run->pause_until;
}

void tseed_rate_take(tseed_run_t *run, const tseed_display_t *display, apr_time_t now)
{
    const int64_t processed = tseed_progress_processed(&run->progress) - run->progress.pruned;
    const double seconds = (double)(now - run->rated_at) / APR_USEC_PER_SEC;
    const double rate = 1000 * (double)(processed - run->rated_tiles) / seconds;
    const int was_dirty = run->dirty;

    if (waits(run, now)) { /* what was is no rate, and says nothing of what is left */
        run->rates = 0;
        run->progress.rate = 0;
    } else if (run->rated_at && seconds > 0) {
        run->rates += run->rates < RATES;
        run->progress.rate += (int64_t)((rate - (double)run->progress.rate) / run->rates);
    }
    tseed_display_run(display, run);
    run->dirty = was_dirty;
    run->rated_at = now;
    run->rated_tiles = processed;
}
