/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs that list, show, await and end tasks. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl_interrupt.h"
#include "ctl/tseed_ctl_progress.h"
#include "ctl/tseed_ctl_terminal.h"
#include "ctl/tseed_ctl_verbs.h"
#include "ctl/tseed_ctl_wait.h"
#include "ctl/tseed_ctl_words.h"

#define LIMIT_USUAL    "20"
#define WATCH_INTERVAL (2 * APR_USEC_PER_SEC)

/* Erases the screen and goes to its first line (ECMA-48). */
#define ERASE_SCREEN "\x1b[H\x1b[2J"

apr_array_header_t *tseed_ctl_ids(const tseed_ctl_t *ctl)
{
    const apr_array_header_t *arguments = ctl->options->arguments;
    apr_array_header_t *ids = apr_array_make(ctl->pool, arguments->nelts, sizeof(int64_t));

    for (int i = 0; i < arguments->nelts; i++) {
        const char *word = APR_ARRAY_IDX(arguments, i, const char *);

        if (tseed_text_int64(&APR_ARRAY_PUSH(ids, int64_t), word, 1, INT64_MAX) != 0) {
            tseed_ctl_complain("'%s' is no id of a task", tseed_ctl_clean(word, ctl->pool));
            return NULL;
        }
    }
    return ids;
}

/* ---- lists ---- */

static const char *say_done(const tseed_node_t *task, apr_pool_t *pool)
{
    return tseed_ctl_share(tseed_ctl_number(task, "tilesProcessed", 0),
                           tseed_ctl_number(task, "tilesTotal", 0), pool);
}

static const char *say_levels(const tseed_node_t *task, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%s-%s", tseed_ctl_words(task, "zoomStart", "?", pool),
                        tseed_ctl_words(task, "zoomStop", "?", pool));
}

static const char *say_rest(const tseed_node_t *task, apr_pool_t *pool)
{
    const double rest = tseed_ctl_decimal(task, "secondsRemaining", -1);

    return rest >= 0 && !tseed_ctl_member(task, "finished") ? tseed_ctl_seconds(rest, pool) : "-";
}

static const char *say_rate(const tseed_node_t *task, apr_pool_t *pool)
{
    const double rate = tseed_ctl_decimal(task, "tilesPerSecond", -1);

    return rate >= 0 ? tseed_ctl_rate(rate, pool) : "-";
}

static void add_task(tseed_ctl_table_t *table, const tseed_node_t *task, apr_pool_t *pool)
{
    tseed_ctl_table_add(table, tseed_ctl_words(task, "id", "?", pool));
    tseed_ctl_table_add(table, tseed_ctl_words(task, "layer", "?", pool));
    tseed_ctl_table_add(table, tseed_ctl_words(task, "gridSetId", "?", pool));
    tseed_ctl_table_add(table, say_levels(task, pool));
    tseed_ctl_table_add(table, tseed_ctl_words(task, "type", "?", pool));
    tseed_ctl_table_add(table, tseed_ctl_words(task, "state", "?", pool));
    tseed_ctl_table_add(table, say_done(task, pool));
    tseed_ctl_table_add(table, tseed_ctl_count(tseed_ctl_number(task, "tilesTotal", 0), pool));
    tseed_ctl_table_add(table, tseed_ctl_count(tseed_ctl_number(task, "tilesFailed", 0), pool));
    tseed_ctl_table_add(table, say_rate(task, pool));
    tseed_ctl_table_add(table, say_rest(task, pool));
    tseed_ctl_table_add(table, tseed_ctl_words(task, "reason", "", pool));
}

static void print_tasks(const tseed_node_t *document, const char *empty, apr_pool_t *pool)
{
    tseed_ctl_table_t *table = tseed_ctl_table_create(
        "ID> LAYER GRIDSET LEVELS TYPE STATE DONE> TILES> FAILED> RATE> ETA> REASON", pool);

    for (const tseed_node_t *task = tseed_ctl_first(document, "tasks"); task;
         task = tseed_ctl_next(task)) {
        add_task(table, task, pool);
    }
    tseed_ctl_table_print(table, empty);
}

static const char *layer_field(const char *layer, apr_pool_t *pool)
{
    return layer ? apr_pstrcat(pool, "&layer=", tseed_ctl_segment(layer, pool), NULL) : "";
}

tseed_ctl_exit_t tseed_ctl_run_tasks(const tseed_ctl_t *ctl)
{
    const tseed_ctl_options_t *options = ctl->options;
    const tseed_node_t *document;
    const tseed_ctl_answer_t *answer = tseed_ctl_http_get(
        ctl->http, ctl->pool, "tasks.json?limit=%s%s%s%s",
        options->limit ? options->limit : LIMIT_USUAL, options->states ? "&state=" : "",
        options->states ? tseed_ctl_segment(options->states, ctl->pool) : "",
        layer_field(options->layer, ctl->pool));
    tseed_ctl_exit_t code = tseed_ctl_take(&document, ctl, answer);

    if (document) {
        print_tasks(document, "no tasks", ctl->pool);
    }
    return code;
}

/* ---- status ---- */

static const char *state_of(int64_t number)
{
    return number < 0 ? "ABORTED" : number == 0 ? "PENDING" : number == 1 ? "RUNNING" : "DONE";
}

static void print_rows(const apr_array_header_t *rows, apr_pool_t *pool)
{
    tseed_ctl_table_t *table = tseed_ctl_table_create("ID> STATE DONE> TILES>", pool);

    for (int i = 0; i < rows->nelts; i++) {
        const tseed_ctl_row_t *row = &APR_ARRAY_IDX(rows, i, tseed_ctl_row_t);

        tseed_ctl_table_add(table, apr_psprintf(pool, "%" APR_INT64_T_FMT, row->id));
        tseed_ctl_table_add(table, state_of(row->state));
        tseed_ctl_table_add(table, tseed_ctl_share(row->processed, row->total, pool));
        tseed_ctl_table_add(table, tseed_ctl_count(row->total, pool));
    }
    tseed_ctl_table_print(table, "no tasks under way");
}

/* The list that GeoWebCache has. */
static tseed_ctl_exit_t print_list(const tseed_ctl_t *ctl)
{
    const char *layer = tseed_ctl_argument(ctl->options, 0);
    const tseed_ctl_answer_t *answer =
        tseed_ctl_http_get(ctl->http, ctl->pool, "seed%s%s.json", layer ? "/" : "",
                           layer ? tseed_ctl_segment(layer, ctl->pool) : "");
    const apr_array_header_t *rows;

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(ctl, answer);
    }
    if (ctl->options->is_json) {
        return tseed_ctl_pass(ctl, answer);
    }
    rows = tseed_ctl_rows_read(answer->body, ctl->pool);
    if (!rows) {
        tseed_ctl_complain("%s: this is no REST interface of tiles", answer->path);
        return TSEED_CTL_NO_ANSWER;
    }
    print_rows(rows, ctl->pool);
    return TSEED_CTL_DONE;
}

static tseed_ctl_exit_t print_status(const tseed_ctl_t *ctl)
{
    const tseed_node_t *document;
    const tseed_ctl_answer_t *answer =
        tseed_ctl_http_get(ctl->http, ctl->pool, "tasks.json?state=running,pending&limit=1000%s",
                           layer_field(tseed_ctl_argument(ctl->options, 0), ctl->pool));
    tseed_ctl_exit_t code;

    if (tseed_ctl_judge(answer) == TSEED_CTL_NOT_FOUND) {
        return print_list(ctl);
    }
    code = tseed_ctl_take(&document, ctl, answer);
    if (document) {
        print_tasks(document, "no tasks under way", ctl->pool);
    }
    return code;
}

/* Shows the status again and again until Ctrl-C, which may come within a request. A server that is
 * away may come back. */
static tseed_ctl_exit_t watch(const tseed_ctl_t *ctl)
{
    const apr_interval_time_t interval =
        ctl->options->interval ? ctl->options->interval : WATCH_INTERVAL;
    tseed_ctl_t one = *ctl;

    apr_pool_create(&one.pool, ctl->pool);
    tseed_ctl_interrupt_hold();
    do {
        tseed_ctl_exit_t code;

        apr_pool_clear(one.pool);
        fputs(tseed_ctl_columns(stdout) ? ERASE_SCREEN : "", stdout);
        code = print_status(&one);
        fflush(stdout);
        if (code == TSEED_CTL_INTERRUPTED) {
            break;
        }
        if (code != TSEED_CTL_DONE && code != TSEED_CTL_NO_ANSWER) {
            return code;
        }
    } while (!tseed_ctl_interrupted(interval));
    return TSEED_CTL_DONE;
}

tseed_ctl_exit_t tseed_ctl_run_status(const tseed_ctl_t *ctl)
{
    return ctl->options->is_watching ? watch(ctl) : print_status(ctl);
}

/* ---- one task ---- */

/* A member in a line, unless it is absent. */
static void print_member(const tseed_node_t *task, const char *member, apr_pool_t *pool)
{
    const tseed_node_t *node = tseed_ctl_member(task, member);
    const char *words = "";

    for (; node; node = tseed_ctl_next(node)) {
        words =
            apr_pstrcat(pool, words, *words ? ", " : "", tseed_ctl_clean(node->text, pool), NULL);
    }
    if (*words) {
        printf("%-16s  %s\n", member, words);
    }
}

/* How the task saves requests: levels that it derives, tiles of its latest request. */
static void print_savings(const tseed_node_t *task, apr_pool_t *pool)
{
    const tseed_node_t *derived = tseed_ctl_member(task, "derived");
    const tseed_node_t *size = tseed_ctl_member(task, "requestSize");

    if (derived) {
        printf("%-16s  levels %s to %s\n", "derived",
               tseed_ctl_words(derived, "zoomStart", "?", pool),
               tseed_ctl_words(derived, "zoomStop", "?", pool));
    }
    if (size) {
        printf(
            "%-16s  %s x %s tiles: %s\n", "requestSize", tseed_ctl_words(size, "width", "?", pool),
            tseed_ctl_words(size, "height", "?", pool), tseed_ctl_words(size, "reason", "?", pool));
    }
}

static void print_task(const tseed_node_t *task, apr_pool_t *pool)
{
    static const char *const members[] = {"id",
                                          "layer",
                                          "gridSetId",
                                          "format",
                                          "type",
                                          "bounds",
                                          "zoomStart",
                                          "zoomStop",
                                          "threadCount",
                                          "state",
                                          "reason",
                                          "tilesTotal",
                                          "tilesProcessed",
                                          "tilesMade",
                                          "tilesSkipped",
                                          "tilesUnchanged",
                                          "tilesRemoved",
                                          "tilesFailed",
                                          "tilesPruned",
                                          "prunedMetatiles",
                                          "prunedChecked",
                                          "prunedWrong",
                                          "prunedForgotten",
                                          "bytes",
                                          "upstreamRequests",
                                          "sharedRequests",
                                          "tilesPerSecond",
                                          "secondsRemaining",
                                          "requestedBy",
                                          "ignored",
                                          "created",
                                          "started",
                                          "finished",
                                          "retryOf"};

    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        print_member(task, members[i], pool);
    }
    print_savings(task, pool);
    if (*tseed_ctl_parameters(task, pool)) {
        printf("%-16s  %s\n", "parameters", tseed_ctl_parameters(task, pool));
    }
    for (const tseed_node_t *one = tseed_ctl_first(task, "levels"); one;
         one = tseed_ctl_next(one)) {
        printf("%-16s  %s of %s metatiles\n",
               apr_psprintf(pool, "level %s", tseed_ctl_words(one, "z", "?", pool)),
               tseed_ctl_words(one, "finished", "?", pool),
               tseed_ctl_words(one, "metatiles", "?", pool));
    }
}

tseed_ctl_exit_t tseed_ctl_run_show(const tseed_ctl_t *ctl)
{
    const apr_array_header_t *ids = tseed_ctl_ids(ctl);
    const tseed_node_t *document = NULL;
    tseed_ctl_exit_t code = TSEED_CTL_USAGE;

    if (ids) {
        code = tseed_ctl_take(&document, ctl,
                              tseed_ctl_http_get(ctl->http, ctl->pool,
                                                 "tasks/%" APR_INT64_T_FMT ".json",
                                                 APR_ARRAY_IDX(ids, 0, int64_t)));
    }
    if (document) {
        print_task(document, ctl->pool);
    }
    return code;
}

tseed_ctl_exit_t tseed_ctl_run_wait(const tseed_ctl_t *ctl)
{
    const apr_array_header_t *ids = tseed_ctl_ids(ctl);

    return ids ? tseed_ctl_wait_for(ctl, ids) : TSEED_CTL_USAGE;
}

/* ---- kill ---- */

static tseed_ctl_exit_t kill_one(const tseed_ctl_t *ctl, int64_t id)
{
    const tseed_ctl_request_t request = {
        .method = "DELETE", .path = apr_psprintf(ctl->pool, "tasks/%" APR_INT64_T_FMT ".json", id)};
    const tseed_ctl_answer_t *answer = tseed_ctl_http_ask(ctl->http, &request, ctl->pool);

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(ctl, answer);
    }
    if (ctl->options->is_json) {
        return tseed_ctl_pass(ctl, answer);
    }
    if (!ctl->options->is_quiet) {
        printf("task %" APR_INT64_T_FMT " is ended\n", id);
    }
    return TSEED_CTL_DONE;
}

/* All tasks, or those of a layer. */
static tseed_ctl_exit_t kill_all(const tseed_ctl_t *ctl)
{
    const char *layer = tseed_ctl_argument(ctl->options, 0);
    const tseed_ctl_request_t request = {
        .method = "POST",
        .body = "kill_all=all",
        .type = "application/x-www-form-urlencoded",
        .path = layer ? apr_pstrcat(ctl->pool, "seed/", tseed_ctl_segment(layer, ctl->pool), NULL)
                      : "seed"};
    const tseed_ctl_answer_t *answer;
    const int is_confirmed =
        ctl->options->is_confirmed ? 1 : tseed_ctl_confirm("End all tasks, whoever began them?");

    if (is_confirmed != 1) {
        return tseed_ctl_misuse(is_confirmed ? "kill --all needs --yes where there is no terminal "
                                               "to ask at"
                                             : "nothing was ended");
    }
    answer = tseed_ctl_http_ask(ctl->http, &request, ctl->pool);
    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(ctl, answer);
    }
    if (!ctl->options->is_quiet) {
        puts(layer ? "all tasks of the layer are ended, or will be"
                   : "all tasks are ended, or will be");
    }
    return TSEED_CTL_DONE;
}

tseed_ctl_exit_t tseed_ctl_run_kill(const tseed_ctl_t *ctl)
{
    const int count = ctl->options->arguments->nelts;
    tseed_ctl_exit_t first = TSEED_CTL_DONE;
    const apr_array_header_t *ids;

    if (ctl->options->is_about_all) {
        return count > 1 ? tseed_ctl_misuse("kill --all takes one layer at most") : kill_all(ctl);
    }
    if (count == 0) {
        return tseed_ctl_misuse("kill needs ids of tasks, or --all");
    }
    ids = tseed_ctl_ids(ctl);
    for (int i = 0; ids && i < ids->nelts; i++) {
        const tseed_ctl_exit_t code = kill_one(ctl, APR_ARRAY_IDX(ids, i, int64_t));

        first = first == TSEED_CTL_DONE ? code : first;
    }
    return ids ? first : TSEED_CTL_USAGE;
}
