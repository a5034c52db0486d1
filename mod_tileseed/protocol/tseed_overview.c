/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The documents of overview.json and upstreams.json. They say nothing that changes with time alone:
 * no ages and no rests. So a document stays right until something on the board has changed. */
#include "protocol/tseed_overview.h"

#include <apr_strings.h>
#include <math.h>

#include "base/tseed_text.h"
#include "protocol/tseed_answer_parts.h"

/* Beyond these a number or a moment on the board is nonsense. */
#define YEARS (INT64_C(1) << 60)

static void add_moment(tseed_json_t *json, const char *name, apr_time_t monotonic,
                       const tseed_overview_now_t *now)
{
    const int is_possible = monotonic > 0 && monotonic < YEARS;

    tseed_json_time(json, name, is_possible ? now->wall - (now->monotonic - monotonic) : 0);
}

static void add_wall(tseed_json_t *json, const char *name, apr_time_t time)
{
    tseed_json_time(json, name, time > 0 && time < YEARS ? time : 0);
}

/* ---- seeder and tasks ---- */

static void add_seeder(tseed_json_t *json, const tseed_overview_t *overview)
{
    const tseed_overview_seeder_t *seeder = &overview->seeder;

    tseed_json_open(json, "seeder", '{');
    tseed_json_words(json, "state", seeder->state);
    add_moment(json, "since", seeder->since, &overview->now);
    tseed_json_flag(json, "responding", seeder->responds);
    tseed_json_known(json, "pid", seeder->pid > 0, seeder->pid);
    tseed_json_number(json, "starts", seeder->starts);
    tseed_json_text(json, "host", seeder->host);
    tseed_json_words(json, "activeHost", seeder->active);
    tseed_json_raw(json, "tilesPerSecond", apr_psprintf(json->pool, "%.1f", seeder->rate));
    tseed_json_close(json, '}');
}

static void add_task(tseed_json_t *json, const tseed_overview_task_t *task)
{
    const tseed_progress_t *progress = task->progress;

    tseed_json_open(json, NULL, '{');
    tseed_json_number(json, "id", task->id);
    tseed_json_words(json, "layer", task->layer);
    tseed_json_words(json, "type", tseed_task_type_name(task->type));
    tseed_json_words(json, "state", tseed_task_state_name(progress->state));
    tseed_answer_reason(json, progress);
    tseed_json_number(json, "tilesTotal", task->tiles_total);
    tseed_json_number(json, "tilesProcessed", tseed_progress_processed(progress));
    tseed_json_number(json, "tilesFailed", progress->failed);
    tseed_answer_rate(json, task->tiles_total, progress);
    add_wall(json, "started", progress->started);
    tseed_json_close(json, '}');
}

static void add_tasks(tseed_json_t *json, const tseed_overview_t *overview)
{
    tseed_json_number(json, "tasksRunning", overview->seeder.running);
    tseed_json_number(json, "tasksPending", overview->seeder.pending);
    tseed_json_flag(json, "tasksComplete", overview->is_whole);
    tseed_json_open(json, "tasks", '[');
    for (int i = 0; i < overview->tasks->nelts; i++) {
        add_task(json, &APR_ARRAY_IDX(overview->tasks, i, tseed_overview_task_t));
    }
    tseed_json_close(json, ']');
}

/* ---- quota ---- */

static void add_limit(tseed_json_t *json, const tseed_overview_t *overview)
{
    const int64_t files = overview->settings->quota_files;

    tseed_json_open(json, "limit", '{');
    tseed_json_number(json, "bytes", overview->rule->bytes);
    tseed_json_known(json, "files", files < INT64_MAX, files);
    tseed_json_number(json, "minFree", overview->settings->min_free);
    tseed_json_close(json, '}');
}

static void add_used(tseed_json_t *json, const tseed_quota_gauge_t *quota, int64_t limit)
{
    const int64_t left = quota->used_bytes < limit ? limit - quota->used_bytes : 0;

    tseed_json_open(json, "used", '{');
    tseed_json_number(json, "bytes", quota->used_bytes);
    tseed_json_number(json, "files", quota->used_files);
    tseed_json_close(json, '}');
    tseed_json_open(json, "free", '{');
    tseed_json_number(json, "bytes", left);
    tseed_json_known(json, "disk", quota->disk_free >= 0, quota->disk_free);
    tseed_json_close(json, '}');
}

static void add_clean(tseed_json_t *json, const tseed_quota_gauge_t *quota)
{
    if (!quota->clean_started) {
        tseed_json_raw(json, "lastCleanUp", NULL);
        return;
    }
    tseed_json_open(json, "lastCleanUp", '{');
    tseed_json_number(json, "pages", quota->clean_pages);
    tseed_json_number(json, "bytes", quota->clean_bytes);
    tseed_json_number(json, "files", quota->clean_files);
    add_wall(json, "started", quota->clean_started);
    add_wall(json, "finished", quota->clean_last);
    tseed_json_close(json, '}');
}

/* Each member of what is not known is null. */
static void add_unknown(tseed_json_t *json)
{
    static const char *const names[] = {"used",         "free",  "tasksWaiting", "complete",
                                        "pagesInDoubt", "grace", "lastCleanUp"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        tseed_json_raw(json, names[i], NULL);
    }
}

static void add_quota(tseed_json_t *json, const tseed_overview_t *overview)
{
    const tseed_quota_rule_t *rule = overview->rule;
    const tseed_quota_gauge_t *quota = overview->quota;

    if (!rule) {
        tseed_json_raw(json, "quota", NULL);
        return;
    }
    tseed_json_open(json, "quota", '{');
    tseed_json_flag(json, "enabled", rule->enabled != 0);
    tseed_json_words(json, "policy", tseed_policy_name((tseed_policy_t)rule->policy));
    add_limit(json, overview);
    if (quota) {
        add_used(json, quota, rule->bytes);
        tseed_json_number(json, "tasksWaiting", quota->tasks);
        tseed_json_flag(json, "complete", quota->is_complete != 0);
        tseed_json_number(json, "pagesInDoubt", quota->in_doubt);
        add_wall(json, "grace", quota->grace);
        add_clean(json, quota);
    } else {
        add_unknown(json);
    }
    tseed_json_close(json, '}');
}

/* ---- upstreams ---- */

/* Requests a second, with four decimals at most. */
static double rate_of(const tseed_upstream_t *configured)
{
    return rint(1e4 * APR_USEC_PER_SEC / (double)configured->interval) / 1e4;
}

static void add_configured(tseed_json_t *json, const tseed_overview_upstream_t *upstream)
{
    const tseed_upstream_t *configured = upstream->configured;

    tseed_json_known(json, "connections", configured != NULL,
                     configured ? configured->connections : 0);
    tseed_json_raw(json, "rate",
                   configured && configured->interval > 0
                       ? tseed_text_number(rate_of(configured), json->pool)
                       : NULL);
}

static void add_load(tseed_json_t *json, const tseed_upstream_gauge_t *gauge)
{
    tseed_json_known(json, "window", gauge->window > 0, gauge->window);
    tseed_json_raw(json, "usualLatency",
                   gauge->usual > 0
                       ? apr_psprintf(json->pool, "%.3f", (double)gauge->usual / APR_USEC_PER_SEC)
                       : NULL);
    tseed_json_number(json, "requestsUnderWay", gauge->under_way);
    tseed_json_number(json, "requestsQueued", gauge->queued);
    tseed_json_number(json, "tasksWaiting", gauge->tasks);
    tseed_json_number(json, "requests", gauge->requests);
    tseed_json_number(json, "errors", gauge->errors);
    tseed_json_number(json, "recentAnswers", gauge->looked);
    tseed_json_number(json, "recentFailed", gauge->failed);
}

static void add_layers(tseed_json_t *json, const apr_array_header_t *layers)
{
    if (!layers) {
        return;
    }
    tseed_json_open(json, "layers", '[');
    for (int i = 0; i < layers->nelts; i++) {
        tseed_json_text(json, NULL, APR_ARRAY_IDX(layers, i, const char *));
    }
    tseed_json_close(json, ']');
}

static void add_upstreams(tseed_json_t *json, const apr_array_header_t *upstreams,
                          const tseed_overview_now_t *now)
{
    tseed_json_open(json, "upstreams", '[');
    for (int i = 0; i < upstreams->nelts; i++) {
        const tseed_overview_upstream_t *upstream =
            &APR_ARRAY_IDX(upstreams, i, tseed_overview_upstream_t);
        const tseed_upstream_gauge_t *gauge = &upstream->gauge;

        tseed_json_open(json, NULL, '{');
        tseed_json_text(json, "upstream", gauge->name);
        tseed_json_words(json, "state", tseed_upstream_state_name(gauge->state));
        add_moment(json, "since", gauge->since, now);
        tseed_json_words(json, "cause", gauge->cause);
        tseed_json_words(json, "failingLayer", gauge->layer);
        add_load(json, gauge);
        add_moment(json, "lastAnswer", gauge->heard, now);
        add_moment(json, "quietUntil", gauge->quiet_until, now);
        add_moment(json, "nextTry", gauge->next, now);
        add_configured(json, upstream);
        add_layers(json, upstream->layers);
        tseed_json_close(json, '}');
    }
    tseed_json_close(json, ']');
}

/* ---- documents ---- */

const char *tseed_overview_document(const tseed_overview_t *overview, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    add_seeder(&json, overview);
    add_tasks(&json, overview);
    add_quota(&json, overview);
    add_upstreams(&json, overview->upstreams, &overview->now);
    return tseed_json_end(&json);
}

const char *tseed_upstreams_document(const apr_array_header_t *upstreams,
                                     const tseed_overview_now_t *now, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    add_upstreams(&json, upstreams, now);
    return tseed_json_end(&json);
}
