/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The sizing: how many metatiles the next request of a run asks for. Times are kept for each layer,
 * grid set, format and address of an upstream, by level, and what was chosen is saved as a note of
 * the database (state/tseed_books.h), so that the next seeder begins with it. Main thread only. */
#ifndef TSEED_SIZING_H
#define TSEED_SIZING_H

#include "savings/tseed_join.h"
#include "work/tseed_context.h"
#include "work/tseed_session.h"

typedef struct tseed_sizing_t tseed_sizing_t;

/* What the next request asks for. */
typedef struct {
    tseed_cell_shape_t cell;
    int step; /* savings/tseed_sizes.h; -1: nobody chose */
    tseed_size_reason_t why;
} tseed_choice_t;

/* Makes the sizing in the context's pool. */
tseed_sizing_t *tseed_sizing_create(const tseed_context_t *context, const tseed_session_t *session);

/* Notes that an upstream draws no pictures of more pixels for a layer; 0: any. */
void tseed_sizing_bound(tseed_sizing_t *sizing, const char *layer, int width, int height);

/* Chooses for the request that begins with a free position of a run. `before` is the cell that its
 * tiles came from; {0, 0}: not known. That cell is asked for again, so that answers can be
 * compared, except while the first trial goes on, or if the cell is too large by now or costs more
 * than twice as much as the chosen step. */
tseed_choice_t tseed_sizing_choose(tseed_sizing_t *sizing, const tseed_run_t *run, int64_t position,
                                   tseed_cell_shape_t before);

/* What a request of a run costs beyond its metatiles of a level, in metatiles. Below 0: not known.
 */
double tseed_sizing_overhead(tseed_sizing_t *sizing, const tseed_run_t *run, int z);

/* Whether a run may join metatiles of a level into one request, whoever chooses which. */
int tseed_sizing_may_join(const tseed_sizing_t *sizing, const tseed_run_t *run, int z);

/* Tells the fetcher how long a request is expected to take, and the run's progress how large it is.
 */
void tseed_sizing_begin(tseed_sizing_t *sizing, tseed_job_t *leader);

/* Measures a request that has been answered. */
void tseed_sizing_take(tseed_sizing_t *sizing, const tseed_job_t *leader);

/* Notes that a request for several metatiles has failed, with its cause. */
void tseed_sizing_fail(tseed_sizing_t *sizing, const tseed_job_t *leader);

/* Writes what has changed into the open transaction; notes that the transaction is committed. Fails
 * when the database does: then all is written again the next time. */
apr_status_t tseed_sizing_write(tseed_sizing_t *sizing);
void tseed_sizing_saved(tseed_sizing_t *sizing);

#endif
