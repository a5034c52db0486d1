/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The board's validator: every invariant, looked at from outside. Pages of slots that were never
 * taken stay untouched. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <string.h>

#include "board/tseed_board_layout.h"

static const char *judge_counters(const tseed_row_t *row)
{
    const tseed_progress_t *progress = &row->progress;
    const int64_t counters[] = {progress->made,     progress->skipped, progress->removed,
                                progress->failed,   progress->bytes,   progress->requests,
                                progress->failures, progress->low,     progress->unchanged};
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

/* The first slot that can't be right, and why; NULL: there is none. */
static const char *find_bad_slot(unsigned *bad, const tseed_board_t *board, apr_pool_t *pool)
{
    apr_hash_t *ids = apr_hash_make(pool);
    unsigned used = tseed_board_used(board);
    unsigned peak = (unsigned)atomic_load(&board->peak);

    for (*bad = 0; *bad < used || *bad < peak; ++*bad) {
        const char *problem = NULL;
        tseed_row_t row;
        int64_t *id;

        if (tseed_board_slot_is_free(tseed_board_slot_at(board, *bad))) {
            continue;
        }
        if (*bad >= used) {
            return apr_psprintf(pool, "slot %u is taken beyond the used ones", *bad);
        }
        if (!tseed_board_read(board, *bad, &row)) {
            return apr_psprintf(pool, "slot %u can't be read although nothing writes", *bad);
        }
        id = apr_pmemdup(pool, &row.id, sizeof(row.id));
        problem = apr_hash_get(ids, id, sizeof(*id)) ? "has two slots" : judge_row(&row);
        if (problem) {
            return apr_psprintf(pool, "task %" APR_INT64_T_FMT " %s", row.id, problem);
        }
        apr_hash_set(ids, id, sizeof(*id), id);
    }
    return NULL;
}

static int is_quota_right(const tseed_board_t *board, apr_pool_t *pool)
{
    int64_t version;
    const char *quota = tseed_board_quota_get(board, &version, pool);

    return !quota || (version >= 1 && memchr(quota, '\0', TSEED_BOARD_QUOTA_TEXT_SIZE));
}

static const char many_slots[] = "the numbers of slots, workers and bytes don't agree";
static const char early_changes[] = "more changes were applied than committed";
static const char bad_quota[] = "the quota configuration has no version or no end";

static int are_slots_known(const tseed_board_t *board)
{
    return tseed_board_used(board) <= board->slots && atomic_load(&board->peak) <= board->slots;
}

const char *tseed_board_validate(const tseed_board_t *board, apr_pool_t *pool)
{
    unsigned bad;

    if (board->magic != TSEED_BOARD_MAGIC || board->layout != tseed_board_layout()) {
        return "the head is not that of a board of this build";
    }
    if (board->size != tseed_board_size((unsigned)board->slots, (unsigned)board->workers) ||
        !are_slots_known(board)) {
        return many_slots;
    }
    if (tseed_board_applied(board) > tseed_board_committed(board)) {
        return early_changes;
    }
    return is_quota_right(board, pool) ? find_bad_slot(&bad, board, pool) : bad_quota;
}

const char *tseed_board_mend(tseed_board_t *board, apr_pool_t *pool)
{
    const char *problem;
    unsigned bad;

    if (!are_slots_known(board)) {
        atomic_store(&board->used, board->slots);
        atomic_store(&board->peak, board->slots);
        return many_slots;
    }
    if (tseed_board_applied(board) > tseed_board_committed(board)) {
        atomic_store(&board->applied, tseed_board_committed(board));
        return early_changes;
    }
    if (!is_quota_right(board, pool)) {
        atomic_store(&board->quota_turn, 0);
        return bad_quota;
    }
    problem = find_bad_slot(&bad, board, pool);
    if (problem) {
        tseed_board_slot_release(board, (int)bad);
    }
    return problem;
}
