/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* When a silent host may be taken for dead. */
#include "seeder/tseed_silence.h"

#define USUAL (2 * APR_USEC_PER_SEC) /* between two answers, at most; longer: it was away */

static apr_interval_time_t least(apr_interval_time_t a, apr_interval_time_t b)
{
    return a < b ? a : b;
}

static apr_interval_time_t most(apr_interval_time_t a, apr_interval_time_t b)
{
    return a > b ? a : b;
}

/* Of a long time between two answers only a margin counts: for the rest of it that host could not
 * reach the database either. */
void tseed_silence_hear(tseed_silence_t *silence, int64_t until, apr_time_t now)
{
    const apr_interval_time_t gap = silence->heard ? now - silence->heard : 0;

    if (until != silence->until || !silence->heard) {
        silence->until = until;
        silence->same_since = now;
        silence->grace = 0;
        silence->had_grace = 0;
    }
    silence->grace = most(silence->grace - least(gap, silence->margin), 0);
    if (gap > most(silence->margin, USUAL) && !silence->had_grace) {
        silence->grace = silence->lease + silence->margin;
        silence->had_grace = 1;
    }
    silence->heard = now;
}

apr_interval_time_t tseed_silence_left(const tseed_silence_t *silence, apr_interval_time_t ended)
{
    return most(silence->margin - least(ended, silence->margin), silence->grace);
}

int tseed_silence_is_seen(const tseed_silence_t *silence, apr_time_t now)
{
    return now - silence->same_since >= silence->lease;
}
