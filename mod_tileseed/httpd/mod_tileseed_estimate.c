/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handler of an estimate: what a seed request would cost, without a task.
 *
 * The handler looks in the store which tiles exist, and in the database which are spared. If the
 * metatiles are few, it looks at all. Else it looks at a sample of each level, spread evenly over
 * the level.
 */
#include "mod_tileseed_handlers.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "board/tseed_gauges.h"
#include "mod_tileseed_reply.h"
#include "protocol/tseed_estimate.h"
#include "protocol/tseed_form.h"
#include "protocol/tseed_seed_request.h"
#include "savings/tseed_known.h"
#include "store/tseed_store.h"

#define LOOKS          2048                   /* metatiles */
#define SURVEY_TIMEOUT (3 * APR_USEC_PER_SEC) /* with a slow disk */

/* Tiles of a metatile, at most. */
#define WORDS (1024 / 64)

/* What is asked, and what the database says to it. */
typedef struct {
    tseed_task_t task;
    tseed_tileset_t tileset;
    tseed_measure_t measures[TSEED_LEVELS_MAX];
    tseed_known_t *known;
} question_t;

/* The store that is looked through, and the time at which looking ends. */
typedef struct {
    tseed_store_t *store;
    const question_t *question;
    const tseed_positions_t *positions;
    apr_time_t deadline; /* monotonic */
} survey_t;

/* A seed or reseed does not ask whether a spared tile exists; a truncate removes those that do. */
static void look(const survey_t *survey, tseed_demand_t *demand, int64_t position)
{
    const tseed_metatile_t metatile = tseed_positions_at(survey->positions, position);
    const int64_t tiles = tseed_range_count(&metatile.wanted);
    const int is_spared = tseed_known_has(survey->question->known, survey->positions, position);
    uint64_t bits[WORDS] = {0};

    if ((!is_spared || survey->question->task.type == TSEED_TRUNCATE) &&
        tseed_store_present(survey->store, &metatile.wanted, bits, WORDS) != APR_SUCCESS) {
        return;
    }
    for (int i = 0; i < WORDS; i++) {
        demand->found += __builtin_popcountll(bits[i]);
    }
    demand->spared += is_spared ? tiles : 0;
    demand->looked += tiles;
    demand->samples++;
}

/* Looks at `most` metatiles of a level: every n-th, so that no corner is left out. */
static void look_at_level(const survey_t *survey, tseed_demand_t *demand, int z, int64_t most)
{
    const int64_t first = survey->positions->first[z];
    const int64_t count = survey->positions->metatiles[z];
    const int64_t looks = count < most ? count : most;

    demand->tiles = tseed_range_count(&survey->positions->range[z]);
    for (int64_t i = 0; i < looks && tseed_clock_monotonic() < survey->deadline; i++) {
        look(survey, demand, first + (int64_t)((double)count * ((double)i + 0.5) / (double)looks));
    }
}

static void look_around(tseed_demand_t *demands, const question_t *question,
                        const tseed_positions_t *positions, apr_pool_t *pool)
{
    const tseed_task_t *task = &question->task;
    survey_t survey = {.question = question,
                       .positions = positions,
                       .deadline = tseed_clock_monotonic() + SURVEY_TIMEOUT};
    const int64_t most =
        positions->count <= LOOKS ? LOOKS : LOOKS / (task->zoom_stop - task->zoom_start + 1);

    memset(demands, 0, TSEED_LEVELS_MAX * sizeof(*demands));
    if (tseed_store_open(&survey.store, &question->tileset, 0, pool) != APR_SUCCESS) {
        survey.deadline = 0; /* nothing is known */
    }
    for (int z = task->zoom_start; z <= task->zoom_stop; z++) {
        look_at_level(&survey, &demands[z], z, most > 0 ? most : 1);
    }
    if (survey.store) {
        tseed_store_close(survey.store);
    }
}

/* The number of threads that will work on the task, as the seeder counts them. */
static int threads_of(const tseed_rest_t *rest, const question_t *question)
{
    const int connections = tseed_source_connections(&question->tileset.layer->source);
    int threads = question->task.thread_count;

    threads = threads < rest->conf->settings.threads ? threads : rest->conf->settings.threads;
    return threads < connections ? threads : connections;
}

static void fill(tseed_estimate_t *estimate, const tseed_rest_t *rest, const question_t *question)
{
    const tseed_task_t *task = &question->task;
    const tseed_shape_t shape = {task->zoom_start, task->zoom_stop, task->meta_width,
                                 task->meta_height};
    tseed_demand_t demands[TSEED_LEVELS_MAX] = {{0}};
    tseed_positions_t positions;

    if (task->has_area) {
        tseed_positions_init_derived(&positions, question->tileset.subset->gridset, &task->bounds,
                                     &shape, &task->derived);
        estimate->tiles = positions.tiles;
        estimate->metatiles = positions.count;
        look_around(demands, question, &positions, rest->r->pool);
    }
    tseed_estimate_make(estimate, task->type, demands, question->measures,
                        threads_of(rest, question));
}

/* What is free says something of all layers. */
static void read_free(tseed_estimate_t *estimate, const tseed_rest_t *rest)
{
    tseed_quota_rule_t rule;
    tseed_quota_gauge_t quota;

    if (!rest->dir->layers && tseed_gauges_rule_get(rest->board, &rule) &&
        tseed_gauges_quota_get(rest->board, &quota)) {
        tseed_estimate_free(estimate, &rule, &quota, rest->conf->settings.min_free);
    }
}

/* Reads what tasks have measured and found so far. DECLINED, or OK with the refusal sent. */
static int read_state(question_t *question, const tseed_rest_t *rest)
{
    tseed_visit_t db = tseed_visit_begin(rest->r);

    tseed_visit_do(&db, tseed_state_measures(db.state, question->measures, question->tileset.key));
    tseed_visit_do(&db, tseed_known_load(&question->known, db.state, &question->task,
                                         &question->tileset, rest->r->pool));
    return tseed_visit_done(&db, "read what was measured");
}

/* A seed request, or its members behind the question mark: who may only read can ask as well. */
static const char *read_request(tseed_seed_document_t *document, const tseed_rest_t *rest)
{
    const request_rec *r = rest->r;
    const char *problem;

    if (r->method_number == M_GET) {
        return tseed_form_query(document, r->args, r->pool);
    }
    problem =
        tseed_seed_document_read(document, rest->route.format, rest->body, rest->length, r->pool);
    return problem ? problem : tseed_form_add_query(document, r->args, r->pool);
}

int tseed_handle_estimate(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_seed_document_t document;
    question_t question;
    tseed_estimate_t estimate = {0};
    const tseed_layer_t *layer = tseed_rest_find_layer(rest);
    const char *error, *warning;
    int status;

    if (!layer) {
        return tseed_rest_unknown_layer(rest);
    }
    error = read_request(&document, rest);
    if (!error) {
        error = tseed_seed_document_resolve(&question.task, &question.tileset, &document, layer,
                                            r->pool);
    }
    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    status = read_state(&question, rest);
    if (status != DECLINED) {
        return status;
    }
    warning = tseed_seed_document_warning(&document, &question.task, &question.tileset, r->pool);
    if (warning) {
        tseed_reply_warn(r, warning);
    }
    fill(&estimate, rest, &question);
    read_free(&estimate, rest);
    return tseed_reply_document(
        r, rest->route.format,
        tseed_estimate_write(&estimate, &question.task, rest->route.format, r->pool));
}
