/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs check and metrics: for programs that watch the server.
 *
 * check is a plugin of Nagios and Icinga: one line, figures behind a bar, and the exit codes 0 OK,
 * 1 WARNING, 2 CRITICAL, 3 UNKNOWN (Monitoring Plugins Development Guidelines). */
#include <apr_strings.h>
#include <stdarg.h>
#include <string.h>

#include "ctl/tseed_ctl.h"
#include "ctl/tseed_ctl_print.h"
#include "protocol/tseed_task.h"

#define ENDED_MAX  200 /* ended tasks that are looked at */
#define ENDED_TOLD 3   /* of them that are named */

typedef enum { OK, WARNING, CRITICAL, UNKNOWN } nagios_t;

/* What was found. */
typedef struct {
    const tseed_ctl_t *ctl;
    nagios_t state;
    apr_array_header_t *words; /* the problems, each behind a semicolon */
    int are_tasks_known;       /* else the server did not say them, and these four are 0 */
    int running, pending, waiting;
    int has_ill; /* an upstream that is ill was noted, and stands for the tasks that wait for it */
    int64_t failed; /* tiles of tasks under way */
    int64_t used, limit;
} health_t;

/* A bar would begin the figures. */
__attribute__((format(printf, 3, 4))) static void note(health_t *health, nagios_t state,
                                                       const char *format, ...)
{
    va_list arguments;
    char *words;

    va_start(arguments, format);
    words = apr_pvsprintf(health->ctl->pool, format, arguments);
    va_end(arguments);
    for (char *bar = strchr(words, '|'); bar; bar = strchr(bar, '|')) {
        *bar = '/';
    }
    health->state = state > health->state ? state : health->state;
    APR_ARRAY_PUSH(health->words, const char *) = "; ";
    APR_ARRAY_PUSH(health->words, const char *) = words;
}

/* The document at an address; NULL: the server does not have it. A server that does not answer is
 * critical; one that refuses this user is unknown. */
static json_object *ask(health_t *health, const char *address)
{
    const tseed_ctl_answer_t *answer = tseed_ctl_get(health->ctl, "%s", address);
    const tseed_ctl_exit_t code = tseed_ctl_judge(answer);
    json_object *document;
    const char *problem = tseed_ctl_document(&document, answer, health->ctl->pool);

    if (code == TSEED_CTL_DONE && problem) {
        note(health, UNKNOWN, "this is no REST interface of tiles");
    } else if (problem && code != TSEED_CTL_NOT_FOUND) {
        note(health, code == TSEED_CTL_NO_ANSWER ? CRITICAL : UNKNOWN, "%s", problem);
    }
    return document;
}

/* ---- tasks ---- */

/* A task that waits says why. A pending one has its turn later, unless no host may ever do it. */
static void judge_task(health_t *health, json_object *task)
{
    const char *reason = tseed_ctl_text(task, "reason", "");
    const int is_running = tseed_ctl_is(task, "state", "RUNNING");
    const tseed_reason_t code = tseed_reason_of(tseed_ctl_text(task, "reasonCode", ""));

    health->running += is_running;
    health->pending += !is_running;
    health->failed += tseed_ctl_number(task, "tilesFailed", 0);
    if ((is_running && *reason) || code == TSEED_REASON_CONFIGURATION) {
        health->waiting++;
        if (!health->has_ill || !tseed_reason_is_upstream(code)) {
            note(health, WARNING, "task %s: %s", tseed_ctl_text(task, "id", "?"), reason);
        }
    }
}

static void judge_list(health_t *health, json_object *list)
{
    json_object *task;

    health->are_tasks_known = 1;
    for (size_t i = 0; (task = tseed_ctl_entry(list, NULL, i)); i++) {
        judge_task(health, task);
    }
}

/* GeoWebCache has rows. */
static void judge_rows(health_t *health)
{
    const tseed_ctl_answer_t *answer = tseed_ctl_get(health->ctl, "seed.json");
    json_object *document, *rows;

    tseed_ctl_document(&document, answer, health->ctl->pool);
    rows = tseed_ctl_rows(document, health->ctl->pool);
    if (rows) {
        judge_list(health, rows);
    } else {
        note(health, UNKNOWN, "%s",
             answer->status == 200 ? "this is no REST interface of tiles"
                                   : tseed_ctl_explain(answer, health->ctl->pool));
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
           !json_object_object_get(later, "retryOf") && is_within(task, later) &&
           tseed_ctl_number(later, "zoomStart", 0) <= tseed_ctl_number(task, "zoomStart", 0) &&
           tseed_ctl_number(later, "zoomStop", 0) >= tseed_ctl_number(task, "zoomStop", 0) &&
           json_object_equal(json_object_object_get(later, "parameters"),
                             json_object_object_get(task, "parameters"));
}

/* Why an ended task needs somebody; NULL: it does not, or a client has ended it. */
static const char *trouble_of(json_object *task, apr_pool_t *pool)
{
    const char *id = tseed_ctl_text(task, "id", "?");
    const int64_t failed = tseed_ctl_number(task, "tilesFailed", 0);

    if (tseed_reason_of(tseed_ctl_text(task, "reasonCode", "")) == TSEED_REASON_TERMINATED) {
        return NULL;
    }
    if (tseed_ctl_is(task, "state", "ABORTED")) {
        return apr_psprintf(pool, "task %s was aborted: %s", id,
                            tseed_ctl_text(task, "reason", "?"));
    }
    return failed > 0 && tseed_ctl_is(task, "state", "DONE")
               ? apr_psprintf(pool, "%" APR_INT64_T_FMT " tiles of task %s failed", failed, id)
               : NULL;
}

/* Tasks that were aborted or have failed tiles, until they are retried or seeded again. The newest
 * is the first of the list. */
static void judge_ended(health_t *health)
{
    apr_pool_t *pool = health->ctl->pool;
    json_object *tasks = json_object_object_get(ask(health, "tasks.json?limit=200"), "tasks");
    json_object *task;
    int count = 0;

    for (size_t i = 0; i < ENDED_MAX && (task = tseed_ctl_entry(tasks, NULL, i)); i++) {
        const char *trouble = trouble_of(task, pool);
        size_t later = trouble ? 0 : i;

        while (later < i && !makes_up(tseed_ctl_entry(tasks, NULL, later), task)) {
            later++;
        }
        if (trouble && later == i && ++count <= ENDED_TOLD) {
            note(health, WARNING, "%s", trouble);
        }
    }
    if (count > ENDED_TOLD) {
        note(health, WARNING, "%d more tasks were aborted or have failed tiles",
             count - ENDED_TOLD);
    }
}

/* ---- the server ---- */

/* Hosts that are dead, and a drain of the host that answers, which somebody may have forgotten. Who
 * may not see the hosts does not learn it. */
static void judge_hosts(health_t *health)
{
    json_object *document, *host;

    tseed_ctl_document(&document, tseed_ctl_get(health->ctl, "hosts.json"), health->ctl->pool);
    for (size_t i = 0; (host = tseed_ctl_entry(document, "hosts", i)); i++) {
        const char *name = tseed_ctl_text(host, "name", "?");

        if (tseed_ctl_is(host, "state", "DEAD")) {
            note(health, WARNING, "the host %s is dead or was stopped, last seen at %s", name,
                 tseed_ctl_text(host, "lastSeen", "?"));
        } else if (tseed_ctl_is(host, "state", "DRAINING") &&
                   tseed_ctl_is(document, "answeredBy", name)) {
            note(health, WARNING, "this host drains, tileseedctl undrain %s ends that", name);
        }
    }
}

/* What an operator does not see in the name of a state, with a comma before it. */
static const char *cause_of(const char *state)
{
    return strcmp(state, "NO_STATE") == 0
               ? ", the state directory or the state database can't be used, or another httpd has "
                 "this host's name: the error log says which"
           : strcmp(state, "LOCKED_OUT") == 0 ? ", another httpd works in the state directory"
                                              : "";
}

/* A host that stands by is well as long as another one works. */
static void judge_seeder(health_t *health, json_object *seeder)
{
    const char *state = tseed_ctl_text(seeder, "state", "unknown");
    const char *active = tseed_ctl_text(seeder, "activeHost", NULL);
    const int responds = tseed_ctl_is(seeder, "responding", "true");

    if (strcmp(state, "STANDBY") == 0 && responds && active) {
        note(health, OK, "this host stands by, %s works", active);
    } else if (strcmp(state, "STANDBY") == 0 && responds) {
        note(health, CRITICAL, "this host stands by, and no host works");
    } else if (strcmp(state, "WORKING") != 0) {
        note(health, strcmp(state, "STARTING") == 0 ? WARNING : CRITICAL,
             "the seeder is not at work: %s%s", state, cause_of(state));
    } else if (!responds) {
        note(health, CRITICAL, "the seeder gives no sign of life");
    }
}

static void judge_upstreams(health_t *health, json_object *overview)
{
    json_object *one;

    for (size_t i = 0; (one = tseed_ctl_entry(overview, "upstreams", i)); i++) {
        const char *state = tseed_ctl_text(one, "state", "");
        const char *layer = tseed_ctl_text(one, "failingLayer", "");
        const char *cause = tseed_ctl_text(one, "cause", "");

        if (strcmp(state, "AWAY") == 0 || strcmp(state, "QUIET") == 0 ||
            strcmp(state, "SILENT") == 0 || strcmp(state, "FAILING") == 0) {
            health->has_ill = 1;
            note(health, WARNING, "the upstream %s is %s%s%s%s%s",
                 tseed_ctl_text(one, "upstream", "?"), state, *layer ? " for " : "", layer,
                 *cause ? ": " : "", cause);
        }
    }
}

/* The quota holds by itself: its figures are for the graph. A large removal that is announced can
 * still be prevented. */
static void note_quota(health_t *health, json_object *quota)
{
    const char *grace = tseed_ctl_text(quota, "grace", NULL);

    if (grace) {
        note(health, WARNING, "the disk quota removes a large part of the cache from %s on", grace);
    }
    health->used = tseed_ctl_number(json_object_object_get(quota, "used"), "bytes", -1);
    if (tseed_ctl_is(quota, "enabled", "true")) {
        health->limit = tseed_ctl_number(json_object_object_get(quota, "limit"), "bytes", -1);
    }
}

/* ---- the line ---- */

/* U is the word of plugins for a value that is not known. */
static tseed_ctl_exit_t print_health(const health_t *health)
{
    static const char *const names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    apr_pool_t *pool = health->ctl->pool;
    const char *tasks = "tasks unknown", *used = "", *limit = "";
    const char *figures = "running=U pending=U waiting=U failed_tiles=U";

    if (health->are_tasks_known) {
        tasks = apr_psprintf(pool, "%d running, %d pending", health->running, health->pending);
        figures =
            apr_psprintf(pool, "running=%d pending=%d waiting=%d failed_tiles=%" APR_INT64_T_FMT,
                         health->running, health->pending, health->waiting, health->failed);
    }
    if (health->used >= 0) {
        used = apr_psprintf(pool, " used=%" APR_INT64_T_FMT "B", health->used);
    }
    if (health->used >= 0 && health->limit >= 0) {
        limit = apr_psprintf(pool, ";;;0;%" APR_INT64_T_FMT, health->limit);
    }
    tseed_ctl_say("TILESEED %s - %s%s | %s%s%s", names[health->state], tasks,
                  health->words->nelts ? apr_array_pstrcat(pool, health->words, 0) : "", figures,
                  used, limit);
    return (tseed_ctl_exit_t)health->state;
}

tseed_ctl_exit_t tseed_ctl_run_check(const tseed_ctl_t *ctl)
{
    health_t health = {.ctl = ctl,
                       .words = apr_array_make(ctl->pool, 16, sizeof(const char *)),
                       .used = -1,
                       .limit = -1};
    json_object *tasks, *overview = ask(&health, "overview.json");

    if (overview) {
        judge_seeder(&health, json_object_object_get(overview, "seeder"));
        judge_upstreams(&health, overview);
        note_quota(&health, json_object_object_get(overview, "quota"));
        judge_hosts(&health);
    }
    if (overview || health.state < CRITICAL) {
        tasks = ask(&health, "tasks.json?state=running,pending&limit=1000");
        if (tasks) {
            judge_list(&health, json_object_object_get(tasks, "tasks"));
        } else if (health.state < CRITICAL) {
            judge_rows(&health);
        }
    }
    if (health.are_tasks_known && overview) {
        judge_ended(&health);
    }
    return print_health(&health);
}

tseed_ctl_exit_t tseed_ctl_run_metrics(const tseed_ctl_t *ctl)
{
    const tseed_ctl_answer_t *answer = tseed_ctl_get(ctl, "metrics");

    if (tseed_ctl_judge(answer) == TSEED_CTL_DONE) {
        tseed_ctl_pass(answer->body, answer->length);
    }
    return tseed_ctl_refused(ctl, answer);
}
