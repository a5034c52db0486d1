/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The two ends of a lease: its host must have stopped before another host may go on.
 *
 * The deadline of this process: from then on the process changes no file of a store any more,
 * because another host may be at work there. There is one deadline for the whole process. It never
 * comes unless somebody sets it. A deadline that anybody has seen pass has passed for good. Any
 * thread.
 *
 * The silence of the host that works, as a host sees it that stands by: when that host may be taken
 * for dead. Its lease must have ended a margin ago, by the clock of the database. Two things may
 * make a host look dead that is alive:
 *
 *      the database was away    that host could not renew its lease either, and gets a lease and a
 *                               margin to do so, once for each of its leases that ends
 *      its clock was set ahead  then its row changed a moment ago, by the clock of this host
 *
 * How long a renewal takes, or how often this host renews, decides nothing: each answer of the
 * database brings the takeover nearer. All clocks are parameters, `now` by tseed_clock_boot. Any
 * process, the thread that has the struct.
 */
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

/* ---- silence ---- */

/* All 0 at first but for the two that the caller sets. */
typedef struct {
    apr_interval_time_t lease, margin; /* of this host; the caller's */
    int64_t until;                     /* the end of that host's lease, as it was seen last */
    apr_time_t heard;                  /* the last answer; 0: there was none */
    apr_time_t same_since;             /* the answer that had this end for the first time */
    apr_interval_time_t grace;         /* what that host still gets, */
    int had_grace;                     /* and whether it got any since its row changed */
} tseed_silence_t;

/* Notes an answer of the database that has the end of the lease of the host that works. */
void tseed_silence_hear(tseed_silence_t *silence, int64_t until, apr_time_t now);

/* How long it takes until that host may be taken for dead; 0: it may be now. `ended`: since when
 * its lease is over, by the clock of the database at the last answer; less than 0: it is not. */
apr_interval_time_t tseed_silence_left(const tseed_silence_t *silence, apr_interval_time_t ended);

/* Whether this host itself has seen no sign of that host for a lease. If not, the clock of the
 * database may have been set ahead. */
int tseed_silence_is_seen(const tseed_silence_t *silence, apr_time_t now);

#endif
