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
#include <sys/statvfs.h>

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
    const tseed_shelf_t *shelf;
    int known = seeder->janitor.known || tseed_book_incomplete(seeder->book) == 0;

    if (seeder->loader.is_going) {
        return 0;
    }
    for (unsigned i = 0; !known && (shelf = tseed_book_shelf(seeder->book, i)) != NULL; i++) {
        if (!shelf->holding.complete && !shelf->unread) {
            return 0;
        }
    }
    return 1;
}

static void say_block(const tseed_seeder_t *seeder)
{
    char before[60] = ", and not all sizes were counted by it";

    if (seeder->block != TSEED_BLOCK_MIXED) {
        apr_snprintf(before, sizeof(before), " now instead of %" APR_INT64_T_FMT, seeder->block);
    }
    tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
              "diskBlockSize is %" APR_INT64_T_FMT
              "%s: the disk usage is counted again in the background",
              seeder->quota.block_size, before);
}

/* Every file counts for another number of blocks: all is counted again. */
static void change_block(tseed_seeder_t *seeder)
{
    tseed_shelf_t *shelf;

    tseed_crew_block_set(seeder->crew, seeder->quota.block_size);
    if (seeder->block != 0 && seeder->block != seeder->quota.block_size) {
        say_block(seeder);
        tseed_book_doubt_all(seeder->book);
        for (unsigned i = 0; (shelf = tseed_book_shelf(seeder->book, i)) != NULL; i++) {
            tseed_chores_count_shared(seeder, shelf);
        }
    }
    seeder->block = seeder->quota.block_size;
}

static void wake(tseed_run_t *runs)
{
    for (tseed_run_t *run = runs; run; run = run->next_run) {
        if (run->short_of) {
            run->short_of = NULL;
            run->pause_until = 0;
        }
    }
}

/* There may be room: whoever waits tries again. */
static void wake_all(tseed_seeder_t *seeder)
{
    seeder->janitor.wanted = 0;
    wake(seeder->runs);
    wake(seeder->standing);
}

void tseed_janitor_configure(tseed_seeder_t *seeder)
{
    if (!seeder->loader.is_going) {
        change_block(seeder);
    }
    seeder->janitor.known = is_known(seeder);
    tseed_cleaner_configure(seeder->cleaner, &seeder->quota, seeder->janitor.known);
    wake_all(seeder);
}

apr_status_t tseed_janitor_hear(tseed_seeder_t *seeder)
{
    const char *value = "";
    apr_status_t rv =
        tseed_books_note_get(seeder->state, &value, TSEED_USAGE_CLEANUP, seeder->scratch);

    if (rv != APR_SUCCESS || !*value) {
        return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
    }
    rv = tseed_books_note_set(seeder->state, TSEED_USAGE_CLEANUP, "");
    if (rv == APR_SUCCESS) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "a clean-up for the disk quota begins: %s wants it", value);
        tseed_cleaner_hurry(seeder->cleaner);
        seeder->janitor.not_before = 0;
    }
    return rv;
}

/* What a root that is still to be made will have is told by its nearest parent. */
static int64_t bytes_free(const char *root, apr_pool_t *scratch)
{
    char *path = apr_pstrdup(scratch, root);
    struct statvfs info;

    while (statvfs(path, &info) != 0) {
        char *slash = strrchr(path, '/');

        if (!slash || slash == path) {
            return INT64_MAX;
        }
        *slash = '\0';
    }
    return (int64_t)info.f_bavail * (int64_t)info.f_frsize;
}

static void look_at_roots(tseed_seeder_t *seeder)
{
    const char *root;

    for (unsigned i = 0; (root = tseed_cleaner_root(seeder->cleaner, i)) != NULL; i++) {
        int64_t bytes = bytes_free(root, seeder->scratch);

        if (bytes < INT64_MAX) {
            tseed_cleaner_free_set(seeder->cleaner, root, bytes);
        }
    }
}

/* ---- who waits for room ---- */

/* Whether there is room once `leaving` has gone. */
static int has_room(const tseed_account_t *account, tseed_amount_t amount, tseed_amount_t leaving)
{
    tseed_amount_t used = tseed_account_used(account);
    tseed_amount_t limit = tseed_account_limit(account);

    return used.bytes - leaving.bytes <= limit.bytes - amount.bytes &&
           used.files - leaving.files <= limit.files - amount.files;
}

static const char *say_limit(tseed_seeder_t *seeder, const tseed_run_t *run)
{
    const tseed_chain_t *chain = &run->shelf->chain;
    const char *size = tseed_text_amount(tseed_account_limit(run->short_of).bytes, seeder->scratch);

    if (run->short_of == chain->root) {
        return apr_psprintf(
            seeder->scratch, "TileSeedMinFree keeps %s free, in the layer's store %s are free",
            tseed_text_amount(seeder->settings->min_free, seeder->scratch),
            tseed_text_amount(bytes_free(run->tileset.layer->store.root, seeder->scratch),
                              seeder->scratch));
    }
    if (run->short_of == chain->layer) {
        return apr_psprintf(seeder->scratch, "disk quota of %s for layer %s reached", size,
                            run->task->layer);
    }
    return apr_psprintf(seeder->scratch, "disk quota of %s reached", size);
}

/* Whether two reasons say the same, whatever numbers are in them. */
static int is_same_reason(const char *a, const char *b)
{
    static const char numbers[] = "0123456789.";

    for (;;) {
        a += strspn(a, numbers);
        b += strspn(b, numbers);
        if (!*a || *a != *b) {
            return *a == *b;
        }
        a++;
        b++;
    }
}

/* Nothing may go: whoever waits for room in an account (NULL: any) says so, and goes on by itself
 * when that changes. */
static void say_stuck(tseed_seeder_t *seeder, const tseed_account_t *account, const char *why)
{
    for (tseed_run_t *run = seeder->runs; run; run = run->next_run) {
        const char *reason;

        if (!run->short_of || (account && run->short_of != account)) {
            continue;
        }
        reason = apr_psprintf(seeder->scratch, "paused: %s and %s", say_limit(seeder, run), why);
        if (!is_same_reason(reason, run->progress.reason)) {
            tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                      "task %" APR_INT64_T_FMT " of layer '%s' is %s", run->task->id,
                      run->task->layer, reason);
        }
        if (strcmp(run->progress.reason, reason) != 0) {
            tseed_text_fit(run->progress.reason, sizeof(run->progress.reason), reason);
            tseed_pump_show(seeder, run);
        }
    }
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Tiles of the metatile that are still to be written may each want as much as the refused one; but
 * no more than there may ever be. */
static tseed_amount_t amount_of(const tseed_job_t *job)
{
    const tseed_amount_t limit = tseed_account_limit(job->refused);
    int64_t tiles = tseed_range_count(&job->metatile.wanted) - job->made - job->skipped;

    return (tseed_amount_t){lesser(job->needed * tiles, limit.bytes), lesser(tiles, limit.files)};
}

/* Whether not even an empty account takes one tile. */
static int is_too_large(const tseed_job_t *job)
{
    const tseed_amount_t limit = tseed_account_limit(job->refused);

    return limit.bytes < job->needed || limit.files < 1;
}

static void enlarge(tseed_amount_t *amount, tseed_amount_t other)
{
    amount->bytes = greater(amount->bytes, other.bytes);
    amount->files = greater(amount->files, other.files);
}

/* Nothing goes for what can't be stored even then. */
void tseed_janitor_want(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_want_t *want = &seeder->janitor.want;

    job->run->short_of = job->refused;
    job->run->pause_until = tseed_clock_monotonic() + APR_USEC_PER_SEC;
    if (is_too_large(job)) {
        say_stuck(seeder, job->refused, "nothing may be expired");
        return;
    }
    if (!seeder->janitor.wanted || want->account != job->refused) {
        *want = (tseed_want_t){.account = job->refused};
    }
    enlarge(&want->amount, amount_of(job));
    enlarge(&want->least, (tseed_amount_t){job->needed, 1});
    seeder->janitor.wanted = 1;
}

/* With a limit of nothing, or none but the floor of free space, there may be room some day: the
 * tile is not what is wrong. */
const char *tseed_janitor_refuse(const tseed_seeder_t *seeder, const tseed_job_t *job)
{
    const tseed_chain_t *chain = &job->run->shelf->chain;
    const int64_t limit = tseed_account_limit(job->refused).bytes;

    if (job->refused == chain->root || limit == 0 || limit >= job->needed) {
        return NULL;
    }
    return apr_psprintf(seeder->scratch, "a tile needs %s, and the disk quota%s%s is %s",
                        tseed_text_amount(job->needed, seeder->scratch),
                        job->refused == chain->layer ? " of layer " : "",
                        job->refused == chain->layer ? job->run->task->layer : "",
                        tseed_text_amount(limit, seeder->scratch));
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
static int next_victim(tseed_leaf_t *victim, tseed_seeder_t *seeder, const tseed_duty_t *duty)
{
    tseed_janitor_t *janitor = &seeder->janitor;

    for (int chosen = 0;; chosen = 1) {
        if (janitor->victims_of != duty->account) {
            janitor->next = janitor->count = 0;
        }
        while (janitor->next < janitor->count) {
            *victim = janitor->victims[janitor->next++];
            if (tseed_book_is_victim(seeder->book, victim)) {
                return 1;
            }
        }
        if (chosen) {
            return 0;
        }
        janitor->victims_of = duty->account;
        janitor->next = 0;
        janitor->count = tseed_book_victims(janitor->victims, choice_of(seeder->book), seeder->book,
                                            duty->account, duty->policy);
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
    const tseed_want_t *want = &janitor->want;

    if (janitor->wanted && has_room(want->account, want->amount, (tseed_amount_t){0, 0})) {
        wake_all(seeder);
    }
    if (janitor->wanted && janitor->removing > 0 &&
        has_room(want->account, want->amount, janitor->leaving)) {
        return 0;
    }
    if (janitor->wanted) {
        *duty =
            (tseed_duty_t){.account = janitor->want.account,
                           .policy = tseed_cleaner_policy(seeder->cleaner, janitor->want.account)};
        return 1;
    }
    janitor->is_due = janitor->is_due && tseed_cleaner_next(seeder->cleaner, duty, janitor->skip);
    return janitor->is_due && !is_covered(duty, janitor);
}

static tseed_moment_t moment(void)
{
    return (tseed_moment_t){.monotonic = tseed_clock_monotonic(), .wall = apr_time_now()};
}

static int may_remove(tseed_seeder_t *seeder)
{
    const char *sentence;
    tseed_clean_t may = tseed_cleaner_ask(seeder->cleaner, &sentence, moment(), seeder->scratch);

    if (sentence) {
        tseed_log(TSEED_LOG_ERROR, APR_SUCCESS, "%s", sentence);
    }
    if (may == TSEED_CLEAN_LATER) {
        say_stuck(seeder, NULL,
                  apr_psprintf(
                      seeder->scratch, "nothing is removed before %s",
                      tseed_text_rfc3339(tseed_cleaner_grace(seeder->cleaner), seeder->scratch)));
    } else if (may == TSEED_CLEAN_UNKNOWN) {
        say_stuck(seeder, NULL, "nothing is removed before the cache is known");
    } else if (may == TSEED_CLEAN_NEVER) {
        say_stuck(seeder, NULL, "nothing may be expired");
    }
    return may == TSEED_CLEAN_NOW;
}

/* Said before the first tile goes, so that the log knows of removals that nobody lived to book. */
static void say_removal(const tseed_leaf_t *page)
{
    tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS,
              "removes page %d/%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT
              " of %s for the disk quota: %" APR_INT64_T_FMT " tiles, %" APR_INT64_T_FMT " bytes",
              page->place.z, page->place.x, page->place.y, page->shelf->holding.key,
              page->usage.names, page->usage.allocated);
}

static int begin_removal(tseed_seeder_t *seeder, const tseed_duty_t *duty)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    tseed_leaf_t victim;

    if (!next_victim(&victim, seeder, duty) || !tseed_chores_remove(seeder, &victim)) {
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

    if (janitor->removing == 0 && !tseed_book_has_pins(seeder->book)) {
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
    const tseed_want_t *want = &janitor->want;

    janitor->stuck_since = 0;
    if (!janitor->wanted) {
        janitor->skip = duty->number + 1;
    } else if (has_room(want->account, want->least, (tseed_amount_t){0, 0})) {
        wake_all(seeder);
    } else {
        say_stuck(seeder, want->account, "nothing may be expired");
        janitor->wanted = 0;
    }
}

apr_time_t tseed_janitor_due(const tseed_seeder_t *seeder)
{
    const apr_time_t due = seeder->janitor.not_before;

    return due > tseed_clock_monotonic() ? due : INT64_MAX;
}

void tseed_janitor_feed(tseed_seeder_t *seeder)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    tseed_duty_t duty;

    if (seeder->loader.is_going || tseed_clock_monotonic() < janitor->not_before) {
        return;
    }
    while (janitor->removing < tseed_cleaner_workers(seeder->cleaner) && next_duty(&duty, seeder) &&
           may_remove(seeder)) {
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
    tseed_cleanup_t *clean = &seeder->status.clean;
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
    tseed_run_expire(seeder->runs, job->run->shelf, &job->metatile.wanted, gone.names);
    janitor->unsaid++;
}

/* At most one line a minute, whatever goes; the last line about a clean-up has its whole. */
static void say_removed(tseed_seeder_t *seeder)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    const tseed_cleanup_t *clean = &seeder->status.clean;
    apr_time_t now = tseed_clock_monotonic();

    if (janitor->unsaid == 0 || now < janitor->say_at) {
        return;
    }
    tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
              "removed for the disk quota since %s: %" APR_INT64_T_FMT " tiles in %" APR_INT64_T_FMT
              " pages, %s in %" APR_INT64_T_FMT " files",
              tseed_text_rfc3339(clean->started, seeder->scratch), clean->gone.names, clean->pages,
              tseed_text_amount(clean->gone.allocated, seeder->scratch), clean->gone.files);
    janitor->unsaid = 0;
    janitor->say_at = now + SAY_EVERY;
}

void tseed_janitor_take(tseed_seeder_t *seeder, tseed_job_t *job)
{
    tseed_janitor_t *janitor = &seeder->janitor;
    const tseed_place_t place = tseed_place_of(&(tseed_tile_t){
        job->metatile.wanted.z, job->metatile.wanted.minx, job->metatile.wanted.miny});
    const tseed_effect_t nothing = {0};
    tseed_effect_t difference;

    janitor->removing--;
    janitor->leaving.bytes -= job->counted.allocated;
    janitor->leaving.files -= job->counted.files;
    remember(seeder, job);
    tseed_steward_book(seeder, job);
    if (job->outcome == TSEED_JOB_OK) { /* whatever the book had still: there is nothing now */
        tseed_book_count(&difference, seeder->book, job->run->shelf, &place, &nothing);
    } else if (job->outcome != TSEED_JOB_STOPPED) {
        job->run->shelf->spared = 1;
        janitor->spare_until = tseed_clock_monotonic() + RETRY;
        tseed_log(TSEED_LOG_ERROR, job->rv,
                  "can't remove tiles of layer '%s' below %s for the disk quota; it is tried again",
                  job->run->task->layer, job->run->tileset.layer->store.root);
    }
}

/* ---- once a tick ---- */

/* What could not be removed may go again. */
static void spare_no_longer(tseed_seeder_t *seeder)
{
    tseed_shelf_t *shelf;

    for (unsigned i = 0; (shelf = tseed_book_shelf(seeder->book, i)) != NULL; i++) {
        shelf->spared = 0;
    }
    seeder->janitor.spare_until = 0;
}

void tseed_janitor_tick(tseed_seeder_t *seeder)
{
    tseed_janitor_t *janitor = &seeder->janitor;

    if (janitor->known != is_known(seeder)) {
        tseed_janitor_configure(seeder);
    }
    if (seeder->settings->min_free > 0) {
        look_at_roots(seeder);
    }
    if (janitor->spare_until && tseed_clock_monotonic() >= janitor->spare_until) {
        spare_no_longer(seeder);
    }
    if (tseed_cleaner_due(seeder->cleaner, moment())) {
        janitor->is_due = 1;
        janitor->skip = 0;
    }
    say_removed(seeder);
}
