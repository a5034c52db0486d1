/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs that start tasks.
 *
 * A request whose answer was lost is sent again with its Idempotency-Key, so that the two start one
 * task. GeoWebCache does not know such keys: the client sends again only after the server has
 * answered tasks.json, which GeoWebCache does not have.
 */
#include <apr_strings.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl_interrupt.h"
#include "ctl/tseed_ctl_request.h"
#include "ctl/tseed_ctl_terminal.h"
#include "ctl/tseed_ctl_verbs.h"
#include "ctl/tseed_ctl_wait.h"
#include "ctl/tseed_ctl_words.h"

#define SENDS_MAX 6
#define KEY_BYTES 16

/* The key that the user has given, or a random one. */
static const char *key_of(const tseed_ctl_t *ctl)
{
    unsigned char bytes[KEY_BYTES];
    const char *key = "";

    if (ctl->options->key) {
        return ctl->options->key;
    }
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
        abort(); /* Linux always has so few */
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        key = apr_psprintf(ctl->pool, "%s%02x", key, bytes[i]);
    }
    return key;
}

/* Whether an answer tells what has become of the request. */
static int is_told(const tseed_ctl_answer_t *answer)
{
    return answer->status > 0 && answer->status < 500;
}

/* Whether the server knows keys: 1, 0, or -1 when it does not answer. */
static int knows_keys(const tseed_ctl_t *ctl)
{
    const tseed_ctl_answer_t *answer =
        tseed_ctl_http_get(ctl->http, ctl->pool, "tasks.json?limit=1");

    return is_told(answer) ? answer->status == 200 : -1;
}

/* Says what the user can do about a lost answer. */
static tseed_ctl_answer_t *give_up(const tseed_ctl_t *ctl, tseed_ctl_answer_t *lost,
                                   const char *key)
{
    lost->problem =
        apr_pstrcat(ctl->pool, lost->problem, "; the server may have got the request all the same",
                    key ? ", say it again with --key " : "", key ? key : "", NULL);
    return lost;
}

/* Sends a request, and again when its answer was lost. */
static tseed_ctl_answer_t *deliver(const tseed_ctl_t *ctl, const tseed_ctl_request_t *request)
{
    tseed_ctl_answer_t *lost = tseed_ctl_http_ask(ctl->http, request, ctl->pool);
    int knows = -1;

    if (!lost->is_lost) {
        return lost;
    }
    for (int i = 1; i < SENDS_MAX && knows != 0 && !lost->is_interrupted; i++) {
        lost->is_interrupted = tseed_ctl_interrupted(APR_USEC_PER_SEC << (i - 1));
        knows = lost->is_interrupted ? knows : knows_keys(ctl);
        if (knows == 1 && !lost->is_interrupted) {
            tseed_ctl_answer_t *answer = tseed_ctl_http_ask(ctl->http, request, ctl->pool);

            if (is_told(answer)) {
                return answer;
            }
            lost->is_interrupted = answer->is_interrupted;
        }
    }
    return give_up(ctl, lost, knows != 0 ? request->key : NULL);
}

/* The document of the new task, for --json. */
static tseed_ctl_exit_t pass_task(const tseed_ctl_t *ctl, const char *task)
{
    const tseed_ctl_answer_t *answer = tseed_ctl_http_get(ctl->http, ctl->pool, "tasks/%s.json",
                                                          tseed_ctl_segment(task, ctl->pool));

    return tseed_ctl_judge(answer) == TSEED_CTL_DONE ? tseed_ctl_pass(ctl, answer)
                                                     : tseed_ctl_refuse(ctl, answer);
}

/* Tells of the new task, and waits for it. A server that gives it no number has the layer. */
static tseed_ctl_exit_t follow(const tseed_ctl_t *ctl, const tseed_ctl_answer_t *answer,
                               const char *layer)
{
    const tseed_ctl_options_t *options = ctl->options;
    apr_array_header_t *tasks = apr_array_make(ctl->pool, 1, sizeof(int64_t));
    int64_t id = 0;

    if (answer->warning) {
        tseed_ctl_complain("%s", tseed_ctl_clean(answer->warning, ctl->pool));
    }
    if (!answer->task || tseed_text_int64(&id, answer->task, 1, INT64_MAX) != 0) {
        tseed_ctl_complain("accepted; this server gives no numbers to its tasks");
        return options->is_waiting && layer ? tseed_ctl_wait_for_layer(ctl, layer) : TSEED_CTL_DONE;
    }
    if (options->is_json && !options->is_waiting) {
        return pass_task(ctl, answer->task);
    }
    if (!options->is_quiet && !options->is_json) {
        printf("task %" APR_INT64_T_FMT "\n", id);
        fflush(stdout);
    }
    APR_ARRAY_PUSH(tasks, int64_t) = id;
    return options->is_waiting ? tseed_ctl_wait_for(ctl, tasks) : TSEED_CTL_DONE;
}

static tseed_ctl_exit_t start(const tseed_ctl_t *ctl, tseed_ctl_request_t *request,
                              const char *layer)
{
    const tseed_ctl_answer_t *answer;

    tseed_ctl_interrupt_hold();
    request->method = "POST";
    request->key = key_of(ctl);
    request->is_lenient = ctl->options->is_lenient;
    answer = deliver(ctl, request);
    return tseed_ctl_judge(answer) == TSEED_CTL_DONE ? follow(ctl, answer, layer)
                                                     : tseed_ctl_refuse(ctl, answer);
}

/* Asks before tiles are removed. */
static tseed_ctl_exit_t confirm(const tseed_ctl_options_t *options, apr_pool_t *pool)
{
    const char *levels =
        options->zoom.is_given
            ? apr_psprintf(pool, "levels %d to %d", options->zoom.start, options->zoom.stop)
            : "all levels";
    const char *question =
        apr_psprintf(pool, "Remove tiles of %s in %s, %s?",
                     tseed_ctl_clean(tseed_ctl_argument(options, 0), pool),
                     options->bounds.is_given ? "the box" : "the whole extent", levels);

    if (options->verb != TSEED_VERB_TRUNCATE || options->is_confirmed) {
        return TSEED_CTL_DONE;
    }
    switch (tseed_ctl_confirm(question)) {
    case 1:
        return TSEED_CTL_DONE;
    case 0:
        return tseed_ctl_misuse("nothing was removed");
    default:
        return tseed_ctl_misuse("truncate needs --yes where there is no terminal to ask at");
    }
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
    code = tseed_ctl_find_box(&options, ctl);
    if (code == TSEED_CTL_DONE) {
        code = confirm(&options, ctl->pool);
    }
    if (code != TSEED_CTL_DONE) {
        return code;
    }
    request.path =
        apr_pstrcat(ctl->pool, "seed/", tseed_ctl_segment(layer, ctl->pool), ".xml", NULL);
    request.body = tseed_ctl_seed_xml(&options, ctl->pool);
    return start(ctl, &request, layer);
}

tseed_ctl_exit_t tseed_ctl_run_retry(const tseed_ctl_t *ctl)
{
    const apr_array_header_t *ids = tseed_ctl_ids(ctl);
    tseed_ctl_request_t request = {0};

    if (!ids) {
        return TSEED_CTL_USAGE;
    }
    request.path =
        apr_psprintf(ctl->pool, "tasks/%" APR_INT64_T_FMT "/retry", APR_ARRAY_IDX(ids, 0, int64_t));
    return start(ctl, &request, NULL);
}
