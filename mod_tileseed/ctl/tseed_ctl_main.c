/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The client: tileseedctl drives the REST interface from the command line. */
#include <apr_general.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/tseed_ctl.h"
#include "protocol/tseed_document.h"

/* As the word before an unfinished command line. */
#define COMPLETE "--complete"

/* Prints what the last word may become. Whatever is wrong, it says nothing, and it asks nothing:
 * there is no terminal for it. */
static void complete(int count, const char *const *words)
{
    static const struct {
        const char *kind, *address, *list, *member;
    } names[] = {{"ID", "tasks.json?limit=20", "tasks", "id"},
                 {"HOST", "hosts.json", "hosts", "name"},
                 {"LAYER", "layers.json", "layers", "name"}};
    const char *last = count ? words[count - 1] : "", *kind, *name;
    json_object *document, *one;
    size_t i = 0;

    tseed_ctl_options_read(count ? count - 1 : 0, words);
    tseed_ctl.is_completing = 1;
    tseed_ctl.user = ""; /* whose password is not asked for */
    kind = tseed_ctl_complete(last);
    while (i < 3 && strncmp(kind, names[i].kind, strlen(names[i].kind)) != 0) {
        i++;
    }
    if (i == 3 || !freopen("/dev/null", "w", stderr)) {
        return;
    }
    tseed_ctl_profile();
    document = tseed_ctl_read(tseed_ctl_get("%s", names[i].address));
    for (size_t k = 0; (one = tseed_ctl_entry(document, names[i].list, k)); k++) {
        name = tseed_ctl_text(one, names[i].member, "");
        if (strncmp(name, last, strlen(last)) == 0) {
            tseed_ctl_say("%s", name);
        }
    }
}

static void begin(int count, const char *const *words)
{
    const char *problem;

    if (count > 0 && strcmp(words[0], COMPLETE) == 0) {
        complete(count - 1, words + 1);
        return;
    }
    problem = tseed_ctl_options_read(count, words);
    if (problem) {
        tseed_ctl_misuse("%s", problem);
    }
    if (tseed_ctl.wants_help) {
        tseed_ctl_help(tseed_ctl.verb);
    } else if (tseed_ctl.wants_version) {
        puts("tileseedctl " TSEED_VERSION);
    } else {
        tseed_ctl_profile();
        tseed_ctl.verb->run();
    }
}

int main(int argc, char **argv)
{
    static const tseed_ctl_verb_t *const verbs[] = {tseed_ctl_task_verbs, tseed_ctl_seed_verbs,
                                                    tseed_ctl_quota_verbs, tseed_ctl_server_verbs,
                                                    NULL};

    tseed_ctl.verbs = verbs;
    if (apr_initialize() != APR_SUCCESS || apr_pool_create(&tseed_ctl.pool, NULL) != APR_SUCCESS) {
        return TSEED_CTL_NO_ANSWER;
    }
    atexit(apr_terminate);
    tseed_document_init();
    begin(argc - 1, (const char *const *)argv + 1);
    tseed_ctl_end(TSEED_CTL_DONE);
}
