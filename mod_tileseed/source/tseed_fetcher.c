/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The fetcher: letters in, transfers out, and in between one thread that waits for the network. */
#include "source/tseed_fetcher.h"

#include <apr_strings.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "source/tseed_lane.h"

#define IDLE_CONNECTIONS_MAX 256L /* kept open for later, of all upstreams */
#define LONGEST_NAP          (INT_MAX / 2)

struct tseed_fetcher_t {
    pthread_t thread;
    tseed_fetch_done_t *done;
    void *baton;
    CURLM *multi;  /* the thread's, except for the wake-up */
    CURLSH *share; /* the thread's: TLS sessions, so that each connection can resume any of them */

    /* shared, under lock; a cancel without an owner is an order to cancel all and to leave */
    pthread_mutex_t lock;
    tseed_transfer_t *letters, **letters_end;
    tseed_remote_hosts_t helpers;

    /* owned by the thread */
    tseed_lane_t *lanes; /* one of each upstream ever asked; others walk the list under lock */
    tseed_remote_hosts_t helping; /* who helped when it read letters last */
    int leaving;
};

/* ---- any thread ---- */

static void post(tseed_fetcher_t *fetcher, tseed_transfer_t *letter)
{
    int was_empty;

    letter->next = NULL;
    pthread_mutex_lock(&fetcher->lock);
    was_empty = !fetcher->letters;
    *fetcher->letters_end = letter;
    fetcher->letters_end = &letter->next;
    pthread_mutex_unlock(&fetcher->lock);
    if (was_empty) {
        curl_multi_wakeup(fetcher->multi);
    }
}

static void post_order(tseed_fetcher_t *fetcher, const void *owner, int kind)
{
    tseed_transfer_t *order = calloc(1, sizeof(*order));

    if (!order) {
        abort();
    }
    order->owner = owner;
    order->letter = kind;
    post(fetcher, order);
}

void tseed_fetcher_submit(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer)
{
    tseed_transfer_reset(transfer);
    transfer->letter = TSEED_LETTER_SUBMIT;
    post(fetcher, transfer);
}

void tseed_fetcher_cancel(tseed_fetcher_t *fetcher, const void *owner)
{
    post_order(fetcher, owner, TSEED_LETTER_CANCEL);
}

void tseed_fetcher_orphan(tseed_fetcher_t *fetcher, const tseed_transfer_t *transfer)
{
    post_order(fetcher, transfer, TSEED_LETTER_ORPHAN);
}

void tseed_fetcher_adopt(tseed_fetcher_t *fetcher, const tseed_transfer_t *transfer)
{
    post_order(fetcher, transfer, TSEED_LETTER_ADOPT);
}

void tseed_fetcher_remote(tseed_fetcher_t *fetcher, const tseed_fetch_remote_t *remote)
{
    pthread_mutex_lock(&fetcher->lock);
    fetcher->helpers.calls = *remote;
    pthread_mutex_unlock(&fetcher->lock);
}

void tseed_fetcher_remote_room(tseed_fetcher_t *fetcher, int hosts)
{
    int before;

    pthread_mutex_lock(&fetcher->lock);
    before = fetcher->helpers.hosts;
    fetcher->helpers.hosts = hosts;
    pthread_mutex_unlock(&fetcher->lock);
    if (hosts != before) {
        curl_multi_wakeup(fetcher->multi);
    }
}

int tseed_fetcher_has_help(tseed_fetcher_t *fetcher)
{
    int hosts;

    pthread_mutex_lock(&fetcher->lock);
    hosts = fetcher->helpers.hosts;
    pthread_mutex_unlock(&fetcher->lock);
    return hosts > 0;
}

void tseed_fetcher_return(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer, int is_done)
{
    transfer->letter = is_done ? TSEED_LETTER_DONE : TSEED_LETTER_UNDONE;
    post(fetcher, transfer);
}

static tseed_lane_t *find_lane(const tseed_fetcher_t *fetcher, const tseed_upstream_t *upstream)
{
    tseed_lane_t *lane = fetcher->lanes;

    while (lane && lane->upstream != upstream) {
        lane = lane->next;
    }
    return lane;
}

void tseed_fetcher_ask_again(tseed_fetcher_t *fetcher, const tseed_upstream_t *upstream)
{
    const apr_time_t now = tseed_clock_monotonic();
    tseed_lane_t *lane;

    pthread_mutex_lock(&fetcher->lock);
    lane = find_lane(fetcher, upstream);
    if (lane && lane->outlook.next > now) { /* for those who look before the letter is read */
        lane->outlook.next = now;
    }
    pthread_mutex_unlock(&fetcher->lock);
    post_order(fetcher, upstream, TSEED_LETTER_AGAIN);
}

static void look_at_locked(tseed_outlook_t *outlook, const tseed_lane_t *lane)
{
    *outlook = lane->outlook;
    outlook->silent = atomic_load(&lane->silent);
    outlook->under_way = atomic_load(&lane->under_way) + atomic_load(&lane->remote.count);
    outlook->queued = atomic_load(&lane->turns.count);
}

void tseed_fetcher_outlook(tseed_fetcher_t *fetcher, tseed_outlook_t *outlook,
                           const tseed_upstream_t *upstream)
{
    const tseed_lane_t *lane;

    memset(outlook, 0, sizeof(*outlook));
    pthread_mutex_lock(&fetcher->lock);
    lane = find_lane(fetcher, upstream);
    if (lane) {
        look_at_locked(outlook, lane);
    }
    pthread_mutex_unlock(&fetcher->lock);
}

/* The newest lane is the first of the list. */
unsigned tseed_fetcher_outlooks(tseed_fetcher_t *fetcher, tseed_outlook_t *outlooks, unsigned most)
{
    unsigned count;

    pthread_mutex_lock(&fetcher->lock);
    count = fetcher->lanes ? fetcher->lanes->number + 1 : 0;
    for (const tseed_lane_t *lane = fetcher->lanes; lane; lane = lane->next) {
        if (lane->number < most) {
            look_at_locked(&outlooks[lane->number], lane);
        }
    }
    pthread_mutex_unlock(&fetcher->lock);
    return count < most ? count : most;
}

/* ---- the fetcher's thread ---- */

static void hand_back(tseed_fetcher_t *fetcher, tseed_transfer_t *transfers)
{
    while (transfers) {
        tseed_transfer_t *transfer = transfers;

        transfers = transfer->next; /* it is not ours any more once done has it */
        fetcher->done(fetcher->baton, transfer);
    }
}

static void carry_out(tseed_fetcher_t *fetcher, const tseed_transfer_t *order)
{
    const apr_time_t now = tseed_clock_monotonic();
    tseed_transfer_t *taken = NULL;

    for (tseed_lane_t *lane = fetcher->lanes; lane; lane = lane->next) {
        if (order->letter == TSEED_LETTER_ORPHAN) {
            tseed_lane_orphan(&taken, lane, order->owner, now);
        } else if (order->letter == TSEED_LETTER_ADOPT) {
            tseed_lane_adopt(lane, order->owner);
        } else {
            tseed_lane_withdraw(&taken, lane, fetcher->multi, order->owner);
        }
    }
    hand_back(fetcher, taken);
}

static tseed_lane_t *lane_of(tseed_fetcher_t *fetcher, const tseed_upstream_t *upstream)
{
    tseed_lane_t *lane = find_lane(fetcher, upstream);

    if (!lane) {
        lane = tseed_lane_create(upstream, fetcher->share, &fetcher->helping);
        tseed_lane_describe(lane, &lane->outlook);
        lane->number = fetcher->lanes ? fetcher->lanes->number + 1 : 0;
        pthread_mutex_lock(&fetcher->lock);
        lane->next = fetcher->lanes;
        fetcher->lanes = lane;
        pthread_mutex_unlock(&fetcher->lock);
    }
    return lane;
}

static void start(tseed_fetcher_t *fetcher, tseed_lane_t *lane)
{
    const apr_time_t now = tseed_clock_monotonic();
    tseed_transfer_t *orphans = NULL;

    if (fetcher->leaving) {
        return;
    }
    tseed_lane_make_way(&orphans, lane, fetcher->multi, now);
    tseed_lane_start(lane, fetcher->multi, now);
    hand_back(fetcher, orphans);
}

static void start_due(tseed_fetcher_t *fetcher)
{
    for (tseed_lane_t *lane = fetcher->lanes; lane; lane = lane->next) {
        start(fetcher, lane);
    }
}

/* Shows what has become of an upstream, and says once that it is away and once that it is back. */
static void show_outlook(tseed_fetcher_t *fetcher, tseed_lane_t *lane, int was_open)
{
    int is_open = tseed_pace_is_open(&lane->pace);
    tseed_outlook_t outlook = {0};

    tseed_lane_describe(lane, &outlook);
    if (is_open && !was_open) {
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0021: the upstream %s is away: %s; its tasks wait and go on by themselves",
                  lane->upstream->name, lane->cause);
    } else if (was_open && !is_open) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS, "TS0063: the upstream %s is back after %.1f s",
                  lane->upstream->name,
                  (double)(tseed_clock_monotonic() - lane->pace.opened) / APR_USEC_PER_SEC);
    }
    pthread_mutex_lock(&fetcher->lock);
    lane->outlook = outlook;
    pthread_mutex_unlock(&fetcher->lock);
}

/* Goes on after the end of a transfer, NULL: it is not to be handed back. The next transfer is on
 * its way before the last one is handed back. */
static void go_on(tseed_fetcher_t *fetcher, tseed_lane_t *lane, tseed_transfer_t *transfer,
                  int was_open)
{
    tseed_transfer_t *elsewhere = NULL;

    show_outlook(fetcher, lane, was_open);
    start(fetcher, lane);
    tseed_lane_send_elsewhere(&elsewhere, lane);
    if (transfer) {
        fetcher->done(fetcher->baton, transfer);
    }
    hand_back(fetcher, elsewhere);
}

static void finish(tseed_fetcher_t *fetcher, tseed_wire_t *wire, CURLcode code)
{
    tseed_lane_t *lane = wire->lane;
    int was_open = tseed_pace_is_open(&lane->pace);

    go_on(fetcher, lane, tseed_lane_finish(lane, fetcher->multi, wire, code), was_open);
}

static void take_back(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer)
{
    tseed_lane_t *lane = find_lane(fetcher, transfer->upstream);
    int was_open = tseed_pace_is_open(&lane->pace);
    int is_done = transfer->letter == TSEED_LETTER_DONE;

    go_on(fetcher, lane, tseed_lane_return(lane, transfer, is_done), was_open);
}

/* ---- letters ---- */

static void refuse(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer)
{
    transfer->result = TSEED_FETCH_FAILED;
    transfer->ended = tseed_clock_monotonic();
    apr_cpystrn(transfer->cause,
                "not asked for: with its parameters . or .. would be a part of the address's path",
                sizeof(transfer->cause));
    fetcher->done(fetcher->baton, transfer);
}

static void take_in(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer)
{
    if (*transfer->url) {
        tseed_turns_put(&lane_of(fetcher, transfer->upstream)->turns, transfer);
    } else {
        refuse(fetcher, transfer);
    }
}

/* The upstream may never have been asked. */
static void ask_again(tseed_fetcher_t *fetcher, const tseed_upstream_t *upstream)
{
    tseed_lane_t *lane = find_lane(fetcher, upstream);

    if (lane) {
        tseed_transfer_t *taken = NULL;

        tseed_lane_ask_again(&taken, lane, fetcher->multi, tseed_clock_monotonic());
        show_outlook(fetcher, lane, tseed_pace_is_open(&lane->pace));
        hand_back(fetcher, taken);
    }
}

static void read_letter(tseed_fetcher_t *fetcher, tseed_transfer_t *letter)
{
    if (letter->letter == TSEED_LETTER_SUBMIT) {
        take_in(fetcher, letter);
    } else if (letter->letter <= TSEED_LETTER_UNDONE) {
        take_back(fetcher, letter);
    } else if (letter->letter == TSEED_LETTER_AGAIN) {
        ask_again(fetcher, letter->owner);
        free(letter);
    } else {
        fetcher->leaving |= !letter->owner;
        carry_out(fetcher, letter);
        free(letter);
    }
}

static void read_letters(tseed_fetcher_t *fetcher)
{
    tseed_transfer_t *letters;

    pthread_mutex_lock(&fetcher->lock);
    letters = fetcher->letters;
    fetcher->letters = NULL;
    fetcher->letters_end = &fetcher->letters;
    fetcher->helping = fetcher->helpers;
    pthread_mutex_unlock(&fetcher->lock);
    while (letters) {
        tseed_transfer_t *letter = letters;

        letters = letter->next;
        read_letter(fetcher, letter);
    }
}

/* ---- turns of the thread ---- */

static void collect_finished(tseed_fetcher_t *fetcher)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(fetcher->multi, &left))) {
        CURLcode code = message->data.result;
        tseed_wire_t *wire = NULL;

        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &wire);
        if (!tseed_wire_follow(wire, fetcher->multi, code) &&
            !tseed_wire_repeat(wire, fetcher->multi, code)) {
            finish(fetcher, wire, code);
        }
    }
}

/* The first silence is worth a line at once: until its requests have failed much time may pass. */
static void note_silence(tseed_lane_t *lane, apr_time_t now)
{
    if (tseed_lane_note_silence(lane, now)) {
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0022: the upstream %s has not answered for %.0f s; requests under way: %d",
                  lane->upstream->name,
                  (double)(now - atomic_load(&lane->silent)) / APR_USEC_PER_SEC, lane->under_way);
    }
}

static void end_silent(tseed_fetcher_t *fetcher)
{
    apr_time_t now = tseed_clock_monotonic();
    tseed_wire_t *wire;

    for (tseed_lane_t *lane = fetcher->lanes; lane; lane = lane->next) {
        tseed_lane_listen(lane, now);
        note_silence(lane, now);
        while ((wire = tseed_lane_find_silent(lane, now))) {
            finish(fetcher, wire, CURLE_OPERATION_TIMEDOUT);
        }
    }
}

/* Milliseconds until the next upstream may be asked or has been silent for too long, rounded up so
 * that the thread does not wake early. curl_multi_poll itself looks after curl's own deadlines. */
static int nap(const tseed_fetcher_t *fetcher)
{
    apr_time_t due = TSEED_PACE_NEVER;
    int64_t millis;

    for (const tseed_lane_t *lane = fetcher->lanes; lane; lane = lane->next) {
        apr_time_t next = tseed_lane_due(lane);

        due = next < due ? next : due;
    }
    millis = due == TSEED_PACE_NEVER ? LONGEST_NAP : (due - tseed_clock_monotonic() + 999) / 1000;
    if (millis < 0) {
        return 0;
    }
    return millis < LONGEST_NAP ? (int)millis : LONGEST_NAP;
}

static void work(tseed_fetcher_t *fetcher)
{
    int running;

    start_due(fetcher);
    curl_multi_perform(fetcher->multi, &running);
    collect_finished(fetcher);
    end_silent(fetcher);
    curl_multi_poll(fetcher->multi, NULL, 0, nap(fetcher), NULL);
}

/* Whether all transfers have been handed back when the fetcher leaves: the remote has none. */
static int is_empty(const tseed_fetcher_t *fetcher)
{
    const tseed_lane_t *lane = fetcher->lanes;

    while (lane && !lane->remote.first) {
        lane = lane->next;
    }
    return !lane;
}

static void *drive(void *baton)
{
    tseed_fetcher_t *fetcher = baton;

    read_letters(fetcher);
    while (!fetcher->leaving) {
        work(fetcher);
        read_letters(fetcher);
    }
    while (!is_empty(fetcher)) {
        curl_multi_poll(fetcher->multi, NULL, 0, LONGEST_NAP, NULL);
        read_letters(fetcher);
    }
    return NULL;
}

/* ---- begin and end ---- */

apr_status_t tseed_fetcher_create(tseed_fetcher_t **fetcher, tseed_fetch_done_t *done, void *baton,
                                  apr_pool_t *pool)
{
    tseed_fetcher_t *made = apr_pcalloc(pool, sizeof(*made));

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(made->multi = curl_multi_init()) ||
        !(made->share = curl_share_init())) {
        return APR_ENOMEM;
    }
    curl_share_setopt(made->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    curl_multi_setopt(made->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS_MAX);
    made->done = done;
    made->baton = baton;
    made->letters_end = &made->letters;
    pthread_mutex_init(&made->lock, NULL);
    *fetcher = made;
    return pthread_create(&made->thread, NULL, drive, made);
}

void tseed_fetcher_destroy(tseed_fetcher_t *fetcher)
{
    post_order(fetcher, NULL, TSEED_LETTER_CANCEL);
    pthread_join(fetcher->thread, NULL);
    while (fetcher->lanes) {
        tseed_lane_t *lane = fetcher->lanes;

        fetcher->lanes = lane->next;
        tseed_lane_destroy(lane);
    }
    curl_multi_cleanup(fetcher->multi);
    curl_share_cleanup(fetcher->share);
    pthread_mutex_destroy(&fetcher->lock);
}
