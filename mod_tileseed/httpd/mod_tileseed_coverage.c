/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Handler of the coverage of a level. The seeder adds it up out of its memory; the database is not
 * read, and no lock is taken. */
#include <apr_strings.h>
#include <unistd.h>

#include "mod_tileseed_handlers.h"
#include "mod_tileseed_reply.h"
#include "mod_tileseed_wait.h"
#include "protocol/tseed_coverage.h"
#include "quota/tseed_heat.h"
#include "seeder/tseed_coverage_file.h"

/* A location that sees some layers is not told which numbers others have. */
static int no_tileset(const tseed_rest_t *rest)
{
    return tseed_reply_error(rest->r, HTTP_NOT_FOUND,
                             "there is no configured tile set %" APR_INT64_T_FMT,
                             rest->route.number);
}

static int not_now(request_rec *r, int seconds, const char *why)
{
    return tseed_reply_busy(r, seconds, "the coverage can't be told now: %s; ask again", why);
}

static void ask(tseed_reply_t *reply, int *descriptor, const tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    apr_table_t *parameters = apr_table_make(r->pool, 1);
    const tseed_question_t question = {.layer = "",
                                       .gridset = "",
                                       .format = "",
                                       .client = "",
                                       .parameters = parameters,
                                       .tile = {.z = rest->route.level},
                                       .tileset = rest->route.number};
    tseed_wait_t wait;
    const tseed_cancel_t cancel = tseed_wait_begin(&wait, r);

    wait.is_short = 1; /* it answers within milliseconds, or is stuck */
    apr_table_setn(parameters, "query", r->args ? r->args : "");
    tseed_miss_ask(reply, descriptor, tseed_supervise_miss_socket(), &question, &cancel);
}

/* A client that has the document of the same cells keeps it: its ages count to its own time. */
static int send_coverage(const tseed_rest_t *rest, const tseed_coverage_t *coverage)
{
    request_rec *r = rest->r;
    const int status = tseed_reply_etag(r, tseed_coverage_tag(coverage, r->pool));

    return status != OK
               ? status
               : tseed_reply_document(r, TSEED_BODY_JSON,
                                      tseed_coverage_document(coverage, tseed_heat_uses, r->pool));
}

static int answer(const tseed_rest_t *rest, int descriptor)
{
    tseed_coverage_t coverage;
    int first, last;
    apr_status_t rv = tseed_coverage_file_read(&coverage, &first, &last, descriptor, rest->r->pool);

    if (rv != APR_SUCCESS) { /* for a moment, after a restart with another build */
        return not_now(rest->r, 1, "the seeder is of another build");
    }
    if (!tseed_rest_sees(rest, coverage.layer)) {
        return no_tileset(rest);
    }
    if (rest->route.level < first || rest->route.level > last) {
        return tseed_reply_error(rest->r, HTTP_NOT_FOUND,
                                 "tile set %" APR_INT64_T_FMT " has the levels %d to %d",
                                 rest->route.number, first, last);
    }
    return send_coverage(rest, &coverage);
}

int tseed_handle_coverage(tseed_rest_t *rest)
{
    request_rec *r = rest->r;
    tseed_coverage_query_t query;
    tseed_reply_t reply;
    int descriptor, status;
    const char *error = tseed_coverage_query_read(&query, r->args, r->pool);

    if (error) {
        return tseed_reply_error(r, HTTP_BAD_REQUEST, "%s", error);
    }
    ask(&reply, &descriptor, rest);
    if (reply.outcome == TSEED_MISS_REFUSED) {
        return no_tileset(rest);
    }
    if (reply.outcome != TSEED_MISS_PASSED || descriptor < 0) {
        return not_now(r, reply.retry_after > 0 ? reply.retry_after : 1, reply.cause);
    }
    status = answer(rest, descriptor);
    close(descriptor);
    return status;
}
