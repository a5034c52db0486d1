/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The squares: trees over the pages of a level. */
#include "quota/tseed_squares.h"

#include <assert.h>
#include <stdlib.h>

#include "base/tseed_memory.h"

#define SLAB      1024u
#define DEPTH_MAX 64 /* nodes on one path: each is smaller than the one above */

static_assert(sizeof(tseed_square_t) == 64, "what a square costs is promised");

void tseed_squares_init(tseed_squares_t *squares, const tseed_page_table_t *pages)
{
    *squares = (tseed_squares_t){.pages = pages};
}

void tseed_squares_destroy(tseed_squares_t *squares)
{
    for (uint32_t i = 0; i < squares->slab_count; i++) {
        free(squares->slabs[i]);
    }
    free(squares->slabs);
}

tseed_cell_t tseed_squares_cell(const tseed_page_entry_t *page)
{
    return page->names ? (tseed_cell_t){page->names, page->allocated, page->heat, page->written}
                       : (tseed_cell_t){0};
}

/* ---- nodes ---- */

static tseed_square_t *node_at(const tseed_squares_t *squares, uint32_t number)
{
    return &squares->slabs[number / SLAB][number % SLAB];
}

static int is_page(uint32_t ref)
{
    return (ref & TSEED_SQUARE_PAGE) != 0;
}

static tseed_square_t *node_of(const tseed_squares_t *squares, uint32_t ref)
{
    return node_at(squares, ref - 1);
}

static const tseed_page_entry_t *page_of(const tseed_squares_t *squares, uint32_t ref)
{
    return tseed_page_table_get(squares->pages, ref & ~TSEED_SQUARE_PAGE);
}

static void add_slab(tseed_squares_t *squares)
{
    tseed_square_t **slabs = realloc(squares->slabs, (squares->slab_count + 1) * sizeof(*slabs));

    if (!slabs) {
        abort();
    }
    slabs[squares->slab_count++] = tseed_memory_get(SLAB * sizeof(tseed_square_t));
    squares->slabs = slabs;
}

/* A zeroed node. */
static uint32_t take(tseed_squares_t *squares)
{
    uint32_t ref = squares->free;

    squares->count++;
    if (ref) {
        squares->free = (uint32_t)node_of(squares, ref)->x;
        *node_of(squares, ref) = (tseed_square_t){0};
        return ref;
    }
    if (squares->end == squares->slab_count * SLAB) {
        add_slab(squares);
    }
    return ++squares->end;
}

static void put_back(tseed_squares_t *squares, uint32_t ref)
{
    *node_of(squares, ref) = (tseed_square_t){.x = squares->free};
    squares->free = ref;
    squares->count--;
}

/* ---- where a page belongs ---- */

static int64_t aligned(int64_t at, int side)
{
    return (int64_t)((uint64_t)at >> side << side);
}

static int covers(const tseed_square_t *node, int64_t x, int64_t y)
{
    return aligned(x, node->side) == node->x && aligned(y, node->side) == node->y;
}

static int quadrant(const tseed_square_t *node, int64_t x, int64_t y)
{
    const int half = node->side - 1;

    return (int)(((uint64_t)x >> half & 1) | ((uint64_t)y >> half & 1) << 1);
}

/* From the root to the place of a page. */
typedef struct {
    uint32_t *links[DEPTH_MAX + 1]; /* links[i] refers to the i-th node; the last to the place */
    int depth;                      /* nodes */
} path_t;

static void find(path_t *path, const tseed_squares_t *squares, uint32_t *root, int64_t x, int64_t y)
{
    uint32_t *link = root;

    path->depth = 0;
    path->links[0] = link;
    while (*link && !is_page(*link) && covers(node_of(squares, *link), x, y)) {
        tseed_square_t *node = node_of(squares, *link);

        link = &node->child[quadrant(node, x, y)];
        path->links[++path->depth] = link;
    }
}

/* ---- sums ---- */

static tseed_cell_t cell_of(const tseed_squares_t *squares, uint32_t ref)
{
    return is_page(ref) ? tseed_squares_cell(page_of(squares, ref)) : node_of(squares, ref)->sum;
}

static void sum_up(const tseed_squares_t *squares, tseed_square_t *node)
{
    node->sum = (tseed_cell_t){0};
    for (int i = 0; i < 4; i++) {
        if (node->child[i]) {
            const tseed_cell_t cell = cell_of(squares, node->child[i]);

            tseed_cell_add(&node->sum, &cell);
        }
    }
}

static void sum_up_path(const tseed_squares_t *squares, const path_t *path)
{
    for (int i = path->depth - 1; i >= 0; i--) {
        sum_up(squares, node_of(squares, *path->links[i]));
    }
}

/* ---- changes ---- */

/* Puts a node in the place of what is there. The node holds what is there and the page. */
static void split(tseed_squares_t *squares, uint32_t *link, uint32_t page, int64_t x, int64_t y)
{
    const uint32_t there = *link, ref = take(squares);
    tseed_square_t *node = node_of(squares, ref);
    const int64_t other_x =
        is_page(there) ? page_of(squares, there)->x : node_of(squares, there)->x;
    const int64_t other_y =
        is_page(there) ? page_of(squares, there)->y : node_of(squares, there)->y;
    uint64_t differ = (uint64_t)(x ^ other_x) | (uint64_t)(y ^ other_y);

    for (node->side = 0; differ; differ >>= 1) {
        node->side++;
    }
    node->x = aligned(x, node->side);
    node->y = aligned(y, node->side);
    node->child[quadrant(node, other_x, other_y)] = there;
    node->child[quadrant(node, x, y)] = page;
    sum_up(squares, node);
    *link = ref;
}

static void add(tseed_squares_t *squares, const path_t *path, uint32_t page,
                const tseed_cell_t *cell)
{
    const tseed_page_entry_t *entry = page_of(squares, page);
    uint32_t *place = path->links[path->depth];

    for (int i = 0; i < path->depth; i++) {
        tseed_cell_add(&node_of(squares, *path->links[i])->sum, cell);
    }
    if (*place) {
        split(squares, place, page, entry->x, entry->y);
    } else {
        *place = page;
    }
}

/* A node that is left with one child gives way to it. */
static void take_out(tseed_squares_t *squares, path_t *path)
{
    uint32_t left = 0;
    int count = 0;

    *path->links[path->depth] = 0;
    if (path->depth == 0) {
        return;
    }
    for (int i = 0; i < 4; i++) {
        const uint32_t child = node_of(squares, *path->links[path->depth - 1])->child[i];

        count += child != 0;
        left = child ? child : left;
    }
    if (count == 1) {
        put_back(squares, *path->links[--path->depth]);
        *path->links[path->depth] = left;
    }
    sum_up_path(squares, path);
}

static void alter(tseed_squares_t *squares, const path_t *path, const tseed_cell_t *before,
                  const tseed_cell_t *after)
{
    if (after->heat < before->heat || after->oldest > before->oldest) {
        sum_up_path(squares, path);
        return;
    }
    for (int i = 0; i < path->depth; i++) { /* no other page has a say in it */
        tseed_cell_t *sum = &node_of(squares, *path->links[i])->sum;

        sum->tiles += after->tiles - before->tiles;
        sum->bytes += after->bytes - before->bytes;
        sum->heat = after->heat > sum->heat ? after->heat : sum->heat;
        sum->oldest = after->oldest < sum->oldest ? after->oldest : sum->oldest;
    }
}

void tseed_squares_change(tseed_squares_t *squares, uint32_t *root, uint32_t page,
                          const tseed_cell_t *before)
{
    const tseed_page_entry_t *entry = tseed_page_table_get(squares->pages, page);
    const tseed_cell_t after = tseed_squares_cell(entry);
    path_t path;

    if (before->tiles == 0 && after.tiles == 0) {
        return;
    }
    find(&path, squares, root, entry->x, entry->y);
    if (before->tiles == 0) {
        add(squares, &path, page | TSEED_SQUARE_PAGE, &after);
    } else if (after.tiles == 0) {
        take_out(squares, &path);
    } else {
        alter(squares, &path, before, &after);
    }
}

/* ---- looking ---- */

/* A part of a window. */
typedef struct {
    const tseed_squares_t *squares;
    const tseed_window_t *window;
    tseed_cell_t *cells;
    int64_t first, last; /* rows, counted in cells */
} view_t;

static void show(const view_t *view, int64_t x, int64_t y, const tseed_cell_t *cell)
{
    const tseed_window_t *window = view->window;
    const int64_t column = (x >> window->shift) - window->x, row = y >> window->shift;

    if (column >= 0 && column < window->columns && row >= view->first && row <= view->last) {
        tseed_cell_add(&view->cells[(row - view->first) * window->columns + column], cell);
    }
}

static int touches(const view_t *view, const tseed_square_t *node)
{
    const tseed_window_t *window = view->window;
    const int64_t more = (int64_t)((UINT64_C(1) << node->side) - 1);

    return node->x >> window->shift < window->x + window->columns &&
           (node->x | more) >> window->shift >= window->x &&
           node->y >> window->shift <= view->last &&
           (node->y | more) >> window->shift >= view->first;
}

/* Nodes on one path are fewer than DEPTH_MAX. */
static void look(const view_t *view, uint32_t ref)
{
    const tseed_square_t *node;

    if (is_page(ref)) {
        const tseed_page_entry_t *page = page_of(view->squares, ref);
        const tseed_cell_t cell = tseed_squares_cell(page);

        show(view, page->x, page->y, &cell);
        return;
    }
    node = node_of(view->squares, ref);
    if (!touches(view, node)) {
        return;
    }
    if (node->side <= view->window->shift) {
        show(view, node->x, node->y, &node->sum);
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (node->child[i]) {
            look(view, node->child[i]);
        }
    }
}

void tseed_squares_look(tseed_cell_t *cells, const tseed_squares_t *squares, uint32_t root,
                        const tseed_window_t *window, int row, int rows)
{
    const view_t view = {squares, window, cells, window->y + row, window->y + row + rows - 1};

    if (root) {
        look(&view, root);
    }
}

/* ---- validator ---- */

static int is_same(const tseed_cell_t *a, const tseed_cell_t *b)
{
    return a->tiles == b->tiles && a->bytes == b->bytes && a->heat == b->heat &&
           a->oldest == b->oldest;
}

/* Whether a child lies in its place: its first page in the right quarter, and within it. */
static int is_placed(const tseed_squares_t *squares, const tseed_square_t *node, int i)
{
    const uint32_t ref = node->child[i];
    const int64_t x = is_page(ref) ? page_of(squares, ref)->x : node_of(squares, ref)->x;
    const int64_t y = is_page(ref) ? page_of(squares, ref)->y : node_of(squares, ref)->y;

    return covers(node, x, y) && quadrant(node, x, y) == i &&
           (is_page(ref) || node_of(squares, ref)->side < node->side);
}

int tseed_squares_validate(int64_t *pages, int64_t *tiles, const tseed_squares_t *squares,
                           uint32_t root)
{
    tseed_square_t again;
    int count = 0, good = 1;

    if (!root || is_page(root)) {
        const tseed_cell_t cell = root ? cell_of(squares, root) : (tseed_cell_t){0};

        *pages += root != 0;
        *tiles += cell.tiles;
        return !root || cell.tiles > 0;
    }
    again = *node_of(squares, root);
    sum_up(squares, &again);
    for (int i = 0; i < 4; i++) {
        if (again.child[i]) {
            count++;
            good = good && is_placed(squares, &again, i) &&
                   tseed_squares_validate(pages, tiles, squares, again.child[i]);
        }
    }
    return good && count >= 2 && is_same(&again.sum, &node_of(squares, root)->sum);
}
