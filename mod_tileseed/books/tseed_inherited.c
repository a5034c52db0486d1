/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A seeder may die after it has renamed a level away and before it has recorded that: the database
 * has the truncate of that level as unfinished. The name of the directory says which level of which
 * tile set it was. One transaction records the renaming as the dead seeder would have done. Nothing
 * is purged before. */
#include "books/tseed_inherited.h"

#include <stdlib.h>
#include <string.h>

#include "base/tseed_log.h"
#include "board/tseed_traces.h"
#include "books/tseed_jobs.h"
#include "protocol/tseed_task_check.h"

/* What all functions here use. */
typedef struct {
    const tseed_context_t *context;
    const tseed_session_t *session;
    tseed_cache_t *cache;
    tseed_page_loader_t *loader;
} uses_t;

typedef struct {
    tseed_remnant_t remnant;
    const char *root; /* below which it lies */
} find_t;

/* A truncate that has a remnant; in scratch. */
typedef struct {
    tseed_task_t *task;
    tseed_progress_t progress;
    tseed_tileset_t tileset;
    uint64_t print; /* of `tileset` */
    tseed_positions_t positions;
    int is_ended; /* by a client, and not confirmed yet */
} truncate_t;

/* APR_NOTFOUND: the database has no such truncate that might not know of the remnant. */
static apr_status_t truncate_get(truncate_t *truncate, const uses_t *uses, int64_t id,
                                 const apr_array_header_t *terminations)
{
    apr_status_t rv = tseed_state_task_get(uses->session->state, &truncate->task,
                                           &truncate->progress, id, uses->context->scratch);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    truncate->is_ended = 0;
    for (int i = 0; i < terminations->nelts; i++) {
        truncate->is_ended |= APR_ARRAY_IDX(terminations, i, int64_t) == id;
    }
    if (truncate->task->type != TSEED_TRUNCATE || !truncate->task->has_area ||
        (!truncate->is_ended && truncate->progress.state != TSEED_PENDING &&
         truncate->progress.state != TSEED_RUNNING) ||
        tseed_task_tileset(&truncate->tileset, truncate->task, uses->context->catalog,
                           uses->context->scratch)) {
        return APR_NOTFOUND;
    }
    truncate->print = tseed_tileset_print(&truncate->tileset, uses->context->scratch);
    tseed_positions_init(&truncate->positions, truncate->tileset.subset->gridset,
                         &truncate->task->bounds,
                         &(tseed_shape_t){truncate->task->zoom_start, truncate->task->zoom_stop,
                                          truncate->task->meta_width, truncate->task->meta_height});
    return APR_SUCCESS;
}

static int is_owed(const truncate_t *truncate, const tseed_remnant_t *remnant)
{
    return truncate->print == remnant->print && remnant->z >= truncate->task->zoom_start &&
           remnant->z <= truncate->task->zoom_stop &&
           !tseed_progress_is_done(&truncate->progress, remnant->z - truncate->task->zoom_start);
}

static int64_t larger_up_to(int64_t most, int64_t removed, int64_t other)
{
    return other > removed && other <= most ? other : removed;
}

/* How many tiles the task had removed before the level was renamed away. The board may have counted
 * more than the database. */
static int64_t removed_before(const uses_t *uses, const truncate_t *truncate, int64_t position,
                              int64_t most)
{
    const int64_t id = truncate->task->id;
    int64_t removed = truncate->progress.removed;
    tseed_row_t row;

    if (tseed_board_find(uses->context->board, id, &row) &&
        tseed_job_trace_is_row(&row, truncate->task, NULL) &&
        !tseed_progress_is_done(&row.progress, position)) {
        removed = larger_up_to(most, removed, row.progress.removed);
    }
    return larger_up_to(most, removed,
                        tseed_trace_removed(uses->context->board,
                                            tseed_trace_find(uses->context->board, id, position)));
}

/* Levels are removed one after the other: the levels before this one were finished. Tiles that
 * these levels did not have count as skipped. */
static void count_level(const uses_t *uses, truncate_t *truncate, const tseed_remnant_t *remnant)
{
    const int64_t last = remnant->z - truncate->task->zoom_start;
    tseed_progress_t *progress = &truncate->progress;
    int64_t tiles = 0, removed, left;

    for (int z = truncate->task->zoom_start; z <= remnant->z; z++) {
        tiles += tseed_range_count(&truncate->positions.range[z]);
    }
    removed = removed_before(uses, truncate, last, tiles);
    left = tiles - removed;
    progress->removed = removed + (remnant->usage.names < left ? remnant->usage.names : left);
    progress->skipped = tiles - progress->removed;
    for (int64_t position = 0; position <= last; position++) {
        tseed_progress_finish(progress, position);
    }
}

/* *booked: the tile set of a remnant that is to be booked; NULL: there is nothing to do. */
static apr_status_t claim(tseed_book_tileset_t **booked, truncate_t *truncate, const uses_t *uses,
                          const find_t *find, const apr_array_header_t *terminations)
{
    tseed_book_tileset_t *found = tseed_book_find(uses->cache->book, find->remnant.print);
    apr_status_t rv;

    *booked = NULL;
    if (!found || strcmp(found->record.root, find->root) != 0) {
        return APR_SUCCESS;
    }
    rv = truncate_get(truncate, uses, find->remnant.task, terminations);
    if (rv == APR_SUCCESS && is_owed(truncate, &find->remnant)) {
        *booked = found;
    }
    return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
}

/* Loads the pages that are to be moved, before the database is locked for writing. */
static apr_status_t load_all(const uses_t *uses, const apr_array_header_t *finds,
                             const apr_array_header_t *terminations)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < finds->nelts; i++) {
        tseed_book_tileset_t *booked;
        truncate_t truncate;

        rv = claim(&booked, &truncate, uses, &APR_ARRAY_IDX(finds, i, find_t), terminations);
        if (rv == APR_SUCCESS && booked) {
            rv = tseed_page_loader_load(uses->loader, booked);
        }
    }
    return rv;
}

static apr_status_t inherit(const uses_t *uses, const find_t *find,
                            const apr_array_header_t *terminations)
{
    const tseed_remnant_t *remnant = &find->remnant;
    tseed_book_tileset_t *booked;
    truncate_t truncate;
    int won;
    apr_status_t rv = claim(&booked, &truncate, uses, find, terminations);

    if (rv != APR_SUCCESS || !booked) {
        return rv;
    }
    tseed_book_inherit(uses->cache->book, booked, remnant->z, &remnant->usage);
    tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
              "TS0068: task %" APR_INT64_T_FMT " of layer '%s': level %d with %" APR_INT64_T_FMT
              " tiles was renamed away when the seeder died",
              remnant->task, truncate.task->layer, remnant->z, remnant->usage.names);
    if (truncate.is_ended) {
        return APR_SUCCESS;
    }
    count_level(uses, &truncate, remnant);
    return tseed_state_task_checkpoint(uses->session->state, truncate.task->id, &truncate.progress,
                                       &won);
}

static int by_level(const void *a, const void *b)
{
    return ((const find_t *)a)->remnant.z - ((const find_t *)b)->remnant.z;
}

/* All remnants, lower levels first; of find_t in scratch. */
static apr_array_header_t *look(const uses_t *uses)
{
    apr_array_header_t *finds = apr_array_make(uses->context->scratch, 4, sizeof(find_t));
    const char *root;

    for (unsigned r = 0; (root = tseed_cleaner_root(uses->cache->cleaner, r)) != NULL; r++) {
        apr_array_header_t *remnants;
        apr_status_t rv = tseed_remnant_list(&remnants, root, uses->context->scratch);

        if (rv != APR_SUCCESS) {
            tseed_log(TSEED_LOG_WARNING, rv,
                      "TS0032: can't look whether something was truncated below %s and is not "
                      "removed yet",
                      root);
        }
        for (int i = 0; i < remnants->nelts; i++) {
            APR_ARRAY_PUSH(finds, find_t) =
                (find_t){APR_ARRAY_IDX(remnants, i, tseed_remnant_t), root};
        }
    }
    qsort(finds->elts, (size_t)finds->nelts, sizeof(find_t), by_level);
    return finds;
}

static apr_status_t inherit_all(const uses_t *uses, const apr_array_header_t *finds,
                                const apr_array_header_t *terminations)
{
    apr_status_t rv = tseed_state_begin(uses->session->state);

    for (int i = 0; rv == APR_SUCCESS && i < finds->nelts; i++) {
        rv = inherit(uses, &APR_ARRAY_IDX(finds, i, find_t), terminations);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_cache_write(uses->cache, TSEED_SAVE_ALL);
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(uses->session->state);
    }
    tseed_state_rollback(uses->session->state);
    return rv;
}

apr_status_t tseed_inherited_take(const tseed_context_t *context, const tseed_session_t *session,
                                  tseed_cache_t *cache, tseed_page_loader_t *loader)
{
    const uses_t *uses = &(uses_t){context, session, cache, loader};
    const apr_array_header_t *finds = look(uses);
    apr_array_header_t *terminations;
    apr_status_t rv;

    if (finds->nelts == 0) {
        return APR_SUCCESS;
    }
    rv = tseed_state_terminations(uses->session->state, &terminations, uses->context->scratch);
    if (rv == APR_SUCCESS) {
        rv = load_all(uses, finds, terminations);
    }
    if (rv == APR_SUCCESS) {
        rv = inherit_all(uses, finds, terminations);
    }
    if (rv == APR_SUCCESS) {
        tseed_cache_saved(uses->cache, TSEED_SAVE_ALL);
    }
    return rv;
}
