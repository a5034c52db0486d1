/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Open tile sets: who comes and who leaves. The removal of their tiles is the eviction's. */
#include "seeder/tseed_open_tilesets.h"

#include <arpa/inet.h>
#include <apr_strings.h>
#include <string.h>

#include "base/tseed_digest.h"
#include "base/tseed_log.h"
#include "protocol/tseed_usage.h"
#include "seeder/tseed_flight.h"
#include "state/tseed_books.h"

#define ROWS_MORE 64  /* beyond the directive: tile sets of which nothing is stored yet */
#define AT_ONCE   256 /* tile sets that are taken out in one transaction */

struct tseed_open_tilesets_t {
    tseed_open_tilesets_uses_t uses;
    int must_hear; /* the pages were not loaded when something was to be heard */
    tseed_client_t client;
};

/* ---- clients ---- */

/* A number for an IPv4 address, or for the /64 of an IPv6 address; another text counts as a whole.
 * Never 0. */
static uint64_t maker_of(const char *client)
{
    unsigned char address[16];
    size_t length = 0;
    uint64_t maker;

    if (inet_pton(AF_INET, client, address) == 1) {
        length = 4;
    } else if (inet_pton(AF_INET6, client, address) == 1) {
        length = 8;
    }
    maker = length ? tseed_digest(address, length, 0) : tseed_digest(client, strlen(client), 0);
    return maker ? maker : 1;
}

/* ---- counts ---- */

static int is_of(const tseed_book_tileset_t *booked, const char *layer)
{
    return booked->is_open && strcmp(booked->record.layer, layer) == 0;
}

static int has_place(const tseed_book_tileset_t *booked)
{
    return tseed_book_has_files(booked) && !booked->is_leaving;
}

static int may_leave(const tseed_book_tileset_t *booked)
{
    return booked->record.by_reading && has_place(booked);
}

/* What a layer has of open tile sets. */
typedef struct {
    int rows;     /* all of them, */
    int of_maker; /* those that one client has made, */
    int places;   /* those that take a place, */
    int fixed;    /* and those of them that give no way */
} sums_t;

static sums_t count(const tseed_open_tilesets_t *open, const char *layer, uint64_t maker)
{
    const tseed_book_tileset_t *booked;
    sums_t sums = {0};

    for (unsigned i = 0; (booked = tseed_book_next(open->uses.cache->book, &i)) != NULL; i++) {
        if (is_of(booked, layer)) {
            sums.rows++;
            sums.of_maker += booked->maker == maker;
            sums.places += has_place(booked);
            sums.fixed += has_place(booked) && !booked->record.by_reading;
        }
    }
    return sums;
}

static int is_too_much(const sums_t *sums, int most)
{
    return sums->rows / 4 >= most + ROWS_MORE || sums->of_maker >= most + ROWS_MORE;
}

/* ---- out of the book ---- */

static tseed_run_t *run_of(tseed_run_t *run, const tseed_book_tileset_t *booked)
{
    while (run && run->booked != booked) {
        run = run->next_run;
    }
    return run;
}

/* Whether a tile set is bare and has no run any more. `hurry`: its background run forgets which
 * metatiles failed a moment ago. */
static int is_left(const tseed_open_tilesets_t *open, const tseed_book_tileset_t *booked, int hurry)
{
    tseed_run_t *run;

    if (!booked->is_open || !tseed_book_is_bare(booked) || run_of(open->uses.runs->tasks, booked)) {
        return 0;
    }
    run = run_of(open->uses.runs->background, booked);
    if (run && hurry) {
        tseed_flight_forget_failed(run, INT64_MAX);
    }
    return !run || tseed_background_leave(open->uses.background, run);
}

/* Whether nothing else points to tile sets. A walk of a reconcile and a count may. */
static int may_remove(const tseed_open_tilesets_t *open)
{
    const tseed_cache_t *cache = open->uses.cache;

    return cache->book && !cache->is_loading && !cache->is_reconciling &&
           open->uses.marks->to_count->nelts == 0 && open->uses.session->state &&
           !open->uses.session->trouble;
}

/* Takes bare tile sets out, those of a layer or of all (NULL). `hurry`: even if their background
 * runs remember metatiles that failed a moment ago. */
static void drop_bare(tseed_open_tilesets_t *open, const char *layer, int hurry)
{
    tseed_book_t *book = open->uses.cache->book;
    apr_array_header_t *bare =
        apr_array_make(open->uses.context->scratch, 16, sizeof(tseed_book_tileset_t *));
    tseed_book_tileset_t *booked;
    apr_status_t rv;

    if (!may_remove(open)) {
        return;
    }
    for (unsigned i = 0; bare->nelts < AT_ONCE && (booked = tseed_book_next(book, &i)) != NULL;
         i++) {
        if ((!layer || strcmp(booked->record.layer, layer) == 0) && is_left(open, booked, hurry)) {
            tseed_savings_leave(open->uses.savings, booked);
            APR_ARRAY_PUSH(bare, tseed_book_tileset_t *) = booked;
        }
    }
    rv = tseed_cache_remove(open->uses.cache, bare);
    if (rv != APR_SUCCESS) {
        tseed_session_fail(open->uses.session, rv, "delete empty tile sets");
    }
}

/* ---- coming ---- */

static apr_status_t admit(tseed_open_tilesets_t *open, const tseed_tileset_t *tileset,
                          uint64_t maker)
{
    const tseed_layer_t *layer = tileset->layer;
    const int most = layer->tilesets_most;
    sums_t sums = count(open, layer->name, maker);

    if (sums.fixed >= most) {
        return APR_ENOSPC;
    }
    if (is_too_much(&sums, most)) {
        drop_bare(open, layer->name, 1);
        sums = count(open, layer->name, maker);
    }
    return is_too_much(&sums, most) ? APR_EAGAIN : APR_SUCCESS;
}

apr_status_t tseed_open_tilesets_run(tseed_run_t **run, tseed_open_tilesets_t *open,
                                     const tseed_names_t *names, const char *client)
{
    apr_pool_t *scratch = open->uses.context->scratch;
    const uint64_t maker = maker_of(client);
    const tseed_book_tileset_t *booked;
    tseed_tileset_t tileset;
    apr_status_t rv = APR_SUCCESS;

    *run = NULL;
    if (tseed_tileset_find(&tileset, open->uses.context->catalog, names, scratch)) {
        return APR_NOTFOUND;
    }
    booked = tseed_book_find(open->uses.cache->book, tseed_tileset_print(&tileset, scratch));
    if (booked ? booked->is_leaving : 0) {
        return APR_EAGAIN;
    }
    if (!booked && tseed_tileset_is_open(&tileset, scratch)) {
        rv = admit(open, &tileset, maker);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_background_get(run, open->uses.background, names);
    }
    if (rv == APR_SUCCESS && !booked) {
        (*run)->booked->record.by_reading = (*run)->booked->changed = 1;
        (*run)->booked->maker = maker;
    }
    return rv;
}

/* ---- leaving ---- */

/* Who may leave: tile sets of a layer, made by one client (0: by any). */
typedef struct {
    const char *layer;
    uint64_t maker;
} leavers_t;

static int is_leaver(const tseed_book_tileset_t *booked, const void *baton)
{
    const leavers_t *leavers = baton;

    return is_of(booked, leavers->layer) && may_leave(booked) &&
           (!leavers->maker || booked->maker == leavers->maker);
}

/* The client that has made the most tile sets of a layer, if they are more than a quarter of what
 * the layer may have; else 0. */
static uint64_t greatest_maker(const tseed_open_tilesets_t *open, const char *layer, int most)
{
    apr_hash_t *counts = apr_hash_make(open->uses.context->scratch);
    const tseed_book_tileset_t *booked;
    uint64_t greatest = 0;
    int count_of_greatest = most / 4;

    for (unsigned i = 0; (booked = tseed_book_next(open->uses.cache->book, &i)) != NULL; i++) {
        int *own;

        if (!is_of(booked, layer) || !may_leave(booked) || !booked->maker) {
            continue;
        }
        own = apr_hash_get(counts, &booked->maker, sizeof(booked->maker));
        if (!own) {
            own = apr_pcalloc(open->uses.context->scratch, sizeof(*own));
            apr_hash_set(counts, &booked->maker, sizeof(booked->maker), own);
        }
        if (++*own > count_of_greatest) {
            count_of_greatest = *own;
            greatest = booked->maker;
        }
    }
    return greatest;
}

static void leave(tseed_open_tilesets_t *open, tseed_book_tileset_t *booked, const char *why)
{
    tseed_book_set_leaving(open->uses.cache->book, booked, 1);
    tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS,
              "all tiles of %s, which requests for tiles have made, are removed: %s",
              booked->record.key, why);
}

void tseed_open_tilesets_settle(tseed_open_tilesets_t *open, const tseed_book_tileset_t *booked)
{
    const tseed_layer_t *layer =
        booked->is_open
            ? tseed_catalog_find_layer(open->uses.context->catalog, booked->record.layer)
            : NULL;
    tseed_book_tileset_t *leaver = NULL;
    int excess = layer ? count(open, layer->name, 0).places - layer->tilesets_most : 0;

    for (; excess > 0; excess--) {
        const leavers_t leavers = {layer->name,
                                   greatest_maker(open, layer->name, layer->tilesets_most)};

        leaver = tseed_book_least_used(open->uses.cache->book, is_leaver, &leavers);
        if (!leaver) {
            return;
        }
        leave(open, leaver, "the layer has more tile sets than TileSeedMaxTileSets allows for");
    }
}

/* Names of layers stand one a line. */
static void drop(tseed_open_tilesets_t *open, const char *layers)
{
    tseed_book_tileset_t *booked;
    char *state, *text = apr_pstrdup(open->uses.context->scratch, layers);

    for (char *name = apr_strtok(text, "\n", &state); name; name = apr_strtok(NULL, "\n", &state)) {
        int dropped = 0;

        for (unsigned i = 0; (booked = tseed_book_next(open->uses.cache->book, &i)) != NULL; i++) {
            if (is_leaver(booked, &(leavers_t){name, 0})) {
                leave(open, booked, "somebody wants it");
                dropped++;
            }
        }
        tseed_log(TSEED_LOG_DEBUG, APR_SUCCESS, "%d tile sets of layer '%s' leave", dropped, name);
    }
}

/* A request that comes meanwhile is in the note, or comes later. */
static apr_status_t take_note(tseed_state_t *state, const char **layers, apr_pool_t *scratch)
{
    apr_status_t rv = tseed_state_begin(state);

    if (rv == APR_SUCCESS) {
        rv = tseed_books_note_hold(state, layers, TSEED_USAGE_DROP, scratch);
    }
    if (rv == APR_SUCCESS) {
        rv = tseed_books_note_set(state, TSEED_USAGE_DROP, "");
    }
    if (rv == APR_SUCCESS) {
        return tseed_state_commit(state);
    }
    tseed_state_rollback(state);
    return rv;
}

apr_status_t tseed_open_tilesets_hear(tseed_open_tilesets_t *open)
{
    tseed_state_t *state = open->uses.session->state;
    apr_pool_t *scratch = open->uses.context->scratch;
    const char *layers = "";
    apr_status_t rv = tseed_books_note_get(state, &layers, TSEED_USAGE_DROP, scratch);

    open->must_hear = open->uses.cache->is_loading;
    if (rv != APR_SUCCESS || !*layers || open->must_hear) {
        return rv == APR_NOTFOUND ? APR_SUCCESS : rv;
    }
    rv = take_note(state, &layers, scratch);
    if (rv == APR_SUCCESS) {
        drop(open, layers);
    }
    return rv;
}

/* ---- the module ---- */

static void tick(void *module, apr_time_t now)
{
    tseed_open_tilesets_t *open = module;
    apr_status_t rv = APR_SUCCESS;

    (void)now;
    if (open->must_hear && may_remove(open)) {
        rv = tseed_open_tilesets_hear(open);
    }
    if (rv != APR_SUCCESS) {
        tseed_session_fail(open->uses.session, rv, "read which tile sets are to go");
    }
    drop_bare(open, NULL, 0);
}

tseed_open_tilesets_t *tseed_open_tilesets_create(const tseed_open_tilesets_uses_t *uses)
{
    tseed_open_tilesets_t *open = apr_pcalloc(uses->context->pool, sizeof(*open));

    open->uses = *uses;
    open->client = (tseed_client_t){.module = open, .tick = tick};
    return open;
}

tseed_client_t *tseed_open_tilesets_client(tseed_open_tilesets_t *open)
{
    return &open->client;
}
