/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The schedule: which tasks run, why the others wait, and who lends a thread to whom. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "board/tseed_traces.h"
#include "pipeline/tseed_job_trace.h"
#include "protocol/tseed_seed_request.h"
#include "seeder/tseed_house.h"

#define CRASHES_OF_TASK  3
#define PAUSED_A_THREAD  2 /* more tasks of layers that have paused ones are not begun */
#define PIXEL_BYTES_MOST 3 /* what an answer's pixel takes until some have come: a photograph's */

/* ---- runs ---- */

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
    tseed_text_fit(run->progress.reason, sizeof(run->progress.reason), reason);
}

/* What has changed under the task since it was accepted, or NULL; its place in the books. */
static apr_status_t run_resolve(tseed_seeder_t *seeder, tseed_run_t *run)
{
    run->gone = tseed_task_tileset(&run->tileset, run->task, seeder->context->catalog, run->pool);
    if (tseed_board_crashes_of(seeder->context->board, run->task->id) >= CRASHES_OF_TASK) {
        run->gone = "the seeder crashed three times at work on this task";
    }
    return run->gone ? APR_SUCCESS
                     : tseed_cache_tileset(&run->booked, seeder->cache, &run->tileset);
}

/* A run of a task that was claimed; what is gone ends it at once. */
static void run_prepare(tseed_seeder_t *seeder, tseed_run_t *run)
{
    const tseed_task_t *task = run->task;

    if (run->gone) {
        run_abort(run, run->gone);
        return;
    }
    tseed_book_writing(seeder->cache->book, task->id, 1);
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
    tseed_traces_forget(seeder->context->board, task->id, &run->progress);
    run->views = apr_pcalloc(run->pool, seeder->context->settings->workers * sizeof(*run->views));
}

/* The run of a task that may be claimed next, loaded from the database; NULL when that fails. */
static tseed_run_t *run_create(tseed_seeder_t *seeder, tseed_entry_t *entry)
{
    apr_pool_t *pool;
    tseed_run_t *run;
    tseed_row_t row;
    apr_status_t rv;

    apr_pool_create(&pool, seeder->context->pool);
    run = apr_pcalloc(pool, sizeof(*run));
    run->pool = pool;
    run->slot = entry->slot;
    rv = tseed_state_task_get(seeder->session->state, &run->task, &run->progress, entry->id, pool);
    if (rv == APR_SUCCESS && run->task->retry_of) {
        apr_array_header_t *list;

        rv = tseed_state_metatiles(seeder->session->state, &list, entry->id, pool);
        run->list = list;
    }
    if (rv == APR_SUCCESS) {
        rv = run_resolve(seeder, run);
    }
    if (rv == APR_NOTFOUND) {
        tseed_roster_forget(seeder, entry->id);
    } else if (rv != APR_SUCCESS) {
        tseed_session_fail(seeder->session, rv, "load a task");
    }
    if (rv != APR_SUCCESS) {
        apr_pool_destroy(pool);
        return NULL;
    }
    if (tseed_board_read(seeder->context->board, (unsigned)run->slot, &row) &&
        tseed_job_trace_is_row(&row, run->task) &&
        tseed_progress_processed(&row.progress) > tseed_progress_processed(&run->progress)) {
        run->progress = row.progress;
    }
    return run;
}

static void run_begin(tseed_seeder_t *seeder, tseed_entry_t *entry, tseed_run_t *run)
{
    run->progress.state = TSEED_RUNNING;
    run->warning = apr_hash_get(seeder->warnings, run->task->layer, APR_HASH_KEY_STRING);
    tseed_run_remind(run);
    if (!run->progress.started) {
        run->progress.started = tseed_clock_wall(run->task->created);
    }
    run->measured_at = tseed_clock_monotonic();
    run_prepare(seeder, run);
    entry->run = run;
    *seeder->runs->tasks_end = run;
    seeder->runs->tasks_end = &run->next_run;
    seeder->runs->count++;
    seeder->pending--;
    tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
              "task %" APR_INT64_T_FMT " of layer '%s' started: %s of %" APR_INT64_T_FMT
              " tiles, %s zoom %d to %d, %s",
              entry->id, run->task->layer, tseed_task_type_name(run->task->type),
              run->task->tiles_total, run->task->gridset, run->task->zoom_start,
              run->task->zoom_stop, run->task->format);
    tseed_stages_settle(seeder->stages, run);
    tseed_display_run(seeder->display, run);
}

/* ---- who waits for what ---- */

static const char *say_truncate(const tseed_seeder_t *seeder, int64_t id)
{
    return apr_psprintf(seeder->context->scratch,
                        "waits for task %" APR_INT64_T_FMT ", a truncate of the same tile set", id);
}

/* A task that tries again after a failure of its store, or waits for room, has not got over it
 * before it has stored something. One whose upstream does not answer may wait for minutes before
 * what it has asked for fails. */
static int is_stuck(const tseed_run_t *run)
{
    return run->waits_since || run->is_hushed || run->pauses > 0 || run->short_of ||
           tseed_clock_monotonic() < run->pause_until;
}

/* The stuck run that has the next metatile of a run with nothing under way, or NULL. */
static const tseed_run_t *stuck_before(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    const tseed_run_t *holder;
    tseed_metatile_t metatile;
    int64_t position;

    if (run->jobs || run->phase != TSEED_RUN_GOING || run->task->type == TSEED_TRUNCATE) {
        return NULL;
    }
    position = tseed_run_peek(run);
    if (position < 0) {
        return NULL;
    }
    metatile = tseed_run_metatile(run, position);
    holder = tseed_run_holder(seeder->runs->tasks, run, &metatile);
    holder = holder ? holder : tseed_run_holder(seeder->runs->background, run, &metatile);
    return holder && is_stuck(holder) ? holder : NULL;
}

static int is_paused(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    return is_stuck(run) || stuck_before(seeder, run);
}

/* Seeding threads that no run uses: a paused one lends its own. */
static int count_vacant(const tseed_seeder_t *seeder)
{
    int vacant = seeder->context->settings->threads;

    for (const tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        vacant -= !is_paused(seeder, run);
    }
    return vacant > 0 ? vacant : 0;
}

/* What keeps PENDING tasks from being begun. */
typedef struct {
    apr_hash_t *truncates; /* key of a tile set -> the last truncate of it so far, an entry */
    apr_hash_t *troubled;  /* layer -> the run of a task of it that is paused */
    int paused;            /* such tasks */
    int vacant;            /* seeding threads */
} queue_t;

static queue_t queue_of(const tseed_seeder_t *seeder)
{
    queue_t queue = {.truncates = apr_hash_make(seeder->context->scratch),
                     .troubled = apr_hash_make(seeder->context->scratch),
                     .vacant = count_vacant(seeder)};

    for (const tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        if (is_paused(seeder, run)) {
            apr_hash_set(queue.troubled, run->task->layer, APR_HASH_KEY_STRING, run);
            queue.paused++;
        }
    }
    return queue;
}

/* To be called for each entry, in order. */
static void pass_by(queue_t *queue, const tseed_entry_t *entry)
{
    if (entry->type == TSEED_TRUNCATE && *entry->tileset) {
        apr_hash_set(queue->truncates, entry->tileset, APR_HASH_KEY_STRING, entry);
    }
}

/* The truncate that a task must wait for, or NULL. */
static const tseed_entry_t *truncate_before(const queue_t *queue, const tseed_entry_t *entry)
{
    return entry->type == TSEED_TRUNCATE
               ? NULL
               : apr_hash_get(queue->truncates, entry->tileset, APR_HASH_KEY_STRING);
}

/* A paused task of the same layer, or NULL. */
static const tseed_run_t *paused_like(const queue_t *queue, const tseed_entry_t *entry)
{
    return apr_hash_get(queue->troubled, entry->layer, APR_HASH_KEY_STRING);
}

/* Paused tasks are kept few for the memory that they take, and keep nobody else's from being
 * begun: another task of a layer that has paused ones would be the next of them. */
static int may_join(const tseed_seeder_t *seeder, const queue_t *queue)
{
    return queue->paused < PAUSED_A_THREAD * seeder->context->settings->threads;
}

/* The next PENDING tasks in id order that may begin: a task waits for earlier truncates of its tile
 * set, and those of layers without a paused one go first. */
static int find_candidates(tseed_seeder_t *seeder, queue_t *queue, tseed_entry_t **found)
{
    tseed_entry_t **later =
        apr_palloc(seeder->context->scratch, (size_t)queue->vacant * sizeof(*later));
    int count = 0, others = 0;

    for (tseed_entry_t *entry = seeder->entries; entry && count < queue->vacant;
         entry = entry->next) {
        if (!entry->run && !entry->terminated && !truncate_before(queue, entry)) {
            if (!paused_like(queue, entry)) {
                found[count++] = entry;
            } else if (others < queue->vacant) {
                later[others++] = entry;
            }
        }
        pass_by(queue, entry);
    }
    for (int i = 0; i < others && count < queue->vacant && may_join(seeder, queue); i++) {
        found[count++] = later[i];
        queue->paused++;
    }
    return count;
}

static const char *say_waiting(const tseed_seeder_t *seeder, const queue_t *queue,
                               const tseed_entry_t *entry)
{
    const tseed_entry_t *truncate = truncate_before(queue, entry);
    const tseed_run_t *paused = paused_like(queue, entry);

    if (truncate) {
        return say_truncate(seeder, truncate->id);
    }
    if (paused && !may_join(seeder, queue)) {
        return apr_psprintf(seeder->context->scratch,
                            "waits for task %" APR_INT64_T_FMT
                            " of the same layer, which is paused or waits itself",
                            paused->task->id);
    }
    return queue->vacant > 0
               ? ""
               : apr_psprintf(seeder->context->scratch,
                              "waits for a thread: other tasks have all %d of TileSeedThreads",
                              seeder->context->settings->threads);
}

/* What is shown each second is not worth a record in the database. */
static void be_behind(tseed_seeder_t *seeder, tseed_run_t *run, const tseed_run_t *holder)
{
    int was_dirty = run->dirty;
    const char *who =
        holder->is_standing
            ? "requested tiles"
            : apr_psprintf(seeder->context->scratch, "task %" APR_INT64_T_FMT, holder->task->id);

    run->is_behind = 1;
    apr_snprintf(run->progress.reason, sizeof(run->progress.reason),
                 "waits for the metatile that %s is at, which is paused or waits itself", who);
    tseed_display_run(seeder->display, run);
    run->dirty = was_dirty;
}

static void go_on(tseed_seeder_t *seeder, tseed_run_t *run)
{
    run->is_behind = 0;
    if (run->phase == TSEED_RUN_GOING) {
        tseed_run_remind(run);
        tseed_display_run(seeder->display, run);
    }
}

static void show_behind(tseed_seeder_t *seeder)
{
    for (tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        const tseed_run_t *holder = stuck_before(seeder, run);

        if (holder) {
            be_behind(seeder, run, holder);
        } else if (run->is_behind) {
            go_on(seeder, run);
        }
    }
}

/* Shows why a PENDING task is not begun although a thread is free. */
static void show_waiting(tseed_seeder_t *seeder, const tseed_entry_t *entry, const char *reason)
{
    tseed_row_t row;

    if (tseed_board_read(seeder->context->board, (unsigned)entry->slot, &row) &&
        strcmp(row.progress.reason, reason) != 0) {
        tseed_text_fit(row.progress.reason, sizeof(row.progress.reason), reason);
        tseed_board_slot_update(seeder->context->board, entry->slot, &row.progress);
    }
}

/* Shows why no PENDING task is begun; "": there is no reason any more. */
static void show_all_waiting(tseed_seeder_t *seeder, const char *reason)
{
    for (const tseed_entry_t *entry = seeder->entries; entry; entry = entry->next) {
        if (!entry->run && !entry->terminated) {
            show_waiting(seeder, entry, reason);
        }
    }
}

static void tick(void *module, apr_time_t now)
{
    tseed_seeder_t *seeder = module;
    queue_t queue;

    (void)now;
    show_behind(seeder);
    if (seeder->pending == 0) {
        return;
    }
    if (seeder->session->trouble) {
        show_all_waiting(seeder, seeder->session->trouble);
        return;
    }
    if (seeder->cache->is_loading) {
        show_all_waiting(seeder, tseed_page_loader_reason(seeder->page_loader));
        return;
    }
    queue = queue_of(seeder);
    for (const tseed_entry_t *entry = seeder->entries; entry; entry = entry->next) {
        if (!entry->run && !entry->terminated) {
            show_waiting(seeder, entry, say_waiting(seeder, &queue, entry));
        }
        pass_by(&queue, entry);
    }
}

/* Every run has the thread it owns; what no PENDING task needs is lent in turn, up to what was
 * asked for. */
static void lend(tseed_seeder_t *seeder)
{
    int left = count_vacant(seeder);
    int lent = 1;

    for (tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        run->threads = 1;
    }
    while (left > 0 && lent > 0) {
        lent = 0;
        for (tseed_run_t *run = seeder->runs->tasks; run && left > 0; run = run->next_run) {
            if (run->threads < run->task->thread_count && !is_paused(seeder, run)) {
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
    tseed_run_t **runs = apr_pcalloc(seeder->context->scratch, (size_t)count * sizeof(*runs));
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

/* Tasks that wait for the database say so as soon as it has failed, and no longer. */
static void show_trouble(tseed_seeder_t *seeder)
{
    const char *trouble = seeder->session->trouble;

    if (trouble != seeder->shown_trouble) {
        show_all_waiting(seeder, trouble ? trouble : "");
        seeder->shown_trouble = trouble;
    }
}

void tseed_schedule_turn(tseed_seeder_t *seeder)
{
    show_trouble(seeder);
    if (seeder->pending > 0 && !seeder->cache->is_loading &&
        tseed_clock_monotonic() >= seeder->session->retry_at && count_vacant(seeder) > 0) {
        queue_t queue = queue_of(seeder);
        tseed_entry_t **found =
            apr_palloc(seeder->context->scratch, (size_t)queue.vacant * sizeof(*found));

        begin_candidates(seeder, found, find_candidates(seeder, &queue, found));
    }
    lend(seeder);
}

tseed_client_t tseed_schedule_client = {.tick = tick};
