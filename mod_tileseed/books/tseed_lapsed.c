/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A tile set has lapsed when it is no longer configured, or is configured at another place now.
 *
 * Nothing of a lapsed tile set is counted or removed by itself, but its row stays. A layer that
 * comes back gets its number back, and clients see which files still take room. The row is
 * forgotten when a client says so, or when a reconcile finds that the store root is gone; no file
 * is touched then.
 *
 * A client may have the tiles removed as well. Its wish stands in a note until the last tile is
 * gone, so that the next seeder goes on after any end of this one. Each removal has a thread of its
 * own, one for each store root at a time: nobody waits for a root that hangs. The row says which
 * files are the tile set's (layer/tseed_place.h). A file that is a tile of the configuration stays.
 */
#include "books/tseed_lapsed.h"

#include <apr_file_info.h>
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_log.h"
#include "base/tseed_memory.h"
#include "base/tseed_thread.h"
#include "state/tseed_books.h"
#include "store/tseed_owners.h"
#include "store/tseed_store.h"

#define RETRY (10 * APR_USEC_PER_SEC)

typedef enum { REMOVAL_WAITS, REMOVAL_AT_WORK, REMOVAL_DONE } removal_state_t;

/* A tile set whose tiles are being removed. Owned by its thread while one is at work; in a pool of
 * its own. */
typedef struct removal_t {
    tseed_mailbox_t *mailbox;
    tseed_letter_t letter;
    apr_pool_t *pool;
    const tseed_catalog_t *catalog;
    tseed_tileset_t tileset;
    int64_t number;
    int64_t removed, spared;
    apr_status_t rv;
    const char *obstacle; /* what `rv` is about */
    /* owned by the main thread */
    removal_state_t state;
    apr_status_t said;     /* what was logged of a failure */
    apr_time_t not_before; /* monotonic */
    struct removal_t *next;
} removal_t;

struct tseed_lapsed_t {
    const tseed_context_t *context;
    const tseed_session_t *session;
    const tseed_cache_t *cache;
    tseed_count_t *count;
    removal_t *removals;
};

static int is_gone(const char *directory, apr_pool_t *pool)
{
    apr_finfo_t info;
    const apr_status_t rv = apr_stat(&info, directory, APR_FINFO_TYPE, pool);

    return APR_STATUS_IS_ENOENT(rv) || APR_STATUS_IS_ENOTDIR(rv);
}

/* Forgets lapsed tile sets: those with these numbers, or if `numbers` is NULL those without a
 * directory; none of those in `wished`. */
static apr_status_t forget(const tseed_context_t *context, const tseed_session_t *session,
                           const tseed_cache_t *cache, const char *numbers, const char *wished)
{
    apr_array_header_t *records;
    apr_status_t rv = tseed_books_tilesets(session->state, &records, context->scratch);

    for (int i = 0; rv == APR_SUCCESS && i < records->nelts; i++) {
        const tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        if (tseed_book_find(cache->book, record->print) || tseed_usage_lists(wished, record->id) ||
            !(numbers ? tseed_usage_lists(numbers, record->id)
                      : is_gone(record->root, context->scratch))) {
            continue;
        }
        rv = tseed_books_forget(session->state, record->print);
        tseed_log(TSEED_LOG_NOTICE, rv,
                  "TS0069: tile set %" APR_INT64_T_FMT
                  " of layer '%s' below %s, which is not configured, leaves the books: %s",
                  record->id, record->layer, record->root,
                  numbers ? "somebody wants it" : "the directory is gone");
    }
    return rv;
}

/* The tile sets whose tiles are being removed. Their rows leave the books with the wish and not
 * before it, because another tile set may get the number. */
static apr_status_t wished_get(const char **wished, const tseed_context_t *context,
                               const tseed_session_t *session)
{
    apr_status_t rv =
        tseed_books_note_get(session->state, wished, TSEED_USAGE_REMOVE, context->scratch);

    if (rv == APR_NOTFOUND) {
        *wished = "";
        rv = APR_SUCCESS;
    }
    return rv;
}

/* Forgets the tile sets that the note names. A request that comes meanwhile is in the note, or
 * comes later. */
static apr_status_t forget_noted(const tseed_context_t *context, const tseed_session_t *session,
                                 const tseed_cache_t *cache)
{
    const char *numbers, *wished;
    apr_status_t rv =
        tseed_books_note_hold(session->state, &numbers, TSEED_USAGE_FORGET, context->scratch);

    if (rv == APR_SUCCESS) {
        rv = wished_get(&wished, context, session);
    }
    if (rv == APR_SUCCESS) {
        rv = forget(context, session, cache, numbers, wished);
    }
    return rv == APR_SUCCESS ? tseed_books_note_set(session->state, TSEED_USAGE_FORGET, "") : rv;
}

static apr_status_t hear_forget(tseed_lapsed_t *lapsed)
{
    const tseed_session_t *session = lapsed->session;
    const char *numbers;
    apr_status_t rv = tseed_books_note_get(session->state, &numbers, TSEED_USAGE_FORGET,
                                           lapsed->context->scratch);

    if (rv != APR_SUCCESS || !*numbers) {
        return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
    }
    rv = tseed_state_begin(session->state);
    if (rv == APR_SUCCESS) {
        rv = forget_noted(lapsed->context, session, lapsed->cache);
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(session->state);
    }
    tseed_state_rollback(session->state);
    return rv;
}

apr_status_t tseed_lapsed_look(const tseed_context_t *context, const tseed_session_t *session,
                               const tseed_cache_t *cache)
{
    const char *wished;
    const apr_status_t rv = wished_get(&wished, context, session);

    return rv == APR_SUCCESS ? forget(context, session, cache, NULL, wished) : rv;
}

/* ---- the thread of a removal ---- */

/* Borrowed for one call. */
typedef struct {
    removal_t *removal;
    tseed_owners_t *owners;
} call_t;

static int spares(void *baton, const tseed_tile_t *tile)
{
    call_t *call = baton;
    const int is_theirs = tseed_owners_of(call->owners, tile) != NULL;

    call->removal->spared += is_theirs;
    return is_theirs;
}

static void removed(void *baton, const tseed_tile_t *tile, const tseed_effect_t *effect)
{
    (void)tile;
    (void)effect;
    ((call_t *)baton)->removal->removed++;
}

static apr_status_t remove_levels(call_t *call, tseed_store_t *store)
{
    const tseed_gridset_t *gridset = call->removal->tileset.subset->gridset;
    const tseed_visitor_t visitor = {
        .tell = removed, .baton = call, .warn = NULL, .spares = spares};
    apr_status_t rv = APR_SUCCESS;

    for (int z = 0; rv == APR_SUCCESS && z < gridset->levels; z++) {
        const tseed_range_t level = {z, 0, 0, gridset->columns[z] - 1, gridset->rows[z] - 1};

        rv = tseed_store_remove(store, &level, &visitor, NULL);
    }
    return rv;
}

/* Shared files that are a configured tile set's as well are swept by its own sweep. */
static apr_status_t remove_tiles(call_t *call, const char **obstacle, int is_shared,
                                 apr_pool_t *pool)
{
    tseed_effect_t effect = {0};
    tseed_store_t *store;
    int is_tile;
    apr_status_t rv = tseed_store_open(&store, &call->removal->tileset, TSEED_STORE_IDS - 1, pool);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = remove_levels(call, store);
    if (rv == APR_SUCCESS && !is_shared) {
        rv = tseed_store_shared_sweep(&effect, store);
    }
    if (rv != APR_SUCCESS) {
        *obstacle = apr_pstrdup(pool, tseed_store_obstacle(&is_tile, store));
    }
    tseed_store_close(store);
    return rv;
}

/* Where nothing is configured here any more, nobody else removes what was renamed away, and another
 * httpd may be at work by now. Its seeder locks the root (tseed_root_claim.c). */
static apr_status_t remove_alone(call_t *call, const char **obstacle, apr_pool_t *pool)
{
    const char *root = call->removal->tileset.layer->store.root;
    const int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _Atomic int64_t purged = 0;
    apr_status_t rv =
        fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK ? EBUSY : APR_SUCCESS;

    if (rv == APR_SUCCESS) {
        rv = remove_tiles(call, obstacle, 0, pool);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_store_purge(&purged, root, 0, 1, NULL);
    }
    if (fd >= 0) {
        close(fd);
    }
    return rv;
}

static void *removal_thread(void *data)
{
    removal_t *removal = data;
    apr_pool_t *pool = tseed_memory_pool();
    const char *obstacle;
    int is_shared;
    call_t call = {removal, NULL};

    removal->spared = 0;
    removal->rv =
        tseed_owners_create(&call.owners, &obstacle, &removal->tileset, removal->catalog, pool);
    if (removal->rv == APR_SUCCESS) {
        obstacle = removal->tileset.layer->store.root;
        removal->rv = tseed_owners_use(call.owners, &is_shared)
                          ? remove_tiles(&call, &obstacle, is_shared, pool)
                          : remove_alone(&call, &obstacle, pool);
    }
    if (removal->rv != removal->said) { /* else it was logged, and is not kept again and again */
        removal->obstacle = apr_pstrdup(removal->pool, obstacle);
    }
    apr_pool_destroy(pool);
    tseed_mailbox_put(removal->mailbox, &removal->letter);
    return NULL;
}

/* ---- removals ---- */

static void letter_take(void *module, void *about)
{
    removal_t *removal = module;

    (void)about;
    if (removal->rv == APR_SUCCESS) {
        removal->state = REMOVAL_DONE;
        return;
    }
    removal->state = REMOVAL_WAITS;
    removal->not_before = tseed_clock_monotonic() + RETRY;
    if (removal->rv != removal->said && !APR_STATUS_IS_EINTR(removal->rv)) {
        tseed_log(TSEED_LOG_ERROR, removal->rv,
                  "TS0105: can't remove the tiles of tile set %" APR_INT64_T_FMT
                  " of layer '%s', which is not configured, at %s; it is tried again every ten "
                  "seconds",
                  removal->number, removal->tileset.layer->name, removal->obstacle);
    }
    removal->said = removal->rv;
}

/* Nothing is removed from a root by two threads. */
static int is_busy(const tseed_lapsed_t *lapsed, const char *root)
{
    const removal_t *one = lapsed->removals;

    while (one &&
           (one->state != REMOVAL_AT_WORK || strcmp(one->tileset.layer->store.root, root) != 0)) {
        one = one->next;
    }
    return one != NULL;
}

static void removal_begin(tseed_lapsed_t *lapsed, removal_t *removal)
{
    if (removal->state != REMOVAL_WAITS || tseed_clock_monotonic() < removal->not_before ||
        is_busy(lapsed, removal->tileset.layer->store.root)) {
        return;
    }
    if (tseed_thread_begin(removal_thread, removal) == APR_SUCCESS) {
        removal->state = REMOVAL_AT_WORK;
    } else { /* as if it had failed at once */
        removal->not_before = tseed_clock_monotonic() + RETRY;
    }
}

/* The texts of the record are copied: they live for one turn of the loop. */
static void copy_texts(tseed_tileset_record_t *record, apr_pool_t *pool)
{
    const char **const texts[] = {&record->key,    &record->layer,      &record->gridset,
                                  &record->format, &record->parameters, &record->root,
                                  &record->place};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        *texts[i] = apr_pstrdup(pool, *texts[i]);
    }
}

/* NULL: nothing is to be removed, because the tile set is configured again, or because nobody knows
 * its files. */
static removal_t *removal_create(tseed_lapsed_t *lapsed, const tseed_tileset_record_t *found)
{
    apr_pool_t *pool = tseed_memory_pool();
    removal_t *removal = apr_pcalloc(pool, sizeof(*removal));
    tseed_tileset_record_t record = *found;

    copy_texts(&record, pool);
    if (tseed_book_find(lapsed->cache->book, record.print) ||
        tseed_owners_restore(&removal->tileset, &record, pool)) {
        apr_pool_destroy(pool);
        return NULL;
    }
    removal->pool = pool;
    removal->catalog = lapsed->context->catalog;
    removal->number = record.id;
    removal->mailbox = lapsed->context->mailbox;
    removal->letter = (tseed_letter_t){.take = letter_take, .module = removal};
    removal->next = lapsed->removals;
    return lapsed->removals = removal;
}

static removal_t *find(const tseed_lapsed_t *lapsed, int64_t number)
{
    removal_t *removal = lapsed->removals;

    while (removal && removal->number != number) {
        removal = removal->next;
    }
    return removal;
}

/* Takes the removals that are done out of the list, and says so. */
static void drop_done(tseed_lapsed_t *lapsed)
{
    removal_t **at = &lapsed->removals;

    while (*at) {
        removal_t *removal = *at;
        const char *root = removal->tileset.layer->store.root;

        if (removal->state != REMOVAL_DONE) {
            at = &removal->next;
            continue;
        }
        tseed_log(TSEED_LOG_NOTICE, APR_SUCCESS,
                  "TS0106: %" APR_INT64_T_FMT " tiles of tile set %" APR_INT64_T_FMT
                  " of layer '%s' below %s, which is not configured, are removed%s",
                  removal->removed, removal->number, removal->tileset.layer->name, root,
                  removal->spared ? "; files that are tiles of a configured layer stay" : "");
        tseed_count_sweep(lapsed->count, root);
        *at = removal->next;
        apr_pool_destroy(removal->pool);
    }
}

/* Takes numbers out of the note, and their rows out of the books. */
static apr_status_t record_done(tseed_lapsed_t *lapsed, const char *done)
{
    apr_pool_t *scratch = lapsed->context->scratch;
    tseed_state_t *state = lapsed->session->state;
    const char *numbers, *left = "";
    char *word, *rest;
    apr_status_t rv = tseed_books_note_hold(state, &numbers, TSEED_USAGE_REMOVE, scratch);

    if (rv == APR_SUCCESS) {
        rv = forget(lapsed->context, lapsed->session, lapsed->cache, done, "");
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    word = apr_strtok(apr_pstrdup(scratch, numbers), " ", &rest);
    for (; word; word = apr_strtok(NULL, " ", &rest)) {
        if (!tseed_usage_lists(done, apr_atoi64(word))) {
            left = apr_pstrcat(scratch, left, " ", word, NULL);
        }
    }
    return tseed_books_note_set(state, TSEED_USAGE_REMOVE, left);
}

static apr_status_t finish(tseed_lapsed_t *lapsed, const char *done)
{
    tseed_state_t *state = lapsed->session->state;
    apr_status_t rv = tseed_state_begin(state);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = record_done(lapsed, done);
    rv = rv == APR_SUCCESS ? tseed_state_commit(state) : rv;
    if (rv == APR_SUCCESS) {
        drop_done(lapsed);
    } else {
        tseed_state_rollback(state);
    }
    return rv;
}

/* The row of a tile set in the books, or NULL. */
static const tseed_tileset_record_t *row_of(const apr_array_header_t *records, int64_t number)
{
    for (int i = 0; i < records->nelts; i++) {
        const tseed_tileset_record_t *record = &APR_ARRAY_IDX(records, i, tseed_tileset_record_t);

        if (record->id == number) {
            return record;
        }
    }
    return NULL;
}

/* Begins what may begin. *done: the numbers that are done with, each behind a blank. */
static apr_status_t see_to(tseed_lapsed_t *lapsed, const char **done, const char *numbers)
{
    apr_pool_t *scratch = lapsed->context->scratch;
    apr_array_header_t *records;
    char *word, *rest;
    apr_status_t rv = tseed_books_tilesets(lapsed->session->state, &records, scratch);

    *done = "";
    if (rv != APR_SUCCESS) {
        return rv;
    }
    word = apr_strtok(apr_pstrdup(scratch, numbers), " ", &rest);
    for (; word; word = apr_strtok(NULL, " ", &rest)) {
        const int64_t number = apr_atoi64(word);
        const tseed_tileset_record_t *record = row_of(records, number);
        removal_t *removal = find(lapsed, number);

        if (!removal && record) {
            removal = removal_create(lapsed, record);
        }
        if (!removal || removal->state == REMOVAL_DONE) {
            *done = apr_pstrcat(scratch, *done, " ", word, NULL);
        } else {
            removal_begin(lapsed, removal);
        }
    }
    return APR_SUCCESS;
}

static apr_status_t hear_remove(tseed_lapsed_t *lapsed)
{
    const char *numbers, *done;
    apr_status_t rv = tseed_books_note_get(lapsed->session->state, &numbers, TSEED_USAGE_REMOVE,
                                           lapsed->context->scratch);

    if (rv != APR_SUCCESS || !*numbers) {
        return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
    }
    rv = see_to(lapsed, &done, numbers);
    return rv == APR_SUCCESS && *done ? finish(lapsed, done) : rv;
}

/* ---- */

apr_status_t tseed_lapsed_hear(tseed_lapsed_t *lapsed)
{
    const apr_status_t rv = hear_forget(lapsed);

    return rv == APR_SUCCESS ? hear_remove(lapsed) : rv;
}

tseed_lapsed_t *tseed_lapsed_create(const tseed_context_t *context, const tseed_session_t *session,
                                    const tseed_cache_t *cache, tseed_count_t *count)
{
    tseed_lapsed_t *lapsed = apr_pcalloc(context->pool, sizeof(*lapsed));

    *lapsed = (tseed_lapsed_t){context, session, cache, count, NULL};
    return lapsed;
}
