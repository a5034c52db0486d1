/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs check and metrics: for programs that watch the server.
 *
 * check is a plugin of Nagios and Icinga: one line, figures behind a bar, and the exit codes 0 OK,
 * 1 WARNING, 2 CRITICAL, 3 UNKNOWN (Monitoring Plugins Development Guidelines).
 */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl_verbs.h"
#include "ctl/tseed_ctl_words.h"
#include "protocol/tseed_task.h"

#define ABORTED_TOLD 3 /* aborted tasks that are named */

typedef enum { OK, WARNING, CRITICAL, UNKNOWN } nagios_t;

/* What was found. */
typedef struct {
    const tseed_ctl_t *ctl;
    nagios_t state;
    const char *words;   /* the problems, with semicolons */
    int are_tasks_known; /* else the server did not say them, and these four are 0 */
    int running, pending, waiting;
    int has_ill; /* an upstream that is ill was noted, and stands for the tasks that wait for it */
    int64_t failed; /* tiles of tasks under way */
    int64_t used, limit;
} health_t;

/* ---- judging ---- */

static void note(health_t *health, nagios_t state, const char *words)
{
    health->state = state > health->state ? state : health->state;
    health->words =
        apr_pstrcat(health->ctl->pool, health->words, *health->words ? "; " : "", words, NULL);
}

/* The document at an address; NULL: the server does not have it. A server that does not answer is
 * critical; one that refuses this user is unknown. */
static const tseed_node_t *ask(health_t *health, const char *address)
{
    apr_pool_t *pool = health->ctl->pool;
    const tseed_ctl_answer_t *answer = tseed_ctl_http_get(health->ctl->http, pool, "%s", address);
    const tseed_node_t *document = NULL;

    switch (tseed_ctl_judge(answer)) {
    case TSEED_CTL_DONE:
        if (tseed_ctl_document_read(&document, answer->body, answer->length, pool)) {
            note(health, UNKNOWN, "this is no REST interface of tiles");
            return NULL;
        }
        return document;
    case TSEED_CTL_NOT_FOUND:
        return NULL;
    case TSEED_CTL_NO_ANSWER:
        note(health, CRITICAL, tseed_ctl_explain(answer, pool));
        return NULL;
    default:
        note(health, UNKNOWN, tseed_ctl_explain(answer, pool));
        return NULL;
    }
}

/* A task that waits says why. A pending one has its turn later, unless no host may ever do it. */
static void judge_task(health_t *health, const tseed_node_t *task)
{
    apr_pool_t *pool = health->ctl->pool;
    const char *reason = tseed_ctl_words(task, "reason", "", pool);
    const int is_running = strcmp(tseed_ctl_text(task, "state", ""), "RUNNING") == 0;
    const tseed_reason_t code = tseed_reason_of(tseed_ctl_text(task, "reasonCode", ""));
    const int is_obstructed = code == TSEED_REASON_CONFIGURATION;

    health->running += is_running;
    health->pending += !is_running;
    health->failed += tseed_ctl_number(task, "tilesFailed", 0);
    if ((is_running && *reason) || is_obstructed) {
        health->waiting++;
        if (!health->has_ill || !tseed_reason_is_upstream(code)) {
            note(health, WARNING,
                 apr_psprintf(pool, "task %s: %s", tseed_ctl_words(task, "id", "?", pool), reason));
        }
    }
}

static double decimal_of(const tseed_node_t *entry)
{
    double value;

    return tseed_text_double(&value, entry->text) == 0 ? value : 0;
}

/* Whether a later task has done, or does, what an aborted one has not. Both are of one list, the
 * newest first. */
static int makes_up(const tseed_node_t *later, const tseed_node_t *task, apr_pool_t *pool)
{
    static const char *const same[] = {"layer", "gridSetId", "format", "type"};
    const tseed_node_t *box = tseed_ctl_first(later, "bounds");
    const tseed_node_t *needed = tseed_ctl_first(task, "bounds");

    if (tseed_ctl_number(later, "retryOf", 0) == tseed_ctl_number(task, "id", -1)) {
        return 1;
    }
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        if (strcmp(tseed_ctl_text(later, same[i], ""), tseed_ctl_text(task, same[i], "")) != 0) {
            return 0;
        }
    }
    for (int i = 0; box; i++, box = tseed_ctl_next(box)) {
        const double mine = decimal_of(box);
        const double wanted = needed ? decimal_of(needed) : mine;

        if (!needed || (i < 2 ? mine > wanted : mine < wanted)) {
            return 0;
        }
        needed = tseed_ctl_next(needed);
    }
    return strcmp(tseed_ctl_text(later, "state", ""), "DONE") == 0 &&
           tseed_ctl_number(later, "tilesFailed", 0) == 0 &&
           !tseed_ctl_member(later, "retryOf") &&
           tseed_ctl_number(later, "zoomStart", 0) <= tseed_ctl_number(task, "zoomStart", 0) &&
           tseed_ctl_number(later, "zoomStop", 0) >= tseed_ctl_number(task, "zoomStop", 0) &&
           strcmp(tseed_ctl_parameters(later, pool), tseed_ctl_parameters(task, pool)) == 0;
}

/* Tasks that were aborted, and not by a client, until they are retried or seeded again. */
static void judge_ended(health_t *health)
{
    apr_pool_t *pool = health->ctl->pool;
    const tseed_node_t *document = ask(health, "tasks.json?limit=200");
    const tseed_node_t *first = tseed_ctl_first(document, "tasks");
    int count = 0;

    for (const tseed_node_t *task = first; task; task = tseed_ctl_next(task)) {
        const tseed_node_t *later = first;

        while (later != task && !makes_up(later, task, pool)) {
            later = tseed_ctl_next(later);
        }
        if (later != task || strcmp(tseed_ctl_text(task, "state", ""), "ABORTED") != 0 ||
            tseed_reason_of(tseed_ctl_text(task, "reasonCode", "")) == TSEED_REASON_TERMINATED) {
            continue;
        }
        if (++count <= ABORTED_TOLD) {
            note(health, WARNING,
                 apr_psprintf(pool, "task %s was aborted: %s",
                              tseed_ctl_words(task, "id", "?", pool),
                              tseed_ctl_words(task, "reason", "?", pool)));
        }
    }
    if (count > ABORTED_TOLD) {
        note(health, WARNING,
             apr_psprintf(pool, "%d more tasks were aborted", count - ABORTED_TOLD));
    }
}

/* Returns whether the server has the document of tasks. */
static int judge_tasks(health_t *health)
{
    const tseed_node_t *document = ask(health, "tasks.json?state=running,pending&limit=1000");

    for (const tseed_node_t *task = tseed_ctl_first(document, "tasks"); task;
         task = tseed_ctl_next(task)) {
        judge_task(health, task);
    }
    health->are_tasks_known = document != NULL;
    return document != NULL;
}

/* GeoWebCache has rows. */
static void judge_rows(health_t *health)
{
    const tseed_ctl_answer_t *answer =
        tseed_ctl_http_get(health->ctl->http, health->ctl->pool, "seed.json");
    const apr_array_header_t *rows = tseed_ctl_rows_read(answer->body, health->ctl->pool);

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE || !rows) {
        note(health, UNKNOWN,
             answer->status == 200 ? "this is no REST interface of tiles"
                                   : tseed_ctl_explain(answer, health->ctl->pool));
    }
    health->are_tasks_known = rows != NULL;
    for (int i = 0; rows && i < rows->nelts; i++) {
        const int is_running = APR_ARRAY_IDX(rows, i, tseed_ctl_row_t).state == 1;

        health->running += is_running;
        health->pending += !is_running;
    }
}

/* Hosts that are dead, and a drain of the host that answers, which somebody may have forgotten. Who
 * may not see the hosts does not learn it. */
static void judge_hosts(health_t *health)
{
    apr_pool_t *pool = health->ctl->pool;
    const tseed_ctl_answer_t *answer = tseed_ctl_http_get(health->ctl->http, pool, "hosts.json");
    const tseed_node_t *document;

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE ||
        tseed_ctl_document_read(&document, answer->body, answer->length, pool)) {
        return;
    }
    for (const tseed_node_t *host = tseed_ctl_first(document, "hosts"); host;
         host = tseed_ctl_next(host)) {
        const char *name = tseed_ctl_words(host, "name", "?", pool);
        const char *state = tseed_ctl_text(host, "state", "");

        if (strcmp(state, "DEAD") == 0) {
            note(health, WARNING,
                 apr_psprintf(pool, "the host %s is dead or was stopped, last seen at %s", name,
                              tseed_ctl_words(host, "lastSeen", "?", pool)));
        } else if (strcmp(state, "DRAINING") == 0 &&
                   strcmp(name, tseed_ctl_words(document, "answeredBy", "", pool)) == 0) {
            note(health, WARNING,
                 apr_psprintf(pool, "this host drains, tileseedctl undrain %s ends that", name));
        }
    }
}

/* A host that stands by is well as long as another one works. */
static void judge_standby(health_t *health, const tseed_node_t *seeder)
{
    apr_pool_t *pool = health->ctl->pool;
    const char *active = tseed_ctl_words(seeder, "activeHost", NULL, pool);

    if (active) {
        note(health, OK, apr_psprintf(pool, "this host stands by, %s works", active));
    } else {
        note(health, CRITICAL, "this host stands by, and no host works");
    }
}

/* What an operator does not see in the name of a state, with a comma before it. */
static const char *cause_of(const char *state)
{
    if (strcmp(state, "NO_STATE") == 0) {
        return ", the state directory or the state database can't be used, or another httpd has "
               "this host's name: the error log says which";
    }
    return strcmp(state, "LOCKED_OUT") == 0 ? ", another httpd works in the state directory" : "";
}

static void judge_seeder(health_t *health, const tseed_node_t *overview)
{
    apr_pool_t *pool = health->ctl->pool;
    const tseed_node_t *seeder = tseed_ctl_member(overview, "seeder");
    const char *state = tseed_ctl_words(seeder, "state", "unknown", pool);

    if (strcmp(state, "STANDBY") == 0 && tseed_ctl_is_true(seeder, "responding")) {
        judge_standby(health, seeder);
    } else if (strcmp(state, "WORKING") != 0) {
        note(health, strcmp(state, "STARTING") == 0 ? WARNING : CRITICAL,
             apr_psprintf(pool, "the seeder is not at work: %s%s", state, cause_of(state)));
    } else if (!tseed_ctl_is_true(seeder, "responding")) {
        note(health, CRITICAL, "the seeder gives no sign of life");
    }
}

static int is_ill(const char *state)
{
    static const char *const ill[] = {"AWAY", "QUIET", "SILENT", "FAILING"};
    size_t i = 0;

    while (i < sizeof(ill) / sizeof(*ill) && strcmp(state, ill[i]) != 0) {
        i++;
    }
    return i < sizeof(ill) / sizeof(*ill);
}

static void judge_upstreams(health_t *health, const tseed_node_t *overview)
{
    apr_pool_t *pool = health->ctl->pool;

    for (const tseed_node_t *one = tseed_ctl_first(overview, "upstreams"); one;
         one = tseed_ctl_next(one)) {
        const char *state = tseed_ctl_words(one, "state", "", pool);

        const char *layer = tseed_ctl_words(one, "failingLayer", NULL, pool);
        const char *cause = tseed_ctl_words(one, "cause", NULL, pool);

        if (is_ill(state)) {
            health->has_ill = 1;
            note(health, WARNING,
                 apr_pstrcat(pool, "the upstream ", tseed_ctl_words(one, "upstream", "?", pool),
                             " is ", state, layer ? " for " : "", layer ? layer : "",
                             cause ? ": " : "", cause ? cause : "", NULL));
        }
    }
}

/* The quota holds by itself: its figures are for the graph. A large removal that is announced can
 * still be prevented. */
static void note_quota(health_t *health, const tseed_node_t *overview)
{
    apr_pool_t *pool = health->ctl->pool;
    const tseed_node_t *quota = tseed_ctl_member(overview, "quota");
    const char *grace = tseed_ctl_words(quota, "grace", NULL, pool);

    if (grace) {
        note(health, WARNING,
             apr_psprintf(pool, "the disk quota removes a large part of the cache from %s on",
                          grace));
    }

    health->used = tseed_ctl_number(tseed_ctl_member(quota, "used"), "bytes", -1);
    if (tseed_ctl_is_true(quota, "enabled")) {
        health->limit = tseed_ctl_number(tseed_ctl_member(quota, "limit"), "bytes", -1);
    }
}

/* ---- the line ---- */

/* "running=1 pending=2 …"; U is the word of plugins for a value that is not known. */
static const char *figures_of(const health_t *health)
{
    return health->are_tasks_known
               ? apr_psprintf(health->ctl->pool,
                              "running=%d pending=%d waiting=%d failed_tiles=%" APR_INT64_T_FMT,
                              health->running, health->pending, health->waiting, health->failed)
               : "running=U pending=U waiting=U failed_tiles=U";
}

static tseed_ctl_exit_t print_health(const health_t *health)
{
    static const char *const names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    const char *tasks = health->are_tasks_known
                            ? apr_psprintf(health->ctl->pool, "%d running, %d pending",
                                           health->running, health->pending)
                            : "tasks unknown";

    printf("TILESEED %s - %s%s%s | %s", names[health->state], tasks, *health->words ? "; " : "",
           health->words, figures_of(health));
    if (health->used >= 0) {
        printf(" used=%" APR_INT64_T_FMT "B", health->used);
    }
    if (health->used >= 0 && health->limit >= 0) {
        printf(";;;0;%" APR_INT64_T_FMT, health->limit);
    }
    putchar('\n');
    return (tseed_ctl_exit_t)health->state;
}

/* A bar would begin the figures. */
static const char *without_bars(const char *words, apr_pool_t *pool)
{
    char *copy = apr_pstrdup(pool, words);

    for (char *at = strchr(copy, '|'); at; at = strchr(at, '|')) {
        *at = '/';
    }
    return copy;
}

tseed_ctl_exit_t tseed_ctl_run_check(const tseed_ctl_t *ctl)
{
    health_t health = {.ctl = ctl, .words = "", .used = -1, .limit = -1};
    const tseed_node_t *overview = ask(&health, "overview.json");

    if (overview) {
        judge_seeder(&health, overview);
        judge_upstreams(&health, overview);
        note_quota(&health, overview);
        judge_hosts(&health);
    }
    if ((overview || health.state < CRITICAL) && !judge_tasks(&health) && health.state < CRITICAL) {
        judge_rows(&health);
    }
    if (health.are_tasks_known && overview) {
        judge_ended(&health);
    }
    health.words = without_bars(health.words, ctl->pool);
    return print_health(&health);
}

tseed_ctl_exit_t tseed_ctl_run_metrics(const tseed_ctl_t *ctl)
{
    const tseed_ctl_answer_t *answer = tseed_ctl_http_get(ctl->http, ctl->pool, "metrics");

    return tseed_ctl_judge(answer) == TSEED_CTL_DONE ? tseed_ctl_pass(ctl, answer)
                                                     : tseed_ctl_refuse(ctl, answer);
}
