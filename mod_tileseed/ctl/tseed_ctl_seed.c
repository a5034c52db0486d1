/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs seed, reseed, truncate, retry and estimate.
 *
 * A request is sent as XML, which every GeoWebCache reads; an estimate is asked for with a query. A
 * request whose answer was lost is sent again with its Idempotency-Key, so that the two start one
 * task. GeoWebCache does not know such keys: the client sends again only after the server has
 * answered tasks.json, which GeoWebCache does not have. */
#include <apr_escape.h>
#include <apr_strings.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"

#define SENDS_MAX 6

/* Radius of the sphere that web mercator takes the earth for, in metres (EPSG:3857). */
#define MERCATOR_RADIUS 6378137.0
#define DEGREES         (180 / 3.14159265358979323846)

/* Where web mercator's square ends. */
#define LATITUDE_MAX 85.05112877980659

/* ---- the request ---- */

/* Members that are one text each, by their name on the wire. */
static const struct {
    const char *name, **text;
    int is_asked; /* of an estimate, behind the type */
} members[] = {{"gridSetId", &tseed_ctl.gridset, 1},
               {"zoomStart", &tseed_ctl.zoom_start, 1},
               {"zoomStop", &tseed_ctl.zoom_stop, 1},
               {"format", &tseed_ctl.format, 1},
               {"type", &tseed_ctl.type, 0},
               {"threadCount", &tseed_ctl.threads, 1},
               {"totalFailuresBeforeAborting", &tseed_ctl.max_failures, 0}};
#define MEMBERS (sizeof(members) / sizeof(*members))

/* The four numbers of the box, with a text between each. */
static const char *say_box(const char *gap)
{
    const tseed_bounds_t *box = &tseed_ctl.bounds.box;

    return tseed_ctl_format("%s%s%s%s%s%s%s", tseed_text_number(box->minx, tseed_ctl.pool), gap,
                            tseed_text_number(box->miny, tseed_ctl.pool), gap,
                            tseed_text_number(box->maxx, tseed_ctl.pool), gap,
                            tseed_text_number(box->maxy, tseed_ctl.pool));
}

/* GeoWebCache wants a number of threads. */
const char *tseed_ctl_seed_xml(void)
{
    const char *xml = tseed_ctl_element("name", tseed_ctl_argument(0)), *entries = "";
    const apr_table_entry_t *entry;

    for (size_t i = 0; i < MEMBERS; i++) {
        const char *text = *members[i].text;

        xml = text ? tseed_ctl_format("%s%s", xml, tseed_ctl_element(members[i].name, text)) : xml;
    }
    xml = tseed_ctl.threads ? xml : tseed_ctl_format("%s<threadCount>1</threadCount>", xml);
    for (int i = 0; (entry = tseed_ctl_parameter(i)); i++) {
        entries = tseed_ctl_format("%s<entry>%s%s</entry>", entries,
                                   tseed_ctl_element("string", entry->key),
                                   tseed_ctl_element("string", entry->val));
    }
    if (tseed_ctl.bounds.is_given) {
        xml = tseed_ctl_format("%s<bounds><coords><double>%s</double></coords></bounds>", xml,
                               say_box("</double><double>"));
    }
    return tseed_ctl_format(*entries ? "<seedRequest>%s<parameters>%s</parameters></seedRequest>"
                                     : "<seedRequest>%s%s</seedRequest>",
                            xml, entries);
}

const char *tseed_ctl_seed_query(void)
{
    const char *query = tseed_ctl_format("type=%s", tseed_ctl.type);
    const apr_table_entry_t *entry;

    for (size_t i = 0; i < MEMBERS; i++) {
        if (members[i].is_asked && *members[i].text) {
            query = tseed_ctl_format("%s&%s=%s", query, members[i].name,
                                     tseed_ctl_segment(*members[i].text));
        }
    }
    if (tseed_ctl.bounds.is_given) {
        query = tseed_ctl_format("%s&bbox=%s", query, say_box(","));
    }
    for (int i = 0; (entry = tseed_ctl_parameter(i)); i++) {
        query = tseed_ctl_format("%s&parameter_%s=%s", query, tseed_ctl_segment(entry->key),
                                 tseed_ctl_segment(entry->val));
    }
    return query;
}

/* ---- degrees ---- */

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

/* Turns the box in degrees into one of the grid set, whose system the server knows. */
static void find_box(void)
{
    const char *layer = tseed_ctl_argument(0);
    const tseed_gridset_t *known =
        tseed_ctl.gridset ? tseed_gridset_builtin(tseed_ctl.gridset) : NULL;
    tseed_ctl_answer_t *answer;
    int64_t srs = known ? known->srs : 0;
    json_object *found;

    if (!tseed_ctl.lonlat.is_given) {
        return;
    }
    if (tseed_ctl.bounds.is_given) {
        tseed_ctl_misuse("give the box once: -b or --lonlat");
    }
    if (!known) {
        answer = tseed_ctl_get("layers.json");
        tseed_ctl_expect(answer);
        found = tseed_ctl_document(answer);
        found = tseed_ctl_find(found, "layers", "name", layer);
        found = tseed_ctl_find(found, "gridSets", "gridSetId", tseed_ctl.gridset);
        srs = tseed_ctl_number(found, "srs", 0);
    }
    if (srs == 0) {
        tseed_ctl_fail(TSEED_CTL_NOT_FOUND, "the server has no layer %s with such a grid set",
                       layer);
    }
    if (tseed_ctl_project(&tseed_ctl.bounds.box, srs, &tseed_ctl.lonlat.box, 0) != 0) {
        tseed_ctl_misuse("--lonlat is for EPSG:4326 and EPSG:3857; the grid set has "
                         "EPSG:%" APR_INT64_T_FMT ", give its own units with -b",
                         srs);
    }
    tseed_ctl.bounds.is_given = 1;
}

/* ---- estimate ---- */

/* Prints what is expected and its range, if anything was measured. */
static void print_range(const char *what, json_object *range, const char *template)
{
    tseed_ctl_say("%-8s %s", what,
                  range ? tseed_ctl_fill(range, template) : "not known: nothing was measured yet");
}

void tseed_ctl_run_estimate(void)
{
    tseed_ctl_answer_t *answer;
    json_object *estimate;

    find_box();
    answer = tseed_ctl_get("estimate/%s.json?%s", tseed_ctl_segment(tseed_ctl_argument(0)),
                           tseed_ctl_seed_query());
    if (answer->warning) {
        tseed_ctl_complain("%s", answer->warning);
    }
    estimate = tseed_ctl_part(tseed_ctl_take(answer), "estimate");
    tseed_ctl_show(estimate, "tiles    {tilesToMake} of {tiles} in {metatiles} metatiles, "
                             "{tilesPresent} there already[, {tilesPruned:positive} pruned]");
    print_range("space", tseed_ctl_part(estimate, "bytes"),
                "about {expected|0 bytes:size} ({low|0 bytes:size} to {high|0 bytes:size})");
    if (*tseed_ctl_text(estimate, "freeIn", "")) {
        tseed_ctl_show(estimate, tseed_ctl_is(estimate, "freeIn", "quota")
                                     ? "free     {free:size} in the quota"
                                     : "free     {free:size} in the file system");
    }
    print_range("time", tseed_ctl_part(estimate, "seconds"),
                "about {expected|0 s:time} ({low|0 s:time} to {high|0 s:time})");
}

/* ---- delivery ---- */

/* A random Idempotency-Key. */
static const char *random_key(void)
{
    unsigned char bytes[16];

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
        abort(); /* Linux always has so few */
    }
    return apr_pescape_hex(tseed_ctl.pool, bytes, sizeof(bytes), 0);
}

/* Whether an answer tells what has become of the request. */
static int is_told(const tseed_ctl_answer_t *answer)
{
    return answer->status > 0 && answer->status < 500;
}

/* Sends a request, and again when its answer was lost. */
static tseed_ctl_answer_t *deliver(const tseed_ctl_request_t *request)
{
    tseed_ctl_answer_t *lost = tseed_ctl_ask(request);
    const tseed_ctl_answer_t *known;
    int knows = -1; /* whether the server knows keys; -1: it does not answer */

    if (!lost->is_lost) {
        return lost;
    }
    for (int i = 1; i < SENDS_MAX && knows != 0 && lost->code != TSEED_CTL_INTERRUPTED; i++) {
        if (tseed_ctl_interrupted(APR_USEC_PER_SEC << (i - 1))) {
            lost->code = TSEED_CTL_INTERRUPTED;
            break;
        }
        known = tseed_ctl_get("tasks.json?limit=1");
        knows = is_told(known) ? known->status == 200 : -1;
        if (knows == 1) {
            tseed_ctl_answer_t *answer = tseed_ctl_ask(request);

            if (is_told(answer)) {
                return answer;
            }
            lost->code = answer->code;
        }
    }
    lost->problem =
        tseed_ctl_format("%s; the server may have got the request all the same%s%s", lost->problem,
                         knows ? ", say it again with --key " : "", knows ? request->key : "");
    return lost;
}

/* ---- the verbs that start tasks ---- */

/* Starts a task, tells of it, and waits for it. A server that gives it no number has the layer. */
static void start(const char *path, const char *body, const char *layer)
{
    const tseed_ctl_request_t request = {.method = "POST",
                                         .path = path,
                                         .body = body,
                                         .type = body ? "text/xml" : NULL,
                                         .key = tseed_ctl.key ? tseed_ctl.key : random_key()};
    tseed_ctl_answer_t *answer;
    int64_t id;

    tseed_ctl_interrupt_hold();
    answer = deliver(&request);
    tseed_ctl_expect(answer);
    if (answer->warning) {
        tseed_ctl_complain("%s", answer->warning);
    }
    if (!answer->task || tseed_text_int64(&id, answer->task, 1, INT64_MAX) != 0) {
        tseed_ctl_complain("accepted; this server gives no numbers to its tasks");
        tseed_ctl_end(tseed_ctl.is_waiting && layer ? tseed_ctl_wait_for(NULL, layer)
                                                    : TSEED_CTL_DONE);
    }
    if (tseed_ctl.is_json && !tseed_ctl.is_waiting) {
        tseed_ctl_take(tseed_ctl_get("tasks/%s.json", answer->task));
    }
    if (!tseed_ctl.is_quiet && !tseed_ctl.is_json) {
        tseed_ctl_say("task %s", answer->task);
        fflush(stdout);
    }
    if (tseed_ctl.is_waiting) {
        tseed_ctl_end(tseed_ctl_wait_for(answer->task, NULL));
    }
}

void tseed_ctl_run_seed(void)
{
    const char *layer = tseed_ctl_argument(0), *levels = "all levels";

    if (tseed_ctl.is_dry_run) {
        tseed_ctl_run_estimate();
        return;
    }
    find_box();
    if (tseed_ctl_verb_is("truncate")) {
        if (tseed_ctl.zoom_start) {
            levels = tseed_ctl_format("levels %s to %s", tseed_ctl.zoom_start, tseed_ctl.zoom_stop);
        }
        tseed_ctl_confirm(
            tseed_ctl_format("Remove tiles of %s in %s, %s?", layer,
                             tseed_ctl.bounds.is_given ? "the box" : "the whole extent", levels),
            "truncate", "removed");
    }
    start(tseed_ctl_format("seed/%s.xml", tseed_ctl_segment(layer)), tseed_ctl_seed_xml(), layer);
}

void tseed_ctl_run_retry(void)
{
    start(tseed_ctl_format("tasks/%s/retry", tseed_ctl_argument(0)), NULL, NULL);
}
