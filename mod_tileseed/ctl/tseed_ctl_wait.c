/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Waiting for tasks. */
#include "ctl/tseed_ctl_wait.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "ctl/tseed_ctl_interrupt.h"
#include "ctl/tseed_ctl_progress.h"
#include "ctl/tseed_ctl_terminal.h"
#include "ctl/tseed_ctl_words.h"

/* Pauses between two questions grow from the first to the last: a short task is told at once. */
#define PAUSE_FIRST (APR_USEC_PER_SEC / 5)
#define PAUSE_LAST  (2 * APR_USEC_PER_SEC)

/* How long a server may be silent when no --timeout says so. */
#define SILENCE_MAX (600 * APR_USEC_PER_SEC)

#define LINES_ON_TERMINAL APR_USEC_PER_SEC
#define LINES_ELSEWHERE   (30 * APR_USEC_PER_SEC)
#define SECOND_INTERRUPT  (2 * APR_USEC_PER_SEC)
#define CAUSE_SIZE        120

/* One wait. `pool` is cleared before each question. */
typedef struct {
    const tseed_ctl_t *ctl;
    apr_pool_t *pool;
    int64_t task;           /* 0: of a layer */
    const char *what;       /* the address that tells how far it is */
    apr_time_t deadline;    /* 0: none; by the monotonic clock, as all times here */
    apr_time_t last_answer; /* or the beginning */
    apr_time_t next_line;
    apr_interval_time_t pause;
    int64_t failed; /* metatiles or tiles, of which the cause is */
    char cause[CAUSE_SIZE];
} wait_t;

static wait_t begin(const tseed_ctl_t *ctl, apr_time_t deadline)
{
    wait_t wait = {.ctl = ctl, .deadline = deadline, .pause = PAUSE_FIRST};

    apr_pool_create(&wait.pool, ctl->pool);
    wait.last_answer = tseed_clock_monotonic();
    return wait;
}

static apr_time_t deadline_of(const tseed_ctl_options_t *options)
{
    return options->timeout ? tseed_clock_monotonic() + options->timeout : 0;
}

/* Shows a line: over the one before on a terminal, else now and then. */
static void show(wait_t *wait, const char *line)
{
    const int is_terminal = tseed_ctl_columns(stderr) > 0;
    const apr_time_t now = tseed_clock_monotonic();
    const apr_interval_time_t usual = is_terminal ? LINES_ON_TERMINAL : LINES_ELSEWHERE;
    const apr_interval_time_t interval =
        wait->ctl->options->interval ? wait->ctl->options->interval : usual;

    if (wait->ctl->options->is_quiet || now < wait->next_line) {
        return;
    }
    wait->next_line = now + interval;
    if (is_terminal) {
        tseed_ctl_redraw(line, wait->pool);
    } else {
        fprintf(stderr, "%s\n", line);
    }
}

/* ---- the ends of a wait ---- */

static tseed_ctl_exit_t kill_task(wait_t *wait)
{
    const tseed_ctl_request_t request = {
        .method = "DELETE",
        .path = apr_psprintf(wait->pool, "tasks/%" APR_INT64_T_FMT ".json", wait->task)};
    const tseed_ctl_answer_t *answer = tseed_ctl_http_ask(wait->ctl->http, &request, wait->pool);

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(wait->ctl, answer);
    }
    tseed_ctl_complain("task %" APR_INT64_T_FMT " is ended", wait->task);
    return TSEED_CTL_ABORTED;
}

/* Ctrl-C ends the wait. With --kill-on-interrupt a second one ends the task. */
static tseed_ctl_exit_t interrupt(wait_t *wait)
{
    tseed_ctl_release();
    if (!wait->task) {
        tseed_ctl_complain("the seeding goes on");
        return TSEED_CTL_INTERRUPTED;
    }
    if (wait->ctl->options->kills_on_interrupt) {
        tseed_ctl_complain("Ctrl-C again within two seconds ends task %" APR_INT64_T_FMT,
                           wait->task);
        if (tseed_ctl_interrupted(SECOND_INTERRUPT)) {
            return kill_task(wait);
        }
    }
    tseed_ctl_complain("task %" APR_INT64_T_FMT " goes on: tileseedctl wait %" APR_INT64_T_FMT,
                       wait->task, wait->task);
    return TSEED_CTL_INTERRUPTED;
}

static tseed_ctl_exit_t leave(tseed_ctl_exit_t code, const char *why)
{
    tseed_ctl_release();
    tseed_ctl_complain("%s", why);
    return code;
}

/* Says how the task has ended. Only what went wrong is told to those who want quiet. */
static tseed_ctl_exit_t end(const wait_t *wait, const tseed_node_t *task,
                            const tseed_ctl_answer_t *answer)
{
    const int is_done = strcmp(tseed_ctl_text(task, "state", ""), "DONE") == 0;
    const int is_whole = is_done && tseed_ctl_number(task, "tilesFailed", 0) == 0;
    const tseed_ctl_options_t *options = wait->ctl->options;

    if (!options->is_quiet) {
        tseed_ctl_release();
    }
    if (options->is_json) {
        tseed_ctl_pass(wait->ctl, answer);
    } else if (!options->is_quiet || !is_whole) {
        fprintf(is_whole ? stdout : stderr, "%s\n", tseed_ctl_result(task, wait->pool));
    }
    return is_whole ? TSEED_CTL_DONE : is_done ? TSEED_CTL_FAILURES : TSEED_CTL_ABORTED;
}

/* ---- a question ---- */

/* Pauses. The code with which the wait ends, or TSEED_CTL_DONE: it goes on. */
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
    return tseed_ctl_interrupted(pause) ? interrupt(wait) : TSEED_CTL_DONE;
}

/* Whether a server that answers so may answer well in a while. */
static int may_come_back(const tseed_ctl_answer_t *answer)
{
    return answer->status == 0 || answer->status >= 500;
}

/* No answer of use: the wait goes on for as long as it may. */
static tseed_ctl_exit_t bear_silence(wait_t *wait, const tseed_ctl_answer_t *answer)
{
    const char *why = tseed_ctl_explain(answer, wait->pool);

    if (answer->is_interrupted) {
        return interrupt(wait);
    }
    if (!wait->deadline && tseed_clock_monotonic() - wait->last_answer > SILENCE_MAX) {
        return leave(TSEED_CTL_NO_ANSWER, why);
    }
    show(wait, apr_pstrcat(wait->pool, "asking again: ", why, NULL));
    return rest(wait);
}

/* Asks until an answer comes that is one. *answer is NULL when the wait has ended, with the code.
 */
static tseed_ctl_exit_t ask(tseed_ctl_answer_t **answer, wait_t *wait)
{
    for (;;) {
        tseed_ctl_exit_t code;

        apr_pool_clear(wait->pool);
        *answer = tseed_ctl_http_get(wait->ctl->http, wait->pool, "%s", wait->what);
        if (!may_come_back(*answer)) {
            wait->last_answer = tseed_clock_monotonic();
            code = tseed_ctl_judge(*answer);
            if (code != TSEED_CTL_DONE) {
                tseed_ctl_release();
                tseed_ctl_refuse(wait->ctl, *answer);
                *answer = NULL;
            }
            return code;
        }
        code = bear_silence(wait, *answer);
        if (code != TSEED_CTL_DONE) {
            *answer = NULL;
            return code;
        }
    }
}

/* Asks why metatiles failed, once for each new number of them. */
static const char *cause_of(wait_t *wait, const tseed_node_t *task)
{
    const int64_t failed = tseed_ctl_number(task, "tilesFailed", 0);
    const tseed_node_t *document, *first;
    tseed_ctl_answer_t *answer;

    if (failed == wait->failed) {
        return *wait->cause ? wait->cause : NULL;
    }
    wait->failed = failed;
    answer = tseed_ctl_http_get(wait->ctl->http, wait->pool,
                                "tasks/%" APR_INT64_T_FMT "/failures.json?limit=1", wait->task);
    if (answer->is_interrupted) {
        raise(SIGINT); /* for the next pause */
    }
    if (answer->status == 200 &&
        !tseed_ctl_document_read(&document, answer->body, answer->length, wait->pool)) {
        first = tseed_ctl_first(document, "causes");
        first = first ? first : tseed_ctl_first(document, "failures");
        apr_cpystrn(wait->cause, tseed_ctl_clip(tseed_ctl_text(first, "cause", ""), 40, wait->pool),
                    sizeof(wait->cause));
    }
    return *wait->cause ? wait->cause : NULL;
}

/* ---- a task ---- */

static int has_ended(const tseed_node_t *task)
{
    const char *state = tseed_ctl_text(task, "state", "");

    return strcmp(state, "DONE") == 0 || strcmp(state, "ABORTED") == 0;
}

static tseed_ctl_exit_t watch_task(wait_t *wait)
{
    for (;;) {
        tseed_ctl_answer_t *answer;
        const tseed_node_t *task;
        const char *line;
        tseed_ctl_exit_t code = ask(&answer, wait);

        if (!answer) {
            return code;
        }
        if (tseed_ctl_document_read(&task, answer->body, answer->length, wait->pool)) {
            return leave(TSEED_CTL_NO_ANSWER, "this is no REST interface of tiles");
        }
        if (has_ended(task)) {
            return end(wait, task, answer);
        }
        if (wait->ctl->options->leaves_at_quota && tseed_ctl_is_at_quota(task)) {
            return leave(TSEED_CTL_NO_ROOM, tseed_ctl_words(task, "reason", "", wait->pool));
        }
        line = tseed_ctl_progress(task, cause_of(wait, task), wait->pool);
        show(wait, apr_psprintf(wait->pool, "task %" APR_INT64_T_FMT "  %s", wait->task, line));
        code = rest(wait);
        if (code != TSEED_CTL_DONE) {
            return code;
        }
    }
}

static int is_end_of_task(tseed_ctl_exit_t code)
{
    return code == TSEED_CTL_DONE || code == TSEED_CTL_FAILURES || code == TSEED_CTL_ABORTED;
}

tseed_ctl_exit_t tseed_ctl_wait_for(const tseed_ctl_t *ctl, const apr_array_header_t *tasks)
{
    const apr_time_t deadline = deadline_of(ctl->options);
    tseed_ctl_exit_t worst = TSEED_CTL_DONE;

    tseed_ctl_interrupt_hold();
    for (int i = 0; i < tasks->nelts && is_end_of_task(worst); i++) {
        wait_t wait = begin(ctl, deadline);
        tseed_ctl_exit_t code;

        wait.task = APR_ARRAY_IDX(tasks, i, int64_t);
        wait.what = apr_psprintf(ctl->pool, "tasks/%" APR_INT64_T_FMT ".json", wait.task);
        code = watch_task(&wait);
        worst = code > worst ? code : worst;
        apr_pool_destroy(wait.pool);
    }
    return worst;
}

/* ---- a layer of GeoWebCache ---- */

static const char *sum_up(const apr_array_header_t *rows, apr_pool_t *pool)
{
    int64_t processed = 0, total = 0;

    for (int i = 0; i < rows->nelts; i++) {
        processed += APR_ARRAY_IDX(rows, i, tseed_ctl_row_t).processed;
        total += APR_ARRAY_IDX(rows, i, tseed_ctl_row_t).total;
    }
    return apr_psprintf(pool, "%s  %s/%s tiles", tseed_ctl_share(processed, total, pool),
                        tseed_ctl_count(processed, pool), tseed_ctl_count(total, pool));
}

static tseed_ctl_exit_t watch_layer(wait_t *wait)
{
    for (;;) {
        tseed_ctl_answer_t *answer;
        const apr_array_header_t *rows;
        tseed_ctl_exit_t code = ask(&answer, wait);

        if (!answer) {
            return code;
        }
        rows = tseed_ctl_rows_read(answer->body, wait->pool);
        if (!rows) {
            return leave(TSEED_CTL_NO_ANSWER, "this is no REST interface of tiles");
        }
        if (rows->nelts == 0) {
            return leave(TSEED_CTL_DONE, "nothing is under way; this server does not say how its "
                                         "tasks ended");
        }
        show(wait, sum_up(rows, wait->pool));
        code = rest(wait);
        if (code != TSEED_CTL_DONE) {
            return code;
        }
    }
}

tseed_ctl_exit_t tseed_ctl_wait_for_layer(const tseed_ctl_t *ctl, const char *layer)
{
    wait_t wait = begin(ctl, deadline_of(ctl->options));

    tseed_ctl_interrupt_hold();
    wait.what = apr_pstrcat(ctl->pool, "seed/", tseed_ctl_segment(layer, ctl->pool), ".json", NULL);
    return watch_layer(&wait);
}
