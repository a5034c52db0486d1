/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The deadline of this process: from then on the process changes no file of a store any more,
 * because another host may be at work there. Who changes a store asks before each change. There is
 * one deadline for the whole process. It never comes unless somebody sets it: a host that has the
 * database for itself needs none. A deadline that anybody has seen pass has passed for good. Any
 * thread. */
#ifndef TSEED_DEADLINE_H
#define TSEED_DEADLINE_H

#include <apr_time.h>

/* Sets the deadline or puts it off, by tseed_clock_boot. */
void tseed_deadline_set(apr_time_t deadline);

/* Makes the deadline pass now, for good. */
void tseed_deadline_pass(void);

/* Whether the deadline has passed. */
int tseed_deadline_has_passed(void);

/* Takes the deadline away, also one that has passed. Where no other thread asks. */
void tseed_deadline_clear(void);

#endif
