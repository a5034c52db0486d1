/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Windows of cells, and the document that shows them: lists of numbers, one for each property. */
#include "protocol/tseed_coverage.h"

#include <apr_strings.h>
#include <string.h>

#include "base/tseed_digest.h"
#include "base/tseed_text.h"
#include "layer/tseed_page.h"
#include "protocol/tseed_form.h"
#include "protocol/tseed_write.h"

#define CELLS_USUAL 64
#define NUMBER_MOST 24 /* letters that a number and its comma take */
#define QUOTE_MOST  100
#define QUERY_MOST  1000 /* four numbers of any length that makes sense, and their names */

/* ---- windows ---- */

static int64_t page_of(int64_t tile)
{
    return tile / TSEED_PAGE_SIDE;
}

/* How many squares of 2^shift pages the tiles first..last touch. */
static int64_t touched(int64_t first, int64_t last, int shift)
{
    return (page_of(last) >> shift) - (page_of(first) >> shift) + 1;
}

tseed_window_t tseed_window_of(const tseed_range_t *level, const tseed_range_t *wanted, int most)
{
    tseed_window_t window = {.level = *level};

    if (tseed_range_count(wanted) == 0) {
        return window;
    }
    while (touched(wanted->minx, wanted->maxx, window.shift) > most ||
           touched(wanted->miny, wanted->maxy, window.shift) > most) {
        window.shift++;
    }
    window.columns = (int)touched(wanted->minx, wanted->maxx, window.shift);
    window.rows = (int)touched(wanted->miny, wanted->maxy, window.shift);
    window.x = page_of(wanted->minx) >> window.shift;
    window.y = page_of(wanted->miny) >> window.shift;
    return window;
}

/* ---- query ---- */

static int read_box(tseed_bounds_t *box, const char *text, apr_pool_t *pool)
{
    double *const numbers[] = {&box->minx, &box->miny, &box->maxx, &box->maxy};
    char *copy = apr_pstrdup(pool, text), *comma = copy;

    for (int i = 0; i < 4; i++) {
        char *number = comma;

        comma = number ? strchr(number, ',') : NULL;
        if (comma) {
            *comma++ = '\0';
        }
        if (!number || tseed_text_double(numbers[i], number) != 0) {
            return 0;
        }
    }
    return !comma && box->minx <= box->maxx && box->miny <= box->maxy;
}

const char *tseed_coverage_query_read(tseed_coverage_query_t *query, const char *text,
                                      apr_pool_t *pool)
{
    const apr_size_t length = text ? strlen(text) : 0;
    const apr_table_t *form = tseed_form_read(text ? text : "", length, pool);
    const char *box = apr_table_get(form, "bbox"), *cells = apr_table_get(form, "cells");
    int64_t number = CELLS_USUAL;

    if (length > QUERY_MOST) {
        return apr_psprintf(pool,
                            "the query has %" APR_SIZE_T_FMT
                            " characters, and may have %d: only bbox and cells are read",
                            length, QUERY_MOST);
    }
    if (cells && tseed_text_int64(&number, cells, 1, TSEED_COVERAGE_MOST) != 0) {
        return apr_psprintf(pool, "cells must be 1 to %d, the most columns and rows, not '%s'",
                            TSEED_COVERAGE_MOST, tseed_text_quote(cells, QUOTE_MOST, pool));
    }
    *query = (tseed_coverage_query_t){.has_box = box != NULL, .cells = (int)number};
    if (box && !read_box(&query->box, box, pool)) {
        return apr_psprintf(pool,
                            "bbox must be four numbers in the units of the grid set, "
                            "minx,miny,maxx,maxy, the lower ones first, not '%s'",
                            tseed_text_quote(box, QUOTE_MOST, pool));
    }
    return NULL;
}

/* ---- document ---- */

/* How many of the tiles first..last of a level lie in a cell: `at` counts cells. */
static double extent_of(int64_t first, int64_t last, int64_t at, int shift)
{
    const uint64_t side = (uint64_t)TSEED_PAGE_SIDE << shift;
    const uint64_t from = (uint64_t)at * side, to = from + side - 1;
    const uint64_t least = (uint64_t)first > from ? (uint64_t)first : from;
    const uint64_t most = (uint64_t)last < to ? (uint64_t)last : to;

    return most < least ? 0 : (double)(most - least) + 1;
}

int tseed_coverage_share(const tseed_window_t *window, int column, int row, int64_t tiles)
{
    const tseed_range_t *level = &window->level;
    const double possible = extent_of(level->minx, level->maxx, window->x + column, window->shift) *
                            extent_of(level->miny, level->maxy, window->y + row, window->shift);
    int share;

    if (tiles <= 0 || (double)tiles >= possible) {
        return tiles <= 0 ? 0 : 1000;
    }
    share = (int)((double)tiles / possible * 1000);
    return share < 1 ? 1 : share > 999 ? 999 : share;
}

/* What is written of a cell: one list each. */
typedef enum { SHARE, BYTES, HEAT, AGE } property_t;

typedef struct {
    const tseed_coverage_t *coverage;
    tseed_uses_of_t *uses_of;
    int64_t now; /* seconds */
    char *end;   /* of what is written */
} writer_t;

static void put_number(writer_t *writer, int64_t number)
{
    char digits[NUMBER_MOST];
    int count = 0;

    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        *writer->end++ = digits[--count];
    }
}

/* With one decimal where a whole number would say little. */
static void put_uses(writer_t *writer, const tseed_cell_t *cell)
{
    const double uses = writer->uses_of(cell->heat, writer->now);
    const int64_t tenths = uses < 1e15 ? (int64_t)(uses * 10 + 0.5) : INT64_C(10000000000000000);

    put_number(writer, tenths < 100 ? tenths / 10 : (tenths + 5) / 10);
    if (tenths < 100 && tenths % 10) {
        *writer->end++ = '.';
        put_number(writer, tenths % 10);
    }
}

/* In minutes, rounded up: nothing is older. */
static void put_age(writer_t *writer, const tseed_cell_t *cell)
{
    const int64_t age = writer->now - cell->oldest;

    if (cell->oldest == 0) {
        memcpy(writer->end, "null", 4);
        writer->end += 4;
    } else {
        put_number(writer, age > 0 ? (age + 59) / 60 : 0);
    }
}

static void put_cell(writer_t *writer, property_t property, int column, int row)
{
    const tseed_window_t *window = &writer->coverage->window;
    const tseed_cell_t *cell = &writer->coverage->cells[row * window->columns + column];

    switch (property) {
    case SHARE:
        put_number(writer, tseed_coverage_share(window, column, row, cell->tiles));
        break;
    case BYTES:
        put_number(writer, cell->bytes > 0 ? cell->bytes : 0);
        break;
    case HEAT:
        put_uses(writer, cell);
        break;
    case AGE:
        put_age(writer, cell);
        break;
    }
}

/* A list of one property, in `buffer`. */
static const char *list_of(writer_t *writer, property_t property, char *buffer)
{
    const tseed_window_t *window = &writer->coverage->window;

    writer->end = buffer;
    *writer->end++ = '[';
    for (int row = 0; row < window->rows; row++) {
        for (int column = 0; column < window->columns; column++) {
            if (row + column > 0) {
                *writer->end++ = ',';
            }
            put_cell(writer, property, column, row);
        }
    }
    *writer->end++ = ']';
    *writer->end = '\0';
    return buffer;
}

static void add_window(tseed_json_t *json, const tseed_window_t *window)
{
    const int64_t side = (int64_t)((uint64_t)TSEED_PAGE_SIDE << window->shift);

    tseed_json_open(json, "cell", '{');
    tseed_json_number(json, "tiles", side);
    tseed_json_number(json, "x", window->x * side);
    tseed_json_number(json, "y", window->y * side);
    tseed_json_number(json, "columns", window->columns);
    tseed_json_number(json, "rows", window->rows);
    tseed_json_close(json, '}');
}

const char *tseed_coverage_document(const tseed_coverage_t *coverage, tseed_uses_of_t *uses_of,
                                    apr_pool_t *pool)
{
    static const char *const names[] = {"share", "bytes", "heat", "age"};
    const tseed_window_t *window = &coverage->window;
    const size_t size = (size_t)window->columns * (size_t)window->rows * NUMBER_MOST + 3;
    writer_t writer = {coverage, uses_of, apr_time_sec(coverage->time), NULL};
    tseed_json_t json = tseed_json_begin(pool);

    tseed_json_number(&json, "tileSet", coverage->tileset);
    tseed_json_text(&json, "layer", coverage->layer);
    tseed_json_text(&json, "gridSetId", coverage->gridset);
    tseed_json_text(&json, "format", coverage->format);
    tseed_json_number(&json, "z", window->level.z);
    tseed_json_time(&json, "time", coverage->time);
    tseed_json_flag(&json, "counted", coverage->counted);
    add_window(&json, window);
    for (property_t property = SHARE; property <= AGE; property++) {
        tseed_json_raw(&json, names[property], list_of(&writer, property, apr_palloc(pool, size)));
    }
    return tseed_json_end(&json);
}

const char *tseed_coverage_tag(const tseed_coverage_t *coverage, apr_pool_t *pool)
{
    const tseed_window_t *window = &coverage->window;
    const int64_t head[] = {coverage->tileset,  coverage->counted,  window->shift,
                            window->x,          window->y,          window->columns,
                            window->rows,       window->level.z,    window->level.minx,
                            window->level.miny, window->level.maxx, window->level.maxy};
    const uint64_t seed = tseed_digest(head, sizeof(head), 0);
    const size_t count = (size_t)window->columns * (size_t)window->rows;

    return apr_psprintf(pool, "W/\"%016" APR_UINT64_T_HEX_FMT "\"",
                        tseed_digest(coverage->cells, count * sizeof(tseed_cell_t), seed));
}
