/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Checkpoints: one transaction for all that has happened. */
#include "seeder/tseed_checkpoint.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "board/tseed_counters.h"
#include "board/tseed_traces.h"

struct tseed_checkpoint_t {
    tseed_checkpoint_uses_t uses;
};

tseed_checkpoint_t *tseed_checkpoint_create(const tseed_checkpoint_uses_t *uses)
{
    tseed_checkpoint_t *checkpoint = apr_pcalloc(uses->context->pool, sizeof(*checkpoint));

    checkpoint->uses = *uses;
    return checkpoint;
}

/* ---- records ---- */

static apr_status_t write_losses(tseed_checkpoint_t *checkpoint)
{
    apr_status_t rv = APR_SUCCESS;

    for (const tseed_loss_t *loss = tseed_ends_losses(checkpoint->uses.ends);
         rv == APR_SUCCESS && loss; loss = loss->next) {
        rv = tseed_state_failure_add(checkpoint->uses.session->state, &loss->record);
    }
    return rv;
}

/* Writes the end of a run. If a client's termination came first, the next transaction confirms it.
 */
static apr_status_t write_ending(tseed_checkpoint_t *checkpoint, tseed_run_t *run)
{
    int won = 1;
    apr_status_t rv;

    if (run->terminated) {
        return tseed_state_task_confirm(checkpoint->uses.session->state, run->task->id,
                                        &run->progress);
    }
    if (!run->progress.finished) {
        run->progress.finished = tseed_clock_wall(run->progress.started);
    }
    rv = tseed_state_task_finish(checkpoint->uses.session->state, run->task->id, &run->progress,
                                 &won);
    if (rv == APR_SUCCESS && !won) {
        run->terminated = 1;
        rv = tseed_state_task_confirm(checkpoint->uses.session->state, run->task->id,
                                      &run->progress);
    }
    return rv;
}

/* A run with losses that are only now being written ends in a later transaction, with them in its
 * counts. */
static int may_end(const tseed_checkpoint_t *checkpoint, const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_ENDING && run->losses == 0 &&
           tseed_durable_may_end(checkpoint->uses.durable, run);
}

/* Whether this transaction takes what a run has measured. */
static int may_measure(const tseed_checkpoint_t *checkpoint, const tseed_run_t *run, int all)
{
    return run->is_measured && (all || may_end(checkpoint, run));
}

static apr_status_t write_measures(tseed_checkpoint_t *checkpoint, int all)
{
    apr_status_t rv = APR_SUCCESS;

    for (const tseed_run_t *run = checkpoint->uses.runs->tasks; run; run = run->next_run) {
        for (int z = 0; may_measure(checkpoint, run, all) && z < TSEED_LEVELS_MAX; z++) {
            const tseed_measure_t *measure = &run->measures[z];

            if (rv == APR_SUCCESS && (measure->tiles > 0 || measure->looks > 0)) {
                rv = tseed_state_measure_add(checkpoint->uses.session->state, run->tileset.key, z,
                                             measure);
            }
        }
    }
    return rv;
}

static apr_status_t write_run(tseed_checkpoint_t *checkpoint, tseed_run_t *run, int all)
{
    const tseed_progress_t *progress = tseed_durable_progress(checkpoint->uses.durable, run);
    int won;
    apr_status_t rv;

    if (may_end(checkpoint, run)) {
        return write_ending(checkpoint, run);
    }
    if (!all || !progress || run->terminated) {
        return APR_SUCCESS;
    }
    rv =
        tseed_state_task_checkpoint(checkpoint->uses.session->state, run->task->id, progress, &won);
    run->unknown = !won;
    return rv;
}

/* Writes a termination. If the task waited since a seeder died, the board may have counted more
 * than was ever saved. */
static apr_status_t write_termination(tseed_checkpoint_t *checkpoint, const tseed_entry_t *entry)
{
    tseed_row_t row;
    int shown = tseed_board_read(checkpoint->uses.context->board, (unsigned)entry->slot, &row);

    return tseed_state_task_confirm(checkpoint->uses.session->state, entry->id,
                                    shown ? &row.progress : NULL);
}

/* In the order of the ids, in which a client terminates several: two who lock several rows never
 * wait for each other. */
static apr_status_t write_tasks(tseed_checkpoint_t *checkpoint, int all)
{
    apr_status_t rv = APR_SUCCESS;

    for (const tseed_entry_t *entry = tseed_tasks_first(checkpoint->uses.tasks);
         rv == APR_SUCCESS && entry; entry = entry->next) {
        if (entry->run) {
            rv = write_run(checkpoint, entry->run, all);
        } else if (entry->terminated) {
            rv = write_termination(checkpoint, entry);
        }
    }
    return rv;
}

static tseed_save_t save_of(int all)
{
    return all ? TSEED_SAVE_ALL : TSEED_SAVE_MARKS;
}

static apr_status_t write_all(tseed_checkpoint_t *checkpoint, int all)
{
    apr_status_t rv = tseed_state_begin(checkpoint->uses.session->state);

    if (rv == APR_SUCCESS) {
        rv = write_losses(checkpoint);
    }
    if (rv == APR_SUCCESS) {
        rv = write_tasks(checkpoint, all);
    }
    if (rv == APR_SUCCESS) {
        rv = write_measures(checkpoint, all);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_cache_write(checkpoint->uses.cache, save_of(all));
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_savings_write(checkpoint->uses.savings, all);
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(checkpoint->uses.session->state);
    }
    tseed_state_rollback(checkpoint->uses.session->state);
    return rv;
}

/* ---- what follows from a record ---- */

static const char *outcome(const tseed_run_t *run)
{
    if (run->terminated) {
        return "terminated";
    }
    return run->progress.state == TSEED_ABORTED ? "aborted" : "done";
}

/* Seconds since the task's first start, however many seeders have worked on it. */
static double seconds_of(const tseed_run_t *run)
{
    apr_interval_time_t taken = apr_time_now() - run->progress.started;

    return taken > 0 ? (double)taken / APR_USEC_PER_SEC : 0;
}

/* ", 4096 pruned (253 metatiles not asked for, 3 looked at, 0 wrong)" where something was. */
static const char *pruned_of(const tseed_progress_t *progress, apr_pool_t *pool)
{
    if (progress->pruned == 0) {
        return "";
    }
    return apr_psprintf(pool,
                        ", %" APR_INT64_T_FMT " pruned (%" APR_INT64_T_FMT
                        " metatiles not asked for, %" APR_INT64_T_FMT
                        " looked at, %" APR_INT64_T_FMT " wrong)",
                        progress->pruned, progress->spared, progress->looked, progress->wrong);
}

/* ", 2 metatiles of one colour forgotten" where a truncate has forgotten what pruned. */
static const char *forgotten_of(const tseed_progress_t *progress, apr_pool_t *pool)
{
    return progress->forgotten == 0
               ? ""
               : apr_psprintf(pool, ", %" APR_INT64_T_FMT " metatile%s of one colour forgotten",
                              progress->forgotten, progress->forgotten == 1 ? "" : "s");
}

/* " (the latest for 16x8 tiles)" where TileSeedMetatile chooses the size. */
static const char *size_of(const tseed_progress_t *progress, apr_pool_t *pool)
{
    return progress->request_why == TSEED_SIZE_FIXED || progress->request_width == 0
               ? ""
               : apr_psprintf(pool, " (the latest for %dx%d tiles)", progress->request_width,
                              progress->request_height);
}

/* ", 44 shared" where answers to requests of other tasks were used. */
static const char *shared_of(const tseed_progress_t *progress, apr_pool_t *pool)
{
    return progress->shared == 0
               ? ""
               : apr_psprintf(pool, ", %" APR_INT64_T_FMT " shared", progress->shared);
}

static void log_ending(const tseed_run_t *run, apr_pool_t *scratch)
{
    const tseed_progress_t *progress = &run->progress;
    int aborted = progress->state == TSEED_ABORTED && !run->terminated;
    char unchanged[40] = "";

    if (progress->unchanged > 0) {
        apr_snprintf(unchanged, sizeof(unchanged), " (%" APR_INT64_T_FMT " unchanged)",
                     progress->unchanged);
    }
    tseed_log(aborted                  ? TSEED_LOG_ERROR
              : progress->failures > 0 ? TSEED_LOG_WARNING
                                       : TSEED_LOG_INFO,
              APR_SUCCESS,
              "TS0053: task %" APR_INT64_T_FMT
              " of layer '%s' (%s by %s) %s after %.1f s: %" APR_INT64_T_FMT
              " tiles made, %" APR_INT64_T_FMT " skipped%s, %" APR_INT64_T_FMT
              " removed, %" APR_INT64_T_FMT " failed%s of %" APR_INT64_T_FMT ", %" APR_INT64_T_FMT
              " requests%s%s%s%s%s",
              run->task->id, run->task->layer, tseed_task_type_name(run->task->type),
              *run->task->requested_by ? run->task->requested_by : "anybody", outcome(run),
              seconds_of(run), progress->made, progress->skipped, unchanged, progress->removed,
              progress->failed, pruned_of(progress, scratch), run->task->tiles_total,
              progress->requests, size_of(progress, scratch), shared_of(progress, scratch),
              forgotten_of(progress, scratch), *progress->reason ? ": " : "", progress->reason);
}

static void count_ending(const tseed_checkpoint_t *checkpoint, const tseed_run_t *run)
{
    tseed_board_t *board = checkpoint->uses.context->board;
    const tseed_progress_t *progress = &run->progress;
    tseed_end_t end = progress->state == TSEED_ABORTED ? TSEED_END_ABORTED : TSEED_END_DONE;

    end = run->terminated ? TSEED_END_TERMINATED : end;
    tseed_counters_end(board, run->task->type, end);
    if (end == TSEED_END_DONE && progress->failures == 0 && run->task->type != TSEED_TRUNCATE &&
        run->tileset.layer) {
        tseed_counters_success(board, run->tileset.layer->counted, progress->finished);
    }
}

static void dismiss_ended(tseed_checkpoint_t *checkpoint, int all)
{
    tseed_run_t *run = checkpoint->uses.runs->tasks;

    while (run) {
        tseed_run_t *next = run->next_run;

        if (all) {
            tseed_durable_saved(checkpoint->uses.durable, run);
        }
        if (may_measure(checkpoint, run, all)) {
            tseed_run_measures_saved(run);
        }
        if (may_end(checkpoint, run)) {
            log_ending(run, checkpoint->uses.context->scratch);
            count_ending(checkpoint, run);
            tseed_tasks_dismiss(checkpoint->uses.tasks, run);
        }
        run = next;
    }
    for (tseed_entry_t *entry = tseed_tasks_first(checkpoint->uses.tasks), *next; entry;
         entry = next) {
        next = entry->next;
        if (entry->terminated && !entry->run) {
            tseed_counters_end(checkpoint->uses.context->board, entry->type, TSEED_END_TERMINATED);
            tseed_tasks_drop(checkpoint->uses.tasks, entry);
        }
    }
}

/* Ends runs whose tasks the database does not know because it was replaced: they must not write any
 * more. */
static void forget_unknown(tseed_checkpoint_t *checkpoint)
{
    for (tseed_run_t *run = checkpoint->uses.runs->tasks, *next; run; run = next) {
        tseed_task_t *task;
        tseed_progress_t progress;

        next = run->next_run;
        if (run->unknown &&
            tseed_state_task_get(checkpoint->uses.session->state, &task, &progress, run->task->id,
                                 checkpoint->uses.context->scratch) == APR_NOTFOUND) {
            tseed_tasks_forget(checkpoint->uses.tasks, run->task->id);
        }
        run->unknown = 0;
    }
}

/* An empty transaction would take the write lock for nothing, and succeed on a full disk. */
static int has_something(const tseed_checkpoint_t *checkpoint, int all)
{
    int dirty = 0;

    for (const tseed_run_t *run = checkpoint->uses.runs->tasks; run; run = run->next_run) {
        dirty |= tseed_durable_progress(checkpoint->uses.durable, run) != NULL;
    }
    return checkpoint->uses.session->must_record || (all && dirty) ||
           (all && tseed_savings_has_changes(checkpoint->uses.savings)) ||
           tseed_cache_has_changes(checkpoint->uses.cache, save_of(all));
}

void tseed_checkpoint_record(tseed_checkpoint_t *checkpoint, int all)
{
    apr_status_t rv;

    all |= checkpoint->uses.session
               ->must_save; /* what levels held, and how far those tasks are that say so */
    if (tseed_clock_monotonic() < checkpoint->uses.session->retry_at ||
        !has_something(checkpoint, all)) {
        return;
    }
    rv = write_all(checkpoint, all);
    if (rv != APR_SUCCESS) {
        tseed_session_fail(checkpoint->uses.session, rv, "record the progress of tasks");
        return;
    }
    tseed_session_works(checkpoint->uses.session);
    checkpoint->uses.session->must_record = 0;
    tseed_cache_saved(checkpoint->uses.cache, save_of(all));
    tseed_savings_saved(checkpoint->uses.savings, all);
    checkpoint->uses.session->must_save = 0;
    dismiss_ended(checkpoint, all);
    tseed_ends_recorded(checkpoint->uses.ends);
    forget_unknown(checkpoint);
}
