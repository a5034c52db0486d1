/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The database's file and what lies beside it. Private to the state room.
 *
 *      tileseed.db                    the database
 *      tileseed.db-wal, -shm          SQLite's own
 *      tileseed.ids                   the mark: no id above it was ever given out
 *      tileseed.db.rescue             a damaged database, until a new one is in its place
 *      tileseed.db.new                the new database, until it is complete
 *      tileseed.db.damaged-<time>     a damaged database that was replaced
 *
 * Any process. One process at a time replaces a database: it holds the opening lock.
 * Paths live in the pool that a call takes; statuses are the system's.
 */
#ifndef TSEED_FILE_H
#define TSEED_FILE_H

#include <apr_pools.h>
#include <stdint.h>

/* Takes the lock under which the file is made, opened, migrated and set aside; waits for at most
 * ten seconds (APR_EBUSY). Returns a descriptor in *lock; tseed_file_unlock closes it. */
apr_status_t tseed_file_lock(int *lock, const char *path, apr_pool_t *pool);
void tseed_file_unlock(int lock);

/* Makes an empty file of mode 0600 unless there is one. Under the lock. */
apr_status_t tseed_file_make(const char *path, apr_pool_t *pool);

/* A damaged database is replaced in two steps, each under the lock, while this process does not
 * have the database open. If the process dies or the power fails after the first step, the next
 * process finds the database away and nothing in its place, and does both steps again.
 *
 * The first step moves the database and its log away, to *rescue. A process that commits to it
 * meanwhile sees after its commit that the file is another, and does not take the commit for
 * done. */
apr_status_t tseed_file_move_away(const char **rescue, const char *path, apr_pool_t *pool);
int tseed_file_is_away(const char *path, apr_pool_t *pool);

/* The second step puts the closed database `fresh` in its place and keeps the damaged one as
 * *aside. */
apr_status_t tseed_file_replace(const char **aside, const char *path, const char *fresh,
                                apr_pool_t *pool);

/* Removes a database and what SQLite has beside it, if it is there. */
void tseed_file_remove(const char *path, apr_pool_t *pool);

/* Whether the file system takes another page beside `path`; 0 when it is full or a quota is used
 * up.
 */
int tseed_file_has_room(const char *path);

/* Finds a file of the database, or its directory, whose owner and mode keep this process from
 * writing to it. Says which as a clause in `text` (at least 4 bytes). Returns 0 if there is none.
 */
int tseed_file_obstacle(char *text, size_t size, const char *path);

/* Whether the file system takes no writes at all. */
int tseed_file_is_on_readonly(const char *path);

/* The mark and the inode of the database it was written for; both 0 when there is none yet or it
 * can't be understood. */
typedef struct {
    int64_t id;
    uint64_t inode;
} tseed_mark_t;

/* Reads the mark of the database at `path`. */
apr_status_t tseed_mark_load(tseed_mark_t *mark, const char *path, apr_pool_t *pool);

/* Replaces the mark; it is on the disk when this returns APR_SUCCESS. */
apr_status_t tseed_mark_save(const tseed_mark_t *mark, const char *path, apr_pool_t *pool);

#endif
