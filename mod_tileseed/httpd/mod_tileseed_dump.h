/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The dump of `apachectl -t -D DUMP_TILESEED`: the configuration in force, written as configuration
 * with every default. httpd takes the dump, and a dump of that is the same text. The rules of the
 * directives write it, in the order of their rows. Parent, test_config hook. */
#ifndef MOD_TILESEED_DUMP_H
#define MOD_TILESEED_DUMP_H

#include <apr_file_io.h>

#include "mod_tileseed_directive.h"

/* Where the lines of `apachectl -t -D DUMP_TILESEED` go. */
struct tseed_dump_t {
    apr_file_t *to;
    const char *indent; /* of what stands in the block that is being written */
    const tseed_catalog_t *catalog;
    apr_pool_t *pool; /* of all texts */
};

/* Writes one line. */
void tseed_dump_line(const tseed_dump_t *dump, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* " NAME=VALUE" with the value in quotes; "" for NULL. */
const char *tseed_dump_option(const tseed_dump_t *dump, const char *name, const char *value);

/* The same of each value of an option that may be repeated, const char *. */
const char *tseed_dump_options(const tseed_dump_t *dump, const char *name,
                               const apr_array_header_t *values);

/* "minx miny maxx maxy" with `glue` between the numbers. */
const char *tseed_show_box(const tseed_bounds_t *bounds, const char *glue, apr_pool_t *pool);

/* The keys of a hash in order, const char *: the order of the hash changes from run to run. */
const apr_array_header_t *tseed_dump_names(const tseed_dump_t *dump, apr_hash_t *hash);

#endif
