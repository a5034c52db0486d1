/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The seed request, second half: its members judged against the layer. */
#include "protocol/tseed_seed_request.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <limits.h>
#include <string.h>

#include "base/tseed_text.h"
#include "tiling/tseed_positions.h"

#define QUOTE_MAX 100

/* The task that is filled, and the sources of its members. */
typedef struct {
    tseed_task_t *task;
    const tseed_seed_document_t *document;
    const tseed_layer_t *layer;
    const tseed_subset_t *subset;
    const tseed_format_t *format;
    const char *ignored; /* as in tseed_unknown_t */
    int is_above;        /* a truncate of levels above the layer's last one */
    int ends_at_once;    /* at the first failure */
    apr_pool_t *pool;
} request_t;

/* A whole number from `lowest` on (INT_MIN: any); `value` stays as it is when there is none. What
 * an int can't hold counts as the nearest one that it can. */
static const char *read_whole(int *value, const char *name, const char *text, int lowest,
                              apr_pool_t *pool)
{
    int64_t number;

    if (!text) {
        return NULL;
    }
    if (tseed_text_int64(&number, text, INT64_MIN, INT64_MAX) != 0 ||
        (number < lowest && lowest > INT_MIN)) {
        return apr_psprintf(pool, "%s must be a whole number%s, not '%s'", name,
                            lowest > INT_MIN ? apr_psprintf(pool, " from %d on", lowest) : "",
                            tseed_text_quote(text, QUOTE_MAX, pool));
    }
    *value = (int)(number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : number);
    return NULL;
}

/* ---- grid set ---- */

/* The names of the layer's grid sets, or of those of one reference system. */
static const char *list_gridsets(const tseed_layer_t *layer, const int64_t *srs, apr_pool_t *pool)
{
    const char *list = NULL;

    for (int i = 0; i < layer->subsets->nelts; i++) {
        const tseed_gridset_t *gridset = APR_ARRAY_IDX(layer->subsets, i, tseed_subset_t).gridset;

        if (!srs || tseed_srs_same(gridset->srs, *srs)) {
            list = list ? apr_pstrcat(pool, list, ", ", gridset->name, NULL) : gridset->name;
        }
    }
    return list;
}

static const char *find_by_srs(request_t *request)
{
    const apr_array_header_t *subsets = request->layer->subsets;
    const char *text = request->document->srs;
    apr_pool_t *pool = request->pool;
    int64_t srs;

    if (tseed_text_int64(&srs, text, 0, INT64_MAX) != 0) {
        return apr_psprintf(pool, "srs number must be an EPSG code such as 4326, not '%s'",
                            tseed_text_quote(text, QUOTE_MAX, pool));
    }
    for (int i = 0; i < subsets->nelts; i++) {
        const tseed_subset_t *subset = &APR_ARRAY_IDX(subsets, i, tseed_subset_t);

        if (!tseed_srs_same(subset->gridset->srs, srs)) {
            continue;
        }
        if (request->subset) {
            return apr_psprintf(pool,
                                "gridSetId must be specified: srs %" APR_INT64_T_FMT " fits %s",
                                srs, list_gridsets(request->layer, &srs, pool));
        }
        request->subset = subset;
    }
    return request->subset
               ? NULL
               : apr_psprintf(pool, "No grid set for srs %" APR_INT64_T_FMT ". Layer %s has %s",
                              srs, request->layer->name, list_gridsets(request->layer, NULL, pool));
}

static const char *find_by_name(request_t *request)
{
    const tseed_layer_t *layer = request->layer;
    const char *name = request->document->gridset;

    request->subset = name ? tseed_layer_find_subset(layer, name)
                           : &APR_ARRAY_IDX(layer->subsets, 0, tseed_subset_t);
    return request->subset ? NULL
                           : apr_psprintf(request->pool, "Unknown gridSetId: '%s'. Layer %s has %s",
                                          tseed_text_quote(name, QUOTE_MAX, request->pool),
                                          layer->name, list_gridsets(layer, NULL, request->pool));
}

/* Whether `text` is the EPSG code of the grid set that was found. */
static int is_own_srs(const request_t *request, const char *text)
{
    int64_t srs;

    return tseed_text_int64(&srs, text, 0, INT64_MAX) == 0 &&
           tseed_srs_same(request->subset->gridset->srs, srs);
}

static const char *resolve_gridset(request_t *request)
{
    const tseed_seed_document_t *document = request->document;
    const int has_name = document->gridset != NULL;
    const char *problem = !has_name && document->srs ? find_by_srs(request) : find_by_name(request);

    if (!problem && has_name && document->srs && !is_own_srs(request, document->srs)) {
        tseed_members_note(&request->ignored, "srs", request->pool);
    }
    if (!problem && document->bounds_srs && !is_own_srs(request, document->bounds_srs)) {
        problem = apr_psprintf(
            request->pool,
            "bounds.srs must be that of grid set %s, EPSG code %" APR_INT64_T_FMT ", not '%s'",
            request->subset->gridset->name, (int64_t)request->subset->gridset->srs,
            tseed_text_quote(document->bounds_srs, QUOTE_MAX, request->pool));
    }
    return problem;
}

/* ---- where: zooms and bounds ---- */

static const char *resolve_zooms(request_t *request)
{
    const tseed_seed_document_t *document = request->document;
    const int first = request->subset->zoom_first, last = request->subset->zoom_last;
    int start = first, stop = last;
    const char *problem =
        read_whole(&start, "zoomStart", document->zoom_start, INT_MIN, request->pool);

    if (!problem) {
        problem = read_whole(&stop, "zoomStop", document->zoom_stop, INT_MIN, request->pool);
    }
    if (problem) {
        return problem;
    }
    if (document->zoom_start && document->zoom_stop && start > stop) {
        return apr_psprintf(request->pool, "zoomStart %d is greater than zoomStop %d", start, stop);
    }
    request->is_above = start > last && request->task->type == TSEED_TRUNCATE;
    if ((start > last && !request->is_above) || stop < first) {
        return apr_psprintf(request->pool, "%s %d: layer %s has no such level in %s, but %d to %d",
                            start > last ? "zoomStart" : "zoomStop", start > last ? start : stop,
                            request->layer->name, request->subset->gridset->name, first, last);
    }
    request->task->zoom_start = start < first ? first : start > last ? last : start;
    request->task->zoom_stop = stop > last ? last : stop;
    return NULL;
}

static const char *read_coords(tseed_bounds_t *bounds, const apr_array_header_t *coords,
                               apr_pool_t *pool)
{
    double *const fields[] = {&bounds->minx, &bounds->miny, &bounds->maxx, &bounds->maxy};

    if (coords->nelts != 4) {
        return apr_psprintf(pool, "bounds must be four numbers, minx, miny, maxx, maxy: %d found",
                            coords->nelts);
    }
    for (int i = 0; i < 4; i++) {
        const char *text = APR_ARRAY_IDX(coords, i, const char *);

        if (tseed_text_double(fields[i], text) != 0) {
            return apr_psprintf(pool,
                                "bounds must be four numbers, minx, miny, maxx, maxy: '%s' "
                                "is none",
                                tseed_text_quote(text, QUOTE_MAX, pool));
        }
    }
    if (bounds->minx > bounds->maxx || bounds->miny > bounds->maxy) {
        const int x = bounds->minx > bounds->maxx;

        return apr_psprintf(pool, "bounds: %s %s is greater than %s %s", x ? "minx" : "miny",
                            APR_ARRAY_IDX(coords, x ? 0 : 1, const char *), x ? "maxx" : "maxy",
                            APR_ARRAY_IDX(coords, x ? 2 : 3, const char *));
    }
    return NULL;
}

/* An area that only touches the extent from outside is cut to a line: nothing is left of it. */
static int is_area_lost(const tseed_bounds_t *before, const tseed_bounds_t *after)
{
    return (after->minx == after->maxx && before->minx < before->maxx) ||
           (after->miny == after->maxy && before->miny < before->maxy);
}

static const char *resolve_bounds(request_t *request)
{
    tseed_task_t *task = request->task;
    tseed_bounds_t asked;
    const char *problem;

    task->bounds = request->subset->extent;
    task->has_area = !request->is_above;
    if (!request->document->coords) {
        return NULL;
    }
    problem = read_coords(&asked, request->document->coords, request->pool);
    if (problem) {
        return problem;
    }
    task->has_area = !request->is_above &&
                     tseed_bounds_intersect(&task->bounds, &asked, &request->subset->extent) &&
                     !is_area_lost(&asked, &task->bounds);
    if (!task->has_area) {
        task->bounds = asked;
    }
    return NULL;
}

/* ---- what and how ---- */

/* A truncate without a member that might limit it would remove more than was said. */
static const char *refuse_dropped(const request_t *request)
{
    const char *name = request->document->unknown.dropped;

    return name ? apr_psprintf(request->pool,
                               "Unknown member: '%s'. A truncate is refused rather than done "
                               "without it: leave it out if it says nothing",
                               name)
                : NULL;
}

static const char *resolve_type(request_t *request)
{
    const char *type = request->document->type;

    if (!type) {
        return NULL; /* 0 is a seed */
    }
    for (int i = TSEED_SEED; i <= TSEED_TRUNCATE; i++) {
        if (apr_cstr_casecmp(type, tseed_task_type_name(i)) == 0) {
            request->task->type = i;
            return i == TSEED_TRUNCATE ? refuse_dropped(request) : NULL;
        }
    }
    return apr_psprintf(request->pool,
                        "Unknown type: '%s'. One of seed|reseed|truncate is expected",
                        tseed_text_quote(type, QUOTE_MAX, request->pool));
}

static const char *resolve_format(request_t *request)
{
    const apr_array_header_t *formats = request->layer->formats;
    const char *mime = request->document->format;
    const char *list = "";

    request->format = mime ? tseed_layer_find_format(request->layer, mime)
                           : &APR_ARRAY_IDX(formats, 0, tseed_format_t);
    if (request->format) {
        return NULL;
    }
    for (int i = 0; i < formats->nelts; i++) {
        list = apr_pstrcat(request->pool, list, i ? ", " : "",
                           APR_ARRAY_IDX(formats, i, tseed_format_t).mime, NULL);
    }
    return apr_psprintf(request->pool, "Unknown format: '%s'. Layer %s has %s",
                        tseed_text_quote(mime, QUOTE_MAX, request->pool), request->layer->name,
                        list);
}

static const char *resolve_threads(request_t *request)
{
    tseed_task_t *task = request->task;
    const char *problem;

    task->thread_count = 1;
    problem = read_whole(&task->thread_count, "threadCount", request->document->thread_count,
                         INT_MIN, request->pool);
    if (task->thread_count < 1 || task->type == TSEED_TRUNCATE) {
        task->thread_count = 1;
    }
    return problem;
}

static const char *resolve_failures(request_t *request)
{
    const tseed_seed_document_t *document = request->document;
    tseed_task_t *task = request->task;
    int wait = 0, limit = -1;
    const char *problem;

    task->retries = request->layer->retries;
    task->failure_limit = request->layer->failure_limit;
    problem = read_whole(&task->retries, "tileFailureRetryCount", document->retry_count, -1,
                         request->pool);
    if (!problem) {
        problem =
            read_whole(&wait, "tileFailureRetryWaitTime", document->retry_wait, 0, request->pool);
        task->retry_wait = apr_time_from_msec((apr_interval_time_t)wait);
    }
    if (!problem && document->failure_limit) {
        problem = read_whole(&limit, "totalFailuresBeforeAborting", document->failure_limit, -1,
                             request->pool);
        task->failure_limit = limit;
    }
    if (task->retries == -1) { /* what GeoWebCache's page fills in: none, and the first failure is
                                * the end */
        task->retries = 0;
        task->failure_limit = 0;
        request->ends_at_once = 1;
    }
    return problem;
}

/* ---- the task ---- */

static int64_t share_of(int64_t count, int64_t percent)
{
    return count / 100 * percent + count % 100 * percent / 100;
}

/* Notes in the task the configuration with which it is accepted. */
static void take_snapshot(request_t *request)
{
    const tseed_layer_t *layer = request->layer;
    const tseed_gridset_t *gridset = request->subset->gridset;
    tseed_task_t *task = request->task;
    const tseed_shape_t shape = {task->zoom_start, task->zoom_stop, layer->meta_width,
                                 layer->meta_height};
    tseed_positions_t positions;

    task->layer = layer->name;
    task->gridset = gridset->name;
    task->format = request->format->mime;
    task->meta_width = layer->meta_width;
    task->meta_height = layer->meta_height;
    task->gutter = layer->gutter;
    if (task->type != TSEED_TRUNCATE) {
        task->derived = layer->derived;
    }
    task->gridset_print = tseed_gridset_print(gridset, request->pool);
    task->store_print = tseed_store_layout_print(&layer->store, request->pool);
    task->requested_by = "";
    task->ignored = request->ignored ? request->ignored : "";
    if (task->has_area) {
        tseed_positions_init_derived(&positions, gridset, &task->bounds, &shape, &task->derived);
        task->tiles_total = positions.tiles;
        if (!request->document->failure_limit && !request->ends_at_once &&
            layer->failure_is_share) {
            task->failure_limit = share_of(positions.count, layer->failure_limit);
        }
    }
}

const char *tseed_seed_document_resolve(tseed_task_t *task, tseed_tileset_t *tileset,
                                        const tseed_seed_document_t *document,
                                        const tseed_layer_t *layer, apr_pool_t *pool)
{
    static const char *(*const steps[])(request_t *) = {
        resolve_type,   resolve_gridset, resolve_zooms,   resolve_bounds,
        resolve_format, resolve_threads, resolve_failures};
    request_t request = {.task = task,
                         .document = document,
                         .layer = layer,
                         .ignored = document->unknown.ignored,
                         .pool = pool};
    const char *problem = NULL;

    memset(task, 0, sizeof(*task));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !problem; i++) {
        problem = steps[i](&request);
    }
    if (!problem) {
        problem = tseed_tileset_init(tileset, layer, request.subset, request.format,
                                     document->parameters, pool);
    }
    if (!problem) {
        task->parameters = tileset->parameters;
        take_snapshot(&request);
    }
    return problem;
}
