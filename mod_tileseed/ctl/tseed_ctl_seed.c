/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs that start tasks and wait for them: seed, reseed, truncate, retry, estimate and wait.
 *
 * A request is sent as XML, which every GeoWebCache reads; an estimate is asked for with a query. A
 * request whose answer was lost is sent again with its Idempotency-Key, so that the two start one
 * task. GeoWebCache does not know such keys: the client sends again only after the server has
 * answered tasks.json, which GeoWebCache does not have.
 *
 * A wait shows the progress in a line, and its exit code says how the tasks ended. A server that is
 * away for a while, because httpd is restarted, is asked again. */
#include <apr_escape.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <signal.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"

#define SENDS_MAX 6

/* Pauses between two questions grow from the first to the last: a short task is told at once. */
#define PAUSE_FIRST (APR_USEC_PER_SEC / 5)
#define PAUSE_LAST  (2 * APR_USEC_PER_SEC)

/* How long a server may be silent when no --timeout says so. */
#define SILENCE_MAX (600 * APR_USEC_PER_SEC)

#define LINES_ON_TERMINAL APR_USEC_PER_SEC
#define LINES_ELSEWHERE   (30 * APR_USEC_PER_SEC)
#define SECOND_INTERRUPT  (2 * APR_USEC_PER_SEC)
#define CAUSE_SIZE        43 /* of the cause of failures, in the line */

/* The wait goes on: no exit code. */
#define WAIT_ON ((tseed_ctl_exit_t)(-1))

/* ---- degrees ---- */

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

static void run_estimate(void)
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
    tseed_ctl_say("%s", tseed_ctl_fill(estimate, "tiles    {tilesToMake} of {tiles} in {metatiles} "
                                                 "metatiles, {tilesPresent} there already"
                                                 "[, {tilesPruned:positive} pruned]"));
    print_range("space", tseed_ctl_part(estimate, "bytes"),
                "about {expected|0 bytes:size} ({low|0 bytes:size} to {high|0 bytes:size})");
    if (*tseed_ctl_text(estimate, "freeIn", "")) {
        tseed_ctl_say("free     %s in the %s", tseed_ctl_fill(estimate, "{free:size}"),
                      tseed_ctl_is(estimate, "freeIn", "quota") ? "quota" : "file system");
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

/* ---- the ends of a wait ---- */

/* One wait. All times are of the monotonic clock. */
typedef struct {
    const char *task;       /* NULL: of a layer */
    const char *what;       /* the address that tells how far it is */
    apr_time_t last_answer; /* or the beginning */
    apr_time_t next_line;
    apr_interval_time_t pause;
    int64_t failed; /* metatiles or tiles, of which the cause is */
    char cause[CAUSE_SIZE];
} wait_t;

/* Of all waits; 0: none. */
static apr_time_t deadline;

__attribute__((noreturn)) static void leave(tseed_ctl_exit_t code, const char *why)
{
    tseed_ctl_release();
    tseed_ctl_fail(code, "%s", why);
}

/* Ctrl-C ends the wait. With --kill-on-interrupt a second one ends the task. */
static tseed_ctl_exit_t interrupt(const wait_t *wait)
{
    if (!wait->task) {
        leave(TSEED_CTL_INTERRUPTED, "the seeding goes on");
    }
    tseed_ctl_release();
    if (tseed_ctl.kills_on_interrupt) {
        tseed_ctl_complain("Ctrl-C again within two seconds ends task %s", wait->task);
        if (tseed_ctl_interrupted(SECOND_INTERRUPT)) {
            tseed_ctl_expect(tseed_ctl_send("DELETE", NULL, NULL, "%s", wait->what));
            tseed_ctl_release();
            tseed_ctl_complain("task %s is ended", wait->task);
            return TSEED_CTL_ABORTED;
        }
    }
    tseed_ctl_fail(TSEED_CTL_INTERRUPTED, "task %s goes on: tileseedctl wait %s", wait->task,
                   wait->task);
}

/* ---- a question of a wait ---- */

/* Shows a line: over the one before on a terminal, else now and then. */
static void show(wait_t *wait, const char *line)
{
    const int is_terminal = isatty(STDERR_FILENO);
    const apr_time_t now = tseed_clock_monotonic();

    if (tseed_ctl.is_quiet || now < wait->next_line) {
        return;
    }
    wait->next_line = now + (tseed_ctl.interval ? tseed_ctl.interval
                             : is_terminal      ? LINES_ON_TERMINAL
                                                : LINES_ELSEWHERE);
    (is_terminal ? tseed_ctl_redraw : tseed_ctl_note)(line);
}

/* Why metatiles failed; asks once for each new number of them. */
static const char *cause_of(wait_t *wait, json_object *task)
{
    const int64_t failed = tseed_ctl_number(task, "tilesFailed", 0);
    tseed_ctl_answer_t *answer;
    json_object *document, *first;

    if (failed != wait->failed) {
        wait->failed = failed;
        answer = tseed_ctl_get("tasks/%s/failures.json?limit=1", wait->task);
        if (answer->code == TSEED_CTL_INTERRUPTED) {
            raise(SIGINT); /* for the next pause */
        }
        document = tseed_ctl_document(answer);
        first = tseed_ctl_entry(document, "causes", 0);
        first = first ? first : tseed_ctl_entry(document, "failures", 0);
        if (document) {
            tseed_text_fit(wait->cause, sizeof(wait->cause), tseed_ctl_text(first, "cause", ""));
        }
    }
    return *wait->cause ? wait->cause : NULL;
}

/* Of a task. Only what went wrong with its end is told to those who want quiet. */
static tseed_ctl_exit_t judge_task(wait_t *wait, const tseed_ctl_answer_t *answer,
                                   json_object *task)
{
    const int is_done = tseed_ctl_is(task, "state", "DONE");
    const int is_whole = is_done && tseed_ctl_number(task, "tilesFailed", 0) == 0;

    if (!is_done && !tseed_ctl_is(task, "state", "ABORTED")) {
        if (tseed_ctl.leaves_at_quota && tseed_ctl_is_at_quota(task)) {
            leave(TSEED_CTL_NO_ROOM, tseed_ctl_text(task, "reason", ""));
        }
        show(wait, tseed_ctl_format("task %s  %s", wait->task,
                                    tseed_ctl_progress(task, cause_of(wait, task))));
        return WAIT_ON;
    }
    if (!tseed_ctl.is_quiet) {
        tseed_ctl_release();
    }
    if (tseed_ctl.is_json) {
        tseed_ctl_pass(answer->body, answer->length);
    } else if (!is_whole) {
        tseed_ctl_note(tseed_ctl_result(task));
    } else if (!tseed_ctl.is_quiet) {
        tseed_ctl_say("%s", tseed_ctl_result(task));
    }
    return is_whole ? TSEED_CTL_DONE : is_done ? TSEED_CTL_FAILURES : TSEED_CTL_ABORTED;
}

/* Of the rows of a layer of GeoWebCache. */
static void judge_rows(wait_t *wait, json_object *rows)
{
    int64_t processed = 0, total = 0;
    json_object *row;

    for (size_t i = 0; (row = tseed_ctl_entry(rows, NULL, i)); i++) {
        processed += tseed_ctl_number(row, "tilesProcessed", 0);
        total += tseed_ctl_number(row, "tilesTotal", 0);
    }
    row = tseed_ctl_entry(rows, NULL, 0);
    if (!row) {
        leave(TSEED_CTL_DONE, "nothing is under way; this server does not say how its tasks ended");
    }
    json_object_object_add(row, "tilesProcessed", json_object_new_int64(processed));
    json_object_object_add(row, "tilesTotal", json_object_new_int64(total));
    show(wait, tseed_ctl_progress(row, NULL));
}

/* ---- the wait ---- */

/* Asks and judges. No answer of use: the wait goes on for as long as it may. */
static tseed_ctl_exit_t ask(wait_t *wait)
{
    tseed_ctl_answer_t *answer = tseed_ctl_get("%s", wait->what);
    json_object *document;

    if (answer->code == TSEED_CTL_INTERRUPTED) {
        return interrupt(wait);
    }
    if (answer->status == 0 || answer->status >= 500) {
        if (!deadline && tseed_clock_monotonic() - wait->last_answer > SILENCE_MAX) {
            leave(TSEED_CTL_NO_ANSWER, answer->problem);
        }
        show(wait, tseed_ctl_format("asking again: %s", answer->problem));
        return WAIT_ON;
    }
    wait->last_answer = tseed_clock_monotonic();
    if (answer->code != TSEED_CTL_DONE) {
        tseed_ctl_release();
        tseed_ctl_expect(answer);
    }
    document = tseed_ctl_document(answer);
    document = wait->task ? document : tseed_ctl_rows(document);
    if (!document) {
        leave(TSEED_CTL_NO_ANSWER, "this is no REST interface of tiles");
    }
    if (wait->task) {
        return judge_task(wait, answer, document);
    }
    judge_rows(wait, document);
    return WAIT_ON;
}

/* Pauses. */
static tseed_ctl_exit_t rest(wait_t *wait)
{
    const apr_time_t now = tseed_clock_monotonic();
    apr_interval_time_t pause = wait->pause;

    if (deadline && now >= deadline) {
        leave(TSEED_CTL_TIMEOUT, wait->task ? "the time is up, the task goes on"
                                            : "the time is up, the seeding goes on");
    }
    pause = deadline && now + pause > deadline ? deadline - now : pause;
    wait->pause = wait->pause * 3 / 2 < PAUSE_LAST ? wait->pause * 3 / 2 : PAUSE_LAST;
    return tseed_ctl_interrupted(pause) ? interrupt(wait) : WAIT_ON;
}

/* Waits for the end of a task, or until nothing is listed for a layer, on a server that gives its
 * tasks no numbers. Whether that was well; or it ends. */
static tseed_ctl_exit_t wait_for(const char *task, const char *layer)
{
    apr_pool_t *pool = tseed_ctl.pool;
    wait_t wait = {.task = task,
                   .what = task ? tseed_ctl_format("tasks/%s.json", task)
                                : tseed_ctl_format("seed/%s.json", tseed_ctl_segment(layer)),
                   .last_answer = tseed_clock_monotonic(),
                   .pause = PAUSE_FIRST};
    tseed_ctl_exit_t code;

    if (tseed_ctl.timeout && !deadline) {
        deadline = wait.last_answer + tseed_ctl.timeout;
    }
    tseed_ctl_interrupt_hold();
    apr_pool_create(&tseed_ctl.pool, pool);
    do {
        apr_pool_clear(tseed_ctl.pool);
        code = ask(&wait);
        code = code == WAIT_ON ? rest(&wait) : code;
    } while (code == WAIT_ON);
    apr_pool_destroy(tseed_ctl.pool);
    tseed_ctl.pool = pool;
    return code;
}

/* ---- the verbs ---- */

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
        tseed_ctl_end(tseed_ctl.is_waiting && layer ? wait_for(NULL, layer) : TSEED_CTL_DONE);
    }
    if (tseed_ctl.is_json && !tseed_ctl.is_waiting) {
        tseed_ctl_take(tseed_ctl_get("tasks/%s.json", answer->task));
    }
    if (!tseed_ctl.is_quiet && !tseed_ctl.is_json) {
        tseed_ctl_say("task %s", answer->task);
        fflush(stdout);
    }
    if (tseed_ctl.is_waiting) {
        tseed_ctl_end(wait_for(answer->task, NULL));
    }
}

static void run_seed(void)
{
    const char *layer = tseed_ctl_argument(0), *levels = "all levels";

    if (tseed_ctl.is_dry_run) {
        run_estimate();
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

static void run_retry(void)
{
    start(tseed_ctl_format("tasks/%s/retry", tseed_ctl_argument(0)), NULL, NULL);
}

/* One task after the other. The worst of their codes. */
static void run_wait(void)
{
    tseed_ctl_exit_t code, worst = TSEED_CTL_DONE;
    const char *task;

    for (int i = 0; (task = tseed_ctl_argument(i)); i++) {
        code = wait_for(task, NULL);
        worst = code > worst ? code : worst;
    }
    tseed_ctl_end(worst);
}

const tseed_ctl_verb_t tseed_ctl_seed_verbs[] = {
    {4, "seed", "LAYER", "make the tiles that are missing", run_seed},
    {5, "reseed", "LAYER", "make all tiles again", run_seed},
    {6, "truncate", "LAYER", "remove tiles", run_seed},
    {7, "estimate", "LAYER", "tell what a request would take", run_estimate},
    {9, "wait", "ID...", "wait until tasks have ended", run_wait},
    {12, "retry", "ID", "try the failed metatiles of a task again", run_retry},
    {0}};
