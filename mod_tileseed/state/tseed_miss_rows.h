/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Questions for missing tiles that a host which stands by has written down for the host that works,
 * and the answers.
 *
 *      miss   epoch, number, question, outcome, …   one row a question, until its answer is read
 *
 * A question is known by the epoch of the host that asks and by that host's own number. Both hosts
 * delete rows, so a row that is not there any more is no failure. Statuses as in tseed_state.h.
 * Any thread that has the handle; results live in the pool that a call takes.
 */
#ifndef TSEED_MISS_ROWS_H
#define TSEED_MISS_ROWS_H

#include "state/tseed_state.h"

/* A question, and its answer when there is one. The texts are for the rooms above. */
typedef struct {
    int64_t epoch, number;
    const char *question;
    int outcome; /* 0 or more: the answer; see seeder/tseed_miss.h for it and the next ones */
    int retry_after, upstream;
    const char *cause, *tile;
} tseed_miss_row_t;

/* Writes questions down (an array of tseed_miss_row_t), all or none. Questions that are there
 * already stay as they are. */
apr_status_t tseed_miss_rows_ask(tseed_state_t *state, const apr_array_header_t *rows);

/* The questions of all hosts that have no answer yet, by epoch and number. */
apr_status_t tseed_miss_rows_open(tseed_state_t *state, apr_array_header_t **rows,
                                  apr_pool_t *pool);

/* Writes answers down (an array of tseed_miss_row_t), all or none. A question that somebody is just
 * deleting is left out: it is open or not there afterwards. */
apr_status_t tseed_miss_rows_answer(tseed_state_t *state, const apr_array_header_t *rows);

/* The answers to the questions of one epoch, by number, without the questions. */
apr_status_t tseed_miss_rows_answers(tseed_state_t *state, apr_array_header_t **rows, int64_t epoch,
                                     apr_pool_t *pool);

/* Deletes questions by epoch and number, all or none; all questions of an epoch; those of epochs
 * that no host has that is alive. */
apr_status_t tseed_miss_rows_delete(tseed_state_t *state, const apr_array_header_t *rows);
apr_status_t tseed_miss_rows_delete_all(tseed_state_t *state, int64_t epoch);
apr_status_t tseed_miss_rows_forget(tseed_state_t *state);

#endif
