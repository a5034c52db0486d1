/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Waiting for tasks: a line that shows the progress, and an exit code that says how they ended. A
 * server that is away for a while, because httpd is restarted, is asked again. */
#include <apr_strings.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"
#include "protocol/tseed_task.h"

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

/* ---- a question ---- */

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
    show(wait, tseed_ctl_fill(row, DONE));
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

tseed_ctl_exit_t tseed_ctl_wait_for(const char *task, const char *layer)
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

/* One task after the other. The worst of their codes. */
void tseed_ctl_run_wait(void)
{
    tseed_ctl_exit_t code, worst = TSEED_CTL_DONE;
    const char *task;

    for (int i = 0; (task = tseed_ctl_argument(i)); i++) {
        code = tseed_ctl_wait_for(task, NULL);
        worst = code > worst ? code : worst;
    }
    tseed_ctl_end(worst);
}
