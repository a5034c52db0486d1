/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The client: tileseedctl drives the REST interface from the command line. */
#include <apr_general.h>
#include <stdio.h>
#include <string.h>

#include "ctl/tseed_ctl.h"
#include "ctl/tseed_ctl_print.h"
#include "protocol/tseed_document.h"

/* Nobody waits longer for a completion. */
#define COMPLETION_TIMEOUT APR_USEC_PER_SEC

/* As the word before an unfinished command line. */
#define COMPLETE "--complete"

/* Of Nagios; the server's state is not known. */
#define NAGIOS_UNKNOWN 3

/* In the order of the verbs. */
static tseed_ctl_run_t *const runs[TSEED_VERBS] = {
    tseed_ctl_run_layers,   tseed_ctl_run_status,    tseed_ctl_run_tasks,
    tseed_ctl_run_seed,     tseed_ctl_run_seed,      tseed_ctl_run_seed,
    tseed_ctl_run_estimate, tseed_ctl_run_show,      tseed_ctl_run_wait,
    tseed_ctl_run_kill,     tseed_ctl_run_failures,  tseed_ctl_run_retry,
    tseed_ctl_run_quota,    tseed_ctl_run_reconcile, tseed_ctl_run_ask_again,
    tseed_ctl_run_unlisted, tseed_ctl_run_coverage,  tseed_ctl_run_hosts,
    tseed_ctl_run_drain,    tseed_ctl_run_drain,     tseed_ctl_run_metrics,
    tseed_ctl_run_check};

/* Whatever is wrong, a completion says nothing and asks nothing: there is no terminal for it. */
static int complete(int count, const char *const *words, apr_pool_t *pool)
{
    static const struct {
        const char *kind, *address, *list, *member;
    } names[] = {{"ID", "tasks.json?limit=20", "tasks", "id"},
                 {"HOST", "hosts.json", "hosts", "name"},
                 {"LAYER", "layers.json", "layers", "name"}};
    const char *last = count ? words[count - 1] : "", *kind, *name;
    json_object *document, *one;
    tseed_ctl_options_t options;
    tseed_ctl_server_t server;
    tseed_ctl_t ctl = {.options = &options, .pool = pool};
    size_t i = 0;

    tseed_ctl_options_read(&options, count ? count - 1 : 0, words, pool);
    kind = tseed_ctl_complete(&options, last);
    while (i < 3 && strncmp(kind, names[i].kind, strlen(names[i].kind)) != 0) {
        i++;
    }
    options.user = ""; /* whose password is not asked for */
    if (i == 3 || !freopen("/dev/null", "w", stderr) ||
        tseed_ctl_profile(&server, &options, pool)) {
        return 0;
    }
    server.timeout = COMPLETION_TIMEOUT;
    ctl.http = tseed_ctl_http_create(&server, pool);
    if (!ctl.http ||
        tseed_ctl_document(&document, tseed_ctl_get(&ctl, "%s", names[i].address), pool)) {
        return 0;
    }
    for (size_t k = 0; (one = tseed_ctl_entry(document, names[i].list, k)); k++) {
        name = tseed_ctl_text(one, names[i].member, "");
        if (strncmp(name, last, strlen(last)) == 0) {
            tseed_ctl_say("%s", name);
        }
    }
    return 0;
}

/* What is wrong with the command line, the settings, or libcurl. */
static int refuse(const tseed_ctl_options_t *options, const char *problem)
{
    const int code = tseed_ctl_misuse(problem);

    return tseed_ctl_verb_is(options, "check") ? NAGIOS_UNKNOWN : code;
}

static int begin(int count, const char *const *words, apr_pool_t *pool)
{
    tseed_ctl_options_t options;
    tseed_ctl_server_t server;
    tseed_ctl_t ctl = {.options = &options, .pool = pool};
    const char *problem;

    if (count > 0 && strcmp(words[0], COMPLETE) == 0) {
        return complete(count - 1, words + 1, pool);
    }
    problem = tseed_ctl_options_read(&options, count, words, pool);
    if (problem) {
        return refuse(&options, problem);
    }
    if (options.wants_help) {
        tseed_ctl_help(options.verb, pool);
        return TSEED_CTL_DONE;
    }
    if (options.wants_version) {
        puts("tileseedctl " TSEED_VERSION);
        return TSEED_CTL_DONE;
    }
    problem = tseed_ctl_profile(&server, &options, pool);
    if (problem) {
        return refuse(&options, problem);
    }
    ctl.http = tseed_ctl_http_create(&server, pool);
    if (!ctl.http) {
        tseed_ctl_complain("libcurl can't be used");
        return TSEED_CTL_NO_ANSWER;
    }
    return (int)runs[options.verb - tseed_ctl_verbs](&ctl);
}

int main(int argc, char **argv)
{
    apr_pool_t *pool;
    int code;

    if (apr_initialize() != APR_SUCCESS || apr_pool_create(&pool, NULL) != APR_SUCCESS) {
        return TSEED_CTL_NO_ANSWER;
    }
    tseed_document_init();
    code = begin(argc - 1, (const char *const *)argv + 1, pool);
    if (fflush(stdout) != 0 || ferror(stdout)) { /* what could not be written was not said */
        tseed_ctl_complain("standard output can't be written");
        code = code ? code : TSEED_CTL_NO_ANSWER;
    }
    apr_pool_destroy(pool);
    apr_terminate();
    return code;
}
