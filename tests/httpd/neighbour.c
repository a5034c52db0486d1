/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A module of httpd that changes what belongs to the whole process: `Neighbour WORD [ARGUMENT]`,
 * repeatable. It does so when httpd starts, before the other modules, in each child, and at each
 * request. */
#include <httpd.h>

#include <http_config.h>
#include <http_log.h>
#include <http_protocol.h>

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

module AP_MODULE_DECLARE_DATA neighbour_module;

/* The argument is a folder with a locale named "odd". */
static void change_locale(const char *argument)
{
    setenv("LOCPATH", argument, 1);
    if (!setlocale(LC_ALL, "odd")) {
        abort();
    }
}

static void change_umask(const char *argument)
{
    umask((mode_t)strtol(argument, NULL, 8));
}

/* All but what httpd itself waits for. */
static void change_signals(const char *argument)
{
    static const int left[] = {SIGTERM, SIGHUP,  SIGUSR1, SIGWINCH, SIGCHLD, SIGINT,
                               SIGSEGV, SIGABRT, SIGBUS,  SIGFPE,   SIGILL};
    sigset_t set;
    (void)argument;

    sigfillset(&set);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        sigdelset(&set, left[i]);
    }
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    signal(SIGALRM, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
}

static void change_environment(const char *argument)
{
    static const char *const names[] = {"TMPDIR",        "SQLITE_TMPDIR",  "HOME",
                                        "PGHOST",        "PGSERVICEFILE",  "PGPASSFILE",
                                        "PGSSLMODE",     "PGOPTIONS",      "PGTZ",
                                        "PGSYSCONFDIR",  "http_proxy",     "https_proxy",
                                        "all_proxy",     "CURL_HOME",      "NETRC",
                                        "SSL_CERT_FILE", "CURL_CA_BUNDLE", "JSIMD_FORCENONE",
                                        "JPEGMEM",       "LC_ALL",         "LANGUAGE",
                                        "PATH"};
    (void)argument;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        setenv(names[i], "/nowhere", 1);
    }
    setenv("TZ", "XYZ+11:45", 1);
}

/* A folder that is gone. */
static void change_directory(const char *argument)
{
    char folder[] = "/tmp/neighbour-XXXXXX";
    (void)argument;

    if (!mkdtemp(folder) || chdir(folder) != 0 || rmdir(folder) != 0) {
        abort();
    }
}

/* What is opened next gets the numbers of standard input and output; then they are somebody's. */
static void change_descriptors(const char *argument)
{
    (void)argument;
    if (!getenv("NEIGHBOUR_HAS_CLOSED")) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        setenv("NEIGHBOUR_HAS_CLOSED", "1", 1);
    }
}

static struct {
    const char *word;
    void (*change)(const char *argument);
    const char *argument; /* NULL: it is left as it is */
} settings[] = {{"locale", change_locale, NULL},       {"umask", change_umask, NULL},
                {"signals", change_signals, NULL},     {"environment", change_environment, NULL},
                {"directory", change_directory, NULL}, {"descriptors", change_descriptors, NULL}};

#define COUNT (sizeof(settings) / sizeof(settings[0]))

static void change(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (settings[i].argument) {
            settings[i].change(settings[i].argument);
        }
    }
}

static const char *set_one(cmd_parms *cmd, void *dir, const char *word, const char *argument)
{
    (void)cmd;
    (void)dir;
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(settings[i].word, word) == 0) {
            settings[i].argument = argument ? argument : "";
            return NULL;
        }
    }
    return "no such setting";
}

static int at_start(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *server)
{
    (void)pconf;
    (void)plog;
    (void)ptemp;
    (void)server;
    change();
    return OK;
}

static void in_child(apr_pool_t *pool, server_rec *server)
{
    (void)pool;
    (void)server;
    change();
}

static int at_request(request_rec *r)
{
    (void)r;
    change();
    return DECLINED;
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_post_config(at_start, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_child_init(in_child, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_post_read_request(at_request, NULL, NULL, APR_HOOK_REALLY_FIRST);
}

static const command_rec commands[] = {
    AP_INIT_TAKE12("Neighbour", set_one, NULL, RSRC_CONF, "what is changed, and its argument"),
    {NULL, {NULL}, NULL, 0, 0, NULL}};

module AP_MODULE_DECLARE_DATA neighbour_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, commands, register_hooks, 0};
