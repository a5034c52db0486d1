/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs that list, show and end tasks, and failures: the metatiles that a task has given up on,
 * as a table, as comma-separated values, or as GeoJSON (RFC 7946) in degrees. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "ctl/tseed_ctl.h"
#include "ctl/tseed_ctl_print.h"
#include "protocol/tseed_escape.h"
#include "tiling/tseed_range.h"

#define LIMIT_USUAL    "20"
#define WATCH_INTERVAL (2 * APR_USEC_PER_SEC)
#define PAGE_SIZE      1000

/* ---- lists ---- */

static const char *say_done(json_object *task, const tseed_ctl_column_t *column, apr_pool_t *pool)
{
    return tseed_ctl_share(tseed_ctl_number(task, column->member, 0),
                           tseed_ctl_number(task, "tilesTotal", 0), pool);
}

static const char *say_levels(json_object *task, const tseed_ctl_column_t *column, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%s-%s", tseed_ctl_text(task, column->member, "?"),
                        tseed_ctl_text(task, "zoomStop", "?"));
}

static const char *say_rate(json_object *task, const tseed_ctl_column_t *column, apr_pool_t *pool)
{
    const double rate = tseed_ctl_decimal(task, column->member, -1);

    return rate >= 0 ? tseed_ctl_rate(rate, pool) : "-";
}

static const char *say_rest(json_object *task, const tseed_ctl_column_t *column, apr_pool_t *pool)
{
    const double rest = tseed_ctl_decimal(task, column->member, -1);

    return rest >= 0 && !json_object_object_get(task, "finished") ? tseed_ctl_seconds(rest, pool)
                                                                  : "-";
}

static const tseed_ctl_column_t of_task[] = {{"ID>", "id", "?", NULL},
                                             {"LAYER", "layer", "?", NULL},
                                             {"GRIDSET", "gridSetId", "?", NULL},
                                             {"LEVELS", "zoomStart", "?", say_levels},
                                             {"TYPE", "type", "?", NULL},
                                             {"STATE", "state", "?", NULL},
                                             {"DONE>", "tilesProcessed", "", say_done},
                                             {"TILES>", "tilesTotal", "", tseed_ctl_say_count},
                                             {"FAILED>", "tilesFailed", "", tseed_ctl_say_count},
                                             {"RATE>", "tilesPerSecond", "", say_rate},
                                             {"ETA>", "secondsRemaining", "", say_rest},
                                             {"REASON", "reason", "", NULL},
                                             {0}};

/* A field of a query; "" without its value. */
static const char *field(const char *name, const char *value, apr_pool_t *pool)
{
    return value ? apr_pstrcat(pool, name, tseed_ctl_segment(value, pool), NULL) : "";
}

tseed_ctl_exit_t tseed_ctl_run_tasks(const tseed_ctl_t *ctl)
{
    const tseed_ctl_options_t *options = ctl->options;
    json_object *document;
    const tseed_ctl_exit_t code = tseed_ctl_take(
        &document, ctl,
        tseed_ctl_get(ctl, "tasks.json?limit=%s%s%s", options->limit ? options->limit : LIMIT_USUAL,
                      field("&state=", options->states, ctl->pool),
                      field("&layer=", options->layer, ctl->pool)));

    if (document) {
        tseed_ctl_print_table(json_object_object_get(document, "tasks"), of_task, "no tasks",
                              ctl->pool);
    }
    return code;
}

/* ---- status ---- */

/* The list that GeoWebCache has. */
static tseed_ctl_exit_t print_rows(const tseed_ctl_t *ctl)
{
    static const tseed_ctl_column_t columns[] = {{"ID>", "id", "?", NULL},
                                                 {"STATE", "state", "?", NULL},
                                                 {"DONE>", "tilesProcessed", "", say_done},
                                                 {"TILES>", "tilesTotal", "", tseed_ctl_say_count},
                                                 {0}};
    const tseed_ctl_answer_t *answer = tseed_ctl_get(
        ctl, "seed%s.json", field("/", tseed_ctl_argument(ctl->options, 0), ctl->pool));
    json_object *document, *rows;
    const tseed_ctl_exit_t code = tseed_ctl_take(&document, ctl, answer);

    if (!document) {
        return code;
    }
    rows = tseed_ctl_rows(document, ctl->pool);
    if (!rows) {
        tseed_ctl_complain("%s: this is no REST interface of tiles", answer->path);
        return TSEED_CTL_NO_ANSWER;
    }
    tseed_ctl_print_table(rows, columns, "no tasks under way", ctl->pool);
    return code;
}

static tseed_ctl_exit_t print_status(const tseed_ctl_t *ctl)
{
    const tseed_ctl_answer_t *answer =
        tseed_ctl_get(ctl, "tasks.json?state=running,pending&limit=1000%s",
                      field("&layer=", tseed_ctl_argument(ctl->options, 0), ctl->pool));
    json_object *document;
    tseed_ctl_exit_t code;

    if (tseed_ctl_judge(answer) == TSEED_CTL_NOT_FOUND) {
        return print_rows(ctl);
    }
    code = tseed_ctl_take(&document, ctl, answer);
    if (document) {
        tseed_ctl_print_table(json_object_object_get(document, "tasks"), of_task,
                              "no tasks under way", ctl->pool);
    }
    return code;
}

/* With --watch again and again until Ctrl-C, which may come within a request. A server that is away
 * may come back. */
tseed_ctl_exit_t tseed_ctl_run_status(const tseed_ctl_t *ctl)
{
    const apr_interval_time_t interval =
        ctl->options->interval ? ctl->options->interval : WATCH_INTERVAL;
    tseed_ctl_t one = *ctl;
    tseed_ctl_exit_t code;

    if (!ctl->options->is_watching) {
        return print_status(ctl);
    }
    apr_pool_create(&one.pool, ctl->pool);
    tseed_ctl_interrupt_hold();
    do {
        apr_pool_clear(one.pool);
        tseed_ctl_erase_screen();
        code = print_status(&one);
        fflush(stdout);
    } while ((code == TSEED_CTL_DONE || code == TSEED_CTL_NO_ANSWER) &&
             !tseed_ctl_interrupted(interval));
    return code == TSEED_CTL_INTERRUPTED || code == TSEED_CTL_NO_ANSWER ? TSEED_CTL_DONE : code;
}

/* ---- one task ---- */

/* A member of one text or of several, unless it is absent. */
static void print_member(json_object *task, const char *member, apr_pool_t *pool)
{
    json_object *list = json_object_object_get(task, member), *one;
    apr_array_header_t *words = apr_array_make(pool, 8, sizeof(const char *));
    const char *text = tseed_ctl_text(task, member, "");

    for (size_t i = 0; (one = tseed_ctl_entry(list, NULL, i)); i++) {
        APR_ARRAY_PUSH(words, const char *) = i ? ", " : "";
        APR_ARRAY_PUSH(words, const char *) = json_object_get_string(one);
    }
    text = words->nelts ? apr_array_pstrcat(pool, words, 0) : text;
    if (*text) {
        tseed_ctl_say("%-16s  %s", member, text);
    }
}

tseed_ctl_exit_t tseed_ctl_run_show(const tseed_ctl_t *ctl)
{
    static const char names[] =
        "id layer gridSetId format type bounds zoomStart zoomStop threadCount state reason "
        "tilesTotal tilesProcessed tilesMade tilesSkipped tilesUnchanged tilesRemoved tilesFailed "
        "tilesPruned prunedMetatiles prunedChecked prunedWrong prunedForgotten bytes "
        "upstreamRequests sharedRequests tilesPerSecond secondsRemaining requestedBy ignored "
        "created started finished retryOf";
    char *last, *members = apr_pstrdup(ctl->pool, names);
    json_object *task, *one;
    const char *parameters;
    const tseed_ctl_exit_t code = tseed_ctl_take(
        &task, ctl, tseed_ctl_get(ctl, "tasks/%s.json", tseed_ctl_argument(ctl->options, 0)));

    if (!task) {
        return code;
    }
    for (char *name = apr_strtok(members, " ", &last); name; name = apr_strtok(NULL, " ", &last)) {
        print_member(task, name, ctl->pool);
    }
    one = json_object_object_get(task, "derived");
    if (one) {
        tseed_ctl_say("derived           levels %s to %s", tseed_ctl_text(one, "zoomStart", "?"),
                      tseed_ctl_text(one, "zoomStop", "?"));
    }
    one = json_object_object_get(task, "requestSize");
    if (one) {
        tseed_ctl_say("requestSize       %s x %s tiles: %s", tseed_ctl_text(one, "width", "?"),
                      tseed_ctl_text(one, "height", "?"), tseed_ctl_text(one, "reason", "?"));
    }
    parameters = tseed_ctl_parameters(task, ctl->pool);
    if (*parameters) {
        tseed_ctl_say("parameters        %s", parameters);
    }
    for (size_t i = 0; (one = tseed_ctl_entry(task, "levels", i)); i++) {
        tseed_ctl_say("%-16s  %s of %s metatiles",
                      apr_psprintf(ctl->pool, "level %s", tseed_ctl_text(one, "z", "?")),
                      tseed_ctl_text(one, "finished", "?"), tseed_ctl_text(one, "metatiles", "?"));
    }
    return code;
}

/* ---- kill ---- */

/* All tasks, or those of a layer. */
static tseed_ctl_exit_t kill_all(const tseed_ctl_t *ctl)
{
    const char *layer = tseed_ctl_argument(ctl->options, 0);

    if (tseed_ctl_confirm(ctl, "End all tasks, whoever began them?", "kill --all", "ended")) {
        return TSEED_CTL_USAGE;
    }
    return tseed_ctl_tell(ctl,
                          tseed_ctl_send(ctl, "POST", "application/x-www-form-urlencoded",
                                         "kill_all=all", "seed%s", field("/", layer, ctl->pool)),
                          "all tasks%s are ended, or will be", layer ? " of the layer" : "");
}

tseed_ctl_exit_t tseed_ctl_run_kill(const tseed_ctl_t *ctl)
{
    tseed_ctl_exit_t code, first = TSEED_CTL_DONE;
    json_object *unused;
    const char *id;

    if (ctl->options->is_about_all) {
        return tseed_ctl_argument(ctl->options, 1)
                   ? tseed_ctl_misuse("kill --all takes one layer at most")
                   : kill_all(ctl);
    }
    if (!tseed_ctl_argument(ctl->options, 0)) {
        return tseed_ctl_misuse("kill needs ids of tasks, or --all");
    }
    for (int i = 0; (id = tseed_ctl_argument(ctl->options, i)); i++) {
        const tseed_ctl_answer_t *answer =
            tseed_ctl_send(ctl, "DELETE", NULL, NULL, "tasks/%s.json", id);

        code = ctl->options->is_json ? tseed_ctl_take(&unused, ctl, answer)
                                     : tseed_ctl_tell(ctl, answer, "task %s is ended", id);
        first = first == TSEED_CTL_DONE ? code : first;
    }
    return first;
}

/* ---- failures ---- */

static const char *const members[] = {"z", "x", "y", "cause", "httpStatus", "attempts", "time"};
#define MEMBERS (sizeof(members) / sizeof(*members))

/* What is done with each failure; `count` are before it. */
typedef struct list_t {
    tseed_ctl_t ctl; /* its pool is that of a page */
    void (*print)(struct list_t *list, json_object *failure);
    const tseed_gridset_t *gridset; /* of GeoJSON */
    json_object *rows;              /* of a table */
    int64_t count;
} list_t;

static void add_row(list_t *list, json_object *failure)
{
    json_object_array_add(list->rows, json_object_get(failure));
}

/* A field of comma-separated values (RFC 4180). */
static void print_field(const char *text)
{
    const int is_quoted = text[strcspn(text, ",\"\r\n")] != '\0';

    fputs(is_quoted ? "\"" : "", stdout);
    for (size_t length; *text; text += length) {
        length = strcspn(text, "\"");
        length += text[length] == '"';
        tseed_ctl_pass(text, length);
        fputs(text[length - 1] == '"' ? "\"" : "", stdout);
    }
    fputs(is_quoted ? "\"" : "", stdout);
}

static void print_csv(list_t *list, json_object *failure)
{
    fputs(list->count ? "" : "z,x,y,cause,httpStatus,attempts,time\r\n", stdout);
    for (size_t i = 0; i < MEMBERS; i++) {
        print_field(tseed_ctl_text(failure, members[i], ""));
        fputs(i + 1 < MEMBERS ? "," : "\r\n", stdout);
    }
}

/* The ground of the metatile's first tile, in degrees. */
static tseed_bounds_t ground_of(const list_t *list, json_object *failure)
{
    const int64_t x = tseed_ctl_number(failure, "x", 0), y = tseed_ctl_number(failure, "y", 0);
    const int64_t z = tseed_ctl_number(failure, "z", 0);
    const int level = z < 0 ? 0 : z < list->gridset->levels ? (int)z : list->gridset->levels - 1;
    const tseed_range_t tile = {level, x, y, x, y};
    const tseed_bounds_t box = tseed_range_bounds(list->gridset, &tile);
    tseed_bounds_t degrees;

    tseed_ctl_unproject(&degrees, list->gridset->srs, &box);
    return degrees;
}

/* In ASCII alone: the document may hold anything. */
static void print_feature(list_t *list, json_object *failure)
{
    const tseed_bounds_t box = ground_of(list, failure);

    printf("%s{\"type\":\"Feature\",\"geometry\":{\"type\":\"Polygon\",\"coordinates\":"
           "[[[%.9g,%.9g],[%.9g,%.9g],[%.9g,%.9g],[%.9g,%.9g],[%.9g,%.9g]]]},\"properties\":{",
           list->count ? ",\n" : "", box.minx, box.miny, box.maxx, box.miny, box.maxx, box.maxy,
           box.minx, box.maxy, box.minx, box.miny);
    for (size_t i = 0; i < MEMBERS; i++) {
        json_object *value = json_object_object_get(failure, members[i]);
        const int is_text = strcmp(members[i], "cause") == 0 || strcmp(members[i], "time") == 0;
        const char *text =
            json_object_is_type(value, json_type_int) ? json_object_get_string(value) : "null";

        text = is_text ? tseed_escape_json(tseed_ctl_text(failure, members[i], ""), list->ctl.pool)
                       : text;
        printf("%s\"%s\":%s", i ? "," : "", members[i], text);
    }
    fputs("}}", stdout);
}

/* Whether a failure comes behind the place of another one, which becomes its own: a server that
 * does not go on would be asked for ever. */
static int moves_on(int64_t place[3], json_object *failure)
{
    const int64_t before[3] = {place[0], place[1], place[2]};

    for (int i = 0; i < 3; i++) {
        place[i] = tseed_ctl_number(failure, members[i], 0);
    }
    return place[0] != before[0]   ? place[0] > before[0]
           : place[1] != before[1] ? place[1] > before[1]
                                   : place[2] > before[2];
}

/* All pages. Each is asked for by the end of the one before. Why metatiles failed, and how many, is
 * told before a table: where the server groups them. */
static tseed_ctl_exit_t print_all(list_t *list, apr_pool_t *pool)
{
    static const tseed_ctl_column_t causes[] = {{"COUNT>", "count", "?", NULL},
                                                {"HTTP", "httpStatus", "-", NULL},
                                                {"CAUSE", "cause", "", NULL},
                                                {0}};
    const char *id = tseed_ctl_argument(list->ctl.options, 0), *after = "";
    int64_t place[3] = {-1, -1, -1};
    json_object *document, *one, *last;
    tseed_ctl_exit_t code;

    do {
        const tseed_ctl_answer_t *answer;

        apr_pool_clear(list->ctl.pool);
        answer =
            tseed_ctl_get(&list->ctl, "tasks/%s/failures.json?limit=%d%s", id, PAGE_SIZE, after);
        code = tseed_ctl_take(&document, &list->ctl, answer);
        if (list->rows && !*after && tseed_ctl_entry(document, "causes", 0)) {
            tseed_ctl_print_table(json_object_object_get(document, "causes"), causes, "",
                                  list->ctl.pool);
            tseed_ctl_say("%s", "");
        }
        last = NULL;
        for (size_t i = 0; (one = tseed_ctl_entry(document, "failures", i)); i++) {
            list->print(list, one);
            list->count++;
            last = one;
        }
        if (!last || !moves_on(place, last)) {
            break;
        }
        after =
            apr_psprintf(pool, "&after=%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT,
                         place[0], place[1], place[2]);
    } while (json_object_object_get(document, "next"));
    return code;
}

static tseed_ctl_exit_t print_table(list_t *list, apr_pool_t *pool)
{
    static const tseed_ctl_column_t columns[] = {{"Z>", "z", "-", NULL},
                                                 {"X>", "x", "-", NULL},
                                                 {"Y>", "y", "-", NULL},
                                                 {"HTTP>", "httpStatus", "-", NULL},
                                                 {"TRIES>", "attempts", "-", NULL},
                                                 {"TIME", "time", "-", NULL},
                                                 {"CAUSE", "cause", "-", NULL},
                                                 {0}};
    tseed_ctl_exit_t code;

    list->print = add_row;
    list->rows = tseed_ctl_keep(json_object_new_array(), pool);
    code = print_all(list, pool);
    if (code == TSEED_CTL_DONE && !list->ctl.options->is_json) {
        tseed_ctl_print_table(list->rows, columns, "no failures", pool);
    }
    return code;
}

/* The grid set must be the built-in one of its name, as far as the server tells. */
static tseed_ctl_exit_t print_geojson(list_t *list, const tseed_ctl_t *ctl)
{
    json_object *task, *layers, *found;
    tseed_ctl_exit_t code = tseed_ctl_read(
        &task, ctl, tseed_ctl_get(ctl, "tasks/%s.json", tseed_ctl_argument(ctl->options, 0)));

    if (code != TSEED_CTL_DONE) {
        return code;
    }
    list->gridset = tseed_gridset_builtin(tseed_ctl_text(task, "gridSetId", ""));
    tseed_ctl_document(&layers, tseed_ctl_get(ctl, "layers.json"), ctl->pool);
    found = tseed_ctl_find(layers, "layers", "name", tseed_ctl_text(task, "layer", ""));
    found =
        list->gridset ? tseed_ctl_find(found, "gridSets", "gridSetId", list->gridset->name) : NULL;
    if (!found || tseed_ctl_number(found, "tileWidth", 0) != list->gridset->tile_width ||
        tseed_ctl_number(found, "tileHeight", 0) != list->gridset->tile_height) {
        return tseed_ctl_misuse("--geojson is for the built-in grid sets; take --csv");
    }
    list->print = print_feature;
    puts("{\"type\":\"FeatureCollection\",\"features\":[");
    code = print_all(list, ctl->pool);
    puts("\n]}");
    return code;
}

tseed_ctl_exit_t tseed_ctl_run_failures(const tseed_ctl_t *ctl)
{
    const tseed_ctl_options_t *options = ctl->options;
    list_t list = {.ctl = *ctl, .print = print_csv};

    if (options->is_csv + options->is_geojson + options->is_json > 1) {
        return tseed_ctl_misuse("choose one of --csv, --geojson and --json");
    }
    apr_pool_create(&list.ctl.pool, ctl->pool);
    return options->is_geojson ? print_geojson(&list, ctl)
           : options->is_csv   ? print_all(&list, ctl->pool)
                               : print_table(&list, ctl->pool);
}
