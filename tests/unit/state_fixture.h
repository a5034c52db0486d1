/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A state directory of a test's own, and what tests do in it. */
#ifndef STATE_FIXTURE_H
#define STATE_FIXTURE_H

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

#include "database_fixture.h"

#define MOST 16384

/* One test's directory, pool and handle. */
typedef struct {
    apr_pool_t *pool;
    char dir[64];
    const char *params; /* of the database */
    tseed_state_t *state;
} fixture_t;

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

static inline tseed_state_t *state_open(const fixture_t *fixture)
{
    tseed_state_t *state;

    if (tseed_state_open(&state, fixture->dir, DATABASE_DRIVER, fixture->params, fixture->pool) !=
        APR_SUCCESS) {
        fail_msg("%s", last_line);
    }
    return state;
}

static inline int setup(void **data)
{
    fixture_t *fixture = calloc(1, sizeof(*fixture));

    apr_pool_create(&fixture->pool, NULL);
    strcpy(fixture->dir, "/tmp/tileseed-state-XXXXXX");
    if (!mkdtemp(fixture->dir)) {
        return -1;
    }
    last_line[0] = '\0';
    fixture->params = database_params(fixture->pool);
    fixture->state = state_open(fixture);
    *data = fixture;
    return 0;
}

static inline int teardown(void **data)
{
    fixture_t *fixture = *data;
    char *command = apr_pstrcat(fixture->pool, "rm -r ", fixture->dir, NULL);
    int rv = system(command);

    apr_pool_destroy(fixture->pool);
    free(fixture);
    return rv;
}

static inline const char *path_in(const fixture_t *fixture, const char *name)
{
    return apr_pstrcat(fixture->pool, fixture->dir, "/", name, NULL);
}

static inline tseed_task_t task_of(const fixture_t *fixture, const char *layer)
{
    apr_table_t *parameters = apr_table_make(fixture->pool, 2);

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

static inline int64_t insert(const fixture_t *fixture, tseed_state_t *state, const char *layer)
{
    tseed_task_t task = task_of(fixture, layer);

    if (tseed_state_task_insert(state, &task, MOST) != APR_SUCCESS) {
        fail_msg("%s", tseed_state_error(state));
    }
    return task.id;
}

static inline int is_there(const fixture_t *fixture, int64_t id)
{
    tseed_task_t *task;
    tseed_progress_t progress;

    return tseed_state_task_get(fixture->state, &task, &progress, id, fixture->pool) == APR_SUCCESS;
}

static inline int claim(const fixture_t *fixture, int64_t id)
{
    int won;

    assert_int_equal(tseed_state_task_claim(fixture->state, id, 5, &won), APR_SUCCESS);
    return won;
}

/* What an operator asks with a tool of the database's own. */
static inline int64_t number(const fixture_t *fixture, const char *sql)
{
    const char *answer;

    assert_int_equal(tseed_database_ask(&fixture->state->db, &answer, sql, fixture->pool),
                     APR_SUCCESS);
    assert_non_null(answer);
    return strcmp(answer, "t") == 0 ? 1 : apr_atoi64(answer); /* PostgreSQL's word for true */
}

static inline void execute(const fixture_t *fixture, const char *sql)
{
    if (tseed_database_execute(&fixture->state->db, sql) != APR_SUCCESS) {
        fail_msg("%s", tseed_state_error(fixture->state));
    }
}

static inline int count_files(const fixture_t *fixture, const char *pattern)
{
    glob_t found;
    int count = glob(path_in(fixture, pattern), 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;

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
