/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A task's words, its sums by level, and the window of its finished positions. */
#include "protocol/tseed_task.h"

#include <stdarg.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "tiling/tseed_positions.h"

/* Positions go from level to level, derived levels last. So the metatiles of a level are a span of
 * positions, be they all of the task, or the list of a task that retries another. */

/* How many positions from..to-1 are finished. */
static int64_t count_finished(const tseed_progress_t *progress, int64_t from, int64_t to)
{
    const int64_t low = progress->low;
    int64_t finished = 0;

    if (low >= to) {
        return to - from;
    }
    for (int64_t i = from > low ? from - low : 0; i < TSEED_WINDOW && i < to - low; i++) {
        finished += tseed_progress_is_done(progress, low + i);
    }
    return finished + (low > from ? low - from : 0);
}

static void positions_of(tseed_positions_t *positions, const tseed_task_t *task,
                         const tseed_gridset_t *gridset)
{
    const tseed_shape_t shape = {task->zoom_start, task->zoom_stop, task->meta_width,
                                 task->meta_height};

    tseed_positions_init_derived(positions, gridset, &task->bounds, &shape, &task->derived);
}

static int64_t count_metatiles(const tseed_task_t *task, const tseed_positions_t *positions, int z)
{
    return task->type == TSEED_TRUNCATE ? positions->tiles > 0 : positions->metatiles[z];
}

/* The first position of a level: the metatiles of the levels before it. */
static int64_t first_of(const tseed_task_t *task, const tseed_positions_t *positions,
                        const int64_t *listed, int z)
{
    int64_t first = 0;
    int other;

    for (int i = 0;
         (other = tseed_derived_level(&task->derived, task->zoom_start, task->zoom_stop, i)) != z;
         i++) {
        first += listed ? listed[other] : count_metatiles(task, positions, other);
    }
    return first;
}

apr_array_header_t *tseed_task_levels(const tseed_task_t *task, const tseed_progress_t *progress,
                                      const tseed_gridset_t *gridset, const int64_t *listed,
                                      apr_pool_t *pool)
{
    apr_array_header_t *levels = apr_array_make(pool, 8, sizeof(tseed_task_level_t));
    tseed_positions_t positions;

    if (!task->has_area) {
        return levels;
    }
    positions_of(&positions, task, gridset);
    for (int z = task->zoom_start; z <= task->zoom_stop; z++) {
        const int64_t metatiles = listed ? listed[z] : count_metatiles(task, &positions, z);
        const int64_t first = first_of(task, &positions, listed, z);

        APR_ARRAY_PUSH(levels, tseed_task_level_t) = (tseed_task_level_t){
            .z = z,
            .metatiles = metatiles,
            .finished = count_finished(progress, first, first + metatiles),
            .tiles = listed ? -1 : tseed_range_count(&positions.range[z]),
        };
    }
    return levels;
}

int tseed_task_adds_up(const tseed_task_t *task, const tseed_progress_t *progress,
                       const tseed_gridset_t *gridset)
{
    tseed_positions_t positions;
    int64_t tiles;

    if (task->type == TSEED_TRUNCATE || task->retry_of || !task->has_area) {
        return 1;
    }
    positions_of(&positions, task, gridset);
    if (progress->low > positions.count) {
        return 0;
    }
    tiles = tseed_positions_tiles_before(&positions, progress->low);
    for (int i = 0; i < TSEED_WINDOW && i < positions.count - progress->low; i++) {
        if (tseed_progress_is_done(progress, progress->low + i)) {
            const tseed_metatile_t metatile = tseed_positions_at(&positions, progress->low + i);

            tiles += tseed_range_count(&metatile.wanted);
        }
    }
    return tiles == tseed_progress_processed(progress);
}

#define WORDS (TSEED_WINDOW / 64)

const char *tseed_task_type_name(tseed_task_type_t type)
{
    static const char *const names[] = {"seed", "reseed", "truncate"};

    return names[type];
}

const char *tseed_task_state_name(tseed_task_state_t state)
{
    static const char *const names[] = {"ABORTED", "PENDING", "RUNNING", "DONE"};

    return names[state - TSEED_ABORTED];
}

const char *tseed_size_reason(int reason)
{
    static const char *const sentences[] = {
        [TSEED_SIZE_FIXED] = "",
        [TSEED_SIZE_TRIAL] = "several sizes are being measured",
        [TSEED_SIZE_BEST] = "larger requests take no less time for a tile",
        [TSEED_SIZE_LARGEST] = "larger requests take less time for a tile, and this is the largest "
                               "that TileSeedMetatile and the upstream allow",
        [TSEED_SIZE_FAILED] = "larger requests failed",
        [TSEED_SIZE_MEMORY] = "larger answers would take too much memory",
        [TSEED_SIZE_REST] = "few metatiles are left, and all connections are used",
        [TSEED_SIZE_AS_BEFORE] = "the tiles came from requests of that size, whose answers can be "
                                 "compared",
        [TSEED_SIZE_ALONE] = "this metatile is asked for alone",
        [TSEED_SIZE_LISTED] = "metatiles that failed are asked for one by one",
        [TSEED_SIZE_CRASHED] = "this task has crashed the seeder, and single metatiles show which "
                               "one does it",
    };

    return reason >= 0 && reason < (int)(sizeof(sentences) / sizeof(*sentences)) ? sentences[reason]
                                                                                 : "";
}

#define NAME(name) #name,
static const char *const reasons[TSEED_REASONS] = {TSEED_REASON_LIST(NAME)};

const char *tseed_reason_name(int code)
{
    return code > TSEED_REASON_NONE && code < TSEED_REASONS ? reasons[code] : "";
}

tseed_reason_t tseed_reason_of(const char *name)
{
    int code = TSEED_REASONS - 1;

    while (code > TSEED_REASON_NONE && strcmp(reasons[code], name) != 0) {
        code--;
    }
    return (tseed_reason_t)code;
}

int tseed_reason_is_wait(int code)
{
    return code > TSEED_REASON_NONE && code < TSEED_REASON_LACKS;
}

int tseed_reason_is_upstream(int code)
{
    return code >= TSEED_REASON_AWAY && code <= TSEED_REASON_REFUSED;
}

void tseed_progress_tell(tseed_progress_t *progress, tseed_reason_t code, const char *reason)
{
    progress->reason_code = (uint8_t)(*reason ? code : TSEED_REASON_NONE);
    tseed_text_fit(progress->reason, sizeof(progress->reason), reason);
}

void tseed_progress_say(tseed_progress_t *progress, tseed_reason_t code, const char *format, ...)
{
    char reason[2 * TSEED_REASON_SIZE]; /* enough to be seen as cut */
    va_list arguments;

    va_start(arguments, format);
    tseed_ascii_vprint(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    tseed_progress_tell(progress, code, reason);
}

#define PROCESSED(member, name, wire, is_processed, place) +is_processed *progress->member

int64_t tseed_progress_processed(const tseed_progress_t *progress)
{
    return 0 TSEED_COUNTS(PROCESSED);
}

int tseed_progress_is_done(const tseed_progress_t *progress, int64_t position)
{
    int64_t bit = position - progress->low;

    if (bit < 0 || bit >= TSEED_WINDOW) {
        return bit < 0;
    }
    return progress->window[bit / 64] >> (bit % 64) & 1;
}

/* Number of finished positions in a row from `low` on. */
static int finished_run(const tseed_progress_t *progress)
{
    int words = 0;

    while (words < WORDS && progress->window[words] == UINT64_MAX) {
        words++;
    }
    return 64 * words + (words < WORDS ? __builtin_ctzll(~progress->window[words]) : 0);
}

/* Moves the window `count` positions up. */
static void advance(tseed_progress_t *progress, int count)
{
    const int words = count / 64, bits = count % 64;

    for (int i = 0; i < WORDS; i++) {
        uint64_t here = i + words < WORDS ? progress->window[i + words] : 0;
        uint64_t above = i + words + 1 < WORDS ? progress->window[i + words + 1] : 0;

        progress->window[i] = bits ? here >> bits | above << (64 - bits) : here;
    }
    progress->low += count;
}

void tseed_progress_finish(tseed_progress_t *progress, int64_t position)
{
    int64_t bit = position - progress->low;

    if (bit < 0 || bit >= TSEED_WINDOW) {
        return;
    }
    progress->window[bit / 64] |= UINT64_C(1) << (bit % 64);
    if (bit == 0) {
        advance(progress, finished_run(progress));
    }
}

void tseed_progress_pass(tseed_progress_t *progress, int64_t end)
{
    memset(progress->window, 0, sizeof(progress->window));
    progress->low = end;
}
