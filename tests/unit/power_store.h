/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A disk that may lose its power at any time, below the seeder: its store and its state.
 *
 * The program's own open, write, rename, syncfs and so on stand before those of the C library, in
 * all its processes and threads. They do what they always do, except that nothing waits for the
 * real disk, and write down what changes below the seeder's folder. From those notes another folder
 * is laid out as a power loss after any of them could have left the first one:
 *
 *  - what a file holds is safe once it was synced, or its file system was, by a call that began
 *    later and has returned,
 *  - names are kept in their order, up to any one behind the last that is safe; store and state lie
 *    on a disk each, and a name of the state is safe once its folder was synced,
 *  - of everything else that was written any part may be there.
 *
 * SQLite's shared index is left out.
 */
#ifndef POWER_STORE_H
#define POWER_STORE_H

#include <apr_pools.h>
#include <stddef.h>
#include <stdint.h>

#define POWER_FOLDER "/tileseed-seeder-" /* and six letters more: the end of the folder's path */
#define POWER_STORE  "cache/"            /* what lies in it is the store */

typedef struct {
    size_t at;          /* how many notes were made before it */
    uint64_t dice;      /* what is lost of that which is not safe */
    int keeps_all;      /* nothing is lost, */
    int ignores_syncfs; /* or the store's disk lies: nothing of it is ever safe */
} power_cut_t;

/* Begins to take notes, before the folder is there; stops. */
void power_store_start(void);
void power_store_stop(void);

/* Notes made so far. */
size_t power_store_notes(void);

/* The first note at or behind this one that is a sync of the state's, or the last of all. */
size_t power_store_commit(size_t at);

/* Lays out an empty folder as the cut left the folder of the seeder. */
void power_store_restore(const char *folder, const power_cut_t *cut);

/* When the file of this name was made, as it was restored: a number of notes; 0:
 * there is none. */
size_t power_store_born(const char *name);

/* The time that tseed_clock_monotonic sees goes that much faster, in processes forked from now on
 * and in this one. */
void power_store_hurry(int factor);

#endif
