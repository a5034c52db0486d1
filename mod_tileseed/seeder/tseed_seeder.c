/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder's main thread: wait, hear, feed, tick. */
#include "seeder/tseed_seeder.h"

#include <apr_file_io.h>
#include <apr_strings.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "seeder/tseed_house.h"
#include "seeder/tseed_miss.h"
#include "upkeep/tseed_discover.h"
#include "upkeep/tseed_inherited.h"
#include "upkeep/tseed_lapsed.h"
#include "upkeep/tseed_root_claim.h"
#include "work/tseed_heartbeat.h"

#define TICK              APR_USEC_PER_SEC
#define PRUNE_EVERY       60                     /* ticks */
#define VALIDATE_EVERY    10                     /* ticks */
#define LOCK_PATIENCE     (4 * APR_USEC_PER_SEC) /* beyond what the last one may take to stop */
#define LOCK_RETRY_MILLIS 100
#define SYNC_MOST         (2 * APR_USEC_PER_SEC) /* at the end */
#define RETRY_AFTER       30 /* seconds: told to those who ask for what can't be made */

/* ---- the state directory is ours ---- */

static const char *lock_path(const tseed_seeder_t *seeder, apr_pool_t *pool)
{
    return apr_pstrcat(pool, seeder->context->settings->state_dir, "/lock", NULL);
}

/* One seeder a state directory: an fcntl lock that dies with its holder. */
static apr_status_t lock_try(tseed_seeder_t *seeder)
{
    apr_status_t rv = APR_SUCCESS;

    if (!seeder->lock) {
        rv = apr_file_open(&seeder->lock, lock_path(seeder, seeder->context->scratch),
                           APR_FOPEN_WRITE | APR_FOPEN_CREATE, APR_FPROT_UREAD | APR_FPROT_UWRITE,
                           seeder->context->pool);
    }
    if (rv == APR_SUCCESS) {
        rv = apr_file_lock(seeder->lock, APR_FLOCK_EXCLUSIVE | APR_FLOCK_NONBLOCK);
    }
    return rv;
}

/* Whether the lock file is still the one that we hold: another in its place would let a second
 * seeder in. */
static int lock_is_ours(tseed_seeder_t *seeder)
{
    apr_finfo_t held, there;

    return apr_file_info_get(&held, APR_FINFO_IDENT, seeder->lock) == APR_SUCCESS &&
           apr_stat(&there, lock_path(seeder, seeder->context->scratch), APR_FINFO_IDENT,
                    seeder->context->scratch) == APR_SUCCESS &&
           held.inode == there.inode && held.device == there.device;
}

/* ---- waiting ---- */

static int parent_is_gone(const tseed_seeder_t *seeder)
{
    return seeder->setup->parent > 0 && getppid() != (pid_t)seeder->setup->parent;
}

/* Waits for at most that long, or until somebody asks for a missing tile if `hears`. Returns
 * nonzero when it is time to leave. */
static int wait_for_stop(tseed_seeder_t *seeder, int milliseconds, int hears)
{
    struct pollfd fds[2] = {
        {.fd = seeder->setup->stop, .events = POLLIN},
        {.fd = hears ? seeder->setup->hatch : -1, .events = POLLIN},
    };

    poll(fds, 2, milliseconds);
    return fds[0].revents || parent_is_gone(seeder);
}

static apr_time_t earlier(apr_time_t a, apr_time_t b)
{
    return a < b ? a : b;
}

/* Waits for the doorbell, the mailbox, a client that is due or the next tick. Returns nonzero when
 * it is time to leave. */
static int wait_for_work(tseed_seeder_t *seeder, int *rung)
{
    struct pollfd fds[5] = {
        {.fd = seeder->setup->stop, .events = POLLIN},
        {.fd = seeder->setup->doorbell, .events = POLLIN},
        {.fd = seeder->context->mailbox->wake, .events = POLLIN},
        {.fd = seeder->setup->hatch, .events = POLLIN},
        {.fd = tseed_misses_leavers(seeder->misses), .events = POLLIN},
    };
    apr_time_t now = tseed_clock_monotonic();
    apr_time_t next = earlier(tseed_clients_due(seeder->context->clients), seeder->next_tick);
    int is_busy = seeder->session->must_record || seeder->cache->is_loading;
    apr_time_t left = is_busy && now >= seeder->session->retry_at ? 0 : next - now;
    uint64_t rings;

    poll(fds, 5, left > 0 ? (int)(left / 1000) + 1 : 0);
    if (fds[4].revents) {
        tseed_misses_part(seeder->misses);
    }
    if (fds[3].revents) {
        tseed_misses_hear(seeder->misses);
    }
    *rung = fds[1].revents && read(seeder->setup->doorbell, &rings, sizeof(rings)) > 0;
    return fds[0].revents || parent_is_gone(seeder);
}

/* ---- start ---- */

/* Memory of big answers goes back and forth between arenas and kernel otherwise; this is our own
 * process. */
static void prepare_process(void)
{
    struct rlimit files;

    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* What was left on the board must be right before it is believed. */
static void mend_board(tseed_seeder_t *seeder)
{
    const char *problem;

    while ((problem = tseed_board_mend(seeder->context->board, seeder->context->scratch)) != NULL) {
        tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
                  "the board that the last seeder left was wrong: %s; the state database stands",
                  problem);
    }
    tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS, "the board is taken over");
}

/* The tile sets of database, configuration and disk, and what an earlier seeder has left undone;
 * their pages come later. */
static apr_status_t begin_books(tseed_seeder_t *seeder)
{
    apr_status_t rv;

    if (seeder->cache->book) {
        return APR_SUCCESS;
    }
    rv = tseed_cache_load(seeder->cache);
    if (rv == APR_SUCCESS) {
        tseed_page_loader_begin(seeder->page_loader);
        rv = tseed_discover_look(seeder->context, seeder->cache);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_cache_load_notes(seeder->cache);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_inherited_take(seeder->context, seeder->session, seeder->cache,
                                  seeder->page_loader);
    }
    if (rv == APR_SUCCESS) {
        tseed_page_loader_go(seeder->page_loader);
    } else {
        tseed_cache_undo(seeder->cache);
    }
    return rv;
}

/* The lock, the database and its unfinished tasks; what has been got is kept for the next try. */
static apr_status_t try_to_begin(tseed_seeder_t *seeder, tseed_seeder_state_t *obstacle)
{
    const tseed_settings_t *settings = seeder->context->settings;
    apr_status_t rv = lock_try(seeder);

    /* fcntl has two words for a lock that is held; before there is a file EACCES means what it says
     */
    *obstacle = seeder->lock && (APR_STATUS_IS_EAGAIN(rv) || APR_STATUS_IS_EACCES(rv))
                    ? TSEED_SEEDER_LOCKED_OUT
                    : TSEED_SEEDER_NO_STATE;
    if (rv == APR_SUCCESS) {
        tseed_checkup_begin(seeder);
    }
    if (rv == APR_SUCCESS && !seeder->session->state) {
        rv = tseed_state_open(&seeder->session->state, settings->state_dir, settings->db_driver,
                              settings->db_params, seeder->context->pool);
    }
    if (rv == APR_SUCCESS) {
        rv = begin_books(seeder);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    mend_board(seeder);
    return tseed_roster_recover(seeder);
}

static void say_obstacle(tseed_seeder_t *seeder, tseed_seeder_state_t obstacle, apr_status_t rv)
{
    tseed_board_seeder_state_set(seeder->context->board, obstacle);
    tseed_log(TSEED_LOG_ERROR, rv, "%s %s; seeding waits until that has changed",
              obstacle == TSEED_SEEDER_LOCKED_OUT ? "another seeder holds the state directory"
                                                  : "can't use the state directory",
              seeder->context->settings->state_dir);
}

/* Nobody waits for a tile that can't be made. */
static void send_waiters_away(tseed_seeder_t *seeder, tseed_seeder_state_t obstacle)
{
    tseed_reply_t reply = {.outcome = TSEED_MISS_BUSY, .retry_after = RETRY_AFTER};
    tseed_question_t question;
    apr_status_t rv;
    int end;

    apr_cpystrn(reply.cause,
                obstacle == TSEED_SEEDER_LOCKED_OUT
                    ? "another httpd works on this server's state directory"
                    : "the state directory can't be used",
                sizeof(reply.cause));
    do {
        rv = tseed_miss_take(&question, &end, seeder->setup->hatch, seeder->context->scratch);
        if (rv == APR_SUCCESS) {
            tseed_miss_answer(end, &reply, -1);
        }
    } while (rv == APR_SUCCESS || rv == APR_EINVAL);
}

/* Begins, however long it takes. Returns nonzero when it is time to leave. */
static int begin(tseed_seeder_t *seeder)
{
    apr_time_t patience =
        tseed_clock_monotonic() + seeder->context->settings->stop_timeout + LOCK_PATIENCE;
    tseed_seeder_state_t obstacle, said = TSEED_SEEDER_NONE;
    apr_status_t rv;

    while ((rv = try_to_begin(seeder, &obstacle)) != APR_SUCCESS) {
        /* the last seeder may just be leaving */
        int is_young = tseed_clock_monotonic() < patience;
        int early = obstacle == TSEED_SEEDER_LOCKED_OUT && is_young;

        if (!early && obstacle != said) {
            say_obstacle(seeder, obstacle, rv);
            said = obstacle;
        }
        tseed_board_heartbeat(seeder->context->board, tseed_clock_monotonic());
        if (!is_young) {
            send_waiters_away(seeder, obstacle);
        }
        apr_pool_clear(seeder->context->scratch);
        if (wait_for_stop(seeder, early ? LOCK_RETRY_MILLIS : TICK / 1000, !is_young)) {
            return 1;
        }
    }
    return 0;
}

static void fetch_done(void *mailbox, tseed_transfer_t *transfer)
{
    tseed_mailbox_put(mailbox, transfer->baton);
}

static apr_status_t start_threads(tseed_seeder_t *seeder)
{
    apr_status_t rv = tseed_mailbox_init(seeder->context->mailbox);

    if (rv == APR_SUCCESS) {
        rv = tseed_fetcher_create(&seeder->context->fetcher, fetch_done, seeder->context->mailbox,
                                  seeder->context->pool);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_workers_create(
            &seeder->context->workers, (unsigned)seeder->context->settings->workers,
            seeder->context->mailbox, seeder->context->board, seeder->context->pool);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_misses_open(seeder->misses);
    }
    return rv;
}

/* ---- the loop ---- */

/* What children have committed is read first and called applied then, never the other way round. */
static void hear(tseed_seeder_t *seeder)
{
    uint64_t committed = tseed_board_committed(seeder->context->board);
    apr_status_t rv = tseed_roster_sync(seeder);

    if (rv == APR_SUCCESS) {
        rv = tseed_ledger_quota(seeder);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_reconciler_hear(seeder->reconciler);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_evict_hear(seeder->evict);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_lapsed_hear(seeder->context, seeder->session, seeder->cache);
    }
    if (rv == APR_SUCCESS) {
        tseed_board_apply(seeder->context->board, committed);
    } else {
        tseed_session_fail(seeder->session, rv, "read what was committed");
    }
}

/* A fault of ours is said once, and mended by the next seeder. */
static void validate_board(tseed_seeder_t *seeder)
{
    const char *problem = tseed_board_validate(seeder->context->board, seeder->context->scratch);

    if (problem && !seeder->board_is_wrong) {
        tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
                  "the board is wrong: %s; please report this, and restart httpd to have it mended",
                  problem);
    } else if (!problem) {
        tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS, "the board is sound");
    }
    seeder->board_is_wrong = problem != NULL;
}

static void tick(tseed_seeder_t *seeder)
{
    apr_time_t now = tseed_clock_monotonic();
    const tseed_settings_t *settings = seeder->context->settings;

    seeder->next_tick = now + TICK;
    tseed_board_heartbeat(seeder->context->board, now);
    tseed_clients_tick(seeder->context->clients, now);
    tseed_ledger_record(seeder, 1);
    tseed_checkup_tick(seeder);
    if (seeder->context->ticks % VALIDATE_EVERY == 0) {
        validate_board(seeder);
    }
    if (++seeder->context->ticks % PRUNE_EVERY == 1 && !seeder->session->trouble) {
        tseed_state_prune(seeder->session->state, settings->history_most,
                          tseed_calendar_least(&seeder->context->calendar, apr_time_now(), now) -
                              settings->history_age);
    }
}

/* All pages have been read. */
static void believe_books(tseed_seeder_t *seeder)
{
    tseed_count_recount(seeder->count);
    if (seeder->quota_version) { /* else it is still to be read */
        tseed_evict_configure(seeder->evict);
    }
}

/* Returns when it is time to leave, or when the lock file was taken from under our feet. */
static tseed_exit_t loop(tseed_seeder_t *seeder)
{
    int rung = 1;

    for (;;) {
        int due = tseed_clock_monotonic() >= seeder->next_tick;

        /* before anybody is told to wait for it */
        if (tseed_page_loader_turn(seeder->page_loader)) {
            believe_books(seeder);
        }
        if (tseed_page_loader_is_lost(seeder->page_loader)) {
            return TSEED_EXIT_FAILED;
        }
        tseed_mailbox_take(seeder->context->mailbox);
        if (rung || due) {
            hear(seeder);
        }
        if (due) {
            tick(seeder);
            if (!lock_is_ours(seeder)) {
                tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
                          "the lock file of the state directory %s was removed or replaced; "
                          "the seeder starts anew",
                          seeder->context->settings->state_dir);
                return TSEED_EXIT_FAILED;
            }
        } else if (seeder->session->must_record) {
            tseed_ledger_record(seeder, 0);
        }
        tseed_schedule_turn(seeder);
        tseed_clients_feed(seeder->context->clients);
        apr_pool_clear(seeder->context->scratch);
        if (wait_for_work(seeder, &rung)) {
            return TSEED_EXIT_STOPPED;
        }
    }
}

/* ---- stop ---- */

static int is_working(const tseed_run_t *runs)
{
    for (const tseed_run_t *run = runs; run; run = run->next_run) {
        if (run->working > 0) {
            return 1;
        }
    }
    return 0;
}

static void stop_runs(tseed_run_t *runs)
{
    for (tseed_run_t *run = runs; run; run = run->next_run) {
        atomic_store(&run->stopped, 1);
    }
}

static void wait_for_workers(tseed_seeder_t *seeder, apr_time_t until)
{
    struct pollfd mail = {.fd = seeder->context->mailbox->wake, .events = POLLIN};

    while ((is_working(seeder->runs->tasks) || is_working(seeder->runs->background)) &&
           tseed_clock_monotonic() < until) {
        poll(&mail, 1, 10);
        tseed_mailbox_take(seeder->context->mailbox);
    }
}

static void wait_for_syncs(tseed_seeder_t *seeder, apr_time_t until)
{
    struct pollfd mail = {.fd = seeder->context->mailbox->wake, .events = POLLIN};

    while (tseed_syncer_is_at_work(seeder->syncer) && tseed_clock_monotonic() < until) {
        poll(&mail, 1, 10);
        tseed_mailbox_take(seeder->context->mailbox);
    }
}

/* What the last transaction is to say must be on the disk. */
static void sync_last(tseed_seeder_t *seeder)
{
    const apr_time_t until = tseed_clock_monotonic() + SYNC_MOST;

    wait_for_syncs(seeder, until);
    tseed_syncer_begin_last(seeder->syncer);
    wait_for_syncs(seeder, until);
}

/* A metatile that is being stored is stored to its end if it takes no longer than half of the time:
 * its tiles count as made then. The board tells the next seeder of what was cut short, but may go
 * with httpd, and those tiles count as skipped. Workers leave at their next file afterwards; what
 * they finished is counted; then one last transaction. */
static void stop(tseed_seeder_t *seeder)
{
    const apr_interval_time_t half = seeder->context->settings->stop_timeout / 2;
    const apr_time_t now = tseed_clock_monotonic();

    for (tseed_run_t *run = seeder->runs->tasks; run; run = run->next_run) {
        if (run->task->type == TSEED_TRUNCATE) {
            atomic_store(&run->stopped, 1);
        }
        run->phase = run->phase == TSEED_RUN_GOING ? TSEED_RUN_LEAVING : run->phase;
    }
    stop_runs(seeder->runs->background);
    wait_for_workers(seeder, now + half);
    stop_runs(seeder->runs->tasks);
    wait_for_workers(seeder, now + 2 * half);
    tseed_stages_tick(seeder->stages, tseed_clock_monotonic());
    sync_last(seeder);
    tseed_holds_tick(seeder->holds); /* the board may go with httpd, and the hits on it */
    /* twice: pages that no job holds any more need no mark, and the next seeder need not count them
     */
    tseed_durable_end(seeder->durable);
    tseed_book_sweep(seeder->cache->book);
    tseed_book_sweep(seeder->cache->book);
    seeder->session->retry_at = 0;
    tseed_ledger_record(seeder, 1);
    if (seeder->session->must_record) { /* what was lost has been counted only now */
        tseed_ledger_record(seeder, 1);
    }
    if (!seeder->session->must_record) {
        tseed_checkup_end(seeder);
    }
    if (seeder->session->state) {
        tseed_state_settle(seeder->session->state);
    }
    tseed_board_seeder_state_set(seeder->context->board, TSEED_SEEDER_STOPPED);
}

/* Requests that wait go first, and removals for the quota before what is done in the background.
 */
static void enter_clients(tseed_seeder_t *seeder)
{
    tseed_client_t *const clients[] = {
        tseed_stages_client(seeder->stages),         tseed_misses_client(seeder->misses),
        tseed_background_client(seeder->background), tseed_retry_client(seeder->retry),
        tseed_outage_client(seeder->outage),         &tseed_inquiry_client,
        tseed_holds_client(seeder->holds),           tseed_evict_client(seeder->evict),
        tseed_count_client(seeder->count),           tseed_walk_client(seeder->walk),
        tseed_count_doubts_client(seeder->count),    tseed_reconciler_client(seeder->reconciler),
        tseed_dispatch_background(seeder->dispatch), tseed_purge_client(seeder->purge),
        tseed_dispatch_tasks(seeder->dispatch),      tseed_count_marks_client(seeder->count),
        tseed_syncer_client(seeder->syncer),         &tseed_schedule_client,
    };

    for (size_t i = 0; i < sizeof(clients) / sizeof(*clients); i++) {
        clients[i]->module = clients[i]->module ? clients[i]->module : seeder;
        tseed_clients_enter(seeder->context->clients, clients[i]);
    }
}

static tseed_context_t *context_create(const tseed_seeder_setup_t *setup, apr_pool_t *pool)
{
    tseed_context_t *context = apr_pcalloc(pool, sizeof(*context));

    context->settings = setup->settings;
    context->catalog = setup->catalog;
    context->generation = setup->generation;
    context->board = setup->board;
    context->pool = pool;
    apr_pool_create(&context->scratch, pool);
    context->calendar = tseed_calendar_begin(apr_time_now(), tseed_clock_monotonic());
    context->clients = apr_pcalloc(pool, sizeof(*context->clients));
    context->mailbox = apr_pcalloc(pool, sizeof(*context->mailbox));
    return context;
}

static void usage_create(tseed_seeder_t *seeder)
{
    seeder->marks = tseed_marks_create(seeder->context->pool);
    seeder->durable = tseed_durable_create(seeder->cache, seeder->context->pool);
    seeder->display = tseed_display_create(seeder->context, seeder->session, seeder->durable);
    seeder->origins = tseed_origins_create(seeder->context, seeder->session, seeder->cache);
    seeder->holds = tseed_holds_create(&(tseed_holds_uses_t){
        .context = seeder->context,
        .session = seeder->session,
        .runs = seeder->runs,
        .cache = seeder->cache,
        .marks = seeder->marks,
        .durable = seeder->durable,
        .origins = seeder->origins,
    });
    seeder->page_loader = tseed_page_loader_create(seeder->context, seeder->session, seeder->runs,
                                                   seeder->cache, seeder->holds);
}

static void pipeline_create(tseed_seeder_t *seeder)
{
    const tseed_context_t *context = seeder->context;

    seeder->jobs = tseed_jobs_create(context, seeder->holds);
    seeder->failures = tseed_failures_create(context, seeder->session, seeder->jobs);
    seeder->retry = tseed_retry_create(context, seeder->runs, seeder->failures);
    seeder->background =
        tseed_background_create(context, seeder->runs, seeder->session, seeder->cache);
    seeder->quota_wait = tseed_quota_wait_create(context, seeder->runs, seeder->display);
    seeder->stages = tseed_stages_create(&(tseed_stages_uses_t){
        .context = context,
        .session = seeder->session,
        .runs = seeder->runs,
        .jobs = seeder->jobs,
        .failures = seeder->failures,
        .retry = seeder->retry,
        .quota_wait = seeder->quota_wait,
        .holds = seeder->holds,
        .origins = seeder->origins,
        .display = seeder->display,
    });
    seeder->outage = tseed_outage_create(context, seeder->runs, seeder->stages, seeder->display);
    seeder->dispatch = tseed_dispatch_create(&(tseed_dispatch_uses_t){
        .context = context,
        .session = seeder->session,
        .runs = seeder->runs,
        .cache = seeder->cache,
        .marks = seeder->marks,
        .jobs = seeder->jobs,
        .failures = seeder->failures,
        .stages = seeder->stages,
        .holds = seeder->holds,
    });
}

static void upkeep_create(tseed_seeder_t *seeder)
{
    seeder->page_jobs = tseed_page_jobs_create(seeder->jobs, seeder->background, seeder->holds,
                                               seeder->context->pool);
    seeder->count = tseed_count_create(&(tseed_count_uses_t){.session = seeder->session,
                                                             .runs = seeder->runs,
                                                             .cache = seeder->cache,
                                                             .marks = seeder->marks,
                                                             .jobs = seeder->jobs,
                                                             .holds = seeder->holds,
                                                             .background = seeder->background,
                                                             .page_jobs = seeder->page_jobs,
                                                             .stages = seeder->stages},
                                       seeder->context->pool);
    seeder->walk =
        tseed_walk_create(seeder->context, seeder->cache, seeder->background, seeder->count);
    seeder->purge = tseed_purge_create(seeder->context, seeder->session, seeder->cache,
                                       seeder->marks, seeder->count);
    seeder->reconciler = tseed_reconciler_create(seeder->context, seeder->session, seeder->cache,
                                                 seeder->count, seeder->walk);
    seeder->syncer = tseed_syncer_create(seeder->context, seeder->session, seeder->runs,
                                         seeder->cache, seeder->durable, seeder->display);
    seeder->evict = tseed_evict_create(&(tseed_evict_uses_t){
        .context = seeder->context,
        .session = seeder->session,
        .runs = seeder->runs,
        .cache = seeder->cache,
        .holds = seeder->holds,
        .jobs = seeder->jobs,
        .background = seeder->background,
        .quota_wait = seeder->quota_wait,
        .page_jobs = seeder->page_jobs,
        .count = seeder->count,
    });
}

static tseed_seeder_t *seeder_create(const tseed_seeder_setup_t *setup, apr_pool_t *pool)
{
    tseed_seeder_t *seeder = apr_pcalloc(pool, sizeof(*seeder));

    seeder->setup = setup;
    seeder->context = context_create(setup, pool);
    seeder->session = apr_pcalloc(pool, sizeof(*seeder->session));
    seeder->session->path = setup->settings->state_dir;
    seeder->runs = apr_pcalloc(pool, sizeof(*seeder->runs));
    seeder->runs->tasks_end = &seeder->runs->tasks;
    seeder->cache = tseed_cache_create(seeder->context, seeder->session);
    seeder->entries_end = &seeder->entries;
    usage_create(seeder);
    pipeline_create(seeder);
    upkeep_create(seeder);
    seeder->misses = tseed_misses_create(
        seeder->context, &(tseed_misses_uses_t){.seeder = seeder, .socket = setup->hatch});
    enter_clients(seeder);
    return seeder;
}

tseed_exit_t tseed_seeder_run(const tseed_seeder_setup_t *setup, apr_pool_t *pool)
{
    tseed_seeder_t *seeder = seeder_create(setup, pool);
    tseed_heartbeat_t *pulse;
    tseed_exit_t exit_code;
    apr_status_t rv;

    tseed_store_calendar_set(&seeder->context->calendar);
    prepare_process();
    tseed_board_seeder_begin(seeder->context->board, getpid(), tseed_clock_monotonic());
    rv = start_threads(seeder);
    if (rv != APR_SUCCESS) {
        tseed_log(TSEED_LOG_ERROR, rv, "the seeder can't start its threads");
        return TSEED_EXIT_FAILED;
    }
    pulse = tseed_heartbeat_begin(seeder->context->board, TSEED_LONGEST_STEP);
    if (begin(seeder)) {
        return TSEED_EXIT_STOPPED;
    }
    tseed_inquiry_begin(seeder);
    tseed_purge_want_all(seeder->purge);
    tseed_root_claim_begin(seeder->cache->cleaner);
    tseed_syncer_begin(seeder->syncer);
    tseed_heartbeat_end(pulse);
    tseed_board_seeder_state_set(seeder->context->board, TSEED_SEEDER_WORKING);
    exit_code = loop(seeder);
    stop(seeder);
    return exit_code;
}
