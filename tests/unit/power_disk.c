/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A disk that may lose its power at any time. */
#include "power_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/tseed_digest.h"
#include "power_file.h"

#define NAME_SIZE  80
#define PATH_SIZE  256
#define FILES_MOST 64
#define NOTES_MOST 20000
#define NEVER      SIZE_MAX

typedef enum { WRITE, TRUNCATE, NAME, UNNAME, RENAME, SYNC } action_t;

typedef struct {
    action_t action;
    int file;      /* of WRITE, TRUNCATE, NAME */
    size_t offset; /* of WRITE; the length that is left of TRUNCATE */
    size_t length;
    char *bytes;                             /* of WRITE */
    char name[NAME_SIZE], target[NAME_SIZE]; /* of NAME, UNNAME, RENAME */
    size_t safe_from;                        /* the notes there were after a sync of it */
} note_t;

typedef struct {
    ino_t inode;
    power_file_t held; /* while a cut is laid out */
} file_t;

typedef struct {
    char name[NAME_SIZE];
    int file; /* -1: the name is gone */
} entry_t;

static struct {
    int is_on;
    int failing; /* syncs to come */
    char directory[PATH_SIZE], vault[PATH_SIZE];
    ino_t inode; /* the directory's */
    note_t notes[NOTES_MOST];
    size_t count;
    file_t files[FILES_MOST];
    int file_count;
    entry_t entries[FILES_MOST]; /* while a cut is laid out */
    int entry_count;
} disk;

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "power_disk: %s: %s\n", what, strerror(errno));
        abort();
    }
}

/* ---- taking notes ---- */

static note_t *note(action_t action, int file)
{
    note_t *made = &disk.notes[disk.count++];

    must(disk.count < NOTES_MOST, "too many notes");
    *made = (note_t){.action = action, .file = file, .safe_from = NEVER};
    return made;
}

/* The name below the directory, or NULL: the path is none of ours. */
static const char *name_of(const char *path)
{
    size_t length = strlen(disk.directory);

    if (!disk.is_on || strncmp(path, disk.directory, length) != 0 || path[length] != '/') {
        return NULL;
    }
    must(strlen(path + length + 1) < NAME_SIZE, "too long a name");
    return path + length + 1;
}

static ino_t inode_of(int descriptor)
{
    struct stat file;

    return fstat(descriptor, &file) == 0 ? file.st_ino : 0;
}

static int file_with(ino_t inode)
{
    for (int i = 0; i < disk.file_count; i++) {
        if (disk.files[i].inode == inode) {
            return i;
        }
    }
    return -1;
}

static int file_of(int descriptor)
{
    return disk.is_on ? file_with(inode_of(descriptor)) : -1;
}

static const char *vault_path(int file)
{
    static char path[PATH_SIZE + 16];

    snprintf(path, sizeof(path), "%s/%d", disk.vault, file);
    return path;
}

static void note_name(action_t action, int file, const char *name, const char *target)
{
    note_t *made = note(action, file);

    strcpy(made->name, name);
    strcpy(made->target, target);
}

static void note_file(const char *path, int descriptor)
{
    int file = disk.file_count++;

    must(file < FILES_MOST, "too many files");
    disk.files[file].inode = inode_of(descriptor);
    must(linkat(AT_FDCWD, path, AT_FDCWD, vault_path(file), 0) == 0, "vault");
    note_name(NAME, file, name_of(path), "");
}

static void note_write(int file, const void *bytes, ssize_t length, off_t offset)
{
    note_t *made;

    if (file >= 0 && length > 0) {
        made = note(WRITE, file);
        made->offset = (size_t)offset;
        made->length = (size_t)length;
        made->bytes = malloc(made->length);
        memcpy(made->bytes, bytes, made->length);
    }
}

static int is_of_names(const note_t *made)
{
    return made->action == NAME || made->action == UNNAME || made->action == RENAME;
}

/* It is a note of its own: what it makes safe is not safe yet before it. */
static void note_sync(int descriptor)
{
    int of_names = disk.is_on && inode_of(descriptor) == disk.inode;
    int file = of_names ? -1 : file_of(descriptor);

    if (!of_names && file < 0) {
        return;
    }
    note(SYNC, -1);
    for (size_t i = 0; i < disk.count; i++) {
        note_t *made = &disk.notes[i];
        int is_meant = is_of_names(made) ? of_names : made->file == file;

        if (is_meant && made->safe_from == NEVER) {
            made->safe_from = disk.count;
        }
    }
}

/* ---- in the place of the C library's; each does its work by a sibling there ---- */

static int open_noted(const char *path, int flags, mode_t mode)
{
    int is_ours = name_of(path) && (flags & O_ACCMODE) != O_RDONLY;
    int existed = faccessat(AT_FDCWD, path, F_OK, 0) == 0;
    int descriptor = openat(AT_FDCWD, path, flags, mode);

    if (descriptor >= 0 && is_ours && !existed) {
        note_file(path, descriptor);
    } else if (descriptor >= 0 && is_ours && flags & O_TRUNC) {
        note(TRUNCATE, file_of(descriptor));
    }
    return descriptor;
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return open_noted(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return open_noted(path, flags, mode);
}

ssize_t write(int descriptor, const void *bytes, size_t length)
{
    struct iovec part = {(void *)bytes, length};
    int file = file_of(descriptor);
    off_t offset = file >= 0 ? lseek(descriptor, 0, SEEK_CUR) : 0;
    ssize_t written = writev(descriptor, &part, 1);

    note_write(file, bytes, written, offset);
    return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset)
{
    struct iovec part = {(void *)bytes, length};
    ssize_t written = pwritev(descriptor, &part, 1, offset);

    note_write(file_of(descriptor), bytes, written, offset);
    return written;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset)
{
    return pwrite(descriptor, bytes, length, offset);
}

int ftruncate64(int descriptor, off64_t length)
{
    int file = file_of(descriptor);
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
    if (truncate(path, length) != 0) {
        return -1;
    }
    if (file >= 0) {
        note(TRUNCATE, file)->offset = (size_t)length;
    }
    return 0;
}

int ftruncate(int descriptor, off_t length)
{
    return ftruncate64(descriptor, length);
}

int fsync(int descriptor)
{
    if (disk.failing > 0 && file_of(descriptor) >= 0) {
        disk.failing--;
        errno = EIO;
        return -1;
    }
    note_sync(descriptor);
    return 0;
}

int fdatasync(int descriptor)
{
    return fsync(descriptor);
}

static void note_if_done(int rv, action_t action, const char *path, const char *target)
{
    if (rv == 0 && name_of(path)) {
        note_name(action, -1, name_of(path), target ? name_of(target) : "");
    }
}

int unlink(const char *path)
{
    int rv = unlinkat(AT_FDCWD, path, 0);

    note_if_done(rv, UNNAME, path, NULL);
    return rv;
}

int rename(const char *path, const char *target)
{
    int rv = renameat(AT_FDCWD, path, AT_FDCWD, target);

    note_if_done(rv, RENAME, path, target);
    return rv;
}

/* A second name of a file is the same note as its first. */
int link(const char *path, const char *target)
{
    int rv = linkat(AT_FDCWD, path, AT_FDCWD, target, 0);
    struct stat file;

    if (rv == 0 && name_of(target) && stat(target, &file) == 0) {
        note_name(NAME, file_with(file.st_ino), name_of(target), "");
    }
    return rv;
}

/* ---- what a cut leaves ---- */

/* `unsafe` counts what is not safe, data and names apart. */
static fate_t fate_of(const note_t *made, const power_cut_t *cut, unsigned unsafe[2])
{
    int of_names = is_of_names(made);
    int is_last = made == &disk.notes[cut->at - 1];

    if (made->action == SYNC) {
        return GONE; /* it leaves nothing itself */
    }
    if (made->safe_from <= cut->at && !(of_names ? cut->ignores_name_syncs : cut->ignores_syncs)) {
        return WHOLE;
    }
    unsafe[of_names]++;
    switch (of_names ? cut->names : cut->data) {
    case POWER_LOSES_NONE:
        return WHOLE;
    case POWER_LOSES_ONE:
        return unsafe[of_names] == cut->one ? GONE : WHOLE;
    case POWER_LOSES_ODD:
        return unsafe[of_names] % 2 ? GONE : WHOLE;
    case POWER_LOSES_EVEN:
        return unsafe[of_names] % 2 ? WHOLE : GONE;
    case POWER_TEARS_LAST:
        return is_last && made->action == WRITE ? TORN : WHOLE;
    case POWER_LOSES_BYTES:
        return made->action == WRITE ? HOLLOW : WHOLE;
    default:
        return GONE;
    }
}

static entry_t *find_entry(const char *name)
{
    for (int i = 0; i < disk.entry_count; i++) {
        if (strcmp(disk.entries[i].name, name) == 0) {
            return &disk.entries[i];
        }
    }
    strcpy(disk.entries[disk.entry_count].name, name);
    disk.entries[disk.entry_count].file = -1;
    must(disk.entry_count < FILES_MOST - 1, "too many names");
    return &disk.entries[disk.entry_count++];
}

/* When the step before it was lost, a name may lead to nothing. */
static void put_name(const note_t *made)
{
    entry_t *entry = find_entry(made->name);

    if (made->action == RENAME && entry->file >= 0) {
        find_entry(made->target)->file = entry->file;
    }
    entry->file = made->action == NAME ? made->file : -1;
}

static void put(const note_t *made, fate_t fate)
{
    if (is_of_names(made)) {
        put_name(made);
    } else if (made->action == TRUNCATE) {
        power_file_resize(&disk.files[made->file].held, made->offset);
    } else {
        power_file_write(&disk.files[made->file].held, made->offset, made->bytes, made->length,
                         fate);
    }
}

/* SQLite's shared index is memory that happens to have a name: there could be anything in it. */
static void fill_index(const char *name, power_file_t *file)
{
    size_t length = strlen(name);

    if (file->length > 0 && length > 4 && strcmp(name + length - 4, "-shm") == 0) {
        memset(file->bytes, 0x5a, file->length);
    }
}

uint64_t power_disk_assemble(const power_cut_t *cut)
{
    unsigned unsafe[2] = {0, 0};
    uint64_t sum = 0;

    disk.entry_count = 0;
    for (int i = 0; i < disk.file_count; i++) {
        disk.files[i].held.length = 0;
    }
    for (size_t i = 0; i < cut->at; i++) {
        fate_t fate = fate_of(&disk.notes[i], cut, unsafe);

        if (fate != GONE) {
            put(&disk.notes[i], fate);
        }
    }
    for (int i = 0; i < disk.entry_count; i++) {
        const entry_t *entry = &disk.entries[i];

        if (entry->file >= 0) {
            power_file_t *file = &disk.files[entry->file].held;

            fill_index(entry->name, file);
            sum += tseed_digest(file->bytes, file->length,
                                tseed_digest(entry->name, strlen(entry->name), 0));
        }
    }
    return sum;
}

/* ---- laying it out ---- */

static void empty_directory(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;

    must(directory != NULL, path);
    while ((entry = readdir(directory)) != NULL) {
        unlinkat(dirfd(directory), entry->d_name, 0); /* fails for . and .. alone */
    }
    closedir(directory);
}

static void lay_out(const entry_t *entry)
{
    power_file_t *file = &disk.files[entry->file].held;
    struct iovec part;
    char path[PATH_SIZE + NAME_SIZE];
    int descriptor = openat(AT_FDCWD, vault_path(entry->file), O_WRONLY | O_TRUNC);

    part = (struct iovec){file->bytes, file->length};
    must(writev(descriptor, &part, file->length > 0) == (ssize_t)file->length, entry->name);
    close(descriptor);
    snprintf(path, sizeof(path), "%s/%s", disk.directory, entry->name);
    must(linkat(AT_FDCWD, vault_path(entry->file), AT_FDCWD, path, 0) == 0, path);
}

void power_disk_restore(void)
{
    empty_directory(disk.directory);
    for (int i = 0; i < disk.entry_count; i++) {
        if (disk.entries[i].file >= 0) {
            lay_out(&disk.entries[i]);
        }
    }
}

uint64_t power_disk_signature(const power_cut_t *cut)
{
    unsigned unsafe[2] = {0, 0};
    uint64_t signature = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (size_t i = 0; i < cut->at; i++) {
        fate_t fate = fate_of(&disk.notes[i], cut, unsafe);

        if (fate != GONE) {
            signature = (signature ^ (4 * i + (size_t)fate)) * UINT64_C(0x100000001b3);
        }
    }
    return signature;
}

/* ---- the record ---- */

void power_disk_start(const char *directory, const char *vault)
{
    struct stat file;

    for (size_t i = 0; i < disk.count; i++) {
        free(disk.notes[i].bytes);
    }
    for (int i = 0; i < disk.file_count; i++) {
        free(disk.files[i].held.bytes);
        disk.files[i] = (file_t){0};
    }
    disk.count = 0;
    disk.file_count = 0;
    must(stat(directory, &file) == 0, directory);
    disk.inode = file.st_ino;
    snprintf(disk.directory, sizeof(disk.directory), "%s", directory);
    snprintf(disk.vault, sizeof(disk.vault), "%s", vault);
    power_disk_record(1);
}

void power_disk_record(int on)
{
    disk.is_on = on;
}

size_t power_disk_notes(void)
{
    return disk.count;
}

void power_disk_fail_syncs(int count)
{
    disk.failing = count;
}
