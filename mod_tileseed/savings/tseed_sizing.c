/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The sizing: sizes by layer and level. A line of the note has the print of a layer with all that
 * its times depend on, then of each level its number, the chosen step, the cap and the cost:
 *
 *      9f86d081884c7d65 4:4:4:0.0125 5:4:4:0.0131
 */
#include "savings/tseed_sizing.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tseed_digest.h"
#include "base/tseed_log.h"
#include "base/tseed_text.h"
#include "savings/tseed_sizes.h"
#include "savings/tseed_together.h"
#include "state/tseed_books.h"

#define NOTE          "sizes"
#define ENTRIES_MOST  1000        /* in the note */
#define PICTURES_MOST (512 << 20) /* bytes of the pictures that all workers have decoded */
#define PIXEL_BYTES   4           /* of them */

/* What is known of one layer. */
typedef struct {
    uint64_t print;
    int is_used; /* by this seeder */
    int said;    /* the step of the last line of the log, or -1 */
    int is_begun[TSEED_LEVELS_MAX];
    tseed_sizes_t levels[TSEED_LEVELS_MAX];
} entry_t;

typedef struct {
    int width, height; /* pixels */
} bound_t;

struct tseed_sizing_t {
    const tseed_context_t *context;
    const tseed_session_t *session;
    apr_hash_t *entries; /* print -> entry_t */
    apr_hash_t *bounds;  /* layer -> bound_t */
    int is_loaded, changed;
};

tseed_sizing_t *tseed_sizing_create(const tseed_context_t *context, const tseed_session_t *session)
{
    tseed_sizing_t *sizing = apr_pcalloc(context->pool, sizeof(*sizing));

    sizing->context = context;
    sizing->session = session;
    sizing->entries = apr_hash_make(context->pool);
    sizing->bounds = apr_hash_make(context->pool);
    return sizing;
}

/* ---- entries ---- */

static entry_t *entry_get(tseed_sizing_t *sizing, uint64_t print)
{
    entry_t *entry = apr_hash_get(sizing->entries, &print, sizeof(print));

    if (!entry) {
        entry = apr_pcalloc(sizing->context->pool, sizeof(*entry));
        entry->print = print;
        entry->said = -1;
        apr_hash_set(sizing->entries, &entry->print, sizeof(entry->print), entry);
    }
    return entry;
}

/* A level as a note has it. */
static void load_level(entry_t *entry, const char *text)
{
    int z, chosen, cap, end = 0;
    double cost = 0;

    if (sscanf(text, "%d:%d:%d:%n", &z, &chosen, &cap, &end) == 3 && end > 0 &&
        tseed_text_double(&cost, text + end) == 0 && z >= 0 && z < TSEED_LEVELS_MAX &&
        chosen >= 0 && chosen <= cap && cap < TSEED_SIZES_STEPS && cost > 0 && cost < 1e6) {
        entry->is_begun[z] = 1;
        tseed_sizes_restore(&entry->levels[z], chosen, cap, cost);
    }
}

static void load_line(tseed_sizing_t *sizing, char *line)
{
    char *rest;
    const uint64_t print = strtoull(line, &rest, 16);
    entry_t *entry;

    if (!print || *rest != ' ') {
        return;
    }
    entry = entry_get(sizing, print);
    for (char *word = strtok_r(NULL, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        load_level(entry, word);
    }
}

/* What can't be read is not known. */
static void load(tseed_sizing_t *sizing)
{
    const char *note = NULL;
    char *copy, *rest;

    if (sizing->is_loaded || !sizing->session->state) {
        return;
    }
    sizing->is_loaded = 1;
    if (tseed_books_note_get(sizing->session->state, &note, NOTE, sizing->context->scratch) !=
        APR_SUCCESS) {
        return;
    }
    copy = apr_pstrdup(sizing->context->scratch, note);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        load_line(sizing, line);
    }
}

static entry_t *entry_of(tseed_sizing_t *sizing, const tseed_run_t *run)
{
    const tseed_layer_t *layer = run->tileset.layer;
    const char *text =
        apr_psprintf(sizing->context->scratch, "%s\n%s\n%s\n%s\n%dx%d+%d", layer->name,
                     run->tileset.subset->gridset->name, run->tileset.format->from,
                     layer->source.addresses[0].url, run->task->meta_width, run->task->meta_height,
                     run->task->gutter);
    entry_t *entry;

    load(sizing);
    entry = entry_get(sizing, tseed_digest(text, strlen(text), 0));
    entry->is_used = 1;
    return entry;
}

static int is_begun(const entry_t *entry, int z, int is_known)
{
    return z >= 0 && z < TSEED_LEVELS_MAX && entry->is_begun[z] &&
           (!is_known || entry->levels[z].is_known);
}

/* The nearest other level that has been begun, or of which something is known; NULL: there is none.
 */
static const tseed_sizes_t *nearest(const entry_t *entry, int z, int is_known)
{
    for (int far = 1; far < TSEED_LEVELS_MAX; far++) {
        if (is_begun(entry, z - far, is_known)) {
            return &entry->levels[z - far];
        }
        if (is_begun(entry, z + far, is_known)) {
            return &entry->levels[z + far];
        }
    }
    return NULL;
}

/* By which other level a level is to go on. NULL: by itself. */
static const tseed_sizes_t *model_of(const entry_t *entry, int z)
{
    const tseed_sizes_t *known = is_begun(entry, z, 1) ? NULL : nearest(entry, z, 1);

    return known || entry->is_begun[z] ? known : nearest(entry, z, 0);
}

static tseed_sizes_t *sizes_of(entry_t *entry, int z, int top)
{
    tseed_sizes_t *sizes = &entry->levels[z];
    const tseed_sizes_t *other = model_of(entry, z);

    if (other) {
        tseed_sizes_inherit(sizes, other, top);
    } else if (!entry->is_begun[z]) {
        tseed_sizes_init(sizes, top);
    }
    entry->is_begun[z] = 1;
    if (sizes->top != top) {
        tseed_sizes_limit(sizes, top);
    }
    return sizes;
}

/* ---- bounds ---- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

void tseed_sizing_bound(tseed_sizing_t *sizing, const char *layer, int width, int height)
{
    bound_t *bound = apr_palloc(sizing->context->pool, sizeof(*bound));

    *bound = (bound_t){width, height};
    apr_hash_set(sizing->bounds, layer, APR_HASH_KEY_STRING, bound);
}

/* How many tiles an upstream may be asked for along one side. */
static int tiles_within(int tiles, int pixels, int gutter, int tile_pixels)
{
    const int most = (pixels - 2 * gutter) / tile_pixels;

    return pixels > 0 && most < tiles ? most : tiles;
}

static tseed_cell_shape_t largest_of(const tseed_sizing_t *sizing, const tseed_run_t *run)
{
    const tseed_layer_t *layer = run->tileset.layer;
    const tseed_gridset_t *gridset = run->tileset.subset->gridset;
    const bound_t *bound = apr_hash_get(sizing->bounds, layer->name, APR_HASH_KEY_STRING);
    int width = layer->most_width, height = layer->most_height;

    if (bound) {
        width = tiles_within(width, bound->width, run->task->gutter, gridset->tile_width);
        height = tiles_within(height, bound->height, run->task->gutter, gridset->tile_height);
    }
    return tseed_cells_largest(&run->positions.shape, width, height);
}

/* Pixels on one side of a picture. */
static double side_of(int metatiles, int meta_side, int tile_pixels, int gutter)
{
    return (double)metatiles * meta_side * tile_pixels + 2.0 * gutter;
}

/* How many requests of a run may be under way. */
static int connections_of(const tseed_run_t *run)
{
    return least(run->threads, tseed_source_connections(&run->tileset.layer->source));
}

/* Whether the picture of a cell is one that may be asked for, and needs little memory there and
 * on its way. */
static int fits(const tseed_run_t *run, tseed_cell_shape_t cell, int workers)
{
    const tseed_gridset_t *gridset = run->tileset.subset->gridset;
    const tseed_task_t *task = run->task;
    const double width = side_of(cell.columns, task->meta_width, gridset->tile_width, task->gutter);
    const double height = side_of(cell.rows, task->meta_height, gridset->tile_height, task->gutter);

    return width <= TSEED_PICTURE_SIDE_MAX && height <= TSEED_PICTURE_SIDE_MAX &&
           width * height <= TSEED_PICTURE_PIXELS_MAX &&
           width * height * PIXEL_BYTES * workers <= PICTURES_MOST &&
           width * height * tseed_run_pixel_bytes(run) * connections_of(run) <=
               TSEED_ANSWERS_BUDGET;
}

static int step_of(tseed_cell_shape_t cell)
{
    int step = 0;

    while (1 << step < cell.columns * cell.rows) {
        step++;
    }
    return step;
}

static tseed_cell_shape_t cell_of(tseed_cell_shape_t largest, int step)
{
    while (step_of(largest) > step) {
        largest = tseed_cells_half(largest);
    }
    return largest;
}

/* ---- choices ---- */

/* Why a run joins no metatiles on a level: it goes over a list, derives the level, or has
 * crashed a seeder, so that one metatile is blamed. TSEED_SIZE_FIXED: it may join them. */
static tseed_size_reason_t hindrance(const tseed_sizing_t *sizing, const tseed_run_t *run, int z)
{
    if (run->list) {
        return TSEED_SIZE_LISTED;
    }
    if (tseed_board_crashes_of(sizing->context->board, run->task->id) > 0) {
        return TSEED_SIZE_CRASHED;
    }
    return tseed_run_derives(run, z) &&
                   tseed_together_how(TSEED_JOINED, TSEED_DERIVED) != TSEED_BOTH
               ? TSEED_SIZE_ALONE
               : TSEED_SIZE_FIXED;
}

int tseed_sizing_may_join(const tseed_sizing_t *sizing, const tseed_run_t *run, int z)
{
    return hindrance(sizing, run, z) == TSEED_SIZE_FIXED;
}

static tseed_size_reason_t reason_of(const tseed_sizes_t *sizes, int step, int is_for_memory)
{
    if (sizes->trial >= 0) {
        return TSEED_SIZE_TRIAL;
    }
    if (step == sizes->top) {
        return is_for_memory ? TSEED_SIZE_MEMORY : TSEED_SIZE_LARGEST;
    }
    return step == sizes->cap ? TSEED_SIZE_FAILED : TSEED_SIZE_BEST;
}

/* Whether a reseed asks by the cell that tiles came from. */
static int may_keep(const tseed_sizes_t *sizes, tseed_cell_shape_t before,
                    tseed_cell_shape_t largest)
{
    return before.columns > 0 && (sizes->is_known || sizes->trial < 0) &&
           before.columns <= largest.columns && before.rows <= largest.rows &&
           step_of(before) <= least(sizes->top, sizes->cap) &&
           !tseed_sizes_is_worse(sizes, step_of(before));
}

/* Few metatiles that are left are parted so that all connections work. */
static void spare_rest(tseed_choice_t *choice, const tseed_sizes_t *sizes, const tseed_run_t *run)
{
    const int connections = connections_of(run);
    const double rest = (double)(tseed_run_count(run) - run->next);
    const int step = tseed_sizes_for_rest(sizes, choice->step, rest, connections);

    if (step < choice->step) {
        choice->step = step;
        choice->why = TSEED_SIZE_REST;
    }
}

/* The largest cell whose pictures may be asked for now. */
static tseed_cell_shape_t largest_fitting(const tseed_run_t *run, tseed_cell_shape_t largest,
                                          int workers)
{
    while (step_of(largest) > 0 && !fits(run, largest, workers)) {
        largest = tseed_cells_half(largest);
    }
    return largest;
}

tseed_choice_t tseed_sizing_choose(tseed_sizing_t *sizing, const tseed_run_t *run, int64_t position,
                                   tseed_cell_shape_t before)
{
    const int z = tseed_run_metatile(run, position).whole.z;
    tseed_choice_t choice = {{1, 1}, -1, TSEED_SIZE_FIXED};
    tseed_cell_shape_t most, largest;
    const tseed_sizes_t *sizes;

    if (run->tileset.layer->most_width == 0) {
        return choice;
    }
    choice.why = hindrance(sizing, run, z);
    if (choice.why != TSEED_SIZE_FIXED) {
        return choice;
    }
    most = largest_of(sizing, run);
    largest = largest_fitting(run, most, sizing->context->settings->workers);
    sizes = sizes_of(entry_of(sizing, run), z, step_of(largest));
    if (may_keep(sizes, before, largest)) {
        return (tseed_choice_t){before, step_of(before), TSEED_SIZE_AS_BEFORE};
    }
    choice.step = tseed_sizes_next(sizes);
    choice.why = reason_of(sizes, choice.step, step_of(most) > step_of(largest));
    spare_rest(&choice, sizes, run);
    choice.cell = cell_of(largest, choice.step);
    return choice;
}

/* The sizes by which a request was chosen; NULL: by none. */
static tseed_sizes_t *chosen_by(tseed_sizing_t *sizing, const tseed_job_t *leader, entry_t **entry)
{
    const int z = leader->savings.asked.z;

    if (leader->savings.step < 0 || leader->run->is_background) {
        return NULL;
    }
    *entry = entry_of(sizing, leader->run);
    return (*entry)->is_begun[z] ? &(*entry)->levels[z] : NULL;
}

double tseed_sizing_overhead(tseed_sizing_t *sizing, const tseed_run_t *run, int z)
{
    const entry_t *entry;

    if (run->is_background || run->tileset.layer->most_width == 0) {
        return -1;
    }
    entry = entry_of(sizing, run);
    return entry->is_begun[z] && entry->levels[z].is_known ? tseed_sizes_overhead(&entry->levels[z])
                                                           : -1;
}

/* ---- requests ---- */

void tseed_sizing_begin(tseed_sizing_t *sizing, tseed_job_t *leader)
{
    tseed_run_t *run = leader->run;
    entry_t *entry;
    const tseed_sizes_t *sizes = chosen_by(sizing, leader, &entry);

    leader->savings.weight = leader->savings.joined ? -1 : 0;
    if (sizes && leader->savings.joined) {
        leader->savings.weight = tseed_sizes_weight(sizes, leader->savings.step);
    }
    if (!run->is_background && run->tileset.layer->most_width > 0) {
        run->progress.request_width =
            (uint8_t)(leader->savings.asked.maxx - leader->savings.asked.minx + 1);
        run->progress.request_height =
            (uint8_t)(leader->savings.asked.maxy - leader->savings.asked.miny + 1);
        run->progress.request_why = leader->savings.why;
    }
}

static void say(entry_t *entry, const tseed_job_t *leader, const tseed_sizes_t *sizes)
{
    const tseed_run_t *run = leader->run;
    const tseed_shape_t *shape = &run->positions.shape;
    const int metatiles = 1 << sizes->chosen, tiles = shape->meta_width * shape->meta_height;

    if (entry->said == sizes->chosen) {
        return;
    }
    entry->said = sizes->chosen;
    tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
              "TS0077: layer '%s' from level %d on: requests are for %d tiles (%d metatiles), "
              "which takes %.2f ms for a tile; other sizes take longer or are no faster",
              run->task->layer, leader->savings.asked.z, metatiles * tiles, metatiles,
              1000 * sizes->steps[sizes->chosen].cost / tiles);
}

/* The metatiles of the rectangle that was asked for. */
static int metatiles_of(const tseed_job_t *leader)
{
    const tseed_shape_t *shape = &leader->run->positions.shape;
    const tseed_range_t *asked = &leader->savings.asked;

    return (int)((asked->maxx / shape->meta_width - asked->minx / shape->meta_width + 1) *
                 (asked->maxy / shape->meta_height - asked->miny / shape->meta_height + 1));
}

void tseed_sizing_take(tseed_sizing_t *sizing, const tseed_job_t *leader)
{
    entry_t *entry;
    tseed_sizes_t *sizes = chosen_by(sizing, leader, &entry);

    if (!sizes || leader->request.transfer.result != TSEED_FETCH_OK ||
        leader->request.transfer.length == 0) {
        return;
    }
    if (tseed_sizes_take(sizes, leader->savings.step, metatiles_of(leader),
                         (double)leader->request.transfer.took / APR_USEC_PER_SEC,
                         leader->run->fetching)) {
        say(entry, leader, sizes);
        sizing->changed = 1;
    }
}

void tseed_sizing_fail(tseed_sizing_t *sizing, const tseed_job_t *leader)
{
    const tseed_run_t *run = leader->run;
    entry_t *entry;
    tseed_sizes_t *sizes = chosen_by(sizing, leader, &entry);

    if (sizes && tseed_sizes_fail(sizes, leader->savings.step)) {
        tseed_log(TSEED_LOG_INFO, APR_SUCCESS,
                  "TS0078: layer '%s' at level %d: a request for %dx%d tiles failed and is sent in "
                  "parts: %s; later ones are smaller for a while",
                  run->task->layer, leader->savings.asked.z,
                  (int)(leader->savings.asked.maxx - leader->savings.asked.minx + 1),
                  (int)(leader->savings.asked.maxy - leader->savings.asked.miny + 1),
                  tseed_job_cause(leader));
        sizing->changed = 1;
    }
}

/* ---- saving ---- */

static const char *save_entry(const entry_t *entry, apr_pool_t *pool)
{
    const char *text = apr_psprintf(pool, "%016" APR_UINT64_T_HEX_FMT, entry->print);

    for (int z = 0; z < TSEED_LEVELS_MAX; z++) {
        const tseed_sizes_t *sizes = &entry->levels[z];

        if (entry->is_begun[z] && sizes->is_known && sizes->steps[sizes->chosen].cost > 0) {
            text = apr_psprintf(pool, "%s %d:%d:%d:%.6f", text, z, sizes->chosen, sizes->cap,
                                sizes->steps[sizes->chosen].cost);
        }
    }
    return apr_pstrcat(pool, text, "\n", NULL);
}

apr_status_t tseed_sizing_write(tseed_sizing_t *sizing)
{
    apr_pool_t *pool = sizing->context->scratch;
    const int is_full = apr_hash_count(sizing->entries) > ENTRIES_MOST;
    apr_array_header_t *lines = apr_array_make(pool, 16, sizeof(char *));
    apr_hash_index_t *index;

    if (!sizing->changed) {
        return APR_SUCCESS;
    }
    for (index = apr_hash_first(pool, sizing->entries); index; index = apr_hash_next(index)) {
        const entry_t *entry = apr_hash_this_val(index);

        if (entry->is_used || !is_full) {
            APR_ARRAY_PUSH(lines, const char *) = save_entry(entry, pool);
        }
    }
    return tseed_books_note_set(sizing->session->state, NOTE, apr_array_pstrcat(pool, lines, 0));
}

void tseed_sizing_saved(tseed_sizing_t *sizing)
{
    sizing->changed = 0;
}
