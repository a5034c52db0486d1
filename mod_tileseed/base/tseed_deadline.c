/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The deadline. While no deadline is set nobody asks the clock. A thread that sees the deadline
 * pass leaves its work undone, so it makes the deadline pass for all threads. Otherwise another
 * thread could put the deadline off and go on, and nobody would know of the missing work. */
#include "base/tseed_deadline.h"

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
