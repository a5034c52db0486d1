/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Origins that say nothing, and count who calls them: for tests of the savings. */
#ifndef ORIGINS_FIXTURE_H
#define ORIGINS_FIXTURE_H

#include "books/tseed_origins.h"

static int asked, taken, forgotten, left;
static uint64_t recipe = 1; /* by which tiles are made now */

void tseed_origins_ask(tseed_origins_t *origins, tseed_job_t *leader, const char *address)
{
    (void)origins;
    (void)address;
    leader->request.transfer.condition = NULL;
    asked++;
}

void tseed_origins_take(tseed_origins_t *origins, tseed_job_t *job)
{
    (void)origins;
    (void)job;
    taken++;
}

void tseed_origins_forget(tseed_origins_t *origins, tseed_job_t *job)
{
    (void)origins;
    (void)job;
    forgotten++;
}

void tseed_origins_forget_all(tseed_origins_t *origins, tseed_book_tileset_t *of)
{
    (void)origins;
    (void)of;
}

void tseed_origins_forget_tiles(tseed_origins_t *origins, tseed_run_t *of,
                                const tseed_range_t *tiles)
{
    (void)origins;
    (void)of;
    forgotten += (int)tseed_range_count(tiles);
}

void tseed_origins_follow(tseed_origins_t *origins, tseed_run_t *of)
{
    (void)origins;
    (void)of;
}

void tseed_origins_leave(tseed_origins_t *origins, const tseed_book_tileset_t *of)
{
    (void)origins;
    (void)of;
    left++;
}

tseed_cell_shape_t tseed_origins_cell(tseed_origins_t *origins, tseed_run_t *of,
                                      const tseed_metatile_t *metatile)
{
    (void)origins;
    (void)of;
    (void)metatile;
    return (tseed_cell_shape_t){0, 0};
}

apr_status_t tseed_origins_write(const tseed_origins_t *origins)
{
    (void)origins;
    return APR_SUCCESS;
}

void tseed_origins_saved(tseed_origins_t *origins)
{
    (void)origins;
}

uint64_t tseed_origins_recipe(const tseed_task_t *task, const tseed_tileset_t *tileset,
                              apr_pool_t *scratch)
{
    (void)task;
    (void)tileset;
    (void)scratch;
    return recipe;
}

#endif
