/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What a client can know of the layers: their list, with what the client may do with each; what a
 * seed would take; which tiles are there. */
#include <apr_strings.h>
#include <httpd.h>
#include <http_core.h>
#include <http_log.h>
#include <http_request.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "board/tseed_gauges.h"
#include "mod_tileseed.h"
#include "mod_tileseed_draft.h"
#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"
#include "mod_tileseed_wait.h"
#include "protocol/tseed_coverage.h"
#include "protocol/tseed_estimate.h"
#include "protocol/tseed_form.h"
#include "protocol/tseed_lists.h"
#include "protocol/tseed_seed_request.h"
#include "quota/tseed_heat.h"
#include "savings/tseed_finding_set.h"
#include "seeder/tseed_coverage_file.h"
#include "store/tseed_store.h"

/* ---- the list ---- */

/* ---- rights ---- */

/* The client of a request, and who that is: httpd asks for no password where everybody may read,
 * though the client has sent one. Zeroed but for `r` at first. */
typedef struct {
    request_rec *r;
    char *user;
    int is_asked;
} client_rights_t;

/* A refusal here is nobody's attempt, and not worth a line of the error log. A refusal of httpd's
 * own, where other sections apply, has its line. */
static const struct ap_logconf quiet = {.level = APLOG_EMERG};

/* Finds out who the client is, once: a password takes time to check. */
static int has_user(client_rights_t *client, request_rec *asked)
{
    if (!client->is_asked && !asked->user) {
        client->is_asked = 1;
        if (ap_run_check_user_id(asked) == OK && asked->user) {
            client->user = apr_pstrdup(client->r->pool, asked->user);
        }
    }
    asked->user = asked->user ? asked->user : client->user;
    return asked->user != NULL;
}

/* As ap_process_request_internal does. */
static int is_granted(client_rights_t *client, request_rec *r)
{
    const int any = ap_satisfies(r) == SATISFY_ANY;
    int status = ap_run_access_checker(r);

    if ((status == OK) == any) {
        return any;
    }
    status = ap_run_access_checker_ex(r);
    if (status == OK && ap_satisfies(r) != SATISFY_ALL) {
        return 1;
    }
    return (status == OK || status == DECLINED) && has_user(client, r) &&
           ap_run_auth_checker(r) == OK;
}

static request_rec *look_up(request_rec *r, const char *method, const char *path)
{
    request_rec *asked =
        ap_sub_req_method_uri(method, ap_os_escape_path(r->pool, path, 1), r, NULL);

    asked->log = &quiet;
    return asked;
}

/* Whether httpd would let the client send a request of that method to `path`, which is unescaped. A
 * client that httpd would ask who it is may not. */
static int rights_may(client_rights_t *client, const char *method, const char *path)
{
    request_rec *asked = look_up(client->r, method, path);
    const int may =
        asked->status == HTTP_OK &&
        (asked->per_dir_config != client->r->per_dir_config || is_granted(client, asked));

    ap_destroy_sub_req(asked);
    return may;
}

/* The configuration of a location that serves tiles, as the user of `r` would meet it; NULL if it
 * serves none, or may not be read. Lives as long as the request. */
static const tseed_dir_conf_t *rights_tiles(request_rec *r, const char *base)
{
    request_rec *asked = look_up(r, "GET", apr_pstrcat(r->pool, base, "/tms/1.0.0", NULL));
    const tseed_dir_conf_t *dir = ap_get_module_config(asked->per_dir_config, &tileseed_module);

    return asked->status == HTTP_OK && dir->tiles == TSEED_TILES_ON ? dir : NULL;
}

/* ---- the list ---- */

static int may(const tseed_rest_t *rest, client_rights_t *client, const char *method,
               const char *address)
{
    return rights_may(client, method, apr_pstrcat(rest->r->pool, rest->base, address, NULL));
}

/* Where some layers alone are seen, what is about all of them is refused. */
static tseed_layers_rights_t rights_of(const tseed_rest_t *rest, client_rights_t *client)
{
    const int sees_all = !rest->dir->layers;

    return (tseed_layers_rights_t){
        .terminate = may(rest, client, "POST", "/seed"),
        .quota = may(rest, client, "PUT", "/diskquota.json"),
        .reconcile = sees_all && may(rest, client, "POST", "/diskquota/reconcile"),
        .clean_up = sees_all && may(rest, client, "POST", "/diskquota/cleanup"),
    };
}

/* The locations that serve tiles to the client, as const tseed_dir_conf_t *. */
static apr_array_header_t *find_tiles(const tseed_rest_t *rest)
{
    const apr_array_header_t *bases = rest->conf->drafts->tile_bases;
    apr_array_header_t *found =
        apr_array_make(rest->r->pool, bases->nelts + 1, sizeof(const tseed_dir_conf_t *));

    for (int i = 0; i < bases->nelts; i++) {
        const tseed_dir_conf_t *dir = rights_tiles(rest->r, APR_ARRAY_IDX(bases, i, const char *));

        if (dir) {
            APR_ARRAY_PUSH(found, const tseed_dir_conf_t *) = dir;
        }
    }
    return found;
}

/* Where the first location that serves tiles of a layer has them. Rows are counted from the bottom,
 * as everywhere in this interface. */
static const char *template_of(const apr_array_header_t *dirs, const char *layer)
{
    for (int i = 0; i < dirs->nelts; i++) {
        const tseed_dir_conf_t *dir = APR_ARRAY_IDX(dirs, i, const tseed_dir_conf_t *);

        if (tseed_dir_conf_sees(dir, layer)) {
            return apr_pstrcat(dirs->pool, tseed_public_path(dir, dir->tiles_base, dirs->pool),
                               "/tms/", ap_escape_path_segment(dirs->pool, layer),
                               "/{gridSetId}/{z}/{x}/{y}.{extension}", NULL);
        }
    }
    return NULL;
}

static int handle_layers(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    const apr_array_header_t *all = rest->conf->catalog->order;
    const apr_array_header_t *tiles = find_tiles(rest);
    client_rights_t client = {.r = r};
    const tseed_layers_rights_t rights = rights_of(rest, &client);
    apr_array_header_t *seen = apr_array_make(r->pool, all->nelts, sizeof(tseed_layers_entry_t));

    for (int i = 0; i < all->nelts; i++) {
        const tseed_layer_t *layer = APR_ARRAY_IDX(all, i, const tseed_layer_t *);

        if (tseed_rest_sees(rest, layer->name)) {
            APR_ARRAY_PUSH(seen, tseed_layers_entry_t) = (tseed_layers_entry_t){
                .layer = layer,
                .tiles = template_of(tiles, layer->name),
                .may_seed = may(rest, &client, "POST",
                                apr_pstrcat(r->pool, "/seed/", layer->name, ".json", NULL)),
            };
        }
    }
    return tseed_reply_document(r, TSEED_BODY_JSON, tseed_layers_document(seen, &rights, r->pool));
}

/* ---- estimates ---- */

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

static int handle_estimate(tseed_rest_t *rest)
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

/* ---- coverage ---- */

/* A location that sees some layers is not told which numbers others have. */
static int no_tileset(const tseed_rest_t *rest)
{
    return tseed_reply_error(rest->r, HTTP_NOT_FOUND,
                             "there is no configured tile set %" APR_INT64_T_FMT,
                             rest->route.number);
}

static int not_now(request_rec *r, int seconds, const char *why)
{
    return tseed_reply_busy(r, seconds, "the coverage can't be told now: %s; ask again", why);
}

static void ask(tseed_reply_t *reply, int *descriptor, const tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    apr_table_t *parameters = apr_table_make(r->pool, 1);
    const tseed_question_t question = {.layer = "",
                                       .gridset = "",
                                       .format = "",
                                       .client = "",
                                       .parameters = parameters,
                                       .tile = {.z = rest->route.level},
                                       .tileset = rest->route.number};
    tseed_wait_t wait;
    const tseed_cancel_t cancel = tseed_wait_begin(&wait, r);

    wait.is_short = 1; /* it answers within milliseconds, or is stuck */
    apr_table_setn(parameters, "query", r->args ? r->args : "");
    tseed_miss_ask(reply, descriptor, tseed_supervise_miss_socket(), &question, &cancel);
}

/* A client that has the document of the same cells keeps it: its ages count to its own time. */
static int send_coverage(const tseed_rest_t *rest, const tseed_coverage_t *coverage)
{
    request_rec *r = rest->r;
    const int status = tseed_reply_etag(r, tseed_coverage_tag(coverage, r->pool));

    return status != OK
               ? status
               : tseed_reply_document(r, TSEED_BODY_JSON,
                                      tseed_coverage_document(coverage, tseed_heat_uses, r->pool));
}

static int answer(const tseed_rest_t *rest, int descriptor)
{
    tseed_coverage_t coverage;
    int first, last;
    apr_status_t rv = tseed_coverage_file_read(&coverage, &first, &last, descriptor, rest->r->pool);

    if (rv != APR_SUCCESS) { /* for a moment, after a restart with another build */
        return not_now(rest->r, 1, "the seeder is of another build");
    }
    if (!tseed_rest_sees(rest, coverage.layer)) {
        return no_tileset(rest);
    }
    if (rest->route.level < first || rest->route.level > last) {
        return tseed_reply_error(rest->r, HTTP_NOT_FOUND,
                                 "tile set %" APR_INT64_T_FMT " has the levels %d to %d",
                                 rest->route.number, first, last);
    }
    return send_coverage(rest, &coverage);
}

static int handle_coverage(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_coverage_query_t query;
    tseed_reply_t reply;
    int descriptor, status;
    const char *error = tseed_coverage_query_read(&query, r->args, r->pool);

    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    ask(&reply, &descriptor, rest);
    if (reply.outcome == TSEED_MISS_REFUSED) {
        return no_tileset(rest);
    }
    if (reply.outcome != TSEED_MISS_PASSED || descriptor < 0) {
        return not_now(r, reply.retry_after > 0 ? reply.retry_after : 1, reply.cause);
    }
    status = answer(rest, descriptor);
    close(descriptor);
    return status;
}

/* ---- what it answers ---- */

static const char *const keys_of_coverage[] = {"bbox", "cells", NULL};

static const tseed_handler_t handlers[] = {
    {.action = TSEED_ACTION_LAYERS, .handle = handle_layers, .keys = tseed_no_key},
    {.action = TSEED_ACTION_ESTIMATE, .handle = handle_estimate, .has_body = 1},
    {.action = TSEED_ACTION_COVERAGE, .handle = handle_coverage, .keys = keys_of_coverage},
    {.handle = NULL},
};

const tseed_module_part_t tseed_layers_part = {.handlers = handlers};
