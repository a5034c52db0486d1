/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests to a REST interface by libcurl. */
#include "ctl/tseed_ctl_http.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <curl/curl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "ctl/tseed_ctl_interrupt.h"

/* No document of the interface is longer. What is read of it takes a multiple of that. */
#define BODY_MAX ((size_t)32 << 20)

#define CONNECT_SECONDS 10L

/* Lives in its pool. */
struct tseed_ctl_http_t {
    const tseed_ctl_server_t *server;
    CURL *curl;
};

/* One request under way. */
typedef struct {
    tseed_ctl_answer_t *answer;
    char *body; /* malloc'd: it grows */
    size_t room;
    size_t headers; /* bytes of headers and trailers so far */
    apr_pool_t *pool;
} transfer_t;

static apr_status_t close_http(void *data)
{
    tseed_ctl_http_t *http = data;

    curl_easy_cleanup(http->curl);
    curl_global_cleanup();
    return APR_SUCCESS;
}

tseed_ctl_http_t *tseed_ctl_http_create(const tseed_ctl_server_t *server, apr_pool_t *pool)
{
    tseed_ctl_http_t *http = apr_pcalloc(pool, sizeof(*http));

    curl_global_init(CURL_GLOBAL_DEFAULT);
    http->server = server;
    http->curl = curl_easy_init();
    apr_pool_cleanup_register(pool, http, close_http, apr_pool_cleanup_null);
    return http->curl ? http : NULL;
}

/* ---- what libcurl calls ---- */

/* Grows the body; an answer that is too long ends the transfer. */
static size_t take_body(char *data, size_t size, size_t count, void *baton)
{
    transfer_t *transfer = baton;
    tseed_ctl_answer_t *answer = transfer->answer;
    const size_t more = size * count;

    if (more > BODY_MAX - answer->length) {
        return 0;
    }
    if (answer->length + more >= transfer->room) {
        transfer->room = 2 * (answer->length + more) + 4096;
        transfer->body = realloc(transfer->body, transfer->room);
        if (!transfer->body) {
            abort();
        }
    }
    memcpy(transfer->body + answer->length, data, more);
    answer->length += more;
    return more;
}

/* The value of a header line of that name, or NULL. */
static const char *value_of(const char *line, size_t length, const char *name, apr_pool_t *pool)
{
    const size_t size = strlen(name);
    const char *begin = line + size + 1, *end = line + length;

    if (length <= size || line[size] != ':' || apr_cstr_casecmpn(line, name, size) != 0) {
        return NULL;
    }
    while (begin < end && tseed_ascii_is_space(*begin)) {
        begin++;
    }
    while (end > begin && tseed_ascii_is_space(end[-1])) {
        end--;
    }
    return apr_pstrmemdup(pool, begin, (apr_size_t)(end - begin));
}

static size_t take_header(char *line, size_t size, size_t count, void *baton)
{
    transfer_t *transfer = baton;
    tseed_ctl_answer_t *answer = transfer->answer;
    const struct {
        const char *name, **to;
    } wanted[] = {{"Content-Type", &answer->type},
                  {"TileSeed-Task", &answer->task},
                  {"TileSeed-Warning", &answer->warning},
                  {"Location", &answer->redirect}};

    transfer->headers += size * count;
    if (transfer->headers > TSEED_HEADERS_MOST) {
        return 0; /* ends the transfer with CURLE_WRITE_ERROR */
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        const char *value = value_of(line, size * count, wanted[i].name, transfer->pool);

        *wanted[i].to = value ? value : *wanted[i].to;
    }
    return size * count;
}

/* libcurl asks about once a second whether to go on. */
static int look_for_interrupt(void *baton, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    transfer_t *transfer = baton;

    (void)a, (void)b, (void)c, (void)d;
    transfer->answer->is_interrupted |= tseed_ctl_interrupted(0);
    return transfer->answer->is_interrupted;
}

/* ---- a request ---- */

static void set_server(CURL *curl, const tseed_ctl_server_t *server)
{
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "tileseedctl/" TSEED_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(server->timeout / 1000));
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_ANY);
    curl_easy_setopt(curl, CURLOPT_CAINFO, server->cacert);
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, server->unix_socket);
    curl_easy_setopt(curl, CURLOPT_USERNAME, server->user);
    curl_easy_setopt(curl, CURLOPT_PASSWORD, server->password);
    if (server->netrc_file) {
        curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
        curl_easy_setopt(curl, CURLOPT_NETRC_FILE, server->netrc_file);
    }
}

static struct curl_slist *add_header(struct curl_slist *headers, const char *name,
                                     const char *value, apr_pool_t *pool)
{
    return value ? curl_slist_append(headers, apr_pstrcat(pool, name, ": ", value, NULL)) : headers;
}

/* The request line, the headers and the body. Returns the headers, which live until the end. */
static struct curl_slist *set_request(CURL *curl, const tseed_ctl_request_t *request,
                                      const char *url, apr_pool_t *pool)
{
    struct curl_slist *headers = NULL;

    curl_easy_setopt(curl, CURLOPT_URL,
                     apr_pstrcat(pool, url, *request->path ? "/" : "", request->path, NULL));
    headers = add_header(headers, "Content-Type", request->type, pool);
    headers = add_header(headers, "Idempotency-Key", request->key, pool);
    headers = add_header(headers, "Prefer", request->is_lenient ? "handling=lenient" : NULL, pool);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (request->method) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body ? request->body : "");
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    }
    return headers;
}

static void set_transfer(CURL *curl, transfer_t *transfer, char *error)
{
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_for_interrupt);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
}

/* Moves the body into the pool. */
static void keep_body(transfer_t *transfer)
{
    transfer->answer->body = apr_pstrmemdup(transfer->pool, transfer->body ? transfer->body : "",
                                            transfer->answer->length);
    free(transfer->body);
}

static void note_end(CURL *curl, tseed_ctl_answer_t *answer, CURLcode code, const char *error,
                     apr_pool_t *pool)
{
    long status = 0, sent = 0;

    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
    if (code == CURLE_OK) {
        answer->status = (int)status;
        return;
    }
    answer->is_lost = sent > 0;
    answer->problem = answer->is_interrupted
                          ? "interrupted"
                          : apr_pstrdup(pool, *error ? error : curl_easy_strerror(code));
}

tseed_ctl_answer_t *tseed_ctl_http_ask(tseed_ctl_http_t *http, const tseed_ctl_request_t *request,
                                       apr_pool_t *pool)
{
    tseed_ctl_answer_t *answer = apr_pcalloc(pool, sizeof(*answer));
    transfer_t transfer = {.answer = answer, .pool = pool};
    char error[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers;
    CURLcode code;

    answer->path = request->path;
    curl_easy_reset(http->curl);
    set_server(http->curl, http->server);
    headers = set_request(http->curl, request, http->server->url, pool);
    set_transfer(http->curl, &transfer, error);
    code = curl_easy_perform(http->curl);
    note_end(http->curl, answer, code, error, pool);
    curl_slist_free_all(headers);
    keep_body(&transfer);
    return answer;
}

tseed_ctl_answer_t *tseed_ctl_http_get(tseed_ctl_http_t *http, apr_pool_t *pool, const char *format,
                                       ...)
{
    tseed_ctl_request_t request = {0};
    va_list arguments;

    va_start(arguments, format);
    request.path = apr_pvsprintf(pool, format, arguments);
    va_end(arguments);
    return tseed_ctl_http_ask(http, &request, pool);
}

const char *tseed_ctl_segment(const char *name, apr_pool_t *pool)
{
    static const char hex[] = "0123456789ABCDEF";
    char *segment = apr_palloc(pool, 3 * strlen(name) + 1);
    char *to = segment;

    for (; *name; name++) {
        const unsigned char c = (unsigned char)*name;

        if (tseed_ascii_is_alnum(c) || strchr("-._~:,", c)) {
            *to++ = (char)c;
        } else {
            *to++ = '%';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        }
    }
    *to = '\0';
    return segment;
}
