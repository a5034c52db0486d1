/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Tasks and progress as the columns of their rows.
 *
 * Two columns are text although they hold numbers. Bounds are text because SQLite gives 15 digits
 * of a number and a double needs 17. The window of finished positions is text because it is empty
 * most of the time: it is hexadecimal digits, the first word first, without the zeros at the end.
 */
#include "state/tseed_record.h"

#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "protocol/tseed_answer.h"
#include "protocol/tseed_parameters.h"

#define DIGITS_OF_WORD 16
#define WINDOW_WORDS   (TSEED_WINDOW / 64)
#define WINDOW_DIGITS  (WINDOW_WORDS * DIGITS_OF_WORD)
#define MORE_MOST      5

/* ---- bounds ---- */

static const char *bounds_save(const tseed_bounds_t *bounds, apr_pool_t *pool)
{
    char text[4 * 32];

    tseed_ascii_print(text, sizeof(text), "%.17g %.17g %.17g %.17g", bounds->minx, bounds->miny,
                      bounds->maxx, bounds->maxy);
    for (char *comma = text; (comma = strchr(comma, ',')) != NULL;) {
        *comma = '.'; /* of a locale that some other module has set */
    }
    return apr_pstrdup(pool, text);
}

static void bounds_load(tseed_bounds_t *bounds, const char *text, apr_pool_t *pool)
{
    double *values[] = {&bounds->minx, &bounds->miny, &bounds->maxx, &bounds->maxy};
    char *rest, *word = apr_strtok(apr_pstrdup(pool, text), " ", &rest);

    for (int i = 0; i < 4 && word; i++) {
        tseed_text_double(values[i], word);
        word = apr_strtok(NULL, " ", &rest);
    }
}

/* ---- window ---- */

static void window_save(char text[WINDOW_DIGITS + 1], const uint64_t *window)
{
    size_t length = WINDOW_DIGITS;

    for (int i = 0; i < WINDOW_WORDS; i++) {
        snprintf(text + i * DIGITS_OF_WORD, DIGITS_OF_WORD + 1, "%016llx",
                 (unsigned long long)window[i]);
    }
    while (length > 0 && text[length - 1] == '0') {
        length--;
    }
    text[length] = '\0';
}

static void window_load(uint64_t *window, const char *text)
{
    static const char digits[] = "0123456789abcdef";

    memset(window, 0, WINDOW_WORDS * sizeof(*window));
    for (int i = 0; i < WINDOW_DIGITS && text[i]; i++) {
        const char *digit = strchr(digits, text[i]);
        int shift = 4 * (DIGITS_OF_WORD - 1 - i % DIGITS_OF_WORD);

        window[i / DIGITS_OF_WORD] |= digit ? (uint64_t)(digit - digits) << shift : 0;
    }
}

/* ---- task ---- */

apr_status_t tseed_record_task_insert(tseed_database_t *db, const tseed_task_t *task,
                                      apr_pool_t *scratch)
{
    int type = task->type;
    const void *args[] = {
        &task->id,
        &type,
        task->layer,
        task->gridset,
        task->format,
        tseed_parameters_save(task->parameters, scratch),
        bounds_save(&task->bounds, scratch),
        &task->has_area,
        &task->zoom_start,
        &task->zoom_stop,
        &task->thread_count,
        &task->meta_width,
        &task->meta_height,
        &task->gutter,
        &task->retries,
        &task->retry_wait,
        &task->failure_limit,
        &task->tiles_total,
        task->gridset_print,
        task->store_print,
        task->requested_by,
        &task->created,
        &task->retry_of,
        task->ignored,
        &task->derived.first,
        &task->derived.end,
    };

    return tseed_database_change(db, NULL, TSEED_SQL_TASK_INSERT, args);
}

static const apr_table_t *parameters_load(const char *saved, apr_pool_t *pool)
{
    apr_table_t *parameters = tseed_parameters_load(saved, pool);

    return parameters ? parameters : apr_table_make(pool, 1);
}

tseed_task_type_t tseed_record_type(int number)
{
    return number >= TSEED_SEED && number <= TSEED_TRUNCATE ? (tseed_task_type_t)number
                                                            : TSEED_SEED;
}

/* Whether the numbers are such as the module writes. */
static int is_sound(const tseed_task_t *task)
{
    return task->type == tseed_record_type((int)task->type) && task->zoom_start >= 0 &&
           task->zoom_start <= task->zoom_stop && task->zoom_stop < TSEED_LEVELS_MAX &&
           task->meta_width > 0 && task->meta_width <= TSEED_METATILE_SIDE_MAX &&
           task->meta_height > 0 && task->meta_height <= TSEED_METATILE_SIDE_MAX &&
           task->gutter >= 0 && task->derived.first >= 0 && task->derived.end >= 0;
}

/* Somebody else has changed the row. A task without the print of a grid set fits no configuration:
 * nobody works at it, and it says that its grid set has changed. */
static void disarm(tseed_task_t *task)
{
    task->type = TSEED_SEED;
    task->zoom_start = task->zoom_stop = 0;
    task->meta_width = task->meta_height = 1;
    task->gutter = 0;
    task->derived = (tseed_derived_t){0};
    task->gridset_print = "";
}

tseed_task_t *tseed_record_task_load(tseed_rows_t *rows)
{
    apr_pool_t *pool = rows->texts;
    tseed_task_t *task = apr_pcalloc(pool, sizeof(*task));

    task->id = tseed_rows_int64(rows);
    task->type = (tseed_task_type_t)tseed_rows_int(rows);
    tseed_rows_scan(rows, &task->layer, &task->gridset, &task->format);
    task->parameters = parameters_load(tseed_rows_text(rows), pool);
    bounds_load(&task->bounds, tseed_rows_text(rows), rows->pool);
    tseed_rows_scan(rows, &task->has_area, &task->zoom_start, &task->zoom_stop, &task->thread_count,
                    &task->meta_width, &task->meta_height, &task->gutter, &task->retries,
                    &task->retry_wait, &task->failure_limit, &task->tiles_total);
    tseed_rows_scan(rows, &task->gridset_print, &task->store_print, &task->requested_by,
                    &task->created, &task->retry_of, &task->ignored, &task->derived.first,
                    &task->derived.end);
    if (!is_sound(task)) {
        disarm(task);
    }
    return task;
}

/* ---- progress ---- */

/* Counts are columns, or stand in one text by their names on the wire, but for zeros:
 * " prunedChecked=12 sharedRequests=3". */
#define IN_COLUMN_COLUMN(...) __VA_ARGS__
#define IN_COLUMN_TEXT(...)
#define IN_TEXT_COLUMN(...)
#define IN_TEXT_TEXT(...) __VA_ARGS__

#define COLUMN_OF(member, name, wire, is_processed, place) IN_COLUMN_##place(&progress->member, )
#define TEXT_OF(member, name, wire, is_processed, place)                                           \
    IN_TEXT_##place({&progress->member, " " wire "="}, )
#define ONE_COLUMN(member, name, wire, is_processed, place) IN_COLUMN_##place(+1)
#define SIZE_OF(member, name, wire, is_processed, place) IN_TEXT_##place(+sizeof(" =" wire) + 20)

#define COLUMNS     (0 TSEED_COUNTS(ONE_COLUMN))
#define COUNTERS    (COLUMNS + 6)
#define COUNTS_SIZE (1 TSEED_COUNTS(SIZE_OF))

static void counts_save(char text[COUNTS_SIZE], const tseed_progress_t *progress)
{
    const struct {
        const int64_t *count;
        const char *name;
    } counts[] = {TSEED_COUNTS(TEXT_OF)};
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        if (*counts[i].count != 0) {
            length += (size_t)snprintf(text + length, COUNTS_SIZE - length, "%s%lld",
                                       counts[i].name, (long long)*counts[i].count);
        }
    }
}

static void counts_load(tseed_progress_t *progress, const char *text)
{
    const struct {
        int64_t *count;
        const char *name;
    } counts[] = {TSEED_COUNTS(TEXT_OF)};

    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        const char *found = strstr(text, counts[i].name);

        *counts[i].count = found ? apr_atoi64(found + strlen(counts[i].name)) : 0;
    }
}

/* A state or position that can't be is ABORTED or 0. */
static void progress_load(tseed_progress_t *progress, tseed_rows_t *rows)
{
    int64_t *const counts[] = {TSEED_COUNTS(COLUMN_OF)}, low;

    memset(progress, 0, sizeof(*progress));
    progress->state = tseed_rows_int(rows);
    if (progress->state < TSEED_ABORTED || progress->state > TSEED_DONE) {
        progress->state = TSEED_ABORTED; /* somebody else has changed the row */
    }
    apr_cpystrn(progress->reason, tseed_rows_text(rows), sizeof(progress->reason));
    progress->reason_code = (uint8_t)tseed_reason_of(tseed_rows_text(rows));
    progress->finished = tseed_rows_int64(rows);
    for (int i = 0; i < COLUMNS; i++) {
        *counts[i] = tseed_rows_int64(rows);
    }
    tseed_rows_scan(rows, &progress->failures, &progress->started, &progress->away_since, &low);
    progress->low = low > 0 ? low : 0;
    window_load(progress->window, tseed_rows_text(rows));
    counts_load(progress, tseed_rows_text(rows));
}

void tseed_record_load(void *data, tseed_rows_t *rows)
{
    tseed_task_record_t *record = data;

    record->task = tseed_record_task_load(rows);
    progress_load(&record->progress, rows);
}

apr_status_t tseed_record_progress_save(tseed_database_t *db, int *rows, tseed_sql_t sql,
                                        const tseed_progress_t *progress, const void *const *more,
                                        int count)
{
    char passed[WINDOW_DIGITS + 1], counts[COUNTS_SIZE];
    const void *args[COUNTERS + MORE_MOST] = {
        TSEED_COUNTS(COLUMN_OF)
        &progress->failures,
        &progress->started,
        &progress->away_since,
        &progress->low,
        passed,
        counts,
    };

    window_save(passed, progress->window);
    counts_save(counts, progress);
    for (int i = 0; i < count; i++) {
        args[COUNTERS + i] = more[i];
    }
    return tseed_database_change(db, rows, sql, args);
}
