/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The polls in one word: the number of a period, the pause that pages keep in that period, and how
 * many polls have come. If N polls come in a period of 10 seconds at a pause of P seconds, N * P /
 * 10 pages have sent them. The next pause is the one at which so many pages send 200 polls. */
#include "board/tseed_polls.h"

#include "board/tseed_board_layout.h"

#define PERIOD     (10 * APR_USEC_PER_SEC)
#define POLLS      200 /* of all pages in a period: 20 in a second */
#define COUNT_BITS 24
#define PAUSE_BITS 8
#define COUNT_MOST ((UINT64_C(1) << COUNT_BITS) - 1)

typedef struct {
    uint64_t period, pause, count;
} polls_t;

static uint64_t within(uint64_t pause)
{
    return pause < TSEED_POLLS_LEAST  ? TSEED_POLLS_LEAST
           : pause > TSEED_POLLS_MOST ? TSEED_POLLS_MOST
                                      : pause;
}

static polls_t unpack(uint64_t word)
{
    return (polls_t){word >> (COUNT_BITS + PAUSE_BITS),
                     within(word >> COUNT_BITS & ((1U << PAUSE_BITS) - 1)), word & COUNT_MOST};
}

static uint64_t pack(const polls_t *polls)
{
    return polls->period << (COUNT_BITS + PAUSE_BITS) | polls->pause << COUNT_BITS | polls->count;
}

/* Nobody asked in the period before: there are few pages. */
static polls_t begin(const polls_t *last, uint64_t period)
{
    const uint64_t count = last->period + 1 == period ? last->count : 0;

    return (polls_t){period, within((count * last->pause + POLLS - 1) / POLLS), 0};
}

int tseed_polls_count(tseed_board_t *board, apr_time_t now)
{
    const uint64_t period = (uint32_t)(now / PERIOD);
    tseed_word_t *word = &board->segment->polls;
    uint64_t seen = atomic_load(word);
    polls_t polls;

    do {
        polls = unpack(seen);
        if (polls.period != period) {
            polls = begin(&polls, period);
        }
        polls.count += polls.count < COUNT_MOST;
    } while (!atomic_compare_exchange_weak(word, &seen, pack(&polls)));
    return (int)polls.pause;
}
