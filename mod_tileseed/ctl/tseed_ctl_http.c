/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The server: where it is and who asks, requests to it, and Ctrl-C meanwhile. */
#include "ctl/tseed_ctl_http.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <curl/curl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "ctl/tseed_ctl_print.h"

#define SYSTEM_FILE "/etc/tileseed/ctl.conf"
#define USUAL_URL   "http://localhost/rest"
#define LINE_SIZE   4096 /* of a file */

#define ASK_TIMEOUT     (60 * APR_USEC_PER_SEC)
#define CONNECT_SECONDS 10L

/* No document of the interface is longer. What is read of it takes a multiple of that. */
#define BODY_MAX (32L << 20)

/* ---- settings ---- */

static const char *below_home(const char *name, apr_pool_t *pool)
{
    const char *home = getenv("HOME");

    return home && *home ? apr_pstrcat(pool, home, "/", name, NULL) : NULL;
}

static void set(const char **to, const char *value)
{
    if (!*to && value && *value) {
        *to = value;
    }
}

const char *tseed_ctl_profile_read(tseed_ctl_options_t *options, FILE *file, const char *name,
                                   apr_pool_t *pool)
{
    const struct {
        const char *name, **to;
    } known[] = {{"server", &options->server},
                 {"user", &options->user},
                 {"netrc-file", &options->netrc_file},
                 {"cacert", &options->cacert},
                 {"unix-socket", &options->unix_socket}};
    char buffer[LINE_SIZE];

    while (file && fgets(buffer, sizeof(buffer), file)) {
        char *line = apr_pstrdup(pool, buffer + strspn(buffer, " \t"));
        const char *word = apr_pstrmemdup(pool, line, strcspn(line, " \t\r\n"));
        const char *value = line + strlen(word) + strspn(line + strlen(word), " \t\r\n");
        size_t i = 0;

        for (size_t end = strlen(line); end > 0 && strchr(" \t\r\n", line[end - 1]); end--) {
            line[end - 1] = '\0';
        }
        while (i < 5 && strcmp(known[i].name, word) != 0) {
            i++;
        }
        if (i < 5 && *value) {
            set(known[i].to, value);
        } else if (*line && *line != '#') {
            return apr_psprintf(pool,
                                "%s: '%s' is not known; lines such as 'server URL' and "
                                "'user NAME' are",
                                name, line);
        }
    }
    return NULL;
}

static const char *read_settings(tseed_ctl_options_t *options, const char *path, apr_pool_t *pool)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    const char *problem = tseed_ctl_profile_read(options, file, path, pool);

    if (file) {
        fclose(file);
    }
    return problem;
}

const char *tseed_ctl_server_check(const char *url, apr_pool_t *pool)
{
    const char *host = strstr(url, "://");

    if (!host || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)) {
        return apr_psprintf(
            pool, "'%s' is no address of a REST interface; http://localhost/rest is", url);
    }
    host += 3;
    if (memchr(host, '@', strcspn(host, "/?#"))) {
        return "an address holds no user and no password; use -u USER or ~/.netrc";
    }
    return url[strcspn(url, "?# \t")] ? "an address of a REST interface has no query" : NULL;
}

/* ---- credentials ---- */

static int is_private(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && !(about.st_mode & (S_IRWXG | S_IRWXO));
}

static const char *check_private(const char *path, apr_pool_t *pool)
{
    return is_private(path) ? NULL
                            : apr_psprintf(pool,
                                           "%s can't be read, or others can read it too: "
                                           "chmod 600 %s",
                                           path, path);
}

/* The first line of the file that the environment names, or what the user types. */
static const char *find_password(tseed_ctl_server_t *server, apr_pool_t *pool)
{
    const char *path = getenv("TILESEED_PASSWORD_FILE");
    const char *problem = path && *path ? check_private(path, pool) : NULL;
    char line[LINE_SIZE] = "";
    FILE *file;

    if (!path || !*path) {
        server->password = tseed_ctl_ask_password(
            apr_psprintf(pool, "Password of %s at %s: ", server->user, server->url), pool);
        return server->password ? NULL
                                : "no password came; without a terminal use ~/.netrc or "
                                  "$TILESEED_PASSWORD_FILE";
    }
    file = problem ? NULL : fopen(path, "re");
    if (!file) {
        return problem ? problem : apr_psprintf(pool, "%s can't be read", path);
    }
    fgets(line, sizeof(line), file);
    fclose(file);
    server->password = apr_pstrmemdup(pool, line, strcspn(line, "\r\n"));
    return NULL;
}

static const char *find_credentials(tseed_ctl_server_t *server, const tseed_ctl_options_t *options,
                                    apr_pool_t *pool)
{
    const char *netrc = below_home(".netrc", pool);

    if (options->user && strchr(options->user, ':')) {
        return "-u takes a user and no password: all users of the machine can read it there";
    }
    server->user = options->user && *options->user ? options->user : NULL;
    server->netrc_file = options->netrc_file;
    if (options->netrc_file) {
        return check_private(options->netrc_file, pool);
    }
    if (server->user) {
        return find_password(server, pool);
    }
    if (netrc && is_private(netrc)) {
        server->netrc_file = netrc;
    } else if (netrc && access(netrc, F_OK) == 0) {
        tseed_ctl_complain("%s is not used, because others can read it: chmod 600 %s", netrc,
                           netrc);
    }
    return NULL;
}

const char *tseed_ctl_profile(tseed_ctl_server_t *server, tseed_ctl_options_t *options,
                              apr_pool_t *pool)
{
    const char *problem;
    char *url;

    set(&options->server, getenv("TILESEED_URL"));
    problem = read_settings(options, below_home(".config/tileseed.conf", pool), pool);
    if (!problem) {
        problem = read_settings(options, SYSTEM_FILE, pool);
    }
    if (problem) {
        return problem;
    }
    set(&options->server, USUAL_URL);
    url = apr_pstrdup(pool, options->server);
    for (size_t end = strlen(url); end > 0 && url[end - 1] == '/'; end--) {
        url[end - 1] = '\0';
    }
    *server = (tseed_ctl_server_t){.url = url,
                                   .cacert = options->cacert,
                                   .unix_socket = options->unix_socket,
                                   .timeout = ASK_TIMEOUT};
    problem = tseed_ctl_server_check(url, pool);
    return problem ? problem : find_credentials(server, options, pool);
}

/* ---- Ctrl-C ---- */

static sigset_t interrupt(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    return set;
}

void tseed_ctl_interrupt_hold(void)
{
    const sigset_t set = interrupt();

    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int tseed_ctl_interrupted(apr_interval_time_t time)
{
    const struct timespec rest = {time / APR_USEC_PER_SEC, time % APR_USEC_PER_SEC * 1000};
    const sigset_t set = interrupt();

    return sigtimedwait(&set, NULL, &rest) == SIGINT;
}

/* ---- the connection ---- */

/* Lives in its pool. */
struct tseed_ctl_http_t {
    const tseed_ctl_server_t *server;
    CURL *curl;
};

/* One request under way. */
typedef struct {
    tseed_ctl_answer_t *answer;
    size_t headers; /* bytes of headers and trailers so far */
    apr_pool_t *pool;
} transfer_t;

static apr_status_t close_http(void *data)
{
    curl_easy_cleanup(((tseed_ctl_http_t *)data)->curl);
    curl_global_cleanup();
    return APR_SUCCESS;
}

tseed_ctl_http_t *tseed_ctl_http_create(const tseed_ctl_server_t *server, apr_pool_t *pool)
{
    tseed_ctl_http_t *http = apr_pcalloc(pool, sizeof(*http));

    curl_global_init(CURL_GLOBAL_DEFAULT);
    *http = (tseed_ctl_http_t){server, curl_easy_init()};
    apr_pool_cleanup_register(pool, http, close_http, apr_pool_cleanup_null);
    return http->curl ? http : NULL;
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

/* libcurl asks whether to go on: at each piece of the answer, and about once a second. */
static int look(void *baton, curl_off_t all, curl_off_t length, curl_off_t c, curl_off_t d)
{
    transfer_t *transfer = baton;

    (void)all, (void)c, (void)d;
    transfer->answer->is_interrupted |= tseed_ctl_interrupted(0);
    return transfer->answer->is_interrupted || length > BODY_MAX;
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

/* Sets the method and the body. Returns the headers, which live until the end. */
static struct curl_slist *set_request(CURL *curl, const tseed_ctl_request_t *request,
                                      apr_pool_t *pool)
{
    const char *const lines[][2] = {{"Content-Type: ", request->type},
                                    {"Idempotency-Key: ", request->key},
                                    {"Prefer: ", request->is_lenient ? "handling=lenient" : NULL}};
    struct curl_slist *headers = NULL;

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        if (lines[i][1]) {
            headers = curl_slist_append(headers, apr_pstrcat(pool, lines[i][0], lines[i][1], NULL));
        }
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (request->method) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body ? request->body : "");
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    }
    return headers;
}

/* Sends the request. The body of the answer is written to a stream. */
static void perform(CURL *curl, transfer_t *transfer, FILE *body)
{
    tseed_ctl_answer_t *answer = transfer->answer;
    char error[CURL_ERROR_SIZE] = "";
    long status = 0, sent = 0;
    CURLcode code;

    curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
    if (code == CURLE_OK) {
        answer->status = (int)status;
        return;
    }
    answer->is_lost = sent > 0;
    answer->problem = answer->is_interrupted
                          ? "interrupted"
                          : apr_pstrdup(transfer->pool, *error ? error : curl_easy_strerror(code));
}

static apr_status_t free_body(void *body)
{
    free(body);
    return APR_SUCCESS;
}

tseed_ctl_answer_t *tseed_ctl_http_ask(tseed_ctl_http_t *http, const tseed_ctl_request_t *request,
                                       apr_pool_t *pool)
{
    tseed_ctl_answer_t *answer = apr_pcalloc(pool, sizeof(*answer));
    transfer_t transfer = {.answer = answer, .pool = pool};
    struct curl_slist *headers;
    char *body;
    FILE *memory = open_memstream(&body, &answer->length);

    if (!memory) {
        abort(); /* no memory */
    }
    answer->path = request->path;
    curl_easy_reset(http->curl);
    set_server(http->curl, http->server);
    headers = set_request(http->curl, request, pool);
    curl_easy_setopt(
        http->curl, CURLOPT_URL,
        apr_pstrcat(pool, http->server->url, *request->path ? "/" : "", request->path, NULL));
    perform(http->curl, &transfer, memory);
    curl_slist_free_all(headers);
    fclose(memory);
    answer->body = body;
    apr_pool_cleanup_register(pool, body, free_body, apr_pool_cleanup_null);
    return answer;
}

const char *tseed_ctl_segment(const char *name, apr_pool_t *pool)
{
    char *segment = apr_palloc(pool, 3 * strlen(name) + 1);
    char *to = segment;

    for (; *name; name++) {
        const unsigned char c = (unsigned char)*name;

        if (tseed_ascii_is_alnum(c) || strchr("-._~:,", c)) {
            *to++ = (char)c;
        } else {
            to += sprintf(to, "%%%02X", c);
        }
    }
    *to = '\0';
    return segment;
}
