/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Pruned tiles from memory: each answer brings a file without a name. */
#include "seeder/tseed_pruned_tiles.h"

#include <apr_strings.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUSY_SECONDS 1

static void turn_away(int end, tseed_miss_outcome_t outcome, const char *cause)
{
    tseed_reply_t reply = {.outcome = outcome, .retry_after = BUSY_SECONDS};

    apr_cpystrn(reply.cause, cause, sizeof(reply.cause));
    tseed_miss_answer(end, &reply, -1);
}

static void hand_over(int end, const tseed_shade_t *shade)
{
    const tseed_reply_t reply = {.outcome = TSEED_MISS_PRUNED};
    const int file = memfd_create("tile", MFD_CLOEXEC);

    if (file >= 0 && write(file, shade->data, shade->length) == (ssize_t)shade->length) {
        tseed_miss_answer(end, &reply, file);
    } else {
        turn_away(end, TSEED_MISS_BUSY, "there is no memory for it");
    }
    if (file >= 0) {
        close(file);
    }
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
        turn_away(end, TSEED_MISS_REFUSED, "it was not made");
        return 1;
    }
    return 0;
}
