/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Joined jobs: lists of jobs, and how they are parted. */
#include "savings/tseed_join.h"

#include "books/tseed_jobs.h"

#define SHARE_LEAST 2 /* a request has at most so many times the tiles that its jobs need */

tseed_job_t *tseed_join_chain(tseed_job_t *list)
{
    list->savings.leader = NULL;
    list->savings.asked = list->metatile.whole;
    for (tseed_job_t *job = list->savings.joined; job; job = job->savings.joined) {
        job->savings.leader = list;
        list->savings.asked = tseed_cells_bound(&list->savings.asked, &job->metatile.whole);
    }
    return list;
}

tseed_job_t *tseed_join_push(tseed_job_t *list, tseed_job_t *job)
{
    job->savings.leader = NULL;
    job->savings.joined = list;
    return job;
}

tseed_job_t *tseed_join_pop(tseed_job_t *job)
{
    tseed_job_t *rest = job->savings.joined;

    job->savings.leader = job->savings.joined = NULL;
    return rest;
}

int tseed_join_count(const tseed_job_t *leader)
{
    int count = 0;

    for (const tseed_job_t *job = leader; job; job = job->savings.joined) {
        count++;
    }
    return count;
}

/* Takes the jobs of the list's first job's cell off the list. */
static tseed_job_t *take_cell(tseed_job_t **list, tseed_cell_shape_t cell)
{
    tseed_job_t *const first = *list;
    const tseed_shape_t *shape = &first->run->positions.shape;
    tseed_job_t *rest = NULL, **rest_end = &rest, **end = &first->savings.joined;

    for (tseed_job_t *job = first->savings.joined, *next; job; job = next) {
        next = job->savings.joined;
        if (tseed_cells_share(shape, &first->metatile.whole, &job->metatile.whole, cell)) {
            *end = job;
            end = &job->savings.joined;
        } else {
            *rest_end = job;
            rest_end = &job->savings.joined;
        }
    }
    *end = *rest_end = NULL;
    *list = rest;
    return first;
}

/* The cell that a request is parted by. */
static tseed_cell_shape_t half_of(const tseed_job_t *leader)
{
    const tseed_shape_t *shape = &leader->run->positions.shape;

    return tseed_cells_half(tseed_cells_around(shape, &leader->savings.asked));
}

/* How many tiles less than a request its halves would ask for. */
static int64_t vain_of(const tseed_job_t *leader)
{
    const tseed_shape_t *shape = &leader->run->positions.shape;
    const tseed_cell_shape_t half = half_of(leader);
    tseed_range_t near = leader->metatile.whole, far = {near.z, 0, 0, -1, -1};

    for (const tseed_job_t *job = leader->savings.joined; job; job = job->savings.joined) {
        const tseed_range_t *whole = &job->metatile.whole;

        if (tseed_cells_share(shape, &leader->metatile.whole, whole, half)) {
            near = tseed_cells_bound(&near, whole);
        } else {
            far = tseed_cells_bound(whole, &far);
        }
    }
    return tseed_range_count(&leader->savings.asked) - tseed_range_count(&near) -
           tseed_range_count(&far);
}

static int is_dense(const tseed_job_t *leader, double price)
{
    const tseed_shape_t *shape = &leader->run->positions.shape;
    int64_t needed = 0;

    for (const tseed_job_t *job = leader; job; job = job->savings.joined) {
        needed += tseed_range_count(&job->metatile.whole);
    }
    return SHARE_LEAST * needed >= tseed_range_count(&leader->savings.asked) &&
           (price < 0 || !leader->savings.joined ||
            (double)vain_of(leader) <= price * shape->meta_width * shape->meta_height);
}

/* What parts of a request take says nothing of the size that was chosen. */
static void forget_step(tseed_job_t *leader)
{
    for (tseed_job_t *job = leader; job; job = job->savings.joined) {
        job->savings.step = -1;
    }
}

/* A cell is halved at most as often as it has metatiles: the recursion is shallow. */
void tseed_join_queue(tseed_queue_t *queue, tseed_job_t *list, tseed_cell_shape_t cell,
                      double price)
{
    while (list) {
        tseed_job_t *leader = tseed_join_chain(take_cell(&list, cell));

        if (is_dense(leader, price)) {
            tseed_queue_put(queue, leader);
        } else {
            forget_step(leader);
            tseed_join_queue(queue, leader, half_of(leader), price);
        }
    }
}

tseed_cell_shape_t tseed_join_cell(const tseed_job_t *leader)
{
    return leader->savings.joined
               ? tseed_cells_around(&leader->run->positions.shape, &leader->savings.asked)
               : (tseed_cell_shape_t){1, 1};
}

void tseed_join_part(tseed_queue_t *queue, tseed_job_t *leader)
{
    forget_step(leader);
    for (tseed_job_t *job = leader; job; job = job->savings.joined) {
        job->savings.why = TSEED_SIZE_FAILED;
    }
    tseed_join_queue(queue, leader, tseed_cells_half(tseed_join_cell(leader)), -1);
}

void tseed_join_hand_over(tseed_job_t *job, tseed_job_t *leader)
{
    if (job != leader) {
        tseed_jobs_move_answer(&job->request.transfer, &leader->request.transfer);
        job->savings.asked = leader->savings.asked;
    }
}

void tseed_join_resume(tseed_job_t *list, tseed_job_t *keeper)
{
    const tseed_range_t asked = keeper ? keeper->savings.asked : list->metatile.whole;

    tseed_join_chain(list);
    if (keeper) {
        tseed_join_hand_over(list, keeper);
        list->savings.asked = asked;
    }
}
