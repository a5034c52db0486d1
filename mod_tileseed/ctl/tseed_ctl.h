/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What every verb has at hand, the exit codes, and how a refusal is told. Main thread. */
#ifndef TSEED_CTL_H
#define TSEED_CTL_H

#include "ctl/tseed_ctl_http.h"
#include "ctl/tseed_ctl_members.h"
#include "ctl/tseed_ctl_options.h"

typedef enum {
    TSEED_CTL_DONE = 0,
    TSEED_CTL_FAILURES = 1, /* done, but tiles failed */
    TSEED_CTL_USAGE = 2,
    TSEED_CTL_ABORTED = 3,
    TSEED_CTL_NO_ANSWER = 4,
    TSEED_CTL_DENIED = 5,
    TSEED_CTL_NOT_FOUND = 6,
    TSEED_CTL_CONFLICT = 7,
    TSEED_CTL_NO_ROOM = 8,
    TSEED_CTL_TIMEOUT = 124, /* as of timeout(1) */
    TSEED_CTL_INTERRUPTED = 130
} tseed_ctl_exit_t;

/* Lives as long as the process. */
typedef struct {
    const tseed_ctl_options_t *options;
    tseed_ctl_http_t *http;
    apr_pool_t *pool;
} tseed_ctl_t;

/* The exit code that an answer stands for. */
tseed_ctl_exit_t tseed_ctl_judge(const tseed_ctl_answer_t *answer);

/* What is wrong with an answer, in one line for people. In `pool`. */
const char *tseed_ctl_explain(const tseed_ctl_answer_t *answer, apr_pool_t *pool);

/* Says a line on standard error, behind the program's name. */
void tseed_ctl_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same of a usage that is wrong. TSEED_CTL_USAGE. */
tseed_ctl_exit_t tseed_ctl_misuse(const char *problem);

/* Says what is wrong with an answer. The code of tseed_ctl_judge. */
tseed_ctl_exit_t tseed_ctl_refuse(const tseed_ctl_t *ctl, const tseed_ctl_answer_t *answer);

/* Prints the body as it came. */
tseed_ctl_exit_t tseed_ctl_pass(const tseed_ctl_t *ctl, const tseed_ctl_answer_t *answer);

/* Reads the document of an answer into *document, in the pool of the process. With --json it prints
 * the body instead, and *document is NULL. If the answer is a refusal or can't be read, the
 * function says so on standard error and returns another code than TSEED_CTL_DONE. */
tseed_ctl_exit_t tseed_ctl_take(const tseed_node_t **document, const tseed_ctl_t *ctl,
                                const tseed_ctl_answer_t *answer);

#endif
