/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs seed, reseed, truncate, retry and estimate.
 *
 * A request is sent as XML, which every GeoWebCache reads; an estimate is asked for with a query. A
 * request whose answer was lost is sent again with its Idempotency-Key, so that the two start one
 * task. GeoWebCache does not know such keys: the client sends again only after the server has
 * answered tasks.json, which GeoWebCache does not have. */
#include <apr_strings.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"
#include "ctl/tseed_ctl_print.h"
#include "protocol/tseed_escape.h"

#define SENDS_MAX 6
#define KEY_BYTES 16

/* Radius of the sphere that web mercator takes the earth for, in metres (EPSG:3857). */
#define MERCATOR_RADIUS 6378137.0
#define DEGREES         (180 / 3.14159265358979323846)

/* Where web mercator's square ends. */
#define LATITUDE_MAX 85.05112877980659

/* ---- the request ---- */

/* Members that are one text each, by their name on the wire. */
static const struct {
    const char *name;
    size_t offset;
    int is_asked; /* of an estimate, behind the type */
} members[] = {{"gridSetId", offsetof(tseed_ctl_options_t, gridset), 1},
               {"zoomStart", offsetof(tseed_ctl_options_t, zoom_start), 1},
               {"zoomStop", offsetof(tseed_ctl_options_t, zoom_stop), 1},
               {"format", offsetof(tseed_ctl_options_t, format), 1},
               {"type", offsetof(tseed_ctl_options_t, type), 0},
               {"threadCount", offsetof(tseed_ctl_options_t, threads), 1},
               {"totalFailuresBeforeAborting", offsetof(tseed_ctl_options_t, max_failures), 0}};
#define MEMBERS (sizeof(members) / sizeof(*members))

/* The text of a member; NULL: not given. */
static const char *member_of(const tseed_ctl_options_t *options, size_t i)
{
    return *(const char *const *)((const char *)options + members[i].offset);
}

static const char *element(const char *name, const char *text, apr_pool_t *pool)
{
    return apr_pstrcat(pool, "<", name, ">", tseed_escape_xml(text, pool), "</", name, ">", NULL);
}

/* The four numbers of a box, each between two texts. */
static const char *say_box(const tseed_bounds_t *box, const char *before, const char *behind,
                           apr_pool_t *pool)
{
    return apr_pstrcat(pool, before, tseed_text_number(box->minx, pool), behind, before,
                       tseed_text_number(box->miny, pool), behind, before,
                       tseed_text_number(box->maxx, pool), behind, before,
                       tseed_text_number(box->maxy, pool), behind, NULL);
}

/* GeoWebCache wants a number of threads. */
const char *tseed_ctl_seed_xml(const tseed_ctl_options_t *options, apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(options->parameters);
    const char *xml = element("name", tseed_ctl_argument(options, 0), pool);

    for (size_t i = 0; i < MEMBERS; i++) {
        const char *text = member_of(options, i);

        xml = text ? apr_pstrcat(pool, xml, element(members[i].name, text, pool), NULL) : xml;
    }
    if (!options->threads) {
        xml = apr_pstrcat(pool, xml, element("threadCount", "1", pool), NULL);
    }
    if (options->bounds.is_given) {
        xml = apr_pstrcat(pool, xml, "<bounds><coords>",
                          say_box(&options->bounds.box, "<double>", "</double>", pool),
                          "</coords></bounds>", NULL);
    }
    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        xml = apr_pstrcat(pool, xml, i ? "" : "<parameters>", "<entry>",
                          element("string", entry->key, pool), element("string", entry->val, pool),
                          "</entry>", i + 1 < entries->nelts ? "" : "</parameters>", NULL);
    }
    return apr_pstrcat(pool, "<seedRequest>", xml, "</seedRequest>", NULL);
}

const char *tseed_ctl_seed_query(const tseed_ctl_options_t *options, apr_pool_t *pool)
{
    const apr_array_header_t *entries = apr_table_elts(options->parameters);
    const char *box = say_box(&options->bounds.box, "", ",", pool);
    const char *query = apr_pstrcat(pool, "type=", options->type, NULL);

    for (size_t i = 0; i < MEMBERS; i++) {
        const char *text = members[i].is_asked ? member_of(options, i) : NULL;

        if (text) {
            query = apr_pstrcat(pool, query, "&", members[i].name, "=",
                                tseed_ctl_segment(text, pool), NULL);
        }
    }
    if (options->bounds.is_given) {
        query = apr_psprintf(pool, "%s&bbox=%.*s", query, (int)strlen(box) - 1, box);
    }
    for (int i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        query = apr_pstrcat(pool, query, "&parameter_", tseed_ctl_segment(entry->key, pool), "=",
                            tseed_ctl_segment(entry->val, pool), NULL);
    }
    return query;
}

/* ---- degrees ---- */

/* Northing of a latitude, and back (EPSG guidance note 7-2, 1.3.3.2: popular visualisation). */
static double north_of(double latitude)
{
    latitude = fmax(-LATITUDE_MAX, fmin(LATITUDE_MAX, latitude));
    return MERCATOR_RADIUS * atanh(sin(latitude / DEGREES));
}

static double latitude_of(double north)
{
    return asin(tanh(north / MERCATOR_RADIUS)) * DEGREES;
}

int tseed_ctl_project(tseed_bounds_t *box, int64_t srs, const tseed_bounds_t *degrees)
{
    *box = *degrees;
    if (srs != 4326) {
        *box = (tseed_bounds_t){MERCATOR_RADIUS * degrees->minx / DEGREES, north_of(degrees->miny),
                                MERCATOR_RADIUS * degrees->maxx / DEGREES, north_of(degrees->maxy)};
    }
    return srs == 4326 || tseed_srs_same(srs, 3857) ? 0 : -1;
}

int tseed_ctl_unproject(tseed_bounds_t *degrees, int64_t srs, const tseed_bounds_t *box)
{
    *degrees = *box;
    if (srs != 4326) {
        *degrees = (tseed_bounds_t){box->minx / MERCATOR_RADIUS * DEGREES, latitude_of(box->miny),
                                    box->maxx / MERCATOR_RADIUS * DEGREES, latitude_of(box->maxy)};
    }
    return srs == 4326 || tseed_srs_same(srs, 3857) ? 0 : -1;
}

/* Turns the box in degrees of the options into one of the grid set, whose system the server
 * knows. */
static tseed_ctl_exit_t find_box(tseed_ctl_options_t *options, const tseed_ctl_t *ctl)
{
    const char *layer = tseed_ctl_argument(options, 0);
    const tseed_gridset_t *known =
        options->gridset ? tseed_gridset_builtin(options->gridset) : NULL;
    int64_t srs = known ? known->srs : 0;
    const tseed_ctl_answer_t *answer;
    json_object *document, *found;

    if (!options->lonlat.is_given) {
        return TSEED_CTL_DONE;
    }
    if (options->bounds.is_given) {
        return tseed_ctl_misuse("give the box once: -b or --lonlat");
    }
    if (!known) {
        answer = tseed_ctl_get(ctl, "layers.json");
        if (tseed_ctl_refused(ctl, answer) != TSEED_CTL_DONE) {
            return tseed_ctl_judge(answer);
        }
        tseed_ctl_document(&document, answer, ctl->pool);
        found = tseed_ctl_find(document, "layers", "name", layer);
        found = tseed_ctl_find(found, "gridSets", "gridSetId", options->gridset);
        srs = tseed_ctl_number(found, "srs", 0);
    }
    if (srs == 0) {
        tseed_ctl_complain("the server has no layer %s with such a grid set", layer);
        return TSEED_CTL_NOT_FOUND;
    }
    if (tseed_ctl_project(&options->bounds.box, srs, &options->lonlat.box) != 0) {
        tseed_ctl_complain("--lonlat is for EPSG:4326 and EPSG:3857; the grid set has "
                           "EPSG:%" APR_INT64_T_FMT ", give its own units with -b",
                           srs);
        return TSEED_CTL_USAGE;
    }
    options->bounds.is_given = 1;
    return TSEED_CTL_DONE;
}

/* ---- estimate ---- */

static const char *say_bytes(double number, apr_pool_t *pool)
{
    return number < 0x1p50 ? tseed_text_amount((int64_t)number, pool)
                           : apr_psprintf(pool, "%.1f PiB", number / 0x1p50);
}

/* "about 260 KiB (150 KiB to 890 KiB)" */
static void print_range(const char *what, json_object *range,
                        const char *(*say)(double number, apr_pool_t *pool), apr_pool_t *pool)
{
    if (!range) {
        tseed_ctl_say("%-8s not known: nothing was measured yet", what);
        return;
    }
    tseed_ctl_say("%-8s about %s (%s to %s)", what,
                  say(tseed_ctl_decimal(range, "expected", 0), pool),
                  say(tseed_ctl_decimal(range, "low", 0), pool),
                  say(tseed_ctl_decimal(range, "high", 0), pool));
}

tseed_ctl_exit_t tseed_ctl_run_estimate(const tseed_ctl_t *ctl)
{
    tseed_ctl_options_t options = *ctl->options;
    const tseed_ctl_answer_t *answer;
    json_object *document, *estimate;
    const char *pruned, *in;
    tseed_ctl_exit_t code = find_box(&options, ctl);

    if (code != TSEED_CTL_DONE) {
        return code;
    }
    answer = tseed_ctl_get(ctl, "estimate/%s.json?%s",
                           tseed_ctl_segment(tseed_ctl_argument(&options, 0), ctl->pool),
                           tseed_ctl_seed_query(&options, ctl->pool));
    code = tseed_ctl_take(&document, ctl, answer);
    if (answer->warning) {
        tseed_ctl_complain("%s", answer->warning);
    }
    if (!document) {
        return code;
    }
    estimate = json_object_object_get(document, "estimate");
    pruned =
        tseed_ctl_number(estimate, "tilesPruned", 0) > 0
            ? apr_psprintf(ctl->pool, ", %s pruned", tseed_ctl_text(estimate, "tilesPruned", ""))
            : "";
    tseed_ctl_say("tiles    %s of %s in %s metatiles, %s there already%s",
                  tseed_ctl_text(estimate, "tilesToMake", "?"),
                  tseed_ctl_text(estimate, "tiles", "?"),
                  tseed_ctl_text(estimate, "metatiles", "?"),
                  tseed_ctl_text(estimate, "tilesPresent", "?"), pruned);
    print_range("space", json_object_object_get(estimate, "bytes"), say_bytes, ctl->pool);
    in = tseed_ctl_text(estimate, "freeIn", "");
    if (*in) {
        tseed_ctl_say("free     %s in the %s",
                      say_bytes(tseed_ctl_decimal(estimate, "free", 0), ctl->pool),
                      strcmp(in, "quota") == 0 ? "quota" : "file system");
    }
    print_range("time", json_object_object_get(estimate, "seconds"), tseed_ctl_seconds, ctl->pool);
    return code;
}

/* ---- delivery ---- */

/* The key that the user has given, or a random one. */
static const char *key_of(const tseed_ctl_t *ctl)
{
    unsigned char bytes[KEY_BYTES];
    char *key = apr_palloc(ctl->pool, 2 * KEY_BYTES + 1);

    if (ctl->options->key) {
        return ctl->options->key;
    }
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
        abort(); /* Linux always has so few */
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    }
    return key;
}

/* Whether an answer tells what has become of the request. */
static int is_told(const tseed_ctl_answer_t *answer)
{
    return answer->status > 0 && answer->status < 500;
}

/* Sends a request, and again when its answer was lost. */
static tseed_ctl_answer_t *deliver(const tseed_ctl_t *ctl, const tseed_ctl_request_t *request)
{
    tseed_ctl_answer_t *lost = tseed_ctl_http_ask(ctl->http, request, ctl->pool);
    const tseed_ctl_answer_t *known;
    int knows = -1; /* whether the server knows keys; -1: it does not answer */

    if (!lost->is_lost) {
        return lost;
    }
    for (int i = 1; i < SENDS_MAX && knows != 0 && !lost->is_interrupted; i++) {
        lost->is_interrupted = tseed_ctl_interrupted(APR_USEC_PER_SEC << (i - 1));
        if (!lost->is_interrupted) {
            known = tseed_ctl_get(ctl, "tasks.json?limit=1");
            knows = is_told(known) ? known->status == 200 : -1;
        }
        if (knows == 1 && !lost->is_interrupted) {
            tseed_ctl_answer_t *answer = tseed_ctl_http_ask(ctl->http, request, ctl->pool);

            if (is_told(answer)) {
                return answer;
            }
            lost->is_interrupted = answer->is_interrupted;
        }
    }
    lost->problem =
        apr_pstrcat(ctl->pool, lost->problem, "; the server may have got the request all the same",
                    knows ? ", say it again with --key " : "", knows ? request->key : "", NULL);
    return lost;
}

/* ---- the verbs that start tasks ---- */

/* Tells of the new task, and waits for it. A server that gives it no number has the layer. */
static tseed_ctl_exit_t follow(const tseed_ctl_t *ctl, const tseed_ctl_answer_t *answer,
                               const char *layer)
{
    const tseed_ctl_options_t *options = ctl->options;
    json_object *unused;
    int64_t id;

    if (answer->warning) {
        tseed_ctl_complain("%s", answer->warning);
    }
    if (!answer->task || tseed_text_int64(&id, answer->task, 1, INT64_MAX) != 0) {
        tseed_ctl_complain("accepted; this server gives no numbers to its tasks");
        return options->is_waiting && layer ? tseed_ctl_wait_for(ctl, NULL, layer) : TSEED_CTL_DONE;
    }
    if (options->is_json && !options->is_waiting) {
        return tseed_ctl_take(&unused, ctl, tseed_ctl_get(ctl, "tasks/%s.json", answer->task));
    }
    if (!options->is_quiet && !options->is_json) {
        tseed_ctl_say("task %s", answer->task);
        fflush(stdout);
    }
    return options->is_waiting ? tseed_ctl_wait_for(ctl, answer->task, NULL) : TSEED_CTL_DONE;
}

static tseed_ctl_exit_t start(const tseed_ctl_t *ctl, tseed_ctl_request_t *request,
                              const char *layer)
{
    const tseed_ctl_answer_t *answer;
    tseed_ctl_exit_t code;

    tseed_ctl_interrupt_hold();
    request->method = "POST";
    request->key = key_of(ctl);
    request->is_lenient = ctl->options->is_lenient;
    answer = deliver(ctl, request);
    code = tseed_ctl_refused(ctl, answer);
    return code == TSEED_CTL_DONE ? follow(ctl, answer, layer) : code;
}

/* Asks before tiles are removed. */
static tseed_ctl_exit_t confirm(const tseed_ctl_t *ctl, const tseed_ctl_options_t *options)
{
    const char *levels = options->zoom_start ? apr_psprintf(ctl->pool, "levels %s to %s",
                                                            options->zoom_start, options->zoom_stop)
                                             : "all levels";
    const char *question =
        apr_psprintf(ctl->pool, "Remove tiles of %s in %s, %s?", tseed_ctl_argument(options, 0),
                     options->bounds.is_given ? "the box" : "the whole extent", levels);

    return tseed_ctl_verb_is(options, "truncate")
               ? tseed_ctl_confirm(ctl, question, "truncate", "removed")
               : TSEED_CTL_DONE;
}

tseed_ctl_exit_t tseed_ctl_run_seed(const tseed_ctl_t *ctl)
{
    tseed_ctl_options_t options = *ctl->options;
    const char *layer = tseed_ctl_argument(&options, 0);
    tseed_ctl_request_t request = {.type = "text/xml"};
    tseed_ctl_exit_t code;

    if (options.is_dry_run) {
        return tseed_ctl_run_estimate(ctl);
    }
    code = find_box(&options, ctl);
    if (code == TSEED_CTL_DONE) {
        code = confirm(ctl, &options);
    }
    if (code != TSEED_CTL_DONE) {
        return code;
    }
    request.path = apr_psprintf(ctl->pool, "seed/%s.xml", tseed_ctl_segment(layer, ctl->pool));
    request.body = tseed_ctl_seed_xml(&options, ctl->pool);
    return start(ctl, &request, layer);
}

tseed_ctl_exit_t tseed_ctl_run_retry(const tseed_ctl_t *ctl)
{
    tseed_ctl_request_t request = {
        .path = apr_psprintf(ctl->pool, "tasks/%s/retry", tseed_ctl_argument(ctl->options, 0))};

    return start(ctl, &request, NULL);
}
