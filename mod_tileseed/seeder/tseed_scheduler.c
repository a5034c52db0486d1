/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The scheduler: begins tasks, and says why others wait. */
#include "seeder/tseed_scheduler.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "board/tseed_traces.h"
#include "books/tseed_jobs.h"
#include "protocol/tseed_task_check.h"
#include "seeder/tseed_lending.h"
#include "seeder/tseed_task_queue.h"

#define CRASHES_OF_TASK 3

struct tseed_scheduler_t {
    tseed_scheduler_uses_t uses;
    tseed_client_t client;
    const char *shown_trouble; /* what waiting tasks say of the database; NULL: nothing */
};

/* ---- runs ---- */

/* Whether the list of a task that retries another is complete. A damaged database may have given
 * back the task without all of its list. */
static int list_is_whole(const tseed_run_t *run)
{
    int64_t tiles = 0;

    for (int64_t i = 0; i < tseed_run_count(run); i++) {
        tseed_metatile_t metatile = tseed_run_metatile(run, i);

        tiles += tseed_range_count(&metatile.wanted);
    }
    return tiles == run->task->tiles_total;
}

static void run_abort(tseed_run_t *run, tseed_reason_t code, const char *reason)
{
    tseed_run_abort(run);
    tseed_progress_tell(&run->progress, code, reason);
    tseed_ends_conclude(run);
}

static int is_dangerous(const tseed_scheduler_t *scheduler, const tseed_task_t *task)
{
    return tseed_board_crashes_of(scheduler->uses.context->board, task->id) >= CRASHES_OF_TASK;
}

/* Sets run->gone to what has changed since the task was accepted, or to NULL; then finds or enters
 * the task's tile set in the book. */
static apr_status_t run_resolve(tseed_scheduler_t *scheduler, tseed_run_t *run)
{
    apr_status_t rv = APR_SUCCESS;

    run->gone =
        tseed_task_tileset(&run->tileset, run->task, scheduler->uses.context->catalog, run->pool);
    if (is_dangerous(scheduler, run->task)) {
        run->gone = "the seeder crashed three times at work on this task";
    }
    if (!run->gone) {
        rv = tseed_cache_tileset(&run->booked, scheduler->uses.cache, &run->tileset);
    }
    if (!run->gone && rv == APR_SUCCESS && run->task->type != TSEED_TRUNCATE) {
        tseed_cache_keep(scheduler->uses.cache, run->booked);
    }
    return rv;
}

/* Prepares the run of a claimed task. If run->gone is set, the run ends at once. */
static void run_prepare(tseed_scheduler_t *scheduler, tseed_run_t *run)
{
    const tseed_task_t *task = run->task;

    if (run->gone) {
        run_abort(run,
                  is_dangerous(scheduler, run->task) ? TSEED_REASON_CRASHED : TSEED_REASON_CHANGED,
                  run->gone);
        return;
    }
    tseed_book_writing(scheduler->uses.cache->book, task->id, 1);
    if (task->type == TSEED_TRUNCATE) {
        run->progress.forgotten += tseed_savings_truncate(scheduler->uses.savings, &run->tileset);
    }
    if (task->has_area) {
        tseed_shape_t shape = {task->zoom_start, task->zoom_stop, task->meta_width,
                               task->meta_height};

        tseed_positions_init_derived(&run->positions, run->tileset.subset->gridset, &task->bounds,
                                     &shape, &task->derived);
    }
    if (run->list && !list_is_whole(run)) {
        run_abort(run, TSEED_REASON_LOST,
                  apr_psprintf(run->pool,
                               "its list of metatiles was damaged with the state database; "
                               "retry task %" APR_INT64_T_FMT " again",
                               task->retry_of));
    }
    tseed_traces_forget(scheduler->uses.context->board, task->id, &run->progress);
    run->views = apr_pcalloc(run->pool, TSEED_STORE_IDS * sizeof(*run->views));
}

/* Takes from the board what the database does not have yet. */
static void take_from_board(const tseed_scheduler_t *scheduler, tseed_run_t *run)
{
    tseed_row_t row;

    if (!tseed_board_read(scheduler->uses.context->board, (unsigned)run->slot, &row) ||
        !tseed_job_trace_is_row(&row, run->task, run->gone ? NULL : run->tileset.subset->gridset)) {
        return;
    }
    if (tseed_progress_processed(&row.progress) > tseed_progress_processed(&run->progress)) {
        run->progress = row.progress;
    }
    run->progress.forgotten = row.progress.forgotten;
}

/* The run of a task that may be claimed next, loaded from the database; NULL when that fails. */
static tseed_run_t *run_create(tseed_scheduler_t *scheduler, tseed_entry_t *entry)
{
    apr_pool_t *pool;
    tseed_run_t *run;
    apr_status_t rv;

    apr_pool_create(&pool, scheduler->uses.context->pool);
    run = apr_pcalloc(pool, sizeof(*run));
    run->pool = pool;
    run->slot = entry->slot;
    rv = tseed_state_task_get(scheduler->uses.session->state, &run->task, &run->progress, entry->id,
                              pool);
    if (rv == APR_SUCCESS && run->task->retry_of) {
        apr_array_header_t *list;

        rv = tseed_state_metatiles(scheduler->uses.session->state, &list, entry->id, pool);
        run->list = list;
    }
    if (rv == APR_SUCCESS) {
        rv = run_resolve(scheduler, run);
    }
    if (rv == APR_NOTFOUND) {
        tseed_tasks_forget(scheduler->uses.tasks, entry->id);
    } else if (rv != APR_SUCCESS) {
        tseed_session_fail(scheduler->uses.session, rv, "load a task");
    }
    if (rv != APR_SUCCESS) {
        apr_pool_destroy(pool);
        return NULL;
    }
    take_from_board(scheduler, run);
    tseed_display_begin(run);
    return run;
}

static void run_begin(tseed_scheduler_t *scheduler, tseed_entry_t *entry, tseed_run_t *run)
{
    run->begun = tseed_clock_monotonic();
    tseed_run_begin(run, run->begun);
    tseed_capabilities_check_warn(scheduler->uses.capabilities_check, run);
    tseed_run_remind(run);
    run_prepare(scheduler, run);
    tseed_tasks_begin(scheduler->uses.tasks, entry, run);
    tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
              "TS0061: task %" APR_INT64_T_FMT " of layer '%s' started: %s of %" APR_INT64_T_FMT
              " tiles, %s zoom %d to %d, %s",
              entry->id, run->task->layer, tseed_task_type_name(run->task->type),
              run->task->tiles_total, run->task->gridset, run->task->zoom_start,
              run->task->zoom_stop, run->task->format);
    tseed_ends_settle(scheduler->uses.ends, run);
    tseed_display_run(scheduler->uses.display, run);
}

/* ---- who waits for what ---- */

/* The board shows each second whom a run waits for. That is not worth a record in the database.
 */
static void be_behind(tseed_scheduler_t *scheduler, tseed_run_t *run, const tseed_run_t *holder)
{
    const char *who = holder->is_background
                          ? "requested tiles"
                          : apr_psprintf(scheduler->uses.context->scratch, "task %" APR_INT64_T_FMT,
                                         holder->task->id);

    run->is_behind = 1;
    tseed_progress_say(
        &run->progress, TSEED_REASON_TASK,
        holder->task->type == TSEED_TRUNCATE
            ? "waits for %s, a truncate, which is removing the tiles there or is paused"
            : "waits for the metatile that %s is at, which is paused or waits itself",
        who);
    tseed_display_show(scheduler->uses.display, run);
}

/* The same of a run that waits for a truncate. */
static void be_barred(tseed_scheduler_t *scheduler, tseed_run_t *run)
{
    run->is_behind = 1;
    tseed_progress_say(&run->progress, TSEED_REASON_TASK,
                       "waits for task %" APR_INT64_T_FMT
                       ", a truncate, which is removing the tiles that others are derived from",
                       run->barred_by);
    tseed_display_show(scheduler->uses.display, run);
}

static void go_on(tseed_scheduler_t *scheduler, tseed_run_t *run)
{
    run->is_behind = 0;
    if (run->phase == TSEED_RUN_GOING) {
        tseed_run_remind(run);
        tseed_display_run(scheduler->uses.display, run);
    }
}

static void show_behind(tseed_scheduler_t *scheduler)
{
    for (tseed_run_t *run = scheduler->uses.runs->tasks; run; run = run->next_run) {
        const tseed_run_t *holder = tseed_lending_stuck_before(scheduler->uses.runs, run);

        if (holder) {
            be_behind(scheduler, run, holder);
        } else if (run->barred_by) {
            be_barred(scheduler, run);
        } else if (run->is_behind) {
            go_on(scheduler, run);
        }
    }
}

/* Shows why a PENDING task is not begun; "": nothing keeps it. */
static void show_waiting(tseed_scheduler_t *scheduler, const tseed_entry_t *entry,
                         tseed_reason_t code, const char *reason)
{
    tseed_row_t row;

    if (tseed_board_read(scheduler->uses.context->board, (unsigned)entry->slot, &row) &&
        strcmp(row.progress.reason, reason) != 0) {
        tseed_progress_tell(&row.progress, code, reason);
        tseed_board_slot_update(scheduler->uses.context->board, entry->slot, &row.progress);
    }
}

/* Shows why no PENDING task is begun; "": there is no reason any more. */
static void show_all_waiting(tseed_scheduler_t *scheduler, tseed_reason_t code, const char *reason)
{
    for (const tseed_entry_t *entry = tseed_tasks_first(scheduler->uses.tasks); entry;
         entry = entry->next) {
        if (!entry->run && !entry->terminated) {
            show_waiting(scheduler, entry, code, reason);
        }
    }
}

static void tick(void *module, apr_time_t now)
{
    tseed_scheduler_t *scheduler = module;
    tseed_task_queue_t queue;
    tseed_reason_t code;

    (void)now;
    show_behind(scheduler);
    if (tseed_tasks_pending(scheduler->uses.tasks) == 0) {
        return;
    }
    if (scheduler->uses.session->trouble) {
        show_all_waiting(scheduler, TSEED_REASON_DATABASE, scheduler->uses.session->trouble);
        return;
    }
    if (scheduler->uses.cache->is_loading) {
        show_all_waiting(scheduler, TSEED_REASON_BOOKS,
                         tseed_page_loader_reason(scheduler->uses.page_loader));
        return;
    }
    queue = tseed_task_queue_of(scheduler->uses.runs, scheduler->uses.context->settings->threads,
                                scheduler->uses.context->scratch);
    for (const tseed_entry_t *entry = tseed_tasks_first(scheduler->uses.tasks); entry;
         entry = entry->next) {
        if (!entry->run && !entry->terminated) {
            const char *reason = tseed_task_queue_reason(&queue, entry, &code);

            show_waiting(scheduler, entry, code, reason);
        }
        tseed_task_queue_pass(&queue, entry);
    }
}

/* Claims in one commit, begins those that no termination met first. */
static void begin_candidates(tseed_scheduler_t *scheduler, const apr_array_header_t *candidates)
{
    tseed_entry_t **found = (tseed_entry_t **)(void *)candidates->elts;
    const int count = candidates->nelts;
    tseed_run_t **runs =
        apr_pcalloc(scheduler->uses.context->scratch, (size_t)count * sizeof(*runs));
    int loaded = 0;
    apr_status_t rv;

    while (loaded < count && (runs[loaded] = run_create(scheduler, found[loaded])) != NULL) {
        loaded++;
    }
    rv = loaded > 0 ? tseed_tasks_claim(scheduler->uses.tasks, found, loaded) : APR_SUCCESS;
    for (int i = 0; i < loaded; i++) {
        if (rv == APR_SUCCESS && found[i]) {
            run_begin(scheduler, found[i], runs[i]);
        } else {
            apr_pool_destroy(runs[i]->pool);
        }
    }
}

/* Tasks that wait for the database say so as soon as it has failed, and no longer. */
static void show_trouble(tseed_scheduler_t *scheduler)
{
    const char *trouble = scheduler->uses.session->trouble;

    if (trouble != scheduler->shown_trouble) {
        show_all_waiting(scheduler, TSEED_REASON_DATABASE, trouble ? trouble : "");
        scheduler->shown_trouble = trouble;
    }
}

/* The search goes over all tasks: it is spared where nothing could begin. */
static int may_find(const tseed_scheduler_t *scheduler)
{
    const tseed_scheduler_uses_t *uses = &scheduler->uses;

    if (uses->cache->is_loading || tseed_clock_monotonic() < uses->session->retry_at) {
        return 0;
    }
    return tseed_tasks_pending_truncates(uses->tasks) > 0 ||
           (tseed_tasks_pending(uses->tasks) > 0 &&
            tseed_lending_vacant(uses->runs, uses->context->settings->threads) > 0);
}

void tseed_scheduler_turn(tseed_scheduler_t *scheduler)
{
    show_trouble(scheduler);
    if (may_find(scheduler)) {
        tseed_task_queue_t queue =
            tseed_task_queue_of(scheduler->uses.runs, scheduler->uses.context->settings->threads,
                                scheduler->uses.context->scratch);

        begin_candidates(scheduler,
                         tseed_task_queue_find(&queue, tseed_tasks_first(scheduler->uses.tasks)));
    }
    tseed_lending_lend(scheduler->uses.runs, scheduler->uses.context->settings->threads);
}

tseed_scheduler_t *tseed_scheduler_create(const tseed_scheduler_uses_t *uses)
{
    tseed_scheduler_t *scheduler = apr_pcalloc(uses->context->pool, sizeof(*scheduler));

    scheduler->uses = *uses;
    scheduler->client = (tseed_client_t){.module = scheduler, .tick = tick};
    return scheduler;
}

tseed_client_t *tseed_scheduler_client(tseed_scheduler_t *scheduler)
{
    return &scheduler->client;
}
