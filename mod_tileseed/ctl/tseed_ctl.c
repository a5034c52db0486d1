/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests, and what answers stand for. */
#include "ctl/tseed_ctl.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <string.h>

#include "ctl/tseed_ctl_print.h"

/* ---- requests ---- */

tseed_ctl_answer_t *tseed_ctl_send(const tseed_ctl_t *ctl, const char *method, const char *type,
                                   const char *body, const char *format, ...)
{
    tseed_ctl_request_t request = {.method = method, .type = type, .body = body};
    va_list arguments;

    va_start(arguments, format);
    request.path = apr_pvsprintf(ctl->pool, format, arguments);
    va_end(arguments);
    return tseed_ctl_http_ask(ctl->http, &request, ctl->pool);
}

tseed_ctl_exit_t tseed_ctl_tell(const tseed_ctl_t *ctl, const tseed_ctl_answer_t *answer,
                                const char *format, ...)
{
    const tseed_ctl_exit_t code = tseed_ctl_refused(ctl, answer);
    va_list arguments;

    va_start(arguments, format);
    if (code == TSEED_CTL_DONE && !ctl->options->is_quiet && !ctl->options->is_json) {
        tseed_ctl_say("%s", apr_pvsprintf(ctl->pool, format, arguments));
    }
    va_end(arguments);
    return code;
}

/* ---- refusals ---- */

static int begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

/* 400 is also about a layer that does not exist, as GeoWebCache answers. */
tseed_ctl_exit_t tseed_ctl_judge(const tseed_ctl_answer_t *answer)
{
    static const struct {
        int status;
        tseed_ctl_exit_t code;
    } codes[] = {{400, TSEED_CTL_USAGE},     {401, TSEED_CTL_DENIED},    {403, TSEED_CTL_DENIED},
                 {404, TSEED_CTL_NOT_FOUND}, {405, TSEED_CTL_NOT_FOUND}, {409, TSEED_CTL_CONFLICT},
                 {413, TSEED_CTL_USAGE},     {415, TSEED_CTL_USAGE},     {422, TSEED_CTL_CONFLICT},
                 {507, TSEED_CTL_NO_ROOM}};

    if (answer->is_interrupted) {
        return TSEED_CTL_INTERRUPTED;
    }
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        if (answer->status == codes[i].status) {
            return codes[i].code == TSEED_CTL_USAGE && begins(answer->body, "Unknown layer")
                       ? TSEED_CTL_NOT_FOUND
                       : codes[i].code;
        }
    }
    return answer->status / 100 == 2 ? TSEED_CTL_DONE : TSEED_CTL_NO_ANSWER;
}

/* What httpd's own pages say in HTML. */
static const char *name_of(int status)
{
    return status == 401   ? "the server wants a user: -u USER, or ~/.netrc"
           : status == 403 ? "this user may not do that, or the server wants https"
           : status == 404 ? "the server has nothing at this address"
           : status == 405 ? "the server does not do that at this address"
                           : "the server failed";
}

const char *tseed_ctl_explain(const tseed_ctl_answer_t *answer, apr_pool_t *pool)
{
    if (answer->status == 0) {
        return answer->problem;
    }
    if (answer->status / 100 == 3) {
        return apr_psprintf(pool, "HTTP %d: redirected to %s; name that server with -s",
                            answer->status, answer->redirect ? answer->redirect : "?");
    }
    if (begins(answer->type, "text/plain") && answer->length > 0) {
        return apr_psprintf(pool, "HTTP %d: %.*s", answer->status,
                            (int)strcspn(answer->body, "\r\n"), answer->body);
    }
    return apr_psprintf(pool, "HTTP %d: %s", answer->status, name_of(answer->status));
}

tseed_ctl_exit_t tseed_ctl_misuse(const char *problem)
{
    tseed_ctl_complain("%s", problem);
    return TSEED_CTL_USAGE;
}

tseed_ctl_exit_t tseed_ctl_confirm(const tseed_ctl_t *ctl, const char *question, const char *what,
                                   const char *done)
{
    const int answer = ctl->options->is_confirmed ? 1 : tseed_ctl_question(question);

    if (answer < 0) {
        tseed_ctl_complain("%s needs --yes where there is no terminal to ask at", what);
    } else if (!answer) {
        tseed_ctl_complain("nothing was %s", done);
    }
    return answer == 1 ? TSEED_CTL_DONE : TSEED_CTL_USAGE;
}

tseed_ctl_exit_t tseed_ctl_refused(const tseed_ctl_t *ctl, const tseed_ctl_answer_t *answer)
{
    const tseed_ctl_exit_t code = tseed_ctl_judge(answer);

    if (code != TSEED_CTL_DONE) {
        tseed_ctl_complain("%.*s: %s", (int)strcspn(answer->path, "?"), answer->path,
                           tseed_ctl_explain(answer, ctl->pool));
    }
    return code;
}

/* ---- documents ---- */

const char *tseed_ctl_document(json_object **document, const tseed_ctl_answer_t *answer,
                               apr_pool_t *pool)
{
    *document = NULL;
    return tseed_ctl_judge(answer) == TSEED_CTL_DONE
               ? tseed_ctl_json_read(document, answer->body, answer->length, pool)
               : tseed_ctl_explain(answer, pool);
}

tseed_ctl_exit_t tseed_ctl_read(json_object **document, const tseed_ctl_t *ctl,
                                const tseed_ctl_answer_t *answer)
{
    const char *problem = tseed_ctl_document(document, answer, ctl->pool);
    const tseed_ctl_exit_t code = tseed_ctl_refused(ctl, answer);

    if (code == TSEED_CTL_DONE && problem) {
        tseed_ctl_complain("%s: this is no REST interface of tiles: %s", answer->path, problem);
        return TSEED_CTL_NO_ANSWER;
    }
    return code;
}

tseed_ctl_exit_t tseed_ctl_take(json_object **document, const tseed_ctl_t *ctl,
                                const tseed_ctl_answer_t *answer)
{
    if (!ctl->options->is_json) {
        return tseed_ctl_read(document, ctl, answer);
    }
    *document = NULL;
    if (tseed_ctl_judge(answer) == TSEED_CTL_DONE) {
        tseed_ctl_pass(answer->body, answer->length);
    }
    return tseed_ctl_refused(ctl, answer);
}
