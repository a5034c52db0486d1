/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The findings of a tile set, as another process than the seeder sees them. */
#include "savings/tseed_known.h"

#include <stdint.h>

#include "books/tseed_origins.h"
#include "savings/tseed_finding_set.h"
#include "state/tseed_books.h"

#define FINDINGS_MOST (1 << 15) /* a fifth of a second */

struct tseed_known_t {
    const tseed_task_t *task;
    tseed_book_tileset_t booked; /* its record alone */
    tseed_finding_set_t *set;     /* NULL: nothing is known */
};

static apr_status_t free_set(void *set)
{
    tseed_finding_set_free(set);
    return APR_SUCCESS;
}

/* Finds the record of the task's tile set. Returns 0 if there is none, or if its tiles were made by
 * another recipe. */
static int find_record(tseed_known_t *known, const apr_array_header_t *records,
                       const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    const uint64_t print = tseed_tileset_print(tileset, pool);

    for (int i = 0; i < records->nelts; i++) {
        const tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        if (record->print == print) {
            known->booked.record = *record;
            return record->recipe == tseed_origins_recipe(known->task, tileset, pool);
        }
    }
    return 0;
}

apr_status_t tseed_known_load(tseed_known_t **known, tseed_state_t *state, const tseed_task_t *task,
                              const tseed_tileset_t *tileset, apr_pool_t *pool)
{
    tseed_known_t *all = apr_pcalloc(pool, sizeof(*all));
    apr_array_header_t *records;
    apr_status_t rv;

    *known = all;
    all->task = task;
    if (!tileset->layer->uniform.is_on) {
        return APR_SUCCESS;
    }
    rv = tseed_books_tilesets(state, &records, pool);
    if (rv != APR_SUCCESS || !find_record(all, records, tileset, pool)) {
        return rv;
    }
    all->set = tseed_finding_set_create(&all->booked, task->meta_width, task->meta_height,
                                       tileset->layer->uniform.depth);
    apr_pool_cleanup_register(pool, all->set, free_set, apr_pool_cleanup_null);
    return tseed_finding_set_load(all->set, state, FINDINGS_MOST, pool);
}

/* Whether the task will rely on a finding. */
static int is_relied_on(void *baton, const tseed_finding_t *finding)
{
    const tseed_task_t *task = baton;

    return task->type != TSEED_RESEED ||
           (finding->is_clean && finding->range.z >= task->zoom_start);
}

int tseed_known_has(const tseed_known_t *known, const tseed_positions_t *positions,
                       int64_t position)
{
    const tseed_place_t place = tseed_positions_place(positions, position);
    const tseed_spot_t spot = {positions, place.block.z, place.x, place.y, 0};

    return known->set && tseed_findings_above(known->set->findings, &spot, is_relied_on,
                                              (void *)known->task) != NULL;
}
