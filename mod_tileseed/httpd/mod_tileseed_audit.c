/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The audit of the REST interface. */
#include "mod_tileseed_audit.h"

#include <apr_strings.h>
#include <http_config.h>
#include <http_log.h>
#include <string.h>

#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_config.h"

APLOG_USE_MODULE(tileseed);

#define NAME_MOST   200 /* of what the client sent, in a line */
#define DETAIL_MOST 6000
#define RESULT_NOTE "tileseed-result"
#define DETAIL_NOTE "tileseed-detail"

void tseed_audit_note(request_rec *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    apr_table_setn(r->notes, DETAIL_NOTE, apr_pvsprintf(r->pool, format, args));
    va_end(args);
}

void tseed_audit_task(request_rec *r, int64_t task)
{
    apr_table_setn(r->notes, "tileseed-task", apr_psprintf(r->pool, "%" APR_INT64_T_FMT, task));
}

/* httpd has made a GET of a request that got an ErrorDocument, and kept the method. */
static const char *method_of(const request_rec *r)
{
    const char *kept = r->next ? apr_table_get(r->subprocess_env, "REQUEST_METHOD") : NULL;

    return kept ? kept : r->method;
}

static int is_write(const request_rec *r)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "PATCH", NULL};
    const char *method = method_of(r);
    int i = 0;

    while (methods[i] && strcmp(method, methods[i]) != 0) {
        i++;
    }
    return methods[i] != NULL;
}

/* For a place between single quotes: httpd escapes what else could be mistaken for other text. */
static const char *quote(const request_rec *r, const char *text, apr_size_t most)
{
    char *quoted = apr_pstrdup(r->pool, tseed_text_quote(text, most, r->pool));

    for (char *at = strchr(quoted, '\''); at; at = strchr(at, '\'')) {
        *at = '"';
    }
    return quoted;
}

static void write_line(request_rec *r, int status)
{
    const char *detail = apr_table_get(r->notes, DETAIL_NOTE);
    const char *who =
        r->user ? apr_psprintf(r->pool, "'%s'", quote(r, r->user, NAME_MOST)) : "anybody";
    const char *what = apr_psprintf(r->pool, "%s '%s' by %s from %s", method_of(r),
                                    quote(r, r->unparsed_uri, NAME_MOST), who, r->useragent_ip);

    detail = detail ? tseed_text_quote(detail, DETAIL_MOST, r->pool) : "";
    if (status < HTTP_BAD_REQUEST) {
        detail = *detail ? detail : apr_psprintf(r->pool, "httpd has answered %d", status);
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "TS0054: %s: %s", what, detail);
    } else {
        const int is_asked =
            status == HTTP_UNAUTHORIZED && !apr_table_get(r->headers_in, "Authorization");

        ap_log_rerror(APLOG_MARK, is_asked ? APLOG_INFO : APLOG_NOTICE, 0, r,
                      "TS0055: %s: %s: %d %s", is_asked ? "asked for credentials" : "refused", what,
                      status, detail);
    }
}

void tseed_audit_handled(request_rec *r, const char *layer, int status, int is_change)
{
    const int final = status == OK ? r->status : status;

    if (status < OK) {
        return; /* a filter has answered already, and the end of the request knows what */
    }
    apr_table_setn(r->notes, RESULT_NOTE, final < HTTP_BAD_REQUEST ? "done" : "refused");
    if (layer) {
        apr_table_setn(r->notes, "tileseed-layer", layer);
    }
    if (is_change && is_write(r)) {
        write_line(r, final);
    }
}

int tseed_audit_log(request_rec *r)
{
    const tseed_dir_conf_t *dir = ap_get_module_config(r->per_dir_config, &tileseed_module);

    if (dir->rest == TSEED_ON && !apr_table_get(r->notes, RESULT_NOTE) && is_write(r)) {
        write_line(r, r->status);
    }
    return DECLINED;
}
