/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The lines of a dump. Parent, while it tests the configuration. */
#ifndef MOD_TILESEED_DUMP_TEXT_H
#define MOD_TILESEED_DUMP_TEXT_H

#include <apr_file_io.h>

typedef struct {
    apr_file_t *to;
    apr_pool_t *pool; /* of all texts */
} tseed_dump_t;

/* Writes one line. */
void tseed_dump_line(const tseed_dump_t *dump, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* " NAME=VALUE" with the value in quotes; "" for NULL. In the dump's pool. */
const char *tseed_dump_option(const tseed_dump_t *dump, const char *name, const char *value);

#endif
