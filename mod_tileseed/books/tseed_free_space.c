/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The free space below store roots: a thread measures, a letter brings the result. */
#include "books/tseed_free_space.h"

#include <string.h>

#include "base/tseed_memory.h"
#include "base/tseed_thread.h"
#include "store/tseed_store.h"

#define LOOK_EVERY 10 /* ticks */

/* A root that was ever measured. malloc'd, kept. A thread has `path`, `scratch` and `found` until
 * the thread posts the letter. */
typedef struct root_t {
    tseed_letter_t letter;
    tseed_mailbox_t *mailbox;
    char *path;
    apr_pool_t *scratch;
    int64_t found; /* bytes */
    /* owned by the main thread */
    int is_at_work;
    int64_t used;  /* bytes in the root's account when the measure began */
    int64_t bytes; /* by the last measure; INT64_MAX: nobody knows */
    struct root_t *next;
} root_t;

struct tseed_free_space_t {
    const tseed_context_t *context;
    const tseed_cache_t *cache;
    root_t *roots;
    tseed_client_t client;
};

static root_t *find(const tseed_free_space_t *space, const char *path)
{
    root_t *root = space->roots;

    while (root && strcmp(root->path, path) != 0) {
        root = root->next;
    }
    return root;
}

/* The account may have changed while the measure was under way, and the measured bytes may include
 * that change or not. The lesser of both values of `used` never allows for more than there is. */
static void settle(const tseed_free_space_t *space, root_t *root)
{
    tseed_cleaner_t *cleaner = space->cache->cleaner;
    const int64_t used = tseed_cleaner_used(cleaner, root->path);

    root->bytes = root->found;
    tseed_cleaner_free_set(cleaner, root->path, root->found, used < root->used ? used : root->used);
}

static void take(void *module, void *about)
{
    root_t *root = about;

    root->is_at_work = 0;
    settle(module, root);
}

static root_t *get(tseed_free_space_t *space, const char *path)
{
    root_t *root = find(space, path);

    if (!root) {
        root = tseed_memory_get(sizeof(*root));
        root->letter = (tseed_letter_t){.take = take, .module = space, .about = root};
        root->mailbox = space->context->mailbox;
        root->path = tseed_memory_copy(path);
        root->scratch = tseed_memory_pool();
        root->bytes = INT64_MAX;
        root->next = space->roots;
        space->roots = root;
    }
    return root;
}

static void *measure_thread(void *data)
{
    root_t *root = data;

    apr_pool_clear(root->scratch);
    root->found = tseed_store_free(root->path, root->scratch);
    tseed_mailbox_put(root->mailbox, &root->letter);
    return NULL;
}

/* Without a thread the root keeps what its account has until the next tick. */
static void begin(const tseed_free_space_t *space, root_t *root)
{
    root->used = tseed_cleaner_used(space->cache->cleaner, root->path);
    root->is_at_work = tseed_thread_begin(measure_thread, root) == APR_SUCCESS;
}

void tseed_free_space_begin(tseed_free_space_t *space)
{
    const char *path;

    for (unsigned i = 0; (path = tseed_cleaner_root(space->cache->cleaner, i)) != NULL; i++) {
        root_t *root = get(space, path);

        if (!root->is_at_work) {
            begin(space, root);
        }
    }
}

int64_t tseed_free_space_get(const tseed_free_space_t *space, const char *root)
{
    const root_t *found = find(space, root);

    return found ? found->bytes : INT64_MAX;
}

/* Without a floor nobody but people reads what is free. */
static void tick(void *module, apr_time_t now)
{
    const tseed_free_space_t *space = module;

    (void)now;
    if (space->context->settings->min_free > 0 || space->context->ticks % LOOK_EVERY == 0) {
        tseed_free_space_begin(module);
    }
}

tseed_free_space_t *tseed_free_space_create(const tseed_context_t *context,
                                            const tseed_cache_t *cache)
{
    tseed_free_space_t *space = apr_pcalloc(context->pool, sizeof(*space));

    space->context = context;
    space->cache = cache;
    space->client = (tseed_client_t){.module = space, .tick = tick};
    return space;
}

tseed_client_t *tseed_free_space_client(tseed_free_space_t *space)
{
    return &space->client;
}
