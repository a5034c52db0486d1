/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The roster: which tasks there are, who runs, and who lends a thread to whom. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "protocol/tseed_seed_request.h"
#include "seeder/tseed_house.h"

#define CRASHES_OF_TASK    3
#define MOST_RUNS_A_THREAD 2 /* paused ones included */
#define PIXEL_BYTES_MOST   3 /* what an answer's pixel takes until some have come: a photograph's */

/* ---- entries ---- */

/* Its key; what an accepted truncate makes stale is so from now on. */
static char *resolve(tseed_seeder_t *seeder, const tseed_task_t *task)
{
    tseed_tileset_t tileset;

    if (tseed_task_tileset(&tileset, task, seeder->setup->catalog, seeder->scratch)) {
        return tseed_memory_copy("");
    }
    if (task->type == TSEED_TRUNCATE) {
        tseed_cutoff_draw(seeder, task, &tileset);
    }
    return tseed_memory_copy(tileset.key);
}

/* Adds a task that has a slot. Without one it stays outside: what the board does not show neither
 * waits nor writes, and lists come from the database until there is room. Returns 0 then. */
static int take_in(tseed_seeder_t *seeder, const tseed_task_t *task, int slot)
{
    tseed_entry_t *entry;

    if (slot < 0) {
        tseed_board_crowd(seeder->board, 1);
        return 0;
    }
    entry = tseed_memory_get(sizeof(*entry));
    entry->id = task->id;
    entry->type = task->type;
    entry->slot = slot;
    entry->tileset = resolve(seeder, task);
    *seeder->entries_end = entry;
    seeder->entries_end = &entry->next;
    seeder->last_id = task->id;
    seeder->pending++;
    return 1;
}

static tseed_entry_t *entry_find(const tseed_seeder_t *seeder, int64_t id)
{
    tseed_entry_t *entry = seeder->entries;

    while (entry && entry->id != id) {
        entry = entry->next;
    }
    return entry;
}

void tseed_roster_drop(tseed_seeder_t *seeder, tseed_entry_t *entry)
{
    tseed_entry_t **link = &seeder->entries;

    while (*link != entry) {
        link = &(*link)->next;
    }
    *link = entry->next;
    if (!entry->next) {
        seeder->entries_end = link;
    }
    tseed_board_slot_release(seeder->board, entry->slot);
    free(entry->tileset);
    free(entry);
}

/* ---- taking in ---- */

/* id -> slot of what an earlier seeder left on the board. */
static apr_hash_t *slots_left(tseed_seeder_t *seeder)
{
    apr_hash_t *left = apr_hash_make(seeder->scratch);
    tseed_row_t row;

    for (unsigned i = 0; i < tseed_board_slots(seeder->board); i++) {
        if (tseed_board_read(seeder->board, i, &row)) {
            int64_t *id = apr_pmemdup(seeder->scratch, &row.id, sizeof(row.id));
            unsigned *slot = apr_pmemdup(seeder->scratch, &i, sizeof(i));

            apr_hash_set(left, id, sizeof(*id), slot);
        }
    }
    return left;
}

/* Whether a row can be what a seeder has shown of that task: any process may have written there. */
static int is_of_task(const tseed_row_t *row, const tseed_task_t *task)
{
    return row->id == task->id && row->type == task->type &&
           row->tiles_total == task->tiles_total && strcmp(row->layer, task->layer) == 0;
}

/* The slot of a task that an earlier seeder worked on: the board's progress stands if it is ahead
 * of the database's. */
static apr_status_t slot_recover(tseed_seeder_t *seeder, int *slot, const tseed_task_t *task,
                                 apr_hash_t *left)
{
    const unsigned *old = apr_hash_get(left, &task->id, sizeof(task->id));
    tseed_task_t *loaded;
    tseed_progress_t progress;
    tseed_row_t row;
    apr_status_t rv;

    rv = tseed_state_task_get(seeder->state, &loaded, &progress, task->id, seeder->scratch);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (old && tseed_board_read(seeder->board, *old, &row) && is_of_task(&row, task) &&
        tseed_progress_processed(&row.progress) >= tseed_progress_processed(&progress)) {
        progress = row.progress;
    }
    progress.state = TSEED_PENDING;
    progress.reason[0] = '\0'; /* what it waited for is to be found out anew */
    if (old) {
        *slot = (int)*old;
        tseed_board_slot_update(seeder->board, *slot, &progress);
        apr_hash_set(left, &task->id, sizeof(task->id), NULL);
    } else {
        *slot = tseed_board_slot_claim(seeder->board, task, &progress);
    }
    return APR_SUCCESS;
}

static apr_status_t confirm_each(tseed_seeder_t *seeder, const apr_array_header_t *ids,
                                 apr_hash_t *left)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < ids->nelts; i++) {
        int64_t id = APR_ARRAY_IDX(ids, i, int64_t);
        const unsigned *slot = apr_hash_get(left, &id, sizeof(id));
        tseed_row_t row;

        if (!entry_find(seeder, id)) {
            int shown = slot && tseed_board_read(seeder->board, *slot, &row);

            rv = tseed_state_task_confirm(seeder->state, id, shown ? &row.progress : NULL);
        }
    }
    return rv;
}

/* Tasks that were terminated when no seeder could say the last word: what the board has counted
 * since the last checkpoint was done, and has been read. Those that have been taken in before they
 * were terminated are not among them. */
static apr_status_t confirm_left(tseed_seeder_t *seeder, apr_hash_t *left)
{
    apr_array_header_t *ids;
    apr_status_t rv = tseed_state_terminations(seeder->state, &ids, seeder->scratch);

    if (rv != APR_SUCCESS || ids->nelts == 0) {
        return rv;
    }
    rv = tseed_state_begin(seeder->state);
    if (rv == APR_SUCCESS) {
        rv = confirm_each(seeder, ids, left);
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(seeder->state);
    }
    tseed_state_rollback(seeder->state);
    return rv;
}

/* Takes in one task after another; those that an earlier, failed try has taken in are left alone.
 */
static apr_status_t take_again(tseed_seeder_t *seeder, const apr_array_header_t *tasks,
                               apr_hash_t *left)
{
    apr_status_t rv = APR_SUCCESS;

    for (int i = 0; rv == APR_SUCCESS && i < tasks->nelts; i++) {
        const tseed_task_t *task = APR_ARRAY_IDX(tasks, i, tseed_task_t *);
        int slot;

        if (task->id <= seeder->last_id) {
            apr_hash_set(left, &task->id, sizeof(task->id), NULL);
            continue;
        }
        rv = slot_recover(seeder, &slot, task, left);
        if (rv == APR_SUCCESS && !take_in(seeder, task, slot)) {
            break;
        }
    }
    return rv;
}

apr_status_t tseed_roster_recover(tseed_seeder_t *seeder)
{
    apr_hash_t *left = slots_left(seeder);
    apr_array_header_t *tasks;
    apr_status_t rv = tseed_state_recover(seeder->state, &tasks, seeder->scratch);

    if (rv == APR_SUCCESS) {
        rv = take_again(seeder, tasks, left);
    }
    if (rv == APR_SUCCESS) {
        rv = confirm_left(seeder, left);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    for (apr_hash_index_t *i = apr_hash_first(seeder->scratch, left); i; i = apr_hash_next(i)) {
        tseed_board_slot_release(seeder->board, (int)*(unsigned *)apr_hash_this_val(i));
    }
    if (tasks->nelts > 0) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "%d unfinished tasks are taken up again",
                  tasks->nelts);
    }
    return APR_SUCCESS;
}

static apr_status_t take_new(tseed_seeder_t *seeder)
{
    apr_array_header_t *tasks;
    apr_status_t rv;

    rv = tseed_state_new_tasks(seeder->state, &tasks, seeder->last_id, seeder->scratch);
    for (int i = 0; rv == APR_SUCCESS && i < tasks->nelts; i++) {
        const tseed_task_t *task = APR_ARRAY_IDX(tasks, i, tseed_task_t *);
        tseed_progress_t fresh = {.state = TSEED_PENDING};

        if (!take_in(seeder, task, tseed_board_slot_claim(seeder->board, task, &fresh))) {
            return rv;
        }
    }
    if (rv == APR_SUCCESS) {
        tseed_board_crowd(seeder->board, 0); /* only now the board shows them all */
    }
    return rv;
}

static void terminate(tseed_seeder_t *seeder, tseed_entry_t *entry)
{
    entry->terminated = 1;
    tseed_board_slot_terminating(seeder->board, entry->slot);
    if (entry->run) {
        entry->run->terminated = 1;
        tseed_pump_drain(seeder, entry->run);
    } else {
        seeder->pending--;
    }
    seeder->must_record = 1;
}

void tseed_roster_forget(tseed_seeder_t *seeder, int64_t id)
{
    tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
              "task %" APR_INT64_T_FMT " is no longer in the state database and is forgotten", id);
    terminate(seeder, entry_find(seeder, id));
}

apr_status_t tseed_roster_sync(tseed_seeder_t *seeder)
{
    apr_array_header_t *ids;
    apr_status_t rv = take_new(seeder);

    if (rv == APR_SUCCESS) {
        rv = tseed_state_terminations(seeder->state, &ids, seeder->scratch);
    }
    for (int i = 0; rv == APR_SUCCESS && i < ids->nelts; i++) {
        tseed_entry_t *entry = entry_find(seeder, APR_ARRAY_IDX(ids, i, int64_t));

        if (!entry) { /* terminated before it was ever taken in */
            rv = tseed_state_task_confirm(seeder->state, APR_ARRAY_IDX(ids, i, int64_t), NULL);
        } else if (!entry->terminated) {
            terminate(seeder, entry);
        }
    }
    return rv;
}

/* ---- scheduling ---- */

/* Whether the list of a task that retries another is what it was accepted with: of a damaged
 * database more may have been salvaged than of its lists. */
static int list_is_whole(const tseed_run_t *run)
{
    int64_t tiles = 0;

    for (int64_t i = 0; i < tseed_run_count(run); i++) {
        tseed_metatile_t metatile = tseed_run_metatile(run, i);

        tiles += tseed_range_count(&metatile.wanted);
    }
    return tiles == run->task->tiles_total;
}

static void run_abort(tseed_run_t *run, const char *reason)
{
    run->phase = TSEED_RUN_ENDING;
    run->progress.state = TSEED_ABORTED;
    apr_cpystrn(run->progress.reason, reason, sizeof(run->progress.reason));
}

/* What has changed under the task since it was accepted, or NULL; its place in the books. */
static apr_status_t run_resolve(tseed_seeder_t *seeder, tseed_run_t *run)
{
    run->gone = tseed_task_tileset(&run->tileset, run->task, seeder->setup->catalog, run->pool);
    if (tseed_board_crashes_of(seeder->board, run->task->id) >= CRASHES_OF_TASK) {
        run->gone = "the seeder crashed three times at work on this task";
    }
    return run->gone ? APR_SUCCESS : tseed_clerk_shelf(&run->shelf, seeder, &run->tileset);
}

/* A run of a task that was claimed; what is gone ends it at once. */
static void run_prepare(tseed_seeder_t *seeder, tseed_run_t *run)
{
    const tseed_task_t *task = run->task;

    if (run->gone) {
        run_abort(run, run->gone);
        return;
    }
    tseed_book_writing(seeder->book, task->id, 1);
    run->pixel_bytes = PIXEL_BYTES_MOST;
    if (task->has_area) {
        tseed_shape_t shape = {task->zoom_start, task->zoom_stop, task->meta_width,
                               task->meta_height};

        tseed_positions_init(&run->positions, run->tileset.subset->gridset, &task->bounds, &shape);
    }
    if (run->list && !list_is_whole(run)) {
        run_abort(run, apr_psprintf(run->pool,
                                    "its list of metatiles was damaged with the state database; "
                                    "retry task %" APR_INT64_T_FMT " again",
                                    task->retry_of));
    }
    run->removed_before = run->progress.removed;
    run->views = apr_pcalloc(run->pool, seeder->settings->workers * sizeof(*run->views));
}

/* The run of a task that may be claimed next, loaded from the database; NULL when that fails. */
static tseed_run_t *run_create(tseed_seeder_t *seeder, tseed_entry_t *entry)
{
    apr_pool_t *pool;
    tseed_run_t *run;
    tseed_row_t row;
    apr_status_t rv;

    apr_pool_create(&pool, seeder->pool);
    run = apr_pcalloc(pool, sizeof(*run));
    run->pool = pool;
    run->slot = entry->slot;
    rv = tseed_state_task_get(seeder->state, &run->task, &run->progress, entry->id, pool);
    if (rv == APR_SUCCESS && run->task->retry_of) {
        apr_array_header_t *list;

        rv = tseed_state_metatiles(seeder->state, &list, entry->id, pool);
        run->list = list;
    }
    if (rv == APR_SUCCESS) {
        rv = run_resolve(seeder, run);
    }
    if (rv == APR_NOTFOUND) {
        tseed_roster_forget(seeder, entry->id);
    } else if (rv != APR_SUCCESS) {
        tseed_ledger_trouble(seeder, rv, "load a task");
    }
    if (rv != APR_SUCCESS) {
        apr_pool_destroy(pool);
        return NULL;
    }
    if (tseed_board_read(seeder->board, (unsigned)run->slot, &row) && is_of_task(&row, run->task) &&
        tseed_progress_processed(&row.progress) > tseed_progress_processed(&run->progress)) {
        run->progress = row.progress;
    }
    return run;
}

static void run_begin(tseed_seeder_t *seeder, tseed_entry_t *entry, tseed_run_t *run)
{
    run->progress.state = TSEED_RUNNING;
    tseed_inquiry_remind(seeder, run);
    if (!run->progress.started) {
        run->progress.started = tseed_clock_wall(run->task->created);
    }
    run->measured_at = tseed_clock_monotonic();
    run_prepare(seeder, run);
    entry->run = run;
    *seeder->runs_end = run;
    seeder->runs_end = &run->next_run;
    seeder->run_count++;
    seeder->pending--;
    tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
              "task %" APR_INT64_T_FMT " of layer '%s' started: %s of %" APR_INT64_T_FMT
              " tiles, %s zoom %d to %d, %s",
              entry->id, run->task->layer, tseed_task_type_name(run->task->type),
              run->task->tiles_total, run->task->gridset, run->task->zoom_start,
              run->task->zoom_stop, run->task->format);
    tseed_pump_settle(seeder, run);
    tseed_pump_show(seeder, run);
}

/* Shows why a PENDING task is not begun although a thread is free. */
static void show_waiting(tseed_seeder_t *seeder, const tseed_entry_t *entry, const char *reason)
{
    tseed_row_t row;

    if (tseed_board_read(seeder->board, (unsigned)entry->slot, &row) &&
        strcmp(row.progress.reason, reason) != 0) {
        apr_cpystrn(row.progress.reason, reason, sizeof(row.progress.reason));
        tseed_board_slot_update(seeder->board, entry->slot, &row.progress);
    }
}

void tseed_roster_tell(tseed_seeder_t *seeder, const char *reason)
{
    for (const tseed_entry_t *entry = seeder->entries; entry; entry = entry->next) {
        if (!entry->run && !entry->terminated) {
            show_waiting(seeder, entry, reason);
        }
    }
}

static const char *say_truncate(const tseed_seeder_t *seeder, int64_t id)
{
    return apr_psprintf(seeder->scratch,
                        "waits for task %" APR_INT64_T_FMT ", a truncate of the same tile set", id);
}

/* The next PENDING tasks in id order that may begin; a task waits for earlier truncates of its tile
 * set. */
static int find_candidates(tseed_seeder_t *seeder, tseed_entry_t **found, int most)
{
    apr_hash_t *truncates = apr_hash_make(seeder->scratch);
    int count = 0;

    for (tseed_entry_t *entry = seeder->entries; entry && count < most; entry = entry->next) {
        const tseed_entry_t *before = apr_hash_get(truncates, entry->tileset, APR_HASH_KEY_STRING);

        if (!entry->run && !entry->terminated) {
            if (before && entry->type != TSEED_TRUNCATE) {
                show_waiting(seeder, entry, say_truncate(seeder, before->id));
            } else {
                found[count++] = entry;
            }
        }
        if (entry->type == TSEED_TRUNCATE && *entry->tileset) {
            apr_hash_set(truncates, entry->tileset, APR_HASH_KEY_STRING, entry);
        }
    }
    return count;
}

static int is_paused(const tseed_run_t *run)
{
    return run->waits_since || tseed_clock_monotonic() < run->pause_until;
}

/* Seeding threads that no run uses: a paused one lends its own. */
static int count_vacant(const tseed_seeder_t *seeder)
{
    int vacant = seeder->settings->threads;

    for (const tseed_run_t *run = seeder->runs; run; run = run->next_run) {
        vacant -= !is_paused(run);
    }
    return vacant > 0 ? vacant : 0;
}

/* Every run has the thread it owns; what no PENDING task needs is lent in turn, up to what was
 * asked for. */
static void lend(tseed_seeder_t *seeder)
{
    int left = count_vacant(seeder);
    int lent = 1;

    for (tseed_run_t *run = seeder->runs; run; run = run->next_run) {
        run->threads = 1;
    }
    while (left > 0 && lent > 0) {
        lent = 0;
        for (tseed_run_t *run = seeder->runs; run && left > 0; run = run->next_run) {
            if (run->threads < run->task->thread_count && !is_paused(run)) {
                run->threads++;
                lent++;
                left--;
            }
        }
    }
}

/* Claims in one commit, begins those that no termination met first. */
static void begin_candidates(tseed_seeder_t *seeder, tseed_entry_t **found, int count)
{
    tseed_run_t **runs = apr_pcalloc(seeder->scratch, (size_t)count * sizeof(*runs));
    int loaded = 0;
    apr_status_t rv;

    while (loaded < count && (runs[loaded] = run_create(seeder, found[loaded])) != NULL) {
        loaded++;
    }
    rv = loaded > 0 ? tseed_ledger_claim(seeder, found, loaded) : APR_SUCCESS;
    for (int i = 0; i < loaded; i++) {
        if (rv == APR_SUCCESS && found[i]) {
            run_begin(seeder, found[i], runs[i]);
        } else {
            apr_pool_destroy(runs[i]->pool);
        }
    }
}

void tseed_roster_schedule(tseed_seeder_t *seeder)
{
    int vacant = count_vacant(seeder);
    int most = MOST_RUNS_A_THREAD * seeder->settings->threads - seeder->run_count;

    vacant = vacant < most ? vacant : most;
    if (vacant > 0 && seeder->pending > 0 && tseed_clock_monotonic() >= seeder->retry_at) {
        tseed_entry_t **found = apr_palloc(seeder->scratch, (size_t)vacant * sizeof(*found));

        begin_candidates(seeder, found, find_candidates(seeder, found, vacant));
    }
    lend(seeder);
}

void tseed_roster_dismiss(tseed_seeder_t *seeder, tseed_run_t *run)
{
    tseed_run_t **link = &seeder->runs;
    tseed_entry_t *entry = entry_find(seeder, run->task->id);

    while (*link != run) {
        link = &(*link)->next_run;
    }
    *link = run->next_run;
    if (!run->next_run) {
        seeder->runs_end = link;
    }
    seeder->run_count--;
    tseed_board_crashes_forget(seeder->board, run->task->id);
    tseed_book_writing(seeder->book, run->task->id, 0);
    tseed_roster_drop(seeder, entry);
    if (run->views) {
        tseed_crew_forget(seeder->crew, run);
    }
    apr_pool_destroy(run->pool);
}
