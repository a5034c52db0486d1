/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The fetcher: letters in, transfers out, and in between one thread that waits for the network. */
#include "source/tseed_fetcher.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/tseed_clock.h"
#include "source/tseed_lane.h"

#define IDLE_CONNECTIONS_MAX 256L /* kept open for later, of all upstreams */
#define LONGEST_NAP          (INT_MAX / 2)

struct tseed_fetcher_t {
    pthread_t thread;
    tseed_fetch_done_t *done;
    void *baton;
    CURLM *multi; /* the thread's, except for the wake-up */

    /* shared, under lock; a letter without an address is an order to cancel its owner's transfers,
     * without an owner as well to cancel all and to leave */
    pthread_mutex_t lock;
    tseed_transfer_t *letters, **letters_end;

    /* owned by the thread */
    tseed_transfer_t *delayed; /* by the time they are due */
    tseed_lane_t *lanes;       /* one of each upstream ever asked */
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

static void post_order(tseed_fetcher_t *fetcher, const void *owner)
{
    tseed_transfer_t *order = calloc(1, sizeof(*order));

    if (!order) {
        abort();
    }
    order->owner = owner;
    post(fetcher, order);
}

/* A transfer counts as cancelled until something else is known. */
void tseed_fetcher_submit(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer)
{
    transfer->result = TSEED_FETCH_CANCELLED;
    transfer->http_status = 0;
    transfer->sent = 0;
    transfer->content_type[0] = '\0';
    transfer->cause[0] = '\0';
    transfer->length = 0;
    post(fetcher, transfer);
}

void tseed_fetcher_cancel(tseed_fetcher_t *fetcher, const void *owner)
{
    post_order(fetcher, owner);
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

static void cancel(tseed_fetcher_t *fetcher, const void *owner)
{
    tseed_transfer_t *taken = NULL;

    tseed_transfers_withdraw(&taken, &fetcher->delayed, owner);
    for (tseed_lane_t *lane = fetcher->lanes; lane; lane = lane->next) {
        tseed_lane_withdraw(&taken, lane, fetcher->multi, owner);
        tseed_lane_start(lane, fetcher->multi);
    }
    hand_back(fetcher, taken);
}

static tseed_lane_t *lane_of(tseed_fetcher_t *fetcher, const tseed_upstream_t *upstream)
{
    tseed_lane_t *lane = fetcher->lanes;

    while (lane && lane->upstream != upstream) {
        lane = lane->next;
    }
    if (!lane) {
        lane = tseed_lane_create(upstream);
        lane->next = fetcher->lanes;
        fetcher->lanes = lane;
    }
    return lane;
}

static void enter_lane(tseed_fetcher_t *fetcher, tseed_transfer_t *transfer)
{
    tseed_lane_t *lane = lane_of(fetcher, transfer->upstream);

    tseed_lane_put(lane, transfer);
    tseed_lane_start(lane, fetcher->multi);
}

static void read_letter(tseed_fetcher_t *fetcher, tseed_transfer_t *letter, apr_time_t now)
{
    if (!letter->url) {
        fetcher->leaving |= !letter->owner;
        cancel(fetcher, letter->owner);
        free(letter);
    } else if (letter->delay > 0) {
        letter->rank = now + letter->delay;
        tseed_transfers_insert(&fetcher->delayed, letter);
    } else {
        enter_lane(fetcher, letter);
    }
}

static void read_letters(tseed_fetcher_t *fetcher, apr_time_t now)
{
    tseed_transfer_t *letters;

    pthread_mutex_lock(&fetcher->lock);
    letters = fetcher->letters;
    fetcher->letters = NULL;
    fetcher->letters_end = &fetcher->letters;
    pthread_mutex_unlock(&fetcher->lock);
    while (letters) {
        tseed_transfer_t *letter = letters;

        letters = letter->next;
        read_letter(fetcher, letter, now);
    }
}

static void release_delayed(tseed_fetcher_t *fetcher, apr_time_t now)
{
    while (fetcher->delayed && fetcher->delayed->rank <= now) {
        tseed_transfer_t *transfer = fetcher->delayed;

        fetcher->delayed = transfer->next;
        enter_lane(fetcher, transfer);
    }
}

/* The next transfer is on its way before the last one is handed back. */
static void collect_finished(tseed_fetcher_t *fetcher)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(fetcher->multi, &left))) {
        CURLcode code = message->data.result;
        tseed_wire_t *wire = NULL;
        tseed_transfer_t *transfer;
        tseed_lane_t *lane;

        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &wire);
        lane = wire->lane;
        transfer = tseed_lane_finish(lane, fetcher->multi, wire, code);
        tseed_lane_start(lane, fetcher->multi);
        fetcher->done(fetcher->baton, transfer);
    }
}

/* Milliseconds until the next delay is over, rounded up so that the thread does not wake early.
 * curl_multi_poll itself looks after the deadlines of what is under way. */
static int nap(const tseed_fetcher_t *fetcher, apr_time_t now)
{
    int64_t millis = LONGEST_NAP;

    if (fetcher->delayed) {
        millis = (fetcher->delayed->rank - now + 999) / 1000;
    }
    if (millis < 0) {
        return 0;
    }
    return millis < LONGEST_NAP ? (int)millis : LONGEST_NAP;
}

static void *drive(void *baton)
{
    tseed_fetcher_t *fetcher = baton;
    int running;

    for (;;) {
        apr_time_t now = tseed_clock_monotonic();

        read_letters(fetcher, now);
        if (fetcher->leaving) {
            return NULL;
        }
        release_delayed(fetcher, now);
        curl_multi_perform(fetcher->multi, &running);
        collect_finished(fetcher);
        curl_multi_poll(fetcher->multi, NULL, 0, nap(fetcher, tseed_clock_monotonic()), NULL);
    }
}

/* ---- begin and end ---- */

apr_status_t tseed_fetcher_create(tseed_fetcher_t **fetcher, tseed_fetch_done_t *done, void *baton,
                                  apr_pool_t *pool)
{
    tseed_fetcher_t *made = apr_pcalloc(pool, sizeof(*made));

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(made->multi = curl_multi_init())) {
        return APR_ENOMEM;
    }
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
    post_order(fetcher, NULL);
    pthread_join(fetcher->thread, NULL);
    while (fetcher->lanes) {
        tseed_lane_t *lane = fetcher->lanes;

        fetcher->lanes = lane->next;
        tseed_lane_destroy(lane);
    }
    curl_multi_cleanup(fetcher->multi);
    pthread_mutex_destroy(&fetcher->lock);
}
