/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A piece of memory that only grows: what a cutter keeps from one picture to the next. One thread
 * at a time; the memory is malloc'd. */
#ifndef TSEED_BUFFER_H
#define TSEED_BUFFER_H

#include <stdlib.h>

/* The sentence of this room when memory runs out. */
#define TSEED_NO_MEMORY "there is not enough memory for the picture"

typedef struct {
    unsigned char *data;
    size_t size;
} tseed_buffer_t;

/* Makes room for `size` bytes. A buffer that has to grow loses its content. Returns 0, or -1 when
 * there is no memory: the buffer is empty then. */
static inline int tseed_buffer_reserve(tseed_buffer_t *buffer, size_t size)
{
    if (size <= buffer->size) {
        return 0;
    }
    free(buffer->data);
    buffer->data = malloc(size);
    buffer->size = buffer->data ? size : 0;
    return buffer->data ? 0 : -1;
}

/* Gives its memory back. */
static inline void tseed_buffer_free(tseed_buffer_t *buffer)
{
    free(buffer->data);
    *buffer = (tseed_buffer_t){0};
}

#endif
