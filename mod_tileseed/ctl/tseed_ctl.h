/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What every verb has at hand: the exit codes, answers, and how a refusal is told. Main thread. */
#ifndef TSEED_CTL_H
#define TSEED_CTL_H

#include "ctl/tseed_ctl_http.h"
#include "ctl/tseed_ctl_json.h"

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

/* Lives as long as the process, or as a copy with another pool. */
typedef struct {
    const tseed_ctl_options_t *options;
    tseed_ctl_http_t *http;
    apr_pool_t *pool;
} tseed_ctl_t;

/* A verb: asks the server, prints what it says, and returns the exit code of the process. */
typedef tseed_ctl_exit_t tseed_ctl_run_t(const tseed_ctl_t *ctl);

/* In tseed_ctl_layers.c, _tasks.c, _seed.c, _quota.c and _check.c. One verb each; run_seed is for
 * seed, reseed and truncate, run_drain for undrain too. */
tseed_ctl_run_t tseed_ctl_run_layers, tseed_ctl_run_ask_again, tseed_ctl_run_unlisted,
    tseed_ctl_run_hosts, tseed_ctl_run_drain;
tseed_ctl_run_t tseed_ctl_run_status, tseed_ctl_run_tasks, tseed_ctl_run_show, tseed_ctl_run_wait,
    tseed_ctl_run_kill, tseed_ctl_run_failures;
tseed_ctl_run_t tseed_ctl_run_seed, tseed_ctl_run_estimate, tseed_ctl_run_retry;
tseed_ctl_run_t tseed_ctl_run_quota, tseed_ctl_run_reconcile, tseed_ctl_run_coverage;
tseed_ctl_run_t tseed_ctl_run_check, tseed_ctl_run_metrics;

/* ---- answers ---- */

/* Sends a request and waits for the answer: of a method (NULL: GET), with a body of a type or
 * without one (NULL), to the path that a format makes. Never NULL. In the pool of `ctl`. */
tseed_ctl_answer_t *tseed_ctl_send(const tseed_ctl_t *ctl, const char *method, const char *type,
                                   const char *body, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define tseed_ctl_get(ctl, ...) tseed_ctl_send(ctl, NULL, NULL, NULL, __VA_ARGS__)

/* The exit code that an answer stands for. */
tseed_ctl_exit_t tseed_ctl_judge(const tseed_ctl_answer_t *answer);

/* What is wrong with an answer, in a line. In `pool`. */
const char *tseed_ctl_explain(const tseed_ctl_answer_t *answer, apr_pool_t *pool);

/* The same code; says what is wrong, if anything is. */
tseed_ctl_exit_t tseed_ctl_refused(const tseed_ctl_t *ctl, const tseed_ctl_answer_t *answer);

/* Says what is wrong with a usage. TSEED_CTL_USAGE. */
tseed_ctl_exit_t tseed_ctl_misuse(const char *problem);

/* Asks a question that wants yes, unless the user has said it. If the answer is no, or nobody is
 * there to answer, it says that nothing was `done`, or that `what` needs --yes: TSEED_CTL_USAGE. */
tseed_ctl_exit_t tseed_ctl_confirm(const tseed_ctl_t *ctl, const char *question, const char *what,
                                   const char *done);

/* Says what happens after a request, unless it was refused, which is said, or nobody wants to
 * know. */
tseed_ctl_exit_t tseed_ctl_tell(const tseed_ctl_t *ctl, const tseed_ctl_answer_t *answer,
                                const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Reads the object of an answer into *document. NULL, or a sentence, which may be a refusal's, and
 * *document is NULL. In `pool`. */
const char *tseed_ctl_document(json_object **document, const tseed_ctl_answer_t *answer,
                               apr_pool_t *pool);

/* The same, and says what is wrong; then the code is not TSEED_CTL_DONE. */
tseed_ctl_exit_t tseed_ctl_read(json_object **document, const tseed_ctl_t *ctl,
                                const tseed_ctl_answer_t *answer);

/* The same, but with --json it prints the body instead, and *document is NULL. */
tseed_ctl_exit_t tseed_ctl_take(json_object **document, const tseed_ctl_t *ctl,
                                const tseed_ctl_answer_t *answer);

/* ---- of one verb for another ---- */

/* The seed request that options describe, whose box is in units of the grid set: as a document, and
 * as what stands behind the question mark. tseed_ctl_seed.c. In `pool`. */
const char *tseed_ctl_seed_xml(const tseed_ctl_options_t *options, apr_pool_t *pool);
const char *tseed_ctl_seed_query(const tseed_ctl_options_t *options, apr_pool_t *pool);

/* A box in degrees as a box of a system that is longitude and latitude or web mercator, and the
 * reverse. 0, or -1: the system is another one. tseed_ctl_seed.c. */
int tseed_ctl_project(tseed_bounds_t *box, int64_t srs, const tseed_bounds_t *degrees);
int tseed_ctl_unproject(tseed_bounds_t *degrees, int64_t srs, const tseed_bounds_t *box);

/* How far a task is, in one line: "z14  61.3 %  1.37M/2.24M tiles  412/s  ETA 35 min  failed 2
 * (HTTP 500)"; the level only where the document has `levels`. `cause` is why metatiles failed, or
 * NULL. tseed_ctl_wait.c. In `pool`. */
const char *tseed_ctl_progress(json_object *task, const char *cause, apr_pool_t *pool);

/* "task 7 done: 341 tiles, 329 made, 12 skipped; ...": how it ended. In `pool`.
 * tseed_ctl_wait.c. */
const char *tseed_ctl_result(json_object *task, apr_pool_t *pool);

/* Whether the task waits for the disk quota, or for room on the disk. tseed_ctl_wait.c. */
int tseed_ctl_is_at_quota(json_object *task);

/* Waits for the end of a task, or until nothing is listed for a layer, on a server that gives its
 * tasks no numbers. tseed_ctl_wait.c. */
tseed_ctl_exit_t tseed_ctl_wait_for(const tseed_ctl_t *ctl, const char *task, const char *layer);

#endif
