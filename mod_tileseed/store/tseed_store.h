/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where tiles go: files in one of several layouts, written beside and renamed over, removed by
 * range.
 *
 * A tseed_store_t is a worker thread's own view of one tile set: it remembers directory descriptors
 * between calls and is used by one thread. Rows are counted from the bottom in every call; layouts
 * that count from the top turn them over here.
 *
 * No call leaves half a tile under a tile's name. A crash leaves at most one hidden file a thread,
 * which the next put in that directory by the same thread overwrites, and a removal drops when it
 * is an hour old.
 *
 * Below the root no symbolic link to a directory is followed, whatever the call: looking and
 * putting fail with ELOOP, removing and walking pass it by.
 *
 * Statuses are the system's (APR_FROM_OS_ERROR); those a caller must tell apart stand at each call.
 *
 * Results and sentences live in the pool that a call takes.
 */
#ifndef TSEED_STORE_H
#define TSEED_STORE_H

#include "base/tseed_calendar.h"
#include "layer/tseed_effect.h"
#include "layer/tseed_tileset.h"
#include "store/tseed_remnant.h"
#include "tiling/tseed_range.h"

typedef struct tseed_store_t tseed_store_t;

/* Checks a store's configuration: an absolute root, and a template that gives every tile its own
 * file below it. NULL or a sentence. Configuration phase, no file system access. */
const char *tseed_store_check(const tseed_store_config_t *config, apr_pool_t *pool);

/* Checks a finished layer against its store, which has passed tseed_store_check: tiles of its grid
 * sets, formats and parameters must not share files. NULL or a sentence. Configuration phase, no
 * file system access. */
const char *tseed_store_check_layer(const tseed_layer_t *layer, apr_pool_t *pool);

/* Where a write of a tile is most likely to have failed: the deepest directory on its way that
 * there is, or that this process can look into. Absolute, in `pool`. Asks the file system. */
const char *tseed_store_obstacle(const tseed_tileset_t *tileset, const tseed_tile_t *tile,
                                 apr_pool_t *pool);

/* The path below the root of one tile (tseed_layout.h). In `pool`. */
const char *tseed_store_path(const tseed_tileset_t *tileset, int z, int64_t x, int64_t y,
                             apr_pool_t *pool);

/* Views of one tile set at a time, and so threads, are told apart by numbers below this. */
#define TSEED_STORE_IDS 256

/* Tells the temporary files of this process from those of other programs that write into the same
 * directories: a seeder of another httpd must not rename ours over its tiles. At most that many
 * letters and digits; "" at first. Views take it when they are opened. After a crash it should be
 * the same again, for what was left to be found. */
#define TSEED_INSTANCE_LONGEST 16
void tseed_store_instance_set(const char *instance);

/* By which the age of unfinished files is judged in this process; NULL, as at first: by the wall
 * clock. While the process has one thread that uses stores. */
void tseed_store_calendar_set(const tseed_calendar_t *calendar);

/* Opens a view, in a child of `pool`. `tileset` outlives it. `id` tells this thread's temporary
 * files from another's. APR_SUCCESS also when the root does not exist yet; it is made by the first
 * put. */
apr_status_t tseed_store_open(tseed_store_t **store, const tseed_tileset_t *tileset, unsigned id,
                              apr_pool_t *pool);
void tseed_store_close(tseed_store_t *store);

/* After a call that failed with ELOOP: the directory, below the root, that is a link; "" when there
 * is none any more. Up to the next call. */
const char *tseed_store_link_met(tseed_store_t *store);

/* Sets what effects round sizes up to, at least 1, which it is at first. Any time between calls. */
void tseed_store_block_set(tseed_store_t *store, int64_t block);

/* What a file of that length will count as allocated: to be charged before a put. No I/O. */
int64_t tseed_store_allocation(const tseed_store_t *store, size_t length);

/* Bit i is set if the i-th tile of the range (row by row from the bottom-left) exists with a size
 * above 0. APR_EINVAL: more than 64 * words tiles. */
apr_status_t tseed_store_present(tseed_store_t *store, const tseed_range_t *range, uint64_t *bits,
                                 unsigned words);

/* Asked right before a rename or an unlink: whether to leave it (the task was terminated). */
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

/* Uniform tiles. Those of the same content in a tile set are names of one file, the master, which
 * has a hidden name of its own below the root as well. It is counted once, in the tile set's shared
 * sum; its tiles count as names only. */

/* Makes a tile another name of the master of this content; replaces what was there, unless it is
 * that already. `effect` as for put. APR_NOTFOUND: there is no master that takes another name;
 * charge tseed_store_allocation, share the content, and link again. APR_ENOTIMPL: put it instead;
 * the file system will not (EXDEV, EPERM, ENOTSUP), or the content is too long to be worth it.
 * APR_EINTR as for put. */
apr_status_t tseed_store_link(tseed_effect_t *effect, tseed_store_t *store,
                              const tseed_tile_t *tile, const void *data, size_t length,
                              const tseed_stop_t *stop);

/* Makes the master. `effect` is that on the shared sum: one file, or nothing when another thread
 * has just made it. APR_ENOTIMPL as for link. */
apr_status_t tseed_store_share(tseed_effect_t *effect, tseed_store_t *store, const void *data,
                               size_t length);

/* Removes the masters that no tile is a name of any more; `effect` on the shared sum: each is in
 * that of the thread that has removed it. Takes the lock of names for each, which keeps links away
 * from what it removes. */
apr_status_t tseed_store_shared_sweep(tseed_effect_t *effect, tseed_store_t *store);

/* The shared sum as it is on disk: the masters' files and sizes. */
apr_status_t tseed_store_shared_count(tseed_effect_t *sum, tseed_store_t *store);

/* Told of each tile that a removal has removed or a walk has found. */
typedef struct {
    void (*tell)(void *baton, const tseed_tile_t *tile, const tseed_effect_t *effect);
    void *baton;
    void (*warn)(void *baton, const tseed_tile_t *tile); /* right before a removal; NULL: nobody */
} tseed_witness_t;

/* Removes the tiles of a range and the directories below the root that became empty by it. Where
 * less exists than could exist it walks what exists. Symbolic links to directories are not
 * followed. `witness` is told each tile's effect right after its removal, in this thread; exact as
 * long as nobody else puts this very tile meanwhile. What was not there is no failure. `stop` is
 * asked for every name examined. APR_EINTR: stopped in the middle. */
apr_status_t tseed_store_remove(tseed_store_t *store, const tseed_range_t *range,
                                const tseed_witness_t *witness, const tseed_stop_t *stop);

/* What is on disk of a range: names, and the files that belong to them. `drop_leftovers`: removes
 * all unfinished files from the directories that it looks into, when no other thread writes there.
 */
apr_status_t tseed_store_count(tseed_effect_t *sum, tseed_store_t *store,
                               const tseed_range_t *range, int drop_leftovers);

/* Whether the disk has nothing of a tile set. Examines so few names that the answer comes at once:
 * 0 as well when there are more of them or when they can't be read. `scratch` gets what the search
 * needs. Any thread. */
int tseed_store_is_absent(const tseed_tileset_t *tileset, apr_pool_t *scratch);

/* Finds the tiles that exist in levels first..last, in no particular order, without putting or
 * removing any. `witness` sets the pace; it is told what tseed_store_count would say of the tile.
 * Memory is bounded whatever there is. A tile that is put or removed meanwhile may be missed or
 * told. `stop` and directories as for a removal. */
apr_status_t tseed_store_walk(tseed_store_t *store, int first, int last,
                              const tseed_witness_t *witness, const tseed_stop_t *stop);

/* Takes all tiles of a range out of sight at once: renames the directory of their level away, to
 * be purged. `remnant` says whose they are and what the books have of them, and is told how many
 * they were; it becomes the directory's name. Nobody puts or removes tiles of the range meanwhile;
 * what else is done in the process may go on. APR_ENOTIMPL: remove them instead, nothing changed;
 * the layout has no such directory, or something else is in it (tiles outside of the range, other
 * formats, other people's files, links) or came into it meanwhile, or it can't be renamed. Nothing
 * there is success. */
apr_status_t tseed_store_detach(tseed_remnant_t *remnant, tseed_store_t *store,
                                const tseed_range_t *range, const tseed_stop_t *stop);

/* Removes what was detached below a root, whenever and by whomever. *removed counts tiles up. Up to
 * `parts` threads share the work, by calling with the numbers below that; which directory is whose
 * is a matter of its inode. What a thread that was stopped leaves is found again by the next call
 * of that part. No view is needed. APR_EINTR: stopped in the middle. */
apr_status_t tseed_store_purge(_Atomic int64_t *removed, const char *root, unsigned part,
                               unsigned parts, const tseed_stop_t *stop);

/* The parameter hashes of which the disk has directories, be they configured or not: *hashes is of
 * const char *, in `pool`, each once. `tileset` says of which layer and grid set; its own hash does
 * not matter. There need not be tiles of its format. APR_ENOTIMPL: the layout has levels or tiles
 * above its hashes, or no hashes. Nothing there is success. */
apr_status_t tseed_store_hashes(apr_array_header_t **hashes, const tseed_tileset_t *tileset,
                                apr_pool_t *pool);

/* The file in which GeoWebCache says what a hash stands for (tseed_properties.h), in `pool`; NULL:
 * there is none that can be read. */
const char *tseed_store_hash_file(const tseed_tileset_t *tileset, const char *hash,
                                  apr_pool_t *pool);

#endif
