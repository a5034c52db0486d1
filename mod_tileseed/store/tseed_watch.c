/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Watches. A thread that gives a name goes up from the name's directory and meets watched ones. */
#include "store/tseed_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include "store/tseed_folders.h"
#include "store/tseed_names.h"

static tseed_watch_t *watches; /* changed by whoever holds the lock alone */

int tseed_watch_begin(tseed_watch_t *watch, int folder)
{
    struct stat st;

    if (fstat(folder, &st) != 0) {
        return -1;
    }
    watch->device = st.st_dev;
    watch->inode = st.st_ino;
    watch->disturbed = 0;
    tseed_names_hold_alone();
    watch->next = watches;
    watches = watch;
    tseed_names_release();
    return 0;
}

void tseed_watch_end(tseed_watch_t *watch)
{
    tseed_watch_t **link = &watches;

    tseed_names_hold_alone();
    while (*link != watch) {
        link = &(*link)->next;
    }
    *link = watch->next;
    tseed_names_release();
}

static int same(const tseed_watch_t *watch, const struct stat *st)
{
    return watch->inode == st->st_ino && watch->device == st->st_dev;
}

static void disturb(const struct stat *st)
{
    for (tseed_watch_t *watch = watches; watch; watch = watch->next) {
        if (same(watch, st)) {
            watch->disturbed = 1;
        }
    }
}

/* All watches, where nobody knows which. */
static void disturb_all(void)
{
    for (tseed_watch_t *watch = watches; watch; watch = watch->next) {
        watch->disturbed = 1;
    }
}

/* The directory above, instead of `folder`, which is closed; -1: there is none. */
static int go_up(int folder, struct stat *st)
{
    const struct stat below = *st;
    int above = tseed_folders_openat(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

    close(folder);
    if (above < 0 || fstat(above, st) != 0) {
        disturb_all();
    } else if (st->st_ino != below.st_ino || st->st_dev != below.st_dev) {
        return above;
    }
    if (above >= 0) {
        close(above);
    }
    return -1;
}

void tseed_watch_tell_locked(int folder)
{
    struct stat st;
    int at;

    if (!watches) {
        return;
    }
    at = fstat(folder, &st) == 0
             ? tseed_folders_openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)
             : -1;
    if (at < 0) {
        disturb_all();
    }
    while (at >= 0) {
        disturb(&st);
        at = go_up(at, &st);
    }
}

int tseed_watch_is_quiet_locked(const tseed_watch_t *watch, int base, const char *path)
{
    struct stat st;

    return !watch->disturbed && fstatat(base, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           same(watch, &st);
}
