/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The disk below the seeder. Notes lie in memory that its processes share; one lock makes the order
 * of the notes that of the calls. */
#include "power_store.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "power_file.h"

#define NOTES_MOST  400000
#define FILES_MOST  20000
#define INODES      65536
#define BYTES_MOST  ((size_t)1 << 28)
#define NAME_MOST   512
#define SYNC_MICROS 3000 /* what is written meanwhile is not safe by it */

/* SYNC: of `file`, or of names of the state (file -1), or of the whole store. */
typedef enum { CREATE, WRITE, TRUNCATE, LINK, RENAME, UNLINK, SYNC, SYNC_STORE } action_t;

/* `covers`: of a sync, the notes before it that are safe then. Names lie among the bytes, two one
 * behind the other. */
typedef struct {
    action_t action;
    int file, is_state;
    size_t offset, length, covers;
    size_t bytes;
} note_t;

typedef struct {
    pthread_mutex_t lock;
    int is_on;
    size_t count, used;
    int files;
    dev_t device;
    struct {
        ino_t inode;
        int file;
    } inodes[INODES];
    note_t notes[NOTES_MOST];
    char bytes[BYTES_MOST];
} shared_t;

typedef struct {
    power_file_t held;
    size_t safe, born;
    int is_state;
} file_t;

static shared_t *disk;
static file_t files[FILES_MOST]; /* while a cut is laid out */
static apr_hash_t *names;        /* likewise: name -> file_t */
static int64_t hurry = 1;

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "power_store: %s: %s\n", what, strerror(errno));
        abort();
    }
}

/* ---- taking notes ---- */

static int begin(void)
{
    int saved = errno;

    if (!disk || !disk->is_on) {
        return 0;
    }
    if (pthread_mutex_lock(&disk->lock) == EOWNERDEAD) {
        pthread_mutex_consistent(&disk->lock);
    }
    errno = saved;
    return 1;
}

static void end(int begun)
{
    int saved = errno;

    if (begun) {
        pthread_mutex_unlock(&disk->lock);
    }
    errno = saved;
}

static note_t *note(action_t action, int file, int is_state)
{
    note_t *made = &disk->notes[disk->count++];

    must(disk->count < NOTES_MOST, "too many notes");
    *made = (note_t){.action = action, .file = file, .is_state = is_state, .bytes = disk->used};
    return made;
}

static void add_bytes(const void *bytes, size_t length)
{
    must(disk->used + length < BYTES_MOST, "too many bytes");
    memcpy(disk->bytes + disk->used, bytes, length);
    disk->used += length;
}

/* The name below the folder of the seeder; 0: it is elsewhere. */
static int name_of(char name[NAME_MOST], int folder, const char *path)
{
    char whole[NAME_MOST] = "", link[64];
    const char *folder_name;
    size_t top;
    ssize_t length = 0;

    if (path[0] != '/') {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
        length = folder < 0 ? -1 : readlink(link, whole, sizeof(whole) - 2);
        if (length < 0) {
            return 0;
        }
        whole[length++] = '/';
    }
    must((size_t)length + strlen(path) < sizeof(whole), "too long a path");
    strcpy(whole + length, path);
    folder_name = strstr(whole, POWER_FOLDER);
    top = strlen(POWER_FOLDER) + 6;
    if (!folder_name || strlen(folder_name) <= top || folder_name[top] != '/') {
        return 0;
    }
    strcpy(name, folder_name + top + 1);
    return 1;
}

static int is_state(const char *name)
{
    return strncmp(name, POWER_STORE, strlen(POWER_STORE)) != 0;
}

static void note_names(action_t action, int file, const char *name, const char *target)
{
    note(action, file, is_state(name));
    add_bytes(name, strlen(name) + 1);
    add_bytes(target, strlen(target) + 1);
}

static size_t place_of(ino_t inode)
{
    size_t at = (size_t)inode % INODES;

    while (disk->inodes[at].inode && disk->inodes[at].inode != inode) {
        at = (at + 1) % INODES;
    }
    return at;
}

static int file_of(int descriptor)
{
    struct stat st;
    size_t at;

    if (fstat(descriptor, &st) != 0 || st.st_dev != disk->device || !S_ISREG(st.st_mode)) {
        return -1;
    }
    at = place_of(st.st_ino);
    return disk->inodes[at].inode ? disk->inodes[at].file : -1;
}

static void note_file(const char *name, int descriptor)
{
    struct stat st;
    size_t at;

    must(fstat(descriptor, &st) == 0, name);
    must(disk->files < FILES_MOST, "too many files");
    disk->device = st.st_dev;
    at = place_of(st.st_ino);
    disk->inodes[at].inode = st.st_ino;
    disk->inodes[at].file = disk->files++;
    note_names(CREATE, disk->inodes[at].file, name, "");
}

/* ---- in the place of the C library's ---- */

static int open_noted(int folder, const char *path, int flags, mode_t mode)
{
    char name[NAME_MOST];
    int begun = flags & (O_CREAT | O_TRUNC) ? begin() : 0;
    int is_ours = begun && (flags & O_ACCMODE) != O_RDONLY && name_of(name, folder, path);
    int existed = is_ours && faccessat(folder, path, F_OK, 0) == 0;
    int descriptor = (int)syscall(SYS_openat, folder, path, flags, mode);

    if (descriptor >= 0 && is_ours && !existed) {
        note_file(name, descriptor);
    } else if (descriptor >= 0 && is_ours && flags & O_TRUNC) {
        note(TRUNCATE, file_of(descriptor), is_state(name));
    }
    end(begun);
    return descriptor;
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

#define OPEN(function, folder, ...)                                                                \
    int function(__VA_ARGS__ const char *path, int flags, ...)                                     \
    {                                                                                              \
        va_list args;                                                                              \
        mode_t mode;                                                                               \
                                                                                                   \
        va_start(args, flags);                                                                     \
        mode = mode_of(flags, args);                                                               \
        va_end(args);                                                                              \
        return open_noted(folder, path, flags, mode);                                              \
    }
#define AT int at,
OPEN(open, AT_FDCWD, )
OPEN(open64, AT_FDCWD, )
OPEN(openat, at, AT)
OPEN(openat64, at, AT)

static void note_write(int file, const void *bytes, ssize_t length, off_t offset)
{
    note_t *made;

    if (file >= 0 && length > 0) {
        made = note(WRITE, file, 0);
        made->offset = (size_t)offset;
        made->length = (size_t)length;
        add_bytes(bytes, made->length);
    }
}

ssize_t write(int descriptor, const void *bytes, size_t length)
{
    struct stat st;
    int is_file = disk && fstat(descriptor, &st) == 0 && S_ISREG(st.st_mode);
    int begun = is_file ? begin() : 0; /* a pipe may be full for long */
    off_t offset = begun ? lseek(descriptor, 0, SEEK_CUR) : 0;
    ssize_t written = syscall(SYS_write, descriptor, bytes, length);

    if (begun) {
        note_write(file_of(descriptor), bytes, written, offset);
    }
    end(begun);
    return written;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset)
{
    int begun = begin();
    ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, length, offset);

    if (begun) {
        note_write(file_of(descriptor), bytes, written, offset);
    }
    end(begun);
    return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset)
{
    return pwrite64(descriptor, bytes, length, offset);
}

int ftruncate64(int descriptor, off64_t length)
{
    int begun = begin();
    int rv = (int)syscall(SYS_ftruncate, descriptor, length);

    if (begun && rv == 0 && file_of(descriptor) >= 0) {
        note(TRUNCATE, file_of(descriptor), 0)->offset = (size_t)length;
    }
    end(begun);
    return rv;
}

int ftruncate(int descriptor, off_t length)
{
    return ftruncate64(descriptor, length);
}

int unlinkat(int folder, const char *path, int flags)
{
    char name[NAME_MOST];
    int begun = begin();
    int is_ours = begun && name_of(name, folder, path);
    int rv = (int)syscall(SYS_unlinkat, folder, path, flags);

    if (rv == 0 && is_ours && !(flags & AT_REMOVEDIR)) {
        note_names(UNLINK, -1, name, "");
    }
    end(begun);
    return rv;
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int renameat2(int from, const char *path, int to, const char *other, unsigned flags)
{
    char name[NAME_MOST], target[NAME_MOST];
    int begun = begin();
    int is_ours = begun && name_of(name, from, path) && name_of(target, to, other);
    int rv = (int)syscall(SYS_renameat2, from, path, to, other, flags);

    if (rv == 0 && is_ours) {
        note_names(RENAME, -1, name, target);
    }
    end(begun);
    return rv;
}

int renameat(int from, const char *path, int to, const char *other)
{
    return renameat2(from, path, to, other, 0);
}

int rename(const char *path, const char *other)
{
    return renameat2(AT_FDCWD, path, AT_FDCWD, other, 0);
}

int linkat(int from, const char *path, int to, const char *other, int flags)
{
    char name[NAME_MOST], target[NAME_MOST];
    int begun = begin();
    int is_ours = begun && name_of(name, from, path) && name_of(target, to, other);
    int rv = (int)syscall(SYS_linkat, from, path, to, other, flags);

    if (rv == 0 && is_ours) {
        note_names(LINK, -1, name, target);
    }
    end(begun);
    return rv;
}

int link(const char *path, const char *other)
{
    return linkat(AT_FDCWD, path, AT_FDCWD, other, 0);
}

int fsync(int descriptor)
{
    char name[NAME_MOST];
    int begun = begin();
    struct stat st;
    int file = begun ? file_of(descriptor) : -1;
    int is_ours = file >= 0 || (begun && fstat(descriptor, &st) == 0 && S_ISDIR(st.st_mode) &&
                                name_of(name, descriptor, ".") && is_state(name));

    if (is_ours) {
        note_t *made = note(SYNC, file, 1);

        made->covers = disk->count - 1;
    }
    end(begun);
    return 0;
}

int fdatasync(int descriptor)
{
    return fsync(descriptor);
}

int syncfs(int descriptor)
{
    int begun = begin();
    size_t covers = begun ? disk->count : 0;

    (void)descriptor;
    end(begun);
    usleep(SYNC_MICROS);
    begun = begin();
    if (begun) {
        note(SYNC_STORE, -1, 0)->covers = covers;
    }
    end(begun);
    return 0;
}

/* No thread dies between a call and its note. */
void _exit(int status)
{
    begin();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

/* ---- the clock ---- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long failed = syscall(SYS_clock_gettime, clock, now);

    if (!failed && hurry > 1 && clock == CLOCK_MONOTONIC) {
        int64_t nanos = hurry * (int64_t)now->tv_nsec;

        now->tv_sec = now->tv_sec * hurry + nanos / 1000000000;
        now->tv_nsec = nanos % 1000000000;
    }
    return (int)failed;
}

int poll(struct pollfd *fds, nfds_t count, int millis)
{
    int64_t nanos = (int64_t)millis * 1000000 / hurry;
    struct timespec wait = {nanos / 1000000000, nanos % 1000000000};

    return ppoll(fds, count, millis < 0 ? NULL : &wait, NULL);
}

void power_store_hurry(int factor)
{
    hurry = factor;
}

/* ---- what a cut leaves ---- */

typedef struct {
    const power_cut_t *cut;
    size_t names_safe[2]; /* of the store, of the state */
    size_t names_kept[2];
    size_t store_safe;
    apr_pool_t *pool;
} layout_t;

static uint64_t mix(uint64_t dice, uint64_t number)
{
    uint64_t x = dice + number * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void find_syncs(layout_t *layout)
{
    for (size_t i = 0; i < layout->cut->at; i++) {
        const note_t *made = &disk->notes[i];

        if (made->action == SYNC && made->file >= 0) {
            files[made->file].safe = made->covers;
        } else if (made->action == SYNC) {
            layout->names_safe[1] = made->covers;
        } else if (made->action == SYNC_STORE && !layout->cut->ignores_syncfs) {
            layout->store_safe = layout->names_safe[0] = made->covers;
        }
    }
}

/* All, those that are safe, or any number between. */
static void keep_names(layout_t *layout)
{
    for (unsigned disk_of = 0; disk_of < 2; disk_of++) {
        uint64_t die = mix(layout->cut->dice, disk_of + 1);
        size_t safe = layout->names_safe[disk_of], rest = layout->cut->at - safe;

        layout->names_kept[disk_of] = safe + (die % 3 == 0   ? 0
                                              : die % 3 == 1 ? rest
                                                             : (size_t)(die >> 8) % (rest + 1));
    }
}

static fate_t fate_of(const layout_t *layout, size_t i)
{
    const note_t *made = &disk->notes[i];
    const file_t *file = &files[made->file];
    uint64_t dice = layout->cut->dice;

    if (layout->cut->keeps_all || i < file->safe || (!file->is_state && i < layout->store_safe)) {
        return WHOLE;
    }
    switch (mix(dice, 3) % 4) {
    case 0:
        return GONE;
    case 1:
        return mix(dice, i) % 2 ? WHOLE : GONE;
    case 2:
        return made->action == WRITE && mix(dice, i) % 2 ? HOLLOW : WHOLE;
    default:
        return WHOLE;
    }
}

static void put_bytes(const note_t *made, fate_t fate)
{
    power_file_t *file = &files[made->file].held;

    if (made->action == TRUNCATE) {
        power_file_resize(file, made->offset);
    } else {
        power_file_write(file, made->offset, disk->bytes + made->bytes, made->length, fate);
    }
}

static void move_one(apr_pool_t *pool, const char *name, const char *from, const char *to)
{
    apr_hash_set(names, apr_pstrcat(pool, to, name + strlen(from), NULL), APR_HASH_KEY_STRING,
                 apr_hash_get(names, name, APR_HASH_KEY_STRING));
    apr_hash_set(names, name, APR_HASH_KEY_STRING, NULL);
}

/* Of a file, or of all below a directory. */
static void move(apr_pool_t *pool, const char *name, const char *target)
{
    apr_array_header_t *below = apr_array_make(pool, 1, sizeof(const char *));
    size_t length = strlen(name);

    if (apr_hash_get(names, name, APR_HASH_KEY_STRING)) {
        move_one(pool, name, name, target);
        return;
    }
    for (apr_hash_index_t *hi = apr_hash_first(pool, names); hi; hi = apr_hash_next(hi)) {
        const char *key = apr_hash_this_key(hi);

        if (strncmp(key, name, length) == 0 && key[length] == '/') {
            APR_ARRAY_PUSH(below, const char *) = key;
        }
    }
    for (int i = 0; i < below->nelts; i++) {
        move_one(pool, APR_ARRAY_IDX(below, i, const char *), name, target);
    }
}

static void put_name(const layout_t *layout, const note_t *made)
{
    const char *name = disk->bytes + made->bytes, *target = name + strlen(name) + 1;

    if (made->action == CREATE) {
        apr_hash_set(names, name, APR_HASH_KEY_STRING, &files[made->file]);
    } else if (made->action == UNLINK) {
        apr_hash_set(names, name, APR_HASH_KEY_STRING, NULL);
    } else if (made->action == LINK) {
        apr_hash_set(names, target, APR_HASH_KEY_STRING,
                     apr_hash_get(names, name, APR_HASH_KEY_STRING));
    } else {
        move(layout->pool, name, target);
    }
}

static void put(const layout_t *layout, size_t i)
{
    const note_t *made = &disk->notes[i];

    if (made->action == WRITE || made->action == TRUNCATE) {
        fate_t fate = fate_of(layout, i);

        if (fate != GONE) {
            put_bytes(made, fate);
        }
    } else if (made->action < SYNC &&
               (layout->cut->keeps_all || i < layout->names_kept[made->is_state])) {
        put_name(layout, made);
    }
}

/* ---- laying it out ---- */

static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
}

/* The second name of a file is a link to its first, which `firsts` knows. */
static void lay_out(const char *folder, const char *name, const file_t *file, apr_hash_t *firsts)
{
    apr_pool_t *pool = apr_hash_pool_get(firsts);
    char *path = apr_pstrcat(pool, folder, "/", name, NULL);
    const char *first = apr_hash_get(firsts, &file, sizeof(file));
    size_t length = strlen(name);
    int descriptor;

    if (length > 4 && strcmp(name + length - 4, "-shm") == 0) {
        return;
    }
    if (!first) {
        apr_hash_set(firsts, apr_pmemdup(pool, &file, sizeof(file)), sizeof(file), path);
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (descriptor < 0) {
            make_parents(path);
            descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        }
        must(descriptor >= 0, path);
        must(write(descriptor, file->held.bytes, file->held.length) == (ssize_t)file->held.length,
             path);
        close(descriptor);
    } else if (link(first, path) != 0) {
        make_parents(path);
        must(link(first, path) == 0, path);
    }
}

/* Where files belong: the state's are named outside of the store. */
static void know_files(void)
{
    for (size_t i = 0; i < disk->count; i++) {
        const note_t *made = &disk->notes[i];

        if (made->action == CREATE) {
            files[made->file].born = i + 1;
            files[made->file].is_state = made->is_state;
        }
    }
}

void power_store_restore(const char *folder, const power_cut_t *cut)
{
    static apr_pool_t *pool;
    layout_t layout = {.cut = cut};
    apr_hash_t *firsts;

    if (pool) {
        apr_pool_destroy(pool);
    }
    apr_pool_create(&pool, NULL);
    layout.pool = pool;
    names = apr_hash_make(pool);
    firsts = apr_hash_make(pool);
    for (int i = 0; i < disk->files; i++) {
        files[i].held.length = files[i].safe = 0;
    }
    know_files();
    find_syncs(&layout);
    keep_names(&layout);
    for (size_t i = 0; i < cut->at; i++) {
        put(&layout, i);
    }
    for (apr_hash_index_t *hi = apr_hash_first(pool, names); hi; hi = apr_hash_next(hi)) {
        lay_out(folder, apr_hash_this_key(hi), apr_hash_this_val(hi), firsts);
    }
}

size_t power_store_born(const char *name)
{
    const file_t *file = apr_hash_get(names, name, APR_HASH_KEY_STRING);

    return file ? file->born : 0;
}

/* ---- the record ---- */

void power_store_start(void)
{
    pthread_mutexattr_t kind;

    if (disk) {
        munmap(disk, sizeof(*disk));
    }
    disk = mmap(NULL, sizeof(*disk), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(disk != MAP_FAILED, "memory");
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&disk->lock, &kind);
    disk->is_on = 1;
}

void power_store_stop(void)
{
    disk->is_on = 0;
}

size_t power_store_notes(void)
{
    return disk->count;
}

size_t power_store_commit(size_t at)
{
    while (at < disk->count && disk->notes[at].action != SYNC) {
        at++;
    }
    return at < disk->count ? at + 1 : disk->count;
}
