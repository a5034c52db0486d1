/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The lock of names, 6 of the internals README. For the files of this room, on any thread of the
 * seeder.
 */
#ifndef TSEED_NAMES_H
#define TSEED_NAMES_H

#include <stdatomic.h>

/* hold: takes the lock together with other threads, for a system call that makes a name of a tile
 * or of a master. hold_alone: takes the lock alone, for work during which such a name must not be
 * made. Both wait for others. */
void tseed_names_hold(void);
void tseed_names_hold_alone(void);

/* Ends either. */
void tseed_names_release(void);

/* How many directories this process has detached so far. A thread changes it while it holds the
 * lock alone. */
extern _Atomic unsigned tseed_names_detachments;

#endif
