/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The client: tileseedctl drives the REST interface from the command line. */
#include <apr_general.h>
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "ctl/tseed_ctl_help.h"
#include "ctl/tseed_ctl_profile.h"
#include "ctl/tseed_ctl_verbs.h"
#include "ctl/tseed_ctl_words.h"

/* Nobody waits longer for a completion. */
#define COMPLETION_TIMEOUT APR_USEC_PER_SEC

/* As the word before an unfinished command line. */
#define COMPLETE "--complete"

/* Of Nagios; the server's state is not known. */
#define NAGIOS_UNKNOWN 3

/* In the order of the verbs. */
static tseed_ctl_run_t *const runs[TSEED_VERB_COUNT] = {
    tseed_ctl_run_layers, tseed_ctl_run_status,    tseed_ctl_run_tasks,     tseed_ctl_run_seed,
    tseed_ctl_run_seed,   tseed_ctl_run_seed,      tseed_ctl_run_estimate,  tseed_ctl_run_show,
    tseed_ctl_run_wait,   tseed_ctl_run_kill,      tseed_ctl_run_failures,  tseed_ctl_run_retry,
    tseed_ctl_run_quota,  tseed_ctl_run_reconcile, tseed_ctl_run_ask_again, tseed_ctl_run_coverage,
    tseed_ctl_run_hosts,  tseed_ctl_run_drain,     tseed_ctl_run_drain,     tseed_ctl_run_metrics,
    tseed_ctl_run_check};

/* ---- completion ---- */

/* Prints the names of an address' entries that the last word begins. */
static void complete_names(const tseed_ctl_t *ctl, const char *address, const char *list,
                           const char *member, const char *last)
{
    const tseed_ctl_answer_t *answer = tseed_ctl_http_get(ctl->http, ctl->pool, "%s", address);
    const tseed_node_t *document;

    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE ||
        tseed_ctl_document_read(&document, answer->body, answer->length, ctl->pool)) {
        return;
    }
    for (const tseed_node_t *one = tseed_ctl_first(document, list); one;
         one = tseed_ctl_next(one)) {
        const char *name = tseed_ctl_words(one, member, "", ctl->pool);

        if (strncmp(name, last, strlen(last)) == 0) {
            puts(name);
        }
    }
}

/* Whatever is wrong, a completion says nothing and asks nothing: there is no terminal for it. */
static int complete(int count, const char *const *words, apr_pool_t *pool)
{
    const tseed_ctl_verb_t verb = tseed_ctl_complete_verb(count, words);
    const char *last = count ? words[count - 1] : "";
    const tseed_argument_t kind =
        count ? tseed_ctl_complete_kind(verb, count, words) : TSEED_ARGUMENT_NONE;
    tseed_ctl_options_t options;
    tseed_ctl_server_t server;
    tseed_ctl_t ctl = {.options = &options, .pool = pool};

    tseed_ctl_complete_words(verb, last);
    if (kind == TSEED_ARGUMENT_NONE || !freopen("/dev/null", "w", stderr)) {
        return 0;
    }
    tseed_ctl_options_read(&options, count - 1, words, pool);
    options.user = ""; /* whose password is not asked for */
    if (tseed_ctl_profile(&server, &options, pool)) {
        return 0;
    }
    server.timeout = COMPLETION_TIMEOUT;
    ctl.http = tseed_ctl_http_create(&server, pool);
    if (ctl.http && kind == TSEED_ARGUMENT_LAYER) {
        complete_names(&ctl, "layers.json", "layers", "name", last);
    } else if (ctl.http && kind == TSEED_ARGUMENT_HOST) {
        complete_names(&ctl, "hosts.json", "hosts", "name", last);
    } else if (ctl.http) {
        complete_names(&ctl, "tasks.json?limit=20", "tasks", "id", last);
    }
    return 0;
}

/* ---- a verb ---- */

static int run(tseed_ctl_options_t *options, apr_pool_t *pool)
{
    tseed_ctl_t ctl = {.options = options, .pool = pool};
    tseed_ctl_server_t server;
    const char *problem = tseed_ctl_profile(&server, options, pool);

    if (problem) {
        tseed_ctl_misuse(tseed_ctl_clean(problem, pool));
        return options->verb == TSEED_VERB_CHECK ? NAGIOS_UNKNOWN : TSEED_CTL_USAGE;
    }
    ctl.http = tseed_ctl_http_create(&server, pool);
    if (!ctl.http) {
        tseed_ctl_complain("libcurl can't be used");
        return TSEED_CTL_NO_ANSWER;
    }
    return (int)runs[options->verb](&ctl);
}

static int begin(int count, const char *const *words, apr_pool_t *pool)
{
    tseed_ctl_options_t options;
    const char *problem;

    if (count > 0 && strcmp(words[0], COMPLETE) == 0) {
        return complete(count - 1, words + 1, pool);
    }
    problem = tseed_ctl_options_read(&options, count, words, pool);
    if (problem) {
        tseed_ctl_misuse(tseed_ctl_clean(problem, pool));
        return options.verb == TSEED_VERB_CHECK ? NAGIOS_UNKNOWN : TSEED_CTL_USAGE;
    }
    if (options.wants_help) {
        tseed_ctl_help(options.verb);
        return TSEED_CTL_DONE;
    }
    if (options.wants_version) {
        puts("tileseedctl " TSEED_VERSION);
        return TSEED_CTL_DONE;
    }
    return run(&options, pool);
}

/* What could not be written was not said. */
static int flush(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        tseed_ctl_complain("standard output can't be written");
        return code ? code : TSEED_CTL_NO_ANSWER;
    }
    return code;
}

int main(int argc, char **argv)
{
    apr_pool_t *pool;
    int code;

    if (apr_initialize() != APR_SUCCESS || apr_pool_create(&pool, NULL) != APR_SUCCESS) {
        return TSEED_CTL_NO_ANSWER;
    }
    tseed_document_init();
    code = flush(begin(argc - 1, (const char *const *)argv + 1, pool));
    apr_pool_destroy(pool);
    apr_terminate();
    return code;
}
