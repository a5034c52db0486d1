/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The display: what the board shows of running tasks. Main thread only. */
#ifndef TSEED_DISPLAY_H
#define TSEED_DISPLAY_H

#include "usage/tseed_durable.h"
#include "work/tseed_context.h"
#include "work/tseed_run.h"
#include "work/tseed_session.h"

typedef struct tseed_display_t tseed_display_t;

/* Makes the display in the context's pool. */
tseed_display_t *tseed_display_create(const tseed_context_t *context,
                                      const tseed_session_t *session,
                                      const tseed_durable_t *durable);

/* Shows the run's progress on the board, and notes that the progress has changed. */
void tseed_display_run(const tseed_display_t *display, tseed_run_t *run);

#endif
