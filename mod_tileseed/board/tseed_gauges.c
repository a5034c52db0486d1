/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Gauges on the board. */
#include "board/tseed_gauges.h"

#include "board/tseed_board_layout.h"
#include "protocol/tseed_quota_config.h"

#define TRIES 512 /* of a reader; the writer writes once a second */

/* 0: the pair shows nothing, or the writer was faster each time. */
static int copy(void *record, const tseed_word_t *turn, const tseed_word_t *copies, size_t words)
{
    int tries = atomic_load(turn) ? TRIES : 0;

    while (tries > 0 && !tseed_pair_read(record, turn, copies, words)) {
        tries--;
    }
    return tries > 0;
}

void tseed_gauges_upstream_set(tseed_board_t *board, unsigned number,
                               const tseed_upstream_gauge_t *gauge)
{
    tseed_board_upstream_t *pair = &board->segment->upstreams[number];
    int changed = tseed_pair_show(&pair->turn, pair->gauge, gauge, TSEED_WORDS(*gauge));

    if (number >= tseed_gauges_upstreams(board)) {
        atomic_store(&board->segment->upstreams_used, (uint64_t)number + 1);
        changed = 1;
    }
    if (changed) {
        tseed_board_change(board);
    }
}

void tseed_gauges_quota_set(tseed_board_t *board, const tseed_quota_gauge_t *gauge)
{
    tseed_segment_t *segment = board->segment;

    if (tseed_pair_show(&segment->usage_turn, segment->usage, gauge, TSEED_WORDS(*gauge))) {
        tseed_board_change(board);
    }
}

void tseed_gauges_rule_set(tseed_board_t *board, const tseed_quota_rule_t *rule)
{
    tseed_segment_t *segment = board->segment;

    if (tseed_pair_show(&segment->rule_turn, segment->rule, rule, TSEED_WORDS(*rule))) {
        tseed_board_change(board);
    }
}

unsigned tseed_gauges_upstreams(const tseed_board_t *board)
{
    const uint64_t used =
        atomic_load_explicit(&board->segment->upstreams_used, memory_order_acquire);

    return used < TSEED_GAUGES_UPSTREAMS ? (unsigned)used : TSEED_GAUGES_UPSTREAMS;
}

int tseed_gauges_upstream_get(const tseed_board_t *board, unsigned number,
                              tseed_upstream_gauge_t *gauge)
{
    const tseed_board_upstream_t *pair;

    if (number >= tseed_gauges_upstreams(board)) {
        return 0;
    }
    pair = &board->segment->upstreams[number];
    if (!copy(gauge, &pair->turn, pair->gauge, TSEED_WORDS(*gauge))) {
        return 0;
    }
    gauge->name[sizeof(gauge->name) - 1] = '\0';
    gauge->cause[sizeof(gauge->cause) - 1] = '\0';
    gauge->layer[sizeof(gauge->layer) - 1] = '\0';
    return 1;
}

int tseed_gauges_quota_get(const tseed_board_t *board, tseed_quota_gauge_t *gauge)
{
    const tseed_segment_t *segment = board->segment;

    return copy(gauge, &segment->usage_turn, segment->usage, TSEED_WORDS(*gauge));
}

int tseed_gauges_rule_get(const tseed_board_t *board, tseed_quota_rule_t *rule)
{
    const tseed_segment_t *segment = board->segment;

    if (!copy(rule, &segment->rule_turn, segment->rule, TSEED_WORDS(*rule))) {
        return 0;
    }
    rule->enabled = rule->enabled != 0;
    rule->policy = rule->policy < TSEED_POLICIES ? rule->policy : TSEED_POLICY_LFU;
    return 1;
}
