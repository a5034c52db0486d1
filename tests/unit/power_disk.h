/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A disk that may lose its power at any time, for the tests of state/.
 *
 * The program's own open, write, sync, rename and so on stand before those of the C library, also
 * for SQLite and apr_dbd's driver. They do what they always do, except that nothing waits for the
 * real disk, and write down what changes below one directory. From those notes the directory is
 * laid out again as a power loss after any of them could have left it:
 *
 *  - what was written to a file is safe once the file was synced afterwards,
 *  - names (made, removed, changed) are safe once the directory was synced afterwards,
 *  - of everything else any part may be there or not, in any order.
 *
 * Files keep their inodes in all this: each one has a second name in a vault beside the directory.
 * One thread only.
 */
#ifndef POWER_DISK_H
#define POWER_DISK_H

#include <stddef.h>
#include <stdint.h>

/* What becomes of that which is not safe. */
typedef enum {
    POWER_LOSES_ALL,
    POWER_LOSES_NONE,  /* only the processes died */
    POWER_LOSES_ONE,   /* the `one` of the cut, counted from 1 */
    POWER_LOSES_ODD,   /* the first, the third and so on */
    POWER_LOSES_EVEN,  /* the second, the fourth and so on */
    POWER_TEARS_LAST,  /* half of the last write */
    POWER_LOSES_BYTES, /* files have grown, but hold zeros there */
} power_loss_t;

typedef struct {
    size_t at;                /* how many notes were made before it */
    power_loss_t data, names; /* of files, of the directory */
    unsigned one;
    int ignores_syncs;      /* this disk lies: nothing that was written is ever safe */
    int ignores_name_syncs; /* the same of names */
} power_cut_t;

/* Begins to take notes of what happens below `directory`, which is empty; `vault` is another one of
 * the same file system. What was noted before is forgotten. */
void power_disk_start(const char *directory, const char *vault);

/* Stops and begins again. */
void power_disk_record(int on);

/* So many syncs of files from now on fail, and make nothing safe. */
void power_disk_fail_syncs(int count);

/* Notes made so far. */
size_t power_disk_notes(void);

/* The same number for two cuts: the same notes are left. Cheaper than power_disk_assemble. */
uint64_t power_disk_signature(const power_cut_t *cut);

/* Puts together in memory what the cut left, whichever notes that came from. The same number for
 * two cuts: the same names and bytes are left. */
uint64_t power_disk_assemble(const power_cut_t *cut);

/* Lays out the directory as the last call of power_disk_assemble has put it together. */
void power_disk_restore(void);

#endif
