/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A view's inside. For the files of this room; each call on the thread that uses the view.
 *
 *      tseed_store_check.c    stores that are refused, and what a call has failed at
 *      tseed_store_view.c     opening, a tile's file, remembered folders, shared inodes
 *      tseed_store.c          looking and putting
 *      tseed_store_read.c     reading a tile back
 *      tseed_store_share.c    making, linking and sweeping the shared files
 */
#ifndef TSEED_STORE_VIEW_H
#define TSEED_STORE_VIEW_H

#include <apr_hash.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "store/tseed_folders.h"
#include "store/tseed_layout.h"
#include "store/tseed_leftover.h"
#include "store/tseed_names.h"
#include "store/tseed_store.h"

/* Whether files come out with the mode that the administrator gave. */
typedef enum { TSEED_MODE_UNKNOWN, TSEED_MODE_RIGHT, TSEED_MODE_WRONG } tseed_mode_t;

/* Files that uniform tiles share: as many are remembered, of contents not longer than that. */
#define TSEED_MASTERS_MAX    4
#define TSEED_MASTER_LONGEST 16384

/* A shared file as the view saw it last. */
typedef struct {
    size_t length; /* of the content; 0: free */
    unsigned char *data;
    char digest[41];
    int number; /* several of one content, when a file may have no more names */
    char name[56];
    int known; /* it was there, as the inode below, after so many sweeps */
    unsigned sweeps;
    dev_t device;
    ino_t inode;
} tseed_master_t;

/* A tile's file: its directory is the first `length` bytes of path. */
typedef struct {
    const char *path;
    size_t length;
    const char *name;
} tseed_tile_file_t;

/* Lives in its own pool, used by one thread. The paths hold any of the pattern, and links. */
struct tseed_store_t {
    apr_pool_t *pool;
    const tseed_store_config_t *config;
    const tseed_pattern_t *pattern;
    size_t longest, longest_folder; /* of paths of tiles; of all that are asked for */
    char *path, *other_path;
    char *place;                        /* for the answer of tseed_store_obstacle */
    const char *blamed;                 /* what the last call has failed at; NULL: nothing yet */
    size_t blamed_length;               /* so much of that, */
    int blames_tile;                    /* and it is a tile */
    char *names;                        /* one for each depth of a walk */
    char leftover[TSEED_LEFTOVER_SIZE]; /* this thread's */
    tseed_folders_t folders;
    int64_t block;
    size_t written;            /* bytes of the last hidden file */
    tseed_effect_t unremoved;  /* unfinished files that could not be discarded, */
    apr_status_t unremoved_rv; /* why the last of them, */
    apr_hash_t *noted;         /* and their ino_t -> ""; NULL: there was none */
    int adopted;               /* masters that were made of names since tseed_store_adopted_take */
    tseed_mode_t mode;
    int replacing;        /* the last put met another tile: the next one will as well */
    int never_refuses;    /* the file system can't refuse a rename because of what is there */
    int never_links;      /* the file system has no hard links, or not for us */
    unsigned detachments; /* how many there had been when the folders were opened */
    const char *links;    /* directory of the shared files */
    tseed_master_t masters[TSEED_MASTERS_MAX];
    unsigned next_master;      /* the one to give up next */
    apr_pool_t *shared_pool;   /* of the next three, NULL until they are asked for */
    apr_hash_t *shared_inodes; /* ino_t -> itself */
    dev_t shared_device;
    unsigned shared_changes; /* how many there had been when they were known */
    int shared_is_read;
    uint64_t shared_set; /* digest of root and `links` */
};

/* The effect of a file appearing, or of one name of a file disappearing; a loss fails
 * when the masters can't be read. */
tseed_effect_t tseed_store_gain(const tseed_store_t *store, size_t length);
apr_status_t tseed_store_loss(tseed_effect_t *loss, tseed_store_t *store, const struct stat *st);

/* Says that a call fails at a directory, relative to the root, or at a tile whose directory can be
 * used. Only the first word about a call counts. `path` stays as it is up to the next call. */
void tseed_view_blame(tseed_store_t *store, const char *path, size_t length, int is_tile);

/* The tile of the last tseed_view_file into store->path fails as *rv says, after something of its
 * name was seen: blames the tile if the error can be about it. */
void tseed_view_blame_tile(tseed_store_t *store, apr_status_t rv);

/* `path` has room for the pattern's longest. */
tseed_tile_file_t tseed_view_file(const tseed_store_t *store, char *path, const tseed_tile_t *tile);

/* Whether a call is worth beginning again, with nothing remembered: a directory has gone meanwhile,
 * or too many files are open and the remembered ones are among them. */
int tseed_view_begin_again(tseed_store_t *store, apr_status_t rv, int *attempts);

/* Begins a call, which has failed at nothing yet. Forgets remembered folders that were detached. */
void tseed_view_begin(tseed_store_t *store);

/* Writes the path of what lies so deep on the way to a tile to store->path. */
void tseed_view_path(tseed_store_t *store, const tseed_tile_t *tile, int depth);

/* Whether folders may have been detached since. */
static inline int tseed_view_is_stale(const tseed_store_t *store)
{
    return store->detachments != tseed_names_detachments;
}

/* Whether a file is one of the tile set's masters. Fails when they can't be read. */
apr_status_t tseed_view_is_shared(int *is_shared, tseed_store_t *store, const struct stat *st);

/* Makes a name of a file in a directory the name of a master, too: the file has several names in
 * the tile set, and lost its master. 0: the module would not share it, or it can't be linked. */
int tseed_view_adopt(tseed_store_t *store, int folder, const char *name, const struct stat *st);

/* Notes for all views of the process that a master was made, or has gone. The caller holds the lock
 * of names alone. */
void tseed_view_shared_changed_locked(const tseed_store_t *store, const struct stat *st, int gone);

/* Removes that directory below the root and those above it, as far as they are empty. `path` is not
 * store->other_path. */
void tseed_view_drop_empty(tseed_store_t *store, const char *path);

/* Whether the caller said to stop, or the deadline of the process has passed; `stop` may be NULL.
 */
int tseed_view_is_stopped(const tseed_stop_t *stop);

/* Discards this thread's hidden file. If it can be neither removed nor emptied that is noted for
 * tseed_store_unremoved_take. */
void tseed_view_discard(tseed_store_t *store, int folder);

/* Notes what discarding an unfinished file came to, as tseed_view_discard does. A file that was
 * noted before, and another name of a shared file, are no news. */
void tseed_view_note_unremoved(tseed_store_t *store, int folder, const char *name, apr_status_t rv);

/* Writes the whole content into this thread's hidden file in that directory, and discards the file
 * on failure. */
apr_status_t tseed_view_write(tseed_store_t *store, int folder, const void *data, size_t length);

/* Gives the hidden file its name, or discards it. `lost` is what it replaced. APR_EINTR: `stop`
 * said so; ESTALE: begin again; else as the system failed. */
apr_status_t tseed_view_finish(tseed_effect_t *lost, tseed_store_t *store, int folder,
                               const char *name, const tseed_stop_t *stop);

/* Says that a name was given in an open directory. The caller still holds the lock. */
void tseed_watch_tell_locked(int folder);

#endif
