/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Packs: records are written one behind the other. A pack has as many tiles as a request asks for,
 * some hundreds. The reader goes through them from the beginning. */
#include "fleet/tseed_pack.h"

#include <apr_strings.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_digest.h"
#include "base/tseed_memory.h"
#include "fleet/tseed_deadline.h"
#include "store/tseed_layout.h"

#define MAGIC      "TSPACK01"
#define NUMBER     8 /* bytes of a number; the magic is as long */
#define HEAD       (2 * NUMBER)
#define LEAST      (2 * NUMBER) /* magic and checksum */
#define DIGEST     (2 * NUMBER)
#define TILE       (3 * NUMBER) /* what stands before the file */
#define FIRST_ROOM 65536

enum { KIND_DIGEST = 1, KIND_TILE };

struct tseed_pack_t {
    unsigned char *data;
    size_t length, room; /* the room is enough for the checksum, which `length` does not count */
};

static void write_number(unsigned char *to, uint64_t number)
{
    for (int i = 0; i < NUMBER; i++) {
        to[i] = (unsigned char)(number >> 8 * i);
    }
}

static uint64_t read_number(const unsigned char *from)
{
    uint64_t number = 0;

    for (int i = 0; i < NUMBER; i++) {
        number |= (uint64_t)from[i] << 8 * i;
    }
    return number;
}

/* ---- the writer ---- */

/* Adds `size` bytes to the pack, and returns where they are to be written. */
static unsigned char *extend(tseed_pack_t *pack, size_t size)
{
    const size_t needed = pack->length + size + NUMBER;

    if (needed > pack->room) {
        pack->room = 2 * needed > FIRST_ROOM ? 2 * needed : FIRST_ROOM;
        pack->data = realloc(pack->data, pack->room);
        if (!pack->data) {
            abort();
        }
    }
    pack->length += size;
    return pack->data + pack->length - size;
}

/* Begins a record, and returns where its content is to be written. */
static unsigned char *add_record(tseed_pack_t *pack, uint64_t kind, size_t length)
{
    unsigned char *record = extend(pack, HEAD + length);

    write_number(record, kind);
    write_number(record + NUMBER, length);
    return record + HEAD;
}

tseed_pack_t *tseed_pack_begin(void)
{
    tseed_pack_t *pack = tseed_memory_get(sizeof(*pack));

    memcpy(extend(pack, NUMBER), MAGIC, NUMBER);
    return pack;
}

void tseed_pack_end(tseed_pack_t *pack)
{
    if (pack) {
        free(pack->data);
        free(pack);
    }
}

void tseed_pack_digest(tseed_pack_t *pack, uint64_t seed, uint64_t digest)
{
    unsigned char *content = add_record(pack, KIND_DIGEST, DIGEST);

    write_number(content, seed);
    write_number(content + NUMBER, digest);
}

/* The cutter sets the colour of uniform tiles only. */
void tseed_pack_add(tseed_pack_t *pack, int64_t x, int64_t y, const tseed_encoded_t *tile)
{
    unsigned char *content;

    if (tile->length == 0) {
        return;
    }
    content = add_record(pack, KIND_TILE, TILE + tile->length);
    write_number(content, (uint64_t)x);
    write_number(content + NUMBER, (uint64_t)y);
    write_number(content + 2 * NUMBER, tile->uniform != 0);
    if (tile->uniform) {
        memcpy(content + 2 * NUMBER + 4, tile->rgba, 4);
    }
    memcpy(content + TILE, tile->data, tile->length);
}

const unsigned char *tseed_pack_bytes(const tseed_pack_t *pack, size_t *length)
{
    write_number(pack->data + pack->length, tseed_digest(pack->data, pack->length, 0));
    *length = pack->length + NUMBER;
    return pack->data;
}

/* ---- the reader ---- */

typedef struct {
    uint64_t kind;
    const unsigned char *content;
    size_t length;
} record_t;

/* Where a reader stands, and the bytes from there to the checksum. */
typedef struct {
    const unsigned char *at;
    size_t left;
} place_t;

/* Before the first record. There is none in what is no pack. */
static place_t first(const unsigned char *data, size_t length)
{
    if (length < LEAST || memcmp(data, MAGIC, NUMBER) != 0) {
        return (place_t){0};
    }
    return (place_t){data + NUMBER, length - LEAST};
}

static int is_sound(const record_t *record)
{
    return record->kind == KIND_DIGEST ? record->length == DIGEST
                                       : record->kind == KIND_TILE && record->length > TILE;
}

/* Takes the next record and goes on behind it. Returns 0 at the end, and where no sound record
 * stands: then there are bytes left. */
static int next(record_t *record, place_t *place)
{
    uint64_t length;

    if (place->left < HEAD) {
        return 0;
    }
    length = read_number(place->at + NUMBER);
    if (length > place->left - HEAD) {
        return 0;
    }
    *record = (record_t){read_number(place->at), place->at + HEAD, (size_t)length};
    if (!is_sound(record)) {
        return 0;
    }
    place->at += HEAD + record->length;
    place->left -= HEAD + record->length;
    return 1;
}

/* Finds a record by the numbers that its content begins with, of which it has at least `count`. */
static int find(record_t *record, place_t place, uint64_t kind, const uint64_t *numbers, int count)
{
    while (next(record, &place)) {
        int same = record->kind == kind;

        for (int i = 0; i < count && same; i++) {
            same = read_number(record->content + i * NUMBER) == numbers[i];
        }
        if (same) {
            return 1;
        }
    }
    return 0;
}

static int has_its_checksum(const unsigned char *data, size_t length)
{
    return length >= LEAST && memcmp(data, MAGIC, NUMBER) == 0 &&
           read_number(data + length - NUMBER) == tseed_digest(data, length - NUMBER, 0);
}

/* Whether sound records reach up to the checksum. */
static int has_sound_records(const unsigned char *data, size_t length)
{
    place_t place = first(data, length);
    record_t record;

    while (next(&record, &place)) {
        /* the next one tells */
    }
    return place.left == 0;
}

const char *tseed_pack_check(const unsigned char *data, size_t length)
{
    return has_its_checksum(data, length) && has_sound_records(data, length)
               ? NULL
               : "the tiles that another host has made are damaged";
}

static int find_tile(tseed_encoded_t *tile, const unsigned char *data, size_t length, int64_t x,
                     int64_t y)
{
    const uint64_t numbers[] = {(uint64_t)x, (uint64_t)y};
    const unsigned char *colour;
    record_t record;

    if (!find(&record, first(data, length), KIND_TILE, numbers, 2)) {
        return 0;
    }
    colour = record.content + 2 * NUMBER;
    *tile = (tseed_encoded_t){record.content + TILE, record.length - TILE, colour[0] == 1, {0}};
    memcpy(tile->rgba, colour + 4, 4);
    return 1;
}

static int find_digest(uint64_t *digest, const unsigned char *data, size_t length, uint64_t seed)
{
    record_t record;

    if (!find(&record, first(data, length), KIND_DIGEST, &seed, 1)) {
        return 0;
    }
    *digest = read_number(record.content + NUMBER);
    return 1;
}

const tseed_packed_t tseed_pack_reader = {tseed_pack_check, find_tile, find_digest};

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define PACKS        (&TSEED_PACKS[sizeof(TSEED_HIDDEN)]) /* the last part of that path */

/* ---- folders and names ---- */

/* The umask must not take away what the administrator gave; a group that directories inherit stays
 * inherited. */
static int make_below(int above, const char *name, mode_t mode)
{
    const int is_made = mkdirat(above, name, mode) == 0;
    const int folder =
        is_made || errno == EEXIST ? openat(above, name, FOLDER_FLAGS | O_NOFOLLOW) : -1;
    struct stat st;

    if (is_made && folder >= 0 && fstat(folder, &st) == 0) {
        fchmod(folder, mode | (st.st_mode & S_ISGID));
    }
    return folder;
}

/* Opens one directory below another. `mode` 0: does not make it when it is missing. */
static apr_status_t open_below(int *folder, int above, const char *name, mode_t mode)
{
    *folder = openat(above, name, FOLDER_FLAGS | O_NOFOLLOW);
    if (*folder < 0 && errno == ENOENT && mode) {
        *folder = make_below(above, name, mode);
    }
    return *folder < 0 ? APR_FROM_OS_ERROR(errno) : APR_SUCCESS;
}

/* Opens the folder of the packs. The path is walked by hand: each directory is made and opened
 * below an open one, so nobody can put a link in between. */
static apr_status_t open_packs(int *packs, const char *root, mode_t mode)
{
    const int top = open(root, FOLDER_FLAGS);
    apr_status_t rv;
    int hidden;

    if (top < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    rv = open_below(&hidden, top, TSEED_HIDDEN, mode);
    close(top);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = open_below(packs, hidden, PACKS, mode);
    close(hidden);
    return rv;
}

static const char *text_of(const tseed_pack_name_t *name, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%" APR_INT64_T_FMT "-%" APR_INT64_T_FMT "-%d", name->giver,
                        name->number, name->index);
}

/* Whether a text is the name of a pack: exactly what text_of writes. */
static int read_name(tseed_pack_name_t *name, const char *text, apr_pool_t *pool)
{
    char *end;

    name->giver = strtoll(text, &end, 10);
    name->number = strtoll(*end ? end + 1 : end, &end, 10);
    name->index = (int)strtoll(*end ? end + 1 : end, NULL, 10);
    return name->giver >= 0 && name->number >= 0 && name->index >= 0 &&
           strcmp(text_of(name, pool), text) == 0;
}

/* ---- writing ---- */

/* A file that has the name already is of no use: a host has died amid it, or somebody else has put
 * it there. */
static int create(int folder, const char *name)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int file = openat(folder, name, flags, 0600);

    if (file < 0 && errno == EEXIST) {
        unlinkat(folder, name, 0);
        file = openat(folder, name, flags, 0600);
    }
    return file;
}

/* A full disk writes a part; only the call for the rest tells why. */
static apr_status_t write_all(int file, const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(file, bytes, length);

        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            return APR_FROM_OS_ERROR(written == 0 ? ENOSPC : errno);
        }
    }
    return APR_SUCCESS;
}

static apr_status_t write_file(int folder, const char *name, const unsigned char *bytes,
                               size_t length)
{
    const int file = create(folder, name);
    apr_status_t rv;

    if (file < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    rv = write_all(file, bytes, length);
    if (close(file) != 0 && rv == APR_SUCCESS) {
        rv = APR_FROM_OS_ERROR(errno); /* a file server may tell only now that it is full */
    }
    if (rv != APR_SUCCESS) {
        unlinkat(folder, name, 0);
    }
    return rv;
}

apr_status_t tseed_pack_file_write(const tseed_store_config_t *store, const tseed_pack_name_t *name,
                                   const unsigned char *bytes, size_t length, apr_pool_t *pool)
{
    apr_status_t rv;
    int folder;

    if (length > TSEED_PACK_MOST) {
        return APR_FROM_OS_ERROR(EFBIG);
    }
    rv = open_packs(&folder, store->root, (mode_t)store->dirmode);
    if (rv == APR_SUCCESS) {
        rv = write_file(folder, text_of(name, pool), bytes, length);
        close(folder);
    }
    return rv;
}

/* ---- reading ---- */

static apr_status_t read_all(int file, unsigned char *to, size_t size)
{
    while (size > 0) {
        const ssize_t got = read(file, to, size);

        if (got > 0) {
            to += got;
            size -= (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            return got == 0 ? APR_EOF : APR_FROM_OS_ERROR(errno);
        }
    }
    return APR_SUCCESS;
}

/* Sets the size of a file that may be read. */
static apr_status_t measure(size_t *size, int file)
{
    struct stat st;

    if (fstat(file, &st) != 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    if (!S_ISREG(st.st_mode)) {
        return APR_FROM_OS_ERROR(EINVAL);
    }
    *size = (size_t)st.st_size;
    if (*size > TSEED_PACK_MOST) {
        return APR_FROM_OS_ERROR(EFBIG);
    }
    return *size > 0 ? APR_SUCCESS : APR_EOF;
}

static apr_status_t make_room(tseed_transfer_t *transfer, size_t size)
{
    unsigned char *body;

    if (size <= transfer->capacity) {
        return APR_SUCCESS;
    }
    body = realloc(transfer->body, size);
    if (!body) {
        return APR_ENOMEM;
    }
    transfer->body = body;
    transfer->capacity = size;
    return APR_SUCCESS;
}

static apr_status_t read_body(tseed_transfer_t *transfer, int file)
{
    size_t size = 0;
    apr_status_t rv = measure(&size, file);

    if (rv == APR_SUCCESS) {
        rv = make_room(transfer, size);
    }
    if (rv == APR_SUCCESS) {
        rv = read_all(file, transfer->body, size);
    }
    if (rv == APR_SUCCESS) {
        transfer->length = size;
    }
    return rv;
}

/* Without O_NONBLOCK the call would wait for the writer of a pipe. */
static apr_status_t read_file(tseed_transfer_t *transfer, int folder, const char *name)
{
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    apr_status_t rv;

    if (file < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    rv = read_body(transfer, file);
    close(file);
    if (rv == APR_SUCCESS) {
        unlinkat(folder, name, 0);
    }
    return rv;
}

apr_status_t tseed_pack_file_read(tseed_transfer_t *transfer, const tseed_store_config_t *store,
                                  const tseed_pack_name_t *name, apr_pool_t *pool)
{
    int folder;
    apr_status_t rv = open_packs(&folder, store->root, 0);

    transfer->length = 0;
    if (rv == APR_SUCCESS) {
        rv = read_file(transfer, folder, text_of(name, pool));
        close(folder);
    }
    return rv;
}

/* ---- removing ---- */

int tseed_pack_file_is_there(const tseed_store_config_t *store, const tseed_pack_name_t *name,
                             apr_pool_t *pool)
{
    struct stat st;
    int folder, is_there;

    if (open_packs(&folder, store->root, 0) != APR_SUCCESS) {
        return 0;
    }
    is_there = fstatat(folder, text_of(name, pool), &st, AT_SYMLINK_NOFOLLOW) == 0;
    close(folder);
    return is_there;
}

void tseed_pack_file_remove(const tseed_store_config_t *store, const tseed_pack_name_t *name,
                            apr_pool_t *pool)
{
    int folder;

    if (open_packs(&folder, store->root, 0) == APR_SUCCESS) {
        unlinkat(folder, text_of(name, pool), 0);
        close(folder);
    }
}

static int is_file(int folder, const char *name)
{
    struct stat st;

    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static void clean_folder(DIR *stream, tseed_pack_wanted_t *is_wanted, void *baton, apr_pool_t *pool)
{
    const struct dirent *entry;
    tseed_pack_name_t name;

    while (!tseed_deadline_has_passed() && (entry = readdir(stream))) {
        if (read_name(&name, entry->d_name, pool) && is_file(dirfd(stream), entry->d_name) &&
            !is_wanted(baton, &name) && !tseed_deadline_has_passed()) {
            unlinkat(dirfd(stream), entry->d_name, 0);
        }
    }
}

/* A stream over the names of a store's packs, or NULL. */
static DIR *open_stream(const char *root)
{
    int folder;
    DIR *stream;

    if (open_packs(&folder, root, 0) != APR_SUCCESS) {
        return NULL;
    }
    stream = fdopendir(folder);
    if (!stream) {
        close(folder);
    }
    return stream;
}

void tseed_pack_files_clean(const tseed_catalog_t *catalog, tseed_pack_wanted_t *is_wanted,
                            void *baton, apr_pool_t *pool)
{
    const unsigned most = (unsigned)catalog->order->nelts; /* each layer has one root */
    const char **roots = apr_palloc(pool, most * sizeof(*roots));
    const unsigned count = tseed_catalog_roots(catalog, roots, most);

    for (unsigned i = 0; i < count; i++) {
        DIR *stream = open_stream(roots[i]);

        if (stream) {
            clean_folder(stream, is_wanted, baton, pool);
            closedir(stream);
        }
    }
}
