/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The janitor: removes pages for the disk quota.
 *
 * Either because a write was refused and wants room, at once; or because something is over its
 * limit when the periodic clean-up is due. What must go, and when, is the cleaner's judgement;
 * which pages, the book's. One page is one job of its tile set's standing run, so that the removal
 * is marked, exclusive and booked like all else; up to maxConcurrentCleanUps of them go on at once.
 */
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "seeder/tseed_house.h"
#include "state/tseed_books.h"

#define RETRY      (10 * APR_USEC_PER_SEC)
#define SAY_EVERY  (60 * APR_USEC_PER_SEC)
#define BREAK      (60 * APR_USEC_PER_SEC) /* without removals: the next clean-up is another one */
#define LOOK_AGAIN (APR_USEC_PER_SEC / 50)

/* ---- limits ---- */

/* Whether all is known that was there when the seeder started, as far as it can be read. Once it is
 * nothing that comes later changes that. */
static int is_known(const tseed_seeder_t *seeder)
{
    const tseed_book_tileset_t *booked;
    int known = seeder->janitor.known || tseed_book_incomplete(seeder->cache->book) == 0;

    if (seeder->cache->is_loading) {
        return 0;
    }
    for (unsigned i = 0; !known && (booked = tseed_book_tileset(seeder->cache->book, i)) != NULL;
         i++) {
        if (!booked->record.complete && !booked->unread) {
            return 0;
        }
    }
    return 1;
}

static void say_block(const tseed_seeder_t *seeder)
{
    char before[60] = ", and not all sizes were counted by it";

    if (seeder->cache->block != TSEED_BLOCK_MIXED) {
        apr_snprintf(before, sizeof(before), " now instead of %" APR_INT64_T_FMT,
                     seeder->cache->block);
    }
    tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
              "diskBlockSize is %" APR_INT64_T_FMT
              "%s: the disk usage is counted again in the background",
              seeder->cache->quota.block_size, before);
}

/* Every file counts for another number of blocks: all is counted again. */
static void change_block(tseed_seeder_t *seeder)
{
    tseed_book_tileset_t *booked;

    tseed_workers_block_set(seeder->context->workers, seeder->cache->quota.block_size);
    if (seeder->cache->block != 0 && seeder->cache->block != seeder->cache->quota.block_size) {
        say_block(seeder);
        tseed_book_doubt_all(seeder->cache->book);
        for (unsigned i = 0; (booked = tseed_book_tileset(seeder->cache->book, i)) != NULL; i++) {
            tseed_count_shared(seeder->count, booked, NULL, NULL);
        }
    }
    seeder->cache->block = seeder->cache->quota.block_size;
}

void tseed_janitor_configure(tseed_seeder_t *seeder)
{
    if (!seeder->cache->is_loading) {
        change_block(seeder);
    }
    seeder->janitor.known = is_known(seeder);
    tseed_cleaner_configure(seeder->cache->cleaner, &seeder->cache->quota, seeder->janitor.known);
    tseed_quota_wait_wake(seeder->quota_wait);
}

apr_status_t tseed_janitor_hear(tseed_seeder_t *seeder)
{
    const char *value = "";
    apr_status_t rv = tseed_books_note_get(seeder->session->state, &value, TSEED_USAGE_CLEANUP,
                                           seeder->context->scratch);

    if (rv != APR_SUCCESS || !*value) {
        return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
    }
    rv = tseed_books_note_set(seeder->session->state, TSEED_USAGE_CLEANUP, "");
    if (rv == APR_SUCCESS) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "a clean-up for the disk quota begins: %s wants it", value);
        tseed_cleaner_hurry(seeder->cache->cleaner);
        seeder->janitor.not_before = 0;
    }
    return rv;
}

static void look_at_roots(tseed_seeder_t *seeder)
{
    const char *root;

    for (unsigned i = 0; (root = tseed_cleaner_root(seeder->cache->cleaner, i)) != NULL; i++) {
        int64_t bytes = tseed_room_free(root, seeder->context->scratch);

        if (bytes < INT64_MAX) {
            tseed_cleaner_free_set(seeder->cache->cleaner, root, bytes);
        }
    }
}

/* ---- victims ---- */

/* How many to choose at once: what has come since is not among them, so they must be few of all. */
static size_t choice_of(const tseed_book_t *book)
{
    const int64_t pages = tseed_book_pages(book);

    return pages < TSEED_VICTIMS * TSEED_VICTIMS ? (size_t)(1 + pages / TSEED_VICTIMS)
                                                 : TSEED_VICTIMS;
}

/* The next page to go for an account; 0: there is none. One choice serves several. */
static int next_victim(tseed_book_page_t *victim, tseed_seeder_t *seeder, const tseed_duty_t *duty)
{
    tseed_janitor_t *janitor = &seeder->janitor;

    for (int chosen = 0;; chosen = 1) {
        if (janitor->victims_of != duty->account) {
            janitor->next = janitor->count = 0;
        }
        while (janitor->next < janitor->count) {
            *victim = janitor->victims[janitor->next++];
            if (tseed_book_is_victim(seeder->cache->book, victim)) {
                return 1;
            }
        }
        if (chosen) {
            return 0;
        }
        janitor->victims_of = duty->account;
        janitor->next = 0;
        janitor->count = tseed_book_victims(janitor->victims, choice_of(seeder->cache->book),
                                            seeder->cache->book, duty->account, duty->policy);
    }
}

/* Whether what is leaving already is enough. */
static int is_covered(const tseed_duty_t *duty, const tseed_janitor_t *janitor)
{
    return janitor->removing > 0 && duty->excess.bytes <= janitor->leaving.bytes &&
           duty->excess.files <= janitor->leaving.files;
}

/* What room is to be made for: a refused write first, then the periodic clean-up. 0: nothing, or
 * what is leaving is to be awaited. */
static int next_duty(tseed_duty_t *duty, tseed_seeder_t *seeder)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    const tseed_want_t *want = tseed_quota_wait_wanted(seeder->quota_wait);

    if (want && tseed_quota_wait_has_room(want->account, want->amount, (tseed_amount_t){0, 0})) {
        tseed_quota_wait_wake(seeder->quota_wait);
        want = NULL;
    }
    if (want && janitor->removing > 0 &&
        tseed_quota_wait_has_room(want->account, want->amount, janitor->leaving)) {
        return 0;
    }
    if (want) {
        *duty =
            (tseed_duty_t){.account = want->account,
                           .policy = tseed_cleaner_policy(seeder->cache->cleaner, want->account)};
        return 1;
    }
    janitor->is_due =
        janitor->is_due && tseed_cleaner_next(seeder->cache->cleaner, duty, janitor->skip);
    return janitor->is_due && !is_covered(duty, janitor);
}

static tseed_moment_t moment(void)
{
    return (tseed_moment_t){.monotonic = tseed_clock_monotonic(), .wall = apr_time_now()};
}

static int may_remove(tseed_seeder_t *seeder)
{
    const char *sentence;
    tseed_clean_t may =
        tseed_cleaner_ask(seeder->cache->cleaner, &sentence, moment(), seeder->context->scratch);

    if (sentence) {
        tseed_log(TSEED_LOG_ERROR, APR_SUCCESS, "%s", sentence);
    }
    if (may == TSEED_CLEAN_LATER) {
        tseed_quota_wait_say(
            seeder->quota_wait, NULL,
            apr_psprintf(seeder->context->scratch, "nothing is removed before %s",
                         tseed_text_rfc3339(tseed_cleaner_grace(seeder->cache->cleaner),
                                            seeder->context->scratch)));
    } else if (may == TSEED_CLEAN_UNKNOWN) {
        tseed_quota_wait_say(seeder->quota_wait, NULL,
                             "nothing is removed before the cache is known");
    } else if (may == TSEED_CLEAN_NEVER) {
        tseed_quota_wait_say(seeder->quota_wait, NULL, "nothing may be expired");
    }
    return may == TSEED_CLEAN_NOW;
}

/* Said before the first tile goes, so that the log knows of removals that nobody lived to book. */
static void say_removal(const tseed_book_page_t *victim)
{
    tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS,
              "removes page %d/%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT
              " of %s for the disk quota: %" APR_INT64_T_FMT " tiles, %" APR_INT64_T_FMT " bytes",
              victim->page.z, victim->page.x, victim->page.y, victim->booked->record.key,
              victim->usage.names, victim->usage.allocated);
}

/* Returns 0 if its tile set is configured no more. */
static int remove_page(tseed_seeder_t *seeder, const tseed_book_page_t *victim)
{
    tseed_run_t *run = tseed_background_of(seeder->background, victim->booked);

    if (run) {
        tseed_page_jobs_begin(seeder->page_jobs, &tseed_janitor_client, run, &victim->page,
                              TSEED_STAGE_REMOVE)
            ->counted = victim->usage;
    }
    return run != NULL;
}

static int begin_removal(tseed_seeder_t *seeder, const tseed_duty_t *duty)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    tseed_book_page_t victim;

    if (!next_victim(&victim, seeder, duty) || !remove_page(seeder, &victim)) {
        return 0;
    }
    say_removal(&victim);
    janitor->stuck_since = 0;
    janitor->removing++;
    janitor->leaving.bytes += victim.usage.allocated;
    janitor->leaving.files += victim.usage.files;
    return 1;
}

/* Whether what is left may just be at work, which has an end. It is looked at again by and by, as
 * each look goes over all pages. */
static int may_come(tseed_seeder_t *seeder)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    const apr_time_t now = tseed_clock_monotonic();

    if (janitor->removing == 0 && !tseed_book_has_pins(seeder->cache->book)) {
        return 0;
    }
    janitor->stuck_since = janitor->stuck_since ? janitor->stuck_since : now;
    janitor->not_before = janitor->removing > 0 ? 0 : now + LOOK_AGAIN;
    return janitor->removing > 0 || now - janitor->stuck_since < APR_USEC_PER_SEC;
}

/* Nothing more may go for a duty: whoever waits takes what there is, or says so and asks again in a
 * second; other duties have their turn. */
static void give_up(tseed_seeder_t *seeder, const tseed_duty_t *duty)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    const tseed_want_t *want = tseed_quota_wait_wanted(seeder->quota_wait);

    janitor->stuck_since = 0;
    if (!want) {
        janitor->skip = duty->number + 1;
    } else if (tseed_quota_wait_has_room(want->account, want->least, (tseed_amount_t){0, 0})) {
        tseed_quota_wait_wake(seeder->quota_wait);
    } else {
        tseed_quota_wait_say(seeder->quota_wait, want->account, "nothing may be expired");
        tseed_quota_wait_forget(seeder->quota_wait);
    }
}

/* When it looks again for something to remove; INT64_MAX: at the next turn. */
static apr_time_t due(const void *module)
{
    const tseed_seeder_t *seeder = module;
    const apr_time_t at = seeder->janitor.not_before;

    return at > tseed_clock_monotonic() ? at : INT64_MAX;
}

static void feed(void *module)
{
    tseed_seeder_t *seeder = module;
    tseed_janitor_t *janitor = &seeder->janitor;
    tseed_duty_t duty;

    if (seeder->cache->is_loading || tseed_clock_monotonic() < janitor->not_before) {
        return;
    }
    while (janitor->removing < tseed_cleaner_workers(seeder->cache->cleaner) &&
           next_duty(&duty, seeder) && may_remove(seeder)) {
        if (begin_removal(seeder, &duty)) {
            continue;
        }
        if (may_come(seeder)) {
            return;
        }
        give_up(seeder, &duty);
    }
}

/* ---- what has gone ---- */

static tseed_effect_t negative(const tseed_effect_t *effect)
{
    return (tseed_effect_t){-effect->names, -effect->files, -effect->bytes, -effect->allocated};
}

/* What a job has removed, as a change. */
static tseed_effect_t change_of(const tseed_job_t *job)
{
    tseed_effect_t change = job->shared;
    const tseed_line_t *line;
    unsigned cursor = 0;

    while ((line = tseed_tally_next(&job->tally, &cursor)) != NULL) {
        tseed_effect_add(&change, &line->effect);
    }
    return change;
}

/* For clients, and for the next line in the log. */
static void remember(tseed_seeder_t *seeder, const tseed_job_t *job)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    tseed_cleanup_t *clean = &seeder->cache->status.clean;
    const tseed_effect_t change = change_of(job), gone = negative(&change);
    const tseed_moment_t now = moment();
    const apr_interval_time_t rest =
        janitor->removed_at ? now.monotonic - janitor->removed_at : now.wall - clean->last;

    if (rest > BREAK || rest < 0) { /* the last seeder's, at another time by the wall clock */
        *clean = (tseed_cleanup_t){.started = now.wall};
    }
    janitor->removed_at = now.monotonic;
    clean->last = tseed_clock_wall(clean->started);
    clean->pages++;
    tseed_effect_add(&clean->gone, &gone);
    tseed_run_expire(seeder->runs->tasks, job->run->booked, &job->metatile.wanted, gone.names);
    janitor->unsaid++;
}

/* At most one line a minute, whatever goes; the last line about a clean-up has its whole. */
static void say_removed(tseed_seeder_t *seeder)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    const tseed_cleanup_t *clean = &seeder->cache->status.clean;
    apr_time_t now = tseed_clock_monotonic();

    if (janitor->unsaid == 0 || now < janitor->say_at) {
        return;
    }
    tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
              "removed for the disk quota since %s: %" APR_INT64_T_FMT " tiles in %" APR_INT64_T_FMT
              " pages, %s in %" APR_INT64_T_FMT " files",
              tseed_text_rfc3339(clean->started, seeder->context->scratch), clean->gone.names,
              clean->pages, tseed_text_amount(clean->gone.allocated, seeder->context->scratch),
              clean->gone.files);
    janitor->unsaid = 0;
    janitor->say_at = now + SAY_EVERY;
}

static void removed(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    const tseed_page_t page = tseed_page_of(&(tseed_tile_t){
        job->metatile.wanted.z, job->metatile.wanted.minx, job->metatile.wanted.miny});
    const tseed_effect_t nothing = {0};
    tseed_effect_t difference;

    janitor->removing--;
    janitor->leaving.bytes -= job->counted.allocated;
    janitor->leaving.files -= job->counted.files;
    remember(seeder, job);
    tseed_holds_book(seeder->holds, job);
    if (job->outcome == TSEED_JOB_OK) { /* whatever the book had still: there is nothing now */
        tseed_book_count(&difference, seeder->cache->book, job->run->booked, &page, &nothing);
    } else if (job->outcome != TSEED_JOB_STOPPED) {
        job->run->booked->spared = 1;
        janitor->spare_until = tseed_clock_monotonic() + RETRY;
        tseed_log(TSEED_LOG_ERROR, job->rv,
                  "can't remove tiles of layer '%s' below %s for the disk quota; it is tried again",
                  job->run->task->layer, job->run->tileset.layer->store.root);
    }
}

static void take(void *module, tseed_job_t *job)
{
    tseed_seeder_t *seeder = module;
    tseed_page_jobs_take(seeder->page_jobs, job);
    removed(seeder, job);
    tseed_jobs_put_back(seeder->jobs, job);
}

/* ---- once a tick ---- */

/* What could not be removed may go again. */
static void spare_no_longer(tseed_seeder_t *seeder)
{
    tseed_book_tileset_t *booked;

    for (unsigned i = 0; (booked = tseed_book_tileset(seeder->cache->book, i)) != NULL; i++) {
        booked->spared = 0;
    }
    seeder->janitor.spare_until = 0;
}

static void tick(void *module, apr_time_t now)
{
    tseed_seeder_t *seeder = module;
    tseed_janitor_t *janitor = &seeder->janitor;

    if (janitor->known != is_known(seeder)) {
        tseed_janitor_configure(seeder);
    }
    if (seeder->context->settings->min_free > 0) {
        look_at_roots(seeder);
    }
    if (janitor->spare_until && now >= janitor->spare_until) {
        spare_no_longer(seeder);
    }
    if (tseed_cleaner_due(seeder->cache->cleaner, moment())) {
        janitor->is_due = 1;
        janitor->skip = 0;
    }
    say_removed(seeder);
}

tseed_client_t tseed_janitor_client = {.feed = feed, .take = take, .tick = tick, .due = due};
