/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What we answer with. */
#include "protocol/tseed_answer.h"

#include <apr_strings.h>
#include <math.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_document.h"
#include "protocol/tseed_parameters.h"
#include "protocol/tseed_write.h"

#define I64 "%" APR_INT64_T_FMT

const char *tseed_answer_status(const tseed_status_row_t *rows, int count, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    tseed_json_open(&json, "long-array-array", '[');
    for (int i = 0; i < count; i++) {
        const tseed_status_row_t *row = &rows[i];

        tseed_json_raw(&json, NULL,
                       apr_psprintf(pool, "[" I64 "," I64 "," I64 "," I64 ",%d]", row->processed,
                                    row->total, row->total - row->processed, row->id, row->state));
    }
    tseed_json_close(&json, ']');
    return tseed_json_end(&json);
}

/* ---- termination ---- */

static const char *list_item(const tseed_terminated_t *task, apr_pool_t *pool)
{
    static const char *const types[] = {"SEED", "RESEED", "TRUNCATE"};

    return apr_psprintf(pool, "<li>[" I64 ": %s, %s, %s]</li>\n", task->id,
                        tseed_escape_xml(task->layer, pool), types[task->type],
                        tseed_task_state_name(task->before));
}

static void add(apr_array_header_t *pieces, const char *piece)
{
    APR_ARRAY_PUSH(pieces, const char *) = piece;
}

/* The tasks that are confirmed, or those that are not, below a title; nothing if there are none. */
static void add_list(apr_array_header_t *pieces, const char *title, int confirmed,
                     const tseed_terminated_t *tasks, int count)
{
    int listed = 0;

    for (int i = 0; i < count; i++) {
        if (!tasks[i].confirmed != !confirmed) {
            continue;
        }
        if (!listed++) {
            add(pieces, apr_pstrcat(pieces->pool, "<p>", title, ":</p>\n<ul>\n", NULL));
        }
        add(pieces, list_item(&tasks[i], pieces->pool));
    }
    if (listed) {
        add(pieces, "</ul>\n");
    }
}

const char *tseed_answer_kill(const char *code, const tseed_terminated_t *tasks, int count,
                              apr_pool_t *pool)
{
    apr_array_header_t *pieces = apr_array_make(pool, count + 8, sizeof(const char *));

    add(pieces, "<html>\n<head><title>Tile seeding: terminate</title></head>\n<body>\n");
    add(pieces, apr_psprintf(pool, "<p>Requested to terminate tasks: %s.</p>\n", code));
    add_list(pieces, "terminated", 1, tasks, count);
    add_list(pieces, "being terminated", 0, tasks, count);
    if (count == 0) {
        add(pieces, "<p>There was nothing to terminate.</p>\n");
    }
    add(pieces, "</body>\n</html>\n");
    return apr_array_pstrcat(pool, pieces, '\0');
}

/* ---- list and seed forms ---- */

const char *tseed_answer_list(const tseed_status_row_t *rows, int count, apr_pool_t *pool)
{
    apr_array_header_t *pieces = apr_array_make(pool, count + 4, sizeof(const char *));

    add(pieces, "<html>\n<head><title>Tile seeding: tasks</title></head>\n<body>\n");
    add(pieces, count ? "<ul>\n" : "<p>No task is pending or running.</p>\n");
    for (int i = 0; i < count; i++) {
        add(pieces,
            apr_psprintf(pool, "<li>[" I64 ": " I64 " of " I64 " tiles, %s]</li>\n", rows[i].id,
                         rows[i].processed, rows[i].total, tseed_task_state_name(rows[i].state)));
    }
    add(pieces, count ? "</ul>\n</body>\n</html>\n" : "</body>\n</html>\n");
    return apr_array_pstrcat(pool, pieces, '\0');
}

const char *tseed_answer_seed(const tseed_task_t *task, const char *address, apr_pool_t *pool)
{
    return apr_psprintf(
        pool,
        "<html>\n<head><title>Tile seeding: accepted</title></head>\n<body>\n"
        "<p>Task <a href=\"%s\">" I64 "</a>: %s of layer %s, %s, zoom %d to %d, %s, " I64
        " tiles.</p>\n</body>\n</html>\n",
        tseed_escape_xml(address, pool), task->id, tseed_task_type_name(task->type),
        tseed_escape_xml(task->layer, pool), tseed_escape_xml(task->gridset, pool),
        task->zoom_start, task->zoom_stop, tseed_escape_xml(task->format, pool), task->tiles_total);
}

/* ---- one task ---- */

/* Tiles a second: as of late while the task runs, on average when it has ended, with all breaks
 * between. 0: not known. A truncate that renames whole levels away ends within milliseconds: less
 * than a second gives no average. */
static double rate_of(const tseed_progress_t *progress)
{
    const apr_time_t taken = progress->finished - progress->started;

    if (progress->state == TSEED_RUNNING) {
        return (double)progress->rate / 1000;
    }
    return progress->started && taken >= APR_USEC_PER_SEC
               ? (double)tseed_progress_worked(progress) * APR_USEC_PER_SEC / (double)taken
               : 0;
}

static void add_rate(tseed_json_t *json, int64_t total, const tseed_progress_t *progress)
{
    const double rate = rate_of(progress);
    const int64_t left = total - tseed_progress_processed(progress);
    const double seconds = rate > 0 ? ceil((double)left / rate) : 0;

    tseed_json_raw(json, "tilesPerSecond",
                   rate > 0 ? apr_psprintf(json->pool, "%.1f", rate) : NULL);
    if (progress->state == TSEED_DONE) {
        tseed_json_number(json, "secondsRemaining", 0);
    } else if (progress->state == TSEED_RUNNING && rate > 0 && seconds < 9e15) {
        tseed_json_number(json, "secondsRemaining", (int64_t)seconds);
    } else {
        tseed_json_raw(json, "secondsRemaining", NULL);
    }
}

/* Those of the task's levels that are derived. */
static void add_derived(tseed_json_t *json, const tseed_task_t *task)
{
    const int first = task->derived.first, last = task->derived.end - 1;

    tseed_json_levels(json, "derived", first > task->zoom_start ? first : task->zoom_start,
                      last < task->zoom_stop ? last : task->zoom_stop);
}

static void add_reason(tseed_json_t *json, const tseed_progress_t *progress)
{
    tseed_json_words(json, "reason", progress->reason);
    tseed_json_words(json, "reasonCode", tseed_reason_name(progress->reason_code));
}

static void add_request(tseed_json_t *json, const tseed_task_t *task)
{
    tseed_json_words(json, "layer", task->layer);
    tseed_json_words(json, "gridSetId", task->gridset);
    tseed_json_words(json, "format", task->format);
    tseed_json_words(json, "type", tseed_task_type_name(task->type));
    if (task->has_area) {
        tseed_json_bounds(json, "bounds", &task->bounds);
    } else {
        tseed_json_raw(json, "bounds", NULL);
    }
    tseed_json_number(json, "zoomStart", task->zoom_start);
    tseed_json_number(json, "zoomStop", task->zoom_stop);
    add_derived(json, task);
    tseed_json_number(json, "threadCount", task->thread_count);
    tseed_json_raw(json, "parameters", tseed_parameters_save(task->parameters, json->pool));
}

/* How many tiles the latest request of a running task asked for, and why. */
static void add_request_size(tseed_json_t *json, const tseed_progress_t *progress)
{
    const char *why = tseed_size_reason(progress->request_why);

    if (!*why || progress->request_width == 0 || progress->state != TSEED_RUNNING) {
        tseed_json_raw(json, "requestSize", NULL);
        return;
    }
    tseed_json_open(json, "requestSize", '{');
    tseed_json_number(json, "width", progress->request_width);
    tseed_json_number(json, "height", progress->request_height);
    tseed_json_words(json, "reason", why);
    tseed_json_close(json, '}');
}

static void add_counts(tseed_json_t *json, const tseed_task_t *task,
                       const tseed_progress_t *progress)
{
#define COUNT(member, name, wire, is_processed, place) {wire, progress->member},
    const struct {
        const char *wire;
        int64_t value;
    } counts[] = {TSEED_COUNTS(COUNT)};

    tseed_json_number(json, "tilesTotal", task->tiles_total);
    tseed_json_number(json, "tilesProcessed", tseed_progress_processed(progress));
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        tseed_json_number(json, counts[i].wire, counts[i].value);
    }
    add_request_size(json, progress);
}

/* A list of names, whether there are any or not. */
static void add_ignored(tseed_json_t *json, const tseed_task_t *task)
{
    tseed_json_open(json, "ignored", '[');
    for (const char *line = task->ignored; *line;) {
        const size_t length = strcspn(line, "\n");

        tseed_json_text(json, NULL, apr_pstrmemdup(json->pool, line, length));
        line += length + (line[length] == '\n');
    }
    tseed_json_close(json, ']');
}

static void add_task(tseed_json_t *json, const tseed_task_t *task, const tseed_progress_t *progress)
{
    tseed_json_number(json, "id", task->id);
    add_request(json, task);
    tseed_json_words(json, "state", tseed_task_state_name(progress->state));
    add_reason(json, progress);
    add_counts(json, task, progress);
    add_rate(json, task->tiles_total, progress);
    tseed_json_words(json, "requestedBy", task->requested_by);
    add_ignored(json, task);
    tseed_json_time(json, "created", task->created);
    tseed_json_time(json, "started", progress->started);
    tseed_json_time(json, "finished", progress->finished);
    tseed_json_known(json, "retryOf", task->retry_of != 0, task->retry_of);
}

const char *tseed_answer_task(const tseed_task_t *task, const tseed_progress_t *progress,
                              apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    add_task(&json, task, progress);
    return tseed_json_end(&json);
}

static void add_levels(tseed_json_t *json, const apr_array_header_t *levels)
{
    if (!levels) {
        tseed_json_raw(json, "levels", NULL);
        return;
    }
    tseed_json_open(json, "levels", '[');
    for (int i = 0; i < levels->nelts; i++) {
        const tseed_task_level_t *level = &APR_ARRAY_IDX(levels, i, tseed_task_level_t);

        tseed_json_open(json, NULL, '{');
        tseed_json_number(json, "z", level->z);
        tseed_json_number(json, "metatiles", level->metatiles);
        tseed_json_number(json, "finished", level->finished);
        tseed_json_known(json, "tiles", level->tiles >= 0, level->tiles);
        tseed_json_close(json, '}');
    }
    tseed_json_close(json, ']');
}

const char *tseed_answer_task_levels(const tseed_task_t *task, const tseed_progress_t *progress,
                                     const apr_array_header_t *levels, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    add_task(&json, task, progress);
    add_levels(&json, levels);
    return tseed_json_end(&json);
}

const char *tseed_answer_tasks(const apr_array_header_t *records, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    tseed_json_open(&json, "tasks", '[');
    for (int i = 0; i < records->nelts; i++) {
        const tseed_task_record_t *record = &APR_ARRAY_IDX(records, i, tseed_task_record_t);

        tseed_json_raw(&json, NULL, tseed_answer_task(record->task, &record->progress, pool));
    }
    tseed_json_close(&json, ']');
    return tseed_json_end(&json);
}

/* ---- failures ---- */

static void add_failure(tseed_json_t *json, const tseed_failure_t *failure)
{
    tseed_json_open(json, NULL, '{');
    tseed_json_number(json, "z", failure->z);
    tseed_json_number(json, "x", failure->x);
    tseed_json_number(json, "y", failure->y);
    tseed_json_words(json, "cause", failure->cause);
    tseed_json_known(json, "httpStatus", failure->http_status != 0, failure->http_status);
    tseed_json_number(json, "attempts", failure->attempts);
    tseed_json_time(json, "time", failure->time);
    tseed_json_close(json, '}');
}

static void add_cause(tseed_json_t *json, const tseed_cause_t *cause)
{
    tseed_json_open(json, NULL, '{');
    tseed_json_words(json, "cause", cause->cause);
    tseed_json_known(json, "httpStatus", cause->http_status != 0, cause->http_status);
    tseed_json_number(json, "count", cause->count);
    tseed_json_time(json, "first", cause->first);
    tseed_json_time(json, "last", cause->last);
    tseed_json_open(json, "example", '{');
    tseed_json_number(json, "z", cause->z);
    tseed_json_number(json, "x", cause->x);
    tseed_json_number(json, "y", cause->y);
    tseed_json_close(json, '}');
    tseed_json_close(json, '}');
}

static void add_causes(tseed_json_t *json, const tseed_causes_t *causes)
{
    if (!causes) {
        tseed_json_raw(json, "causes", NULL);
        tseed_json_raw(json, "causesOf", NULL);
        return;
    }
    tseed_json_open(json, "causes", '[');
    for (int i = 0; i < causes->list->nelts; i++) {
        add_cause(json, &APR_ARRAY_IDX(causes->list, i, tseed_cause_t));
    }
    tseed_json_close(json, ']');
    tseed_json_number(json, "causesOf", causes->looked);
}

const char *tseed_answer_failures(const apr_array_header_t *failures, const tseed_causes_t *causes,
                                  int64_t total, const char *next, apr_pool_t *pool)
{
    tseed_json_t json = tseed_json_begin(pool);

    tseed_json_open(&json, "failures", '[');
    for (int i = 0; i < failures->nelts; i++) {
        add_failure(&json, &APR_ARRAY_IDX(failures, i, tseed_failure_t));
    }
    tseed_json_close(&json, ']');
    add_causes(&json, causes);
    tseed_json_number(&json, "total", total);
    tseed_json_words(&json, "next", next);
    return tseed_json_end(&json);
}

/* ---- overview and upstreams ----
 * They say nothing that changes with time alone: no ages and no rests. So a document stays right
 * until something on the board has changed. */

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

static void add_under_way(tseed_json_t *json, const tseed_overview_task_t *task)
{
    const tseed_progress_t *progress = task->progress;

    tseed_json_open(json, NULL, '{');
    tseed_json_number(json, "id", task->id);
    tseed_json_words(json, "layer", task->layer);
    tseed_json_words(json, "type", tseed_task_type_name(task->type));
    tseed_json_words(json, "state", tseed_task_state_name(progress->state));
    add_reason(json, progress);
    tseed_json_number(json, "tilesTotal", task->tiles_total);
    tseed_json_number(json, "tilesProcessed", tseed_progress_processed(progress));
    tseed_json_number(json, "tilesFailed", progress->failed);
    add_rate(json, task->tiles_total, progress);
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
        add_under_way(json, &APR_ARRAY_IDX(overview->tasks, i, tseed_overview_task_t));
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
static double upstream_rate(const tseed_upstream_t *configured)
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
                       ? tseed_text_number(upstream_rate(configured), json->pool)
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
        tseed_json_words(json, "failingLayer",
                         gauge->state == TSEED_UPSTREAM_FAILING ? gauge->layer : "");
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
