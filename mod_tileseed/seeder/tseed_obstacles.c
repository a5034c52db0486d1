/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Obstacles: why tasks do not fit the configuration of this host. */
#include "seeder/tseed_obstacles.h"

#include <apr_strings.h>

#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_text.h"
#include "state/tseed_hosts.h"

apr_status_t tseed_obstacles_look(tseed_obstacles_t *obstacles)
{
    const tseed_context_t *context = obstacles->context;
    tseed_host_list_t list;
    apr_status_t rv;

    if (!tseed_hosts_can_share(context->settings->db_driver)) {
        return APR_SUCCESS;
    }
    rv = tseed_hosts_list(obstacles->session->state, &list, context->scratch);
    if (rv == APR_SUCCESS) {
        obstacles->has_other_hosts = list.hosts->nelts > 1;
    }
    return rv;
}

void tseed_obstacles_add(tseed_obstacles_t *obstacles, tseed_entry_t *entry, const char *problem)
{
    const tseed_context_t *context = obstacles->context;

    if (!obstacles->has_other_hosts) {
        return;
    }
    entry->obstacle = tseed_memory_copy(
        apr_psprintf(context->scratch, "waits for another configuration or another host: at %s %s",
                     context->settings->host, problem));
    if (obstacles->count++ == 0) {
        obstacles->first = entry->id;
    }
}

void tseed_obstacles_recount(tseed_obstacles_t *obstacles, const tseed_entry_t *entries)
{
    obstacles->count = 0;
    for (; entries; entries = entries->next) {
        if (entries->obstacle && obstacles->count++ == 0) {
            obstacles->first = entries->id;
        }
    }
}

static apr_status_t record(const tseed_obstacles_t *obstacles, const tseed_entry_t *entry)
{
    tseed_board_t *board = obstacles->context->board;
    tseed_row_t row;

    if (!tseed_board_read(board, (unsigned)entry->slot, &row)) {
        return APR_SUCCESS;
    }
    tseed_progress_tell(&row.progress, TSEED_REASON_CONFIGURATION, entry->obstacle);
    tseed_board_slot_update(board, entry->slot, &row.progress);
    return tseed_state_task_reason(obstacles->session->state, entry->id, &row.progress);
}

static apr_status_t record_all(const tseed_obstacles_t *obstacles, const tseed_entry_t *entries)
{
    tseed_state_t *state = obstacles->session->state;
    apr_status_t rv = tseed_state_begin(state);

    for (; rv == APR_SUCCESS && entries; entries = entries->next) {
        if (entries->obstacle && entries->id >= obstacles->first) {
            rv = record(obstacles, entries);
        }
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(state);
    }
    tseed_state_rollback(state);
    return rv;
}

apr_status_t tseed_obstacles_record(tseed_obstacles_t *obstacles, const tseed_entry_t *entries)
{
    apr_status_t rv;

    if (obstacles->count == 0) {
        return APR_SUCCESS;
    }
    rv = record_all(obstacles, entries);
    if (rv == APR_SUCCESS) {
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0092: tasks do not fit the configuration of this host and wait for another "
                  "one or for another host: %d of them, from task %" APR_INT64_T_FMT " on",
                  obstacles->count, obstacles->first);
        obstacles->count = 0;
    }
    return rv;
}
