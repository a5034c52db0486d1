/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A run: the sequence of a task's metatiles and what is under way of it. */
#include "work/tseed_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"
#include "base/tseed_clock.h"
#include "board/tseed_traces.h"

#define PIXEL_BYTES_MOST 3 /* until some answers have come: a photograph's */

int64_t tseed_run_count(const tseed_run_t *run)
{
    if (run->task->type == TSEED_TRUNCATE) {
        return run->positions.tiles ? run->task->zoom_stop - run->task->zoom_start + 1 : 0;
    }
    return run->list ? run->list->nelts : run->positions.count;
}

tseed_metatile_t tseed_run_metatile(const tseed_run_t *run, int64_t position)
{
    return run->list ? tseed_positions_metatile(&run->positions,
                                                &APR_ARRAY_IDX(run->list, position, tseed_tile_t))
                     : tseed_positions_at(&run->positions, position);
}

tseed_range_t tseed_run_level(const tseed_run_t *run, int64_t position)
{
    return run->positions.range[run->task->zoom_start + position];
}

int tseed_run_derives(const tseed_run_t *run, int z)
{
    return tseed_derived_has(&run->positions.derived, z);
}

int tseed_run_leaves_unchanged(const tseed_run_t *run)
{
    return run->task->type == TSEED_RESEED && !run->tileset.layer->reseed_all;
}

int tseed_run_is_new(const tseed_run_t *run)
{
    return run->answers < TSEED_ANSWERS_FIRST;
}

double tseed_run_pixel_bytes(const tseed_run_t *run)
{
    return run->answers > 0 ? run->pixel_bytes : PIXEL_BYTES_MOST;
}

void tseed_run_begin(tseed_run_t *run, apr_time_t now)
{
    run->progress.state = TSEED_RUNNING;
    if (!run->progress.started) {
        run->progress.started = tseed_clock_wall(run->task->created);
    }
    run->measured_at = now;
    run->removed_before = run->progress.removed;
}

void tseed_run_abort(tseed_run_t *run)
{
    run->progress.state = TSEED_ABORTED;
}

void tseed_run_stop(tseed_run_t *run)
{
    atomic_store(&run->stopped, 1);
}

void tseed_run_pause(tseed_run_t *run, apr_time_t until)
{
    run->pause_until = until;
}

void tseed_run_count_from(tseed_run_t *run, int64_t removed)
{
    atomic_store(&run->unlinked, 0);
    run->removed_before = removed;
}

void tseed_run_measure_from(tseed_run_t *run, apr_time_t now)
{
    run->measured_at = now;
}

void tseed_run_measures_saved(tseed_run_t *run)
{
    memset(run->measures, 0, sizeof(run->measures));
    run->is_measured = 0;
}

/* Threads beyond what the upstream takes at once wait for it: they do not count. */
static int threads_of(const tseed_run_t *run)
{
    const int most = tseed_source_connections(&run->tileset.layer->source);

    return run->threads < most ? run->threads : most;
}

void tseed_run_measure(tseed_run_t *run, const tseed_job_t *job, apr_time_t now)
{
    tseed_measure_t *measure = &run->measures[job->metatile.whole.z];
    const apr_time_t since =
        run->pause_until > run->measured_at ? run->pause_until : run->measured_at;
    const apr_interval_time_t taken = now > since ? now - since : 0;
    const double busy = (double)taken / APR_USEC_PER_SEC * threads_of(run);

    if (run->waits_since) {
        run->measured_at = now; /* its upstream was away: that says nothing of the next time */
        return;
    }
    if (job->request.stage == TSEED_STAGE_CUT && job->result.made > 0) {
        tseed_measure_add(measure, job->result.made, job->result.bytes, busy);
    } else if (job->request.stage == TSEED_STAGE_CHECK) {
        tseed_measure_look(measure, job->result.skipped, busy);
    }
    run->measured_at = now;
    run->is_measured = 1;
}

static int64_t window_end(const tseed_run_t *run)
{
    const int64_t end = run->progress.low + TSEED_WINDOW, count = tseed_run_count(run);

    return end < count ? end : count;
}

static uint64_t ahead_bit(int64_t position)
{
    return UINT64_C(1) << position % 64;
}

static uint64_t *ahead_word(tseed_run_t *run, int64_t position)
{
    return &run->ahead[position % TSEED_WINDOW / 64];
}

static int is_ahead(const tseed_run_t *run, int64_t position)
{
    return (run->ahead[position % TSEED_WINDOW / 64] & ahead_bit(position)) != 0;
}

int64_t tseed_run_peek(const tseed_run_t *run)
{
    int64_t position = run->next < run->progress.low ? run->progress.low : run->next;
    const int64_t end = window_end(run);

    while (position < end && !tseed_run_is_free(run, position)) {
        position++;
    }
    return position < end ? position : -1;
}

int tseed_run_is_free(const tseed_run_t *run, int64_t position)
{
    return position >= run->next && position >= run->progress.low && position < window_end(run) &&
           !is_ahead(run, position) && !tseed_progress_is_done(&run->progress, position);
}

/* Only a run that goes on after another seeder has `next` below `low`. Bits below `next` are
 * cleared, for other positions have them later. */
void tseed_run_hand_out(tseed_run_t *run, int64_t position)
{
    const int64_t end = window_end(run);

    run->next = run->next < run->progress.low ? run->progress.low : run->next;
    *ahead_word(run, position) |= ahead_bit(position);
    while (run->next < end &&
           (is_ahead(run, run->next) || tseed_progress_is_done(&run->progress, run->next))) {
        *ahead_word(run, run->next) &= ~ahead_bit(run->next);
        run->next++;
    }
}

int tseed_run_is_through(const tseed_run_t *run)
{
    return run->progress.low >= tseed_run_count(run);
}

/* The cause is unknown only if all losses are of an earlier seeder. */
static void say_losses(tseed_run_t *run, tseed_reason_t code, const char *what)
{
    const int64_t count = run->progress.failures;
    const char *cause = run->loss_cause;

    tseed_progress_say(&run->progress, code, "%s%" APR_INT64_T_FMT " metatile%s failed%s%s", what,
                       count, count == 1 ? "" : "s", *cause ? ", the last one: " : "", cause);
}

void tseed_run_expire(tseed_run_t *runs, const tseed_book_tileset_t *booked,
                      const tseed_range_t *page, int64_t tiles)
{
    for (tseed_run_t *run = runs; run; run = run->next_run) {
        if (run->booked == booked && run->task->type != TSEED_TRUNCATE &&
            tseed_range_meets(&run->positions.range[page->z], page)) {
            run->expired += tiles;
        }
    }
}

/* An upstream that is blank for a while looks like a sea. A seed keeps the blank tiles that it
 * finds, and all that is below them if nothing is looked at. */
static void say_pruned(tseed_run_t *run)
{
    const tseed_progress_t before = run->progress;
    const double share = (double)before.pruned / (double)run->task->tiles_total;
    const tseed_layer_t *layer = run->tileset.layer;
    const int looks = !layer || layer->uniform.share > 0;

    tseed_progress_say(&run->progress, TSEED_REASON_PRUNED,
                       "%d %% of its tiles are taken to be of one colour: TileSeedPrune, a reseed "
                       "asks again%s%s%s",
                       (int)(100 * share), looks ? "" : ", and with check=0 no seed does",
                       *before.reason ? "; " : "", before.reason);
}

/* Puts what the disk quota removed before the reason that the run has already. Nobody knows what an
 * earlier seeder removed. */
static void say_expired(tseed_run_t *run)
{
    const tseed_progress_t before = run->progress;

    tseed_progress_say(
        &run->progress, TSEED_REASON_EXPIRED,
        "the disk quota removed at least %" APR_INT64_T_FMT " tile%s of its pages while it ran%s%s",
        run->expired, run->expired == 1 ? "" : "s", *before.reason ? "; " : "", before.reason);
}

/* Puts the doubt before the reason that the run has already. */
static void say_doubt(tseed_run_t *run)
{
    const tseed_progress_t before = run->progress;

    tseed_progress_say(&run->progress, TSEED_REASON_UNSAFE,
                       "the file system has failed to write, tiles may be missing or damaged: a "
                       "reseed makes them again%s%s",
                       *before.reason ? "; " : "", before.reason);
}

void tseed_run_doubt(tseed_run_t *run)
{
    if (!run->is_doubtful && run->progress.state == TSEED_DONE) {
        say_doubt(run);
    }
    run->is_doubtful = 1;
}

void tseed_run_conclude(tseed_run_t *run)
{
    tseed_progress_t *progress = &run->progress;

    progress->state = TSEED_DONE;
    if (progress->failures > 0 && progress->made + progress->unchanged == 0) {
        progress->state = TSEED_ABORTED;
        say_losses(run, TSEED_REASON_NOTHING_MADE, "nothing was made: ");
    } else if (progress->failures > 0) {
        say_losses(run, TSEED_REASON_FAILURES, "");
    }
    if (progress->pruned > run->task->tiles_total / 2 && progress->state == TSEED_DONE) {
        say_pruned(run);
    }
    if (run->expired > 0 && progress->state == TSEED_DONE) {
        say_expired(run);
    }
    if (run->is_doubtful && progress->state == TSEED_DONE) {
        say_doubt(run);
    }
}

void tseed_run_job_add(tseed_run_t *run, tseed_job_t *job)
{
    job->sibling = run->jobs;
    run->jobs = job;
}

void tseed_run_job_remove(tseed_run_t *run, tseed_job_t *job)
{
    tseed_job_t **link = &run->jobs;

    while (*link != job) {
        link = &(*link)->sibling;
    }
    *link = job->sibling;
}

static int64_t count_tiles(const uint64_t *bits)
{
    int64_t tiles = 0;

    for (size_t i = 0; i < TSEED_METATILE_TILES_MAX / 64; i++) {
        tiles += __builtin_popcountll(bits[i]);
    }
    return tiles;
}

int tseed_job_is_look(const tseed_job_t *job)
{
    return job->savings.shade && !job->savings.is_made_of_shade;
}

int tseed_job_must_fetch(const tseed_job_t *job)
{
    return job->request.must_fetch || tseed_job_is_look(job);
}

void tseed_job_lose(tseed_job_t *job, tseed_outcome_t outcome, const char *cause)
{
    job->result.outcome = outcome;
    tseed_text_fit(job->result.cause, sizeof(job->result.cause), cause);
}

const char *tseed_job_cause(const tseed_job_t *job)
{
    return job->request.stage == TSEED_STAGE_FETCH ? job->request.transfer.cause
                                                   : job->result.cause;
}

void tseed_job_count_found(tseed_job_t *job)
{
    job->result.made = tseed_job_written(job);
    job->result.skipped = tseed_job_present(job);
}

void tseed_job_recall(tseed_board_t *board, tseed_job_t *job)
{
    tseed_job_result_t *result = &job->result;

    memcpy(result->written, result->present, sizeof(result->written));
    tseed_trace_recall(board, job->accounts.trace, result->present);
    for (size_t i = 0; i < TSEED_TRACE_WORDS; i++) {
        result->written[i] &= ~result->present[i];
    }
}

int tseed_job_is_unchanged(const tseed_job_t *job)
{
    return tseed_job_is_drawn(job)
               ? job->result.drawn.is_unchanged
               : tseed_job_leader((tseed_job_t *)job)->request.transfer.result ==
                     TSEED_FETCH_UNCHANGED;
}

void tseed_job_forget_drawn(tseed_job_t *job)
{
    free(job->result.drawn.body);
    job->result.drawn = (tseed_drawn_t){0};
}

void tseed_job_forget_made(tseed_job_t *job)
{
    memset(job->result.written, 0, sizeof(job->result.written));
    job->result.plain.colours = TSEED_COLOURS_UNKNOWN;
    job->result.digest = 0;
    job->result.is_wrong = 0;
}

void tseed_job_booked(tseed_job_t *job)
{
    tseed_tally_clear(&job->result.tally);
    job->result.shared = (tseed_effect_t){0};
    job->result.freed = (tseed_amount_t){0, 0};
    job->result.is_detached = 0;
}

int64_t tseed_job_present(const tseed_job_t *job)
{
    return count_tiles(job->result.present);
}

int64_t tseed_job_written(const tseed_job_t *job)
{
    return count_tiles(job->result.written);
}

/* The place of a wanted tile in the bits of a job: row by row from the bottom-left. */
static size_t bit_of(const tseed_job_t *job, const tseed_tile_t *tile)
{
    const tseed_range_t *wanted = &job->metatile.wanted;

    return (size_t)((tile->y - wanted->miny) * (wanted->maxx - wanted->minx + 1) + tile->x -
                    wanted->minx);
}

void tseed_job_lack(tseed_job_t *job, const tseed_tile_t *tile)
{
    const size_t i = bit_of(job, tile);

    job->result.lacking[i / 64] |= UINT64_C(1) << (i % 64);
}

int tseed_job_lacks(const tseed_job_t *job, const tseed_tile_t *tile)
{
    const size_t i = bit_of(job, tile);

    return (int)(job->result.lacking[i / 64] >> (i % 64) & 1);
}

int tseed_job_lacks_any(const tseed_job_t *job)
{
    for (size_t i = 0; i < sizeof(job->result.lacking) / sizeof(job->result.lacking[0]); i++) {
        if (job->result.lacking[i]) {
            return 1;
        }
    }
    return 0;
}

static int changes_or_counts(const tseed_job_t *job)
{
    return job->request.stage != TSEED_STAGE_CHECK && job->request.stage != TSEED_STAGE_FETCH &&
           job->request.stage != TSEED_STAGE_DERIVE;
}

/* A REMOVE that leaves nothing of a level, or of a page for the quota. Its end sets the page or
 * level to empty in the book. Removals of another job that has not come back yet would be booked
 * twice. */
static int takes_all(const tseed_job_t *job)
{
    return job->request.is_whole ||
           (job->request.stage == TSEED_STAGE_REMOVE && job->run->is_background);
}

int tseed_job_excludes(const tseed_job_t *other, const tseed_job_t *job)
{
    if (other->request.stage == job->request.stage) {
        return other->accounts.at_work && (takes_all(other) || takes_all(job));
    }
    if (!changes_or_counts(other)) {
        return 0;
    }
    return other->accounts.at_work ||
           (job->request.stage == TSEED_STAGE_CUT && other->request.stage != TSEED_STAGE_COUNT);
}

/* Shared files are everywhere in a tile set. */
static int share_tiles(const tseed_job_t *a, const tseed_job_t *b)
{
    return a->request.stage == TSEED_STAGE_COUNT_SHARED ||
           b->request.stage == TSEED_STAGE_COUNT_SHARED ||
           tseed_range_meets(&a->metatile.wanted, &b->metatile.wanted);
}

const tseed_run_t *tseed_run_excluder(const tseed_run_t *runs, const tseed_job_t *job)
{
    for (const tseed_run_t *run = runs; run; run = run->next_run) {
        const tseed_job_t *other = run->booked == job->run->booked ? run->jobs : NULL;

        for (; other; other = other->sibling) {
            if (other != job && share_tiles(other, job) && tseed_job_excludes(other, job)) {
                return run;
            }
        }
    }
    return NULL;
}

/* Whether a job of the run is at work on one of these tiles. */
static int holds(const tseed_run_t *run, const tseed_range_t *range)
{
    for (const tseed_job_t *job = run->jobs; job; job = job->sibling) {
        if (tseed_range_meets(&job->metatile.whole, range)) {
            return 1;
        }
    }
    return 0;
}

const tseed_run_t *tseed_run_holder(const tseed_run_t *runs, const tseed_run_t *run,
                                    const tseed_metatile_t *metatile)
{
    for (const tseed_run_t *other = runs; other; other = other->next_run) {
        if (other != run && other->jobs && other->booked == run->booked &&
            other->task->type != TSEED_TRUNCATE && holds(other, &metatile->whole)) {
            return other;
        }
    }
    return NULL;
}

int tseed_run_is_refused(const tseed_run_t *run)
{
    return run->refused.count >= TSEED_REFUSALS_MOST;
}

void tseed_run_remind(tseed_run_t *run)
{
    tseed_progress_tell(&run->progress, TSEED_REASON_LACKS, run->warning ? run->warning : "");
}
