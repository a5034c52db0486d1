/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A thread that beats until an eventfd stops it, or its time is over. */
#include "work/tseed_heartbeat.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_thread.h"

#define BEAT_MILLIS 500

struct tseed_heartbeat_t {
    tseed_board_t *board;
    apr_time_t until;
    const _Atomic int64_t *waits; /* NULL: it beats all the time */
    int over;                     /* readable: no more beats */
    pthread_t thread;
};

static int is_wanted(const tseed_heartbeat_t *heartbeat, apr_time_t now)
{
    const int64_t since = heartbeat->waits ? atomic_load(heartbeat->waits) : now;

    return since != 0 && now - since < TSEED_LONGEST_STEP;
}

static void *beat(void *data)
{
    const tseed_heartbeat_t *heartbeat = data;
    struct pollfd over = {.fd = heartbeat->over, .events = POLLIN};

    for (;;) {
        const apr_time_t now = tseed_clock_monotonic();

        if (now > heartbeat->until) {
            return NULL;
        }
        if (is_wanted(heartbeat, now)) {
            tseed_board_heartbeat(heartbeat->board, now);
        }
        if (poll(&over, 1, BEAT_MILLIS) > 0) {
            return NULL;
        }
    }
}

static tseed_heartbeat_t *begin(tseed_board_t *board, apr_time_t until,
                                const _Atomic int64_t *waits)
{
    tseed_heartbeat_t *heartbeat = calloc(1, sizeof(*heartbeat));

    if (!heartbeat) {
        return NULL;
    }
    heartbeat->board = board;
    heartbeat->until = until;
    heartbeat->waits = waits;
    heartbeat->over = tseed_thread_bell();
    if (heartbeat->over < 0 || pthread_create(&heartbeat->thread, NULL, beat, heartbeat) != 0) {
        close(heartbeat->over);
        free(heartbeat);
        return NULL;
    }
    return heartbeat;
}

tseed_heartbeat_t *tseed_heartbeat_begin(tseed_board_t *board, apr_interval_time_t most)
{
    return begin(board, tseed_clock_monotonic() + most, NULL);
}

tseed_heartbeat_t *tseed_heartbeat_beside(tseed_board_t *board, const _Atomic int64_t *waits)
{
    return begin(board, INT64_MAX, waits);
}

void tseed_heartbeat_end(tseed_heartbeat_t *heartbeat)
{
    if (heartbeat) {
        tseed_thread_ring(heartbeat->over);
        pthread_join(heartbeat->thread, NULL);
        close(heartbeat->over);
        free(heartbeat);
    }
}
