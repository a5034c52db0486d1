/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Exit codes, and how a refusal is told. */
#include "ctl/tseed_ctl.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ctl/tseed_ctl_terminal.h"
#include "ctl/tseed_ctl_words.h"

static int begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

/* GeoWebCache and this server answer 400 about a layer that does not exist. */
static tseed_ctl_exit_t judge_bad_request(const tseed_ctl_answer_t *answer)
{
    return begins(answer->body, "Unknown layer") ? TSEED_CTL_NOT_FOUND : TSEED_CTL_USAGE;
}

tseed_ctl_exit_t tseed_ctl_judge(const tseed_ctl_answer_t *answer)
{
    switch (answer->status) {
    case 0:
        return answer->is_interrupted ? TSEED_CTL_INTERRUPTED : TSEED_CTL_NO_ANSWER;
    case 400:
    case 413:
    case 415:
        return judge_bad_request(answer);
    case 401:
    case 403:
        return TSEED_CTL_DENIED;
    case 404:
    case 405:
        return TSEED_CTL_NOT_FOUND;
    case 409:
    case 422:
        return TSEED_CTL_CONFLICT;
    case 507:
        return TSEED_CTL_NO_ROOM;
    default:
        return answer->status / 100 == 2 ? TSEED_CTL_DONE : TSEED_CTL_NO_ANSWER;
    }
}

/* What httpd's own pages say in HTML. */
static const char *name_of(int status)
{
    switch (status) {
    case 401:
        return "the server wants a user: -u USER, or ~/.netrc";
    case 403:
        return "this user may not do that";
    case 404:
        return "the server has nothing at this address";
    case 405:
        return "the server does not do that at this address";
    default:
        return "the server failed";
    }
}

const char *tseed_ctl_explain(const tseed_ctl_answer_t *answer, apr_pool_t *pool)
{
    const char *words = name_of(answer->status);

    if (answer->status == 0) {
        return tseed_ctl_clean(answer->problem, pool);
    }
    if (answer->status / 100 == 3) {
        return apr_psprintf(pool, "HTTP %d: redirected to %s; name that server with -s",
                            answer->status,
                            tseed_ctl_clean(answer->redirect ? answer->redirect : "?", pool));
    }
    if (begins(answer->type, "text/plain") && answer->length > 0) {
        words = apr_pstrmemdup(pool, answer->body, strcspn(answer->body, "\r\n"));
    }
    return apr_psprintf(pool, "HTTP %d: %s", answer->status, tseed_ctl_clean(words, pool));
}

void tseed_ctl_complain(const char *format, ...)
{
    va_list arguments;

    fflush(stdout);
    fputs("tileseedctl: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

tseed_ctl_exit_t tseed_ctl_misuse(const char *problem)
{
    tseed_ctl_complain("%s", problem);
    return TSEED_CTL_USAGE;
}

tseed_ctl_exit_t tseed_ctl_refuse(const tseed_ctl_t *ctl, const tseed_ctl_answer_t *answer)
{
    tseed_ctl_complain("%.*s: %s", (int)strcspn(answer->path, "?"), answer->path,
                       tseed_ctl_explain(answer, ctl->pool));
    return tseed_ctl_judge(answer);
}

tseed_ctl_exit_t tseed_ctl_pass(const tseed_ctl_t *ctl, const tseed_ctl_answer_t *answer)
{
    tseed_ctl_write(answer->body, answer->length, ctl->pool);
    return TSEED_CTL_DONE;
}

tseed_ctl_exit_t tseed_ctl_take(const tseed_node_t **document, const tseed_ctl_t *ctl,
                                const tseed_ctl_answer_t *answer)
{
    const char *problem;

    *document = NULL;
    if (tseed_ctl_judge(answer) != TSEED_CTL_DONE) {
        return tseed_ctl_refuse(ctl, answer);
    }
    if (ctl->options->is_json) {
        return tseed_ctl_pass(ctl, answer);
    }
    problem = tseed_ctl_document_read(document, answer->body, answer->length, ctl->pool);
    if (problem) {
        tseed_ctl_complain("%s: this is no REST interface of tiles: %s", answer->path,
                           tseed_ctl_clean(problem, ctl->pool));
        *document = NULL;
        return TSEED_CTL_NO_ANSWER;
    }
    return TSEED_CTL_DONE;
}
