/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pruned tiles from memory: each answer brings a file without a name. */
#include "seeder/tseed_pruned_tiles.h"

#include <apr_strings.h>
#include <unistd.h>

#define BUSY_SECONDS 1

static void hand_over(int end, const tseed_shade_t *shade)
{
    const tseed_reply_t reply = {.outcome = TSEED_MISS_PRUNED};
    const int file = tseed_unstored_file(shade->data, shade->length);

    if (file < 0) {
        tseed_miss_turn_away(
            end, tseed_miss_reply(TSEED_MISS_BUSY, BUSY_SECONDS, "there is no memory for it"));
        return;
    }
    tseed_miss_answer(end, &reply, file);
    close(file);
}

int tseed_pruned_tiles_answer(tseed_prune_t *prune, const tseed_question_t *question,
                              tseed_run_t *run, int64_t position, int end)
{
    const tseed_shade_t *shade = tseed_prune_shade(prune, run, position);

    if (shade && run->tileset.layer->prune.sparse) {
        hand_over(end, shade);
        return 1;
    }
    if (!shade && question->is_pruned_only) {
        tseed_miss_turn_away(end,
                             tseed_miss_reply(TSEED_MISS_REFUSED, BUSY_SECONDS, "it was not made"));
        return 1;
    }
    return 0;
}
