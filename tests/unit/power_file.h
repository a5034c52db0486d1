/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What a file holds after a power loss, put together write by write. For the power_* files. */
#ifndef POWER_FILE_H
#define POWER_FILE_H

#include <stdlib.h>
#include <string.h>

/* All zero: empty. */
typedef struct {
    char *bytes; /* malloc'd */
    size_t length, room;
} power_file_t;

/* What has become of a write: it is lost, there, there by half, or nothing but room for it. */
typedef enum { GONE, WHOLE, TORN, HOLLOW } fate_t;

/* Cuts it, or adds zeros. */
static inline void power_file_resize(power_file_t *file, size_t length)
{
    if (length > file->room) {
        file->room = 2 * length;
        file->bytes = realloc(file->bytes, file->room);
    }
    if (length > file->length) {
        memset(file->bytes + file->length, 0, length - file->length);
    }
    file->length = length;
}

/* One that is not GONE. */
static inline void power_file_write(power_file_t *file, size_t offset, const char *bytes,
                                    size_t length, fate_t fate)
{
    const size_t end = offset + (fate == TORN ? length / 2 : length);

    if (end > file->length) {
        power_file_resize(file, end);
    }
    if (fate != HOLLOW) {
        memcpy(file->bytes + offset, bytes, end - offset);
    }
}

#endif
