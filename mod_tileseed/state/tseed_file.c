/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The database's file and what lies beside it. */
#include "state/tseed_file.h"

#include <apr_strings.h>
#include <apr_time.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/tseed_text.h"

#define LOCK_TRIES 1000  /* tries … */
#define LOCK_PAUSE 10000 /* … and microseconds between them */

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

/* ---- lock ---- */

apr_status_t tseed_file_lock(int *lock, const char *path, apr_pool_t *pool)
{
    *lock = open(directory_of(path, pool), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

void tseed_file_unlock(int lock)
{
    close(lock);
}

/* ---- the file ---- */

apr_status_t tseed_file_make(const char *path, apr_pool_t *pool)
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

int tseed_file_is_away(const char *path, apr_pool_t *pool)
{
    return !is_there(path) && is_there(rescue_path(path, pool));
}

/* The database first, and on the disk: one without its log would pass for whole. */
apr_status_t tseed_file_move_away(const char **rescue, const char *path, apr_pool_t *pool)
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

apr_status_t tseed_file_replace(const char **aside, const char *path, const char *fresh,
                                apr_pool_t *pool)
{
    apr_status_t rv = rename(fresh, path) == 0 ? sync_directory(directory_of(path, pool)) : errno;

    return rv == APR_SUCCESS ? set_aside(aside, path, pool) : rv;
}

void tseed_file_remove(const char *path, apr_pool_t *pool)
{
    unlink(path);
    unlink(apr_pstrcat(pool, path, "-wal", NULL));
    unlink(apr_pstrcat(pool, path, "-shm", NULL));
}

int tseed_file_has_room(const char *path)
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

int tseed_file_obstacle(char *text, size_t size, const char *path)
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

int tseed_file_is_on_readonly(const char *path)
{
    struct statvfs space;

    return statvfs(path, &space) == 0 && (space.f_flag & ST_RDONLY);
}

/* ---- the mark ---- */

static const char *mark_path(const char *path, apr_pool_t *pool)
{
    return apr_pstrcat(pool, directory_of(path, pool), "tileseed.ids", NULL);
}

apr_status_t tseed_mark_load(tseed_mark_t *mark, const char *path, apr_pool_t *pool)
{
    FILE *file = fopen(mark_path(path, pool), "re");
    long long id;
    unsigned long long inode;

    *mark = (tseed_mark_t){0, 0};
    if (!file) {
        return errno == ENOENT ? APR_SUCCESS : errno;
    }
    if (fscanf(file, "%lld %llu", &id, &inode) == 2 && id >= 0) {
        *mark = (tseed_mark_t){id, inode};
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

apr_status_t tseed_mark_save(const tseed_mark_t *mark, const char *path, apr_pool_t *pool)
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
