/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The integrity check: after a seeder that did not end well the whole state database is looked
 * through, beside the work. The check takes as long as the disk needs, and nobody waits for it.
 *
 * A process of its own does the check. It is forked before the seeder opens the database. A thread
 * would hold up the main thread: while the one looks through the database, the other waits for the
 * database. The seeder also meets damage in what it reads itself; the check finds damage in all the
 * rest. In both cases the seeder replaces the file. Main thread only.
 */
#ifndef TSEED_INTEGRITY_CHECK_H
#define TSEED_INTEGRITY_CHECK_H

#include "work/tseed_context.h"
#include "work/tseed_session.h"

typedef struct tseed_integrity_check_t tseed_integrity_check_t;

/* Makes the check, in the context's pool; nothing is looked through yet. */
tseed_integrity_check_t *tseed_integrity_check_create(const tseed_context_t *context,
                                                      tseed_session_t *session);

/* Forks the process that stands by. Without the process nothing is looked through. Once, before
 * there is any thread. */
void tseed_integrity_check_stand_by(tseed_integrity_check_t *check);
/* Has the process look through the state database, unless the last seeder has said that it ended
 * well; then the process leaves. The second call does nothing. Under the lock of the state
 * directory, before the database is opened. */
void tseed_integrity_check_begin(tseed_integrity_check_t *check);
/* Ends the process, whether it stands by or looks through the database, and waits for its end. */
void tseed_integrity_check_dismiss(tseed_integrity_check_t *check);
/* Replaces the database if the process has found damage. Once a tick. */
void tseed_integrity_check_tick(tseed_integrity_check_t *check);
/* Says that this seeder ends well, if the database is known to be sound: the last thing that is
 * written. */
void tseed_integrity_check_end(tseed_integrity_check_t *check);

#endif
