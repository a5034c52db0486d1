/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The server: where it is and who asks, requests to it by libcurl, one after the other, Ctrl-C
 * meanwhile, and what answers stand for. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <curl/curl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"
#include "protocol/tseed_document.h"

#define SYSTEM_FILE "/etc/tileseed/ctl.conf"
#define USUAL_URL   "http://localhost/rest"
#define LINE_SIZE   4096 /* of a file */

/* Nobody waits longer for an answer, and for a completion. */
#define ASK_TIMEOUT      60000L /* ms */
#define COMPLETE_TIMEOUT 1000L
#define CONNECT_SECONDS  10L

/* No document of the interface is longer. What is read of it takes a multiple of that. */
#define BODY_MAX (32L << 20)

static CURL *curl;
static const char *password;

/* ---- settings ---- */

static const char *below_home(const char *name)
{
    const char *home = getenv("HOME");

    return home && *home ? tseed_ctl_format("%s/%s", home, name) : NULL;
}

static void read_settings(const char *path)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    const char *problem = tseed_ctl_profile_read(file, path);

    if (file) {
        fclose(file);
    }
    if (problem) {
        tseed_ctl_misuse("%s", problem);
    }
}

/* ---- credentials ---- */

static int is_private(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && !(about.st_mode & (S_IRWXG | S_IRWXO));
}

static void check_private(const char *path)
{
    if (!is_private(path)) {
        tseed_ctl_misuse("%s can't be read, or others can read it too: chmod 600 %s", path, path);
    }
}

/* The first line of the file that the environment names, or what the user types. */
static const char *find_password(void)
{
    const char *path = getenv("TILESEED_PASSWORD_FILE"), *typed;
    char line[LINE_SIZE] = "";
    FILE *file;

    if (!path || !*path) {
        typed = tseed_ctl_ask_password(
            tseed_ctl_format("Password of %s at %s: ", tseed_ctl.user, tseed_ctl.server));
        if (!typed) {
            tseed_ctl_misuse("no password came; without a terminal use ~/.netrc or "
                             "$TILESEED_PASSWORD_FILE");
        }
        return typed;
    }
    check_private(path);
    file = fopen(path, "re");
    if (!file) {
        tseed_ctl_misuse("%s can't be read", path);
    }
    fgets(line, sizeof(line), file);
    fclose(file);
    return tseed_ctl_format("%.*s", (int)strcspn(line, "\r\n"), line);
}

static void find_credentials(void)
{
    const char *netrc = below_home(".netrc");

    if (tseed_ctl.user && strchr(tseed_ctl.user, ':')) {
        tseed_ctl_misuse("-u takes a user and no password: all users of the machine "
                         "can read it there");
    }
    tseed_ctl.user = tseed_ctl.user && *tseed_ctl.user ? tseed_ctl.user : NULL;
    if (tseed_ctl.netrc_file) {
        check_private(tseed_ctl.netrc_file);
    } else if (tseed_ctl.user) {
        password = find_password();
    } else if (netrc && is_private(netrc)) {
        tseed_ctl.netrc_file = netrc;
    } else if (netrc && access(netrc, F_OK) == 0) {
        tseed_ctl_complain("%s is not used, because others can read it: chmod 600 %s", netrc,
                           netrc);
    }
}

static apr_status_t close_curl(void *data)
{
    curl_easy_cleanup(data);
    curl_global_cleanup();
    return APR_SUCCESS;
}

void tseed_ctl_profile(void)
{
    const char *problem, *url = getenv("TILESEED_URL");
    size_t length;

    if (!tseed_ctl.server) {
        tseed_ctl.server = url && *url ? url : NULL;
    }
    read_settings(below_home(".config/tileseed.conf"));
    read_settings(SYSTEM_FILE);
    tseed_ctl.server = tseed_ctl.server ? tseed_ctl.server : USUAL_URL;
    for (length = strlen(tseed_ctl.server); length && tseed_ctl.server[length - 1] == '/';) {
        length--;
    }
    tseed_ctl.server = tseed_ctl_format("%.*s", (int)length, tseed_ctl.server);
    problem = tseed_ctl_server_check(tseed_ctl.server);
    if (problem) {
        tseed_ctl_misuse("%s", problem);
    }
    find_credentials();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    curl = curl_easy_init();
    if (!curl) {
        tseed_ctl_fail(TSEED_CTL_NO_ANSWER, "libcurl can't be used");
    }
    apr_pool_cleanup_register(tseed_ctl.pool, curl, close_curl, apr_pool_cleanup_null);
}

/* ---- Ctrl-C ---- */

static sigset_t held; /* nothing, or SIGINT */

void tseed_ctl_interrupt_hold(void)
{
    sigaddset(&held, SIGINT);
    pthread_sigmask(SIG_BLOCK, &held, NULL);
}

int tseed_ctl_interrupted(apr_interval_time_t time)
{
    const struct timespec rest = {time / APR_USEC_PER_SEC, time % APR_USEC_PER_SEC * 1000};

    return sigtimedwait(&held, NULL, &rest) == SIGINT;
}

/* ---- what an answer stands for ---- */

static int begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

/* What statuses stand for, and what is said in the place of httpd's own pages, which are HTML. */
static const struct {
    int status;
    tseed_ctl_exit_t code;
    const char *words;
} meanings[] = {{400, TSEED_CTL_USAGE, NULL},
                {401, TSEED_CTL_DENIED, "the server wants a user: -u USER, or ~/.netrc"},
                {403, TSEED_CTL_DENIED, "this user may not do that, or the server wants https"},
                {404, TSEED_CTL_NOT_FOUND, "the server has nothing at this address"},
                {405, TSEED_CTL_NOT_FOUND, "the server does not do that at this address"},
                {409, TSEED_CTL_CONFLICT, NULL},
                {413, TSEED_CTL_USAGE, NULL},
                {415, TSEED_CTL_USAGE, NULL},
                {422, TSEED_CTL_CONFLICT, NULL},
                {507, TSEED_CTL_NO_ROOM, NULL}};

/* 400 is also about a layer that does not exist, as GeoWebCache answers. */
static void judge(tseed_ctl_answer_t *answer)
{
    const char *words = NULL;

    answer->code = answer->status / 100 == 2 ? TSEED_CTL_DONE : TSEED_CTL_NO_ANSWER;
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++) {
        if (answer->status == meanings[i].status) {
            answer->code = meanings[i].code;
            words = meanings[i].words;
        }
    }
    if (answer->code == TSEED_CTL_USAGE && begins(answer->body, "Unknown layer")) {
        answer->code = TSEED_CTL_NOT_FOUND;
    }
    if (answer->status / 100 == 3) {
        words = tseed_ctl_format("redirected to %s; name that server with -s",
                                 answer->redirect ? answer->redirect : "?");
    } else if (begins(answer->type, "text/plain") && answer->length > 0) {
        words = tseed_ctl_format("%.*s", (int)strcspn(answer->body, "\r\n"), answer->body);
    }
    answer->problem =
        tseed_ctl_format("HTTP %d: %s", answer->status, words ? words : "the server failed");
}

/* ---- a request ---- */

static size_t header_bytes; /* of the headers and trailers of the request under way */

static size_t take_header(char *line, size_t size, size_t count, void *baton)
{
    tseed_ctl_answer_t *answer = baton;
    const struct {
        const char *name, **to;
    } wanted[] = {{"Content-Type:", &answer->type},
                  {"TileSeed-Task:", &answer->task},
                  {"TileSeed-Warning:", &answer->warning},
                  {"Location:", &answer->redirect}};

    header_bytes += size * count;
    if (header_bytes > TSEED_HEADERS_MOST) {
        return 0; /* ends the transfer with CURLE_WRITE_ERROR */
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        const size_t length = strlen(wanted[i].name);

        if (size * count > length && apr_cstr_casecmpn(line, wanted[i].name, length) == 0) {
            *wanted[i].to = tseed_text_trim(line + length, size * count - length, tseed_ctl.pool);
        }
    }
    return size * count;
}

/* libcurl asks whether to go on: at each piece of the answer, and about once a second. */
static int look(void *baton, curl_off_t all, curl_off_t length, curl_off_t c, curl_off_t d)
{
    tseed_ctl_answer_t *answer = baton;

    (void)all, (void)c, (void)d;
    if (tseed_ctl_interrupted(0)) {
        answer->code = TSEED_CTL_INTERRUPTED;
    }
    return answer->code == TSEED_CTL_INTERRUPTED || length > BODY_MAX;
}

static void set_server(void)
{
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "tileseedctl/" TSEED_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                     tseed_ctl.is_completing ? COMPLETE_TIMEOUT : ASK_TIMEOUT);
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_ANY);
    curl_easy_setopt(curl, CURLOPT_CAINFO, tseed_ctl.cacert);
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, tseed_ctl.unix_socket);
    curl_easy_setopt(curl, CURLOPT_USERNAME, tseed_ctl.user);
    curl_easy_setopt(curl, CURLOPT_PASSWORD, password);
    if (tseed_ctl.netrc_file) {
        curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
        curl_easy_setopt(curl, CURLOPT_NETRC_FILE, tseed_ctl.netrc_file);
    }
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

/* Sets the method and the body. Returns the headers, which live until the end. */
static struct curl_slist *set_request(const tseed_ctl_request_t *request)
{
    const char *const lines[][2] = {
        {"Content-Type", request->type},
        {"Idempotency-Key", request->key},
        {"Prefer", request->key && tseed_ctl.is_lenient ? "handling=lenient" : NULL}};
    struct curl_slist *headers = NULL;

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        if (lines[i][1]) {
            headers =
                curl_slist_append(headers, tseed_ctl_format("%s: %s", lines[i][0], lines[i][1]));
        }
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(
        curl, CURLOPT_URL,
        tseed_ctl_format("%s%s%s", tseed_ctl.server, *request->path ? "/" : "", request->path));
    if (request->method) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body ? request->body : "");
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    }
    return headers;
}

/* Sends the request. The body of the answer is written to a stream. */
static void perform(tseed_ctl_answer_t *answer, FILE *body)
{
    char error[CURL_ERROR_SIZE] = "";
    long status = 0, sent = 0;
    CURLcode code;

    curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, answer);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, answer);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    header_bytes = 0;
    code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
    if (code == CURLE_OK) {
        answer->code = TSEED_CTL_DONE;
        answer->status = (int)status;
        return;
    }
    answer->is_lost = sent > 0;
    answer->problem = answer->code == TSEED_CTL_INTERRUPTED
                          ? "interrupted"
                          : tseed_ctl_format("%s", *error ? error : curl_easy_strerror(code));
}

static apr_status_t free_body(void *body)
{
    free(body);
    return APR_SUCCESS;
}

tseed_ctl_answer_t *tseed_ctl_ask(const tseed_ctl_request_t *request)
{
    tseed_ctl_answer_t *answer = apr_palloc(tseed_ctl.pool, sizeof(*answer));
    struct curl_slist *headers;
    char *body;
    FILE *memory = open_memstream(&body, &answer->length);

    if (!memory) {
        abort(); /* no memory */
    }
    *answer = (tseed_ctl_answer_t){.path = request->path, .code = TSEED_CTL_NO_ANSWER};
    set_server();
    headers = set_request(request);
    perform(answer, memory);
    curl_slist_free_all(headers);
    fclose(memory);
    answer->body = body;
    apr_pool_cleanup_register(tseed_ctl.pool, body, free_body, apr_pool_cleanup_null);
    if (answer->status) {
        judge(answer);
    }
    return answer;
}

tseed_ctl_answer_t *tseed_ctl_send(const char *method, const char *type, const char *body,
                                   const char *format, ...)
{
    tseed_ctl_request_t request = {.method = method, .type = type, .body = body};
    va_list arguments;

    va_start(arguments, format);
    request.path = apr_pvsprintf(tseed_ctl.pool, format, arguments);
    va_end(arguments);
    return tseed_ctl_ask(&request);
}

/* ---- answers that a verb can't go on without ---- */

tseed_ctl_exit_t tseed_ctl_refused(const tseed_ctl_answer_t *answer)
{
    if (answer->code != TSEED_CTL_DONE) {
        tseed_ctl_complain("%.*s: %s", (int)strcspn(answer->path, "?"), answer->path,
                           answer->problem);
    }
    return answer->code;
}

void tseed_ctl_expect(const tseed_ctl_answer_t *answer)
{
    if (tseed_ctl_refused(answer) != TSEED_CTL_DONE) {
        tseed_ctl_end(answer->code);
    }
}

void tseed_ctl_tell(const tseed_ctl_answer_t *answer, const char *format, ...)
{
    va_list arguments;

    tseed_ctl_expect(answer);
    va_start(arguments, format);
    if (!tseed_ctl.is_quiet && !tseed_ctl.is_json) {
        tseed_ctl_say("%s", apr_pvsprintf(tseed_ctl.pool, format, arguments));
    }
    va_end(arguments);
}

json_object *tseed_ctl_document(tseed_ctl_answer_t *answer)
{
    return answer->code == TSEED_CTL_DONE
               ? tseed_ctl_json_read(answer->body, answer->length, &answer->problem)
               : NULL;
}

json_object *tseed_ctl_read(tseed_ctl_answer_t *answer)
{
    json_object *document = tseed_ctl_document(answer);

    tseed_ctl_expect(answer);
    if (!document) {
        tseed_ctl_fail(TSEED_CTL_NO_ANSWER, "%s: this is no REST interface of tiles: %s",
                       answer->path, answer->problem);
    }
    return document;
}

json_object *tseed_ctl_take(tseed_ctl_answer_t *answer)
{
    if (tseed_ctl.is_json) {
        tseed_ctl_expect(answer);
        tseed_ctl_pass(answer->body, answer->length);
        tseed_ctl_end(TSEED_CTL_DONE);
    }
    return tseed_ctl_read(answer);
}

const tseed_node_t *tseed_ctl_read_xml(const tseed_ctl_answer_t *answer, const char *const *roots,
                                       const char *no)
{
    tseed_node_t *root;

    tseed_ctl_expect(answer);
    if (tseed_document_read(&root, TSEED_BODY_XML, answer->body, answer->length, tseed_ctl.pool) ||
        tseed_document_check_root(root, TSEED_BODY_XML, roots, tseed_ctl.pool)) {
        tseed_ctl_fail(TSEED_CTL_NO_ANSWER, "%s: this is no %s", answer->path, no);
    }
    return root;
}
