/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What outlives SQLite's file: the ids that were given out, and the rows of a damaged one. */
#include "state/tseed_sqlite_salvage.h"

#include <apr_strings.h>
#include <apr_time.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_log.h"

#define ID_STEP 1000

static const char *directory_of(const char *path, apr_pool_t *pool)
{
    const char *slash = strrchr(path, '/');

    return slash ? apr_pstrmemdup(pool, path, (apr_size_t)(slash - path) + 1) : "./";
}

static apr_status_t sync_directory(const char *path)
{
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    apr_status_t rv = APR_SUCCESS;

    if (directory < 0 || fsync(directory) != 0) {
        rv = errno;
    }
    if (directory >= 0) {
        close(directory);
    }
    return rv;
}

/* ---- the mark ---- */

/* The mark and the inode of the database it was written for; both 0 when there is none yet or it
 * can't be understood. */
typedef struct {
    int64_t id;
    uint64_t inode;
} mark_t;

static const char *mark_path(const char *path, apr_pool_t *pool)
{
    return apr_pstrcat(pool, directory_of(path, pool), "tileseed.ids", NULL);
}

/* Reads the mark of the database at `path`. */
static apr_status_t mark_load(mark_t *mark, const char *path, apr_pool_t *pool)
{
    FILE *file = fopen(mark_path(path, pool), "re");
    long long id;
    unsigned long long inode;

    *mark = (mark_t){0, 0};
    if (!file) {
        return errno == ENOENT ? APR_SUCCESS : errno;
    }
    if (fscanf(file, "%lld %llu", &id, &inode) == 2 && id >= 0) {
        *mark = (mark_t){id, inode};
    }
    fclose(file);
    return APR_SUCCESS;
}

static apr_status_t write_synced(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    size_t length = strlen(text);
    apr_status_t rv = APR_SUCCESS;
    ssize_t written;

    if (file < 0) {
        return errno;
    }
    written = write(file, text, length);
    if (written != (ssize_t)length) {
        rv = written < 0 ? errno : ENOSPC;
    } else if (fsync(file) != 0) {
        rv = errno;
    }
    if (close(file) != 0 && rv == APR_SUCCESS) {
        rv = errno;
    }
    return rv;
}

/* Replaces the mark; it is on the disk when this returns APR_SUCCESS. */
static apr_status_t mark_save(const mark_t *mark, const char *path, apr_pool_t *pool)
{
    const char *target = mark_path(path, pool);
    const char *beside = apr_pstrcat(pool, target, ".new", NULL);
    const char *text =
        apr_psprintf(pool, "%" APR_INT64_T_FMT " %" APR_UINT64_T_FMT "\n", mark->id, mark->inode);
    apr_status_t rv = write_synced(beside, text);

    if (rv == APR_SUCCESS && rename(beside, target) != 0) {
        rv = errno;
    }
    if (rv == APR_SUCCESS) {
        rv = sync_directory(directory_of(path, pool));
    }
    return rv == EDQUOT ? ENOSPC : rv;
}

static apr_status_t mark_failed(tseed_database_t *db, apr_status_t rv, const char *what)
{
    return tseed_database_fail(db, rv, "the file tileseed.ids beside %s can't be %s", db->path,
                               what);
}

/* Moves the mark on, ahead of `id`. */
static apr_status_t save_mark(tseed_database_t *db, int64_t id)
{
    mark_t mark = {id + ID_STEP, db->inode};
    apr_status_t rv = mark_save(&mark, db->path, db->scratch);

    if (rv != APR_SUCCESS) {
        return mark_failed(db, rv, "written");
    }
    db->mark = mark.id;
    return APR_SUCCESS;
}

/* The mark is of a database that was there. */
static void say_other(const tseed_database_t *db, int version, const mark_t *mark)
{
    if (version == 0 && mark->id > 0) {
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0100: the state database %s was removed; a fresh one has none of its tasks. "
                  "The disk quota that is in force stays, and what the cache holds is counted "
                  "again; post again the requests whose tasks had not ended",
                  db->path);
    } else if (mark->inode && mark->inode != db->inode) {
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "TS0102: the state database %s is another file than before: what it says of the "
                  "cache is looked at again",
                  db->path);
    }
}

/* The mark may have been written for another file than this one, which is fresh or from a backup.
 * Such a file may lack ids that were given out: its ids go on from the mark; when the mark is gone
 * too, from the last id that this process knows. Its rows about the cache may be long out of date:
 * all levels are put in doubt, and the origins of all tiles are forgotten. */
apr_status_t tseed_sqlite_settle_ids(tseed_database_t *db, int version)
{
    mark_t mark;
    int64_t id = 0;
    apr_status_t rv = tseed_database_number(db, &id, TSEED_SQL_ID_GET, NULL, db->scratch);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = mark_load(&mark, db->path, db->scratch);
    if (rv != APR_SUCCESS) {
        return mark_failed(db, rv, "read");
    }
    if (version > 0 && mark.inode == db->inode && mark.id >= db->mark && mark.id >= id &&
        mark.id - id <= ID_STEP) {
        db->mark = mark.id;
        return APR_SUCCESS;
    }
    say_other(db, version, &mark);
    id = id > mark.id ? id : mark.id;
    id = id > db->mark ? id : db->mark;
    rv = tseed_database_change(db, NULL, TSEED_SQL_ID_SET, (const void *[]){&id});
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(db, NULL, TSEED_SQL_ORIGINS_DELETE_ALL, NULL);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_database_change(db, NULL, TSEED_SQL_TILESETS_DOUBT, NULL);
    }
    return rv == APR_SUCCESS ? save_mark(db, id) : rv;
}

/* Another process may have moved the mark on; inserts take turns, so nobody moves it at the same
 * time. */
apr_status_t tseed_sqlite_raise_mark(tseed_database_t *db, int64_t id)
{
    mark_t mark;
    apr_status_t rv;

    if (id <= db->mark) {
        return APR_SUCCESS;
    }
    rv = mark_load(&mark, db->path, db->scratch);
    if (rv != APR_SUCCESS) {
        return mark_failed(db, rv, "read");
    }
    if (mark.id < id) {
        return save_mark(db, id);
    }
    db->mark = mark.id;
    return APR_SUCCESS;
}

/* ---- the file set aside ---- */

static const char *damaged_name(const char *path, apr_pool_t *pool)
{
    apr_time_exp_t now;

    apr_time_exp_gmt(&now, apr_time_now());
    return apr_psprintf(pool, "%s.damaged-%04d%02d%02dT%02d%02d%02d.%06dZ", path,
                        now.tm_year + 1900, now.tm_mon + 1, now.tm_mday, now.tm_hour, now.tm_min,
                        now.tm_sec, now.tm_usec);
}

static const char *rescue_path(const char *path, apr_pool_t *pool)
{
    return apr_pstrcat(pool, path, ".rescue", NULL);
}

static int is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static apr_status_t move_if_there(const char *path, const char *target)
{
    return rename(path, target) == 0 || errno == ENOENT ? APR_SUCCESS : errno;
}

/* The log alone; the index, which other processes may have in use still, must not become that of
 * another database. */
static apr_status_t move_log(const char *path, const char *target, apr_pool_t *pool)
{
    unlink(apr_pstrcat(pool, path, "-shm", NULL));
    return move_if_there(apr_pstrcat(pool, path, "-wal", NULL),
                         apr_pstrcat(pool, target, "-wal", NULL));
}

static apr_status_t set_aside(const char **aside, const char *path, apr_pool_t *pool)
{
    const char *rescue = rescue_path(path, pool);
    apr_status_t rv;

    *aside = damaged_name(path, pool);
    rv = move_log(rescue, *aside, pool);
    return rv == APR_SUCCESS ? move_if_there(rescue, *aside) : rv;
}

int tseed_sqlite_is_away(const tseed_database_t *db)
{
    return !is_there(db->path) && is_there(rescue_path(db->path, db->scratch));
}

/* A damaged database is replaced in two steps, each under the lock, while this process does not
 * have the database open. If the process dies or the power fails after the first step, the next
 * process finds the database away and nothing in its place, and does both steps again.  The first
 * step moves the database and its log away, to *rescue. A process that commits to it meanwhile sees
 * after its commit that the file is another, and does not take the commit for done. The database
 * first, and on the disk: one without its log would pass for whole. */
static apr_status_t move_away(const char **rescue, const char *path, apr_pool_t *pool)
{
    const char *directory = directory_of(path, pool), *left;
    apr_status_t rv = APR_SUCCESS;

    *rescue = rescue_path(path, pool);
    if (is_there(path)) {
        rv = set_aside(&left, path, pool); /* of a replacement that ended just before its end */
        if (rv == APR_SUCCESS && rename(path, *rescue) != 0) {
            rv = errno;
        }
        if (rv == APR_SUCCESS) {
            rv = sync_directory(directory);
        }
    }
    if (rv == APR_SUCCESS) {
        rv = move_log(path, *rescue, pool);
    }
    return rv == APR_SUCCESS ? sync_directory(directory) : rv;
}

/* The second step puts the closed database `fresh` in its place and keeps the damaged one as
 * *aside. */
static apr_status_t put_in_place(const char **aside, const char *path, const char *fresh,
                                 apr_pool_t *pool)
{
    apr_status_t rv = rename(fresh, path) == 0 ? sync_directory(directory_of(path, pool)) : errno;

    return rv == APR_SUCCESS ? set_aside(aside, path, pool) : rv;
}

/* Removes a database and what SQLite has beside it, if it is there. */
static void remove_files(const char *path, apr_pool_t *pool)
{
    unlink(path);
    unlink(apr_pstrcat(pool, path, "-wal", NULL));
    unlink(apr_pstrcat(pool, path, "-shm", NULL));
}

/* ---- salvage ---- */

/* Salvage: copies the rows of a damaged database that can still be read.
 *
 * SQLite attaches the damaged file to the fresh one. Tasks are copied by ranges of row numbers,
 * which need no index and never exceed the ids. A range that can't be read is halved, until only
 * the damaged rows are left. Any other table is copied whole or not at all. Each copy is a
 * transaction of its own, because within a transaction SQLite refuses everything after the first
 * damage. Only SQLite needs this, so the SQL here is SQLite's. An earlier version may have written
 * the damaged file: the columns that both versions have are copied, and the others get the values
 * that a migration gives them.
 */

#define TRIES 4096 /* statements; each damaged row costs about as many as its id has bits */

/* Rows that hold nonsense are left behind. */
#define SOUND "state BETWEEN -1 AND 2 AND type BETWEEN 0 AND 2 AND tiles_total >= 0"

typedef struct {
    tseed_database_t *db;
    apr_pool_t *scratch; /* cleared by each statement */
    const char *columns; /* of the tasks */
    int tries;
} salvage_t;

/* Whether a failure is not the damaged file's: what it kept from being copied must be tried again.
 */
static int is_ours(apr_status_t rv)
{
    return rv == ENOSPC || rv == EBUSY;
}

/* The columns that a table has in both files; NULL when the damaged one has no such table, or does
 * not tell. */
static const char *columns_of(tseed_database_t *db, const char *table, apr_pool_t *pool)
{
    const char *columns;
    const char *sql =
        apr_psprintf(pool,
                     "SELECT group_concat(name, ', ') FROM pragma_table_info('%s', 'damaged')"
                     " WHERE name IN (SELECT name FROM pragma_table_info('%s', 'main'))",
                     table, table);

    if (tseed_database_ask(db, &columns, sql, pool) != APR_SUCCESS || !columns || !*columns) {
        return NULL;
    }
    return columns;
}

static apr_status_t copy_tasks(salvage_t *salvage, int64_t first, int64_t last)
{
    int64_t middle = first + (last - first) / 2;
    apr_status_t rv;

    if (first > last || salvage->tries++ >= TRIES) {
        return APR_SUCCESS;
    }
    apr_pool_clear(salvage->scratch);
    rv = tseed_database_execute(
        salvage->db, apr_psprintf(salvage->scratch,
                                  "INSERT OR IGNORE INTO task (%s) SELECT %s"
                                  " FROM damaged.task WHERE " SOUND
                                  " AND rowid BETWEEN %" APR_INT64_T_FMT " AND %" APR_INT64_T_FMT,
                                  salvage->columns, salvage->columns, first, last));
    if (rv == APR_SUCCESS || is_ours(rv) || first == last) {
        return is_ours(rv) ? rv : APR_SUCCESS;
    }
    rv = copy_tasks(salvage, first, middle);
    return rv == APR_SUCCESS ? copy_tasks(salvage, middle + 1, last) : rv;
}

/* Copies a whole table, or nothing of it. */
static apr_status_t copy_table(tseed_database_t *db, const char *table, apr_pool_t *scratch)
{
    const char *columns = columns_of(db, table, scratch);
    apr_status_t rv = APR_SUCCESS;

    if (columns) {
        rv = tseed_database_execute(
            db, apr_psprintf(scratch, "INSERT OR IGNORE INTO %s (%s) SELECT %s FROM damaged.%s",
                             table, columns, columns, table));
    }
    return is_ours(rv) ? rv : APR_SUCCESS;
}

static apr_status_t copy_all(salvage_t *salvage, int64_t last, apr_pool_t *scratch)
{
    static const char *const whole[] = {"quota", "metatile", "failure", "request", "measure"};
    apr_status_t rv = APR_SUCCESS;

    salvage->columns = columns_of(salvage->db, "task", scratch);
    if (salvage->columns) {
        rv = copy_tasks(salvage, 1, last);
    }
    for (size_t i = 0; rv == APR_SUCCESS && i < sizeof(whole) / sizeof(whole[0]); i++) {
        rv = copy_table(salvage->db, whole[i], scratch);
    }
    if (rv == APR_SUCCESS) { /* a request whose task is lost is made again */
        rv = tseed_database_execute(salvage->db,
                                    "DELETE FROM request WHERE task NOT IN (SELECT id FROM task)");
    }
    return rv;
}

static int count(tseed_database_t *db, const char *sql, apr_pool_t *scratch)
{
    const char *answer;

    return tseed_database_ask(db, &answer, sql, scratch) == APR_SUCCESS && answer ? atoi(answer)
                                                                                  : 0;
}

/* Copies tasks with row numbers up to `last`, the rows that belong to them, and the quota
 * configuration from the file `damaged`, of this version or an older one. *tasks and *quota say how
 * many were copied. Rows that can't be read are no failure. A full disk, a locked database, or a
 * file that can't be opened is a failure: then the damaged file must not be given up. */
static apr_status_t salvage_from(tseed_database_t *db, int *tasks, int *quota, const char *damaged,
                                 int64_t last, apr_pool_t *scratch)
{
    salvage_t salvage = {.db = db};
    const char *attach = apr_psprintf(scratch, "ATTACH DATABASE '%s' AS damaged",
                                      apr_dbd_escape(db->driver, scratch, damaged, db->handle));
    apr_status_t rv = tseed_database_execute(db, attach);

    apr_pool_create(&salvage.scratch, scratch);
    if (rv == APR_SUCCESS) {
        rv = copy_all(&salvage, last, scratch);
        tseed_database_execute(db, "DETACH DATABASE damaged");
    } else if (rv == TSEED_EDAMAGED) {
        rv = APR_SUCCESS; /* nothing of it can be read */
    }
    *tasks = count(db, "SELECT COUNT(*) FROM task", scratch);
    *quota = count(db, "SELECT COUNT(*) FROM quota", scratch);
    apr_pool_destroy(salvage.scratch);
    db->lost = db->suspect = 0; /* it was the damaged file that these failures were about */
    return rv;
}

/* ---- replacement ---- */

apr_status_t tseed_sqlite_finish(tseed_database_t *db)
{
    const char *blocked;
    apr_status_t rv =
        tseed_database_ask(db, &blocked, "PRAGMA wal_checkpoint(TRUNCATE)", db->scratch);

    return rv == APR_SUCCESS && (!blocked || strcmp(blocked, "0") != 0) ? EBUSY : rv;
}

/* Makes the database `fresh` with what can be read of the damaged one. */
static apr_status_t make_fresh(tseed_database_t *db, tseed_sqlite_open_t *open, const char *fresh,
                               const char *damaged, int *tasks, int *quota)
{
    const char *path = db->path;
    mark_t mark;
    int version;
    apr_status_t rv;

    remove_files(fresh, db->scratch);
    mark_load(&mark, path, db->scratch);
    db->path = fresh;
    rv = open(db, &version);
    if (rv == APR_SUCCESS) {
        rv =
            salvage_from(db, tasks, quota, damaged, mark.id > 0 ? mark.id : INT64_MAX, db->scratch);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_sqlite_finish(db);
    }
    tseed_database_disconnect(db);
    db->path = path;
    return rv;
}

/* Nobody writes to the damaged one any more once it was moved away; only then is it copied. A
 * process that dies meanwhile leaves it there, to be tried again. */
apr_status_t tseed_sqlite_salvage(tseed_database_t *db, tseed_sqlite_open_t *open, int *version)
{
    const char *why = apr_pstrdup(db->scratch, db->error), *damaged, *aside;
    const char *fresh = apr_pstrcat(db->scratch, db->path, ".new", NULL);
    int tasks = 0, quota = 0;
    apr_status_t rv;

    tseed_database_disconnect(db);
    db->suspect = 0;
    rv = move_away(&damaged, db->path, db->scratch);
    if (rv == APR_SUCCESS) {
        rv = make_fresh(db, open, fresh, damaged, &tasks, &quota);
    }
    if (rv == APR_SUCCESS) {
        rv = put_in_place(&aside, db->path, fresh, db->scratch);
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
    return open(db, version);
}
