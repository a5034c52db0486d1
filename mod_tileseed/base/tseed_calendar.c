/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The calendar: two dates at the monotonic clock's zero. */
#include "base/tseed_calendar.h"

#define BEYOND (INT64_C(4039372800) * APR_USEC_PER_SEC) /* 2098-01-01T00:00:00Z */

tseed_calendar_t tseed_calendar_begin(apr_time_t wall, apr_time_t monotonic)
{
    return (tseed_calendar_t){wall - monotonic, wall - monotonic};
}

void tseed_calendar_show(tseed_calendar_t *calendar, apr_time_t date, apr_time_t monotonic)
{
    if (date < BEYOND && date - monotonic > calendar->latest) {
        calendar->latest = date - monotonic;
    }
}

apr_time_t tseed_calendar_date(const tseed_calendar_t *calendar, apr_time_t monotonic)
{
    return calendar->latest + monotonic;
}

apr_time_t tseed_calendar_least(const tseed_calendar_t *calendar, apr_time_t wall,
                                apr_time_t monotonic)
{
    const apr_time_t unset = calendar->start + monotonic;

    return wall < unset ? wall : unset;
}
