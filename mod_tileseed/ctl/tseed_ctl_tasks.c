/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs that list, show and end tasks, and failures: the metatiles that a task has given up on,
 * as a table, as comma-separated values, or as GeoJSON (RFC 7946) in degrees. */
#include <apr_strings.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "ctl/tseed_ctl.h"
#include "protocol/tseed_write.h"
#include "protocol/tseed_task.h"
#include "tiling/tseed_range.h"

#define WATCH_INTERVAL (2 * APR_USEC_PER_SEC)
#define PAGE_SIZE      1000

/* Radius of the sphere that web mercator takes the earth for, in metres (EPSG:3857). */
#define MERCATOR_RADIUS 6378137.0
#define DEGREES         (180 / 3.14159265358979323846)

/* Where web mercator's square ends. */
#define LATITUDE_MAX 85.05112877980659

/* Go to the first line and erase the screen (ECMA-48). */
#define ERASE_SCREEN "\x1b[H\x1b[2J"

/* ---- how far a task is ---- */

int tseed_ctl_is_at_quota(json_object *task)
{
    const tseed_reason_t code = tseed_reason_of(tseed_ctl_text(task, "reasonCode", ""));

    return code == TSEED_REASON_QUOTA || code == TSEED_REASON_FREE_SPACE;
}

#define DONE                                                                                       \
    "{tilesProcessed|100.0 %:of/tilesTotal}  {tilesProcessed|0:count}/{tilesTotal|0:count} tiles"
#define PACE "[  {tilesPerSecond:rate}][  ETA {secondsRemaining:time}]"

/* The level at which the task works is the first that is not finished. */
const char *tseed_ctl_progress(json_object *task, const char *cause)
{
    const int is_held = *tseed_ctl_text(task, "reason", "") != '\0';
    json_object *one, *level = NULL;

    for (size_t i = 0; (one = tseed_ctl_entry(task, "levels", i)); i++) {
        level = one;
        if (tseed_ctl_number(one, "finished", 0) < tseed_ctl_number(one, "metatiles", 0)) {
            break;
        }
    }
    return tseed_ctl_format(
        "%s%s%s%s%s",
        level ? tseed_ctl_format("z%02d  ", (int)tseed_ctl_number(level, "z", 0)) : "",
        tseed_ctl_fill(task, DONE), tseed_ctl_fill(task, is_held ? "  {reason}" : PACE),
        tseed_ctl_fill(task, "[  failed {tilesFailed:number}]"),
        cause && tseed_ctl_number(task, "tilesFailed", 0) ? tseed_ctl_format(" (%s)", cause) : "");
}

const char *tseed_ctl_result(json_object *task)
{
    return tseed_ctl_format(
        "task %s %s: %s", tseed_ctl_text(task, "id", "?"),
        tseed_ctl_is(task, "state", "DONE") ? "done" : "aborted",
        tseed_ctl_fill(task, "{tilesProcessed|0} of {tilesTotal|0} tiles"
                             "[, {tilesMade:positive} made][, {tilesSkipped:positive} skipped]"
                             "[, {tilesRemoved:positive} removed][, {tilesFailed:positive} failed]"
                             "[, {tilesPruned:positive} pruned][; {reason}]"));
}

/* ---- lists ---- */

static const char *const of_task[] = {"ID>",     "{id}",
                                      "LAYER",   "{layer}",
                                      "GRIDSET", "{gridSetId}",
                                      "LEVELS",  "{zoomStart}-{zoomStop}",
                                      "TYPE",    "{type}",
                                      "STATE",   "{state}",
                                      "DONE>",   "{tilesProcessed|100.0 %:of/tilesTotal}",
                                      "TILES>",  "{tilesTotal|0:count}",
                                      "FAILED>", "{tilesFailed|0:count}",
                                      "RATE>",   "{tilesPerSecond|-:rate}",
                                      "ETA>",    "{secondsRemaining|-:time}",
                                      "REASON",  "{reason|}",
                                      NULL};

/* The list that GeoWebCache has. */
static const char *const of_row[] = {"ID>",    "{id}",
                                     "STATE",  "{state}",
                                     "DONE>",  "{tilesProcessed|100.0 %:of/tilesTotal}",
                                     "TILES>", "{tilesTotal|0:count}",
                                     NULL};

/* A task that has ended needs no more time. */
static void print_tasks(json_object *document, const char *empty)
{
    json_object *task;

    for (size_t i = 0; (task = tseed_ctl_entry(document, "tasks", i)); i++) {
        if (tseed_ctl_part(task, "finished")) {
            json_object_object_del(task, "secondsRemaining");
        }
    }
    tseed_ctl_print_table(tseed_ctl_part(document, "tasks"), of_task, empty);
}

/* A field of a query; "" without its value. */
static const char *field(const char *name, const char *value)
{
    return value ? tseed_ctl_format("%s%s", name, tseed_ctl_segment(value)) : "";
}

static void run_tasks(void)
{
    print_tasks(tseed_ctl_take(tseed_ctl_get(
                    "tasks.json?limit=%s%s%s", tseed_ctl.limit ? tseed_ctl.limit : "20",
                    field("&state=", tseed_ctl.states), field("&layer=", tseed_ctl.layer))),
                "no tasks");
}

/* ---- status ---- */

static tseed_ctl_exit_t print_status(void)
{
    const char *layer = tseed_ctl_argument(0);
    tseed_ctl_answer_t *answer =
        tseed_ctl_get("tasks.json?state=running,pending&limit=1000%s", field("&layer=", layer));
    const int has_rows = answer->code == TSEED_CTL_NOT_FOUND;
    json_object *document, *rows;

    answer = has_rows ? tseed_ctl_get("seed%s.json", field("/", layer)) : answer;
    if (tseed_ctl_refused(answer) != TSEED_CTL_DONE) {
        return answer->code;
    }
    if (tseed_ctl.is_json) {
        tseed_ctl_pass(answer->body, answer->length);
        return TSEED_CTL_DONE;
    }
    document = tseed_ctl_document(answer);
    rows = tseed_ctl_rows(document);
    if (!document || (has_rows && !rows)) {
        tseed_ctl_complain("%s: this is no REST interface of tiles%s%s", answer->path,
                           document ? "" : ": ", document ? "" : answer->problem);
        return TSEED_CTL_NO_ANSWER;
    }
    if (has_rows) {
        tseed_ctl_print_table(rows, of_row, "no tasks under way");
    } else {
        print_tasks(document, "no tasks under way");
    }
    return TSEED_CTL_DONE;
}

/* With --watch again and again until Ctrl-C, which may come within a request. A server that is away
 * may come back. */
static void run_status(void)
{
    const apr_interval_time_t interval = tseed_ctl.interval ? tseed_ctl.interval : WATCH_INTERVAL;
    tseed_ctl_exit_t code;

    if (!tseed_ctl.is_watching) {
        tseed_ctl_end(print_status());
    }
    apr_pool_create(&tseed_ctl.pool, tseed_ctl.pool);
    tseed_ctl_interrupt_hold();
    do {
        apr_pool_clear(tseed_ctl.pool);
        fputs(isatty(STDOUT_FILENO) ? ERASE_SCREEN : "", stdout);
        code = print_status();
        fflush(stdout);
    } while ((code == TSEED_CTL_DONE || code == TSEED_CTL_NO_ANSWER) &&
             !tseed_ctl_interrupted(interval));
    tseed_ctl_end(code == TSEED_CTL_INTERRUPTED || code == TSEED_CTL_NO_ANSWER ? TSEED_CTL_DONE
                                                                               : code);
}

/* ---- one task ---- */

/* Prints a name and what a template makes, unless that is nothing. */
static void print_member(json_object *object, const char *name, const char *template)
{
    const char *text = tseed_ctl_fill(object, template);

    if (*text) {
        tseed_ctl_say("%-16s  %s", name, text);
    }
}

#define COUNT(member, name, wire, is_processed, place) wire " "

static void run_show(void)
{
    static const char names[] =
        "id layer gridSetId format type bounds zoomStart zoomStop threadCount state reason "
        "tilesTotal tilesProcessed " TSEED_COUNTS(
            COUNT) "tilesPerSecond secondsRemaining "
                   "requestedBy ignored created started finished retryOf";
    static const char *const more[][2] = {
        {"derived", "levels {derived.zoomStart} to {derived.zoomStop}"},
        {"requestSize", "{requestSize.width} x {requestSize.height} tiles: {requestSize.reason}"},
        {"parameters", "{parameters|}"}};
    char *last, *members = apr_pstrdup(tseed_ctl.pool, names);
    json_object *task = tseed_ctl_take(tseed_ctl_get("tasks/%s.json", tseed_ctl_argument(0))), *one;

    for (char *name = apr_strtok(members, " ", &last); name; name = apr_strtok(NULL, " ", &last)) {
        print_member(task, name, tseed_ctl_format("{%s|}", name));
    }
    for (size_t i = 0; i < 3; i++) {
        if (tseed_ctl_part(task, more[i][0])) {
            print_member(task, more[i][0], more[i][1]);
        }
    }
    for (size_t i = 0; (one = tseed_ctl_entry(task, "levels", i)); i++) {
        print_member(one, tseed_ctl_fill(one, "level {z}"), "{finished} of {metatiles} metatiles");
    }
}

/* ---- kill ---- */

static void run_kill(void)
{
    const char *id, *first = tseed_ctl_argument(0);
    tseed_ctl_exit_t code = TSEED_CTL_DONE;

    if (tseed_ctl.is_about_all) {
        if (tseed_ctl_argument(1)) {
            tseed_ctl_misuse("kill --all takes one layer at most");
        }
        tseed_ctl_confirm("End all tasks, whoever began them?", "kill --all", "ended");
        tseed_ctl_tell(tseed_ctl_send("POST", "application/x-www-form-urlencoded", "kill_all=all",
                                      "seed%s", field("/", first)),
                       "all tasks%s are ended, or will be", first ? " of the layer" : "");
        return;
    }
    if (!first) {
        tseed_ctl_misuse("kill needs ids of tasks, or --all");
    }
    for (int i = 0; (id = tseed_ctl_argument(i)); i++) {
        tseed_ctl_answer_t *answer = tseed_ctl_send("DELETE", NULL, NULL, "tasks/%s.json", id);

        if (tseed_ctl_refused(answer) != TSEED_CTL_DONE) {
            code = code == TSEED_CTL_DONE ? answer->code : code;
        } else if (tseed_ctl.is_json) {
            tseed_ctl_pass(answer->body, answer->length);
        } else if (!tseed_ctl.is_quiet) {
            tseed_ctl_say("task %s is ended", id);
        }
    }
    tseed_ctl_end(code);
}

/* ---- failures ---- */

static const char *const members[] = {"z", "x", "y", "cause", "httpStatus", "attempts", "time"};
#define MEMBERS (sizeof(members) / sizeof(*members))

/* What is done with each failure; `count` are before it. */
typedef struct list_t {
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
    const char *quote = text[strcspn(text, ",\"\r\n")] ? "\"" : "";

    fputs(quote, stdout);
    for (size_t length; *text; text += length) {
        length = strcspn(text, "\"");
        length += text[length] == '"';
        tseed_ctl_pass(text, length);
        fputs(text[length - 1] == '"' ? "\"" : "", stdout);
    }
    fputs(quote, stdout);
}

static void print_csv(list_t *list, json_object *failure)
{
    fputs(list->count ? "" : "z,x,y,cause,httpStatus,attempts,time\r\n", stdout);
    for (size_t i = 0; i < MEMBERS; i++) {
        print_field(tseed_ctl_text(failure, members[i], ""));
        fputs(i + 1 < MEMBERS ? "," : "\r\n", stdout);
    }
}

/* By the formulas of EPSG guidance note 7-2, 1.3.3.2: popular visualisation pseudo mercator. */
int tseed_ctl_project(tseed_bounds_t *to, int64_t srs, const tseed_bounds_t *from, int is_back)
{
    double n[4] = {from->minx, from->miny, from->maxx, from->maxy};

    for (int i = 0; i < 4 && srs != 4326; i++) {
        if (is_back) {
            n[i] /= MERCATOR_RADIUS;
            n[i] = (i % 2 ? asin(tanh(n[i])) : n[i]) * DEGREES;
        } else {
            n[i] = i % 2 ? fmax(-LATITUDE_MAX, fmin(LATITUDE_MAX, n[i])) : n[i];
            n[i] = MERCATOR_RADIUS * (i % 2 ? atanh(sin(n[i] / DEGREES)) : n[i] / DEGREES);
        }
    }
    *to = (tseed_bounds_t){n[0], n[1], n[2], n[3]};
    return srs == 4326 || tseed_srs_same(srs, 3857) ? 0 : -1;
}

/* The ground of the metatile's first tile, in degrees; in ASCII alone: the document may hold
 * anything. */
static void print_feature(list_t *list, json_object *failure)
{
    const int64_t x = tseed_ctl_number(failure, "x", 0), y = tseed_ctl_number(failure, "y", 0);
    const int64_t z = tseed_ctl_number(failure, "z", 0), last = list->gridset->levels - 1;
    const tseed_range_t tile = {(int)(z < 0 ? 0 : z < last ? z : last), x, y, x, y};
    const tseed_bounds_t ground = tseed_range_bounds(list->gridset, &tile);
    tseed_bounds_t box;

    tseed_ctl_project(&box, list->gridset->srs, &ground, 1);
    printf("%s{\"type\":\"Feature\",\"geometry\":{\"type\":\"Polygon\",\"coordinates\":"
           "[[[%.9g,%.9g],[%.9g,%.9g],[%.9g,%.9g],[%.9g,%.9g],[%.9g,%.9g]]]},\"properties\":{",
           list->count ? ",\n" : "", box.minx, box.miny, box.maxx, box.miny, box.maxx, box.maxy,
           box.minx, box.maxy, box.minx, box.miny);
    for (size_t i = 0; i < MEMBERS; i++) {
        json_object *value = tseed_ctl_part(failure, members[i]);
        const int is_text = strcmp(members[i], "cause") == 0 || strcmp(members[i], "time") == 0;

        printf("%s\"%s\":%s", i ? "," : "", members[i],
               is_text ? tseed_escape_json(tseed_ctl_text(failure, members[i], ""), tseed_ctl.pool)
               : json_object_is_type(value, json_type_int) ? json_object_get_string(value)
                                                           : "null");
    }
    fputs("}}", stdout);
}

/* Whether a failure comes behind the place of another one, which becomes its own: a server that
 * does not go on would be asked for ever. */
static int moves_on(int64_t place[3], json_object *failure)
{
    int order = 0;

    for (int i = 0; i < 3; i++) {
        const int64_t number = tseed_ctl_number(failure, members[i], 0);

        order = order ? order : (number > place[i]) - (number < place[i]);
        place[i] = number;
    }
    return order > 0;
}

/* All pages. Each is asked for by the end of the one before. Why metatiles failed, and how many, is
 * told before a table: where the server groups them. */
static void print_pages(list_t *list)
{
    static const char *const causes[] = {"COUNT>", "{count}",  "HTTP", "{httpStatus|-}",
                                         "CAUSE",  "{cause|}", NULL};
    apr_pool_t *pool = tseed_ctl.pool;
    const char *after = "";
    int64_t place[3] = {-1, -1, -1};
    json_object *document, *one, *last;

    apr_pool_create(&tseed_ctl.pool, pool);
    do {
        tseed_ctl_answer_t *answer = tseed_ctl_get("tasks/%s/failures.json?limit=%d%s",
                                                   tseed_ctl_argument(0), PAGE_SIZE, after);

        fputs(list->gridset && answer->code != TSEED_CTL_DONE ? "\n]}\n" : "", stdout);
        document = tseed_ctl_take(answer);
        if (list->rows && !*after && tseed_ctl_entry(document, "causes", 0)) {
            tseed_ctl_print_table(tseed_ctl_part(document, "causes"), causes, "");
            tseed_ctl_say("%s", "");
        }
        last = NULL;
        for (size_t i = 0; (one = tseed_ctl_entry(document, "failures", i)); i++) {
            list->print(list, one);
            list->count++;
            last = one;
        }
        if (!last || !moves_on(place, last) || !tseed_ctl_part(document, "next")) {
            break;
        }
        after = apr_psprintf(pool, "&after=%" PRId64 "/%" PRId64 "/%" PRId64, place[0], place[1],
                             place[2]);
        apr_pool_clear(tseed_ctl.pool);
    } while (1);
    apr_pool_destroy(tseed_ctl.pool);
    tseed_ctl.pool = pool;
}

/* The grid set must be the built-in one of its name, as far as the server tells. */
static void print_geojson(list_t *list)
{
    json_object *task = tseed_ctl_read(tseed_ctl_get("tasks/%s.json", tseed_ctl_argument(0)));
    const tseed_gridset_t *gridset = tseed_gridset_builtin(tseed_ctl_text(task, "gridSetId", ""));
    json_object *found = tseed_ctl_document(tseed_ctl_get("layers.json"));

    found = tseed_ctl_find(found, "layers", "name", tseed_ctl_text(task, "layer", ""));
    found = gridset ? tseed_ctl_find(found, "gridSets", "gridSetId", gridset->name) : NULL;
    if (!found || tseed_ctl_number(found, "tileWidth", 0) != gridset->tile_width ||
        tseed_ctl_number(found, "tileHeight", 0) != gridset->tile_height) {
        tseed_ctl_misuse("--geojson is for the built-in grid sets; take --csv");
    }
    list->gridset = gridset;
    puts("{\"type\":\"FeatureCollection\",\"features\":[");
    print_pages(list);
    puts("\n]}");
}

static void run_failures(void)
{
    static const char *const columns[] = {"Z>",     "{z|-}",        "X>",    "{x|-}",
                                          "Y>",     "{y|-}",        "HTTP>", "{httpStatus|-}",
                                          "TRIES>", "{attempts|-}", "TIME",  "{time|-}",
                                          "CAUSE",  "{cause|-}",    NULL};
    list_t list = {.print = tseed_ctl.is_csv ? print_csv : add_row};

    if (tseed_ctl.is_csv + tseed_ctl.is_geojson + tseed_ctl.is_json > 1) {
        tseed_ctl_misuse("choose one of --csv, --geojson and --json");
    }
    if (tseed_ctl.is_geojson) {
        list.print = print_feature;
        print_geojson(&list);
    } else {
        list.rows = tseed_ctl.is_csv ? NULL : tseed_ctl_keep(json_object_new_array());
        print_pages(&list);
    }
    if (list.rows) {
        tseed_ctl_print_table(list.rows, columns, "no failures");
    }
}

const tseed_ctl_verb_t tseed_ctl_task_verbs[] = {
    {2, "status", "[LAYER]", "list the tasks under way", run_status},
    {3, "tasks", "", "list tasks, ended ones too, the newest first", run_tasks},
    {8, "show", "ID", "show one task", run_show},
    {10, "kill", "[ID...|LAYER]", "end tasks", run_kill},
    {11, "failures", "ID", "list the metatiles that failed, and why", run_failures},
    {0}};
