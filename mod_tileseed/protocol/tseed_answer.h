/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Answers: status list, documents of tasks and failures, pages of a termination and of a seed form.
 * Pure ASCII, in `pool`. Any thread. */
#ifndef TSEED_ANSWER_H
#define TSEED_ANSWER_H

#include "protocol/tseed_form.h"
#include "protocol/tseed_task.h"

typedef struct {
    int64_t id, total;
    int64_t processed;
    tseed_task_state_t state;
} tseed_status_row_t;

/* {"long-array-array":[[processed,total,remaining,id,state],…]}; rows ascending by id. */
const char *tseed_answer_status(const tseed_status_row_t *rows, int count, apr_pool_t *pool);

/* The document of tasks/<id>.json. A member that is unknown, or has no meaning in the task's state,
 * is null. While the task runs the rate is the recent one; when it has ended, its average. */
const char *tseed_answer_task(const tseed_task_t *task, const tseed_progress_t *progress,
                              apr_pool_t *pool);

/* The same with `levels`, an array of tseed_task_level_t; NULL: they are not known. */
const char *tseed_answer_task_levels(const tseed_task_t *task, const tseed_progress_t *progress,
                                     const apr_array_header_t *levels, apr_pool_t *pool);

/* {"tasks":[…]}, each as tseed_answer_task has it; of tseed_task_record_t. */
const char *tseed_answer_tasks(const apr_array_header_t *records, apr_pool_t *pool);

/* A page of a task's failures, of tseed_failure_t; `total` counts them all, `next` is the address
 * of the next page or NULL. causes: NULL on pages behind the first. */
const char *tseed_answer_failures(const apr_array_header_t *failures, const tseed_causes_t *causes,
                                  int64_t total, const char *next, apr_pool_t *pool);

/* One task that a termination met. */
typedef struct {
    int64_t id;
    const char *layer;
    tseed_task_type_t type;
    tseed_task_state_t before;
    int confirmed; /* 0: listed under "being terminated" */
} tseed_terminated_t;

/* The page of a termination; `code` is running, pending, all or the id of a task. */
const char *tseed_answer_kill(const char *code, const tseed_terminated_t *tasks, int count,
                              apr_pool_t *pool);

/* The page of a list form: the rows of a status list. */
const char *tseed_answer_list(const tseed_status_row_t *rows, int count, apr_pool_t *pool);

/* The page of a seed form; `address` is that of the task's document. */
const char *tseed_answer_seed(const tseed_task_t *task, const char *address, apr_pool_t *pool);

/* Parameters as the JSON object that the database keeps, and back (NULL when it is not one). */
const char *tseed_parameters_save(const apr_table_t *parameters, apr_pool_t *pool);
apr_table_t *tseed_parameters_load(const char *saved, apr_pool_t *pool);

#endif
