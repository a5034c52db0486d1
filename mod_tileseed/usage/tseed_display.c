/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The display: what the board shows of running tasks. */
#include "usage/tseed_display.h"

#include <apr_strings.h>

#include "base/tseed_text.h"
#include "board/tseed_counters.h"

struct tseed_display_t {
    tseed_board_t *board;
    const tseed_session_t *session;
    const tseed_durable_t *durable;
};

tseed_display_t *tseed_display_create(const tseed_context_t *context,
                                      const tseed_session_t *session,
                                      const tseed_durable_t *durable)
{
    tseed_display_t *display = apr_pcalloc(context->pool, sizeof(*display));

    display->board = context->board;
    display->session = session;
    display->durable = durable;
    return display;
}

/* Whether a run stands still until the database has marks, losses, or its end. */
static int waits_for_state(const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_ENDING || (run->losses > 0 && !run->jobs) ||
           (run->ready.count > 0 && run->working == 0);
}

/* What the run has done since it was shown last. Before the board shows it: a seeder that dies in
 * between loses no count. */
static void count(const tseed_display_t *display, tseed_run_t *run)
{
    const tseed_layer_t *layer = run->tileset.layer;
    const tseed_counted_t now = tseed_counted_of(&run->progress);

    tseed_counters_tiles(display->board, layer ? layer->counted : 0,
                         (tseed_work_kind_t)run->task->type, &run->counted, &now);
}

void tseed_display_run(const tseed_display_t *display, tseed_run_t *run)
{
    tseed_progress_t shown = run->progress;
    const char *database = display->session->trouble;
    const char *sync = tseed_durable_trouble(display->durable, run);

    shown.state = TSEED_RUNNING; /* until the database has its end, when it leaves the board */
    if (database && waits_for_state(run)) { /* a reason that can't be recorded */
        tseed_progress_tell(&shown, TSEED_REASON_DATABASE, database);
    } else if (sync) {
        tseed_progress_tell(&shown, TSEED_REASON_SYNC, sync);
    }
    run->dirty = 1;
    count(display, run);
    if (!run->terminated) {
        tseed_board_slot_update(display->board, run->slot, &shown);
    }
}
