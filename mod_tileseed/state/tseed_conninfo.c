/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The parameters of a connection to PostgreSQL.
 *
 * Without the defaults a peer that is gone without a word, or a lock that somebody holds, would
 * keep a request or the seeder for minutes. The kernel gives a connection up after four seconds,
 * and the server a statement after three.
 */
#include "state/tseed_conninfo.h"

#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"

/* ---- reading ---- */

/* What libpq knows, from version 12 to 17. */
static const char *const keywords[] = {
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "options",
    "passfile",
    "password",
    "port",
    "require_auth",
    "requirepeer",
    "service",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslpassword",
    "sslrootcert",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
    NULL,
};

/* Keywords whose value is a whole number. */
static const char *const numbers[] = {
    "connect_timeout",  "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval",
    "tcp_user_timeout", NULL};

static const char *const secrets[] = {"password", "sslpassword", NULL};

static int is_among(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0) {
        words++;
    }
    return *words != NULL;
}

static void skip_blanks(const char **at)
{
    while (tseed_ascii_is_space(**at)) {
        (*at)++;
    }
}

int tseed_conninfo_has_password(const apr_table_t *conninfo)
{
    return apr_table_get(conninfo, "password") || apr_table_get(conninfo, "sslpassword");
}

static const char *refuse_keyword(const char *keyword, const apr_table_t *before, apr_pool_t *pool)
{
    return apr_psprintf(pool, "'%s' is no parameter of a connection to PostgreSQL",
                        tseed_conninfo_has_password(before)
                            ? "…" /* it may be the rest of a password that has no quotes */
                            : tseed_text_quote(keyword, 40, pool));
}

/* Reads a keyword and the sign behind it; `before` are the parameters so far. */
static const char *read_keyword(const char **keyword, const char **at, const apr_table_t *before,
                                apr_pool_t *pool)
{
    const char *start = *at;
    const size_t length = strspn(start, "abcdefghijklmnopqrstuvwxyz_");

    *at += length;
    skip_blanks(at);
    if (length == 0 || **at != '=') {
        return "keyword=value is expected for each parameter, such as host=db.example "
               "dbname=tileseed; a value with blanks stands in single quotes";
    }
    (*at)++;
    skip_blanks(at);
    *keyword = apr_pstrmemdup(pool, start, length);
    return is_among(keywords, *keyword) ? NULL : refuse_keyword(*keyword, before, pool);
}

/* Reads a value, quoted or up to the next blank; a backslash takes the character behind it as it
 * is. */
static const char *read_value(const char **value, const char **at, const char *keyword,
                              apr_pool_t *pool)
{
    const int is_quoted = **at == '\'';
    char *copy = apr_palloc(pool, strlen(*at) + 1), *end = copy;

    *at += is_quoted;
    while (**at && (is_quoted ? **at != '\'' : !tseed_ascii_is_space(**at))) {
        if (**at == '\\' && (*at)[1]) {
            (*at)++;
        }
        *end++ = *(*at)++;
    }
    *end = '\0';
    *value = copy;
    if (is_quoted && **at != '\'') {
        return apr_psprintf(pool, "the quotes of the value of %s are not closed", keyword);
    }
    *at += is_quoted;
    return NULL;
}

static const char *judge_port(const char *ports, apr_pool_t *pool)
{
    char *rest, *port = apr_strtok(apr_pstrdup(pool, ports), ",", &rest);
    int64_t number;

    for (; port; port = apr_strtok(NULL, ",", &rest)) {
        if (tseed_text_int64(&number, port, 1, 65535) != 0) {
            return "the value of port must be a whole number from 1 to 65535, or several with "
                   "commas between them";
        }
    }
    return NULL;
}

static const char *judge(const char *keyword, const char *value, apr_pool_t *pool)
{
    int64_t number;

    if (strcmp(keyword, "port") == 0) {
        return judge_port(value, pool);
    }
    if (is_among(numbers, keyword) && tseed_text_int64(&number, value, 0, INT32_MAX) != 0) {
        return apr_psprintf(pool, "the value of %s must be a whole number", keyword);
    }
    if (strcmp(keyword, "client_encoding") == 0 && apr_cstr_casecmp(value, "UTF8") != 0) {
        return "the value of client_encoding must be UTF8";
    }
    return NULL;
}

const char *tseed_conninfo_read(apr_table_t **conninfo, const char *text, apr_pool_t *pool)
{
    const char *at = text, *keyword, *value, *error = NULL;

    *conninfo = apr_table_make(pool, 8);
    for (skip_blanks(&at); !error && *at; skip_blanks(&at)) {
        error = read_keyword(&keyword, &at, *conninfo, pool);
        if (!error) {
            error = read_value(&value, &at, keyword, pool);
        }
        if (!error) {
            error = judge(keyword, value, pool);
        }
        if (!error) {
            apr_table_setn(*conninfo, keyword, value);
        }
    }
    return error;
}

/* ---- writing ---- */

static const char *quote(const char *value, apr_pool_t *pool)
{
    char *copy = apr_palloc(pool, 2 * strlen(value) + 3), *end = copy;

    *end++ = '\'';
    for (; *value; value++) {
        if (*value == '\'' || *value == '\\') {
            *end++ = '\\';
        }
        *end++ = *value;
    }
    *end++ = '\'';
    *end = '\0';
    return copy;
}

static int is_plain(const char *value)
{
    return *value && !strpbrk(value, " \t\r\n\f\v'\\");
}

typedef struct {
    const char *text;
    int shows; /* for people: quotes only where they are needed, no secrets */
    apr_pool_t *pool;
} writing_t;

static int write_one(void *data, const char *keyword, const char *value)
{
    writing_t *writing = data;
    apr_pool_t *pool = writing->pool;

    if (writing->shows && is_among(secrets, keyword)) {
        value = "***";
    } else if (!writing->shows || !is_plain(value)) {
        value = quote(value, pool);
    }
    writing->text =
        apr_pstrcat(pool, writing->text, *writing->text ? " " : "", keyword, "=", value, NULL);
    return 1;
}

static const char *write_all(const apr_table_t *conninfo, int shows, apr_pool_t *pool)
{
    writing_t writing = {"", shows, pool};

    apr_table_do(write_one, &writing, conninfo, NULL);
    return writing.text;
}

const char *tseed_conninfo_show(const apr_table_t *conninfo, apr_pool_t *pool)
{
    return write_all(conninfo, 1, pool);
}

/* ---- defaults ---- */

static const char *const defaults[][2] = {
    {"connect_timeout", "3"},
    {"tcp_user_timeout", "4000"},
    {"keepalives_idle", "2"},
    {"keepalives_interval", "1"},
    {"keepalives_count", "3"},
    {"client_encoding", "UTF8"},
    {"fallback_application_name", "mod_tileseed"},
};

/* Options of the server; those of the administrator come behind them and win. */
#define OPTIONS                                                                                    \
    "-c statement_timeout=3000 -c lock_timeout=1000 -c idle_in_transaction_session_timeout=10000"

static int has_several(const char *hosts)
{
    return hosts && strchr(hosts, ',');
}

const char *tseed_conninfo_complete(const apr_table_t *conninfo, apr_pool_t *pool)
{
    apr_table_t *all = apr_table_copy(pool, conninfo);
    const char *options = apr_table_get(all, "options");

    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        if (!apr_table_get(all, defaults[i][0])) {
            apr_table_setn(all, defaults[i][0], defaults[i][1]);
        }
    }
    if (!apr_table_get(all, "target_session_attrs") &&
        (has_several(apr_table_get(all, "host")) || has_several(apr_table_get(all, "hostaddr")))) {
        apr_table_setn(all, "target_session_attrs", "read-write");
    }
    apr_table_setn(all, "options", apr_pstrcat(pool, OPTIONS " ", options, NULL));
    return write_all(all, 0, pool);
}

/* ---- the name ---- */

const char *tseed_conninfo_name(const apr_table_t *conninfo, apr_pool_t *pool)
{
    const char *database = apr_table_get(conninfo, "dbname");
    const char *host = apr_table_get(conninfo, "host");
    const char *service = apr_table_get(conninfo, "service");

    if (!host) {
        host = apr_table_get(conninfo, "hostaddr");
    }
    return apr_pstrcat(pool, "database ",
                       database  ? database
                       : service ? service
                                 : "by default",
                       host ? " at " : "", host, NULL);
}
