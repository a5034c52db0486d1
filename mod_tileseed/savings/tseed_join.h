/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Joined jobs: neighbouring metatiles of one run that one request fetches.
 *
 *      dispatch    the jobs of a cell (tiling/tseed_cells.h) are joined and looked at together
 *      CHECK       jobs whose tiles are there leave; the others are joined anew
 *      FETCH       one transfer over the rectangle around them
 *      CUT         one worker decodes the answer once and cuts one job after the other
 *
 * Each job is finished, fails and is resumed by itself: its position, its trace and its holds are
 * its own. A request that fails is asked for again in halves. Only a job that is not joined counts
 * attempts and can be given up.
 *
 * A list of jobs is linked by `joined` and is NULL when it is empty. Main thread only. */
#ifndef TSEED_JOIN_H
#define TSEED_JOIN_H

#include "work/tseed_run.h"

/* Joins the jobs of a list, which is not empty: its first job leads. Returns the leader. */
tseed_job_t *tseed_join_chain(tseed_job_t *list);

/* Joins them likewise. `keeper`, which was of the same request, has the answer to all of it, and
 * the leader gets it; NULL: nobody has. */
void tseed_join_resume(tseed_job_t *list, tseed_job_t *keeper);

/* Parts a list of jobs of one cell of shape `cell` into requests, and puts their leaders into a
 * queue. A request asks for no more than twice the tiles that its jobs need. It is also parted
 * where its two halves save more metatiles than `price`: what one request more costs, in
 * metatiles; below 0: not known. */
void tseed_join_queue(tseed_queue_t *queue, tseed_job_t *list, tseed_cell_shape_t cell,
                      double price);

/* Parts the jobs of a request that has failed, into parts of half its size at most. */
void tseed_join_part(tseed_queue_t *queue, tseed_job_t *leader);

/* The shape of the smallest cell that may hold the jobs of a request. A job that is about no
 * metatile has a cell of one. */
tseed_cell_shape_t tseed_join_cell(const tseed_job_t *leader);

/* How many jobs a request serves. */
int tseed_join_count(const tseed_job_t *leader);

/* Puts a job before a list. Returns the list. */
tseed_job_t *tseed_join_push(tseed_job_t *list, tseed_job_t *job);

/* Takes the first job off a list. Returns the rest. */
tseed_job_t *tseed_join_pop(tseed_job_t *job);

/* Makes another job of the same request the one that has the answer. */
void tseed_join_hand_over(tseed_job_t *job, tseed_job_t *leader);

#endif
