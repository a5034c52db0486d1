/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The store: tiles are files in one of several layouts. A tile is written to a hidden file, which
 * is then renamed; tiles are removed by range.
 *
 * A tseed_store_t is a worker thread's own view of one tile set. It remembers directory descriptors
 * between calls, and one thread uses it. Rows are counted from the bottom in every call; layouts
 * that count from the top turn them over here.
 *
 * No call leaves half a tile under a tile's name. A crash leaves at most one hidden file for each
 * thread. The next put of the same thread in that directory overwrites it, and a removal drops it
 * when it is an hour old.
 *
 * No call follows a symbolic link to a directory below the root: looking and putting fail with
 * ELOOP, removing and walking pass the link by. What is no regular file is no tile: looking and
 * counting find none, putting replaces it, and removing takes it away. A directory of a tile's name
 * is in the way: putting fails, and removing leaves it.
 *
 * Statuses are the system's (APR_FROM_OS_ERROR); those a caller must tell apart stand at each call.
 *
 * Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_STORE_H
#define TSEED_STORE_H

#include <apr_errno.h>
#include <apr_pools.h>
#include <apr_tables.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/tseed_calendar.h"
#include "layer/tseed_effect.h"
#include "layer/tseed_tileset.h"
#include "tiling/tseed_range.h"

typedef struct {
    int z;
    uint64_t print; /* tseed_tileset_print */
    int64_t task;
    tseed_effect_t usage; /* names: tiles as they were counted; the rest as the books had it */
} tseed_remnant_t;

typedef struct tseed_store_t tseed_store_t;

/* Checks a store's configuration: an absolute root, and a template that gives every tile its own
 * file below it. NULL or a sentence. Configuration phase, no file system access. */
const char *tseed_store_check(const tseed_store_config_t *config, apr_pool_t *pool);

/* Checks a finished layer against its store, which has passed tseed_store_check: tiles of its grid
 * sets, formats and parameters must not share files. NULL or a sentence. Configuration phase, no
 * file system access. */
const char *tseed_store_check_layer(const tseed_layer_t *layer, apr_pool_t *pool);

/* The path below the root of one tile (tseed_layout.h). In `pool`. */
const char *tseed_store_path(const tseed_tileset_t *tileset, int z, int64_t x, int64_t y,
                             apr_pool_t *pool);

/* Views of one tile set at a time, and so threads, are told apart by numbers below this. */
#define TSEED_STORE_IDS 256

/* Sets a name that stands in the names of this process's temporary files and tells them from those
 * of other programs: the seeder of another httpd may write into the same directories, and must not
 * rename our files over its tiles. At most TSEED_INSTANCE_LONGEST letters and digits; "" at first.
 * A view takes the name when it is opened. The next process should have the same name, so that it
 * finds the files that a crash has left. */
#define TSEED_INSTANCE_LONGEST 16
void tseed_store_instance_set(const char *instance);

/* Several hosts may write into the same directories, one after the other. Their temporary files are
 * told apart by the tenures of the hosts, so that no host gives a tile's name to an unfinished file
 * of another. `former` is the tenure before; 0, as at first: there is none. Call it while one
 * thread at most uses stores. */
void tseed_store_tenure_set(int64_t tenure, int64_t former);

/* Sets who says that this process may change no file of a store any more, because another host may
 * be at work there; NULL, as at first: nobody does. `is_over` is asked before each change, by any
 * thread, and what it has once said stays true. Call it while one thread at most uses stores. */
void tseed_store_guard(int (*is_over)(void));

/* Whether that is so. Any thread. */
int tseed_store_is_over(void);

/* Sets the calendar by which this process judges the age of unfinished files; NULL, as at first: by
 * the wall clock. Call it while one thread at most uses stores. */
void tseed_store_calendar_set(const tseed_calendar_t *calendar);

/* Opens a view, in a child of `pool`. `tileset` outlives it. `id` tells this thread's temporary
 * files from another's. APR_SUCCESS also when the root does not exist yet; it is made by the first
 * put. */
apr_status_t tseed_store_open(tseed_store_t **store, const tseed_tileset_t *tileset, unsigned id,
                              apr_pool_t *pool);
void tseed_store_close(tseed_store_t *store);

/* After a call that failed: the absolute path that the failure is about. *is_tile: it is a tile's
 * own, whose directory can be used. Else it is the deepest one that exists, or that can be looked
 * into, on the way to the directory that the call was at; after ELOOP: the link. Up to the next
 * call. Asks the file system. */
const char *tseed_store_obstacle(int *is_tile, tseed_store_t *store);

/* Sets the block size to which effects round sizes up: at least 1; at first 1. Any time between
 * calls. */
void tseed_store_block_set(tseed_store_t *store, int64_t block);

/* How many bytes a file of that length will count as allocated: charge them before a put. No I/O.
 */
int64_t tseed_store_allocation(const tseed_store_t *store, size_t length);

/* Bit i is set if the i-th tile of the range (row by row from the bottom-left) exists with a size
 * above 0. APR_EINVAL: more than 64 * words tiles. */
apr_status_t tseed_store_present(tseed_store_t *store, const tseed_range_t *range, uint64_t *bits,
                                 unsigned words);

/* Opens a file that somebody may have put into a store, and says what the file is. `name` is looked
 * for below the directory `folder`; AT_FDCWD: the name is a path. The call never waits for a
 * writer. APR_ENOENT: no regular file has the name; a symbolic link, a pipe, a socket or a
 * directory counts as none. The caller closes *fd. Any thread of any process. */
apr_status_t tseed_store_open_file(int *fd, struct stat *found, int folder, const char *name);

/* Reads a tile's file whole into `pool`. APR_ENOENT: there is none, or it is empty. ELOOP as for
 * looking. EFBIG: no tile is that long. */
apr_status_t tseed_store_read(const unsigned char **data, size_t *length, tseed_store_t *store,
                              const tseed_tile_t *tile, apr_pool_t *pool);

/* Whether a tile's file has just these bytes. One that can't be read has not. */
int tseed_store_has(tseed_store_t *store, const tseed_tile_t *tile, const void *data,
                    size_t length);

/* Asked right before a rename or an unlink; not 0: do not do it (the task was terminated). */
typedef struct {
    int (*ask)(void *baton);
    void *baton;
} tseed_stop_t;

/* Puts a tile there: written beside, mode set, renamed over. Missing directories are made. `effect`
 * is the new file less what it replaced, zero on failure; exact as long as nobody else puts or
 * removes this very tile meanwhile. `stop` may be NULL. APR_EINTR: stop said so, nothing changed.
 */
apr_status_t tseed_store_put(tseed_effect_t *effect, tseed_store_t *store, const tseed_tile_t *tile,
                             const void *data, size_t length, const tseed_stop_t *stop);

/* Uniform tiles. Uniform tiles of one content in a tile set are names of one file, the master. The
 * master has a hidden name of its own below the root as well. It is counted once, in the tile set's
 * shared sum; its tiles count as names only. */

/* Makes a tile another name of the master of this content. Replaces the file that was there, unless
 * it is the master already. `effect` as for put. APR_NOTFOUND: no master takes another name; charge
 * tseed_store_allocation, share the content, and link again. APR_ENOTIMPL: put the tile instead,
 * because the file system can't link (EXDEV, EPERM, ENOTSUP), or the content is too long for
 * sharing to pay. APR_EINTR as for put. */
apr_status_t tseed_store_link(tseed_effect_t *effect, tseed_store_t *store,
                              const tseed_tile_t *tile, const void *data, size_t length,
                              const tseed_stop_t *stop);

/* Makes the master. `effect` is the change of the shared sum: one file, or nothing when another
 * thread has just made the master. APR_ENOTIMPL as for link. */
apr_status_t tseed_store_share(tseed_effect_t *effect, tseed_store_t *store, const void *data,
                               size_t length);

/* Removes the masters of which no tile is a name any more. `effect` is the change of the shared sum
 * by this call alone; several threads may sweep. Takes the lock of names for each master, so that
 * no thread links to a master that is about to go. */
apr_status_t tseed_store_shared_sweep(tseed_effect_t *effect, tseed_store_t *store);

/* The shared sum as it is on disk: the masters' files and sizes. `drop_leftovers`: also discards
 * all unfinished files in the directory of masters, as tseed_store_count does; no other thread may
 * write tiles of this tile set then. */
apr_status_t tseed_store_shared_count(tseed_effect_t *sum, tseed_store_t *store,
                                      int drop_leftovers);

/* Tells what was left unfinished on the disk since the last call, because it could be neither
 * removed nor emptied: files, bytes and blocks, no names. Returns why, or APR_SUCCESS when there is
 * nothing. Nothing else counts these files: the caller charges them. */
apr_status_t tseed_store_unremoved_take(tseed_effect_t *left, tseed_store_t *store);

/* Told of each tile that a removal has removed or a walk has found. */
typedef struct {
    void (*tell)(void *baton, const tseed_tile_t *tile, const tseed_effect_t *effect);
    void *baton;
    void (*warn)(void *baton, const tseed_tile_t *tile);  /* right before a removal; NULL: nobody */
    int (*spares)(void *baton, const tseed_tile_t *tile); /* whether a removal is to leave what has
                                                           * the tile's name; NULL: none */
} tseed_visitor_t;

/* Removes the tiles of a range, and the directories below the root that become empty. Looks for
 * possible names or reads the names that exist, whichever are fewer. Does not follow symbolic links
 * to directories. Tells `visitor` each tile's effect right after its removal, in this thread; the
 * effect is exact as long as nobody else puts the same tile meanwhile. A tile that is not there is
 * no failure. Asks `stop` for each name. APR_EINTR: stopped in the middle. */
apr_status_t tseed_store_remove(tseed_store_t *store, const tseed_range_t *range,
                                const tseed_visitor_t *visitor, const tseed_stop_t *stop);

/* Counts the tiles of a range on disk: names, and the files that belong to them. *oldest becomes
 * the modification time of the oldest of these files, in seconds since 1970; INT64_MAX: there is no
 * tile. `oldest` may be NULL. A uniform tile is as old as the file that it shares.
 * `drop_leftovers`: also discards all unfinished files in the directories that it reads, and notes
 * those that stay for tseed_store_unremoved_take; no other thread may write there then. */
apr_status_t tseed_store_count(tseed_effect_t *sum, int64_t *oldest, tseed_store_t *store,
                               const tseed_range_t *range, int drop_leftovers);

/* Has all views of the process read the masters anew: somebody else may have removed some. Any
 * thread. */
void tseed_store_shared_forget(void);

/* Whether counts have made masters since the last call: a file that two tiles of a page share, and
 * whose master was removed, gets one again. Pages that were counted before may hold the file as
 * their own, and the shared sum lacks it. */
int tseed_store_adopted_take(tseed_store_t *store);

/* Whether the disk has nothing of a tile set. Examines a few names, so that the answer comes at
 * once: also 0 when there are more names, or when they can't be read. `scratch` holds what the
 * search needs. Any thread. */
int tseed_store_is_absent(const tseed_tileset_t *tileset, apr_pool_t *scratch);

/* Finds the tiles that exist in levels first..last, in no particular order, without putting or
 * removing any. `visitor` sets the pace; it is told what tseed_store_count would say of the tile.
 * Memory is bounded whatever there is. A tile that is put or removed meanwhile may be missed or
 * told. `stop` and directories as for a removal. */
apr_status_t tseed_store_walk(tseed_store_t *store, int first, int last,
                              const tseed_visitor_t *visitor, const tseed_stop_t *stop);

/* Takes all tiles of a range out of sight at once: renames the directory of their level away, so
 * that tseed_store_purge can remove it. The new name is the remnant: the caller fills in whose
 * tiles they are and how much of them is booked, the call fills in the level and the number of
 * tiles. Nobody may put or remove tiles of the range meanwhile; all other work in the process may
 * go on. Succeeds when there is nothing. APR_ENOTIMPL: nothing has changed, remove the tiles
 * instead. Either the layout has no such directory, or the directory can't be renamed, or it has or
 * got something else in it (tiles outside of the range, other formats, other people's files,
 * links). */
apr_status_t tseed_store_detach(tseed_remnant_t *remnant, tseed_store_t *store,
                                const tseed_range_t *range, const tseed_stop_t *stop);

/* Removes all detached directories below a root, of earlier processes too. Adds the number of tiles
 * to *removed as it goes. `parts` threads may share the work: each calls with a `part` below
 * `parts`, and a directory's inode decides which part removes it. The next call of a part goes on
 * where a stopped one ended. Needs no view. APR_EINTR: stopped in the middle. */
apr_status_t tseed_store_purge(_Atomic int64_t *removed, const char *root, unsigned part,
                               unsigned parts, const tseed_stop_t *stop);

/* The parameter hashes that have directories on the disk, configured or not: *hashes is of const
 * char *, in `pool`, each once. `tileset` says which layer and grid set; its own hash does not
 * matter, and there may be no tiles of its format. Success when there is nothing. APR_ENOTIMPL: the
 * layout has no hashes, or has levels or tiles above them. */
apr_status_t tseed_store_hashes(apr_array_header_t **hashes, const tseed_tileset_t *tileset,
                                apr_pool_t *pool);

/* The file in which GeoWebCache says what a hash stands for (tseed_parameters.h), in `pool`; NULL:
 * there is none that can be read. */
const char *tseed_store_hash_file(const tseed_tileset_t *tileset, const char *hash,
                                  apr_pool_t *pool);

/* How many bytes processes without privileges may still write below `root`, an absolute path. A
 * root that does not exist yet has the free space of its nearest parent that exists. Returns
 * INT64_MAX when that directory can't be asked, as on a file server that is away, or when it is
 * "/". `scratch` holds a copy of the path. */
int64_t tseed_store_free(const char *root, apr_pool_t *scratch);

/* The remnants below a store root: *remnants is an array of tseed_remnant_t in `pool`. Success when
 * there are none. */
apr_status_t tseed_remnant_list(apr_array_header_t **remnants, const char *root, apr_pool_t *pool);

#endif
