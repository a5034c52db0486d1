/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The display: what the board shows of tasks. */
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_text.h"
#include "seeder/tseed_house.h"
#include "seeder/tseed_safe.h"

/* Whether a run stands still until the database has marks, losses, or its end. */
static int waits_for_state(const tseed_run_t *run)
{
    return run->phase == TSEED_RUN_ENDING || (run->losses > 0 && !run->jobs) ||
           (run->ready.count > 0 && run->working == 0);
}

void tseed_display_run(tseed_seeder_t *seeder, tseed_run_t *run)
{
    tseed_progress_t shown = run->progress;
    const char *trouble = tseed_safe_trouble(seeder, run);

    shown.state = TSEED_RUNNING; /* until the database has its end, when it leaves the board */
    if (seeder->session->trouble && waits_for_state(run)) { /* a reason that can't be recorded */
        tseed_text_fit(shown.reason, sizeof(shown.reason), seeder->session->trouble);
    } else if (trouble) {
        apr_cpystrn(shown.reason, trouble, sizeof(shown.reason));
    }
    run->dirty = 1;
    if (!run->terminated) {
        tseed_board_slot_update(seeder->context->board, run->slot, &shown);
    }
}

void tseed_display_waiting(tseed_seeder_t *seeder, const tseed_entry_t *entry, const char *reason)
{
    tseed_row_t row;

    if (tseed_board_read(seeder->context->board, (unsigned)entry->slot, &row) &&
        strcmp(row.progress.reason, reason) != 0) {
        tseed_text_fit(row.progress.reason, sizeof(row.progress.reason), reason);
        tseed_board_slot_update(seeder->context->board, entry->slot, &row.progress);
    }
}

void tseed_display_all_waiting(tseed_seeder_t *seeder, const char *reason)
{
    for (const tseed_entry_t *entry = seeder->entries; entry; entry = entry->next) {
        if (!entry->run && !entry->terminated) {
            tseed_display_waiting(seeder, entry, reason);
        }
    }
}
