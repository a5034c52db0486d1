/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Opening, opening anew, and the one loop through which every call goes.
 *
 * A connection is lost when the file was replaced or removed, when another process has migrated the
 * schema, and when damage shows. Then the call connects again and runs once more. A damaged file is
 * set aside and its readable rows are taken over. Ids go on from the mark, which is always ahead of
 * the ids and never falls back.
 */
#include "state/tseed_work.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "state/tseed_file.h"
#include "state/tseed_salvage.h"
#include "state/tseed_schema.h"

#define ID_STEP 1000
#define TRIES   2

/* So long a change waits for another process's transaction. The writers of a slow disk take turns
 * by chance. */
#define LOCK_PATIENCE (10 * APR_USEC_PER_SEC)

/* ---- opening ---- */

static apr_status_t check_integrity(tseed_state_t *state)
{
    tseed_database_t *db = &state->db;
    const char *verdict;
    apr_status_t rv = tseed_database_ask(db, &verdict, db->dialect->check, state->scratch);

    if (rv == APR_SUCCESS && (!verdict || strcmp(verdict, "ok") != 0)) {
        rv = tseed_database_fail(db, TSEED_EDAMAGED, "%s: damaged: %s", db->path,
                                 verdict ? verdict : "it can't be checked");
    }
    return rv;
}

/* Nothing is prepared yet. *version: of the schema it had, 0 when it was empty. */
static apr_status_t open_file(tseed_state_t *state, int *version)
{
    tseed_database_t *db = &state->db;
    apr_status_t rv = tseed_file_make(db->path, state->scratch);

    if (rv != APR_SUCCESS) {
        return tseed_database_fail(db, rv, "%s: can't be made" TSEED_DATABASE_NEEDS, db->path);
    }
    rv = tseed_database_connect(db);
    if (rv == APR_SUCCESS && db->suspect) {
        rv = check_integrity(state);
    }
    if (rv == APR_SUCCESS) {
        db->suspect = 0;
        rv = tseed_schema_migrate(db, version, state->scratch);
    }
    return rv;
}

static apr_status_t mark_failed(tseed_state_t *state, apr_status_t rv, const char *what)
{
    return tseed_database_fail(&state->db, rv, "the file tileseed.ids beside %s can't be %s",
                               state->db.path, what);
}

/* Moves the mark on, ahead of `id`. */
static apr_status_t save_mark(tseed_state_t *state, int64_t id)
{
    tseed_mark_t mark = {id + ID_STEP, state->db.inode};
    apr_status_t rv = tseed_mark_save(&mark, state->db.path, state->scratch);

    if (rv != APR_SUCCESS) {
        return mark_failed(state, rv, "written");
    }
    state->mark = mark.id;
    return APR_SUCCESS;
}

/* The mark may have been written for another file than this one, which is fresh or from a backup.
 * Such a file may lack ids that were given out: its ids go on from the mark; when the mark is gone
 * too, from the last id that this process knows. Its rows about the cache may be long out of date:
 * all levels are put in doubt, and the origins of all tiles are forgotten. */
static apr_status_t settle_ids(tseed_state_t *state, int version)
{
    tseed_database_t *db = &state->db;
    tseed_mark_t mark;
    int64_t id = 0;
    apr_status_t rv = tseed_work_number(state, &id, TSEED_SQL_ID_GET, NULL);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = tseed_mark_load(&mark, db->path, state->scratch);
    if (rv != APR_SUCCESS) {
        return mark_failed(state, rv, "read");
    }
    if (version > 0 && mark.inode == db->inode && mark.id >= state->mark && mark.id >= id &&
        mark.id - id <= ID_STEP) {
        state->mark = mark.id;
        return APR_SUCCESS;
    }
    id = id > mark.id ? id : mark.id;
    id = id > state->mark ? id : state->mark;
    rv = tseed_database_change(db, NULL, TSEED_SQL_ID_SET, (const void *[]){&id});
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(db, NULL, TSEED_SQL_ORIGINS_DELETE_ALL, NULL);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(db, NULL, TSEED_SQL_TILESETS_DOUBT, NULL);
    }
    return rv == APR_SUCCESS ? save_mark(state, id) : rv;
}

/* Makes the database `fresh` with what can be read of the damaged one. */
static apr_status_t make_fresh(tseed_state_t *state, const char *fresh, const char *damaged,
                               int *tasks, int *quota)
{
    tseed_database_t *db = &state->db;
    const char *path = db->path;
    tseed_mark_t mark;
    int version;
    apr_status_t rv;

    tseed_file_remove(fresh, state->scratch);
    tseed_mark_load(&mark, path, state->scratch);
    db->path = fresh;
    rv = open_file(state, &version);
    if (rv == APR_SUCCESS) {
        rv = tseed_salvage(db, tasks, quota, damaged, mark.id > 0 ? mark.id : INT64_MAX,
                           state->scratch);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_finish(db, state->scratch);
    }
    tseed_database_disconnect(db);
    db->path = path;
    return rv;
}

/* Nobody writes to the damaged one any more once it was moved away; only then is it copied. A
 * process that dies meanwhile leaves it there, to be tried again. */
static apr_status_t replace_damaged(tseed_state_t *state, int *version)
{
    tseed_database_t *db = &state->db;
    const char *why = apr_pstrdup(state->scratch, db->error), *damaged, *aside;
    const char *fresh = apr_pstrcat(state->scratch, db->path, ".new", NULL);
    int tasks = 0, quota = 0;
    apr_status_t rv;

    tseed_database_disconnect(db);
    db->suspect = 0;
    rv = tseed_file_move_away(&damaged, db->path, state->scratch);
    if (rv == APR_SUCCESS) {
        rv = make_fresh(state, fresh, damaged, &tasks, &quota);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_file_replace(&aside, db->path, fresh, state->scratch);
    }
    if (rv != APR_SUCCESS) {
        db->suspect = 1;
        return tseed_database_fail(db, rv, "%s, and it can't be replaced", why);
    }
    tseed_log(TSEED_LOG_ERROR, APR_SUCCESS,
              "TS0044: the state database was damaged (%s); it was set aside as %s, and a fresh "
              "one has %d task%s of it and %s disk quota configuration; check the disk and the "
              "file system, seed again what is missing, then delete that file",
              why, aside, tasks, tasks == 1 ? "" : "s", quota ? "the" : "no");
    return open_file(state, version);
}

static apr_status_t open_or_go_on(tseed_state_t *state, int *version)
{
    tseed_database_t *db = &state->db;

    if (tseed_file_is_away(db->path, state->scratch)) {
        return tseed_database_fail(db, TSEED_EDAMAGED, "%s: damaged, and not replaced so far",
                                   db->path);
    }
    return open_file(state, version);
}

static apr_status_t open_locked(tseed_state_t *state)
{
    int version = 0;
    apr_status_t rv = open_or_go_on(state, &version);

    if (rv == TSEED_EDAMAGED) {
        rv = replace_damaged(state, &version);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_prepare(&state->db);
    }
    if (rv == APR_SUCCESS) {
        rv = settle_ids(state, version);
    }
    if (rv == APR_SUCCESS) {
        tseed_database_know_log(&state->db);
    }
    return rv;
}

static apr_status_t connect_anew(tseed_state_t *state)
{
    tseed_database_t *db = &state->db;
    int lock;
    apr_status_t rv;

    db->lost = 1; /* until it is done */
    rv = tseed_file_lock(&lock, db->path, state->scratch);
    if (rv != APR_SUCCESS) {
        return tseed_database_fail(db, rv, "the directory of %s can't be opened and locked",
                                   db->path);
    }
    rv = tseed_database_rescue_log(db, state->scratch);
    if (rv == APR_SUCCESS) {
        tseed_database_disconnect(db);
        rv = open_locked(state);
        if (rv != APR_SUCCESS) {
            tseed_database_disconnect(db);
        }
    }
    tseed_file_unlock(lock);
    return rv;
}

apr_status_t tseed_work_ready(tseed_state_t *state)
{
    tseed_database_t *db = &state->db;

    if (db->handle && !db->lost && tseed_database_check_file(db) == APR_SUCCESS) {
        return APR_SUCCESS;
    }
    return connect_anew(state);
}

apr_status_t tseed_work_look_through(tseed_state_t *state)
{
    apr_status_t rv = tseed_work_ready(state);

    return rv == APR_SUCCESS ? check_integrity(state) : rv;
}

apr_status_t tseed_work_check(tseed_state_t *state)
{
    apr_status_t rv = tseed_work_ready(state);

    if (rv == APR_SUCCESS && check_integrity(state) == TSEED_EDAMAGED) {
        state->db.suspect = 1; /* looked at again under the lock */
        rv = connect_anew(state);
    }
    return rv;
}

/* ---- carrying out ---- */

/* Each try waits for a while itself. */
static apr_status_t begin_patiently(tseed_database_t *db)
{
    const apr_time_t until = tseed_clock_monotonic() + LOCK_PATIENCE;
    apr_status_t rv;

    do {
        rv = tseed_database_begin(db);
    } while (rv == EBUSY && tseed_clock_monotonic() < until);
    return rv;
}

static apr_status_t write_once(tseed_state_t *state, tseed_work_t *work, void *baton)
{
    apr_status_t rv = begin_patiently(&state->db);

    if (rv == APR_SUCCESS) {
        rv = work(state, baton);
    }
    if (rv == APR_SUCCESS) {
        return tseed_database_commit(&state->db);
    }
    tseed_database_rollback(&state->db);
    return rv;
}

static apr_status_t read_once(tseed_state_t *state, tseed_work_t *work, void *baton)
{
    return work(state, baton);
}

typedef apr_status_t once_t(tseed_state_t *state, tseed_work_t *work, void *baton);

static apr_status_t carry_out(tseed_state_t *state, once_t *once, tseed_work_t *work, void *baton)
{
    apr_status_t rv = APR_SUCCESS;

    apr_pool_clear(state->scratch);
    if (state->db.in_transaction) {
        return work(state, baton); /* its commit says whether the connection was lost */
    }
    state->db.is_uncertain = 0;
    for (int i = 0; i < TRIES; i++) {
        rv = tseed_work_ready(state);
        if (rv == APR_SUCCESS) {
            rv = once(state, work, baton);
        }
        if (rv == APR_SUCCESS || !state->db.lost) {
            break;
        }
    }
    return rv != APR_SUCCESS && state->db.is_uncertain ? APR_INCOMPLETE : rv;
}

apr_status_t tseed_work_write(tseed_state_t *state, tseed_work_t *work, void *baton)
{
    return carry_out(state, write_once, work, baton);
}

apr_status_t tseed_work_read(tseed_state_t *state, tseed_work_t *work, void *baton)
{
    return carry_out(state, read_once, work, baton);
}

/* ---- shared pieces of work ---- */

apr_status_t tseed_work_number(tseed_state_t *state, int64_t *number, tseed_sql_t sql,
                               const void *const *args)
{
    tseed_rows_t rows;
    apr_status_t rv = tseed_database_select(&rows, &state->db, sql, args, state->scratch);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (!tseed_rows_next(&rows)) {
        return APR_NOTFOUND;
    }
    *number = tseed_rows_int64(&rows);
    return APR_SUCCESS;
}

/* Another process may have moved the mark on; inserts take turns, so nobody moves it at the same
 * time. */
static apr_status_t raise_mark(tseed_state_t *state, int64_t id)
{
    tseed_mark_t mark;
    apr_status_t rv = tseed_mark_load(&mark, state->db.path, state->scratch);

    if (rv != APR_SUCCESS) {
        return mark_failed(state, rv, "read");
    }
    if (mark.id < id) {
        return save_mark(state, id);
    }
    state->mark = mark.id;
    return APR_SUCCESS;
}

apr_status_t tseed_work_next_id(tseed_state_t *state, int64_t *id, int64_t most)
{
    int64_t unfinished = 0;
    apr_status_t rv = tseed_work_number(state, &unfinished, TSEED_SQL_TASKS_COUNT, NULL);

    if (rv == APR_SUCCESS && unfinished >= most) {
        return tseed_database_fail(&state->db, APR_EAGAIN,
                                   "%" APR_INT64_T_FMT " tasks are unfinished", unfinished);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_work_number(state, id, TSEED_SQL_ID_NEXT, NULL);
    }
    if (rv == APR_SUCCESS && *id > state->mark) {
        rv = raise_mark(state, *id);
    }
    return rv;
}
