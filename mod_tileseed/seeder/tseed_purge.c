/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Purges: what truncates have renamed away is removed in the background.
 *
 * By threads of their own, so that no worker is kept from seeding; one store root after the other.
 * A seeder that starts purges every root: its predecessor may not have come to the end.
 *
 * Nothing is removed before the database has that it was renamed away: until then its name is the
 * only record of it (tseed_heritage.c).
 *
 * What was renamed away stays charged until it is gone. The threads count names, no sizes, which
 * would take them half as long again. So while they are at it the books give back only what is
 * certain: a block for each file that must have been among the names; and the rest at the end.
 */
#include <apr_strings.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "seeder/tseed_house.h"
#include "store/tseed_layout.h"

#define PARTS 2
#define RETRY (60 * APR_USEC_PER_SEC)

/* One thread's, until it posts the letter. */
typedef struct {
    tseed_letter_t letter;
    apr_status_t rv;
    tseed_purge_t *purge;
    tseed_mailbox_t *mailbox;
    unsigned part;
} part_t;

/* A store root that was ever purged. malloc'd, kept; the threads read `root` and count. */
struct tseed_purge_t {
    const char *root;
    _Atomic int64_t removed; /* names, since all was gone the last time */
    /* owned by the main thread */
    int64_t credited;      /* of `removed` */
    int wanted;            /* something was renamed away since it was last begun */
    int at_work;           /* threads */
    apr_status_t rv;       /* the first one's that failed */
    apr_status_t said;     /* what was logged of it, until it works again */
    apr_time_t not_before; /* monotonic */
    part_t parts[PARTS];
    tseed_purge_t *next;
};

static tseed_purge_t *purge_get(tseed_seeder_t *seeder, const char *root)
{
    tseed_purge_t *purge = seeder->purges;

    while (purge && strcmp(purge->root, root) != 0) {
        purge = purge->next;
    }
    if (!purge) {
        purge = tseed_memory_get(sizeof(*purge));
        purge->root = tseed_memory_copy(root);
        purge->next = seeder->purges;
        seeder->purges = purge;
    }
    return purge;
}

/* Truncates have marked store roots. */
static void read_marks(tseed_seeder_t *seeder)
{
    for (int i = 0; i < seeder->marks->to_purge->nelts; i++) {
        purge_get(seeder, APR_ARRAY_IDX(seeder->marks->to_purge, i, const char *))->wanted = 1;
    }
    apr_array_clear(seeder->marks->to_purge);
}

void tseed_purge_want_all(tseed_seeder_t *seeder)
{
    const char *root;

    for (unsigned i = 0; (root = tseed_cleaner_root(seeder->cache->cleaner, i)) != NULL; i++) {
        purge_get(seeder, root)->wanted = 1;
    }
}

/* ---- threads ---- */

static void *purge_thread(void *data)
{
    part_t *part = data;
    tseed_purge_t *purge = part->purge;

    part->rv = tseed_store_purge(&purge->removed, purge->root, part->part, PARTS, NULL);
    tseed_mailbox_put(part->mailbox, &part->letter);
    return NULL;
}

/* ---- books ---- */

static int is_charged(const tseed_book_tileset_t *booked, const tseed_purge_t *purge)
{
    return strcmp(booked->record.root, purge->root) == 0 &&
           (booked->record.detached.names > 0 || booked->record.detached.files > 0);
}

/* The only tile set of the root of which something was renamed away; NULL: there are several, and
 * nobody knows whose names are gone. */
static tseed_book_tileset_t *only_charged(const tseed_seeder_t *seeder, const tseed_purge_t *purge)
{
    tseed_book_tileset_t *booked, *found = NULL;

    for (unsigned i = 0; (booked = tseed_book_tileset(seeder->cache->book, i)) != NULL; i++) {
        if (is_charged(booked, purge)) {
            if (found) {
                return NULL;
            }
            found = booked;
        }
    }
    return found;
}

/* So many names fewer can have no more files among them than there are names left. */
static void credit(tseed_seeder_t *seeder, tseed_purge_t *purge)
{
    tseed_book_tileset_t *booked = only_charged(seeder, purge);
    int64_t gone = atomic_load(&purge->removed) - purge->credited;

    if (booked && gone > 0) {
        const tseed_effect_t *charged = &booked->record.detached;
        int64_t left = charged->names > gone ? charged->names - gone : 0;
        int64_t files = charged->files > left ? charged->files - left : 0;
        int64_t bytes = charged->files > 0 ? charged->bytes / charged->files * files : 0;
        const tseed_effect_t certain = {gone, files, bytes, files * seeder->cache->block};

        tseed_book_purge(seeder->cache->book, booked, &certain);
        purge->credited += gone;
    }
}

/* Everything that was renamed away below the root is gone, and with it the last tiles of some
 * shared files. */
static void settle(tseed_seeder_t *seeder, tseed_purge_t *purge)
{
    int64_t removed = atomic_exchange(&purge->removed, 0);
    tseed_book_tileset_t *booked;

    purge->credited = 0;
    for (unsigned i = 0; (booked = tseed_book_tileset(seeder->cache->book, i)) != NULL; i++) {
        if (is_charged(booked, purge)) {
            tseed_book_purge(seeder->cache->book, booked, NULL);
        }
        if (booked->record.shared.files > 0 && strcmp(booked->record.root, purge->root) == 0) {
            tseed_count_sweep(seeder->count, booked);
        }
    }
    if (removed > 0) {
        tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
                  "%" APR_INT64_T_FMT
                  " tiles that were truncated are removed from the disk below %s",
                  removed, purge->root);
    }
}

/* Whether there is something to remove, as far as anybody can see. */
static int is_owed(const tseed_seeder_t *seeder, const tseed_purge_t *purge)
{
    const char *path = apr_pstrcat(seeder->context->scratch, purge->root, "/" TSEED_REMOVED, NULL);
    tseed_book_tileset_t *booked;

    for (unsigned i = 0; (booked = tseed_book_tileset(seeder->cache->book, i)) != NULL; i++) {
        if (is_charged(booked, purge)) {
            return 1;
        }
    }
    return access(path, F_OK) == 0;
}

/* A store that can't be read or written is somebody else's to complain of: nothing may have been
 * truncated there. */
static void complain(const tseed_seeder_t *seeder, tseed_purge_t *purge)
{
    if (purge->rv != purge->said && is_owed(seeder, purge)) {
        purge->said = purge->rv;
        tseed_log(TSEED_LOG_ERROR, purge->rv,
                  "can't remove what was truncated below %s from the disk; it is tried again every "
                  "minute",
                  purge->root);
    }
}

static void take(void *module, void *about)
{
    tseed_seeder_t *seeder = module;
    const part_t *part = about;
    tseed_purge_t *purge = part->purge;

    read_marks(seeder);
    purge->at_work--;
    purge->rv = purge->rv != APR_SUCCESS ? purge->rv : part->rv;
    if (purge->at_work > 0) {
        return;
    }
    if (purge->rv != APR_SUCCESS) {
        complain(seeder, purge);
        purge->not_before = tseed_clock_monotonic() + RETRY;
        purge->wanted = 1;
        return;
    }
    purge->said = APR_SUCCESS;
    if (!purge->wanted) {
        settle(seeder, purge);
    }
}

/* ---- the client ---- */

static void part_begin(tseed_seeder_t *seeder, tseed_purge_t *purge, unsigned number)
{
    part_t *part = &purge->parts[number];
    pthread_t thread;

    part->purge = purge;
    part->mailbox = seeder->context->mailbox;
    part->part = number;
    part->letter = (tseed_letter_t){.take = take, .module = seeder, .about = part};
    purge->at_work++;
    if (pthread_create(&thread, NULL, purge_thread, part) == 0) {
        pthread_detach(thread);
    } else { /* as if it had failed at once */
        part->rv = APR_ENOMEM;
        tseed_mailbox_put(seeder->context->mailbox, &part->letter);
    }
}

static void feed(void *module)
{
    tseed_seeder_t *seeder = module;
    apr_time_t now = tseed_clock_monotonic();
    tseed_purge_t *due = NULL;

    read_marks(seeder);
    if (seeder->session->must_save || seeder->cache->is_loading) {
        return;
    }
    for (tseed_purge_t *purge = seeder->purges; purge; purge = purge->next) {
        if (purge->at_work > 0) {
            return;
        }
        due = purge->wanted && now >= purge->not_before ? purge : due;
    }
    if (due) {
        due->wanted = 0;
        due->rv = APR_SUCCESS;
        for (unsigned i = 0; i < PARTS; i++) {
            part_begin(seeder, due, i);
        }
    }
}

static void tick(void *module, apr_time_t now)
{
    tseed_seeder_t *seeder = module;
    (void)now;
    for (tseed_purge_t *purge = seeder->purges; purge; purge = purge->next) {
        credit(seeder, purge);
    }
}

tseed_client_t tseed_purge_client = {.feed = feed, .tick = tick};
