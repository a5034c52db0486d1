/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* History: lists of tasks and of failed metatiles, tasks that retry these, and forgetting them. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_text.h"
#include "state/tseed_record.h"
#include "state/tseed_work.h"

#define CHUNK       512 /* failures that are read at a time */
#define CAUSES_MOST 50
#define CAUSES_KEPT 1000 /* different ones, until the most frequent are known */
#define CAUSES_OF   100000

/* ---- tasks ---- */

typedef struct {
    apr_array_header_t *records;
    const tseed_task_query_t *query;
    const apr_array_header_t *layers;
} find_t;

/* Adds the newest tasks of a layer (NULL: all). */
static apr_status_t find_some(tseed_state_t *state, find_t *call, const char *layer)
{
    const tseed_task_query_t *query = call->query;
    const int none = TSEED_DONE + 1;
    int states[TSEED_DONE - TSEED_ABORTED + 1];
    const void *args[] = {&query->before, &states[0],    &states[1],   &states[2],
                          &states[3],     &query->limit, &query->limit};

    for (int i = TSEED_ABORTED; i <= TSEED_DONE; i++) {
        states[i - TSEED_ABORTED] = query->states & TSEED_STATE_BIT(i) ? i : none;
    }
    if (layer) {
        args[5] = layer;
    }
    return tseed_work_add_rows(state, call->records, tseed_record_load,
                               layer ? TSEED_SQL_TASKS_BEFORE_OF_LAYER : TSEED_SQL_TASKS_BEFORE,
                               args);
}

static int newest_first(const void *a, const void *b)
{
    int64_t left = ((const tseed_task_record_t *)a)->task->id;
    int64_t right = ((const tseed_task_record_t *)b)->task->id;

    return (left < right) - (left > right);
}

static apr_status_t find(tseed_state_t *state, void *baton)
{
    find_t *call = baton;
    apr_array_header_t *records = call->records;
    apr_status_t rv = APR_SUCCESS;

    apr_array_clear(records);
    if (!call->layers) {
        return find_some(state, call, NULL);
    }
    for (int i = 0; rv == APR_SUCCESS && i < call->layers->nelts; i++) {
        rv = find_some(state, call, APR_ARRAY_IDX(call->layers, i, const char *));
    }
    qsort(records->elts, (size_t)records->nelts, (size_t)records->elt_size, newest_first);
    if (records->nelts > call->query->limit) {
        records->nelts = (int)call->query->limit;
    }
    return rv;
}

apr_status_t tseed_state_find(tseed_state_t *state, apr_array_header_t **records,
                              const tseed_task_query_t *query, const apr_array_header_t *layers,
                              apr_pool_t *pool)
{
    find_t call = {apr_array_make(pool, 16, sizeof(tseed_task_record_t)), query, layers};

    *records = call.records;
    return tseed_work_read(state, find, &call);
}

/* ---- failures ---- */

typedef struct {
    apr_array_header_t *failures;
    int64_t *total;
    int64_t task;
    const tseed_failure_query_t *query;
} failures_t;

static void load_failure(void *row, tseed_rows_t *rows)
{
    tseed_failure_t *failure = row;

    tseed_rows_scan(rows, &failure->task, &failure->z, &failure->x, &failure->y, &failure->cause,
                    &failure->http_status, &failure->attempts, &failure->time);
}

static apr_status_t load_failures(tseed_state_t *state, const failures_t *call)
{
    const tseed_failure_query_t *query = call->query;
    const void *args[] = {&call->task, &query->z, &query->x, &query->y, &query->limit};

    apr_array_clear(call->failures);
    return tseed_work_add_rows(state, call->failures, load_failure, TSEED_SQL_FAILURES_AFTER, args);
}

static apr_status_t load_page(tseed_state_t *state, void *baton)
{
    const failures_t *call = baton;
    apr_status_t rv = tseed_work_number(state, call->total, TSEED_SQL_FAILURES_COUNT,
                                        (const void *[]){&call->task});

    return rv == APR_SUCCESS ? load_failures(state, baton) : rv;
}

apr_status_t tseed_state_failures(tseed_state_t *state, apr_array_header_t **failures,
                                  int64_t *total, int64_t task, const tseed_failure_query_t *query,
                                  apr_pool_t *pool)
{
    failures_t call = {apr_array_make(pool, 16, sizeof(tseed_failure_t)), total, task, query};

    *failures = call.failures;
    return tseed_work_read(state, load_page, &call);
}

/* ---- causes ---- */

typedef struct {
    tseed_causes_t *causes;
    apr_hash_t *known; /* status and cause -> place in the list, an int * */
    int64_t task;
} causes_t;

/* The entry of a failure's cause; NULL: there are too many different ones. */
static tseed_cause_t *find_cause(causes_t *call, const tseed_failure_t *failure,
                                 apr_pool_t *scratch)
{
    apr_array_header_t *list = call->causes->list;
    const char *key = apr_psprintf(scratch, "%d %s", failure->http_status, failure->cause);
    const int *place = apr_hash_get(call->known, key, APR_HASH_KEY_STRING);
    tseed_cause_t *cause;

    if (place) {
        return &APR_ARRAY_IDX(list, *place, tseed_cause_t);
    }
    if (list->nelts == CAUSES_KEPT) {
        return NULL;
    }
    apr_hash_set(call->known, apr_pstrdup(list->pool, key), APR_HASH_KEY_STRING,
                 apr_pmemdup(list->pool, &list->nelts, sizeof(list->nelts)));
    cause = apr_array_push(list);
    *cause = (tseed_cause_t){.cause = apr_pstrdup(list->pool, failure->cause),
                             .http_status = failure->http_status,
                             .first = failure->time,
                             .last = failure->time,
                             .z = failure->z,
                             .x = failure->x,
                             .y = failure->y};
    return cause;
}

static void add_to_cause(causes_t *call, const tseed_failure_t *failure, apr_pool_t *scratch)
{
    tseed_cause_t *cause = find_cause(call, failure, scratch);

    call->causes->looked++;
    if (cause) {
        cause->count++;
        cause->first = failure->time < cause->first ? failure->time : cause->first;
        cause->last = failure->time > cause->last ? failure->time : cause->last;
    }
}

/* Those that came as often stay in the order of their examples. */
static int most_frequent_first(const void *a, const void *b)
{
    const tseed_cause_t *left = a, *right = b;

    if (left->count != right->count) {
        return left->count < right->count ? 1 : -1;
    }
    return left->z != right->z   ? left->z - right->z
           : left->x != right->x ? (left->x > right->x) - (left->x < right->x)
                                 : (left->y > right->y) - (left->y < right->y);
}

static apr_status_t load_causes(tseed_state_t *state, void *baton)
{
    causes_t *call = baton;
    tseed_failure_query_t page = {.limit = CHUNK, .z = -1};
    apr_status_t rv = APR_SUCCESS;
    int count;

    apr_array_clear(call->causes->list);
    apr_hash_clear(call->known);
    call->causes->looked = 0;
    do {
        failures_t failures = {apr_array_make(state->scratch, CHUNK, sizeof(tseed_failure_t)), NULL,
                               call->task, &page};

        rv = load_failures(state, &failures);
        count = failures.failures->nelts;
        for (int i = 0; rv == APR_SUCCESS && i < count; i++) {
            const tseed_failure_t *failure = &APR_ARRAY_IDX(failures.failures, i, tseed_failure_t);

            page = (tseed_failure_query_t){CHUNK, failure->z, failure->x, failure->y};
            add_to_cause(call, failure, state->scratch);
        }
        apr_pool_clear(state->scratch);
    } while (rv == APR_SUCCESS && count == CHUNK && call->causes->looked < CAUSES_OF);
    return rv;
}

apr_status_t tseed_state_causes(tseed_state_t *state, tseed_causes_t *causes, int64_t task,
                                apr_pool_t *pool)
{
    causes_t call = {causes, apr_hash_make(pool), task};
    apr_status_t rv;

    causes->list = apr_array_make(pool, 4, sizeof(tseed_cause_t));
    rv = tseed_work_read(state, load_causes, &call);
    qsort(causes->list->elts, (size_t)causes->list->nelts, sizeof(tseed_cause_t),
          most_frequent_first);
    if (causes->list->nelts > CAUSES_MOST) {
        causes->list->nelts = CAUSES_MOST;
    }
    return rv;
}

/* ---- retry ---- */

typedef struct {
    int64_t *levels;
    int64_t task;
} metatile_levels_t;

static apr_status_t load_metatile_levels(tseed_state_t *state, void *baton)
{
    const metatile_levels_t *call = baton;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(&rows, &state->db, TSEED_SQL_METATILES_BY_LEVEL,
                                            (const void *[]){&call->task}, state->scratch);

    memset(call->levels, 0, TSEED_LEVELS_MAX * sizeof(*call->levels));
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        const int z = tseed_rows_int(&rows);

        call->levels[z >= 0 && z < TSEED_LEVELS_MAX ? z : 0] = tseed_rows_int64(&rows);
    }
    return rv;
}

apr_status_t tseed_state_metatile_levels(tseed_state_t *state, int64_t *levels, int64_t task)
{
    return tseed_work_read(state, load_metatile_levels, &(metatile_levels_t){levels, task});
}

typedef struct {
    tseed_task_t *task;
    const tseed_positions_t *positions;
    int64_t most;
    int64_t count; /* metatiles listed so far */
} retry_t;

/* Lists a failed metatile for the task, unless nothing of it is wanted. */
static apr_status_t retry_one(tseed_state_t *state, retry_t *call, const tseed_failure_t *failure)
{
    const tseed_tile_t first = {failure->z, failure->x, failure->y};
    const tseed_metatile_t metatile = tseed_positions_metatile(call->positions, &first);
    const int64_t tiles = tseed_range_count(&metatile.wanted);
    const int64_t position = call->count;

    if (tiles == 0) {
        return APR_SUCCESS;
    }
    call->task->tiles_total += tiles;
    call->count++;
    return tseed_database_change(
        &state->db, NULL, TSEED_SQL_METATILE_ADD,
        (const void *[]){&call->task->id, &position, &first.z, &first.x, &first.y});
}

/* Lists the failures of the levels first .. last. */
static apr_status_t retry_levels(tseed_state_t *state, retry_t *call, int first, int last)
{
    tseed_failure_query_t page = {.limit = CHUNK, .z = first - 1, .x = INT64_MAX, .y = INT64_MAX};
    apr_status_t rv = APR_SUCCESS;
    int count;

    do {
        failures_t failures = {apr_array_make(state->scratch, CHUNK, sizeof(tseed_failure_t)), NULL,
                               call->task->retry_of, &page};

        rv = load_failures(state, &failures);
        count = failures.failures->nelts;
        for (int i = 0; rv == APR_SUCCESS && i < count && page.z <= last; i++) {
            const tseed_failure_t *failure = &APR_ARRAY_IDX(failures.failures, i, tseed_failure_t);

            page = (tseed_failure_query_t){CHUNK, failure->z, failure->x, failure->y};
            rv = page.z <= last ? retry_one(state, call, failure) : APR_SUCCESS;
        }
        apr_pool_clear(state->scratch);
    } while (rv == APR_SUCCESS && count == CHUNK && page.z <= last);
    return rv;
}

/* Lists the failures in the order of positions: derived levels come last, the highest zoom first.
 */
static apr_status_t retry_all(tseed_state_t *state, retry_t *call)
{
    const tseed_derived_t *derived = &call->task->derived;
    apr_status_t rv = retry_levels(state, call, 0, derived->first - 1);

    if (rv == APR_SUCCESS) {
        rv = retry_levels(state, call, derived->end, TSEED_LEVELS_MAX - 1);
    }
    for (int z = derived->end - 1; rv == APR_SUCCESS && z >= derived->first; z--) {
        rv = retry_levels(state, call, z, z);
    }
    return rv;
}

static apr_status_t retry(tseed_state_t *state, void *baton)
{
    retry_t *call = baton;
    int64_t held;
    apr_status_t rv = tseed_work_next_id(state, &call->task->id, call->most);

    call->task->tiles_total = call->count = 0;
    if (rv == APR_SUCCESS) { /* nobody forgets its failures meanwhile */
        rv = tseed_work_number(state, &held, TSEED_SQL_TASK_HOLD,
                               (const void *[]){&call->task->retry_of});
    }
    if (rv == APR_SUCCESS) {
        rv = retry_all(state, call);
    }
    if (rv == APR_SUCCESS && call->count == 0) {
        rv = APR_NOTFOUND;
    }
    return rv == APR_SUCCESS ? tseed_record_task_insert(&state->db, call->task, state->scratch)
                             : rv;
}

apr_status_t tseed_state_task_retry(tseed_state_t *state, tseed_task_t *task,
                                    const tseed_positions_t *positions, int64_t most)
{
    return tseed_work_write(state, retry, &(retry_t){task, positions, most, 0});
}

/* ---- measurements ---- */

typedef struct {
    const char *tileset;
    int z;
    const tseed_measure_t *measure;
} measure_add_t;

static apr_status_t measure_add(tseed_state_t *state, void *baton)
{
    const measure_add_t *call = baton;
    const tseed_measure_t *measure = call->measure;
    apr_pool_t *pool = state->scratch;
    const void *args[] = {call->tileset,
                          &call->z,
                          &measure->metatiles,
                          &measure->tiles,
                          tseed_text_number(measure->bytes, pool),
                          tseed_text_number(measure->bytes_squares, pool),
                          tseed_text_number(measure->busy, pool),
                          tseed_text_number(measure->busy_squares, pool),
                          tseed_text_number(measure->looks, pool),
                          tseed_text_number(measure->looking, pool)};

    return tseed_database_change(&state->db, NULL, TSEED_SQL_MEASURE_ADD, args);
}

apr_status_t tseed_state_measure_add(tseed_state_t *state, const char *tileset, int z,
                                     const tseed_measure_t *measure)
{
    return tseed_work_write(state, measure_add, &(measure_add_t){tileset, z, measure});
}

typedef struct {
    const char *tileset;
    tseed_measure_t *measures;
} measures_t;

static apr_status_t load_measures(tseed_state_t *state, void *baton)
{
    const measures_t *call = baton;
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(&rows, &state->db, TSEED_SQL_MEASURES_GET,
                                            (const void *[]){call->tileset}, state->scratch);

    memset(call->measures, 0, TSEED_LEVELS_MAX * sizeof(*call->measures));
    while (rv == APR_SUCCESS && tseed_rows_next(&rows)) {
        int z = tseed_rows_int(&rows);
        tseed_measure_t *measure = &call->measures[z >= 0 && z < TSEED_LEVELS_MAX ? z : 0];

        tseed_rows_scan(&rows, &measure->metatiles, &measure->tiles, &measure->bytes,
                        &measure->bytes_squares, &measure->busy, &measure->busy_squares,
                        &measure->looks, &measure->looking);
    }
    return rv;
}

apr_status_t tseed_state_measures(tseed_state_t *state, tseed_measure_t *measures,
                                  const char *tileset)
{
    return tseed_work_read(state, load_measures, &(measures_t){tileset, measures});
}
