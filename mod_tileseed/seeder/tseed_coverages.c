/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Coverages: questions in a ring, the first of them at work. */
#include "seeder/tseed_coverages.h"

#include <apr_strings.h>
#include <poll.h>
#include <unistd.h>

#include "base/tseed_text.h"
#include "protocol/tseed_usage.h"
#include "seeder/tseed_coverage_file.h"

#define WAITING_MOST 64   /* questions */
#define CELLS_A_TURN 8192 /* in a millisecond or two */
#define BUSY_SECONDS 1

/* A question that waits. */
typedef struct {
    int end;
    int64_t tileset;
    int z;
    tseed_coverage_query_t query;
} waiting_t;

struct tseed_coverages_t {
    const tseed_context_t *context;
    const tseed_cache_t *cache;
    tseed_client_t client;
    waiting_t waiting[WAITING_MOST]; /* a ring */
    int first, count;
    /* of the first one, once it is begun */
    int is_begun;
    uint64_t print; /* of its tile set, which may leave the book meanwhile */
    tseed_window_t window;
    int row; /* the next one */
    tseed_coverage_file_t file;
};

/* ---- answers ---- */

static void answer(tseed_coverages_t *coverages, const tseed_reply_t *reply, int descriptor)
{
    tseed_miss_answer(coverages->waiting[coverages->first].end, reply, descriptor);
    coverages->first = (coverages->first + 1) % WAITING_MOST;
    coverages->count--;
    coverages->is_begun = 0;
}

static tseed_reply_t busy(const char *cause)
{
    return tseed_miss_reply(TSEED_MISS_BUSY, BUSY_SECONDS, cause);
}

static void refuse(tseed_coverages_t *coverages, int64_t tileset)
{
    tseed_reply_t reply = {.outcome = TSEED_MISS_REFUSED};

    tseed_text_say(reply.cause, sizeof(reply.cause),
                   "there is no configured tile set %" APR_INT64_T_FMT, tileset);
    answer(coverages, &reply, -1);
}

/* ---- the work ---- */

/* The tile set in the configuration and in the book; 0: there is none of that number. */
static int find(tseed_coverages_t *coverages, tseed_tileset_t *tileset, int64_t id)
{
    const tseed_book_t *book = coverages->cache->book;
    const tseed_book_tileset_t *booked;

    for (unsigned i = 0; (booked = tseed_book_next(book, &i)) != NULL; i++) {
        if (booked->record.id == id) {
            coverages->print = booked->record.print;
            return !tseed_usage_resolve(tileset, &booked->record, coverages->context->catalog,
                                        coverages->context->scratch);
        }
    }
    return 0;
}

/* Empty where the layer has no such level, or the box touches nothing of it. */
static tseed_window_t window_of(const tseed_subset_t *subset, const waiting_t *waiting)
{
    tseed_range_t level, wanted;

    if (waiting->z < subset->zoom_first || waiting->z > subset->zoom_last) {
        return (tseed_window_t){.level = {.z = waiting->z, .maxx = -1, .maxy = -1}};
    }
    level = tseed_range_of(subset->gridset, waiting->z, &subset->extent);
    wanted = waiting->query.has_box
                 ? tseed_range_of(subset->gridset, waiting->z, &waiting->query.box)
                 : level;
    wanted = tseed_range_intersect(&level, &wanted);
    return tseed_window_of(&level, &wanted, waiting->query.cells);
}

/* Whether the book has all that is on the disk. */
static int is_counted(const tseed_coverages_t *coverages)
{
    const tseed_book_tileset_t *booked = tseed_book_find(coverages->cache->book, coverages->print);

    return booked->record.complete && booked->loaded && booked->in_doubt == 0 &&
           !coverages->cache->is_loading;
}

/* Returns 0 when the question has its answer already. */
static int begin(tseed_coverages_t *coverages)
{
    const waiting_t *waiting = &coverages->waiting[coverages->first];
    tseed_coverage_t coverage;
    tseed_tileset_t tileset;
    tseed_reply_t no_memory = busy("there is no memory for it");

    if (!find(coverages, &tileset, waiting->tileset)) {
        refuse(coverages, waiting->tileset);
        return 0;
    }
    coverage = (tseed_coverage_t){.tileset = waiting->tileset,
                                  .layer = tileset.layer->name,
                                  .gridset = tileset.subset->gridset->name,
                                  .format = tileset.format->mime,
                                  .counted = is_counted(coverages),
                                  .time = apr_time_now(),
                                  .window = window_of(tileset.subset, waiting)};
    if (tseed_coverage_file_make(&coverages->file, &coverage, tileset.subset->zoom_first,
                                 tileset.subset->zoom_last) != APR_SUCCESS) {
        answer(coverages, &no_memory, -1);
        return 0;
    }
    coverages->window = coverage.window;
    coverages->row = 0;
    coverages->is_begun = 1;
    return 1;
}

/* The next rows, at least one. */
static void go_on(tseed_coverages_t *coverages)
{
    const tseed_window_t *window = &coverages->window;
    const tseed_reply_t passed = {.outcome = TSEED_MISS_PASSED};
    const int at_once = window->columns ? CELLS_A_TURN / window->columns : 0;
    const int left = window->rows - coverages->row, rows = left < at_once ? left : at_once;
    const tseed_book_tileset_t *booked = tseed_book_find(coverages->cache->book, coverages->print);

    if (rows > 0 && booked) {
        tseed_book_cells(coverages->file.cells + (size_t)coverages->row * (size_t)window->columns,
                         coverages->cache->book, booked, window, coverages->row, rows);
        coverages->row += rows;
    }
    if (coverages->row >= window->rows) {
        answer(coverages, &passed, coverages->file.descriptor);
        tseed_coverage_file_close(&coverages->file);
    }
}

static int has_gone(const waiting_t *waiting)
{
    struct pollfd end = {.fd = waiting->end, .events = POLLRDHUP};

    return poll(&end, 1, 0) > 0;
}

static void feed(void *module)
{
    tseed_coverages_t *coverages = module;
    const tseed_reply_t nothing = busy("");

    while (coverages->count > 0 && has_gone(&coverages->waiting[coverages->first])) {
        if (coverages->is_begun) {
            tseed_coverage_file_close(&coverages->file);
        }
        answer(coverages, &nothing, -1); /* nobody hears it */
    }
    if (coverages->count > 0 && (coverages->is_begun || begin(coverages))) {
        go_on(coverages);
    }
}

/* At once, while there are questions. */
static apr_time_t due(const void *module)
{
    const tseed_coverages_t *coverages = module;

    return coverages->count > 0 ? 0 : INT64_MAX;
}

/* ---- coming in ---- */

void tseed_coverages_ask(tseed_coverages_t *coverages, const tseed_question_t *question, int end)
{
    const char *text = apr_table_get(question->parameters, "query");
    waiting_t waiting = {.end = end, .tileset = question->tileset, .z = question->tile.z};
    const tseed_reply_t many = busy("too many requests ask for coverages at once");

    if (coverages->count == WAITING_MOST ||
        tseed_coverage_query_read(&waiting.query, text, coverages->context->scratch)) {
        tseed_miss_answer(end, &many, -1);
        return;
    }
    coverages->waiting[(coverages->first + coverages->count++) % WAITING_MOST] = waiting;
}

/* ---- the module ---- */

tseed_coverages_t *tseed_coverages_create(const tseed_context_t *context,
                                          const tseed_cache_t *cache)
{
    tseed_coverages_t *coverages = apr_pcalloc(context->pool, sizeof(*coverages));

    coverages->context = context;
    coverages->cache = cache;
    coverages->client = (tseed_client_t){.module = coverages, .feed = feed, .due = due};
    return coverages;
}

tseed_client_t *tseed_coverages_client(tseed_coverages_t *coverages)
{
    return &coverages->client;
}
