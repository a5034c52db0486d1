/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Each seeder locks the directories of its stores, by flock and for as long as it lives. The lock
 * keeps no seeder out: a seeder that does not get the lock says so once. The lock is on the
 * directory itself, so there is no lock file that would be counted or copied.
 *
 * Each directory has a thread of its own that takes the lock, because a directory on a file server
 * that is away may block the thread for ever. The thread looks again every few seconds, because the
 * first tile makes a directory and an administrator may remove one. If another seeder holds a lock
 * at the first look, that seeder may just be leaving. So the second look decides. Where hosts share
 * the database, another host may have worked before, and its locks may stay for some minutes: a
 * file server keeps the locks of a host that is dead or stands still.
 */
#include "books/tseed_root_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_thread.h"

#define LOOK_AGAIN       5 /* seconds */
#define LOOKS            2
#define LOOKS_OF_A_FLEET 60

/* malloc'd, one a thread. Never freed: the process ends before its threads. */
typedef struct claim_t {
    const char *root;
    struct claim_t *all;     /* the first of all claims */
    _Atomic uint64_t device; /* of what is locked, for all threads, */
    _Atomic uint64_t inode;  /* likewise; 0: nothing is locked */
    int fd;                  /* locked; -1: not */
    int held;                /* by another, at so many looks in a row, */
    int most;                /* of which this one decides */
    int is_said;
    struct claim_t *next;
} claim_t;

/* Whether that directory is locked by us by another name. */
static int is_ours(const claim_t *claims, const struct stat *st)
{
    while (claims && !(claims->inode == st->st_ino && claims->device == st->st_dev)) {
        claims = claims->next;
    }
    return claims != NULL;
}

static void note(claim_t *claim, uint64_t device, uint64_t inode)
{
    claim->inode = 0;
    claim->device = device;
    claim->inode = inode;
}

static void say(claim_t *claim)
{
    if (!claim->is_said) {
        tseed_log(TSEED_LOG_WARNING, APR_SUCCESS,
                  "TS0027: another httpd works in the store directory %s: their books and quotas "
                  "do not know of each other's tiles; give each httpd a directory of its own by "
                  "TileSeedStore, or give all of them the same TileSeedDatabase pgsql",
                  claim->root);
    }
    claim->is_said = 1;
}

/* File systems that have no such locks are passed over. */
static void try_to_lock(claim_t *claim)
{
    int fd = open(claim->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && !is_ours(claim->all, &st)) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            note(claim, st.st_dev, st.st_ino);
            claim->fd = fd;
            claim->held = 0;
            return;
        }
        claim->held = errno == EWOULDBLOCK ? claim->held + 1 : 0;
        if (claim->held >= claim->most) {
            say(claim);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void drop_if_removed(claim_t *claim)
{
    struct stat st;

    if (claim->fd >= 0 && fstat(claim->fd, &st) == 0 && st.st_nlink == 0) {
        close(claim->fd);
        claim->fd = -1;
        note(claim, 0, 0);
    }
}

static void *look_after(void *data)
{
    claim_t *claim = data;

    for (;;) {
        drop_if_removed(claim);
        if (claim->fd < 0) {
            try_to_lock(claim);
        }
        sleep(LOOK_AGAIN);
    }
    return NULL;
}

void tseed_root_claim_begin(const tseed_cleaner_t *cleaner, int is_fleet)
{
    claim_t *claims = NULL;
    const char *root;

    for (unsigned i = 0; (root = tseed_cleaner_root(cleaner, i)) != NULL; i++) {
        claim_t *claim = tseed_memory_get(sizeof(*claim));

        *claim = (claim_t){.root = tseed_memory_copy(root),
                           .fd = -1,
                           .most = is_fleet ? LOOKS_OF_A_FLEET : LOOKS,
                           .next = claims};
        claims = claim;
    }
    for (claim_t *claim = claims; claim; claim = claim->next) {
        claim->all = claims;
    }
    for (claim_t *claim = claims; claim; claim = claim->next) {
        tseed_thread_begin(look_after, claim);
    }
}
