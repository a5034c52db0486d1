/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* TileSeedUpstream, TileSeedSource, and the upstreams of sources that have only an URL. */
#include "mod_tileseed_config_upstream.h"

#include <string.h>

#include <apr_cstr.h>
#include <apr_file_io.h>
#include <apr_strings.h>
#include <apr_uri.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_draft.h"
#include "mod_tileseed_dump.h"
#include "source/tseed_source.h"

/* ---- TileSeedSource ---- */

/* One parameter of the requests, whatever its name. */
static const char *add_parameter(apr_table_t *parameters, const char *word, apr_pool_t *pool)
{
    const char *name, *value;
    char *key;

    if (!tseed_option_cut(&name, &value, word, pool)) {
        return apr_psprintf(pool, "'%s' is not understood, NAME=VALUE is expected", word);
    }
    key = apr_pstrdup(pool, name);
    ap_str_toupper(key);
    if (apr_table_get(parameters, key)) {
        return apr_psprintf(pool, "%s= is there twice, once is expected", name);
    }
    apr_table_setn(parameters, key, value);
    return NULL;
}

static const char *const words_source[] = {
    [TSEED_SOURCE_WMS] = "wms",
    [TSEED_SOURCE_XYZ] = "xyz",
    [TSEED_SOURCE_WMTS] = "wmts",
    NULL,
};

static const char *const words_source_mode[] = {
    [TSEED_SOURCE_FALLBACK] = "fallback",
    [TSEED_SOURCE_SHARE] = "share",
    NULL,
};

static int is_address(const char *word)
{
    return apr_cstr_casecmpn(word, "http://", 7) == 0 ||
           apr_cstr_casecmpn(word, "https://", 8) == 0 ||
           strncmp(word, UPSTREAM_PREFIX, strlen(UPSTREAM_PREFIX)) == 0;
}

/* The first word behind the kind is an address whatever it looks like, and so are those that look
 * so behind it. Moves `*at` on. */
static const char *read_addresses(tseed_source_t *source, int *at, const apr_array_header_t *words,
                                  apr_pool_t *pool)
{
    do {
        if (source->count == TSEED_ADDRESSES_MAX) {
            return apr_psprintf(pool, "there are more than %d addresses", TSEED_ADDRESSES_MAX);
        }
        source->addresses[source->count++].url = APR_ARRAY_IDX(words, (*at)++, const char *);
    } while (*at < words->nelts && is_address(APR_ARRAY_IDX(words, *at, const char *)));
    return NULL;
}

/* mode= is ours where there are several addresses, and the source's parameter else. */
static const char *read_mode(tseed_source_t *source, apr_table_t *parameters, apr_pool_t *pool)
{
    static const tseed_option_t option = {.words = words_source_mode};
    const char *mode = source->count > 1 ? apr_table_get(parameters, "MODE") : NULL;

    if (!mode) {
        return NULL;
    }
    apr_table_unset(parameters, "MODE");
    return tseed_read_word(&source->mode, &option, mode, pool);
}

/* The code of an OGC exception. All of them begin with a capital, so a word of missing= that is
 * misspelt is none; and the words that stand alone are none in a list. */
static int is_code(const char *word)
{
    size_t length = 0;

    while (tseed_ascii_is_alnum(word[length])) {
        length++;
    }
    return *word >= 'A' && *word <= 'Z' && length < 64 && !word[length] &&
           apr_cstr_casecmp(word, "empty") != 0 && apr_cstr_casecmp(word, "error") != 0;
}

/* The status of an answer that may say "there is none": none of "not now", none with a picture. */
static int is_status(const char *word)
{
    return strlen(word) == 3 && strspn(word, "0123456789") == 3 &&
           (strcmp(word, "204") == 0 || (word[0] == '4' && strcmp(word, "429") != 0));
}

/* missing= is ours where the upstream has tiles, and a parameter of a WMS. */
static const char *read_missing(tseed_source_t *source, apr_table_t *parameters, apr_pool_t *pool)
{
    const char *missing =
        tseed_source_is_tiled(source) ? apr_table_get(parameters, "MISSING") : NULL;
    apr_array_header_t *words = apr_array_make(pool, 4, sizeof(const char *));
    const char *rest;

    if (!missing) {
        return NULL;
    }
    apr_table_unset(parameters, "MISSING");
    if (apr_cstr_casecmp(missing, "error") == 0) {
        return NULL;
    }
    rest = apr_cstr_casecmp(missing, "empty") == 0 ? "404,204" : missing;
    while (*rest) {
        const char *word = ap_getword(pool, &rest, ',');

        if (apr_cstr_casecmp(word, TSEED_MISSING_EMPTY_BODY) == 0) {
            word = TSEED_MISSING_EMPTY_BODY;
        } else if (!is_status(word) && !is_code(word)) {
            return apr_psprintf(
                pool,
                "missing= has '%s'; error, empty, or a list like 404,403,empty-body,"
                "TileOutOfRange is expected: statuses 204 and 4xx but 429, "
                "empty-body, and codes of OGC exceptions",
                word);
        }
        APR_ARRAY_PUSH(words, const char *) = word;
    }
    if (words->nelts == 0) {
        return "missing= names nothing; error, empty, or a list like 404,403 is expected";
    }
    source->missing = words;
    return NULL;
}

static const char *set_source(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t kind = {.words = words_source};
    apr_table_t *parameters = apr_table_make(cmd->pool, 8);
    tseed_source_t source = {.parameters = parameters};
    tseed_draft_t *draft;
    int at = 1;
    const char *error =
        tseed_read_word(&source.kind, &kind, APR_ARRAY_IDX(words, 0, const char *), cmd->pool);

    (void)dir;
    if (!error) {
        error = tseed_draft_say(&draft, cmd, 0);
    }
    if (!error) {
        error = read_addresses(&source, &at, words, cmd->pool);
    }
    for (; !error && at < words->nelts; at++) {
        error = add_parameter(parameters, APR_ARRAY_IDX(words, at, const char *), cmd->pool);
    }
    if (!error) {
        error = read_mode(&source, parameters, cmd->pool);
    }
    if (!error) {
        error = read_missing(&source, parameters, cmd->pool);
    }
    if (!error) {
        draft->layer.source = source;
    }
    return error;
}

static const char *show_address(const tseed_address_t *address, const tseed_catalog_t *catalog,
                                apr_pool_t *pool)
{
    const char *name = address->upstream->name;

    return apr_hash_get(catalog->upstreams, name, APR_HASH_KEY_STRING) == address->upstream
               ? apr_pstrcat(pool, UPSTREAM_PREFIX, name, NULL)
               : address->url;
}

static void show_source(const tseed_dump_t *dump, const void *layer)
{
    const tseed_source_t *source = &((const tseed_layer_t *)layer)->source;
    const apr_array_header_t *parameters = apr_table_elts(source->parameters);
    const char *line = words_source[source->kind];
    apr_pool_t *pool = dump->pool;

    for (int i = 0; i < source->count; i++) {
        line = apr_pstrcat(
            pool, line, " ",
            tseed_show_word(show_address(&source->addresses[i], dump->catalog, pool), pool), NULL);
    }
    if (source->count > 1) {
        line = apr_pstrcat(pool, line, " mode=", words_source_mode[source->mode], NULL);
    }
    if (tseed_source_is_tiled(source)) {
        line = apr_pstrcat(pool, line, " missing=",
                           source->missing ? tseed_source_missing(source, pool) : "error", NULL);
    }
    for (int i = 0; i < parameters->nelts; i++) {
        const apr_table_entry_t *one = &APR_ARRAY_IDX(parameters, i, apr_table_entry_t);

        line = apr_pstrcat(pool, line, tseed_dump_option(dump, one->key, one->val), NULL);
    }
    tseed_dump_line(dump, "TileSeedSource %s", line);
}

#define SECRET_MAX          8192  /* bytes of a file that has secrets */
#define RATE_INTERVAL_LEAST 100.0 /* microseconds */
#define RATE_INTERVAL_MOST  3600e6

/* ---- values ---- */

/* A file that must exist, as path. */
static const char *read_file_name(void *member, const tseed_option_t *option, const char *text,
                                  apr_pool_t *pool)
{
    const char *path = ap_server_root_relative(pool, text);
    apr_finfo_t found;
    apr_status_t rv = APR_EBADPATH;
    char reason[120];

    (void)option;
    if (path) {
        rv = apr_stat(&found, path, APR_FINFO_TYPE, pool);
    }
    if (rv == APR_SUCCESS && found.filetype != APR_REG) {
        return apr_psprintf(pool, "%s is no file", path);
    }
    if (rv != APR_SUCCESS) {
        return apr_psprintf(pool, "the file %s can't be found: %s", path ? path : text,
                            apr_strerror(rv, reason, sizeof(reason)));
    }
    *(const char **)member = path;
    return NULL;
}

/* httpd reads its configuration twice, and frees the memory of the first time as it is. */
static apr_status_t overwrite(void *text)
{
    explicit_bzero(text, strlen(text));
    return APR_SUCCESS;
}

/* Notes a text that children forget. */
static void note_secret(tseed_upstream_t *upstream, const char *text, apr_pool_t *pool)
{
    APR_ARRAY_PUSH(upstream->secrets, char *) = (char *)text;
    apr_pool_cleanup_register(pool, text, overwrite, apr_pool_cleanup_null);
}

/* The text of a file into `text` of SECRET_MAX bytes; root may be the only one to read it. */
static const char *read_secret(char *text, const char *path, apr_pool_t *pool)
{
    apr_size_t length = 0;
    apr_file_t *file;
    apr_status_t rv;
    char reason[120];

    memset(text, 0, SECRET_MAX);
    rv = apr_file_open(&file, path, APR_FOPEN_READ, APR_FPROT_OS_DEFAULT, pool);
    if (rv != APR_SUCCESS) {
        return apr_psprintf(pool, "the file %s can't be read: %s", path,
                            apr_strerror(rv, reason, sizeof(reason)));
    }
    apr_file_read_full(file, text, SECRET_MAX, &length); /* without a buffer that stays */
    apr_file_close(file);
    return length < SECRET_MAX
               ? NULL
               : apr_psprintf(pool, "the file %s must have less than %d bytes", path, SECRET_MAX);
}

/* The first line of a file, which has user and password. */
static const char *read_credentials(void *member, const tseed_option_t *option, const char *text,
                                    apr_pool_t *pool)
{
    tseed_upstream_t *upstream = member;
    const char *error = read_file_name(&upstream->auth, option, text, pool);
    char line[SECRET_MAX];

    if (!error) {
        error = read_secret(line, upstream->auth, pool);
    }
    if (error) {
        return error;
    }
    line[strcspn(line, "\r\n")] = '\0';
    if (*line == ':' || !strchr(line, ':')) {
        return apr_psprintf(pool, "the first line of %s must be USER:PASSWORD", upstream->auth);
    }
    upstream->credentials = apr_pstrdup(pool, line);
    explicit_bzero(line, sizeof(line));
    note_secret(upstream, upstream->credentials, pool);
    return NULL;
}

static const char *check_header(const char *text, apr_pool_t *pool)
{
    size_t name = strspn(text, "!#$%&'*+-.^_`|~0123456789"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F) {
            return "a header must not have control characters";
        }
    }
    if (name == 0 || text[name] != ':') {
        return apr_psprintf(pool, "'%s' is no header, \"NAME: VALUE\" is expected", text);
    }
    return NULL;
}

static const char *read_header(void *member, const tseed_option_t *option, const char *text,
                               apr_pool_t *pool)
{
    const char *error = check_header(text, pool);

    return error ? error : tseed_read_list(member, option, text, pool);
}

/* The lines of a file, each a header. */
static const char *read_header_file(void *member, const tseed_option_t *option, const char *text,
                                    apr_pool_t *pool)
{
    tseed_upstream_t *upstream = member;
    const char *error = read_file_name(&upstream->header_file, option, text, pool);
    char lines[SECRET_MAX], *state;

    if (!error) {
        error = read_secret(lines, upstream->header_file, pool);
    }
    if (error) {
        return error;
    }
    for (char *line = apr_strtok(lines, "\r\n", &state); line && !error;
         line = apr_strtok(NULL, "\r\n", &state)) {
        if (check_header(line, pool)) {
            error =
                apr_psprintf(pool, "each line of %s must be NAME: VALUE", upstream->header_file);
        }
        tseed_read_list(&upstream->headers, option, line, pool);
    }
    explicit_bzero(lines, sizeof(lines));
    return error;
}

/* Names of hosts, with or without a port, or "host" for all of them. */
static const char *read_redirects(void *member, const tseed_option_t *option, const char *text,
                                  apr_pool_t *pool)
{
    char *state;

    for (char *name = apr_strtok(apr_pstrdup(pool, text), ",", &state); name;
         name = apr_strtok(NULL, ",", &state)) {
        if (name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                              "0123456789.-_:[]")]) {
            return apr_psprintf(pool,
                                "'%s' is no name of a host: 'host' for any other host, or names "
                                "such as cdn.example.org or cdn.example.org:8080 with commas "
                                "between them are expected",
                                tseed_text_quote(name, 60, pool));
        }
        tseed_read_list(member, option, name, pool);
    }
    return NULL;
}

/* "20/s", "0.5/s", "30/min": kept as the time between two requests. */
static const char *read_rate(void *member, const tseed_option_t *option, const char *text,
                             apr_pool_t *pool)
{
    const char *slash = strchr(text, '/');
    double count;

    (void)option;
    if (slash && (strcmp(slash, "/s") == 0 || strcmp(slash, "/min") == 0) &&
        tseed_text_double(&count, apr_pstrmemdup(pool, text, (apr_size_t)(slash - text))) == 0) {
        double interval = (slash[1] == 's' ? 1 : 60) * (double)APR_USEC_PER_SEC / count;

        if (interval >= RATE_INTERVAL_LEAST && interval <= RATE_INTERVAL_MOST) {
            *(apr_interval_time_t *)member = (apr_interval_time_t)(interval + 0.5);
            return NULL;
        }
    }
    return apr_psprintf(pool,
                        "'%s' is not possible, requests a second or minute such as 20/s or 30/min "
                        "are expected, from 1 in an hour to 10000 in a second",
                        tseed_text_quote(text, 60, pool));
}

static const char *read_proxy(void *member, const tseed_option_t *option, const char *text,
                              apr_pool_t *pool)
{
    apr_uri_t uri;

    if (apr_uri_parse(pool, text, &uri) != APR_SUCCESS || !uri.scheme || !uri.hostname) {
        return "this is no address of a proxy, http://HOST:PORT is expected";
    }
    overwrite(uri.hostinfo);
    if (uri.password) {
        overwrite(uri.password);
    }
    return tseed_read_text(member, option, text, pool);
}

/* ---- upstreams ---- */

static tseed_upstream_t *upstream_create(const char *name, const char *url, apr_pool_t *pool)
{
    tseed_upstream_t *upstream = apr_pcalloc(pool, sizeof(*upstream));

    upstream->name = name;
    upstream->url = url;
    upstream->connections = 4;
    upstream->timeout = apr_time_from_sec(60);
    upstream->connect_timeout = apr_time_from_sec(10);
    upstream->headers = apr_array_make(pool, 1, sizeof(const char *));
    upstream->said_headers = apr_array_make(pool, 1, sizeof(const char *));
    upstream->redirects = apr_array_make(pool, 1, sizeof(const char *));
    upstream->secrets = apr_array_make(pool, 1, sizeof(char *));
    return upstream;
}

/* A longer timeout for an answer is meant for the answer's first byte, too. */
static void settle_timeouts(tseed_upstream_t *upstream)
{
    if (upstream->first_byte_timeout == 0) {
        upstream->first_byte_timeout = upstream->timeout;
    }
}

static const tseed_option_t options[] = {
    TSEED_OPTION_RANGE("connections", tseed_read_int, tseed_upstream_t, connections, 1, 256),
    TSEED_OPTION_RANGE("timeout", tseed_read_duration, tseed_upstream_t, timeout,
                       APR_USEC_PER_SEC / 1000, 86400 * APR_USEC_PER_SEC),
    TSEED_OPTION_RANGE("connect-timeout", tseed_read_duration, tseed_upstream_t, connect_timeout,
                       APR_USEC_PER_SEC / 1000, 86400 * APR_USEC_PER_SEC),
    TSEED_OPTION_RANGE("first-byte-timeout", tseed_read_duration, tseed_upstream_t,
                       first_byte_timeout, APR_USEC_PER_SEC / 1000, 86400 * APR_USEC_PER_SEC),
    TSEED_OPTION("rate", read_rate, tseed_upstream_t, interval),
    {.name = "auth", .read = read_credentials},
    TSEED_OPTION_RANGE("header", read_header, tseed_upstream_t, said_headers, 0, TSEED_REPEATS),
    {.name = "header-file", .read = read_header_file},
    TSEED_OPTION_RANGE("redirect", read_redirects, tseed_upstream_t, redirects, 0, TSEED_REPEATS),
    TSEED_OPTION("ca", read_file_name, tseed_upstream_t, ca),
    TSEED_OPTION("proxy", read_proxy, tseed_upstream_t, proxy),
    {.name = NULL},
};

/* Headers and the address of a proxy may hold passwords. So do the words that they were read from,
 * and httpd's own copy of the line, which httpd has read. */
static void note_secrets(tseed_upstream_t *upstream, const apr_array_header_t *words,
                         const cmd_parms *cmd)
{
    const int has_any = upstream->said_headers->nelts > 0 || upstream->proxy;

    for (int i = 0; i < upstream->headers->nelts; i++) {
        note_secret(upstream, APR_ARRAY_IDX(upstream->headers, i, const char *), cmd->pool);
    }
    for (int i = 2; has_any && i < words->nelts; i++) {
        note_secret(upstream, APR_ARRAY_IDX(words, i, const char *), cmd->pool);
    }
    if (upstream->proxy) {
        note_secret(upstream, upstream->proxy, cmd->pool);
    }
    if (has_any) {
        note_secret(upstream, cmd->directive->args, cmd->pool);
    }
}

static const char *set_upstream(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_catalog_t *catalog = tseed_conf_main()->catalog;
    const char *name = APR_ARRAY_IDX(words, 0, const char *);
    const char *url = APR_ARRAY_IDX(words, 1, const char *);
    tseed_upstream_t *upstream = upstream_create(name, url, cmd->pool);
    apr_uri_t uri;
    const char *error;

    (void)dir;
    if (strstr(name, "://")) {
        return apr_psprintf(cmd->pool,
                            "expected is: NAME URL [option=value ...], but the first word is an "
                            "address: '%s'",
                            name);
    }
    error = tseed_name_check("an upstream", name, cmd->pool);
    if (!error && apr_hash_get(catalog->upstreams, name, APR_HASH_KEY_STRING)) {
        error = apr_psprintf(cmd->pool, "there is an upstream '%s' already", name);
    }
    if (!error) {
        error = tseed_url_check(&uri, url, cmd->pool);
    }
    if (!error) {
        error = tseed_options_read(upstream, options, words, 2, cmd->pool);
        upstream->headers = apr_array_append(cmd->pool, upstream->headers, upstream->said_headers);
        note_secrets(upstream, words, cmd);
        settle_timeouts(upstream);
    }
    if (!error) {
        apr_hash_set(catalog->upstreams, name, APR_HASH_KEY_STRING, upstream);
    }
    return error;
}

const tseed_upstream_t *tseed_upstream_of_url(tseed_catalog_t *catalog, const char *url,
                                              apr_pool_t *pool)
{
    tseed_upstream_t *upstream;
    apr_uri_t uri;
    char *key;

    apr_uri_parse(pool, url, &uri);
    if (uri.port == apr_uri_port_of_scheme(uri.scheme)) {
        uri.port = 0;
    }
    key = apr_psprintf(pool, "%s://%s%s", uri.scheme, uri.hostname,
                       uri.port ? apr_psprintf(pool, ":%d", uri.port) : "");
    ap_str_tolower(key);
    upstream = apr_hash_get(catalog->upstreams, key, APR_HASH_KEY_STRING);
    if (!upstream) {
        upstream = upstream_create(strstr(key, "://") + 3, url, pool);
        settle_timeouts(upstream);
        apr_hash_set(catalog->upstreams, key, APR_HASH_KEY_STRING, upstream);
    }
    return upstream;
}

/* An upstream without a directive is known by the beginning of its address. */
static int is_named(const char *key)
{
    return strchr(key, '/') == NULL;
}

static const char *rate(const tseed_upstream_t *upstream, apr_pool_t *pool)
{
    return upstream->interval == 0
               ? ""
               : apr_pstrcat(
                     pool, " rate=",
                     tseed_text_number((double)APR_USEC_PER_SEC / (double)upstream->interval, pool),
                     "/s", NULL);
}

static void dump_upstream(const tseed_dump_t *dump, const tseed_upstream_t *upstream)
{
    apr_pool_t *pool = dump->pool;

    tseed_dump_line(dump,
                    "TileSeedUpstream %s %s connections=%d timeout=%s connect-timeout=%s "
                    "first-byte-timeout=%s%s%s%s%s%s%s%s",
                    tseed_show_word(upstream->name, pool), tseed_show_word(upstream->url, pool),
                    upstream->connections, tseed_show_duration(upstream->timeout, pool),
                    tseed_show_duration(upstream->connect_timeout, pool),
                    tseed_show_duration(upstream->first_byte_timeout, pool), rate(upstream, pool),
                    tseed_dump_option(dump, "auth", upstream->auth),
                    tseed_dump_options(dump, "header", upstream->said_headers),
                    tseed_dump_option(dump, "header-file", upstream->header_file),
                    tseed_dump_options(dump, "redirect", upstream->redirects),
                    tseed_dump_option(dump, "ca", upstream->ca),
                    tseed_dump_option(dump, "proxy", upstream->proxy));
}

static void show_upstreams(const tseed_dump_t *dump, const void *conf)
{
    const apr_array_header_t *names = tseed_dump_names(dump, dump->catalog->upstreams);

    (void)conf;
    for (int i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);

        if (is_named(name)) {
            dump_upstream(dump, apr_hash_get(dump->catalog->upstreams, name, APR_HASH_KEY_STRING));
        }
    }
}

static const command_rec directives[] = {
    TSEED_DIRECTIVE("TileSeedUpstream",
                    TSEED_SHOWN(TSEED_IN_SERVER, 2, -1, set_upstream, show_upstreams),
                    "NAME URL [connections=4] [rate=N/s] [timeout=60s] [connect-timeout=10s] "
                    "[first-byte-timeout=60s] [auth=FILE] [header=\"NAME: VALUE\"] "
                    "[header-file=FILE] [redirect=host|HOST[:PORT],...] [ca=FILE] [proxy=URL]"),
    TSEED_DIRECTIVE("TileSeedSource",
                    TSEED_LAYER_OWN(source, source, 2, -1, set_source, show_source),
                    "wms|wmts|xyz URL|upstream:NAME [URL ...] [mode=fallback|share] "
                    "[missing=error|empty|LIST] "
                    "[NAME=VALUE ...]"),
    {.name = NULL},
};

/* ---- passwords ---- */

/* Children ask no upstream: what may be read from their memory has no passwords. */
static void forget_secrets(apr_pool_t *pchild, server_rec *server)
{
    apr_hash_t *upstreams = tseed_conf_get(server)->catalog->upstreams;

    (void)pchild;
    for (apr_hash_index_t *i = apr_hash_first(NULL, upstreams); i; i = apr_hash_next(i)) {
        const tseed_upstream_t *upstream = apr_hash_this_val(i);

        for (int j = 0; j < upstream->secrets->nelts; j++) {
            overwrite(APR_ARRAY_IDX(upstream->secrets, j, char *));
        }
    }
}

static void hook(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_child_init(forget_secrets, NULL, NULL, APR_HOOK_MIDDLE);
}

const tseed_module_part_t tseed_config_upstream_part = {.directives = directives, .hook = hook};
