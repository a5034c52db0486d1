/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The two clocks. Wall time (apr_time_now) is for what people read; everything that measures or
 * waits uses the monotonic one, which all processes of a machine share and nobody can set back. */
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

/* Wall time for the record of something that came after `earlier`: never before it, though the
 * clock was set back meanwhile. */
static inline apr_time_t tseed_clock_wall(apr_time_t earlier)
{
    apr_time_t now = apr_time_now();

    return now > earlier ? now : earlier;
}

#endif
