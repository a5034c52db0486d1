/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Preloaded into a test's httpd: a clock that can be set, a disk that takes no more or is slow, a
 * worker that runs out of stack, a death in the middle of a truncate, and one in the middle of an
 * answer. What is to go wrong stands in a file that all processes map. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* As tileseed_httpd.py's Mischief writes it. */
typedef struct {
    _Atomic int64_t seconds;    /* that the wall clock is ahead */
    _Atomic int64_t full;       /* what a write below `directory` fails with; 0: it does not */
    _Atomic int64_t is_shallow; /* a file that gets its name below it takes all of the stack */
    _Atomic int64_t slow;       /* microseconds of what waits for a disk, below it */
    _Atomic int64_t is_deadly;  /* a level that was renamed away is the last thing a process did */
    _Atomic int64_t unsynced;   /* a syncfs below it: 1 waits until that is over, 2 fails */
    _Atomic int64_t linger;     /* more microseconds of a closedir, if directories lie in it */
    _Atomic int64_t answer;     /* bytes that a process writes to sockets before it dies; 0: all */
    _Atomic int64_t is_frozen;  /* below it no name can be changed; 2: and no file be emptied */
    _Atomic int64_t stale;      /* of how many calls below it that open a file one fails: ESTALE */
    _Atomic int64_t repeated;   /* of how many renames below it one is sent twice, as NFS may do */
    _Atomic int64_t hangs;      /* a write, unlink or flock below it waits: no answer */
    _Atomic int64_t naming;     /* microseconds of a link or a rename below it, as over a network */
    char directory[256];
} mischief_t;

static const mischief_t none;
static const mischief_t *mischief = &none;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("TILESEED_MISCHIEF");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (file >= 0) {
        mischief = mmap(NULL, sizeof(*mischief), PROT_READ, MAP_SHARED, file, 0);
        close(file);
    }
}

/* ---- places ---- */

static int is_below(int file)
{
    char link[64], path[256];
    ssize_t length;
    size_t top = strlen(mischief->directory);

    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof(path));
    return length >= (ssize_t)top && memcmp(path, mischief->directory, top) == 0;
}

/* ---- the clock ---- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long failed = syscall(SYS_clock_gettime, clock, now);

    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += mischief->seconds;
    }
    return (int)failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    long failed = syscall(SYS_gettimeofday, now, zone);

    if (!failed) {
        now->tv_sec += mischief->seconds;
    }
    return (int)failed;
}

time_t time(time_t *now)
{
    struct timespec read;

    clock_gettime(CLOCK_REALTIME, &read);
    if (now) {
        *now = read.tv_sec;
    }
    return read.tv_sec;
}

/* The kernel waits by its own clock. */
int pthread_mutex_timedlock(pthread_mutex_t *restrict lock, const struct timespec *restrict until)
{
    struct timespec true_until = {until->tv_sec - mischief->seconds, until->tv_nsec};

    return pthread_mutex_clocklock(lock, CLOCK_REALTIME, &true_until);
}

/* ---- the disk ---- */

static void await_server(int file)
{
    while (mischief->hangs && is_below(file)) {
        usleep(10000);
    }
}

int flock(int file, int how)
{
    await_server(file);
    return (int)syscall(SYS_flock, file, how);
}

/* Whether a write fails. First it waits as long as the disk does not answer. */
static int is_full(int file)
{
    await_server(file);
    if (!mischief->full || !is_below(file)) {
        return 0;
    }
    errno = (int)mischief->full;
    return 1;
}

static int is_socket(int file)
{
    struct stat st;

    return fstat(file, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Dies once it has written what it may. */
static void answer(int file, const void *bytes, size_t length)
{
    static _Atomic int64_t written;
    const int64_t left = mischief->answer - written;

    if ((int64_t)length >= left) {
        syscall(SYS_write, file, bytes, left);
        kill(getpid(), SIGKILL);
    }
    written += (int64_t)length;
}

ssize_t write(int file, const void *bytes, size_t length)
{
    if (mischief->answer && is_socket(file)) {
        answer(file, bytes, length);
    }
    return is_full(file) ? -1 : syscall(SYS_write, file, bytes, length);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off_t offset)
{
    return is_full(file) ? -1 : syscall(SYS_pwrite64, file, bytes, length, offset);
}

int syncfs(int file)
{
    while (mischief->unsynced == 1 && is_below(file)) {
        usleep(10000);
    }
    if (mischief->unsynced == 2 && is_below(file)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_syncfs, file);
}

/* ---- the stack ---- */

static int sink(volatile char *above)
{
    volatile char frame[4096];

    frame[0] = above ? above[0] : 0;
    return sink(frame) + frame[0];
}

/* ---- names ---- */

static int ends_with(int directory, const char *name)
{
    char link[64], path[256];
    ssize_t length, tail = (ssize_t)strlen(name);

    snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
    length = readlink(link, path, sizeof(path));
    return length >= tail && memcmp(path + length - tail, name, (size_t)tail) == 0;
}

static void dawdle(int directory)
{
    if (mischief->slow && is_below(directory)) {
        usleep((useconds_t)mischief->slow);
    }
}

static void name_slowly(int directory)
{
    if (mischief->naming && is_below(directory)) {
        usleep((useconds_t)mischief->naming);
    }
}

static int is_frozen(int file, int64_t how)
{
    if (mischief->is_frozen < how || !is_below(file)) {
        return 0;
    }
    errno = EACCES;
    return 1;
}

/* Of `most` calls one. */
static int is_turn_of(_Atomic unsigned *calls, int64_t most)
{
    return most && atomic_fetch_add(calls, 1) % (uint64_t)most == 0;
}

static int reopen(int directory, const char *name, int flags, mode_t mode)
{
    static _Atomic unsigned calls;

    if (mischief->stale && directory >= 0 && is_below(directory) &&
        is_turn_of(&calls, mischief->stale)) {
        errno = ESTALE;
        return -1;
    }
    return (int)syscall(SYS_openat, directory, name, flags, mode);
}

int openat(int directory, const char *name, int flags, ...)
{
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
    return reopen(directory, name, flags, mode);
}

int openat64(int directory, const char *name, int flags, ...) __attribute__((alias("openat")));

int renameat2(int from, const char *name, int to, const char *target, unsigned flags)
{
    static _Atomic unsigned calls;
    int failed;

    if (is_frozen(to, 1)) {
        return -1;
    }
    if (mischief->is_shallow && is_below(to)) {
        return sink(NULL);
    }
    if (flags && mischief->repeated && is_below(to)) {
        errno = EINVAL;
        return -1;
    }
    dawdle(to);
    name_slowly(to);
    failed = (int)syscall(SYS_renameat2, from, name, to, target, flags);
    if (!failed && mischief->repeated && is_below(to) && is_turn_of(&calls, mischief->repeated)) {
        failed = (int)syscall(SYS_renameat2, from, name, to, target, 0);
    }
    if (!failed && mischief->is_deadly && ends_with(to, "/.tileseed/removed")) {
        kill(getpid(), SIGKILL);
    }
    return failed;
}

int linkat(int from, const char *name, int to, const char *target, int flags)
{
    name_slowly(to);
    return (int)syscall(SYS_linkat, from, name, to, target, flags);
}

int unlinkat(int directory, const char *name, int flags)
{
    dawdle(directory);
    if (flags == 0) { /* directories go under the lock of names, which is of all stores */
        await_server(directory);
    }
    return is_frozen(directory, 1) ? -1 : (int)syscall(SYS_unlinkat, directory, name, flags);
}

int ftruncate(int file, off_t length)
{
    return is_frozen(file, 2) ? -1 : (int)syscall(SYS_ftruncate, file, length);
}

ssize_t pread64(int file, void *bytes, size_t length, off_t offset)
{
    dawdle(file);
    return syscall(SYS_pread64, file, bytes, length, offset);
}

/* Whoever has read a level's directory has read all that lies below. */
static void linger(int directory)
{
    struct stat st;

    if (mischief->linger && is_below(directory) && fstat(directory, &st) == 0 && st.st_nlink > 2) {
        usleep((useconds_t)mischief->linger);
    }
}

int fdatasync(int file)
{
    dawdle(file);
    return (int)syscall(SYS_fdatasync, file);
}

/* A cold disk is waited for while a directory is read, longer than for a name. */
int closedir(DIR *stream)
{
    int (*next)(DIR *) = (int (*)(DIR *))dlsym(RTLD_NEXT, "closedir");

    for (int i = 0; i < 8; i++) {
        dawdle(dirfd(stream));
    }
    linger(dirfd(stream));
    return next(stream);
}

int renameat(int from, const char *name, int to, const char *target)
{
    return renameat2(from, name, to, target, 0);
}
