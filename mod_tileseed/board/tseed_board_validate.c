/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The board's validator: every invariant, looked at from outside. Pages of slots that were never
 * taken stay untouched. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <string.h>

#include "board/tseed_board_layout.h"

/* One look at all slots, from the first to the last. */
typedef struct {
    const tseed_board_t *board;
    apr_hash_t *ids; /* of the right ones so far */
    unsigned slot;   /* the next one, or, after a finding, the wrong one */
    apr_pool_t *pool;
} look_t;

static look_t look_at(const tseed_board_t *board, apr_pool_t *pool)
{
    return (look_t){board, apr_hash_make(pool), 0, pool};
}

/* Says what is wrong with a slot that is taken; NULL: nothing. */
static const char *look_at_slot(look_t *look)
{
    const char *problem;
    tseed_row_t row;
    int64_t *id;

    if (look->slot >= tseed_board_used(look->board)) {
        return apr_psprintf(look->pool, "slot %u is taken beyond the used ones", look->slot);
    }
    if (!tseed_board_copy(look->board, look->slot, &row)) {
        return apr_psprintf(look->pool, "slot %u can't be read although nothing writes",
                            look->slot);
    }
    id = apr_pmemdup(look->pool, &row.id, sizeof(row.id));
    problem = apr_hash_get(look->ids, id, sizeof(*id)) ? "has two slots" : tseed_board_judge(&row);
    if (problem) {
        return apr_psprintf(look->pool, "task %" APR_INT64_T_FMT " %s", row.id, problem);
    }
    apr_hash_set(look->ids, id, sizeof(*id), id);
    return NULL;
}

/* Goes on to the next slot that can't be right, and says why; NULL: there is none. */
static const char *find_bad_slot(look_t *look)
{
    const tseed_board_t *board = look->board;
    const char *problem = NULL;

    while (!problem && (look->slot < tseed_board_used(board) ||
                        look->slot < tseed_board_bound(board, &board->segment->peak))) {
        if (!tseed_board_slot_is_free(tseed_board_slot_at(board, look->slot))) {
            problem = look_at_slot(look);
        }
        look->slot += !problem;
    }
    return problem;
}

static int is_quota_right(const tseed_board_t *board, apr_pool_t *pool)
{
    int64_t version;
    const char *quota = tseed_board_quota_get(board, &version, pool);

    return !quota || (version >= 1 && memchr(quota, '\0', TSEED_BOARD_QUOTA_TEXT_SIZE));
}

static const char many_slots[] = "more slots are called used than there are";
static const char early_changes[] = "more changes were applied than committed";
static const char many_changes[] = "more changes were committed than there can be";
static const char bad_head[] = "the head is not that of a board of this build";
static const char bad_quota[] = "the quota configuration has no version or no end";

/* Says what is wrong with the numbers of changes; NULL: nothing. */
static const char *judge_changes(const tseed_board_t *board)
{
    if (tseed_board_committed(board) > INT64_MAX) {
        return many_changes;
    }
    return tseed_board_applied(board) > tseed_board_committed(board) ? early_changes : NULL;
}

static int are_slots_known(const tseed_board_t *board)
{
    return atomic_load(&board->segment->used) <= board->slots &&
           atomic_load(&board->segment->peak) <= board->slots;
}

static int is_head_right(const tseed_segment_t *segment)
{
    return segment->magic == TSEED_BOARD_MAGIC && segment->layout == tseed_board_layout();
}

const char *tseed_board_validate(const tseed_board_t *board, apr_pool_t *pool)
{
    look_t look;

    if (!is_head_right(board->segment)) {
        return bad_head;
    }
    if (!are_slots_known(board)) {
        return many_slots;
    }
    if (judge_changes(board)) {
        return judge_changes(board);
    }
    if (!is_quota_right(board, pool)) {
        return bad_quota;
    }
    look = look_at(board, pool);
    return find_bad_slot(&look);
}

/* Puts the slots right. */
static const char *mend_slots(tseed_board_t *board, apr_pool_t *pool)
{
    look_t look = look_at(board, pool);
    const char *problem, *first = NULL;
    int more = -1;

    while ((problem = find_bad_slot(&look)) != NULL) {
        tseed_board_slot_release(board, (int)look.slot);
        first = first ? first : problem;
        more++;
    }
    return more > 0 ? apr_psprintf(pool, "%s, and %d more are wrong", first, more) : first;
}

const char *tseed_board_mend(tseed_board_t *board, apr_pool_t *pool)
{
    tseed_segment_t *segment = board->segment;
    const char *changes = judge_changes(board);

    if (!is_head_right(segment)) {
        segment->magic = TSEED_BOARD_MAGIC;
        segment->layout = tseed_board_layout();
        return bad_head;
    }
    if (!are_slots_known(board)) {
        atomic_store(&segment->used, board->slots);
        atomic_store(&segment->peak, board->slots);
        return many_slots;
    }
    if (changes) {
        if (changes == many_changes) {
            atomic_store(&segment->committed, 0);
        }
        atomic_store(&segment->applied, tseed_board_committed(board));
        return changes;
    }
    if (!is_quota_right(board, pool)) {
        atomic_store(&segment->quota_turn, 0);
        return bad_quota;
    }
    return mend_slots(board, pool);
}
