/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The ledger: what goes into the database, and when.
 *
 * One short transaction for all that has happened: endings, losses, and once a second the progress
 * of what goes on. When it fails everything stays in memory and on the board and is tried again a
 * second later; nothing is forgotten before the database has it.
 */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "board/tseed_traces.h"
#include "protocol/tseed_quota_config.h"
#include "seeder/tseed_house.h"

/* ---- claims ---- */

static apr_status_t claim_all(tseed_seeder_t *seeder, tseed_entry_t **entries, int count)
{
    apr_status_t rv = tseed_state_begin(seeder->session->state);

    for (int i = 0; rv == APR_SUCCESS && i < count; i++) {
        int won;

        rv = tseed_state_task_claim(seeder->session->state, entries[i]->id, apr_time_now(), &won);
        if (!won) {
            entries[i] = NULL;
        }
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_state_commit(seeder->session->state);
    } else {
        tseed_state_rollback(seeder->session->state);
    }
    return rv;
}

apr_status_t tseed_ledger_claim(tseed_seeder_t *seeder, tseed_entry_t **entries, int count)
{
    apr_status_t rv = claim_all(seeder, entries, count);

    if (rv == APR_SUCCESS) {
        tseed_session_works(seeder->session);
    } else {
        tseed_session_fail(seeder->session, rv, "claim a task");
    }
    return rv;
}

/* ---- records ---- */

static apr_status_t write_losses(tseed_seeder_t *seeder)
{
    apr_status_t rv = APR_SUCCESS;

    for (const tseed_loss_t *loss = tseed_failures_first(seeder->failures);
         rv == APR_SUCCESS && loss; loss = loss->next) {
        rv = tseed_state_failure_add(seeder->session->state, &loss->record);
    }
    return rv;
}

/* A run whose ending a termination has forestalled is confirmed in the next transaction. */
static apr_status_t write_ending(tseed_seeder_t *seeder, tseed_run_t *run)
{
    int won = 1;
    apr_status_t rv;

    if (run->terminated) {
        return tseed_state_task_confirm(seeder->session->state, run->task->id, &run->progress);
    }
    if (!run->progress.finished) {
        run->progress.finished = tseed_clock_wall(run->progress.started);
    }
    rv = tseed_state_task_finish(seeder->session->state, run->task->id, &run->progress, &won);
    if (rv == APR_SUCCESS && !won) {
        run->terminated = 1;
        rv = tseed_state_task_confirm(seeder->session->state, run->task->id, &run->progress);
    }
    return rv;
}

/* A run with losses that are only now being written ends in a later transaction, with them in its
 * counts. */
static int may_end(const tseed_seeder_t *seeder, const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_ENDING && run->losses == 0 &&
           tseed_durable_may_end(seeder->durable, run);
}

/* Whether this transaction takes what a run has measured. */
static int may_measure(const tseed_seeder_t *seeder, const tseed_run_t *run, int checkpoint)
{
    return run->is_measured && (checkpoint || may_end(seeder, run));
}

static apr_status_t write_measures(tseed_seeder_t *seeder, int checkpoint)
{
    apr_status_t rv = APR_SUCCESS;

    for (const tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        for (int z = 0; may_measure(seeder, run, checkpoint) && z < TSEED_LEVELS_MAX; z++) {
            const tseed_measure_t *measure = &run->measures[z];

            if (rv == APR_SUCCESS && (measure->tiles > 0 || measure->looks > 0)) {
                rv = tseed_state_measure_add(seeder->session->state, run->tileset.key, z, measure);
            }
        }
    }
    return rv;
}

static apr_status_t write_runs(tseed_seeder_t *seeder, int checkpoint)
{
    apr_status_t rv = APR_SUCCESS;

    for (tseed_run_t *run = seeder->runs->tasks; rv == APR_SUCCESS && run; run = run->next_run) {
        const tseed_progress_t *progress = tseed_durable_progress(seeder->durable, run);

        if (may_end(seeder, run)) {
            rv = write_ending(seeder, run);
        } else if (checkpoint && progress && !run->terminated) {
            int won;

            rv = tseed_state_task_checkpoint(seeder->session->state, run->task->id, progress, &won);
            run->unknown = !won;
        }
    }
    return rv;
}

/* Of one that waits since a seeder died the board may have counted more than was ever saved. */
static apr_status_t write_termination(tseed_seeder_t *seeder, const tseed_entry_t *entry)
{
    tseed_row_t row;
    int shown = tseed_board_read(seeder->context->board, (unsigned)entry->slot, &row);

    return tseed_state_task_confirm(seeder->session->state, entry->id,
                                    shown ? &row.progress : NULL);
}

static apr_status_t write_terminations(tseed_seeder_t *seeder)
{
    apr_status_t rv = APR_SUCCESS;

    for (tseed_entry_t *entry = seeder->entries; rv == APR_SUCCESS && entry; entry = entry->next) {
        if (entry->terminated && !entry->run) {
            rv = write_termination(seeder, entry);
        }
    }
    return rv;
}

static tseed_save_t save_of(int checkpoint)
{
    return checkpoint ? TSEED_SAVE_ALL : TSEED_SAVE_MARKS;
}

static apr_status_t write_all(tseed_seeder_t *seeder, int checkpoint)
{
    apr_status_t rv = tseed_state_begin(seeder->session->state);

    if (rv == APR_SUCCESS) {
        rv = write_losses(seeder);
    }
    if (rv == APR_SUCCESS) {
        rv = write_runs(seeder, checkpoint);
    }
    if (rv == APR_SUCCESS) {
        rv = write_measures(seeder, checkpoint);
    }
    if (rv == APR_SUCCESS) {
        rv = write_terminations(seeder);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_cache_write(seeder->cache, save_of(checkpoint));
    }
    if (rv == APR_SUCCESS && save_of(checkpoint) == TSEED_SAVE_ALL) {
        rv = tseed_origins_write(seeder->origins);
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(seeder->session->state);
    }
    tseed_state_rollback(seeder->session->state);
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

/* Since its first start, however often the seeder was started meanwhile. */
static double seconds_of(const tseed_run_t *run)
{
    apr_interval_time_t taken = apr_time_now() - run->progress.started;

    return taken > 0 ? (double)taken / APR_USEC_PER_SEC : 0;
}

static void log_ending(const tseed_run_t *run)
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
              "task %" APR_INT64_T_FMT
              " of layer '%s' (%s by %s) %s after %.1f s: %" APR_INT64_T_FMT
              " tiles made, %" APR_INT64_T_FMT " skipped%s, %" APR_INT64_T_FMT
              " removed, %" APR_INT64_T_FMT " failed of %" APR_INT64_T_FMT ", %" APR_INT64_T_FMT
              " requests%s%s",
              run->task->id, run->task->layer, tseed_task_type_name(run->task->type),
              *run->task->requested_by ? run->task->requested_by : "anybody", outcome(run),
              seconds_of(run), progress->made, progress->skipped, unchanged, progress->removed,
              progress->failed, run->task->tiles_total, progress->requests,
              *progress->reason ? ": " : "", progress->reason);
}

/* The losses are durable: their positions are finished now, and a task with too many of them ends.
 */
static void settle_losses(tseed_seeder_t *seeder)
{
    tseed_loss_t *loss;

    while ((loss = tseed_failures_take(seeder->failures)) != NULL) {
        tseed_run_t *run = loss->run;

        run->losses--;
        run->progress.failures++;
        apr_cpystrn(run->loss_cause, loss->cause, sizeof(run->loss_cause));
        run->progress.skipped += loss->skipped;
        run->progress.made += loss->made;
        run->progress.bytes += loss->bytes;
        run->progress.failed += loss->failed;
        tseed_progress_finish(&run->progress, loss->position);
        if (run->phase == TSEED_RUN_GOING && run->task->failure_limit >= 0 &&
            run->progress.failures > run->task->failure_limit) {
            run->progress.state = TSEED_ABORTED;
            tseed_text_say(run->progress.reason, sizeof(run->progress.reason),
                           "more than %" APR_INT64_T_FMT " metatiles failed, the last one: %s",
                           run->task->failure_limit, loss->cause);
            tseed_stages_drain(seeder->stages, run);
        }
        tseed_display_run(seeder->display, run);
        tseed_trace_end(seeder->context->board, loss->trace);
        tseed_stages_settle(seeder->stages, run);
        free(loss);
    }
}

static void dismiss_ended(tseed_seeder_t *seeder, int checkpoint)
{
    tseed_run_t *run = seeder->runs->tasks;

    while (run) {
        tseed_run_t *next = run->next_run;

        if (checkpoint) {
            tseed_durable_saved(seeder->durable, run);
        }
        if (may_measure(seeder, run, checkpoint)) {
            memset(run->measures, 0, sizeof(run->measures));
            run->is_measured = 0;
        }
        if (may_end(seeder, run)) {
            log_ending(run);
            tseed_roster_dismiss(seeder, run);
        }
        run = next;
    }
    for (tseed_entry_t *entry = seeder->entries, *next; entry; entry = next) {
        next = entry->next;
        if (entry->terminated && !entry->run) {
            tseed_roster_drop(seeder, entry);
        }
    }
}

/* What the database does not know, because it was replaced, must not write any more. */
static void forget_unknown(tseed_seeder_t *seeder)
{
    for (tseed_run_t *run = seeder->runs->tasks, *next; run; run = next) {
        tseed_task_t *task;
        tseed_progress_t progress;

        next = run->next_run;
        if (run->unknown &&
            tseed_state_task_get(seeder->session->state, &task, &progress, run->task->id,
                                 seeder->context->scratch) == APR_NOTFOUND) {
            tseed_roster_forget(seeder, run->task->id);
        }
        run->unknown = 0;
    }
}

/* An empty transaction would take the write lock for nothing, and succeed on a full disk. */
static int has_something(const tseed_seeder_t *seeder, int checkpoint)
{
    int dirty = 0;

    for (const tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        dirty |= tseed_durable_progress(seeder->durable, run) != NULL;
    }
    return seeder->session->must_record || (checkpoint && dirty) ||
           tseed_cache_has_changes(seeder->cache, save_of(checkpoint));
}

void tseed_ledger_record(tseed_seeder_t *seeder, int checkpoint)
{
    apr_status_t rv;

    checkpoint |=
        seeder->session->must_save; /* what levels held, and how far those tasks are that say so */
    if (tseed_clock_monotonic() < seeder->session->retry_at || !has_something(seeder, checkpoint)) {
        return;
    }
    rv = write_all(seeder, checkpoint);
    if (rv != APR_SUCCESS) {
        tseed_session_fail(seeder->session, rv, "record the progress of tasks");
        return;
    }
    tseed_session_works(seeder->session);
    seeder->session->must_record = 0;
    tseed_cache_saved(seeder->cache, save_of(checkpoint));
    if (save_of(checkpoint) == TSEED_SAVE_ALL) {
        tseed_origins_saved(seeder->origins);
    }
    seeder->session->must_save = 0;
    dismiss_ended(seeder, checkpoint);
    settle_losses(seeder);
    forget_unknown(seeder);
}

/* ---- quota ---- */

/* The directive has a new value, or there is nothing in the database yet: the directive's value
 * stands. */
static apr_status_t adopt_directive(tseed_seeder_t *seeder, const char *old, int64_t version)
{
    const char *saved =
        tseed_quota_config_save(&seeder->context->settings->quota, seeder->context->scratch);
    apr_status_t rv = tseed_state_quota_set(seeder->session->state, saved,
                                            seeder->context->settings->quota_directive, version);

    if (rv == APR_SUCCESS && version > 0) {
        tseed_log(
            TSEED_LOG_NOTICE, APR_SUCCESS,
            "TileSeedDiskQuota was changed from '%s' to '%s': it replaces what was set over REST",
            old, seeder->context->settings->quota_directive);
    }
    return rv;
}

/* A seeder that is being replaced must not bring back the directive that it was started with. */
static int is_newest(const tseed_seeder_t *seeder)
{
    return seeder->context->generation == tseed_board_generation(seeder->context->board);
}

/* Puts what the database has into effect. */
static void adopt(tseed_seeder_t *seeder, const char *saved)
{
    const char *problem;
    tseed_quota_config_t config = {0};
    apr_pool_t *pool;

    apr_pool_create(&pool, seeder->context->pool);
    problem = tseed_quota_config_load(&config, saved, pool);
    if (problem) {
        tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
                  "the disk quota in the state database can't be read, the last one stays: %s",
                  problem);
        apr_pool_destroy(pool);
        tseed_evict_configure(seeder->evict); /* it may be the directive's, and not in effect yet */
        return;
    }
    if (seeder->quota_pool) {
        apr_pool_destroy(seeder->quota_pool);
    }
    seeder->cache->quota = config;
    seeder->quota_pool = pool;
    tseed_evict_configure(seeder->evict);
}

apr_status_t tseed_ledger_quota(tseed_seeder_t *seeder)
{
    const char *saved, *directive = "";
    int64_t version = 0;
    apr_status_t rv;

    rv = tseed_state_quota_get(seeder->session->state, &saved, &directive, &version,
                               seeder->context->scratch);
    if (rv == APR_NOTFOUND ||
        (rv == APR_SUCCESS && is_newest(seeder) &&
         strcmp(directive, seeder->context->settings->quota_directive) != 0)) {
        rv = adopt_directive(seeder, directive, version);
        if (rv == APR_SUCCESS) {
            rv = tseed_state_quota_get(seeder->session->state, &saved, &directive, &version,
                                       seeder->context->scratch);
        }
    }
    if (rv == APR_SUCCESS && version != seeder->quota_version) {
        adopt(seeder, saved);
        if (tseed_board_quota_set(seeder->context->board, saved, version) != APR_SUCCESS) {
            tseed_board_quota_set(seeder->context->board, "",
                                  version); /* too long: the database has it */
        }
        seeder->quota_version = version;
    }
    return APR_STATUS_IS_EAGAIN(rv) ? APR_SUCCESS : rv;
}
