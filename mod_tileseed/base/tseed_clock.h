/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The clocks. People read wall time (apr_time_now). Code that measures or waits uses the monotonic
 * clock, which all processes of a machine share and nobody can set back. A lease uses the boot
 * clock, which also runs while the machine is suspended. Any thread. */
#ifndef TSEED_CLOCK_H
#define TSEED_CLOCK_H

#include <apr_time.h>
#include <time.h>

/* Microseconds since some moment before the machine's start of work; never goes back. */
static inline apr_time_t tseed_clock_monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (apr_time_t)now.tv_sec * APR_USEC_PER_SEC + now.tv_nsec / 1000;
}

/* The same, and the time that the machine was suspended. */
static inline apr_time_t tseed_clock_boot(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (apr_time_t)now.tv_sec * APR_USEC_PER_SEC + now.tv_nsec / 1000;
}

/* Wall time to record for something that came after `earlier`: at least `earlier`, even if somebody
 * has set the clock back meanwhile. */
static inline apr_time_t tseed_clock_wall(apr_time_t earlier)
{
    apr_time_t now = apr_time_now();

    return now > earlier ? now : earlier;
}

#endif
