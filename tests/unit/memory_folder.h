/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where a test that makes thousands of files has them when it needs no disk: a disk's file system
 * would take a quarter of its time. */
#ifndef MEMORY_FOLDER_H
#define MEMORY_FOLDER_H

#include <unistd.h>

/* A folder in memory; /tmp where there is none. */
static inline const char *memory_folder(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

#endif
