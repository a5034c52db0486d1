/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Remnants: levels that were renamed away and not removed yet.
 *
 *      <root>/.tileseed/removed/12-00c0ffee00c0ffee-7-1089-1024-98765432-99614720-0
 *                               |  tile set         | |    |    |        |        number
 *                               level            task tiles files bytes  allocated
 *
 * The name is a note: rename moves the directory and writes the note in one step. So a process that
 * finds the directory after a crash knows which tile set and task it belongs to, and how much is
 * booked.
 *
 * Any process and thread.
 */
#ifndef TSEED_REMNANT_H
#define TSEED_REMNANT_H

#include <apr_errno.h>
#include <apr_tables.h>
#include <stdint.h>

#include "layer/tseed_effect.h"

typedef struct {
    int z;
    uint64_t print; /* tseed_tileset_print */
    int64_t task;
    tseed_effect_t usage; /* names: tiles as they were counted; the rest as the books had it */
} tseed_remnant_t;

#define TSEED_REMNANT_NAME_SIZE 160

/* The name of a remnant; `number` tells it from others of the same. */
void tseed_remnant_name(char name[TSEED_REMNANT_NAME_SIZE], const tseed_remnant_t *remnant,
                        int number);

/* The remnants below a store root: *remnants is an array of tseed_remnant_t in `pool`. Success when
 * there are none. */
apr_status_t tseed_remnant_list(apr_array_header_t **remnants, const char *root, apr_pool_t *pool);

#endif
