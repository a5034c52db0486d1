/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verb failures: the metatiles that a task has given up on, as a table, as comma-separated
 * values, or as GeoJSON (RFC 7946) in degrees. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl_request.h"
#include "ctl/tseed_ctl_terminal.h"
#include "ctl/tseed_ctl_verbs.h"
#include "ctl/tseed_ctl_words.h"
#include "protocol/tseed_escape.h"
#include "tiling/tseed_range.h"

#define PAGE_SIZE 1000

/* What is done with each failure; `count` are before it. */
typedef struct {
    const tseed_ctl_t *ctl;
    const tseed_gridset_t *gridset; /* of GeoJSON */
    tseed_ctl_table_t *table;       /* of a table */
    int64_t task, count;
} list_t;

typedef void print_t(list_t *list, const tseed_node_t *failure, apr_pool_t *pool);

static void print_row(list_t *list, const tseed_node_t *failure, apr_pool_t *pool)
{
    static const char *const members[] = {"z", "x", "y", "httpStatus", "attempts", "time", "cause"};

    (void)pool;
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        tseed_ctl_table_add(list->table,
                            tseed_ctl_words(failure, members[i], "-", list->ctl->pool));
    }
}

static void print_csv(list_t *list, const tseed_node_t *failure, apr_pool_t *pool)
{
    static const char *const members[] = {"z", "x", "y", "cause", "httpStatus", "attempts", "time"};

    if (list->count == 0) {
        printf("z,x,y,cause,httpStatus,attempts,time\r\n");
    }
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        const char *field = tseed_ctl_csv(tseed_ctl_text(failure, members[i], ""), pool);

        fputs(i ? "," : "", stdout);
        tseed_ctl_write(field, strlen(field), pool);
    }
    printf("\r\n");
}

/* The ground of the metatile's first tile. */
static tseed_bounds_t ground_of(const list_t *list, const tseed_node_t *failure)
{
    const int64_t x = tseed_ctl_number(failure, "x", 0), y = tseed_ctl_number(failure, "y", 0);
    const int z = (int)tseed_ctl_number(failure, "z", 0);
    const int level = z < 0 ? 0 : z < list->gridset->levels ? z : list->gridset->levels - 1;
    const tseed_range_t tile = {level, x, y, x, y};
    const tseed_bounds_t box = tseed_range_bounds(list->gridset, &tile);
    tseed_bounds_t degrees;

    tseed_ctl_unproject(&degrees, list->gridset->srs, &box);
    return degrees;
}

/* A number of JSON, or null: the document may hold anything. */
static const char *number_of(const tseed_node_t *failure, const char *member, apr_pool_t *pool)
{
    const int64_t number = tseed_ctl_number(failure, member, INT64_MIN);

    return number == INT64_MIN ? "null" : apr_psprintf(pool, "%" APR_INT64_T_FMT, number);
}

static void print_feature(list_t *list, const tseed_node_t *failure, apr_pool_t *pool)
{
    const tseed_bounds_t box = ground_of(list, failure);

    printf("%s{\"type\":\"Feature\",\"geometry\":{\"type\":\"Polygon\",\"coordinates\":"
           "[[[%.9g,%.9g],[%.9g,%.9g],[%.9g,%.9g],[%.9g,%.9g],[%.9g,%.9g]]]},"
           "\"properties\":{\"z\":%s,\"x\":%s,\"y\":%s,\"cause\":%s,\"httpStatus\":%s,"
           "\"attempts\":%s,\"time\":%s}}",
           list->count ? ",\n" : "", box.minx, box.miny, box.maxx, box.miny, box.maxx, box.maxy,
           box.minx, box.maxy, box.minx, box.miny, number_of(failure, "z", pool),
           number_of(failure, "x", pool), number_of(failure, "y", pool),
           tseed_escape_json(tseed_ctl_text(failure, "cause", ""), pool),
           number_of(failure, "httpStatus", pool), number_of(failure, "attempts", pool),
           tseed_escape_json(tseed_ctl_text(failure, "time", ""), pool));
}

/* ---- pages ---- */

static tseed_ctl_answer_t *ask_page(const list_t *list, const tseed_node_t *last, apr_pool_t *pool)
{
    const char *after = "";

    if (last) {
        after =
            apr_psprintf(pool, "&after=%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT "/%" APR_INT64_T_FMT,
                         tseed_ctl_number(last, "z", 0), tseed_ctl_number(last, "x", 0),
                         tseed_ctl_number(last, "y", 0));
    }
    return tseed_ctl_http_get(list->ctl->http, pool,
                              "tasks/%" APR_INT64_T_FMT "/failures.json?limit=%d%s", list->task,
                              PAGE_SIZE, after);
}

/* Why metatiles failed, and how many: where the server groups them. */
static void print_causes(const tseed_node_t *document, apr_pool_t *pool)
{
    tseed_ctl_table_t *table = tseed_ctl_table_create("COUNT> HTTP CAUSE", pool);

    if (!tseed_ctl_first(document, "causes")) {
        return;
    }
    for (const tseed_node_t *one = tseed_ctl_first(document, "causes"); one;
         one = tseed_ctl_next(one)) {
        tseed_ctl_table_add(table, tseed_ctl_words(one, "count", "?", pool));
        tseed_ctl_table_add(table, tseed_ctl_words(one, "httpStatus", "-", pool));
        tseed_ctl_table_add(table, tseed_ctl_words(one, "cause", "", pool));
    }
    tseed_ctl_table_print(table, "");
    putchar('\n');
}

/* Prints the failures of a page. The last one, or NULL for an empty page. */
static const tseed_node_t *print_page(list_t *list, const tseed_node_t *document, print_t *print,
                                      apr_pool_t *pool)
{
    const tseed_node_t *last = NULL;

    for (const tseed_node_t *one = tseed_ctl_first(document, "failures"); one;
         one = tseed_ctl_next(one)) {
        print(list, one, pool);
        list->count++;
        last = one;
    }
    return last;
}

/* Whether a failure comes behind another one: a server that does not go on would be asked for ever.
 */
static int is_behind(const tseed_node_t *failure, const tseed_node_t *before)
{
    static const char *const members[] = {"z", "x", "y"};

    for (size_t i = 0; before && i < sizeof(members) / sizeof(*members); i++) {
        const int64_t now = tseed_ctl_number(failure, members[i], 0);
        const int64_t then = tseed_ctl_number(before, members[i], 0);

        if (now != then) {
            return now > then;
        }
    }
    return !before;
}

/* All pages. Two pools take turns, because a page is asked for by the end of the one before. */
static tseed_ctl_exit_t print_all(list_t *list, print_t *print)
{
    const tseed_node_t *document, *before, *last = NULL;
    apr_pool_t *pools[2];
    int turn = 0;

    apr_pool_create(&pools[0], list->ctl->pool);
    apr_pool_create(&pools[1], list->ctl->pool);
    do {
        tseed_ctl_t one = *list->ctl;
        tseed_ctl_exit_t code;

        apr_pool_clear(pools[turn]);
        one.pool = pools[turn];
        code = tseed_ctl_take(&document, &one, ask_page(list, last, one.pool));
        if (code != TSEED_CTL_DONE || !document) {
            return code;
        }
        if (!last && list->table) {
            print_causes(document, one.pool);
        }
        before = last;
        last = print_page(list, document, print, one.pool);
        turn = !turn;
    } while (last && tseed_ctl_member(document, "next") && is_behind(last, before));
    return TSEED_CTL_DONE;
}

/* ---- the forms ---- */

static tseed_ctl_exit_t print_table(list_t *list)
{
    tseed_ctl_exit_t code;

    list->table = tseed_ctl_table_create("Z> X> Y> HTTP> TRIES> TIME CAUSE", list->ctl->pool);
    code = print_all(list, print_row);
    if (code == TSEED_CTL_DONE && !list->ctl->options->is_json) {
        tseed_ctl_table_print(list->table, "no failures");
    }
    return code;
}

/* Whether the grid set of a task is the built-in one of its name, as far as the server tells. */
static int is_builtin(const tseed_ctl_t *ctl, const tseed_node_t *task,
                      const tseed_gridset_t *gridset)
{
    const tseed_ctl_answer_t *answer = tseed_ctl_http_get(ctl->http, ctl->pool, "layers.json");
    const tseed_node_t *document, *found;

    if (!gridset || tseed_ctl_judge(answer) != TSEED_CTL_DONE ||
        tseed_ctl_document_read(&document, answer->body, answer->length, ctl->pool)) {
        return 0;
    }
    found = tseed_ctl_find_gridset(document, tseed_ctl_text(task, "layer", ""), gridset->name);
    return found && tseed_ctl_number(found, "tileWidth", 0) == gridset->tile_width &&
           tseed_ctl_number(found, "tileHeight", 0) == gridset->tile_height;
}

static tseed_ctl_exit_t print_geojson(list_t *list)
{
    tseed_ctl_options_t plain = *list->ctl->options;
    tseed_ctl_t ctl = *list->ctl;
    const tseed_node_t *task;
    tseed_ctl_exit_t code;

    plain.is_json = 0;
    ctl.options = &plain;
    code = tseed_ctl_take(
        &task, &ctl,
        tseed_ctl_http_get(ctl.http, ctl.pool, "tasks/%" APR_INT64_T_FMT ".json", list->task));
    if (code != TSEED_CTL_DONE) {
        return code;
    }
    list->ctl = &ctl;
    list->gridset = tseed_gridset_builtin(tseed_ctl_text(task, "gridSetId", ""));
    if (!is_builtin(&ctl, task, list->gridset)) {
        return tseed_ctl_misuse("--geojson is for the built-in grid sets; take --csv");
    }
    printf("{\"type\":\"FeatureCollection\",\"features\":[\n");
    code = print_all(list, print_feature);
    printf("\n]}\n");
    return code;
}

tseed_ctl_exit_t tseed_ctl_run_failures(const tseed_ctl_t *ctl)
{
    const tseed_ctl_options_t *options = ctl->options;
    const apr_array_header_t *ids = tseed_ctl_ids(ctl);
    list_t list = {.ctl = ctl};

    if (!ids) {
        return TSEED_CTL_USAGE;
    }
    if (options->is_csv + options->is_geojson + options->is_json > 1) {
        return tseed_ctl_misuse("choose one of --csv, --geojson and --json");
    }
    list.task = APR_ARRAY_IDX(ids, 0, int64_t);
    if (options->is_geojson) {
        return print_geojson(&list);
    }
    return options->is_csv ? print_all(&list, print_csv) : print_table(&list);
}
