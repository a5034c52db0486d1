/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The fetcher: letters in, transfers out, and in between one thread that waits for the network. */
#include "source/tseed_fetcher.h"

#include <apr_strings.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "source/tseed_lane.h"

#define IDLE_CONNECTIONS_MAX 256L /* kept open for later, of all upstreams */

struct tseed_fetcher_t {
    pthread_t thread;

    /* shared, under lock; a cancel without an owner is an order to cancel all and to leave */
    pthread_mutex_t lock;
    tseed_transfer_t *letters, **letters_end;
    tseed_remote_hosts_t helpers;

    /* owned by the thread, except for what tseed_lane.h says */
    tseed_lanes_t lanes;
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
        curl_multi_wakeup(fetcher->lanes.multi);
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
        curl_multi_wakeup(fetcher->lanes.multi);
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

void tseed_fetcher_ask_again(tseed_fetcher_t *fetcher, const tseed_upstream_t *upstream)
{
    const apr_time_t now = tseed_clock_monotonic();
    tseed_lane_t *lane;

    pthread_mutex_lock(&fetcher->lock);
    lane = tseed_lanes_find(&fetcher->lanes, upstream);
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
    lane = tseed_lanes_find(&fetcher->lanes, upstream);
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
    count = fetcher->lanes.first ? fetcher->lanes.first->number + 1 : 0;
    for (const tseed_lane_t *lane = fetcher->lanes.first; lane; lane = lane->next) {
        if (lane->number < most) {
            look_at_locked(&outlooks[lane->number], lane);
        }
    }
    pthread_mutex_unlock(&fetcher->lock);
    return count < most ? count : most;
}

/* ---- the fetcher's thread ---- */

static void read_letters(tseed_fetcher_t *fetcher)
{
    tseed_transfer_t *letters;

    pthread_mutex_lock(&fetcher->lock);
    letters = fetcher->letters;
    fetcher->letters = NULL;
    fetcher->letters_end = &fetcher->letters;
    fetcher->lanes.helpers = fetcher->helpers;
    pthread_mutex_unlock(&fetcher->lock);
    while (letters) {
        tseed_transfer_t *letter = letters;

        letters = letter->next;
        tseed_lanes_read(&fetcher->lanes, letter);
    }
}

/* Whether all transfers have been handed back when the fetcher leaves: the remote has none. */
static int is_empty(const tseed_fetcher_t *fetcher)
{
    const tseed_lane_t *lane = fetcher->lanes.first;

    while (lane && !lane->remote.first) {
        lane = lane->next;
    }
    return !lane;
}

static void *drive(void *baton)
{
    tseed_fetcher_t *fetcher = baton;

    read_letters(fetcher);
    while (!fetcher->lanes.leaving) {
        tseed_lanes_work(&fetcher->lanes);
        read_letters(fetcher);
    }
    while (!is_empty(fetcher)) {
        curl_multi_poll(fetcher->lanes.multi, NULL, 0, TSEED_LONGEST_NAP, NULL);
        read_letters(fetcher);
    }
    return NULL;
}

/* ---- begin and end ---- */

apr_status_t tseed_fetcher_create(tseed_fetcher_t **fetcher, tseed_fetch_done_t *done, void *baton,
                                  apr_pool_t *pool)
{
    tseed_fetcher_t *made = apr_pcalloc(pool, sizeof(*made));

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        !(made->lanes.multi = curl_multi_init()) || !(made->lanes.share = curl_share_init())) {
        return APR_ENOMEM;
    }
    curl_share_setopt(made->lanes.share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    curl_multi_setopt(made->lanes.multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS_MAX);
    made->lanes.done = done;
    made->lanes.baton = baton;
    made->letters_end = &made->letters;
    pthread_mutex_init(&made->lock, NULL);
    made->lanes.lock = &made->lock;
    *fetcher = made;
    return pthread_create(&made->thread, NULL, drive, made);
}

void tseed_fetcher_destroy(tseed_fetcher_t *fetcher)
{
    post_order(fetcher, NULL, TSEED_LETTER_CANCEL);
    pthread_join(fetcher->thread, NULL);
    while (fetcher->lanes.first) {
        tseed_lane_t *lane = fetcher->lanes.first;

        fetcher->lanes.first = lane->next;
        tseed_lane_destroy(lane);
    }
    curl_multi_cleanup(fetcher->lanes.multi);
    curl_share_cleanup(fetcher->lanes.share);
    pthread_mutex_destroy(&fetcher->lock);
}
