/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Directives of the server as a whole that need more than a row of a table. */
#include <apr_cstr.h>
#include <apr_strings.h>
#include <string.h>
#include <sys/stat.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "mod_tileseed_draft.h"
#include "protocol/tseed_host_document.h"
#include "state/tseed_conninfo.h"

#define MISS_WAITERS_MOST 100000

static tseed_settings_t *settings_of_server(void)
{
    return &tseed_conf_main()->settings;
}

const char *tseed_set_state_dir(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const char *path = APR_ARRAY_IDX(words, 0, const char *);
    tseed_settings_t *settings = settings_of_server();

    (void)dir;
    settings->state_dir = ap_server_root_relative(cmd->pool, path);
    return settings->state_dir ? NULL
                               : apr_psprintf(cmd->pool, "'%s' is no path of a directory", path);
}

/* Whether anybody on this machine may read the file. */
static int is_open_to_all(const char *path)
{
    struct stat file;

    return path && stat(path, &file) == 0 && (file.st_mode & S_IROTH);
}

/* Looks at the parameters of a connection to PostgreSQL; nothing is connected. */
static const char *judge_conninfo(cmd_parms *cmd, const char *params)
{
    apr_table_t *conninfo;
    const char *error = params ? tseed_conninfo_read(&conninfo, params, cmd->pool)
                               : "pgsql needs parameters, such as 'host=db.example dbname=tileseed "
                                 "user=tileseed passfile=/etc/apache2/tileseed.pgpass'";

    if (!error && tseed_conninfo_has_password(conninfo) &&
        is_open_to_all(cmd->directive->filename)) {
        tseed_conf_main()->open_password = cmd->directive->filename;
    }
    return error;
}

/* A second directive replaces the first one wholly. */
const char *tseed_set_database(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_settings_t *settings = settings_of_server();
    const char *driver = APR_ARRAY_IDX(words, 0, const char *);
    const char *params = words->nelts > 1 ? APR_ARRAY_IDX(words, 1, const char *) : NULL;
    const int is_pgsql = strcmp(driver, "pgsql") == 0;

    (void)dir;
    tseed_conf_main()->open_password = NULL;
    settings->db_driver = driver;
    settings->db_params = params;
    if (!is_pgsql && strcmp(driver, "sqlite3") != 0) {
        return apr_psprintf(cmd->pool,
                            "the driver '%s' can't keep the tasks, sqlite3 or pgsql is expected",
                            tseed_text_quote(driver, 40, cmd->pool));
    }
    return is_pgsql ? judge_conninfo(cmd, params) : NULL;
}

const char *tseed_set_host(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const char *name = APR_ARRAY_IDX(words, 0, const char *);

    (void)dir;
    if (!tseed_host_name_is_good(name)) {
        return apr_psprintf(cmd->pool,
                            "'%s' is not possible, a name of at most %d letters, digits, '-', '_' "
                            "and '.' is expected, such as web1",
                            tseed_text_quote(name, 60, cmd->pool), TSEED_HOST_NAME_MAX);
    }
    settings_of_server()->host = name;
    return NULL;
}

const char *tseed_set_history(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t most = {.highest = 10000000};
    static const tseed_option_t age = {.highest = 36500 * INT64_C(86400) * APR_USEC_PER_SEC};
    tseed_settings_t *settings = settings_of_server();
    const char *error = tseed_read_int64(&settings->history_most, &most,
                                         APR_ARRAY_IDX(words, 0, const char *), cmd->pool);

    (void)dir;
    return error ? error
                 : tseed_read_duration(&settings->history_age, &age,
                                       APR_ARRAY_IDX(words, 1, const char *), cmd->pool);
}

const char *tseed_set_sync(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    (void)dir;
    return tseed_read_switch(&settings_of_server()->sync, NULL,
                             APR_ARRAY_IDX(words, 0, const char *), cmd->pool);
}

const char *tseed_set_server_status(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    (void)dir;
    return tseed_read_switch(&settings_of_server()->server_status, NULL,
                             APR_ARRAY_IDX(words, 0, const char *), cmd->pool);
}

/* A second directive replaces the first one wholly. */
const char *tseed_set_miss_waiters(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    static const tseed_option_t most = {.lowest = 1, .highest = MISS_WAITERS_MOST};
    static const tseed_option_t shares[] = {
        TSEED_OPTION_RANGE("layer", tseed_read_int, tseed_settings_t, miss_of_layer, 1,
                           MISS_WAITERS_MOST),
        TSEED_OPTION_RANGE("client", tseed_read_int, tseed_settings_t, miss_of_client, 1,
                           MISS_WAITERS_MOST),
        {.name = NULL},
    };
    tseed_settings_t *settings = settings_of_server();
    const char *error = tseed_read_int(&settings->miss_waiters, &most,
                                       APR_ARRAY_IDX(words, 0, const char *), cmd->pool);

    (void)dir;
    settings->miss_of_layer = settings->miss_of_client = 0;
    return error ? error : tseed_options_read(settings, shares, words, 1, cmd->pool);
}

/* ---- TileSeedDiskQuota ---- */

/* A limit is shown as it was written, so number and unit are kept apart: "10MB" is 10 MiB. */
static const char *read_limit(tseed_quota_t *quota, const char *text, apr_pool_t *pool)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    size_t digits = strspn(text, "0123456789.");
    const char *unit = text + digits + strspn(text + digits, " ");
    const char *error = tseed_text_size(&quota->bytes, text, pool);

    if (error) {
        return error;
    }
    quota->value = apr_pstrmemdup(pool, text, digits);
    quota->units = "B";
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (tseed_ascii_upper(*unit) == units[i][0]) {
            quota->units = units[i];
        }
    }
    return NULL;
}

/* The quota document knows whole numbers of these. */
static const char *read_every(void *member, const tseed_option_t *option, const char *text,
                              apr_pool_t *pool)
{
    static const struct {
        const char *suffix, *name;
    } units[] = {
        {"s", "SECONDS"},   {"", "SECONDS"}, {"m", "MINUTES"},
        {"min", "MINUTES"}, {"h", "HOURS"},  {"d", "DAYS"},
    };
    tseed_quota_config_t *quota = member;
    size_t digits = strspn(text, "0123456789");

    (void)option;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (apr_cstr_casecmp(text + digits, units[i].suffix) == 0 &&
            tseed_text_int64(&quota->frequency, apr_pstrmemdup(pool, text, digits), 0, INT32_MAX) ==
                0) {
            quota->frequency_units = units[i].name;
            return NULL;
        }
    }
    return apr_psprintf(pool, "'%s' is not possible, a whole number with s, m, h or d is expected",
                        tseed_text_quote(text, 60, pool));
}

static const tseed_option_t quota_options[] = {
    TSEED_OPTION_WORD("policy", tseed_quota_config_t, policy, tseed_policy_names),
    {.name = "every", .read = read_every},
    TSEED_OPTION_RANGE("cleanups", tseed_read_int64, tseed_quota_config_t, concurrent_cleanups, 1,
                       INT32_MAX),
    TSEED_OPTION_RANGE("blocksize", tseed_read_size, tseed_quota_config_t, block_size, 1, 1 << 30),
    {.name = NULL},
};

/* A second directive replaces the first one wholly. */
const char *tseed_set_quota(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    tseed_settings_t *settings = settings_of_server();
    tseed_quota_config_t *quota = &settings->quota;
    const char *error;

    (void)dir;
    settings->quota_directive = apr_array_pstrcat(cmd->pool, words, ' ');
    tseed_quota_config_init(quota, 0, cmd->pool);
    error =
        tseed_read_switch(&quota->enabled, NULL, APR_ARRAY_IDX(words, 0, const char *), cmd->pool);
    if (!error && words->nelts == 1) {
        return quota->enabled ? "on needs a limit, such as 'on 500GiB'" : NULL;
    }
    if (!error) {
        error = read_limit(&quota->quota, APR_ARRAY_IDX(words, 1, const char *), cmd->pool);
    }
    return error ? error : tseed_options_read(quota, quota_options, words, 2, cmd->pool);
}
