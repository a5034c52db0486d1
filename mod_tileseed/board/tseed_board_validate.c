/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The board's validator: every invariant, looked at from outside. */
#include <apr_strings.h>
#include <string.h>

#include "board/tseed_board_layout.h"

static const char *judge_counters(const tseed_row_t *row)
{
    const tseed_progress_t *progress = &row->progress;
    const int64_t counters[] = {progress->made,     progress->skipped, progress->removed,
                                progress->failed,   progress->bytes,   progress->requests,
                                progress->failures, progress->low};
    int64_t left = row->tiles_total;

    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        if (counters[i] < 0) {
            return "has a negative counter";
        }
    }
    for (size_t i = 0; i < 4; i++) { /* the first four are tiles; their sum might overflow */
        if (counters[i] > left) {
            return "has more tiles processed than there are";
        }
        left -= counters[i];
    }
    return progress->state == TSEED_DONE && left > 0 ? "is done but tiles remain" : NULL;
}

static const char *judge_row(const tseed_row_t *row)
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
    return judge_counters(row);
}

static const char *judge_slots(const tseed_board_t *board, apr_pool_t *pool)
{
    apr_array_header_t *rows;
    int64_t last = 0;

    for (uint64_t i = tseed_board_used(board); i < board->slots; i++) {
        if (!tseed_board_slot_is_free(tseed_board_slot_at(board, (unsigned)i))) {
            return apr_psprintf(pool, "slot %d is taken beyond the used ones", (int)i);
        }
    }
    rows = tseed_board_list(board, NULL, 1, pool);
    if (!rows) {
        return "a slot can't be read although nothing writes";
    }
    for (int i = 0; i < rows->nelts; i++) {
        const tseed_row_t *row = &APR_ARRAY_IDX(rows, i, tseed_row_t);
        const char *problem = row->id == last ? "has two slots" : judge_row(row);

        if (problem) {
            return apr_psprintf(pool, "task %" APR_INT64_T_FMT " %s", row->id, problem);
        }
        last = row->id;
    }
    return NULL;
}

const char *tseed_board_validate(const tseed_board_t *board, apr_pool_t *pool)
{
    int64_t version;
    const char *quota;

    if (board->magic != TSEED_BOARD_MAGIC || board->layout != tseed_board_layout()) {
        return "the head is not that of a board of this build";
    }
    if (board->size != tseed_board_size((unsigned)board->slots, (unsigned)board->workers) ||
        tseed_board_used(board) > board->slots) {
        return "the numbers of slots, workers and bytes don't agree";
    }
    if (tseed_board_applied(board) > tseed_board_committed(board)) {
        return "more changes were applied than committed";
    }
    quota = tseed_board_quota_get(board, &version, pool);
    if (quota && (version < 1 || !memchr(quota, '\0', TSEED_BOARD_QUOTA_TEXT_SIZE))) {
        return "the quota configuration has no version or no end";
    }
    return judge_slots(board, pool);
}
