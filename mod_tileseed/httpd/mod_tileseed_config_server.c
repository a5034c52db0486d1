/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Directives of the server as a whole, and the defaults before any is read. */
#include <apr_cstr.h>
#include <apr_network_io.h>
#include <apr_strings.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <httpd.h>
#include <http_main.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "mod_tileseed.h"
#include "mod_tileseed_draft.h"
#include "mod_tileseed_dump.h"
#include "fleet/tseed_fleet.h"
#include "state/tseed_conninfo.h"

#ifndef TSEED_STATE_DIR
#define TSEED_STATE_DIR "/var/lib/tileseed"
#endif

#define QUOTE_MAX         100 /* of a value, in a message */
#define MISS_WAITERS_MOST 100000

static tseed_settings_t *settings_of_server(void)
{
    return &tseed_conf_main()->settings;
}

static const tseed_settings_t *settings_in(const void *conf)
{
    return &((const tseed_server_conf_t *)conf)->settings;
}

/* int64_t */
static const char *read_size(void *member, const tseed_option_t *option, const char *text,
                             apr_pool_t *pool)
{
    int64_t bytes;
    const char *error = tseed_text_size(&bytes, text, pool);

    if (!error && (bytes < option->lowest || bytes > option->highest)) {
        error = apr_psprintf(
            pool,
            "'%s' is not possible, %" APR_INT64_T_FMT " to %" APR_INT64_T_FMT " bytes are expected",
            tseed_text_quote(text, QUOTE_MAX, pool), option->lowest, option->highest);
    }
    if (!error) {
        *(int64_t *)member = bytes;
    }
    return error;
}

/* ---- where tasks are kept ---- */

static const char *set_state_dir(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    const char *path = APR_ARRAY_IDX(words, 0, const char *);
    tseed_settings_t *settings = settings_of_server();

    (void)dir;
    settings->state_dir = ap_server_root_relative(cmd->pool, path);
    return settings->state_dir ? NULL
                               : apr_psprintf(cmd->pool, "'%s' is no path of a directory", path);
}

static void show_state_dir(const tseed_dump_t *dump, const void *conf)
{
    tseed_dump_line(dump, "TileSeedStateDir %s",
                    tseed_show_word(settings_in(conf)->state_dir, dump->pool));
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
static const char *set_database(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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
    if (is_pgsql && !tseed_fleet_is_built()) {
        return "several hosts may share PostgreSQL; " TSEED_NO_FLEET;
    }
    return is_pgsql ? judge_conninfo(cmd, params) : NULL;
}

/* The parameters of the database, without a password. */
static const char *show_params(const tseed_dump_t *dump, const tseed_settings_t *settings)
{
    const char *params = settings->db_params;
    apr_table_t *conninfo;

    if (strcmp(settings->db_driver, "pgsql") == 0 &&
        tseed_conninfo_read(&conninfo, params, dump->pool) == NULL) {
        params = tseed_conninfo_show(conninfo, dump->pool);
    }
    return params ? apr_pstrcat(dump->pool, " ", tseed_show_word(params, dump->pool), NULL) : "";
}

static void show_database(const tseed_dump_t *dump, const void *conf)
{
    const tseed_settings_t *settings = settings_in(conf);

    tseed_dump_line(dump, "TileSeedDatabase %s%s", settings->db_driver,
                    show_params(dump, settings));
}

static const char *set_history(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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

static void show_history(const tseed_dump_t *dump, const void *conf)
{
    const tseed_settings_t *settings = settings_in(conf);

    tseed_dump_line(dump, "TileSeedHistory %" APR_INT64_T_FMT " %s", settings->history_most,
                    tseed_show_duration(settings->history_age, dump->pool));
}

/* ---- TileSeedMissWaiters ---- */

/* A second directive replaces the first one wholly. */
static const char *set_miss_waiters(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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

/* Without TileSeedMissWaiters httpd's own limits give the number, when it starts. */
static void show_waiters(const tseed_dump_t *dump, const void *conf)
{
    const tseed_settings_t *settings = settings_in(conf);
    const char *layer = apr_psprintf(dump->pool, " layer=%d", settings->miss_of_layer);
    const char *client = apr_psprintf(dump->pool, " client=%d", settings->miss_of_client);

    if (settings->miss_waiters > 0) {
        tseed_dump_line(dump, "TileSeedMissWaiters %d%s%s", settings->miss_waiters,
                        settings->miss_of_layer > 0 ? layer : "",
                        settings->miss_of_client > 0 ? client : "");
    }
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
    TSEED_OPTION_RANGE("blocksize", read_size, tseed_quota_config_t, block_size, 1, 1 << 30),
    {.name = NULL},
};

/* A second directive replaces the first one wholly. */
static const char *set_quota(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
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

/* The disk quota stands as it was written: a change of its words replaces what a PUT has set. Of
 * several directives the last one counts. */
static void show_quota(const tseed_dump_t *dump, const void *conf)
{
    const char *args = NULL;

    (void)conf;
    for (const ap_directive_t *one = ap_conftree; one; one = one->next) {
        args = apr_cstr_casecmp(one->directive, "TileSeedDiskQuota") == 0 ? one->args : args;
    }
    if (args) {
        tseed_dump_line(dump, "TileSeedDiskQuota %s", args);
    }
}

/* ---- the defaults of all ---- */

static int workers_by_default(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 2 ? 2 : cores > 256 ? 256 : (int)cores;
}

/* The name of the machine, as far as it can be the name of a host. */
static const char *host_by_default(apr_pool_t *pool)
{
    char name[APRMAXHOSTLEN + 1] = "";

    if (apr_gethostname(name, sizeof(name), pool) != APR_SUCCESS ||
        !tseed_text_is_host(name, TSEED_HOST_NAME_MAX)) {
        return "localhost";
    }
    return apr_pstrdup(pool, name);
}

static void settings_init(tseed_settings_t *settings, apr_pool_t *pool)
{
    *settings = (tseed_settings_t){
        .state_dir = TSEED_STATE_DIR,
        .db_driver = "sqlite3",
        .host = host_by_default(pool),
        .lease = apr_time_from_sec(5),
        .threads = 16,
        .workers = workers_by_default(),
        .max_tasks = 16384,
        .history_most = 10000,
        .history_age = apr_time_from_sec(30 * 86400),
        .give_up = apr_time_from_sec(86400),
        .max_request_body = 64 * 1024,
        .nice = 10,
        .server_status = 1,
        .sync = 1,
        .stop_timeout = apr_time_from_msec(500),
        .hang_timeout = apr_time_from_sec(60),
        .quota_directive = "",
        .quota_files = INT64_MAX,
        .quota_grace = apr_time_from_sec(15 * 60),
    };
    tseed_quota_config_init(&settings->quota, 0, pool);
}

static tseed_drafts_t *create_drafts(apr_pool_t *pool)
{
    tseed_drafts_t *drafts = apr_pcalloc(pool, sizeof(*drafts));

    drafts->defaults = tseed_draft_create(NULL, NULL, pool);
    drafts->layers = apr_array_make(pool, 8, sizeof(tseed_draft_t *));
    drafts->references = apr_array_make(pool, 4, sizeof(tseed_layer_reference_t));
    drafts->locations = apr_array_make(pool, 2, sizeof(const ap_directive_t *));
    drafts->tile_bases = apr_array_make(pool, 2, sizeof(const char *));
    apr_pool_create(&drafts->systems_pool, pool);
    drafts->systems = tseed_systems_create(drafts->systems_pool);
    return drafts;
}

/* Virtual hosts have no configuration of their own, so httpd gives them the main server's. */
static int pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    tseed_server_conf_t *conf = apr_pcalloc(pconf, sizeof(*conf));

    (void)plog;
    (void)ptemp;
    settings_init(&conf->settings, pconf);
    conf->catalog = tseed_catalog_create(pconf);
    conf->drafts = create_drafts(pconf);
    ap_set_module_config(ap_server_conf->module_config, &tileseed_module, conf);
    return OK;
}

/* ---- the table ---- */

/* Reads the one word into the member of tseed_settings_t that the rule describes. */
static const char *set_setting(cmd_parms *cmd, void *dir, const apr_array_header_t *words)
{
    (void)dir;
    return tseed_rule_read(tseed_conf_main(), cmd->info, words, cmd->pool);
}

#define MSEC (APR_USEC_PER_SEC / 1000)
#define DAY  (86400 * APR_USEC_PER_SEC)

#define SETTING(member, reader, low, high)                                                         \
    TSEED_VALUED(                                                                                  \
        TSEED_IN_SERVER, 1, 1, set_setting,                                                        \
        .value = {NULL, reader, offsetof(tseed_server_conf_t, settings.member), low, high, NULL})

/* In the order of the dump. */
static const command_rec directives[] = {
    TSEED_DIRECTIVE("TileSeedStateDir",
                    TSEED_SHOWN(TSEED_IN_SERVER, 1, 1, set_state_dir, show_state_dir),
                    "DIR, where state database and locks are kept"),
    TSEED_DIRECTIVE("TileSeedDatabase",
                    TSEED_SHOWN(TSEED_IN_SERVER, 1, 2, set_database, show_database),
                    "DRIVER [PARAMS], the database of tasks"),
    TSEED_DIRECTIVE("TileSeedHistory",
                    TSEED_SHOWN(TSEED_IN_SERVER, 2, 2, set_history, show_history),
                    "N AGE, how many finished tasks are kept, and for how long"),
    TSEED_DIRECTIVE("TileSeedSync", SETTING(sync, tseed_read_switch, 0, 0),
                    "on|off, whether tiles are on the disk before tasks are done"),
    TSEED_DIRECTIVE("TileSeedServerStatus", SETTING(server_status, tseed_read_switch, 0, 0),
                    "on|off, whether mod_status shows the seeder and its tasks"),
    TSEED_DIRECTIVE("TileSeedThreads", SETTING(threads, tseed_read_int, 1, 256),
                    "N, seeding threads that all tasks share"),
    TSEED_DIRECTIVE("TileSeedWorkers", SETTING(workers, tseed_read_int, 1, 256),
                    "N, threads that cut, encode, store and delete"),
    TSEED_DIRECTIVE("TileSeedMaxTasks", SETTING(max_tasks, tseed_read_int64, 1, 1000000),
                    "N, most pending and running tasks"),
    TSEED_DIRECTIVE("TileSeedMaxRequestBody", SETTING(max_request_body, read_size, 1024, 64 << 20),
                    "SIZE, longest body of a request"),
    TSEED_DIRECTIVE("TileSeedNice", SETTING(nice, tseed_read_int, 0, 19),
                    "N, niceness of the seeder"),
    TSEED_DIRECTIVE("TileSeedStopTimeout",
                    SETTING(stop_timeout, tseed_read_duration, 10 * MSEC, 10000 * MSEC),
                    "DURATION, what the seeder takes to stop at most"),
    TSEED_DIRECTIVE("TileSeedHangTimeout",
                    SETTING(hang_timeout, tseed_read_duration, 5000 * MSEC, DAY),
                    "DURATION, a seeder that is silent for so long is replaced"),
    TSEED_DIRECTIVE("TileSeedGiveUp", SETTING(give_up, tseed_read_duration, 1000 * MSEC, 365 * DAY),
                    "DURATION, a task whose upstream is away for so long is aborted"),
    TSEED_DIRECTIVE("TileSeedDiskQuotaFiles", SETTING(quota_files, tseed_read_int64, 1, INT64_MAX),
                    "N, most files while the disk quota is on"),
    TSEED_DIRECTIVE("TileSeedDiskQuotaGrace",
                    SETTING(quota_grace, tseed_read_duration, 0, 365 * DAY),
                    "DURATION, how long a first large clean-up is announced"),
    TSEED_DIRECTIVE("TileSeedMinFree", SETTING(min_free, read_size, 0, INT64_MAX),
                    "SIZE, what is left free on the file systems of the stores"),
    TSEED_DIRECTIVE("TileSeedMissWaiters",
                    TSEED_SHOWN(TSEED_IN_SERVER, 1, 3, set_miss_waiters, show_waiters),
                    "N [layer=N] [client=N], requests that may wait for missing tiles at once, "
                    "for one layer, of one client"),
    TSEED_DIRECTIVE("TileSeedDiskQuota", TSEED_SHOWN(TSEED_IN_SERVER, 1, -1, set_quota, show_quota),
                    "on|off [SIZE [policy=LRU|LFU] [every=10s] [cleanups=2] [blocksize=N]]"),
    {.name = NULL},
};

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_pre_config(pre_config, NULL, NULL, APR_HOOK_MIDDLE);
}

const tseed_module_part_t tseed_config_server_part = {.directives = directives,
                                                      .hook = register_hooks};
