/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where the server is and who asks. */
#include "ctl/tseed_ctl_profile.h"

#include <apr_file_io.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl/tseed_ctl.h"
#include "ctl/tseed_ctl_terminal.h"

#define SYSTEM_FILE "/etc/tileseed/ctl.conf"
#define USUAL_URL   "http://localhost/rest"
#define FILE_MAX    65536
#define ASK_TIMEOUT (60 * APR_USEC_PER_SEC)

/* Whole files, in the pool; NULL: it can't be read. */
static char *read_file(const char *path, apr_pool_t *pool)
{
    char *text = apr_palloc(pool, FILE_MAX + 1);
    apr_size_t length = 0;
    apr_file_t *file;
    apr_status_t rv;

    if (apr_file_open(&file, path, APR_FOPEN_READ, APR_OS_DEFAULT, pool) != APR_SUCCESS) {
        return NULL;
    }
    rv = apr_file_read_full(file, text, FILE_MAX, &length);
    apr_file_close(file);
    text[length] = '\0';
    return rv == APR_SUCCESS || rv == APR_EOF ? text : NULL;
}

static const char *below_home(const char *name, apr_pool_t *pool)
{
    const char *home = getenv("HOME");

    return home && *home ? apr_pstrcat(pool, home, "/", name, NULL) : NULL;
}

/* ---- settings ---- */

static void set(const char **to, const char *value)
{
    if (!*to && value && *value) {
        *to = value;
    }
}

/* "NAME VALUE" */
static int take_line(tseed_ctl_options_t *options, char *line)
{
    const struct {
        const char *name, **to;
    } known[] = {{"server", &options->server},
                 {"user", &options->user},
                 {"netrc-file", &options->netrc_file},
                 {"cacert", &options->cacert},
                 {"unix-socket", &options->unix_socket}};
    char *value = line + strcspn(line, " \t");

    if (*value) {
        *value++ = '\0';
        value += strspn(value, " \t");
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (*value && strcmp(line, known[i].name) == 0) {
            set(known[i].to, value);
            return 1;
        }
    }
    return 0;
}

const char *tseed_ctl_profile_read(tseed_ctl_options_t *options, const char *text, const char *name,
                                   apr_pool_t *pool)
{
    char *last, *copy = apr_pstrdup(pool, text);

    for (char *line = apr_strtok(copy, "\r\n", &last); line;
         line = apr_strtok(NULL, "\r\n", &last)) {
        line += strspn(line, " \t");
        for (char *end = line + strlen(line); end > line && strchr(" \t", end[-1]); end--) {
            end[-1] = '\0';
        }
        if (*line && *line != '#' && !take_line(options, line)) {
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
    const char *text = path ? read_file(path, pool) : NULL;

    return text ? tseed_ctl_profile_read(options, text, path, pool) : NULL;
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

/* The first line of the file, or what the user types. */
static const char *find_password(tseed_ctl_server_t *server, apr_pool_t *pool)
{
    const char *path = getenv("TILESEED_PASSWORD_FILE");

    if (path && *path) {
        const char *problem = check_private(path, pool);
        char *text = problem ? NULL : read_file(path, pool);

        server->password = text ? apr_pstrmemdup(pool, text, strcspn(text, "\r\n")) : NULL;
        return problem || text ? problem : apr_psprintf(pool, "%s can't be read", path);
    }
    server->password = tseed_ctl_ask_password(
        apr_psprintf(pool, "Password of %s at %s: ", server->user, server->url), pool);
    return server->password ? NULL
                            : "no password came; without a terminal use ~/.netrc or "
                              "$TILESEED_PASSWORD_FILE";
}

/* The user's netrc is left alone when others can read it. */
static void find_netrc(tseed_ctl_server_t *server, apr_pool_t *pool)
{
    const char *path = below_home(".netrc", pool);
    struct stat about;

    if (!path || stat(path, &about) != 0) {
        return;
    }
    if (is_private(path)) {
        server->netrc_file = path;
    } else {
        tseed_ctl_complain("%s is not used, because others can read it: chmod 600 %s", path, path);
    }
}

static const char *find_credentials(tseed_ctl_server_t *server, const tseed_ctl_options_t *options,
                                    apr_pool_t *pool)
{
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
    find_netrc(server, pool);
    return NULL;
}

const char *tseed_ctl_profile(tseed_ctl_server_t *server, tseed_ctl_options_t *options,
                              apr_pool_t *pool)
{
    const char *problem;
    size_t length;

    set(&options->server, getenv("TILESEED_URL"));
    problem = read_settings(options, below_home(".config/tileseed.conf", pool), pool);
    if (!problem) {
        problem = read_settings(options, SYSTEM_FILE, pool);
    }
    if (problem) {
        return problem;
    }
    set(&options->server, USUAL_URL);
    length = strlen(options->server);
    while (length > 0 && options->server[length - 1] == '/') {
        length--;
    }
    *server = (tseed_ctl_server_t){.url = apr_pstrmemdup(pool, options->server, length),
                                   .cacert = options->cacert,
                                   .unix_socket = options->unix_socket,
                                   .timeout = ASK_TIMEOUT};
    problem = tseed_ctl_server_check(server->url, pool);
    return problem ? problem : find_credentials(server, options, pool);
}
