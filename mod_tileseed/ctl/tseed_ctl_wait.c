/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Waiting for tasks: a line that shows the progress, and an exit code that says how they ended. A
 * server that is away for a while, because httpd is restarted, is asked again. */
#include <apr_strings.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"
#include "ctl/tseed_ctl_print.h"
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

#define GAP "  "

/* The wait goes on: no exit code. */
#define WAIT_ON ((tseed_ctl_exit_t)(-1))

/* ---- how far a task is ---- */

/* "z14  ", the level at which the task works: the first that is not finished. "": not known. */
static const char *say_level(json_object *task, apr_pool_t *pool)
{
    json_object *one, *level = NULL;

    for (size_t i = 0; (one = tseed_ctl_entry(task, "levels", i)); i++) {
        level = one;
        if (tseed_ctl_number(one, "finished", 0) < tseed_ctl_number(one, "metatiles", 0)) {
            break;
        }
    }
    return level ? apr_psprintf(pool, "z%02d" GAP, (int)tseed_ctl_number(level, "z", 0)) : "";
}

int tseed_ctl_is_at_quota(json_object *task)
{
    const tseed_reason_t code = tseed_reason_of(tseed_ctl_text(task, "reasonCode", ""));

    return code == TSEED_REASON_QUOTA || code == TSEED_REASON_FREE_SPACE;
}

/* "  412/s  ETA 35 min", or why it does not get on. */
static const char *say_pace(json_object *task, apr_pool_t *pool)
{
    const char *reason = tseed_ctl_text(task, "reason", "");
    const double rate = tseed_ctl_decimal(task, "tilesPerSecond", -1);
    const double rest = tseed_ctl_decimal(task, "secondsRemaining", -1);

    if (*reason) {
        return apr_pstrcat(pool, GAP, reason, NULL);
    }
    return apr_pstrcat(pool, rate >= 0 ? GAP : "", rate >= 0 ? tseed_ctl_rate(rate, pool) : "",
                       rest >= 0 ? GAP "ETA " : "", rest >= 0 ? tseed_ctl_seconds(rest, pool) : "",
                       NULL);
}

static const char *say_done(int64_t processed, int64_t total, apr_pool_t *pool)
{
    return apr_pstrcat(pool, tseed_ctl_share(processed, total, pool), GAP,
                       tseed_ctl_count(processed, pool), "/", tseed_ctl_count(total, pool),
                       " tiles", NULL);
}

const char *tseed_ctl_progress(json_object *task, const char *cause, apr_pool_t *pool)
{
    const int64_t failed = tseed_ctl_number(task, "tilesFailed", 0);
    const char *why = cause ? apr_psprintf(pool, " (%s)", cause) : "";

    return apr_pstrcat(pool, say_level(task, pool),
                       say_done(tseed_ctl_number(task, "tilesProcessed", 0),
                                tseed_ctl_number(task, "tilesTotal", 0), pool),
                       say_pace(task, pool), failed ? GAP "failed " : "",
                       failed ? tseed_ctl_count(failed, pool) : "", failed ? why : "", NULL);
}

const char *tseed_ctl_result(json_object *task, apr_pool_t *pool)
{
    static const char *const parts[][2] = {{"tilesMade", "made"},
                                           {"tilesSkipped", "skipped"},
                                           {"tilesRemoved", "removed"},
                                           {"tilesFailed", "failed"},
                                           {"tilesPruned", "pruned"}};
    const char *reason = tseed_ctl_text(task, "reason", "");
    const char *words = apr_psprintf(
        pool, "task %s %s: %" APR_INT64_T_FMT " of %" APR_INT64_T_FMT " tiles",
        tseed_ctl_text(task, "id", "?"), tseed_ctl_is(task, "state", "DONE") ? "done" : "aborted",
        tseed_ctl_number(task, "tilesProcessed", 0), tseed_ctl_number(task, "tilesTotal", 0));

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        const int64_t count = tseed_ctl_number(task, parts[i][0], 0);

        words = count ? apr_psprintf(pool, "%s, %" APR_INT64_T_FMT " %s", words, count, parts[i][1])
                      : words;
    }
    return apr_pstrcat(pool, words, *reason ? "; " : "", reason, NULL);
}

/* ---- the ends of a wait ---- */

/* One wait. The pool of `ctl` is cleared before each question. */
typedef struct wait_t {
    tseed_ctl_t ctl;
    const char *task; /* NULL: of a layer */
    const char *what; /* the address that tells how far it is */
    tseed_ctl_exit_t (*judge)(struct wait_t *wait, const tseed_ctl_answer_t *answer);
    apr_time_t deadline;    /* 0: none; by the monotonic clock, as all times here */
    apr_time_t last_answer; /* or the beginning */
    apr_time_t next_line;
    apr_interval_time_t pause;
    int64_t failed; /* metatiles or tiles, of which the cause is */
    char cause[CAUSE_SIZE];
} wait_t;

static tseed_ctl_exit_t leave(tseed_ctl_exit_t code, const char *why)
{
    tseed_ctl_release();
    tseed_ctl_complain("%s", why);
    return code;
}

/* Ctrl-C ends the wait. With --kill-on-interrupt a second one ends the task. */
static tseed_ctl_exit_t interrupt(wait_t *wait)
{
    if (!wait->task) {
        return leave(TSEED_CTL_INTERRUPTED, "the seeding goes on");
    }
    tseed_ctl_release();
    if (wait->ctl.options->kills_on_interrupt) {
        tseed_ctl_complain("Ctrl-C again within two seconds ends task %s", wait->task);
        if (tseed_ctl_interrupted(SECOND_INTERRUPT)) {
            const tseed_ctl_exit_t code = tseed_ctl_refused(
                &wait->ctl, tseed_ctl_send(&wait->ctl, "DELETE", NULL, NULL, "%s", wait->what));

            return code == TSEED_CTL_DONE
                       ? leave(TSEED_CTL_ABORTED,
                               apr_psprintf(wait->ctl.pool, "task %s is ended", wait->task))
                       : code;
        }
    }
    tseed_ctl_complain("task %s goes on: tileseedctl wait %s", wait->task, wait->task);
    return TSEED_CTL_INTERRUPTED;
}

/* Says how the task has ended. Only what went wrong is told to those who want quiet. */
static tseed_ctl_exit_t end(wait_t *wait, json_object *task, const tseed_ctl_answer_t *answer)
{
    const int is_done = tseed_ctl_is(task, "state", "DONE");
    const int is_whole = is_done && tseed_ctl_number(task, "tilesFailed", 0) == 0;
    const tseed_ctl_options_t *options = wait->ctl.options;

    if (!options->is_quiet) {
        tseed_ctl_release();
    }
    if (options->is_json) {
        tseed_ctl_pass(answer->body, answer->length);
    } else if (!is_whole) {
        tseed_ctl_note(tseed_ctl_result(task, wait->ctl.pool));
    } else if (!options->is_quiet) {
        tseed_ctl_say("%s", tseed_ctl_result(task, wait->ctl.pool));
    }
    return is_whole ? TSEED_CTL_DONE : is_done ? TSEED_CTL_FAILURES : TSEED_CTL_ABORTED;
}

/* ---- a question ---- */

/* Shows a line: over the one before on a terminal, else now and then. */
static void show(wait_t *wait, const char *line)
{
    const int is_terminal = tseed_ctl_is_terminal();
    const apr_time_t now = tseed_clock_monotonic();
    const apr_interval_time_t usual = is_terminal ? LINES_ON_TERMINAL : LINES_ELSEWHERE;

    if (wait->ctl.options->is_quiet || now < wait->next_line) {
        return;
    }
    wait->next_line = now + (wait->ctl.options->interval ? wait->ctl.options->interval : usual);
    if (is_terminal) {
        tseed_ctl_redraw(line, wait->ctl.pool);
    } else {
        tseed_ctl_note(line);
    }
}

/* Why metatiles failed; asks once for each new number of them. */
static const char *cause_of(wait_t *wait, json_object *task)
{
    const int64_t failed = tseed_ctl_number(task, "tilesFailed", 0);
    json_object *document, *first;
    tseed_ctl_answer_t *answer;

    if (failed != wait->failed) {
        wait->failed = failed;
        answer = tseed_ctl_get(&wait->ctl, "tasks/%s/failures.json?limit=1", wait->task);
        if (answer->is_interrupted) {
            raise(SIGINT); /* for the next pause */
        }
        if (!tseed_ctl_document(&document, answer, wait->ctl.pool)) {
            first = tseed_ctl_entry(document, "causes", 0);
            first = first ? first : tseed_ctl_entry(document, "failures", 0);
            tseed_text_fit(wait->cause, sizeof(wait->cause), tseed_ctl_text(first, "cause", ""));
        }
    }
    return *wait->cause ? wait->cause : NULL;
}

static tseed_ctl_exit_t judge_task(wait_t *wait, const tseed_ctl_answer_t *answer)
{
    json_object *task;

    if (tseed_ctl_document(&task, answer, wait->ctl.pool)) {
        return leave(TSEED_CTL_NO_ANSWER, "this is no REST interface of tiles");
    }
    if (tseed_ctl_is(task, "state", "DONE") || tseed_ctl_is(task, "state", "ABORTED")) {
        return end(wait, task, answer);
    }
    if (wait->ctl.options->leaves_at_quota && tseed_ctl_is_at_quota(task)) {
        return leave(TSEED_CTL_NO_ROOM, tseed_ctl_text(task, "reason", ""));
    }
    show(wait, apr_psprintf(wait->ctl.pool, "task %s  %s", wait->task,
                            tseed_ctl_progress(task, cause_of(wait, task), wait->ctl.pool)));
    return WAIT_ON;
}

/* The rows of a layer of GeoWebCache. */
static tseed_ctl_exit_t judge_layer(wait_t *wait, const tseed_ctl_answer_t *answer)
{
    int64_t processed = 0, total = 0;
    json_object *document, *rows, *row;
    size_t count = 0;

    tseed_ctl_document(&document, answer, wait->ctl.pool);
    rows = tseed_ctl_rows(document, wait->ctl.pool);
    if (!rows) {
        return leave(TSEED_CTL_NO_ANSWER, "this is no REST interface of tiles");
    }
    for (; (row = tseed_ctl_entry(rows, NULL, count)); count++) {
        processed += tseed_ctl_number(row, "tilesProcessed", 0);
        total += tseed_ctl_number(row, "tilesTotal", 0);
    }
    if (count == 0) {
        return leave(TSEED_CTL_DONE,
                     "nothing is under way; this server does not say how its tasks ended");
    }
    show(wait, say_done(processed, total, wait->ctl.pool));
    return WAIT_ON;
}

/* ---- the wait ---- */

/* Asks and judges. No answer of use: the wait goes on for as long as it may. */
static tseed_ctl_exit_t ask(wait_t *wait)
{
    const tseed_ctl_answer_t *answer;
    const char *why;

    apr_pool_clear(wait->ctl.pool);
    answer = tseed_ctl_get(&wait->ctl, "%s", wait->what);
    if (answer->is_interrupted) {
        return interrupt(wait);
    }
    if (answer->status == 0 || answer->status >= 500) {
        why = tseed_ctl_explain(answer, wait->ctl.pool);
        if (!wait->deadline && tseed_clock_monotonic() - wait->last_answer > SILENCE_MAX) {
            return leave(TSEED_CTL_NO_ANSWER, why);
        }
        show(wait, apr_pstrcat(wait->ctl.pool, "asking again: ", why, NULL));
        return WAIT_ON;
    }
    wait->last_answer = tseed_clock_monotonic();
    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        tseed_ctl_release();
        return tseed_ctl_refused(&wait->ctl, answer);
    }
    return wait->judge(wait, answer);
}

/* Pauses. */
static tseed_ctl_exit_t rest(wait_t *wait)
{
    const apr_time_t now = tseed_clock_monotonic();
    apr_interval_time_t pause = wait->pause;

    if (wait->deadline && now >= wait->deadline) {
        return leave(TSEED_CTL_TIMEOUT, wait->task ? "the time is up, the task goes on"
                                                   : "the time is up, the seeding goes on");
    }
    if (wait->deadline && now + pause > wait->deadline) {
        pause = wait->deadline - now;
    }
    wait->pause = wait->pause * 3 / 2 < PAUSE_LAST ? wait->pause * 3 / 2 : PAUSE_LAST;
    return tseed_ctl_interrupted(pause) ? interrupt(wait) : WAIT_ON;
}

/* Until a time, or without end (0). Of a task, or of a layer. */
static tseed_ctl_exit_t wait_for(const tseed_ctl_t *ctl, const char *task, const char *layer,
                                 apr_time_t deadline)
{
    wait_t wait = {.ctl = *ctl, .task = task, .deadline = deadline, .pause = PAUSE_FIRST};
    tseed_ctl_exit_t code;

    wait.judge = task ? judge_task : judge_layer;
    wait.what = apr_psprintf(ctl->pool, task ? "tasks/%s.json" : "seed/%s.json",
                             task ? task : tseed_ctl_segment(layer, ctl->pool));
    wait.last_answer = tseed_clock_monotonic();
    tseed_ctl_interrupt_hold();
    apr_pool_create(&wait.ctl.pool, ctl->pool);
    do {
        code = ask(&wait);
        code = code == WAIT_ON ? rest(&wait) : code;
    } while (code == WAIT_ON);
    apr_pool_destroy(wait.ctl.pool);
    return code;
}

static apr_time_t deadline_of(const tseed_ctl_options_t *options)
{
    return options->timeout ? tseed_clock_monotonic() + options->timeout : 0;
}

tseed_ctl_exit_t tseed_ctl_wait_for(const tseed_ctl_t *ctl, const char *task, const char *layer)
{
    return wait_for(ctl, task, layer, deadline_of(ctl->options));
}

/* One task after the other. The worst of their codes; a code that is not about the end of a task
 * ends the wait. */
tseed_ctl_exit_t tseed_ctl_run_wait(const tseed_ctl_t *ctl)
{
    const apr_time_t deadline = deadline_of(ctl->options);
    tseed_ctl_exit_t code, worst = TSEED_CTL_DONE;
    const char *task;

    for (int i = 0; (task = tseed_ctl_argument(ctl->options, i)); i++) {
        code = wait_for(ctl, task, NULL, deadline);
        worst = code > worst ? code : worst;
        if (code != TSEED_CTL_DONE && code != TSEED_CTL_FAILURES && code != TSEED_CTL_ABORTED) {
            break;
        }
    }
    return worst;
}
