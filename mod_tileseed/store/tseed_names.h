/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The lock of names, 6 of the internals README. For the files of this room, on any thread of the
 * seeder.
 */
#ifndef TSEED_NAMES_H
#define TSEED_NAMES_H

#include <stdatomic.h>

/* Held together over a system call that makes a name of a tile or of a master, alone over what
 * would make such a name a wrong one. Waits for others. */
void tseed_names_hold(void);
void tseed_names_hold_alone(void);

/* Ends either. */
void tseed_names_release(void);

/* Directories that have been detached in this process so far. Changed by whoever holds alone. */
extern _Atomic unsigned tseed_names_detachments;

#endif
