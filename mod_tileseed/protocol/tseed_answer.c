/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What we answer with, written piece by piece into an array and joined once. */
#include "protocol/tseed_answer.h"

#include <apr_strings.h>
#include <math.h>
#include <string.h>

#include "base/tseed_text.h"
#include "protocol/tseed_document.h"
#include "protocol/tseed_pieces.h"

#define I64 "%" APR_INT64_T_FMT

const char *tseed_answer_status(const tseed_status_row_t *rows, int count, apr_pool_t *pool)
{
    apr_array_header_t *pieces = apr_array_make(pool, count + 2, sizeof(const char *));

    add(pieces, "{\"long-array-array\":[");
    for (int i = 0; i < count; i++) {
        const tseed_status_row_t *row = &rows[i];

        add(pieces, apr_psprintf(pool, "%s[" I64 "," I64 "," I64 "," I64 ",%d]", i ? "," : "",
                                 row->processed, row->total, row->total - row->processed, row->id,
                                 row->state));
    }
    add(pieces, "]}");
    return apr_array_pstrcat(pool, pieces, '\0');
}

/* ---- termination ---- */

static const char *list_item(const tseed_terminated_t *task, apr_pool_t *pool)
{
    static const char *const types[] = {"SEED", "RESEED", "TRUNCATE"};

    return apr_psprintf(pool, "<li>[" I64 ": %s, %s, %s]</li>\n", task->id,
                        tseed_escape_xml(task->layer, pool), types[task->type],
                        tseed_task_state_name(task->before));
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

/* ---- seed form ---- */

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

static void add_bounds(apr_array_header_t *pieces, const tseed_task_t *task)
{
    const tseed_bounds_t *bounds = &task->bounds;
    apr_pool_t *pool = pieces->pool;

    if (!task->has_area) {
        add(pieces, ",\"bounds\":null");
        return;
    }
    add(pieces,
        apr_psprintf(pool, ",\"bounds\":[%s,%s,%s,%s]", tseed_text_number(bounds->minx, pool),
                     tseed_text_number(bounds->miny, pool), tseed_text_number(bounds->maxx, pool),
                     tseed_text_number(bounds->maxy, pool)));
}

/* Tiles a second: as of late while the task runs, on average when it has ended, with all breaks
 * between. 0: not known. */
static double rate_of(const tseed_progress_t *progress)
{
    const apr_time_t taken = progress->finished - progress->started;

    if (progress->state == TSEED_RUNNING) {
        return (double)progress->pace / 1000;
    }
    return progress->started && taken > 0
               ? (double)tseed_progress_processed(progress) * APR_USEC_PER_SEC / (double)taken
               : 0;
}

static void add_pace(apr_array_header_t *pieces, const tseed_task_t *task,
                     const tseed_progress_t *progress)
{
    const double rate = rate_of(progress);
    const int64_t left = task->tiles_total - tseed_progress_processed(progress);
    const double seconds = rate > 0 ? ceil((double)left / rate) : 0;

    add(pieces, rate > 0 ? apr_psprintf(pieces->pool, ",\"tilesPerSecond\":%.1f", rate)
                         : ",\"tilesPerSecond\":null");
    if (progress->state == TSEED_DONE) {
        add_number(pieces, "secondsRemaining", 0);
    } else if (progress->state == TSEED_RUNNING && rate > 0 && seconds < 9e15) {
        add_number(pieces, "secondsRemaining", (int64_t)seconds);
    } else {
        add(pieces, ",\"secondsRemaining\":null");
    }
}

static void add_request(apr_array_header_t *pieces, const tseed_task_t *task)
{
    add_string(pieces, "layer", task->layer);
    add_string(pieces, "gridSetId", task->gridset);
    add_string(pieces, "format", task->format);
    add_string(pieces, "type", tseed_task_type_name(task->type));
    add_bounds(pieces, task);
    add_number(pieces, "zoomStart", task->zoom_start);
    add_number(pieces, "zoomStop", task->zoom_stop);
    add_number(pieces, "threadCount", task->thread_count);
    add(pieces, apr_pstrcat(pieces->pool, ",\"parameters\":",
                            tseed_parameters_save(task->parameters, pieces->pool), NULL));
}

static void add_counts(apr_array_header_t *pieces, const tseed_task_t *task,
                       const tseed_progress_t *progress)
{
    add_number(pieces, "tilesTotal", task->tiles_total);
    add_number(pieces, "tilesProcessed", tseed_progress_processed(progress));
    add_number(pieces, "tilesMade", progress->made);
    add_number(pieces, "tilesSkipped", progress->skipped);
    add_number(pieces, "tilesUnchanged", progress->unchanged);
    add_number(pieces, "tilesRemoved", progress->removed);
    add_number(pieces, "tilesFailed", progress->failed);
    add_number(pieces, "bytes", progress->bytes);
    add_number(pieces, "upstreamRequests", progress->requests);
}

/* A list of names, whether there are any or not. */
static void add_ignored(apr_array_header_t *pieces, const tseed_task_t *task)
{
    apr_pool_t *pool = pieces->pool;

    add(pieces, ",\"ignored\":[");
    for (const char *line = task->ignored; *line;) {
        const size_t length = strcspn(line, "\n");

        add(pieces, line == task->ignored ? "" : ",");
        add(pieces, tseed_escape_json(apr_pstrmemdup(pool, line, length), pool));
        line += length + (line[length] == '\n');
    }
    add(pieces, "]");
}

const char *tseed_answer_task(const tseed_task_t *task, const tseed_progress_t *progress,
                              apr_pool_t *pool)
{
    apr_array_header_t *pieces = apr_array_make(pool, 32, sizeof(const char *));

    add(pieces, apr_psprintf(pool, "{\"id\":" I64, task->id));
    add_request(pieces, task);
    add_string(pieces, "state", tseed_task_state_name(progress->state));
    add_string(pieces, "reason", progress->reason);
    add_counts(pieces, task, progress);
    add_pace(pieces, task, progress);
    add_string(pieces, "requestedBy", task->requested_by);
    add_ignored(pieces, task);
    add_time(pieces, "created", task->created);
    add_time(pieces, "started", progress->started);
    add_time(pieces, "finished", progress->finished);
    if (task->retry_of) {
        add_number(pieces, "retryOf", task->retry_of);
    } else {
        add(pieces, ",\"retryOf\":null");
    }
    add(pieces, "}");
    return apr_array_pstrcat(pool, pieces, '\0');
}

const char *tseed_answer_tasks(const apr_array_header_t *records, apr_pool_t *pool)
{
    apr_array_header_t *pieces = apr_array_make(pool, 2 * records->nelts + 2, sizeof(const char *));

    add(pieces, "{\"tasks\":[");
    for (int i = 0; i < records->nelts; i++) {
        const tseed_task_record_t *record = &APR_ARRAY_IDX(records, i, tseed_task_record_t);

        add(pieces, i ? "," : "");
        add(pieces, tseed_answer_task(record->task, &record->progress, pool));
    }
    add(pieces, "]}");
    return apr_array_pstrcat(pool, pieces, '\0');
}

/* ---- failures ---- */

static void add_failure(apr_array_header_t *pieces, const tseed_failure_t *failure)
{
    apr_pool_t *pool = pieces->pool;

    add(pieces, apr_psprintf(pool, "{\"z\":%d,\"x\":" I64 ",\"y\":" I64, failure->z, failure->x,
                             failure->y));
    add_string(pieces, "cause", failure->cause);
    if (failure->http_status) {
        add_number(pieces, "httpStatus", failure->http_status);
    } else {
        add(pieces, ",\"httpStatus\":null");
    }
    add_number(pieces, "attempts", failure->attempts);
    add_time(pieces, "time", failure->time);
    add(pieces, "}");
}

const char *tseed_answer_failures(const apr_array_header_t *failures, int64_t total,
                                  const char *next, apr_pool_t *pool)
{
    apr_array_header_t *pieces =
        apr_array_make(pool, 8 * failures->nelts + 8, sizeof(const char *));

    add(pieces, "{\"failures\":[");
    for (int i = 0; i < failures->nelts; i++) {
        add(pieces, i ? "," : "");
        add_failure(pieces, &APR_ARRAY_IDX(failures, i, tseed_failure_t));
    }
    add(pieces, "]");
    add_number(pieces, "total", total);
    add_string(pieces, "next", next);
    add(pieces, "}");
    return apr_array_pstrcat(pool, pieces, '\0');
}

/* ---- parameters ---- */

const char *tseed_parameters_save(const apr_table_t *parameters, apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(parameters);
    apr_array_header_t *pieces = apr_array_make(pool, entries->nelts + 2, sizeof(const char *));

    add(pieces, "{");
    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        add(pieces, apr_pstrcat(pool, i ? "," : "", tseed_escape_json(entry->key, pool), ":",
                                tseed_escape_json(entry->val, pool), NULL));
    }
    add(pieces, "}");
    return apr_array_pstrcat(pool, pieces, '\0');
}

apr_table_t *tseed_parameters_load(const char *saved, apr_pool_t *pool)
{
    const char *document = apr_pstrcat(pool, "{\"parameters\":", saved, "}", NULL);
    apr_table_t *parameters = apr_table_make(pool, 4);
    tseed_node_t *root;

    if (tseed_document_read(&root, TSEED_BODY_JSON, document, strlen(document), pool) != NULL) {
        return NULL;
    }
    for (const tseed_node_t *node = root->children; node; node = node->next) {
        apr_table_addn(parameters, node->name, node->text);
    }
    return parameters;
}
