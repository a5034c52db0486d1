/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs about layers and hosts, and for programs that watch the server: check and metrics.
 *
 * check is a plugin of Nagios and Icinga: one line, figures behind a bar, and the exit codes 0 OK,
 * 1 WARNING, 2 CRITICAL, 3 UNKNOWN (Monitoring Plugins Development Guidelines). */
#include <apr_strings.h>
#include <stdarg.h>
#include <string.h>

#include "ctl/tseed_ctl.h"
#include "protocol/tseed_document.h"
#include "protocol/tseed_task.h"

#define ENDED_MAX  200 /* ended tasks that are looked at */
#define ENDED_TOLD 3   /* of them that are named */

/* ---- layers ---- */

/* GeoWebCache lists the names of its layers as XML. */
static void print_names(void)
{
    static const char *const roots[] = {"layers", NULL};
    tseed_ctl_answer_t *answer = tseed_ctl_get("layers.xml");
    const tseed_node_t *root, *name;

    if (tseed_ctl.is_json && answer->code == TSEED_CTL_DONE) {
        tseed_ctl_misuse("this server lists its layers as XML only");
    }
    root = tseed_ctl_read_xml(answer, roots, "no REST interface of tiles");
    for (const tseed_node_t *layer = root->children; layer; layer = layer->next) {
        name = tseed_node_find(layer, "name");
        tseed_ctl_say("%s", name ? name->text : "?");
    }
}

static void run_layers(void)
{
    static const char *const columns[] = {
        "LAYER",      "{name}",
        "GRIDSETS",   "{gridSets*{gridSetId} {zoomStart}-{zoomStop}}",
        "FORMATS",    "{formats*{format}}",
        "PARAMETERS", "{parameters*{name}}",
        NULL};
    tseed_ctl_answer_t *answer = tseed_ctl_get("layers.json");

    if (answer->code == TSEED_CTL_NOT_FOUND) {
        print_names();
        return;
    }
    tseed_ctl_print_table(tseed_ctl_part(tseed_ctl_take(answer), "layers"), columns, "no layers");
}

static void run_ask_again(void)
{
    const char *layer = tseed_ctl_argument(0);

    tseed_ctl_tell(
        tseed_ctl_send("POST", NULL, NULL, "upstreams/again/%s", tseed_ctl_segment(layer)),
        "the upstreams of %s are asked", layer);
}

static void run_unlisted(void)
{
    const char *layer = tseed_ctl_argument(0);

    tseed_ctl_tell(
        tseed_ctl_send("DELETE", NULL, NULL, "layers/%s/tilesets", tseed_ctl_segment(layer)),
        "the tile sets of %s with values that are not listed are removed", layer);
}

/* ---- hosts ---- */

static void run_hosts(void)
{
    static const char *const columns[] = {
        "HOST",        "{name}",      "STATE",        "{state}",     "SINCE",
        "{since|-}",   "SEEN",        "{lastSeen|-}", "LEASE>",      "{leaseLeft|-:lease}",
        "FETCHES",     "{fetches|-}", "MACHINE",      "{machine|-}", "VERSION",
        "{version|-}", NULL};

    tseed_ctl_print_table(tseed_ctl_part(tseed_ctl_take(tseed_ctl_get("hosts.json")), "hosts"),
                          columns, "no host has registered");
}

/* Whether a host beside that one works or can work. */
static int has_other(json_object *document, const char *name)
{
    json_object *host;

    for (size_t i = 0; (host = tseed_ctl_entry(document, "hosts", i)); i++) {
        if (!tseed_ctl_is(host, "name", name) &&
            (tseed_ctl_is(host, "state", "ACTIVE") || tseed_ctl_is(host, "state", "STANDBY"))) {
            return 1;
        }
    }
    return 0;
}

static void run_drain(void)
{
    const int drains = tseed_ctl_verb_is("drain");
    const char *host = tseed_ctl_argument(0), *active;
    json_object *document = tseed_ctl_take(tseed_ctl_send(
        "PUT", "application/json", drains ? "{\"state\": \"draining\"}" : "{\"state\": \"active\"}",
        "hosts/%s", tseed_ctl_segment(host)));

    active = tseed_ctl_text(document, "active", NULL);
    if (tseed_ctl.is_quiet) {
        return;
    }
    if (!drains) {
        tseed_ctl_say("host %s takes work again", host);
    } else if (active && strcmp(active, host) != 0) {
        tseed_ctl_say("host %s takes no work until tileseedctl undrain %s; %s works", host, host,
                      active);
    } else if (has_other(document, host)) {
        tseed_ctl_say("host %s gives its work away; tileseedctl hosts says who takes it", host);
    } else {
        tseed_ctl_say("host %s gives its work away, and no other host is there to take it: nothing "
                      "is seeded until one is, or until tileseedctl undrain %s",
                      host, host);
    }
}

/* ---- check ---- */

typedef enum { OK, WARNING, CRITICAL, UNKNOWN } nagios_t;

/* What was found. */
static struct {
    nagios_t state;
    apr_array_header_t *words; /* the problems, each behind a semicolon */
    int are_tasks_known;       /* else the server did not say them, and these four are 0 */
    int running, pending, waiting;
    int has_ill; /* an upstream that is ill was noted, and stands for the tasks that wait for it */
    int64_t failed; /* tiles of tasks under way */
    int64_t used, limit;
} health = {.used = -1, .limit = -1};

/* A bar would begin the figures. */
__attribute__((format(printf, 2, 3))) static void note(nagios_t state, const char *format, ...)
{
    va_list arguments;
    char *words;

    va_start(arguments, format);
    words = apr_pvsprintf(tseed_ctl.pool, format, arguments);
    va_end(arguments);
    for (char *bar = strchr(words, '|'); bar; bar = strchr(bar, '|')) {
        *bar = '/';
    }
    health.state = state > health.state ? state : health.state;
    APR_ARRAY_PUSH(health.words, const char *) = "; ";
    APR_ARRAY_PUSH(health.words, const char *) = words;
}

/* The document at an address; NULL: the server does not have it. A server that does not answer is
 * critical; one that refuses this user is unknown. */
static json_object *ask(const char *address)
{
    tseed_ctl_answer_t *answer = tseed_ctl_get("%s", address);
    json_object *document = tseed_ctl_document(answer);

    if (!document && answer->code == TSEED_CTL_DONE) {
        note(UNKNOWN, "this is no REST interface of tiles");
    } else if (!document && answer->code != TSEED_CTL_NOT_FOUND) {
        note(answer->code == TSEED_CTL_NO_ANSWER ? CRITICAL : UNKNOWN, "%s", answer->problem);
    }
    return document;
}

/* A task that waits says why. A pending one has its turn later, unless no host may ever do it. */
static void judge_tasks(json_object *list)
{
    json_object *task;

    health.are_tasks_known = 1;
    for (size_t i = 0; (task = tseed_ctl_entry(list, NULL, i)); i++) {
        const char *reason = tseed_ctl_text(task, "reason", "");
        const int is_running = tseed_ctl_is(task, "state", "RUNNING");
        const tseed_reason_t code = tseed_reason_of(tseed_ctl_text(task, "reasonCode", ""));
        const int waits = (is_running && *reason) || code == TSEED_REASON_CONFIGURATION;

        health.running += is_running;
        health.pending += !is_running;
        health.failed += tseed_ctl_number(task, "tilesFailed", 0);
        health.waiting += waits;
        if (waits && !(health.has_ill && tseed_reason_is_upstream(code))) {
            note(WARNING, "task %s: %s", tseed_ctl_text(task, "id", "?"), reason);
        }
    }
}

/* GeoWebCache has rows. */
static void judge_rows(void)
{
    tseed_ctl_answer_t *answer = tseed_ctl_get("seed.json");
    json_object *rows = tseed_ctl_rows(tseed_ctl_document(answer));

    if (rows) {
        judge_tasks(rows);
    } else {
        note(UNKNOWN, "%s",
             answer->status == 200 ? "this is no REST interface of tiles" : answer->problem);
    }
}

/* Whether the box of a task lies within that of a later one; no box is everything. */
static int is_within(json_object *task, json_object *later)
{
    json_object *mine, *wanted;

    for (size_t i = 0; (mine = tseed_ctl_entry(later, "bounds", i)); i++) {
        wanted = tseed_ctl_entry(task, "bounds", i);
        if (!wanted || (i < 2 ? json_object_get_double(mine) > json_object_get_double(wanted)
                              : json_object_get_double(mine) < json_object_get_double(wanted))) {
            return 0;
        }
    }
    return 1;
}

/* Whether a later task has done, or does, what an aborted one has not. */
static int makes_up(json_object *later, json_object *task)
{
    static const char *const same[] = {"layer", "gridSetId", "format", "type"};

    if (tseed_ctl_number(later, "retryOf", 0) == tseed_ctl_number(task, "id", -1)) {
        return 1;
    }
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        if (!tseed_ctl_is(later, same[i], tseed_ctl_text(task, same[i], ""))) {
            return 0;
        }
    }
    return tseed_ctl_is(later, "state", "DONE") && tseed_ctl_number(later, "tilesFailed", 0) == 0 &&
           !tseed_ctl_part(later, "retryOf") && is_within(task, later) &&
           tseed_ctl_number(later, "zoomStart", 0) <= tseed_ctl_number(task, "zoomStart", 0) &&
           tseed_ctl_number(later, "zoomStop", 0) >= tseed_ctl_number(task, "zoomStop", 0) &&
           json_object_equal(tseed_ctl_part(later, "parameters"),
                             tseed_ctl_part(task, "parameters"));
}

/* Why an ended task needs somebody; "": it does not, or a client has ended it. */
static const char *trouble_of(json_object *task)
{
    return tseed_reason_of(tseed_ctl_text(task, "reasonCode", "")) == TSEED_REASON_TERMINATED ? ""
           : tseed_ctl_is(task, "state", "ABORTED")
               ? tseed_ctl_fill(task, "task {id} was aborted: {reason}")
           : tseed_ctl_is(task, "state", "DONE")
               ? tseed_ctl_fill(task, "[{tilesFailed:positive} tiles of task {id} failed]")
               : "";
}

/* Tasks that were aborted or have failed tiles, until they are retried or seeded again. The newest
 * is the first of the list. */
static void judge_ended(void)
{
    json_object *tasks = tseed_ctl_part(ask("tasks.json?limit=200"), "tasks"), *task;
    int count = 0;

    for (size_t i = 0; i < ENDED_MAX && (task = tseed_ctl_entry(tasks, NULL, i)); i++) {
        const char *trouble = trouble_of(task);
        size_t later = *trouble ? 0 : i;

        while (later < i && !makes_up(tseed_ctl_entry(tasks, NULL, later), task)) {
            later++;
        }
        if (*trouble && later == i && ++count <= ENDED_TOLD) {
            note(WARNING, "%s", trouble);
        }
    }
    if (count > ENDED_TOLD) {
        note(WARNING, "%d more tasks were aborted or have failed tiles", count - ENDED_TOLD);
    }
}

/* Hosts that are dead, and a drain of the host that answers, which somebody may have forgotten. Who
 * may not see the hosts does not learn it. */
static void judge_hosts(void)
{
    json_object *document = tseed_ctl_document(tseed_ctl_get("hosts.json")), *host;

    for (size_t i = 0; (host = tseed_ctl_entry(document, "hosts", i)); i++) {
        const char *name = tseed_ctl_text(host, "name", "?");

        if (tseed_ctl_is(host, "state", "DEAD")) {
            note(WARNING, "%s",
                 tseed_ctl_fill(host,
                                "the host {name} is dead or was stopped, last seen at {lastSeen}"));
        } else if (tseed_ctl_is(host, "state", "DRAINING") &&
                   tseed_ctl_is(document, "answeredBy", name)) {
            note(WARNING, "this host drains, tileseedctl undrain %s ends that", name);
        }
    }
}

/* A host that stands by is well as long as another one works. */
static void judge_seeder(json_object *seeder)
{
    const char *state = tseed_ctl_text(seeder, "state", "unknown");
    const char *active = tseed_ctl_text(seeder, "activeHost", NULL);
    const int responds = tseed_ctl_is(seeder, "responding", "true");

    if (strcmp(state, "STANDBY") == 0 && responds && active) {
        note(OK, "this host stands by, %s works", active);
    } else if (strcmp(state, "STANDBY") == 0 && responds) {
        note(CRITICAL, "this host stands by, and no host works");
    } else if (strcmp(state, "WORKING") != 0) {
        note(strcmp(state, "STARTING") == 0 ? WARNING : CRITICAL, "the seeder is not at work: %s%s",
             state,
             strcmp(state, "NO_STATE") == 0
                 ? ", the state directory or the state database can't be used, or another httpd "
                   "has this host's name: the error log says which"
             : strcmp(state, "LOCKED_OUT") == 0 ? ", another httpd works in the state directory"
                                                : "");
    } else if (!responds) {
        note(CRITICAL, "the seeder gives no sign of life");
    }
}

static void judge_upstreams(json_object *overview)
{
    static const char *const ill[] = {"AWAY", "QUIET", "SILENT", "FAILING"};
    json_object *one;

    for (size_t i = 0; (one = tseed_ctl_entry(overview, "upstreams", i)); i++) {
        const char *state = tseed_ctl_text(one, "state", "");

        for (size_t k = 0; k < 4; k++) {
            if (strcmp(state, ill[k]) == 0) {
                health.has_ill = 1;
                note(
                    WARNING, "%s",
                    tseed_ctl_fill(
                        one, "the upstream {upstream} is {state}[ for {failingLayer}][: {cause}]"));
            }
        }
    }
}

/* The quota holds by itself: its figures are for the graph. A large removal that is announced can
 * still be prevented. */
static void judge_quota(json_object *quota)
{
    const char *grace = tseed_ctl_text(quota, "grace", NULL);

    if (grace) {
        note(WARNING, "the disk quota removes a large part of the cache from %s on", grace);
    }
    health.used = tseed_ctl_number(tseed_ctl_part(quota, "used"), "bytes", -1);
    if (tseed_ctl_is(quota, "enabled", "true")) {
        health.limit = tseed_ctl_number(tseed_ctl_part(quota, "limit"), "bytes", -1);
    }
}

/* U is the word of plugins for a value that is not known. */
static void print_health(void)
{
    static const char *const names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    const char *tasks = "tasks unknown", *used = "", *limit = "";
    const char *figures = "running=U pending=U waiting=U failed_tiles=U";

    if (health.are_tasks_known) {
        tasks = tseed_ctl_format("%d running, %d pending", health.running, health.pending);
        figures =
            tseed_ctl_format("running=%d pending=%d waiting=%d failed_tiles=%" APR_INT64_T_FMT,
                             health.running, health.pending, health.waiting, health.failed);
    }
    if (health.used >= 0) {
        used = tseed_ctl_format(" used=%" APR_INT64_T_FMT "B", health.used);
    }
    if (health.used >= 0 && health.limit >= 0) {
        limit = tseed_ctl_format(";;;0;%" APR_INT64_T_FMT, health.limit);
    }
    tseed_ctl_say("TILESEED %s - %s%s | %s%s%s", names[health.state], tasks,
                  apr_array_pstrcat(tseed_ctl.pool, health.words, 0), figures, used, limit);
}

static void run_check(void)
{
    json_object *tasks, *overview;

    health.words = apr_array_make(tseed_ctl.pool, 16, sizeof(const char *));
    overview = ask("overview.json");
    if (overview) {
        judge_seeder(tseed_ctl_part(overview, "seeder"));
        judge_upstreams(overview);
        judge_quota(tseed_ctl_part(overview, "quota"));
        judge_hosts();
    }
    if (overview || health.state < CRITICAL) {
        tasks = ask("tasks.json?state=running,pending&limit=1000");
        if (tasks) {
            judge_tasks(tseed_ctl_part(tasks, "tasks"));
        } else if (health.state < CRITICAL) {
            judge_rows();
        }
    }
    if (health.are_tasks_known && overview) {
        judge_ended();
    }
    print_health();
    tseed_ctl_end((int)health.state);
}

static void run_metrics(void)
{
    tseed_ctl_answer_t *answer = tseed_ctl_get("metrics");

    tseed_ctl_expect(answer);
    tseed_ctl_pass(answer->body, answer->length);
}

const tseed_ctl_verb_t tseed_ctl_server_verbs[] = {
    {1, "layers", "", "list layers, grid sets, formats and parameters", run_layers},
    {15, "ask-again", "LAYER", "ask the upstreams of a layer at once", run_ask_again},
    {16, "drop-unlisted", "LAYER", "remove tile sets that requests made with values not listed",
     run_unlisted},
    {18, "hosts", "", "list the hosts that share the database", run_hosts},
    {19, "drain", "HOST", "have a host give its work to another", run_drain},
    {20, "undrain", "HOST", "let a host take work again", run_drain},
    {21, "metrics", "", "print the metrics for Prometheus", run_metrics},
    {22, "check", "", "check the server for Nagios or Icinga", run_check},
    {0}};
