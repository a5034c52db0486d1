/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Judges a row of the board. Readers, and the validator, ask before they believe a row. */
#include <string.h>

#include "board/tseed_board_layout.h"

#define COUNT(member, name, wire, is_processed, place) {progress->member, is_processed},

static const char *judge_counters(const tseed_row_t *row)
{
    const tseed_progress_t *progress = &row->progress;
    const struct {
        int64_t value;
        int is_processed;
    } counts[] = {TSEED_COUNTS(COUNT){progress->failures, 0}, {progress->low, 0}};
    int64_t left = row->tiles_total;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (counts[i].value < 0) {
            return "has a negative counter";
        }
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) { /* a sum might overflow */
        const int64_t tiles = counts[i].is_processed ? counts[i].value : 0;

        if (tiles > left) {
            return "has more tiles processed than there are";
        }
        left -= tiles;
    }
    if (progress->low > row->tiles_total) {
        return "has more metatiles finished than tiles";
    }
    return progress->state == TSEED_DONE && left > 0 ? "is done but tiles remain" : NULL;
}

/* The year 10000, in microseconds: documents show times. */
#define TIMES_END (INT64_C(253402300800) * APR_USEC_PER_SEC)

static int is_time(apr_time_t time)
{
    return time >= 0 && time < TIMES_END;
}

const char *tseed_board_judge(const tseed_row_t *row)
{
    if (row->id < 0 || row->tiles_total < 0 || row->type > TSEED_TRUNCATE) {
        return "has an id, total or type that can't be";
    }
    if (row->progress.state < TSEED_ABORTED || row->progress.state > TSEED_DONE) {
        return "has a state that is none";
    }
    if (!memchr(row->layer, '\0', sizeof(row->layer)) ||
        !memchr(row->progress.reason, '\0', sizeof(row->progress.reason))) {
        return "has a text without an end";
    }
    if (row->progress.window[0] & 1) {
        return "calls its lowest unfinished position finished";
    }
    if (!is_time(row->progress.started) || !is_time(row->progress.finished) ||
        !is_time(row->progress.away_since)) {
        return "has a time that can't be";
    }
    return judge_counters(row);
}
