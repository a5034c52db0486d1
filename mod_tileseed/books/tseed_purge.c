/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Purges have threads of their own, two for each store root: no worker is kept from seeding, and no
 * root waits for one that is slow or does not answer. A seeder that starts purges every root,
 * because its predecessor may not have finished.
 *
 * A directory is removed only when the database has recorded its renaming. Until then the name of
 * the directory is the only record (tseed_inherited.c).
 *
 * Tiles that were renamed away stay charged until they are gone. The threads count names but no
 * sizes, because sizes would cost half as much time again. So during a purge the book gives back
 * only what is certain: a block for each file that must have been among the removed names. The book
 * gives back the rest at the end.
 */
#include "books/tseed_purge.h"

#include <apr_strings.h>
#include <string.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_thread.h"
#include "store/tseed_layout.h"
#include "store/tseed_store.h"

#define PARTS 2
#define RETRY (10 * APR_USEC_PER_SEC) /* as evict: until then the disk quota may be exceeded */

typedef struct root_t root_t;

/* Owned by its thread until the thread posts the letter. */
typedef struct {
    tseed_letter_t letter;
    apr_status_t rv;
    root_t *root;
    tseed_mailbox_t *mailbox;
    unsigned part;
} part_t;

/* A store root that was ever purged. malloc'd, kept; the threads read `path` and count. */
struct root_t {
    const char *path;
    _Atomic int64_t removed; /* names, since all was gone the last time */
    /* owned by the main thread */
    int64_t credited;      /* of `removed` */
    int wanted;            /* something was renamed away since the last purge began */
    int at_work;           /* threads */
    apr_status_t rv;       /* the first one's that failed */
    apr_status_t said;     /* what was logged of it, until it works again */
    apr_time_t not_before; /* monotonic */
    part_t parts[PARTS];
    root_t *next;
};

struct tseed_purge_t {
    const tseed_context_t *context;
    const tseed_session_t *session;
    const tseed_cache_t *cache;
    tseed_marks_t *marks;
    tseed_count_t *count;
    root_t *roots;
    tseed_client_t client;
};

static root_t *root_get(tseed_purge_t *purge, const char *path)
{
    root_t *root = purge->roots;

    while (root && strcmp(root->path, path) != 0) {
        root = root->next;
    }
    if (!root) {
        root = tseed_memory_get(sizeof(*root));
        root->path = tseed_memory_copy(path);
        root->next = purge->roots;
        purge->roots = root;
    }
    return root;
}

/* Truncates have marked store roots. */
static void read_marks(tseed_purge_t *purge)
{
    apr_array_header_t *marked = purge->marks->to_purge;

    for (int i = 0; i < marked->nelts; i++) {
        root_get(purge, APR_ARRAY_IDX(marked, i, const char *))->wanted = 1;
    }
    apr_array_clear(marked);
}

void tseed_purge_want_all(tseed_purge_t *purge)
{
    const char *path;

    for (unsigned i = 0; (path = tseed_cleaner_root(purge->cache->cleaner, i)) != NULL; i++) {
        root_get(purge, path)->wanted = 1;
    }
}

/* ---- threads ---- */

static void *purge_thread(void *data)
{
    part_t *part = data;
    root_t *root = part->root;

    part->rv = tseed_store_purge(&root->removed, root->path, part->part, PARTS, NULL);
    tseed_mailbox_put(part->mailbox, &part->letter);
    return NULL;
}

/* ---- the book ---- */

/* Gives back what is certain to be gone. The names that are left belong to at most as many files,
 * so all other files are gone. If several tile sets of the root are charged, nothing is certain:
 * nobody knows whose names are gone. */
static void credit(tseed_purge_t *purge, root_t *root)
{
    tseed_book_tileset_t *booked = tseed_book_only_detached(purge->cache->book, root->path);
    int64_t gone = atomic_load(&root->removed) - root->credited;

    if (booked && gone > 0) {
        const tseed_effect_t *charged = &booked->record.detached;
        int64_t left = charged->names > gone ? charged->names - gone : 0;
        int64_t files = charged->files > left ? charged->files - left : 0;
        int64_t bytes = charged->files > 0 ? charged->bytes / charged->files * files : 0;
        const tseed_effect_t certain = {gone, files, bytes, files * purge->cache->block};

        tseed_book_purge(purge->cache->book, booked, &certain);
        root->credited += gone;
    }
}

/* Ends a purge: everything that was renamed away below the root is gone. Shared files may have lost
 * their last tiles, so they are swept. */
static void settle(tseed_purge_t *purge, root_t *root)
{
    int64_t removed = atomic_exchange(&root->removed, 0);

    root->credited = 0;
    tseed_book_purge_root(purge->cache->book, root->path);
    tseed_count_sweep(purge->count, root->path);
    if (removed > 0) {
        tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
                  "TS0070: %" APR_INT64_T_FMT
                  " tiles that were truncated are removed from the disk below %s",
                  removed, root->path);
    }
}

/* Whether there is something to remove, by the book or by the disk. */
static int is_owed(const tseed_purge_t *purge, const root_t *root)
{
    const char *path = apr_pstrcat(purge->context->scratch, root->path, "/" TSEED_REMOVED, NULL);
    unsigned first = 0;

    return tseed_book_next_detached(purge->cache->book, &first, root->path) != NULL ||
           access(path, F_OK) == 0;
}

/* Logs a failure where something was truncated. Else jobs log that the store can't be used. */
static void complain(const tseed_purge_t *purge, root_t *root)
{
    if (root->rv != root->said && is_owed(purge, root)) {
        root->said = root->rv;
        tseed_log(TSEED_LOG_ERROR, root->rv,
                  "TS0033: can't remove what was truncated below %s from the disk; it is tried "
                  "again every ten seconds",
                  root->path);
    }
}

static void letter_take(void *module, void *about)
{
    tseed_purge_t *purge = module;
    const part_t *part = about;
    root_t *root = part->root;

    read_marks(purge);
    root->at_work--;
    root->rv = root->rv != APR_SUCCESS ? root->rv : part->rv;
    if (root->at_work > 0) {
        return;
    }
    if (root->rv != APR_SUCCESS) {
        complain(purge, root);
        root->not_before = tseed_clock_monotonic() + RETRY;
        root->wanted = 1;
        return;
    }
    root->said = APR_SUCCESS;
    if (!root->wanted) {
        settle(purge, root);
    }
}

/* ---- the client ---- */

static void part_begin(tseed_purge_t *purge, root_t *root, unsigned number)
{
    part_t *part = &root->parts[number];

    part->root = root;
    part->mailbox = purge->context->mailbox;
    part->part = number;
    part->letter = (tseed_letter_t){.take = letter_take, .module = purge, .about = part};
    root->at_work++;
    if (tseed_thread_begin(purge_thread, part) != APR_SUCCESS) { /* as if it had failed at once */
        part->rv = APR_ENOMEM;
        tseed_mailbox_put(part->mailbox, &part->letter);
    }
}

static void root_begin(tseed_purge_t *purge, root_t *root)
{
    root->wanted = 0;
    root->rv = APR_SUCCESS;
    for (unsigned i = 0; i < PARTS; i++) {
        part_begin(purge, root, i);
    }
}

static void feed(void *module)
{
    tseed_purge_t *purge = module;
    apr_time_t now = tseed_clock_monotonic();

    read_marks(purge);
    if (purge->session->must_save || purge->cache->is_loading) {
        return;
    }
    for (root_t *root = purge->roots; root; root = root->next) {
        if (root->wanted && root->at_work == 0 && now >= root->not_before) {
            root_begin(purge, root);
        }
    }
}

static void tick(void *module, apr_time_t now)
{
    tseed_purge_t *purge = module;

    (void)now;
    for (root_t *root = purge->roots; root; root = root->next) {
        credit(purge, root);
    }
}

tseed_purge_t *tseed_purge_create(const tseed_context_t *context, const tseed_session_t *session,
                                  const tseed_cache_t *cache, tseed_marks_t *marks,
                                  tseed_count_t *count)
{
    tseed_purge_t *purge = apr_pcalloc(context->pool, sizeof(*purge));

    purge->context = context;
    purge->session = session;
    purge->cache = cache;
    purge->marks = marks;
    purge->count = count;
    purge->client = (tseed_client_t){.module = purge, .feed = feed, .tick = tick};
    return purge;
}

tseed_client_t *tseed_purge_client(tseed_purge_t *purge)
{
    return &purge->client;
}
