/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The documents of overview.json and upstreams.json: how the seeder, its tasks, the disk quota and
 * the upstreams are doing just now. Pure ASCII, in `pool`. Any thread. */
#ifndef TSEED_OVERVIEW_H
#define TSEED_OVERVIEW_H

#include "protocol/tseed_gauge.h"
#include "protocol/tseed_settings.h"
#include "protocol/tseed_task.h"

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
