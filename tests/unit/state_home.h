/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A state directory of a test's own, and what tests do in it. */
#ifndef STATE_HOME_H
#define STATE_HOME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_general.h>
#include <apr_strings.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_log.h"
#include "state/tseed_state.h"
#include "state/tseed_work.h"

#define MOST 16384

/* One test's directory, pool and handle. */
typedef struct {
    apr_pool_t *pool;
    char dir[64];
    tseed_state_t *state;
} home_t;

static char last_line[2048];

static inline void keep_line(void *baton, tseed_log_level_t level, apr_status_t rv,
                             const char *line)
{
    (void)baton;
    (void)rv;
    if (level <= TSEED_LOG_WARNING) {
        apr_cpystrn(last_line, line, sizeof(last_line));
    }
}

static inline tseed_state_t *state_open(const home_t *home)
{
    tseed_state_t *state;

    assert_int_equal(tseed_state_open(&state, home->dir, "sqlite3", NULL, home->pool), APR_SUCCESS);
    return state;
}

static inline int setup(void **data)
{
    home_t *home = calloc(1, sizeof(*home));

    apr_pool_create(&home->pool, NULL);
    strcpy(home->dir, "/tmp/tileseed-state-XXXXXX");
    if (!mkdtemp(home->dir)) {
        return -1;
    }
    last_line[0] = '\0';
    home->state = state_open(home);
    *data = home;
    return 0;
}

static inline int teardown(void **data)
{
    home_t *home = *data;
    char *command = apr_pstrcat(home->pool, "rm -r ", home->dir, NULL);
    int rv = system(command);

    apr_pool_destroy(home->pool);
    free(home);
    return rv;
}

static inline const char *path_in(const home_t *home, const char *name)
{
    return apr_pstrcat(home->pool, home->dir, "/", name, NULL);
}

static inline tseed_task_t task_of(const home_t *home, const char *layer)
{
    apr_table_t *parameters = apr_table_make(home->pool, 2);

    apr_table_set(parameters, "STYLES", "");
    return (tseed_task_t){.type = TSEED_SEED,
                          .layer = layer,
                          .gridset = "EPSG:4326",
                          .format = "image/png",
                          .parameters = parameters,
                          .zoom_stop = 10,
                          .thread_count = 1,
                          .meta_width = 4,
                          .meta_height = 4,
                          .has_area = 1,
                          .failure_limit = 1000,
                          .tiles_total = 100,
                          .gridset_print = "g",
                          .store_print = "s",
                          .requested_by = "",
                          .ignored = "",
                          .created = 1};
}

static inline int64_t insert(const home_t *home, tseed_state_t *state, const char *layer)
{
    tseed_task_t task = task_of(home, layer);

    if (tseed_state_task_insert(state, &task, MOST) != APR_SUCCESS) {
        fail_msg("%s", tseed_state_error(state));
    }
    return task.id;
}

/* What an operator asks with a tool of the database's own. */
static inline int64_t number(const home_t *home, const char *sql)
{
    const char *answer;

    assert_int_equal(tseed_database_ask(&home->state->db, &answer, sql, home->pool), APR_SUCCESS);
    assert_non_null(answer);
    return apr_atoi64(answer);
}

static inline void execute(const home_t *home, const char *sql)
{
    if (tseed_database_execute(&home->state->db, sql) != APR_SUCCESS) {
        fail_msg("%s", tseed_state_error(home->state));
    }
}

static inline int count_files(const home_t *home, const char *pattern)
{
    glob_t found;
    int count = glob(path_in(home, pattern), 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;

    globfree(&found);
    return count;
}

static inline int group_setup(void **data)
{
    (void)data;
    apr_initialize();
    tseed_log_sink_set(keep_line, NULL);
    return 0;
}

static inline int group_teardown(void **data)
{
    (void)data;
    apr_terminate();
    return 0;
}

#endif
