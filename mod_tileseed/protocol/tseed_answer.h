/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Answers: status list, documents of tasks and failures, pages of a termination and of a seed form,
 * and overview.json and upstreams.json: how the seeder, its tasks, the disk quota and the upstreams
 * are doing just now. Pure ASCII, in `pool`. Any thread. */
#ifndef TSEED_ANSWER_H
#define TSEED_ANSWER_H

#include "protocol/tseed_form.h"
#include "protocol/tseed_gauge.h"
#include "protocol/tseed_settings.h"
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

/* ---- overview and upstreams ---- */

/* Tasks in one document. */
#define TSEED_OVERVIEW_TASKS 200

/* The moment at which a document is made, by both clocks: moments of the monotonic clock are shown
 * by the wall clock. */
typedef struct {
    apr_time_t monotonic, wall;
} tseed_overview_now_t;

/* A task under way. */
typedef struct {
    int64_t id, tiles_total;
    const char *layer;
    tseed_task_type_t type;
    const tseed_progress_t *progress;
} tseed_overview_task_t;

/* An upstream. */
typedef struct {
    tseed_upstream_gauge_t gauge;       /* zeroed but for the name: the seeder has not asked it */
    const tseed_upstream_t *configured; /* NULL: it is configured no more */
    apr_array_header_t *layers;         /* of const char *: that use it; NULL: not to be shown */
} tseed_overview_upstream_t;

typedef struct {
    const char *state;    /* "WORKING" and so on */
    apr_time_t since;     /* monotonic; 0: never */
    int responds;         /* it has given a sign of life lately */
    int64_t pid, starts;  /* of seeders on this board; 0: none */
    const char *host;     /* this one, */
    const char *active;   /* and the one that works; "": none does */
    int running, pending; /* tasks */
    double rate;          /* tiles a second, of all tasks that are running */
} tseed_overview_seeder_t;

typedef struct {
    tseed_overview_now_t now;
    tseed_overview_seeder_t seeder;
    apr_array_header_t *tasks; /* of tseed_overview_task_t, RUNNING ones first */
    int is_whole;              /* the tasks are all that there are */
    const tseed_settings_t *settings;
    const tseed_quota_rule_t *rule;      /* NULL: not known yet */
    const tseed_quota_gauge_t *quota;    /* NULL: not known yet, or about layers that are not to be
                                         * shown */
    const apr_array_header_t *upstreams; /* of tseed_overview_upstream_t */
} tseed_overview_t;

/* The document of overview.json. */
const char *tseed_overview_document(const tseed_overview_t *overview, apr_pool_t *pool);

/* The document of upstreams.json, of tseed_overview_upstream_t. */
const char *tseed_upstreams_document(const apr_array_header_t *upstreams,
                                     const tseed_overview_now_t *now, apr_pool_t *pool);

#endif
