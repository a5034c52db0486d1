/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The calendar: the date for ages of days, though somebody may set the wall clock meanwhile.
 *
 *      tseed_calendar_date   for dates that are compared with each other, such as a page's last
 *                            use: never goes back, whatever becomes of the wall clock
 *      tseed_calendar_least  for things that are removed when they are old: setting the clock makes
 *                            nothing old
 *
 * A calendar takes the wall clock when it begins, and counts by the monotonic clock from then on.
 * tseed_calendar_least also looks at the wall clock of now. Pure functions: both clocks are
 * parameters.
 */
#ifndef TSEED_CALENDAR_H
#define TSEED_CALENDAR_H

#include <apr_time.h>

/* All zero: of no use before tseed_calendar_begin. */
typedef struct {
    apr_time_t start;  /* the date at the monotonic clock's zero, as the wall clock said, */
    apr_time_t latest; /* and no date that was shown lies before it */
} tseed_calendar_t;

/* A calendar that begins now. */
tseed_calendar_t tseed_calendar_begin(apr_time_t wall, apr_time_t monotonic);

/* Tells the calendar a date that this or an earlier process has recorded: from now on the calendar
 * gives no date before it. A date beyond 2097 is damaged, and the calendar ignores it. */
void tseed_calendar_show(tseed_calendar_t *calendar, apr_time_t date, apr_time_t monotonic);

/* The date. */
apr_time_t tseed_calendar_date(const tseed_calendar_t *calendar, apr_time_t monotonic);

/* The earlier of what the wall clock says and of what it would say had nobody set it. */
apr_time_t tseed_calendar_least(const tseed_calendar_t *calendar, apr_time_t wall,
                                apr_time_t monotonic);

#endif
