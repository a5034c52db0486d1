/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A page is removed for one of two reasons. A write was refused and wants room at once; or
 * something is over its limit when the periodic clean-up is due. The cleaner says which accounts
 * are over their limits, and whether pages may go now; the book says which pages are used least.
 * The removal of a page is a job of its tile set's background run, so it is marked, exclusive and
 * booked like all other work. Up to maxConcurrentCleanUps removals go on at once. Those in a store
 * that hangs do not count, and no other is begun there. */
#include "books/tseed_evict.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "board/tseed_counters.h"
#include "state/tseed_books.h"

#define RETRY         (10 * APR_USEC_PER_SEC)
#define SAY_EVERY     (60 * APR_USEC_PER_SEC)
#define BREAK         (60 * APR_USEC_PER_SEC) /* without removals: then another clean-up begins */
#define LOOK_AGAIN    (APR_USEC_PER_SEC / 50)
#define VICTIMS       64               /* chosen at once: each question goes over all pages */
#define LEAVERS       8                /* pages at once, at most */
#define LEAVERS_AGAIN APR_USEC_PER_SEC /* when jobs hold the pages that are left */

struct tseed_evict_t {
    tseed_evict_uses_t uses;
    /* what goes next */
    int is_cleaning;                  /* the periodic clean-up goes on */
    unsigned skip;                    /* its duties for which no page may go */
    int leaving;                      /* pages that are being removed, */
    tseed_amount_t amount;            /* and what they hold */
    tseed_book_page_t found[VICTIMS]; /* victims that the book has chosen */
    size_t next, count;               /* of `found` */
    const tseed_account_t *found_for;
    /* when */
    int is_known;             /* all that was there at the start is booked */
    apr_time_t not_before;    /* monotonic */
    apr_time_t leavers_after; /* monotonic: no page of a tile set that leaves goes before */
    apr_time_t stuck_since;   /* monotonic: jobs write in all pages that may go; 0: no such thing */
    apr_time_t spare_until;   /* monotonic; 0: no tile set is spared */
    int unsaid;               /* pages that went since the last line about it */
    apr_time_t say_at;        /* monotonic */
    apr_time_t removed_at;    /* the last of them, monotonic; 0: none by this seeder */
    tseed_client_t client;
};

/* ---- limits ---- */

/* Whether the book has all that was on the disk when the seeder started, as far as the disk can be
 * read. Once the book has it, nothing that comes later changes that. */
static int is_known(const tseed_evict_t *evict)
{
    const tseed_cache_t *cache = evict->uses.cache;

    return !cache->is_loading && (evict->is_known || tseed_book_is_known(cache->book));
}

static void say_block(const tseed_cache_t *cache)
{
    char before[60] = ", and not all sizes were counted by it";

    if (cache->block != TSEED_BLOCK_MIXED) {
        apr_snprintf(before, sizeof(before), " now instead of %" APR_INT64_T_FMT, cache->block);
    }
    tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
              "TS0064: diskBlockSize is %" APR_INT64_T_FMT
              "%s: the disk usage is counted again in the background",
              cache->quota.block_size, before);
}

/* Every file counts for another number of blocks: all is counted again. */
static void change_block(tseed_evict_t *evict)
{
    tseed_cache_t *cache = evict->uses.cache;
    tseed_book_tileset_t *booked;

    tseed_workers_block_set(evict->uses.context->workers, cache->quota.block_size);
    if (cache->block != 0 && cache->block != cache->quota.block_size) {
        say_block(cache);
        tseed_book_doubt_all(cache->book, NULL);
        for (unsigned i = 0; (booked = tseed_book_next(cache->book, &i)) != NULL; i++) {
            tseed_count_shared(evict->uses.count, booked, NULL, NULL);
        }
    }
    cache->block = cache->quota.block_size;
}

void tseed_evict_configure(tseed_evict_t *evict)
{
    tseed_cache_t *cache = evict->uses.cache;

    if (!cache->is_loading) {
        change_block(evict);
    }
    evict->is_known = is_known(evict);
    tseed_cleaner_configure(cache->cleaner, &cache->quota, evict->is_known);
    tseed_quota_wait_wake(evict->uses.quota_wait);
}

apr_status_t tseed_evict_hear(tseed_evict_t *evict)
{
    tseed_state_t *state = evict->uses.session->state;
    const char *value = "";
    apr_status_t rv =
        tseed_books_note_get(state, &value, TSEED_USAGE_CLEANUP, evict->uses.context->scratch);

    if (rv != APR_SUCCESS || !*value) {
        return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
    }
    rv = tseed_books_note_set(state, TSEED_USAGE_CLEANUP, "");
    if (rv == APR_SUCCESS) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "TS0065: a clean-up for the disk quota begins: %s wants it", value);
        tseed_cleaner_hurry(evict->uses.cache->cleaner);
        evict->not_before = 0;
    }
    return rv;
}

/* ---- duties and victims ---- */

/* It goes on until nothing is over its limit, or nothing more may go. */
static void clean_up(tseed_evict_t *evict)
{
    evict->is_cleaning = 1;
    evict->skip = 0;
}

/* Whether what is leaving already is enough. */
static int is_covered(const tseed_evict_t *evict, const tseed_duty_t *duty)
{
    return evict->leaving > 0 && duty->excess.bytes <= evict->amount.bytes &&
           duty->excess.files <= evict->amount.files;
}

/* Sets which account is to get room: that of a refused write (NULL: no write was refused) before
 * those of the clean-up. Returns 0 when there is none, or when the pages that are being removed are
 * enough. */
static int choose_duty(tseed_duty_t *duty, tseed_evict_t *evict, const tseed_want_t *want)
{
    const tseed_cleaner_t *cleaner = evict->uses.cache->cleaner;

    if (want && evict->leaving > 0 &&
        tseed_quota_wait_has_room(want->account, want->amount, evict->amount)) {
        return 0;
    }
    if (want) {
        *duty = (tseed_duty_t){.account = want->account,
                               .policy = tseed_cleaner_policy(cleaner, want->account)};
        return 1;
    }
    evict->is_cleaning = evict->is_cleaning && tseed_cleaner_next(cleaner, duty, evict->skip);
    return evict->is_cleaning && !is_covered(evict, duty);
}

/* How many victims to choose at once. A page that becomes a better victim later is not among them,
 * so they must be a small part of all pages. */
static size_t portion_of(const tseed_book_t *book)
{
    const int64_t pages = tseed_book_pages(book);

    return pages < VICTIMS * VICTIMS ? (size_t)(1 + pages / VICTIMS) : VICTIMS;
}

/* Takes the next chosen page that may still go. Returns 0 when there is none. */
static int next_found(tseed_book_page_t *victim, tseed_evict_t *evict)
{
    while (evict->next < evict->count) {
        *victim = evict->found[evict->next++];
        if (tseed_book_is_victim(evict->uses.cache->book, victim)) {
            return 1;
        }
    }
    return 0;
}

/* The next page to go for a duty. Returns 0 when no page may go. */
static int choose_victim(tseed_book_page_t *victim, tseed_evict_t *evict, const tseed_duty_t *duty)
{
    tseed_book_t *book = evict->uses.cache->book;

    if (evict->found_for == duty->account && next_found(victim, evict)) {
        return 1;
    }
    evict->found_for = duty->account;
    evict->next = 0;
    evict->count =
        tseed_book_victims(evict->found, portion_of(book), book, duty->account, duty->policy);
    return next_found(victim, evict);
}

/* A removal begins, `sign` 1, or is over, -1, whether it has removed the page or not: what the page
 * held when it began. */
static void count_leaving(tseed_evict_t *evict, int sign, const tseed_effect_t *held)
{
    evict->leaving += sign;
    evict->amount.bytes += sign * held->allocated;
    evict->amount.files += sign * held->files;
}

/* ---- removals ---- */

static tseed_moment_t moment(void)
{
    return (tseed_moment_t){.monotonic = tseed_clock_monotonic(), .wall = apr_time_now()};
}

/* Sets the duty that needs room. Returns 0 when there is none, or when the pages that are being
 * removed are enough. */
static int next_duty(tseed_duty_t *duty, tseed_evict_t *evict)
{
    const tseed_want_t *want = tseed_quota_wait_wanted(evict->uses.quota_wait);

    if (want && tseed_quota_wait_has_room(want->account, want->amount, (tseed_amount_t){0, 0})) {
        tseed_quota_wait_wake(evict->uses.quota_wait);
        want = NULL;
    }
    return choose_duty(duty, evict, want);
}

/* Why nothing may go; NULL: pages may go now. */
static const char *reason_of(const tseed_evict_t *evict, tseed_clean_t may)
{
    apr_pool_t *scratch = evict->uses.context->scratch;

    switch (may) {
    case TSEED_CLEAN_LATER:
        return apr_psprintf(
            scratch, "nothing is removed before %s",
            tseed_text_rfc3339(tseed_cleaner_grace(evict->uses.cache->cleaner), scratch));
    case TSEED_CLEAN_UNKNOWN:
        return "nothing is removed before the cache is known";
    case TSEED_CLEAN_NEVER:
        return "nothing may be expired";
    default:
        return NULL;
    }
}

static int may_remove(tseed_evict_t *evict)
{
    const char *sentence, *reason;

    reason = reason_of(evict, tseed_cleaner_ask(evict->uses.cache->cleaner, &sentence, moment(),
                                                evict->uses.context->scratch));
    if (sentence) {
        tseed_log(TSEED_LOG_ERROR, APR_SUCCESS, "TS0066: %s", sentence);
    }
    if (reason) {
        tseed_quota_wait_say(evict->uses.quota_wait, NULL, reason);
    }
    return !reason;
}

/* Logs a removal before its first tile goes: the seeder may die before it books the removal. */
static void say_removal(const tseed_book_page_t *victim)
{
    tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS,
              "removes page %d/%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT
              " of %s for the disk quota: %" APR_INT64_T_FMT " tiles, %" APR_INT64_T_FMT " bytes",
              victim->page.z, victim->page.x, victim->page.y, victim->booked->record.key,
              victim->usage.names, victim->usage.allocated);
}

/* Returns 0 if its tile set is configured no more. */
static int remove_page(tseed_evict_t *evict, const tseed_book_page_t *victim)
{
    tseed_run_t *run = tseed_background_of(evict->uses.background, victim->booked);

    if (run) {
        tseed_page_jobs_begin(evict->uses.page_jobs,
                              &(tseed_job_what_t){.client = &evict->client,
                                                  .run = run,
                                                  .first = TSEED_STAGE_REMOVE,
                                                  .expected = victim->usage},
                              &victim->page);
    }
    return run != NULL;
}

static int begin_removal(tseed_evict_t *evict, const tseed_duty_t *duty)
{
    tseed_book_page_t victim;

    if (!choose_victim(&victim, evict, duty) || !remove_page(evict, &victim)) {
        return 0;
    }
    say_removal(&victim);
    evict->stuck_since = 0;
    count_leaving(evict, 1, &victim.usage);
    return 1;
}

/* Removes pages of tile sets that are to go, whatever the quota says. */
static void remove_leavers(tseed_evict_t *evict)
{
    tseed_book_page_t leavers[LEAVERS];
    const int workers = tseed_cleaner_workers(evict->uses.cache->cleaner);
    const int idle = workers - evict->leaving;
    const size_t most = idle < LEAVERS ? (size_t)(idle > 0 ? idle : 0) : LEAVERS;
    const apr_time_t now = tseed_clock_monotonic();
    size_t count;

    if (!tseed_book_has_leavers(evict->uses.cache->book) || now < evict->leavers_after) {
        return;
    }
    count = tseed_book_leavers(leavers, most, evict->uses.cache->book);
    evict->leavers_after = count < most ? now + LEAVERS_AGAIN : 0;
    for (size_t i = 0; i < count && remove_page(evict, &leavers[i]); i++) {
        count_leaving(evict, 1, &leavers[i].usage);
    }
}

/* Whether jobs are at work in the pages that are left: that has an end. The eviction looks again
 * after a while, as each look goes over all pages. */
static int may_come(tseed_evict_t *evict)
{
    const int is_leaving = evict->leaving > 0;
    const apr_time_t now = tseed_clock_monotonic();

    if (!is_leaving && !tseed_book_has_pins(evict->uses.cache->book)) {
        return 0;
    }
    evict->stuck_since = evict->stuck_since ? evict->stuck_since : now;
    evict->not_before = is_leaving ? 0 : now + LOOK_AGAIN;
    return is_leaving || now - evict->stuck_since < APR_USEC_PER_SEC;
}

/* Nothing more may go for a duty: runs that wait take what there is, or say so and ask again in a
 * second; other duties have their turn. */
static void give_up(tseed_evict_t *evict, const tseed_duty_t *duty)
{
    tseed_quota_wait_t *quota_wait = evict->uses.quota_wait;
    const tseed_want_t *want = tseed_quota_wait_wanted(quota_wait);

    evict->stuck_since = 0;
    if (!want) {
        evict->skip = duty->number + 1; /* past its account and those before */
    } else if (tseed_quota_wait_has_room(want->account, want->least, (tseed_amount_t){0, 0})) {
        tseed_quota_wait_wake(quota_wait);
    } else {
        tseed_quota_wait_say(quota_wait, want->account, "nothing may be expired");
        tseed_quota_wait_forget(quota_wait);
    }
}

/* ---- what has gone ---- */

/* Returns what a job has removed, the opposite of its changes. */
static tseed_effect_t removed_by(const tseed_job_t *job)
{
    tseed_effect_t change = job->result.shared;
    const tseed_line_t *line;
    unsigned cursor = 0;

    while ((line = tseed_tally_next(&job->result.tally, &cursor)) != NULL) {
        tseed_effect_add(&change, &line->effect);
    }
    return (tseed_effect_t){-change.names, -change.files, -change.bytes, -change.allocated};
}

/* Adds up what has gone, for clients and for the next line in the log. */
static void remember(tseed_evict_t *evict, const tseed_job_t *job)
{
    tseed_cleanup_t *clean = &evict->uses.cache->status.clean;
    const tseed_effect_t gone = removed_by(job);
    const tseed_moment_t now = moment();
    tseed_board_t *board = evict->uses.context->board;
    const apr_interval_time_t rest =
        evict->removed_at ? now.monotonic - evict->removed_at : now.wall - clean->last;

    if (rest > BREAK || rest < 0) { /* the last seeder's, at another time by the wall clock */
        *clean = (tseed_cleanup_t){.started = now.wall};
        tseed_counters_add(board, TSEED_COUNT_CLEANUPS, 1);
    }
    evict->removed_at = now.monotonic;
    clean->last = tseed_clock_wall(clean->started);
    clean->pages++;
    tseed_effect_add(&clean->gone, &gone);
    tseed_run_expire(evict->uses.runs->tasks, job->run->booked, &job->metatile.wanted, gone.names);
    evict->unsaid++;
    tseed_counters_add(board, TSEED_COUNT_EVICTED_PAGES, 1);
    tseed_counters_add(board, TSEED_COUNT_EVICTED_TILES, gone.names);
    tseed_counters_add(board, TSEED_COUNT_EVICTED_BYTES, gone.allocated);
}

/* Logs at most one line a minute. The last line about a clean-up has the sum of the clean-up. */
static void say_removed(tseed_evict_t *evict)
{
    const tseed_cleanup_t *clean = &evict->uses.cache->status.clean;
    apr_pool_t *scratch = evict->uses.context->scratch;
    apr_time_t now = tseed_clock_monotonic();

    if (evict->unsaid == 0 || now < evict->say_at) {
        return;
    }
    tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
              "TS0067: removed for the disk quota since %s: %" APR_INT64_T_FMT
              " tiles in %" APR_INT64_T_FMT " pages, %s in %" APR_INT64_T_FMT " files",
              tseed_text_rfc3339(clean->started, scratch), clean->gone.names, clean->pages,
              tseed_text_amount(clean->gone.allocated, scratch), clean->gone.files);
    evict->unsaid = 0;
    evict->say_at = now + SAY_EVERY;
}

static void removed(tseed_evict_t *evict, tseed_job_t *job)
{
    const tseed_page_t page = tseed_page_of(&(tseed_tile_t){
        job->metatile.wanted.z, job->metatile.wanted.minx, job->metatile.wanted.miny});
    const tseed_effect_t nothing = {0};
    tseed_effect_t difference;

    if (!job->accounts.is_overdue) {
        count_leaving(evict, -1, &job->expected);
    }
    if (!job->run->booked->is_leaving) { /* a tile set that leaves goes for no quota */
        remember(evict, job);
    }
    tseed_holds_book(evict->uses.holds, job);
    if (job->result.outcome == TSEED_JOB_OK) { /* the page is empty, even if the book had more */
        tseed_book_count(&difference, evict->uses.cache->book, job->run->booked, &page, &nothing,
                         0);
    } else if (job->result.outcome != TSEED_JOB_STOPPED) {
        job->run->booked->spared = 1;
        evict->spare_until = tseed_clock_monotonic() + RETRY;
        tseed_log(TSEED_LOG_ERROR, job->result.rv,
                  "TS0035: can't remove tiles of layer '%s' below %s for the disk quota; it is "
                  "tried again",
                  job->run->task->layer, job->run->tileset.layer->store.root);
    }
}

/* ---- the client ---- */

/* When the eviction looks again for something to remove; INT64_MAX: when something else wakes the
 * loop. */
static apr_time_t due(const void *module)
{
    const tseed_evict_t *evict = module;
    const apr_time_t now = tseed_clock_monotonic();
    const apr_time_t leavers = evict->leavers_after > now ? evict->leavers_after : INT64_MAX;

    return evict->not_before > now && evict->not_before < leavers ? evict->not_before : leavers;
}

static void feed(void *module)
{
    tseed_evict_t *evict = module;
    tseed_duty_t duty;

    if (evict->uses.cache->is_loading || tseed_clock_monotonic() < evict->not_before) {
        return;
    }
    remove_leavers(evict);
    while (evict->leaving < tseed_cleaner_workers(evict->uses.cache->cleaner)) {
        if (!next_duty(&duty, evict) || !may_remove(evict)) {
            evict->stuck_since = 0;
            return;
        }
        if (begin_removal(evict, &duty)) {
            continue;
        }
        if (may_come(evict)) {
            return;
        }
        give_up(evict, &duty);
    }
}

static void take(void *module, tseed_job_t *job)
{
    tseed_evict_t *evict = module;

    tseed_page_jobs_take(evict->uses.page_jobs, job);
    removed(evict, job);
    tseed_jobs_put_back(evict->uses.jobs, job);
}

/* The store of a run hangs: its removals do not count any more, and its pages stay for now. */
static void pass_over(tseed_evict_t *evict, const tseed_run_t *run, apr_time_t now)
{
    tseed_book_tileset_t *booked;

    for (tseed_job_t *job = run->jobs; job; job = job->sibling) {
        if (job->request.stage == TSEED_STAGE_REMOVE && !job->accounts.is_overdue) {
            count_leaving(evict, -1, &job->expected);
            tseed_page_jobs_pass_over(evict->uses.page_jobs, job);
        }
    }
    for (unsigned i = 0; (booked = tseed_book_next(evict->uses.cache->book, &i)) != NULL; i++) {
        booked->spared |= strcmp(booked->record.root, run->booked->record.root) == 0;
    }
    evict->spare_until = now + RETRY;
}

static void tick(void *module, apr_time_t now)
{
    tseed_evict_t *evict = module;
    tseed_cache_t *cache = evict->uses.cache;

    if (evict->is_known != is_known(evict)) {
        tseed_evict_configure(evict);
    }
    if (evict->spare_until && now >= evict->spare_until) { /* the tile sets may go again */
        tseed_book_spare_none(cache->book);
        evict->spare_until = 0;
    }
    for (const tseed_run_t *run = evict->uses.runs->background; run; run = run->next_run) {
        if (run->is_hung) {
            pass_over(evict, run, now);
        }
    }
    if (tseed_cleaner_due(cache->cleaner, moment())) {
        clean_up(evict);
    }
    say_removed(evict);
}

tseed_evict_t *tseed_evict_create(const tseed_evict_uses_t *uses)
{
    tseed_evict_t *evict = apr_pcalloc(uses->context->pool, sizeof(*evict));

    evict->uses = *uses;
    evict->client =
        (tseed_client_t){.module = evict, .feed = feed, .take = take, .tick = tick, .due = due};
    return evict;
}

tseed_client_t *tseed_evict_client(tseed_evict_t *evict)
{
    return &evict->client;
}
