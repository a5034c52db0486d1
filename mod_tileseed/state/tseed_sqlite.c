/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* SQLite's part of a connection.
 *
 * The error codes of apr_dbd's driver for SQLite can't be trusted. The driver prepares statements
 * in SQLite's old way, in which most failures of a step are the general SQLITE_ERROR. A locked
 * database, too, ends in SQLITE_ERROR when rows are read, after the driver has tried 16 times,
 * 100 ms apart. SQLite's words are exact, and SQLite never translates them. So this file tells
 * errors apart by SQLite's words, and a test holds the words that matter.
 *
 * One process at a time makes, opens, migrates or replaces a database: it holds the opening lock.
 */
#include "state/tseed_sqlite.h"

#include <apr_strings.h>
#include <apr_time.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "state/tseed_schema.h"
#include "state/tseed_sqlite_salvage.h"

/* Advice on what can't be opened or written. */
#define NEEDS                                                                                      \
    "; httpd's User must be able to write to the state directory and what is in it, on a file "    \
    "system that is mounted for writing"

#define FILE_NAME  "tileseed.db"
#define LOCK_TRIES 1000  /* tries … */
#define LOCK_PAUSE 10000 /* … and microseconds between them */

/* Whether the file system takes another page beside `path`; 0 when it is full or a quota is used
 * up. */
static int file_has_room(const char *path)
{
    static const char page[4096] = "room?";
    char directory[PATH_MAX];
    int file, has_room = 1;

    apr_cpystrn(directory, path, (apr_size_t)(strrchr(path, '/') - path) + 2);
    file = open(directory, O_WRONLY | O_TMPFILE | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0 || write(file, page, sizeof(page)) < 0) {
        has_room = errno != ENOSPC && errno != EDQUOT;
    }
    if (file >= 0) {
        close(file);
    }
    return has_room;
}

static int is_forbidden(char *text, size_t size, const char *path)
{
    struct stat st;

    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 || errno != EACCES ||
        stat(path, &st) != 0) {
        return 0;
    }
    tseed_text_say(text, size,
                   "%s belongs to uid %u and has the mode %04o, so that httpd's User (uid %u) may "
                   "not write to it",
                   path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777, (unsigned)geteuid());
    return 1;
}

/* Finds a file of the database, or its directory, whose owner and mode keep this process from
 * writing to it. Says which as a clause in `text` (at least 4 bytes). Returns 0 if there is none.
 */
static int file_obstacle(char *text, size_t size, const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", NULL};
    char part[PATH_MAX];

    for (int i = 0; suffixes[i]; i++) {
        apr_snprintf(part, sizeof(part), "%s%s", path, suffixes[i]);
        if (is_forbidden(text, size, part)) {
            return 1;
        }
    }
    apr_cpystrn(part, path, (apr_size_t)(strrchr(path, '/') - path) + 2);
    return is_forbidden(text, size, part);
}

/* Whether the file system takes no writes at all. */
static int file_is_on_readonly(const char *path)
{
    struct statvfs space;

    return statvfs(path, &space) == 0 && (space.f_flag & ST_RDONLY);
}

/* ---- failures ---- */

static const tseed_driver_failure_t failures[] = {
    {"database or disk is full", ENOSPC, ""},                   /* SQLITE_FULL */
    {"is locked", EBUSY, ""},                                   /* SQLITE_BUSY, SQLITE_LOCKED */
    {"locking protocol", EBUSY, ""},                            /* SQLITE_PROTOCOL */
    {"malformed", TSEED_EDAMAGED, ""},                          /* SQLITE_CORRUPT */
    {"not a database", TSEED_EDAMAGED, ""},                     /* SQLITE_NOTADB */
    {"schema has changed", TSEED_ESTALE, ""},                   /* SQLITE_SCHEMA */
    {"not an error", TSEED_ESTALE, ""},                         /* the same, changed by us */
    {"readonly database", EROFS, NEEDS},                        /* SQLITE_READONLY */
    {"unable to open", EACCES, NEEDS},                          /* SQLITE_CANTOPEN */
    {"disk I/O error", EIO, "; the kernel's log may say more"}, /* SQLITE_IOERR */
    {"", APR_EGENERAL, ""},
};

/* SQLite calls it an I/O error when a sync or its shared index finds no room, and when a quota of
 * the file system is used up. */
static int is_disk_full(const char *path)
{
    struct statvfs space;

    return (statvfs(path, &space) == 0 && space.f_bavail == 0) || !file_has_room(path);
}

/* SQLite says "readonly" of a file system, and of a file that we may not write to. */
static apr_status_t may_not_write(tseed_database_t *db, const char *words,
                                  const tseed_driver_failure_t *failure)
{
    char why[TSEED_DATABASE_ERROR_SIZE];

    if (file_obstacle(why, sizeof(why), db->path)) {
        return tseed_database_fail(db, EACCES, "%s: %s", words, why);
    }
    return tseed_database_fail(db, file_is_on_readonly(db->path) ? EROFS : EACCES, "%s: %s%s",
                               db->path, words, failure->advice);
}

/* Remembers a failure by SQLite's words and returns its status. */
static apr_status_t note_failure(tseed_database_t *db, const char *words)
{
    const tseed_driver_failure_t *failure = tseed_driver_failure_of(failures, words);
    apr_status_t rv = failure->rv;

    if (rv == EIO && is_disk_full(db->path)) {
        return tseed_database_fail(db, ENOSPC, "%s: %s: no space is left, or a quota is used up",
                                   db->path, words);
    }
    if (rv == TSEED_ESTALE || rv == TSEED_EDAMAGED || rv == EROFS) {
        db->lost = 1; /* what SQLite could open for reading only stays so when modes change */
        db->suspect = db->suspect || rv == TSEED_EDAMAGED;
    }
    if (rv == EROFS || rv == EACCES) {
        return may_not_write(db, words, failure);
    }
    return tseed_database_fail(db, rv, "%s: %s%s", db->path, words, failure->advice);
}

/* ---- connection ---- */

/* Opens db->path, which must exist, for this session. Nothing is prepared yet. */
static apr_status_t connect_file(tseed_database_t *db)
{
    struct stat file;
    apr_status_t rv;

    if (stat(db->path, &file) != 0) {
        return tseed_database_fail(db, errno, "%s: can't be looked at", db->path);
    }
    db->device = file.st_dev;
    db->inode = file.st_ino;
    db->log_inode = 0;
    rv = tseed_database_connect(db);
    if (rv == APR_SUCCESS) {
        db->log_path = apr_pstrcat(db->pool, db->path, "-wal", NULL);
        rv = tseed_sqlite_check_file(db); /* what was opened is what was looked at */
    }
    return rv;
}

/* Readers and the writer don't wait for each other in WAL mode, which the file remembers. */
static apr_status_t use_wal(tseed_database_t *db)
{
    const char *mode;
    apr_status_t rv = tseed_database_ask(db, &mode, "PRAGMA journal_mode = WAL", db->scratch);

    if (rv == APR_SUCCESS && (!mode || strcmp(mode, "wal") != 0)) {
        rv =
            tseed_database_fail(db, APR_ENOTIMPL,
                                "%s: write-ahead logging is not possible here; the state directory "
                                "must lie on a local file system",
                                db->path);
    }
    return rv;
}

/* Looks which file is the log, after the first read has made it. */
static void know_log(tseed_database_t *db)
{
    struct stat log;

    db->log_inode = stat(db->log_path, &log) == 0 ? log.st_ino : 0;
}

static int is_file_ours(const tseed_database_t *db)
{
    struct stat file;

    return stat(db->path, &file) == 0 && file.st_dev == db->device && file.st_ino == db->inode;
}

static int is_log_ours(const tseed_database_t *db)
{
    struct stat log;

    return db->log_inode == 0 || (stat(db->log_path, &log) == 0 && log.st_ino == db->log_inode);
}

apr_status_t tseed_sqlite_check_file(tseed_database_t *db)
{
    const char *path = db->path;

    if (is_file_ours(db)) {
        if (is_log_ours(db)) {
            return APR_SUCCESS;
        }
        path = db->log_path;
    }
    db->lost = 1;
    return tseed_database_fail(db, TSEED_ESTALE, "%s: was replaced or removed while it was in use",
                               path);
}

int64_t tseed_sqlite_log_size(const tseed_database_t *db)
{
    struct stat log;

    return stat(db->log_path, &log) == 0 ? (int64_t)log.st_size : 0;
}

/* A new log that holds something was begun by a process that had brought in the old one. This
 * connection knows the old one alone and must not read with the new one's index. */
static int has_new_log(const tseed_database_t *db)
{
    return tseed_sqlite_log_size(db) > 0;
}

/* The log alone was removed or replaced: brings the part of the log that this connection still sees
 * into the database. APR_EBUSY while somebody else is reading. */
static apr_status_t rescue_log(tseed_database_t *db)
{
    apr_status_t rv;

    if (!db->handle || db->suspect || !is_file_ours(db) || is_log_ours(db) || has_new_log(db)) {
        return APR_SUCCESS;
    }
    rv = tseed_sqlite_finish(db);
    if (rv == APR_SUCCESS) {
        tseed_log(
            TSEED_LOG_WARNING, APR_SUCCESS,
            "TS0046: %s was removed while the database was in use; what it held is in the database "
            "now, nothing is lost",
            db->log_path);
        db->log_inode = 0;
    }
    return rv;
}

/* ---- commit ---- */

/* A commit whose sync failed has written its pages behind the valid end of the log. If all
 * processes died now, the process that opens the log next would take these pages for committed.
 * Another commit overwrites them and makes them void. That commit must change something, or SQLite
 * writes nothing. */
static int annul(tseed_database_t *db)
{
    char error[sizeof(db->error)];
    int done;

    memcpy(error, db->error, sizeof(error));
    done = tseed_database_execute(db, "INSERT INTO meta (name, value) VALUES ('failed_commits', 1)"
                                      " ON CONFLICT (name) DO UPDATE SET value = meta.value + 1") ==
           APR_SUCCESS;
    memcpy(db->error, error, sizeof(error));
    return done;
}

/* The log was removed after the check: the commit is safe when the database has it. Another file in
 * the place of the database: the one that was changed may come back. */
static apr_status_t check_committed(tseed_database_t *db)
{
    apr_status_t rv = tseed_sqlite_check_file(db);

    if (rv != APR_SUCCESS && is_file_ours(db)) {
        rv = rescue_log(db);
    }
    db->is_uncertain = rv != APR_SUCCESS;
    return rv;
}

/* Checks the file before and after, because an insert into a file that was removed would succeed
 * and be lost. A commit that failed is made void in the log; when that fails as well, is_uncertain
 * is set. */
static apr_status_t commit(tseed_database_t *db)
{
    apr_status_t rv = tseed_sqlite_check_file(db);

    if (rv != APR_SUCCESS) {
        tseed_database_rollback(db);
        return rv;
    }
    rv = tseed_database_execute(db, "COMMIT");
    if (rv != APR_SUCCESS) {
        tseed_database_rollback(db);
        db->is_uncertain = rv == EIO && !annul(db); /* a full disk takes no whole commit */
        return rv;
    }
    db->in_transaction = 0;
    return check_committed(db);
}

/* ---- lock ---- */

/* Takes the lock under which the file is made, opened, migrated and set aside; waits for at most
 * ten seconds (APR_EBUSY). Returns a descriptor in *lock, to be closed. */
static apr_status_t take_lock(int *lock, const char *path, apr_pool_t *pool)
{
    const char *directory = apr_pstrmemdup(pool, path, (apr_size_t)(strrchr(path, '/') - path) + 1);

    *lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0) {
        return errno;
    }
    for (int tries = 0; flock(*lock, LOCK_EX | LOCK_NB) != 0; tries++) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || tries == LOCK_TRIES) {
            apr_status_t rv = errno == EWOULDBLOCK ? EBUSY : errno;

            close(*lock);
            return rv;
        }
        apr_sleep(LOCK_PAUSE);
    }
    return APR_SUCCESS;
}

/* ---- opening ---- */

apr_status_t tseed_sqlite_look_through(tseed_database_t *db)
{
    const char *verdict;
    apr_status_t rv = tseed_database_ask(db, &verdict, "PRAGMA quick_check(1)", db->scratch);

    if (rv == APR_SUCCESS && (!verdict || strcmp(verdict, "ok") != 0)) {
        rv = tseed_database_fail(db, TSEED_EDAMAGED, "%s: damaged: %s", db->path,
                                 verdict ? verdict : "it can't be checked");
    }
    return rv;
}

/* Makes an empty file of mode 0600 unless there is one. Under the lock. */
static apr_status_t make_file(const char *path, apr_pool_t *pool)
{
    /* an existing file is not even opened: closing it would drop SQLite's locks in this process */
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);

    if (file < 0) {
        return errno == EEXIST ? APR_SUCCESS : errno;
    }
    close(file);
    /* what an earlier file of this name left behind belongs to that one alone */
    unlink(apr_pstrcat(pool, path, "-wal", NULL));
    unlink(apr_pstrcat(pool, path, "-shm", NULL));
    return APR_SUCCESS;
}

/* Nothing is prepared yet. *version: of the schema it had, 0 when it was empty. */
static apr_status_t open_file(tseed_database_t *db, int *version)
{
    apr_status_t rv = make_file(db->path, db->scratch);

    if (rv != APR_SUCCESS) {
        return tseed_database_fail(db, rv, "%s: can't be made" NEEDS, db->path);
    }
    rv = connect_file(db);
    if (rv == APR_SUCCESS && db->suspect) {
        rv = tseed_sqlite_look_through(db);
    }
    if (rv == APR_SUCCESS) {
        db->suspect = 0;
        rv = tseed_schema_version(db, version, db->scratch);
    }
    if (rv == APR_SUCCESS) {
        rv = use_wal(db);
    }
    return rv == APR_SUCCESS ? tseed_schema_migrate(db, *version, db->scratch) : rv;
}

static apr_status_t open_or_go_on(tseed_database_t *db, int *version)
{
    if (tseed_sqlite_is_away(db)) {
        return tseed_database_fail(db, TSEED_EDAMAGED, "%s: damaged, and not replaced so far",
                                   db->path);
    }
    return open_file(db, version);
}

static apr_status_t open_locked(tseed_database_t *db)
{
    int version = 0;
    apr_status_t rv = open_or_go_on(db, &version);

    if (rv == TSEED_EDAMAGED) {
        rv = tseed_sqlite_salvage(db, open_file, &version);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_sqlite_settle_ids(db, version);
    }
    if (rv == APR_SUCCESS) {
        know_log(db);
    }
    return rv;
}

/* Opens the file, or opens it anew, under the opening lock. Fails with the system's status when the
 * file can't be made, read or written. */
static apr_status_t open_database(tseed_database_t *db)
{
    int lock;
    apr_status_t rv;

    db->lost = 1; /* until it is done */
    rv = take_lock(&lock, db->path, db->scratch);
    if (rv != APR_SUCCESS) {
        return tseed_database_fail(db, rv, "the directory of %s can't be opened and locked",
                                   db->path);
    }
    rv = rescue_log(db);
    if (rv == APR_SUCCESS) {
        tseed_database_disconnect(db);
        rv = open_locked(db);
        if (rv != APR_SUCCESS) {
            tseed_database_disconnect(db);
        }
    }
    close(lock);
    return rv;
}

apr_status_t tseed_sqlite_replace(tseed_database_t *db)
{
    if (tseed_sqlite_look_through(db) != TSEED_EDAMAGED) {
        return APR_SUCCESS;
    }
    db->suspect = 1; /* looked at again under the lock */
    return open_database(db);
}

/* ---- the dialect ---- */

/* synchronous=FULL syncs the log at each commit. The driver waits for locks by itself, 16 times,
 * but not while it prepares a statement. The first statement of a connection reads the schema. At
 * that time the process that opened the file first may be reading the log, which takes
 * milliseconds. SQLite's busy timeout outlasts them; it is set before anything else reads the
 * file. */
static const char *const session[] = {"PRAGMA busy_timeout = 100", "PRAGMA synchronous = FULL",
                                      NULL};
static const char *const nothing[] = {NULL};

static const char *path_of(tseed_database_t *db, const char *dir, const char *params)
{
    const char *name = params && *params ? params : FILE_NAME;

    db->name = *name == '/' ? apr_pstrdup(db->parent, name)
                            : apr_pstrcat(db->parent, dir, "/", name, NULL);
    return db->name;
}

const tseed_sql_dialect_t tseed_sqlite_dialect = {
    .driver = "sqlite3",
    .package = "libaprutil1-dbd-sqlite3",
    .session = session,
    .begin = "BEGIN IMMEDIATE",
    .tables = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'meta'",
    .migrates = nothing,
    .patience = nothing,
    .has_file = 1,
    .tries = 2,
    .params = path_of,
    .open = open_database,
    .check = tseed_sqlite_check_file,
    .commit = commit,
    .failed = note_failure,
};
