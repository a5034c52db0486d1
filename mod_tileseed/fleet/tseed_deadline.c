/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The two ends of a lease: when its host must stop, and when another host may go on.
 *
 * While no deadline is set nobody asks the clock. A thread that sees the deadline pass leaves its
 * work undone, so it makes the deadline pass for all threads. Otherwise another thread could put
 * the deadline off and go on, and nobody would know of the missing work. */
#include "fleet/tseed_deadline.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/tseed_clock.h"

#define NEVER INT64_MAX

static _Atomic int64_t deadline = NEVER;
static _Atomic int has_passed;

void tseed_deadline_set(apr_time_t given)
{
    atomic_store(&deadline, given);
}

void tseed_deadline_pass(void)
{
    atomic_store(&has_passed, 1);
    atomic_store(&deadline, 0);
}

int tseed_deadline_has_passed(void)
{
    const int64_t then = atomic_load_explicit(&deadline, memory_order_relaxed);

    if (then == NEVER || atomic_load_explicit(&has_passed, memory_order_relaxed)) {
        return then != NEVER;
    }
    if (tseed_clock_boot() < then) {
        return 0;
    }
    atomic_store(&has_passed, 1);
    return 1;
}

void tseed_deadline_clear(void)
{
    atomic_store(&deadline, NEVER);
    atomic_store(&has_passed, 0);
}

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
