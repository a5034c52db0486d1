/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A thread that beats until it is told to stop through a pipe's end. */
#include "work/tseed_heartbeat.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/tseed_clock.h"

#define BEAT_MILLIS 500

struct tseed_heartbeat_t {
    tseed_board_t *board;
    apr_time_t until;
    int over; /* readable: no more beats */
    pthread_t thread;
};

static void *beat(void *data)
{
    const tseed_heartbeat_t *pulse = data;
    struct pollfd over = {.fd = pulse->over, .events = POLLIN};

    for (;;) {
        const apr_time_t now = tseed_clock_monotonic();

        if (now > pulse->until) {
            return NULL;
        }
        tseed_board_heartbeat(pulse->board, now);
        if (poll(&over, 1, BEAT_MILLIS) > 0) {
            return NULL;
        }
    }
}

tseed_heartbeat_t *tseed_heartbeat_begin(tseed_board_t *board, apr_interval_time_t most)
{
    tseed_heartbeat_t *pulse = calloc(1, sizeof(*pulse));

    if (!pulse) {
        return NULL;
    }
    pulse->board = board;
    pulse->until = tseed_clock_monotonic() + most;
    pulse->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pulse->over < 0 || pthread_create(&pulse->thread, NULL, beat, pulse) != 0) {
        close(pulse->over);
        free(pulse);
        return NULL;
    }
    return pulse;
}

void tseed_heartbeat_end(tseed_heartbeat_t *pulse)
{
    static const uint64_t one = 1;

    if (pulse) {
        while (write(pulse->over, &one, sizeof(one)) < 0) {
        }
        pthread_join(pulse->thread, NULL);
        close(pulse->over);
        free(pulse);
    }
}
