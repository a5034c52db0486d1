/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Watches: whether somebody gives a tile a name below a directory while a thread reads it.
 *
 * Tile sets may share a directory: those of other formats or parameters, and those of layers whose
 * templates begin alike. So a watch identifies the directory by its inode, whichever store root and
 * path leads there. While there is no watch, putting a tile costs nothing more.
 *
 * The lock of names (tseed_names.h) guards all watches. For the files of this room.
 *
 * Threads of the seeder.
 */
#ifndef TSEED_WATCH_H
#define TSEED_WATCH_H

#include <stdatomic.h>
#include <sys/stat.h>

/* The caller's memory, from begin to end. */
typedef struct tseed_watch_t {
    dev_t device;
    ino_t inode;
    _Atomic int disturbed; /* a name was given since it began */
    struct tseed_watch_t *next;
} tseed_watch_t;

/* Begins to watch an open directory: 0, or -1 with errno. Takes the lock alone. So a reader that
 * begins afterwards sees all names that were given before. */
int tseed_watch_begin(tseed_watch_t *watch, int folder);
void tseed_watch_end(tseed_watch_t *watch);

/* Says that a name was given in an open directory. The caller still holds the lock. */
void tseed_watch_tell_locked(int folder);

/* Whether the path below `base` still leads to the watched directory, and nobody has given a name
 * below it. The caller holds the lock alone. */
int tseed_watch_is_quiet_locked(const tseed_watch_t *watch, int base, const char *path);

#endif
