/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Checkpoints: what goes into the database, and when.
 *
 * One short transaction records everything that has happened: ends of tasks, losses, and once a
 * second the progress of tasks that go on. When the transaction fails, everything stays in memory
 * and on the board, and the next transaction comes a second later. The seeder forgets nothing
 * before the database has it. Main thread only.
 */
#ifndef TSEED_CHECKPOINT_H
#define TSEED_CHECKPOINT_H

#include "pipeline/tseed_ends.h"
#include "seeder/tseed_tasks.h"

typedef struct tseed_checkpoint_t tseed_checkpoint_t;

/* What checkpoints use. */
typedef struct {
    const tseed_context_t *context;
    tseed_session_t *session;
    tseed_runs_t *runs;
    tseed_cache_t *cache;
    tseed_durable_t *durable;
    tseed_savings_t *savings;
    const tseed_display_t *display;
    tseed_ends_t *ends;
    tseed_tasks_t *tasks;
} tseed_checkpoint_uses_t;

/* Makes the module, in the context's pool. */
tseed_checkpoint_t *tseed_checkpoint_create(const tseed_checkpoint_uses_t *uses);

/* Records ended tasks and losses in one transaction; with `all` also the progress of all running
 * tasks. Then dismisses the ended tasks. When the database fails, everything stays and is recorded
 * at the next tick. */
void tseed_checkpoint_record(tseed_checkpoint_t *checkpoint, int all);

#endif
