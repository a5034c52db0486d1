/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Folders: the directories below a store's root that one thread used last, kept open.
 *
 * An open descriptor saves the kernel the walk along the path for every tile, and saves a mkdir for
 * every directory that exists. Somebody else may remove a directory that is open here.
 * tseed_folders_find notices the removal. tseed_folders_make does not: then the first use of its
 * descriptor fails with ENOENT, and the caller forgets all folders and tries again.
 *
 * The memory is the pool's of the view; its cleanup closes the descriptors.
 */
#ifndef TSEED_FOLDERS_H
#define TSEED_FOLDERS_H

#include <dirent.h>

#include "layer/tseed_layer.h"

/* A metatile's columns in layouts with a directory a column; times the views of all tasks it must
 * stay below the usual limit of open files. */
#define TSEED_FOLDERS_MAX 8

typedef struct {
    int fd; /* -1: free */
    char *path;
    size_t length;
    uint64_t used; /* the clock at the last use */
} tseed_folder_t;

/* Lives in the store's view, used by one thread. */
typedef struct {
    const char *root;
    int dirmode;
    int root_fd; /* -1: not open */
    uint64_t clock;
    tseed_folder_t slots[TSEED_FOLDERS_MAX];
} tseed_folders_t;

/* `longest`: bytes that hold any path that will be asked for. */
void tseed_folders_init(tseed_folders_t *folders, const tseed_store_config_t *config,
                        size_t longest, apr_pool_t *pool);

/* The descriptor of a directory relative to the root ("": the root itself), borrowed until the
 * caller has asked for eight others. find: ENOENT when the directory does not exist. make: makes
 * the directory and all above it; somebody may have removed it since. ELOOP: a directory below the
 * root is a symbolic link. */
apr_status_t tseed_folders_find(int *fd, tseed_folders_t *folders, const char *path, size_t length);
apr_status_t tseed_folders_make(int *fd, tseed_folders_t *folders, const char *path, size_t length);

/* openat(2) of what is there. NFS may remember a handle that is stale; then its client forgets the
 * handle, and the next call finds the file: so the call is made again. */
int tseed_folders_openat(int folder, const char *name, int flags);

/* A stream over a directory's names, of a position of its own, or NULL with errno; to be closed. */
DIR *tseed_folders_stream(int fd);

/* Closes everything. */
void tseed_folders_forget(tseed_folders_t *folders);

#endif
