/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seeder's main thread: wait, hear, feed, tick. */
#include "seeder/tseed_seeder.h"

#include <apr_strings.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "board/tseed_counters.h"
#include "books/tseed_lapsed.h"
#include "books/tseed_root_claim.h"
#include "seeder/tseed_parts.h"
#include "seeder/tseed_start.h"
#include "state/tseed_books.h"

#define TICK           APR_USEC_PER_SEC
#define TRIM_EVERY     60                     /* ticks */
#define VALIDATE_EVERY 10                     /* ticks */
#define SYNC_MOST      (2 * APR_USEC_PER_SEC) /* at the end */

typedef struct {
    const tseed_seeder_setup_t *setup;
    tseed_parts_t *parts;
    tseed_state_lock_t lock;
    uint64_t file;        /* of the database from which the books were read */
    apr_time_t next_tick; /* monotonic */
    int board_is_wrong;   /* which has been logged */
} seeder_t;

/* ---- waiting ---- */

static apr_time_t earlier(apr_time_t a, apr_time_t b)
{
    return a < b ? a : b;
}

/* Waits for the doorbell, the mailbox, a client that is due or the next tick. Returns nonzero when
 * it is time to leave. */
static int wait_for_work(seeder_t *seeder, int *rung)
{
    struct pollfd fds[5] = {
        {.fd = seeder->setup->stop, .events = POLLIN},
        {.fd = seeder->setup->doorbell, .events = POLLIN},
        {.fd = seeder->parts->context->mailbox->wake, .events = POLLIN},
        {.fd = seeder->setup->miss_socket, .events = POLLIN},
        {.fd = tseed_misses_hangups(seeder->parts->misses), .events = POLLIN},
    };
    apr_time_t now = tseed_clock_monotonic();
    apr_time_t next =
        earlier(tseed_clients_due(seeder->parts->context->clients), seeder->next_tick);
    int is_busy = seeder->parts->session->must_record || seeder->parts->cache->is_loading;
    apr_time_t left = is_busy && now >= seeder->parts->session->retry_at ? 0 : next - now;
    uint64_t rings;

    poll(fds, 5, left > 0 ? (int)(left / 1000) + 1 : 0);
    if (fds[4].revents) {
        tseed_misses_part(seeder->parts->misses);
    }
    if (fds[3].revents) {
        tseed_misses_hear(seeder->parts->misses);
    }
    *rung = fds[1].revents && read(seeder->setup->doorbell, &rings, sizeof(rings)) > 0;
    return fds[0].revents || tseed_start_is_orphan(seeder->setup);
}

/* ---- start ---- */

/* Keeps memory of big answers in the process, and raises the limit of open files. Without the
 * former, such memory goes back and forth between malloc and the kernel. */
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

static tseed_upstream_reply_t reply_of(const tseed_transfer_t *transfer)
{
    if (transfer->result == TSEED_FETCH_CANCELLED) {
        return TSEED_REPLY_CANCELLED;
    }
    if (transfer->result == TSEED_FETCH_OK) {
        return TSEED_REPLY_OK;
    }
    if (transfer->result == TSEED_FETCH_UNCHANGED) {
        return TSEED_REPLY_UNCHANGED;
    }
    if (transfer->http_status == 0) {
        return TSEED_REPLY_NONE;
    }
    if (transfer->http_status < 400) {
        return TSEED_REPLY_NO_PICTURE;
    }
    return transfer->http_status < 500 ? TSEED_REPLY_CLIENT_ERROR : TSEED_REPLY_SERVER_ERROR;
}

/* The fetcher's thread. */
static void fetch_done(void *data, tseed_transfer_t *transfer)
{
    const tseed_context_t *context = data;

    if (transfer->sent) {
        tseed_counters_reply(context->board, transfer->upstream->counted, reply_of(transfer),
                             transfer->took, transfer->received);
    }
    tseed_mailbox_put(context->mailbox, transfer->baton);
}

static apr_status_t start_threads(seeder_t *seeder)
{
    apr_status_t rv = tseed_mailbox_init(seeder->parts->context->mailbox);

    if (rv == APR_SUCCESS) {
        rv = tseed_fetcher_create(&seeder->parts->context->fetcher, fetch_done,
                                  seeder->parts->context, seeder->parts->context->pool);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_workers_create(&seeder->parts->context->workers,
                                  (unsigned)seeder->parts->context->settings->workers,
                                  seeder->parts->context->mailbox, seeder->parts->context->board);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_misses_open(seeder->parts->misses);
    }
    return rv;
}

/* ---- the loop ---- */

/* Takes the names of layers out of the note. A name that comes meanwhile is in the note, or comes
 * later. */
static apr_status_t take_asked_again(const char **names, tseed_state_t *state, apr_pool_t *pool)
{
    apr_status_t rv = tseed_state_begin(state);

    if (rv == APR_SUCCESS) {
        rv = tseed_books_note_hold(state, names, TSEED_USAGE_AGAIN, pool);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_books_note_set(state, TSEED_USAGE_AGAIN, "");
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(state);
    }
    tseed_state_rollback(state);
    return rv;
}

/* Has the upstreams asked again of the layers that the note names. */
static apr_status_t hear_ask_again(const seeder_t *seeder)
{
    const tseed_context_t *context = seeder->parts->context;
    tseed_state_t *state = seeder->parts->session->state;
    const char *names, *name;
    char *rest;
    apr_status_t rv = tseed_books_note_get(state, &names, TSEED_USAGE_AGAIN, context->scratch);

    if (rv != APR_SUCCESS || !*names) {
        return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
    }
    rv = take_asked_again(&names, state, context->scratch);
    name = apr_strtok(apr_pstrdup(context->scratch, names), "\n", &rest);
    for (; rv == APR_SUCCESS && name; name = apr_strtok(NULL, "\n", &rest)) {
        const tseed_layer_t *layer = tseed_catalog_find_layer(context->catalog, name);

        if (layer) {
            tseed_misses_ask_again(seeder->parts->misses, layer);
        }
    }
    return rv;
}

/* Reads `commit_seq` before it reads what children have committed. Only then is that number
 * applied: the other order would lose commits. */
static void hear(seeder_t *seeder)
{
    uint64_t committed = tseed_board_committed(seeder->parts->context->board);
    apr_status_t rv = tseed_tasks_hear(seeder->parts->tasks);

    if (rv == APR_SUCCESS) {
        rv = tseed_quota_adoption_hear(seeder->parts->quota_adoption);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_reconciler_hear(seeder->parts->reconciler);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_evict_hear(seeder->parts->evict);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_open_tilesets_hear(seeder->parts->open_tilesets);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_lapsed_hear(seeder->parts->lapsed);
    }
    if (rv == APR_SUCCESS) {
        rv = hear_ask_again(seeder);
    }
    if (rv == APR_SUCCESS) {
        tseed_board_apply(seeder->parts->context->board, committed);
    } else {
        tseed_session_fail(seeder->parts->session, rv, "read what was committed");
    }
}

/* Logs a fault of the board once. The next seeder mends the board. */
static void validate_board(seeder_t *seeder)
{
    const char *problem =
        tseed_board_validate(seeder->parts->context->board, seeder->parts->context->scratch);

    if (problem && !seeder->board_is_wrong) {
        tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
                  "TS0051: the board is wrong: %s; please report this, and restart httpd to have "
                  "it mended",
                  problem);
    } else if (!problem) {
        tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS, "the board is sound");
    }
    seeder->board_is_wrong = problem != NULL;
}

static void tick(seeder_t *seeder)
{
    apr_time_t now = tseed_clock_monotonic();
    const tseed_settings_t *settings = seeder->parts->context->settings;

    seeder->next_tick = now + TICK;
    tseed_board_heartbeat(seeder->parts->context->board, now);
    tseed_clients_tick(seeder->parts->context->clients, now);
    seeder->parts->fleet->doors->tick(seeder->parts->fleet);
    tseed_checkpoint_record(seeder->parts->checkpoint, 1);
    tseed_integrity_check_tick(seeder->parts->integrity_check);
    if (seeder->parts->context->ticks % VALIDATE_EVERY == 0) {
        validate_board(seeder);
    }
    if (++seeder->parts->context->ticks % TRIM_EVERY == 1 && !seeder->parts->session->trouble) {
        tseed_state_trim(
            seeder->parts->session->state, settings->history_most,
            tseed_calendar_least(&seeder->parts->context->calendar, apr_time_now(), now) -
                settings->history_age);
    }
}

/* All pages have been read. */
static void believe_books(seeder_t *seeder)
{
    tseed_count_recount(seeder->parts->count);
    if (tseed_quota_adoption_is_known(
            seeder->parts->quota_adoption)) { /* else it is still to be read */
        tseed_evict_configure(seeder->parts->evict);
    }
}

/* The database was removed, or another file is in its place: it does not know the books of this
 * seeder, nor its tasks. */
static int has_other_database(const seeder_t *seeder)
{
    return tseed_state_file(seeder->parts->session->state) != seeder->file;
}

/* Returns when it is time to leave, or when the lock file was taken from under our feet. */
static tseed_exit_t loop(seeder_t *seeder)
{
    const tseed_fleet_t *fleet = seeder->parts->fleet;
    int rung = 1;

    for (;;) {
        int due = tseed_clock_monotonic() >= seeder->next_tick;

        if (fleet->doors->must_leave(fleet) || has_other_database(seeder)) {
            return TSEED_EXIT_ANEW;
        }
        /* before anybody is told to wait for it */
        if (tseed_page_loader_turn(seeder->parts->page_loader)) {
            believe_books(seeder);
        }
        if (tseed_page_loader_is_lost(seeder->parts->page_loader)) {
            return TSEED_EXIT_FAILED;
        }
        tseed_mailbox_take(seeder->parts->context->mailbox);
        if (rung || due) {
            hear(seeder);
        }
        if (due) {
            tick(seeder);
            if (!tseed_state_lock_is_ours(&seeder->lock, seeder->parts->context->scratch)) {
                tseed_log(
                    TSEED_LOG_ERROR, APR_SUCCESS,
                    "TS0041: the lock file of the state directory %s was removed or replaced; the "
                    "seeder starts anew",
                    seeder->parts->context->settings->state_dir);
                return TSEED_EXIT_FAILED;
            }
        } else if (seeder->parts->session->must_record) {
            tseed_checkpoint_record(seeder->parts->checkpoint, 0);
        }
        tseed_scheduler_turn(seeder->parts->scheduler);
        tseed_clients_feed(seeder->parts->context->clients);
        apr_pool_clear(seeder->parts->context->scratch);
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
        tseed_run_stop(run);
    }
}

static int is_quiet(const seeder_t *seeder)
{
    return !is_working(seeder->parts->runs->tasks) && !is_working(seeder->parts->runs->background);
}

static void wait_for_workers(seeder_t *seeder, apr_time_t until)
{
    struct pollfd mail = {.fd = seeder->parts->context->mailbox->wake, .events = POLLIN};

    while (!is_quiet(seeder) && tseed_clock_monotonic() < until) {
        poll(&mail, 1, 10);
        tseed_mailbox_take(seeder->parts->context->mailbox);
    }
}

static void wait_for_syncs(seeder_t *seeder, apr_time_t until)
{
    struct pollfd mail = {.fd = seeder->parts->context->mailbox->wake, .events = POLLIN};

    while (tseed_syncer_is_at_work(seeder->parts->syncer) && tseed_clock_monotonic() < until) {
        poll(&mail, 1, 10);
        tseed_mailbox_take(seeder->parts->context->mailbox);
    }
}

/* Syncs the files that the last transaction is to record. */
static void sync_last(seeder_t *seeder)
{
    const apr_time_t until = tseed_clock_monotonic() + SYNC_MOST;

    wait_for_syncs(seeder, until);
    tseed_syncer_begin_last(seeder->parts->syncer);
    wait_for_syncs(seeder, until);
}

/* Stops. A metatile that is being stored may be finished within half of the stop timeout: its tiles
 * count as made then. After that time workers leave at their next file. The finished tiles are
 * counted, and one last transaction records them. The board tells the next seeder which metatiles
 * were cut short. If the board goes with httpd, tiles of these metatiles count as skipped. */
static void stop(seeder_t *seeder)
{
    const apr_interval_time_t half = seeder->parts->context->settings->stop_timeout / 2;
    const apr_time_t now = tseed_clock_monotonic();

    for (tseed_run_t *run = seeder->parts->runs->tasks; run; run = run->next_run) {
        if (run->task->type == TSEED_TRUNCATE) {
            tseed_run_stop(run);
        }
        tseed_ends_leave(run);
    }
    stop_runs(seeder->parts->runs->background);
    wait_for_workers(seeder, now + half);
    stop_runs(seeder->parts->runs->tasks);
    wait_for_workers(seeder, now + 2 * half);
    tseed_ends_tick(seeder->parts->ends, tseed_clock_monotonic());
    sync_last(seeder);
    tseed_holds_tick(seeder->parts->holds); /* the board may go with httpd, and the hits on it */
    /* twice: pages that no job holds any more need no mark, and the next seeder need not count them
     */
    tseed_durable_end(seeder->parts->durable);
    tseed_book_sweep(seeder->parts->cache->book);
    tseed_book_sweep(seeder->parts->cache->book);
    seeder->parts->session->retry_at = 0;
    tseed_checkpoint_record(seeder->parts->checkpoint, 1);
    if (seeder->parts->session->must_record) { /* what was lost has been counted only now */
        tseed_checkpoint_record(seeder->parts->checkpoint, 1);
    }
    if (!seeder->parts->session->must_record) {
        tseed_integrity_check_end(seeder->parts->integrity_check);
    }
    seeder->parts->fleet->doors->end(seeder->parts->fleet, is_quiet(seeder));
    if (seeder->parts->session->state) {
        tseed_state_settle(seeder->parts->session->state);
    }
    tseed_board_seeder_state_set(seeder->parts->context->board, TSEED_SEEDER_STOPPED,
                                 tseed_clock_monotonic());
}

tseed_exit_t tseed_seeder_run(const tseed_seeder_setup_t *setup, apr_pool_t *pool)
{
    seeder_t *seeder = &(seeder_t){
        .setup = setup,
        .parts = tseed_parts_create(setup, pool),
        .lock = tseed_state_lock_of(setup->settings->state_dir, pool),
    };
    tseed_start_t start = {.setup = setup, .parts = seeder->parts, .lock = &seeder->lock};
    tseed_fleet_t *fleet = seeder->parts->fleet;
    tseed_exit_t exit_code;
    apr_status_t rv;

    tseed_store_calendar_set(&seeder->parts->context->calendar);
    prepare_process();
    tseed_integrity_check_stand_by(seeder->parts->integrity_check);
    tseed_board_seeder_begin(seeder->parts->context->board, getpid(), tseed_clock_monotonic());
    rv = start_threads(seeder);
    if (rv != APR_SUCCESS) {
        tseed_log(TSEED_LOG_ERROR, rv, "TS0013: the seeder can't start its threads");
        return TSEED_EXIT_FAILED;
    }
    if (tseed_start(&start, &exit_code)) {
        return exit_code;
    }
    tseed_capabilities_check_begin(seeder->parts->capabilities_check);
    tseed_purge_want_all(seeder->parts->purge);
    tseed_root_claim_begin(seeder->parts->cache->cleaner,
                           tseed_fleet_can_share(setup->settings->db_driver));
    tseed_free_space_begin(seeder->parts->free_space);
    tseed_syncer_begin(seeder->parts->syncer);
    tseed_board_seeder_state_set(seeder->parts->context->board, TSEED_SEEDER_WORKING,
                                 tseed_clock_monotonic());
    fleet->doors->work(fleet, setup->miss_ask);
    seeder->file = tseed_state_file(seeder->parts->session->state);
    exit_code = loop(seeder);
    fleet->doors->work_no_more(fleet);
    if (has_other_database(seeder)) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "TS0101: the state database is another one: the seeder starts anew");
        return TSEED_EXIT_ANEW;
    }
    if (fleet->doors->is_over(fleet)) {
        fleet->doors->end(fleet, 0); /* and not a word more */
        return TSEED_EXIT_ANEW;
    }
    stop(seeder);
    return exit_code;
}
